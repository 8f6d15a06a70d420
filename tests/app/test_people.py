"""People who sign in elsewhere: one key each, whatever happens at once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Barrier

import pytest
import sqlalchemy as sa

from askless.app.errors import UnknownKeyError
from askless.app.service import keys, people
from askless.app.service.people import Person
from askless.app.store.database.engine import transaction as of_tenant
from askless.core.errors import RefusedError
from tests.app.tenants import transaction

NOW = datetime(2026, 11, 26, tzinfo=UTC)
ADA = Person("https://id.example.org", "7", "Ada", ("predict:read", "models:read"))


def test_a_person_has_one_key_with_the_rights_of_the_last_time(
    engine: sa.Engine,
) -> None:
    with transaction(engine) as db:
        assert people.find_key(db, ADA) is None
        first = people.renew_key_of(db, ADA, NOW)
        now = ADA._replace(name="Ada L.", scopes=("models:read",))
        second = people.renew_key_of(db, now, NOW)
        found = people.find_key(db, ADA)

    assert first.scopes == ("models:read", "predict:read")
    assert (second.id, second.name, second.scopes) == (
        first.id,
        "Ada L.",
        ("models:read",),
    )
    assert found == second


def test_no_secret_opens_it(engine: sa.Engine) -> None:
    with transaction(engine) as db:
        key = people.renew_key_of(db, ADA, NOW)
        number = key.id.partition("_")[2]
        for secret in ("", "7", key.digest, "None"):
            with pytest.raises(UnknownKeyError):
                keys.identify_key(db, f"askl_{number}_{secret}")


def test_two_providers_may_call_two_people_the_same(engine: sa.Engine) -> None:
    with transaction(engine) as db:
        first = people.renew_key_of(db, ADA, NOW)
        other = people.renew_key_of(db, ADA._replace(provider="https://b.example"), NOW)

    assert first.id != other.id


def test_each_tenant_has_its_own_key_of_a_person(engine: sa.Engine) -> None:
    with of_tenant(engine, None) as db:
        lab = keys.get_or_create_tenant(db, "lab", NOW)
    with transaction(engine) as db:
        first = people.renew_key_of(db, ADA, NOW)
    with of_tenant(engine, lab) as db:
        assert people.find_key(db, ADA) is None
        other = people.renew_key_of(db, ADA, NOW)

    assert (first.id == other.id, other.tenant_id) == (False, lab)


def test_who_was_revoked_stays_out_until_restored(engine: sa.Engine) -> None:
    with transaction(engine) as db:
        key = people.renew_key_of(db, ADA, NOW)
        keys.revoke(db, key.id, NOW)
        for act in (
            lambda: people.renew_key_of(db, ADA, NOW),
            lambda: people.find_key(db, ADA),
        ):
            with pytest.raises(UnknownKeyError):
                act()
        keys.restore(db, key.id)

        assert people.renew_key_of(db, ADA, NOW).id == key.id


@pytest.mark.parametrize("sub", ["", " a", "a\n", "x" * 600])
def test_a_name_that_no_provider_may_give_is_refused(
    engine: sa.Engine, sub: str
) -> None:
    with transaction(engine) as db, pytest.raises(RefusedError, match="sub"):
        people.renew_key_of(db, ADA._replace(sub=sub), NOW)


@pytest.mark.parametrize(
    ("name", "shown"),
    [("", "7"), ("\n", "7"), ("A\x00B", "A B"), ("x" * 500, "x" * 200)],
)
def test_what_people_are_called_can_be_shown(
    engine: sa.Engine, name: str, shown: str
) -> None:
    with transaction(engine) as db:
        assert people.renew_key_of(db, ADA._replace(name=name), NOW).name == shown


def test_who_comes_twice_at_once_gets_one_key_of_one_tenant(engine: sa.Engine) -> None:
    at_once = 8
    barrier = Barrier(at_once)

    def come() -> tuple[str, str]:
        barrier.wait()
        with of_tenant(engine, None) as db:
            tenant_id = keys.get_or_create_tenant(db, "new", NOW)
        with of_tenant(engine, tenant_id) as db:
            return tenant_id, people.renew_key_of(db, ADA, NOW).id

    with ThreadPoolExecutor(at_once) as pool:
        made = list(pool.map(lambda _: come(), range(at_once)))

    assert len(set(made)) == 1
