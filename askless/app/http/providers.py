"""Routes of providers."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request, Response

from askless.app.documents.buying import provider_bodies as schemas
from askless.app.documents.buying.providers import PROVIDER_NAME, Provider
from askless.app.documents.buying.report_bodies import ProviderReport
from askless.app.http.plumbing.buying.trials import Trial
from askless.app.http.plumbing.contract import problem_docs
from askless.app.http.plumbing.deps import (
    After,
    Db,
    JsonChanges,
    Limit,
    Loaded,
    Now,
    ReadDb,
    read_db,
)
from askless.app.http.plumbing.retries import RetriedRoute
from askless.app.service.buying import providers as service
from askless.app.service.buying import reports
from askless.app.service.buying.calling import trials

router = APIRouter(prefix="/providers", tags=["providers"], route_class=RetriedRoute)
JSON = "application/json"


async def get_rules(request: Request) -> service.CallRules:
    settings = request.app.state.settings
    return service.CallRules(settings.secrets, settings.provider_hosts)


Rules = Annotated[service.CallRules, Depends(get_rules)]
Name = Annotated[str, Path(pattern=PROVIDER_NAME, examples=["firmo"])]
NEW: dict[int | str, dict[str, Any]] = {
    201: {"model": schemas.ProviderBody, "description": "There was none of this name."}
}


@router.put(
    "/{name}",
    response_model=schemas.ProviderBody,
    responses=NEW,
    operation_id="put_provider",
    summary="Add or replace a provider",
)
async def put_provider(
    name: Name,
    body: Provider,
    changes: JsonChanges,
    loaded: Loaded,
    rules: Rules,
    now: Now,
) -> Response:
    """Add a provider, or replace one; a replaced one cools down as before.

    Its host must be one of `ASKLESS_PROVIDER_HOSTS`, and its secrets files of
    `ASKLESS_SECRETS`. What it fills may stand in models that come later.
    """

    def respond(made: service.PutProvider) -> Response:
        with read_db(changes.engine, changes.caller.tenant_id) as db:
            view = service.describe_put(db, loaded, made.provider, now)
        content = view.model_dump_json(by_alias=True, exclude_unset=True)
        headers = {"Location": f"/providers/{name}"} if made.is_new else {}
        return Response(content, 201 if made.is_new else 200, headers, JSON)

    return await changes(lambda db: service.put(db, rules, name, body, now), respond)


@router.get(
    "",
    response_model_exclude_unset=True,
    operation_id="list_providers",
    summary="List providers, newest first",
)
def list_providers(
    db: ReadDb, now: Now, limit: Limit = 50, after: After = None
) -> schemas.ProviderPage:
    return service.page(db, limit, after, now)


@router.get(
    "/{name}",
    response_model_exclude_unset=True,
    operation_id="get_provider",
    summary="Show a provider",
)
def get_provider(name: str, db: ReadDb, now: Now) -> schemas.ProviderBody:
    """Show a provider as it was put, and what it has cost today."""
    return service.get(db, name, now)


@router.get(
    "/{name}/report",
    operation_id="get_provider_report",
    summary="Report on a provider",
)
def get_provider_report(
    name: str, db: ReadDb, loaded: Loaded, now: Now
) -> ProviderReport:
    """Report on the calls to a provider by day, its latency, and what has changed.

    How many labels its answers have changed, and how many would be others without it,
    rest on the newest calls; each figure says on how many.
    """
    return reports.report(db, loaded, name, now)


@router.delete(
    "/{name}",
    status_code=204,
    response_class=Response,
    operation_id="delete_provider",
    summary="Delete a provider",
)
def delete_provider(name: str, db: Db) -> None:
    """Delete a provider and what is kept of its answers; its calls and charges stay."""
    service.delete(db, name)


@router.post(
    "/{name}/test",
    response_model=schemas.ProviderTestResult,
    openapi_extra=problem_docs("conflict"),
    operation_id="test_provider",
    summary="Test a provider by one call that is paid",
)
async def test_provider(
    request: Request,
    name: str,
    body: schemas.ProviderTest,
    changes: JsonChanges,
    loaded: Loaded,
    rules: Rules,
    now: Now,
) -> Response:
    """Call a provider once with the keys of a case, and show what it answered.

    It counts against the ceiling of the day, and stands in the list of calls. No value
    is stored. Sent again with its `Idempotency-Key` it calls nobody.
    """
    trial = Trial(changes, rules, trials.TrialPlace(loaded, rules.secrets, now))
    return await trial.run(name, body.keys, request.app.state.clock)
