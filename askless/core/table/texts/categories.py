"""Categories and classes by their texts: which spellings are one, which look alike."""

import re
from collections.abc import Collection, Iterable, Sequence

from askless.core.catalogue.catalogue import OTHER, UNSEEN, Feature
from askless.core.errors import shorten
from askless.core.table.texts.numbers import (
    DECIMAL_COMMA,
    HYPHENS,
    has_leading_zero,
    parse_number,
)

# A whole number in any writing but that of codes.
WHOLE = re.compile(r"(-?)\+?(0|[1-9]\d*)(?:\.0*)?", re.ASCII)
TRUTHS = ("true", "false")
# A note names at most so many pairs.
MAX_PAIRS = 3


def whole_text(text: str) -> str:
    """Return a whole number as it is written without decimals: 1.0 is 1."""
    match = WHOLE.fullmatch(text.translate(HYPHENS))
    if match is None:
        return text
    sign, digits = match.groups()
    return digits if digits == "0" else sign + digits


def unify_spellings(texts: Collection[str]) -> dict[str, str]:
    """Return the name of each text: that of the category or class it stands for.

    Whole numbers are one whether they are written 1 or 1.0. Where fractions stand
    beside them these may be codes, such as 250, 250.0 and 250.1: then two writings of a
    column stay two. Truth values are one in capitals or not.
    """
    truths = [text for text in texts if text.lower() in TRUTHS]
    if len(truths) > len({text.lower() for text in truths}):
        others = unify_spellings(set(texts) - {*truths})
        return others | {text: text.lower() for text in truths}
    names = {text: whole_text(text) for text in texts}
    if len(set(names.values())) == len(names) or not any(map(is_fraction, texts)):
        return names
    return {text: text for text in texts}


def is_fraction(text: str) -> bool:
    """Return whether a text is a number that is not whole."""
    number = parse_number(text)
    return number is not None and number % 1 != 0


def match_name(names: Sequence[str], text: str) -> int | None:
    """Return the place of the category or class that a text stands for; None: of none.

    A text stands for the name of its writing; else for the one name that is the same
    whole number (1.0 is 1), the same truth value (True is true), or the same number
    where all names have equally many decimals (0.5 is 0.50).
    """
    if text in names:
        return names.index(text)
    key = write_key(text)
    places = [place for place, name in enumerate(names) if write_key(name) == key]
    if not places and is_fraction(text) and have_equal_decimals(names):
        number = parse_number(text)
        places = [
            place for place, name in enumerate(names) if parse_number(name) == number
        ]
    return places[0] if len(places) == 1 else None


def write_key(text: str) -> str:
    """Return what is equal of two texts that stand for one category."""
    # Old models hold categories with white space around them.
    text = whole_text(text.strip())
    if DECIMAL_COMMA.fullmatch(text):
        # A table parted by semicolons has its decimal commas replaced.
        return text.replace(",", ".")
    return text.lower() if text.lower() in TRUTHS else text


def have_equal_decimals(names: Iterable[str]) -> bool:
    """Return whether all numbers have equally many decimals, and none leading zeros."""
    numbers = [name for name in names if parse_number(name) is not None]
    n_decimals = {len(name.partition(".")[2]) for name in numbers}
    return len(n_decimals) == 1 and not any(map(has_leading_zero, numbers))


def category_code(feature: Feature, category: str) -> float:
    """Return the code of a category, `UNSEEN` if training did not see it."""
    known = feature.categories
    place = match_name(known, category)
    if place is not None:
        return float(place)
    return float(known.index(OTHER)) if feature.has_other else UNSEEN


def name_category(feature: Feature, text: str) -> str:
    """Return the category that a text means by its name or its label; else the text.

    Labels are equal in upper and lower case, names are not.
    """
    if feature.category_labels and match_name(feature.categories, text) is None:
        labels = [fold(label) for label in feature.category_labels]
        if fold(text) in labels:
            return feature.categories[labels.index(fold(text))]
    return text


def label_of(feature: Feature, category: str) -> str:
    """Return what people read for a category; an unknown one as it is written."""
    place = match_name(feature.categories, category)
    return category if place is None else feature.shown_categories[place]


def fold(text: str) -> str:
    """Return what is equal of two labels that only case or spaces tell apart."""
    return " ".join(text.casefold().split())


def list_ambiguous_labels(
    categories: Sequence[str], labels: Sequence[str]
) -> list[tuple[str, str]]:
    """Return the labels that could mean another category too, each with the rule.

    Both are in the same order; a label that is its category's name is none.
    """
    pairs = [*zip(categories, labels, strict=True)]
    return [
        (label, f"must not be the name or the label of {shorten(other)} too")
        for category, label in pairs
        for other, shown in pairs
        if other != category != label and fold(label) in (fold(other), fold(shown))
    ]


def list_lookalikes(texts: Iterable[str]) -> list[tuple[str, str]]:
    """Return pairs of texts that differ by case, spaces or `.0` alone."""
    first: dict[str, str] = {}
    pairs = []
    for text in texts:
        key = fold(whole_text(text))
        other = first.setdefault(key, text)
        if other != text:
            pairs.append((other, text))
    return pairs


def note_lookalikes(texts: Iterable[str], noun: str) -> list[str]:
    """Return a note on texts that are nearly equal; `noun`: what they are."""
    pairs = list_lookalikes(texts)
    if not pairs:
        return []
    shown = ", ".join(
        f"{shorten(first)} and {shorten(other)}" for first, other in pairs[:MAX_PAIRS]
    )
    more = f" and {len(pairs) - MAX_PAIRS} more" if len(pairs) > MAX_PAIRS else ""
    return [
        f"{shown}{more} differ by case, spaces or .0 alone, and are {noun} of their "
        "own; if they mean the same, write them alike"
    ]
