"""Routes of trainings: jobs that make a model."""

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response

from askless.app.documents.http import trainings as schemas
from askless.app.documents.spec.spec import SpecDocument
from askless.app.documents.text import parse_spec
from askless.app.http.plumbing.contract import problem_docs
from askless.app.http.plumbing.deps import Db, Now, ReplaysEarly, Uploads
from askless.app.http.plumbing.job_routes import add_job_routes
from askless.app.http.plumbing.orders import (
    JSON,
    Desk,
    Prepared,
    TableOrder,
    order_body,
    read_order,
)
from askless.app.http.plumbing.retries import RetriedRoute
from askless.app.service.datasets import IsWanted, NamedSource, TableSource
from askless.app.service.jobs import trainings as service

router = APIRouter(prefix="/train", tags=["trainings"], route_class=RetriedRoute)

# The OpenAPI document mentions them by name only.
DOCUMENTED = (SpecDocument, schemas.TrainingOrder, schemas.TrainingEvent)
STARTED: dict[int | str, dict[str, Any]] = {
    200: {"model": schemas.Verdict, "description": "With `validate_only`."}
}


ValidateOnly = Annotated[bool, Query(description="Check everything, store nothing.")]
Outcome = service.Order | schemas.Verdict


async def prepare_training(
    sent: Annotated[TableOrder, Depends(read_order("spec"))],
    desk: Desk,
    validate_only: ValidateOnly = False,
) -> Prepared[Outcome]:
    """Read and check a spec and its table before the transaction begins."""
    raw = parse_spec(sent.text)

    def check_several(
        tables: list[NamedSource], is_wanted: IsWanted
    ) -> tuple[Outcome, Any]:
        check_order = partial(service.check_joined, desk.reader, raw, tables, is_wanted)
        return (
            (service.list_errors(check_order), None) if validate_only else check_order()
        )

    if sent.upload is None and "datasets" in raw:
        return await desk.read_several(raw, check_several)

    def check(stream: TableSource, is_wanted: IsWanted) -> tuple[Outcome, Any]:
        check_order = partial(
            service.check_training, desk.reader, raw, stream, is_wanted
        )
        return (
            (service.list_errors(check_order), None) if validate_only else check_order()
        )

    return await desk.read(sent, raw, check)


@router.post(
    "",
    status_code=202,
    dependencies=[ReplaysEarly],
    responses=STARTED,
    openapi_extra=order_body("spec", "SpecDocument", "TrainingOrder")
    | problem_docs("not-found", "limit-reached", "conflict"),
    response_model=schemas.StartedTraining,
    operation_id="start_training",
    summary="Train a model",
)
def start_training(
    prepared: Annotated[Prepared[Outcome], Depends(prepare_training)],
    db: Db,
    blobs: Uploads,
    now: Now,
    response: Response,
) -> schemas.StartedTraining | Response:
    """Check a spec and a table, and enqueue the training.

    The table is uploaded with the spec (multipart), or was before (JSON with its
    `dataset_id`). JSON with `datasets` trains on the rows of several: they are joined,
    columns by name, and stored as one more dataset, which is the training's.
    """
    order = prepared.order
    if isinstance(order, schemas.Verdict):
        return Response(order.model_dump_json(), media_type=JSON)
    dataset_id = prepared.store(db, blobs, now)
    training = service.start(db, order, dataset_id, now)
    response.headers["Location"] = f"/train/{training.id}"
    meaning = service.explain_name(db, training.name)
    return schemas.StartedTraining.of(training, name_will_mean=meaning)


add_job_routes(router, "", service.NOUN, schemas.Training, schemas.TrainingPage)
