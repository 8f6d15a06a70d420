"""The list of all pages, and how they are added to an application."""

from typing import Any

from fastapi import Depends, FastAPI

from app.pages import (
    about,
    comparing,
    datasets,
    home,
    keys,
    ledger,
    models,
    monitor,
    new_training,
    plans,
    results,
    sessions,
    sign_in,
    start,
    trainings,
)
from app.pages.callers import SignInError, check_form, enter
from app.pages.errors import on_sign_in

#: Pages that need someone who has signed in, where keys are asked for.
ENTERED = (
    home,
    comparing,
    models,
    plans,
    start,
    sessions,
    results,
    datasets,
    new_training,
    trainings,
    monitor,
    ledger,
    keys,
)
#: Pages with forms that anybody may send.
OPEN = (sign_in,)
#: What tells nothing of anybody, and takes nothing.
PLAIN = (about,)

HANDLERS: dict[int | type[Exception], Any] = {SignInError: on_sign_in}


def add_to(app: FastAPI) -> None:
    """Add the pages to an application."""
    for page in ENTERED:
        app.include_router(
            page.router, dependencies=[Depends(enter), Depends(check_form)]
        )
    for page in OPEN:
        app.include_router(page.router, dependencies=[Depends(check_form)])
    for page in PLAIN:
        app.include_router(page.router)
    about.mount_assets(app)
    app.state.page_addresses = {
        route.path for page in ENTERED for route in page.router.routes
    }
