"""Reyzin (2010): Tables 2 and 3, Figures 1 and 2, balls and bins, open questions.

AdaBoost on stumps, 500 rounds, 1,000 training rows; each test row draws hypotheses by
alpha with the stream of the service's own policy `sample`. All costs are 1.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.kernels.jit import kernel
from askless.core.model.ensemble import Ensemble
from askless.core.model.votes import hypothesis_votes
from askless.core.session.policies.sample import uniforms
from askless.core.simulation.curves import evaluate
from askless.core.table.dataset import Dataset
from askless.core.training.params import BoostParams
from benchmarks.data import MICROS
from benchmarks.engine import train_ensemble
from benchmarks.papers import sets
from benchmarks.papers.runs import Record

TITLES = ("census", "splice", "ocr17", "ocr49")
ROUNDS = 500
MAX_DRAWS = 3001
COUNTS = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64)
EVERY = 6


def find_marks() -> IntArray:
    """Numbers of draws at which errors are noted: odd, so that no vote is a tie.

    Every odd number to 101, then steps of some 4 percent.
    """
    steep = 101 * 1.04 ** np.arange(1, 88)
    marks = np.unique([*range(1, 102, 2), *(2 * (steep // 2) + 1)]).astype(np.int64)
    return marks[marks <= MAX_DRAWS]


def play(title: str, repetition: int) -> Record:
    """Errors by draws and by features read, and what else the paper speaks of.

    By draws (`marks`): `errors` and `read` (mean distinct features); at every
    `EVERY`-th mark also `apart` (share of rows on the other side than the full vote)
    and `hoeffding`, the bound on that. By features (`counts`): `sampled`, `top` (the
    features of most alpha, all their votes), `top_rounds` (hypotheses of most alpha
    while their features last) and `prefix` (BT: the first rounds).
    """
    drawn = sets.draw(title, repetition, uniform_costs=True)
    training, testing = drawn.training, drawn.testing
    ensemble = train_ensemble(training, BoostParams("adaboost_rs", rounds=ROUNDS))
    full = evaluate(ensemble, testing, (None,), "ordered").errors[0]
    votes, read, by_count = sample_rows(ensemble, testing, repetition, find_marks())
    signs = testing.signs[:, None]
    whole = weighted_votes(ensemble, testing).sum(axis=1)
    margins = whole[:, None] / ensemble.alpha_sums[-1]
    limits = [count * MICROS for count in COUNTS]
    n_features = sets.count_features(drawn)
    return {
        "adaboost": round(full, 6),
        "n_features": n_features,
        "n_used": int(ensemble.is_used.sum()),
        "errors": means(np.sign(votes) != signs),
        "read": np.round(read.mean(axis=0), 2).tolist(),
        "apart": means((np.sign(votes) != np.sign(margins))[:, ::EVERY]),
        "hoeffding": means(np.exp(-find_marks()[::EVERY] * margins**2 / 2)),
        "sampled": means(decide(ensemble, by_count) != signs),
        "top": top_errors(ensemble, testing),
        "top_rounds": errors(by_alpha(ensemble), testing, limits),
        "prefix": errors(ensemble, testing, limits),
    }


def means(values: FloatArray) -> list[float]:
    """Mean over the rows."""
    return np.round(values.mean(axis=0), 5).tolist()


def decide(ensemble: Ensemble, votes: FloatArray) -> FloatArray:
    """-1 or +1; a tie goes to the majority class of training, as in the service."""
    majority = 2 * int(ensemble.preference[0]) - 1
    return np.where(votes == 0, majority, np.sign(votes))


def weighted_votes(ensemble: Ensemble, testing: Dataset) -> FloatArray:
    """Alpha times vote of each hypothesis; (n_rows, n_hypotheses)."""
    votes = [
        hypothesis_votes(hypothesis, testing.values, 1)
        for hypothesis in ensemble.hypotheses
    ]
    return np.hstack(votes) * np.array(ensemble.alphas)


def stump_features(ensemble: Ensemble) -> IntArray:
    """Feature that each stump reads."""
    return np.array(
        [hypothesis.feature_idx for hypothesis in ensemble.hypotheses], dtype=np.int64
    )


def top_errors(ensemble: Ensemble, testing: Dataset) -> list[float]:
    """Error of all votes on the features of most alpha, by their number."""
    votes = weighted_votes(ensemble, testing)
    alphas = np.zeros(len(testing.catalogue.features))
    feature_idxs = stump_features(ensemble)
    np.add.at(alphas, feature_idxs, ensemble.alphas)
    ranks = np.empty(alphas.size, np.int64)
    ranks[np.argsort(-alphas, kind="stable")] = np.arange(alphas.size)
    found = []
    for count in COUNTS:
        total = votes[:, ranks[feature_idxs] < count].sum(axis=1)
        found.append((decide(ensemble, total) != testing.signs).mean())
    return np.round(found, 6).tolist()


def by_alpha(ensemble: Ensemble) -> Ensemble:
    """The same hypotheses, those of most alpha first."""
    order = np.argsort(-np.array(ensemble.alphas), kind="stable")
    return replace(
        ensemble,
        hypotheses=tuple(ensemble.hypotheses[idx] for idx in order),
        alphas=tuple(ensemble.alphas[idx] for idx in order),
    )


def errors(ensemble: Ensemble, testing: Dataset, limits: list[int]) -> list[float]:
    """Test error under each budget, bought in the order of the ensemble."""
    curve = evaluate(ensemble, testing, limits, "ordered")
    return np.round(curve.errors, 6).tolist()


def sample_rows(
    ensemble: Ensemble, dataset: Dataset, seed: int, marks: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Votes and distinct features after `marks` draws; votes when `COUNTS` are read."""
    counts = np.array(COUNTS)
    n_rows = dataset.n_samples
    votes = np.zeros((n_rows, marks.size), np.int64)
    read = np.zeros((n_rows, marks.size), np.int64)
    by_count = np.zeros((n_rows, counts.size), np.int64)
    hypothesis_signs = np.sign(weighted_votes(ensemble, dataset)).astype(np.int64)
    feature_idxs = stump_features(ensemble)
    n_features, last = len(ensemble.catalogue.features), len(ensemble.hypotheses)
    sums = ensemble.alpha_sums
    for row in range(n_rows):
        numbers = uniforms(seed, row).random(int(marks[-1])) * sums[-1]
        drawn = np.minimum(sums.searchsorted(numbers, side="right"), last) - 1
        is_read = np.zeros(n_features, np.bool_)
        outs = (votes[row], read[row], by_count[row])
        tally(
            drawn, hypothesis_signs[row], feature_idxs, is_read, (marks, counts), outs
        )
    return votes, read, by_count


@kernel
def tally(drawn, signs, feature_idxs, is_read, stops, outs):
    """Add up one row's draws, by mark and by count (`stops`).

    outs: votes and features read by mark; then the vote when the next draw would read
    one feature more than counted, or after the last draw.
    """
    marks, counts = stops
    out_votes, out_read, out_counted = outs
    total, n_read, mark, counted = 0, 0, 0, 0
    for k in range(drawn.shape[0]):
        h = drawn[k]
        if not is_read[feature_idxs[h]]:
            while counted < counts.shape[0] and counts[counted] == n_read:
                out_counted[counted] = total
                counted += 1
            is_read[feature_idxs[h]] = True
            n_read += 1
        total += signs[h]
        if k + 1 == marks[mark]:
            out_votes[mark], out_read[mark] = total, n_read
            mark += 1
    for c in range(counted, counts.shape[0]):
        out_counted[c] = total


SETTINGS = {"rounds": ROUNDS, "marks": find_marks().tolist(), "counts": COUNTS}
measure = partial(sets.plan, TITLES, SETTINGS, play, (50, 6))
