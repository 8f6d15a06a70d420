"""Translates requests about a session into core's terms."""

from collections.abc import Mapping, Sequence

from app.documents.http.sessions import GivenAnswer
from app.documents.state import Texts
from app.words.wording import is_known
from core.errors import AnswerError, Refusal, RefusedError
from core.session.answers import KNOWN_RULE, check_answer, is_vain
from core.session.state import Answer, State
from core.table.catalogue import Catalogue

UNKNOWN_FEATURE = "must name a feature of the model"


def check_known(
    catalogue: Catalogue, known: Mapping[str, object]
) -> tuple[dict[int, float], Texts]:
    """Return the known values by feature index, and category texts without a code."""
    values: dict[int, float] = {}
    texts: Texts = {}
    refusals: list[Refusal] = []
    for name, value in known.items():
        where = f"known.{name}"
        feature_idx = catalogue.feature_idxs.get(name)
        if feature_idx is None:
            refusals.append(Refusal(where, UNKNOWN_FEATURE))
            continue
        try:
            values[feature_idx] = check_value(catalogue, feature_idx, value, texts)
        except AnswerError as error:
            refusals += [Refusal(where, one.rule) for one in error.refusals]
    if refusals:
        raise RefusedError(refusals)
    return values, texts


def check_answers(
    catalogue: Catalogue, state: State, answers: Sequence[GivenAnswer]
) -> tuple[list[Answer], Texts]:
    """Return a request's answers in core's terms, and category texts without a code.

    Raises RefusedError with every broken rule.
    """
    checked: list[Answer] = []
    texts: Texts = {}
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
            checked.append(Answer(feature_idx, given.outcome))
        else:
            try:
                value = check_value(catalogue, feature_idx, given.value, texts)
                checked.append(Answer(feature_idx, "value", value))
            except AnswerError as error:
                refusals += (
                    Refusal(f"{where}.value", one.rule) for one in error.refusals
                )
        seen.add(given.feature)
    if refusals:
        raise RefusedError(refusals)
    return checked, texts


def check_value(
    catalogue: Catalogue, feature_idx: int, value: object, texts: Texts
) -> float:
    """Return a value as core's number; add the text of an unseen category to `texts`.

    It is added also if the category is read as the joined rare ones.
    """
    feature = catalogue.features[feature_idx]
    number = check_answer(feature, value)
    text = str(value).strip()
    if feature.type == "category" and not is_known(feature, text):
        texts[feature.name] = text
    return number
