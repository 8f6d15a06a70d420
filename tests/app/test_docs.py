"""What docs/ says of the code, compared with the code."""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient
from pydantic import BaseModel

from askless.app import buyer
from askless.app.cli import load_command
from askless.app.documents.spec.spec import SpecDocument, SpecParams, SpecSelection
from askless.app.main import create_app
from askless.app.settings.settings import Settings
from askless.app.words.figures import MEANINGS, OF_RARE, name_figure
from askless.core.model.hypotheses import Stump
from askless.core.parameters import Parameter, parameters_of
from askless.core.pipeline.spec import AUTO_NAMES
from askless.core.selection.params import SelectionParams
from askless.core.simulation.figures import ScoredRows, compute_figures
from askless.core.training.algorithms import ALGORITHMS
from askless.core.training.params import BoostParams
from tests.applications import openapi_document
from tests.small import ensemble_of

ROOT = Path(__file__).resolve().parents[2]
API = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
FIGURES = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")
OPERATIONS = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
METHODS = ("get", "post", "put", "patch", "delete")


def rows(text: str) -> list[list[str]]:
    """The cells of each line of each table."""
    lines = (line for line in text.splitlines() if line.startswith("| "))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def same_default(written: str, default: object) -> bool:
    if isinstance(default, int | float):
        return float(written) == default
    return written.strip("`") == ("none" if default is None else str(default))


def test_each_setting_is_listed_with_its_default_and_meaning() -> None:
    listed = {row[0]: row[1:] for row in rows(OPERATIONS) if "ASKLESS_" in row[0]}

    fields = {f"`ASKLESS_{k.upper()}`": v for k, v in Settings.model_fields.items()}

    assert list(listed) == list(fields)
    # One that nobody turns is a constant with its reason.
    assert len(fields) <= 48
    for name, (default, meaning) in listed.items():
        assert same_default(default, fields[name].default), name
        assert meaning == fields[name].description


def test_connections_of_replicas_are_added_up() -> None:
    settings = Settings()
    # Its three processes have one each.
    of_worker, of_buyer = 3, buyer.N_CONNECTIONS
    # Without those that PostgreSQL keeps for its superuser.
    most = 100 - 3
    listed = [
        [int(cell) for cell in row]
        for row in rows(OPERATIONS)
        if len(row) == 6 and all(cell.isdigit() for cell in row)
    ]

    assert listed[0][1] == settings.database_connections
    for n_apis, of_api, n_workers, n_buyers, told, told_replaced in listed:
        one_more = of_api + of_worker + of_buyer
        others = n_workers * of_worker + n_buyers * of_buyer
        assert told == n_apis * of_api + others
        assert told_replaced == told + one_more <= most < told_replaced + of_api


def test_each_check_of_readiness_is_listed(tmp_path: Path) -> None:
    with TestClient(create_app(Settings(home=tmp_path), is_local=True)) as client:
        checks = client.get("/readyz").json()["checks"]
    (_, table) = OPERATIONS.split("| check of `/readyz` |")
    listed = [row[0].strip("`") for row in rows(table.split("\n\n")[0])]

    assert listed == list(checks)
    assert set(re.findall(r"\| 503, `(\w+)` \|", OPERATIONS)) < set(checks)


def test_each_endpoint_is_named() -> None:
    paths = openapi_document()["paths"]
    endpoints = [
        f"{method.upper()} {path}"
        for path, methods in paths.items()
        for method in methods
        if method in METHODS
    ]

    missing = [endpoint for endpoint in endpoints if f"`{endpoint}`" not in API]

    assert len(endpoints) > 20
    assert missing == []


