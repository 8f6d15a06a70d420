"""MLflow's flavour `askless`: models in its format, loadable as a `python_function`.

It needs the extra `mlflow`. Nothing is pickled: a model is its MODEL.json, which this
module reads wherever the model is served.
"""

import json
import math
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from warnings import warn

import mlflow
import pandas as pd
from mlflow.models import Model, ModelSignature
from mlflow.models.model import ModelInfo
from mlflow.types import ColSpec, ParamSchema, ParamSpec, Schema
from mlflow.types.schema import AnyType

from askless.app.batch.budgets import parse_budget
from askless.app.batch.held_rows import predict_held
from askless.app.batch.orders import parse_predict_order
from askless.app.documents.files import load_model as read_model
from askless.app.documents.files import model_text
from askless.core.catalogue.catalogue import Feature
from askless.core.catalogue.prices import from_micros
from askless.core.estimator.frames import frame_columns
from askless.core.model.model import Model as BudgetedModel
from askless.core.table.cells import FALSE_WORDS, TRUE_WORDS
from askless.core.table.texts.numbers import parse_number
from askless.models import LoadedModel

FLAVOUR = "askless"
MODEL_FILE = "MODEL.json"
# Where MLflow puts the file below the folder of a model.
DATA = f"data/{MODEL_FILE}"
REQUIREMENTS = [
    *(f"askless[server]=={version('askless')}", f"mlflow-skinny=={mlflow.__version__}"),
    f"pandas=={pd.__version__}",
]
FLAGS = ("exact_budget", "accept_unseen")
AIMS = ("mean_budget", "wanted_error", "error_price")


class PredictedTable:
    """What MLflow calls with a table: predicts it as `askless predict` does."""

    def __init__(self, model: BudgetedModel) -> None:
        self.model = model

    def predict(
        self, model_input: Any, params: Mapping[str, Any] | None = None
    ) -> pd.DataFrame:
        """Return label, probability, spend and features asked, a line for each row.

        `params` are those of the signature. Raises RefusedError for a wrong table or
        parameter.
        """
        order = parse_predict_order(order_of(params or {}), self.model)
        played = predict_held(self.model, frame_columns(model_input), order)
        for warning in played.warnings:
            warn(warning, stacklevel=2)
        frame: pd.DataFrame = played.table.to_pandas()
        return frame.assign(features=[";".join(names) for names in played.asked])


