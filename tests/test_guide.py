"""What the guide is built of: pages, their blocks, links and references."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

import askless
from tests.applications import openapi_document
from tools.guide import build, openapi

DOCS = Path(__file__).resolve().parents[1] / "docs"
INDEX = (DOCS / "index.md").read_text("utf-8")
needs_sphinx = pytest.mark.skipif(
    find_spec("sphinx") is None, reason="sphinx, of the group `dev`, is absent"
)
WHOLE = "# One\n\n## Part\n\n[two](two.md#part), [own](#part), [file](two.txt)\n"


def test_every_page_is_listed_once_with_a_sentence() -> None:
    listed = [page for _, page, _ in build.ENTRY.findall(INDEX)]
    pages = {path.stem for path in DOCS.glob("*.md")} - {"index"}

    assert sorted(listed) == sorted(pages)
    assert all(what.endswith(".") for _, _, what in build.ENTRY.findall(INDEX))


@pytest.mark.parametrize("path", sorted(DOCS.glob("*.md")), ids=lambda path: path.name)
def test_every_block_has_a_language_and_python_compiles(path: Path) -> None:
    assert build.check_blocks(path.name, path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ("a\n\n```\nb\n```\n", "p.md:3: a block needs a language"),
        ("```sh\nls\n", "p.md:1: a block needs a language, or its end is missing"),
        ("- a\n\n  ```\n  b\n  ```\n", "p.md:3: a block needs a language"),
        ("```python\na = (\n```\n", "p.md:1: '(' was never closed in line 1"),
        ("```sh\nls\n```\n\n```python\nx\n1 +\n```\n", "p.md:5: invalid syntax"),
    ],
)
def test_a_wrong_block_is_named(page: str, fault: str) -> None:
    (found,) = build.check_blocks("p.md", page)

    assert found.startswith(fault)


def test_blocks_may_await_and_hold_shorter_fences() -> None:
    page = "```python\nawait x\n```\n\n````text\n```\n````\n"

    assert build.check_blocks("p.md", page) == []
    assert [block.text for block in build.read_blocks(page)] == ["await x", "```"]


def test_llms_txt_has_a_sentence_and_an_address_for_each_page() -> None:
    text = build.list_pages(INDEX + build.REFERENCE)
    entries = re.findall(r"^- \[.+\]\(_sources/([\w-]+)\.md\): .+\.$", text, re.M)

    assert text.startswith("# Askless\n")
    assert set(entries) > {path.stem for path in DOCS.glob("*.md")} - {"index"}
    assert "reference-http" in entries
    assert "](" not in re.sub(r"\]\(_sources/", "", text)


def test_contents_follow_the_headings_of_the_first_page() -> None:
    text = build.add_contents("# T\n\n## A\n\n- [One](one.md): it.\n\n## B\n\nNone.\n")

    assert ":caption: A\n\nOne <one>\n```" in text
    assert ":caption: B" in text


def test_the_reference_has_every_operation_and_every_field() -> None:
    document = openapi_document()
    operations, bodies = (
        openapi.describe_operations(document),
        openapi.describe_bodies(document),
    )
    schemas = document["components"]["schemas"]

    for path, methods in document["paths"].items():
        for method in methods:
            assert f"### `{method.upper()} {path}`\n" in operations
    for name, schema in schemas.items():
        section = bodies.split(f"\n## {name}\n")[1].split("\n## ")[0]
        assert all(f"| `{field}`" in section for field in schema.get("properties", ()))
    # Links that lead into a server would be broken in files.
    assert "](/" not in operations + bodies


def test_the_reference_has_every_public_name(tmp_path: Path) -> None:
    build.write_references(tmp_path)
    pages = [
        (tmp_path / f"reference-{name}.md").read_text("utf-8")
        for name in ("estimator", "client")
    ]
    names = re.findall(r"^\.\. auto\w+:: askless\.(\w+)$", "\n".join(pages), re.M)

    assert sorted(names) == sorted(askless.__all__)


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ("two.md#part", None),
        ("three.md", "three.md"),
        ("two.md#nothing", "local id not found in doc 'two': 'nothing'"),
        ("#nothing", "nothing"),
        ("three.txt", "three.txt"),
    ],
)
@pytest.mark.full
@needs_sphinx
def test_a_broken_link_fails(
    tmp_path: Path, broken: str, reason: str | None, capfd: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "docs"
    source.mkdir()
    contents = "\n```{toctree}\ntwo\n```\n"
    first = WHOLE.replace("two.md#part", broken) + contents
    (source / "index.md").write_text(first, "utf-8")
    (source / "two.md").write_text("# Two\n\n## Part\n", "utf-8")
    (source / "two.txt").write_text("2", "utf-8")

    code = build.render(source, tmp_path / "site")

    assert (code == 0) is (reason is None)
    assert (reason or "") in capfd.readouterr().err


def test_a_wrong_block_fails_before_anything_is_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text("# A\n\n```\nb\n```\n", "utf-8")
    archive = tmp_path / "guide.zip"

    assert build.build(docs, tmp_path / "work", archive) == 1
    assert "index.md:3" in capsys.readouterr().err
    assert not archive.exists()


def test_what_pages_name_beside_them_is_taken_along(tmp_path: Path) -> None:
    docs = tmp_path / "in" / "docs"
    docs.mkdir(parents=True)
    (docs / "a.md").write_text("[it](../tools/it.py) [no](../none.py)\n", "utf-8")
    (docs.parent / "tools").mkdir()
    (docs.parent / "tools" / "it.py").write_text("1\n", "utf-8")

    build.copy_pages(docs, tmp_path / "out" / "docs")

    assert (tmp_path / "out" / "tools" / "it.py").read_text("utf-8") == "1\n"
    assert not (tmp_path / "out" / "none.py").exists()
