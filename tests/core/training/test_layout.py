"""Boosting on rows that lie elsewhere, and threads."""

from contextlib import contextmanager
from dataclasses import replace

import numba
import numpy as np

from askless.core import kernels
from askless.core.codes.binned_table import code_table
from askless.core.training.algorithms import grow_ensemble
from askless.core.training.params import BoostParams
from tests.baselines import mixed


def test_rows_laid_out_elsewhere_are_boosted_to_the_same_rounds():
    table = code_table(mixed(5, n_samples=60))
    params = BoostParams("adaboost_bt_smoothed", rounds=6)
    open_now = []

    @contextmanager
    def lay_out(binned, signed):
        open_now.append(binned.n_samples)
        halves = np.arange(25), np.arange(25, 60)
        yield [(binned.take(rows), signed[rows]) for rows in halves]
        open_now.pop()

    apart = replace(table, lay_out=lay_out)
    growing = grow_ensemble(apart, params, (), is_strict=True)

    first = next(growing)
    assert open_now == [60]
    assert [first, *growing] == [*grow_ensemble(table, params, (), is_strict=True)]
    assert open_now == []


def test_no_more_threads_compute_than_are_asked_for():
    before = kernels.count_threads()
    try:
        kernels.use_threads(1)
        assert kernels.count_threads() == 1
        kernels.use_threads(0)
        assert kernels.count_threads() == 1
    finally:
        numba.set_num_threads(before)
