"""Panels in a model's document: the way there and back, and what is refused."""

import csv
import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from askless.app.documents import files
from askless.app.documents.files import model_text
from askless.app.documents.model import model_from_json
from askless.app.documents.panels import MAX_PANELS
from askless.app.words.wording import why
from askless.core.errors import RefusedError
from askless.core.model.model import Model
from askless.core.session import machine
from askless.core.training.params import BoostParams
from tests import strategies
from tests.documents import document_of, through_json
from tests.panels import shorten, with_panels
from tests.sessions import answer_from_row
from tests.small import finish, random_dataset, train


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


def test_training_again_gives_the_same_bytes(model):
    n_classes = len(model.ensemble.classes)

    assert model_text(fitted(n_classes)) == model_text(model)


def test_model_without_panels_has_none_after_the_round_trip(model):
    plain = replace(model.ensemble, panels=None, policy="ordered")
    plain = replace(plain, algorithm="adaboost_bt", ranges=())

    again = through_json(Model("m", plain, "y"))

    assert again.ensemble.panels is None


def test_policy_panels_without_panels_is_refused(document):
    document["panels"] = None

    with pytest.raises(RefusedError, match="policy"):
        model_from_json(document)


def place_of(document: dict[str, Any]) -> int:
    """A panel with nodes in its trees, of as many features as there are."""
    sizes = [
        len(one["blend"]["trees"]["features"]) if one["blend"] else 0
        for one in document["panels"]["panels"]
    ]
    return int(np.argmax(sizes))


def set_at(holder: Any, path: str, change: Any) -> None:
    """Replace a value by what a function makes of it, or by a value."""
    *way, last = (int(step) if step.isdigit() else step for step in path.split("."))
    for step in way:
        holder = holder[step]
    holder[last] = change(holder[last]) if callable(change) else change


def refused(document: dict[str, Any]) -> list[str]:
    with pytest.raises(RefusedError) as refusals:
        model_from_json(document)
    return [one.field for one in refusals.value.refusals]


def cut(values: list[Any]) -> list[Any]:
    return values[:-1]


# Where a panel is damaged, by what, and the field that is named.
PANEL = [
    ("features", lambda idxs: [*idxs, idxs[0]], "features"),
    ("features", lambda idxs: [*idxs, 99], "features"),
    ("features", lambda idxs: [*idxs, -1], "features"),
    ("features", [0.5], "features"),
    ("loss", -0.1, "loss"),
    ("loss", math.nan, "loss"),
    ("loss", math.inf, "loss"),
    ("loss", "low", "loss"),
    ("may_lack", [99], "may_lack"),
    ("may_lack", None, "may_lack"),
    ("blend", None, "blend"),
    ("blend", [], "blend"),
    ("blend.weights", cut, "blend.weights"),
    ("blend.weights.0", -1.0, "blend.weights"),
    ("blend.weights.0", math.nan, "blend.weights"),
    ("blend.ridges", lambda ridges: ridges[:-1], "blend.weights"),
    ("blend.ridges.0.kind", "other", "blend.ridges"),
    ("blend.ridges.0.width", 0.0, "blend.ridges"),
    ("blend.ridges.0.seed", -1, "blend.ridges"),
    ("blend.ridges.0.stretches", cut, "blend.ridges[0].stretches"),
    ("blend.ridges.0.stretches.0", math.nan, "blend.ridges"),
    ("blend.ridges.0.coefficients", cut, "blend.ridges[0].coefficients"),
    ("blend.ridges.0.coefficients", [], "blend.ridges[0].coefficients"),
    ("blend.ridges.0.coefficients.0", [0.5, 0.5], "blend.ridges[0].coefficients"),
    ("blend.ridges.0.coefficients.0.0", math.inf, "blend.ridges"),
    ("blend.ridges.0.offsets", [], "blend.ridges[0].coefficients"),
    ("blend.ridges.0.slope", math.nan, "blend.ridges"),
    ("blend.ridges.1.coefficients", cut, "blend.ridges[1].coefficients"),
    ("blend.ridges.1.offsets", [0.1, 0.2], "blend.ridges[1].coefficients"),
    ("blend.trees.features.0", 99, "blend.trees.features"),
    ("blend.trees.features", cut, "blend.trees"),
    ("blend.trees.cuts", cut, "blend.trees"),
    ("blend.trees.cuts.0", math.nan, "blend.trees.cuts"),
    ("blend.trees.cuts.0", -math.inf, "blend.trees.cuts"),
    ("blend.trees.cuts.0", 1e301, "blend.trees.cuts"),
    ("blend.trees.is_category", cut, "blend.trees"),
    ("blend.trees.is_category.0", 1, "blend.trees.is_category"),
    ("blend.trees.missing_below", cut, "blend.trees"),
    ("blend.trees.below", cut, "blend.trees"),
    ("blend.trees.above", cut, "blend.trees"),
    ("blend.trees.starts", [], "blend.trees"),
    ("blend.trees.starts.0", math.nan, "blend.trees.starts"),
    ("blend.trees.roots", cut, "blend.trees"),
    ("blend.trees.outputs.0", 1, "blend.trees.outputs"),
    ("blend.trees.outputs.0", -1, "blend.trees.outputs"),
    ("blend.trees.steps.0", math.inf, "blend.trees.steps"),
    ("blend.trees.shares", cut, "blend.trees.shares"),
    ("blend.trees.shares.0", -0.1, "blend.trees.shares"),
    ("blend.trees.shares.0", 1.001, "blend.trees.shares"),
    ("blend.trees.shares.0", math.nan, "blend.trees.shares"),
    ("rises", cut, "rises"),
    ("rises", lambda rises: [*rises, 0.0], "rises"),
    ("rises.0", -0.1, "rises"),
    ("rises.0", math.nan, "rises"),
    ("rises.0", 2e6, "rises"),
    ("blend.trees.steps", cut, "blend.trees"),
]

