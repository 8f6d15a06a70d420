"""Trains and plays a session with what openapi-python-client has generated."""

import io
import json
import sys
import time
from pathlib import Path

from generated import Client
from generated.api.datasets import list_datasets, upload_dataset
from generated.api.models import get_model_curve, list_models
from generated.api.predict import answer_session, start_session, stop_session
from generated.api.trainings import get_training, start_training
from generated.models import (
    AnswersRequest,
    GivenAnswer,
    Outcome,
    PredictRequest,
    Problem,
    Session,
    StartTrainingFilesBody,
    TrainingOrder,
    TrainingSpec,
    TrainingState,
    UploadDatasetFilesBody,
)
from generated.types import File

address, table, spec_path = sys.argv[1:]
client = Client(base_url=address, raise_on_unexpected_status=True)
heart = Path(table).read_bytes()
spec = json.loads(Path(spec_path).read_text())

by_form = start_training.sync(
    client=client,
    body=StartTrainingFilesBody(
        File(io.BytesIO(heart), "heart.csv"), TrainingSpec.from_dict(spec)
    ),
)
file = File(io.BytesIO(heart), "heart.csv")
stored = upload_dataset.sync(client=client, body=UploadDatasetFilesBody(file))
order = TrainingOrder.from_dict(spec | {"dataset_id": stored.id})
verdict = start_training.sync(client=client, body=order, validate_only=True)
assert verdict.valid
assert stored in list_datasets.sync(client=client).items

training = by_form
while training.state in (TrainingState.QUEUED, TrainingState.RUNNING):
    time.sleep(0.1)
    training = get_training.sync(by_form.id, client=client)
assert training.state is TrainingState.SUCCEEDED, training
curve = get_model_curve.sync(training.model_id, client=client)
assert curve.unit == "CAD"
assert training.model_id in [
    model.id for model in list_models.sync(client=client).items
]

wish = PredictRequest.from_dict(
    {"model": training.model_id, "budget": 60, "known": {"age": 63}}
)
session = start_session.sync(client=client, body=wish)
while session.question and not session.should_stop:
    given = GivenAnswer(session.question.feature, Outcome.REFUSED)
    if session.question.feature == "cp":
        given = GivenAnswer("cp", Outcome.VALUE, "asymptomatic")
    session = answer_session.sync(
        session.id, client=client, body=AnswersRequest([given])
    )
assert isinstance(session, Session)
dear = AnswersRequest([GivenAnswer("ca", Outcome.VALUE, 2)])
refused = answer_session.sync(session.id, client=client, body=dear)
assert isinstance(refused, Problem)
assert refused.type_.value == "/problems/over-budget"
session = stop_session.sync(session.id, client=client)
print(session.stop_reason.value, session.budget.spent)
