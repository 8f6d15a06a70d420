"""Define the parameters of a selection."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Interval, doc

SelectionMethod = Literal["fs2boost", "ifs2boost", "sfs"]
SelectionLearner = Literal["knn", "stump"]
SelectionCriterion = Literal["z", "z_prime"]

# The paper gives no k; docs/evidence.md compares with others.
N_NEIGHBOURS = 10


@dataclass(frozen=True, slots=True)
class SelectionParams:
    """Parameters of a selection; `compute_needed_gain` uses the `significance`.

    `criterion` is what `ifs2boost` compares subsets by (other methods have only one):
    `z_prime` weighs the rows by each subset's own D', as the paper does; `z` weighs
    them equally for all subsets, which selects more like `fs2boost`. A spec can't set
    it.
    """

    method: Annotated[
        SelectionMethod,
        doc(
            "What a feature must do to be added: `fs2boost` and `ifs2boost` lower the "
            "loss of boosting markedly, `sfs` raise the accuracy."
        ),
    ] = "fs2boost"
    learner: Annotated[
        SelectionLearner, doc("What judges a subset: nearest neighbours or stumps.")
    ] = "knn"
    rounds: Annotated[
        int, Interval(ge=1, le=10_000), doc("Rounds of boosting on a subset.")
    ] = 50
    n_neighbours: Annotated[
        int, Interval(ge=1, le=10_000), doc("The k of nearest neighbours.")
    ] = N_NEIGHBOURS
    significance: Annotated[
        float, Interval(ge=1e-6, le=1 - 1e-6), doc("The smaller, the fewer features.")
    ] = 0.05
    criterion: SelectionCriterion = "z_prime"
