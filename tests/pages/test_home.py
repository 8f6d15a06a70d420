"""Home: for whom, what is saved, a case to try, and what cards say."""

import re
from dataclasses import replace
from html import unescape
from typing import Any

import pytest
from fastapi.testclient import TestClient

from askless.app.documents.model.model import model_to_json
from askless.app.main import create_app
from askless.app.pages.cases.trying import choose_claim, is_askable, make_offer
from askless.app.settings.settings import DEMO_NOTE, Settings
from askless.core.catalogue.catalogue import Feature
from askless.core.model.ensemble import Knee
from askless.core.model.model import Model
from tests.pages.site import BROWSER, post


def with_question(model: Model, question: str | None = "How many?") -> Model:
    """The model with a question for the one number that has no unit, the vessels."""
    catalogue = model.ensemble.catalogue
    idx, features = catalogue.feature_idxs["ca"], list(catalogue.features)
    features[idx] = replace(features[idx], question=question)
    asking = replace(catalogue, features=tuple(features))
    return replace(model, ensemble=replace(model.ensemble, catalogue=asking))


def with_saving(model: Model, standard_error: float = 0.01) -> Model:
    """The model as if its dearest budget erred as much as that of 15 CAD."""
    curve = model.curve
    assert curve is not None
    errors = (*curve.errors_calibrated[:-1], curve.errors_calibrated[5])
    part = curve.budgets[5]
    knees = Knee(part, part), Knee(None, part, 0.0, standard_error)
    ensemble = replace(with_question(model).ensemble, knees=knees)
    return replace(
        model, curve=replace(curve, errors_calibrated=errors), ensemble=ensemble
    )


def put(client: TestClient, model: Model) -> str:
    made = client.post("/models?as_version=true", json=model_to_json(model))
    return str(made.json()["id"])


def test_a_saving_is_told_only_where_it_was_measured(
    client: TestClient, model: Model
) -> None:
    put(client, model)
    without = client.get("/ui").text
    put(client, with_saving(model))
    told = client.get("/ui").text

    assert "of the cost" not in without
    assert "4 % of the cost, and at most 2 more errors in 100 cases." in told
    assert "319.75 CAD" in told
    assert "−2.0 to 2.0 percentage points (95 % interval)" in told
    assert "on 303 cases that it was not trained on" in told


def test_the_saving_with_the_greatest_lower_end_is_told(model: Model) -> None:
    unsure, sure = with_saving(model, 0.05), with_saving(model, 0.01)
    coded = with_question(with_saving(model, 0.0), None)

    claim = choose_claim([model, unsure, coded, sure])

    assert claim is not None
    assert claim.model is sure
    assert choose_claim([model, coded]) is None


def test_a_model_that_people_can_answer_is_offered(model: Model) -> None:
    plain = replace(model, curve=None)

    offer = make_offer({"a": plain, "b": model, "c": with_question(model)})

    assert offer is not None
    assert offer.model_id == "c"
    assert make_offer({"a": plain}) is None
    assert make_offer({}) is None


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"label": "Age", "unit": "years"}, True),
        ({"label": "Vessels", "question": "How many vessels?"}, True),
        ({"unit": "years"}, False),
        ({"label": "Vessels"}, False),
        ({"label": "Triglycerides", "unit": "log mg/dL"}, False),
        ({"label": "Triglycerides", "unit": "ln(mg/dL)"}, False),
        ({"type": "boolean", "label": "Angina"}, True),
        ({"type": "boolean"}, False),
        ({"type": "category", "label": "Sex", "categories": ("f", "m")}, True),
        ({"type": "category", "label": "Sex", "categories": ("1", "2")}, False),
        ({"type": "category", "categories": ("f", "m")}, False),
    ],
)
def test_a_person_answers_words_and_units(
    fields: dict[str, Any], expected: bool
) -> None:
    assert is_askable(Feature("x", **fields)) is expected


