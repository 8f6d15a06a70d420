"""A model of panels for 1, 3 and 7, of which only the first is worth it."""

from dataclasses import replace

from askless.core.model.ensemble import Ensemble, Knee
from askless.core.model.model import Curve, Model, bind_errors
from tests.panels import make_ladder
from tests.sessions import small_ensemble
from tests.small import MICROS

BUDGETS = (0, MICROS, 3 * MICROS, None)
ERRORS = (0.5, 0.3, 0.3, 0.28)
SPENDS = (0.0, 1e6, 3e6, 7e6)
KNEES = (
    Knee(0, 0),
    Knee(MICROS, MICROS),
    Knee(3 * MICROS, MICROS, 0.0, 0.004),
    Knee(None, MICROS, 0.02, 0.005),
)
# All that the model reads, for 7 in all; 1 of it is worth it.
WORTH = (
    "going on from 1.00 to no limit is not worth it: 6.00 more on average for 1 to 3 "
    "errors fewer in 100 cases"
)


def ensemble_of(**changes) -> Ensemble:
    plain = small_ensemble([1 * MICROS, 2 * MICROS, 4 * MICROS], policy="panels")
    fields = {"panels": make_ladder(plain, [(0, 1, 2)]), "knees": KNEES}
    return replace(plain, algorithm="panels", **(fields | changes))


def model_of(**changes) -> Model:
    curve = Curve(BUDGETS, ERRORS, ERRORS, SPENDS, tuple(map(int, SPENDS)), 2000)
    return bind_errors(Model("m", ensemble_of(**changes), "y", curve=curve))
