"""Panels in a model's document: the way there and back, and what is refused."""

import csv
import json
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from askless.app.documents import files
from askless.app.documents.files import model_text
from askless.app.documents.model.model import model_from_json
from askless.app.documents.model.panels import MAX_PANELS
from askless.app.words.wording import explain_question
from askless.core.errors import RefusedError
from askless.core.model.model import Model
from askless.core.session import machine
from askless.core.training.params import BoostParams
from tests import strategies
from tests.documents import document_of, through_json
from tests.panels import shorten, with_panels
from tests.sessions import answer_from_row
from tests.small import finish, random_dataset, train


@cache
def fitted(n_classes: int) -> Model:
    """A small model whose panels have trees, ridges and every kind of column."""
    dataset = random_dataset(7, n_classes, 40, 4, n_values=5)
    with pytest.MonkeyPatch.context() as patch:
        shorten(patch, rounds=3)
        params = BoostParams("panels", rounds=2, seed=3)
        return finish(train(dataset, params, name="m", target="y", folds=2))


@pytest.fixture(scope="module", params=[2, 3])
def model(request) -> Model:
    return fitted(request.param)


@pytest.fixture(scope="module")
def text() -> str:
    return json.dumps(document_of(fitted(2)))


@pytest.fixture
def document(text) -> dict[str, Any]:
    """The document of a model of two classes, anew for each damage."""
    found: dict[str, Any] = json.loads(text)
    return found


def test_fitted_panels_survive_the_round_trip_to_the_bit(model):
    again = through_json(model)

    assert again == model
    assert model_text(again) == model_text(model)


def test_model_read_again_tells_the_same_bits(model):
    values = random_dataset(8, 2, 20, 4).values
    again = through_json(model).ensemble.panels

    for panel, other in zip(model.ensemble.panels.panels, again.panels, strict=True):
        told = panel.logits(values, model.ensemble.panels.starts)
        np.testing.assert_array_equal(other.logits(values, again.starts), told)


@given(with_panels(strategies.ensembles(max_hypotheses=1)))
def test_any_panels_survive_the_round_trip(ensemble):
    model = Model("m", ensemble, "target")

    assert through_json(model) == model


def test_emptiness_is_read_as_it_was_written_and_checked(document):
    kinds = [{"share": 0.75, "chances": [0.1] * 4}, {"share": 0.25, "chances": [1] * 4}]
    document["panels"]["emptiness"] = {"kinds": kinds}

    read = document_of(model_from_json(document))["panels"]["emptiness"]
    kinds[0]["chances"] = [0.1] * 3
    short = refused(document)
    kinds[0]["chances"] = [2.0] * 4
    large = refused(document)

    assert [kind["share"] for kind in read["kinds"]] == [0.75, 0.25]
    assert read["kinds"][1]["chances"] == [1.0] * 4
    assert short == ["model.panels.emptiness.kinds[0].chances"]
    assert large == [f"model.panels.emptiness.kinds[0].chances[{n}]" for n in range(4)]


def test_policy_panels_without_panels_is_refused(document):
    document["panels"] = None

    with pytest.raises(RefusedError, match="policy"):
        model_from_json(document)


def place_of(document: dict[str, Any]) -> int:
    """A panel with nodes in its trees, of as many features as there are."""
    sizes = [
        len(panel["blend"]["trees"]["features"]) if panel["blend"] else 0
        for panel in document["panels"]["panels"]
    ]
    return int(np.argmax(sizes))


def set_at(holder: Any, path: str, value: Any) -> None:
    *way, last = (int(step) if step.isdigit() else step for step in path.split("."))
    for step in way:
        holder = holder[step]
    holder[last] = value


def refused(document: dict[str, Any]) -> list[str]:
    with pytest.raises(RefusedError) as refusals:
        model_from_json(document)
    return [refusal.field for refusal in refusals.value.refusals]


