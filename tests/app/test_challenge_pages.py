"""The page of a challenge: how it begins, stands and ends, as people see it."""

import re
from collections.abc import Callable

import pytest
from fastapi.testclient import TestClient

from tests.app.jobs import Jobs
from tests.app.signs import NAME, Work
from tests.pages.site import token_of

pytest_plugins = ["tests.app.conftest_http", "tests.app.conftest_challenges"]
PAGE = f"/ui/models/{NAME}/challenge"


def send(client: TestClient, address: str, page: str, **fields: str) -> object:
    token = token_of(client.get(page).text)
    return client.post(address, data={"form_token": token, **fields})


def button(page: str, words: str) -> str | None:
    """Return the class of the button that has these words; None: there is none."""
    pressed = re.search(rf'<a class="([^"]+)" href="[^"]+">{words}</a>', page)
    return None if pressed is None else pressed[1]


@pytest.mark.usefixtures("champion")
def test_a_challenge_is_begun_on_its_page(
    client: TestClient, work: Work, jobs: Jobs
) -> None:
    empty = client.get(PAGE).text
    refused = send(client, PAGE, PAGE)
    work("1", a=1.0, b=1.0)
    begun = send(client, PAGE, PAGE, promote="by_rule")
    training = client.get(PAGE).text
    jobs.worker().work()

    playing = client.get(PAGE).text

    assert "No challenger was trained for this name yet." in empty
    assert "its loss is surely lower than the champion" in playing
    assert refused.status_code == 409
    assert "No case of signs has become known" in refused.text
    assert "The training of a challenger is in the queue." in begun.text
    assert "in training" in training
    assert "the service promotes it once" in playing
    assert "Train on the new cases" not in playing


def test_a_challenger_is_promoted_on_a_page_that_asks_once_more(
    client: TestClient, challenger: str, work: Work, play_silently: Callable[[], None]
) -> None:
    for _ in range(12):
        work("1", a=-1.0, b=1.0)
    play_silently()
    shown = client.get(PAGE).text
    asked = client.get(f"{PAGE}/promote").text
    address = f"/ui/models/{challenger}/champion"
    done = send(client, address, f"{PAGE}/promote")

    assert button(shown, "Promote …") == "button primary"
    assert button(shown, "Keep the champion …") == "button quiet"
    assert shown.count("<svg") == 1
    assert "The challenger is better: after 12 cases" in shown
    assert "Mean spend" in shown
    assert f'action="{address}"' in asked
    assert "It is the champion now" in done.text
    ended = client.get(PAGE).text
    assert "The challenger was made champion after 12 cases." in ended
    assert "Train on the new cases" in ended


@pytest.mark.parametrize(("n_cases", "kept"), [(0, None), (1, None), (12, "primary")])
def test_without_a_better_challenger_nothing_is_promoted(
    client: TestClient,
    challenger: str,
    work: Work,
    play_silently: Callable[[], None],
    n_cases: int,
    kept: str | None,
) -> None:
    for _ in range(n_cases):
        work("1", a=1.0, b=-1.0)
    play_silently()
    shown, asked = client.get(PAGE).text, client.get(f"{PAGE}/promote").text

    assert button(shown, "Promote …") is None
    assert button(shown, "Keep the champion …") == (kept and f"button {kept}")
    assert ("End the challenge without one …" in shown) == (kept is None)
    assert f'href="/ui/models/{challenger}#versions"' in asked
    assert "/champion" not in asked


@pytest.mark.usefixtures("challenger")
def test_a_champion_is_kept_on_a_page_that_asks_once_more(client: TestClient) -> None:
    asked = client.get(f"{PAGE}/end").text

    done = send(client, f"{PAGE}/end", f"{PAGE}/end")

    assert "<h1>Keep the champion of" in asked
    assert "The challenge has ended. The champion stays." in done.text
    assert client.get(f"/models/{NAME}/challenge").json()["state"] == "ended"


@pytest.mark.usefixtures("challenger")
def test_the_pages_of_model_and_monitor_lead_there(client: TestClient) -> None:
    model = client.get(f"/models/{NAME}").json()["id"]

    card = client.get(f"/ui/models/{model}").text
    monitor = client.get(f"/ui/models/{model}/monitor").text

    assert f'href="/ui/models/{model}/challenge"' in card
    assert "Nothing speaks for a refresh" in monitor or "A refresh is due" in monitor
