"""Logistic regression of two classes by Newton steps, against a solver of others."""

import numpy as np
import pytest
from scipy.optimize import minimize

from askless.core import kernels


def make_rows(seed: int, n_rows: int = 30, n_columns: int = 3):
    """Inputs, classes that follow from them with noise, weights; a row without one."""
    random = np.random.default_rng(seed)
    inputs = random.normal(size=(n_rows, n_columns))
    noisy = inputs @ random.normal(size=n_columns) + random.normal(size=n_rows)
    weights = random.uniform(0.5, 2.0, n_rows)
    weights[0] = 0.0
    return inputs, (noisy > 0).astype(np.int64), weights


def hold(centres, strengths, positive=()):
    n_columns = len(centres)
    is_positive = np.array([idx in positive for idx in range(n_columns)], np.bool_)
    return kernels.Penalty(
        np.array(centres, float), np.array(strengths, float), is_positive
    )


def loss_of(x, inputs, targets, weights, penalty):
    leads = np.where(targets == 1, 1, -1) * (inputs @ x)
    away = x - penalty.centres
    return weights @ np.logaddexp(0, -leads) + penalty.strengths @ away**2 / 2


def fit(inputs, targets, weights, penalty):
    found = penalty.centres.copy()
    kernels.fit_logits(inputs, targets, weights, penalty, found)
    return found


@pytest.mark.parametrize("positive", [(), (0,), (0, 1, 2)])
@pytest.mark.parametrize("seed", range(4))
def test_loss_is_the_least_that_a_solver_of_others_finds(seed, positive):
    case = *make_rows(seed), hold([0.5, 0.0, 0.2], [0.1, 3.0, 20.0], positive)

    found = fit(*case)

    bounds = [(0 if idx in positive else None, None) for idx in range(3)]
    options = {"ftol": 1e-14, "gtol": 1e-9}
    peer = minimize(
        loss_of, np.zeros(3), case, "L-BFGS-B", bounds=bounds, options=options
    )
    assert loss_of(found, *case) <= peer.fun + 1e-9
    np.testing.assert_allclose(found, peer.x, atol=1e-4)
    assert all(found[idx] >= 0 for idx in positive)


def test_what_would_be_below_0_is_0():
    inputs, _, weights = make_rows(0)
    targets = (inputs[:, 0] < 0).astype(np.int64)

    found = fit(inputs, targets, weights, hold([0.3, 0, 0], [1, 1, 1], {0}))

    assert found[0] == 0


def test_rows_without_weight_say_nothing():
    inputs, targets, weights = make_rows(1)
    penalty, others = hold([0, 0, 0], [1, 1, 1]), inputs.copy()
    others[0] = 100.0

    one, other = (fit(rows, targets, weights, penalty) for rows in (inputs, others))

    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_rows_that_a_line_parts_leave_finite_coefficients(scale):
    inputs = scale * np.array([[-2.0, 1.0], [-1.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    targets, weights = np.array([0, 0, 1, 1]), np.ones(4)

    found = fit(inputs, targets, weights, hold([0, 0], [0, 0]))

    assert np.isfinite(found).all()
    assert ((inputs @ found > 0) == targets).all()


def test_step_that_goes_too_far_is_halved():
    inputs, targets, weights = np.array([[1.0]]), np.array([0]), np.ones(1)
    # Where the loss is flat a whole step leads far beyond the least.
    case = inputs, targets, weights, hold([-9.0], [1e-9])

    found = np.array([6.0])
    kernels.fit_logits(*case, found)

    assert loss_of(found, *case) <= loss_of(np.array([-9.0]), *case)


def test_nothing_to_learn_from_leaves_coefficients_where_they_are_held():
    inputs, targets, _ = make_rows(2)

    found = fit(inputs, targets, np.zeros(30), hold([0.5, 0, 1], [1, 1, 1]))

    np.testing.assert_allclose(found, [0.5, 0, 1])
