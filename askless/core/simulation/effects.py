"""Effects of each feature's values on a model's prediction, without its rows."""

from dataclasses import dataclass

import numpy as np

from askless.core import kernels
from askless.core.arrays import FloatArray
from askless.core.model.ensemble import Ensemble
from askless.core.model.hypotheses import build_paths
from askless.core.model.values import possible_values, typical_values
from askless.core.model.votes import TIE
from askless.core.session.plans.outline import outline
from askless.core.session.policies import POLICIES, default_policy
from askless.core.session.probability import (
    FULL_VOTE,
    PLAIN,
    compute_knot_weights,
    uses_vote_shares,
)
from askless.core.simulation.simulate import class_probabilities, simulate


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


def compute_effects(
    ensemble: Ensemble, budget: int | None = None, policy: str | None = None
) -> Effects:
    """Compute the effects of the values of each feature that a budget buys.

    Each value of a feature is tried in a whole session in which every other answer is a
    typical one (`typical_values`): a model keeps no rows, so these are the effects on a
    typical case, not a mean over cases. The features are those that such a case is
    asked; for trees, those on its paths. Where only stumps vote, the log odds are a sum
    with one term per answer (an additive scorecard): then there are points, valid for
    every case that has answered all features of the plan.

    Parameters
    ----------
    budget : int or None
        In micro-units; None: unlimited.
    policy : str, optional
        By default the one that the ensemble prefers at the budget.
    """
    name = policy or default_policy(ensemble, budget, None)
    asked = [
        idx for step in outline(ensemble, budget, name) for idx in step.feature_idxs
    ]
    has_votes = POLICIES[name].has_votes
    typical = typical_values(ensemble)
    tried = [
        np.append(list_trial_values(ensemble, idx, has_votes=has_votes), np.nan)
        for idx in asked
    ]
    # The first row is the typical case; each other row differs in one value.
    rows = np.tile(typical, (1 + sum(values.size for values in tried), 1))
    starts = np.cumsum([1, *(values.size for values in tried)])
    for idx, values, start in zip(asked, tried, starts, strict=False):
        rows[start : start + values.size, idx] = values
    # One stream for all: draws must not differ between rows.
    walks = simulate(ensemble, rows, [budget], name, streams=[0] * rows.shape[0])
    chances = class_probabilities(ensemble, walks)[:, 0]
    scorecard = make_scorecard(ensemble, name, asked)
    return Effects(
        typical=chances[0],
        base=None if scorecard is None else scorecard.base,
        features=tuple(
            FeatureEffect(
                feature_idx=idx,
                values=values,
                chances=chances[start : start + values.size],
                points=None if scorecard is None else scorecard.points(idx, values),
            )
            for idx, values, start in zip(asked, tried, starts, strict=False)
        ),
    )


def list_trial_values(
    ensemble: Ensemble, feature_idx: int, *, has_votes: bool
) -> FloatArray:
    """Return the values that training saw if it saw only a few, else possible ones."""
    seen = ensemble.catalogue.features[feature_idx].values
    if seen:
        return np.array(seen)
    return possible_values(ensemble, feature_idx, has_votes=has_votes)


@dataclass(frozen=True, eq=False)
class Scorecard:
    """Log odds as a sum of one term for each answer of a plan of stumps."""

    #: (n_outputs,), log odds before any answer
    base: FloatArray
    #: log odds that a unit of vote adds
    factor: float
    #: the stumps of the plan
    paths: kernels.Paths
    n_features: int

    def points(self, feature_idx: int, values: FloatArray) -> FloatArray:
        """Return the log odds that values of a feature add; (n_values, n_outputs)."""
        rows = np.full((values.size, self.n_features), np.nan)
        rows[:, feature_idx] = values
        votes = np.zeros((values.size, self.base.size))
        kernels.add_votes(rows, self.paths, votes, np.zeros(values.size))
        return np.where(np.isnan(values)[:, None], np.nan, self.factor * votes)


def make_scorecard(
    ensemble: Ensemble, policy: str, asked: list[int]
) -> Scorecard | None:
    """Return the scorecard of the features asked; None where terms depend on others.

    Notes
    -----
    With every feature of the plan answered the share s of the alpha that votes is that
    of the plan, so that the logit offset(s) + slope(s) G of `Calibration` is a sum over
    the stumps of each feature.
    """
    hypotheses, n_outputs = ensemble.hypotheses, ensemble.n_outputs
    is_sum = policy == FULL_VOTE and not uses_vote_shares(ensemble, policy)
    if not is_sum or not all(hypothesis.sole_stump for hypothesis in hypotheses):
        return None
    # The plan ends at the first stump on a feature that the budget doesn't buy.
    is_out = [hypothesis.feature_idxs[0] not in asked for hypothesis in hypotheses]
    length = is_out.index(True) if True in is_out else len(hypotheses)
    share = ensemble.alpha_sums[length] / max(float(ensemble.alpha_sums[-1]), TIE)
    link = ensemble.calibration_arrays.get(FULL_VOTE, PLAIN)
    *offsets, slope = (compute_knot_weights(np.array(share)) @ link).tolist()
    return Scorecard(
        base=np.broadcast_to(np.array(offsets), (n_outputs,)),
        # For two classes the slope is that of the odds 2F; see `Calibration`.
        factor=2.0 * slope if n_outputs == 1 else slope,
        paths=build_paths(hypotheses[:length], n_outputs, ensemble.alphas[:length]),
        n_features=len(ensemble.catalogue.features),
    )
