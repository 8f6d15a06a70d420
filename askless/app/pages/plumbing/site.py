"""The list of all pages, and how they are added to an application."""

from typing import Any

from fastapi import Depends, FastAPI

from askless.app.pages import about, guide, home
from askless.app.pages.accounts import keys, ledger, providers, sign_in
from askless.app.pages.cases import (
    leads,
    receipts,
    results,
    session_list,
    sessions,
    start,
    trying,
)
from askless.app.pages.models import (
    challenges,
    comparing,
    learning,
    models,
    monitor,
    plans,
    shadows,
)
from askless.app.pages.plumbing.callers import SignInError, check_form, identify_caller
from askless.app.pages.plumbing.errors import on_sign_in
from askless.app.pages.trainings import case_tables, datasets, new_training, trainings

#: Pages that need a signed-in caller if keys are required.
SIGNED_IN = (
    home,
    trying,
    comparing,
    challenges,
    models,
    learning,
    plans,
    start,
    session_list,
    sessions,
    results,
    receipts,
    leads,
    # Before the page of a dataset, whose address would match.
    case_tables,
    datasets,
    new_training,
    trainings,
    shadows,
    monitor,
    ledger,
    providers,
    keys,
)
#: Pages with forms that anybody may send.
OPEN = (sign_in,)
#: Pages without tenants' data and without forms.
PLAIN = (about, guide)

HANDLERS: dict[int | type[Exception], Any] = {SignInError: on_sign_in}


def add_pages(app: FastAPI) -> None:
    for page in SIGNED_IN:
        app.include_router(
            page.router, dependencies=[Depends(identify_caller), Depends(check_form)]
        )
    for page in OPEN:
        app.include_router(page.router, dependencies=[Depends(check_form)])
    for page in PLAIN:
        app.include_router(page.router)
    about.mount_assets(app)
    app.state.page_addresses = {
        route.path for page in SIGNED_IN for route in page.router.routes
    }
