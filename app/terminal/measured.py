"""What rows with known classes say of a model, as charts and tables of a page."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from app.charts import NamedCurve, curve_chart, purchases_chart, reliability_chart
from app.figure_words import (
    RELIABILITY_NOTE,
    curve_cells,
    explain,
    figure_cells,
    name_chance,
    pick_places,
    rank_purchases,
    say_budgets,
    shown_figures,
)
from app.terminal.html import html_figures, html_notes, html_table
from app.terminal.show import CURVE_FOOT
from app.wording import percent
from core.model.ensemble import Ensemble
from core.model.model import Curve

# Features whose purchases are drawn.
N_FEATURES = 25


class Measured(NamedTuple):
    """Curves of one model: on held-out rows of its training, on a table's rows."""

    ensemble: Ensemble
    curves: Sequence[NamedCurve]


def measured_parts(measured: Measured) -> list[str]:
    """Return the sections of everything that was measured."""
    ensemble, curves = measured.ensemble, measured.curves
    unit = ensemble.catalogue.cost_unit
    parts = ["<section><h2>Error against spend</h2>"]
    parts += [html_figures([curve_chart(curves, unit)]), "</section>"]
    for name, curve in curves:
        parts += [f"<h3>{escape(on_rows(name, curve))}</h3>", curve_rows(curve, unit)]
    parts.append(html_notes(CURVE_FOOT.split("\n")))
    for name, curve in curves:
        if curve.predictive is not None:
            parts += figures_part(ensemble, curve, on_rows(name, curve))
        if curve.purchases is not None:
            parts += purchases_part(ensemble, curve, on_rows(name, curve))
    return parts


def on_rows(name: str, curve: Curve) -> str:
    return f"{name}, {curve.n_samples} rows"


def curve_rows(curve: Curve, unit: str) -> str:
    """Return the curve as a table."""
    return html_table(*curve_cells(curve, unit))


def figures_part(ensemble: Ensemble, curve: Curve, where: str) -> list[str]:
    """Return reliability at some budgets, and every figure at each."""
    figures, names = curve.predictive or (), say_budgets(curve)
    said = name_chance(ensemble)
    charts = [
        reliability_chart(figures[place].reliability, said, f"budget {names[place]}")
        for place in pick_places(curve)
    ]
    return [
        f"<h2>Chances and labels: {escape(where)}</h2>",
        html_figures(charts),
        html_notes([RELIABILITY_NOTE]),
        html_table(*figure_cells(curve, ensemble.catalogue.cost_unit)),
        html_notes(explain(shown_figures(curve), ensemble, None).split("\n")),
    ]


def purchases_part(ensemble: Ensemble, curve: Curve, where: str) -> list[str]:
    """Return how often each feature is asked, those asked most often first."""
    shares, asked = rank_purchases(curve)
    features, unit = ensemble.catalogue.features, ensemble.catalogue.cost_unit
    parts = [f"<h2>How often each feature is asked: {escape(where)}</h2>"]
    if not asked:
        return [*parts, "<p>Nothing is asked under any of the budgets.</p>"]
    most, names = asked[:N_FEATURES], say_budgets(curve)
    titles = [features[idx].title for idx in most]
    rows = [
        (title, *(percent(share) for share in shares[idx]))
        for title, idx in zip(titles, most, strict=True)
    ]
    left = len(features) - len(most)
    notes = ["Of all cases, under each budget; a darker field is a larger share."]
    if left:
        notes.append(f"{left} more features are asked less often, or never.")
    return [
        *parts,
        html_figures([purchases_chart(titles, names, shares[most], unit)]),
        html_table((f"budget {unit}".strip(), *names), rows),
        html_notes(notes),
    ]
