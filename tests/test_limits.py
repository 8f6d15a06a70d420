"""The limits of files, functions and names. Each exception has its line and reason."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from tests.trees import nodes_of, tree_of

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "askless"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# What blocks are made of.
STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)
LOOPS = (ast.For, ast.AsyncFor, ast.comprehension)
BLOCKS = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Match)
# Layers in which functions of one noun have one name: http/models.get asks
# service/models.get, which asks store/models.get. Each door has `add_to`.
STRAIGHT_LINES = (
    *("app/http/", "app/pages/", "app/service/", "app/store/"),
    "app/doors/",
)
# Where a name may stand again: a document is called as the value that it shows, and a
# client calls things as its service does.
ECHOES = (
    *("app/documents/", "client/", "stored_models.py", "models.py", "estimator.py"),
    "extras.py",
)

# Words that begin no sentence about a module: it is an order ("Read ..."), or a noun.
OTHER_MOODS = re.compile(
    r"(How|What|Whether|Why|Where|Adds|Applies|Begins|Builds|Checks|Chooses|Compares|"
    r"Computes|Converts|Counts|Creates|Decides|Defines|Derives|Describes|Does|Drafts|"
    r"Fetches|Finds|Fits|Gives|Goes|Has|Holds|Identifies|Is|Keeps|Learns|Lists|Loads|"
    r"Looks|Makes|Matches|Measures|Parses|Plays|Predicts|Prepares|Prints|Reads|Refuses|"
    r"Remembers|Removes|Renders|Replaces|Returns|Sends|Serves|Sets|Shows|Solves|Splits|"
    r"Starts|Stores|Takes|Tells|Tests|Trains|Turns|Upgrades|Validates|Watches|Writes)\b"
)
SAY_NOTHING = {"found", "told", "said"}

LINES_OF_A_FILE = 400
LINES_OF_A_TEST_FILE = 600
FILES_OF_A_FOLDER = 16
# A module under so many lines that one file beside it reads could live inside it.
LINES_OF_A_SMALL_MODULE = 110
SMALL_MODULES_OF_ONE_READER = 3
LINES_OF_THE_READING_PATH = 3150
LINES_OF_A_FUNCTION = 60  # without its docstring
PARAMETERS = 6
NESTING = 3

EXCEPTIONS: dict[str, dict[str, str]] = {
    "lines of a file": {
        "migrations/versions/0022_all_tables.py": "The whole schema, once."
    },
    "lines of a function": {},
    "commits": {"app/store/database/transactions.py": "Who is handed one leaves it."},
    "parameters": {
        "core/estimator/classifier.py BudgetedBoostingClassifier.__init__": (
            "scikit-learn's way."
        ),
        "app/cli/tables.py train_model": "One for each option of the command.",
        "app/cli/comparing.py compare_models": "One for each option of the command.",
        "app/cli/deciding.py decide_cases": "One for each option of the command.",
        "app/cli/drafts.py init_spec": "One for each option of the command.",
        "app/cli/measures.py evaluate_model": "One for each option of the command.",
        "app/cli/models.py ask_case": "One for each option of the command.",
        "app/cli/predictions.py predict_rows": "One for each option of the command.",
        "app/cli/shadowing.py shadow_decisions": "One for each option of the command.",
        "client/__init__.py AnyClient.predict": "One for each field of the request.",
        "core/simulation/curves.py evaluate": "What its walks are replayed from.",
        "core/simulation/curves.py simulate_rows": "What its walks are replayed from.",
        "core/session/machine.py start": "What a session is replayed from, all of it.",
        "core/simulation/simulate.py simulate": "What sessions are replayed from.",
    },
}


def sources(root: Path, *tops: str) -> dict[str, str]:
    files = (path for top in tops for path in sorted((root / top).rglob("*.py")))
    return {str(f.relative_to(root)): f.read_text(encoding="utf-8") for f in files}


# Paths begin below `askless`.
SHIPPED = {
    path: text
    for path, text in sources(PACKAGE, "").items()
    if not path.startswith("migrations/")
}
ALL = sources(PACKAGE, "") | sources(ROOT, "tests", "benchmarks")


@cache
def trees() -> dict[str, ast.Module]:
    """The syntax trees of what is shipped."""
    return {path: tree_of(PACKAGE / path) for path in SHIPPED}


def functions(tree: ast.AST, owner: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield each function with its name, below that of its class."""
    for node in ast.iter_child_nodes(tree):
        name = f"{owner}{getattr(node, 'name', '')}"
        if isinstance(node, ast.ClassDef):
            yield from functions(node, f"{name}.")
        elif isinstance(node, FUNCTIONS):
            yield name, node  # type: ignore[misc]
            yield from functions(node, f"{name}.")
        elif not isinstance(node, ast.expr):
            yield from functions(node, owner)


@cache
def all_functions() -> list[tuple[str, str, ast.FunctionDef]]:
    """Return each function of what is shipped, with its path and name."""
    return [
        (path, name, node)
        for path, tree in trees().items()
        for name, node in functions(tree)
    ]


def length(node: ast.FunctionDef) -> int:
    first = node.body[0]
    is_told = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    told = (first.end_lineno or 0) - first.lineno + 1 if is_told else 0
    return (node.end_lineno or 0) - node.lineno + 1 - told


def n_parameters(node: ast.FunctionDef) -> int:
    """Count what a caller gives; a route is called by the framework alone."""
    if any(
        ast.unparse(decorator).startswith("router.")
        for decorator in node.decorator_list
    ):
        return 0
    given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return sum(value.arg not in ("self", "cls") for value in given)