def test_a_card_says_what_is_predicted_and_with_what_error(
    client: TestClient, model: Model
) -> None:
    put(client, model)

    page = client.get("/ui").text

    assert re.search("Predicts: .*disease.* or .*no disease", page)
    assert re.search(r"Wrong predictions: 22\s% at half, 17\s% at full cost", page)
    assert f"From at most {model.ensemble.is_used.sum()} tests" in page


def test_a_model_without_a_curve_is_neither_praised_nor_offered(
    client: TestClient, model: Model
) -> None:
    put(client, replace(model, curve=None))

    page = client.get("/ui").text

    assert "its error under a budget is not known" in page
    assert "/ui/try" not in page
    assert "Start a session" in page


def test_a_first_answer_is_taken_and_charged(client: TestClient, model: Model) -> None:
    id = put(client, model)
    first = make_offer({id: model})
    assert first is not None
    value = first.answers[0][0]
    made = post(client, "/ui/try", model=id, feature=first.feature.name, value=value)
    session = client.get(f"/predict/{made.headers['location'].split('/')[-1]}").json()

    assert made.status_code == 303
    assert session["budget"]["spent"] == first.price
    assert session["answers"][0]["feature"] == first.feature.name


@pytest.mark.parametrize("typed", ["630", "old"])
def test_an_odd_first_answer_is_asked_again_and_not_charged(
    client: TestClient, model: Model, typed: str
) -> None:
    id = put(client, model)
    made = post(client, "/ui/try", model=id, feature="age", value=typed)
    session = client.get(f"/predict/{made.headers['location'].split('/')[-1]}").json()

    assert (session["answers"], session["budget"]["spent"]) == ([], 0)


def test_a_feature_that_is_none_is_refused(client: TestClient, model: Model) -> None:
    id = put(client, model)

    assert post(client, "/ui/try", model=id, feature="x", value="1").status_code == 422
    assert post(client, "/ui/try", model="mdl_x").status_code == 404


def test_the_foot_has_the_operators_note_and_no_other(settings: Settings) -> None:
    def foot(**more: Any) -> str:
        app = create_app(settings.model_copy(update=more), is_local=True)
        with TestClient(app, "http://127.0.0.1", headers=BROWSER) as client:
            return str(client.get("/ui").text.split("<footer>")[1])

    plain, noted = foot(), foot(note="Ask <b>the lab</b>.")
    demo, both = foot(demo=True), foot(demo=True, note="Ours.")

    assert "class=" not in plain.replace('class="wide"', "")
    assert "Ask &lt;b&gt;the lab&lt;/b&gt;." in noted
    assert DEMO_NOTE in unescape(demo)
    assert "Ours." in both
    assert "The demo" not in both


def test_a_model_of_ones_own_has_no_note_of_the_demo(
    settings: Settings, model: Model
) -> None:
    app = create_app(settings.model_copy(update={"demo": True}), is_local=True)
    with TestClient(app, "http://127.0.0.1", headers=BROWSER) as client:
        plain = put(client, replace(model, card={}))
        noted = put(client, replace(model, card={"note": "Not for clinics."}))
        feet = [
            unescape(client.get(path).text.split("<footer>")[1])
            for path in ("/ui/models", f"/ui/models/{plain}", f"/ui/models/{noted}")
        ]

    assert [DEMO_NOTE in foot for foot in feet] == [True, False, False]
    assert "Not for clinics." in feet[2]


def test_cases_of_a_minute_have_names_of_their_own(
    client: TestClient, model_id: str
) -> None:
    ids = [
        client.post("/predict", json={"model": model_id, "budget": 5}).json()["id"]
        for _ in range(7)
    ]

    page = client.get("/ui").text
    # The newest come first, and the rest is on the page of sessions.
    names = [re.search(rf"{id}\"><bdi[^>]*>([^<]+)", page)[1] for id in ids[2:]]

    assert len(set(names)) == 5
    assert not any(id in page for id in ids[:2])
    assert '<a href="/ui/sessions">All sessions</a>' in page
    assert all(name.startswith("heart-cleveland, ") for name in names)
