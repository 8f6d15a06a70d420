"""What callers ask of a session, and its translation into core's terms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.documents.bodies.predictions import GivenAnswer
from core.errors import AnswerError, Refusal, RefusedError
from core.session.answers import KNOWN_RULE, check_answer, is_vain
from core.session.state import Outcome, State
from core.table.catalogue import UNSEEN, Catalogue

UNKNOWN_FEATURE = "must name a feature of the model"


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """One answer in core's terms; `text` is a category that training did not see."""

    feature_idx: int
    outcome: Outcome
    value: float | None = None
    text: str | None = None


def check_known(
    catalogue: Catalogue, known: Mapping[str, object]
) -> tuple[dict[int, float], dict[str, str]]:
    """Return the values known beforehand by feature, and texts that have no code."""
    values: dict[int, float] = {}
    texts: dict[str, str] = {}
    refusals: list[Refusal] = []
    for name, value in known.items():
        where = f"known.{name}"
        feature_idx = catalogue.feature_idxs.get(name)
        if feature_idx is None:
            refusals.append(Refusal(where, UNKNOWN_FEATURE))
            continue
        try:
            values[feature_idx], text = check_value(catalogue, feature_idx, value)
        except AnswerError as error:
            refusals += [Refusal(where, one.rule) for one in error.refusals]
            continue
        if text is not None:
            texts[name] = text
    if refusals:
        raise RefusedError(refusals)
    return values, texts


def check_answers(
    catalogue: Catalogue, state: State, answers: Sequence[GivenAnswer]
) -> list[CheckedAnswer]:
    """Translate the answers of one request, or refuse with all that is wrong."""
    checked: list[CheckedAnswer] = []
    refusals: list[Refusal] = []
    seen: set[str] = set()
    for position, given in enumerate(answers):
        where = f"answers[{position}]"
        feature_idx = catalogue.feature_idxs.get(given.feature)
        has_value = given.value is not None
        if feature_idx is None:
            refusals.append(Refusal(f"{where}.feature", UNKNOWN_FEATURE))
        elif given.feature in seen:
            rule = "must name each feature at most once"
            refusals.append(Refusal(f"{where}.feature", rule))
        elif has_value != (given.outcome == "value"):
            rule = "is given exactly when the outcome is value"
            refusals.append(Refusal(f"{where}.value", rule))
        elif is_vain(state, feature_idx, given.outcome):
            refusals.append(Refusal(f"{where}.outcome", KNOWN_RULE))
        elif not has_value:
            checked.append(CheckedAnswer(feature_idx, given.outcome))
        else:
            try:
                value, text = check_value(catalogue, feature_idx, given.value)
                checked.append(CheckedAnswer(feature_idx, "value", value, text))
            except AnswerError as error:
                found = (Refusal(f"{where}.value", one.rule) for one in error.refusals)
                refusals += found
        seen.add(given.feature)
    if refusals:
        raise RefusedError(refusals)
    return checked


def check_value(
    catalogue: Catalogue, feature_idx: int, value: object
) -> tuple[float, str | None]:
    """Return a value and, of a category that training did not see, its text."""
    feature = catalogue.features[feature_idx]
    number = check_answer(feature, value)
    is_unseen = feature.type == "category" and number == UNSEEN
    return number, str(value) if is_unseen else None