def order_of(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call's parameters as an order; raise RefusedError."""
    given = {name: value for name, value in params.items() if value is not None}
    budget = float(given.pop("budget", math.inf))
    parse_budget(str(budget), "budget")
    aim = {name: given.pop(name) for name in AIMS if name in given}
    # MLflow hands over numbers of numpy.
    seed = int(given.pop("seed", 0))
    return {
        "budgets": [None if budget == math.inf else budget],
        "aim": aim or None,
        "seed": seed,
        **given,
    }


def save_model(
    model: LoadedModel,
    path: str | Path,
    budget: float = math.inf,
    mlflow_model: Model | None = None,
    **more: Any,
) -> None:
    """Save a model in MLflow's format.

    Parameters
    ----------
    model : LoadedModel
        As `askless.load_model` reads it.
    path : str or Path
        A folder that is not there, or is empty.
    budget : float
        Most that a row may spend, in units, where a call does not say; inf: no limit.
    mlflow_model : Model, optional
        The description to complete, as MLflow passes it.
    **more
        Further arguments of `mlflow.pyfunc.save_model`.

    Raises
    ------
    RefusedError
        If the budget is no amount.
    """
    held = model.model
    order_of({"budget": budget})
    described = Model() if mlflow_model is None else mlflow_model
    described.add_flavor(FLAVOUR, data=DATA, askless_version=version("askless"))
    own = {
        "signature": describe_signature(held, budget),
        "input_example": example_row(held),
        "pip_requirements": REQUIREMENTS,
        "metadata": {FLAVOUR: describe_curve(held)},
    }
    with TemporaryDirectory() as folder:
        file = Path(folder) / MODEL_FILE
        file.write_text(model_text(held), encoding="utf-8")
        mlflow.pyfunc.save_model(
            path=str(path),
            loader_module=__name__,
            data_path=str(file),
            mlflow_model=described,
            **own | more,
        )


def log_model(
    model: LoadedModel, name: str, budget: float = math.inf, **more: Any
) -> ModelInfo:
    """Log a model to the active run, and its curve as metrics of the run.

    Step k of the metrics `budget`, `error` and `mean_spend` is the k-th budget of the
    curve; the unlimited one has no `budget`. `more`: arguments of `Model.log`.
    """
    info: ModelInfo = Model.log(
        None, sys.modules[__name__], name=name, model=model, budget=budget, **more
    )
    for step, point in enumerate(curve_points(model.model)):
        values = {key: value for key, value in point.items() if value is not None}
        mlflow.log_metrics(values, step=step, model_id=info.model_id)
    return info


def load_model(model_uri: str) -> LoadedModel:
    """Load a model that this module saved or logged."""
    folder = mlflow.artifacts.download_artifacts(artifact_uri=model_uri)
    flavour = Model.load(folder).flavors[FLAVOUR]
    return LoadedModel(read_model(Path(folder) / flavour["data"]))


def _load_pyfunc(path: str) -> PredictedTable:
    """Load a saved model for MLflow, which looks for this name."""
    return PredictedTable(read_model(Path(path)))


def describe_signature(model: BudgetedModel, budget: float) -> ModelSignature:
    """Return the columns that a model reads and writes, and the parameters of a call.

    Numbers have MLflow's type `any`: as `double` it refuses integers, which is what
    pandas makes of a CSV. The model checks every cell itself.
    """
    labels = [label.label for label in model.ensemble.classes]
    inputs = [
        ColSpec(type_of(feature), feature.name, required=bool(is_used))
        for feature, is_used in zip(
            model.ensemble.catalogue.features, model.ensemble.is_used, strict=True
        )
    ]
    outputs = [
        *(ColSpec("string", "label"), ColSpec("double", "probability")),
        *(ColSpec("double", "spend"), ColSpec("string", "features")),
        *(ColSpec("double", f"probability_{label}") for label in labels),
    ]
    params = [
        *(ParamSpec("budget", "double", budget), ParamSpec("policy", "string", None)),
        ParamSpec("seed", "long", 0),
        *(ParamSpec(name, "boolean", False) for name in FLAGS),
        *(ParamSpec(name, "double", None) for name in AIMS),
    ]
    return ModelSignature(Schema(inputs), Schema(outputs), ParamSchema(params))


def type_of(feature: Feature) -> Any:
    """Return `string` for categories that pandas reads as words, else `any`."""
    words = [word.lower() for word in feature.categories]
    is_text = bool(words) and all(
        parse_number(word) is None and word not in TRUE_WORDS | FALSE_WORDS
        for word in words
    )
    return "string" if feature.type == "category" and is_text else AnyType()


def example_row(model: BudgetedModel) -> pd.DataFrame:
    """Return a table of one row that the model can predict."""
    features = model.ensemble.catalogue.features
    return pd.DataFrame(
        {feature.name: [example_value(feature)] for feature in features}
    )


def example_value(feature: Feature) -> bool | float | str | None:
    """Return a value that training saw; None if the model keeps none."""
    if feature.type == "boolean":
        return True
    if feature.type == "category":
        return feature.categories[0] if feature.categories else None
    if feature.values:
        return feature.values[len(feature.values) // 2]
    return None if feature.value_range is None else feature.value_range[0]


def curve_points(model: BudgetedModel) -> Iterator[dict[str, float | None]]:
    """Yield budget, error and mean spend along the curve; budget None: unlimited."""
    curve = model.curve
    if curve is None:
        return
    for budget, error, spend in zip(
        curve.budgets, curve.errors_calibrated, curve.mean_spends, strict=True
    ):
        yield {
            "budget": None if budget is None else from_micros(budget),
            "error": error,
            "mean_spend": from_micros(round(spend)),
        }


def describe_curve(model: BudgetedModel) -> dict[str, Any]:
    """Return name, unit and curve, for the metadata of the saved model."""
    unit = model.ensemble.catalogue.cost_unit
    described = {"name": model.name, "unit": unit, "curve": [*curve_points(model)]}
    # Plain numbers, as MLflow writes YAML.
    plain: dict[str, Any] = json.loads(json.dumps(described))
    return plain