def logged(source: str) -> Iterator[str]:
    """The events that a module logs under a fixed name."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        called = ast.unparse(node.func)
        first = node.args[0]
        if called in ("log", "logs.log", "LOGGER.exception") and isinstance(
            first, ast.Constant
        ):
            yield str(first.value)


def test_each_log_event_is_explained() -> None:
    sources = [path.read_text("utf-8") for path in (ROOT / "app").rglob("*.py")]
    logging = [it for it in sources if re.search(r"\blog\(|LOGGER", it)]
    events = {event for source in logging for event in logged(source)}

    assert len(events) > 8
    assert [event for event in sorted(events) if f"`{event}`" not in OPERATIONS] == []


def test_dockerfile_needs_nothing_from_a_registry_but_its_base() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")

    assert "ARG PYTHON_IMAGE=python:3.12-slim" in text
    assert set(re.findall(r"^FROM (\S+)", text, re.MULTILINE)) == {"${PYTHON_IMAGE}"}
    assert "syntax=" not in text


def test_compose_publishes_on_this_machine_alone() -> None:
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")

    published = re.findall(r'ports: \["([^"]+)"\]', text)

    assert len(published) == text.count("ports:")
    assert all(name.startswith("127.0.0.1:") for name in published)


def test_variables_of_compose_are_listed_with_their_defaults() -> None:
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    told = " ".join(OPERATIONS.split())

    variables = set(re.findall(r"\$\{(\w+):-([^}]+)\}", text))

    assert len(variables) > 4
    assert [
        variable
        for variable in variables
        if f"`{variable[0]}` ({variable[1]}" not in told
    ] == []


def test_the_memory_of_the_api_has_room_for_the_tables_that_it_reads() -> None:
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    limits = {name: int(found) for name, found in re.findall(r"(\w+):-(\d+)g", text)}
    (tmp,) = re.findall(r"/tmp:size=(\d+)g", text)
    settings = Settings.model_fields
    parsers, parsed = (
        settings[name].default for name in ("max_parsers", "parse_memory_bytes")
    )

    # What it has at rest, and what a child begins with: measured.
    needed = 350e6 + int(tmp) * 2**30 + parsers * (parsed + 160e6)

    assert limits["API_MEMORY"] * 2**30 >= needed


def test_every_field_of_a_spec_and_every_algorithm_is_described() -> None:
    text = (ROOT / "docs" / "spec.md").read_text(encoding="utf-8")
    fields = [*SpecDocument.model_fields, *SpecParams.model_fields, *ALGORITHMS]

    assert [name for name in fields if f"`{name}`" not in text] == []


def range_of(one: Parameter) -> str:
    """What a parameter may be, as a table says it."""
    if one.choices:
        return ", ".join(f"`{choice}`" for choice in one.choices)
    if one.is_amount:
        return "above 0"
    return f"{one.least:,} to {one.most:,}"


@pytest.mark.parametrize("shape", [SpecParams, SpecSelection])
def test_parameters_are_listed_as_their_fields_say(shape: type[BaseModel]) -> None:
    holder = BoostParams if shape is SpecParams else SelectionParams
    auto = [parameters_of(BoostParams)[name] for name in AUTO_NAMES]
    text = (ROOT / "docs" / "spec.md").read_text(encoding="utf-8")
    listed = [row for row in rows(text) if len(row) == 4]

    expected = [
        [
            f"`{name}`",
            "" if parameter.default is None else f"`{parameter.default}`",
            range_of(parameter) + ', or "auto"' * (parameter in auto),
            parameter.text,
        ]
        for name, parameter in parameters_of(holder).items()
        if name in shape.model_fields
    ]

    assert [row for row in listed if row in expected] == expected


def test_ten_patients_have_the_figures_that_are_told() -> None:
    told = {cells[0]: cells[1:] for cells in rows(FIGURES)}
    chances = np.array(told["chance"], np.float64)
    targets = np.array(told["disease"], np.int64)
    both = np.column_stack((1 - chances, chances))[:, None]
    scored = ScoredRows(targets, np.full(10, 0.1), np.arange(10), both)
    plain = ensemble_of([Stump(0, 0.5, (1,))])
    priced = replace(plain, error_costs=((0, 1), (5, 0)))

    (found,) = compute_figures(plain, scored)
    (cheap,) = compute_figures(priced, scored)
    (half,) = compute_figures(priced, scored, 0.5)

    assert float(told["error"][0]) == np.mean((chances >= 0.5) != targets)
    for name in MEANINGS.keys() - {"expected_cost", *OF_RARE}:
        written = told[name_figure(name).replace("calib.", "calibration")][0]
        assert written == f"{getattr(found, name).value:.3f}", name
    assert cheap.sensitivity is not None
    assert cheap.sensitivity.value == 1.0
    for one in (cheap.specificity, cheap.expected_cost, half.expected_cost):
        assert one is not None
        assert f" {one.value:.3f}" in " ".join(FIGURES.split())


def test_each_option_of_the_figures_page_is_there() -> None:
    named = re.findall(r"askless (\w+) .*?(--[a-z-]+)", FIGURES)
    assert len(named) > 1
    for command, option in named:
        options = [option for it in load_command(command).params for option in it.opts]
        assert option in options
