"""Small models to ask over HTTP, and how answers to them are written."""

from collections.abc import Callable
from datetime import UTC, datetime
from json import dumps
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient

from askless.app.documents.model.model import model_to_json
from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.model.ensemble import Ensemble
from askless.core.model.hypotheses import Stump
from askless.core.model.model import Model
from askless.core.table.dataset import ClassLabel
from tests.sessions import CLASSES
from tests.small import ensemble_of

Json = dict[str, Any]
# What the fixtures of conftest_http give.
#: Makes a key; returns the headers that carry it.
Make = Callable[..., dict[str, str]]
#: Makes an application; takes whether it is local, and changes of the settings.
MakeApp = Callable[..., FastAPI]
Put = Callable[..., str]
Start = Callable[..., Json]
Answer = Callable[..., Any]
Train = Callable[[bytes, Json], str]
#: Plays a case on a day: its age, and its true label or None.
Play = Callable[..., Json]

UNIT = 1_000_000

CLINIC = Catalogue(
    features=(
        Feature("age", cost=UNIT, label="Age", unit="years"),
        Feature("sex", "category", cost=500_000, categories=("female", "male")),
        Feature("chol", cost=5_170_000, group="blood"),
        Feature("fbs", "boolean", cost=3_100_000, group="blood"),
        Feature("ecg", cost=15_500_000),
        Feature("echo1", group="echo", cost=0),
        Feature("echo2", group="echo", cost=0),
    ),
    groups=(Group("blood", fee=2_100_000), Group("echo", price=9 * UNIT)),
    cost_unit="CAD",
)


def on(day: int) -> datetime:
    """The time of day at which cases are played."""
    return datetime(2026, 11, day, 9, 0, tzinfo=UTC)


def clinic(policy: str = "ordered") -> Ensemble:
    """A model that reads every feature, a group and a bundle among them."""
    stumps = (
        Stump(0, 50.5, (1,)),
        Stump(1, 1.0, (1,), is_category=True),
        Stump(2, 240.5, (1,)),
        Stump(3, 0.5, (1,)),
        Stump(5, 1.5, (1,)),
        Stump(4, 2.5, (-1,)),
        Stump(6, 3.5, (1,)),
        Stump(0, 60.5, (1,)),
    )
    return ensemble_of(
        stumps,
        CLINIC,
        classes=(ClassLabel("0", "healthy"), ClassLabel("1", "ill")),
        alphas=(1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3),
        algorithm="adaboost_rs" if policy == "sample" else "adaboost_bt",
        policy=policy,
    )


def ageless() -> Ensemble:
    """A model that asks for sex, then cholesterol, and can use no other answer."""
    stumps = (Stump(1, 1.0, (1,), is_category=True), Stump(2, 240.5, (1,)))
    return ensemble_of(stumps, CLINIC)


def many(n_features: int) -> Ensemble:
    """A model with one stump on each of many features that cost 1."""
    stumps = [Stump(idx, 0.5, (1,)) for idx in range(n_features)]
    return ensemble_of(stumps, classes=CLASSES)


def model_json(ensemble: Ensemble, name: str) -> Json:
    return model_to_json(Model(name, ensemble, "disease"))


OUTCOMES = ("ordered", "unavailable", "refused", "unknown")


def said(feature: str, value: Any) -> Json:
    if value in OUTCOMES and isinstance(value, str):
        return {"feature": feature, "outcome": value}
    return {"feature": feature, "outcome": "value", "value": value}


def local_client(app: FastAPI, **more: Any) -> TestClient:
    """A caller on loopback."""
    return TestClient(app, base_url="http://127.0.0.1", **more)


def form(table: bytes, spec: Any = None) -> Json:
    """An upload, with a spec or without, as the client is told to send it."""
    data = {} if spec is None else {"spec": dumps(spec)}
    return {"files": {"dataset": ("t.csv", table)}, "data": data}
