"""How much is measured: in full, or little to see that everything runs."""

from typing import NamedTuple

THREADS = 2
SEED = 7
BINS = 255


class Shape(NamedTuple):
    """Rows, features and rounds of one training."""

    rows: int
    features: int
    rounds: int


class Scale(NamedTuple):
    """Sizes of every part, and how often each is measured."""

    training: Shape = Shape(100_000, 200, 100)
    adaboost: Shape = Shape(20_000, 50, 100)
    memory: Shape = Shape(200_000, 200, 20)
    stumps: int = 500
    features: int = 60
    #: of models whose answers are timed by the processor
    widths: tuple[int, ...] = (60, 200)
    auto_rows: int = 1_500
    curve_rows: int = 10_000
    budgets: tuple[int, ...] = tuple(range(2, 25, 2))
    sessions: int = 100
    error_rounds: int = 200
    error_splits: int = 20
    auto_tables: int = 6
    runs: int = 7
    long_runs: int = 3


QUICK = Scale(
    training=Shape(4_000, 40, 20),
    adaboost=Shape(2_000, 10, 10),
    memory=Shape(40_000, 50, 5),
    stumps=60,
    features=20,
    widths=(10,),
    auto_rows=300,
    curve_rows=300,
    sessions=5,
    error_rounds=10,
    error_splits=2,
    auto_tables=1,
    runs=2,
    long_runs=1,
)
