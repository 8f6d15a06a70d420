"""States of all other pages: models, trainings, tables, books, keys, problems."""

from json import dumps
from typing import Any
from urllib.parse import urlencode

from tests.pages.hostile import ARABIC, MARKUP, NAMES, hostile_model
from tests.pages.site import Site
from tests.pages.states_of_cases import Play, open_case
from tests.pages.visits import Visit

STATES: list[Play] = []
# A table's cells are without marks of CSV.
PLAIN_MARKUP = MARKUP.replace('"', "")


def state(play: Play) -> Play:
    """Have a state walked, as in `states_of_cases`."""
    STATES.append(play)
    return play


@state
def signed_in_wrongly(visit: Visit, site: Site) -> None:
    del site
    visit.open("/ui/sign-in")
    visit.press("Sign in", key=MARKUP)
    visit.is_refused("key")
    visit.shows("must be a key")


@state
def what_is_not_there(visit: Visit, site: Site) -> None:
    del site
    for path in (f"/ui/models/{NAMES[1]}", "/ui/ledger/led_x/reverse"):
        visit.open(path)
        visit.shows("Not found")


@state
def problems(visit: Visit, site: Site) -> None:
    del site
    for path in ("/problems", "/problems/forbidden", "/models/none"):
        visit.open(path)
        visit.check()


@state
def models(visit: Visit, site: Site) -> None:
    visit.open("/ui/models?done=deleted")
    visit.shows("The model is deleted")
    visit.follow(MARKUP)
    visit.shows(MARKUP)
    visit.follow("Versions and files")
    visit.follow("Delete")
    visit.shows("Delete")
    visit.follow("Keep it")
    visit.shows(MARKUP)
    del site


@state
def model(visit: Visit, site: Site) -> None:
    visit.open(f"/ui/models/{site.model_id}")
    visit.shows("303", "164", "5-fold", "always the commonest class", "imported")
    for section in ("Prices and tests", "How cases go", "For statisticians"):
        visit.check()
        visit.follow(section)
    visit.check()
    visit.follow("Versions and files")


@state
def champion(visit: Visit, site: Site) -> None:
    made = site.bring(hostile_model() | {"name": "crowned"})
    newer = site.bring(hostile_model() | {"name": "crowned"})
    visit.open(f"/ui/models/{made.model_id}#versions")
    visit.press("Make it the champion")
    visit.shows("It is the champion now", "version 2")
    visit.check()
    visit.follow("Versions and files")
    visit.press("No champion any more")
    visit.shows("no champion any more")
    visit.open(f"/ui/models/{newer.model_id}")


@state
def comparison(visit: Visit, site: Site) -> None:
    made = site.bring(hostile_model() | {"name": NAMES[4]})
    visit.open("/ui/models/compare")
    visit.shows("First model")
    visit.check()
    visit.open(f"/ui/models/compare?a={site.model_id}&b={made.model_id}")
    visit.shows("The same as a table", "Both err equally without a limit")


@state
def comparison_of_one_with_itself(visit: Visit, site: Site) -> None:
    visit.open(f"/ui/models/compare?a={site.model_id}&b={site.model_id}")
    visit.is_refused()
    visit.shows("must be another model")


@state
def plan(visit: Visit, site: Site) -> None:
    visit.open(f"/ui/models/{site.model_id}/plan?budget=0")
    visit.shows("It pays for nothing.")
    visit.check()
    visit.open(f"/ui/models/{site.model_id}/plan?budget=&questions=5")
    visit.shows("without a limit", "Asked first", "Ask: ")


@state
def plan_for_a_wrong_budget(visit: Visit, site: Site) -> None:
    for budget in ("x", "-1", "1e99", "0.00000001", "NaN", MARKUP):
        query = urlencode({"budget": budget, "questions": NAMES[1]})
        visit.open(f"/ui/models/{site.model_id}/plan?{query}")
        visit.is_refused("budget", "questions")
        visit.shows("must be one of 1 to 5")


