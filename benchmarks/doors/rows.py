"""`python -m benchmarks.doors.rows`: a row by /v2 beside the same case over /predict.

One server, one connection, plain sockets for both. Each patient of the demo's table is
predicted by one request of the Open Inference Protocol, and worked through as a
session: started, then answered until nothing is asked. Which comes first alternates;
both must ask and spend the same. The first patients warm up and do not count. Every
ratio is of the medians of one block; the median and quartiles of the blocks are shown.
"""

import argparse
import json
import random
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.doors.patients import DEMO, Patient, read_patients
from benchmarks.doors.serving import compare, opened
from benchmarks.service.clients import Caller
from benchmarks.service.servers import ROOT, train_model

Json = dict[str, Any]
MODEL = "heart-cleveland"
BUDGET = 60
BLOCKS, PATIENTS, WARM = 9, 20, 20
DATATYPES = {"number": "FP64", "boolean": "BOOL", "category": "BYTES"}


def read_types() -> dict[str, str]:
    spec = json.loads((DEMO / "heart.json").read_text(encoding="utf-8"))
    return {one["name"]: one["type"] for one in spec["features"]}


def infer(caller: Caller, patient: Patient, types: dict[str, str]) -> tuple[Any, ...]:
    """Predict a patient by one request; return features asked and spend."""
    inputs = [
        {
            "name": name,
            "datatype": DATATYPES[kind],
            "shape": [1],
            "data": [patient.get(name)],
        }
        for name, kind in types.items()
    ]
    parameters = {"budget": BUDGET, "exact_budget": True}
    body = {"parameters": parameters, "inputs": inputs}
    told = caller.post(f"/v2/models/{MODEL}/infer", body)
    found = {one["name"]: one["data"][0] for one in told["outputs"]}
    return json.loads(found["asked"]), found["spend"]


def play(caller: Caller, patient: Patient, types: dict[str, str]) -> tuple[Any, ...]:
    """Work through a patient as a session; return features paid for and spend."""
    del types
    wish = {"model": MODEL, "budget": BUDGET, "stop": {"certain": False}}
    session = caller.post("/predict", wish)
    while session["question"] is not None:
        name = session["question"]["feature"]
        one = {"feature": name, "outcome": "unavailable"}
        if name in patient:
            one = {"feature": name, "outcome": "value", "value": patient[name]}
        path = f"/predict/{session['id']}/answers"
        session = caller.post(path, {"answers": [one]})
    paid = [one["feature"] for one in session["answers"] if one["outcome"] == "value"]
    return paid, session["budget"]["spent"]


def time_pair(caller: Caller, patient: Patient, types: Json, turn: int) -> Json:
    """Time both ways of one patient, in seconds."""
    took, found = {}, {}
    for way in (infer, play) if turn % 2 else (play, infer):
        started = time.perf_counter()
        found[way.__name__] = way(caller, patient, types)
        took[way.__name__] = time.perf_counter() - started
    assert found["infer"] == found["play"], found
    return took


def measure(caller: Caller) -> Json:
    types, patients = read_types(), read_patients()
    random.Random(1).shuffle(patients)
    for turn, patient in enumerate(patients[:WARM]):
        time_pair(caller, patient, types, turn)
    ours, theirs = [], []
    for block in range(BLOCKS):
        first = WARM + block * PATIENTS
        pairs = [
            time_pair(caller, patient, types, turn)
            for turn, patient in enumerate(patients[first : first + PATIENTS])
        ]
        ours.append(median(one["infer"] for one in pairs))
        theirs.append(median(one["play"] for one in pairs))
    return compare(ours, theirs) | {"patients": BLOCKS * PATIENTS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", type=Path, help="The demo's, trained before.")
    asked = parser.parse_args()
    model = asked.model.read_text() if asked.model else train_model(ROOT)
    with opened(model, "inference") as caller:
        print(json.dumps(measure(caller)), flush=True)


if __name__ == "__main__":
    main()
