"""What rows with known classes say of a model, as charts and tables of a page."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from app.charts import NamedCurve, curve_chart, purchases_chart, reliability_chart
from app.terminal.figures import (
    SHARES,
    explain,
    name_figure,
    say_estimate,
    shown_figures,
)
from app.terminal.html import html_figures, html_notes, html_table
from app.terminal.show import CURVE_FOOT
from app.wording import money, percent
from core.model.ensemble import Ensemble
from core.model.model import Curve

# Budgets whose reliability is drawn, and features whose purchases are.
N_RELIABILITIES, N_FEATURES = 4, 25


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


def say_budgets(curve: Curve) -> list[str]:
    return ["unlimited" if one is None else money(one) for one in curve.budgets]


def curve_rows(curve: Curve, unit: str) -> str:
    """Return the curve as a table."""
    head = (f"budget {unit}".strip(), "error", "error, calibrated", "95 % interval")
    rows = []
    for named, error, calibrated, (low, high), mean, most in zip(
        say_budgets(curve),
        curve.errors,
        curve.errors_calibrated,
        curve.intervals,
        curve.mean_spends,
        curve.max_spends,
        strict=True,
    ):
        told = f"{100 * error:.1f} %", f"{100 * calibrated:.1f} %"
        between = f"{100 * low:.1f} to {100 * high:.1f} %"
        spends = money(round(mean, -4)), money(most)
        rows.append((named, *told, between, *spends))
    return html_table((*head, "mean spend", "most spent"), rows)


def figures_part(ensemble: Ensemble, curve: Curve, where: str) -> list[str]:
    """Return reliability at some budgets, and every figure at each."""
    figures, names = curve.predictive or (), say_budgets(curve)
    said = "the label"
    if ensemble.n_outputs == 1:
        said = ensemble.classes[1].display
    # At a budget of 0 every case has the same chance.
    last = len(figures) - 1
    places = np.linspace(min(1, last), last, N_RELIABILITIES).round().astype(int)
    charts = [
        reliability_chart(figures[place].reliability, said, f"budget {names[place]}")
        for place in dict.fromkeys(places.tolist())
    ]
    shown = shown_figures(curve)
    layout = "{} ({})"
    rows = [
        (
            named,
            *(say_estimate(getattr(it, one), one in SHARES, layout) for one in shown),
        )
        for named, it in zip(names, figures, strict=True)
    ]
    unit = ensemble.catalogue.cost_unit
    head = (f"budget {unit}".strip(), *(name_figure(one) for one in shown))
    return [
        f"<h2>Chances and labels: {escape(where)}</h2>",
        html_figures(charts),
        html_notes([RELIABILITY_NOTE]),
        html_table(head, rows),
        html_notes(explain(shown, ensemble, None).split("\n")),
    ]


RELIABILITY_NOTE = (
    "Each point is a tenth of the rows, by chance; its line is the 95 % interval. "
    "On the dashed line what was said comes as often as was said."
)


def purchases_part(ensemble: Ensemble, curve: Curve, where: str) -> list[str]:
    """Return how often each feature is asked, those asked most often first."""
    shares = np.array(curve.purchases, np.float64).T
    order = np.argsort(-shares.sum(axis=1), kind="stable")
    asked = [int(idx) for idx in order if shares[idx].any()]
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
