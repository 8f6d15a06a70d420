"""What `askless` promises, and what importing it does not do."""

import json
import os
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import askless
from askless import AsyncClient, Client, load_model
from askless.app.documents import files
from askless.client.sessions import AsyncPredictionSession
from askless.core.errors import RefusedError
from askless.extras import SERVER_MODULES
from tests.app.clinic import clinic, model_json

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
HEAVY = {"numpy", "numba", "sklearn", "fastapi", "sqlalchemy", "pydantic"}
REPORT = """
import json, os, sys
before = dict(os.environ)
from askless import Client
modules = list(sys.modules)
from askless import BudgetedBoostingClassifier, load_model
# scikit-learn sets two of these itself.
after = {k: v for k, v in os.environ.items() if not k.startswith("KMP_")}
print(json.dumps({"is_same": before == after, "modules": modules}))
"""
# A module of ours, in whose place stands one that imports what is missing.
BROKEN = """
import askless.extras
def import_module(name):
    import {package}
    import {name}
askless.extras.import_module = import_module
askless.load_model
"""


@pytest.fixture(scope="module")
def report() -> Any:
    """Modules of a new process once it has the client; if all leave its variables.

    Of ours it has no variables but where programs are: one set here already could not
    be seen to change.
    """
    ended = subprocess.run(
        [sys.executable, "-c", REPORT],
        capture_output=True,
        env={"PATH": os.environ["PATH"]},
        check=True,
        cwd=ROOT,
    )
    return json.loads(ended.stdout)


def test_what_users_call_and_catch_is_promised() -> None:
    errors = [
        "JobFailed",
        "ProblemError",
        "RefusedError",
        "ServiceUnreachable",
        "TrainingFailed",
        "UnansweredError",
    ]
    promised = [
        *("AsyncClient", "BudgetedBoostingClassifier", "Client"),
        *errors,
        "load_model",
        "one_hot_groups",
    ]

    assert askless.__all__ == dir(askless) == promised
    assert all(hasattr(askless, name) for name in promised)
    assert [name for name in promised if f"`{name}`" not in README] == []
    assert not hasattr(askless, "PredictionSession")


def test_importing_changes_no_variable_of_the_program(report: Any) -> None:
    assert report["is_same"]


def test_client_needs_nothing_of_the_server(report: Any) -> None:
    modules = report["modules"]

    assert (HEAVY | {"askless.app"}).isdisjoint(modules)
    # It says where machine code is kept, and imports nothing.
    of_core = {name for name in modules if name.startswith("askless.core.")}
    assert of_core == {"askless.core.machine_code"}
    assert "httpx" in modules


