"""Boosting a dataset: by core, and by the naive twin."""

from collections.abc import Sequence

from askless.core.codes.binning import bin_values
from askless.core.table.dataset import Dataset
from askless.core.training.boosting import boost, initial_weights
from askless.core.training.params import BoostParams
from askless.core.training.rounds import Round
from tests import naive_boosting, twins


def run(
    dataset: Dataset, params: BoostParams | None = None, done: Sequence[Round] = ()
) -> list[Round]:
    """The rounds that follow those done."""
    params = params or BoostParams("adaboost")
    shards = [(bin_values(dataset), initial_weights(dataset, params.label_weights))]
    return list(boost(shards, dataset.catalogue, params, done))


def naive_weights(dataset: Dataset, kind: str = "balanced"):
    rows, n_classes = dataset.weights.tolist(), len(dataset.classes)
    return naive_boosting.first_weights(
        twins.targets_of(dataset), rows, n_classes, kind
    )


def naive_run(dataset: Dataset, params: BoostParams, choices=None, search=None):
    """The naive rounds; with `choices` those hypotheses are taken."""
    weights, signs = naive_weights(dataset, params.label_weights)
    return naive_boosting.boost(
        twins.rows_of(dataset.values),
        weights,
        signs,
        [feature.type == "category" for feature in dataset.catalogue.features],
        twins.shop_of(dataset.catalogue),
        params.algorithm,
        params.rounds,
        params.learner,
        params.leaves if params.learner == "tree" else params.factors,
        search,
        params.tau,
        params.switch,
        params.cost_floor,
        choices,
    )
