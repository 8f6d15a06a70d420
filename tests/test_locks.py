"""What the locks pin, and what is read from them."""

import json
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import askless
from tools import locks
from tools.locks import Locked, read_lock

ROOT = Path(__file__).resolve().parents[1]
TEXTS = {name: (ROOT / name).read_text("utf-8") for name in (locks.SERVER, locks.REST)}
SERVER, REST = (read_lock(text) for text in TEXTS.values())
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
EXTRAS = PYPROJECT["project"]["optional-dependencies"]


def unpinned(wanted: list[str], packages: list[Locked]) -> list[str]:
    """Whatever of the requirements no pin fulfils."""
    versions = {package.name: package.version for package in packages}
    requirements = map(Requirement, wanted)
    return [
        str(requirement)
        for requirement in requirements
        if versions.get(canonicalize_name(requirement.name), "0")
        not in requirement.specifier
    ]


def test_every_pin_has_a_hash_and_no_file_has_an_address() -> None:
    assert [
        name.name for name in SERVER + REST if "--hash=sha256:" not in name.text
    ] == []
    assert [name for name, text in TEXTS.items() if "://" in text] == []
    assert [name for name, text in TEXTS.items() if "index" in text] == []


def test_first_lock_pins_the_server_and_the_second_the_rest() -> None:
    server = PYPROJECT["project"]["dependencies"] + EXTRAS["server"]
    rest = sum(EXTRAS.values(), PYPROJECT["dependency-groups"]["dev"])
    versions: dict[str, set[str]] = {}
    for package in SERVER + REST:
        versions.setdefault(package.name, set()).add(package.version)

    assert unpinned(server, SERVER) == []
    assert unpinned(rest, SERVER + REST) == []
    assert {name for name, several in versions.items() if len(several) > 1} == set()
    # With an extra it is pinned once more: pip takes no pin of another extra for it.
    assert {name.pin for name in SERVER if not name.marker}.isdisjoint(
        name.pin for name in REST
    )


def needed(requirement: Requirement) -> set[str]:
    """The names of what is installed for a requirement, and of what that needs."""
    names: set[str] = set()
    left = [(requirement.name, frozenset(requirement.extras))]
    seen = {*left}
    while left:
        name, extras = left.pop()
        names.add(canonicalize_name(name))
        for line in requires(name) or []:
            below = Requirement(line)
            chosen = [{"extra": extra} for extra in extras or {""}]
            if below.marker and not any(map(below.marker.evaluate, chosen)):
                continue
            key = (below.name, frozenset(below.extras))
            if key not in seen:
                seen.add(key)
                left.append(key)
    return names


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_pins_of_an_extra_are_all_that_it_needs(extra: str) -> None:
    pinned = SERVER + locks.select_extras(REST, EXTRAS[extra])
    try:
        wanted = set().union(*(needed(Requirement(name)) for name in EXTRAS[extra]))
    except PackageNotFoundError as error:
        pytest.skip(f"{error} is not installed")

    assert wanted - {package.name for package in pinned} == set()


def test_an_extra_brings_nothing_of_another() -> None:
    chosen = {extra.name for extra in locks.select_extras(REST, EXTRAS["cluster"])}

    assert "distributed" in chosen
    assert {"mcp", "mlflow-skinny", "pytest", "ruff"}.isdisjoint(chosen)


def test_list_of_parts_is_that_of_the_lock() -> None:
    text = (ROOT / locks.PARTS_LIST).read_text("utf-8")
    parts = json.loads(text)
    names = {component["bom-ref"] for component in parts["components"]}
    referred = {name for row in parts["dependencies"] for name in row["dependsOn"]}

    assert text == locks.parts_text(), "make lock writes it"
    assert len(names) == len(SERVER)
    # Each is there for something, and nothing is referred to that is not there.
    assert referred == names


def test_image_and_environment_are_installed_by_hashes() -> None:
    for name, count in ("Dockerfile", 2), ("Makefile", 2):
        text = (ROOT / name).read_text("utf-8")

        assert text.count("--require-hashes --requirement requirements.lock") == count


def test_version_is_told_by_the_package_and_cited() -> None:
    cited = (ROOT / "CITATION.cff").read_text("utf-8")
    version = PYPROJECT["project"]["version"]

    assert askless.__version__ == version
    assert f"\nversion: {version}\n" in cited
