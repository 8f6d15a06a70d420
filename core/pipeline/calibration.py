"""Probabilities from votes: a logistic model fitted on held-out rows."""

from __future__ import annotations

from functools import cache

import numpy as np
from sklearn.linear_model import LogisticRegression
from threadpoolctl import ThreadpoolController

from core.arrays import FloatArray, IntArray
from core.model.ensemble import Calibration

# Weak enough not to bend a few hundred rows, strong enough that rows which a single
# line separates don't send the slope to infinity.
INVERSE_PENALTY = 10.0


def fit_calibration(
    margins: FloatArray, shares: FloatArray, targets: IntArray, weights: FloatArray
) -> Calibration:
    """Fit log odds of the positive class on (margin, share of alpha known).

    Platt's (1999) logistic model with a slope and an offset that may drift with the
    share: logit p = a + d*s + m*(b0*(1 - s) + b1*s). The slopes are kept
    non-negative, so that more votes for a class never lower its probability: first
    one common slope, then none takes the place of a pair with a negative member.

    Parameters
    ----------
    margins, shares, weights : float64 array, shape (n_forecasts,)
        Forecasts on rows that training did not see; weights in rows.
    targets : int64 array, shape (n_forecasts,)
        0 or 1, both present.

    Returns
    -------
    Calibration
    """
    columns = np.column_stack((shares, margins * (1 - shares), margins * shares))
    fitted = fit_logistic(columns, targets, weights)
    if min(fitted[2:]) >= 0:
        return Calibration(*fitted)
    offset, drift, slope = fit_logistic(
        np.column_stack((shares, margins)), targets, weights
    )
    if slope >= 0:
        return Calibration(offset, drift, slope, slope)
    offset, drift = fit_logistic(shares[:, None], targets, weights)
    return Calibration(offset, drift, 0.0, 0.0)


@cache
def find_threads() -> ThreadpoolController:
    """Find the libraries with threads of their own, once: that takes milliseconds."""
    return ThreadpoolController()


def fit_logistic(
    columns: FloatArray, targets: IntArray, weights: FloatArray
) -> list[float]:
    """Intercept and coefficients of a penalised logistic regression."""
    model = LogisticRegression(C=INVERSE_PENALTY, max_iter=1000)
    # The solver's matrices have 4 x 4 numbers: threads that wait for one another over
    # them made a fit on a busy machine take 210 ms instead of 12.
    with find_threads().limit(limits=1, user_api="blas"):
        model.fit(columns, targets, sample_weight=weights)
    return [float(model.intercept_[0]), *model.coef_[0].tolist()]
