"""MLflow's flavour: a saved model predicts, in MLflow's hands, as `askless predict`."""

import csv
import io
import json
import math
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from askless import RefusedError, load_model
from askless.app.documents.files import model_text
from askless.core.model.model import Model
from tests.app.clinic import clinic
from tests.curves import curve_of

NEEDED = "needs the extra mlflow"
with warnings.catch_warnings():
    # It warns of its own type hints.
    warnings.simplefilter("ignore")
    mlflow = pytest.importorskip("mlflow", reason=NEEDED)
    pd = pytest.importorskip("pandas", reason=NEEDED)
    pytest.importorskip("mlflow.pyfunc", reason=NEEDED)
    flavour = pytest.importorskip("askless.mlflow", reason=NEEDED)

ROOT = Path(__file__).resolve().parents[3]
COMMAND = Path(sys.executable).with_name("mlflow")
ROWS = """id,age,sex,chol,fbs,ecg,echo1,echo2,disease
7,45,male,200,true,1,1,2,0
8,70,female,,false,3,2,4,1
9,52,male,260,true,1,2,3,1
"""
# Connections are told and refused, whoever asks for them.
ALONE = """
import socket, sys

def refuse(*address, **more):
    sys.stderr.write(f"CONNECTED {address}")
    raise OSError("no network here")

socket.socket.connect = socket.getaddrinfo = refuse
from askless.app.cli import main
sys.argv = ["askless", *sys.argv[1:]]
try:
    main()
finally:
    from mlflow.telemetry.client import get_telemetry_client
    sys.stderr.write(f"REPORTS BY {get_telemetry_client()}")
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, rows of its table, and the folder that `askless export` makes of it."""
    folder = tmp_path_factory.mktemp("mlflow")
    model = Model("clinic", clinic(), "disease", curve=curve_of([0.3, 0.2, 0.25]))
    (folder / "m.json").write_text(model_text(model))
    (folder / "rows.csv").write_text(ROWS)
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MLFLOW_", "PYTEST_")) and name != "CI"
    }
    arguments = ("export", "m.json", "--mlflow", "saved", "--budget", "20")
    done = subprocess.run(
        [sys.executable, "-c", ALONE, *arguments],
        cwd=folder,
        env=environment | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "wrote saved\n"
    (folder / "said").write_text(done.stderr)
    return folder


@pytest.fixture
def told(place: Path, run: Any) -> Any:
    """Return what `askless predict` says of the rows."""

    def predict(*options: str) -> list[dict[str, str]]:
        words = ("predict", place / "m.json", place / "rows.csv", "-o", "-", *options)
        return list(csv.DictReader(io.StringIO(run(*words).out)))

    return predict


def same(found: list[dict[str, Any]], told: list[dict[str, str]]) -> bool:
    """Return whether predictions are those that the command printed."""
    assert [list(row) for row in found] == [list(row) for row in told]
    for row, line in zip(found, told, strict=True):
        assert (row["label"], row["features"]) == (line["label"], line["features"])
        for name in set(line) - {"label", "features"}:
            assert row[name] == pytest.approx(float(line[name]), abs=1e-6)
    return len(found) == 3


def test_export_reaches_no_network_and_reports_to_nobody(place: Path) -> None:
    said = (place / "said").read_text()

    assert "CONNECTED" not in said
    assert "REPORTS BY None" in said


def test_mlflow_models_predict_says_what_askless_predict_says(
    place: Path, told: Any
) -> None:
    command = ("models", "predict", "-m", "saved", "-i", "rows.csv", "-t", "csv")
    done = subprocess.run(
        [COMMAND, *command, "--env-manager", "local"],
        cwd=place,
        env=os.environ | {"PYTHONPATH": str(ROOT), "MLFLOW_DISABLE_TELEMETRY": "true"},
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])["predictions"]
    assert same(found, told("--budget", "20"))


