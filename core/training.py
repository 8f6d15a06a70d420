"""A whole training: folds for honest figures, then the ensemble on every row.

A generator that yields after every round; to cancel, stop pulling.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from core.binning import bin_values
from core.boosting import BoostParams, boost
from core.rules import RULES
from core.types import (
    Dataset,
    Ensemble,
    Model,
    Round,
)
from core.validation import make_folds, validate


@dataclass(frozen=True, slots=True)
class Progress:
    """One more round. `part` counts the folds from 0, the last part is the whole."""

    part: int
    n_parts: int
    added: Round
    n_rounds: int

    @property
    def share(self) -> float:
        """How much of the training is done, 0 to 1."""
        return (self.part + self.added.number / self.n_rounds) / self.n_parts


Training = Generator[Progress, None, Model]


def train(
    dataset: Dataset,
    params: BoostParams,
    *,
    name: str = "model",
    target: str = "",
    folds: int = 5,
    seed: int = 0,
    error_costs: tuple[tuple[float, ...], ...] | None = None,
    done: Mapping[int, Sequence[Round]] | None = None,
) -> Training:
    """Train a model; the generator's return value is the `Model`.

    Parameters
    ----------
    dataset : Dataset
    params : BoostParams
    name, target : str
    folds : int
        Of the validation, 0 for none. Fewer where a class (or the number of units
        that stay together) has fewer members.
    seed : int
        Decides the folds.
    error_costs : tuple of tuple of float, optional
        As in `Ensemble`.
    done : mapping of int to sequence of Round, optional
        Rounds by part of an interrupted run; the model comes out the same.

    Yields
    ------
    Progress

    Notes
    -----
    The curve and the calibration come from held-out rows only; in the curve each
    fold is labelled by a calibration fitted on the other folds.
    """
    fold_idxs = make_folds(dataset, folds, seed)
    n_parts = len(fold_idxs) + 1
    everything = np.arange(dataset.n_samples)
    ensembles = []
    for part in range(n_parts):
        rows = everything
        if part < len(fold_idxs):
            rows = np.setdiff1d(everything, fold_idxs[part])
        rounds = list((done or {}).get(part, ()))
        taken = dataset.take(rows)
        binned = bin_values(taken)
        for added in boost(
            binned, taken.signs * taken.weights, taken.catalogue, params, rounds
        ):
            rounds.append(added)
            yield Progress(part, n_parts, added, params.rounds)
        ensembles.append(make_ensemble(taken, params, rounds, error_costs))
    *held_out, whole = ensembles
    curve = None
    if held_out:
        rows_by_fold = [dataset.take(idxs) for idxs in fold_idxs]
        curve, calibrations = validate(whole, held_out, rows_by_fold, seed)
        whole = replace(whole, calibrations=calibrations)
    card = make_card(dataset, whole, len(fold_idxs), seed)
    return Model(name, whole, target, asdict(params), curve, card)


def make_ensemble(
    dataset: Dataset,
    params: BoostParams,
    rounds: Sequence[Round],
    error_costs: tuple[tuple[float, ...], ...] | None = None,
) -> Ensemble:
    """Gather rounds into an ensemble."""
    positive = float(dataset.weights @ dataset.targets)
    return Ensemble(
        catalogue=dataset.catalogue,
        classes=dataset.classes,
        hypotheses=tuple(added.hypothesis for added in rounds),
        alphas=tuple(added.alpha for added in rounds),
        priors=(1.0 - positive, positive),
        algorithm=params.algorithm,
        policy=RULES[params.algorithm].policy,
        error_costs=error_costs,
    )


def make_card(
    dataset: Dataset, ensemble: Ensemble, n_folds: int, seed: int
) -> dict[str, object]:
    """Facts about a training that a reader of the model should know."""
    counts = np.bincount(dataset.targets, minlength=len(dataset.classes))
    features = dataset.catalogue.features
    return {
        "rows": dataset.n_samples,
        "rows_by_class": {
            one.label: int(count)
            for one, count in zip(dataset.classes, counts, strict=True)
        },
        "missing_cells": int(np.isnan(dataset.values).sum()),
        "hypotheses": len(ensemble.hypotheses),
        "features_used": [
            feature.name
            for feature, is_used in zip(features, ensemble.is_used, strict=True)
            if is_used
        ],
        "folds": n_folds,
        "seed": seed,
    }
