"""Commands on a table and its spec: check, train, select.

Options of `train` override its spec.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from askless.app.cli.options import (
    Cluster,
    Data,
    Processes,
    Shards,
    SkipBadRows,
    Spec,
    Tables,
    output,
    print_warnings,
    read_checked_table,
    warn_skipped,
)
from askless.app.cluster.layout import move_rows_to_processes, prepare_on_cluster
from askless.app.documents import files
from askless.app.documents.files import read_text
from askless.app.documents.spec.spec import read_spec
from askless.app.documents.text import parse_spec
from askless.app.processes.memory import available_bytes
from askless.app.processes.parts import choose_runner
from askless.app.settings.places import ClusterPlace, cluster_of_settings
from askless.app.terminal import overview, selected, show
from askless.app.terminal.bar import run_with_bar
from askless.app.uploads import Bounds, read_table
from askless.app.uploads.checking import check_spec_and_table, read_training
from askless.app.uploads.joined import classify_columns
from askless.app.uploads.joining import NamedTable, join_tables, write_parquet
from askless.app.uploads.places import is_parquet_at, parse_source
from askless.app.uploads.streams import open_table
from askless.app.words.facts import describe_commonest
from askless.core.errors import Refusal, RefusedError, shorten
from askless.core.parameters import parameters_of
from askless.core.pipeline.preparing import PreparedTable
from askless.core.pipeline.spec import TrainingSpec
from askless.core.pipeline.train import train
from askless.core.selection.params import SelectionParams
from askless.core.selection.search import select_subset
from askless.core.table.check import CheckedTable
from askless.core.training.algorithms import ALGORITHMS

Algorithm = Annotated[
    str | None, typer.Option(help=f"{', '.join(ALGORITHMS)}; else the spec's.")
]
Effort = Annotated[
    str | None, typer.Option(help="fast, standard or thorough; else the spec's.")
]
Rounds = Annotated[
    str | None, typer.Option(help="Weak hypotheses, or trees; else the spec's.")
]
Folds = Annotated[
    str | None, typer.Option(help="For honest figures; 0: none. Else the spec's.")
]
CurveBudgets = Annotated[
    str | None,
    typer.Option(
        "--budgets",
        "--budget",
        help="Such as 20,60: to choose features for, and to measure at.",
    ),
]

# Places in a spec that options change.
PLACES = {
    "--algorithm": ("algorithm",),
    "--effort": ("effort",),
    "--rounds": ("params", "rounds"),
    "--folds": ("validation", "folds"),
    "--budgets": ("validation", "budgets"),
}
LIST = "--budgets"

NUMBER = re.compile(r"[0-9]{1,20}(\.[0-9]{1,20})?")


def load_changed_spec(path: Path, given: Mapping[str, str | None]) -> TrainingSpec:
    """Read a spec, changed by options; an option that is None changes nothing."""
    raw = parse_spec(read_text(path), str(path))
    named = {option: text for option, text in given.items() if text is not None}
    for option, text in named.items():
        words = [read_number_or_text(word.strip()) for word in text.split(",")]
        raw = replace_value(raw, PLACES[option], words if option == LIST else words[0])
    try:
        return read_spec(raw)
    except RefusedError as error:
        raise RefusedError(
            rename_field(refusal, named) for refusal in error.refusals
        ) from None


def replace_value(raw: Any, place: tuple[str, ...], value: object) -> dict[str, Any]:
    """Return a copy of a spec, or of a part, with the value at `place` replaced."""
    first, *rest = place
    inner = raw if isinstance(raw, dict) else {}
    return inner | {
        first: replace_value(inner.get(first), tuple(rest), value) if rest else value
    }


def read_number_or_text(text: str) -> object:
    """Return a text as an exact number if it is one, else as it is."""
    if not NUMBER.fullmatch(text):
        return text
    return int(text) if text.isdecimal() else Decimal(text)


def rename_field(refusal: Refusal, named: Mapping[str, str]) -> Refusal:
    """Return a refusal under the name of the option that it is about."""
    for option in named:
        field = ".".join(PLACES[option])
        if refusal.field == field or refusal.field.startswith(f"{field}["):
            return Refusal(option, refusal.rule, refusal.found)
    return refusal


FILE_WIDTH = 100


def check_spec(data: Data, spec: Spec) -> None:
    raw = files.load_raw_spec(spec)
    _, checked = check_spec_and_table(
        raw, lambda: open_table(data, (), Bounds(memory=available_bytes()))
    )
    print_warnings(checked.warnings)
    print_checked(checked)


def print_checked(checked: CheckedTable) -> None:
    """Print how a table was understood, and that it is ready."""
    dataset = checked.dataset
    wide = output
    if not output.is_terminal:
        # A file has no width; nothing is to be cut for want of a terminal's.
        wide = Console(file=output.file, width=FILE_WIDTH, soft_wrap=True)
    wide.print(overview.build_feature_table(dataset))
    for line in overview.list_overview_lines(checked):
        output.print(escape(line))
    classes = overview.list_first_names([label.display for label in dataset.classes])
    output.print(
        f"{dataset.n_samples} rows, {len(dataset.catalogue.features)} features, "
        f"classes {escape(classes)}: ready to train"
    )


def train_model(
    data: Tables,
    spec: Spec,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the model goes.")],
    algorithm: Algorithm = None,
    effort: Effort = None,
    rounds: Rounds = None,
    folds: Folds = None,
    budgets: CurveBudgets = None,
    processes: Processes = None,
    shards: Shards = None,
    cluster: Cluster = None,
    skip_bad_rows: SkipBadRows = False,
) -> None:
    files.check_writable(out, "--out")
    given = {
        "--algorithm": algorithm,
        "--effort": effort,
        "--rounds": rounds,
        "--folds": folds,
        "--budgets": budgets,
    }
    training_spec = load_changed_spec(spec, given)
    skipped: list[Refusal] | None = [] if skip_bad_rows else None
    rows = prepare_data(data, training_spec, shards, cluster, skipped)
    with rows as prepared:
        warn_skipped(skipped or ())
        print_warnings(prepared.warnings)
        run_parts = choose_runner(prepared.table, training_spec, processes)
        training = train(prepared, training_spec, run_parts=run_parts)
        # A large table is let go of once nothing is trained on it any more.
        del prepared
        model = run_with_bar(training, "training")
    files.replace_file(out, files.model_text(model))
    output.print(escape(show.summarise_model(model)))
    if model.curve is not None:
        unit, notes = training_spec.table.cost_unit, describe_commonest(model)
        output.print(show.build_curve_table(model.curve, unit, notes=notes))
    output.print(f"wrote {escape(str(out))}")


@contextmanager
def prepare_data(
    data: list[str],
    spec: TrainingSpec,
    n_shards: int | None,
    cluster: str | None,
    skipped: list[Refusal] | None,
) -> Iterator[PreparedTable]:
    """Read a table, or several as one, to train on."""
    with ExitStack() as stack:
        source = stack.enter_context(open_joined_source(data, spec, skipped))
        rows = prepare_rows(source, spec, n_shards, cluster, skipped)
        # No name is given to the table, which is let go of once it is trained on.
        yield stack.enter_context(rows)


@contextmanager
def open_joined_source(
    data: list[str], spec: TrainingSpec, skipped: list[Refusal] | None
) -> Iterator[Path | str]:
    """Yield the table to train on; several are joined in a file of their own."""
    if len(data) == 1:
        yield parse_source(data[0])
        return
    if elsewhere := [file for file in data if not Path(file).is_file()]:
        rule = "must be files of this machine, where there are several"
        raise RefusedError([Refusal("DATA", rule, elsewhere[0])])
    bounds = Bounds(memory=available_bytes())
    tables = [
        NamedTable(file, read_table(Path(file), bounds, skipped), file) for file in data
    ]
    joined = join_tables(tables, *classify_columns(tables, spec.table))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "joined.parquet"
        path.write_bytes(write_parquet(joined))
        yield path


@contextmanager
def prepare_rows(
    source: Path | str,
    spec: TrainingSpec,
    n_shards: int | None,
    cluster: str | None,
    skipped: list[Refusal] | None = None,
) -> Iterator[PreparedTable]:
    """Read a table, and spread its rows over the processes that train on it."""
    if cluster is None:
        prepared = read_training(source, spec, skipped)
        if n_shards is None or n_shards == 1:
            yield prepared
            return
        with move_rows_to_processes(prepared, spec, n_shards) as prepared:
            yield prepared
        return
    if isinstance(source, Path) and not is_parquet_at(source):
        rule = "needs a table in Parquet, where every worker can read it"
        raise RefusedError([Refusal("--cluster", rule, str(source))])
    place = read_cluster(cluster)
    bounds = Bounds(memory=available_bytes())
    table = open_table(source, spec.table.text_columns, bounds)
    with prepare_on_cluster(table, spec, place, n_shards) as prepared:
        yield prepared


def read_cluster(address: str) -> ClusterPlace:
    """Return a cluster, with the files that the settings name."""
    from askless.app.settings.environment import read_settings  # dear; few need it

    place = cluster_of_settings(read_settings().model_copy(update={"cluster": address}))
    assert place is not None, "it is named"
    return place


def select_features(
    data: Data,
    spec: Spec,
    method: Annotated[
        str | None, typer.Option(help="fs2boost, ifs2boost or sfs; else the spec's.")
    ] = None,
    learner: Annotated[
        str | None, typer.Option(help="knn or stump; else the spec's.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    training_spec = files.load_spec(spec)
    params = parse_selection(
        training_spec.selection or SelectionParams(), method, learner
    )
    training_spec = replace(training_spec, selection=params)
    checked = read_checked_table(data, training_spec)
    catalogue = checked.dataset.catalogue
    selection = run_with_bar(select_subset(checked.dataset, params), "selection")
    if as_json:
        document = selected.selection_json(catalogue, params, selection)
        sys.stdout.write(json.dumps(document) + "\n")
        return
    output.print(selected.build_path_table(catalogue, selection))
    if selection.feature_idxs:
        output.print(selected.build_subset_table(catalogue, selection))
    output.print(escape(selected.summarise_selection(catalogue, selection)))


def parse_selection(
    params: SelectionParams, method: str | None, learner: str | None
) -> SelectionParams:
    """Return the parameters of a selection from a spec, changed by options."""
    refusals = []
    for name, given in (("method", method), ("learner", learner)):
        try:
            if given is not None:
                checked = parameters_of(SelectionParams)[name].check(given)
                params = replace(params, **{name: checked})
        except ValueError as error:
            refusals.append(Refusal(f"--{name}", str(error), shorten(given)))
    if refusals:
        raise RefusedError(refusals)
    return params
