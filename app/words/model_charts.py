"""What was measured of a model: charts, each with its numbers as a table."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from app.words.charts import (
    NamedCurve,
    curve_chart,
    margin_chart,
    purchases_chart,
    reliability_chart,
)
from app.words.facts import in_brackets, rows_by_class
from app.words.figures import (
    RELIABILITY_NOTE,
    Cells,
    curve_cells,
    explain,
    figure_cells,
    name_chance,
    pick_places,
    rank_purchases,
    say_betters,
    say_budgets,
    shown_figures,
)
from app.words.wording import percent, percent_range
from core.model.ensemble import Ensemble
from core.model.model import Curve, Model

# Features that are drawn.
N_FEATURES = 25


class Shown(NamedTuple):
    """A chart, what it is called, how it is read, and the same as a table."""

    svg: str
    caption: str
    note: str
    head: Sequence[object]
    rows: Sequence[Sequence[object]]


def list_baselines(model: Model, curve: Curve) -> dict[str, float]:
    """Return what errors are held against: always the commonest class, no budget."""
    baselines, by_class = {}, rows_by_class(model)
    if by_class and sum(by_class.values()):
        most = max(by_class.values()) / sum(by_class.values())
        baselines["always the commonest class"] = 1.0 - most
    if curve.budgets[-1] is None:
        baselines["no budget"] = curve.errors_calibrated[-1]
    return baselines


def show_curve(model: Model, curve: Curve) -> Shown:
    """Draw the curve against its baselines."""
    unit, baselines = model.ensemble.catalogue.cost_unit, list_baselines(model, curve)
    head, rows = curve_cells(curve, unit)
    told = [(named, 5 * ["–"]) for named in baselines]
    levels = [
        (named, "–", f"{100 * error:.1f} %", *cells[2:])
        for (named, cells), error in zip(told, baselines.values(), strict=True)
    ]
    named = [NamedCurve(model.name, curve)]
    note = (
        f"From {curve.n_samples:,} rows that the model did not see when it was trained "
        "for them. The band is the 95 % interval. error: how often the vote alone is "
        "wrong. error, calibrated: how often the label is wrong that sessions say."
    )
    note = " ".join([note, *say_betters(curve, unit)])
    svg = curve_chart(named, unit, baselines=baselines)
    return Shown(svg, "Error against mean spend per case", note, head, [*rows, *levels])


def show_reliabilities(ensemble: Ensemble, curve: Curve) -> list[Shown]:
    """Draw what came against what was said, under some budgets."""
    said, names, shown = name_chance(ensemble), say_budgets(curve), []
    head = ("Chance said", "It came", "95 % interval", "Share of rows")
    for place in pick_places(curve):
        assert curve.predictive is not None
        bins = curve.predictive[place].reliability
        title = f"budget {names[place]}"
        rows = [
            (
                f"{100 * one.mean_chance:.1f} %",
                f"{100 * one.observed.value:.1f} %",
                "–"
                if one.observed.interval is None
                else f"{percent_range(*one.observed.interval)} %",
                percent(one.share),
            )
            for one in bins
        ]
        svg = reliability_chart(bins, said, title)
        caption = f"What was said and what came, {title}"
        shown.append(Shown(svg, caption, RELIABILITY_NOTE, head, rows))
    return shown


def show_figures(ensemble: Ensemble, curve: Curve) -> tuple[Cells, list[str]]:
    cells = figure_cells(curve, ensemble.catalogue.cost_unit)
    return cells, explain(shown_figures(curve), ensemble, None).split("\n")


def show_margins(ensemble: Ensemble, curve: Curve) -> Shown:
    """Draw how sure labels are: by how much their chance is above that of the rest."""
    curves, rows, names = {}, [], say_budgets(curve)
    for place in pick_places(curve):
        assert curve.predictive is not None
        bins = curve.predictive[place].reliability
        margins = np.abs([2.0 * one.mean_chance - 1.0 for one in bins])
        order = np.argsort(margins, kind="stable")
        shares = np.array([one.share for one in bins])[order]
        curves[f"budget {names[place]}"] = margins[order], shares
        middle = np.searchsorted(np.cumsum(shares), 0.5)
        marks = [int(middle), *((shares.size - 1,) if shares.size else ())]
        ends = [float(margins[order][min(one, shares.size - 1)]) for one in marks]
        least = float(margins[order][0])
        cells = (f"{100 * one:.1f}" for one in (least, *ends))
        rows.append((names[place], *cells))
    unit = ensemble.catalogue.cost_unit
    head = (f"Budget {unit}".strip(), "Least tenth", "Middle", "Surest tenth")
    note = (
        "A margin is the chance of the label less that of the rest, in points of a "
        "percent: 0 is a coin's, 100 is certain. Each step is a tenth of the "
        "rows, by their mean chance. A line further right is a surer model."
    )
    if ensemble.n_outputs > 1:
        note += " Of several classes the rest is all others together."
    return Shown(margin_chart(curves), "Margins of the label", note, head, rows)


def show_purchases(ensemble: Ensemble, curve: Curve) -> Shown | None:
    """Draw how often each feature is bought under each budget."""
    shares, asked = rank_purchases(curve)
    if not asked:
        return None
    features, unit = ensemble.catalogue.features, ensemble.catalogue.cost_unit
    most, names = asked[:N_FEATURES], say_budgets(curve)
    titles = [features[idx].title for idx in most]
    rows = [(features[idx].title, *map(percent, shares[idx].tolist())) for idx in asked]
    svg = purchases_chart(titles, names, shares[most], unit)
    note = "Of all cases, under each budget; a darker field is a larger share."
    if len(asked) > len(most):
        note += f" {len(asked) - len(most)} more features are in the table alone."
    caption = f"How often each feature is asked, by budget {in_brackets(unit)}".strip()
    return Shown(svg, caption, note, ("Feature", *names), rows)
