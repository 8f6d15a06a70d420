"""The policy `sample`: AdaBoostRS draws hypotheses in proportion to alpha."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random.bit_generator import ISeedSequence

from core import kernels
from core.arrays import BoolArray, FloatArray
from core.model.ensemble import Ensemble
from core.model.hypotheses import Product
from core.model.votes import divide, full_votes
from core.session.policies.ordered import Ordered
from core.session.policy import Policy, Step
from core.session.position import Position
from core.session.probability import probabilities
from core.session.walks import Cases, Standing, Walks, make_ends
from core.table.prices import total_cost

N_BLOCK = 1024
MAX_DRAWS = 128 * N_BLOCK
# Rows that are walked at a time; their numbers take 2 MB.
N_ROWS = 256


class Key(ISeedSequence):
    """A key taken as it is; given by `key=`, numpy gathers entropy too (6 us)."""

    def __init__(self, *words: int) -> None:
        self.words = words

    def generate_state(
        self, n_words: int, dtype: npt.DTypeLike = np.uint64
    ) -> npt.NDArray[Any]:
        """Return the words."""
        assert n_words == len(self.words)
        return np.array(self.words, dtype=dtype)


def uniforms(seed: int, stream: int) -> np.random.Generator:
    """Counter-based randomness of a session: Philox keyed by seed and stream."""
    key = Key(seed, stream)
    return np.random.Generator(
        np.random.Philox(key)  # type: ignore[arg-type]  # its stub knows one kind only
    )


class Sample(Policy):
    """Draw until a hypothesis needs a feature (Reyzin 2010, Algorithm 2).

    Draws that need nothing unpaid are free; a tree is asked step by step along its
    path, a product only if all its factors can be paid. Ends at the first draw whose
    price exceeds what remains (the paper ends as soon as any could), or when no
    hypothesis waits for a feature. After `MAX_DRAWS` draws what was never drawn counts
    as not needed.
    """

    name = "sample"
    is_fitted = True

    def find_next(self, position: Position) -> Step:
        """Return the feature of the first draw that needs one."""
        ensemble, state = position.ensemble, position.state
        if not (position.waiting_for >= 0).any():
            return Step(None, "all_known", state.n_draws)
        generator = uniforms(state.seed, state.stream)
        for start in range(0, MAX_DRAWS, N_BLOCK):
            numbers = generator.random(N_BLOCK)
            n_done = max(state.n_draws - start, 0)
            place, h = kernels.find_asking(
                numbers, n_done, ensemble.alpha_sums, position.waiting_for
            )
            if place < 0:
                continue
            if position.is_payable[h]:
                return Step(int(position.waiting_for[h]), None, start + place)
            if position.is_more_affordable:
                return Step(None, "plan_complete", start + place)
            return Step(None, "budget_exhausted", start + place)
        return Step(None, "all_known", MAX_DRAWS)

    def count_draws(self, position: Position) -> int:
        """Return the draws up to the one that needs the next feature."""
        return self.find_next(position).n_draws

    def standing(self, position: Position) -> Standing:
        """Return votes / draws that could vote, once decided the full vote.

        `marks` are these draws, -1 for the full vote.
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

        That of the full vote where the vote is full.
        """
        is_full = standing.marks < 0
        if is_full.all():
            return super().chances(ensemble, standing)
        scores, shares = standing.scores, standing.known_shares
        sampled = probabilities(ensemble, self.name, scores, shares)
        if not is_full.any():
            return sampled
        full = super().chances(ensemble, standing)
        return np.where(is_full[..., None], full, sampled)

    def walk(self, ensemble: Ensemble, cases: Cases) -> Walks:
        """Play a session for every row under every budget, many rows at once.

        Under a budget that pays everything the draws only decide the order, and the
        end is that of `ordered`; but for products, of which one that is drawn with a
        missing factor spares what another would have bought.
        """
        full = Ordered().walk(ensemble, cases)
        if not ensemble.hypotheses:
            return replace(full, marks=full.marks - 1)
        is_free = cases.budgets >= total_cost(ensemble.catalogue)
        is_free &= not any(isinstance(one, Product) for one in ensemble.hypotheses)
        n_walked = is_free.size if cases.needs_ranks else int((~is_free).sum())
        ends = make_ends(ensemble, cases, n_walked)
        is_known = np.zeros(cases.values.shape, np.bool_)
        for first in range(0, len(cases.values) if n_walked else 0, N_ROWS):
            rows = slice(first, first + N_ROWS)
            part = kernels.Ends(*(array[rows] for array in ends))
            is_known[rows] = walk_rows(ensemble, cases, rows, part)
        known_values = np.where(is_known, cases.values, np.nan)
        return finish(ensemble, full, ends, known_values)


def walk_rows(
    ensemble: Ensemble, cases: Cases, rows: slice, out_ends: kernels.Ends
) -> BoolArray:
    """Walk some rows to their ends, one block of draws after the other.

    Returns which values are known at the ends, (n_rows, n_features).
    """
    values, streams = cases.values[rows], cases.streams[rows]
    shape, n_hypotheses = values.shape, len(ensemble.hypotheses)
    budgets = cases.budgets[: out_ends.spent.shape[1]]
    terms = kernels.Terms(budgets, ensemble.paths, ensemble.catalogue.prices)
    carried = kernels.SampleState(
        status=np.zeros(shape, np.int64),
        is_group_paid=np.zeros((shape[0], len(ensemble.catalogue.groups)), np.bool_),
        is_done=np.zeros((shape[0], n_hypotheses), np.bool_),
        has_vote=np.zeros((shape[0], n_hypotheses), np.bool_),
        alphas=np.zeros(shape[0]),
        votes=np.zeros((shape[0], ensemble.n_outputs)),
        counts=np.zeros((shape[0], kernels.N_COUNTS), np.int64),
        ranks=out_ends.ranks,
    )
    generators = [uniforms(cases.seed, int(stream)) for stream in streams]
    has_ended, numbers = np.zeros(shape[0], np.bool_), np.empty((shape[0], N_BLOCK))
    for _ in range(0, MAX_DRAWS, N_BLOCK):
        for row in np.flatnonzero(~has_ended):
            generators[row].random(out=numbers[row])
        draws = kernels.Draws(numbers, ensemble.alpha_sums, *ensemble.readers)
        kernels.walk_sampled(values, terms, draws, carried, has_ended, out_ends)
        if has_ended.all():
            break
    for row in np.flatnonzero(~has_ended):
        # What was never drawn counts as not needed.
        counts = carried.counts[row]
        left = slice(counts[kernels.DONE], None)
        out_ends.marks[row, left] = -1
        out_ends.spent[row, left] = counts[kernels.SPENT]
        out_ends.n_asked[row, left] = counts[kernels.ASKED]
    is_known: BoolArray = carried.status == kernels.KNOWN
    return is_known


def finish(
    ensemble: Ensemble, full: Walks, ends: kernels.Ends, known_values: FloatArray
) -> Walks:
    """Fill in the full vote where sessions know all, and the budgets not walked."""
    n_walked, total = ends.spent.shape[1], float(ensemble.alpha_sums[-1])
    votes, alphas = (array[:, None] for array in full_votes(ensemble, known_values))
    is_full = ends.marks < 0
    has_draws = ends.marks > 0
    shares = np.where(is_full, alphas, np.where(has_draws, ends.alphas, 0.0)) / total
    sampled = divide(ends.votes, ends.marks)
    margins = np.where(is_full[..., None], divide(votes, alphas), sampled)
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
