"""The routes by which a model goes on learning from labelled rows."""

from fastapi import APIRouter

from askless.app.http.plumbing.retries import RetriedRoute
from askless.app.http.plumbing.starts import add_starts

router = APIRouter(tags=["learning"], route_class=RetriedRoute)
DOCUMENTED = add_starts(router, makes_version=True)
