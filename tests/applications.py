"""Applications of tests, which share what FastAPI makes of each route.

An application makes the handlers of its hundred routes at its first request, which
takes longer than most tests. They are the same in each application: what differs
between two is in their state.
"""

from dataclasses import replace
from functools import cache
from tempfile import gettempdir
from types import SimpleNamespace
from typing import Any

from fastapi import routing

from askless.app.main import create_app
from askless.app.settings.settings import Settings

MADE = "_made_for_tests"
# What stands in for a dependency in all applications, as long as a test says so.
OVERRIDES: dict[Any, Any] = {}
PROVIDER = SimpleNamespace(dependency_overrides=OVERRIDES)


def share_routes() -> None:
    """Let each route of a module keep what was made of it for the first application."""
    kind = routing._EffectiveRouteContext
    make = kind.from_api_route
    if getattr(make, MADE, False):
        return

    def make_once(*, original_route: Any, include_context: Any) -> Any:
        shape = include_context.prefix, len(include_context.dependencies)
        kept = vars(original_route).setdefault(MADE, {})
        if shape not in kept:
            shared = replace(include_context, dependency_overrides_provider=PROVIDER)
            kept[shape] = make(original_route=original_route, include_context=shared)
        return kept[shape]

    setattr(make_once, MADE, True)
    kind.from_api_route = make_once  # type: ignore[method-assign,assignment]


@cache
def openapi_document() -> dict[str, Any]:
    """Return the OpenAPI document, which takes a second to make, to be read only.

    No setting changes it; doors, which do, are not documented.
    """
    return create_app(Settings(home=gettempdir())).openapi()
