"""Print how a table was read: features, classes, groups, ignored columns."""

from collections.abc import Iterator, Sequence

import numpy as np
from rich.markup import escape
from rich.table import Column, Table

from askless.app.words.facts import bracket
from askless.app.words.wording import money, percent, percents
from askless.core.arrays import FloatArray
from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.table.check import CheckedTable
from askless.core.table.dataset import Dataset

# Most classes, categories, members or columns named in one line.
MAX_NAMED = 10
# Columns of the terminal that these may take, so that 100 hold all.
MAX_NAME, MAX_VALUES, MAX_GROUP = 22, 28, 12


def build_feature_table(dataset: Dataset) -> Table:
    """Return a table of type, missing share, values and price of each feature."""
    catalogue = dataset.catalogue
    cost = f"cost {bracket(catalogue.cost_unit)}".strip()
    table = Table(
        # Folded: cut names may be the same.
        Column("feature", max_width=MAX_NAME, overflow="fold"),
        Column("type", no_wrap=True),
        Column("missing", justify="right", no_wrap=True),
        # In a narrow terminal this one gives way.
        Column("values", max_width=MAX_VALUES),
        Column(cost, justify="right", no_wrap=True),
        Column("group", max_width=MAX_GROUP, no_wrap=True),
        title="Features",
        title_justify="left",
    )
    for idx, feature in enumerate(catalogue.features):
        values = dataset.values[:, idx]
        table.add_row(
            escape(feature.name),
            feature.type,
            percent(float(np.isnan(values).mean())),
            escape(describe_values(feature, values)),
            "" if catalogue.is_bundled[idx] else money(feature.cost),
            escape(feature.group or ""),
        )
    return table


def describe_values(feature: Feature, values: FloatArray) -> str:
    """Return the range of numbers, the share of true, or the categories."""
    present = values[~np.isnan(values)]
    if present.size == 0:
        return "none"
    if feature.type == "number":
        least, most = float(present.min()), float(present.max())
        return f"{least:.6g} to {most:.6g}"
    if feature.type == "boolean":
        return f"true in {percent(float(present.mean()))}"
    text = f"{len(feature.categories)}: {', '.join(feature.categories)}"
    return text if len(text) <= MAX_VALUES else f"{text[: MAX_VALUES - 3]}..."


def list_first_names(names: Sequence[str]) -> str:
    """Return the first few names, and how many more there are."""
    rest = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {rest:,} more" if rest > 0 else "")


def list_overview_lines(checked: CheckedTable) -> Iterator[str]:
    """Yield lines on groups with fees, ignored columns, and classes with shares."""
    dataset = checked.dataset
    for group in dataset.catalogue.groups:
        yield describe_group(dataset.catalogue, group)
    if dataset.row_groups is not None:
        yield f"Rows that stay together: {np.unique(dataset.row_groups).size:,} groups"
    if checked.ignored:
        yield f"Ignored: {list_first_names(checked.ignored)}"
    shares = np.bincount(
        dataset.targets, weights=dataset.weights, minlength=len(dataset.classes)
    )
    named = tuple(
        f"{label.display} {share}"
        for label, share in zip(
            dataset.classes, percents((shares / shares.sum()).tolist()), strict=True
        )
    )
    yield f"Classes: {list_first_names(named)}"


def describe_group(catalogue: Catalogue, group: Group) -> str:
    """Return a line with a group's fee or price, and its features."""
    members = tuple(
        feature.name for feature in catalogue.features if feature.group == group.name
    )
    amount, noun = (group.fee, "fee") if group.price is None else (group.price, "price")
    price = money(amount, catalogue.cost_unit)
    return f"Group {group.name}: {noun} {price}, once for {list_first_names(members)}"
