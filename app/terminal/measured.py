"""What rows with known classes say of a model, as charts and tables of a page."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from app.terminal.html import html_figures, html_notes, html_shown, html_table
from app.terminal.show import CURVE_FOOT
from app.words.charts import NamedCurve, curve_chart
from app.words.figures import curve_cells, say_betters
from app.words.model_charts import (
    list_baselines,
    show_figures,
    show_margins,
    show_purchases,
    show_reliabilities,
)
from core.model.ensemble import Ensemble
from core.model.model import Curve, Model


class Measured(NamedTuple):
    """Curves of one model: on held-out rows of its training, on a table's rows."""

    model: Model
    curves: Sequence[NamedCurve]


def measured_parts(measured: Measured) -> list[str]:
    """Return the sections of everything that was measured."""
    model, curves = measured
    ensemble, unit = model.ensemble, model.ensemble.catalogue.cost_unit
    lines = {} if model.curve is None else list_baselines(model, model.curve)
    chart = curve_chart(curves, unit, baselines=lines)
    parts = ["<section><h2>Error against spend</h2>", html_figures([chart])]
    parts.append("</section>")
    for name, curve in curves:
        where = on_rows(name, curve)
        parts.append(f"<h3>{escape(where)}</h3>")
        parts.append(html_table(*curve_cells(curve, unit), f"Error, {where}"))
        betters = say_betters(curve, unit)
        parts += [html_notes(betters)] if betters else []
    told = [f"{name}: {100 * error:.1f} %." for name, error in lines.items()]
    parts.append(html_notes([*CURVE_FOOT.split("\n"), *told]))
    for name, curve in curves:
        if curve.predictive is not None:
            parts += figures_part(ensemble, curve, on_rows(name, curve))
        if curve.purchases is not None:
            parts += purchases_part(ensemble, curve, on_rows(name, curve))
    return parts


def on_rows(name: str, curve: Curve) -> str:
    return f"{name}, {curve.n_samples} rows"


def figures_part(ensemble: Ensemble, curve: Curve, where: str) -> list[str]:
    """Return reliability and margins at some budgets, and every figure at each."""
    (head, rows), notes = show_figures(ensemble, curve)
    shown, margins = show_reliabilities(ensemble, curve), show_margins(ensemble, curve)
    return [
        f"<h2>Chances and labels: {escape(where)}</h2>",
        html_shown(shown, where),
        html_notes([shown[0].note]),
        html_table(head, rows, f"Chances and labels, {where}"),
        html_notes(notes),
        f"<h2>How sure it is: {escape(where)}</h2>",
        html_shown([margins], where),
        html_notes([margins.note]),
    ]


def purchases_part(ensemble: Ensemble, curve: Curve, where: str) -> list[str]:
    """Return how often each feature is asked, those asked most often first."""
    shown = show_purchases(ensemble, curve)
    parts = [f"<h2>How often each feature is asked: {escape(where)}</h2>"]
    if shown is None:
        return [*parts, "<p>Nothing is asked under any of the budgets.</p>"]
    return [*parts, html_shown([shown], where), html_notes([shown.note])]
