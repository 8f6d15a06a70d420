"""Read a CSV table of prices: feature, cost, group, fee or price of the group."""

from dataclasses import dataclass, field

from askless.app.uploads import Source
from askless.app.uploads.streams import read_columns
from askless.core.catalogue.prices import from_micros, to_micros
from askless.core.errors import Refusal, RefusedError, nearest_hint
from askless.core.table.columns import to_text_cells

NEEDED = ("feature", "cost")
OPTIONAL = ("group", "fee", "price")
Row = dict[str, str | None]


@dataclass
class PriceTable:
    """Costs and groups by feature; fees and bundle prices by group, in units."""

    costs: dict[str, float] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)
    fees: dict[str, float] = field(default_factory=dict)
    prices: dict[str, float] = field(default_factory=dict)
    #: features without a cost, and where they stand
    costless: dict[str, str] = field(default_factory=dict)


def read_prices(source: Source, names: list[str]) -> PriceTable:
    """Read prices of the columns `names`; raise RefusedError with all broken rules."""
    columns = read_columns(source, (*NEEDED, *OPTIONAL))
    known = ", ".join((*NEEDED, *OPTIONAL))
    refusals = [
        Refusal("prices", f"must have a column {name}")
        for name in NEEDED
        if name not in columns
    ]
    refusals += [
        Refusal("prices", f"unknown column; expected {known}", repr(name))
        for name in columns
        if name not in (*NEEDED, *OPTIONAL)
    ]
    if refusals:
        raise RefusedError(refusals)
    cells = [to_text_cells(column) for column in columns.values()]
    table = PriceTable()
    for number, values in enumerate(zip(*cells, strict=True), start=1):
        row = dict(zip(columns, values, strict=True))
        refusals += read_row(table, row, f"prices, row {number}", names)
    # A member of a bundle needs no cost: one of its rows has the price of all.
    rule = (
        "cost is required: only the members of a bundle, which has a price, need none"
    )
    refusals += [
        Refusal(where, rule, name)
        for name, where in table.costless.items()
        if table.groups.get(name) not in table.prices
    ]
    refusals += [
        Refusal("prices", "a group has a fee, or as a bundle a price", repr(group))
        for group in table.fees.keys() & table.prices.keys()
    ]
    if refusals:
        raise RefusedError(refusals)
    return table


def read_row(
    table: PriceTable, row: Row, where: str, names: list[str]
) -> list[Refusal]:
    """Add a row to `table`, which is changed; return the rules that the row breaks."""
    name, group = row["feature"], row.get("group")
    if name not in names:
        hint = nearest_hint(name or "", names)
        rule = f"feature must be a column that may be one{hint}"
        return [Refusal(where, rule, repr(name))]
    if name in table.costs:
        return [Refusal(where, "feature must stand once", repr(name))]
    if group is None and (row.get("fee") or row.get("price")):
        return [Refusal(where, "a fee or price is a group's: name the group")]
    refusals: list[Refusal] = []
    if group is not None:
        table.groups[name] = group
        for word, amounts in (("fee", table.fees), ("price", table.prices)):
            amount = read_price_cell(row.get(word), word, where, refusals)
            # The first row of a group sets its amount.
            if amount is not None and amounts.setdefault(group, amount) != amount:
                rule = f"{word} must be the same in all rows of a group"
                refusals.append(Refusal(where, rule, repr(row[word])))
    cost = read_price_cell(row["cost"], "cost", where, refusals)
    if cost is not None:
        table.costs[name] = cost
    elif row["cost"] is None:
        table.costless[name] = where
    return refusals


def read_price_cell(
    cell: str | None, word: str, where: str, refusals: list[Refusal]
) -> float | None:
    """Return an amount in units, None for an empty cell; add refusals to the list."""
    try:
        return None if cell is None else from_micros(to_micros(cell))
    except ValueError as error:
        refusals.append(Refusal(where, f"{word} {error}", repr(cell)))
        return None
