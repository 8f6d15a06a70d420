"""A training spec as the fields of a form: begun from a draft, and read back.

Column number i of the table has the fields `c<i>-role`, `c<i>-cost` and so on, group
number j `g<j>-name`, class number k `k<k>-shown`.
"""

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from askless.app.uploads.parsing import DraftedTable
from askless.app.uploads.price_tables import PriceTable
from askless.core.catalogue.patterns import WILDCARD
from askless.core.catalogue.prices import to_micros
from askless.core.errors import Refusal
from askless.core.table.texts.numbers import to_decimal_point

Typed = Mapping[str, str]
#: Roles that a column may have.
ROLES = {
    "feature": "a feature",
    "ignore": "left out",
    "group_by": "what keeps rows together",
    "weight": "the row's weight",
}
# Fields of the form that stand in a spec as they are typed.
TEXTS = ("name", "target", "positive", "note", "algorithm", "effort")
WHOLES = {"rounds": ("params", 300), "folds": ("validation", 3), "seed": ("", 0)}
WHOLE_RULE = "must be a whole number, 0 or more"
# The box that gives features without a price the cost 1.
SAME_COST = "same_cost"
COST_RULE = "must be an amount such as 12.50; 0 where it is free"
GROUP_RULE = "must be priced under Groups"
TWICE_RULE = "must be one column; another one has this part already"
# Places in a spec whose field of the form has another name.
INDEXED = re.compile(r"(features|groups)\[(\d+)\]\.?(\w*)")
MAX_DIGITS = 18
MAX_MARKS = 20_000


@dataclass
class ReadForm:
    """A spec read from a form, with refusals of unreadable fields.

    `places` maps places in the spec to fields of the form.
    """

    spec: dict[str, Any] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)

    def refuse(self, where: str, rule: str) -> None:
        self.refusals.append(Refusal(where, rule))

    def read_amount(self, where: str, text: str) -> Decimal | None:
        """Return a typed amount; add a refusal if it is none."""
        try:
            written = to_decimal_point(text)
            to_micros(written)
        except ValueError as error:
            self.refuse(where, str(error) if text else COST_RULE)
            return None
        return Decimal(written)

    def read_whole_number(self, where: str, text: str) -> int | None:
        """Return a typed whole number; add a refusal if it is none."""
        if text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS:
            return int(text)
        self.refuse(where, WHOLE_RULE)
        return None

    def field_of(self, place: str) -> str:
        """Return the form's field that shows refusals at a place in the spec."""
        if place in self.places:
            return self.places[place]
        match = INDEXED.match(place)
        # A refusal of a feature or group: the field of that part, such as `c3-cost`, or
        # of the whole entry if the form has no such part.
        if match:
            start = self.places.get(f"{match[1]}[{match[2]}]", match[1])
            column, dash, _ = start.partition("-")
            part = "amount" if match[3] in ("fee", "price") else match[3]
            return f"{column}-{part}" if dash and part not in ("", "name") else start
        # Other places, such as `params.rounds`: what follows the point is the field.
        return place.partition(".")[2].partition("[")[0] or place.partition("[")[0]


def draft_form(table: DraftedTable, columns: Sequence[str]) -> dict[str, str]:
    """Return the form's fields from a draft; `columns` are all names of the table."""
    spec = table.spec
    typed = {name: str(spec.get(name, "")) for name in ("name", "target", "positive")}
    typed |= {"missing_target": spec.get("missing_target", "refuse")}
    typed |= {"algorithm": "auto", "effort": "standard", "cost_unit": ""}
    typed |= {name: str(usual) for name, (_, usual) in WHOLES.items()}
    for number, label in enumerate(table.labels):
        typed |= {f"k{number}-label": label, f"k{number}-shown": label}
    entries = {feature["name"]: feature for feature in spec["features"]}
    for number, name in enumerate(columns):
        entry = entries.get(name, {})
        typed |= {
            f"c{number}-role": "feature" if entry else "ignore",
            f"c{number}-type": entry.get("type", "number"),
            f"c{number}-unit": entry.get("unit", ""),
            # A price that nobody typed would be taken for the user's own.
            f"c{number}-cost": "",
            f"c{number}-missing": join_marks(entry.get("missing", ())),
            f"c{number}-rare": str(entry.get("rare", "")),
        }
    return typed