# Nodes of several parents, and trees that are one: endless work from few bytes.
@pytest.mark.parametrize(("path", "value"), [("roots.1", 0), ("above.0", 1)])
def test_nodes_that_share_a_child_are_refused(document, path, value):
    place = place_of(document)
    set_at(document, f"panels.panels.{place}.blend.trees.{path}", value)

    assert f"model.panels.panels[{place}].blend.trees" in refused(document)


def test_panels_that_all_need_a_feature_are_refused(document):
    panels = document["panels"]["panels"]
    document["panels"]["panels"] = [panel for panel in panels if panel["features"]]
    # Which have one length for all panels.
    del document["panels"]["stopping"], document["ranges"]

    assert refused(document) == ["model.panels.panels"]


def test_numbers_too_large_to_add_up_leave_chances(document):
    place = place_of(document)
    blend = document["panels"]["panels"][place]["blend"]
    blend["weights"] = [1.0] * len(blend["weights"])
    for kernel in blend["ridges"][:-1]:
        kernel["slope"] = 1e300
        n_inputs = len(kernel["coefficients"])
        kernel["coefficients"] = [[1e300], [-1e300]] * (n_inputs // 2)
    panels = model_from_json(document).ensemble.panels
    values = random_dataset(8, 2, 20, 4).values

    with np.errstate(all="ignore"):
        logits = panels.panels[place].logits(values, panels.starts)

    assert np.isfinite(logits).all()


def test_panels_without_bound_are_refused(document):
    panels = document["panels"]["panels"]
    smallest = min(panels, key=lambda panel: len(json.dumps(panel)))
    document["panels"]["panels"] = [smallest] * (MAX_PANELS + 1)

    assert refused(document) == ["model.panels.panels"]


def test_panels_without_stopping_rules_are_read_and_written_as_before(document):
    # Without rules nobody asks by them.
    del document["panels"]["stopping"], document["ranges"]

    model = model_from_json(document)

    assert model.ensemble.panels.stopping is None
    assert "stopping" not in document_of(model)["panels"]


@pytest.mark.usefixtures("short_panels")
def test_command_line_trains_panels_and_evaluates_and_predicts(run, tmp_path):
    random = np.random.default_rng(0)
    table, spec, path = (tmp_path / name for name in ("t.csv", "s.json", "m.json"))
    rows = []
    for _ in range(30):
        n, c, b = random.normal(), random.choice(["red", "blue"]), random.integers(2)
        rows.append([f"{n:.2f}", c, b, "sick" if n + b > 0.5 else "well"])
    rows[0][0] = ""
    with table.open("w", newline="") as file:
        csv.writer(file).writerows([["n", "c", "b", "y"], *rows])
    wanted = {
        "name": "small",
        "target": "y",
        "positive": "sick",
        "costs": {"n": 3, "c": 1, "b": 2},
        "algorithm": "panels",
        "params": {"rounds": 3},
        "effort": "fast",
    }
    spec.write_text(json.dumps(wanted))

    trained = run("train", table, "--spec", spec, "-o", path)
    told = run("evaluate", path, table, "--budgets", "0,3,inf", "--json")

    ensemble = files.load_model(path).ensemble
    state = machine.start(ensemble, 5_000_000)
    state, asked = answer_from_row(ensemble, state, [2.0, 0.0, 1.0])
    curve = json.loads(told.out)
    # Whether the easy cases end early is for its folds to say.
    # A session plays the policy of the worthwhile part.
    limits = [ensemble.worthwhile_at(budget) for budget in (0, 3_000_000, None)]
    kept = {ensemble.policy_at(limit) for limit in limits}
    assert trained.code == 0
    assert set(curve["policy"].split(", ")) == kept
    assert curve["max_spend"][1] <= 3
    assert curve["error"][2] < curve["error"][0]
    assert state.spent <= 5_000_000
    assert 0 in asked
    question = machine.next_question(ensemble, machine.start(ensemble, 5_000_000))
    assert explain_question(ensemble, question).startswith(
        "If you follow the whole plan ("
    )
    assert machine.forecast(ensemble, state).label == 1
