"""Honest figures: folds, and what ensembles say of rows that they never saw."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.arrays import BoolArray, FloatArray, IntArray
from core.model.budgets import (
    prefix_spends,
    purchase_budgets,
    thin_budgets,
)
from core.model.ensemble import Calibration, Ensemble
from core.model.model import Curve
from core.model.votes import divide, full_votes
from core.pipeline.calibration import fit_calibration
from core.session.curves import evaluate
from core.session.simulate import walk
from core.table.catalogue import UNSEEN
from core.table.dataset import Dataset

MAX_CURVE_POINTS = 24

MAX_STAGES = 8

# Held-out rows per fold that calibrations are fitted on: plenty for four coefficients.
MAX_CALIBRATION_ROWS = 2000

# Margins per fold that they are fitted on: those of 25 classes at all stages.
MAX_CALIBRATION_MARGINS = MAX_CALIBRATION_ROWS * MAX_STAGES**2 * 25

# Outputs fitted between two looks at whether to go on.
N_FITTED = 10


@dataclass(frozen=True)
class Observed:
    """Forecasts on held-out rows.

    `margins` (n_forecasts, n_outputs), `shares`, `targets` and `weights`
    (n_forecasts,).
    """

    margins: FloatArray
    shares: FloatArray
    targets: IntArray
    weights: FloatArray

    def fit(self) -> Generator[None, None, tuple[Calibration, ...] | None]:
        """Fit a calibration per output; None where less than two classes are.

        Yields after every `N_FITTED` outputs.
        """
        if np.unique(self.targets).size < 2:
            return None
        n_outputs = self.margins.shape[1]
        positives = [1] if n_outputs == 1 else range(n_outputs)
        pairs = list(zip(self.margins.T, positives, strict=True))
        fitted: list[Calibration] = []
        for start in range(0, n_outputs, N_FITTED):
            fitted += [
                self._fit_output(margins, self.targets == positive)
                for margins, positive in pairs[start : start + N_FITTED]
            ]
            yield
        return tuple(fitted)

    def _fit_output(self, margins: FloatArray, is_positive: BoolArray) -> Calibration:
        if not is_positive.any():
            # A class without a row here: less probable than one row would make it.
            chance = 1.0 / (self.targets.size + 2)
            return Calibration(float(np.log(chance / (1 - chance))), 0.0, 0.0, 0.0)
        targets = is_positive.astype(np.int64)
        return fit_calibration(margins, self.shares, targets, self.weights)


def join(parts: Sequence[Observed]) -> Observed:
    """Put forecasts of several folds together."""
    return Observed(
        np.concatenate([part.margins for part in parts]),
        np.concatenate([part.shares for part in parts]),
        np.concatenate([part.targets for part in parts]),
        np.concatenate([part.weights for part in parts]),
    )


Calibrations = tuple[tuple[str, tuple[Calibration, ...]], ...]


def validate(
    whole: Ensemble, held_out: Sequence[Ensemble], rows: Sequence[Dataset], seed: int
) -> Generator[None, None, tuple[Curve, Calibrations]]:
    """Find the curve and the calibrations from ensembles and the rows they never saw.

    Yields now and then, for who wants to stop.

    Parameters
    ----------
    whole : Ensemble
        Trained on every row; its purchases give the budgets of the curve.
    held_out : sequence of Ensemble
    rows : sequence of Dataset
        The rows that the ensemble at the same place was not trained on.
    seed : int
        Of the policy `sample`.
    """
    budgets = purchase_budgets(whole, MAX_CURVE_POINTS)
    pairs = list(zip(held_out, rows, strict=True))
    ordered, sampled = [], []
    for ensemble, part in pairs:
        ordered.append(observe_ordered(ensemble, thin(part)))
        sampled.append(observe_sampled(ensemble, thin(part), seed))
        yield
    curves = []
    for fold, (ensemble, part) in enumerate(pairs):
        others = (
            ordered[:fold] + ordered[fold + 1 :],
            sampled[:fold] + sampled[fold + 1 :],
        )
        calibrations = yield from fit_both(*others)
        calibrated = replace(ensemble, calibrations=calibrations)
        curves.append(evaluate(calibrated, part, budgets, seed=seed))
        yield
    calibrations = yield from fit_both(ordered, sampled)
    return pool(curves), calibrations


def fit_both(
    ordered: Sequence[Observed], sampled: Sequence[Observed]
) -> Generator[None, None, Calibrations]:
    """Fit a calibration for each policy where there are forecasts of both classes."""
    named: tuple[tuple[str, Sequence[Observed]], ...] = (
        ("ordered", ordered),
        ("sample", sampled),
    )
    fitted: list[tuple[str, tuple[Calibration, ...]]] = []
    for policy, parts in named:
        found = yield from join(parts).fit()
        if found is not None:
            fitted.append((policy, found))
    return tuple(fitted)


def pool(curves: Sequence[Curve]) -> Curve:
    """Average the folds' curves, each with the weight of its rows."""
    sizes = np.array([curve.n_samples for curve in curves], dtype=np.float64)
    shares = sizes / sizes.sum()

    def average(name: str) -> tuple[float, ...]:
        return tuple((shares @ [getattr(curve, name) for curve in curves]).tolist())

    return Curve(
        budgets=curves[0].budgets,
        errors=average("errors"),
        errors_calibrated=average("errors_calibrated"),
        mean_spends=average("mean_spends"),
        max_spends=tuple(np.max([c.max_spends for c in curves], axis=0).tolist()),
        n_samples=int(sizes.sum()),
    )


