"""Test whether a model's newest cases speak for a refresh: drift, error, calibration.

A test speaks only where the whole interval of its figure lies beyond a tolerance. So
many cases do not make a small difference an alarm.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from askless.core.arrays import FloatArray
from askless.core.kernels import MISSING_CODE
from askless.core.model.drift import compute_mean_shift, measure_drift
from askless.core.model.ensemble import Ensemble
from askless.core.model.values import panel_columns

AlarmKind = Literal["outside", "drift", "error", "calibration", "cases"]

#: Chance of any false alarm at one look, for cases like those of training. With a look
#: each week at most one year in twenty has one.
LOOK_ALPHA = 0.001
#: The population stability index that by custom is to be looked at (Siddiqi 2006).
TOLERATED_INDEX = 0.1
#: Share of cases that may have a category that training did not see.
TOLERATED_UNSEEN = 0.05
#: Gap of chances and observed shares that is tolerated where training measured none.
TOLERATED_GAP = 0.02
#: A feature's values are compared with training only if this share of cases has one:
#: those whom a policy asks differ from all.
LEAST_KNOWN = 0.9
#: Values, or outcomes, below which nothing is tested.
LEAST_CASES = 30
#: New cases as a share of the rows trained on, and their least number.
NEW_SHARE, LEAST_NEW = 0.25, 50


@dataclass(frozen=True, slots=True)
class FeatureEvidence:
    """The values of one feature in some cases, against training."""

    feature_idx: int
    #: rows of training that have a value, at least
    n_trained: int
    #: cases that have a value
    n_values: int
    #: of these, outside the range of training or of a category not seen there
    n_outside: int
    #: whether it is a number, which may well lie a little outside
    is_number: bool
    #: population stability index, or the squared shift of a number's mean; None: the
    #: model lacks the figures
    index: float | None
    #: values that it may take, less one; of a number 1
    n_degrees: int


@dataclass(frozen=True, slots=True)
class OutcomeEvidence:
    """Cases with an outcome, against the model's curve and its own chances."""

    n_cases: int
    n_wrong: int
    #: mean upper end of the curve's interval of the error, where each case has ended
    most_error: float | None
    #: sums over cases of the label's chance p, and of p (1 - p)
    sum_chances: float
    sum_variances: float
    #: mean upper end of the interval of the curve's calibration error; None: unknown
    most_gap: float | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What some cases say of a model that was trained on `n_trained` rows."""

    n_trained: int
    #: cases that keep their answers
    n_cases: int
    features: Sequence[FeatureEvidence]
    outcomes: OutcomeEvidence
    #: cases with an outcome that the model has not learnt
    n_new: int


@dataclass(frozen=True, slots=True)
class Alarm:
    """A reason for a refresh: a figure, and the tolerance that it is surely beyond."""

    kind: AlarmKind
    value: float
    tolerated: float
    feature_idx: int | None = None


def list_alarms(evidence: Evidence, alpha: float = LOOK_ALPHA) -> tuple[Alarm, ...]:
    """Return all reasons for a refresh, drift first.

    If cases are like the rows of training, and the curve's intervals hold, any alarm
    but that of many new cases is raised with a chance of at most `alpha`. One half of
    it is shared by the two tests of outcomes, which matter most, the other one by the
    two of each feature (Bonferroni).
    """
    level = alpha / 2 / (2 * max(len(evidence.features), 1))
    alarms = [
        alarm
        for feature in evidence.features
        for alarm in list_feature_alarms(evidence, feature, level)
    ]
    alarms += list_outcome_alarms(evidence.outcomes, alpha / 4)
    least = max(float(LEAST_NEW), NEW_SHARE * evidence.n_trained)
    if evidence.n_new >= least:
        alarms.append(Alarm("cases", evidence.n_new, least))
    return tuple(alarms)


def make_feature_evidence(
    ensemble: Ensemble, feature_idx: int, values: FloatArray, n_trained: int
) -> FeatureEvidence:
    """Return the evidence of one or more values, (n_values,), about a feature.

    `n_trained` is the number of rows of training that have a value, at least.
    """
    drift = measure_drift(ensemble, feature_idx, values)
    is_number = ensemble.catalogue.features[feature_idx].type == "number"
    index, n_degrees = drift.psi, max(1, drift.n_indexed - 1)
    if is_number:
        shift = compute_mean_shift(ensemble, feature_idx, values)
        index = None if shift is None else shift**2
    share = 0.0 if drift.outside is None else drift.outside.value
    n_outside = round(share * values.size)
    return FeatureEvidence(
        feature_idx, n_trained, values.size, n_outside, is_number, index, n_degrees
    )


def count_trained(ensemble: Ensemble, n_rows: int, n_missing: int) -> list[int]:
    """Return for each feature the rows of training that have a value, at least.

    Panels know the share of missing cells of some features. The rest of all
    `n_missing` cells may be of any other one.
    """
    shares = {
        idx: float(mean)
        for idx, code, (_, _, mean, _) in panel_columns(ensemble)
        if code == MISSING_CODE
    }
    rest = max(0.0, n_missing - n_rows * sum(shares.values()))
    return [
        max(0, math.floor(n_rows - (n_rows * shares[idx] if idx in shares else rest)))
        for idx in range(len(ensemble.catalogue.features))
    ]


def list_feature_alarms(
    evidence: Evidence, feature: FeatureEvidence, level: float
) -> Iterator[Alarm]:
    """Yield a feature's alarms, each with a chance of at most about `level`.

    Values outside count among all cases: those asked differ from all, but at most so
    many of all lie outside. A number lies outside the range of n rows with the chance
    2/(n + 1), known exactly for all cases together (`outside_chance`).
    """
    n_cases, share = evidence.n_cases, feature.n_outside / max(evidence.n_cases, 1)
    if n_cases >= LEAST_CASES and feature.n_outside:
        tolerated = TOLERATED_UNSEEN
        if feature.is_number:
            tolerated = 2 / (feature.n_trained + 1)
            chance = outside_chance(feature.n_outside, n_cases, feature.n_trained)
        else:
            chance = tail_chance(share, tolerated, n_cases)
        if chance <= level:
            yield Alarm("outside", share, tolerated, feature.feature_idx)
    is_known = feature.n_values >= max(LEAST_CASES, LEAST_KNOWN * n_cases)
    if is_known and feature.index is not None and feature.n_trained:
        n_both = 1.0 / (1.0 / feature.n_values + 1.0 / feature.n_trained)
        noise = math.sqrt(chi_square_bound(feature.n_degrees, level) / n_both)
        if math.sqrt(feature.index) - noise > math.sqrt(TOLERATED_INDEX):
            yield Alarm("drift", feature.index, TOLERATED_INDEX, feature.feature_idx)


def list_outcome_alarms(evidence: OutcomeEvidence, level: float) -> Iterator[Alarm]:
    """Yield the alarms of error and calibration, each with a chance below `level`.

    Notes
    -----
    The gap of n chances and outcomes has the variance v/n^2, v the sum of p (1 - p). By
    Bernstein's inequality (Boucheron, Lugosi and Massart 2013, theorem 2.10) it is
    beyond sqrt(2 v x)/n + x/(3 n) on either side with a chance of at most exp(-x).
    """
    if evidence.n_cases < LEAST_CASES:
        return
    error = evidence.n_wrong / evidence.n_cases
    most = 1.0 if evidence.most_error is None else evidence.most_error
    if tail_chance(error, most, evidence.n_cases) <= level:
        yield Alarm("error", error, most)
    depth = math.log(2.0 / level)
    noise = math.sqrt(2.0 * evidence.sum_variances * depth) + depth / 3.0
    gap = evidence.sum_chances / evidence.n_cases - (1.0 - error)
    tolerated = TOLERATED_GAP if evidence.most_gap is None else evidence.most_gap
    if abs(gap) - noise / evidence.n_cases > tolerated:
        yield Alarm("calibration", gap, tolerated)


def outside_chance(n_outside: int, n_cases: int, n_trained: int) -> float:
    """Return the chance that so many cases or more are outside the range of n rows.

    For exchangeable rows and cases without ties, the range of n rows leaves out a share
    of Beta(2, n - 1) (Wilks 1941), so the number outside is beta-binomial. Ties make it
    smaller. 1 for fewer than 2 rows.
    """
    if n_trained < 2:
        return 1.0
    both = n_cases + n_trained
    chance = n_trained * (n_trained - 1) / (both * (both - 1))
    below = 0.0
    for number in range(n_outside):
        below += chance
        odds = (n_cases - number) * (number + 2)
        chance *= odds / ((number + 1) * (n_cases - number + n_trained - 2))
    return max(0.0, 1.0 - below)


def tail_chance(share: float, expected: float, n_cases: int) -> float:
    """Return at most the chance of such a share or a larger one, by Chernoff's bound.

    exp(-n KL(share, expected)) for n independent cases of at most this chance each.
    """
    if share <= expected:
        return 1.0
    if expected <= 0.0:
        return 0.0
    information = share * math.log(share / expected)
    if share < 1.0:
        information += (1.0 - share) * math.log((1.0 - share) / (1.0 - expected))
    return math.exp(-n_cases * information)


def chi_square_bound(n_degrees: int, level: float) -> float:
    """Return a bound that a chi-square variable passes with chance `level` at most.

    Laurent and Massart (2000, equation 4.3). Times 1/n it bounds the population
    stability index of n values, which is close to a chi-square statistic.
    """
    depth = math.log(1.0 / level)
    return n_degrees + 2.0 * math.sqrt(n_degrees * depth) + 2.0 * depth
