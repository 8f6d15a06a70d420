"""The policy `ordered`: buy what the hypotheses need, in the order of training."""

import numpy as np

from askless.core import kernels
from askless.core.model.ensemble import Ensemble
from askless.core.model.votes import TIE, safe_divide
from askless.core.session.policy import Policy, Step
from askless.core.session.position import Position
from askless.core.session.rows.walks import SimulatedRows, Walks, make_ends


class Ordered(Policy):
    """Ask the first feature of the plan that has no answer yet."""

    name = "ordered"
    is_fitted = True

    def plan_length(self, position: Position) -> int | None:
        """Return how many hypotheses the plan has."""
        return position.plan.length

    def choose_next(self, position: Position) -> Step:
        """Return the first open feature of the plan.

        Where the plan ends although more could be bought, it is complete.
        """
        if position.plan.first_open is not None:
            return Step(position.plan.first_open)
        if position.plan.length == len(position.ensemble.hypotheses):
            return Step(None, "all_known")
        return Step(None, position.reason_to_stop)

    def stages(self, ensemble: Ensemble) -> kernels.Stages:
        """Return the stages of a cascade that may end a session early: none here."""
        del ensemble
        return kernels.Stages(np.empty(0, np.int64), np.empty(0))

    def walk(self, ensemble: Ensemble, simulated: SimulatedRows) -> Walks:
        """Simulate a session for every row under every budget at once."""
        paths, prices = ensemble.paths, ensemble.catalogue.prices
        ends = make_ends(ensemble, simulated, simulated.budgets.size)
        terms = kernels.Terms(simulated.budgets, paths, prices)
        kernels.walk_ordered(simulated.values, terms, self.stages(ensemble), ends)
        return Walks(
            margins=safe_divide(ends.votes, ends.alphas),
            known_shares=ends.alphas / max(float(ensemble.alpha_sums[-1]), TIE),
            scores=ends.votes,
            marks=ends.marks,
            spent=ends.spent,
            n_asked=ends.n_asked,
            ranks=ends.ranks,
        )
