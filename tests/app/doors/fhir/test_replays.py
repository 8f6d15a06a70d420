"""A token is used once, as long as it is valid."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from askless.app.doors.cds.door import Replays

EHR, OTHER = "https://ehr.example", "https://other.example"


def test_token_is_used_once_within_its_lifetime() -> None:
    replays = Replays()

    assert replays.use(EHR, "one", 300, now=0)
    assert not replays.use(EHR, "one", 300, now=0)
    assert not replays.use(EHR, "one", 300, now=300)
    assert not replays.use(EHR, "one", 900, now=299)


def test_other_ids_and_other_clients_are_other_tokens() -> None:
    replays = Replays()
    pairs: list[tuple[str, Any]] = [
        *((EHR, "one"), (EHR, "two"), (OTHER, "one"), (EHR, "")),
        *((EHR, 1), (EHR, "1"), (EHR, [1]), (EHR, {"a": "\ud800"}), (EHR, None)),
    ]

    assert all(replays.use(issuer, jti, 300, now=0) for issuer, jti in pairs)
    assert not any(replays.use(issuer, jti, 300, now=0) for issuer, jti in pairs)


def test_what_has_expired_is_forgotten() -> None:
    replays = Replays()
    for place in range(1000):
        replays.use(EHR, place, 300 + place % 7, now=0)

    assert replays.use(EHR, "late", 900, now=307)

    assert len(replays.used) == len(replays.by_expiry) == 1


@pytest.mark.parametrize("order", [1, -1])
def test_memory_is_bounded_and_keeps_what_lasts_longest(order: int) -> None:
    replays = Replays(most=10)
    for place in range(30)[::order]:
        assert replays.use(EHR, place, 300 + place, now=0)

    assert len(replays.used) == len(replays.by_expiry) == 10
    assert not any(replays.use(EHR, place, 300 + place, now=0) for place in (20, 29))


def test_one_of_many_calls_at_once_uses_a_token() -> None:
    replays = Replays()
    with ThreadPoolExecutor(8) as pool:
        answers = [*pool.map(lambda _: replays.use(EHR, "one", 300, 0), range(500))]

    assert answers.count(True) == 1
