"""Draft the spec of a column from its cells: type, missing words, reason to ignore.

A column that predicts the target very well is often a leak, so each gets a score.
"""

import re
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.catalogue.catalogue import Feature, FeatureType
from askless.core.errors import shorten
from askless.core.table.cells import (
    are_measures,
    infer_cell_type,
    is_blank,
    is_date,
    missing_words,
)
from askless.core.table.columns import (
    Column,
    count_categories,
    count_texts,
    learn_categories,
    learn_writing,
    read_feature,
    select_present,
    to_text_cells,
)
from askless.core.table.dataset import MAX_CODES
from askless.core.table.notes import (
    list_suspected_codes,
    note_codes,
    note_missing_words,
    note_reading,
    note_values,
)
from askless.core.table.texts.numbers import (
    COMMA_NUMBER,
    THOUSANDS,
    common_unit,
    read_number,
    strip_unit,
    uses_decimal_commas,
    write_number,
)

# Most rows that are read; of a longer table evenly spaced ones.
MAX_ROWS = 20_000
# A bin of numbers has at least so many values on average.
ROWS_PER_BIN = 20
MAX_BINS = 254
# Fewer rows may be ordered well, or all differ, by chance.
LEAST_ROWS = 20


def score_column(values: FloatArray, targets: IntArray, n_classes: int) -> float:
    """Return how well a column alone predicts the target, from 0 to 1 (exactly).

    Parameters
    ----------
    values : float64 array, shape (n_samples,)
        Numbers or codes, NaN where missing; missing is a value of its own.
    targets : int64 array, shape (n_samples,)
        Class positions.

    Notes
    -----
    The greater of two statistics: Goodman and Kruskal's (1954) lambda, cross-validated
    on two halves (`compute_error_reduction`), and for two classes the size of Somers' D
    (`compute_somers_d`).
    """
    step = -(-values.size // MAX_ROWS)
    values, targets = values[::step], targets[::step]
    score = compute_error_reduction(assign_bins(values), targets, n_classes)
    if n_classes == 2:
        score = max(score, abs(compute_somers_d(values, targets)))
    return score


def assign_bins(values: FloatArray) -> IntArray:
    """Return the bin of each value; the last one is for missing values."""
    present = values[~np.isnan(values)]
    cuts = np.unique(present)
    if cuts.size > MAX_BINS:
        n_bins = min(MAX_BINS, max(2, present.size // ROWS_PER_BIN))
        cuts = np.unique(np.quantile(present, np.linspace(0, 1, n_bins + 1)))
    bins = np.searchsorted(cuts, values, side="right")
    return np.where(np.isnan(values), cuts.size + 1, bins)


def compute_error_reduction(bins: IntArray, targets: IntArray, n_classes: int) -> float:
    """Return how much smaller the error is with the column than without it.

    Goodman and Kruskal's (1954) lambda, cross-validated: each half of the rows is
    predicted as the most frequent class of the other half in the same bin. Without the
    column every row is predicted as the most frequent class of all. Never below 0.
    """
    n_rows = targets.size
    prior = np.bincount(targets, minlength=n_classes)
    n_errors = n_rows - prior.max()
    if n_errors == 0:
        return 0.0
    half = np.random.default_rng(0).permutation(n_rows) % 2
    n_right = 0
    for side in (0, 1):
        is_known = half == side
        counts = np.zeros((int(bins.max()) + 1, n_classes), np.int64)
        np.add.at(counts, (bins[is_known], targets[is_known]), 1)
        modes = np.where(counts.any(axis=1), counts.argmax(axis=1), prior.argmax())
        n_right += int((modes[bins[~is_known]] == targets[~is_known]).sum())
    return max(0.0, 1.0 - (n_rows - n_right) / int(n_errors))


def compute_somers_d(values: FloatArray, targets: IntArray) -> float:
    """Return Somers' D of the values for two classes: 2 AUROC - 1, from -1 to 1.

    Missing values are left out. 0 where a class has fewer than `LEAST_ROWS` rows or
    where most values are missing.

    Notes
    -----
    The area under the ROC curve is computed from mean ranks (Hanley and McNeil 1982).
    """
    is_present = ~np.isnan(values)
    present, classes = values[is_present], targets[is_present]
    n_second = int((classes == 1).sum())
    n_first = classes.size - n_second
    if min(n_first, n_second) < LEAST_ROWS or 2 * classes.size < values.size:
        return 0.0
    _, places, counts = np.unique(present, return_inverse=True, return_counts=True)
    # The mean rank of each distinct value, counted from 1.
    ranks = np.cumsum(counts) - (counts - 1) / 2
    n_ordered = ranks[places][classes == 1].sum() - n_second * (n_second + 1) / 2
    return 2.0 * float(n_ordered) / (n_first * n_second) - 1.0


# A column with at least this `score_column` may be a leak.
LEAK = 0.95
NEARLY_EMPTY = 0.9
# A column of words and at most so many distinct numbers is read as categories.
FEW_NUMBERS = 20
MAX_STRAYS = 50
# Values of `rare` that are tried, and how many categories may be left, first and last;
# one more is for the rare ones.
RARES = (5, 10, 20, 50, 100, 200, 500, 1000)
KEPT_CATEGORIES = (100, MAX_CODES - 1)
# Last words of the names of identifiers.
ID_WORDS = frozenset(
    {"id", "ids", "uid", "uuid", "guid", "key", "nr", "nbr", "index", "idx", "mrn"}
)
DATES = "dates, as {}; a number says more, such as days since a day"
IDENTIFIER = "an identifier"
MARKED = "constant but for empty cells; with a word in these it can be used"
SIGNS = "numbers with different signs, as {}; written with one each, they can be used"
REPEATED = "an identifier that repeats; as `group_by` it keeps its rows together"


@dataclass(frozen=True)
class ColumnDraft:
    """The drafted spec of a column, and notes for a person.

    `missing` and `rare` are fields of the feature. `reason` says why the column should
    be ignored; "": it is a feature.
    """

    name: str
    type: FeatureType
    missing: tuple[str, ...] = ()
    rare: int = 0
    reason: str = ""
    notes: tuple[str, ...] = ()
    #: the sign that all numbers have in their cells, such as £; "": none
    unit: str = ""


def draft_column(
    name: str,
    column: Column,
    targets: IntArray,
    n_classes: int,
    words: tuple[str, ...] | None = None,
    *,
    is_declared: bool = False,
) -> ColumnDraft:
    """Return the draft that the cells of a column suggest.

    Parameters
    ----------
    column : array, shape (n_samples,)
        float64 with NaN, or str and None.
    targets : int64 array, shape (n_samples,)
        Class positions; a column that predicts them too well gets a note.
    words : tuple of str, optional
        The words that mean missing; None: the usual ones.
    is_declared : bool
        Whether the source says that the cells are texts, which are no numbers then.
    """
    feature = Feature(name, missing_words=words)
    texts = count_texts(column)
    present = select_present(feature, texts)
    counts = Counter({w: n for w, n in present.items() if not is_blank(feature, w)})
    unit = "" if is_declared else common_unit(counts)
    if unit:
        feature = replace(feature, unit=unit)
        notes = describe_unit(counts, unit)
    else:
        feature, notes = draft_type(feature, column, counts, is_declared=is_declared)
    feature = learn_writing(feature, texts)
    # Why there are categories was noted where the type was drafted.
    if feature.type == "number" or not notes:
        notes += note_reading(feature, present, is_declared=is_declared)
    if feature.type != "number":
        notes += note_missing_words(texts, column.size, missing_words(feature))
    rare = 0
    if feature.type == "category":
        feature, rare, reason = draft_categories(feature, column)
        if reason:
            return ColumnDraft(name, "category", reason=reason, notes=tuple(notes))
    values, _ = read_feature(feature, column)
    missing = feature.missing
    if feature.type == "number":
        codes = list_suspected_codes(values)
        missing += tuple(map(write_number, codes))
        values = np.where(np.isin(values, codes), np.nan, values)
        notes += [f"{write_number(code)} is taken for missing" for code in codes]
    reason = reason_to_ignore(name, feature.type, values)
    if not reason:
        notes += note_codes(values) if feature.type == "number" else []
        notes += list_oddities(values, targets, n_classes)
        notes += note_values(feature, values)
    notes = [*dict.fromkeys(notes)]
    return ColumnDraft(name, feature.type, missing, rare, reason, tuple(notes), unit)


def describe_unit(counts: Counter[str], unit: str) -> list[str]:
    """Return a note on the sign that all numbers have, and on their thousands."""
    first = next(iter(counts))
    decimal_comma = uses_decimal_commas(counts)
    plain = {strip_unit(word, unit): word for word in counts}
    parted = next((word for word in plain if THOUSANDS.fullmatch(word)), None)
    if parted is None or decimal_comma:
        number = read_number(first, unit, decimal_comma=decimal_comma) or 0.0
        return [f"has numbers with the unit {unit}: {first} is {write_number(number)}"]
    return [f"{describe_thousands(parted)}, with the unit {unit}"]


def describe_thousands(parted: str) -> str:
    """Return a note on signs between thousands."""
    number = write_number(read_number(parted) or 0.0)
    return f"has numbers with signs between thousands: {parted} is {number}"


def draft_type(
    feature: Feature, column: Column, counts: Counter[str], *, is_declared: bool
) -> tuple[Feature, list[str]]:
    """Return a feature with the type of its column and its missing words, and notes.

    `counts` has the words among numbers that mean no missing one.
    """
    if column.dtype != np.object_ and is_declared:
        return replace(feature, type="category"), []
    if column.dtype != np.object_:
        infinite = [write_number(x) for x in np.unique(column[np.isinf(column)])]
        notes = [f"{word} is taken for missing" for word in infinite]
        return replace(feature, missing=tuple(infinite)), notes
    cells = to_text_cells(column, missing_words(feature))
    has_gaps = feature.missing_words is None
    kind = infer_cell_type(cells.present, has_gaps=has_gaps, is_declared=is_declared)
    if kind != "number":
        return replace(feature, type=kind), []
    decimal_comma = uses_decimal_commas(counts)
    numbers = {word: read_number(word, decimal_comma=decimal_comma) for word in counts}
    strays = sorted(
        word
        for word, number in numbers.items()
        # A comma that parts no thousands is no word for missing: it is refused.
        if not (
            np.isfinite(number) if number is not None else COMMA_NUMBER.fullmatch(word)
        )
    )
    parted = next((word for word in counts if THOUSANDS.fullmatch(word)), None)
    notes = [describe_thousands(parted)] if parted and not decimal_comma else []
    if not strays:
        return feature, notes
    row = next(row for row, cell in enumerate(cells) if cell in strays)
    place = f"{shorten(cells[row])} in row {row + 1}"
    if len(counts) - len(strays) <= FEW_NUMBERS or len(strays) > MAX_STRAYS:
        note = f"has numbers and words, as {place}, so it is read as categories; if "
        note += "they mean missing, say type number and put them in `missing`"
        return replace(feature, type="category"), [note]
    n_rows = sum(counts[cell] for cell in strays)
    note = f"{place} stands among numbers, so it is taken for missing"
    if n_rows > 1:
        more = "1 more cell" if n_rows == 2 else f"{n_rows - 1} more cells"
        note = f"{place} and {more} stand among numbers, so they are taken for missing"
    return replace(feature, missing=tuple(strays)), [note, *notes]


def draft_categories(feature: Feature, column: Column) -> tuple[Feature, int, str]:
    """Return the feature with its categories, its `rare`, and a reason to ignore it.

    `rare` is 0 if the categories are few enough; the reason is "" if it is to be kept.
    """
    counts = count_categories(feature, column)
    n_rows, n_categories = counts.total(), len(counts)
    if 2 * sum(map(is_date, counts)) > n_categories:
        return feature, 0, DATES.format(shorten(next(filter(is_date, counts))))
    signs = SIGNS.format(shorten(next(iter(counts)))) if are_measures(counts) else ""
    reason = identifier_reason(feature.name, n_categories, n_rows)
    if reason:
        return feature, 0, signs or reason
    rare = 0
    if n_categories > MAX_CODES:
        kept_counts = {
            least: [n for n in counts.values() if n >= least] for least in RARES
        }
        enough = (
            least
            for most in KEPT_CATEGORIES
            for least, kept in kept_counts.items()
            if len(kept) <= most and 2 * sum(kept) >= n_rows
        )
        rare = next(enough, 0)
        if not rare:
            text = f"free text: {n_categories} values, few of them common"
            return feature, 0, signs or text
    return learn_categories(feature, column, rare)[0], rare, ""


def identifier_reason(name: str, n_distinct: int, n_rows: int) -> str:
    """Return the reason to take a column for an identifier; "": it is none."""
    if n_rows <= LEAST_ROWS:
        return ""
    if n_distinct == n_rows:
        return IDENTIFIER
    return REPEATED if has_id_name(name) and 2 * n_distinct > n_rows else ""


def has_id_name(name: str) -> bool:
    """Return whether a column has the name of an identifier: "patient_id", "RowNr"."""
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+", name)
    return bool(words) and words[-1].lower() in ID_WORDS


def reason_to_ignore(name: str, kind: FeatureType, values: FloatArray) -> str:
    """Return the reason to ignore a column; "": it is a feature."""
    present = values[~np.isnan(values)]
    if present.size == 0:
        return "empty"
    n_distinct = np.unique(present).size
    if n_distinct == 1:
        return "constant" if present.size == values.size else MARKED
    if kind != "number" or np.any(present % 1 != 0):
        return ""
    reason = identifier_reason(name, n_distinct, present.size)
    # Whole numbers that all differ may be measured, unless they are nearly consecutive
    # or ascend from row to row.
    is_dense = float(present.max()) - float(present.min()) < 2 * present.size
    is_serial = is_dense or bool(np.all(present[1:] > present[:-1]))
    return reason if is_serial or has_id_name(name) else ""


def list_oddities(values: FloatArray, targets: IntArray, n_classes: int) -> list[str]:
    """Return notes on a feature that is nearly empty or may leak the target."""
    notes = []
    empty = float(np.isnan(values).mean())
    if empty >= NEARLY_EMPTY:
        notes.append(f"{100 * empty:.0f} % of its values are missing")
    if score_column(values, targets, n_classes) >= LEAK:
        notes.append(
            "says nearly all of the target by itself; if it is known only after the "
            "answer, put it in `ignore`"
        )
    return notes
