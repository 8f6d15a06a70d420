"""Honest figures: folds, and what ensembles say of rows that they never saw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.calibration import fit_calibration
from core.evaluate import evaluate, walk
from core.forecasts import hypothesis_votes
from core.prices import Paid, pay, price
from core.types import (
    Calibration,
    Curve,
    Dataset,
    Ensemble,
    FloatArray,
    IntArray,
    PolicyName,
)

MAX_CURVE_POINTS = 24
MAX_STAGES = 8
# Held-out rows per fold that calibrations are fitted on: plenty for four coefficients.
MAX_CALIBRATION_ROWS = 2000


def make_folds(dataset: Dataset, folds: int, seed: int) -> list[IntArray]:
    """Part the rows into folds, each class spread evenly, units kept whole.

    Returns
    -------
    list of int64 array
        Row positions of each fold, ascending; empty where fewer than 2 are possible.
    """
    generator = np.random.default_rng(seed)
    if dataset.units is None:
        n_folds = min(folds, int(np.bincount(dataset.targets, minlength=2).min()))
        if n_folds < 2:
            return []
        order = generator.permutation(dataset.n_samples)
        order = order[np.argsort(dataset.targets[order], kind="stable")]
        fold_of = np.empty(dataset.n_samples, dtype=np.int64)
        fold_of[order] = np.arange(dataset.n_samples) % n_folds
    else:
        # Units dealt out in the order of their share of positives: each fold gets
        # its part, and what remains to train on has both classes.
        n_units = int(dataset.units.max()) + 1
        positives = np.bincount(dataset.units, dataset.targets, n_units)
        shares = positives / np.bincount(dataset.units, minlength=n_units)
        n_folds = min(folds, int((shares > 0).sum()), int((shares < 1).sum()))
        if n_folds < 2:
            return []
        order = generator.permutation(n_units)
        order = order[np.argsort(shares[order], kind="stable")]
        unit_fold = np.empty(n_units, dtype=np.int64)
        unit_fold[order] = np.arange(n_units) % n_folds
        fold_of = unit_fold[dataset.units]
    return [np.flatnonzero(fold_of == fold) for fold in range(n_folds)]


def prefix_spends(ensemble: Ensemble) -> list[int]:
    """Give what each prefix of the ensemble costs, in micro-units; (n_hypotheses,)."""
    catalogue, paid, spends = ensemble.catalogue, Paid(), []
    spent = 0
    for hypothesis in ensemble.hypotheses:
        spent += price(catalogue, paid, hypothesis.feature_idx)
        paid = pay(catalogue, paid, [hypothesis.feature_idx])
        spends.append(spent)
    return spends


def purchase_budgets(ensemble: Ensemble, most: int) -> tuple[int | None, ...]:
    """Give the budgets at which the plan of `ordered` grows, thinned to `most`.

    The first is 0, the last unlimited.
    """
    steps = sorted({0, *prefix_spends(ensemble)})
    if len(steps) > most - 1:
        picks = np.linspace(0, len(steps) - 1, most - 1).round().astype(int)
        steps = [steps[pick] for pick in picks]
    return (*steps, None)


@dataclass(frozen=True)
class Observed:
    """Forecasts on held-out rows; arrays (n_forecasts,)."""

    margins: FloatArray
    shares: FloatArray
    targets: IntArray
    weights: FloatArray

    def fit(self) -> Calibration | None:
        """Fit the calibration; None where one class is missing."""
        if np.unique(self.targets).size < 2:
            return None
        return fit_calibration(self.margins, self.shares, self.targets, self.weights)


def join(parts: Sequence[Observed]) -> Observed:
    """Put forecasts of several folds together."""
    return Observed(
        np.concatenate([part.margins for part in parts]),
        np.concatenate([part.shares for part in parts]),
        np.concatenate([part.targets for part in parts]),
        np.concatenate([part.weights for part in parts]),
    )


Calibrations = tuple[tuple[PolicyName, Calibration], ...]


def validate(
    whole: Ensemble, held_out: Sequence[Ensemble], rows: Sequence[Dataset], seed: int
) -> tuple[Curve, Calibrations]:
    """Find the curve and the calibrations from ensembles and the rows they never saw.

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
    ordered = [observe_ordered(ensemble, thin(part)) for ensemble, part in pairs]
    sampled = [observe_sampled(ensemble, thin(part), seed) for ensemble, part in pairs]
    curves = []
    for fold, (ensemble, part) in enumerate(pairs):
        others = (
            ordered[:fold] + ordered[fold + 1 :],
            sampled[:fold] + sampled[fold + 1 :],
        )
        calibrated = replace(ensemble, calibrations=fit_both(*others))
        curves.append(evaluate(calibrated, part, budgets, seed=seed))
    return pool(curves), fit_both(ordered, sampled)


def fit_both(ordered: Sequence[Observed], sampled: Sequence[Observed]) -> Calibrations:
    """Fit a calibration for each policy where there are forecasts of both classes."""
    named: tuple[tuple[PolicyName, Sequence[Observed]], ...] = (
        ("ordered", ordered),
        ("sample", sampled),
    )
    fitted = ((policy, join(parts).fit()) for policy, parts in named)
    return tuple((policy, one) for policy, one in fitted if one is not None)


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
    out here.
    """
    ballots = np.sign([hypothesis_votes(ensemble, values) for values in rows.values])
    alphas = np.abs(ensemble.signed_alphas)
    total = max(float(alphas.sum()), 1e-300)
    first_uses = list(dict.fromkeys(ensemble.feature_idxs.tolist()))
    rank = np.full(len(ensemble.catalogue.features), len(first_uses))
    rank[first_uses] = np.arange(len(first_uses))
    hypothesis_rank = rank[ensemble.feature_idxs]
    spends = prefix_spends(ensemble)
    margins, shares = [], []
    for budget in purchase_budgets(ensemble, MAX_STAGES):
        length = len(spends)
        if budget is not None:
            length = int(np.searchsorted(spends, budget, side="right"))
        n_planned = int(hypothesis_rank[:length].max(initial=-1)) + 1
        stages = np.linspace(1, n_planned, min(n_planned, MAX_STAGES))
        for n_known in stages.round().astype(int):
            asked = np.where(hypothesis_rank[:length] < n_known, alphas[:length], 0)
            known = np.abs(ballots[:, :length]) @ asked
            plan = alphas[:length].sum() - asked.sum() + known
            lead = ballots[:, :length] @ asked
            margins.append(
                np.divide(lead, plan, out=np.zeros_like(lead), where=plan > 0)
            )
            shares.append(known / total)
    return gather(margins, shares, rows)


def observe_sampled(ensemble: Ensemble, rows: Dataset, seed: int) -> Observed:
    """Forecasts of `sample` sessions where they end under several budgets."""
    if not ensemble.hypotheses:
        return gather([], [], rows)
    budgets = [b for b in purchase_budgets(ensemble, MAX_STAGES) if b is not None]
    walks = walk(ensemble, rows.values, budgets, "sample", seed)
    return gather(list(walks.margins.T), list(walks.shares.T), rows)


def gather(
    margins: list[FloatArray], shares: list[FloatArray], rows: Dataset
) -> Observed:
    """Stack the forecasts of each stage; a row's weight is spread over its stages."""
    n_stages = len(margins)
    if n_stages == 0:
        empty = np.empty(0)
        return Observed(empty, empty, np.empty(0, np.int64), empty)
    return Observed(
        np.concatenate(margins),
        np.concatenate(shares),
        np.tile(rows.targets, n_stages),
        np.tile(rows.weights * rows.n_samples / n_stages, n_stages),
    )
