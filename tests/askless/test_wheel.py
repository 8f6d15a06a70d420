"""The wheel, installed beside a project that has `app`, `core` and `migrations`."""

import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import sysconfig
import tarfile
import time
import venv
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

pytest.importorskip("hatchling", reason="hatchling, of the group `dev`, is absent")

ROOT = Path(__file__).resolve().parents[2]
SBOM = "requirements.cdx.json"
BESIDE = ("app", "core", "migrations")
TRAINED = """
import askless, sys
from askless import AsyncClient, BudgetedBoostingClassifier, Client, load_model

X = [[i % 7, i % 3, i % 2] for i in range(24)]
y = [row[2] for row in X]
options = {"effort": "fast", "folds": 2, "rounds": 2, "algorithm": "adaboost_bt"}
model = BudgetedBoostingClassifier(costs=[3.0, 2.0, 1.0], **options).fit(X, y)
model.save("own.json")
loaded = load_model("own.json")
labels = loaded.predict({name: [0, 1] for name in ("0", "1", "2")}, budget=1.0)
assert [str(label) for label in labels] == ["0", "1"], labels
Client("http://127.0.0.1:9").close()
assert askless.__version__, askless.__file__
# The project's own are as they were.
import app, core, migrations
assert all(package.OWN for package in (app, core, migrations))
print(askless.__file__)
"""
MLFLOW = """
import warnings
warnings.simplefilter("ignore")
import mlflow.pyfunc, pandas, askless
from askless import mlflow as flavour

flavour.save_model(askless.load_model("m.json"), "saved", budget=60)
frame = pandas.read_csv("heart.csv").head(3)
by_flavour = flavour.load_model("saved").predict(frame, budget=60)
frame = mlflow.pyfunc.load_model("saved").predict(frame)
assert list(frame["label"]) == list(by_flavour)
"""
CLIENT = """
import sys
from askless import Client

with Client(sys.argv[1]) as client:
    model = client.train("heart.csv", "spec.json")
    session = client.predict(model, budget=10)
    for question in session:
        question.refused()
    print(session.prediction["label"])
"""


