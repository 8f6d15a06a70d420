"""Refreshes, and challengers that play silently until one of the two is chosen."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from fastapi.testclient import TestClient

from tests.app.jobs import Jobs
from tests.app.signs import NAME, SPEC, TABLE, Play, Refresh, Work, standing

pytest_plugins = ["tests.app.conftest_http", "tests.app.conftest_challenges"]


on_both_engines = pytest.mark.parametrize(
    "engine_name", ["sqlite", "postgresql"], indirect=True
)


def meant(client: TestClient) -> str:
    return str(client.get(f"/models/{NAME}").json()["id"])


def detail_of(response: object) -> tuple[int, str, str]:
    body = response.json()  # type: ignore[attr-defined]
    return body["status"], body["type"].rpartition("/")[2], body["detail"]


def test_a_refresh_trains_on_old_rows_and_new_cases(
    client: TestClient, champion: str, work: Work, refresh: Refresh, jobs: Jobs
) -> None:
    work("1", a=1.0, b=0.0)
    work(None, a=1.0, b=0.0)

    started = refresh()

    body = started.json()
    assert started.status_code == 202, started.text
    assert started.headers["Location"] == f"/train/{body['id']}"
    assert (body["champion"], body["cases"]) == (champion, 1)
    assert "goes on meaning version 1" in body["name_will_mean"]
    dataset = client.get(f"/datasets/{body['dataset_id']}").json()
    assert dataset["n_rows"] == len(TABLE.splitlines())
    jobs.worker().work()
    trained = client.get(f"/train/{body['id']}").json()
    assert (trained["state"], trained["spec"]) == ("succeeded", SPEC)


def test_a_challenger_does_not_take_the_name_by_being_newer(
    client: TestClient, champion: str, challenger: str
) -> None:
    found = standing(client)

    assert meant(client) == champion
    assert client.get(f"/models/{NAME}").json()["champion"] is True
    assert (found["champion"], found["challenger"]) == (champion, challenger)
    assert (found["champion_version"], found["challenger_version"]) == (1, 2)
    assert found["state"] == "playing"
    assert found["verdict"].startswith("Nothing is compared yet")


@on_both_engines
@pytest.mark.usefixtures("champion")
def test_a_rule_promotes_by_itself_once_the_difference_is_beyond_chance(
    client: TestClient,
    work: Work,
    refresh: Refresh,
    jobs: Jobs,
    play_silently: Play,
) -> None:
    for other in (0, 1):
        for _ in range(10):
            work(str(other), a=1.0 - 2 * other, b=float(other))
    refresh(rule={"promote": "by_rule", "alpha": 0.05})
    jobs.worker().work()
    for _ in range(8):
        work("1", a=-1.0, b=1.0)
    play_silently()
    early = standing(client)
    for _ in range(8):
        work("0", a=1.0, b=0.0)
    play_silently()

    found = standing(client)

    assert (early["state"], meant(client)) == ("playing", found["challenger"])
    assert (found["state"], found["decision"]["outcome"]) == ("ended", "promoted")
    assert found["decision"]["by_rule"] is True
    assert found["decision"]["cases"] == found["better_after"] <= 16
    assert "was made champion" in found["verdict"]


@pytest.mark.usefixtures("champion")
def test_without_a_rule_a_person_promotes(
    client: TestClient, challenger: str, work: Work, play_silently: Play
) -> None:
    for _ in range(20):
        work("1", a=-1.0, b=1.0)
    play_silently()
    before = standing(client)
    crowned = client.put(f"/models/{challenger}/champion")
    again = client.put(f"/models/{challenger}/champion")

    found = standing(client)

    assert before["state"] == "playing"
    assert before["verdict"].startswith("The challenger is better: after 20 cases")
    assert (crowned.status_code, again.status_code) == (200, 200)
    assert meant(client) == challenger
    assert found["decision"]["outcome"] == "promoted"
    assert (found["decision"]["by_rule"], found["decision"]["cases"]) == (False, 20)


def test_a_third_model_made_champion_ends_the_challenge(
    client: TestClient, champion: str, challenger: str, jobs: Jobs
) -> None:
    jobs.start(TABLE, SPEC)
    jobs.worker().work()
    third = client.get("/models").json()["items"][0]["id"]

    client.put(f"/models/{third}/champion")

    assert third not in (champion, challenger)
    assert standing(client)["decision"]["outcome"] == "overtaken"


@pytest.mark.usefixtures("challenger")
def test_one_name_has_one_open_challenge(
    client: TestClient, work: Work, refresh: Refresh
) -> None:
    work("1", a=1.0, b=1.0)

    second = refresh(rule={"alpha": 0.2})

    status, kind, detail = detail_of(second)
    assert (status, kind) == (409, "conflict")
    assert detail == (
        "A challenge of signs is open: promote its challenger, or end it, first."
    )
    # The rule that was stated stays, whatever is asked for after looking.
    assert standing(client)["rule"]["alpha"] == 0.05


@on_both_engines
@pytest.mark.usefixtures("champion")
def test_of_two_refreshes_at_once_one_is_begun(
    client: TestClient, work: Work, refresh: Refresh
) -> None:
    work("1", a=1.0, b=1.0)

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: refresh().status_code, range(2)))

    assert sorted(found) == [202, 409]
    assert len(client.get("/datasets").json()["items"]) == 2


@pytest.mark.usefixtures("champion")
def test_a_refresh_without_new_cases_is_refused(
    client: TestClient, work: Work, refresh: Refresh
) -> None:
    status, kind, detail = detail_of(refresh())
    work("1", a=1.0, b=1.0)
    later = detail_of(refresh(since="2999-11-20T03:00:00+05:00"))
    beyond = refresh(since="0001-01-01T00:00:00+14:00")

    assert (status, kind) == (409, "conflict")
    assert detail.startswith("No case of signs has become known since ")
    assert later[:2] == (409, "conflict")
    assert "known since 2999-11-19 22:00 UTC:" in later[2]
    assert beyond.json()["errors"][0]["field"] == "since"
    assert client.get(f"/models/{NAME}/challenge").status_code == 404
    assert client.get(f"/models/{NAME}").json()["champion"] is False


def test_cases_that_the_champion_has_learnt_are_not_new(
    client: TestClient, challenger: str, refresh: Refresh
) -> None:
    client.put(f"/models/{challenger}/champion")

    status, _, detail = detail_of(refresh())

    assert status == 409
    assert detail.startswith("No case of signs has become known since ")


@pytest.mark.usefixtures("champion")
def test_a_model_that_was_imported_or_lost_its_table_is_not_refreshed(
    client: TestClient, work: Work, refresh: Refresh
) -> None:
    document = json.loads(client.get(f"/models/{NAME}/export").content)
    client.post("/models", json=document | {"name": "brought"})
    work("1", a=1.0, b=1.0)
    training = client.get(f"/models/{NAME}").json()["training_id"]
    dataset = client.get(f"/train/{training}").json()["dataset_id"]
    client.delete(f"/datasets/{dataset}")

    brought, lost = detail_of(refresh("brought")), detail_of(refresh())

    assert brought[2] == "brought was not trained here, so its rows are not known."
    assert lost[2] == "The dataset that signs was first trained on is deleted."


@pytest.mark.usefixtures("champion")
def test_a_rule_that_is_none_is_refused_by_name(refresh: Refresh) -> None:
    wrong = {"alpha": 0.6, "margin": -0.1, "promote": "luck", "beta": 1}

    refused = refresh(rule=wrong)

    assert refused.status_code == 422
    fields = {error["field"] for error in refused.json()["errors"]}
    assert fields == {f"rule.{name}" for name in wrong}
    assert refresh(rule={"alpha": 0}).json()["errors"][0]["field"] == "rule.alpha"


def test_unknown_names_have_no_challenge_and_no_refresh(
    client: TestClient, refresh: Refresh
) -> None:
    assert refresh("nobody").status_code == 404
    assert client.get("/models/nobody/challenge").status_code == 404
    assert client.delete("/models/nobody/challenge").status_code == 404


@on_both_engines
@pytest.mark.usefixtures("challenger")
def test_an_ended_challenge_keeps_the_champion_and_lets_another_begin(
    client: TestClient, champion: str, work: Work, refresh: Refresh
) -> None:
    work("1", a=1.0, b=1.0)

    ended = client.delete(f"/models/{NAME}/challenge")
    again = client.delete(f"/models/{NAME}/challenge")

    found = standing(client)
    assert (ended.status_code, again.status_code) == (204, 404)
    assert (found["decision"]["outcome"], meant(client)) == ("kept", champion)
    assert refresh().status_code == 202
    assert standing(client)["state"] == "training"


@pytest.mark.usefixtures("champion")
def test_ending_a_challenge_cancels_its_training(
    client: TestClient, work: Work, refresh: Refresh
) -> None:
    work("1", a=1.0, b=1.0)
    training = refresh().json()["id"]

    client.delete(f"/models/{NAME}/challenge")

    assert client.get(f"/train/{training}").json()["state"] == "cancelled"


def test_a_challenge_whose_training_is_cancelled_ends_and_is_no_obstacle(
    client: TestClient, champion: str, work: Work, refresh: Refresh, play_silently: Play
) -> None:
    work("1", a=1.0, b=1.0)
    first = refresh().json()["id"]
    client.post(f"/train/{first}/cancel")
    second = refresh()
    client.post(f"/train/{second.json()['id']}/cancel")

    play_silently()

    assert second.status_code == 202
    found = standing(client)
    assert (found["training"], found["decision"]["outcome"]) == (
        second.json()["id"],
        "failed",
    )
    assert meant(client) == champion


def test_deleting_the_challenger_ends_the_challenge(
    client: TestClient, champion: str, challenger: str, work: Work, play_silently: Play
) -> None:
    work("1", a=-1.0, b=1.0)
    play_silently()

    gone = client.delete(f"/models/{challenger}")
    play_silently()

    found = standing(client)
    assert gone.status_code == 204
    assert (found["decision"]["outcome"], found["cases"]) == ("overtaken", 1)
    assert meant(client) == champion


@pytest.mark.parametrize("path", ["/models/{}/champion", "/models/{}"])
def test_a_champion_is_neither_dethroned_nor_deleted_while_it_is_challenged(
    client: TestClient, champion: str, challenger: str, path: str
) -> None:
    refused = client.delete(path.format(champion))
    before = meant(client)
    client.delete(f"/models/{NAME}/challenge")
    done = client.delete(path.format(champion))

    assert detail_of(refused) == (
        409,
        "conflict",
        "A challenger plays against it: promote the challenger, or end the challenge, "
        "first.",
    )
    assert (before, done.status_code) == (champion, 204)
    assert meant(client) == challenger


@on_both_engines
@pytest.mark.usefixtures("champion")
def test_a_retry_with_the_same_key_begins_nothing_twice(
    client: TestClient, work: Work
) -> None:
    work("1", a=1.0, b=1.0)
    headers = {"Idempotency-Key": "again"}

    first = client.post(f"/models/{NAME}/refresh", json={}, headers=headers)
    again = client.post(f"/models/{NAME}/refresh", json={}, headers=headers)

    assert (first.status_code, again.status_code) == (202, 202)
    assert first.json() == again.json()
