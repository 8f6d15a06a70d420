"""Our panels on a market: trained on all rows, sessions played with an aim."""

from dataclasses import replace
from typing import NamedTuple

from askless.core.model.ensemble import Ensemble
from askless.core.panels.ladders import fit_ladder
from askless.core.session.state import Aim
from askless.core.simulation.simulate import class_probabilities, simulate
from askless.core.table.dataset import Dataset
from askless.core.training.algorithms import make_ensemble
from askless.core.training.params import BoostParams
from askless.core.work import run_to_end
from benchmarks.buying.market import Market
from benchmarks.data import MICROS


class Played(NamedTuple):
    """True mean spend, what the core charged, and the error."""

    spend: float
    charged: float
    error: float


def train(training: Dataset, seed: int) -> Ensemble:
    """Train panels on all rows, as the pipeline does after its folds."""
    ladder = run_to_end(fit_ladder(training, seed))
    ensemble = make_ensemble(training, BoostParams("panels"), ())
    return replace(ensemble, panels=ladder)


def play(
    market: Market, ensemble: Ensemble, testing: Dataset, aim: Aim | None, seed: int
) -> Played:
    """Play the test rows; without an aim everything is bought."""
    policy = None if aim else "panels"
    walks = simulate(
        ensemble, testing.values, [None], policy, seed, aims=[aim], spend="all"
    )
    labels = class_probabilities(ensemble, walks)[:, 0].argmax(axis=1)
    spent = market.sum_prices(walks.ranks > 0).mean()
    error = (labels != testing.targets).mean()
    return Played(float(spent), float(walks.spent.mean() / MICROS), float(error))
