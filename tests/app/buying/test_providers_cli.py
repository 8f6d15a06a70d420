"""`askless providers`: what an operator does at the database itself."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.app.buying.single_vendor import Vendor, serve_vendor
from tests.app.conftest import Finished

Run = Callable[..., Finished]


@pytest.fixture
def vendor() -> Iterator[Vendor]:
    with serve_vendor() as served:
        yield served


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vendor: Vendor) -> Path:
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    (secrets / "KEY").write_text("s3cret\n")
    monkeypatch.delenv("ASKLESS_TEST_ENGINES", raising=False)
    monkeypatch.setenv("ASKLESS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ASKLESS_SECRETS", str(secrets))
    monkeypatch.setenv("ASKLESS_PROVIDER_HOSTS", json.dumps([vendor.host]))
    return tmp_path


@pytest.fixture
def file(tmp_path: Path, vendor: Vendor) -> Path:
    """A file of two providers by name."""
    request = {
        "method": "POST",
        "url": f"http://{vendor.host}/{{key.domain}}",
        "headers": {"Authorization": "Bearer {secret.KEY}"},
    }
    good: dict[str, Any] = {"fills": "a", "request": request, "read": {"a": "a.b"}}
    document = {"firmo": good | {"price": 0.05}, "bare": good}
    path = tmp_path / "providers.json"
    path.write_text(json.dumps(document))
    return path


def test_a_provider_is_put_shown_tested_and_deleted(
    run: Run, file: Path, vendor: Vendor
) -> None:
    put = run("providers", "put", "firmo", file)
    again = run("providers", "put", "firmo", file)
    tested = run("providers", "test", "firmo", "--key", "domain=acme.example")
    shown = run("providers", "show", "firmo")
    listed = run("providers", "list")
    deleted = run("providers", "delete", "firmo")

    assert (put.code, "firmo is added" in put.out) == (0, True), put.err
    assert "no model has a bundle or feature 'a' yet" in put.err
    assert "firmo is replaced" in again.out
    assert json.loads(tested.out) == {"a": 3}
    assert "settled (HTTP 200), charged 0.05" in tested.err
    assert [asked["path"] for asked in vendor.asked] == ["/acme.example"]
    own = json.loads(file.read_text())["firmo"]
    assert json.loads(shown.out) == {"firmo": own}
    assert "spent today: 0.05" in shown.err
    assert "ready" in listed.out
    assert "firmo is deleted" in deleted.out
    assert "firmo" not in run("providers", "list").out
    assert "s3cret" not in "".join((*put, *tested, *shown, *listed)[1:2])


def test_what_show_prints_can_be_put(run: Run, file: Path, tmp_path: Path) -> None:
    run("providers", "put", "firmo", file)
    copy = tmp_path / "copy.json"
    copy.write_text(run("providers", "show", "firmo").out)

    assert run("providers", "put", "firmo", copy).code == 0


def test_a_test_that_fails_ends_with_1(run: Run, file: Path, vendor: Vendor) -> None:
    run("providers", "put", "firmo", file)
    vendor.status = 404

    tested = run("providers", "test", "firmo", "--key", "domain=a")

    assert tested.code == 1
    assert "released (HTTP 404" in tested.err


def test_what_cannot_be_done_is_refused_by_name(
    run: Run, file: Path, tmp_path: Path
) -> None:
    other = json.loads(file.read_text())
    other["firmo"]["request"]["url"] = "https://other.example/"
    foreign = tmp_path / "foreign.json"
    foreign.write_text(json.dumps(other))
    run("providers", "put", "firmo", file)
    run("providers", "put", "bare", file)
    for words, told in [
        (("put", "none", file), "must be a provider, or an object that has it"),
        (("put", "Firmo", file), "NAME: must be of a-z"),
        (("put", "firmo", foreign), "ASKLESS_PROVIDER_HOSTS"),
        (("show", "none"), "must be a provider of this tenant"),
        (("delete", "none"), "must be a provider of this tenant"),
        (("test", "none"), "no such provider"),
        (("test", "firmo"), "keys.domain"),
        (("test", "firmo", "--key", "domain"), "must be NAME=TEXT"),
        (("test", "bare", "--key", "domain=a"), "price: is required"),
        (("list", "--tenant", "nobody"), "must be the name of a tenant"),
    ]:
        refused = run("providers", *words)

        assert (refused.code, refused.out) == (2, ""), words
        assert told in " ".join(refused.err.split()), (words, refused.err)


def test_a_report_counts_what_was_called(run: Run, file: Path) -> None:
    run("providers", "put", "firmo", file)
    empty = run("providers", "report", "firmo")
    run("providers", "test", "firmo", "--key", "domain=acme.example")

    shown = run("providers", "report", "firmo")
    printed = run("providers", "report", "firmo", "--json")
    absent = run("providers", "report", "nobody")

    assert (empty.code, shown.code, absent.code) == (0, 0, 2), shown.err
    assert "p50" not in empty.out
    report = json.loads(printed.out)
    assert report["totals"]["calls"] == len(report["days"]) == 1
    assert report["newest"]["p50_ms"] is not None
    assert "of the newest 1 calls" in shown.out
