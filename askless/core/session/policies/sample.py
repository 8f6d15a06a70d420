"""The policy `sample`: draw hypotheses in proportion to alpha (AdaBoostRS)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random.bit_generator import ISeedSequence

from askless.core import kernels
from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.catalogue.prices import total_cost
from askless.core.model.ensemble import Ensemble
from askless.core.model.votes import full_votes, safe_divide
from askless.core.session.policies.ordered import Ordered
from askless.core.session.policy import Policy, Step
from askless.core.session.position import Position
from askless.core.session.probability import compute_probabilities
from askless.core.session.rows.walks import SimulatedRows, Standing, Walks, make_ends

N_BLOCK = 1024
MAX_DRAWS = 128 * N_BLOCK
# Most sessions end within so many draws.
N_FIRST = 128
# Sessions that are walked at a time; what they have drawn takes some MB.
N_PAIRS = 1024


class Key(ISeedSequence):
    """A key used as it is; with numpy's `key=`, entropy is gathered too (6 us)."""

    def __init__(self, *words: int) -> None:
        self.words = words

    def generate_state(
        self, n_words: int, dtype: npt.DTypeLike = np.uint64
    ) -> npt.NDArray[Any]:
        """Return the words."""
        assert n_words == len(self.words)
        return np.array(self.words, dtype=dtype)


def uniforms(seed: int, stream: int) -> np.random.Generator:
    """Return a session's random generator: Philox keyed by seed and stream."""
    key = Key(seed, stream)
    return np.random.Generator(
        np.random.Philox(key)  # type: ignore[arg-type]  # its stub knows one kind only
    )


