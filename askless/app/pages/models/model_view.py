"""Prepare a model's page and its report from the model alone."""

from collections.abc import Sequence
from typing import NamedTuple

from askless.app.pages.plumbing.filters import isolate_name
from askless.app.words.budgets import BudgetWords, describe_main_budgets
from askless.app.words.charts.charts import NamedCurve
from askless.app.words.charts.effects import EffectsWithTable
from askless.app.words.charts.model_charts import (
    OWN_ROWS,
    ChartWithTable,
    CurvesWithTables,
    rows_suffix,
    show_curves,
    show_figures,
    show_margins,
    show_purchases,
    show_reliabilities,
)
from askless.app.words.facts import (
    FeatureTables,
    list_cautions,
    list_facts,
    list_features,
    list_settings,
)
from askless.app.words.figures import Cells
from askless.app.words.sessions import build_session_cells, describe_note
from askless.core.model.model import Curve, Model


class RowsView(NamedTuple):
    """Figures measured on some labelled rows, apart from their curve."""

    #: the end of each heading that names the rows; "" if there are no others
    rows: str
    reliabilities: Sequence[ChartWithTable]
    #: figures by budget, and what each means
    figures: tuple[Cells, Sequence[str]] | None
    margins: ChartWithTable | None
    #: whether the model has counts of how often features are asked
    has_purchases: bool
    #: None: nothing is asked
    purchases: ChartWithTable | None


class PlannedBudget(NamedTuple):
    """The purchases under a budget, in order."""

    title: str
    cells: Cells


class ModelView(NamedTuple):
    """The parts of a page that come from the model alone."""

    facts: Sequence[tuple[object, object]]
    #: how it was trained
    settings: Sequence[tuple[object, object]]
    #: up to three budgets, each with its error and spend
    short: Sequence[BudgetWords]
    curves: CurvesWithTables | None
    measured: Sequence[RowsView]
    #: how cases go by budget, and on which rows that was counted
    sessions: tuple[Cells, str] | None
    features: FeatureTables
    limits: Sequence[str]
    #: what to know before sessions
    #: in the report alone, since they take seconds or much room
    order: PlannedBudget | None = None
    budgets: Sequence[PlannedBudget] = ()
    effects: EffectsWithTable | None = None


def build_view(model: Model, tested: NamedCurve | None = None) -> ModelView:
    """Return the view of a model; `tested` is the curve of a table measured apart."""
    sessions = build_session_cells(model)
    curves = [] if model.curve is None else [NamedCurve(OWN_ROWS, model.curve)]
    curves += [] if tested is None else [tested]
    return ModelView(
        facts=[
            (isolate_name(term), isolate_name(words))
            for term, words in list_facts(model)
        ],
        settings=list_settings(model),
        short=describe_main_budgets(model),
        curves=show_curves(model, tested),
        measured=[
            build_rows_view(
                model, curve.curve, "" if tested is None else rows_suffix(curve)
            )
            for curve in curves
        ],
        sessions=None if sessions is None else (sessions, describe_note(model)),
        features=FeatureTables(*map(isolate_cells, list_features(model))),
        limits=list_cautions(model),
    )


def build_rows_view(model: Model, curve: Curve, rows: str) -> RowsView:
    """Return the view of the rows that a curve was measured on."""
    ensemble, purchases = model.ensemble, None
    if curve.purchases is not None:
        purchases = show_purchases(ensemble, curve)
    if purchases is not None:
        head, cells = isolate_cells((purchases.head, purchases.rows))  # type: ignore[arg-type]
        purchases = purchases._replace(head=head, rows=cells)
    has_figures = curve.predictive is not None
    return RowsView(
        rows=rows,
        reliabilities=show_reliabilities(ensemble, curve) if has_figures else (),
        figures=show_figures(ensemble, curve) if has_figures else None,
        margins=show_margins(ensemble, curve) if has_figures else None,
        has_purchases=curve.purchases is not None,
        purchases=purchases,
    )


def isolate_cells(cells: Cells) -> Cells:
    """Return a table's cells as markup safe for names from outside."""
    head, rows = cells
    return head, [tuple(map(isolate_name, row)) for row in rows]
