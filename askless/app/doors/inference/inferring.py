"""The call that predicts rows; input tensors are matched with a model's features."""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from anyio import to_thread
from fastapi import APIRouter, Request, Response

from askless.app.documents.http.jobs import PredictOrder
from askless.app.documents.shape import read_shape
from askless.app.documents.text import parse_json
from askless.app.doors.inference.bodies import (
    InferenceParameters,
    InferenceRequest,
    InputTensor,
    OutputWish,
)
from askless.app.doors.inference.metadata import MODEL, OUTPUTS, VERSION, encode_classes
from askless.app.doors.inference.tensors import (
    BOOL,
    BYTES,
    NUMBERS,
    InputValues,
    OutputTensor,
    TensorColumn,
    read_inputs,
    write_body,
    wrong_input,
)
from askless.app.http.plumbing.auth import caller_of, needs
from askless.app.http.plumbing.deps import read_db
from askless.app.service import predictions as service
from askless.core.errors import Refusal, RefusedError, nearest_hint

# So many rows of 13 features take half a second on one core.
MAX_ROWS = 10_000
# Datatypes by types of features; a table's columns may have the same.
TAKEN = {
    "number": (*NUMBERS,),
    "boolean": (BOOL, BYTES, *NUMBERS),
    "category": (BYTES, BOOL, *NUMBERS),
}


def read_columns_of(
    model: Any, inputs: Sequence[InputTensor], rest: bytes
) -> dict[str, TensorColumn]:
    """Return the columns of a request; `rest` are the bytes behind its JSON.

    An input is a feature's, of shape [n] or [n, 1]. One input alone may have all
    features instead, as [n, n_features] in the order of the model's metadata.
    """
    features = model.ensemble.catalogue.features
    by_name = {feature.name: feature for feature in features}
    if is_matrix(inputs, by_name):
        (values,) = read_inputs(inputs, rest)
        return split_matrix(values, features)
    columns: dict[str, TensorColumn] = {}
    for values in read_inputs(inputs, rest):
        place, name = values.place, values.tensor.name
        if name not in by_name:
            hint = nearest_hint(name, by_name)
            raise wrong_input(place, "name", f"must be a feature of the model{hint}")
        if name in columns:
            raise wrong_input(place, "name", "must stand once")
        check_shape(values, inputs[0].shape[0], 1)
        datatypes = TAKEN[by_name[name].type]
        if values.tensor.datatype not in datatypes:
            rule = f"must be one of {', '.join(datatypes)} for this feature"
            raise wrong_input(place, "datatype", rule)
        columns[name] = values.column
    return columns


def is_matrix(inputs: Sequence[InputTensor], names: dict[str, Any]) -> bool:
    """Return whether a request has one input of several columns and another name."""
    (first, *others) = inputs
    is_wide = len(first.shape) == 2 and first.shape[1] != 1
    return is_wide and not others and first.name not in names


def split_matrix(
    values: InputValues, features: Sequence[Any]
) -> dict[str, TensorColumn]:
    names = [feature.name for feature in features]
    if any(feature.type == "category" for feature in features):
        rule = "must be a feature of the model: some are texts, so each has an input"
        raise wrong_input(0, "name", rule)
    if values.tensor.datatype not in NUMBERS:
        rule = f"must be one of {', '.join(NUMBERS)} for all features together"
        raise wrong_input(0, "datatype", rule)
    check_shape(values, values.n_rows, len(names))
    matrix = values.column.reshape(values.tensor.shape)
    return dict(zip(names, matrix.T, strict=True))


def check_shape(values: InputValues, n_rows: int, width: int) -> None:
    """Refuse another number of rows or columns, or too many rows."""
    shapes = f"[n] or [n, {width}]" if width == 1 else f"[n, {width}]"
    if values.n_rows != n_rows or values.width != width:
        rule = f"must be {shapes}, with the same n for all inputs"
        raise wrong_input(values.place, "shape", rule)
    if n_rows > MAX_ROWS:
        rule = f"must have at most {MAX_ROWS} rows; POST /models/{{id}}/predict takes "
        raise wrong_input(values.place, "shape", rule + "more")


# The length of the JSON, where bytes come behind it.
HEADER = "Inference-Header-Content-Length"
HEADER_RULE = "must be the length of the JSON, at most that of the body"
IDENTITY = "identity"

router = APIRouter(
    prefix="/v2", include_in_schema=False, dependencies=[needs("predict")]
)


@router.post(f"{MODEL}/infer")
async def infer(request: Request, name: str) -> Response:
    return await infer_in_a_thread(request, name, None)


