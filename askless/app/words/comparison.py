"""The table that compares models, and the reasons why two can't be compared."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from askless.app.words.facts import describe_target
from askless.app.words.figures import Cells
from askless.app.words.wording import money, percent, percent_range
from askless.core.model.figures import Estimate
from askless.core.model.model import Curve, Model


class Clash(NamedTuple):
    """A property in which two models differ and must not, to be compared."""

    name: str
    first: object
    other: object
    #: what each does or has, as the end of a sentence
    words: tuple[str, ...]


def list_clashes(first: Model, other: Model) -> Iterator[Clash]:
    """Yield each property that two models would have to share and do not.

    Classes are the same where their labels are, unless one label has two names: "1"
    may be a disease in one table and a late payment in another.
    """
    both = first, other
    labels, other_labels = (
        sorted(label.label for label in model.ensemble.classes) for model in both
    )
    named = [list_names(model) for model in both]
    shared = sorted(named[0].keys() & named[1].keys())
    names, other_names = ([listed[label] for label in shared] for listed in named)
    unit, other_unit = (model.ensemble.catalogue.cost_unit for model in both)
    predicts = tuple(f"predicts {describe_target(model)}" for model in both)
    prices = tuple(f"has prices in {unit or 'no unit'}" for unit in (unit, other_unit))
    for clash in (
        Clash("target", first.target, other.target, predicts),
        Clash("classes", labels, other_labels, predicts),
        Clash("names of classes", names, other_names, predicts),
        Clash("cost_unit", unit, other_unit, prices),
    ):
        if clash.first != clash.other:
            yield clash


def list_names(model: Model) -> dict[str, str]:
    """Return the names of the classes that have one, by label, in small letters."""
    return {
        label.label: label.display.casefold()
        for label in model.ensemble.classes
        if label.display != label.label
    }


class ComparedModel(NamedTuple):
    """A model's curve, and its error less that of the first model."""

    name: str
    curve: Curve
    #: by budget; None for the first model, and where rows are not the same
    differences: Sequence[Estimate] | None


def build_comparison_cells(
    models: Sequence[ComparedModel], budgets: Sequence[int | None], unit: str
) -> Cells:
    """Return a table with a row for each budget: error and spend of each model."""
    head = [f"budget {unit}".strip()]
    for model in models:
        head += [f"{model.name}: error", "mean spend"]
        head += ["more than the first"] if model.differences is not None else []
    rows = []
    for position, budget in enumerate(budgets):
        cells = ["unlimited" if budget is None else money(budget)]
        for model in models:
            place = model.curve.place_at(budget)
            error = 100 * model.curve.errors_calibrated[place]
            interval = percent_range(*model.curve.intervals[place])
            cells.append(f"{error:.1f} % ({interval})")
            cells.append(money(round(model.curve.mean_spends[place], -4)))
            if model.differences is not None:
                cells.append(describe_difference(model.differences[position]))
        rows.append(tuple(cells))
    return head, rows


def describe_verdict(
    models: Sequence[ComparedModel], budgets: Sequence[int | None], unit: str
) -> str:
    """Return in a sentence which of two models errs less, and whether by chance.

    It is of the budget with the greatest difference whose interval excludes 0; where
    there is none, of the largest budget.
    """
    first, other = models
    gaps = other.differences
    assert gaps is not None, "the second is compared with the first"
    if not budgets:
        return "They have no budget in common."
    sure = [place for place, gap in enumerate(gaps) if excludes_zero(gap)]
    best = max(sure, key=lambda place: abs(gaps[place].value), default=len(budgets) - 1)
    budget = budgets[best]
    at = "without a limit" if budget is None else f"at {money(budget, unit)}"
    pair = sorted((first, other), key=lambda model: error_at(model, budget))
    low, high = (percent(error_at(model, budget)) for model in pair)
    if gaps[best].value == 0:
        return f"Both err equally {at} ({low})."
    chance = "unlikely to be chance" if sure else "hardly more than chance"
    return f"{pair[0].name} errs less {at} ({low} to {high}), {chance}."


def error_at(model: ComparedModel, budget: int | None) -> float:
    return model.curve.errors_calibrated[model.curve.place_at(budget)]


def excludes_zero(difference: Estimate) -> bool:
    interval = difference.interval
    return interval is not None and (interval[0] > 0 or interval[1] < 0)


def describe_difference(difference: Estimate) -> str:
    """Return a difference in percentage points with its interval."""
    points = f"{100 * difference.value:+.1f}"
    if difference.interval is None:
        return points
    low, high = difference.interval
    return f"{points} ({100 * low:+.1f} to {100 * high:+.1f})"


def explain_comparison(models: Sequence[ComparedModel]) -> list[str]:
    notes = ["error: how often the label of sessions is wrong; 95 % interval."]
    if any(model.differences is not None for model in models):
        notes.append(
            "more than the first: in percentage points, on the same rows; if the "
            "interval excludes 0, the difference is unlikely to be chance."
        )
    else:
        notes.append("Each model on its own rows: small differences may be chance.")
        notes.append(
            "Between the budgets of a model's curve its error is the last one's."
        )
    return notes
