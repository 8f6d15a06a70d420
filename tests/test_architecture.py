"""The arrows between modules, as tables. A new module needs a row or fails.

What a file may import, not what it does with it: that is for reviewers. Names begin
below `askless`: `core.model` is `askless.core.model`, `client` is `askless.client`.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.trees import nodes_of, parse, tree_of, walk

ROOT = Path(__file__).resolve().parents[1]
BELOW = ("core", "app", "migrations", "client")
FIRST_PARTY = (*BELOW, "askless", "tests", "benchmarks")
LEAVES = (
    *("app.records", "app.errors", "app.settings.hosts", "app.logs", "app.problems"),
    *("app.settings.secrets", "core.errors"),
)

# Module prefix -> first-party prefixes it may import. The longest prefix decides.
CORE_LEAVES = ("core.arrays", "core.errors", "core.work")
BELOW_TRAINING = (
    *CORE_LEAVES,
    *("core.parameters", "core.kernels", "core.catalogue", "core.table"),
    *("core.codes", "core.model", "core.spread"),
)

BELOW_BUYER = ("app.store", "app.settings", "app.documents")
# A client imports nothing but what is installed without the server.
CLIENT = ("client", "askless.stored_models")

SIGNING_IN = tuple(
    f"app.doors.sign_in.{name}"
    for name in ("auth_servers", "entering", "flows", "tokens")
)

ARROWS = {
    "core": (),
    "core.errors": (),
    "core.arrays": (),
    "core.work": (),
    "core.machine_code": (),
    "core.kernels": ("core.arrays", "core.machine_code", "core.kernels"),
    "core.catalogue": (*CORE_LEAVES, "core.kernels", "core.catalogue"),
    "core.table": (*CORE_LEAVES, "core.kernels", "core.catalogue", "core.table"),
    "core.spread": ("core.kernels",),
    "core.codes": (
        *(*CORE_LEAVES, "core.kernels", "core.catalogue", "core.table"),
        *("core.codes", "core.spread"),
    ),
    "core.parameters": (*CORE_LEAVES, "core.catalogue.prices"),
    "core.model": (
        *(*CORE_LEAVES, "core.kernels", "core.catalogue", "core.table", "core.codes"),
        "core.model",
    ),
    "core.training": (*BELOW_TRAINING, "core.training"),
    "core.session": (*BELOW_TRAINING, "core.session"),
    "core.simulation": (*BELOW_TRAINING, "core.session", "core.simulation"),
    "core.shadow": (*BELOW_TRAINING, "core.session", "core.simulation", "core.shadow"),
    "core.selection": (
        *CORE_LEAVES,
        "core.parameters",
        "core.catalogue",
        "core.table",
        "core.selection",
    ),
    "core.panels": (*BELOW_TRAINING, "core.training", "core.panels"),
    "core.pipeline": (
        *BELOW_TRAINING,
        "core.training",
        "core.panels",
        "core.session",
        "core.simulation",
        "core.selection",
        "core.pipeline",
    ),
    "core.warm": (
        *(*BELOW_TRAINING, "core.training", "core.panels", "core.session"),
        *("core.simulation", "core.pipeline"),
    ),
    "core.estimator": ("core",),
    "core.estimator.frames": ("core.arrays", "core.errors", "core.table"),
    "askless": ("core.errors", "askless", "client"),
    "askless.kernel_cache": ("core.machine_code",),
    # What needs the server's packages is imported by name, once it is called.
    "askless.extras": ("app.cli",),
    **dict.fromkeys(CLIENT, CLIENT),
    "askless.estimator": ("core", "app.documents"),
    "askless.models": ("core", "app.documents"),
    "askless.mlflow": ("core", "app.documents", "app.batch", "askless.models"),
    "app": (),
    "app.records": ("core.errors",),
    "app.errors": ("app.records", "core.errors"),
    "app.problems": (),
    "app.settings": (*LEAVES, "app.settings"),
    "app.settings.hosts": (),
    "app.settings.secrets": (),
    "app.settings.environment": (*LEAVES, "app.settings", "app.documents.shape"),
    # What the demo shows, made without any of the rest.
    "app.demo": ("app.demo",),
    "app.processes": (*LEAVES, "app.processes", "core"),
    "app.documents": (*LEAVES, "app.documents", "core"),
    "app.documents.fields": (
        *("core.parameters", "core.session.policies"),
        *("core.table.texts.numbers", "core.catalogue.prices"),
    ),
    "app.words": (
        *(*LEAVES, "app.words", "app.documents.model.card", "core"),
        "app.documents.http.sessions",
    ),
    "app.uploads": (*LEAVES, "app.uploads", "app.processes", "app.documents", "core"),
    "app.cluster": (
        *(*LEAVES, "app.cluster", "app.processes", "app.settings.places"),
        *("app.uploads.checking", "app.uploads.streams", "core"),
        "askless.kernel_cache",
    ),
    "app.batch": (
        *(*LEAVES, "app.batch", "app.processes", "app.documents", "app.uploads"),
        "core",
    ),
    "app.terminal": (
        *(*LEAVES, "app.terminal", "app.words", "app.documents", "app.uploads"),
        "core",
    ),
    "app.store": (*LEAVES, "app.store"),
    "app.service": (
        *(*LEAVES, "app.service", "app.store", "app.batch", "app.cluster"),
        *("app.uploads", "app.processes", "app.words", "app.documents"),
        *("app.settings.places", "app.settings.secrets", "core"),
    ),
    "app.http": (
        *(*LEAVES, "app.http", "app.service", "app.documents"),
        *("app.store.database.transactions", "core.catalogue.prices"),
    ),
    "app.http.plumbing": (
        *(*LEAVES, "app.http.plumbing", "app.service", "app.documents"),
        *("app.store.database", "core.catalogue.prices"),
    ),
    # Nothing imports it but app.main, and the report's command its page.
    "app.pages": (
        *(*LEAVES, "app.pages", "app.http", "app.service", "app.words"),
        *("app.documents", "app.uploads", "app.store.database.transactions", "core"),
        "app.demo",
    ),
    # Other protocols; only app.main, which opens them, and commands import one.
    "app.doors": (
        *(*LEAVES, "app.doors", "app.http.plumbing", "app.service", "app.documents"),
        *("app.settings.doors", "app.store.database.transactions", "core"),
    ),
    "app.doors.cds": (
        *(*LEAVES, "app.doors.cds", "app.doors.records.observations"),
        *("app.doors.records.patients", "app.doors.sign_in.tokens"),
        *("app.http.plumbing", "app.service", "app.documents"),
        *("app.settings.doors", "app.store.database.transactions", "core"),
    ),
    "app.doors.fhir": (
        *(*LEAVES, "app.doors.fhir", "app.http.plumbing", "app.service"),
        "app.doors.records.answers",
        *("app.documents", "app.store.database.transactions", "core"),
    ),
    # People come back from signing in elsewhere to pages.
    "app.doors.sign_in.entering": (
        *(*LEAVES, "app.doors.sign_in.auth_servers", "app.doors.sign_in.flows"),
        *("app.http.plumbing", "app.service"),
        *(
            "app.pages.plumbing.callers",
            "app.pages.plumbing.frame",
            "app.pages.accounts.sign_in",
        ),
    ),
    "app.doors.oidc": (
        *(*LEAVES, "app.doors.oidc", *SIGNING_IN, "app.http.plumbing", "app.service"),
        *(
            "app.pages.plumbing.frame",
            "app.pages.accounts.sign_in",
            "app.settings.doors",
        ),
    ),
    "app.doors.smart": (
        *(*LEAVES, "app.doors.smart", *SIGNING_IN, "app.doors.records.observations"),
        "app.doors.records.fetching",
        *("app.http.plumbing", "app.service", "app.documents", "app.settings.doors"),
        "core",
    ),
    "app.main": (
        *(*LEAVES, "app.pages", "app.doors", "app.http", "app.service.loaded"),
        "app.settings",
        *("app.service.jobs", "app.documents.http", "app.uploads", "app.store"),
        *("app.service.models", "core.warm"),
    ),
    "app.buyer": (*LEAVES, "app.buyer", "app.service", *BELOW_BUYER),
    "app.worker": (
        *(*LEAVES, "app.worker", "app.service", "app.store", "app.settings"),
        *("app.cluster", "app.processes", "app.uploads", "core.warm"),
    ),
    "app.cli": (
        *(*LEAVES, "app.cli", "app.terminal", "app.words", "app.documents"),
        *("app.batch", "app.uploads", "app.cluster", "app.processes", "app.settings"),
        *("app.service", "app.store", "app.server", "app.worker", "app.buyer", "core"),
        *("app.pages.models.report", "app.pages.models.shadow", "app.doors"),
        "app.main",
        *("askless.mlflow", "askless.models", "app.demo"),
    ),
    "app.server": (
        *LEAVES,
        "app.http.plumbing.layers.connections",
        "app.processes",
        "app.settings",
        "app.main",
    ),
    "migrations": (),
    "migrations.env": ("app.settings.environment", "app.store"),
    "benchmarks": ("benchmarks", "core", "app", "askless", "client"),
    "tests": ("tests", "core", "app", "askless", "client", "migrations"),
    "tests.app.test_init": ("tests", "core", "app", "benchmarks"),
    "tests.app.shadow.test_large_logs": ("core", "app", "benchmarks"),
    "tests.benchmarks": ("benchmarks", "core"),
    "tests.naive": (),
    "tests.naive_hypotheses": (),
    "tests.naive_boosting": ("tests.naive", "tests.naive_hypotheses"),
    "tests.naive_sessions": ("tests.naive", "tests.naive_hypotheses"),
    "tests.naive_selection": (),
    "tests.naive_online": (),
}

# One file per noun, and siblings never meet; the files named here serve them all.
SHARED: dict[str, set[str]] = {
    "app.http": {"plumbing"},
    # Datasets are what trainings are joined from, and what cases become; people have
    # keys.
    "app.service": {"limits", "loaded", "sources", "datasets", "keys"}
    # The loop reads what became of cases.
    | {"sessions"},
    "app.store": {"database"},
}

# Module prefix -> the only modules of core, app and migrations that may import it.
ONLY_FROM = {
    "distributed": ("app.cluster",),
    "dask": ("app.cluster",),
    "numba": ("core.kernels",),
    "sklearn": (
        "askless.estimator",
        "core.estimator.classes",
        "core.estimator.classifier",
        "core.estimator.incremental",
        "core.selection",
        "core.training.baselines",
    ),
    # A learner is one class, its hypothesis another; trees of scikit-learn become ours.
    "core.model.hypotheses.Tree": (
        *("core.training.learners.tree", "core.training.baselines"),
        "app.documents.model.hypotheses",
    ),
    "core.model.hypotheses.Product": (
        "core.training.learners.product",
        "app.documents.model.hypotheses",
    ),
    **{
        f"core.training.learners.{name}": ("core.training.learners",)
        for name in ("stump", "tree", "product")
    },
    "narwhals": ("core.estimator.frames",),
    "jwt": ("app.doors.sign_in.tokens",),
    "ucumvert": ("app.doors.records.answers",),
    "authlib": ("app.doors.sign_in.auth_servers", "app.doors.sign_in.flows"),
    "fhir": ("app.doors.fhir",),
    "fhir_core": ("app.doors.fhir",),
    "jinja2": ("app.pages.plumbing.environment",),
    "mlflow": ("askless.mlflow",),
    "pandas": ("askless.mlflow",),
    "scipy": ("core.pipeline.calibration", "core.panels"),
    "app.settings.settings": (
        *("app.settings.environment", "app.settings.home", "app.main", "app.worker"),
        *("app.buyer", "app.server", "app.cli", "migrations.env"),
    ),
    "app.store.database.engine": (
        *("app.main", "app.worker", "app.buyer", "app.cli"),
        *("app.http.plumbing.auth", "app.http.plumbing.deps", "app.store"),
        "migrations.env",
    ),
}

# Values in, values out: no files, clock, environment, logging, database or web.
CORE_OUTSIDE = {"numpy", "numba", "sklearn", "scipy", "narwhals", "__future__"} | {
    *("annotated_types", "threadpoolctl"),
    *("abc", "bisect", "hashlib"),
    *("collections", "concurrent", "copy", "dataclasses", "decimal", "difflib"),
    *("enum", "fractions"),
    *("functools", "heapq", "itertools", "math", "numbers", "operator", "re"),
    # `importlib` of core's own modules, at their first use.
    *("importlib", "statistics", "types", "typing", "warnings", "weakref"),
}


@cache
def dotted_ends(prefixes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{prefix}." for prefix in prefixes)


def is_within(module: str, prefixes: tuple[str, ...]) -> bool:
    return f"{module}.".startswith(dotted_ends(prefixes))


@cache
def row_of(module: str) -> str:
    """Return the row of ``ARROWS`` that decides about a module."""
    return max((p for p in ARROWS if is_within(module, (p,))), key=len)


def imported(
    module: str, nodes: list[ast.AST], *, is_package: bool = False
) -> Iterator[str]:
    """Yield what a module imports; ``from a import b`` counts as ``a.b``.

    A string that is the dotted name of a module of ours counts as an import: it names
    what is imported later, what children preload, or what ``python -m`` runs.
    """
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = whole(module).split(".")
            up = node.level - is_package
            above = parts[: len(parts) - up] if node.level else []
            start = ".".join([*above, *filter(None, [node.module])])
            yield from (f"{start}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value.partition(":")[0]
            top, dot, _ = name.partition(".")
            if dot and top in FIRST_PARTY and shorten(name) in MODULES:
                yield name


def whole(name: str) -> str:
    return f"askless.{name}" if is_within(name, BELOW) else name


def shorten(name: str) -> str:
    below = name.removeprefix("askless.")
    return below if is_within(below, BELOW) else name


def refusal(module: str, target: str) -> str | None:
    """Return why ``module`` may not import ``target``, or None where it may."""
    if is_within(target, BELOW) and module != "tests.test_architecture":
        return "nothing is imported through the links at the top"
    target = shorten(target)
    row = row_of(module)
    if is_within(target, FIRST_PARTY):
        if not is_within(target, ARROWS[row]):
            return f"{row} may import only {ARROWS[row]}"
    elif row.startswith("core") and target.split(".")[0] not in CORE_OUTSIDE:
        return "core is pure"
    for layer, shared in SHARED.items():
        if module.startswith(layer + ".") and is_within(target, (layer,)):
            noun, other = (f"{m}.".split(".")[2] for m in (module, target))
            if other not in {noun, *shared}:
                return f"siblings in {layer} never meet"
    if is_within(module, ("tests", "benchmarks")):
        return None
    for prefix, importers in ONLY_FROM.items():
        if is_within(target, (prefix,)) and not is_within(module, importers):
            return f"{prefix} is for {importers} only"
    return None


def modules() -> dict[str, Path]:
    tops = ("askless", "tests", "benchmarks")
    files = (f for top in tops for f in sorted((ROOT / top).rglob("*.py")))
    named = ((f.relative_to(ROOT).with_suffix("").parts, f) for f in files)
    return {
        shorten(".".join(part for part in parts if part != "__init__")): file
        for parts, file in named
    }


MODULES = modules()


# Without one of these words a module of the row `tests` imports nothing refused: what
# it may not import, and what stands behind the links at the top.
SUSPECTS = re.compile(
    rf"\b(?:{'|'.join({*FIRST_PARTY} - {*ARROWS['tests']})})\b|"
    rf"(?:\b(?:from|import)\s+|[\"'])(?:{'|'.join(BELOW)})\b"
)


def nodes_in(module: str, path: Path) -> list[ast.AST]:
    """Return a module's nodes. Those that no other test reads would fill memory."""
    if not is_within(module, ("tests", "benchmarks")):
        return nodes_of(tree_of(path))
    text = path.read_text(encoding="utf-8")
    is_plain = row_of(module) == "tests" and not SUSPECTS.search(text)
    return [] if is_plain else walk(parse(path))


