"""Tables of closed cases: over HTTP, by the client and by the command."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.documents.session.cases import CaseDocument, answered_names
from tests.app.clinic import Answer, Json, Play, Put, Start, clinic, model_json

pytest_plugins = ["tests.app.conftest_http", "tests.app.conftest_cases"]

Make = Callable[..., Any]


@pytest.fixture
def make(client: TestClient) -> Make:
    def post(of: str = "clinic", **more: Any) -> Any:
        return client.post("/datasets", json={"cases_of": of, **more})

    return post


@pytest.fixture
def rows(app: FastAPI, make: Make) -> Callable[..., list[Json]]:
    """Make a table and read its rows from the blob."""

    def read(**more: Any) -> list[Json]:
        made = make(**more)
        assert made.status_code == 201, made.text
        with app.state.blobs.open(made.json()["id"]) as stream:
            table = pyarrow.parquet.read_table(BytesIO(stream.read()))
        assert made.json()["columns"] == table.column_names
        assert made.json()["n_rows"] == table.num_rows
        found: list[Json] = table.to_pylist()
        return found

    return read


def test_a_case_is_a_row_with_the_answers_to_the_same_bits(
    client: TestClient,
    start: Start,
    answer: Answer,
    rows: Callable[..., list[Json]],
) -> None:
    session = start(60.0, client_ref="patient 7")
    answer(session, ("age", 0.1 + 0.2), ("sex", "other"), accept_unseen=True)
    answer(session, ("fbs", True), ("ecg", "refused"), ("chol", "unavailable"))
    client.post(f"/predict/{session['id']}/stop")
    client.put(f"/predict/{session['id']}/outcome", json={"label": "1"})

    (row,) = rows()
    case = CaseDocument.model_validate_json(row.pop("askless_case"))

    assert row == {
        **{"age": 0.1 + 0.2, "sex": "other", "chol": None, "fbs": True, "ecg": None},
        **{"echo1": None, "echo2": None, "disease": "1"},
    }
    shown = [
        (question.feature, question.outcome, question.charged)
        for question in case.asked
    ]
    assert shown == [
        ("age", "value", 1_000_000),
        ("sex", "value", 500_000),
        ("fbs", "value", 5_200_000),
        ("ecg", "refused", 0),
        ("chol", "unavailable", 0),
    ]
    assert [*answered_names(case)] == ["age", "sex", "fbs", "chol"]
    assert (case.budget, case.spent) == (60_000_000, 6_700_000)
    assert sum(case.chances.values()) == pytest.approx(1.0)
    assert max(case.chances, key=case.chances.__getitem__) == case.prediction


def test_nothing_in_a_table_identifies_a_case(
    app: FastAPI, play: Play, make: Make
) -> None:
    session = play(10, 63, "1", client_ref="patient 7")

    made = make().json()

    with app.state.blobs.open(made["id"]) as stream:
        cells = str(pyarrow.parquet.read_table(BytesIO(stream.read())).to_pylist())
    assert "patient 7" not in cells
    assert session["id"] not in cells
    assert made["name"] == "cases of clinic"


def test_a_table_is_a_copy_of_what_was_there(
    client: TestClient, play: Play, rows: Callable[..., list[Json]]
) -> None:
    erased = play(10, 40, "0")
    play(11, 50, "1")
    before = rows()

    client.delete(f"/predict/{erased['id']}")

    assert [row["age"] for row in before] == [40.0, 50.0]
    assert [row["age"] for row in rows()] == [50.0]


def test_a_span_says_which_cases(
    play: Play, make: Make, rows: Callable[..., list[Json]]
) -> None:
    for day in (10, 11, 12):
        play(day, day, "0")

    later = rows(since="2026-11-11")
    between = rows(since="2026-11-11T09:00:00Z", until="2026-11-12T10:00:00+01:00")

    assert [row["age"] for row in later] == [11.0, 12.0]
    assert [row["age"] for row in between] == [11.0]
    reversed_span = make(since="2026-11-12", until="2026-11-11").json()
    assert reversed_span["errors"][0]["field"] == "until"
    assert make(since="yesterday").json()["errors"][0]["field"] == "dataset.since"
    assert make(since="2026-11-11T09:00:00").status_code == 422
    none = make(until="2026-11-01").json()
    assert none["errors"][0]["field"] == "cases_of"


def test_a_span_reaches_to_the_ends_of_the_calendar_and_no_further(
    play: Play, make: Make, rows: Callable[..., list[Json]]
) -> None:
    play(10, 40, "0")
    first, last = "0001-01-01T00:00:00", "9999-12-31T23:59:59"

    assert len(rows(since=f"{first}Z", until=f"{last}Z")) == 1
    for beyond in (f"{first}+14:00", f"{last}-14:00"):
        for field in ("since", "until"):
            refused = make(**{field: beyond})
            assert refused.status_code == 422, refused.text
            (error,) = refused.json()["errors"]
            assert error["field"] == f"dataset.{field}"
            assert error["rule"] == "must be in the years 1 to 9999 of UTC"


def test_an_unknown_model_has_no_cases(play: Play, make: Make) -> None:
    play(10, 40, "0")

    assert make("nobody").status_code == 404
    assert make("clinik").json()["detail"].count("clinic") == 1
    assert make("").status_code == 422
    assert make("clinic\0").json()["errors"][0]["field"] == "dataset.cases_of"


def test_versions_that_disagree_about_a_column_make_no_table(
    client: TestClient, play: Play, put: Put, make: Make
) -> None:
    play(10, 40, "0", model=put())
    other = model_json(clinic(), "clinic") | {"target": "illness"}
    second = client.post("/models?as_version=true", json=other).json()["id"]
    play(11, 50, "0", model=second)

    refused = make()

    assert refused.status_code == 422
    assert "illness" in refused.json()["detail"]
    assert make("clinic@1").status_code == 201
    assert make(second).json()["columns"][-2:] == ["illness", "askless_case"]


def test_a_table_of_cases_is_trained_on(
    client: TestClient, play: Play, make: Make
) -> None:
    for number in range(12):
        play(10 + number, 40 + number, str(number % 2))
    spec = {"dataset_id": make().json()["id"], "target": "disease"}

    verdict = client.post("/train?validate_only=true", json=spec).json()

    assert verdict["valid"], verdict
    assert (verdict["rows"], verdict["classes"]) == (12, ["0", "1"])
    assert "askless_case" not in verdict["features"]
    assert not any("ignored" in warning for warning in verdict["warnings"])


def test_the_command_writes_what_a_dataset_has(
    app: FastAPI,
    play: Play,
    rows: Callable[..., list[Json]],
    run: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    play(10, 40, "0")
    play(12, 63, "1")
    monkeypatch.setenv("ASKLESS_HOME", str(app.state.settings.home))
    monkeypatch.setenv("ASKLESS_DATABASE_URL", app.state.settings.url)
    # Whatever begins with ASKLESS_ is taken for a setting.
    monkeypatch.delenv("ASKLESS_TEST_ENGINES", raising=False)
    out = tmp_path / "cases.parquet"

    written = run("cases", "--of", "clinic", "-o", out)
    printed = run("cases", "--of", "clinic", "--since", "2026-11-11")
    unknown = run("cases", "--of", "nobody")
    odd = run("cases", "--of", "clinic", "--since", "yesterday")

    assert "wrote 2 cases" in written.out
    assert pyarrow.parquet.read_table(out).to_pylist() == rows()
    assert printed.out.count("askless-case") == 1
    assert (unknown.code, odd.code) == (2, 2)
    assert "--of: must be a stored model" in unknown.err
