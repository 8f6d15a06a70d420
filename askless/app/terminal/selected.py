"""A feature selection as tables and as JSON."""

from typing import Any

from rich.table import Table

from askless.app.terminal.show import build_table
from askless.app.words.facts import bracket
from askless.app.words.wording import money
from askless.core.catalogue.catalogue import Catalogue
from askless.core.catalogue.prices import Paid, buy, from_micros
from askless.core.selection.card import describe_selection
from askless.core.selection.params import SelectionParams
from askless.core.selection.search import Selection

# What a method compares features by.
VALUES = {"sfs": "accuracy", "fs2boost": "Z", "ifs2boost": "Z'"}


def build_path_table(catalogue: Catalogue, selection: Selection) -> Table:
    """Return a table of the best feature of each step, and whether it was taken."""
    figures = VALUES[selection.method], "gain", "needed"
    rows = [("", "none", f"{selection.empty_value:.4f}", "", "", "")] + [
        (
            str(step.number),
            catalogue.features[step.feature_idx].name,
            *(f"{figure:.4f}" for figure in (step.value, step.gain, step.needed)),
            "yes" if step.is_taken else "no",
        )
        for step in selection.steps
    ]
    head = "step", "best feature", *figures, "taken"
    return build_table("Steps", (head, rows), (1, 5))


def build_subset_table(catalogue: Catalogue, selection: Selection) -> Table:
    """Return a table of the selected features with prices, fees included."""
    head = "feature", f"price {bracket(catalogue.cost_unit)}".strip()
    rows: list[tuple[str, ...]] = [
        (name, money(amount)) for name, amount in list_prices(catalogue, selection)
    ]
    return build_table("Selected", (head, rows), (0,))


def summarise_selection(catalogue: Catalogue, selection: Selection) -> str:
    n_features = len(catalogue.features)
    cost = money(selection.cost, catalogue.cost_unit)
    return (
        f"{len(selection.feature_idxs)} of {n_features} features for {cost}; "
        f"nearest neighbours are right in {100 * selection.accuracy:.1f} %, each row "
        "left out in turn (flattered: the same rows chose the features)"
    )


def selection_json(
    catalogue: Catalogue, params: SelectionParams, selection: Selection
) -> dict[str, Any]:
    """Return the selection as in a model's card, with amounts in units."""
    card = step_in_units(describe_selection(catalogue, params, selection))
    return card | {
        "features": [
            {"name": name, "price": from_micros(amount)}
            for name, amount in list_prices(catalogue, selection)
        ],
        "unit": catalogue.cost_unit,
        "steps": [step_in_units(step) for step in card["steps"]],
    }


def step_in_units(step: dict[str, Any]) -> dict[str, Any]:
    rest = {key: value for key, value in step.items() if key != "cost_micros"}
    return rest | {"cost": from_micros(step["cost_micros"])}


def list_prices(catalogue: Catalogue, selection: Selection) -> list[tuple[str, int]]:
    """Return each selected feature with its price once those before it are paid."""
    paid, priced = Paid(), []
    for idx in selection.feature_idxs:
        amount, paid = buy(catalogue, paid, [idx])
        priced.append((catalogue.features[idx].name, amount))
    return priced
