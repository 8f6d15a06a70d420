"""The base class of policies; `policies` has one class for each."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from askless.core import kernels
from askless.core.arrays import BoolArray, FloatArray, IntArray, look_up
from askless.core.catalogue.prices import Paid, bound_purchases, buy
from askless.core.model.ensemble import Ensemble
from askless.core.model.votes import raw_classes
from askless.core.session.answers import compute_paid, list_revealed, take_answer
from askless.core.session.certainty import is_vote_certain
from askless.core.session.position import Position
from askless.core.session.probability import FULL_VOTE, compute_probabilities
from askless.core.session.rows.traces import Traces, make_traces
from askless.core.session.rows.walks import (
    SimulatedRows,
    Standing,
    Walks,
    make_ends,
    open_session,
    reveal,
)
from askless.core.session.state import Aim, Answer, State, StopReason


@dataclass(frozen=True, slots=True)
class Step:
    """The feature to ask next; with a reason to stop, the one that would be next."""

    feature_idx: int | None
    reason: StopReason | None = None
    #: number of finished draws, where a policy draws
    n_draws: int = 0


class Outlook(NamedTuple):
    """Mean spend and error of sessions on held-out rows."""

    #: in micro-units
    spend: float
    #: error cost; without error costs the share of errors
    error: float


class PlanLeft(NamedTuple):
    """Least and most questions of a plan, and the most that they cost."""

    least: int
    most: int
    #: in micro-units
    spend: int


class Policy(ABC):
    """Chooses the questions of a session and predicts from its answers.

    A subclass has a name and finds the next step. By default its vote is that of all
    known features, certain once no affordable answer can change it, and rows are
    simulated one by one. `is_certain` is about these `votes` and `chances`: a subclass
    that overrides them overrides it too.
    """

    name: str
    #: whether training fits a calibration, under its name, to the votes it ends with
    is_fitted = False
    #: whether what is predicted is the vote of hypotheses
    has_votes = True
    #: whether what is asked follows from what was answered, not from the values
    asks_alike = False

    def serves(self, ensemble: Ensemble) -> bool:
        """Return whether sessions of an ensemble may ask by this policy."""
        del ensemble
        return True

    @abstractmethod
    def choose_next(self, position: Position) -> Step:
        """Return the feature to ask next, or the reason for none."""

    def plan_length(self, position: Position) -> int | None:
        """Return the number of hypotheses in its plan; None: all that can be paid."""
        del position
        return None

    def count_draws(self, position: Position) -> int:
        """Return the number of draws that are finished after the last answer."""
        return position.state.n_draws

    def standing(self, position: Position) -> Standing:
        """Return the current vote.

        Its margins are sum(alpha h) over the known part of the plan / the plan's alpha.
        """
        tally = position.tally(self.plan_length(position))
        total = float(position.ensemble.alpha_sums[-1])
        return Standing(
            margins=tally.votes / tally.planned if tally.planned else tally.votes,
            known_shares=np.array(tally.known / total if tally.known else 0.0),
            scores=tally.votes,
            marks=np.array(0),
        )

    def propensity(self, position: Position, feature_idx: int) -> float | None:
        """Return the chance that a feature is asked next, given what was answered.

        `feature_idx` is what `choose_next` returns. By default the policy draws
        nothing, or once for the whole session, and the chance is 1. None: not known.
        """
        del position, feature_idx
        return 1.0

    def list_askable(self, position: Position) -> list[int]:
        """Return the features that could be asked next, each once."""
        results = position.shared if self.asks_alike else position.kept
        key = self.name, "askable"
        return look_up(results, key, lambda: self.list_open(position))

    def list_open(self, position: Position) -> list[int]:
        """Compute the features of `list_askable`, without the cache."""
        is_payable = (position.waiting_for >= 0) & position.is_payable
        return list(dict.fromkeys(position.waiting_for[is_payable].tolist()))

    def can_use(self, position: Position, feature_idx: int) -> bool:
        """Return whether the value of a feature can change what is predicted.

        `position` is that after the answer. By default it can if some hypothesis reads
        it, even one that the plan reaches only where others are missing.
        """
        starts, _ = position.ensemble.readers
        return bool(starts[feature_idx + 1] > starts[feature_idx])

    def open_share(self, position: Position, feature_idx: int) -> float:
        """Return the share of the open alpha whose hypotheses wait for a feature."""
        waiting_for = position.waiting_for
        is_open = waiting_for >= 0
        length = self.plan_length(position)
        if length is not None:
            # The plan, and the hypothesis after it if it is the one that asks.
            first_asking = int(np.argmax(waiting_for == feature_idx))
            is_open[max(length, first_asking + 1) :] = False
        alphas = position.ensemble.paths.alphas
        asking = alphas[is_open & (waiting_for == feature_idx)].sum()
        return float(asking / alphas[is_open].sum())

    def mark_known(self, position: Position) -> BoolArray:
        """Return which features are known; (n_features,)."""
        return np.asarray(position.case.status == kernels.KNOWN, np.bool_)

    def mark_read(self, position: Position, is_known: BoolArray) -> BoolArray:
        """Return which of some known features a prediction reads; (n_features,)."""
        return is_known & position.ensemble.is_used

    def plan_left(self, position: Position) -> PlanLeft:
        """Return how much of the plan is left, the question to be asked included.

        By default a session may end after any answer, and buys at most what of all that
        is open comes to the most.
        """
        catalogue, state = position.ensemble.catalogue, position.state
        is_open = self.mark_useful(position) & position.is_affordable
        is_open &= position.case.status == kernels.OPEN
        asked = state.next_feature_idx
        revealed = () if asked is None else list_revealed(catalogue, state, asked)
        first, paid = buy(catalogue, compute_paid(catalogue, state), revealed)
        is_open[list(revealed)] = False
        idxs, left = np.flatnonzero(is_open).tolist(), position.remaining - first
        n_more, spend = bound_purchases(catalogue, paid, idxs, left)
        return PlanLeft(1, max(n_more + bool(revealed), 1), first + spend)

    def mark_useful(self, position: Position) -> BoolArray:
        """Return which features sessions read; (n_features,)."""
        return position.ensemble.is_used

    def lacks_any(self, position: Position) -> bool:
        """Return whether something that such sessions may buy came without a value.

        What was measured is of rows that answer everything.
        """
        is_gone = position.case.status == kernels.GONE
        if not is_gone.any():
            return False
        gone = np.flatnonzero(is_gone & ~self.mark_known(position)).tolist()
        return any(self.may_buy(position, idx) for idx in gone)

    def may_buy(self, position: Position, feature_idx: int) -> bool:
        """Return whether the session may buy a feature, if it answers everything.

        By default it may if the feature is of use and the limit pays it alone.
        """
        is_useful = self.can_use(position, feature_idx)
        return is_useful and fits_limit(position, [feature_idx])

    def is_outside_rules(self, position: Position) -> bool:
        """Return whether its rules for ending early don't hold for the case."""
        del position
        return False

    def look_ahead(self, ensemble: Ensemble, aim: Aim | None) -> Outlook | None:
        """Return mean spend and error of sessions with an aim; None: it takes no aims.

        Without an aim they are those of least error.
        """
        del ensemble, aim
        return None

    def predict_after(
        self, position: Position, feature_idx: int, values: FloatArray
    ) -> FloatArray:
        """Return the probability of each class after each of some answers alone.

        Shape (n_values, n_classes); the answer is charged as in a session.
        """
        ensemble = position.ensemble
        first = Answer(feature_idx, "value", float(values[0]))
        charged = take_answer(ensemble.catalogue, position.state, first)
        before, after = charged.values[:feature_idx], charged.values[feature_idx + 1 :]
        states = (
            replace(charged, values=(*before, value, *after))
            for value in values.tolist()
        )
        return np.array([self.decide_alone(ensemble, state) for state in states])

    def decide_alone(self, ensemble: Ensemble, state: State) -> FloatArray:
        """Return the probability of each class, the next step decided; (n_classes,)."""
        position = Position.of(ensemble, state)
        if self.has_votes:
            step = self.choose_next(position)
            is_decided = step.reason == "all_known"
            decided = position.decide(n_draws=step.n_draws, is_decided=is_decided)
            position = Position.of(ensemble, decided)
        return self.chances(ensemble, self.standing(position))

    def n_draws(self, standing: Standing) -> int | None:
        """Return how many draws have voted; None where the vote is no sample."""
        del standing
        return None

    def chances(self, ensemble: Ensemble, standing: Standing) -> FloatArray:
        """Return the probability of each class; (..., n_classes)."""
        scores, shares = standing.scores, standing.known_shares
        return compute_probabilities(ensemble, FULL_VOTE, scores, shares)

    def votes(self, ensemble: Ensemble, standing: Standing) -> IntArray:
        """Return the class of the raw vote; (...)."""
        return raw_classes(ensemble, standing.margins * ensemble.alpha_sums[-1])

    def is_certain(self, position: Position) -> bool:
        """Return whether no answer within reach can change the vote or the label."""
        return is_vote_certain(position, self.plan_length(position))

    def walk(self, ensemble: Ensemble, simulated: SimulatedRows) -> Walks:
        """Simulate a session for every row under every budget; budgets ascend."""
        ends = make_ends(ensemble, simulated, simulated.budgets.size)
        margins, ranks = np.zeros(ends.votes.shape), ends.ranks
        for row, column in np.ndindex(*ends.spent.shape):
            # Each budget overwrites the ranks; those of the largest, the last, stay.
            ranks[row] = 0
            state = open_session(ensemble, simulated, self.name, row, column)
            end = self.play(ensemble, state, simulated.values[row], ranks[row])
            standing = self.standing(end)
            margins[row, column] = standing.margins
            ends.votes[row, column] = standing.scores
            ends.alphas[row, column] = standing.known_shares
            ends.marks[row, column] = standing.marks
            ends.spent[row, column] = end.state.spent
            ends.n_asked[row, column] = ranks[row].max()
        spent, n_asked = ends.spent, ends.n_asked
        return Walks(
            margins, ends.alphas, ends.votes, ends.marks, spent, n_asked, ranks
        )

    def trace(self, ensemble: Ensemble, simulated: SimulatedRows) -> Iterator[Traces]:
        """Simulate the same sessions step by step; yields traces budget by budget."""
        for column in range(simulated.budgets.size):
            played = []
            for row, values in enumerate(simulated.values):
                state = open_session(ensemble, simulated, self.name, row, column)
                ranks = np.zeros(values.size, np.int64)
                played.append([*self.steps(ensemble, state, values, ranks)])
            ends = np.array([len(steps) - 1 for steps in played], np.int64)
            spends = np.zeros((len(played), 1 + ends.max(initial=0)), np.int64)
            chances = np.zeros((*spends.shape, len(ensemble.classes)))
            for row, steps in enumerate(played):
                for place, position in enumerate(steps):
                    standing = self.standing(position)
                    chances[row, place] = self.chances(ensemble, standing)
                    spends[row, place] = position.state.spent
            yield make_traces(ensemble, chances, spends, ends)

    def play(
        self, ensemble: Ensemble, state: State, values: FloatArray, out_ranks: IntArray
    ) -> Position:
        """Simulate a session on a row's values, (n_features,); return its end."""
        *_, end = self.steps(ensemble, state, values, out_ranks)
        return end

    def steps(
        self, ensemble: Ensemble, state: State, values: FloatArray, out_ranks: IntArray
    ) -> Iterator[Position]:
        """Simulate a session on a row's values; yield its position after each step.

        `out_ranks` (n_features,) gets the order of asking.
        """
        while True:
            position = Position.of(ensemble, state)
            step = self.choose_next(position)
            is_decided = step.reason == "all_known"
            state = position.decide(n_draws=step.n_draws, is_decided=is_decided)
            yield Position.of(ensemble, state)
            if step.feature_idx is None or step.reason is not None:
                return
            state = reveal(ensemble, state, step.feature_idx, values, out_ranks)


def fits_limit(position: Position, idxs: Sequence[int]) -> bool:
    """Return whether the limit pays some features, as they are at the start."""
    catalogue, known = position.ensemble.catalogue, position.state.known
    price, _ = buy(catalogue, Paid(), [idx for idx in idxs if idx not in known])
    return position.limit is None or price <= position.limit


def choose_beyond_worthwhile(policy: Policy, position: Position) -> Step:
    """Return the next step where nothing is left of what is worth spending.

    Where all of the budget would buy something more, that is not worth it; else the
    reason is that of the budget.
    """
    step = policy.choose_next(position.beyond)
    return step if step.feature_idx is None else replace(step, reason="not_worth_it")
