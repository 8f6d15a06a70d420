"""Tables that are read a column at a time: on the command line, and in a worker."""

import json
from io import BytesIO

import pyarrow.csv
import pyarrow.parquet
import pytest

from askless.app.uploads.streams import StreamedTable
from tests.app.jobs import noisy_spec, noisy_table, undisturbed


@pytest.fixture
def place(tmp_path):
    """The table as CSV, as one Parquet file and as a folder of two; its spec."""
    (tmp_path / "data.csv").write_bytes(noisy_table())
    (tmp_path / "spec.json").write_text(json.dumps(noisy_spec(6)))
    table = pyarrow.csv.read_csv(BytesIO(noisy_table()))
    (tmp_path / "parts").mkdir()
    write(tmp_path / "data.parquet", table)
    write(tmp_path / "parts" / "1.parquet", table.slice(0, 50))
    write(tmp_path / "parts" / "2.parquet", table.slice(50))
    return tmp_path


def write(path, table):
    pyarrow.parquet.write_table(table, path, row_group_size=30)


def trained(run, place, source, *options):
    out = place / "model.json"
    finished = run("train", source, "--spec", place / "spec.json", "-o", out, *options)
    assert finished.code == 0, finished.err
    return out.read_text()


@pytest.mark.parametrize(
    "source",
    [
        "data.parquet",
        "parts",
        "file://{}/parts/*.parquet",
    ],
)
def test_every_way_to_keep_a_table_trains_the_same_model(run, place, source):
    named = source.format(place) if "://" in source else place / source

    assert trained(run, place, named) == trained(run, place, place / "data.csv")


def test_processes_train_the_same_model(run, place):
    alone = trained(run, place, place / "data.parquet", "--processes", 1)

    assert trained(run, place, place / "data.parquet", "--processes", 2) == alone


def test_bad_cell_of_a_later_file_is_refused_with_its_row(run, place):
    lines = noisy_table().split(b"\n")
    lines[111] = b"-inf" + lines[111][lines[111].index(b",") :]
    table = pyarrow.csv.read_csv(BytesIO(b"\n".join(lines)))
    write(place / "parts" / "2.parquet", table.slice(50))
    out = place / "model.json"

    refused = run("train", place / "parts", "--spec", place / "spec.json", "-o", out)

    assert refused.code == 2
    assert "column a: must be finite" in refused.err
    assert "found '-inf' in row 111" in refused.err
    assert not out.exists()


def test_worker_reads_an_upload_in_parquet_a_column_at_a_time(jobs, place, monkeypatch):
    read = []
    monkeypatch.setattr(
        StreamedTable, "__getitem__", note(StreamedTable.__getitem__, read)
    )
    content = (place / "data.parquet").read_bytes()
    training = jobs.start(content, noisy_spec(6))

    jobs.worker().work()

    assert jobs.document(training.id) == undisturbed(content, noisy_spec(6))
    assert read == ["y", "a", "b", "c"]


def note(method, read):
    def noted(self, name):
        read.append(name)
        return method(self, name)

    return noted


def test_shards_train_the_same_model(run, place):
    alone = trained(run, place, place / "data.parquet")

    assert trained(run, place, place / "data.parquet", "--shards", 3) == alone


def test_shards_of_what_does_not_boost_are_refused(run, place):
    refused = run(
        *("train", place / "data.csv", "--spec", place / "spec.json"),
        *("-o", place / "model.json", "--algorithm", "decision_tree", "--shards", 2),
    )

    assert refused.code == 2
    assert (
        "--shards: must not be given for an algorithm that does not boost"
        in refused.err
    )


def test_cluster_for_a_table_that_is_read_whole_is_refused(run, place):
    refused = run(
        *("train", place / "data.csv", "--spec", place / "spec.json"),
        *("-o", place / "model.json", "--cluster", "tls://scheduler:8786"),
    )

    assert refused.code == 2
    rule = "--cluster: needs a table in Parquet, where every worker can read it"
    assert rule in refused.err