def writers_of_rows() -> dict[str, ast.Module]:
    """Return the syntax trees of what may write rows."""
    others = ("tests", "benchmarks", "migrations.versions")
    return {m: tree_of(f) for m, f in MODULES.items() if not is_within(m, others)}


def test_modules_import_only_what_their_arrows_allow() -> None:
    refused = {
        f"{module} imports {target}": why
        for module, path in MODULES.items()
        for target in imported(
            module, nodes_in(module, path), is_package=path.name == "__init__.py"
        )
        if (why := refusal(module, target))
    }

    assert refused == {}


# Methods of tables and of `StoredRows`, and SQL, that change rows.
CHANGES = {"insert", "update", "delete", "change"}
SQL = re.compile(r"\b(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)")


def dotted(node: ast.AST, module: str, imports: dict[str, str]) -> str:
    """Return the whole dotted name of a name in a module, below `askless`."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value, module, imports)}.{node.attr}"
    name = ast.unparse(node)
    return imports.get(name, f"{module}.{name}")


def imports_of(tree: ast.Module) -> dict[str, str]:
    return {
        alias.asname or alias.name: shorten(f"{node.module}.{alias.name}")
        for node in nodes_of(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def find_tables(trees: dict[str, ast.Module]) -> dict[str, str]:
    """Return the tables of the database, by the names that code has for their rows."""
    tables, rows = {}, {}
    for module, tree in trees.items():
        for node in tree.body:
            if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
                continue
            name = f"{module}.{ast.unparse(node.targets[0])}"
            arguments = node.value.args
            match ast.unparse(node.value.func):
                case "sa.Table":
                    tables[name] = ast.literal_eval(arguments[0])
                case "StoredRows":
                    rows[name] = dotted(arguments[2], module, imports_of(tree))
    return tables | {name: tables[table] for name, table in rows.items()}


def find_changed(
    module: str, tree: ast.Module, tables: dict[str, str]
) -> Iterator[str]:
    """Yield the tables of which a module inserts, updates or deletes rows."""
    imports = imports_of(tree)
    for node in nodes_of(tree):
        name = ""
        if isinstance(node, ast.Attribute) and node.attr in CHANGES:
            name = dotted(node.value, module, imports)
        elif isinstance(node, ast.Call) and node.args:
            function = ast.unparse(node.func)
            if any(word in function for word in CHANGES):
                name = dotted(node.args[0], module, imports)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from SQL.findall(node.value)
        if name in tables:
            yield tables[name]


def test_tables_are_written_by_the_modules_that_contributing_names() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("## Who may write what")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:4] for line in section.splitlines() if line[:3] == "| `"]
    named = {
        table.strip(" `"): set(re.findall(r"`([\w/]+\.py)`", files))
        for table, _, files in rows
    }

    may_write = writers_of_rows()
    tables, writers = find_tables(may_write), defaultdict(set)
    for module, tree in may_write.items():
        for table in find_changed(module, tree, tables):
            path = MODULES[module].relative_to(ROOT)
            writers[table].add(str(path))

    assert named.keys() == set(tables.values())
    assert named == writers


def test_every_way_to_change_a_row_counts() -> None:
    sources = (
        "from askless.app.store.database.tables import keys\nkeys.delete()",
        "from askless.app.store.database import tables as t\nsa.update(t.keys)",
        "from askless.app.store.keys import ROWS\nadd = ROWS.insert",
        "from askless.app.store import keys\nkeys.ROWS.change(db, id)",
        "from askless.app.store.database.tables import keys\ninsert_of(db)(keys)",
        'sa.text("DELETE FROM keys WHERE true")',
    )
    tables = find_tables(writers_of_rows())

    changed = [set(find_changed("app.http.x", ast.parse(s), tables)) for s in sources]

    assert changed == [{"keys"}] * len(sources)


def is_refused(module: str, source: str) -> bool:
    nodes = walk(ast.parse(source))
    return any(refusal(module, target) for target in imported(module, nodes))


FORBIDDEN = [
    ("core.training.rules", "import askless.app"),
    ("core.training.rules", "from askless.app.records import Page"),
    ("core.training.rules", "from ..app import records"),
    ("core.training.rules", "import numba"),
    (
        "core.session.policies.sample",
        "from askless.core.model.hypotheses import Product",
    ),
    (
        "core.training.boosting",
        "from askless.core.training.learners.tree import TreeLearner",
    ),
    ("core.kernelsmith", "import numba"),
    ("core.training.boosting", "def f():\n    from sklearn.base import clone"),
    *(
        ("core.catalogue.catalogue", f"import {name}")
        for name in ("datetime", "logging", "os", "pathlib", "random", "secrets")
    ),
    *(("core.catalogue.catalogue", f"import {name}") for name in ("time", "sqlite3")),
    ("core.catalogue.catalogue", "from benchmarks import speed"),
    ("app.cli", "import benchmarks.bench"),
    ("app.cli", "from app.records import Page"),
    ("app.worker", 'import_module("app.service.models")'),
    ("app.undeclared", "from askless.app.records import Page"),
    ("app.records", "from askless.app.errors import ConflictError"),
    ("client", "from askless.app import records"),
    ("app.store", "from askless.core.training.boosting import boost"),
    ("app.store.models", "from askless.app.documents import model"),
    ("app.store.models", "from askless.app.store import jobs"),
    ("app.store.models", "from askless.app.service import models"),
    ("app.service.models", "from askless.app.service.jobs.trainings import cancel"),
    ("app.service.models", "from askless.app.store.database.engine import transaction"),
    ("app.http.models", "from . import trainings"),
    ("app.http.models", "from askless.app.store import models"),
    ("app.http.models", "from askless.app.settings.settings import Settings"),
    ("app.worker", "from askless.app.http import errors"),
    ("app.worker", "from askless.core.kernels import encode"),
    ("app.main", "from askless.core import kernels"),
    ("app.processes.child", 'set_forkserver_preload(["askless.app.uploads.parsing"])'),
    ("app.store.models", 'import_module("askless.app.service.models")'),
    (
        "app.server",
        'command = (sys.executable, "-m", "askless.app.cli.serving.service", "work")',
    ),
    ("app.worker", 'uvicorn.run("askless.app.main:create_app")'),
    ("tests.naive", "from askless.core.types import Stump"),
    (
        "migrations.versions.first",
        "from askless.app.store.database.tables import metadata",
    ),
]
ALLOWED = [
    ("core.kernels.scanning", "from askless.core.kernels.jit import kernel"),
    ("core.kernels.jit", "from numba import njit"),
    ("core.estimator.classifier", "from sklearn.base import BaseEstimator"),
    ("app.store.models", "from askless.app.store.database import tables, rows"),
    ("app.service.models", "from askless.app.store import models, blobs"),
    (
        "app.http.models",
        "from askless.app.http.plumbing.deps import get_db\nimport fastapi",
    ),
    (
        "app.http.plumbing.deps",
        "from askless.app.store.database.engine import transaction",
    ),
    ("app.worker", "from askless.core.warm import warm_up"),
    (
        "app.cli.serving.service",
        'command = (sys.executable, "-m", "askless.app.server")',
    ),
    ("app.store.models", '"""What askless.app.service.models means."""'),
]


def test_forbidden_imports_are_refused() -> None:
    assert [room for room in FORBIDDEN if not is_refused(*room)] == []


def test_declared_imports_are_allowed() -> None:
    assert [room for room in ALLOWED if is_refused(*room)] == []
