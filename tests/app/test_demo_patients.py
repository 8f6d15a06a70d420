"""The demo's patients: rows that training did not see, played once, all or none."""

import csv
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa

from askless.app.cli.serving import demo, patients
from askless.app.documents.http.sessions import PredictRequest
from askless.app.documents.model.model import model_from_json
from askless.app.documents.text import parse_spec
from askless.app.records import DEFAULT_TENANT, SessionFilter
from askless.app.service import datasets, models, sessions
from askless.app.service.jobs import trainings
from askless.app.service.loaded import LoadedModels
from askless.app.service.sessions import lists
from askless.app.service.sessions.opened import SessionCall
from askless.app.service.sessions.played import Patients, find_patients
from askless.app.settings.settings import Settings
from askless.app.store import models as stored
from askless.app.store.blobs import Blobs
from askless.app.store.database.engine import transaction
from askless.app.terminal.demo import (
    AIM,
    BUDGET,
    DATA,
    list_asked_features,
    load_demo,
    play_session,
)
from askless.app.uploads.parsing import make_reader
from askless.app.words.own_questions import N_PATIENTS, REFS
from askless.core.model.model import Model
from tests.app.tenants import store_model
from tests.pages.site import heart
from tests.patients import (
    OWN_BUDGET,
    Killed,
    run_until,
    train_heart,
    with_own_questions,
)

ADDRESS = "http://x"


def store(settings: Settings, engine: sa.Engine, model: Model) -> None:
    demo.store_trained(settings, engine, DEFAULT_TENANT, model)


def start(settings: Settings, engine: sa.Engine) -> list[str]:
    """Do what a start does before the address is told."""
    return demo.list_case_lines(settings, engine, DEFAULT_TENANT, ADDRESS)


def names_of(engine: sa.Engine, settings: Settings) -> list[str | None]:
    """What the cases are called that are not erased, the patients before others."""
    at = settings.moment_at(datetime.now(UTC))
    with transaction(engine, DEFAULT_TENANT, is_read=True) as db:
        rows = lists.rows(db, 100, None, at, SessionFilter()).items
    names = [row.client_ref for row in rows if row.document is not None]
    return sorted(names, key=lambda name: REFS.index(name) if name in REFS else 99)


def found(engine: sa.Engine) -> Patients | None:
    with transaction(engine, DEFAULT_TENANT, is_read=True) as db:
        return find_patients(db, LoadedModels(), {"models:read", "predict:read"})


def play_heart(settings: Settings, engine: sa.Engine) -> Patients:
    """Have a start play the patients of heart; return those that home shows."""
    store(settings, engine, train_heart())
    start(settings, engine)
    shown = found(engine)
    assert shown is not None
    return shown


@pytest.mark.parametrize("engine_name", ["sqlite", "postgresql"], indirect=True)
def test_patients_are_played_once_and_a_case_is_prepared_under_their_terms(
    settings: Settings, engine: sa.Engine
) -> None:
    store(settings, engine, train_heart())

    lines, again = (start(settings, engine) for _ in range(2))

    at = settings.moment_at(datetime.now(UTC))
    with transaction(engine, DEFAULT_TENANT, is_read=True) as db:
        call = SessionCall(lines[0].split("/")[-1], LoadedModels(), at)
        case = sessions.get(db, call)
    assert names_of(engine, settings) == [*REFS, "Demo patient"]
    assert again == lines
    assert case.budget.limit == 220
    assert case.aim is not None
    assert case.aim.mean_budget == 60
    assert case.state == "open"


