"""Every algorithm that trains an ensemble: its policy, its rounds, its ensemble."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.model.ensemble import Cascade, Ensemble
from core.table.binning import bin_values
from core.table.dataset import Dataset
from core.training.baselines import BASELINES, grow
from core.training.boosting import boost, initial_weights
from core.training.cascade import grow_cascade, lay_cascade
from core.training.params import BoostParams
from core.training.rounds import Round
from core.training.rules import RULES

ALGORITHMS: dict[str, str] = {
    **{name: rule.policy for name, rule in RULES.items()},
    "cascade": "cascade",
    **{name: baseline.policy for name, baseline in BASELINES.items()},
}


def most_rounds(params: BoostParams) -> int:
    """Most rounds that an algorithm trains."""
    if params.algorithm == "cascade":
        return params.stages * params.rounds
    if params.algorithm in BASELINES and not is_bagged(params.algorithm):
        return 1
    return params.rounds


def grow_ensemble(
    dataset: Dataset, params: BoostParams, done: Sequence[Round], *, is_strict: bool
) -> Iterator[Round]:
    """Yield the rounds of any algorithm after those that are done.

    `is_strict`: see `core.training.cascade.grow_cascade`; a fold may miss rates that
    the whole reaches.
    """
    if params.algorithm in BASELINES:
        return grow(dataset, params, done)
    if params.algorithm == "cascade":
        return grow_cascade(dataset, params, done, is_strict=is_strict)
    weights = initial_weights(dataset, params.label_weights)
    return boost(bin_values(dataset), weights, dataset.catalogue, params, done)


def make_ensemble(
    dataset: Dataset,
    params: BoostParams,
    rounds: Sequence[Round],
    error_costs: tuple[tuple[float, ...], ...] | None = None,
) -> Ensemble:
    """Gather rounds into an ensemble."""
    priors = dataset.weights @ (dataset.class_signs > 0)
    cascade = None
    if params.algorithm == "cascade":
        cascade = lay_cascade(dataset, params, rounds)
        if not rounds:
            cascade = Cascade((), float(priors[1]))
    return Ensemble(
        catalogue=dataset.catalogue,
        classes=dataset.classes,
        hypotheses=tuple(added.hypothesis for added in rounds),
        alphas=tuple(added.alpha for added in rounds),
        priors=tuple(priors.tolist()),
        algorithm=params.algorithm,
        policy=ALGORITHMS[params.algorithm],
        error_costs=error_costs,
        is_multilabel=dataset.is_multilabel,
        cascade=cascade,
    )


def is_bagged(algorithm: str) -> bool:
    """Whether trees of an algorithm leave rows out that can judge them."""
    return algorithm in BASELINES and BASELINES[algorithm].is_bagged
