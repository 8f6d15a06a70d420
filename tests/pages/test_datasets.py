"""Pages of datasets: the upload and what it refuses, the list, deletion."""

from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient
from playwright.sync_api import Page, expect

from askless.app.errors import BlobGoneError
from tests.pages.site import token_of
from tests.pages.test_parts import HOSTILE
from tests.pages.visitors import Visitor

TABLE = b"age,chol,disease\n63,233,1\n41,204,0\n"


def token(client: TestClient) -> dict[str, str]:
    return {"form_token": token_of(client.get("/ui/datasets").text)}


def upload(client: TestClient, content: bytes, name: str = "heart.csv") -> Any:
    files = {"dataset": (name, content)}
    return client.post("/ui/datasets", data=token(client), files=files)


def test_a_table_is_uploaded_shown_and_deleted(client: TestClient) -> None:
    made = upload(client, TABLE)
    page = made.headers["location"].partition("?")[0]
    shown = client.get(made.headers["location"]).text
    listed = client.get("/ui/datasets").text
    blobs = client.app.state.blobs
    dataset_id = page.rpartition("/")[2]
    blobs.open(dataset_id).close()
    deleted = client.post(f"{page}/delete", data=token(client))

    assert made.status_code == 303
    for words in (
        "heart.csv",
        "2 rows, 3 columns",
        f"{len(TABLE)} bytes",
        ">chol<",
        "is stored",
    ):
        assert words in shown
    assert page in listed
    assert "heart.csv" in listed
    assert deleted.headers["location"] == "/ui/datasets?done=deleted"
    assert "is deleted" in client.get(deleted.headers["location"]).text
    assert client.get(page).status_code == 404
    with pytest.raises(BlobGoneError):
        blobs.open(dataset_id)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a,b\n1,2\n3\n", "Row 2: must have 2 cells. Every row must have as many"),
        (b"a,a\n1,2\n", "must be unique"),
        (b"a,b\n", "The table must have at least one row."),
        (b"", "the file is empty"),
        (b"%PDF-1.4\n...", "is a PDF: save it as CSV"),
    ],
)
def test_what_is_no_table_is_refused_at_the_field(
    client: TestClient, content: bytes, said: str
) -> None:
    refused = upload(client, content)

    assert refused.status_code == 422
    assert f"{said}" in refused.text
    assert 'aria-describedby="f-dataset-hint f-dataset-error"' in refused.text
    assert "There is no table yet." in refused.text


def test_an_upload_without_a_file_is_refused_at_the_field(client: TestClient) -> None:
    without = client.post("/ui/datasets", data=token(client))
    unchosen = upload(client, b"", name="")

    for refused in (without, unchosen):
        assert refused.status_code == 422
        assert "The table must be chosen" in refused.text


def test_of_many_rules_some_are_said(client: TestClient) -> None:
    names = ",".join(
        f"{HOSTILE[0].replace(chr(34), '')} {number}" for number in range(7)
    )
    refused = upload(client, f"{names},{names}\n{'1,' * 13}1\n".encode())

    assert refused.text.count("names must be unique") == 2 * 5
    assert "And 2 more." in refused.text
    assert "<script>alert" not in refused.text


@pytest.mark.parametrize("is_local", [False])
def test_a_limit_of_the_key_is_said_at_the_field(client: TestClient) -> None:
    guard = client.app.state.guard
    guard.limits = replace(guard.limits, dataset_bytes=20)
    ours = Visitor(client, tenant="ours")
    client.cookies.update(ours.cookies)
    refused = client.post(
        "/ui/datasets",
        data={"form_token": ours.token},
        files={"dataset": ("heart.csv", TABLE)},
        headers={"Accept": "text/html"},
    )

    assert refused.status_code == 409
    assert refused.text.count("The limit dataset_bytes of this key is 20") == 2


@pytest.mark.parametrize("is_local", [False])
def test_a_key_that_may_only_read_gets_no_form(client: TestClient) -> None:
    reader = Visitor(client, "datasets:read", "train:read", tenant="ours")
    tables, trainings = (
        reader.ask("GET", path)[1] for path in ("/ui/datasets", "/ui/train")
    )

    assert "lacks the scope <code>datasets:write</code>" in tables
    assert 'type="file"' not in tables
    assert "button primary" not in trainings


def test_a_file_is_dropped_and_not_sent_where_it_is_too_large(page: Page) -> None:
    page.goto("/ui/datasets")
    page.evaluate("document.querySelector('[data-most]').dataset.most = '9'")
    dropped = page.evaluate_handle(
        """() => {
          const held = new DataTransfer();
          held.items.add(new File(["age,disease"], "heart.csv"));
          return held;
        }"""
    )
    page.dispatch_event(".drop", "drop", {"dataTransfer": dropped})
    page.get_by_role("button", name="Upload").click()

    field = page.get_by_label("Table", exact=True)
    assert field.evaluate("one => one.files[0].name") == "heart.csv"
    expect(page.get_by_text("It has more than the")).to_be_visible()
    expect(page.get_by_role("button", name="Upload")).to_be_enabled()