@router.post(f"{VERSION}/infer")
async def infer_version(request: Request, name: str, version: str) -> Response:
    return await infer_in_a_thread(request, name, version)


async def infer_in_a_thread(
    request: Request, name: str, version: str | None
) -> Response:
    body = await request.body()
    act = partial(infer_rows, request, body, name, version)
    places = request.app.state.inference_places
    return await to_thread.run_sync(act, limiter=places)


def infer_rows(
    request: Request, body: bytes, name: str, version: str | None
) -> Response:
    """Find the model, then read the request, play its rows, and write the response.

    No transaction is open while rows are read and played.
    """
    state, fields = request.app.state, request.scope["log_fields"]
    with read_db(state.engine, caller_of(request).tenant_id) as db:
        head, model = service.load(db, state.loaded, name, version)
    asked, rest = read_request(request, body)
    wishes = read_outputs(asked)
    columns = read_columns_of(model, asked.inputs, rest)
    fields["model"] = head.id
    played = predict_rows(model, columns, asked.parameters)
    values = {
        "label": (played.labels, {}),
        "probabilities": (played.chances, encode_classes(model.ensemble.classes)),
        "spend": (played.spent, {}),
        "asked": (
            [json.dumps(names, ensure_ascii=False) for names in played.asked],
            {},
        ),
    }
    outputs = [
        (OutputTensor(wish.name, *values[wish.name]), is_sent_binary(wish, asked))
        for wish in wishes
    ]
    described = {"model_name": head.name, "model_version": str(head.version)}
    if asked.id is not None:
        described["id"] = asked.id
    more = {"parameters": {"warnings": "; ".join(played.warnings)}}
    content, json_size = write_body(
        described | (more if played.warnings else {}), outputs
    )
    if json_size is None:
        return Response(content, media_type="application/json")
    headers = {HEADER: str(json_size)}
    return Response(content, media_type="application/octet-stream", headers=headers)


def read_request(request: Request, body: bytes) -> tuple[InferenceRequest, bytes]:
    """Return the request of a body, and the bytes behind its JSON."""
    if request.headers.get("content-encoding", IDENTITY) != IDENTITY:
        rule = "must be absent: bodies are taken as they are"
        raise RefusedError([Refusal("Content-Encoding", rule)])
    length = request.headers.get(HEADER)
    size = len(body)
    if length is not None:
        is_number = length.isascii() and length.isdigit() and len(length) < 20
        if not is_number or int(length) > size:
            raise RefusedError([Refusal(HEADER, HEADER_RULE)])
        size = int(length)
    raw = parse_json(body[:size], "body", takes_nan=True)
    return read_shape(InferenceRequest, raw, ""), body[size:]


def read_outputs(asked: InferenceRequest) -> list[OutputWish]:
    """Return the outputs that are asked for; by default all."""
    refusals = list(check_outputs(asked.outputs))
    if refusals:
        raise RefusedError(refusals)
    return asked.outputs or [OutputWish(name=name) for name in OUTPUTS]


def check_outputs(outputs: list[OutputWish]) -> Iterator[Refusal]:
    names = [output.name for output in outputs]
    for place, name in enumerate(names):
        field = f"outputs[{place}].name"
        if name not in OUTPUTS:
            hint = nearest_hint(name, OUTPUTS)
            yield Refusal(field, f"must be one of {', '.join(OUTPUTS)}{hint}")
        elif name in names[:place]:
            yield Refusal(field, "must stand once")


def predict_rows(
    model: Any, columns: dict[str, Any], parameters: InferenceParameters
) -> Any:
    """Play rows; name a missing input as the protocol does, not as a column."""
    order = PredictOrder.model_construct(
        budgets=[parameters.budget],
        policy=parameters.policy,
        seed=parameters.seed,
        aim=parameters.aim,
        exact_budget=parameters.exact_budget,
        accept_unseen=parameters.accept_unseen,
    )
    try:
        return service.predict_rows(model, columns, order)
    except RefusedError as error:
        raise RefusedError(name_inputs(error.refusals)) from None


def name_inputs(refusals: tuple[Refusal, ...]) -> Iterator[Refusal]:
    for refusal in refusals:
        # `found` is the name of the feature that the table lacks.
        if refusal.field == "features":
            yield Refusal(
                "inputs", f"must have {refusal.found}, which may be asked for"
            )
        elif refusal.field == "table":
            yield Refusal("inputs", refusal.rule)
        else:
            yield refusal


def is_sent_binary(wish: OutputWish, asked: InferenceRequest) -> bool:
    own = wish.parameters.binary_data
    return asked.parameters.binary_data_output if own is None else own
