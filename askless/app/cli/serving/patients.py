"""Play the patients of the demo's tables that its trainings did not see."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import sqlalchemy as sa

from askless.app.documents.files import load_spec
from askless.app.documents.http.sessions import AnswersRequest, PredictRequest
from askless.app.documents.model.card import read_own_questions
from askless.app.errors import NotFoundError
from askless.app.records import Moment
from askless.app.service import sessions
from askless.app.service.jobs import trainings
from askless.app.service.loaded import LoadedModels
from askless.app.service.sessions import answering, outcomes
from askless.app.service.sessions.opened import SessionCall
from askless.app.service.sessions.views import value_of
from askless.app.store import datasets, models
from askless.app.store import outcomes as stored_outcomes
from askless.app.store import sessions as stored_sessions
from askless.app.store.database.engine import transaction
from askless.app.store.database.transactions import Transaction
from askless.app.terminal.demo import (
    AIM,
    BUDGET,
    DATA,
    open_question,
    read_trained_rows,
)
from askless.app.uploads.streams import read_columns
from askless.app.words.own_questions import N_PATIENTS, REFS
from askless.core.catalogue.prices import from_micros
from askless.core.errors import RefusedError
from askless.core.model.model import Model
from askless.core.pipeline.check import check_training
from askless.core.session.aims import check_aim

# The table that is played by an aim where a budget alone asks all cases the same.
AIMED = "heart"


class Patient(NamedTuple):
    """A row that training did not see."""

    #: as callers write values, by feature; None: it is missing
    values: dict[str, Any]
    label: str


def play_patients(
    engine: sa.Engine, tenant_id: str, at: Moment, tables: tuple[str, ...]
) -> None:
    """Play the patients of each table whose model is trained, once for each model.

    A table's patients are played in one transaction, so after a kill all of them are
    there or none, and the next start plays them.
    """
    loaded = LoadedModels()
    for table in tables:
        with transaction(engine, tenant_id) as db:
            model_id = find_model_without_patients(db, table)
            if model_id is not None:
                play_table(db, loaded, at, table, model_id)


def find_model_without_patients(db: Transaction, table: str) -> str | None:
    """Return the model of a table that was trained without its patients; else None.

    It is told by the number of bytes: a table that was uploaded whole has more.
    """
    head = models.find_by_name(db, load_spec(DATA / f"{table}.json").name)
    if head is None or head.training_id is None:
        return None
    try:
        dataset_id = trainings.get(db, head.training_id).dataset_id
        dataset = datasets.get(db, dataset_id or "")
    except NotFoundError:
        return None
    n_bytes = len(read_trained_rows(table).getvalue())
    return head.id if dataset.n_bytes == n_bytes else None


def play_table(
    db: Transaction, loaded: LoadedModels, at: Moment, table: str, model_id: str
) -> None:
    """Play the patients of a table, unless that was done, or all are asked the same."""
    model = loaded.get(db, model_id)
    terms = terms_of_difference(model, table)
    if terms is None:
        return
    # Another start waits here, and then finds them.
    stored_sessions.lock_reference(db, REFS[0])
    played = stored_outcomes.list_by_references(db, REFS, 1000)
    if any(session.model_id == model_id for session, _ in played):
        return
    for ref, patient in zip(REFS, list_patients(table), strict=True):
        request_body = {"model": model_id, "client_ref": ref, "seed": 0} | terms
        request = PredictRequest.model_validate(request_body)
        play_patient(db, loaded, request, patient, at)


def terms_of_difference(model: Model, table: str) -> dict[str, Any] | None:
    """Return the budget, and the aim, under which a model's cases differ.

    The largest budget at which own questions are in force, else, for heart, the aim of
    the demo in the terminal. None where there is neither.
    """
    own = read_own_questions(model)
    if own is not None and any(own.in_force):
        pairs = zip(own.budgets, own.in_force, strict=True)
        return {"budget": [budget for budget, is_on in pairs if is_on][-1]}
    try:
        check_aim(AIM, model.ensemble, None, "aim")
    except RefusedError:
        return None
    if table != AIMED:
        return None
    mean = from_micros(AIM.mean_budget or 0)
    return {"budget": from_micros(BUDGET), "aim": {"mean_budget": mean}}


def list_patients(table: str) -> Iterator[Patient]:
    spec = load_spec(DATA / f"{table}.json")
    columns = read_columns(DATA / f"{table}.csv", spec.table.text_columns)
    dataset = check_training(columns, spec).dataset
    features = dataset.catalogue.features
    for row in range(dataset.n_samples - N_PATIENTS, dataset.n_samples):
        values = {
            feature.name: value_of(feature, float(dataset.values[row, idx]), {})
            for idx, feature in enumerate(features)
        }
        yield Patient(values, dataset.classes[int(dataset.targets[row])].label)


def play_patient(
    db: Transaction,
    loaded: LoadedModels,
    request: PredictRequest,
    patient: Patient,
    at: Moment,
) -> None:
    """Answer a session's questions from a row, close it, and record its label."""
    opened = sessions.start(db, loaded, request, at)
    ensemble = opened.model.ensemble
    call = SessionCall(opened.session.id, loaded, at)
    while (question := open_question(ensemble, opened.state)) is not None:
        names = [ensemble.catalogue.features[idx].name for idx in question.feature_idxs]
        answers = [to_given_answer(name, patient.values[name]) for name in names]
        # Whatever is asked is answered, also by a category that training did not see.
        raw = {"answers": answers, "insist": True, "accept_unseen": True}
        body = AnswersRequest.model_validate(raw)
        opened, _ = answering.answer(db, call, body)
    sessions.stop(db, call)
    outcomes.store_outcome(db, call, patient.label)


def to_given_answer(name: str, value: Any) -> dict[str, Any]:
    """Return an answer to a feature as callers write it; None: it is not available."""
    if value is None:
        return {"feature": name, "outcome": "unavailable"}
    return {"feature": name, "outcome": "value", "value": value}
