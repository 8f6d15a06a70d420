"""The large log of a waterfall that memory is measured with."""

from pathlib import Path

import numpy as np

from askless.app.batch.shadow.log_files import draft_mapping, open_log
from askless.app.batch.shadow.log_parts import hold_log
from askless.app.documents import files
from askless.app.documents.log_mapping import LogMapping
from askless.app.documents.shape import read_shape
from askless.app.uploads import Bounds
from askless.core.work import run_to_end
from benchmarks.buying import logs


def test_a_log_is_read_without_anything_odd(tmp_path: Path) -> None:
    logs.write_log(300, tmp_path)

    spec = files.load_spec(tmp_path / "spec.json")
    header = (tmp_path / "log.csv").read_text().split("\n", 1)[0]
    drafted, notes = draft_mapping(header.replace('"', "").split(","), spec)
    mapping = read_shape(LogMapping, drafted, "mapping")
    log = open_log(tmp_path / "log.csv", spec, mapping, Bounds())
    held = run_to_end(hold_log(log, tmp_path))

    assert notes == []
    assert held.log.problems.finish() == ()
    orders = held.read(np.arange(held.n_cases))["orders"]
    assert held.n_cases == 300
    # Some cases end early, and some ask everybody.
    assert 0 < np.mean((orders > 0).all(axis=1)) < 1
