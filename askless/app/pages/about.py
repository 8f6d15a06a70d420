"""Pages that link to the API's documentation and explain types of problems."""

from importlib.resources import files

from fastapi import APIRouter, FastAPI, HTTPException, Request
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse, Response
from fastapi.staticfiles import StaticFiles

from askless.app.http.plumbing.deps import OurSettings
from askless.app.pages.plumbing.assets import ROOT, load_assets
from askless.app.pages.plumbing.callers import PATH
from askless.app.pages.plumbing.errors import prefers_pages
from askless.app.pages.plumbing.frame import redirect, render
from askless.app.problems import KINDS

router = APIRouter(include_in_schema=False)

ASSETS = "/docs-assets"
# The documentation's page contains its script and its styles.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' "
    "'unsafe-inline'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'"
)


def mount_assets(app: FastAPI) -> None:
    """Serve the documentation's script and style, so that no other site is needed."""
    folder = str(files("fastapi_offline") / "static")
    app.mount(ASSETS, StaticFiles(directory=folder))


@router.get("/")
def show_index(request: Request) -> Response:
    """Redirect a browser to the pages; other clients get the list of addresses."""
    if prefers_pages(request.headers.get("accept", "")):
        response: Response = redirect(PATH)
    else:
        response = render(request, "index.html")
    response.headers["Vary"] = "Accept"
    return response


@router.get(ROOT + "/{name}")
def serve(name: str) -> Response:
    """Return a static file, cached for good: a changed file has another address."""
    for asset in load_assets().values():
        if asset.address == f"{ROOT}/{name}":
            cache_headers = {"Cache-Control": "public, max-age=31536000, immutable"}
            return Response(
                asset.content, headers=cache_headers, media_type=asset.media_type
            )
    raise HTTPException(404)


@router.get("/docs", response_class=HTMLResponse)
def show_docs(settings: OurSettings) -> HTMLResponse:
    page = get_swagger_ui_html(
        # Its script has the address, which no layer sees.
        openapi_url=f"{settings.path}/openapi.json",
        title="Askless: the API",
        swagger_js_url=f"{ASSETS}/swagger-ui-bundle.js",
        swagger_css_url=f"{ASSETS}/swagger-ui.css",
        swagger_favicon_url=f"{ASSETS}/favicon.png",
    )
    page.headers["Content-Security-Policy"] = POLICY
    return page


@router.get("/problems", response_class=HTMLResponse)
def list_problems(request: Request) -> HTMLResponse:
    return render(request, "problems.html", kinds=KINDS)


@router.get("/problems/{kind}", response_class=HTMLResponse)
def show_problem(request: Request, kind: str) -> HTMLResponse:
    if kind not in KINDS:
        raise HTTPException(404)
    entry = KINDS[kind]
    # Words between backticks are code.
    parts = entry.meaning.split("`")
    return render(request, "kind.html", kind=kind, problem=entry, parts=parts)
