"""The report of a shadow as a file that needs no server."""

from askless.app.pages.models.model_view import isolate_cells
from askless.app.pages.plumbing.environment import render_file
from askless.app.words.shadow.shadow_view import ShadowView, build_shadow_view
from askless.core.shadow.results import ShadowResult


def render_shadow(result: ShadowResult) -> str:
    """Return the report as HTML that loads nothing."""
    view = isolate_names(build_shadow_view(result))
    return render_file("shadow.html", name=result.model.name, view=view)


def isolate_names(view: ShadowView) -> ShadowView:
    """Return a report whose tables isolate the names of vendors."""
    return view._replace(
        vendors=isolate_cells(view.vendors), latencies=isolate_cells(view.latencies)
    )
