"""Templates of requests: each value is encoded for its place, or refused there."""

from typing import Any

import pytest

from askless.app.documents.buying.providers import Provider, write_provider
from askless.app.documents.buying.templates import Filler, Placeholder, UnfitError
from askless.app.documents.shape import read_shape
from askless.core.errors import RefusedError

FIRMO: dict[str, Any] = {
    "fills": "firmo",
    "request": {
        "method": "POST",
        "url": "https://api.example/v2/{key.domain}",
        "headers": {"Authorization": "Bearer {secret.FIRMO_KEY}"},
        "query": {"domain": "{key.domain}"},
        "json": {"domain": "{key.domain}", "depth": 2, "tags": ["{{a}}"]},
    },
    "read": {"size": "company.employees", "industry": "company.industry.name"},
    "empty": "company == null",
    "price": 0.05,
    "billing": "per_call",
    "ceilings": {"day": 25.0},
}


def changed(place: str, value: object) -> dict[str, Any]:
    """The example with another value at a place such as request.url."""
    *parents, name = place.split(".")
    document: dict[str, Any] = {**FIRMO, "request": {**FIRMO["request"]}}
    target = document
    for parent in parents:
        target = target[parent]
    target[name] = value
    return document


def filler(value: str) -> Filler:
    return Filler(lambda _: value)


def test_a_provider_is_written_as_it_was_put() -> None:
    provider = read_shape(Provider, FIRMO, "provider")

    assert write_provider(provider) == FIRMO
    assert provider.request.keys == ("domain",)
    assert provider.request.secrets == ("FIRMO_KEY",)


@pytest.mark.parametrize(
    ("place", "value", "field"),
    [
        ("request.url", "https://{key.host}/v2", "provider.request.url"),
        ("request.url", "ftp://api.example/", "provider.request.url"),
        ("request.url", "https://user:pw@api.example/", "provider.request.url"),
        ("request.url", "https://api.example/{keys.domain}", "provider.request.url"),
        ("request.query", {"q": "{env.HOME}"}, "provider.request.query.q"),
        ("request.headers", {"Host": "x"}, "provider.request.headers"),
        ("request.headers", {"a b": "x"}, "provider.request.headers"),
        ("request.json", {"a": ["{", 1]}, "provider.request.json"),
        ("request.method", "GET", "provider"),
        ("read", {}, "provider.read"),
        ("read", {"size": "company.["}, "provider.read.size"),
        ("empty", "== null", "provider.empty"),
        ("price", -1, "provider.price"),
        ("billing", "monthly", "provider.billing"),
        ("timeout_s", 0, "provider.timeout_s"),
        ("attempts", 0, "provider.attempts"),
        ("ceilings", {"month": 3}, "provider.ceilings.month"),
    ],
)
def test_what_is_wrong_is_named(place: str, value: object, field: str) -> None:
    with pytest.raises(RefusedError) as caught:
        read_shape(Provider, changed(place, value), "provider")

    assert [refusal.field for refusal in caught.value.refusals] == [field]


def test_each_place_has_its_own_encoding() -> None:
    fill = filler('a/b "c"?')

    assert (
        fill.fill_url("https://h/{key.x}/{{y}}") == "https://h/a%2Fb%20%22c%22%3F/{y}"
    )
    assert fill.fill_text("{key.x}!") == 'a/b "c"?!'
    assert fill.fill_json({"{key.x}": ["{key.x}", 1, None]}) == {
        'a/b "c"?': ['a/b "c"?', 1, None]
    }


@pytest.mark.parametrize("value", ["a\r\nX: y", "é", " a", ""])
def test_a_header_takes_no_line_breaks(value: str) -> None:
    with pytest.raises(UnfitError) as caught:
        filler(value).fill_header("{key.x}")

    assert caught.value.placeholder == Placeholder("key", "x")


@pytest.mark.parametrize("value", [".", ".."])
def test_a_key_does_not_climb_in_the_path(value: str) -> None:
    with pytest.raises(UnfitError):
        filler(value).fill_url("https://h/a/{key.x}/b")