@state
def shadow_of_a_log(visit: Visit, site: Site) -> None:
    names = "case,decided_at,vendor,score,decision"
    log = f"{names}\n1,2026-01-01,{PLAIN_MARKUP.replace(',', '')},3,good\n"
    name = "<b>{{ 7 * 7 }}.csv"
    made = site.upload(name, log)
    visit.open("/ui/shadow")
    visit.shows("Which log?", name)
    visit.check()
    visit.open(f"/ui/shadow/new?dataset={made['id']}")
    visit.press("Start", spec=MARKUP)
    visit.is_refused("spec")
    visit.check()
    spec = {
        **{"name": MARKUP, "target": "outcome", "classes": {"good": "g", "bad": "b"}},
        "features": [{"name": "score", "type": "number", "cost": 1}],
    }
    visit.press("Draft the mapping", spec=dumps(spec))
    visit.shows("decided_at")
    visit.check()
    visit.press("Start")
    visit.shows(MARKUP, "waits for a worker", "in the queue")
    visit.check()
    visit.press("Cancel the shadow")
    visit.shows("was cancelled")


@state
def model_that_is_in_use_and_deleted(visit: Visit, site: Site) -> None:
    made = site.bring(hostile_model() | {"name": NAMES[2]})
    session = made.start()
    visit.open(f"/ui/models/{made.model_id}/delete")
    visit.press("Delete it")
    visit.is_refused()
    visit.shows("not deleted", "open or wait")
    visit.check()
    site.call("POST", f"/predict/{session['id']}/stop")
    visit.open(f"/ui/models/{made.model_id}/delete")
    visit.press("Delete it")
    visit.shows("The model is deleted")
    visit.open(f"/ui/models/{made.model_id}")
    visit.shows("Not found")


@state
def datasets(visit: Visit, site: Site) -> None:
    made = site.upload(NAMES[5], f'"{PLAIN_MARKUP}",b\n1,2\n')
    visit.open("/ui/datasets")
    visit.press("Upload")
    visit.is_refused("dataset")
    visit.shows("must be chosen")
    visit.check()
    visit.open(f"/ui/datasets/{made['id']}")
    visit.shows("1 row, 2 columns", PLAIN_MARKUP)
    visit.check()
    visit.open(f"/ui/datasets/{made['id']}/delete")
    visit.check()
    visit.press("Delete it")
    visit.shows("is deleted")


@state
def dataset_in_use(visit: Visit, site: Site) -> None:
    training = order(site)
    visit.open(f"/ui/datasets/{training['dataset_id']}/delete")
    visit.press("Delete it")
    visit.is_refused()
    visit.shows("It is not deleted. A training that is queued or running")
    site.call("POST", f"/train/{training['id']}/cancel")


@state
def ledger_of_which_nothing_is_meant(visit: Visit, site: Site) -> None:
    del site
    visit.open(f"/ui/ledger?{urlencode({'unit': MARKUP})}")
    visit.shows("No entry is like this")
    visit.check()
    for query, field in (
        ("from=2026-11-31", "from"),
        ("from=2026-11-30&to=2026-11-29", "from"),
        ("unit=%00", "unit"),
        ("key=key_" + "k" * 200, "key"),
        ("session=heart", "session"),
    ):
        visit.open(f"/ui/ledger?{query}")
        visit.is_refused(field)
    visit.open(f"/ui/ledger?{urlencode({'from': MARKUP, 'key': NAMES[1]})}")
    visit.is_refused("from", "key")


@state
def ledger_and_reversal(visit: Visit, site: Site) -> None:
    session = site.answer(open_case(visit, site))
    price = f"{session['budget']['spent']:.2f}"
    visit.open(f"/ui/ledger?session={session['id']}")
    visit.shows("fewer than three days", price)
    visit.check()
    visit.follow("Reverse")
    visit.press("Take back")
    visit.is_refused("reason")
    visit.check()
    visit.press("Take back", reason=MARKUP)
    visit.shows("is reversed", MARKUP)
    visit.open(f"/ui/sessions/{session['id']}/result")
    visit.shows("given back")