def fill_prices(
    typed: dict[str, str], columns: Sequence[str], prices: PriceTable
) -> None:
    """Fill prices into the fields `typed` of columns and groups, in place."""
    for number, name in enumerate(columns):
        if name in prices.costs:
            typed[f"c{number}-cost"] = f"{prices.costs[name]:f}".rstrip("0").rstrip(".")
        if name in prices.groups:
            typed[f"c{number}-group"] = prices.groups[name]
    rows = {typed.get(f"g{row}-name", ""): row for row in group_rows(typed, columns)}
    rows.pop("", None)
    for name in dict.fromkeys(prices.groups.values()):
        row = rows.setdefault(name, max(rows.values(), default=-1) + 1)
        is_bundle = name in prices.prices
        amount = prices.prices[name] if is_bundle else prices.fees.get(name, 0)
        typed |= {f"g{row}-name": name, f"g{row}-kind": "price" if is_bundle else "fee"}
        typed[f"g{row}-amount"] = f"{amount:f}".rstrip("0").rstrip(".")


def group_rows(typed: Typed, columns: Sequence[str]) -> range:
    """Return the numbers of group rows: those in use, and an empty one."""
    rows = [row for row in range(len(columns)) if typed.get(f"g{row}-name", "").strip()]
    return range(max(rows, default=-1) + 2)


def add_groups(typed: dict[str, str], columns: Sequence[str]) -> None:
    """Add to `typed` a row for each group that a column names without one."""
    rows = group_rows(typed, columns)
    known = {typed.get(f"g{row}-name", "").strip() for row in rows}
    # The last row is the empty one.
    last = rows[-1]
    for number in range(len(columns)):
        name = typed.get(f"c{number}-group", "").strip()
        if name and name not in known and last < len(columns):
            known.add(name)
            typed[f"g{last}-name"] = name
            last += 1


def read_form(typed: Typed, columns: Sequence[str]) -> ReadForm:
    """Read a spec from a form; `columns` are the table's names in order.

    What can't be read is left out of the spec and listed in `refusals`.
    """
    form = ReadForm()
    for name in TEXTS:
        if text := typed.get(name, "").strip():
            form.spec[name] = text
    form.spec["cost_unit"] = typed.get("cost_unit", "").strip()
    read_classes(form, typed)
    read_columns(form, typed, columns)
    read_groups(form, typed, columns)
    for name, (part, _) in WHOLES.items():
        text = typed.get(name, "").strip()
        number = form.read_whole_number(name, text) if text else None
        if number is not None:
            (form.spec.setdefault(part, {}) if part else form.spec)[name] = number
    budgets = [part.strip() for part in typed.get("budgets", "").split(",")]
    amounts = [form.read_amount("budgets", budget) for budget in budgets if budget]
    if amounts:
        form.spec.setdefault("validation", {})["budgets"] = amounts
    if typed.get("missing_target") == "drop":
        form.spec["missing_target"] = "drop"
    return form


def read_classes(form: ReadForm, typed: Typed) -> None:
    """Read the names of classes that differ from their labels."""
    shown = {}
    number = 0
    while (label := typed.get(f"k{number}-label")) is not None:
        text = typed.get(f"k{number}-shown", "").strip()
        form.places[f"classes.{label}"] = f"k{number}-shown"
        if text and text != label:
            shown[label] = text
        number += 1
    if shown:
        form.spec["classes"] = shown


