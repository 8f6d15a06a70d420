"""Search forward: each step adds the best feature, or end the selection.

`select_subset` is a generator that yields after every subset; to cancel, stop pulling.
"""

import math
from collections.abc import Generator, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from askless.core.arrays import FloatArray
from askless.core.catalogue.prices import Paid, buy
from askless.core.errors import Refusal, RefusedError
from askless.core.parameters import check_parameters
from askless.core.selection.boosting import boost_subset
from askless.core.selection.neighbours import (
    compute_empty_accuracy,
    compute_neighbour_accuracy,
    compute_row_credits,
)
from askless.core.selection.params import (
    SelectionLearner,
    SelectionMethod,
    SelectionParams,
)
from askless.core.selection.subset import Subset, extend_subset, make_subset
from askless.core.selection.table import TIE, SelectionTable, make_selection_table
from askless.core.table.dataset import Dataset
from askless.core.table.gaps import fill_silent_cells


@dataclass(frozen=True, slots=True)
class SelectionStep:
    """The best feature to add, and whether it was added.

    `value` is the Z, Z' or accuracy of the subset with it, `candidates` those of
    every feature that was tried. `gain` is ln(Z before / Z after), or the rise in
    accuracy; it was taken if `gain` exceeds `needed`. `cost` (micro-units) is that of
    the subset with it, and `n_hypotheses` counts those fitted up to here.
    """

    number: int
    feature_idx: int
    value: float
    gain: float
    needed: float
    is_taken: bool
    candidates: tuple[tuple[int, float], ...]
    cost: int
    n_hypotheses: int


@dataclass(frozen=True, slots=True)
class SelectionProgress:
    """One more feature tried; with the last one of a step, the step."""

    number: int
    n_tried: int
    n_candidates: int
    step: SelectionStep | None = None

    @property
    def share(self) -> float:
        """How much is done: how many steps come is unknown, so half the rest each."""
        return 1.0 - math.pow(0.5, self.number - 1 + self.n_tried / self.n_candidates)


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected features in the order of choice, and the steps to them.

    `cost` in micro-units, groups and bundles included. `empty_value` is the Z, Z' or
    accuracy of no feature at all; `steps` ends with the refused one, if any was.
    `accuracy` is the leave-one-out accuracy of k nearest neighbours on the subset,
    whatever the learner. `n_hypotheses` counts all that were fitted.
    """

    method: SelectionMethod
    learner: SelectionLearner
    feature_idxs: tuple[int, ...]
    cost: int
    empty_value: float
    steps: tuple[SelectionStep, ...]
    accuracy: float
    n_hypotheses: int

    @property
    def value(self) -> float:
        """The Z, Z' or accuracy of the subset."""
        return self.path[-1]

    @property
    def path(self) -> tuple[float, ...]:
        """Z, Z' or accuracy of the empty subset and after each feature added."""
        taken = (step.value for step in self.steps if step.is_taken)
        return (self.empty_value, *taken)


@dataclass(frozen=True, slots=True)
class FeatureScore:
    """A candidate's Z, Z' or accuracy.

    `concentration` is the largest sum of squared weights of an output (see `Fit`).
    """

    feature_idx: int
    value: float
    concentration: float
    n_hypotheses: int


def select_subset(
    dataset: Dataset, params: SelectionParams | None = None
) -> Generator[SelectionProgress, None, Selection]:
    """Select features one by one; the generator's return value is the `Selection`.

    Yields after every candidate. Raises `RefusedError` for parameters out of range, or
    a multi-label dataset.

    Notes
    -----
    Each step tries every feature s not in E and takes the best one, the lowest index
    of several (within 1e-9): `sfs` that of the largest leave-one-out accuracy, as
    long as it rises; `fs2boost` that of the least Z = sum_i D_1(i) exp(-y_i F(x_i)),
    F being T rounds of AdaBoost on E + s, as long as Z falls markedly
    (`compute_needed_gain`); `ifs2boost` likewise by Z' (`weigh_clear_descriptions`).
    With K > 2 classes Z is the mean of K problems of one class against all others.

    Sebban and Nock (1999), "Contribution of Boosting in Wrapper Models", figures 1 and
    2 and section 4. Derived anew, since the paper leaves it open or its formula is
    garbled: the test for "Z << Z_0"; D' and what follows from it; the Z of no feature,
    2 sqrt(p_+ p_-) instead of infinity, so that nothing need be selected; votes
    without the row voted on, since a point that is its own neighbour makes Z = 0; the
    end of boosting at an edge that is not positive (`boost_subset`).

    With n rows, p features, m selected and T rounds a step takes O(p (n^2 + T v)) for
    `knn`, v <= n^2 the pairs of neighbouring descriptions, and O(p T c n) for
    `stump`, c the columns of the subset (one per number or boolean, one per value of a
    category). Memory is O(n^2) (`selection_bytes`).
    """
    params = params or SelectionParams()
    _, refusals = check_parameters(SelectionParams, asdict(params), "selection")
    if dataset.targets.ndim > 1:
        refusals.append(Refusal("target", "must give one class to each row"))
    if refusals:
        raise RefusedError(refusals)
    # A missing cell is a value of its own here, which one that nobody answered is not.
    table = make_selection_table(fill_silent_cells(dataset))
    subset = make_subset(table)
    is_sfs = params.method == "sfs"
    empty_value = value = (
        compute_empty_accuracy(table) if is_sfs else compute_empty_z(table)
    )
    open_idxs = list(range(table.n_features))
    steps: list[SelectionStep] = []
    while open_idxs and (not steps or steps[-1].is_taken):
        trials = []
        for n_tried, idx in enumerate(open_idxs, start=1):
            trials.append(evaluate_subset(extend_subset(subset, idx), params))
            if n_tried < len(open_idxs):
                yield SelectionProgress(len(steps) + 1, n_tried, len(open_idxs))
        step = choose_step(table, params, steps, value, trials)
        steps.append(step)
        yield SelectionProgress(step.number, len(open_idxs), len(open_idxs), step)
        if step.is_taken:
            subset, value = extend_subset(subset, step.feature_idx), step.value
            subset.settle()
            open_idxs.remove(step.feature_idx)
    return Selection(
        method=params.method,
        learner=params.learner,
        feature_idxs=subset.feature_idxs,
        cost=buy(dataset.catalogue, Paid(), subset.feature_idxs)[0],
        empty_value=empty_value,
        steps=tuple(steps),
        accuracy=compute_neighbour_accuracy(subset, params.n_neighbours),
        n_hypotheses=steps[-1].n_hypotheses if steps else 0,
    )


