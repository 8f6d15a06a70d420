"""The command `export`: a model in the format of another platform."""

import math
import os
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from askless.app.batch.budgets import parse_budget
from askless.app.cli.options import ModelFile, output
from askless.core.catalogue.prices import from_micros
from askless.core.errors import Refusal, RefusedError

NEEDS = "needs the extra mlflow: pip install 'askless[server,mlflow]'"
# Import names of the packages in the extra.
MODULES = ("mlflow", "pandas")

Folder = Annotated[
    Path, typer.Option("--mlflow", help="Folder to write a model of MLflow to.")
]
DefaultBudget = Annotated[
    str, typer.Option(help="Most to spend per row where a call does not say, or inf.")
]


def export_model_file(
    model: ModelFile, mlflow: Folder, budget: DefaultBudget = "inf"
) -> None:
    limit = parse_budget(budget, "--budget")
    if mlflow.exists() and (not mlflow.is_dir() or any(mlflow.iterdir())):
        rule = "must be a folder that is not there, or is empty"
        raise RefusedError([Refusal("--mlflow", rule, str(mlflow))])
    # It would report to its makers that it was used.
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    try:
        flavour = import_module("askless.mlflow")
    except ModuleNotFoundError as error:
        if error.name not in MODULES:
            raise
        raise RefusedError([Refusal("--mlflow", NEEDS, str(error.name))]) from None
    loaded = import_module("askless.models").load_model(model)
    most = math.inf if limit is None else from_micros(limit)
    flavour.save_model(loaded, mlflow, budget=most)
    output.print(f"wrote {escape(str(mlflow))}")