def read_columns(form: ReadForm, typed: Typed, columns: Sequence[str]) -> None:
    """Read the role of each column, and its feature if it is one.

    They are added to `read.spec`, and their fields to `read.places`.
    """
    features: list[dict[str, Any]] = []
    ignored = []
    for number, name in enumerate(columns):
        role = typed.get(f"c{number}-role", "ignore")
        form.places[f"column {name}"] = f"c{number}-type"
        if name == typed.get("target", "").strip():
            form.places[f"column {name}"] = "target"
        elif role == "feature":
            form.places[f"features[{len(features)}]"] = f"c{number}-role"
            features.append(read_feature(form, typed, number, name))
        elif role in ("group_by", "weight"):
            form.places.setdefault(role, f"c{number}-role")
            if role in form.spec:
                form.refuse(f"c{number}-role", TWICE_RULE)
            form.spec[role] = name
        elif WILDCARD not in name:
            ignored.append(name)
    form.spec["features"] = features
    if ignored:
        form.spec["ignore"] = ignored


def read_feature(
    form: ReadForm, typed: Typed, number: int, name: str
) -> dict[str, Any]:
    """Read a feature; the cost of a bundle's member may be left out."""
    start = f"c{number}-"
    entry: dict[str, Any] = {"name": name, "type": typed.get(f"{start}type", "")}
    for part in ("label", "unit", "group"):
        if text := typed.get(start + part, "").strip():
            entry[part] = text
    usual = "1" if typed.get(SAME_COST) == "yes" else ""
    cost = typed.get(f"{start}cost", "").strip() or usual
    if cost or entry.get("group") not in list_bundles(typed):
        amount = form.read_amount(f"{start}cost", cost)
        entry |= {} if amount is None else {"cost": amount}
    marks = typed.get(f"{start}missing", "")
    if len(marks) > MAX_MARKS:
        form.refuse(f"{start}missing", f"must have at most {MAX_MARKS} characters")
    elif words := split_marks(marks):
        entry["missing"] = words
    if text := typed.get(f"{start}rare", "").strip():
        rare = form.read_whole_number(f"{start}rare", text)
        entry |= {} if rare is None else {"rare": rare}
    return entry


def list_bundles(typed: Typed) -> set[str]:
    """Return the names of groups that have a price."""
    kinds = (name for name in typed if name.startswith("g") and name.endswith("-kind"))
    return {
        typed.get(f"{kind.removesuffix('kind')}name", "").strip()
        for kind in kinds
        if typed[kind] == "price"
    }


def read_groups(form: ReadForm, typed: Typed, columns: Sequence[str]) -> None:
    """Read the groups; refuse a feature's group that has no price."""
    groups: list[dict[str, Any]] = []
    for row in group_rows(typed, columns):
        name = typed.get(f"g{row}-name", "").strip()
        if not name:
            continue
        form.places[f"groups[{len(groups)}]"] = f"g{row}-name"
        kind = "price" if typed.get(f"g{row}-kind") == "price" else "fee"
        amount = form.read_amount(
            f"g{row}-amount", typed.get(f"g{row}-amount", "").strip()
        )
        groups.append({"name": name} | ({} if amount is None else {kind: amount}))
    known = {entry["name"] for entry in groups}
    for number in range(len(columns)):
        is_feature = typed.get(f"c{number}-role") == "feature"
        group = typed.get(f"c{number}-group", "").strip()
        if is_feature and group and group not in known:
            form.refuse(f"c{number}-group", GROUP_RULE)
    if groups:
        form.spec["groups"] = groups


def join_marks(marks: Sequence[str]) -> str:
    """Return words for missing cells in one line; those with a comma are quoted."""
    return ", ".join(
        '"' + mark.replace('"', '""') + '"' if set(mark) & set(',"') else mark
        for mark in marks
    )


def split_marks(text: str) -> list[str]:
    """Return the words of a line that `join_marks` wrote."""
    cells = next(csv.reader([" ".join(text.split())], skipinitialspace=True), [])
    return [cell.strip() for cell in cells if cell.strip()]
