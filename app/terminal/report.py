"""A model on one printable page: errors, what it asks per budget, card, limits."""

from collections.abc import Sequence
from html import escape

import numpy as np

from app.terminal.effects import effects_part
from app.terminal.html import html_notes, html_page, html_table
from app.terminal.measured import Measured, measured_parts
from app.words.charts import NamedCurve
from app.words.facts import list_cautions, list_facts, list_features
from app.words.sessions import say_note, session_cells
from app.words.wording import money, percent, price_words
from core.model.ensemble import Ensemble
from core.model.model import Curve, Model
from core.session.outline import outline
from core.table.prices import total_cost

# Budgets that are shown where none are named.
N_BUDGETS = 5


def report_page(
    model: Model, budgets: Sequence[int | None] = (), tested: NamedCurve | None = None
) -> str:
    """Return the page as HTML that needs nothing else; budgets in micro-units.

    `tested` is the curve of rows that are no part of the model.
    """
    ensemble, curve = model.ensemble, model.curve
    shown = budgets or choose_budgets(ensemble, curve)
    names = " or ".join(one.display for one in ensemble.classes)
    rows = model.card.get("rows")
    facts = f"{len(ensemble.catalogue.features)} features, {ensemble.algorithm}"
    if isinstance(rows, int):
        facts = f"{rows} rows, {facts}"
    parts = [
        f"<h1>{escape(model.name)}</h1><p>Which case is {escape(names)}? {facts}.</p>"
    ]
    curves = [] if curve is None else [NamedCurve("held-out rows of training", curve)]
    curves += [] if tested is None else [tested]
    if curves:
        parts += measured_parts(Measured(model, curves))
    parts += session_parts(model)
    parts.append("<h2>What it asks, if every answer comes</h2>")
    parts += [budget_section(ensemble, curve, budget) for budget in shown]
    parts += [*effects_part(ensemble), *card_parts(model)]
    return html_page(model.name, parts)


def session_parts(model: Model) -> list[str]:
    """Return how cases go under each budget, where the card tells."""
    told = session_cells(model)
    if told is None:
        return []
    table = html_table(*told, "How cases go")
    return ["<h2>How cases go</h2>", table, html_notes([say_note(model)])]


def card_parts(model: Model) -> list[str]:
    """Return prices, facts and limits of use, as the model's page has them."""
    facts = "".join(
        f"<dt>{escape(term)}</dt><dd>{escape(words)}</dd>"
        for term, words in list_facts(model)
    )
    limits = "".join(f"<li>{escape(one)}</li>" for one in list_cautions(model))
    return [
        "<h2>Features and prices</h2>",
        html_table(*list_features(model.ensemble), "Features and prices"),
        f"<h2>Card</h2><dl>{facts}</dl>",
        f"<h2>Limits of use</h2><ul>{limits}</ul>",
    ]


def choose_budgets(ensemble: Ensemble, curve: Curve | None) -> list[int | None]:
    """Return some budgets of the curve, or parts of what everything costs."""
    if curve is None:
        most = total_cost(ensemble.catalogue)
        return [most * part // N_BUDGETS for part in range(1, N_BUDGETS)] + [None]
    # The largest pays for what is bought without a budget.
    limits = [one for one in curve.budgets if one]
    limits = limits[:-1] or limits
    places = np.linspace(0, len(limits) - 1, min(N_BUDGETS - 1, len(limits)))
    return [limits[place] for place in places.round().astype(int)] + [None]


def budget_section(ensemble: Ensemble, curve: Curve | None, budget: int | None) -> str:
    """Return what is bought under a budget, in order, and the error it leaves."""
    catalogue = ensemble.catalogue
    total, rows = 0, []
    for question in outline(ensemble, budget):
        total += question.price
        names = (catalogue.features[idx].title for idx in question.feature_idxs)
        price = f"{money(question.price)}", money(total)
        told = price_words(catalogue, question)
        rows.append((str(question.number), ", ".join(names), told, *price))
    named = "without a budget" if budget is None else money(budget, catalogue.cost_unit)
    head = ("", "feature", "", f"price {catalogue.cost_unit}".strip(), "spent")
    table = html_table(head, rows, named) if rows else "<p>It pays for nothing.</p>"
    return (
        f"<section><h3>{escape(named)}{error_at(curve, budget)}</h3>{table}</section>"
    )


def error_at(curve: Curve | None, budget: int | None) -> str:
    """Say the error at the largest budget of the curve within this one."""
    if curve is None:
        return ""
    place = curve.place_at(budget)
    low, high = curve.intervals[place]
    error = percent(curve.errors_calibrated[place])
    return f": errs in {error} of cases ({percent(low)} to {percent(high)})"
