"""Requests about one session, with the versions that it may have."""

import re
from typing import Annotated

from fastapi import Depends, Request

from askless.app.http.plumbing.deps import make_moment
from askless.app.http.plumbing.tags import IfMatch, read_versions
from askless.app.service.sessions.opened import SessionCall

SESSION_ID = re.compile("ses_[0-9a-f]{24}")


async def get_call(id: str, request: Request) -> SessionCall:
    # What is no id may be anything, a patient's name too.
    if SESSION_ID.fullmatch(id):
        request.scope["log_fields"]["session"] = id
    return SessionCall(id, request.app.state.loaded, make_moment(request))


Call = Annotated[SessionCall, Depends(get_call)]


async def get_change(
    id: str, request: Request, if_match: IfMatch = None
) -> SessionCall:
    call = await get_call(id, request)
    return call if if_match is None else call._replace(versions=read_versions(if_match))


Change = Annotated[SessionCall, Depends(get_change)]
