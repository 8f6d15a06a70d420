"""Read a typed line: the feature it answers, and its value or outcome."""

from typing import NamedTuple

from rich.console import Console
from rich.markup import escape

from askless.app.terminal.transcript import value_text
from askless.app.words.wording import is_known, make_doubt
from askless.core.catalogue.catalogue import UNSEEN, Catalogue, Feature
from askless.core.errors import Refusal, RefusedError, shorten
from askless.core.model.ensemble import Ensemble
from askless.core.session.state import Answer, Outcome
from askless.core.table.answer_values import parse_answer
from askless.core.table.texts.categories import name_category
from askless.core.table.texts.numbers import parse_number

OUTCOMES: dict[str, Outcome] = {
    "not available": "unavailable",
    "unavailable": "unavailable",
    "na": "unavailable",
    "refused": "refused",
    "unknown": "unknown",
    "ordered": "ordered",
}

COMMANDS = ("help", "?", "list", "stop", "undo", "go on")

# A longer list of categories shows so many at the prompt.
N_SHOWN = 6


class TypedAnswer(NamedTuple):
    """The answer to a feature as typed; `NAME! = ANSWER` takes it even if useless."""

    feature_idx: int
    text: str
    is_insistent: bool = False


def parse_line(ensemble: Ensemble, asked: int | None, line: str) -> TypedAnswer | None:
    """Return the feature and the answer of a line; None for a command.

    Commands give way to a category of the same name.
    """
    if asked is not None:
        feature = ensemble.catalogue.features[asked]
        if is_choice(feature, line):
            return TypedAnswer(asked, line)
    named = split_named(ensemble.catalogue, line)
    if named is None and asked is not None and line.lower() not in COMMANDS:
        return TypedAnswer(asked, line)
    return named


def split_named(catalogue: Catalogue, text: str) -> TypedAnswer | None:
    """Read `NAME = ANSWER`, the longest name that fits; None if there is none.

    `NAME! = ANSWER` insists, unless a feature is called `NAME!`.
    """
    parts, known = text.split("="), catalogue.feature_idxs
    for n_parts in range(len(parts) - 1, 0, -1):
        name = "=".join(parts[:n_parts]).strip()
        answer = "=".join(parts[n_parts:]).strip()
        if name in known:
            return TypedAnswer(known[name], answer)
        plain = name.removesuffix("!").rstrip()
        if plain != name and plain in known:
            return TypedAnswer(known[plain], answer, is_insistent=True)
    return None


def read_answer(ensemble: Ensemble, feature_idx: int, text: str) -> Answer:
    """Return the answer that a text means; RefusedError if it means none."""
    feature = ensemble.catalogue.features[feature_idx]
    outcome = OUTCOMES.get(text.lower())
    if outcome is not None and not is_choice(feature, text):
        return Answer(feature_idx, outcome)
    if feature.type == "category":
        text = parse_category(feature, text)
    return Answer(feature_idx, "value", parse_answer(feature, text))


def is_choice(feature: Feature, text: str) -> bool:
    """Return whether a text is the name or the label of a category as it stands."""
    return text in feature.categories or text in feature.category_labels


def parse_category(feature: Feature, text: str) -> str:
    """Return the category that a text means by name, label, number or beginning.

    Upper and lower case are equal. Where categories are numbers themselves, only names
    and labels count. A text that means no category is returned as it is. Raises
    RefusedError if it is the beginning of several.
    """
    known = feature.categories
    text = name_category(feature, text)
    if not text or is_known(feature, text):
        return text
    same = [category for category in known if category.casefold() == text.casefold()]
    if len(same) == 1:
        return same[0]
    if not can_be_numbered(feature):
        return text
    if text.isdecimal() and 1 <= int(text) <= len(known):
        return known[int(text) - 1]
    start = text.casefold()
    fits = {
        category: label
        for category, label in zip(known, feature.shown_categories, strict=True)
        if category.casefold().startswith(start) or label.casefold().startswith(start)
    }
    if len(fits) > 1:
        rule = f"may be {' or '.join(fits.values())}: type more of it"
        raise RefusedError([Refusal(feature.name, rule, repr(text))])
    return next(iter(fits), text)


def can_be_numbered(feature: Feature) -> bool:
    """Return whether categories can be answered by number: no category is a number."""
    return all(parse_number(category) is None for category in feature.categories)


def describe_doubt(ensemble: Ensemble, answer: Answer, text: str) -> str | None:
    """Return what is odd about a value, in words."""
    feature = ensemble.catalogue.features[answer.feature_idx]
    if answer.value is None:
        return None
    is_category = feature.type == "category"
    category = parse_category(feature, text) if is_category else None
    doubt = make_doubt(feature, answer.value, category)
    return None if doubt is None else doubt.words


def refuse_unseen(ensemble: Ensemble, answer: Answer, text: str) -> None:
    """Refuse a category that training did not see: it may be a slip."""
    feature = ensemble.catalogue.features[answer.feature_idx]
    if feature.type == "category" and answer.value == UNSEEN:
        seen = f"a category that training saw ({answer_hint(feature)})"
        rule = f"must be {seen}, or use --accept-unseen"
        raise RefusedError([Refusal(feature.name, rule, shorten(text))])


def answer_hint(feature: Feature) -> str:
    """Return a hint at the form of an answer."""
    if feature.type == "boolean":
        return "yes / no"
    if feature.type == "category":
        shown = " / ".join(list_categories(feature)[:N_SHOWN])
        is_whole = len(feature.categories) <= N_SHOWN
        return shown if is_whole else f"{shown} / ... (? for all)"
    return feature.unit or "a number"


def list_categories(feature: Feature) -> list[str]:
    """Return the categories, with their numbers if they have any.

    Where names are numbers, a label stands beside its name.
    """
    shown = feature.shown_categories
    if can_be_numbered(feature):
        return [f"{number} {label}" for number, label in enumerate(shown, 1)]
    return [
        label if label == category else f"{category} {label}"
        for category, label in zip(feature.categories, shown, strict=True)
    ]


def print_choices(console: Console, ensemble: Ensemble, feature_idx: int) -> None:
    """Print everything that may be answered."""
    feature = ensemble.catalogue.features[feature_idx]
    lines = (
        list_categories(feature)
        if feature.type == "category"
        else [answer_hint(feature)]
    )
    if feature.value_range:
        ends = (value_text(ensemble, feature_idx, end) for end in feature.value_range)
        lines = [f"a number; training saw {' to '.join(ends)}"]
    for line in (*lines, "not available / refused / unknown / ordered: see help"):
        console.print(f"   {escape(line)}")
