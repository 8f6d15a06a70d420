"""Compile, or load from the cache, every kernel before a request needs it."""

import numpy as np

from core.kernels import inference, training


def warm_up() -> None:
    """Call each kernel once with arrays of the types that it is used with."""
    warm_training()
    warm_inference()


def warm_training() -> None:
    """Call the kernels of training."""
    n_features, n_samples = 5, 3
    values = np.zeros((n_samples, n_features))
    codes = np.zeros((n_features, n_samples), np.uint8)
    starts = np.zeros(n_features + 1, np.int64)
    training.encode(values, np.zeros(1), starts, codes)
    weights = np.full(n_samples, 1.0 / n_samples)
    for best_stumps in (training.best_stumps, training.best_stumps_parallel):
        best_stumps(
            codes,
            np.ones(n_features, np.int64),
            np.zeros(n_features, np.bool_),
            np.ones(n_features, np.bool_),
            weights,
            np.zeros(n_features),
            np.zeros(n_features, np.int64),
            np.zeros(n_features, np.int64),
            np.zeros(n_features),
        )
    training.reweight(codes[0], False, 0, 1, 0.5, weights)


def warm_inference() -> None:
    """Call the kernels of sessions and curves."""
    values = np.zeros((1, 1))
    hypotheses = (
        np.zeros(1, np.int64),
        np.zeros(1),
        np.zeros(1, np.bool_),
        np.ones(1),
    )
    feature_idxs, cuts, is_category, signed_alphas = hypotheses
    costs, group_idxs = np.ones(1, np.int64), np.full(1, inference.NO_GROUP, np.int64)
    fees, is_bundle = np.zeros(0, np.int64), np.zeros(0, np.bool_)
    budgets, cells = np.full(1, 10, np.int64), (1, 1)
    inference.add_votes(values, *hypotheses, np.zeros(1))
    inference.walk_ordered(
        values,
        budgets,
        *hypotheses,
        costs,
        group_idxs,
        fees,
        is_bundle,
        np.zeros(cells),
        np.zeros(cells),
        np.zeros(cells, np.int64),
        np.zeros(cells, np.int64),
        np.zeros(cells, np.int64),
    )
    status = np.zeros(1, np.int64)
    is_group_paid = np.zeros(0, np.bool_)
    inference.find_plan(
        feature_idxs,
        status,
        costs,
        group_idxs,
        fees,
        is_group_paid,
        10,
        np.zeros(1, np.bool_),
    )
    inference.bound_votes(
        values[0],
        status,
        np.ones(1, np.bool_),
        feature_idxs,
        cuts,
        is_category,
        signed_alphas,
        np.array([0, 1]),
        np.zeros(1),
        1,
        True,
        np.zeros(2),
    )
    inference.walk_sampled(
        values[0],
        budgets,
        np.zeros(1),
        np.array([0.0, 1.0]),
        *hypotheses,
        costs,
        group_idxs,
        fees,
        is_bundle,
        np.ones(1, np.bool_),
        status,
        is_group_paid,
        np.zeros(5, np.int64),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
    )
