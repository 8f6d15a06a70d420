"""Translate requests about a session into core's terms."""

from askless.app.documents.http.sessions import (
    AnswersRequest,
    GivenAnswer,
    PredictRequest,
)
from askless.app.documents.session.state import Texts
from askless.app.words.wording import describe_choices, is_known
from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.catalogue.price_lists import unknown_feature_rule
from askless.core.errors import AnswerError, Refusal, RefusedError
from askless.core.session.answers import KNOWN_RULE, discards_known_value
from askless.core.session.state import Answer, State
from askless.core.table.answer_values import check_answer, stands_for_missing
from askless.core.table.cells import tidy_text, write_cell
from askless.core.table.texts.categories import name_category


def check_known(
    catalogue: Catalogue, request: PredictRequest
) -> tuple[dict[int, float], Texts]:
    """Return known values by index, and unseen categories; raise RefusedError."""
    values: dict[int, float] = {}
    texts: Texts = {}
    refusals: list[Refusal] = []
    for name, value in request.known.items():
        where = f"known.{name}"
        feature_idx = catalogue.feature_idxs.get(name)
        if feature_idx is None:
            refusals.append(Refusal(where, unknown_feature_rule(catalogue, name)))
            continue
        try:
            feature = catalogue.features[feature_idx]
            unseen = request.accept_unseen
            values[feature_idx] = check_value(feature, value, texts, unseen)
        except AnswerError as error:
            refusals += [Refusal(where, refusal.rule) for refusal in error.refusals]
    if refusals:
        raise RefusedError(refusals)
    return values, texts


def check_answers(
    catalogue: Catalogue, state: State, request: AnswersRequest
) -> tuple[list[Answer], Texts]:
    """Return answers as core's, and unseen categories; raise RefusedError."""
    checked: list[Answer] = []
    texts: Texts = {}
    refusals: list[Refusal] = []
    seen: set[str] = set()
    for position, given in enumerate(request.answers):
        where = f"answers[{position}]"
        feature_idx = catalogue.feature_idxs.get(given.feature)
        if feature_idx is not None and request.as_cells:
            given = read_as_cell(catalogue.features[feature_idx], given)
        has_value = given.value is not None
        if feature_idx is None:
            rule = unknown_feature_rule(catalogue, given.feature)
            refusals.append(Refusal(f"{where}.feature", rule))
        elif given.feature in seen:
            rule = "must name each feature at most once"
            refusals.append(Refusal(f"{where}.feature", rule))
        elif has_value != (given.outcome == "value"):
            rule = "must be left out: only the outcome value has one"
            if not has_value:
                rule = "is required: the outcome is value"
            refusals.append(Refusal(f"{where}.value", rule))
        elif discards_known_value(state, feature_idx, given.outcome):
            refusals.append(Refusal(f"{where}.outcome", KNOWN_RULE))
        elif not has_value:
            checked.append(Answer(feature_idx, given.outcome))
        else:
            try:
                feature = catalogue.features[feature_idx]
                unseen = request.accept_unseen
                value = check_value(feature, given.value, texts, unseen)
                checked.append(Answer(feature_idx, "value", value))
            except AnswerError as error:
                refusals += (
                    Refusal(f"{where}.value", refusal.rule)
                    for refusal in error.refusals
                )
        seen.add(given.feature)
    if refusals:
        raise RefusedError(refusals)
    return checked, texts


def read_as_cell(feature: Feature, given: GivenAnswer) -> GivenAnswer:
    """Return an answer that is a cell of a table; a blank cell is `unavailable`."""
    has_value = given.outcome == "value" and given.value is not None
    if has_value and stands_for_missing(feature, given.value):
        return GivenAnswer(feature=feature.name, outcome="unavailable")
    return given


def check_value(
    feature: Feature, value: object, texts: Texts, accept_unseen: bool
) -> float:
    """Return a value as core's number; add the text of an unseen category to `texts`.

    It is added also if the category is read as the joined rare ones. A text is read as
    a cell of a table is, and a number as the category that is spelt so.
    """
    number = check_answer(feature, value)
    text = name_category(feature, tidy_text(write_cell(value) or ""))
    if feature.type == "category" and not is_known(feature, text):
        if not (accept_unseen or feature.has_other):
            choices = describe_choices(feature, text)
            rule = (
                f"must be a category that training saw, {choices}; or `accept_unseen`"
            )
            raise AnswerError([Refusal(feature.name, rule)])
        texts[feature.name] = text
    return number
