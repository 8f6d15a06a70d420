"""Adds the protocol to the application.

Requests predict rows at once, as jobs on tables do; nothing is bought.
"""

from anyio import CapacityLimiter
from fastapi import FastAPI

from askless.app.doors.inference import errors, inferring, metadata

# Requests that are played at once; the kernels leave the interpreter to others.
MAX_PLAYED = 4


def add_to(app: FastAPI) -> None:
    """Add the routes below `/v2`, and the form of their errors."""
    app.state.inference_places = CapacityLimiter(MAX_PLAYED)
    app.state.translations.append(errors.TRANSLATION)
    for router in (metadata.health, metadata.router, inferring.router):
        app.include_router(router)
