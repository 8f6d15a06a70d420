"""Read rows of an outside table for an ensemble that is already trained."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.catalogue.catalogue import UNSEEN, Feature
from askless.core.catalogue.prices import Paid, buy
from askless.core.errors import Refusal, RefusedError, nearest_hint, shorten
from askless.core.model.ensemble import Ensemble
from askless.core.table.cells import is_blank, missing_words
from askless.core.table.columns import (
    Column,
    Columns,
    cell_refusal,
    read_feature,
    to_text_cells,
    unknown_column,
)
from askless.core.table.texts.categories import match_name

# One row is a case of its own, and no batch; so are few where rare ones were joined.
LEAST_UNSEEN, LEAST_OTHERS = 2, 20
# Categories that a refusal names.
MOST_NAMED = 5


@dataclass(frozen=True)
class UnseenNames:
    """Rows with categories that training did not see: how many, and one, by feature."""

    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def __add__(self, other: "UnseenNames") -> "UnseenNames":
        examples = other.examples | self.examples
        return UnseenNames(self.counts + other.counts, examples)


class BlockValues(NamedTuple):
    """Values of some rows for an ensemble, (n_rows, n_features), and unseen ones."""

    values: FloatArray
    unseen: UnseenNames


def check_rows(
    columns: Columns, ensemble: Ensemble, most: int | None = None
) -> tuple[FloatArray, list[str]]:
    """Return the values of a table for an ensemble that is already trained.

    A category that training did not see is `UNSEEN`. A column may be absent if no
    hypothesis reads it, or if it alone costs more than `most`, the most that will be
    spent, in micro-units (None: no limit). Returns the values, (n_rows, n_features),
    and warnings; raises `RefusedError` with every broken rule.
    """
    block = check_block(columns, ensemble, most)
    return block.values, warn_unseen(ensemble, block.unseen)


def check_block(
    columns: Columns, ensemble: Ensemble, most: int | None = None
) -> BlockValues:
    """Return the values of some rows; parameters and errors are as in `check_rows`."""
    n_rows = len(next(iter(columns.values()))) if columns else 0
    refusals = empty_refusals(n_rows)
    values = np.full((n_rows, len(ensemble.catalogue.features)), np.nan)
    for idx, (cells, wrong) in enumerate(read_cells(columns, ensemble, most)):
        refusals += wrong
        if cells is not None:
            values[:, idx] = cells
    if refusals:
        raise RefusedError(refusals)
    return BlockValues(values, find_unseen(columns, ensemble, values.T))


def cell_refusals(
    columns: Columns, ensemble: Ensemble, most: int | None
) -> list[Refusal]:
    """Return the refusals of a table's columns; it reads one column at a time."""
    return [r for _, wrong in read_cells(columns, ensemble, most) for r in wrong]


def empty_refusals(n_rows: int) -> list[Refusal]:
    """Refuse a table without rows."""
    rule = "must have at least one row"
    return [] if n_rows else [Refusal("table", rule)]


def read_cells(
    columns: Columns, ensemble: Ensemble, most: int | None
) -> Iterator[tuple[FloatArray | None, list[Refusal]]]:
    """Yield the values of each feature, None where it is absent, and refusals."""
    for idx, feature in enumerate(ensemble.catalogue.features):
        column = find_column(columns, feature.name)
        if column is not None:
            yield read_feature(feature, column)
        elif ensemble.is_used[idx] and is_payable(ensemble, idx, most):
            yield None, [unknown_column("features", feature.name, columns)]
        else:
            yield None, []


def find_unseen(
    columns: Columns, ensemble: Ensemble, read: Iterable[FloatArray | None]
) -> UnseenNames:
    """Return the unseen categories of some rows; `read` has each feature's values."""
    unseen = UnseenNames()
    for feature, values in zip(ensemble.catalogue.features, read, strict=True):
        if feature.type != "category" or values is None:
            continue
        rows = np.flatnonzero(values == UNSEEN)
        if rows.size:
            column = find_column(columns, feature.name)
            assert column is not None, "its values were read"
            first = to_text_cells(column[rows[:1]], ()).words[0]
            unseen.counts[feature.name] = rows.size
            unseen.examples[feature.name] = shorten(first)
    return unseen


def warn_unseen(ensemble: Ensemble, unseen: UnseenNames) -> list[str]:
    """Return warnings of rows with categories that training did not see."""
    is_stumps = ensemble.panels is None and all(
        hypothesis.sole_stump for hypothesis in ensemble.hypotheses
    )
    effect = "the model reads it there as none of its categories"
    if is_stumps:
        effect = "every stump on it abstains there"
    return [
        f"{feature.name}: {unseen.counts[feature.name]} rows with categories that "
        f"training did not see, as {unseen.examples[feature.name]}; {effect}"
        for feature in ensemble.catalogue.features
        if feature.name in unseen.counts
    ]


