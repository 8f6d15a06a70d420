"""A model on one printable page: what it asks per budget, and how often it errs."""

import re
from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from app.wording import money, percent, price_words
from core.model.ensemble import Ensemble
from core.model.model import Curve, Model
from core.session.outline import outline
from core.table.prices import total_cost

# Budgets that are shown where none are named.
N_BUDGETS = 5

# Of the plot, in its own units.
WIDTH, HEIGHT, MARGIN = 640, 260, 46

FIGURE = re.compile(r"[\d.,]+( %)?")

STYLE = """
body { font: 15px/1.45 Georgia, serif; max-width: 46em; margin: 2em auto; color: #111 }
h1 { font-size: 1.6em; margin-bottom: 0 }
h2 { font-size: 1.15em; margin: 1.6em 0 .4em }
table { border-collapse: collapse; width: 100% }
th { text-align: left; font-weight: normal; color: #555; border-bottom: 1px solid }
td { border-bottom: 1px solid #ddd; vertical-align: top }
th, td { padding: .2em .8em .2em 0 }
.figure { text-align: right; white-space: nowrap }
section { break-inside: avoid }
svg { width: 100%; height: auto }
@media print { body { margin: 0; font-size: 11px } }
"""


def report_page(model: Model, budgets: Sequence[int | None] = ()) -> str:
    """Return the page as HTML that needs nothing else; budgets in micro-units."""
    ensemble, curve = model.ensemble, model.curve
    shown = budgets or choose_budgets(ensemble, curve)
    names = " or ".join(one.display for one in ensemble.classes)
    rows = model.card.get("rows")
    facts = f"{len(ensemble.catalogue.features)} features, {ensemble.algorithm}"
    if isinstance(rows, int):
        facts = f"{rows} rows, {facts}"
    parts = [
        f"<h1>{escape(model.name)}</h1><p>Which case is {escape(names)}? {facts}.</p>",
        "<h2>What it asks, if every answer comes</h2>",
        *(budget_section(ensemble, curve, budget) for budget in shown),
    ]
    if curve is not None:
        parts += ["<section><h2>Error against mean spend</h2>", curve_picture(curve)]
        parts += [curve_rows(curve, ensemble.catalogue.cost_unit), "</section>"]
    title, body = escape(model.name), "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f"<style>{STYLE}</style>\n{body}\n</html>\n"
    )


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
    table = html_table(head, rows) if rows else "<p>It pays for nothing.</p>"
    return (
        f"<section><h2>{escape(named)}{error_at(curve, budget)}</h2>{table}</section>"
    )


def error_at(curve: Curve | None, budget: int | None) -> str:
    """Say the error at the largest budget of the curve within this one."""
    if curve is None:
        return ""
    limit = np.inf if budget is None else budget
    spends = [np.inf if one is None else one for one in curve.budgets]
    place = max(idx for idx, one in enumerate(spends) if one <= limit)
    low, high = curve.intervals[place]
    error = percent(curve.errors_calibrated[place])
    return f": errs in {error} of cases ({percent(low)} to {percent(high)})"


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; figures stand to the right, below their heading."""
    names = [' class="figure"' * bool(FIGURE.fullmatch(cell)) for cell in rows[-1]]
    lines = [zip(names, line, strict=True) for line in (head, *rows)]
    made = []
    for number, line in enumerate(lines):
        tag = "td" if number else "th"
        cells = (f"<{tag}{name}>{escape(cell)}</{tag}>" for name, cell in line)
        made.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(made)}</table>"


def curve_rows(curve: Curve, unit: str) -> str:
    """Return the curve as a table."""
    head = (f"budget {unit}".strip(), "error", "95 % interval", "mean spend")
    rows = []
    for budget, error, (low, high), mean in zip(
        curve.budgets,
        curve.errors_calibrated,
        curve.intervals,
        curve.mean_spends,
        strict=True,
    ):
        named = "unlimited" if budget is None else money(budget)
        between = f"{100 * low:.1f} to {100 * high:.1f} %"
        rows.append((named, f"{100 * error:.1f} %", between, money(round(mean, -4))))
    return html_table(head, rows)


def curve_picture(curve: Curve) -> str:
    """Return the curve as a line with its intervals behind it."""
    spends = np.array(curve.mean_spends) / 1e6
    lows, highs = np.array(curve.intervals).T
    most, top = max(spends.max(), 1e-9), max(highs.max(), 1e-9)
    across = MARGIN + (WIDTH - 2 * MARGIN) * spends / most

    def points(shares: Iterable[float], places: Iterable[float]) -> str:
        room = HEIGHT - 2 * MARGIN
        return " ".join(
            f"{x:.1f},{HEIGHT - MARGIN - room * share / top:.1f}"
            for x, share in zip(places, shares, strict=True)
        )

    band = f"{points(lows, across)} {points(highs[::-1], across[::-1])}"
    line = points(curve.errors_calibrated, across)
    foot = HEIGHT - MARGIN
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" font-size="12" fill="#333">'
        f'<polygon points="{band}" fill="#dde6f0"/>'
        f'<polyline points="{line}" fill="none" stroke="#235" stroke-width="2"/>'
        f'<path d="M{MARGIN} {MARGIN}V{foot}H{WIDTH - MARGIN}" fill="none" '
        f'stroke="#333"/><text x="{MARGIN}" y="{MARGIN - 8}">{100 * top:.0f} % error'
        f'</text><text x="{MARGIN}" y="{foot + 18}">0</text>'
        f'<text x="{WIDTH - MARGIN}" y="{foot + 18}" text-anchor="end">mean spend '
        f"{most:,.2f}</text></svg>"
    )
