"""Each page in each of its states, all of whose names are hostile ones.

axe-core in light, in dark and at 320 px; no script of a name runs; nothing is wider
than the screen. A page that is new has its states here.
"""

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from askless.app.documents.files import read_model
from askless.app.settings.settings import Settings
from tests.app.servers import Server
from tests.pages.audit import audit
from tests.pages.conftest import open_page
from tests.pages.hostile import ARABIC, MARKUP, NAMES, hostile_model
from tests.pages.site import Site, fill
from tests.pages.test_result import answer

Play = Callable[[Page, Site], None]
STATES: list[Play] = []


def state(play: Play) -> Play:
    """Have a state walked; it says how one gets there."""
    STATES.append(play)
    return play


@pytest.fixture(scope="module")
def odd_site(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Site]:
    """A server with a hostile model, and a plain one."""
    home = tmp_path_factory.mktemp("odd")
    template = request.getfixturevalue("sqlite_template")
    (home / "askless.db").write_bytes(template.read_bytes())
    server = Server(Settings(home=home))
    try:
        fill(server.url)
        made = Site(server.url, "").call("POST", "/models", hostile_model())
        yield Site(server.url, made["id"])
    finally:
        server.close()


@pytest.fixture
def odd_page(browser: Browser, odd_site: Site) -> Iterator[Page]:
    asked: list[str] = []
    for page in open_page(browser, odd_site):
        page.on("dialog", lambda one: (asked.append(one.message), one.dismiss()))
        yield page
    assert asked == []


def open_case(page: Page, site: Site, **more: Any) -> dict[str, Any]:
    """Start a case, and show what it asks."""
    session = site.start(None, client_ref=MARKUP, stop={"certain": False}, **more)
    page.goto(f"/ui/sessions/{session['id']}")
    return session


def send(page: Page, **fields: str) -> None:
    """Fill fields by their names, and press the button of the first of them."""
    for name, text in fields.items():
        page.locator(f'[name="{name}"]').fill(text)
    first = page.locator(f'[name="{next(iter(fields))}"]')
    first.locator("xpath=ancestor::form").get_by_role("button").last.click()


@state
def home(page: Page, site: Site) -> None:
    site.start(client_ref=NAMES[3])
    page.goto("/ui")


@state
def signed_in_wrongly(page: Page, site: Site) -> None:
    del site
    page.goto("/ui/sign-in")
    send(page, key=MARKUP)
    expect(page.get_by_role("alert")).to_be_focused()


@state
def what_is_not_there(page: Page, site: Site) -> None:
    del site
    page.goto(f"/ui/models/{NAMES[1]}")
    expect(page.get_by_role("heading")).to_contain_text("Not found")


@state
def models(page: Page, site: Site) -> None:
    del site
    page.goto("/ui/models?done=deleted")


@state
def model(page: Page, site: Site) -> None:
    page.goto(f"/ui/models/{site.model_id}")
    for one in page.locator("main details summary").all():
        one.click()


@state
def comparison(page: Page, site: Site) -> None:
    other = hostile_model() | {"name": NAMES[4]}
    made = site.call("POST", "/models?as_version=true", other)
    page.goto(f"/ui/models/compare?a={site.model_id}&b={made['id']}")
    page.get_by_text("The same as a table").click()


@state
def comparison_of_one_with_itself(page: Page, site: Site) -> None:
    page.goto(f"/ui/models/compare?a={site.model_id}&b={site.model_id}")
    expect(page.get_by_role("alert")).to_be_focused()


@state
def plan(page: Page, site: Site) -> None:
    page.goto(f"/ui/models/{site.model_id}/plan?budget=&questions=5")


@state
def plan_for_a_wrong_budget(page: Page, site: Site) -> None:
    query = urlencode({"budget": MARKUP, "questions": NAMES[1]})
    page.goto(f"/ui/models/{site.model_id}/plan?{query}")
    expect(page.get_by_role("alert")).to_be_focused()


@state
def model_that_is_in_use(page: Page, site: Site) -> None:
    site.start()
    page.goto(f"/ui/models/{site.model_id}/delete")
    page.get_by_role("button", name="Delete it").click()
    expect(page.get_by_role("alert")).to_contain_text("not deleted")


@state
def choice_of_a_model(page: Page, site: Site) -> None:
    del site
    page.goto("/ui/sessions/new")


@state
def start_with_all_fields_wrong(page: Page, site: Site) -> None:
    page.goto(f"/ui/sessions/new?model={site.model_id}")
    page.get_by_text("More: when to stop").click()
    page.get_by_text("What is already known").click()
    for field in page.locator("main form input[type=text]").all():
        field.fill("\u0645 <b> " + "9" * 250)
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("alert")).to_be_focused()


@state
def sessions_of_which_there_is_none(page: Page, site: Site) -> None:
    del site
    page.goto(f"/ui/sessions?model={NAMES[5][:9]}&client_ref={MARKUP[:8]}&state=closed")


