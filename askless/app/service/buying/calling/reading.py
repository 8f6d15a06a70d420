"""Make a provider's request for a case, and read what it answers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError

from askless.app.documents.buying.providers import Provider
from askless.app.documents.buying.templates import (
    Filler,
    Placeholder,
    UnfitError,
    write_json,
)
from askless.app.documents.fields import MAX_VALUE, VALUE_RULE, is_storable
from askless.app.service.buying.calling.sending import Message
from askless.app.settings import secrets
from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.errors import AnswerError, Refusal
from askless.core.table.answer_values import check_answer, parse_answer
from askless.core.table.cells import is_blank, tidy_text, write_cell
from askless.core.table.texts.categories import match_name


class MissingError(Exception):
    """A key or a secret is not there, or can't stand where the template has it."""

    def __init__(self, placeholder: Placeholder, rule: str) -> None:
        self.placeholder = placeholder
        super().__init__(f"{placeholder.kind} {placeholder.name} {rule}")


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """The values that a provider answered for the features that it fills."""

    #: by feature, as core reads it; None: the provider has no value
    values: dict[str, float | None]
    #: text of categories that training did not see, by feature
    texts: dict[str, str]
    #: rules that values broke, by feature; these are kept out of the prediction
    refusals: dict[str, str]

    @property
    def is_empty(self) -> bool:
        """Whether no feature has a value, not even one that can't be read."""
        has_value = any(value is not None for value in self.values.values())
        return not has_value and not self.refusals


def make_message(
    provider: Provider, keys: Mapping[str, str], folder: Path | None
) -> Message:
    """Return the request for a case; `folder` has the secrets; raise MissingError."""

    def value_of(placeholder: Placeholder) -> str:
        if placeholder.kind == "secret":
            return read_secret(folder, placeholder)
        if not keys.get(placeholder.name):
            raise MissingError(placeholder, "is missing")
        return keys[placeholder.name]

    fill, request = Filler(value_of), provider.request
    try:
        body = (
            None if request.body is None else write_json(fill.fill_json(request.body))
        )
        headers = {
            name: fill.fill_header(text) for name, text in request.headers.items()
        }
        query = {name: fill.fill_text(text) for name, text in request.query.items()}
        url = fill.fill_url(request.url)
    except UnfitError as error:
        rule = "can't stand in an address or a header"
        raise MissingError(error.placeholder, rule) from None
    if body is not None and "content-type" not in {name.lower() for name in headers}:
        headers["Content-Type"] = "application/json"
    return Message(request.method, url, headers, query, body)


def read_secret(folder: Path | None, placeholder: Placeholder) -> str:
    """Return a secret; raise MissingError, which names it."""
    try:
        return secrets.read_secret(folder, placeholder.name)
    except secrets.SecretError:
        raise MissingError(placeholder, "is no file of ASKLESS_SECRETS") from None


def digest_request(
    provider: Provider, keys: Mapping[str, str], features: Sequence[Feature]
) -> str:
    """Return what tells kept answers apart, without a secret in it.

    An answer has the values of the features that were bought, as their model reads
    them: another model may have other categories, another case more to buy.
    """
    document = provider.model_dump(mode="json", by_alias=True)
    asked = {name: keys.get(name) for name in provider.request.keys}
    read = sorted(
        [
            *(feature.name, feature.type, feature.categories, feature.has_other),
            *(feature.missing, feature.missing_words, feature.decimal_comma),
            *(feature.least, feature.most),
        ]
        for feature in features
    )
    text = json.dumps(
        [document["request"], document["read"], document["empty"], asked, read],
        sort_keys=True,
    )
    return sha256(text.encode()).hexdigest()


def read_body(body: bytes) -> Any:
    """Return an answer as JSON, None where there is none; raise ValueError."""
    if not body.strip():
        return None
    try:
        return json.loads(body)
    except RecursionError:
        raise ValueError("nests too deep") from None


def read_answer(
    provider: Provider, catalogue: Catalogue, names: tuple[str, ...], document: Any
) -> ReadAnswer:
    """Read the values of some features from an answer.

    A feature that the provider does not read has no value. A value that its feature
    can't have is refused with the rule, and the others are taken all the same.
    """
    values: dict[str, float | None] = dict.fromkeys(names)
    texts: dict[str, str] = {}
    refusals: dict[str, str] = {}
    read = {name: path for name, path in provider.read.items() if name in values}
    if provider.empty is not None and search(provider.empty, document) is True:
        read = {}
    for name, path in read.items():
        feature = catalogue.features[catalogue.feature_idxs[name]]
        try:
            raw = search(path, document)
            values[name] = read_value(feature, raw)
        except AnswerError as error:
            refusals[name] = error.refusals[0].rule
            continue
        if feature.type == "category" and values[name] is not None:
            keep_unseen(feature, tidy_text(write_cell(raw) or ""), texts)
    return ReadAnswer(values, texts, refusals)


def search(path: str, document: Any) -> Any:
    """Return what stands at a path; None where it can't be followed."""
    try:
        return jmespath.search(path, document)
    except (JMESPathError, TypeError, ValueError, OverflowError, RecursionError):
        return None


def read_value(feature: Feature, raw: Any) -> float | None:
    """Return a value as core has it; None for none; raise AnswerError."""
    if raw is None:
        return None
    if isinstance(raw, str) and not (len(raw) <= MAX_VALUE and is_storable(raw)):
        raise AnswerError([Refusal(feature.name, VALUE_RULE)])
    if isinstance(raw, str):
        return None if is_blank(feature, raw.strip()) else parse_answer(feature, raw)
    return check_answer(feature, raw)


def keep_unseen(feature: Feature, text: str, texts: dict[str, str]) -> None:
    if match_name(feature.categories, text) is None:
        texts[feature.name] = text
