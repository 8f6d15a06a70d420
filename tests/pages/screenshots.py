"""Writes docs/img/*.png: each page as it is shown, on a desk and on a phone.

`make screenshots`, or `python -m tests.pages.screenshots home sign-in` for some. Who
writes a page adds its states to SHOTS.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from io import BytesIO
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pyarrow.csv
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from askless import Client
from askless.app.cli.serving import demo
from askless.app.documents.files import load_spec
from askless.app.documents.model.model import model_to_json
from askless.app.records import DEFAULT_TENANT
from askless.app.settings.settings import Settings
from askless.app.store.database.migrate import migrate
from askless.app.terminal.demo import DATA, train_without_patients
from askless.app.uploads.streams import read_columns
from askless.core.pipeline.check import check_training
from askless.core.pipeline.train import train
from askless.core.table.check import CheckedTable
from askless.core.training.params import BoostParams
from tests.app.servers import Server
from tests.pages.conftest import launch
from tests.pages.site import Site, fill, working
from tests.small import pull

IMAGES = Path(__file__).parents[2] / "docs" / "img"
# Width and height of the screen; a picture is as high as its page.
SCREENS = {"": (1280, 800), "-phone": (375, 760)}

COLOURS = 128
# Cases of the challenge: those before its refresh, and those after it.
N_PLAYED = 120
# What callers know their cases by.
VISITS = (f"visit-{number}" for number in count(4711))


class Shot(NamedTuple):
    """A picture: its name, and how a page gets to what it shows."""

    name: str
    play: Callable[[Page, Site], None]


def at(path: str) -> Callable[[Page, Site], None]:
    """Open an address, in which `{}` is the model."""

    def play(page: Page, site: Site) -> None:
        page.goto(path.format(site.model_id))

    return play


def play_home(page: Page, site: Site) -> None:
    site.start(client_ref=next(VISITS))
    page.goto("/ui")


def play_wrong_key(page: Page, site: Site) -> None:
    del site
    page.goto("/ui/sign-in")
    page.get_by_label("Key").fill("askl_1_2")
    page.get_by_role("button", name="Sign in").click()


def play_sessions(page: Page, site: Site) -> None:
    site.start(client_ref=next(VISITS))
    page.goto("/ui/sessions")


def play_question(page: Page, site: Site) -> None:
    known = {"age": 63, "sex": "male"}
    session = site.start(150, known=known, client_ref=next(VISITS))
    given = [
        {"feature": "cp", "outcome": "value", "value": "asymptomatic"},
        {"feature": "chol", "outcome": "ordered"},
        {"feature": "trestbps", "outcome": "value", "value": 150},
    ]
    address = f"/predict/{session['id']}/answers"
    site.call("POST", address, {"answers": given})
    page.goto(f"/ui/sessions/{session['id']}")


def play_result(page: Page, site: Site) -> None:
    session = site.start(120, client_ref=next(VISITS), stop={"certain": False})
    for _ in range(6):
        asked = session["question"]
        if asked is None:
            break
        given = {"feature": asked["feature"], "outcome": "value"}
        if asked["categories"]:
            given["value"] = asked["categories"][0]
        elif asked["type"] == "boolean":
            given["value"] = True
        else:
            given["value"] = round(sum(asked["range"]) / 2)
        path = f"/predict/{session['id']}/answers"
        session = site.call("POST", path, {"answers": [given]})
    page.goto(f"/ui/sessions/{session['id']}/result")


def play_comparison(page: Page, site: Site) -> None:
    spec = json.loads((DATA / "heart.json").read_text(encoding="utf-8"))
    with TemporaryDirectory() as place:
        files = Path(place) / "spec.json", Path(place) / "model.json"
        files[0].write_text(json.dumps(spec | {"algorithm": "adaboost_rs"}))
        train = [sys.executable, "-m", "askless.app.cli", "train", DATA / "heart.csv"]
        subprocess.run([*train, "--spec", files[0], "-o", files[1]], check=True)
        model = json.loads(files[1].read_text(encoding="utf-8"))
    other = site.call("POST", "/models?as_version=true", model)["id"]
    page.goto(f"/ui/models/compare?a={site.model_id}&b={other}")


def play_ledger(page: Page, site: Site) -> None:
    play_result(page, site)
    page.goto("/ui/ledger")


def play_reversal(page: Page, site: Site) -> None:
    play_result(page, site)
    page.goto("/ui/ledger")
    page.get_by_role("link", name="Reverse").first.click()


def play_keys(page: Page, site: Site) -> None:
    scopes = ["models:read", "predict:read", "predict:write"]
    site.call("POST", "/keys", {"name": "night clinic", "scopes": scopes, "days": 90})
    page.goto("/ui/keys")


def play_made_key(page: Page, site: Site) -> None:
    del site
    page.goto("/ui/keys/new")
    page.get_by_label("Name").fill("night clinic")
    page.get_by_label("Clinician").check()
    page.get_by_role("button", name="Make the key").click()


def play_monitor(page: Page, site: Site) -> None:
    for label in ("0", "1", "1"):
        play_result(page, site)
        session = page.url.split("/")[-2]
        site.call("POST", f"/predict/{session}/stop", {})
        site.call("PUT", f"/predict/{session}/outcome", {"label": label})
    page.goto(f"/ui/models/{site.model_id}/monitor")


def play_challenge(page: Page, site: Site) -> None:
    """Train a model of its own name, and play cases before and after its refresh."""
    name = "heart-clinic"
    with Client(site.url) as client:
        if name not in [model.name for model in client.models()]:
            spec = json.loads((DATA / "heart.json").read_text(encoding="utf-8"))
            client.train(DATA / "heart.csv", spec | {"name": name, "effort": "fast"})
            patients = pyarrow.csv.read_csv(DATA / "heart.csv").to_pylist()
            work_through(client, name, patients[:20])
            client.follow(client.refresh_model(name)["id"])
            work_through(client, name, patients[20:N_PLAYED])
            while client.challenge(name)["cases"] < N_PLAYED - 20:
                time.sleep(0.5)
        champion = client.model(name)
    page.goto(f"/ui/models/{champion.id}/challenge")


def work_through(client: Client, name: str, patients: list[dict[str, Any]]) -> None:
    """Play cases to their end, and record how they turned out."""
    for patient in patients:
        session = client.predict(name, budget=60)
        session.play(patient)
        session.stop()
        session.tell_outcome(str(patient["label"]))


def play_datasets(page: Page, site: Site) -> None:
    upload(site, "heart")
    upload(site, "diabetes")
    page.goto("/ui/datasets")


def play_dataset(page: Page, site: Site) -> None:
    page.goto(f"/ui/datasets/{upload(site, 'heart')}")


def play_new_training(page: Page, site: Site) -> None:
    dataset_id = upload(site, "heart")
    page.goto(f"/ui/train/new?dataset={dataset_id}&target=label")
    for cell, text in {"cost": "5.17", "group": "blood", "unit": "mg/dL"}.items():
        page.locator(f"[name=c4-{cell}]").fill(text)
    page.get_by_label("Without a price").check()
    page.get_by_role("button", name="Check", exact=True).click()
    page.get_by_label("Amount").first.fill("2.10")
    page.get_by_role("button", name="Check", exact=True).click()


def play_training(page: Page, site: Site) -> None:
    spec = json.loads((DATA / "heart.json").read_text(encoding="utf-8"))
    order = spec | {"effort": "standard", "dataset_id": upload(site, "heart")}
    address = f"/train/{site.call('POST', '/train', order)['id']}"
    # Where no worker is, it stays queued.
    for _ in range(80):
        if site.call("GET", address)["progress"] > 0.2:
            break
        time.sleep(0.25)
    page.goto(f"/ui{address}")


def upload(site: Site, table: str) -> str:
    """Upload a table of the demo, and return its id."""
    text = (DATA / f"{table}.csv").read_text(encoding="utf-8")
    return str(site.upload(f"{table}.csv", text)["id"])


# The first ones see three models, and few cases.
SHOTS = (
    Shot("sign-in", at("/ui/sign-in")),
    Shot("sign-in-wrong", play_wrong_key),
    Shot("home", play_home),
    Shot("models", at("/ui/models")),
    Shot("model", at("/ui/models/{}")),
    Shot("start", at("/ui/sessions/new?model={}")),
    Shot("question", play_question),
    Shot("result", play_result),
    Shot("sessions", play_sessions),
    Shot("plan", at("/ui/models/{}/plan?budget=60")),
    Shot("comparison", play_comparison),
    Shot("ledger", play_ledger),
    Shot("reversal", play_reversal),
    Shot("monitor", play_monitor),
    Shot("challenge", play_challenge),
    Shot("datasets", play_datasets),
    Shot("dataset", play_dataset),
    Shot("training-new", play_new_training),
    Shot("training", play_training),
    Shot("trainings", at("/ui/train")),
    Shot("keys", play_keys),
    Shot("key-new", at("/ui/keys/new")),
    Shot("key-made", play_made_key),
)


# They are of a service that has the demo's patients.
OF_DEMO = ("home", "start")


def add_models(site: Site) -> None:
    """Import models of the demo's other tables, small ones, as they are trained."""
    for table in ("breast-cancer", "diabetes"):
        spec = load_spec(DATA / f"{table}.json")
        small = replace(spec, boost=BoostParams("adaboost_bt_smoothed", rounds=60))
        columns = read_columns(DATA / f"{table}.csv", spec.table.text_columns)
        dataset = check_training(columns, spec).dataset
        _, model = pull(train(CheckedTable(dataset, None, ()), small))
        site.call("POST", "/models", model_to_json(model))