@pytest.mark.parametrize(
    ("params", "options"),
    [
        ({}, ("--budget", "20")),
        ({"budget": 6.0}, ("--budget", "6")),
        ({"budget": 6.0, "exact_budget": True}, ("--budget", "6", "--exact-budget")),
        ({"budget": math.inf}, ("--budget", "inf")),
        (
            {"budget": 9.0, "policy": "sample", "seed": 5},
            ("--budget", "9", "--policy", "sample", "--seed", "5"),
        ),
    ],
)
def test_parameters_of_a_call_are_options_of_the_command(
    place: Path, told: Any, params: dict[str, Any], options: tuple[str, ...]
) -> None:
    loaded = mlflow.pyfunc.load_model(str(place / "saved"))

    # pandas makes integers of ages, and leaves what is no feature.
    found = loaded.predict(pd.read_csv(place / "rows.csv"), params=params)

    assert same(found.to_dict("records"), told(*options))


def test_saved_model_has_signature_example_and_curve(place: Path) -> None:
    described = mlflow.models.Model.load(str(place / "saved"))

    inputs = described.signature.inputs
    assert inputs.input_names() == [
        *("age", "sex", "chol", "fbs", "ecg", "echo1", "echo2")
    ]
    assert described.signature.params.to_dict()[0] | {"type": ""} == {
        **{"name": "budget", "default": 20.0, "type": "", "shape": None}
    }
    curve = described.metadata["askless"]["curve"]
    assert [point["error"] for point in curve] == [0.3, 0.2, 0.25]
    example = described.load_input_example(str(place / "saved"))
    loaded = mlflow.pyfunc.load_model(str(place / "saved"))
    assert list(loaded.predict(example)["label"]) in (["0"], ["1"])


def test_saved_model_is_loaded_as_the_model_that_it_was(place: Path) -> None:
    loaded = flavour.load_model(str(place / "saved"))

    assert model_text(loaded.model) == (place / "m.json").read_text()


# MLflow compares names of columns in a way that pandas will drop.
@pytest.mark.filterwarnings("ignore:Operation with range is deprecated")
def test_curve_of_a_logged_model_is_logged_as_metrics(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file:{tmp_path / 'runs'}")

    with mlflow.start_run() as started:
        info = flavour.log_model(load_model(place / "m.json"), "clinic", budget=9.0)

    client = mlflow.MlflowClient()
    errors = client.get_metric_history(started.info.run_id, "error")
    assert [(error.step, error.value) for error in errors] == [
        (0, 0.3),
        (1, 0.2),
        (2, 0.25),
    ]
    assert flavour.load_model(info.model_uri).name == "clinic"


@pytest.mark.parametrize(
    ("change", "params", "rule"),
    [
        ({}, {"budget": -1.0}, "budget: must be an amount"),
        ({}, {"policy": "panels"}, "policy: must be one of"),
        ({}, {"mean_budget": 3.0}, "aim: is "),
        ({"fbs": [2, 0, 1]}, {}, "column fbs: must be true or false"),
    ],
)
def test_wrong_call_is_refused_by_field_and_rule(
    place: Path, change: dict[str, Any], params: dict[str, Any], rule: str
) -> None:
    loaded = mlflow.pyfunc.load_model(str(place / "saved"))
    rows = pd.read_csv(place / "rows.csv").assign(**change)

    with pytest.raises(RefusedError, match=rule):
        loaded.predict(rows, params=params)


def test_missing_column_is_refused(place: Path) -> None:
    loaded = mlflow.pyfunc.load_model(str(place / "saved"))
    rows = pd.read_csv(place / "rows.csv").drop(columns="chol")

    with pytest.raises(mlflow.MlflowException, match="chol"):
        loaded.predict(rows)


def test_folder_that_holds_something_is_refused(place: Path, run: Any) -> None:
    for option in ("--mlflow", place), ("--mlflow", place / "m.json"):
        done = run("export", place / "m.json", *option)

        assert (done.code, done.out) == (2, "")
        assert "--mlflow: must be a folder that is not there" in done.err


def test_export_without_its_extra_says_what_to_install(
    place: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "askless.mlflow")
    # As if the package were not installed.
    monkeypatch.setitem(sys.modules, "mlflow", None)

    done = run("export", place / "m.json", "--mlflow", place / "other")

    assert done.code == 2
    assert "pip install 'askless[server,mlflow]'" in done.err
    assert not (place / "other").exists()


def test_export_that_misses_something_else_does_not_name_the_extra(
    place: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "askless.mlflow")
    monkeypatch.setitem(sys.modules, "askless.app.batch.orders", None)

    with pytest.raises(ModuleNotFoundError, match="askless"):
        run("export", place / "m.json", "--mlflow", place / "other")