def without(modules: set[str], script: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a process that has not some modules."""
    hidden = f"import sys; sys.modules.update(dict.fromkeys({modules!r})); "
    return subprocess.run(
        [sys.executable, "-c", hidden + script],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )


def test_client_works_without_what_the_server_needs_besides() -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras = pyproject["project"]["optional-dependencies"]["server"]
    # The client's own packages bring these too.
    shared = {"typing-extensions", "h11"}
    names = {Requirement(extra).name for extra in extras} - shared
    found = packages_distributions().items()
    modules = {top for top, dists in found if names & set(dists)}

    client = "from askless import Client as C; C('http://a').close(); print('closed')"
    ended = without(
        modules, f"{client}; from askless import BudgetedBoostingClassifier"
    )

    assert {"numpy", "sklearn", "fastapi", "rich"} <= modules
    assert ended.stdout == "closed\n"
    assert "askless[server]" in ended.stderr


def test_modules_of_the_server_are_those_of_its_packages() -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras = pyproject["project"]["optional-dependencies"]["server"]
    names = {canonicalize_name(Requirement(extra).name) for extra in extras}
    modules = {
        top
        for top, owners in packages_distributions().items()
        if names & {canonicalize_name(owner) for owner in owners}
    }

    # An old name, which python-multipart still installs.
    assert modules - {"multipart"} == SERVER_MODULES


def test_command_without_the_server_says_what_to_install() -> None:
    ended = without({"typer"}, "from askless.extras import main; main()")

    assert ended.returncode == 1
    assert ended.stderr == (
        "The command askless needs the package typer. Install all with: "
        "pip install 'askless[server]'\n"
    )


@pytest.mark.parametrize(
    "missing",
    ["askless.core.errors", "askless.app.cli", "starlette", "rich.table", "own"],
)
def test_what_is_no_package_of_the_extra_is_raised_as_it_is(missing: str) -> None:
    broken = without(
        {missing}, BROKEN.format(name=missing, package=missing.split(".")[0])
    )

    assert "askless[server]" not in broken.stderr
    assert f"ModuleNotFoundError: import of {missing} halted" in broken.stderr


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "MODEL.json"
    path.write_text(json.dumps(model_json(clinic(), "clinic")))
    return path


COLUMNS = {
    "age": [63, 20, np.nan],
    "sex": ["female", None, "male"],
    "chol": [233.0, 100.0, 300.0],
    "fbs": [True, False, True],
    "echo1": [2, 1, 0],
    "echo2": [4, 1, 0],
    "ecg": [1, 1, 1],
}


def test_loaded_model_predicts_rows_as_sessions(path: Path) -> None:
    model = load_model(path)

    chances = model.predict_proba(COLUMNS, budget=12)

    assert model.name == "clinic"
    assert chances.shape == (3, len(model.classes_))
    assert chances.sum(axis=1) == pytest.approx(1.0)
    assert model.predict(COLUMNS, budget=12).tolist() == ["1", "0", "1"]


def test_mapping_may_hold_the_target_but_no_other_column(path: Path) -> None:
    model, red = load_model(path), ["red", "red", "red"]

    labels = model.predict(COLUMNS | {model.model.target: red}, budget=12)

    assert labels.tolist() == ["1", "0", "1"]
    with pytest.raises(RefusedError, match="column colour: must be one that the model"):
        model.predict(COLUMNS | {"colour": red}, budget=12)


def test_nothing_is_read_without_a_budget(path: Path) -> None:
    chances = load_model(str(path)).predict_proba(COLUMNS, budget=0)

    assert (chances == chances[0]).all()


@pytest.mark.parametrize("budget", ["120", -1, True, float("nan"), [1]])
def test_wrong_budget_is_refused_as_the_estimators(path: Path, budget: object) -> None:
    with pytest.raises(RefusedError) as caught:
        load_model(path).predict(COLUMNS, budget=budget)  # type: ignore[arg-type]

    assert [refusal.field for refusal in caught.value.refusals] == ["budget"]


@pytest.mark.parametrize(
    "column", [[1, 2], [], 5, "abc", [[1, 2, 3]], [[1], [2], [3]], [1, [2], 3], None]
)
def test_column_that_does_not_fit_is_refused_by_its_name(
    path: Path, column: object
) -> None:
    with pytest.raises(RefusedError) as caught:
        load_model(path).predict(COLUMNS | {"ecg": column}, budget=12)

    assert [refusal.field for refusal in caught.value.refusals] == ["column ecg"]


def test_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "MODEL.json"
    files.replace_file(path, "{}")

    with pytest.raises(RefusedError):
        load_model(path)


def test_each_call_of_a_client_is_named_on_the_page() -> None:
    page = (ROOT / "docs" / "api.md").read_text("utf-8")
    calls = [
        name
        for kind in (AsyncClient, AsyncPredictionSession)
        for name in dir(kind)
        if name not in vars(object) and iscoroutinefunction(getattr(kind, name))
    ]

    hidden = {"close", "send_answers", "update", "__aenter__", "__aexit__"}
    assert len(calls) > 30
    assert [
        call for call in calls if f"`{call}`" not in page and call not in hidden
    ] == []


def test_help_says_which_clients_calls_are_awaited() -> None:
    calls = "predict", "train", "close"

    assert not any(iscoroutinefunction(getattr(Client, name)) for name in calls)
    assert all(iscoroutinefunction(getattr(AsyncClient, name)) for name in calls)
    # Read from its class, a call blocks too.
    assert Client.close(Client("http://127.0.0.1:9")) is None
