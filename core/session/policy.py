"""What a policy says of a session; each is one class in `core.session.policies`."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from core.arrays import FloatArray, IntArray
from core.model.ensemble import Ensemble
from core.model.votes import raw_votes
from core.session.position import Position
from core.session.probability import FULL_VOTE, probabilities
from core.session.state import State, StopReason
from core.session.stop_rules import is_vote_certain
from core.session.walks import Cases, Standing, Walks, play_rows


@dataclass(frozen=True, slots=True)
class Step:
    """The feature to ask, or None with the reason."""

    feature_idx: int | None
    reason: StopReason | None = None
    #: draws done with, where a policy draws
    n_draws: int = 0


class Policy(ABC):
    """How a session goes on.

    A subclass says its name and finds the next step. What it need not say: its vote is
    that of all that is known, certain once no answer within reach can change it, and
    rows are played one by one.
    """

    name: str
    #: key of `Ensemble.calibrations` whose fit turns its votes into probabilities
    calibration = FULL_VOTE
    #: whether training fits a calibration, under its name, to the votes it ends with
    is_fitted = False

    def serves(self, ensemble: Ensemble) -> bool:
        """Return whether sessions of an ensemble may ask by this policy."""
        del ensemble
        return True

    @abstractmethod
    def find_next(self, position: Position) -> Step:
        """Return what to ask next, or why nothing is."""

    def plan_length(self, position: Position) -> int | None:
        """Return how many hypotheses its plan has; None: whatever can be paid."""
        del position
        return None

    def count_draws(self, position: Position) -> int:
        """Return how many draws are done with once an answer is in."""
        return position.state.n_draws

    def standing(self, position: Position) -> Standing:
        """Return the vote so far.

        margins = sum(alpha h) over what is known of the plan / sum of the plan's alpha.
        """
        tally = position.tally(self.plan_length(position))
        total = float(position.ensemble.alpha_sums[-1])
        return Standing(
            margins=tally.votes / tally.planned if tally.planned else tally.votes,
            known_shares=np.array(tally.known / total if tally.known else 0.0),
            scores=tally.votes,
            marks=np.array(0),
        )

    def n_draws(self, standing: Standing) -> int | None:
        """Return how many draws have voted; None where the vote is no sample."""
        del standing
        return None

    def chances(self, ensemble: Ensemble, standing: Standing) -> FloatArray:
        """Return the probability of each class; (..., n_classes)."""
        scores, shares = standing.scores, standing.known_shares
        return probabilities(ensemble, self.calibration, scores, shares)

    def votes(self, ensemble: Ensemble, standing: Standing) -> IntArray:
        """Return the class of the raw vote; (...)."""
        return raw_votes(ensemble, standing.margins * ensemble.alpha_sums[-1])

    def is_certain(self, position: Position) -> bool:
        """Return whether no answer within reach can change the vote or the label."""
        return is_vote_certain(position, self.plan_length(position))

    def walk(self, ensemble: Ensemble, cases: Cases) -> Walks:
        """Play a session for every row under every budget; these ascend."""

        def ask(state: State) -> tuple[State, int | None]:
            position = Position.of(ensemble, state)
            step = self.find_next(position)
            is_decided = step.reason == "all_known"
            state = position.decide(n_draws=step.n_draws, is_decided=is_decided)
            return state, step.feature_idx

        def stand(state: State) -> Standing:
            return self.standing(Position.of(ensemble, state))

        return play_rows(ensemble, cases, self.name, ask, stand)
