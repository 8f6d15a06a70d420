"""Streams whose truth changes, as arrays: three of river's generators and one of ours.

The Electricity data set (Harries 1999) must be downloaded, so `electricity` makes half
hours of a market like it: labels that follow one another, and prices that drift slowly.
"""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from river.datasets import synth

from askless.core.arrays import FloatArray, IntArray
from askless.core.catalogue.catalogue import Catalogue, Feature

#: Rows of a stream; river takes long for ten classes.
N_ROWS = {"sea": 10_000, "hyperplane": 10_000, "led": 2_000, "electricity": 10_000}
N_PARTS = 4


class Stream(NamedTuple):
    """Rows in the order they come; classes are numbered from 0."""

    name: str
    values: FloatArray
    targets: IntArray
    n_classes: int

    def catalogue(self, costs: IntArray) -> Catalogue:
        """Return the features with their costs, in micro-units."""
        features = (
            Feature(f"f{idx}", cost=int(cost)) for idx, cost in enumerate(costs)
        )
        return Catalogue(tuple(features))


def gather(rows: Iterable[tuple[dict[Any, float], Any]]) -> tuple[Any, Any]:
    """Return river's rows as two arrays."""
    pairs = [(list(x.values()), int(y)) for x, y in rows]
    values, targets = zip(*pairs, strict=True)
    return np.array(values, np.float64), np.array(targets, np.int64)


def in_parts(name: str, parts: Iterable[Any], n_rows: int, n_classes: int) -> Stream:
    """Return a stream whose truth changes abruptly, between parts of equal length."""
    taken = [gather(islice(iter(part), n_rows // N_PARTS)) for part in parts]
    values, targets = zip(*taken, strict=True)
    return Stream(name, np.concatenate(values), np.concatenate(targets), n_classes)


def sea(seed: int, n_rows: int) -> Stream:
    """SEA (Street and Kim 2001): four thresholds in turn, a tenth of labels turned."""
    parts = (
        synth.SEA(variant, noise=0.1, seed=seed * N_PARTS + variant)
        for variant in (0, 2, 1, 3)
    )
    return in_parts("sea", parts, n_rows, 2)


def hyperplane(seed: int, n_rows: int) -> Stream:
    """A hyperplane that turns (Hulten et al. 2001), half of ten weights moving."""
    rows = synth.Hyperplane(
        seed=seed, n_features=10, n_drift_features=5, mag_change=0.001
    )
    return Stream("hyperplane", *gather(rows.take(n_rows)), 2)


def led(seed: int, n_rows: int) -> Stream:
    """Ten digits by seven lamps (Breiman 1984) among 24; some change places."""
    parts = (
        synth.LEDDrift(
            seed=seed * N_PARTS + part,
            noise_percentage=0.1,
            irrelevant_features=True,
            n_drift_features=n_moved,
        )
        for part, n_moved in enumerate((0, 3, 5, 7))
    )
    return in_parts("led", parts, n_rows, 10)


def electricity(seed: int, n_rows: int) -> Stream:
    """Half hours of two markets: is the price above its mean of the last day?

    Demand has a day and a week; the price follows it by a curve that steepens slowly,
    with shocks that last for hours. What is known of each half hour: weekday, time,
    both demands, the other market's price, the transfer, and the price one half hour
    before.
    """
    draws = np.random.default_rng([seed, 1999])
    n_all = n_rows + 48
    at = np.arange(n_all)
    day, week = 2 * np.pi * at / 48, 2 * np.pi * at / 336
    demands = [
        0.5
        - 0.2 * np.cos(day - lag)
        - 0.1 * np.cos(2 * day)
        + 0.06 * np.sin(week)
        + persist(draws, n_all, 0.95, 0.02)
        for lag in (0.0, 0.4)
    ]
    steepness = 2.0 + 2.0 * at / n_all + persist(draws, n_all, 0.999, 0.03)
    shocks = persist(draws, n_all, 0.7, 0.15)
    transfer = 0.4 * (demands[1] - demands[0]) + persist(draws, n_all, 0.9, 0.02)
    price = np.exp(steepness * demands[0] + 0.5 * transfer + shocks)
    other = np.exp(2.5 * demands[1] + 0.6 * shocks + persist(draws, n_all, 0.8, 0.05))
    sums = np.cumsum(np.concatenate([[0.0], price]))
    means = (sums[48:-1] - sums[:-49]) / 48
    now = slice(48, None)
    columns = [at // 48 % 7, at % 48 / 48, *demands, other, transfer]
    values = [*(column[now] for column in columns), price[47:-1]]
    targets = (price[now] > means).astype(np.int64)
    return Stream("electricity", np.column_stack(values), targets, 2)


def persist(
    draws: np.random.Generator, n_rows: int, share: float, noise: float
) -> FloatArray:
    """Return noise of which each value keeps a share of the one before."""
    found = draws.normal(0.0, noise, n_rows)
    for idx in range(1, n_rows):
        found[idx] += share * found[idx - 1]
    return found


STREAMS: dict[str, Callable[[int, int], Stream]] = {
    "sea": sea,
    "hyperplane": hyperplane,
    "led": led,
    "electricity": electricity,
}
