"""Pages that send people to their identity provider, and take them back."""

from urllib.parse import urlencode

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import Response

from askless.app.doors.oidc.grants import NoGrantError, entitle, find_claim
from askless.app.doors.oidc.people import NO_GROUP, Provider
from askless.app.doors.sign_in.auth_servers import AuthServer, FlowError, Registration
from askless.app.doors.sign_in.entering import let_in, open_page, show_failures
from askless.app.doors.sign_in.flows import Flow
from askless.app.pages.accounts.sign_in import OtherSignIn, our_path
from askless.app.pages.plumbing.frame import see_other

router = APIRouter(prefix="/ui/sign-in/oidc", include_in_schema=False)
CALLBACK = "/ui/sign-in/oidc/callback"
NOWHERE = "{} has no page to sign out at. Its sign-in may end with the browser."


def add_to(app: FastAPI) -> None:
    """Let people sign in at the provider of the settings, on pages and for agents."""
    settings = app.state.settings
    issuer, client_id = settings.oidc_issuer, settings.oidc_client_id
    assert issuer is not None
    assert client_id is not None
    registration = Registration(
        metadata_url=f"{issuer.rstrip('/')}/.well-known/openid-configuration",
        client_id=client_id,
        client_secret=settings.oidc_client_secret,
        scope=settings.oidc_scope,
        callback=f"{settings.site}{CALLBACK}",
        issuer=issuer,
    )
    app.state.oidc_flow = flow = Flow(AuthServer("oidc", registration))
    app.state.people = Provider(app, flow.server)
    app.state.sign_in_ways.append(OtherSignIn(flow.server.host, router.prefix))
    show_failures(app)
    app.include_router(router)


@router.get("")
async def begin(request: Request) -> Response:
    """Send the browser to the provider; it comes back to the page that it wanted."""
    flow: Flow = request.app.state.oidc_flow
    kept = {"next": our_path(request.query_params.get("next"))}
    return await flow.begin(request, kept)


@router.get("/out")
async def leave(request: Request) -> Response:
    """Send the browser to where the provider signs people out."""
    flow: Flow = request.app.state.oidc_flow
    address = (await flow.server.learn()).metadata.end_session_endpoint
    if address is None:
        raise FlowError(404, NOWHERE.format(flow.server.host))
    query = urlencode({"client_id": flow.server.registration.client_id})
    return see_other(f"{address}{'&' if '?' in address else '?'}{query}")


@router.get("/callback")
async def finish(request: Request) -> Response:
    """Sign in whom the provider knows, with the rights of their groups."""
    flow: Flow = request.app.state.oidc_flow
    settings = request.app.state.settings
    done = await flow.finish(request)
    claims, claim = done.claims, settings.oidc_claim
    if find_claim(claims, claim) is None:
        said = await flow.read_userinfo(done.token, claims["sub"])
        claims = {**claims, **said, "iss": claims["iss"], "sub": claims["sub"]}
    try:
        found = entitle(claims, claim, settings.oidc_groups)
    except NoGrantError:
        raise FlowError(403, NO_GROUP) from None
    caller = await let_in(request, found)
    return await open_page(request, caller, our_path(done.kept.get("next")))
