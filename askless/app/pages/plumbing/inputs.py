"""Form fields of features, and the values read from them."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date

from starlette.datastructures import FormData, QueryParams, UploadFile

from askless.app.documents.fields import Value, read_value
from askless.app.http.plumbing.days import read_day
from askless.app.words.wording import describe_value
from askless.core.catalogue.catalogue import Feature
from askless.core.errors import AnswerError, Refusal, RefusedError
from askless.core.table.answer_values import parse_answer

BOOLEANS = (("yes", "Yes"), ("no", "No"))


def field_text(form: FormData, field: str) -> str:
    """Return the text of a field, stripped; "" for a file."""
    content = form.get(field)
    return content.strip() if isinstance(content, str) else ""


def get_uploaded_table(form: FormData, field: str) -> UploadFile:
    """Return the table of a form; a refusal of none is one of the field."""
    part = form.get("dataset")
    if isinstance(part, UploadFile) and part.filename:
        return part
    raise RefusedError([Refusal(field, "must be chosen, or dropped here")])


def read_filters(params: QueryParams, names: Iterable[str]) -> dict[str, str]:
    """Return the filters in an address; an empty field filters nothing."""
    asked = {name: params.get(name, "").strip() for name in names}
    return {name: text for name, text in asked.items() if text}


def read_days(asked: Mapping[str, str], refusals: list[Refusal]) -> dict[str, date]:
    """Return the days `from` and `to` if given; add errors to `refusals`."""
    days = {}
    for name in ("from", "to"):
        try:
            if name in asked:
                days[name] = read_day(asked[name])
        except ValueError:
            refusals.append(Refusal(name, "must be a day, such as 2026-11-20"))
    if len(days) == 2 and days["from"] > days["to"]:
        refusals.append(Refusal("from", f"must not be after {days['to']}"))
    return days


def list_options(feature: Feature) -> Sequence[tuple[str, str]]:
    """Return a feature's choices as pairs of value and text; () for a text field."""
    if feature.type == "boolean":
        return BOOLEANS
    names = (category.strip() for category in feature.categories)
    return tuple(zip(names, feature.shown_categories, strict=True))


def range_hint(feature: Feature) -> str:
    """Return the range of a number in training, as a hint."""
    if feature.value_range is None:
        return ""
    low, high = (describe_value(feature, end) for end in feature.value_range)
    return f"Training saw {low} to {high}."


def read_typed(feature: Feature, text: str, field: str) -> Value:
    """Return a feature's typed value; RefusedError names the field of the form."""
    try:
        read_value(text)
        number = parse_answer(feature, text)
    except AnswerError as error:
        rules = [Refusal(field, refusal.rule) for refusal in error.refusals]
        raise RefusedError(rules) from None
    except ValueError as error:
        raise RefusedError([Refusal(field, str(error))]) from None
    if feature.type == "category":
        return text
    return bool(number) if feature.type == "boolean" else number