def test_answers_and_labels_are_those_of_the_last_rows(
    settings: Settings, engine: sa.Engine
) -> None:
    model = train_heart()
    store(settings, engine, model)
    start(settings, engine)

    shown = found(engine)

    with (DATA / "heart.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))[-N_PATIENTS:]
    _, dataset = load_demo()
    values = dataset.values[-N_PATIENTS:]
    states = [play_session(model.ensemble, row, None) for row in values]
    assert shown is not None
    assert shown.n_played == N_PATIENTS
    assert len(shown.cases) > 1
    assert not shown.has_own_questions
    for case in shown.cases:
        place = REFS.index(case.opened.session.client_ref or "")
        # As the demo in the terminal plays them.
        assert case.opened.state.history == states[place].history
        assert case.questions == list_asked_features(model.ensemble, states)[place]
        assert case.advised.stop_reason == states[place].stop_reason
        assert case.opened.session.state == "closed"
        assert case.outcome.label == rows[place]["label"]
        assert (case.opened.state.budget, case.opened.state.aim) == (BUDGET, AIM)
        answers = {answer.feature: answer.value for answer in case.opened.view.answers}
        for name in answers.keys() & {"age", "trestbps", "chol"}:
            assert answers[name] == float(rows[place][name])


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_after_a_kill_all_patients_are_there_or_none(
    settings: Settings, engine: sa.Engine
) -> None:
    store(settings, engine, train_heart())
    last, counts = 0, []
    while not counts or counts[-1] <= N_PATIENTS:
        try:
            with demo.open_engine(settings) as own:
                run_until(settings.url, last, lambda by=own: start(settings, by))
        except Killed:
            last += 1
        counts.append(len(names_of(engine, settings)))

    assert sorted(set(counts)) == [0, N_PATIENTS, N_PATIENTS + 1]
    assert names_of(engine, settings) == [*REFS, "Demo patient"]


@pytest.mark.parametrize("engine_name", ["sqlite", "postgresql"], indirect=True)
def test_an_erased_patient_is_not_played_again_and_all_go_with_their_model(
    settings: Settings, engine: sa.Engine
) -> None:
    shown = play_heart(settings, engine)
    gone = shown.first.session
    at = settings.moment_at(datetime.now(UTC))
    with transaction(engine, DEFAULT_TENANT) as db:
        sessions.erase(db, SessionCall(gone.id, LoadedModels(), at))

    start(settings, engine)

    left = found(engine)
    assert gone.client_ref not in names_of(engine, settings)
    assert left is not None
    assert left.n_played == N_PATIENTS - 1
    assert gone.client_ref not in [
        case.opened.session.client_ref for case in left.cases
    ]
    # The others go with their model.
    with transaction(engine, DEFAULT_TENANT) as db:
        stored.delete(db, gone.model_id, datetime.now(UTC))
    assert found(engine) is None


def test_nobody_is_shown_where_another_case_has_a_patients_name(
    settings: Settings, engine: sa.Engine
) -> None:
    shown = play_heart(settings, engine)
    wish = {"model": shown.first.session.model_id, "client_ref": REFS[0], "seed": 0}
    request = PredictRequest.model_validate(wish | {"budget": 9})
    at = settings.moment_at(datetime.now(UTC))
    patient = next(patients.list_patients("heart"))
    with transaction(engine, DEFAULT_TENANT) as db:
        patients.play_patient(db, LoadedModels(), request, patient, at)

    assert found(engine) is None


def enqueue_whole(settings: Settings, engine: sa.Engine, model: Model) -> None:
    """Store a model as trained on the whole table, as older demos were."""
    reader = demo.DemoReader(make_reader(settings).limits, make_reader(settings).bounds)
    raw = parse_spec((DATA / "heart.json").read_bytes())
    with (DATA / "heart.csv").open("rb") as stream:
        order, facts = trainings.check_training(reader, raw, stream)
        upload = datasets.make_upload("heart.csv", stream, facts)
        with transaction(engine, DEFAULT_TENANT) as db:
            demo.enqueue_or_store(db, Blobs(settings.blobs_url), order, upload, model)


def store_import(settings: Settings, engine: sa.Engine, model: Model) -> None:
    del settings
    with transaction(engine, DEFAULT_TENANT) as db:
        store_model(db, model, datetime.now(UTC))


@pytest.mark.parametrize("bring", [enqueue_whole, store_import])
def test_patients_that_a_model_may_have_seen_are_not_played(
    settings: Settings, engine: sa.Engine, bring: Any
) -> None:
    bring(settings, engine, train_heart())

    start(settings, engine)

    assert names_of(engine, settings) == ["Demo patient"]
    assert found(engine) is None


def test_a_model_that_takes_no_aim_plays_none_and_has_a_case_under_a_budget(
    settings: Settings, engine: sa.Engine
) -> None:
    model = replace(model_from_json(heart()), name=demo.MODEL)
    store(settings, engine, model)

    start(settings, engine)

    at = settings.moment_at(datetime.now(UTC))
    with transaction(engine, DEFAULT_TENANT, is_read=True) as db:
        (case,) = lists.rows(db, 9, None, at, SessionFilter()).items
    assert (case.client_ref, case.budget_limit) == ("Demo patient", 60_000_000)


def test_nothing_is_played_before_a_model_is_trained(
    settings: Settings, engine: sa.Engine
) -> None:
    demo.enqueue_missing_trainings(settings, engine, DEFAULT_TENANT)

    lines = start(settings, engine)

    with transaction(engine, DEFAULT_TENANT, is_read=True) as db:
        tables = datasets.page(db, 9, None).items
    assert lines == []
    assert names_of(engine, settings) == []
    # Each training lacks the patients of its table.
    assert {table.name: table.n_rows for table in tables} == {
        "heart.csv": 303 - N_PATIENTS,
        "breast-cancer.csv": 569 - N_PATIENTS,
        "diabetes.csv": 442 - N_PATIENTS,
        "leads.csv": 1500,
    }


def test_own_questions_in_force_come_before_an_aim() -> None:
    model = train_heart()
    own = with_own_questions(model)

    by_aim = {"budget": 220.0, "aim": {"mean_budget": 60.0}}
    assert patients.terms_of_difference(model, "heart") == by_aim
    assert patients.terms_of_difference(model, "diabetes") is None
    assert patients.terms_of_difference(own, "heart") == {"budget": OWN_BUDGET}
    assert patients.terms_of_difference(own, "diabetes") == {"budget": OWN_BUDGET}


def test_patients_of_own_questions_are_shown_before_those_of_an_aim(
    settings: Settings, engine: sa.Engine
) -> None:
    """Of two models that have played, whichever came first."""
    store(settings, engine, train_heart())
    start(settings, engine)
    by_aim = found(engine)
    play_own(settings, engine)

    shown = found(engine)

    assert by_aim is not None
    assert not by_aim.has_own_questions
    assert shown is not None
    assert shown.has_own_questions
    assert shown.first.state.budget == OWN_BUDGET * 1e6


def play_own(settings: Settings, engine: sa.Engine) -> None:
    """Play the patients with another model, which asks each case its own questions."""
    own = replace(with_own_questions(train_heart()), name="own")
    at = settings.moment_at(datetime.now(UTC))
    with transaction(engine, DEFAULT_TENANT) as db:
        store_model(db, own, at.now)
        (head, *_) = models.page(db, 9, None).items
        assert head.name == "own"
        patients.play_table(db, LoadedModels(), at, "heart", head.id)
