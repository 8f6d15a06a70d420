"""Train with the core, for every benchmark: the one place that knows its loop."""

from collections.abc import Iterator

from askless.core.codes.binning import Binned, bin_values
from askless.core.model.ensemble import Ensemble
from askless.core.table.dataset import Dataset
from askless.core.training.algorithms import make_ensemble
from askless.core.training.boosting import boost, initial_weights
from askless.core.training.params import BoostParams
from askless.core.training.rounds import Round


def boost_rounds(
    training: Dataset, params: BoostParams, binned: Binned | None = None
) -> Iterator[Round]:
    """Yield the rounds of a training, whose table may be binned already."""
    binned = bin_values(training) if binned is None else binned
    shards = [(binned, initial_weights(training))]
    return boost(shards, training.catalogue, params)


def train_ensemble(training: Dataset, params: BoostParams) -> Ensemble:
    """Train to the end, without folds and calibration."""
    return make_ensemble(training, params, list(boost_rounds(training, params)))
