"""Save and restore the state of online boosting."""

from typing import Any

import numpy as np

from askless.core import kernels
from askless.core.catalogue.catalogue import Catalogue
from askless.core.errors import Refusal, RefusedError
from askless.core.model.ensemble import N_KNOTS, Calibration, Ensemble
from askless.core.model.learning_state import LearningState
from askless.core.model.model import Model
from askless.core.table.dataset import ClassLabel, Dataset, count_outputs
from askless.core.training.online.online import OnlineBooster, learn_table
from askless.core.training.params import BoostParams

# Fields that `BoostParams` and `LearningState` share.
KEPT_PARAMS = ("rounds", "half_life", "tau", "cost_floor", "label_weights", "seed")
CANNOT_LEARN = (
    'must be one that goes on learning: train it with the algorithm "online", with '
    "this version or a later one"
)
# Online boosting fits the log odds of two classes, and the plain link takes half of
# them.
OWN_SLOPE = 0.5


def plain_calibrations(n_outputs: int) -> tuple[tuple[str, Calibration], ...]:
    """Return the calibrations by which online boosting itself turns votes to chances.

    For two classes 1/(1 + exp(-F)), by each policy that serves it. With several classes
    it is the plain link.
    """
    if n_outputs > 1:
        return ()
    link = Calibration(((0.0,),) * N_KNOTS, (OWN_SLOPE,) * N_KNOTS)
    return ("ordered", link), ("sample", link)


def make_learning(
    rows: Dataset,
    params: BoostParams,
    ensemble: Ensemble,
    columns: tuple[str | None, tuple[str, ...]],
    budgets: tuple[int | None, ...] = (),
) -> LearningState:
    """Return the learning state from which a trained model goes on.

    The rows are learnt once more: training hands over rounds, not states. `ensemble`
    is that of the model, calibrated where there were folds. `columns` are that of the
    weights, and those that training ignored; under each of the `budgets` rows are
    played before they are learnt.
    """
    weight_column, ignored = columns
    # Old rows fade, so the sum of rows of weight 1 tends to this limit.
    most = 1.0 / (1.0 - 0.5 ** (1.0 / params.half_life))
    return LearningState(
        **select_learning_params(params),
        weight_column=weight_column,
        weight_unit=rows.mean_weight,
        ignored=ignored,
        n_learnt=0,
        class_weights=rows.priors * min(rows.n_samples, most),
        record=np.zeros((2, 6)),
        first_priors=rows.priors,
        first_calibrations=ensemble.calibrations,
        state=copy_arrays(learn_table(rows, params).state),
        budgets=budgets,
        budget_record=np.zeros((len(budgets), 2, 3)),
    )


def start_learning(
    catalogue: Catalogue, classes: tuple[ClassLabel, ...], params: BoostParams
) -> Model:
    """Return a model that has learnt nothing; its cuts come from its first rows."""
    n_classes = len(classes)
    priors = np.full(n_classes, 1.0 / n_classes)
    calibrations = plain_calibrations(count_outputs(n_classes, is_multilabel=False))
    booster = OnlineBooster.start(catalogue, n_classes, params)
    learning = LearningState(
        **select_learning_params(params),
        weight_column=None,
        weight_unit=1.0,
        ignored=(),
        n_learnt=0,
        class_weights=np.zeros(n_classes),
        record=np.zeros((2, 6)),
        first_priors=priors,
        first_calibrations=calibrations,
        state=copy_arrays(booster.state),
        budgets=(),
        budget_record=np.zeros((0, 2, 3)),
    )
    ensemble = Ensemble(
        catalogue=catalogue,
        classes=classes,
        hypotheses=(),
        alphas=(),
        priors=tuple(priors.tolist()),
        algorithm=params.algorithm,
        policy="ordered",
        calibrations=calibrations,
    )
    return Model("model", ensemble, "y", learning=learning)


def select_learning_params(params: BoostParams | LearningState) -> dict[str, Any]:
    """Return the parameters of training that learning goes on with."""
    return {name: getattr(params, name) for name in KEPT_PARAMS}


def copy_arrays(state: kernels.OnlineState) -> tuple[tuple[str, np.ndarray], ...]:
    """Return copies of a booster's arrays by name."""
    return tuple((name, array.copy()) for name, array in state._asdict().items())


def restore_booster(learning: LearningState, catalogue: Catalogue) -> OnlineBooster:
    """Return the booster that a learning goes on with; it shares no array with it."""
    params = BoostParams("online", **select_learning_params(learning))
    state = {name: array.copy() for name, array in learning.state}
    return OnlineBooster(catalogue, params, kernels.OnlineState(**state))


def get_learning(model: Model, where: str = "model") -> LearningState:
    """Return a model's learning; raise RefusedError for one that can't go on."""
    if model.learning is None:
        raise RefusedError([Refusal(where, CANNOT_LEARN, model.ensemble.algorithm)])
    return model.learning
