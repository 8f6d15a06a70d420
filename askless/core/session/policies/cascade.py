"""The policy `cascade`: ask stage after stage until one rejects the case."""

from dataclasses import replace

import numpy as np

from askless.core import kernels
from askless.core.arrays import FloatArray, IntArray
from askless.core.model.ensemble import Ensemble
from askless.core.model.votes import TIE, pick_class
from askless.core.session.policies.ordered import Ordered
from askless.core.session.policy import Step
from askless.core.session.position import Position
from askless.core.session.probability import decide_label
from askless.core.session.rows.walks import Standing


class CascadePolicy(Ordered):
    """Ask as `ordered` does, unless a stage is known to reject.

    A stage is judged once each of its hypotheses has voted or can no longer vote. A
    stage without any vote rejects nothing.
    """

    name = "cascade"
    is_fitted = False

    def serves(self, ensemble: Ensemble) -> bool:
        """Return whether the ensemble has stages."""
        return ensemble.cascade is not None

    def choose_next(self, position: Position) -> Step:
        """Return the first open feature of the plan, unless a stage has rejected."""
        if count_passed(position) < 0:
            return Step(None, "rejected_early")
        return super().choose_next(position)

    def stages(self, ensemble: Ensemble) -> kernels.Stages:
        """Return the stages of the cascade."""
        return ensemble.stages

    def standing(self, position: Position) -> Standing:
        """Return the vote so far, with the stages passed."""
        passed = np.array(count_passed(position))
        return replace(super().standing(position), marks=passed)

    def chances(self, ensemble: Ensemble, standing: Standing) -> FloatArray:
        """Return the share of each class among held-out rows that passed as far."""
        return stage_chances(ensemble, standing.marks)

    def votes(self, ensemble: Ensemble, standing: Standing) -> IntArray:
        """Return the class by the stages."""
        return stage_votes(ensemble, standing.marks)

    def is_certain(self, position: Position) -> bool:
        """Return whether the stages to come can change neither vote nor label.

        A session may end within any stage that can be reached.
        """
        ensemble, state = position.ensemble, position.state
        # The result may change a value that counts already.
        if state.known and set(state.known) & set(state.pending):
            return False
        codes = np.array(reachable_codes(position))
        labels = decide_label(ensemble, stage_chances(ensemble, codes)).tolist()
        votes = stage_votes(ensemble, codes).tolist()
        return len(set(labels)) == len(set(votes)) == 1


def stage_chances(ensemble: Ensemble, codes: IntArray) -> FloatArray:
    """Return the probability of each class at codes of `count_passed`.

    (...) -> (..., 2); the shares of classes among held-out rows that came as far.
    """
    cascade = ensemble.cascade
    assert cascade is not None, "the policy needs one"
    reaching = [stage.chance_reaching for stage in cascade.stages]
    rejected = [stage.chance_rejected for stage in cascade.stages]
    # The code -1 - s, stage s rejected, counts from the end: so these stand reversed.
    chances = np.array([*reaching, cascade.chance_passed, *rejected[::-1]])[codes]
    return np.stack((1.0 - chances, chances), axis=-1)


def stage_votes(ensemble: Ensemble, passed: IntArray) -> IntArray:
    """Return the class by the stages: the first if rejected, the second if all passed.

    In between it is the more probable one.
    """
    between = pick_class(ensemble, stage_chances(ensemble, passed), TIE)
    n_stages = ensemble.stages.ends.size
    # Without any stage nothing was passed.
    is_through = (passed == n_stages) & (n_stages > 0)
    return np.where(passed < 0, 0, np.where(is_through, 1, between))


def count_passed(position: Position) -> int:
    """Return the number of stages up to the last one passed; -1 - s if s rejected.

    Stages count from 0. A stage without votes, since its answers are missing, is
    skipped: it counts only once a later stage is passed.
    """
    ensemble, ends = position.ensemble, position.ends
    votes = ensemble.paths.votes[:, 0]
    start = passed = 0
    for stage, (stop, threshold) in enumerate(zip(*ensemble.stages, strict=True)):
        part = ends[start:stop]
        if (part >= 0).any():
            return passed
        # The first vote of all is that of a path that has come to none.
        if (~part > 0).any():
            if votes[~part].sum() < threshold:
                return -1 - stage
            passed = stage + 1
        start = stop
    return passed


def reachable_codes(position: Position) -> list[int]:
    """Return every value of `count_passed` that further answers may lead to.

    Bounds of each stage's votes over all answers decide whether it may pass or reject.
    A stage without votes so far may also be skipped, which changes nothing.
    """
    ensemble, ends = position.ensemble, position.ends
    passed, has_vote = count_passed(position), position.has_vote
    # A vote this close to a threshold may round either way.
    tolerance = TIE * float(ensemble.alpha_sums[-1])
    starts = [0, *ensemble.stages.ends]
    codes = [passed]
    # After a rejection (passed < 0) the range is empty.
    for stage in range(passed, len(ensemble.stages.ends) if passed >= 0 else passed):
        part = slice(starts[stage], starts[stage + 1])
        # A path that has come to a vote keeps one, whatever else it hears.
        if not has_vote[part].any() and not (ends[part] >= 0).any():
            continue
        scores = ensemble.stage_scores[stage]
        low, high = position.bound(scores, position.plan.length)
        threshold = float(ensemble.stages.thresholds[stage])
        if low < threshold + tolerance:
            codes.append(-1 - stage)
        if high >= threshold - tolerance:
            codes.append(stage + 1)
        # It surely rejects; one without votes may still be skipped.
        elif has_vote[part].any():
            break
    return codes
