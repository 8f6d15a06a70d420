"""Effort sets how much is tried for panels: settings that trade time for quality."""

from typing import NamedTuple

from askless.core.training.params import EffortName


class Recipe(NamedTuple):
    """The predictors of a blend."""

    #: half the number of random features of a kernel
    n_waves: int
    #: the same for tables with many columns; 0: as for few
    n_wide_waves: int
    #: ridge penalties that are tried for a kernel
    penalties: tuple[float, ...]
    #: (rounds, leaves, rate, row_share, column_share) of each boosted ensemble
    ensembles: tuple[tuple[int, int, float, float, float], ...]


class Effort(NamedTuple):
    """How many rows, sets and predictors are tried."""

    #: held-out rows that suffice to validate a training; other folds are skipped
    validation_rows: int
    #: rows that blends are fitted to, at most
    fit_rows: int
    #: rows that sets are chosen by, at most
    search_rows: int
    #: held-out rows that suffice to judge a set; other folds are skipped
    search_judges: int
    #: the same for a blend
    blend_judges: int
    #: sets that are chosen, at most
    max_rungs: int
    #: forward selection divides gains by the price to these powers
    powers: tuple[float, ...]
    #: budgets up to so many usual prices are searched as thoroughly as named ones
    small: int
    #: swaps that are tried for each small or named budget
    max_swaps: int
    #: rounds of the rules whose order of purchases is a candidate
    order_rounds: int
    #: blend of a set that was chosen
    full: Recipe
    #: blend of a beginning of such a set
    light: Recipe
    #: each beginning is longer than the one before by this factor, at least by one
    next_size: float


# Rounds, leaves, rate, and the shares of rows and columns that each round draws.
TREES = 70, 5, 0.18, 0.75, 0.6
FEW_TREES = 40, 4, 0.2, 1.0, 1.0
MANY_TREES = 100, 5, 0.13, 0.75, 0.6

LIGHT = Recipe(0, 0, (), (FEW_TREES,))
FULL = Recipe(100, 200, (0.3,), (TREES,))

STANDARD = Effort(
    validation_rows=1500,
    fit_rows=20_000,
    search_rows=3000,
    search_judges=1500,
    blend_judges=2000,
    max_rungs=14,
    powers=(0.7,),
    small=8,
    max_swaps=6,
    order_rounds=50,
    full=FULL,
    light=LIGHT,
    next_size=1.5,
)

EFFORTS: dict[EffortName, Effort] = {
    "fast": STANDARD._replace(
        validation_rows=500,
        fit_rows=10_000,
        search_rows=1000,
        search_judges=500,
        blend_judges=500,
        max_rungs=8,
        small=0,
    ),
    "standard": STANDARD,
    "thorough": Effort(
        validation_rows=2**62,
        fit_rows=2**62,
        search_rows=4000,
        search_judges=4000,
        blend_judges=20_000,
        max_rungs=18,
        powers=(0.7, 0.3, 1.0),
        small=12,
        max_swaps=40,
        order_rounds=400,
        full=Recipe(500, 500, (0.06, 0.3, 1.5), 3 * (MANY_TREES,)),
        light=FULL,
        next_size=1.25,
    ),
}
