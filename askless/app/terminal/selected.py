"""A feature selection as tables and as JSON."""

from typing import Any

from rich.markup import escape
from rich.table import Column, Table

from askless.app.terminal.show import figure_column, titled_table
from askless.app.words.wording import money
from askless.core.catalogue.catalogue import Catalogue
from askless.core.catalogue.prices import Paid, buy, from_micros
from askless.core.selection.card import describe_selection
from askless.core.selection.params import SelectionParams
from askless.core.selection.search import Selection

# What a method compares features by.
VALUES = {"sfs": "accuracy", "fs2boost": "Z", "ifs2boost": "Z'"}


def path_table(catalogue: Catalogue, selection: Selection) -> Table:
    """Return a table of the best feature of each step, and whether it was taken."""
    figures = [
        figure_column(word) for word in (VALUES[selection.method], "gain", "needed")
    ]
    best, taken = Column("best feature"), Column("taken")
    table = titled_table("Steps", figure_column("step"), best, *figures, taken)
    table.add_row("", "none", f"{selection.empty_value:.4f}", "", "", "")
    for step in selection.steps:
        table.add_row(
            str(step.number),
            escape(catalogue.features[step.feature_idx].name),
            f"{step.value:.4f}",
            f"{step.gain:.4f}",
            f"{step.needed:.4f}",
            "yes" if step.is_taken else "no",
        )
    return table


def subset_table(catalogue: Catalogue, selection: Selection) -> Table:
    """Return a table of the selected features with prices, fees included."""
    unit = f" ({catalogue.cost_unit})" if catalogue.cost_unit else ""
    table = titled_table("Selected", Column("feature"), figure_column(f"price{unit}"))
    for name, amount in prices(catalogue, selection):
        table.add_row(escape(name), money(amount))
    return table


def summary(catalogue: Catalogue, selection: Selection) -> str:
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
    card = with_units(describe_selection(catalogue, params, selection))
    return card | {
        "features": [
            {"name": name, "price": from_micros(amount)}
            for name, amount in prices(catalogue, selection)
        ],
        "unit": catalogue.cost_unit,
        "steps": [with_units(step) for step in card["steps"]],
    }


def with_units(step: dict[str, Any]) -> dict[str, Any]:
    rest = {key: value for key, value in step.items() if key != "cost_micros"}
    return rest | {"cost": from_micros(step["cost_micros"])}


def prices(catalogue: Catalogue, selection: Selection) -> list[tuple[str, int]]:
    """Return each selected feature with its price once those before it are paid."""
    paid, priced = Paid(), []
    for idx in selection.feature_idxs:
        amount, paid = buy(catalogue, paid, [idx])
        priced.append((catalogue.features[idx].name, amount))
    return priced
