"""Option, console and reader of tables that commands share."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from askless.app.batch.table_checks import list_text_columns
from askless.app.documents import files
from askless.app.processes.memory import available_bytes
from askless.app.uploads import Bounds
from askless.app.uploads.streams import open_table, read_columns
from askless.core import kernels
from askless.core.arrays import FloatArray
from askless.core.errors import Refusal, shorten
from askless.core.model.ensemble import Ensemble
from askless.core.model.model import Model
from askless.core.model.rows import check_rows
from askless.core.parameters import Parameter, parameters_of
from askless.core.session.certificates import COVERAGES
from askless.core.session.policies import POLICIES, check_policy
from askless.core.session.state import Spend, StopRule
from askless.core.table.columns import Columns
from askless.core.table.texts.numbers import parse_number
from askless.core.training.params import BoostParams

if TYPE_CHECKING:
    from askless.core.pipeline.spec import TrainingSpec
    from askless.core.table.check import CheckedTable

MAX_DIGITS = 20
# Skipped rows that a warning names.
MAX_EXAMPLES = 3

output = Console(highlight=False, soft_wrap=True)
errors = Console(stderr=True, highlight=False, soft_wrap=True)

Data = Annotated[Path, typer.Argument(help="CSV (also .gz) or Parquet file.")]
Table = Annotated[
    str,
    typer.Argument(
        help="CSV (also .gz), Parquet file, folder of Parquet files, s3://… or gs://…."
    ),
]
Tables = Annotated[
    list[str],
    typer.Argument(
        help="CSV (also .gz), Parquet file, folder of Parquet files, s3://… or gs://…. "
        "Several files are joined: all their rows, columns by name.",
        metavar="DATA...",
    ),
]
Spec = Annotated[Path, typer.Option(help="Training spec, JSON.")]
ModelFile = Annotated[Path, typer.Argument(help="MODEL.json that `train` wrote.")]
Budget = Annotated[str, typer.Option(help="Most to spend per case, or inf.")]
Policy = Annotated[
    str | None, typer.Option(help=f"{', '.join(POLICIES)}; by default the model's.")
]
Prices = Annotated[
    Path | None,
    typer.Option(help="Price list, JSON: `costs` and `groups`, as in a spec."),
]
Host = Annotated[str, typer.Option(help="Address to listen on.")]


def parser_of(parameter: Parameter) -> Callable[[object], Any]:
    """Return a parser of a parameter; integers are written in plain digits."""

    def parse(raw: object) -> Any:
        text = str(raw)
        is_whole = text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS
        number = int(text) if is_whole else parse_number(text)
        try:
            return parameter.check(text if number is None else number)
        except ValueError as error:
            message = f"{error}; found {shorten(text)}"
            raise typer.BadParameter(message) from None

    parse.__name__ = "integer" if parameter.kind is int else "number"
    return parse


PORT = Parameter("port", int, None, least=0, most=65535)
SEED = parameters_of(BoostParams)["seed"]
STOP = parameters_of(StopRule)
COVERAGE = Parameter("coverage", float, None, least=COVERAGES[0], most=COVERAGES[1])
PROCESSES = Parameter("processes", int, None, least=1, most=256)
Processes = Annotated[
    int | None,
    typer.Option(
        parser=parser_of(PROCESSES),
        help="Processes that share the work; by default as many as pay.",
    ),
]
RowProcesses = Annotated[
    int,
    typer.Option(
        "--processes",
        parser=parser_of(PROCESSES),
        help="Processes that share the rows, to the same bytes.",
    ),
]
SHARDS = Parameter("shards", int, None, least=1, most=64)
Shards = Annotated[
    int | None,
    typer.Option(
        parser=parser_of(SHARDS),
        help="Processes that each have some of the rows, for boosting; or workers of "
        "the cluster, by default all.",
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        help="Dask scheduler whose workers read the table, such as "
        "tls://scheduler:8786; ASKLESS_CLUSTER_CA, _CERT and _KEY name its files."
    ),
]
Port = Annotated[
    int | None,
    typer.Option(
        parser=parser_of(PORT),
        help="0: any free one. By default 8000, or the next free one.",
    ),
]
Seed = Annotated[
    int, typer.Option(parser=parser_of(SEED), help="Of the policy sample.")
]
Confidence = Annotated[
    float | None,
    typer.Option(parser=parser_of(STOP["confidence"]), help="Certain enough to stop."),
]
Disagreement = Annotated[
    float | None,
    typer.Option(
        parser=parser_of(STOP["disagreement"]),
        help="Stop early where at most this share of labels differs from the end's.",
    ),
]
Delta = Annotated[
    float,
    typer.Option(
        parser=parser_of(STOP["delta"]), help="Chance that this share is missed."
    ),
]
Coverage = Annotated[
    float | None,
    typer.Option(
        parser=parser_of(COVERAGE), help="Of the labels at the end: say all likely."
    ),
]
MaxQuestions = Annotated[
    int | None, typer.Option(parser=parser_of(STOP["max_questions"]))
]
Spending = Annotated[
    Spend,
    typer.Option(
        "--spend", help="What is worth it of a budget; or all that helps at all."
    ),
]
VALUE_OF_SECOND = Parameter("value_of_second", float, None, least=0.0, most=1e6)
CALLS_AT_ONCE = Parameter("calls_at_once", int, 3, least=1, most=16)
ValueOfSecond = Annotated[
    float,
    typer.Option(
        parser=parser_of(VALUE_OF_SECOND),
        help="What a second of waiting costs, in the model's unit of money.",
    ),
]
CallsAtOnce = Annotated[
    int,
    typer.Option(
        parser=parser_of(CALLS_AT_ONCE), help="Most calls of a case at a time."
    ),
]
AcceptUnseen = Annotated[
    bool, typer.Option("--accept-unseen", help="Take values that training didn't see.")
]
SkipBadRows = Annotated[
    bool,
    typer.Option(
        "--skip-bad-rows",
        help="Leave out rows of a CSV with more or fewer cells than the header.",
    ),
]


def option_name(name: str) -> str:
    return "--" + name.replace("_", "-")


def parse_policy(text: str | None, ensemble: Ensemble) -> str | None:
    """Return the policy of a model by name; None: the best at each budget."""
    return None if text is None else check_policy(text, ensemble, "--policy")


def load_priced_model(model: Path, prices: Path | None) -> Model:
    """Read a model, repriced by a price list if there is one."""
    stored = files.load_model(model)
    if prices is None:
        return stored
    ensemble = stored.ensemble.at_prices(files.load_prices(prices), "prices")
    return replace(stored, ensemble=ensemble)


def read_checked_table(data: Path, spec: "TrainingSpec") -> "CheckedTable":
    """Read and check a table to train on; warnings are printed."""
    bounds = Bounds(memory=available_bytes())
    # Loaded where it is needed: it brings all that trains.
    from askless.app.uploads.checking import check_columns

    checked = check_columns(open_table(data, (), bounds), spec)
    print_warnings(checked.warnings)
    return checked


def read_values(
    data: Path, ensemble: Ensemble, target: str, most: int | None = None
) -> tuple[Columns, FloatArray]:
    """Read columns and values for a model (`check_values`); print warnings."""
    text = [*list_text_columns(ensemble), target]
    columns = read_columns(data, text, Bounds(memory=available_bytes()))
    return columns, check_values(columns, ensemble, most)


def check_values(
    columns: Columns, ensemble: Ensemble, most: int | None = None
) -> FloatArray:
    """Return values for a model, with features dearer than `most` optional."""
    values, warnings = check_rows(columns, ensemble, most)
    print_warnings(warnings)
    return values


def warn_skipped(skipped: Sequence[Refusal]) -> None:
    """Print how many rows were skipped, and the first of them."""
    if skipped:
        rows = "row" if len(skipped) == 1 else "rows"
        first = "; ".join(map(str, skipped[:MAX_EXAMPLES]))
        more = " and more" * (len(skipped) > MAX_EXAMPLES)
        print_warnings([f"skipped {len(skipped)} {rows}: {first}{more}"])


def print_warnings(warnings: Iterable[str]) -> None:
    for warning in warnings:
        errors.print(f"[yellow]warning[/yellow] {escape(warning)}")


def print_compiling() -> AbstractContextManager[None]:
    """Print once that kernels are being compiled, if they are."""
    text = "compiling for this processor, once; later runs start at once"
    watched: AbstractContextManager[None] = kernels.watch_compiling(
        lambda: errors.print(text, style="dim")
    )
    return watched