def thin(rows: Dataset) -> Dataset:
    """Take `MAX_CALIBRATION_ROWS` at most, evenly spaced: a table may be sorted."""
    n_few = min(rows.n_samples, MAX_CALIBRATION_ROWS)
    return rows.take(np.linspace(0, rows.n_samples - 1, n_few).round().astype(np.int64))


def observe_ordered(ensemble: Ensemble, rows: Dataset) -> Observed:
    """Forecasts of `ordered` sessions at several budgets and stages of each.

    A missing value is passed over as in a session; that the plan then grows is left
    out here, and so is that a tree is asked along its path only.
    """
    features = ensemble.catalogue.features
    first_uses = np.array(ensemble.first_uses, dtype=np.int64)
    rank = np.full(len(features), first_uses.size)
    rank[first_uses] = np.arange(first_uses.size)
    needed = [int(rank[list(h.feature_idxs)].max()) for h in ensemble.hypotheses]
    is_category = np.array([one.type == "category" for one in features])
    spends = prefix_spends(ensemble)
    total = max(float(ensemble.alpha_sums[-1]), 1e-300)
    stages = []
    for budget in thin_budgets(spends, MAX_STAGES):
        length = len(spends)
        if budget is not None:
            length = int(np.searchsorted(spends, budget, side="right"))
        n_planned = max(needed[:length], default=-1) + 1
        steps = np.linspace(1, n_planned, min(n_planned, MAX_STAGES))
        stages += [(length, n_known) for n_known in steps.round().astype(int)]
    parts = part_rows(rows, len(stages), ensemble.n_outputs)
    margins, shares = [], []
    for position, (length, n_known) in enumerate(stages):
        part = parts[position % len(parts)]
        is_known = rank < n_known
        values = np.where(is_known, rows.values[part], np.nan)
        votes, known = full_votes(ensemble, values, length)
        # What could still vote: all but the paths that ended without a vote.
        is_silent = np.isnan(values) | (is_category & (values == UNSEEN))
        whole = np.where(is_known & is_silent, np.nan, 0.0)
        _, plan = full_votes(ensemble, whole, length)
        margins.append(divide(votes, np.maximum(plan, known)))
        shares.append(known / total)
    return gather(margins, shares, rows, parts, ensemble.n_outputs)


def observe_sampled(ensemble: Ensemble, rows: Dataset, seed: int) -> Observed:
    """Forecasts of `sample` sessions where they end under several budgets."""
    budgets = [b for b in purchase_budgets(ensemble, MAX_STAGES) if b is not None]
    if not ensemble.hypotheses:
        budgets = []
    parts = part_rows(rows, len(budgets), ensemble.n_outputs)
    margins, shares = [np.empty(0)] * len(budgets), [np.empty(0)] * len(budgets)
    for first, part in enumerate(parts if budgets else []):
        its_budgets = budgets[first :: len(parts)]
        walks = walk(ensemble, rows.values[part], its_budgets, "sample", seed)
        margins[first :: len(parts)] = np.moveaxis(walks.margins, 1, 0)
        shares[first :: len(parts)] = walks.shares.T
    return gather(margins, shares, rows, parts, ensemble.n_outputs)


def part_rows(rows: Dataset, n_stages: int, n_outputs: int) -> list[slice]:
    """Part the rows so that one part per stage gives `MAX_CALIBRATION_MARGINS` at most.

    Of more classes than 25 each row is looked at in some of its stages only, so that
    every class keeps its rows. Every part is used at least once.
    """
    n_margins = rows.n_samples * n_stages * n_outputs
    n_parts = max(1, min(-(-n_margins // MAX_CALIBRATION_MARGINS), n_stages))
    return [slice(first, None, n_parts) for first in range(n_parts)]


def gather(
    margins: list[FloatArray],
    shares: list[FloatArray],
    rows: Dataset,
    parts: list[slice],
    n_outputs: int,
) -> Observed:
    """Stack the forecasts of each stage, the parts of the rows taking turns.

    A row's weight is spread over its stages.
    """
    n_stages = len(margins)
    if n_stages == 0:
        empty = np.empty(0)
        none = np.empty((0, n_outputs))
        return Observed(none, empty, np.empty(0, np.int64), empty)
    taken = [parts[stage % len(parts)] for stage in range(n_stages)]
    weights = rows.weights * rows.n_samples / n_stages * len(parts)
    return Observed(
        np.concatenate(margins),
        np.concatenate(shares),
        np.concatenate([rows.targets[part] for part in taken]),
        np.concatenate([weights[part] for part in taken]),
    )
