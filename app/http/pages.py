"""Pages for people: where to go, the API's documentation, the types of problems."""

import re
from html import escape
from importlib.resources import files

from fastapi import APIRouter, FastAPI, HTTPException
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles

from app.problems import KINDS

router = APIRouter(include_in_schema=False)

ASSETS = "/docs-assets"
STYLE = (
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:42rem;"
    "margin:2rem auto;padding:0 1rem}"
)


def mount_assets(app: FastAPI) -> None:
    """Serve the documentation's script and style from here: no other site is asked."""
    folder = str(files("fastapi_offline") / "static")
    app.mount(ASSETS, StaticFiles(directory=folder))


def page(title: str, body: str) -> HTMLResponse:
    return HTMLResponse(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width">'
        f"<style>{STYLE}</style><h1>{title}</h1>{body}</html>"
    )


@router.get("/", response_class=HTMLResponse)
def index() -> HTMLResponse:
    return page(
        "Askless",
        "<p>Predictions that ask for one feature at a time, each with its price.</p>"
        '<ul><li><a href="/docs">The API, to read and to try</a></li>'
        '<li><a href="/models">Models</a></li>'
        '<li><a href="/predict">Sessions</a></li>'
        '<li><a href="/ledger">Ledger</a></li>'
        '<li><a href="/problems">Types of problems</a></li></ul>',
    )


@router.get("/docs", response_class=HTMLResponse)
def docs() -> HTMLResponse:
    return get_swagger_ui_html(
        openapi_url="/openapi.json",
        title="Askless: the API",
        swagger_js_url=f"{ASSETS}/swagger-ui-bundle.js",
        swagger_css_url=f"{ASSETS}/swagger-ui.css",
        swagger_favicon_url=f"{ASSETS}/favicon.png",
    )


@router.get("/problems", response_class=HTMLResponse)
def problems() -> HTMLResponse:
    rows = "".join(
        f'<li><a href="/problems/{kind}">{kind}</a> ({one.status}): '
        f"{escape(one.title)}</li>"
        for kind, one in KINDS.items()
    )
    return page("Types of problems", f"<ul>{rows}</ul>")


@router.get("/problems/{kind}", response_class=HTMLResponse)
def problem(kind: str) -> HTMLResponse:
    if kind not in KINDS:
        raise HTTPException(404)
    one = KINDS[kind]
    meaning = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(one.meaning))
    return page(
        escape(one.title),
        f"<p>Type <code>/problems/{kind}</code>, status {one.status}.</p>"
        f"<p>{meaning}</p>"
        '<p><a href="/problems">All types</a></p>',
    )
