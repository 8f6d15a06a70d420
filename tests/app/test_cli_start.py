"""What the command line imports before it is told what to do, and what it says then."""

import os
import subprocess
import sys

import pytest
from numba.core import event

from askless.app.cli import COMMANDS, GROUPS, load_command, options
from askless.app.documents.files import model_text
from askless.core.model.model import Model
from askless.extras import ModuleHider
from tests.app.clinic import clinic

# What takes long to import.
DEAR = {"numpy", "numba", "pydantic", "pyarrow", "sqlalchemy", "fastapi"}


def modules_of(code):
    """The modules that a fresh interpreter has after some code."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules, sep='\\n')"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_help_and_version_import_nothing_dear():
    loaded = modules_of("""
import sys
from askless.app.cli import GROUPS, main
for words in (["--help"], ["--version"], []):
    sys.argv = ["askless", *words]
    try:
        main()
    except SystemExit:
        pass
""")

    assert "typer" in loaded
    assert DEAR & loaded == set()


# Each of the three reads all that the command imports, in a process of its own.
@pytest.mark.full
def test_command_starts_without_what_few_of_them_need():
    loaded = modules_of("from askless.app.cli import GROUPS, models, tables")

    assert {"sklearn", "scipy.optimize", "scipy.stats", "sqlalchemy"} & loaded == set()


def test_prediction_brings_nothing_that_trains_serves_or_reads_data_frames(tmp_path):
    (tmp_path / "m.json").write_text(model_text(Model("m", clinic(), "disease")))
    rows = "age,sex,chol,fbs,ecg,echo1,echo2\n50,male,200,true,1,1,2\n"
    (tmp_path / "t.csv").write_text(rows)
    words = ["askless", "predict", "m.json", "t.csv", "--budget", "5", "-o", "out.csv"]

    loaded = modules_of(f"""
import os, sys
os.chdir({str(tmp_path)!r})
sys.argv = {words}
from askless.extras import main
try:
    main()
except SystemExit:
    pass
""")

    assert (tmp_path / "out.csv").is_file()
    assert "askless.app.batch.predicting" in loaded
    others = {"pandas", "sklearn", "scipy", "cffi", "sqlalchemy", "fastapi", "jinja2"}
    assert (others | {"pyarrow.parquet", "pyarrow.fs"}) & loaded == set()
    needless = {
        *("askless.core.panels.ladders", "askless.core.training.algorithms"),
        *("askless.core.pipeline.spec", "askless.core.simulation.curves"),
        *("askless.core.kernels.boosted_trees", "askless.core.kernels.online.online"),
        "askless.app.documents.spec.spec",
        "askless.app.documents.http.sessions",
        *("askless.app.uploads.checking", "askless.app.uploads.scratch"),
        *("askless.app.terminal.show", "askless.app.words.facts"),
    }
    assert needless & loaded == set()


@pytest.mark.parametrize(
    ("asking", "name", "is_hidden"),
    [
        ("pyarrow.compute", "pandas", True),
        ("askless.app.uploads.columns", "pandas", True),
        ("mlflow.models", "pandas", False),
        ("pyarrow.compute", "numpy", False),
        ("numba.np.linalg", "scipy", True),
        ("numba.core.typing.cffi_utils", "cffi", True),
        ("sklearn.base", "scipy", False),
    ],
)
def test_package_is_hidden_from_what_needs_none_of_it(asking, name, is_hidden):
    ask = "hider.find_spec(name, None)"

    def find():
        exec(ask, {"__name__": asking, "hider": ModuleHider(), "name": name})

    if not is_hidden:
        find()
        return
    with pytest.raises(ModuleNotFoundError, match=name):
        find()


def test_server_collects_garbage_seldom_and_never_its_modules():
    told = modules_of("""
import gc
from askless.app.server import BETWEEN_COLLECTIONS, spare_collections
spare_collections()
sparing = gc.get_threshold() == BETWEEN_COLLECTIONS and gc.get_freeze_count() > 10_000
print("spared" if sparing else "as ever")
""")

    assert "spared" in told


@pytest.mark.full
def test_commands_service_and_worker_start_without_what_extras_bring():
    loaded = modules_of("""
import importlib, pkgutil
import askless.app.main, askless.app.worker
from askless.app.cli import COMMANDS, GROUPS, load_command
for name in COMMANDS:
    load_command(name)
for module in pkgutil.iter_modules(askless.app.worker.__path__):
    importlib.import_module(f"askless.app.worker.{module.name}")
""")

    assert "askless.app.service.jobs.training_runs" in loaded
    assert {"distributed", "mlflow", "mcp", "authlib"} & loaded == set()


def test_version_is_told(run):
    finished = run("--version")

    assert (finished.code, finished.out) == (0, "askless 0.1.0\n")


def test_help_names_each_command(run):
    shown = run("--help").out

    assert [name for name in COMMANDS if name not in shown] == []


def test_help_has_its_commands_in_groups(run):
    lines = run("--help").out.splitlines()

    titles = [words[1] for line in lines if (words := line.split("─ "))[1:]]
    assert [title.split()[0] for title in titles] == ["Options", *GROUPS]
    assert len(GROUPS) == 4


def test_slip_in_a_command_is_told_the_nearest_one(run):
    finished = run("evalute")

    assert finished.code == 2
    assert "evaluate" in finished.err


@pytest.mark.parametrize("name", COMMANDS)
def test_command_says_the_sentence_of_the_table(name):
    command = load_command(name)

    assert (command.name, command.help) == (name, COMMANDS[name].sentence)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("askless sel", "select"),
        pytest.param("askless ask --bud", "--budget", marks=pytest.mark.full),
    ],
)
def test_shell_completes_commands_and_options(words, expected):
    place = str(len(words.split()) - 1)
    code = (
        "import sys; sys.argv[0] = 'askless'; from askless.app import cli; cli.main()"
    )
    asked = {"COMP_WORDS": words, "COMP_CWORD": place}

    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **asked, "_ASKLESS_COMPLETE": "complete_bash"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert expected in done.stdout.split()


def test_compiling_is_told_once(capsys):
    with options.print_compiling():
        for _ in range(2):
            with event.trigger_event("numba:compile"):
                pass

    assert capsys.readouterr().err.count("compiling for this processor") == 1


def test_nothing_is_told_of_kernels_that_are_compiled(capsys):
    with options.print_compiling():
        pass
    with event.trigger_event("numba:compile"):
        pass

    assert capsys.readouterr().err == ""