@state
def sessions(page: Page, site: Site) -> None:
    site.start(client_ref=NAMES[1])
    page.goto("/ui/sessions")


@state
def question(page: Page, site: Site) -> None:
    session = open_case(page, site)
    for outcome in ("value", "ordered", "refused", "value"):
        session = answer(site, session, outcome)
    page.reload()
    for one in page.locator("main details summary").all():
        one.click()


@state
def question_of_a_bundle(page: Page, site: Site) -> None:
    bundled = hostile_model()
    for one in bundled["groups"]:
        one.update(fee_micros=0, price_micros=8_000_000)
    for one in bundled["features"]:
        one["cost_micros"] *= one["group"] is None
    made = site.call("POST", "/models?as_version=true", bundled)
    bundle = next(one["name"] for one in bundled["features"] if one["group"])
    session = site._replace(model_id=made["id"]).start(60)
    page.goto(f"/ui/sessions/{session['id']}?{urlencode({'feature': bundle})}")
    page.get_by_role("button", name="Answer", exact=True).click()
    expect(page.get_by_role("alert")).to_be_focused()


@state
def model_and_start_without_a_curve(page: Page, site: Site) -> None:
    bare = hostile_model() | {"curve": None, "card": {}, "cost_unit": ""}
    made = site.call("POST", "/models?as_version=true", bare)
    page.goto(f"/ui/models/{made['id']}")
    audit(page)
    page.goto(f"/ui/sessions/new?model={made['id']}")


@state
def answer_that_is_missing(page: Page, site: Site) -> None:
    open_case(page, site)
    page.get_by_role("button", name="Answer", exact=True).click()
    expect(page.get_by_role("alert")).to_be_focused()


@state
def answer_that_is_odd(page: Page, site: Site) -> None:
    open_case(page, site)
    page.get_by_text("None of these").first.click()
    page.get_by_label("Another answer").fill(NAMES[1])
    page.get_by_role("button", name="Answer", exact=True).click()
    expect(page.get_by_text("Is this right?")).to_be_visible()


@state
def answer_to_an_old_form(page: Page, site: Site) -> None:
    answer(site, open_case(page, site))
    page.get_by_role("button", name="Refused").click()
    expect(page.get_by_role("alert")).to_contain_text("out of date")


@state
def answer_that_costs_too_much(page: Page, site: Site) -> None:
    session = site.start(20, stop={"certain": False})
    dearest = max(hostile_model()["features"], key=lambda one: one["cost_micros"])
    query = urlencode({"feature": dearest["name"]})
    page.goto(f"/ui/sessions/{session['id']}?{query}")
    page.get_by_role("button", name="Ordered, result later").click()
    expect(page.get_by_role("alert")).to_contain_text("This costs")


@state
def answer_that_cannot_be_used(page: Page, site: Site) -> None:
    session = open_case(page, site)
    ensemble = read_model(hostile_model()).ensemble
    unread = int(ensemble.is_used.argmin())
    query = urlencode({"feature": ensemble.catalogue.features[unread].name})
    page.goto(f"/ui/sessions/{session['id']}?{query}")
    page.get_by_role("button", name="Ordered, result later").click()
    expect(page.get_by_role("alert")).to_contain_text("This answer can't be used")
    audit(page)
    page.get_by_role("button", name="Charge it all the same").click()
    expect(page.get_by_role("heading", name="Results to come")).to_be_visible()


@state
def correction_and_wrong_budget(page: Page, site: Site) -> None:
    answer(site, open_case(page, site), "ordered")
    page.reload()
    page.get_by_role("link", name="Enter the result").click()
    page.get_by_text("Change the budget").click()
    page.locator("[name=budget]").fill(MARKUP)
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.get_by_role("alert")).to_be_focused()


@state
def advice_to_stop_and_the_end(page: Page, site: Site) -> None:
    session = site.start(None, stop={"max_questions": 1})
    answer(site, session)
    page.goto(f"/ui/sessions/{session['id']}")
    expect(page.get_by_role("link", name="Go on all the same")).to_be_visible()
    audit(page)
    page.get_by_role("button", name="Stop here").click()
    expect(page.get_by_text("The session is closed")).to_be_visible()


@state
def result(page: Page, site: Site) -> None:
    session = site.start(300, client_ref=NAMES[3], stop={"certain": False})
    for outcome in ("value", "ordered", "unavailable", "value", "unknown", "value"):
        session = answer(site, session, outcome)
    site.call("POST", f"/predict/{session['id']}/stop", {})
    page.goto(f"/ui/sessions/{session['id']}/result")
    page.get_by_role("button", name="Record it").click()
    expect(page.get_by_role("alert")).to_be_focused()
    audit(page)
    page.get_by_label("Confirmed class").select_option("0")
    page.get_by_role("button", name="Record it").click()
    expect(page.get_by_role("button", name="Correct it")).to_be_visible()


