"""Hold counts from sessions on rows set aside, which certify stops and label sets."""

import itertools
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Interval, Len

from askless.core.model.ranges import Chance, Each, Micros

# Thresholds that are tried: how probable the label must be to stop early.
THRESHOLDS = (0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 0.995)

# Limits of a certification: far above what training makes, and small enough for a
# session that tests every rule on it.
MAX_ROWS, MAX_ITEMS = 2**16, 1000

# Strata of spend: thirds of the budget.
N_STRATA = 3

# Probabilities that the chance of the true class is compared with, for label sets.
CHANCES = (
    *(0.0, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3),
    *(step / 100 for step in range(1, 100)),
    *(0.995, 0.999),
)


@dataclass(frozen=True, slots=True)
class EarlyRule:
    """A session stops in an open stratum once its label reaches the threshold."""

    threshold: Chance
    #: one per stratum of spend
    opens: Annotated[tuple[bool, ...], Len(N_STRATA, N_STRATA)]


EARLY_RULES = tuple(
    EarlyRule(threshold, opens)
    for opens in itertools.product((False, True), repeat=N_STRATA)
    if any(opens)
    for threshold in THRESHOLDS
)

# For each rule: sessions that stop in each stratum, then how many labels differ.
Rows = Annotated[int, Interval(ge=0, le=MAX_ROWS)]
Counts = tuple[Annotated[tuple[Rows, ...], Len(2 * N_STRATA, 2 * N_STRATA)], ...]


@dataclass(frozen=True, slots=True)
class Level:
    """Sessions under one budget; money in micro-units."""

    budget: Micros | None
    policy: str
    #: the least spends of the second and the third stratum
    bounds: Annotated[tuple[Micros, ...], Len(N_STRATA - 1, N_STRATA - 1)]
    #: on rows of the folds, which order the tests
    guide: Annotated[Counts, Each("rules")]
    #: by rule, on rows of the folds
    guide_spends: Annotated[tuple[Micros, ...], Each("rules")]
    #: on the rows set aside
    counts: Annotated[Counts, Each("rules")]
    #: by rule, on the rows set aside
    mean_spends: Annotated[tuple[Micros, ...], Each("rules")]
    #: without early stops
    mean_spend: Micros
    #: rows set aside whose true class had at least this chance at the end, by `chances`
    n_covered: Annotated[tuple[Rows, ...], Each("chances")]


@dataclass(frozen=True, slots=True)
class Certification:
    """Counts of a model's sessions on rows that no part of its training saw.

    No row itself is kept.
    """

    #: rows set aside
    n_samples: Annotated[Rows, Interval(ge=1)]
    #: rows of the folds
    n_guide: Rows
    rules: Annotated[tuple[EarlyRule, ...], Len(1, MAX_ITEMS)]
    chances: Annotated[tuple[Chance, ...], Len(1, MAX_ITEMS)]
    #: by budget, ascending; None is the last
    levels: Annotated[tuple[Level, ...], Len(1, MAX_ITEMS)]

    @property
    def sizes(self) -> dict[str, int]:
        """Numbers of rules and chances, by which lists of levels are checked."""
        return {"rules": len(self.rules), "chances": len(self.chances)}
