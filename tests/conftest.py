"""Hypothesis profiles, flags, the order of files and the smallest valid objects."""

import gc
import json
import os
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

from askless.core.catalogue.catalogue import Catalogue, Feature
from askless.core.model.ensemble import Ensemble
from askless.core.model.hypotheses import Stump
from askless.core.table.dataset import ClassLabel, Dataset
from tests.guard import sitecustomize
from tests.levels import FULL_FILES, is_full, is_quick, measure_yardstick
from tests.panels import shorten
from tests.small import ensemble_of

# Processes that a test starts refuse the same imports as this one.
GUARD = str(Path(sitecustomize.__file__).parent)
if GUARD not in (paths := os.environ.get("PYTHONPATH", "").split(os.pathsep)):
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [GUARD, *paths]))

# GNU's OpenMP lets idle threads spin: on a busy machine each call of a parallel kernel
# then takes milliseconds instead of microseconds.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# Uncompiled kernels are slow Python; compiled ones are slow the first time. Each run
# takes the same examples; `make test-random` draws others.
IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
settings.register_profile(
    "askless",
    deadline=None,
    derandomize=True,
    max_examples=60 if IS_COMPILED else 12,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "quick",
    settings.get_profile("askless"),
    max_examples=5,
)
settings.register_profile(
    "random", settings.get_profile("askless"), derandomize=False, max_examples=100
)
settings.load_profile("askless")


# Yardsticks by level and file: the slowest files go first, so that no process ends long
# after the others.
DURATIONS = Path(__file__).with_name("durations.json")
SECONDS: dict[str, Counter[str]] = {"quick": Counter(), "full": Counter()}


@cache
def first_yardstick() -> float:
    """Measure a yardstick before the tests begin, and keep it."""
    return measure_yardstick()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite-durations",
        action="store_true",
        help="Write tests/durations.json anew from this run.",
    )
    parser.addoption(
        "--rewrite-golden",
        action="store_true",
        help="Write the files below golden/ anew instead of comparing with them.",
    )


def pytest_configure(config: pytest.Config) -> None:
    # Modules that are imported and tests that are collected stay in memory.
    gc.disable()
    if is_quick(config) and not config.getoption("--hypothesis-profile"):
        settings.load_profile("quick")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    # Importing what all foreign clients need takes as long as hundreds of tests.
    path = collection_path.relative_to(config.rootpath).as_posix()
    return True if is_quick(config) and path in FULL_FILES else None


def pytest_report_header() -> str:
    """State how fast this machine is; processes of pytest-xdist make no report."""
    return (
        f"yardstick: {first_yardstick():.2f} s (a plain loop of 20 million additions)"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    took: Counter[str] = Counter()
    for files in json.loads(DURATIONS.read_text(encoding="utf-8")).values():
        took.update(files)
    items.sort(key=lambda item: -took[file_of(item.nodeid)])
    for item in items:
        if is_full(item):
            item.add_marker("full")


def pytest_sessionstart(session: pytest.Session) -> None:
    # A process of pytest-xdist writes no durations.
    if not hasattr(session.config, "workerinput"):
        first_yardstick()


def pytest_collection_finish() -> None:
    # Thousands of tests stay in memory to the end: the collector need not visit them.
    gc.freeze()
    # Nearly all of what tests leave is freed without it, and it takes a tenth of a run.
    gc.set_threshold(200_000, 10, 10)
    gc.enable()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    level = "full" if "full" in report.keywords else "quick"
    SECONDS[level][file_of(report.nodeid)] += report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    # A process of pytest-xdist has seen some files only; the one that started it, all.
    is_whole = not hasattr(session.config, "workerinput")
    if is_whole and session.config.getoption("--rewrite-durations"):
        # A machine may become slower while it is busy.
        yardstick = (first_yardstick() + measure_yardstick()) / 2
        rounded = {
            level: {
                file: round(took / yardstick, 1) for file, took in files.most_common()
            }
            for level, files in SECONDS.items()
        }
        text = json.dumps(rounded, indent=0)
        DURATIONS.write_text(text + "\n", encoding="utf-8")


def file_of(nodeid: str) -> str:
    return nodeid.partition("::")[0]


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """What `askless/app/processes/threads.py` sets for the processes of the command.

    In fits of a few rows BLAS's threads only wait for one another.
    """
    with threadpool_limits(limits=1, user_api="blas"):
        yield


@pytest.fixture
def is_rewriting(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--rewrite-golden"))


@pytest.fixture
def short_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let panels be of few rounds, where a test is not about what they tell."""
    shorten(monkeypatch)


@pytest.fixture
def catalogue() -> Catalogue:
    return Catalogue((Feature("f0"), Feature("f1", cost=2_000_000)))


@pytest.fixture
def dataset(catalogue: Catalogue) -> Dataset:
    return Dataset(
        catalogue,
        (ClassLabel("0", "no"), ClassLabel("1", "yes")),
        values=np.array([[0.0, 5.0], [0.0, 6.0], [1.0, 5.0], [1.0, 7.0]]),
        targets=np.array([0, 0, 1, 1]),
        weights=np.full(4, 0.25),
    )


@pytest.fixture
def ensemble(dataset: Dataset) -> Ensemble:
    stumps = (Stump(0, 0.5, (1,)), Stump(1, 6.5, (1,)))
    return ensemble_of(
        stumps, dataset.catalogue, classes=dataset.classes, alphas=(1.0, 0.5)
    )
