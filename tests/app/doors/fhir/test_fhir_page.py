"""The page of doors on FHIR and CDS Hooks: its commands, run as they stand."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.app.serving import serving
from tests.app.tours import ROOT, blocks, read_page, run

# Beside `make demo`, which has 8000.
ADDRESS = "http://127.0.0.1:8001"


def commands(title: str, address: str) -> str:
    page = read_page("docs/doors.md").split(f"\n## {title}\n")[1].split("\n## ")[0]
    return "\n".join(blocks(page, "sh")).replace(ADDRESS, address)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with both doors, and the demo's table's model with its codes."""
    raw = json.loads((ROOT / "tests/pages/heart.json").read_text(encoding="utf-8"))
    spec = json.loads((ROOT / "app/demo/heart.json").read_text(encoding="utf-8"))
    told = {feature["name"]: feature for feature in spec["features"]}
    for feature in raw["features"]:
        codes = ("code", "system", "ucum")
        feature |= {key: told[feature["name"]].get(key) for key in codes}
    home = tmp_path_factory.mktemp("home")
    with serving(home, ASKLESS_DOORS='["fhir", "cds"]') as found:
        with httpx.Client(base_url=found, timeout=120, trust_env=False) as client:
            made = client.post("/models", json=raw | {"name": "heart-cleveland"})
        assert made.status_code == 201, made.text
        yield found


def resources(text: str) -> list[Any]:
    """The JSON documents that commands printed one after the other."""
    found, place, decoder = [], 0, json.JSONDecoder()
    while place < len(text.rstrip()):
        document, place = decoder.raw_decode(text, place)
        found.append(document)
        place += len(text[place:]) - len(text[place:].lstrip())
    return found


def test_questionnaire_by_curl_works(address: str, tmp_path: Path) -> None:
    done = run(commands("FHIR", address), tmp_path)

    assert done.returncode == 0, done.stderr
    first, second = resources(done.stdout)
    assert "item" not in first
    assert [item["linkId"] for item in second["item"]] == ["cp"]
    assert second["contained"][0]["identifier"] == first["contained"][0]["identifier"]


def test_hook_by_curl_works(address: str, tmp_path: Path) -> None:
    done = run(commands("CDS Hooks", address), tmp_path)

    assert done.returncode == 0, done.stderr
    listed, shown = resources(done.stdout)
    assert "heart-cleveland.patient-view" in [
        service["id"] for service in listed["services"]
    ]
    (card,) = shown["cards"]
    assert "Serum cholesterol: 250 mg/dL (2026-11-02)" in card["detail"]
    assert "Sex: Male" in card["detail"]
    assert "Age: " in card["detail"]
