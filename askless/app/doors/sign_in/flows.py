"""Send browsers to sign in elsewhere, and take them back: the code flow with PKCE.

What must come back is kept in a cookie of the browser that was sent. So no other
browser can end what this one began, and any replica can. Authlib would keep it in a
session: replicas would need a secret to share, and a second window would end the first.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple

import httpx2
from authlib.integrations.base_client import OAuthError
from fastapi import Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, ConfigDict

from askless.app.doors.records.fetching import FetchError, NoObjectError
from askless.app.doors.sign_in.auth_servers import AuthServer, FlowError

Json = dict[str, Any]
LASTS_S = 600
# Sign-ins that one browser may have under way: each has a cookie.
MOST_AT_ONCE = 3
STALE = "This sign-in began in another window or too long ago. Please sign in again."


class Kept(BaseModel):
    """The content of the cookie that a browser keeps until it comes back."""

    model_config = ConfigDict(extra="forbid")

    #: the flow that began
    flow: str
    nonce: str
    code_verifier: str
    #: of the one who began it
    ours: dict[str, str]


class Finished(NamedTuple):
    """A sign-in that has succeeded."""

    #: of the ID token, which is checked
    claims: Json
    #: the answer of the token endpoint
    token: Json
    #: what was kept when it began
    kept: dict[str, str]


class Flow:
    """The flow with one authorization server."""

    def __init__(self, server: AuthServer) -> None:
        self.server = server

    async def begin(
        self, request: Request, kept: Mapping[str, str], **asked: str
    ) -> Response:
        """Send the browser to sign in; `asked` are further parameters of the server."""
        client = (await self.server.learn()).client
        flow = await client.create_authorization_url(
            self.server.registration.callback, **asked
        )
        ours = Kept(
            flow=self.server.name,
            nonce=flow["nonce"],
            code_verifier=flow["code_verifier"],
            ours=dict(kept),
        )
        response = RedirectResponse(flow["url"], status_code=302)
        response.set_cookie(
            cookie_name(request, flow["state"]),
            urlsafe_b64encode(ours.model_dump_json().encode()).decode(),
            max_age=LASTS_S,
            path="/",
            secure=is_https(request),
            httponly=True,
            samesite="lax",
        )
        for name in list_cookies(request)[: 1 - MOST_AT_ONCE]:
            response.delete_cookie(
                name, path="/", secure=is_https(request), httponly=True
            )
        response.headers["Cache-Control"] = "no-store"
        return response

    async def finish(self, request: Request) -> Finished:
        """Exchange the code that a browser brought back; raise FlowError."""
        query = request.query_params
        kept = read_cookie(request)
        if kept is None or kept.flow != self.server.name:
            raise FlowError(400, STALE)
        if "error" in query:
            raise FlowError(403, f"{self.server.host} did not let you in.")
        known = await self.server.learn()
        metadata = known.metadata
        must_say = metadata.authorization_response_iss_parameter_supported
        if query.get("iss", None if must_say else metadata.issuer) != metadata.issuer:
            raise self.server.failed("other_issuer")
        wanted = {
            "iss": {"essential": True, "values": [metadata.issuer]},
            "aud": {"essential": True, "value": self.server.registration.client_id},
        }
        try:
            token: Json = await known.client.fetch_access_token(
                self.server.registration.callback,
                code=query.get("code"),
                state=query["state"],
                code_verifier=kept.code_verifier,
            )
            claims = await known.client.parse_id_token(
                token, kept.nonce, claims_options=wanted
            )
        except NoObjectError:
            raise self.server.failed("jwks") from None
        except (httpx2.HTTPError, FetchError):
            raise self.server.unreachable() from None
        except OAuthError as error:
            raise self.server.failed(str(error.error)) from None
        # Authlib and its libraries raise many kinds for an answer that is no token.
        except Exception as error:
            raise self.server.failed(type(error).__name__) from None
        if claims is None:
            raise self.server.failed("no_id_token")
        return Finished(dict(claims), token, kept.ours)

    async def read_userinfo(self, token: Json, sub: str) -> Json:
        """Return the server's claims about a person beyond their ID token."""
        known = await self.server.learn()
        if known.metadata.userinfo_endpoint is None:
            return {}
        try:
            userinfo = dict(await known.client.userinfo(token=token))
        except httpx2.HTTPError:
            raise self.server.unreachable() from None
        # Here, too, an odd answer raises one of many kinds.
        except Exception as error:
            raise self.server.failed(type(error).__name__) from None
        if userinfo.get("sub") != sub:
            raise self.server.failed("other_userinfo")
        return userinfo


def cookie_name(request: Request, state: str) -> str:
    """Return the name of the cookie of one state: each window has its own."""
    return f"{cookie_prefix(request)}{sha256(state.encode()).hexdigest()[:16]}"


def cookie_prefix(request: Request) -> str:
    """Return the prefix of all cookies of sign-ins.

    Browsers keep `__Host-` ones to this host, by https only.
    """
    return "__Host-askless_flow_" if is_https(request) else "askless_flow_"


def list_cookies(request: Request) -> list[str]:
    """Return the cookies of sign-ins under way, oldest first."""
    prefix = cookie_prefix(request)
    return [name for name in request.cookies if name.startswith(prefix)]


def is_https(request: Request) -> bool:
    """Return whether browsers come by https; a proxy may hide that from a request."""
    site: str = request.app.state.settings.site
    return site.startswith("https:")


def read_cookie(request: Request) -> Kept | None:
    """Return a browser's cookie for the state that it brings back; None: none."""
    state = request.query_params.get("state")
    if not state:
        return None
    try:
        text = request.cookies.get(cookie_name(request, state), "")
        return Kept.model_validate_json(urlsafe_b64decode(text))
    except ValueError:
        return None


def remove_state_cookie(request: Request, response: Response) -> None:
    """Remove the cookie of the state that a browser brought back: a flow ends once."""
    state = request.query_params.get("state")
    if state:
        name = cookie_name(request, state)
        response.delete_cookie(name, path="/", secure=is_https(request), httponly=True)
