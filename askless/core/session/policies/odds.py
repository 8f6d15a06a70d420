"""The base class of policies that predict by log odds, without votes."""

from askless.core import kernels
from askless.core.arrays import FloatArray, IntArray
from askless.core.model.ensemble import Ensemble
from askless.core.model.ladder.blends import to_chances
from askless.core.model.votes import TIE, pick_class
from askless.core.session.policy import Policy
from askless.core.session.position import Position
from askless.core.session.rows.walks import Standing


class OddsPolicy(Policy):
    """Predicts by log odds, which nothing bounds before the last answer.

    The scores of a standing are the log odds.
    """

    has_votes = False

    def chances(self, ensemble: Ensemble, standing: Standing) -> FloatArray:
        """Return the probability of each class; (..., n_classes)."""
        del ensemble
        return to_chances(standing.scores)

    def votes(self, ensemble: Ensemble, standing: Standing) -> IntArray:
        """Return the most probable class; (...)."""
        return pick_class(ensemble, to_chances(standing.scores), TIE)

    def is_certain(self, position: Position) -> bool:
        """Return whether no question or result is left."""
        is_coming = position.case.status == kernels.PENDING
        if (is_coming & position.ensemble.is_used).any():
            return False
        return self.choose_next(position).feature_idx is None