def take(browser: Browser, site: Site, shot: Shot) -> None:
    for suffix, (width, height) in SCREENS.items():
        size = {"width": width, "height": height}
        context = browser.new_context(base_url=site.url, viewport=size)
        page = context.new_page()
        shot.play(page, site)
        # The page of a training listens to it.
        is_idle = "/ui/train/" not in page.url
        # Pictures far below are loaded once somebody comes near.
        page.evaluate("for (const it of document.images) it.loading = 'eager'")
        page.wait_for_load_state("networkidle" if is_idle else "load")
        shown = Image.open(BytesIO(page.screenshot(full_page=True))).convert("RGB")
        # A third of the bytes: pages have few colours.
        few = shown.quantize(COLOURS, dither=Image.Dither.NONE)
        few.save(IMAGES / f"{shot.name}{suffix}.png", optimize=True)
        context.close()


def play_demo(settings: Settings, url: str) -> Site:
    """Do what `make demo` does before it serves: train, and play the patients."""
    _, _, model = train_without_patients()
    with demo.open_engine(settings) as engine:
        demo.store_trained(settings, engine, DEFAULT_TENANT, model)
        demo.list_case_lines(settings, engine, DEFAULT_TENANT, url)
    models = Site(url, "").call("GET", "/models")["items"]
    return Site(url, models[0]["id"])


