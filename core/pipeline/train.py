"""A whole training: folds for honest figures, then the ensemble on every row.

A generator that yields after every round, also of those that only choose features or
parameters, and within the validation; to cancel, stop pulling.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Protocol, TypeVar

import numpy as np

from core.errors import Refusal, RefusedError
from core.model.ensemble import Ensemble
from core.model.model import Model
from core.pipeline.choosing import AutoName, tune
from core.pipeline.spec import TrainingSpec
from core.pipeline.validation import validate
from core.selection import Selection, SelectionParams, select, selection_to_json
from core.table.check import Checked
from core.table.dataset import Dataset
from core.table.folds import make_folds
from core.training.algorithms import (
    grow_ensemble,
    is_bagged,
    make_ensemble,
    most_rounds,
)
from core.training.baselines import out_of_bag_error
from core.training.params import BoostParams
from core.training.rounds import Round

# Of each part, or of what a selection leaves of it; guesses, for progress bars only.
SELECTION_SHARE = 0.5

TUNING_SHARE = 0.7

Chosen = TypeVar("Chosen")


class Shared(Protocol):
    """Progress of what a part begins with."""

    @property
    def share(self) -> float:
        """How much of it is done, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Progress:
    """One more round; `added` is None while something is chosen, or validated.

    `part` counts the folds from 0, the last part is the whole. `share` of the training
    is done, 0 to 1.
    """

    part: int
    n_parts: int
    added: Round | None
    share: float


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
    selection: SelectionParams | None = None,
    auto: frozenset[AutoName] = frozenset(),
    done: Mapping[int, Sequence[Round]] | None = None,
) -> Training:
    """Train a model; the generator's return value is the `Model`.

    Parameters
    ----------
    dataset : Dataset
    params : BoostParams
    name, target : str
    folds : int
        Of the validation, 0 for none. Fewer where classes (or the row groups that stay
        together) have fewer members; see `make_folds`.
    seed : int
        Decides the folds.
    error_costs : tuple of tuple of float, optional
        As in `Ensemble`.
    selection : SelectionParams, optional
        How to select the features that may be read; without it all of them.
    auto : frozenset of {"rounds", "tau", "switch"}
        Parameters to choose on held-out rows; see `core.pipeline.choosing.tune`.
    done : mapping of int to sequence of Round, optional
        Rounds by part of an interrupted run; the model comes out the same.

    Yields
    ------
    Progress

    Raises
    ------
    RefusedError
        For a multi-label dataset (curves and calibrations are of one class per row),
        for a cascade of more than two classes or one whose rates can't be met, for
        parameters of the selection that are out of range, and where something is to
        be chosen and all rows that a part trains on are of one row group.

    Notes
    -----
    The curve and the calibration come from held-out rows only; in the curve each
    fold is labelled by a calibration fitted on the other folds.

    Features are selected, and parameters chosen, anew in each part from the rows that
    it trains on, so that the curve counts what that costs in error; the card tells
    those of all rows. The catalogue stays whole: the columns not selected are blanked
    for training, and no learner reads a column without a value. From no feature at
    all comes an ensemble without hypotheses, which says the largest class. There is no
    out-of-bag error after a selection, which has seen the rows that trees left out.
    """
    if dataset.is_multilabel:
        raise RefusedError([Refusal("target", "must be one class per row")])
    if params.algorithm == "cascade" and len(dataset.classes) > 2:
        raise RefusedError([Refusal("algorithm", "a cascade has two classes")])
    fold_idxs = make_folds(dataset, folds, seed)
    n_parts = len(fold_idxs) + 1
    everything = np.arange(dataset.n_samples)
    ensembles = []
    for part in range(n_parts):
        rows = everything
        if part < len(fold_idxs):
            rows = np.setdiff1d(everything, fold_idxs[part])
        taken = dataset.take(rows)
        rounds, chosen, selected = yield from train_part(
            taken, params, selection, auto, done or {}, part, n_parts
        )
        ensembles.append(make_ensemble(taken, params, rounds, error_costs))
    *held_out, whole = ensembles
    curve = None
    if held_out:
        rows_by_fold = [dataset.take(idxs) for idxs in fold_idxs]
        validating = validate(whole, held_out, rows_by_fold, seed)
        last = Progress(n_parts - 1, n_parts, None, 1.0)
        curve, calibrations = yield from repeat(validating, last)
        whole = replace(whole, calibrations=calibrations)
    card = make_card(dataset, whole, len(fold_idxs), seed)
    if is_bagged(params.algorithm) and selection is None:
        error = out_of_bag_error(dataset, whole, rounds, params.seed)
        card["out_of_bag_error"] = error
    if selection is not None:
        assert selected is not None, "made anew for the whole"
        card["selection"] = selection_to_json(dataset.catalogue, selection, selected)
    if auto and (selected is None or selected.feature_idxs):
        card["chosen"] = {name: getattr(chosen, name) for name in sorted(auto)}
    return Model(name, whole, target, asdict(chosen), curve, card)


