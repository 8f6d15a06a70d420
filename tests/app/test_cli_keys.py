"""`askless keys`: what an operator does at the database itself."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from askless.app.service import people
from askless.app.settings.settings import Settings
from askless.app.store.database.engine import create_engine
from tests.app.conftest import Finished
from tests.app.tenants import transaction

Run = Callable[..., Finished]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKLESS_HOME", str(tmp_path))


def test_a_key_is_made_listed_and_revoked(run: Run) -> None:
    made = run("keys", "create", "clinic", "--tenant", "lab", "--days", 9)
    key = "key_" + made.out.split("_")[1]

    listed = run("keys", "list", "--tenant", "lab")
    revoked = run("keys", "revoke", key, "--tenant", "lab")
    after = run("keys", "list", "--tenant", "lab")

    assert made.out.startswith("askl_")
    assert made.out.count("\n") == 1, "the key alone, to be piped"
    assert key in listed.out
    assert "all" in listed.out
    assert made.out.strip() not in listed.out
    assert f"{key} is revoked" in revoked.out
    assert "revoked" in after.out


def test_a_person_is_restored_and_a_key_with_a_secret_is_not(
    run: Run, tmp_path: Path
) -> None:
    made = run("keys", "create", "clinic")
    lost = "key_" + made.out.split("_")[1]
    engine = create_engine(Settings(home=tmp_path).url)
    with transaction(engine) as db:
        now = datetime.now(UTC)
        who = people.Person("https://id.example.org", "7", "Ada", ("predict:read",))
        person = people.renew_key_of(db, who, now).id
    engine.dispose()
    for key in (lost, person):
        run("keys", "revoke", key)

    refused = run("keys", "restore", lost)
    restored = run("keys", "restore", person)

    assert (refused.code, refused.out) == (2, "")
    assert "a key with a secret is made anew" in refused.err
    assert f"{person} is valid again" in restored.out
    listed = run("keys", "list").out
    assert listed.count("revoked on") == 1
    assert "Ada" in listed


def test_keys_of_another_tenant_are_not_seen(run: Run) -> None:
    run("keys", "create", "clinic", "--tenant", "lab")
    made = run("keys", "create", "night")
    key = "key_" + made.out.split("_")[1]

    assert key not in run("keys", "list", "--tenant", "lab").out
    refused = run("keys", "revoke", key, "--tenant", "lab")
    assert (refused.code, refused.out) == (2, "")
    assert "must be a key of this tenant" in refused.err


def test_what_makes_no_sense_is_refused_by_name(run: Run) -> None:
    for words, field in [
        (("create", ""), "name"),
        (("create", "a\nb"), "name"),
        (("create", "a", "--scope", "predict"), "scopes"),
        (("create", "a", "--limit", "rows"), "--limit"),
        (("create", "a", "--limit", "rows=-1"), "--limit"),
        (("create", "a", "--limit", "rows=0"), "limits"),
        (("create", "a", "--limit", "cells=3"), "limits"),
        (("create", "a", "--tenant", ""), "--tenant"),
        (("create", "a", "--tenant", "x" * 201), "--tenant"),
        (("list", "--tenant", "nobody"), "--tenant"),
        (("revoke", "key_none"), "KEY"),
        (("restore", "key_none"), "KEY"),
    ]:
        refused = run("keys", *words)

        assert refused.code == 2
        assert f"refused {field}:" in refused.err


def test_no_tenant_is_made_for_a_key_that_is_refused(run: Run) -> None:
    run("keys", "create", "a", "--scope", "all", "--tenant", "lab")

    assert "lab" not in run("tenants", "list").out
