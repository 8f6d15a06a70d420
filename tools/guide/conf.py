"""The settings of Sphinx for the guide: no font, script or image of another site."""

from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

project = "Askless"
author = "The Askless authors"
release = version_of("askless")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "index"

# A heading's anchor is the one that forges give it.
myst_heading_anchors = 6
suppress_warnings = [
    # Pages of measurements skip a level of headings.
    "myst.header",
]
default_role = "code"
maximum_signature_line_length = 60
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
napoleon_google_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_favicon = str(ROOT / "askless/app/pages/static/icon.svg")
html_title = f"Askless {release}"
html_copy_source = True
html_sourcelink_suffix = ""
html_show_sphinx = False
html_show_copyright = False


def skip(app: Any, kind: str, name: str, member: object, *more: object) -> bool | None:
    """Leave out what scikit-learn adds to an estimator, and the kinds of a client."""
    del app, kind, more
    is_foreign = str(getattr(member, "__module__", "")).startswith("sklearn.")
    return True if is_foreign or name.endswith("_kind") else None


def setup(app: Any) -> None:
    app.connect("autodoc-skip-member", skip)
