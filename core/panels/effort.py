"""How much is done for a ladder of panels: every knob that time is traded by."""

from typing import NamedTuple

from core.training.params import EffortName


class Recipe(NamedTuple):
    """What a blend is made of."""

    #: random features of a kernel are twice as many
    n_waves: int
    #: what is tried as the hold of a kernel
    holds: tuple[float, ...]
    #: (rounds, leaves, rate, row_share, column_share) of each boosted ensemble
    ensembles: tuple[tuple[int, int, float, float, float], ...]
    has_gauss: bool


class Effort(NamedTuple):
    """How many rows, sets and predictors are tried."""

    #: held-out rows that suffice to validate a training; other folds are left undone
    validation_rows: int
    #: rows that sets are chosen by, at most; blends are fitted to all
    search_rows: int
    #: so many held-out rows suffice to judge a set; the other folds are left undone
    search_judges: int
    #: the same of a blend
    blend_judges: int
    #: sets that are chosen, at most
    max_rungs: int
    #: swaps that are tried for a small set
    max_swaps: int
    #: rounds of the rules whose order of purchases is a candidate
    order_rounds: int
    #: of a set that was chosen
    full: Recipe
    #: of its beginnings
    light: Recipe


SMALL_TREES = 130, 4, 0.1, 1.0, 1.0
SAMPLED_TREES = 100, 6, 0.08, 0.75, 0.6
SINGLE = Recipe(0, (), ((60, 4, 0.1, 1.0, 1.0),), False)
LIGHT = Recipe(200, (0.3,), ((80, 4, 0.1, 1.0, 1.0),), False)
FULL = Recipe(500, (0.06, 0.3, 1.5), (SMALL_TREES, SAMPLED_TREES), True)

EFFORTS: dict[EffortName, Effort] = {
    "fast": Effort(
        500,
        1000,
        500,
        1000,
        8,
        0,
        100,
        Recipe(300, (0.3,), (SMALL_TREES,), False),
        LIGHT,
    ),
    "standard": Effort(2000, 2000, 1000, 2000, 16, 12, 200, FULL, LIGHT),
    "thorough": Effort(
        2**62,
        4000,
        4000,
        20_000,
        16,
        40,
        400,
        FULL._replace(n_waves=750, ensembles=(SMALL_TREES, *3 * (SAMPLED_TREES,))),
        LIGHT._replace(n_waves=500, holds=FULL.holds, has_gauss=True),
    ),
}
