"""Options of `train` that override its spec."""

import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import typer

from askless.app.documents.files import read_text
from askless.app.documents.spec.spec import read_spec
from askless.app.documents.text import parse_spec
from askless.core.errors import Refusal, RefusedError
from askless.core.pipeline.spec import TrainingSpec
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
        "--budgets", "--budget", help="Such as 20,60: to measure the error at, too."
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


def load_changed(path: Path, given: Mapping[str, str | None]) -> TrainingSpec:
    """Read a spec, changed by options; an option that is None changes nothing."""
    raw = parse_spec(read_text(path), str(path))
    named = {option: text for option, text in given.items() if text is not None}
    for option, text in named.items():
        words = [read_number_or_text(word.strip()) for word in text.split(",")]
        raw = replace_value(raw, PLACES[option], words if option == LIST else words[0])
    try:
        return read_spec(raw)
    except RefusedError as error:
        raise RefusedError(rename_field(one, named) for one in error.refusals) from None


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


def rename_field(one: Refusal, named: Mapping[str, str]) -> Refusal:
    """Return a refusal under the name of the option that it is about."""
    for option in named:
        field = ".".join(PLACES[option])
        if one.field == field or one.field.startswith(f"{field}["):
            return Refusal(option, one.rule, one.found)
    return one
