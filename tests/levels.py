"""The levels of the tests, and what a run of each may take.

`make test` leaves out level `full`; `make test-all` runs both. Times are in
yardsticks, so that the speed of a machine does not matter.
"""

from time import perf_counter

import pytest
from hypothesis import settings

# Seconds of wall time per yardstick of a plain loop of this many additions.
N_ADDITIONS = 20_000_000
# Yardsticks that a run may take on two cores: of `make test`, of `make test-all`.
MOST_QUICK, MOST_ALL = 80.0, 270.0

# What starts or kills processes that serve or work, what another program has to be a
# client of, and what a page of documentation says to do. Tests of foreign programs are
# known by their fixture, those on PostgreSQL by their parameter; a test of this level
# in a file whose others are not is marked.
FULL_FILES = frozenset(
    {
        "tests/app/doors/fhir/test_fhir_page.py",
        "tests/app/doors/fhir/test_lforms.py",
        "tests/app/doors/oidc/test_browser.py",
        "tests/app/doors/oidc/test_page.py",
        "tests/app/doors/test_doors_page.py",
        "tests/app/doors/test_mcp_concurrency.py",
        "tests/app/doors/test_mcp_stdio.py",
        "tests/app/doors/test_mlflow.py",
        "tests/app/doors/test_triton.py",
        "tests/app/test_below_a_path.py",
        "tests/app/test_cluster.py",
        "tests/app/test_dask.py",
        "tests/app/test_dask_deaths.py",
        "tests/app/test_http_concurrency.py",
        "tests/app/test_http_replicas.py",
        "tests/app/test_learning_docs.py",
        "tests/app/test_notebook.py",
        "tests/app/test_parts.py",
        "tests/app/test_readme.py",
        "tests/app/test_shutdown.py",
        "tests/app/test_telemetry.py",
        "tests/app/test_tutorial.py",
        "tests/app/test_worker.py",
        "tests/askless/test_estimator_page.py",
        "tests/askless/test_wheel.py",
    }
)
# Chromium, and an identity provider from npm.
FOREIGN_FIXTURES = {"browser", "provider"}
FOREIGN_ENGINE = "postgresql"
# What pytest's -m says in a run that leaves the level out.
WITHOUT_FULL = "not full"


def is_full(item: pytest.Item) -> bool:
    """Whether a test is left out of `make test`."""
    fixtures = set(getattr(item, "fixturenames", ()))
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    return (
        item.nodeid.partition("::")[0] in FULL_FILES
        or not fixtures.isdisjoint(FOREIGN_FIXTURES)
        or parameters.get("engine_name") == FOREIGN_ENGINE
    )


def is_quick(config: pytest.Config) -> bool:
    """Whether a run leaves out level `full`."""
    return WITHOUT_FULL in config.option.markexpr


def measure_yardstick(n_parts: int = 5) -> float:
    """Measure how many seconds the loop takes, by the median of short ones."""
    times = []
    for _ in range(n_parts):
        started, total = perf_counter(), 0
        for number in range(N_ADDITIONS // 20):
            total += number
        times.append((perf_counter() - started) * 20)
    return sorted(times)[n_parts // 2]


def at_most(n_examples: int) -> settings:
    """Return how to run a property test whose examples take long: fewer than others.

    Level quick takes no more than it does of each test.
    """
    if settings.get_current_profile_name() == "quick":
        n_examples = min(n_examples, settings.default.max_examples)
    return settings(max_examples=n_examples)


def step_of(n_cases_apart: int) -> int:
    """Return how far apart the cases are that a test of very many takes.

    Level quick takes some of them, all others each.
    """
    is_some = settings.get_current_profile_name() == "quick"
    return n_cases_apart if is_some else 1
