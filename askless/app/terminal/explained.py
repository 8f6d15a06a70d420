"""Tables of `askless show`: what a model buys, and what each answer does."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from askless.app.terminal.show import figure_column, titled_table
from askless.app.terminal.transcript import describe_value
from askless.app.words.facts import describe_commonest
from askless.app.words.figures import describe_betters, estimate_cell, name_figure
from askless.app.words.wording import money, percent
from askless.core.catalogue.prices import from_micros, total_cost
from askless.core.model.ensemble import Ensemble
from askless.core.model.model import Curve, Model
from askless.core.model.values import list_cuts, typical_values
from askless.core.session.plans.outline import outline
from askless.core.session.steps import choose_class
from askless.core.simulation.effects import Effects, FeatureEffect

# A feature with more values shows so many, unless it is named.
MAX_VALUES = 10

# Figures of the chances beside the error, and how they are headed.
CHANCES = {measure: name_figure(measure) for measure in ("auroc", "log_loss")}
# Budgets tried where a model has no curve.
N_TRIED = 8

SCORECARD = (
    "An additive scorecard: the points are log odds of {name}. Begin at {base:+.2f} "
    "and add those of each answer, whatever the others are, once all are answered."
)
CLASS_SCORES = (
    " Those of all classes together make the chances, each as exp(points) of the sum "
    "(--json has them)."
)
TYPICAL = (
    "Chances are those of a typical case, whose other answers are middle ones (a model "
    "keeps no rows): {values}. All middle: {chance}."
)


@dataclass(frozen=True)
class Purchase:
    """A purchase, the total spent after it, and the error before and after it."""

    feature_idxs: tuple[int, ...]
    price: int
    spent: int
    #: on held-out rows, under a budget of what was spent; None: the model has no curve
    error_before: float | None
    error_after: float | None


def list_purchases(model: Model, budget: int | None) -> list[Purchase]:
    """Return what a session buys whose answers are all middle values."""
    purchases, spent = [], 0
    for question in outline(model.ensemble, budget):
        before, spent = error_within(model.curve, spent), spent + question.price
        after = error_within(model.curve, spent)
        pair = question.feature_idxs, question.price
        purchases.append(Purchase(*pair, spent, before, after))
    return purchases


def error_within(curve: Curve | None, spent: int) -> float | None:
    """Return the error at the largest budget of a curve within what is spent."""
    return None if curve is None else curve.errors_calibrated[curve.place_at(spent)]


def purchase_table(model: Model, purchases: Sequence[Purchase]) -> Table:
    """Return a table of what a budget buys, in order, and the error it saves."""
    catalogue = model.ensemble.catalogue
    table = titled_table(
        "What is bought, if every answer comes",
        figure_column("#"),
        Column("feature"),
        figure_column(
            f"price{f' ({catalogue.cost_unit})' if catalogue.cost_unit else ''}"
        ),
        figure_column("spent"),
        figure_column("error before"),
        figure_column("error after"),
    )
    for number, purchase in enumerate(purchases, 1):
        titles = ", ".join(
            catalogue.features[idx].title for idx in purchase.feature_idxs
        )
        errors = (
            "" if error is None else f"{100 * error:.1f} %"
            for error in (purchase.error_before, purchase.error_after)
        )
        row = (
            str(number),
            escape(titles),
            money(purchase.price),
            money(purchase.spent),
        )
        table.add_row(*row, *errors)
    table.caption = (
        "Error of sessions on held-out rows under a budget of what is spent by then."
    )
    table.caption_justify = "left"
    return table


def budget_table(model: Model) -> Table:
    """Return a table of budgets from which on more is bought, with their errors."""
    catalogue, curve = model.ensemble.catalogue, model.curve
    figures = None if curve is None else curve.predictive
    table = titled_table(
        "What a budget buys, if every answer comes",
        figure_column(
            f"from{f' ({catalogue.cost_unit})' if catalogue.cost_unit else ''}"
        ),
        Column("buys"),
        figure_column("error"),
        *map(figure_column, CHANCES.values() if figures else ()),
    )
    known: list[set[int]] = []
    for budget in list_limits(model):
        bought = [
            idx for step in outline(model.ensemble, budget) for idx in step.feature_idxs
        ]
        if known and set(bought) == known[-1]:
            continue
        known.append(set(bought))
        names = ", ".join(catalogue.features[idx].title for idx in bought)
        error = error_within(curve, budget)
        shown = [] if error is None else [f"{100 * error:.1f} %"]
        if curve is not None and figures:
            figure = figures[curve.place_at(budget)]
            shown += [estimate_cell(getattr(figure, measure)) for measure in CHANCES]
        table.add_row(money(budget), escape(names or "nothing"), *shown)
    betters = [] if curve is None else describe_betters(curve, catalogue.cost_unit)
    table.caption = "\n".join([*betters, *describe_commonest(model)])
    table.caption_justify = "left"
    return table


def list_limits(model: Model) -> list[int]:
    """Return the budgets of the curve, or shares of what everything costs."""
    if model.curve is not None:
        return [budget for budget in model.curve.budgets if budget is not None]
    most = total_cost(model.ensemble.catalogue)
    return [most * part // N_TRIED for part in range(N_TRIED + 1)]


def print_effects(
    console: Console, ensemble: Ensemble, effects: Effects, named: int | None
) -> None:
    """Print what the values of each feature do, or all values of the named one."""
    class_idx = choose_class(effects.typical.tolist())
    name = ensemble.classes[class_idx].display
    middles = typical_values(ensemble)
    bought = [effect.feature_idx for effect in effects.features]
    features = ensemble.catalogue.features
    values = ", ".join(
        f"{features[idx].title} {describe_middle(ensemble, idx, value)}"
        for idx, value in enumerate(middles)
        if idx in bought
    )
    chance = percent(float(effects.typical[class_idx]))
    console.print(escape(TYPICAL.format(values=values, chance=chance)))
    if effects.base is not None:
        base = float(effects.base[class_idx if effects.base.size > 1 else 0])
        scorecard = SCORECARD.format(name=name, base=base)
        console.print(
            escape(scorecard + (CLASS_SCORES if effects.base.size > 1 else ""))
        )
    for effect in effects.features:
        if named in (None, effect.feature_idx):
            is_whole = named is not None
            table = effect_table(ensemble, effect, class_idx, is_whole=is_whole)
            console.print(table)


def describe_middle(ensemble: Ensemble, feature_idx: int, value: float) -> str:
    """Return a middle value, rounded; that of a boolean may be a share."""
    is_number = ensemble.catalogue.features[feature_idx].type == "number"
    middle = float(f"{value:.3g}") if is_number else math.floor(value + 0.5)
    return describe_value(ensemble, feature_idx, middle)


def effect_table(
    ensemble: Ensemble, effect: FeatureEffect, class_idx: int, *, is_whole: bool
) -> Table:
    """Return a table of what each value does to the chance of a class."""
    feature = ensemble.catalogue.features[effect.feature_idx]
    name = ensemble.classes[class_idx].display
    columns = [
        Column(escape(feature.unit or "answer")),
        figure_column(f"chance of {name}"),
    ]
    columns += [] if effect.points is None else [figure_column("points")]
    table = titled_table(escape(feature.title), *columns)
    rows = label_rows(ensemble, effect, class_idx)
    if len(rows) > MAX_VALUES and not is_whole:
        places = np.linspace(0, len(rows) - 1, MAX_VALUES).round().astype(int)
        table.caption = f"{MAX_VALUES} of {len(rows)}; all: --feature {feature.name}"
        table.caption_justify = "left"
        rows = [rows[place] for place in places]
    for label, chance, points in rows:
        cells = [escape(label), percent(chance)]
        if effect.points is not None:
            cells.append("" if math.isnan(points) else f"{points:+.2f}")
        table.add_row(*cells)
    return table


def label_rows(
    ensemble: Ensemble, effect: FeatureEffect, class_idx: int
) -> list[tuple[str, float, float]]:
    """Return values in words with chance and points; equal neighbours are one row."""
    column = class_idx if effect.points is None or effect.points.shape[1] > 1 else 0
    points = np.full(effect.values.size, np.nan)
    if effect.points is not None:
        points = effect.points[:, column]
    chances = effect.chances[:, class_idx]
    cuts = np.unique(list_cuts(ensemble)[effect.feature_idx])
    feature = ensemble.catalogue.features[effect.feature_idx]
    # One value between each two cuts, and the last one for no answer: then each value
    # stands for a range.
    is_parted = feature.type == "number" and cuts.size == effect.values.size - 2
    edges = np.array([-np.inf, *cuts, np.inf])
    rows: list[tuple[str, float, float]] = []
    start = 0
    for place, value in enumerate(effect.values.tolist()):
        if math.isnan(value):
            rows.append(("not available", float(chances[place]), math.nan))
            continue
        is_last = place + 2 == effect.values.size
        numbers = float(chances[place]), float(points[place])
        if not is_parted:
            rows.append((describe_value(ensemble, effect.feature_idx, value), *numbers))
        elif is_last or numbers != (chances[place + 1], points[place + 1]):
            rows.append((describe_range(edges[start], edges[place + 1]), *numbers))
            start = place + 1
    return rows


def describe_range(low: float, high: float) -> str:
    """Return in words the numbers above `low`, up to `high`."""
    if math.isinf(low) and math.isinf(high):
        return "any"
    if math.isinf(low):
        return f"up to {high:g}"
    return f"above {low:g}" if math.isinf(high) else f"above {low:g} to {high:g}"


def explained_json(
    model: Model, purchases: Sequence[Purchase], effects: Effects
) -> dict[str, Any]:
    """Return the same for programs; the last value of each feature is null: none."""
    catalogue, classes = model.ensemble.catalogue, model.ensemble.classes
    names = [feature.name for feature in catalogue.features]
    labels = [label.label for label in classes]
    return {
        "purchases": [
            {
                "features": [names[idx] for idx in purchase.feature_idxs],
                "price": from_micros(purchase.price),
                "spent": from_micros(purchase.spent),
                "error_before": purchase.error_before,
                "error_after": purchase.error_after,
            }
            for purchase in purchases
        ],
        "labels": labels,
        "typical": effects.typical.tolist(),
        "base": None if effects.base is None else effects.base.tolist(),
        "effects": [
            {
                "feature": names[effect.feature_idx],
                "values": [
                    None
                    if math.isnan(value)
                    else describe_plain(model.ensemble, effect.feature_idx, value)
                    for value in effect.values.tolist()
                ],
                "chances": effect.chances.tolist(),
                # Without the row of no value, which has no points.
                "points": None
                if effect.points is None
                else effect.points[:-1].tolist(),
            }
            for effect in effects.features
        ],
    }


def describe_plain(ensemble: Ensemble, feature_idx: int, value: float) -> object:
    """Return a value as JSON has it."""
    feature = ensemble.catalogue.features[feature_idx]
    if feature.type == "category":
        return feature.categories[int(value)]
    return bool(value) if feature.type == "boolean" else value
