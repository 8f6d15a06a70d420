"""What the page of a model shows, made once: a stored model never changes."""

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple

from app.pages.filters import name
from app.words.facts import list_cautions, list_facts, list_features
from app.words.figures import Cells
from app.words.model_charts import (
    Shown,
    show_curve,
    show_figures,
    show_margins,
    show_purchases,
    show_reliabilities,
)
from app.words.sessions import say_note, session_cells
from app.words.wording import list_warnings
from core.model.model import Model

# Models whose charts are kept: some 300 kB each.
MOST = 16
BUILDING = Lock()
BUILT: OrderedDict[str, "ModelView"] = OrderedDict()


class ModelView(NamedTuple):
    """The parts of a page that come from the model alone."""

    facts: Sequence[tuple[object, object]]
    curve: Shown | None
    reliabilities: Sequence[Shown]
    #: figures by budget, and what each means
    figures: tuple[Cells, Sequence[str]] | None
    margins: Shown | None
    purchases: Shown | None
    #: how cases go by budget, and on which rows that was found
    sessions: tuple[Cells, str] | None
    features: Cells
    limits: Sequence[str]
    #: what to know before sessions
    warnings: Sequence[str]


def view_of(model_id: str, model: Model) -> ModelView:
    """Return the view of a model; whoever asks while it is made waits for it."""
    with BUILDING:
        found = BUILT.get(model_id)
        if found is None:
            found = BUILT[model_id] = build_view(model)
        BUILT.move_to_end(model_id)
        while len(BUILT) > MOST:
            BUILT.popitem(last=False)
    return found


def build_view(model: Model) -> ModelView:
    ensemble, curve = model.ensemble, model.curve
    has_figures = curve is not None and curve.predictive is not None
    has_purchases = curve is not None and curve.purchases is not None
    head, rows = list_features(ensemble)
    sessions = session_cells(model)
    return ModelView(
        facts=[(name(term), name(words)) for term, words in list_facts(model)],
        curve=show_curve(model, curve) if curve else None,
        reliabilities=show_reliabilities(ensemble, curve) if has_figures else (),  # type: ignore[arg-type]
        figures=show_figures(ensemble, curve) if has_figures else None,  # type: ignore[arg-type]
        margins=show_margins(ensemble, curve) if has_figures else None,  # type: ignore[arg-type]
        purchases=isolate(show_purchases(ensemble, curve)) if has_purchases else None,  # type: ignore[arg-type]
        sessions=None if sessions is None else (sessions, say_note(model)),
        features=(head, [tuple(map(name, row)) for row in rows]),
        limits=list_cautions(model),
        warnings=list_warnings(ensemble),
    )


def isolate(shown: Shown | None) -> Shown | None:
    """Return a chart in whose table the first cells are names that somebody gave."""
    if shown is None:
        return None
    return shown._replace(rows=[(name(row[0]), *row[1:]) for row in shown.rows])
