"""Show in words and as a chart what each budget of a curve buys."""

from typing import NamedTuple

from askless.app.words.charts.charts import Line, draw_line_chart, in_unit
from askless.app.words.savings import (
    best_places_so_far,
    half_spend_place,
    knee_place,
    noise_in_points,
)
from askless.app.words.wording import money, percent, percent_range
from askless.core.catalogue.prices import from_micros
from askless.core.model.model import Curve, Model

# Where the slider below the chart begins and ends; `.on-curve` in the style sheet has
# these as shares of the chart's width.
SLIDER = (80.0, 384.0)


class BudgetWords(NamedTuple):
    """A budget of the curve; `amount` is as typed in a form, "" for no limit."""

    amount: str
    name: str
    words: str


def list_budget_words(model: Model) -> list[BudgetWords]:
    """Return each budget of the curve with its error and spend on held-out rows."""
    curve, unit = model.curve, model.ensemble.catalogue.cost_unit
    if curve is None:
        return []
    rows = []
    for place, budget in enumerate(curve.budgets):
        name = "no limit" if budget is None else money(budget, unit)
        amount = "" if budget is None else f"{from_micros(budget):.6f}"
        amount = amount.rstrip("0").rstrip(".") if amount else ""
        error = percent(curve.errors_calibrated[place])
        words = f"{error} error, {describe_count(curve, place)} on average"
        # A mean is rounded to the cent.
        spend = money(round(curve.mean_spends[place], -4), unit)
        rows.append(BudgetWords(amount, name, f"{words}, {spend} spent"))
    return rows


def place_of_knee(model: Model) -> int | None:
    """Return the position of a curve's knee; None without a limited budget."""
    curve = model.curve
    return None if curve is None else knee_place(curve, model.ensemble.knees)


def describe_main_budgets(model: Model) -> list[BudgetWords]:
    """Return the knee, half of the spend and the last budget in words."""
    curve = model.curve
    if curve is None:
        return []
    places = {place_of_knee(model), half_spend_place(curve), len(curve.budgets) - 1} - {
        None
    }
    rows, picked = list_budget_words(model), []
    for place in sorted(position for position in places if position is not None):
        row, error = rows[place], percent(curve.errors_calibrated[place])
        unit = model.ensemble.catalogue.cost_unit
        spend = money(round(curve.mean_spends[place], -4), unit)
        words = (
            f"wrong in {error} of cases ({percent_range(*curve.intervals[place])} %); "
            f"{describe_count(curve, place)} and {spend} on average"
        )
        limit = "Without a limit" if row.amount == "" else f"With up to {row.name}"
        picked.append(BudgetWords(row.amount, limit, words))
    return picked


def describe_count(curve: Curve, place: int) -> str:
    """Return the mean number of tests of a case in words."""
    if curve.purchases is None:
        return "as many tests as it pays"
    n_tests = sum(curve.purchases[place])
    shown = f"{n_tests:.1f}".removesuffix(".0")
    return f"{shown} {'test' if shown == '1' else 'tests'}"


def draw_budget_chart(model: Model) -> str | None:
    """Draw the least error up to each budget; None for a model without a curve.

    A larger budget that errs more by chance leaves the line level.
    """
    curve, unit = model.curve, model.ensemble.catalogue.cost_unit
    if curve is None:
        return None
    named = [
        "no limit" if budget is None else f"{from_micros(budget):,g}"
        for budget in curve.budgets
    ]
    x_name = f"budget{in_unit(unit)}, steps as measured"
    description = f"Least error up to each budget of {model.name}, with a band of 95 %"
    places, bands = best_places_so_far(curve), curve.intervals
    # The axis ends at the next tenth above the highest interval.
    top = min(1.0, -(-max(high for _, high in bands) // 0.1) / 10)
    errors = [curve.errors_calibrated[place] for place in places]
    intervals = [bands[place] for place in places]
    return draw_line_chart(
        Line(errors, named, description, x_name, "error", intervals, SLIDER), top
    )


def describe_noise(model: Model) -> str:
    """Return from which difference on two budgets differ by more than chance."""
    if model.curve is None:
        return ""
    points = noise_in_points(model.curve)
    word = "point" if points == 1 else "points"
    return f"Differences below {points} percentage {word} are within chance here."


def describe_beyond(model: Model) -> str:
    """Return the error without a limit, where every limit errs more than by chance."""
    curve = model.curve
    knee = place_of_knee(model)
    if curve is None or knee is None or curve.budgets[-1] is not None:
        return ""
    error = curve.errors_calibrated[-1]
    gained = curve.errors_calibrated[knee] - error
    if 100 * gained < noise_in_points(curve):
        return ""
    return f"Without a limit {percent(error)} are wrong."
