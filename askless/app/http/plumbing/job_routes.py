"""Routes that trainings and other jobs share: list, show, cancel, follow."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request

from askless.app.documents.shape import Answer
from askless.app.http.plumbing.contract import problem_docs
from askless.app.http.plumbing.deps import After, Db, Limit, Now, ReadDb
from askless.app.http.plumbing.following import (
    ENDED,
    EventStream,
    LastEvent,
    follow_events,
    require_unfinished,
)
from askless.app.service.jobs.nouns import JobNoun


def add_job_routes(
    router: APIRouter,
    path: str,
    noun: JobNoun[Any],
    item: type[Answer],
    page: type[Answer],
    *,
    about: str | None = None,
) -> None:
    """Add the routes of a noun's jobs: list, show, cancel, follow.

    `path` is below the router's prefix. Responses are an `item`, or a `page` of them;
    `about` describes the list.
    """
    word = noun.rows.noun

    # Routes have no docstrings here: they would be the descriptions of both nouns.
    @router.get(
        path,
        response_model=page,
        operation_id=f"list_{word}s",
        summary=f"List {word}s, newest first",
        description=about,
    )
    def list_newest(db: ReadDb, limit: Limit = 50, after: After = None) -> Answer:
        return page.model_validate(noun.page(db, limit, after))

    @router.get(
        f"{path}/{{id}}",
        response_model=noun.shown,
        operation_id=f"get_{word}",
        summary=f"Show a {word}",
    )
    def show(id: str, db: ReadDb, now: Now) -> Any:
        return noun.show(db, id, now)

    add_cancelling(router, path, noun, item)
    add_stream(router, path, noun)


def add_cancelling(
    router: APIRouter, path: str, noun: JobNoun[Any], item: type[Answer]
) -> None:
    """Add the route that cancels one job of a noun."""
    word = noun.rows.noun

    @router.post(
        f"{path}/{{id}}/cancel",
        response_model=item,
        openapi_extra=problem_docs(noun.conflict),
        operation_id=f"cancel_{word}",
        summary=f"Cancel a {word}",
        description="Cancel at once what is queued, within some seconds what runs.",
    )
    def cancel(id: str, db: Db, now: Now) -> Answer:
        return item.model_validate(noun.cancel(db, id, now))


def add_stream(router: APIRouter, path: str, noun: JobNoun[Any]) -> None:
    """Add the route that follows one job of a noun."""
    word = noun.rows.noun

    @router.get(
        f"{path}/{{id}}/events",
        response_class=EventStream,
        responses=ENDED,
        operation_id=f"follow_{word}",
        summary=f"Follow a {word}",
        description=f"Stream the events of a {word} until it has ended.",
    )
    async def events(
        id: Annotated[str, Depends(require_unfinished(noun.get))],
        request: Request,
        last_event_id: LastEvent = 0,
    ) -> EventStream:
        return follow_events(request, id, last_event_id)