def selection_bytes(n_samples: int) -> int:
    """Return the peak memory of `select_subset`: five numbers for each pair of rows."""
    return 5 * 8 * n_samples**2


def evaluate_subset(subset: Subset, params: SelectionParams) -> FeatureScore:
    """Compute the Z, Z' or accuracy of a subset of one feature or more."""
    table, feature_idx = subset.table, subset.feature_idxs[-1]
    if params.method == "sfs" and params.learner == "knn":
        accuracy = compute_neighbour_accuracy(subset, params.n_neighbours)
        return FeatureScore(feature_idx, accuracy, 0.0, 1)
    fit = boost_subset(subset, params)
    value = float(fit.zs[-1])
    if params.method == "sfs":
        is_single = table.n_outputs == 1
        # A single output votes for the second class, hence against the first.
        scores = np.hstack((-fit.sums, fit.sums)) if is_single else fit.sums
        value = float(table.weights @ compute_row_credits(table, scores))
    return FeatureScore(feature_idx, value, fit.concentration, fit.n_hypotheses)


def choose_step(
    table: SelectionTable,
    params: SelectionParams,
    earlier_steps: Sequence[SelectionStep],
    value_before: float,
    trials: Sequence[FeatureScore],
) -> SelectionStep:
    """Choose the best candidate feature, and decide whether to add it.

    `value_before` is the Z, Z' or accuracy of the present subset. `trials` has one
    score for each candidate added to it.
    """
    values = np.array([trial.value for trial in trials])
    if params.method == "sfs":
        best = trials[argmin_first(-values)]
        gain, needed = best.value - value_before, TIE
    else:
        best = trials[argmin_first(np.maximum(values, table.least_z))]
        n_tests = 2 * len(trials) * table.n_outputs
        # Any Z below `least_z` counts as `least_z`. For Z' the bound is at least
        # sum D'^2, the mean weight of a row under D'.
        least_z = max(table.least_z, best.concentration)
        gain = math.log(max(value_before, least_z) / max(best.value, least_z))
        needed = compute_needed_gain(best.concentration, n_tests, params.significance)
    chosen = [*(step.feature_idx for step in earlier_steps), best.feature_idx]
    n_before = earlier_steps[-1].n_hypotheses if earlier_steps else 0
    return SelectionStep(
        number=len(earlier_steps) + 1,
        feature_idx=best.feature_idx,
        value=best.value,
        gain=gain,
        needed=needed,
        is_taken=gain > needed,
        candidates=tuple((trial.feature_idx, trial.value) for trial in trials),
        cost=buy(table.dataset.catalogue, Paid(), chosen)[0],
        n_hypotheses=n_before + sum(trial.n_hypotheses for trial in trials),
    )


def compute_empty_z(table: SelectionTable) -> float:
    """Return the Z of no feature at all.

    Notes
    -----
    The best constant F = 1/2 ln(p_+ / p_-) gives E[exp(-yF)] = 2 sqrt(p_+ p_-), and
    so do any learner's hypotheses on the empty subset. Z' is the same, since all rows
    have one description. With several outputs it is their mean.
    """
    shares = np.clip(table.weights @ (table.signs > 0), 0.0, 1.0)
    return float((2 * np.sqrt(shares * (1 - shares))).mean())


def argmin_first(values: FloatArray) -> int:
    """Return the position of the least value; the first one on a tie."""
    return int(np.flatnonzero(values <= values.min() + TIE)[0])


def compute_needed_gain(
    concentration: float, n_tests: int, significance: float
) -> float:
    """Return the fall of ln Z that chance alone does not explain.

    Notes
    -----
    A weak hypothesis without any true edge still has an edge of at least e on n rows
    of weight D with probability at most exp(-e^2 / (2 sum_i D(i)^2)) (Hoeffding). Of
    `n_tests` (candidates, outputs, two signs) the largest exceeds
    e^2 = 2 sum_i D(i)^2 ln(n_tests / significance) with probability `significance`
    at most, and multiplies Z by sqrt(1 - e^2) or about exp(-e^2 / 2). A marked fall
    is one that no such hypothesis explains: ln Z_0 - ln Z > e^2 / 2. Ours: the paper
    says "<<" only. It sets the scale and is no exact level for T rounds.
    """
    return concentration * math.log(n_tests / significance)