class UnseenCells(NamedTuple):
    """How many cells a column of categories has, and those that training did not see.

    `words` counts the latter by their text.
    """

    n_present: int
    words: Counter[str]

    def __add__(self, other: object) -> "UnseenCells":
        assert isinstance(other, UnseenCells), "counts are added to counts"
        return UnseenCells(self.n_present + other.n_present, self.words + other.words)


def count_unseen(feature: Feature, column: Column) -> UnseenCells:
    """Return how many cells of a category have a name that training did not see."""
    counts = to_text_cells(column, missing_words(feature)).present
    present = Counter({w: n for w, n in counts.items() if not is_blank(feature, w)})
    words = {
        word: n
        for word, n in present.items()
        if match_name(feature.categories, word) is None
    }
    return UnseenCells(present.total(), Counter(words))


def refuse_unseen_batch(
    parts: Iterable[Columns],
    ensemble: Ensemble,
    option: str,
    *,
    is_learnt: bool = False,
) -> None:
    """Refuse a table, which comes in parts, whose categories training did not see.

    `option` is how a caller takes it all the same. A model that learns the table may
    come to read any feature. Raises `RefusedError` for columns of which most cells are
    unseen.
    """
    features = [
        feature
        for feature, is_used in zip(
            ensemble.catalogue.features, ensemble.is_used, strict=True
        )
        if (is_used or is_learnt) and feature.type == "category"
    ]
    unseen = [UnseenCells(0, Counter()) for _ in features]
    for columns in parts if features else ():
        for idx, feature in enumerate(features):
            column = find_column(columns, feature.name)
            if column is not None:
                unseen[idx] += count_unseen(feature, column)
    refusals = [
        refusal
        for feature, cells in zip(features, unseen, strict=True)
        for refusal in refuse_unseen_cells(feature, cells, option)
    ]
    if refusals:
        raise RefusedError(refusals)


def refuse_unseen_cells(
    feature: Feature, unseen: UnseenCells, option: str
) -> list[Refusal]:
    """Refuse a column of several cells most of which training did not see.

    Where rare categories were joined many may be unseen: there all of many are refused.
    """
    n_unseen = unseen.words.total()
    is_most = 2 * n_unseen > unseen.n_present and n_unseen >= LEAST_UNSEEN
    if feature.has_other:
        is_most = n_unseen == unseen.n_present and n_unseen >= LEAST_OTHERS
    if not is_most:
        return []
    word = unseen.words.most_common(1)[0][0]
    seen = [shorten(name) for name in feature.categories[:MOST_NAMED]]
    more = ", ..." if len(feature.categories) > MOST_NAMED else ""
    rule = (
        "most of its cells must be categories that training saw, as "
        f"{', '.join(seen)}{more}{nearest_hint(word, feature.categories)}; write them "
        f"so, or take them as they are: {option}"
    )
    shown = f"{shorten(word)} and others in {n_unseen} of {unseen.n_present} cells"
    return [Refusal(f"column {feature.name}", rule, shown)]


def mark_askable_features(ensemble: Ensemble) -> BoolArray:
    """Return which features sessions may reveal, as a mask; (n_features,).

    They are the features that the ensemble reads, and others of the same bundles.
    """
    bundles = {
        group.name for group in ensemble.catalogue.groups if group.price is not None
    }
    groups = [feature.group for feature in ensemble.catalogue.features]
    bought = bundles.intersection(
        group
        for group, is_used in zip(groups, ensemble.is_used, strict=True)
        if is_used
    )
    comes_with = np.array([group in bought for group in groups], np.bool_)
    needed: BoolArray = ensemble.is_used | comes_with
    return needed


def find_column(columns: Columns, name: str) -> Column | None:
    """Return a column by name; old models have names with white space around them."""
    column: Column | None = columns.get(name, columns.get(name.strip()))
    return column


def is_payable(ensemble: Ensemble, feature_idx: int, most: int | None) -> bool:
    """Return whether `most`, in micro-units, pays for a feature and its group."""
    amount, _ = buy(ensemble.catalogue, Paid(), (feature_idx,))
    return most is None or amount <= most


def check_targets(columns: Columns, ensemble: Ensemble, target: str) -> IntArray:
    """Return the position of each row's true class, (n_rows,).

    Raises `RefusedError` where the table has no column `target`, or that column holds
    a class that the ensemble lacks.
    """
    column = find_column(columns, target)
    if column is None:
        raise RefusedError([unknown_column("target", target, columns)])
    # A class may be called like a word that means missing.
    labels = to_text_cells(column, ())
    names = [label.label for label in ensemble.classes]
    places = [
        None if word is None else match_name(names, word) for word in labels.words
    ]
    by_word = [-1 if place is None else place for place in places]
    targets: IntArray = np.array(by_word, np.int64)[labels.numbers]
    wrong = np.flatnonzero(targets < 0)
    if wrong.size:
        rule = f"must be one of the classes {', '.join(map(str.strip, names))}"
        raise RefusedError([cell_refusal(target, rule, wrong, labels)])
    return targets
