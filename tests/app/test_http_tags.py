"""Entity tags: sessions and models are changed, and sent, as the caller has them."""

import pytest
from fastapi.testclient import TestClient

from tests.app.clinic import Answer, Put, Start, many

pytest_plugins = ["tests.app.conftest_http"]
pytestmark = pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)


@pytest.mark.parametrize(
    ("tags", "status"),
    [
        ('"1"', 200),
        ("*", 200),
        ('W/"1"', 200),
        ('"7", W/"1"', 200),
        ('"2"', 412),
        ('"x", "01x"', 412),
        ("1", 422),
        ('"1', 422),
        ("", 422),
    ],
)
def test_a_session_is_changed_if_it_is_one_that_the_caller_names(
    start: Start, answer: Answer, client: TestClient, tags: str, status: int
) -> None:
    session, headers = start(60.0), {"If-Match": tags}

    answered = answer(session, ("age", 63), headers=headers)
    other = start(60.0, model="clinic")
    erased = client.delete(f"/predict/{other['id']}", headers=headers)

    assert answered.status_code == status
    if status == 412:
        assert answered.json()["type"] == "/problems/version-mismatch"
    assert erased.status_code == (204 if status == 200 else status)


def test_a_session_that_the_caller_has_is_not_sent_again(
    client: TestClient, start: Start, answer: Answer
) -> None:
    session = start(60.0)
    path = f"/predict/{session['id']}"
    headers = {"If-None-Match": client.get(path).headers["etag"]}

    same = client.get(path, headers=headers)
    answer(session, ("age", 63))
    changed = client.get(path, headers=headers)

    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", '"1"')
    assert (changed.status_code, changed.headers["etag"]) == (200, '"2"')


@pytest.mark.parametrize("part", ["", "/export"])
def test_a_model_that_the_caller_has_is_not_sent_again(
    client: TestClient, put: Put, part: str
) -> None:
    path = f"/models/{put()}{part}"
    tag = client.get(path).headers["etag"]

    same = client.get(path, headers={"If-None-Match": f"W/{tag}"})
    other = client.get(path, headers={"If-None-Match": '"other"'})

    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
    assert (other.status_code, other.headers["etag"]) == (200, tag)


def test_a_model_is_deleted_if_it_is_the_one_that_the_caller_saw(
    client: TestClient, put: Put
) -> None:
    path, another = f"/models/{put()}", f"/models/{put(many(1), 'many')}"
    tags = [client.get(one).headers["etag"] for one in (path, another)]

    refused = client.delete(path, headers={"If-Match": tags[1]})
    deleted = client.delete(path, headers={"If-Match": ", ".join(tags)})

    assert refused.json()["type"] == "/problems/version-mismatch"
    assert deleted.status_code == 204
