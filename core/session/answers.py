"""What a caller says in a session, checked: an answer, or the policy to ask by."""

import math

from core.errors import AnswerError, Refusal, RefusedError, describe
from core.model.ensemble import Ensemble
from core.session.policies import served_by
from core.table.catalogue import UNSEEN, Feature
from core.table.columns import parse_boolean, parse_number


def check_policy(name: str, ensemble: Ensemble, where: str) -> str:
    """Refuse a policy that there is not, or not for this ensemble."""
    policies = served_by(ensemble)
    if name in policies:
        return name
    rule = f"must be one of {', '.join(policies)} for this model"
    raise RefusedError([Refusal(where, rule, repr(name))])


def check_answer(feature: Feature, value: object) -> float:
    """Turn one answer into a value as in `Dataset.values`.

    Parameters
    ----------
    value : object
        A finite number, a boolean (or 0 or 1), or a category as text; a category
        that training did not see is legal. `AnswerError` is raised for any other.
    """
    if feature.type == "category":
        if not isinstance(value, str) or not value:
            raise AnswerError(
                [Refusal(feature.name, "must be a text", describe(value))]
            )
        try:
            return float(feature.categories.index(value))
        except ValueError:
            return UNSEEN
    if feature.type == "boolean":
        if isinstance(value, bool) or value in (0, 1):
            return float(bool(value))
        rule = "must be true or false"
        raise AnswerError([Refusal(feature.name, rule, describe(value))])
    try:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        number = float(value) if is_number else math.nan  # type: ignore[arg-type]  # a number by then
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        rule = "must be a finite number"
        raise AnswerError([Refusal(feature.name, rule, describe(value))])
    return number


def parse_answer(feature: Feature, text: str) -> float:
    """Return an answer written as text as a value; see `check_answer`."""
    if feature.type == "category":
        return check_answer(feature, text)
    parse = parse_number if feature.type == "number" else parse_boolean
    value = parse(text)
    return check_answer(feature, text if value is None else value)
