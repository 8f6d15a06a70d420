"""The option --aim: what sessions must reach on average."""

from typing import Annotated

import typer

from askless.core.errors import Refusal, RefusedError
from askless.core.model.ensemble import Ensemble
from askless.core.parameters import parameters_of
from askless.core.session.aims import check_aim
from askless.core.session.state import Aim
from askless.core.table.texts.numbers import parse_number

AIMS = parameters_of(Aim)
HELP = "To reach on average: mean_budget=75, wanted_error=.1 or error_price=500."
OneAim = Annotated[str | None, typer.Option("--aim", help=HELP)]
SeveralAims = Annotated[list[str] | None, typer.Option("--aim", help=HELP)]


def parse_aim(text: str | None, ensemble: Ensemble, policy: str | None) -> Aim | None:
    """Return the aim that NAME=NUMBER means for a model; None: no aim."""
    if text is None:
        return None
    name, _, number = text.partition("=")
    if name not in AIMS:
        rule = f"must be NAME=NUMBER with one of {', '.join(AIMS)}"
        raise RefusedError([Refusal("--aim", rule, repr(text))])
    value = parse_number(number)
    try:
        aim = Aim(**{name: AIMS[name].check(number if value is None else value)})
    except ValueError as error:
        raise RefusedError([Refusal("--aim", str(error), repr(text))]) from None
    return check_aim(aim, ensemble, policy, "--aim")


def parse_aims(
    texts: list[str], limits: list[int | None], ensemble: Ensemble, policy: str | None
) -> tuple[list[int | None], list[Aim | None]]:
    """Return a budget for each aim; without aims each budget has none."""
    if not texts:
        return limits, [None] * len(limits)
    if len(limits) > 1:
        raise RefusedError([Refusal("--budgets", "must be one beside --aim")])
    return limits * len(texts), [parse_aim(text, ensemble, policy) for text in texts]