def depth(node: ast.AST) -> int:
    """Count the blocks that stand inside one another; `elif` is no deeper than `if`."""
    deepest = 0
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, STATEMENTS) or isinstance(child, FUNCTIONS):
                continue
            is_elif = name == "orelse" and isinstance(child, ast.If)
            is_block = isinstance(child, BLOCKS) and not is_elif
            deepest = max(deepest, depth(child) + is_block)
    return deepest


def long_files() -> Iterator[str]:
    for path, source in ALL.items():
        limit = LINES_OF_A_TEST_FILE if path.startswith("tests/") else LINES_OF_A_FILE
        if source.count("\n") > limit:
            yield path


def full_folders() -> Iterator[str]:
    files = Counter(str(Path(path).parent) for path in SHIPPED)
    yield from (folder for folder, n in files.items() if n > FILES_OF_A_FOLDER)


def small_modules_of_one_reader() -> list[str]:
    modules = {
        ".".join(("askless", *Path(path).with_suffix("").parts)): path
        for path in SHIPPED
        if not path.endswith("__init__.py")
    }
    readers: dict[str, set[str]] = defaultdict(set)
    for path, tree in trees().items():
        for node in nodes_of(tree):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    readers[f"{node.module}.{alias.name}"].add(path)
                    readers[str(node.module)].add(path)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    readers[alias.name].add(path)
            elif isinstance(node, ast.Constant):
                readers[str(node.value)].add(path)
    small = []
    for module, path in modules.items():
        others = [Path(reader) for reader in readers[module] - {path}]
        if len(others) == 1 and SHIPPED[path].count("\n") < LINES_OF_A_SMALL_MODULE:
            is_beside = others[0].parent == Path(path).parent
            small += [path] if is_beside and others[0].name != "__init__.py" else []
    return sorted(small)


def beyond(measure: Callable[[ast.FunctionDef], int], limit: int) -> Iterator[str]:
    for path, name, node in all_functions():
        if measure(node) > limit:
            yield f"{path} {name}"


def shared_names() -> Iterator[str]:
    """Yield public names at the top level of two modules or more."""
    places: dict[str, list[str]] = defaultdict(list)
    for path, tree in trees().items():
        kinds = (
            ast.ClassDef
            if path.startswith(STRAIGHT_LINES)
            else (*FUNCTIONS, ast.ClassDef)
        )
        for node in tree.body if not path.startswith(ECHOES) else ():
            if isinstance(node, kinds) and node.name[0] != "_":
                places[node.name].append(path)
    yield from (name for name, paths in places.items() if len(paths) > 1)


def empty_names() -> Iterator[str]:
    """Yield loop variables `one` and variables `found`, `told`, `said`.

    Fields of classes may be called so: their owner says what they hold.
    """
    for path, tree in trees().items():
        fields = {
            node
            for owner in nodes_of(tree)
            if type(owner) is ast.ClassDef
            for field in owner.body
            if isinstance(field, ast.AnnAssign)
            for node in ast.walk(field)
        }
        for node in nodes_of(tree):
            # Most nodes are none of these.
            kind, names = type(node), set[str]()
            if kind is ast.Name:
                if isinstance(node.ctx, ast.Store) and node not in fields:
                    names = {node.id} & SAY_NOTHING
            elif kind is ast.arg:
                names = {node.arg} & {"one", *SAY_NOTHING}
            elif kind in LOOPS:
                targets = ast.walk(node.target)
                names = {"one"} & {getattr(target, "id", "") for target in targets}
            for name in names:
                yield f"{path}: {name}"


OFFENDERS: dict[str, Callable[[], Iterator[str]]] = {
    "lines of a file": long_files,
    "files of a folder": full_folders,
    "lines of a function": lambda: beyond(length, LINES_OF_A_FUNCTION),
    "parameters": lambda: beyond(n_parameters, PARAMETERS),
    "nesting": lambda: beyond(depth, NESTING),
    "commits": lambda: (path for path, text in SHIPPED.items() if ".commit(" in text),
    "names that mean two things": shared_names,
    "names that say nothing": empty_names,
    "modules whose docstring is in another mood": lambda: (
        path
        for path, tree in trees().items()
        if OTHER_MOODS.match(ast.get_docstring(tree) or "")
    ),
    "docstrings that give or tell instead of returning": lambda: (
        f"{path}: {line}"
        for path, text in SHIPPED.items()
        for line in re.findall(r'"""((?:Give|Tell)s? .*)', text)
    ),
}


def test_limits_are_kept_and_every_exception_is_needed() -> None:
    offenders = {limit: set(find()) for limit, find in OFFENDERS.items()}
    excepted = {limit: set(EXCEPTIONS.get(limit, {})) for limit in OFFENDERS}

    assert offenders == excepted


def test_few_small_modules_are_read_by_one_file_beside_them_alone() -> None:
    small = small_modules_of_one_reader()

    assert len(small) <= SMALL_MODULES_OF_ONE_READER, small


def test_the_reading_path_is_short() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("## Reading path")[2].partition("\n## ")[0]
    paths = re.findall(r"^\d+\. `(\S+)`: ", section, re.MULTILINE)

    n_lines = sum((ROOT / path).read_text().count("\n") for path in paths)

    assert len(paths) > 10
    assert n_lines <= LINES_OF_THE_READING_PATH


def test_depth_counts_blocks_inside_one_another() -> None:
    sources = {
        "if a:\n  b\nelif c:\n  d\nelse:\n  e": 1,
        "for a in b:\n  if c:\n    pass\n  else:\n    with d:\n      pass": 3,
        "def f():\n  if a:\n    pass": 0,
    }

    assert {source: depth(ast.parse(source)) for source in sources} == sources
