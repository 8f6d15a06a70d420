"""The parameters of a boosting run: each one line, with its range and what it says."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Interval, doc

from askless.core.parameters import Amount, OneOf
from askless.core.training.feature_sampling import SearchName
from askless.core.training.learners import LEARNERS

LabelWeights = Literal["balanced", "uniform"]
EffortName = Literal["fast", "standard", "thorough"]
Share = Annotated[float, Interval(ge=0, le=1)]
#: The keys of `ALGORITHMS`, for readers of models, who need nothing that trains.
ALGORITHM_NAMES = (
    *("auto", "panels", "adaboost", "adaboost_rs", "adaboost_bt"),
    *("adaboost_bt_greedy", "adaboost_bt_smoothed", "hybrid", "speedboost"),
    *("cascade", "online", "decision_tree", "bagging", "random_forest"),
)


@dataclass(frozen=True, slots=True)
class BoostParams:
    """The parameters of a boosting run; `cost_floor` in micro-units.

    `seed` is that of the draws of the search `lazy`, of held-out rows and of ties of
    scikit-learn's trees. `label_weights`: see `compute_initial_weights`.
    """

    algorithm: str = "adaboost_bt_smoothed"
    rounds: Annotated[
        int,
        Interval(ge=1, le=100_000),
        doc(
            "Weak hypotheses, or trees; of a cascade the most in each stage; beside "
            "panels 100 at most."
        ),
    ] = 300
    tau: Annotated[
        Share,
        doc(
            "Of `adaboost_bt_smoothed` and `hybrid`: how much what was spent evens "
            "costs out; 0 is greedy."
        ),
    ] = 1.0
    switch: Annotated[Share, doc("Of `hybrid`: when it turns smoothed.")] = 0.1
    cost_floor: Annotated[
        Amount | None,
        doc(
            "Of the rules that weigh prices: what a cost of 0 counts as; by default "
            "the smallest positive cost."
        ),
    ] = None
    learner: Annotated[
        str, OneOf(LEARNERS), doc("Of boosting and cascades: the weak hypotheses.")
    ] = "stump"
    leaves: Annotated[int, Interval(ge=2, le=64), doc("Of a tree, at most.")] = 8
    factors: Annotated[
        int, Interval(ge=1, le=8), doc("Of a product: its stumps, at most.")
    ] = 3
    search: Annotated[
        SearchName,
        doc(
            "Which features a round looks at: all, some drawn at random (`lazy`), "
            "those that paid off so far (`ucb`), or the same with the bonus of its "
            "paper (`ucb_unscaled`)."
        ),
    ] = "all"
    search_size: Annotated[
        int,
        Interval(ge=1, le=1_000_000),
        doc("How many features `lazy`, `ucb` and `ucb_unscaled` look at."),
    ] = 20
    seed: Annotated[int, Interval(ge=0, le=2**63 - 1)] = 0
    effort: Annotated[
        EffortName,
        doc(
            "Of `auto` and `panels`: how long to look for better. `fast` takes a third "
            "of the time of `standard` on large tables, over half on small ones; "
            "`thorough` validates on every fold."
        ),
    ] = "standard"
    least_missing: Annotated[
        int,
        Interval(ge=1, le=1_000_000),
        doc(
            "Of `auto` and `panels`: rows in which a feature must be missing before a "
            "missing value counts as information."
        ),
    ] = 20
    label_weights: Annotated[
        LabelWeights, doc("First weights of more than two classes.")
    ] = "balanced"
    stages: Annotated[int, Interval(ge=1, le=50), doc("Of a cascade, at most.")] = 3
    detection: Annotated[
        float,
        Interval(ge=0.5, le=1),
        doc(
            "Of a cascade: share of the positive class that each stage must keep, on "
            "held-out rows."
        ),
    ] = 0.99
    false_alarm: Annotated[
        Share,
        doc(
            "Of a cascade: share of the other class that each stage may let pass, on "
            "held-out rows."
        ),
    ] = 0.5
    half_life: Annotated[
        int,
        Interval(ge=1, le=1_000_000_000),
        doc("Of `online`: rows after which a row counts half."),
    ] = 20_000


def check_algorithm(name: object) -> str:
    """Return the name of an algorithm; raise ValueError with the rule broken."""
    if not isinstance(name, str) or name not in ALGORITHM_NAMES:
        raise ValueError(f"must be one of {', '.join(ALGORITHM_NAMES)}")
    return name
