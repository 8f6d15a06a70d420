"""Rows learnt a second, ours and river's, alternating in one process."""

import time

import numpy as np
from river import ensemble

from askless.core.training.boosting import sign_weights
from askless.core.training.online.online import OnlineBooster
from askless.core.training.params import BoostParams
from benchmarks.data import MICROS
from benchmarks.online.kept import Kept, Record
from benchmarks.online.peers import Peer
from benchmarks.online.streams import Stream

N_ROWS, N_FEATURES, N_STUMPS, N_TIMES = 20_000, 50, 100, 5
#: river learns so few rows a second that these are enough.
N_RIVER = 60


def play_all(kept: Kept) -> None:
    """Measure once, several times in turn."""
    kept.measure("speed", measure)


def make_stream() -> Stream:
    """Return rows of which a fifth of the features tell the class, with noise."""
    draws = np.random.default_rng(0)
    values = draws.normal(size=(N_ROWS, N_FEATURES))
    noise = draws.normal(size=N_ROWS)
    targets = (values[:, : N_FEATURES // 5].sum(axis=1) + noise > 0).astype(np.int64)
    return Stream("speed", values, targets, 2)


def measure() -> Record:
    """Return rows a second of processor time, each time in turn."""
    stream = make_stream()
    learn_ours(stream)
    found: Record = {"askless": [], "river": []}
    for _ in range(N_TIMES):
        found["askless"].append(round(N_ROWS / learn_ours(stream)))
        found["river"].append(round(N_RIVER / learn_river(stream), 1))
    return found


def learn_ours(stream: Stream) -> float:
    """Return the seconds of processor time for all rows."""
    catalogue = stream.catalogue(np.full(N_FEATURES, MICROS))
    booster = OnlineBooster.start(catalogue, 2, BoostParams("online", rounds=N_STUMPS))
    signed = sign_weights(stream.targets, 2)
    start = time.process_time()
    booster.learn(stream.values, signed)
    return time.process_time() - start


def learn_river(stream: Stream) -> float:
    """Return the seconds of processor time for a few rows, after as many others."""
    model: ensemble.AdaBoostClassifier = Peer("AdaBoost", "slow", "mc").make(
        N_STUMPS, 0
    )
    names = [f"f{idx}" for idx in range(N_FEATURES)]
    rows = [dict(zip(names, row, strict=True)) for row in stream.values.tolist()]
    pairs = list(zip(rows, stream.targets.tolist(), strict=True))
    for row, target in pairs[:N_RIVER]:
        model.learn_one(row, target)
    start = time.process_time()
    for row, target in pairs[N_RIVER : 2 * N_RIVER]:
        model.learn_one(row, target)
    return time.process_time() - start