# Children that are their own node, an earlier one, too far, or a step that isn't there.
CHILDREN = [
    ("below.0", 0),
    ("above.0", 0),
    ("below.1", 0),
    ("below.0", 10**6),
    ("above.0", -(10**6)),
    ("below.0", 2**40),
    ("roots.0", 10**6),
    ("roots.0", -(10**6)),
    ("roots.0", 0.5),
    # Nodes of several parents, and trees that are one.
    ("roots.1", 0),
    ("above.0", 1),
]
HOSTILE = [(f"blend.trees.{path}", value, "blend.trees") for path, value in CHILDREN]


@pytest.mark.parametrize(("path", "change", "field"), PANEL + HOSTILE)
def test_damaged_panel_is_refused_by_field(document, path, change, field):
    place = place_of(document)
    set_at(document, f"panels.panels.{place}.{path}", change)

    fields = refused(document)

    assert any(
        one.startswith(f"model.panels.panels[{place}].{field}") for one in fields
    )


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


@pytest.mark.parametrize(
    ("path", "change", "field"),
    [
        ("panels", [], "model.panels"),
        ("panels.starts", [0.1, 0.2], "model.panels.starts"),
        ("panels.starts.0", math.nan, "model.panels.starts[0]"),
        ("panels.panels", [], "model.panels.panels"),
        ("panels.panels", lambda all_: all_[:1], "model.panels.panels"),
    ],
)
def test_damaged_ladder_is_refused_by_field(document, path, change, field):
    set_at(document, path, change)

    assert field in refused(document)


@pytest.mark.parametrize(
    ("path", "change", "field"),
    [
        ("errors", cut, "errors"),
        ("errors.0", -0.1, "errors[0]"),
        ("rules", [], "rules"),
        ("rules", lambda rules: rules[::-1], "rules"),
        ("rules", lambda rules: [rules[0], *rules], "rules"),
        ("rules.0.rate", math.inf, "rules[0].rate"),
        ("rules.0.spend_micros", -1.0, "rules[0].spend_micros"),
        ("rules.0.targets", cut, "rules[0]"),
        ("rules.0.targets.0", 1, "rules[0].targets"),
        ("rules.0.targets.0", -1, "rules[0].targets[0]"),
        ("rules.0.thresholds", cut, "rules[0]"),
        ("rules.0.thresholds.0", math.nan, "rules[0].thresholds[0]"),
        ("rules.0.prices_micros.0", 0.5, "rules[0].prices_micros[0]"),
        ("rules.0.left.0", 1.5, "rules[0].left[0]"),
    ],
)
def test_damaged_stopping_rules_are_refused_by_field(document, path, change, field):
    set_at(document, f"panels.stopping.{path}", change)

    assert f"model.panels.stopping.{field}" in refused(document)


def test_panels_without_stopping_rules_are_read_and_written_as_before(document):
    # Without rules nobody asks by them.
    del document["panels"]["stopping"], document["ranges"]

    model = model_from_json(document)

    assert model.ensemble.panels.stopping is None
    assert "stopping" not in document_of(model)["panels"]


def test_panel_without_features_that_has_a_blend_is_refused(document):
    panels = document["panels"]["panels"]
    place = next(i for i, one in enumerate(panels) if not one["features"])
    panels[place]["blend"] = panels[place_of(document)]["blend"]

    assert f"model.panels.panels[{place}].blend" in refused(document)


def test_command_line_trains_panels_and_evaluates_and_predicts(run, tmp_path):
    random = np.random.default_rng(0)
    table, spec, path = (tmp_path / one for one in ("t.csv", "s.json", "m.json"))
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
    }
    spec.write_text(json.dumps(wanted))

    trained = run("train", table, "--spec", spec, "-o", path)
    told = run("evaluate", path, table, "--budgets", "0,3,inf", "--json")

    ensemble = files.load_model(path).ensemble
    state = machine.start(ensemble, 5_000_000)
    state, asked = answer_from_row(ensemble, state, [2.0, 0.0, 1.0])
    curve = json.loads(told.out)
    # Whether the easy cases end early is for its folds to say.
    kept = {ensemble.policy_at(one) for one in (0, 3_000_000, None)}
    assert trained.code == 0
    assert set(curve["policy"].split(", ")) == kept
    assert curve["max_spend"][1] <= 3
    assert curve["error"][2] < curve["error"][0]
    assert state.spent <= 5_000_000
    assert 0 in asked
    question = machine.next_question(ensemble, machine.start(ensemble, 5_000_000))
    assert why(ensemble, question).startswith("If you follow the whole plan, ")
    assert machine.forecast(ensemble, state).label == 1
