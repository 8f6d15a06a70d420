"""A newcomer's whole story: from the key to the bill, with a worker that trains."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Browser, Page, expect

from askless.app.service import keys
from askless.app.settings.settings import Settings
from askless.app.store.database.engine import create_engine, transaction
from tests.app.servers import Server
from tests.pages.conftest import open_page
from tests.pages.site import Site, working

ROWS = 200


def case(at: int) -> str:
    """A made-up row, in which every number says a little of how the case turned out."""
    age, pressure, chol, scan = at * 7 % 31, at * 11 % 37, at * 13 % 41, at * 17 % 29
    outcome = "ill" if age + pressure + chol + scan > 69 else "well"
    return f"{40 + age},{'fm'[at % 2]},{110 + pressure},{180 + chol},{scan},{outcome}"


TABLE = "\n".join(["age,sex,pressure,chol,scan,outcome", *map(case, range(ROWS)), ""])
COSTS = {"age": "0", "sex": "0", "pressure": "1", "chol": "5.17", "scan": "80"}


@pytest.fixture(scope="module")
def key_and_site(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[tuple[str, Site]]:
    """A server that asks for keys, with a worker, one key and nothing else."""
    home = tmp_path_factory.mktemp("story")
    template = request.getfixturevalue("sqlite_template")
    (home / "askless.db").write_bytes(template.read_bytes())
    settings = Settings(home=home, authentication=True)
    engine = create_engine(settings.url)
    now = datetime.now(UTC)
    with transaction(engine, None) as db:
        tenant_id = keys.get_or_create_tenant(db, "clinic", now)
    with transaction(engine, tenant_id) as db:
        made = keys.create(db, keys.Wish("mine", keys.SCOPES), now)
    engine.dispose()
    server = Server(settings)
    try:
        with working(home):
            yield made.token, Site(server.url, "")
    finally:
        server.close()


@pytest.fixture(params=[True, False], ids=["script", "no-script"])
def newcomer(
    request: pytest.FixtureRequest, browser: Browser, key_and_site: tuple[str, Site]
) -> Iterator[Page]:
    yield from open_page(browser, key_and_site[1], java_script_enabled=request.param)


def test_a_newcomer_comes_from_a_table_to_a_bill(
    newcomer: Page, key_and_site: tuple[str, Site]
) -> None:
    sign_in(newcomer, key_and_site[0])
    upload(newcomer)
    train(newcomer)
    play(newcomer)
    read_result(newcomer)


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def sign_in(page: Page, key: str) -> None:
    page.goto("/")
    page.get_by_label("Key").fill(key)
    press(page, "Sign in")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Ask less")


def upload(page: Page) -> None:
    page.get_by_role("link", name="Data", exact=True).click()
    file = {"name": "visits.csv", "mimeType": "text/csv", "buffer": TABLE.encode()}
    page.get_by_label("Table", exact=True).set_input_files(file)
    press(page, "Upload")
    expect(page.get_by_text("200 rows, 6 columns")).to_be_visible()


def train(page: Page) -> None:
    page.get_by_role("link", name="Train with this table").click()
    press(page, "Go on")
    page.get_by_label("Unit of costs").fill("CAD")
    for number, cost in enumerate(COSTS.values()):
        page.locator(f"[name=c{number}-cost]").fill(cost)
    page.locator("[name=c3-group]").fill("blood")
    page.locator("[name=algorithm]").select_option("adaboost_bt_smoothed")
    press(page, "Check")
    expect(page.get_by_text("must be priced under Groups").first).to_be_visible()
    page.get_by_label("Amount").first.fill("2.10")
    press(page, "Start the training")
    done = page.get_by_role("link", name="Start a session")
    again = page.get_by_role("link", name="Look again")
    expect(done.or_(again)).to_be_visible()
    while not done.is_visible():
        again.click()
        expect(done.or_(again)).to_be_visible()
    done.click()


def play(page: Page) -> None:
    page.get_by_label("Budget", exact=True).fill("100")
    page.get_by_text("What is already known").click()
    page.get_by_label("age").fill("63")
    page.get_by_text("More: when to stop").click()
    page.locator("[name=certain]").select_option("no")
    press(page, "Start")
    first = page.get_by_role("heading", level=1)
    expect(first).to_contain_text("Ask: ")
    press(page, "Refused")
    expect(page.get_by_role("cell", name="refused")).to_be_visible()
    press(page, "Ordered, result later")
    page.get_by_role("link", name="Enter the result").first.click()
    expect(first).to_contain_text("What is the result")
    fill_value(page, "1")
    press(page, "Save")
    # Nobody in training had that little: it is asked about, then taken.
    press(page, "Yes, it is right")
    page.get_by_role("link", name="Correct").last.click()
    fill_value(page, "150")
    press(page, "Save")
    page.get_by_text("Change the budget").click()
    page.get_by_label("Budget", exact=True).fill("120.50")
    press(page, "Change")
    expect(page.get_by_text("CAD of 120.50 CAD")).to_be_visible()
    press(page, "Stop here")


def fill_value(page: Page, text: str) -> None:
    page.locator("[name^='value.']").fill(text)


def read_result(page: Page) -> None:
    bill = page.get_by_role("region", name="Each charge, oldest first")
    expect(bill).to_be_visible()
    expect(page.get_by_text("Total:")).to_be_visible()
    page.get_by_role("link", name="Ledger", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Ledger")
