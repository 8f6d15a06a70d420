"""Trains and plays a session with the models that datamodel-code-generator has made."""

import sys
import time
from pathlib import Path

import generated
import httpx

address, table, spec_path = sys.argv[1:]
spec = generated.SpecDocument.model_validate_json(Path(spec_path).read_text())
sent = {"exclude_unset": True, "by_alias": True}


def post(path, body, kind):
    headers = {"Content-Type": "application/json"}
    text = body.model_dump_json(**sent)
    answered = client.post(path, content=text, headers=headers)
    assert answered.is_success, answered.text
    return kind.model_validate_json(answered.text)


with httpx.Client(base_url=address) as client:
    form = {"spec": ("spec.json", spec.model_dump_json(**sent))}
    form["dataset"] = ("heart.csv", Path(table).read_bytes())
    started = client.post("/train", files=form)
    training = generated.Training.model_validate_json(started.text)
    while training.state.value in ("queued", "running"):
        time.sleep(0.1)
        told = client.get(f"/train/{training.id}")
        training = generated.TrainingWithSpec.model_validate_json(told.text)
    assert training.state.value == "succeeded", training

    model = client.get(f"/models/{training.model_id}").text
    assert generated.Model.model_validate_json(model).cost_unit == "CAD"
    wish = generated.PredictRequest(
        model=training.model_id, budget=60, known={"age": 63}
    )
    session = post("/predict", wish, generated.Session)
    path = f"/predict/{session.id}"
    while session.question and not session.should_stop:
        given = {"feature": session.question.feature, "outcome": "refused"}
        if given["feature"] == "cp":
            given |= {"outcome": "value", "value": "asymptomatic"}
        answers = generated.AnswersRequest(answers=[given])
        session = post(f"{path}/answers", answers, generated.Session)
    dear = {"feature": "ca", "outcome": "value", "value": 2}
    body = generated.AnswersRequest(answers=[dear]).model_dump(**sent, mode="json")
    refused = client.post(f"{path}/answers", json=body)
    problem = generated.Problem.model_validate_json(refused.text)
    assert problem.type.value == "/problems/over-budget"
    ended = client.post(f"{path}/stop").text
    session = generated.Session.model_validate_json(ended)
    print(session.stop_reason.value, session.budget.spent)
