"""Our online boosting on the same streams, without a budget and at half the cost."""

import time

import numpy as np

from askless.core.catalogue.catalogue import Catalogue
from askless.core.model.ensemble import Ensemble
from askless.core.simulation.curves import evaluate
from askless.core.table.dataset import ClassLabel, Dataset
from askless.core.training.boosting import sign_weights
from askless.core.training.online.online import OnlineBooster
from askless.core.training.params import BoostParams
from benchmarks.data import MICROS
from benchmarks.online.kept import Kept, Record
from benchmarks.online.peers import N_SEEDS, N_STUMPS
from benchmarks.online.streams import N_ROWS, STREAMS, Stream

#: Prices are drawn from so many units; of half of all a session may spend.
PRICES, SHARE = (1, 10), 0.5
#: Rows that are played at once, before any of them is learnt.
CHUNK = 50


def play_all(kept: Kept) -> None:
    """Play every stream and seed, with and without a budget."""
    for name in STREAMS:
        for seed in range(N_SEEDS):
            stream = STREAMS[name](seed, N_ROWS[name])
            key = f"askless {name} seed {seed} stumps {N_STUMPS}"
            kept.measure(key, lambda one=stream: play(one))
            kept.measure(
                f"{key} half cost",
                lambda one=stream, at=seed: {"error": play_budget(one, at)},
            )


def start(stream: Stream, catalogue: Catalogue) -> OnlineBooster:
    """Return a booster with nothing but the names of the features."""
    params = BoostParams("online", rounds=N_STUMPS)
    return OnlineBooster.start(catalogue, stream.n_classes, params)


def play(stream: Stream) -> Record:
    """Test on each row, then learn it; return the share of errors, and the seconds."""
    costs = np.full(stream.values.shape[1], MICROS)
    booster = start(stream, stream.catalogue(costs))
    signed = sign_weights(stream.targets, stream.n_classes)
    at = time.process_time()
    scores, _ = booster.learn(stream.values, signed)
    seconds = time.process_time() - at
    found = scores.argmax(axis=1) if stream.n_classes > 2 else scores[:, 0] > 0
    return {"error": float((found != stream.targets).mean()), "seconds": seconds}


def play_budget(stream: Stream, seed: int) -> float:
    """Return the share of errors where a session may spend half of all prices.

    Policy `ordered`; the model of before a chunk plays its rows.
    """
    draws = np.random.default_rng([seed, 5])
    low, high = PRICES
    costs = draws.integers(low, high + 1, stream.values.shape[1]) * MICROS
    catalogue, budget = stream.catalogue(costs), int(SHARE * costs.sum())
    booster = start(stream, catalogue)
    signed = sign_weights(stream.targets, stream.n_classes)
    n_errors = 0.0
    for begin in range(0, stream.targets.size, CHUNK):
        rows = slice(begin, begin + CHUNK)
        table = dataset_of(stream, rows, catalogue)
        error = evaluate(
            ensemble_of(booster, table.classes), table, (budget,), "ordered"
        ).errors[0]
        n_errors += error * table.n_samples
        booster.learn(stream.values[rows], signed[rows])
    return n_errors / stream.targets.size


def dataset_of(stream: Stream, rows: slice, catalogue: Catalogue) -> Dataset:
    """Return some rows as a table."""
    classes = tuple(ClassLabel(str(k), str(k)) for k in range(stream.n_classes))
    targets = stream.targets[rows]
    weights = np.full(targets.size, 1 / targets.size)
    return Dataset(catalogue, classes, stream.values[rows], targets, weights)


def ensemble_of(booster: OnlineBooster, classes: tuple[ClassLabel, ...]) -> Ensemble:
    """Return what a booster has learnt so far."""
    stumps = booster.stumps()
    return Ensemble(
        catalogue=booster.catalogue,
        classes=classes,
        hypotheses=tuple(stump for stump, _ in stumps),
        alphas=tuple(alpha for _, alpha in stumps),
        priors=(1 / len(classes),) * len(classes),
        algorithm="online",
        policy="sample",
    )