def draw_blocks(
    seed: int, streams: Sequence[int], goes_on: Callable[[], BoolArray]
) -> Iterator[FloatArray]:
    """Yield the random numbers of many sessions, block by block; (n_rows, n_draws).

    They are those of `uniforms`, but undefined in rows where `goes_on()`, (n_rows,), is
    False. The blocks end when no row goes on.
    """
    numbered = np.array(streams, np.uint64)
    stop = 0
    while stop < MAX_DRAWS and (is_open := goes_on()).any():
        start, stop = stop, (stop // N_BLOCK + 1) * N_BLOCK if stop else N_FIRST
        numbers = np.empty((numbered.size, stop - start))
        # The numbers wrap, of which numpy would warn were the kernel not compiled.
        with np.errstate(over="ignore"):
            kernels.draw_uniforms(np.uint64(seed), numbered, is_open, start, numbers)
        yield numbers


class Sample(Policy):
    """Draws hypotheses until one needs a feature that can be paid.

    Reyzin (2010), Algorithm 2, draws alike but ends earlier: see `ReyzinSample`. Draws
    that need nothing unpaid are free; a tree is asked step by step along its path, a
    product only if all its factors can be paid. A draw that can't be paid is skipped as
    long as another hypothesis could be paid; otherwise the session ends. It also ends
    when no hypothesis waits for a feature. After `MAX_DRAWS` draws hypotheses that were
    never drawn count as not needed.
    """

    name = "sample"
    is_fitted = True

    def halting(self, position: Position) -> IntArray:
        """Return the feature at which a draw of each hypothesis halts, or -1.

        Draws that can't be paid are passed over, unless no other can be paid either.
        """
        waiting_for = position.waiting_for
        halts = np.where(position.is_payable, waiting_for, -1)
        return halts if (halts >= 0).any() else waiting_for

    def choose_next(self, position: Position) -> Step:
        """Return the feature of the first draw that halts, if it can be paid."""
        ensemble, state = position.ensemble, position.state
        if not (position.waiting_for >= 0).any():
            return Step(None, "all_known", state.n_draws)
        halting, generator = self.halting(position), uniforms(state.seed, state.stream)
        # A draw that waits for a result is not finished before the result comes.
        waiting = np.where((position.ends >= 0) & (position.waiting_for < 0), 0, -1)
        first_waiting = MAX_DRAWS
        for start in range(0, MAX_DRAWS, N_BLOCK):
            numbers = generator.random(N_BLOCK)
            n_done = max(state.n_draws - start, 0)
            if first_waiting == MAX_DRAWS and (waiting >= 0).any():
                place, _ = kernels.first_waiting_draw(
                    numbers, n_done, ensemble.alpha_sums, waiting
                )
                first_waiting = MAX_DRAWS if place < 0 else start + place
            place, h = kernels.first_waiting_draw(
                numbers, n_done, ensemble.alpha_sums, halting
            )
            if place < 0:
                continue
            n_draws = min(start + place, first_waiting)
            if position.is_payable[h]:
                return Step(int(position.waiting_for[h]), None, n_draws)
            return Step(None, position.reason_to_stop, n_draws)
        return Step(None, "all_known", first_waiting)

    def propensity(self, position: Position, feature_idx: int) -> float | None:
        """Return the part of the alpha of all draws that halt which halts at a feature.

        Draws are independent, and those after the last one that halted are new: so the
        next feature is that of the first of them that halts. A tree's draw goes on with
        the tree's next feature, which the history doesn't show, and so does a draw
        whose question was passed over: then the chance is not known.
        """
        state, ensemble = position.state, position.ensemble
        if not state.is_led or state.pending or not ensemble.has_one_feature_each:
            return None
        halting, alphas = self.halting(position), ensemble.paths.alphas
        share = alphas[halting == feature_idx].sum() / alphas[halting >= 0].sum()
        return float(share)

    def count_draws(self, position: Position) -> int:
        """Return the number of draws before the first that waits for a value."""
        return self.choose_next(position).n_draws

    def standing(self, position: Position) -> Standing:
        """Return the mean vote of the draws that voted; once decided, the full vote.

        `marks` is the number of these draws, -1 for the full vote.
        """
        ensemble, state = position.ensemble, position.state
        if state.is_decided:
            return replace(super().standing(position), marks=np.array(-1))
        numbers = uniforms(state.seed, state.stream).random(state.n_draws)
        votes = np.zeros(ensemble.n_outputs)
        n_voted, known = kernels.tally_draws(
            numbers, ensemble.alpha_sums, position.ends, ensemble.paths, votes
        )
        if n_voted == 0:
            return Standing(votes, np.array(0.0), votes, np.array(0))
        margins, total = votes / n_voted, float(ensemble.alpha_sums[-1])
        share = np.array(known / total)
        return Standing(margins, share, margins * total, np.array(n_voted))

    def n_draws(self, standing: Standing) -> int | None:
        """Return how many draws have voted; None of the full vote."""
        return None if standing.marks < 0 else int(standing.marks)

    def chances(self, ensemble: Ensemble, standing: Standing) -> FloatArray:
        """Return the probability of each class, by the calibration of draws.

        Where the vote is full, its own calibration is used.
        """
        is_full = standing.marks < 0
        if is_full.all():
            return super().chances(ensemble, standing)
        scores, shares = standing.scores, standing.known_shares
        sampled = compute_probabilities(ensemble, Sample.name, scores, shares)
        if not is_full.any():
            return sampled
        full = super().chances(ensemble, standing)
        # Some sessions ended with the full vote, the others with their draws.
        return np.where(is_full[..., None], full, sampled)

    def walk(self, ensemble: Ensemble, simulated: SimulatedRows) -> Walks:
        """Simulate a session for every row under every budget, many at once.

        Under a budget that pays everything the draws only decide the order, and the end
        is that of `ordered`. Products are an exception: one that is drawn with a
        missing factor does not buy its other factors.
        """
        full = Ordered().walk(ensemble, simulated)
        # Without hypotheses there is nothing to draw: every vote is full, mark -1.
        if not ensemble.hypotheses:
            return replace(full, marks=full.marks - 1)
        n_walked = count_simulated_budgets(ensemble, simulated)
        ends = make_ends(ensemble, simulated, n_walked)
        n_rows, n_features = simulated.values.shape
        is_known = np.zeros((n_rows, n_walked, n_features), np.bool_)
        n_at_once = N_PAIRS // max(n_walked, 1) + 1
        for first in range(0, n_rows if n_walked else 0, n_at_once):
            rows = slice(first, first + n_at_once)
            part = kernels.Ends(*(array[rows] for array in ends))
            is_known[rows] = walk_rows(ensemble, simulated, rows, part)
        known_values = np.where(is_known, simulated.values[:, None, :], np.nan)
        return join_walks(ensemble, full, ends, known_values)


def count_simulated_budgets(ensemble: Ensemble, simulated: SimulatedRows) -> int:
    """Return for how many of the smallest budgets the draws must be simulated."""
    is_free = simulated.budgets >= total_cost(ensemble.catalogue)
    is_free &= not any(
        hypothesis.needs_all_features for hypothesis in ensemble.hypotheses
    )
    return is_free.size if simulated.needs_ranks else int((~is_free).sum())


def initial_sample_states(ensemble: Ensemble, ranks: IntArray) -> kernels.SampleState:
    """Return the initial state of sessions; `ranks` (n_sessions, n_features) are 0."""
    n_sessions, n_hypotheses = ranks.shape[0], len(ensemble.hypotheses)
    return kernels.SampleState(
        status=np.zeros(ranks.shape, np.int64),
        is_group_paid=np.zeros((n_sessions, len(ensemble.catalogue.groups)), np.bool_),
        is_done=np.zeros((n_sessions, n_hypotheses), np.bool_),
        has_vote=np.zeros((n_sessions, n_hypotheses), np.bool_),
        alphas=np.zeros(n_sessions),
        votes=np.zeros((n_sessions, ensemble.n_outputs)),
        counts=np.zeros((n_sessions, kernels.N_COUNTS), np.int64),
        ranks=ranks,
        n_drawn=np.zeros((n_sessions, n_hypotheses), np.int64),
    )


def walk_rows(
    ensemble: Ensemble, simulated: SimulatedRows, rows: slice, out_ends: kernels.Ends
) -> BoolArray:
    """Simulate the sessions of some rows, one block of draws after the other.

    Fills `out_ends`; returns which values are known at the ends, (n_rows, n_budgets,
    n_features).
    """
    values, streams = simulated.values[rows], simulated.streams[rows]
    shape = (*out_ends.spent.shape, values.shape[1])
    budgets = simulated.budgets[: shape[1]]
    terms = kernels.Terms(budgets, ensemble.paths, ensemble.catalogue.prices)
    n_pairs = shape[0] * shape[1]
    carried = initial_sample_states(ensemble, np.zeros((n_pairs, shape[2]), np.int64))
    stands = np.full(n_pairs, kernels.GOES_ON)

    def goes_on() -> BoolArray:
        is_open: BoolArray = (stands == kernels.GOES_ON).reshape(shape[:2]).any(axis=1)
        return is_open

    for numbers in draw_blocks(simulated.seed, streams, goes_on):
        draws = kernels.Draws(numbers, ensemble.alpha_sums, *ensemble.readers)
        kernels.walk_payable(values, terms, draws, carried, stands)
    kernels.tally_payable(values, terms, carried, stands, out_ends)
    # Ranks are those under the largest budget.
    out_ends.ranks[:] = carried.ranks.reshape(shape)[:, -1]
    is_known: BoolArray = carried.status.reshape(shape) == kernels.KNOWN
    return is_known


def join_walks(
    ensemble: Ensemble, full: Walks, ends: kernels.Ends, known_values: FloatArray
) -> Walks:
    """Return the ends of all sessions: those simulated, then those of the full vote.

    Where sessions end with the full vote (marks below 0) it is computed from
    `known_values`, (n_rows, n_budgets, n_features) at the ends, NaN where not known;
    n_budgets may be 1 if the values at the largest budget serve all. The other budgets,
    which were not simulated, have the ends of `full`.
    """
    n_walked, total = ends.spent.shape[1], float(ensemble.alpha_sums[-1])
    shape = known_values.shape
    votes, alphas = full_votes(ensemble, known_values.reshape(-1, shape[2]))
    votes, alphas = (
        votes.reshape(*shape[:2], ensemble.n_outputs),
        alphas.reshape(shape[:2]),
    )
    is_full = ends.marks < 0
    has_draws = ends.marks > 0
    shares = np.where(is_full, alphas, np.where(has_draws, ends.alphas, 0.0)) / total
    sampled = safe_divide(ends.votes, ends.marks)
    margins = np.where(is_full[..., None], safe_divide(votes, alphas), sampled)
    scores = np.where(is_full[..., None], votes, sampled * total)
    return Walks(
        np.hstack((margins, full.margins[:, n_walked:])),
        np.hstack((shares, full.known_shares[:, n_walked:])),
        np.hstack((scores, full.scores[:, n_walked:])),
        np.hstack((ends.marks, full.marks[:, n_walked:] - 1)),
        np.hstack((ends.spent, full.spent[:, n_walked:])),
        np.hstack((ends.n_asked, full.n_asked[:, n_walked:])),
        ends.ranks,
    )
