"""Where tables may lie that stay where they are, and what was noted of them."""

import os

import pyarrow as pa
import pyarrow.parquet
import pytest

from askless.app.uploads import Bounds, references
from askless.app.uploads.references import (
    choose_sample_ranges,
    open_reference,
    record_table,
)
from askless.app.uploads.streams import open_table
from askless.core.errors import RefusedError

TABLE = pa.table({"a": [1, 2, 3, 4], "b": ["x", "y", "x", "y"]})
BOUNDS = Bounds()


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "allowed"
    folder.mkdir()
    for name, rows in (("a.parquet", TABLE.slice(0, 3)), ("b.parquet", TABLE.slice(3))):
        pyarrow.parquet.write_table(rows, folder / name, row_group_size=1)
    return folder


def refused(work):
    with pytest.raises(RefusedError) as caught:
        work()
    return str(caught.value)


def note(folder, url=None):
    return record_table(url or f"file://{folder}", [f"file://{folder}"], BOUNDS)


def test_a_folder_is_noted_and_opened_again(place):
    reference, table = note(place)

    opened = open_reference(reference, [f"file://{place}"], ["a"], BOUNDS)

    assert (table.n_rows, list(table)) == (4, ["a", "b"])
    assert [os.path.basename(file.path) for file in reference.files] == [
        "a.parquet",
        "b.parquet",
    ]
    assert opened["b"].tolist() == ["x", "y", "x", "y"]


def test_files_that_came_later_are_no_part_of_it(place):
    reference, _ = note(place, f"file://{place}/*.parquet")
    pyarrow.parquet.write_table(TABLE, place / "c.parquet")

    assert open_reference(reference, [f"file://{place}"], (), BOUNDS).n_rows == 4


@pytest.mark.parametrize(
    "url",
    [
        "file://{place}/../other",
        "file://{place}/./a.parquet",
        "file://{place}//a.parquet",
        "file://{place}/%2e%2e/other",
        "file://{place}?x=1",
        "file://{place}#a",
        "file://user@{place}",
        "file://{place}\\..\\other",
        "file://{place}/a\x00.parquet",
        "s3://",
        "{place}/a.parquet",
        "file://" + "a" * 1000,
        "file://{place}/*/a.parquet",
        "file://{place}-other/a.parquet",
        "file://{other}/t.parquet",
        "s3://bucket/a.parquet",
    ],
)
def test_addresses_elsewhere_are_refused_and_not_read(place, url):
    other = place.parent / "other"
    other.mkdir()
    pyarrow.parquet.write_table(TABLE, other / "t.parquet")

    told = refused(lambda: note(place, url.format(place=place, other=other)))

    assert told.startswith("url: ")


def test_no_place_is_allowed_by_default(place):
    told = refused(lambda: record_table(f"file://{place}", [], BOUNDS))

    assert "ASKLESS_DATASET_PLACES" in told


@pytest.mark.parametrize("is_folder", [False, True])
def test_links_that_lead_elsewhere_are_refused(place, is_folder):
    other = place.parent / "other"
    other.mkdir()
    pyarrow.parquet.write_table(TABLE, other / "t.parquet")
    target = other if is_folder else other / "t.parquet"
    (place / "link.parquet").symlink_to(target)
    named = "link.parquet/t.parquet" if is_folder else "link.parquet"

    assert "must not be a link to another place" in refused(
        lambda: note(place, f"file://{place}/{named}")
    )


@pytest.mark.parametrize("depth", [0, 2])
def test_a_folder_is_not_walked_through_a_link(place, depth, monkeypatch):
    folder = place.joinpath(*"ab"[:depth])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "disk").symlink_to("/")
    walked = []
    monkeypatch.setattr(references, "list_table_files", walked.append)

    told = refused(lambda: note(place))

    assert told == "table disk: must not be a link to a folder"
    assert walked == []


def test_links_of_folders_beside_named_files_are_not_read(place):
    (place / "disk").symlink_to("/")

    assert note(place, f"file://{place}/*.parquet")[1].n_rows == 4


@pytest.mark.parametrize("end", ["", "/*.parquet"])
def test_an_address_through_a_link_is_refused_unread(place, end, monkeypatch):
    (place / "away").symlink_to(place.parent)
    walked = []
    monkeypatch.setattr(references, "list_table_files", walked.append)

    told = refused(lambda: note(place, f"file://{place}/away{end}"))

    assert told == "table away: must not be a link to another place"
    assert walked == []


def test_a_place_that_is_a_link_itself_is_allowed(place):
    link = place.parent / "link"
    link.symlink_to(place)

    assert note(link)[1].n_rows == 4


def test_changed_files_are_refused_by_their_names(place):
    reference, _ = note(place)
    pyarrow.parquet.write_table(TABLE, place / "b.parquet")
    again = lambda: open_reference(reference, [f"file://{place}"], (), BOUNDS)  # noqa: E731
    assert "table b.parquet: must be what it was when" in refused(again)
    (place / "a.parquet").unlink()

    assert "table a.parquet: must be what it was" in refused(again)
    assert "found gone" in refused(again)


def test_a_place_that_is_allowed_no_more_is_not_read(place):
    reference, _ = note(place)

    assert "ASKLESS_DATASET_PLACES" in refused(
        lambda: open_reference(reference, ["s3://bucket"], (), BOUNDS)
    )


def test_a_table_without_rows_is_refused(place):
    pyarrow.parquet.write_table(TABLE.slice(4), place / "none.parquet")

    told = refused(lambda: note(place, f"file://{place}/none.parquet"))

    assert told == "table: must have at least one row"


@pytest.mark.parametrize(
    ("n_rows", "expected"),
    [(4, [(0, 1), (1, 2), (2, 3), (3, 4)]), (100, [(0, 1), (1, 2), (2, 3), (3, 4)])],
)
def test_a_sample_is_of_row_groups_far_apart(place, n_rows, expected):
    found = choose_sample_ranges(open_table(place), n_rows)

    assert [(span.start, span.stop) for span in found] == expected
