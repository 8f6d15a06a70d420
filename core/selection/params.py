"""How to select, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from core.errors import Refusal, RefusedError
from core.table.dataset import Dataset

SelectionMethod = Literal["fs2boost", "ifs2boost", "sfs"]
SelectionLearner = Literal["knn", "stump"]
SelectionCriterion = Literal["z", "z_prime"]

# The paper gives no k; what others do is in docs/selection.md.
N_NEIGHBOURS = 10


@dataclass(frozen=True, slots=True)
class SelectionParams:
    """How to select; `significance` is that of the test of `find_needed`.

    `criterion` is what `ifs2boost` compares subsets by (the others have one each):
    `z_prime` weighs the rows by each subset's own D', as the paper does, `z` alike for
    every subset, which keeps closer to the subsets of `fs2boost`.
    """

    method: SelectionMethod = "fs2boost"
    learner: SelectionLearner = "knn"
    rounds: int = 50
    n_neighbours: int = N_NEIGHBOURS
    significance: float = 0.05
    criterion: SelectionCriterion = "z_prime"


def check_params(dataset: Dataset, params: SelectionParams) -> None:
    """Raise `RefusedError` with every parameter that is out of range."""
    rules = [
        (name, f"must be one of {', '.join(names)}", getattr(params, name) in names)
        for name, names in (
            ("method", get_args(SelectionMethod)),
            ("learner", get_args(SelectionLearner)),
            ("criterion", get_args(SelectionCriterion)),
        )
    ]
    rules += [
        (name, "must be at least 1", getattr(params, name) >= 1)
        for name in ("rounds", "n_neighbours")
    ]
    rule = "must lie strictly between 0 and 1"
    rules.append(("significance", rule, 0 < params.significance < 1))
    refusals = [
        Refusal(f"selection.{name}", rule, repr(getattr(params, name)))
        for name, rule, is_kept in rules
        if not is_kept
    ]
    if dataset.targets.ndim > 1:
        refusals.append(Refusal("target", "must give one class to each row"))
    if refusals:
        raise RefusedError(refusals)
