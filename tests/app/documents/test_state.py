import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.app.documents.files import load_model
from askless.app.documents.session.state import has_pending, parse_state, write_state
from askless.core.errors import RefusedError
from askless.core.model.model import Model
from askless.core.session import machine
from askless.core.session.state import Charge, StopRule
from askless.core.session.steps import add_step_chances
from tests import strategies
from tests.cascades import answer, cascades
from tests.documents import state_from_json, state_to_json, through_json
from tests.sessions import NEVER, observe


@pytest.mark.parametrize("policy", ["ordered", "sample"])
def test_state_survives_the_round_trip(trained_model, policy):
    ensemble = trained_model.ensemble
    stop = StopRule(certain=False, confidence=0.99, max_questions=9)
    state = machine.start(ensemble, 9_000_000, 5, {0: 1.5}, policy, stop)
    if state.next_feature_idx is not None:
        state = observe(ensemble, state, state.next_feature_idx, "ordered")
    state = add_step_chances(ensemble, state)

    document = json.loads(json.dumps(state_to_json(state, ensemble.catalogue)))
    back = state_from_json(document, ensemble.catalogue)

    assert repr(back) == repr(state)
    assert back.step_chances


@pytest.mark.parametrize(("spend", "stored"), [("all", "all"), ("worthwhile", None)])
def test_what_a_session_spends_is_no_amount(trained_model, spend, stored):
    ensemble = trained_model.ensemble
    state = machine.start(ensemble, 9_000_000, stop=StopRule(spend=spend))

    document = state_to_json(state, ensemble.catalogue)

    assert document["stop"].get("spend") == stored
    assert "spend_micros" not in document["stop"]
    assert state_from_json(document, ensemble.catalogue).stop == state.stop


def test_a_state_keeps_what_was_missed_and_who_sold(trained_model):
    ensemble = trained_model.ensemble
    state = machine.start(ensemble, None)
    charges = (Charge(0, 5), Charge(1, 7, "miss"), Charge(1, 6, provider="firmo"))
    state = replace(state, charges=charges, held=9)

    document = state_to_json(state, ensemble.catalogue)

    assert [
        charge.keys() - {"feature", "amount_micros"} for charge in document["charges"]
    ] == [set(), {"kind"}, {"provider"}]
    assert "held" not in str(document)
    back = state_from_json(document, ensemble.catalogue)
    assert (back.charges, back.held) == (charges, 0)


def test_a_state_without_exploration_is_written_as_before(trained_model):
    ensemble = trained_model.ensemble
    state = machine.start(ensemble, None)
    state = observe(ensemble, state, state.next_feature_idx, "refused")

    document = state_to_json(state, ensemble.catalogue)

    assert not {"explore", "explorations"} & document.keys()
    assert document["history"][0].pop("propensity") == 1.0
    # What was not asked by chance has no chance.
    assert state_from_json(document, ensemble.catalogue).history[0].propensity is None


def test_state_of_another_version_is_refused_once(trained_model):
    ensemble = trained_model.ensemble
    document = state_to_json(machine.start(ensemble, None), ensemble.catalogue)

    with pytest.raises(RefusedError) as refused:
        state_from_json(document | {"version": 2, "later": 1}, ensemble.catalogue)

    assert [str(refusal) for refusal in refused.value.refusals] == [
        "state.version: must be 1; start another session, or use the version of "
        "Askless that wrote it; found 2"
    ]


@given(st.data())
def test_session_goes_on_the_same_after_the_round_trip(data):
    ensemble = data.draw(strategies.ensembles() | cascades())
    row = data.draw(strategies.tables(ensemble.catalogue, max_rows=1))[0]
    stop = data.draw(st.sampled_from((NEVER, StopRule())))
    again = through_json(Model("m", ensemble)).ensemble
    budget, rate = data.draw(strategies.budgets()), data.draw(st.sampled_from((0, 0.5)))
    seed = data.draw(st.integers(0, 9))
    state = machine.start(ensemble, budget, seed, stop=stop, explore=rate)

    while state.next_feature_idx is not None:
        raw = json.loads(json.dumps(state_to_json(state, ensemble.catalogue)))
        stored = state_from_json(raw, again.catalogue)
        state = answer(ensemble, state, row)
        after = answer(again, stored, row)
        assert repr(after) == repr(state)
        assert machine.forecast(again, after) == machine.forecast(ensemble, state)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("format", "askless-model"),
        ("policy", "x"),
        ("budget_micros", -1),
        ("features", {"zz": {"outcome": "value", "value": 1}}),
        ("features", {"n": {"outcome": "lost", "value": 1}}),
        ("next_feature", "zz"),
        ("stop_reason", "bored"),
        ("is_ended", 1),
        ("stop", {"certain": True, "confidence": 0}),
        ("stop", {"certain": True, "max_questions": 10**9 + 1}),
        ("stop", {"certain": True, "spend": 100}),
        ("charges", [{"feature": "zz", "amount_micros": 1}]),
        ("history", [{"feature": "n", "outcome": "known", "charged_micros": 0}]),
    ],
)
def test_damaged_state_is_refused(trained_model, field, value):
    ensemble = trained_model.ensemble
    document = state_to_json(machine.start(ensemble, 5), ensemble.catalogue)

    with pytest.raises(RefusedError):
        state_from_json(document | {field: value}, ensemble.catalogue)


def test_each_place_with_an_unknown_feature_is_named(trained_model):
    ensemble = trained_model.ensemble
    document = state_to_json(machine.start(ensemble, 5), ensemble.catalogue)
    document |= {"known": ["n", "zz"], "next_feature": "zz"}
    document["features"] = {"zz": {"outcome": "known", "value": 1.0}}
    document["charges"] = [{"feature": "zz", "amount_micros": 1}]
    document["history"] = [{"feature": "zz", "outcome": "value", "charged_micros": 0}]

    with pytest.raises(RefusedError) as refused:
        state_from_json(document, ensemble.catalogue)

    assert [refusal.field for refusal in refused.value.refusals] == [
        "state.known[1]",
        "state.charges[0]",
        "state.history[0]",
        "state.features",
        "state.next_feature",
    ]


@pytest.mark.parametrize(
    ("name", "model", "texts"),
    [("ordered", "ordered", {}), ("sample", "classes_tree", {"farbe": "blau"})],
)
def test_state_stored_before_is_stored_again_to_the_byte(name, model, texts):
    golden = Path(__file__).parent / "golden"
    catalogue = load_model(golden / f"{model}.json").ensemble.catalogue
    text = (golden / f"state_{name}.json").read_text("utf-8")

    state, found = parse_state(text, catalogue)

    assert found == texts
    assert write_state(state, catalogue, found) == text
    assert has_pending(text) == bool(state.pending)
