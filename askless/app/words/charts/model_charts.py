"""Charts of a model's measurements, each with its numbers as a table."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from askless.app.words.charts.charts import (
    NamedCurve,
    draw_curves,
    draw_margins,
    draw_purchases,
    draw_reliability,
)
from askless.app.words.facts import bracket, find_commonest
from askless.app.words.figures import (
    RARE_NOTE,
    RELIABILITY_NOTE,
    VOTE_ERROR,
    VOTE_NOTE,
    Cells,
    build_curve_cells,
    build_figure_cells,
    choose_places,
    describe_betters,
    describe_budgets,
    describe_event,
    explain_figures,
    has_rare_class,
    rank_purchases,
    shown_figures,
    to_percent,
)
from askless.app.words.wording import percent, percent_range
from askless.core.model.ensemble import Ensemble
from askless.core.model.model import Curve, Model

# Features that are drawn.
N_FEATURES = 25
OWN_ROWS = "held-out rows of training"
OWN_NOTE = "From {rows:,} rows that the model did not see when it was trained for them."
CURVE_NOTE = "The band is the 95 % interval."


class ChartWithTable(NamedTuple):
    """A chart with its caption, its explanation, and the same numbers as a table."""

    svg: str
    caption: str
    note: str
    head: Sequence[object]
    rows: Sequence[Sequence[object]]


class CurvesWithTables(NamedTuple):
    """A chart of curves, a table for each curve, and their explanations."""

    svg: str
    tables: Sequence[tuple[str, Cells]]
    notes: Sequence[str]


def list_baselines(model: Model, curve: Curve) -> dict[str, float]:
    """Return errors to compare with: of the commonest class, and without a limit."""
    commonest = find_commonest(model)
    baselines = (
        {} if commonest is None else {"always the commonest class": commonest.error}
    )
    if curve.budgets[-1] is None:
        baselines["no budget"] = curve.errors_calibrated[-1]
    return baselines


def show_curves(
    model: Model, tested: NamedCurve | None = None
) -> CurvesWithTables | None:
    """Draw the curves of model and table with baselines; None without."""
    unit, own = model.ensemble.catalogue.cost_unit, []
    baselines: dict[str, float] = {}
    notes: list[str] = []
    if model.curve is not None:
        own = [NamedCurve(model.name if tested is None else OWN_ROWS, model.curve)]
        baselines = list_baselines(model, model.curve)
        notes.append(OWN_NOTE.format(rows=model.curve.n_samples))
    curves = [*own, *([] if tested is None else [tested])]
    if not curves:
        return None
    tables = []
    for curve in curves:
        head, rows = build_curve_cells(curve.curve, unit)
        is_own = curve.curve is model.curve
        n_empty = len(head) - 2
        levels = [
            (name, to_percent(error), *(n_empty * ["–"]))
            for name, error in baselines.items()
        ]
        if VOTE_ERROR in head:
            notes.append(VOTE_NOTE)
        if has_rare_class(curve.curve):
            notes.append(RARE_NOTE)
        caption = (
            f"Error by budget{'' if is_own and not tested else rows_suffix(curve)}"
        )
        tables.append((caption, (head, [*rows, *(levels if is_own else ())])))
        notes += describe_betters(curve.curve, unit)
    svg = draw_curves(curves, unit, baselines=baselines)
    return CurvesWithTables(svg, tables, [*dict.fromkeys(notes), CURVE_NOTE])


def rows_suffix(curve: NamedCurve) -> str:
    """Return the end of a heading that names the rows of a curve."""
    return f" ({curve.name}, {curve.curve.n_samples:,} rows)"


def show_reliabilities(ensemble: Ensemble, curve: Curve) -> list[ChartWithTable]:
    """Draw how often an event came against its predicted chance, under some budgets."""
    chance_name, names, shown = describe_event(ensemble), describe_budgets(curve), []
    head = ("Chance said", "It came", "95 % interval", "Share of rows")
    for place in choose_places(curve):
        assert curve.predictive is not None
        bins = curve.predictive[place].reliability
        title = f"budget {names[place]}"
        rows = [
            (
                f"{100 * chance_bin.mean_chance:.1f} %",
                f"{100 * chance_bin.observed.value:.1f} %",
                "–"
                if chance_bin.observed.interval is None
                else f"{percent_range(*chance_bin.observed.interval)} %",
                percent(chance_bin.share),
            )
            for chance_bin in bins
        ]
        svg = draw_reliability(bins, chance_name, title)
        caption = f"What was said and what came, {title}"
        shown.append(ChartWithTable(svg, caption, RELIABILITY_NOTE, head, rows))
    return shown


def show_figures(ensemble: Ensemble, curve: Curve) -> tuple[Cells, list[str]]:
    cells = build_figure_cells(curve, ensemble.catalogue.cost_unit)
    return cells, explain_figures(shown_figures(curve), ensemble, None).split("\n")


def show_margins(ensemble: Ensemble, curve: Curve) -> ChartWithTable:
    """Draw the margin of the label: its chance less that of all other classes."""
    curves, rows, names = {}, [], describe_budgets(curve)
    for place in choose_places(curve):
        assert curve.predictive is not None
        bins = curve.predictive[place].reliability
        margins = np.abs([2.0 * chance_bin.mean_chance - 1.0 for chance_bin in bins])
        order = np.argsort(margins, kind="stable")
        shares = np.array([chance_bin.share for chance_bin in bins])[order]
        curves[f"budget {names[place]}"] = margins[order], shares
        # The first bin by which half of the rows have come: the median.
        middle = np.searchsorted(np.cumsum(shares), 0.5)
        marks = [int(middle), *((shares.size - 1,) if shares.size else ())]
        ends = [float(margins[order][min(mark, shares.size - 1)]) for mark in marks]
        least = float(margins[order][0])
        cells = (f"{100 * end:.1f}" for end in (least, *ends))
        rows.append((names[place], *cells))
    unit = ensemble.catalogue.cost_unit
    head = (f"Budget {unit}".strip(), "Least tenth", "Middle", "Surest tenth")
    note = (
        "A margin is the chance of the label less that of the rest, in percentage "
        "points: 0 is a coin toss, 100 is certain. Each step is a tenth of the "
        "rows, by their mean chance. A line further right is a surer model."
    )
    if ensemble.n_outputs > 1:
        note += " Of several classes the rest is all others together."
    return ChartWithTable(
        draw_margins(curves), "Margins of the label", note, head, rows
    )


def show_purchases(ensemble: Ensemble, curve: Curve) -> ChartWithTable | None:
    """Draw how often each feature is bought under each budget."""
    shares, asked = rank_purchases(curve)
    if not asked:
        return None
    features, unit = ensemble.catalogue.features, ensemble.catalogue.cost_unit
    most, names = asked[:N_FEATURES], describe_budgets(curve)
    titles = [features[idx].title for idx in most]
    # Whole amounts leave room for one another.
    drawn = [name.removesuffix(".00") for name in names]
    rows = [(features[idx].title, *map(percent, shares[idx].tolist())) for idx in asked]
    svg = draw_purchases(titles, drawn, shares[most], unit)
    note = "Of all cases, under each budget; a darker field is a larger share."
    if len(asked) > len(most):
        note += f" {len(asked) - len(most)} more features are in the table alone."
    caption = f"How often each feature is asked, by budget {bracket(unit)}".strip()
    return ChartWithTable(svg, caption, note, ("Feature", *names), rows)
