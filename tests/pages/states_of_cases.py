"""States of the pages of cases: how one gets there, and what stands there."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from askless.app.documents.files import read_model
from tests.pages.hostile import MARKUP, NAMES, hostile_model
from tests.pages.site import Site
from tests.pages.visits import Visit

Play = Callable[[Visit, Site], None]
STATES: list[Play] = []
ANSWER = "Answer"


def state(play: Play) -> Play:
    """Have a state walked; it says how one gets there, and what is shown."""
    STATES.append(play)
    return play


def open_case(visit: Visit, site: Site, **more: Any) -> dict[str, Any]:
    """Start a case, and show what it asks."""
    session = site.start(None, client_ref=MARKUP, stop={"certain": False}, **more)
    visit.open(f"/ui/sessions/{session['id']}")
    return session


def show(visit: Visit, session: Any, end: str = "") -> None:
    visit.open(f"/ui/sessions/{session['id']}{end}")


@state
def home(visit: Visit, site: Site) -> None:
    session = site.start(client_ref=NAMES[3])
    visit.open("/ui")
    visit.shows(MARKUP, NAMES[3])
    visit.check()
    visit.press("Try a case")
    visit.shows("0.00 of ")
    site.call("POST", f"/predict/{session['id']}/stop")


@state
def receipt_of_a_case(visit: Visit, site: Site) -> None:
    session = site.start(client_ref=MARKUP)
    site.answer(session)
    show(visit, session, "/receipt")
    visit.shows(MARKUP, "a person", "So far")
    site.call("POST", f"/predict/{session['id']}/stop")
    show(visit, session, "/receipt")
    visit.shows("Decided", "What was not bought")


@state
def choice_of_a_model(visit: Visit, site: Site) -> None:
    del site
    visit.open("/ui/sessions/new")
    visit.shows(MARKUP)


@state
def start_with_all_fields_wrong(visit: Visit, site: Site) -> None:
    visit.open(f"/ui/sessions/new?model={site.model_id}")
    odd = "\u0645 <b> " + "9" * 250
    fields = ("budget", "client_ref", "confidence", "max_questions", "explore")
    n_cases = len(site.call("GET", "/predict?limit=200")["items"])
    visit.press("Start", limit="some", **dict.fromkeys(fields, odd))
    visit.is_refused("budget", "confidence", "max_questions", "explore")
    assert len(site.call("GET", "/predict?limit=200")["items"]) == n_cases


@state
def start_of_a_model_that_is_not_there(visit: Visit, site: Site) -> None:
    del site
    visit.open("/ui/sessions/new?model=none")
    visit.shows("Not found")


@state
def sessions_of_which_there_is_none(visit: Visit, site: Site) -> None:
    del site
    visit.open(
        f"/ui/sessions?model={NAMES[5][:9]}&client_ref={MARKUP[:8]}&state=closed"
    )
    visit.shows("No session is like this.")


@state
def sessions_by_what_no_text_can_be(visit: Visit, site: Site) -> None:
    del site
    for name in ("model", "client_ref"):
        visit.open(f"/ui/sessions?{name}=%00")
        visit.shows("must have neither U+0000 nor halves of characters")


@state
def sessions(visit: Visit, site: Site) -> None:
    site.start(client_ref=NAMES[1])
    erased = site.start()
    site.call("DELETE", f"/predict/{erased['id']}")
    visit.open("/ui/sessions")
    visit.shows(NAMES[1], "0.00 of 60.00 <b>€", "erased")


@state
def question(visit: Visit, site: Site) -> None:
    session = open_case(visit, site)
    for outcome in ("value", "ordered", "refused", "value"):
        session = site.answer(session, outcome)
    show(visit, session)
    visit.shows("Ask: ", "refused", "Results to come")
    visit.shows("If there is no result", "It counts neither for nor against.")


@state
def question_that_is_not_there(visit: Visit, site: Site) -> None:
    session = open_case(visit, site)
    show(visit, session, f"?{urlencode({'feature': MARKUP})}")
    visit.shows("Not found")
    visit.open("/ui/sessions/ses_0")
    visit.shows("Not found")


@state
def question_of_a_bundle(visit: Visit, site: Site) -> None:
    bundled = hostile_model()
    for group in bundled["groups"]:
        group.update(fee_micros=0, price_micros=8_000_000)
    for feature in bundled["features"]:
        feature["cost_micros"] *= feature["group"] is None
    member = next(each["name"] for each in bundled["features"] if each["group"])
    session = site.bring(bundled).start(60)
    show(visit, session, f"?{urlencode({'feature': member})}")
    visit.shows("buys all of")
    visit.press(ANSWER)
    visit.is_refused()


@state
def model_and_start_without_a_curve(visit: Visit, site: Site) -> None:
    bare = hostile_model() | {"curve": None, "card": {}, "cost_unit": ""}
    model_id = site.bring(bare).model_id
    visit.open(f"/ui/models/{model_id}")
    visit.shows("There is no curve of its error")
    visit.check()
    visit.open(f"/ui/models/{model_id}/plan")
    visit.shows("without a limit")
    visit.open(f"/ui/sessions/new?model={model_id}")
    visit.lacks("within chance")


@state
def answer_that_is_missing(visit: Visit, site: Site) -> None:
    session = open_case(visit, site)
    visit.press(ANSWER)
    visit.is_refused(f"value.{session['question']['feature']}")


@state
def answer_that_is_odd(visit: Visit, site: Site) -> None:
    session = open_case(visit, site)
    named = f"other.{session['question']['feature']}"
    visit.press(ANSWER, **{named: NAMES[1]})
    visit.shows("Is this right?")


@state
def answer_to_an_old_form(visit: Visit, site: Site) -> None:
    session = open_case(visit, site)
    site.answer(session)
    visit.press("Refused")
    visit.is_refused()
    visit.shows("out of date")
    spent = site.call("GET", f"/predict/{session['id']}")["budget"]["spent"]
    assert spent == session["question"]["price"]


@state
def answer_that_costs_too_much(visit: Visit, site: Site) -> None:
    session = site.start(20, stop={"certain": False})
    features = hostile_model()["features"]
    dearest = max(features, key=lambda feature: feature["cost_micros"])
    show(visit, session, f"?{urlencode({'feature': dearest['name']})}")
    visit.shows("more than is left")
    visit.check()
    visit.press("Ordered, result later")
    visit.is_refused()
    visit.shows("This costs", "Raise the budget below")


@state
def answer_that_cannot_be_used(visit: Visit, site: Site) -> None:
    session = open_case(visit, site)
    ensemble = read_model(hostile_model()).ensemble
    unread = int(ensemble.is_used.argmin())
    query = urlencode({"feature": ensemble.catalogue.features[unread].name})
    show(visit, session, f"?{query}")
    visit.press("Ordered, result later")
    visit.is_refused()
    visit.shows("This answer can't be used", "It was not charged.")
    visit.check()
    visit.press("Charge it all the same")
    visit.shows("Results to come")


@state
def correction_and_wrong_budget(visit: Visit, site: Site) -> None:
    session = site.answer(open_case(visit, site), "ordered")
    show(visit, session)
    visit.follow("Enter the result")
    visit.shows("What is the result")
    visit.check()
    visit.press("Change", budget=MARKUP)
    visit.is_refused("budget")


@state
def advice_to_stop_and_the_end(visit: Visit, site: Site) -> None:
    session = site.start(None, stop={"max_questions": 1})
    site.answer(session)
    show(visit, session)
    visit.shows("Suggested result", "Go on all the same", "Answer another feature")
    visit.check()
    visit.follow("Correct an answer")
    visit.shows("Answers so far", "Answer another feature")
    show(visit, session)
    visit.press("Stop here")
    visit.shows("Asking ended", "The bill")
    visit.lacks("Stop here", "Go on all the same", "Answer another feature")


@state
def result(visit: Visit, site: Site) -> None:
    session = site.start(300, client_ref=NAMES[3], stop={"certain": False})
    for outcome in ("value", "ordered", "unavailable", "refused", "unknown", "value"):
        session = site.answer(session, outcome)
    site.call("POST", f"/predict/{session['id']}/stop", {})
    show(visit, session, "/result")
    visit.shows(
        "Of 100 cases with these answers, about",
        "It was refused.",
        "Ordered; its result is still to come.",
        f"Total: {session['budget']['spent']:.2f} <b>€",
        *(step["words"] for step in session["prediction"]["steps"]),
    )
    visit.press("Record it")
    visit.is_refused("label")
    visit.check()
    for button, label in (("Record it", "0"), ("Correct it", "1")):
        visit.press(button, label=label)
        visit.shows("Correct it")
        recorded = site.call("GET", f"/predict/{session['id']}/outcome")
        assert recorded["label"] == label


@state
def result_whose_budget_is_raised(visit: Visit, site: Site) -> None:
    session = site.start(10)
    show(visit, session, "/result")
    visit.press("Raise the budget")
    visit.lacks("Raise the budget below")
    assert site.call("GET", f"/predict/{session['id']}")["budget"]["limit"] > 10


@state
def erased_case(visit: Visit, site: Site) -> None:
    session = site.answer(open_case(visit, site))
    site.call("DELETE", f"/predict/{session['id']}")
    show(visit, session)
    visit.check()
    show(visit, session, "/result")
    visit.shows("This case was erased", "Total:")
