"""A position: an ensemble, a state, and what follows from both, computed once."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from typing import Any, TypeVar

import numpy as np

from askless.core import kernels
from askless.core.arrays import BoolArray, FloatArray, IntArray, Results, look_up
from askless.core.catalogue.prices import Paid
from askless.core.model.ensemble import Ensemble
from askless.core.session.answers import compute_paid
from askless.core.session.spending import compute_limit
from askless.core.session.state import State, StopReason

UNLIMITED = int(np.iinfo(np.int64).max)
Found = TypeVar("Found")

STATUSES = {
    None: kernels.OPEN,
    "known": kernels.KNOWN,
    "value": kernels.KNOWN,
    "ordered": kernels.PENDING,
    "unavailable": kernels.GONE,
    "refused": kernels.GONE,
    "unknown": kernels.GONE,
}


@dataclass(frozen=True, slots=True)
class Plan:
    """The hypotheses whose features fit the budget: a prefix of the ensemble.

    Hypotheses on features that came back without a value are passed over.
    """

    length: int
    #: the first feature that it needs and that has no answer yet
    first_open: int | None


@dataclass(frozen=True, slots=True)
class Tally:
    """What the paths so far vote."""

    #: float64 (n_outputs,); sum(alpha h)
    votes: FloatArray
    #: the alpha that has voted
    known: float
    #: the alpha that has voted or may
    planned: float


@dataclass(frozen=True, eq=False)
class Position:
    """An ensemble and a session's state; every other field is computed when needed.

    A state keeps its position (`of`), so that its advice, its question and its
    forecast find the paths and the plan once.
    """

    ensemble: Ensemble
    state: State

    @classmethod
    def of(cls, ensemble: Ensemble, state: State) -> "Position":
        """Return the position of a state, the same one each time."""
        cached: Position | None = state.__dict__.get("position")
        if cached is None or cached.ensemble is not ensemble:
            cached = state.__dict__["position"] = cls(ensemble, state)
        return cached

    def decide(self, **changes: Any) -> State:
        """Return the state with another decision, which keeps what was computed.

        The changes concern what comes next, not what is known or paid.
        """
        state = self.state.change(**changes)
        moved = Position.of(self.ensemble, state)
        # Cached properties live in `__dict__`; only the state is another.
        moved.__dict__.update(self.__dict__, state=state)
        return state

    @cached_property
    def case(self) -> kernels.Case:
        """What is known and paid, as kernels read it."""
        state = self.state
        values = np.array(state.values, np.float64)
        status = np.array([STATUSES[outcome] for outcome in state.outcomes], np.int64)
        if state.known:
            # A value known at the start counts until the result that was ordered.
            status[(status == kernels.PENDING) & ~np.isnan(values)] = kernels.KNOWN
        catalogue = self.ensemble.catalogue
        paid = compute_paid(catalogue, state) if catalogue.groups else Paid()
        return kernels.Case(values, status, paid.mark_groups(catalogue))

    @cached_property
    def is_empty(self) -> BoolArray:
        """Which features have the outcome `unavailable`; (n_features,)."""
        outcomes = self.state.outcomes
        if "unavailable" not in outcomes:
            return np.zeros(len(outcomes), np.bool_)
        return np.array([outcome == "unavailable" for outcome in outcomes], np.bool_)

    @cached_property
    def limit(self) -> int | None:
        """The most that the session spends by itself; micro-units, None: unlimited."""
        state = self.state
        return compute_limit(
            self.ensemble, state.budget, state.aim, state.stop.spend, state.policy
        )

    @cached_property
    def remaining(self) -> int:
        """The most that the session still spends; `UNLIMITED` without a limit."""
        if self.limit is None:
            return UNLIMITED
        # A session that went on beyond its limit has nothing left.
        return max(self.limit - self.state.spent - self.state.held, 0)

    @cached_property
    def beyond(self) -> "Position":
        """The same position where all of the budget is to be spent."""
        if self.limit == self.state.budget:
            return self
        stop = replace(self.state.stop, spend="all")
        return Position.of(self.ensemble, replace(self.state, stop=stop))

    @cached_property
    def prices(self) -> IntArray:
        """Price of each feature now, taken alone; (n_features,)."""
        return self.ensemble.catalogue.price_each(self.case.is_group_paid)

    @cached_property
    def is_affordable(self) -> BoolArray:
        """Which features what remains would pay, each taken alone; (n_features,)."""
        return self.prices <= self.remaining

    @cached_property
    def _survey(self) -> tuple[IntArray, IntArray, IntArray]:
        """Where the paths have come to, what their next votes cost and wait for."""
        paths, prices = self.ensemble.paths, self.ensemble.catalogue.prices
        ends, dues, waiting_for = np.empty((3, paths.roots.size), np.int64)
        kernels.survey_paths(self.case, paths, prices, ends, dues, waiting_for)
        return ends, dues, waiting_for

    @property
    def ends(self) -> IntArray:
        """Where the paths have come to: a node, or -1 - v with vote v."""
        return self._survey[0]

    @property
    def waiting_for(self) -> IntArray:
        """Open feature that each hypothesis waits for, or -1; (n_hypotheses,)."""
        return self._survey[2]

    @cached_property
    def is_payable(self) -> BoolArray:
        """Whether what remains pays a hypothesis' next vote; (n_hypotheses,)."""
        return self._survey[1] <= self.remaining

    @property
    def has_vote(self) -> BoolArray:
        """Which hypotheses have come to a vote; (n_hypotheses,)."""
        ends = self.ends
        # At a node (ends >= 0) the vote is that of `HERE`, else ~end = -1 - end; a vote
        # of 0 is none.
        heres = self.ensemble.paths.nodes[np.maximum(ends, 0), kernels.HERE]
        return np.where(ends >= 0, heres, ~ends) > 0

    @property
    def reason_to_stop(self) -> StopReason:
        """Why no feature is asked where one that the model reads is open.

        The budget is exhausted unless what remains pays one of these features.
        """
        is_open = self.case.status == kernels.OPEN
        is_payable = (is_open & self.ensemble.is_used & self.is_affordable).any()
        return "plan_complete" if is_payable else "budget_exhausted"

    @cached_property
    def plan(self) -> Plan:
        """Longest prefix that what remains can pay (Huang et al. 2015, Algorithm 1).

        A tree is asked along its path only, but belongs to the plan if what remains
        pays every feature that the path may still come to. The feature asked may be one
        of the tree after the plan, whose next step can be paid and whose whole can't. A
        product that can't be paid whole is not asked at all: it would have no vote.
        """
        ensemble = self.ensemble
        length, first_open = kernels.compute_plan_length(
            self.case,
            self.ends,
            ensemble.paths,
            ensemble.catalogue.prices,
            self.remaining,
        )
        return Plan(int(length), None if first_open < 0 else int(first_open))

    @cached_property
    def kept(self) -> Results:
        """Results that policies cache for this position, by their own keys."""
        return {}

    @cached_property
    def shared(self) -> Results:
        """Results that positions alike share, by their own keys.

        Alike are those of one ensemble with the same outcomes, whatever the values, and
        the same known features, payments, budget, limit, spend and aim.
        """
        state = self.state
        has_value = [not math.isnan(state.values[idx]) for idx in state.known]
        paid = compute_paid(self.ensemble.catalogue, state)
        spend = state.spent + state.held
        money = paid, spend, state.budget, self.limit, state.aim
        given = state.outcomes, state.known, *has_value
        return self.ensemble.results_of_alike(given, money)

    @cached_property
    def _tallies(self) -> dict[int | None, Tally]:
        return {}

    def tally(self, length: int | None) -> Tally:
        """Return the tally of the first `length` hypotheses, cached by length.

        None: of all hypotheses; those without a vote yet count as planned if payable.
        """
        if length not in self._tallies:
            paths, votes = self.ensemble.paths, np.zeros(self.ensemble.n_outputs)
            is_counted, n_counted = self.is_payable, paths.roots.size
            if length is not None:
                is_counted, n_counted = np.ones(paths.roots.size, np.bool_), length
            counts = kernels.tally_votes(self.ends, is_counted, n_counted, paths, votes)
            self._tallies[length] = Tally(votes, *counts)
        return self._tallies[length]

    def bound(self, scores: FloatArray, length: int | None) -> tuple[float, float]:
        """Return the least and greatest sum of scores over all answers still to come.

        `scores` (n_votes,) say what each vote counts. With the `length` of a plan,
        every longer plan that it may grow to is included; see `bound_votes`.
        """
        low, high = kernels.bound_votes(
            self.case,
            self.ensemble.paths,
            self._reach,
            self.ensemble.segments,
            np.ascontiguousarray(scores),
            -1 if length is None else length,
        )
        return low, high

    @cached_property
    def _reach(self) -> kernels.Reach:
        """Features that may still come: open, pending, and the rest of bundles."""
        catalogue = self.ensemble.catalogue
        is_affordable = self.is_affordable
        is_coming = self.case.status == kernels.PENDING
        if catalogue.groups:
            is_coming |= catalogue.is_bundled & is_affordable
        return kernels.Reach(self.ends, self.is_payable, is_affordable, is_coming)


def cached_once(
    compute: Callable[[Position], Found], *, is_shared: bool = False
) -> Callable[[Position], Found]:
    """Make a function of a position compute once for each position.

    The result must follow from what is known and paid, not from decisions.
    """
    word = compute.__qualname__

    @wraps(compute)
    def compute_once(position: Position) -> Found:
        results = position.shared if is_shared else position.kept
        # A change of a shared array would reach all positions that share it.
        return look_up(results, word, lambda: compute(position), is_frozen=is_shared)

    return compute_once


def shared_once(compute: Callable[[Position], Found]) -> Callable[[Position], Found]:
    """Make a function of a position compute once for all positions alike (`shared`).

    The result must follow neither from values of features nor from decisions.
    """
    return cached_once(compute, is_shared=True)