class Installed(NamedTuple):
    """An environment with the wheel, and a project beside which it is used."""

    bin: Path
    project: Path

    def run(self, *words: object, **variables: str) -> str:
        """Run a program of the environment in the project; return what it prints."""
        ended = subprocess.run(
            [self.bin / str(words[0]), *map(str, words[1:])],
            cwd=self.project,
            env=self.environment(variables),
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    def environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        ours = ("ASKLESS_", "PYTHONPATH", "NUMBA_", "MLFLOW_")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
        home = str(self.project / "home")
        # As a web framework's reloader or a test runner puts the project first.
        paths = {"PYTHONPATH": str(self.project), "ASKLESS_HOME": home}
        return kept | paths | {"MLFLOW_DISABLE_TELEMETRY": "true"} | variables


def build(tree: Path, target: str, folder: Path) -> Path:
    command = ("-m", "hatchling", "build", "-t", target, "-d", str(folder))
    subprocess.run([sys.executable, *command], cwd=tree, check=True)
    (built,) = folder.iterdir()
    return built


def contents(wheel: Path) -> list[tuple[str, str]]:
    """The files of a wheel with their hashes."""
    with zipfile.ZipFile(wheel) as packed:
        return sorted(
            (name, hashlib.sha256(packed.read(name)).hexdigest())
            for name in packed.namelist()
        )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Install the wheel into an environment that borrows what it depends on."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder / "env", with_pip=False)
    python = folder / "env" / "bin" / "python"
    install = ("--python", python, "install", "--no-deps", "--no-index", "--quiet")
    subprocess.run([sys.executable, "-m", "pip", *install, wheel], check=True)
    purelib = sysconfig.get_path("purelib", vars={"base": str(folder / "env")})
    borrowed = [path for path in sys.path if path.endswith("-packages")]
    (Path(purelib) / "borrowed.pth").write_text("\n".join(borrowed) + "\n")
    project = folder / "project"
    for name in BESIDE:
        (project / name).mkdir(parents=True)
        (project / name / "__init__.py").write_text("OWN = True\n")
    return Installed(python.parent, project)


def test_wheel_installs_askless_alone(wheel: Path) -> None:
    names = [name for name, _ in contents(wheel)]
    (metadata,) = {name.split("/")[0] for name in names} - {"askless"}
    shipped = subprocess.run(
        ["git", "ls-files", "askless"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert re.fullmatch(r"askless-[\d.]+\.dist-info", metadata)
    assert len(names) == len(set(names))
    assert {*shipped.stdout.split("\n")} - {""} <= {*names}
    guide = "askless/app/pages/guide.zip"
    assert (guide in names) is (ROOT / guide).is_file()
    with zipfile.ZipFile(wheel) as packed:
        parts = packed.read(f"{metadata}/sboms/{SBOM}")
        described = packed.read(f"{metadata}/METADATA").decode()
    assert parts == (ROOT / SBOM).read_bytes()
    assert "Provides-Extra: dev\n" not in described
    assert "\n# Askless\n" in described


def test_wheel_of_the_sdist_is_that_of_the_tree(wheel: Path, tmp_path: Path) -> None:
    sdist = build(ROOT, "sdist", tmp_path / "sdist")
    with tarfile.open(sdist) as packed:
        names = packed.getnames()
        packed.extractall(tmp_path / "tree", filter="data")
    (tree,) = (tmp_path / "tree").iterdir()

    again = build(tree, "wheel", tmp_path / "again")

    assert len(names) == len(set(names))
    assert {*BESIDE, "tests", "docs"}.isdisjoint(path.name for path in tree.iterdir())
    assert [path for path in tree.iterdir() if path.is_dir()] == [tree / "askless"]
    assert contents(again) == contents(wheel)


def test_package_is_used_beside_a_project_of_the_same_names(
    installed: Installed,
) -> None:
    (installed.project / "train.py").write_text(TRAINED)

    # As plain Python: compiling kernels would take a minute.
    place = installed.run("python", "train.py", NUMBA_DISABLE_JIT="1")
    told = installed.run("askless", "show", "own.json", NUMBA_DISABLE_JIT="1")

    assert str(installed.bin.parent) in place
    assert "adaboost_bt" in told


@pytest.fixture(scope="module")
def compiled(installed: Installed) -> Installed:
    """Compile the kernels, and put the demo's table and spec into the project."""
    assert installed.run("askless", "compile-kernels") == "the kernels are compiled\n"
    demo = next(installed.bin.parent.glob("lib/*/site-packages/askless/app/demo"))
    spec = json.loads((demo / "heart.json").read_text())
    spec |= {"algorithm": "adaboost_bt", "validation": {"folds": 2}}
    (installed.project / "spec.json").write_text(json.dumps(spec))
    (installed.project / "heart.csv").write_bytes((demo / "heart.csv").read_bytes())
    installed.run(
        "askless", "train", "heart.csv", *["--spec", "spec.json", "-o", "m.json"]
    )
    return installed


@contextmanager
def serving(installed: Installed, **settings: str) -> Iterator[str]:
    """Serve with a worker; yield the address once it is ready."""
    log = installed.project / "server.log"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    address = f"http://127.0.0.1:{port}"
    if "ASKLESS_DOORS" in settings:
        settings["ASKLESS_ADDRESS"] = address
    with log.open("wb") as file:
        server = subprocess.Popen(
            [installed.bin / "askless", "serve", "--port", port],
            cwd=installed.project,
            env=installed.environment(settings | {"PYTHONUNBUFFERED": "1"}),
            stdout=file,
            stderr=file,
        )
    try:
        wait_for(address)
        yield address
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)


def wait_for(address: str) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            if httpx.get(f"{address}/readyz", trust_env=False).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise AssertionError("not ready")


@pytest.mark.full
def test_kernels_lie_in_the_package(compiled: Installed) -> None:
    caches = [*compiled.bin.parent.glob("lib/*/site-packages/askless/core/**/*.nbi")]

    assert len(caches) > 10


@pytest.mark.full
def test_worker_of_the_service_trains_and_a_session_is_played(
    compiled: Installed,
) -> None:
    (compiled.project / "play.py").write_text(CLIENT)

    with serving(compiled) as address:
        label = compiled.run("python", "play.py", address)

    assert label.strip() in {"0", "1"}


@pytest.mark.full
def test_every_door_opens(compiled: Installed) -> None:
    server = {"fhir": "http://127.0.0.1:9/fhir", "client_id": "askless"}
    client = {"https://ehr.example.org": {"jwks": "http://127.0.0.1:9/jwks"}}
    opened = {
        "ASKLESS_DOORS": '["inference", "mcp", "fhir", "cds"]',
        "ASKLESS_CDS_CLIENTS": json.dumps(client),
        "ASKLESS_OIDC_ISSUER": "http://127.0.0.1:9",
        "ASKLESS_OIDC_CLIENT_ID": "askless",
        "ASKLESS_OIDC_CLIENT_SECRET": "kept",
        "ASKLESS_OIDC_GROUPS": '{"staff": {"role": "clinician"}}',
        "ASKLESS_SMART_SERVERS": json.dumps({"ehr": server}),
    }
    addresses = (
        *("/v2", "/fhir/metadata", "/cds-services", "/mcp"),
        *("/ui/sign-in/oidc", "/ui/smart/ehr/launch/m"),
    )

    with serving(compiled, **opened) as address:
        answers = {
            path: httpx.get(address + path, trust_env=False).status_code
            for path in addresses
        }

    # A door that is not open has no address; of a module that is not there 500 came.
    assert [path for path, status in answers.items() if status in (404, 500)] == []


@pytest.mark.full
def test_mlflow_saves_and_loads(compiled: Installed) -> None:
    pytest.importorskip("mlflow", reason="needs the extra mlflow")
    (compiled.project / "flavour.py").write_text(MLFLOW)

    compiled.run("python", "flavour.py")

    served = (compiled.project / "saved" / "MLmodel").read_text()
    assert "loader_module: askless.mlflow" in served
    assert "askless/data" not in served
