"""Health of the server, and what models take and give."""

import json
from importlib.metadata import version
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from askless.app.doors.inference.tensors import BYTES, DATATYPE_OF
from askless.app.http.plumbing.auth import needs
from askless.app.http.plumbing.deps import Loaded, LogFields, ReadDb
from askless.app.http.plumbing.layers.edge import UNLOGGED
from askless.app.http.plumbing.layers.errors import problem_response
from askless.app.http.plumbing.readiness import check_serving
from askless.app.service import predictions as service

NAME = "askless"
EXTENSIONS = ["binary_tensor_data"]
OUTPUTS = ("label", "probabilities", "spend", "asked")
MODEL = "/models/{name}"
VERSION = f"{MODEL}/versions/{{version}}"

health = APIRouter(prefix="/v2", include_in_schema=False)
router = APIRouter(
    prefix="/v2", include_in_schema=False, dependencies=[needs("models")]
)


@health.get("")
async def describe_server() -> dict[str, Any]:
    return {"name": NAME, "version": version("askless"), "extensions": EXTENSIONS}


@health.get("/health/live")
async def check_live(fields: LogFields) -> dict[str, bool]:
    fields[UNLOGGED] = True
    return {"live": True}


@health.get("/health/ready", response_model=None)
def check_server_ready(
    request: Request, fields: LogFields
) -> dict[str, bool] | Response:
    """Answer 503 while requests should go to another process, as `/readyz` does."""
    fields[UNLOGGED] = True
    results = check_serving(request.app.state)
    failing = ", ".join(name for name, is_right in results.items() if not is_right)
    if failing:
        return problem_response(request.scope, "unavailable", f"Not ready: {failing}.")
    return {"ready": True}


async def absent_version() -> None:
    """Depend on the version of an address that names none."""


async def path_version(version: str) -> str:
    return version


def add_describe(address: str, asked_version: Any) -> None:
    @router.get(address)
    def describe_model(
        name: str,
        version: Annotated[str | None, Depends(asked_version)],
        db: ReadDb,
        loaded: Loaded,
    ) -> dict[str, Any]:
        head, model = service.load(db, loaded, name, version)
        listed = [
            str(stored_version.version)
            for stored_version in service.versions(db, head.name)
        ]
        ensemble = model.ensemble
        n_classes = len(ensemble.classes)
        return {
            "name": head.name,
            "versions": listed or [str(head.version)],
            "platform": NAME,
            "inputs": [
                {
                    "name": feature.name,
                    "datatype": DATATYPE_OF[feature.type],
                    "shape": [-1],
                }
                for feature in ensemble.catalogue.features
            ],
            "outputs": describe_outputs(n_classes, encode_classes(ensemble.classes)),
        }

    @router.get(f"{address}/ready")
    def check_model_ready(
        name: str, version: Annotated[str | None, Depends(asked_version)], db: ReadDb
    ) -> dict[str, Any]:
        head = service.find_head(db, name, version)
        return {"name": head.name, "ready": True}


def encode_classes(classes: Any) -> dict[str, str]:
    """Return the parameter that names the columns of the probabilities, in JSON."""
    labels = [label.label for label in classes]
    return {"classes": json.dumps(labels, ensure_ascii=False)}


def describe_outputs(n_classes: int, classes: dict[str, str]) -> list[dict[str, Any]]:
    label, probabilities, spend, asked = OUTPUTS
    return [
        {"name": label, "datatype": BYTES, "shape": [-1]},
        {
            "name": probabilities,
            "datatype": "FP64",
            "shape": [-1, n_classes],
            "parameters": classes,
        },
        {"name": spend, "datatype": "FP64", "shape": [-1]},
        {"name": asked, "datatype": BYTES, "shape": [-1]},
    ]


add_describe(MODEL, absent_version)
add_describe(VERSION, path_version)