def train_spec(
    checked: Checked,
    spec: TrainingSpec,
    done: Mapping[int, Sequence[Round]] | None = None,
) -> Training:
    """Train on a checked table as a spec asks; see `train`."""
    return train(
        checked.dataset,
        spec.boost,
        name=spec.name,
        target=spec.table.target,
        folds=spec.folds,
        seed=spec.seed,
        error_costs=checked.error_costs,
        selection=spec.selection,
        auto=spec.auto,
        done=done,
    )


def train_part(
    dataset: Dataset,
    params: BoostParams,
    selection: SelectionParams | None,
    auto: frozenset[AutoName],
    done: Mapping[int, Sequence[Round]],
    part: int,
    n_parts: int,
) -> Generator[Progress, None, tuple[list[Round], BoostParams, Selection | None]]:
    """Select, choose and train on the rows of one part, after the rounds that are done.

    A fold that is finished selects nothing again; the whole does, for its card.
    """
    rounds = list(done.get(part, ()))
    is_whole = part == n_parts - 1
    if not is_whole and is_finished(params, done, part):
        return rounds, params, None
    selected = None
    share_before = 0.0
    if selection is not None:
        share_before = SELECTION_SHARE
        choosing = select(dataset, selection)
        selected = yield from follow(choosing, 0.0, share_before, part, n_parts)
        if not selected.feature_idxs:
            return rounds, params, selected
        dataset = blank(dataset, selected)
    if auto:
        tuning = tune(dataset, params, auto)
        room = TUNING_SHARE * (1.0 - share_before)
        params = yield from follow(tuning, share_before, room, part, n_parts)
        share_before += room
    for added in grow_ensemble(dataset, params, tuple(rounds), is_strict=is_whole):
        rounds.append(added)
        share = added.number / most_rounds(params)
        share = share_before + (1.0 - share_before) * share
        yield Progress(part, n_parts, added, (part + share) / n_parts)
    return rounds, params, selected


def is_finished(
    params: BoostParams, done: Mapping[int, Sequence[Round]], part: int
) -> bool:
    """Whether a part has all its rounds already; parts are trained in order."""
    if part < max(done, default=0):
        return True
    rounds = done.get(part, ())
    return bool(rounds) and rounds[-1].number >= most_rounds(params)


def follow(
    choosing: Generator[Shared, None, Chosen],
    share_before: float,
    room: float,
    part: int,
    n_parts: int,
) -> Generator[Progress, None, Chosen]:
    """Pass on the progress of a choice of features or parameters, and what it chose."""
    while True:
        try:
            tried = next(choosing)
        except StopIteration as end:
            chosen: Chosen = end.value
            return chosen
        share = share_before + room * tried.share
        yield Progress(part, n_parts, None, (part + share) / n_parts)


def repeat(
    working: Generator[None, None, Chosen], progress: Progress
) -> Generator[Progress, None, Chosen]:
    """Tell the same progress as often as some work lets itself be stopped."""
    while True:
        try:
            next(working)
        except StopIteration as end:
            done: Chosen = end.value
            return done
        yield progress


def blank(dataset: Dataset, selection: Selection) -> Dataset:
    """Leave the values of the selected features only, the rest missing."""
    values = np.full_like(dataset.values, np.nan)
    idxs = list(selection.feature_idxs)
    values[:, idxs] = dataset.values[:, idxs]
    return replace(dataset, values=values)


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
