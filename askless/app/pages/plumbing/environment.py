"""The environment of templates, and pages as files that need no server."""

from functools import cache
from typing import TYPE_CHECKING, Any

from askless.app.pages.plumbing import assets, filters

if TYPE_CHECKING:
    from jinja2 import Environment

#: The field by which a form proves that it comes from this site.
TOKEN = "form_token"


@cache
def load_environment() -> "Environment":
    """Return the environment of templates; Jinja2 is imported with the first page."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("askless.app.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= filters.FILTERS
    environment.globals |= {
        "asset": assets.asset_address,
        "has_guide": assets.has_guide,
        "TOKEN": TOKEN,
    }
    return environment


def render_file(template: str, **context: Any) -> str:
    """Render a page as a file that loads nothing; the style sheet is inlined."""
    from markupsafe import Markup

    style = Markup(assets.load_assets()["style.css"].content.decode())
    return load_environment().get_template(template).render(context, style=style)
