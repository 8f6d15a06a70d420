"""The specification of a training: the table, and how to train on it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Interval, doc

from askless.core.codes.folds import Deal
from askless.core.errors import Refusal
from askless.core.pipeline.choosing import (
    AUTO,
    AUTO_NAMES,
    AUTO_ROUNDS,
    USERS,
    AutoName,
)
from askless.core.selection.params import SelectionParams
from askless.core.table.spec import TableSpec
from askless.core.training.params import BoostParams


@dataclass(frozen=True)
class TrainingSpec:
    """The specification of a training.

    `auto` are parameters to be chosen on held-out rows
    (`askless.core.pipeline.choosing.choose_parameters`). `seed` decides the folds.
    There are fewer of them where classes, or the row groups that stay together, have
    fewer members (`deal_stratified_folds`); 0: no validation, hence neither curve nor
    calibration. `deal` is how rows come to folds (`deal_folds`). The curve has the
    `curve_budgets`, in micro-units, besides those at which the model buys more, and
    panels have a set for each of them. `selection` None: every feature may be read.
    `certify_share` None: no row is set aside, hence no certificate and no label set.
    These are for `certify_budgets` in micro-units; if empty, for budgets at which the
    model buys more. `note` is a text for readers of the model.
    """

    table: TableSpec
    name: str = "model"
    boost: BoostParams = BoostParams("auto")
    auto: frozenset[AutoName] = frozenset()
    seed: int = 0
    folds: Annotated[int, Interval(ge=0, le=50)] = 3
    deal: Deal | None = None
    curve_budgets: tuple[int, ...] = ()
    selection: SelectionParams | None = None
    certify_share: Annotated[
        Annotated[float, Interval(gt=0, le=0.5)] | None,
        doc("Share of the rows that nothing is trained on, for certificates."),
    ] = None
    certify_budgets: tuple[int, ...] = ()
    note: str | None = None


def split_auto(
    algorithm: str, given: Mapping[str, object]
) -> tuple[dict[str, object], frozenset[AutoName], list[Refusal]]:
    """Separate parameters with a value from those that are "auto".

    Returns the values (for `rounds` "auto" the most rounds that are tried), the names
    that are "auto", and refusals of those that the algorithm doesn't have.
    """
    auto = frozenset(name for name in AUTO_NAMES if given.get(name) == AUTO)
    refusals = [
        Refusal(
            f"params.{name}",
            f"can be chosen for {', '.join(USERS[name])} only",
            repr(AUTO),
        )
        for name in sorted(auto)
        if algorithm not in USERS[name]
    ]
    fixed = {name: value for name, value in given.items() if name not in auto}
    if "rounds" in auto:
        fixed["rounds"] = AUTO_ROUNDS
    return fixed, auto, refusals