@state
def erased_case(page: Page, site: Site) -> None:
    session = answer(site, open_case(page, site))
    site.call("DELETE", f"/predict/{session['id']}")
    page.reload()
    audit(page)
    page.goto(f"/ui/sessions/{session['id']}/result")
    expect(page.get_by_role("heading", level=1)).to_have_text("This case was erased")
    expect(page.locator("main")).to_contain_text("Total:")


@state
def datasets(page: Page, site: Site) -> None:
    made = site.upload(NAMES[5], f'"{MARKUP.replace(chr(34), "")}",b\n1,2\n')
    page.goto("/ui/datasets")
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_role("alert")).to_contain_text("must be chosen")
    audit(page)
    page.goto(f"/ui/datasets/{made['id']}/delete")
    audit(page)
    page.goto(f"/ui/datasets/{made['id']}")


@state
def ledger_of_which_nothing_is_meant(page: Page, site: Site) -> None:
    del site
    page.goto(f"/ui/ledger?{urlencode({'unit': MARKUP})}")
    audit(page)
    page.goto(f"/ui/ledger?{urlencode({'from': MARKUP, 'key': NAMES[1]})}")
    expect(page.get_by_role("alert")).to_be_focused()


@state
def ledger_and_reversal(page: Page, site: Site) -> None:
    session = answer(site, open_case(page, site))
    page.goto(f"/ui/ledger?session={session['id']}")
    for one in page.locator("main figure summary").all():
        one.click()
    audit(page)
    page.get_by_role("link", name="Reverse").click()
    page.get_by_role("button", name="Take back").click()
    expect(page.get_by_role("alert")).to_be_focused()
    audit(page)
    page.get_by_label("Reason").fill(MARKUP)
    page.get_by_role("button", name="Take back").click()
    expect(page.get_by_role("status")).to_contain_text("is reversed")


@state
def monitor(page: Page, site: Site) -> None:
    session = answer(site, open_case(page, site))
    answer(site, session, "refused")
    site.call("POST", f"/predict/{session['id']}/stop", {})
    label = session["prediction"]["label"]
    site.call("PUT", f"/predict/{session['id']}/outcome", {"label": label})
    page.goto(f"/ui/models/{site.model_id}/monitor")
    for one in page.locator("main figure summary").all():
        one.click()


@state
def new_training(page: Page, site: Site) -> None:
    names = ",".join(f'"{one.replace(chr(34), "")}"' for one in NAMES)
    cells = (",".join("xyz"[one % 3] for _ in NAMES) for one in range(40))
    kinds = ("no", MARKUP.replace('"', ""))
    rows = "".join(f"{one},{kinds[at % 2]}\n" for at, one in enumerate(cells))
    made = site.upload(NAMES[1], f"{names},b\n{rows}")
    page.goto("/ui/train/new")
    audit(page)
    page.goto(f"/ui/train/new?dataset={made['id']}")
    audit(page)
    page.get_by_role("button", name="Go on").click()
    for one in page.locator("main details > summary").all():
        one.click()
    send(page, **{"c0-cost": ARABIC, "c1-group": NAMES[1][:200], "c0-label": MARKUP})
    expect(page.get_by_role("alert")).to_be_focused()


@state
def trainings(page: Page, site: Site) -> None:
    rows = "".join(f"{one},{one % 2}\n" for one in range(40))
    made = site.upload(NAMES[1], f"{NAMES[5].replace(',', '')},b\n{rows}")
    wish = {"dataset_id": made["id"], "target": "b", "name": MARKUP}
    training = site.call("POST", "/train", wish)
    page.goto("/ui/train")
    audit(page)
    page.goto(f"/ui/train/{training['id']}")
    expect(page.get_by_text("in the queue")).to_be_visible()
    audit(page)
    page.get_by_role("button", name="Cancel the training").click()
    expect(page.get_by_text("The training was cancelled.")).to_be_visible()


@state
def keys(page: Page, site: Site) -> None:
    del site
    page.goto("/ui/keys/new")
    send(page, name="x" * 201, days=ARABIC)
    expect(page.get_by_role("alert")).to_be_focused()
    audit(page)
    page.get_by_text("Choose scopes").click()
    page.get_by_label("See tables").check()
    send(page, name=MARKUP, days="9")
    expect(page.get_by_text("it is not shown again")).to_be_visible()
    audit(page)
    page.get_by_role("link", name="I have kept it").click()
    audit(page)
    page.get_by_role("link", name="Revoke").first.click()
    audit(page)
    page.get_by_role("button", name="Revoke it").click()
    expect(page.get_by_role("status")).to_contain_text("is revoked")


@pytest.mark.parametrize("play", STATES, ids=[one.__name__ for one in STATES])
def test_a_page_keeps_nobody_out_whatever_names_are(
    odd_page: Page, odd_site: Site, play: Play
) -> None:
    play(odd_page, odd_site)

    audit(odd_page)
    assert odd_page.locator("h1").count() == 1
    assert odd_page.locator("main :is(script, img[onerror], [style])").count() == 0
