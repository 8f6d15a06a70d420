"""Tables of `askless show`: what a model buys, and what each answer does."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from askless.app.terminal.show import build_table
from askless.app.terminal.transcript import value_text
from askless.app.words.facts import bracket, describe_commonest
from askless.app.words.figures import (
    describe_betters,
    format_estimate,
    name_figure,
    to_percent,
)
from askless.app.words.outlines import build_outline_cells
from askless.app.words.wording import money, percent
from askless.core.catalogue.prices import from_micros
from askless.core.model.ensemble import Ensemble
from askless.core.model.model import Curve, Model
from askless.core.model.values import list_cuts, typical_values
from askless.core.pipeline.budgets import list_purchase_steps
from askless.core.session.plans.outline import outline
from askless.core.session.spending import compute_limit
from askless.core.session.state import Question
from askless.core.session.steps import reported_class
from askless.core.simulation.effects import Effects, FeatureEffect

# A feature with more values shows so many, unless it is named.
MAX_VALUES = 10

# Figures of the chances beside the error.
CHANCES = ("auroc", "log_loss")
ERRORS_NOTE = (
    "Error of sessions on held-out rows under a budget of what is spent by then; "
    "at the end under all that the session may spend."
)
# Most budgets tried where a model has no curve.
N_TRIED = 50

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


class PlannedQuestion(NamedTuple):
    """A question, the total spent after it, and the error before and after it."""

    question: Question
    spent: int
    #: on held-out rows, under a budget of what was spent; None: the model has no curve
    error_before: float | None
    #: after the last question under all that the session may spend
    error_after: float | None


def list_purchases(model: Model, budget: int | None) -> list[PlannedQuestion]:
    """Return what a session buys whose answers are all middle values."""
    purchases, spent = list[PlannedQuestion](), 0
    for question in outline(model.ensemble, budget):
        before, spent = error_at_spend(model.curve, spent), spent + question.price
        after = error_at_spend(model.curve, spent)
        purchases.append(PlannedQuestion(question, spent, before, after))
    if purchases:
        # The rest of the budget buys nothing here, but it did in other cases.
        end = compute_limit(model.ensemble, budget, None, "worthwhile")
        error_at_end = error_at_spend(model.curve, end)
        purchases[-1] = purchases[-1]._replace(error_after=error_at_end)
    return purchases


def error_at_spend(curve: Curve | None, spent: int | None) -> float | None:
    """Return the error at the largest budget of a curve within what is spent."""
    return None if curve is None else curve.errors_calibrated[curve.place_at(spent)]


def build_purchase_table(
    model: Model, budget: int | None, purchases: Sequence[PlannedQuestion]
) -> Table:
    """Return a table of what a budget buys, in order, and the error it saves."""
    head, outlined = build_outline_cells(model, budget)
    # The columns that break a price down are left out: they need too much width.
    head, rows = head[:3], [row[:3] for row in outlined]
    notes = []
    if model.curve is not None:
        head = *head, "Error before", "Error after"
        notes = [ERRORS_NOTE]
        for place, purchase in enumerate(purchases):
            errors = purchase.error_before, purchase.error_after
            rows[place] += tuple(to_percent(error or 0.0) for error in errors)
    return build_table(
        "What is bought, if every answer comes", (head, rows), (0,), notes
    )


def build_budget_table(model: Model) -> Table:
    """Return a table of budgets from which on more is bought, with their errors."""
    catalogue, curve = model.ensemble.catalogue, model.curve
    figures = None if curve is None else curve.predictive
    head = [f"from {bracket(catalogue.cost_unit)}".strip(), "buys"]
    head += [] if curve is None else ["error"]
    head += map(name_figure, CHANCES) if figures else ()
    rows: list[tuple[str, ...]] = []
    known: set[int] = set()
    for budget in list_limits(model):
        questions = outline(model.ensemble, budget)
        bought = [idx for question in questions for idx in question.feature_idxs]
        if rows and set(bought) == known:
            continue
        known = set(bought)
        names = ", ".join(catalogue.features[idx].title for idx in bought)
        cells = [money(budget), names or "nothing"]
        if curve is not None:
            place = curve.place_at(budget)
            cells.append(to_percent(curve.errors_calibrated[place]))
            if figures:
                chances = (getattr(figures[place], measure) for measure in CHANCES)
                cells += map(format_estimate, chances)
        rows.append(tuple(cells))
    notes = [] if curve is None else describe_betters(curve, catalogue.cost_unit)
    title = "What a budget buys, if every answer comes"
    return build_table(title, (head, rows), (1,), [*notes, *describe_commonest(model)])


def list_limits(model: Model) -> list[int]:
    """Return the budgets of the curve, or those at which more can be bought."""
    if model.curve is not None:
        return [budget for budget in model.curve.budgets if budget is not None]
    steps = list_purchase_steps(model.ensemble)
    places = np.linspace(0, len(steps) - 1, min(N_TRIED, len(steps)))
    return [steps[place] for place in places.round().astype(int)]


def print_effects(
    console: Console, ensemble: Ensemble, effects: Effects, named: int | None
) -> None:
    """Print what the values of each feature do, or all values of the named one."""
    class_idx = reported_class(effects.typical.tolist())
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
            table = build_effect_table(ensemble, effect, class_idx, is_whole=is_whole)
            console.print(table)


def describe_middle(ensemble: Ensemble, feature_idx: int, value: float) -> str:
    """Return a middle value, rounded; that of a boolean may be a share."""
    is_number = ensemble.catalogue.features[feature_idx].type == "number"
    middle = float(f"{value:.3g}") if is_number else math.floor(value + 0.5)
    return value_text(ensemble, feature_idx, middle)


def build_effect_table(
    ensemble: Ensemble, effect: FeatureEffect, class_idx: int, *, is_whole: bool
) -> Table:
    """Return a table of what each value does to the chance of a class."""
    feature = ensemble.catalogue.features[effect.feature_idx]
    name = ensemble.classes[class_idx].display
    head = [feature.unit or "answer", f"chance of {name}"]
    head += [] if effect.points is None else ["points"]
    labelled, notes = label_rows(ensemble, effect, class_idx), []
    if len(labelled) > MAX_VALUES and not is_whole:
        places = np.linspace(0, len(labelled) - 1, MAX_VALUES).round().astype(int)
        notes = [f"{MAX_VALUES} of {len(labelled)}; all: --feature {feature.name}"]
        labelled = [labelled[place] for place in places]
    cells = [
        (label, percent(chance), "" if math.isnan(points) else f"{points:+.2f}")
        for label, chance, points in labelled
    ]
    rows = [row[: len(head)] for row in cells]
    return build_table(feature.title, (head, rows), (0,), notes)


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
            rows.append((value_text(ensemble, effect.feature_idx, value), *numbers))
        elif is_last or numbers != (chances[place + 1], points[place + 1]):
            rows.append((describe_interval(edges[start], edges[place + 1]), *numbers))
            start = place + 1
    return rows


def describe_interval(low: float, high: float) -> str:
    """Return in words the numbers above `low`, up to `high`."""
    if math.isinf(low) and math.isinf(high):
        return "any"
    if math.isinf(low):
        return f"up to {high:g}"
    return f"above {low:g}" if math.isinf(high) else f"above {low:g} to {high:g}"


def to_json(
    model: Model, purchases: Sequence[PlannedQuestion], effects: Effects
) -> dict[str, Any]:
    """Return the same for programs; the last value of each feature is null: none."""
    catalogue, classes = model.ensemble.catalogue, model.ensemble.classes
    names = [feature.name for feature in catalogue.features]
    labels = [label.label for label in classes]
    return {
        "purchases": [
            {
                "features": [names[idx] for idx in purchase.question.feature_idxs],
                "price": from_micros(purchase.question.price),
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
                    else to_json_value(model.ensemble, effect.feature_idx, value)
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


def to_json_value(ensemble: Ensemble, feature_idx: int, value: float) -> object:
    """Return a value as JSON has it."""
    feature = ensemble.catalogue.features[feature_idx]
    if feature.type == "category":
        return feature.categories[int(value)]
    return bool(value) if feature.type == "boolean" else value
