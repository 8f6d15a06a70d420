"""Each page in each of its states, all of whose names are hostile ones.

The states are walked twice: by a client of HTTP, in each run of the tests, and in a
browser with axe-core in light, in dark and at 320 px. A page that is new has its
states in `states_of_cases` or `states_of_models`.
"""

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient
from playwright.sync_api import Browser, Page

from askless.app.main import create_app
from askless.app.settings.settings import Settings
from tests.app.servers import Server
from tests.pages import states_of_cases, states_of_models
from tests.pages.conftest import open_page
from tests.pages.hostile import hostile_model
from tests.pages.site import Site, fill
from tests.pages.states_of_cases import Play
from tests.pages.visits import BrowserVisit, ClientVisit

STATES = [*states_of_cases.STATES, *states_of_models.STATES]
each_state = pytest.mark.parametrize(
    "play", STATES, ids=[play.__name__ for play in STATES]
)


@pytest.fixture(scope="module")
def odd_settings(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Settings:
    home = tmp_path_factory.mktemp("odd")
    template = request.getfixturevalue("sqlite_template")
    (home / "askless.db").write_bytes(template.read_bytes())
    # Nobody listens there.
    return Settings(home=home, provider_hosts=["127.0.0.1:9"])


@pytest.fixture(scope="module")
def odd_client(odd_settings: Settings) -> Iterator[TestClient]:
    app = create_app(odd_settings, is_local=True)
    with TestClient(app, "http://127.0.0.1") as client:
        yield client


@pytest.fixture(scope="module")
def odd_site(odd_client: TestClient) -> Site:
    """A service with a hostile model."""
    return Site("", "", odd_client).bring(hostile_model())


@each_state
def test_a_page_shows_what_its_state_is(
    odd_client: TestClient, odd_site: Site, play: Play
) -> None:
    play(ClientVisit(odd_client), odd_site)


@pytest.fixture(scope="module")
def odd_server(odd_settings: Settings) -> Iterator[Site]:
    """A server with a hostile model, and a plain one."""
    server = Server(odd_settings)
    try:
        fill(server.url)
        yield Site(server.url, "").bring(hostile_model())
    finally:
        server.close()


@pytest.fixture
def odd_page(browser: Browser, odd_server: Site) -> Iterator[Page]:
    asked: list[str] = []
    for page in open_page(browser, odd_server):
        page.on("dialog", lambda it: (asked.append(it.message), it.dismiss()))
        yield page
    assert asked == []


@each_state
def test_a_page_keeps_nobody_out_whatever_names_are(
    odd_page: Page, odd_server: Site, play: Play
) -> None:
    visit = BrowserVisit(odd_page)

    play(visit, odd_server)

    visit.check()
