"""Reports and comparisons of models as files that need no server."""

from collections.abc import Sequence

import numpy as np

from askless.app.pages.models.model_view import PlannedBudget, build_view, isolate_cells
from askless.app.pages.plumbing.environment import render_file
from askless.app.words.budgets import place_of_knee
from askless.app.words.charts.charts import NamedCurve, draw_curves
from askless.app.words.charts.effects import show_effects
from askless.app.words.comparison import (
    ComparedModel,
    build_comparison_cells,
    explain_comparison,
)
from askless.app.words.outlines import build_outline_cells
from askless.app.words.wording import money, percent
from askless.core.catalogue.prices import total_cost
from askless.core.model.model import Model

# Number of budgets that a report shows by default.
N_BUDGETS = 5


def render_report(
    model: Model, budgets: Sequence[int | None] = (), tested: NamedCurve | None = None
) -> str:
    """Return the page of a model as HTML that loads nothing; budgets in micro-units.

    `tested` is the curve of rows that are no part of the model.
    """
    plans = [
        PlannedBudget(
            name_budget(model, budget),
            isolate_cells(build_outline_cells(model, budget)),
        )
        for budget in budgets or choose_budgets(model)
    ]
    effects = show_effects(model.ensemble)
    if effects is not None:
        effects = effects._replace(cells=isolate_cells(effects.cells))
    view = build_view(model, tested)._replace(
        order=list_knee_purchases(model), budgets=plans, effects=effects
    )
    return render_file("report.html", name=model.name, view=view)


def list_knee_purchases(model: Model) -> PlannedBudget | None:
    """Return the purchases, in order, under the budget at the knee of the curve."""
    place = place_of_knee(model)
    if model.curve is None or place is None:
        return None
    budget = model.curve.budgets[place]
    cells = isolate_cells(build_outline_cells(model, budget))
    return PlannedBudget(name_budget(model, budget), cells)


def choose_budgets(model: Model) -> list[int | None]:
    """Return `N_BUDGETS` budgets at most, of which the last is None: no limit.

    They are budgets of the model's curve; without a curve, shares of the total cost.
    """
    if model.curve is None:
        most = total_cost(model.ensemble.catalogue)
        return [most * part // N_BUDGETS for part in range(1, N_BUDGETS)] + [None]
    # A budget of 0, and None for no limit, are left out here.
    limits = [budget for budget in model.curve.budgets if budget]
    # The largest pays for what is bought without a budget.
    limits = limits[:-1] or limits
    positions = np.linspace(0, len(limits) - 1, min(N_BUDGETS - 1, len(limits)))
    return [limits[position] for position in positions.round().astype(int)] + [None]


def name_budget(model: Model, budget: int | None) -> str:
    """Return a budget with the error at the largest one of the curve within it."""
    unit, curve = model.ensemble.catalogue.cost_unit, model.curve
    amount = "Without a budget" if budget is None else money(budget, unit)
    if curve is None:
        return amount
    place = curve.place_at(budget)
    low, high = map(percent, curve.intervals[place])
    error = percent(curve.errors_calibrated[place])
    return f"{amount}: errs in {error} of cases ({low} to {high})"


def render_comparison(
    models: Sequence[ComparedModel], budgets: Sequence[int | None], unit: str, rows: str
) -> str:
    """Return models side by side as HTML that loads nothing; `rows` is a sentence."""
    return render_file(
        "comparison.html",
        names=" and ".join(model.name for model in models),
        rows=rows,
        svg=draw_curves(
            [NamedCurve(model.name, model.curve) for model in models], unit
        ),
        cells=build_comparison_cells(models, budgets, unit),
        notes=explain_comparison(models),
    )
