"""Kegl and Busa-Fekete (2009): UCB(k) and lazy search against the whole, wide sets.

The paper's own set (KDD Cup 2009, 50,000 rows) is not among ours; these are all rows of
ours that are widest and longest, two thirds to train and one third to test. Their
features have few values, so there is a made table of 1,000 numbers too, a new one for
each repetition, of seeds on which the bonus of `ucb` was not chosen.
"""

import time
from functools import partial
from typing import Any

import numpy as np

from askless.core.arrays import FloatArray
from askless.core.codes.binning import bin_values
from askless.core.model.votes import hypothesis_votes
from askless.core.table.dataset import Dataset
from askless.core.training.params import BoostParams
from benchmarks import data
from benchmarks.documents import Rows, percent, signed
from benchmarks.engine import boost_rounds
from benchmarks.intervals import Interval, interval
from benchmarks.made import make_table
from benchmarks.papers.results import SetResults, Sets, pick
from benchmarks.papers.runs import Measurement, Record

MADE = "made"
SETS = ("ocr49", "adult_onehot", MADE)
LEARNERS = {"stump": 1000, "tree": 200, "product": 300}
TITLES = tuple(f"{name} {learner}" for name in SETS for learner in LEARNERS)
MADE_LEARNERS = {"stump": 1000, "tree": 100, "product": 200}
MADE_TRAINING, MADE_ROWS, MADE_FEATURES, MADE_SEED = 4000, 10_000, 1000, 31
SEARCHES = ("all", "ucb", "ucb_unscaled", "lazy")
MARKS = (10, 20, 50, 100, 200, 300, 500, 1000)
SIZE = 20
LEAVES = 8
FACTORS = 3
SEED = 2009
N_REPETITIONS = 5
N_QUICK = 3
QUICK_ROUNDS = 20

SHOWN = (10, 50, 100, 200)


def measure(quick: bool) -> Measurement:
    """Every learner with every search on each set that is there."""
    _, lacking = data.read_each(SETS[:-1], data.load)
    settings: dict[str, Any] = {
        "seed": SEED,
        "search_size": SIZE,
        "leaves": LEAVES,
        "factors": FACTORS,
        "searches": SEARCHES,
        "made": [MADE_TRAINING, MADE_ROWS, MADE_FEATURES, MADE_SEED],
        "rounds": {title: count_rounds(title, quick) for title in TITLES},
    }
    count = N_QUICK if quick else N_REPETITIONS
    repetitions = {title: count for title in TITLES if title.split()[0] not in lacking}
    return Measurement(settings, repetitions, partial(play, quick=quick), lacking)


def count_rounds(title: str, quick: bool) -> int:
    name, learner = title.split()
    rounds = (MADE_LEARNERS if name == MADE else LEARNERS)[learner]
    return min(rounds, QUICK_ROUNDS) if quick else rounds


def draw(name: str, repetition: int) -> tuple[Dataset, Dataset]:
    """Rows to train and to test on."""
    if name == MADE:
        made = make_table(MADE_ROWS, MADE_FEATURES, seed=MADE_SEED + repetition)
        order = np.arange(MADE_ROWS)
        return made.take(order[:MADE_TRAINING]), made.take(order[MADE_TRAINING:])
    table = data.load(name)
    order = np.random.default_rng([SEED, repetition]).permutation(table.n_samples)
    stop = 2 * table.n_samples // 3
    training = table.training(order[:stop])
    return training, table.encode(order[stop:], training.catalogue)


def play(title: str, repetition: int, *, quick: bool) -> Record:
    """Test error and processor seconds of training after so many rounds, by search.

    The searches run one after the other in turn, in an order that changes with the
    repetition; the seconds are those of boosting alone.
    """
    name, learner = title.split()
    training, testing = draw(name, repetition)
    binned = bin_values(training)
    record: Record = {
        "rows": training.n_samples + testing.n_samples,
        "features": len(training.catalogue.features),
    }
    for turn in range(len(SEARCHES)):
        search = SEARCHES[(turn + repetition) % len(SEARCHES)]
        params = BoostParams(
            "adaboost",
            rounds=count_rounds(title, quick),
            learner=learner,
            leaves=LEAVES,
            factors=FACTORS,
            search=search,  # type: ignore[arg-type]  # one of them
            search_size=SIZE,
            seed=repetition,
        )
        rounds = boost_rounds(training, params, binned)
        votes = np.zeros(testing.n_samples)
        seconds, errors, marks = 0.0, [], []
        for number in range(1, params.rounds + 1):
            start = time.process_time()
            added = next(rounds, None)
            seconds += time.process_time() - start
            if added is None:
                break
            cast = hypothesis_votes(added.hypothesis, testing.values, 1)[:, 0]
            votes += added.alpha * cast
            if number in MARKS:
                errors.append(float(((votes > 0) != (testing.targets == 1)).mean()))
                marks.append(round(seconds, 4))
        record[search] = {"errors": errors, "seconds": marks}
    return record


def curve(found: SetResults, search: str, key: str) -> FloatArray:
    """Means over the repetitions at the marks; errors in percent."""
    means = found.mean(search, key)
    return 100 * means if key == "errors" else means


def find_marks(found: SetResults) -> list[int]:
    """The rounds at which errors and seconds were taken."""
    return list(MARKS[: found.column("all", "errors").shape[1]])


def difference(found: SetResults, first: str, second: str) -> Interval:
    """Error of one search above another's at the end, paired."""
    ours, theirs = (found.column(one, "errors")[:, -1] for one in (first, second))
    return interval(ours - theirs)


def speed(found: SetResults, search: str) -> Interval:
    """Seconds of the whole search over another's, paired, at the end; logarithm."""
    whole, ours = (found.column(one, "seconds")[:, -1] for one in ("all", search))
    return interval(np.log(whole / ours))


def write_sizes(sets: Sets) -> Rows:
    for name in SETS:
        found = pick(sets, (f"{name} {learner}" for learner in LEARNERS))
        if found:
            first = next(iter(found.values())).records[0]
            n_training = MADE_TRAINING if name == MADE else 2 * first["rows"] // 3
            counts = (first["rows"], first["features"], n_training)
            yield name, *(f"{count:,}" for count in counts)


def write_searches(sets: Sets) -> Rows:
    for title, found in sets.items():
        marks = find_marks(found)
        for search in SEARCHES:
            means = found.mean(search, "errors")
            cells = [
                percent(means[marks.index(n)]) if n in marks else "" for n in SHOWN
            ]
            seconds = f"{found.mean(search, 'seconds')[-1]:.2f}"
            label, against = [title, f"{marks[-1]:,}"], ["", ""]
            if search != "all":
                label, one = ["", ""], speed(found, search)
                low, mean, high = np.exp([one.low, one.mean, one.high])
                faster = f"{mean:.1f} × ({low:.1f} to {high:.1f})"
                against = [signed(difference(found, search, "all")), faster]
            yield (
                *label,
                search,
                *cells,
                percent(means[-1]),
                against[0],
                seconds,
                against[1],
            )


TABLES = {
    "search-sizes": write_sizes,
    "search-errors": write_searches,
}