@state
def monitor(visit: Visit, site: Site) -> None:
    other = site.bring(hostile_model())
    visit.open(f"/ui/models/{other.model_id}/monitor")
    visit.shows("No session of this model")
    other.start()
    visit.open(f"/ui/models/{other.model_id}/monitor")
    visit.shows("PUT /predict/{id}/outcome")
    session = site.answer(open_case(visit, site))
    site.answer(session, "refused")
    site.call("POST", f"/predict/{session['id']}/stop", {})
    label = session["prediction"]["label"]
    site.call("PUT", f"/predict/{session['id']}/outcome", {"label": label})
    here = f"/ui/models/{site.model_id}/monitor"
    for query in ("to=x", "bucket=year", "from=9999-01-01"):
        visit.open(f"{here}?{query}")
        visit.is_refused(query.partition("=")[0])
    visit.open(here)
    visit.shows("What came of questions", "outcomes")


@state
def new_training(visit: Visit, site: Site) -> None:
    names = ",".join(f'"{name.replace(chr(34), "")}"' for name in NAMES)
    cells = (",".join("xyz"[row % 3] for _ in NAMES) for row in range(40))
    kinds = ("no", PLAIN_MARKUP)
    rows = "".join(f"{row},{kinds[at % 2]}\n" for at, row in enumerate(cells))
    made = site.upload(NAMES[1], f"{names},b\n{rows}")
    visit.open("/ui/train/new")
    visit.check()
    visit.open(f"/ui/train/new?dataset={made['id']}")
    visit.check()
    visit.press("Go on")
    typed = {"c0-cost": ARABIC, "c1-group": NAMES[1][:100], "c0-label": MARKUP}
    visit.press("Check", **typed)
    visit.is_refused("c0-cost", "c1-group")


def order(site: Site) -> Any:
    """Order a training, which nobody takes."""
    rows = "".join(f"{row},{row % 2}\n" for row in range(40))
    made = site.upload(NAMES[1], f"{NAMES[5].replace(',', '')},b\n{rows}")
    wish = {"dataset_id": made["id"], "target": "b", "name": MARKUP}
    return site.call("POST", "/train", wish)


@state
def trainings(visit: Visit, site: Site) -> None:
    training = order(site)
    visit.open("/ui/train")
    visit.shows(MARKUP)
    visit.check()
    visit.open(f"/ui/train/{training['id']}")
    visit.shows("in the queue", "No worker is there")
    visit.check()
    visit.press("Cancel the training")
    visit.shows("The training was cancelled.")


@state
def keys(visit: Visit, site: Site) -> None:
    visit.open("/ui/keys/new")
    visit.press("Make the key", name="x" * 201, days=ARABIC)
    visit.is_refused("name", "days")
    visit.check()
    visit.press("Make the key", role="", name=MARKUP, days="9")
    visit.is_refused("scopes")
    visit.press("Make the key", name=MARKUP, days="9", scopes="datasets:read")
    visit.shows("it is not shown again")
    visit.check()
    visit.follow("I have kept it")
    visit.check()
    visit.follow("Revoke")
    visit.check()
    visit.press("Revoke it")
    visit.shows("is revoked")
    assert site.call("GET", "/keys")["items"][0]["revoked_at"] is not None


@state
def providers(visit: Visit, site: Site) -> None:
    visit.open("/ui/providers")
    visit.shows("There is no provider yet")
    visit.check()
    visit.press("Store it", name=MARKUP, document="{")
    visit.is_refused("name")
    visit.press("Store it", name="odd", document='{"fills": 1}')
    visit.is_refused("document")
    visit.check()
    request = {"url": "http://127.0.0.1:9/{key.domain}"}
    fields = {"request": request, "read": {MARKUP: "a"}, "price": 1}
    visit.press("Store it", name="odd", document=dumps({"fills": MARKUP} | fields))
    visit.shows("The provider is stored", MARKUP)
    visit.check()
    visit.press("Call it once")
    visit.is_refused("keys.domain")
    visit.press("Call it once", **{"keys.domain": MARKUP})
    visit.shows("What the test has read", "released", "could not be reached")
    visit.check()
    visit.open("/ui/providers")
    visit.shows("ready", "a test")
    visit.check()
    visit.follow("odd")
    visit.follow("Delete it")
    visit.check()
    visit.press("Delete it")
    visit.shows("The provider is deleted")
    assert site.call("GET", "/providers")["items"] == []