@contextmanager
def served(
    *, has_worker: bool = False, has_patients: bool = False
) -> Iterator[tuple[Site, Browser]]:
    """Yield a server of its own, and Chromium; with patients that of `make demo`."""
    with ExitStack() as stack:
        home = stack.enter_context(TemporaryDirectory())
        playwright = stack.enter_context(sync_playwright())
        settings = Settings(home=Path(home))
        migrate(settings.url)
        server = Server(settings)
        stack.callback(server.close)
        if has_worker:
            stack.enter_context(working(Path(home)))
        browser = launch(playwright)
        yield (
            play_demo(settings, server.url) if has_patients else fill(server.url),
            browser,
        )
        browser.close()


def chosen(names: list[str]) -> list[Shot]:
    """Return the shots of these names, or all of them."""
    unknown = set(names) - {shot.name for shot in SHOTS}
    if unknown:
        raise SystemExit(f"There is no picture called {', '.join(sorted(unknown))}.")
    return [shot for shot in SHOTS if not names or shot.name in names]


def main(names: list[str]) -> None:
    shots = chosen(names)
    IMAGES.mkdir(exist_ok=True)
    for is_demo in (True, False):
        taken = [shot for shot in shots if (shot.name in OF_DEMO) == is_demo]
        if not taken:
            continue
        with served(has_worker=True, has_patients=is_demo) as (site, browser):
            add_models(site)
            for shot in taken:
                take(browser, site, shot)


if __name__ == "__main__":
    main(sys.argv[1:])
