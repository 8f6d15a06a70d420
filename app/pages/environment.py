"""How templates are read, and pages that need no server: one file with its style."""

from functools import cache
from typing import TYPE_CHECKING, Any

from app.pages import assets, filters

if TYPE_CHECKING:
    from jinja2 import Environment

#: The field of every form that says that it is ours.
TOKEN = "form_token"


@cache
def environment() -> "Environment":
    """Return what templates are read by; Jinja2 is loaded with the first page."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("app.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= filters.FILTERS
    made.globals |= {"asset": assets.address_of, "TOKEN": TOKEN}
    return made


def render_file(template: str, **context: Any) -> str:
    """Return a page that loads nothing: the style sheet is a part of it."""
    from markupsafe import Markup

    style = Markup(assets.assets()["style.css"].content.decode())
    return environment().get_template(template).render(context, style=style)
