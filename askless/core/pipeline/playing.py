"""Play the model itself to measure its spends and questions, without classes."""

from dataclasses import replace

import numpy as np

from askless.core.arrays import evenly_spaced
from askless.core.model.ensemble import Ensemble
from askless.core.pipeline.validation import Validation
from askless.core.simulation.purchases import measure_purchases
from askless.core.table.dataset import Dataset

# Most rows that a model is played on: the mean spend is known to 2 % of its spread.
MAX_PLAYED = 2000


def add_model_spends(
    whole: Ensemble, seen: Dataset, validation: Validation, seed: int
) -> Validation:
    """Replace the spends and questions of a curve by those of the model itself.

    Parameters
    ----------
    whole : Ensemble
        The finished model, with the policy of each range of budgets.
    seen : Dataset
        Rows of its training; classes are not read. Many rows are thinned evenly.
    validation : Validation
        The errors of its curve stay as they are.
    seed : int
        Seeds the draws of sessions.

    Notes
    -----
    A model is surer of rows that it was trained on, so that a case that may end early
    ends earlier there. It ends by coarse thresholds, and few questions are left then:
    on breast cancer and a generated table spends on other rows were 2 % away at most.
    """
    rows = select_rows_to_play(seen)
    budgets = validation.curve.budgets
    bought = measure_purchases(whole, rows, budgets, seed=seed)
    means = [float(np.arange(len(shares)) @ shares) for *_, shares in bought]
    curve = replace(
        validation.curve,
        mean_spends=tuple(purchase.mean_spend for purchase in bought),
        max_spends=tuple(purchase.max_spend for purchase in bought),
        purchases=tuple(tuple(purchase.shares.tolist()) for purchase in bought),
        questions=tuple(round(mean, 9) for mean in means),
        n_played=rows.n_samples,
    )
    # Those of held-out rows remain, for comparison with the fixed list.
    spends = validation.curve.mean_spends
    return validation._replace(curve=curve, spends=spends, purchases=tuple(bought))


def select_rows_to_play(seen: Dataset) -> Dataset:
    """Return at most `MAX_PLAYED` rows, evenly spaced."""
    return seen.take(evenly_spaced(seen.n_samples, MAX_PLAYED))
