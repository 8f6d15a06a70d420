"""Effects of each feature's values on a model's prediction, without its rows."""

from dataclasses import dataclass

import numpy as np

from core import kernels
from core.arrays import FloatArray
from core.model.ensemble import Ensemble
from core.model.hypotheses import lay_paths
from core.model.values import middle_values, possible_values
from core.model.votes import TIE
from core.session.outline import outline
from core.session.policies import POLICIES, default_policy
from core.session.probability import FULL_VOTE, PLAIN, is_share, knot_weights
from core.simulation.simulate import class_probabilities, walk


@dataclass(frozen=True, eq=False)
class FeatureEffect:
    """Effects of the values of one feature; the last value is NaN, "not available"."""

    feature_idx: int
    #: (n_values,), ascending, as in `Dataset.values`
    values: FloatArray
    #: (n_values, n_classes), of a case whose other answers are all middle ones
    chances: FloatArray
    #: (n_values, n_outputs), log odds that a value adds to those of all other answers,
    #: NaN for no value; None where what a value adds depends on the others
    points: FloatArray | None


@dataclass(frozen=True, eq=False)
class Effects:
    """Effects of the features that a budget buys."""

    #: (n_classes,), of the case whose answers are all middle ones
    typical: FloatArray
    #: log odds before any point; None where there are no points; (n_outputs,)
    base: FloatArray | None
    #: in the order in which they are bought
    features: tuple[FeatureEffect, ...]


def find_effects(
    ensemble: Ensemble, budget: int | None = None, policy: str | None = None
) -> Effects:
    """Compute the effects of the values of each feature that a budget buys.

    Each value of a feature is played through a whole session in which every other
    answer is a middle one (`middle_values`): a model keeps no rows, so these are the
    effects on a typical case, not a mean over cases. The features are those that such a
    case is asked; for trees, those on its paths. Where only stumps vote, the log
    odds are a sum with one term per answer (an additive scorecard): then there are
    points, valid for every case that has answered all features of the plan.

    Parameters
    ----------
    budget : int or None
        In micro-units; None: unlimited.
    policy : str, optional
        By default the one that the ensemble prefers at the budget.
    """
    name = policy or default_policy(ensemble, budget, None)
    asked = [idx for one in outline(ensemble, budget, name) for idx in one.feature_idxs]
    has_votes = POLICIES[name].has_votes
    typical = np.array(middle_values(ensemble))
    tried = [
        np.append(possible_values(ensemble, idx, has_votes=has_votes), np.nan)
        for idx in asked
    ]
    rows = np.tile(typical, (1 + sum(values.size for values in tried), 1))
    ends = np.cumsum([1, *(values.size for values in tried)])
    for idx, values, start in zip(asked, tried, ends, strict=False):
        rows[start : start + values.size, idx] = values
    # One stream for all: draws must not differ between rows.
    walks = walk(ensemble, rows, [budget], name, streams=[0] * rows.shape[0])
    chances = class_probabilities(ensemble, walks)[:, 0]
    base, points = find_points(ensemble, name, asked, tried)
    return Effects(
        typical=chances[0],
        base=base,
        features=tuple(
            FeatureEffect(idx, values, chances[start : start + values.size], added)
            for idx, values, start, added in zip(
                asked, tried, ends, points, strict=False
            )
        ),
    )


def find_points(
    ensemble: Ensemble, policy: str, asked: list[int], tried: list[FloatArray]
) -> tuple[FloatArray | None, list[FloatArray | None]]:
    """Return the log odds before any answer, and what each tried value adds to them.

    Notes
    -----
    With every feature of the plan answered the share s of the alpha that votes is that
    of the plan, so that the logit offset(s) + slope(s) G of `Calibration` is a sum over
    the stumps of each feature.
    """
    hypotheses = ensemble.hypotheses
    is_sum = policy == FULL_VOTE and not is_share(ensemble, policy)
    if not is_sum or not all(one.sole_stump for one in hypotheses):
        return None, [None] * len(asked)
    is_out = [one.feature_idxs[0] not in asked for one in hypotheses]
    length = is_out.index(True) if True in is_out else len(hypotheses)
    share = ensemble.alpha_sums[length] / max(float(ensemble.alpha_sums[-1]), TIE)
    link = ensemble.calibration_arrays.get(FULL_VOTE, PLAIN)
    *offsets, slope = (knot_weights(np.array(share)) @ link).tolist()
    base = np.broadcast_to(np.array(offsets), (ensemble.n_outputs,))
    factor = 2.0 * slope if ensemble.n_outputs == 1 else slope
    paths = lay_paths(hypotheses[:length], ensemble.n_outputs, ensemble.alphas[:length])
    points: list[FloatArray | None] = []
    for idx, values in zip(asked, tried, strict=True):
        rows = np.full((values.size, len(ensemble.catalogue.features)), np.nan)
        rows[:, idx] = values
        votes = np.zeros((values.size, ensemble.n_outputs))
        kernels.add_votes(rows, paths, votes, np.zeros(values.size))
        points.append(np.where(np.isnan(values)[:, None], np.nan, factor * votes))
    return base, points
