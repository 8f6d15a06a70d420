"""Every command, module, target and path that a page or a build file names exists."""

import ast
import importlib
import importlib.util
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

from typer.core import TyperGroup

from askless.app.cli import COMMANDS, load_command
from tests.guard.sitecustomize import LINKS

ROOT = Path(__file__).resolve().parents[1]
# What `make docs` makes.
BUILT = ("askless/app/pages/guide.zip",)
PAGES = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    *(f"docs/{p.name}" for p in ROOT.glob("docs/*.md")),
]
BUILD = [
    "Dockerfile",
    "docker-compose.yml",
    "docker-entrypoint.sh",
    "Makefile",
    ".ci/run",
]
TOPS = "core|app|askless|tests|benchmarks|migrations"
DOTTED_TOPS = "askless|tests|benchmarks"
# What stands after a first word of ours without being a module: files of users.
SUFFIXES = ("db", "dump")

COMMAND = re.compile(
    r"""(?:^|[|&;'`(])\ *(?:\$\ |RUN\ |@)?(?:[A-Z_]+=\S+\ )*(?:\$\(BIN\)/)?
    askless\ (?P<words>[a-z][^|>;&'`\n]*)""",
    re.VERBOSE | re.MULTILINE,
)
EXEC_FORM = re.compile(r'\["askless", (?P<words>[^\]]+)\]')
MODULE = re.compile(r"python[\d.]* -m ([\w.]+)")
DOTTED = re.compile(rf"(?<![\w./-])((?:{DOTTED_TOPS})(?:\.[A-Za-z_]\w*)+)(?![\w/])")
ROOTED = re.compile(rf"(?<![\w./:-])((?:{TOPS}|docs|\.ci)/[\w./*-]*\w[/*]?)")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
MAKE = re.compile(r"(?:^ +|[`&] ?)make ([a-z][a-z-]*)", re.MULTILINE)


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def commands(text: str) -> Iterator[list[str]]:
    """The words after `askless`, of each of its commands that a text has."""
    for found in COMMAND.finditer(text):
        yield shlex.split(found["words"].rstrip("\\ "), comments=True)
    for found in EXEC_FORM.finditer(text):
        yield [word.strip(' "') for word in found["words"].split(",")]


def is_command(words: list[str]) -> bool:
    if words[0] not in COMMANDS:
        return False
    command = load_command(words[0])
    if isinstance(command, TyperGroup) and len(words) > 1:
        command = command.commands.get(words[1])
    if command is None:
        return False
    params = command.params
    options = {o for p in params for o in (*p.opts, *p.secondary_opts)}
    given = {word.split("=")[0] for word in words if word.startswith("-")}
    return given <= options | {"--help"}


def is_name(dotted: str) -> bool:
    """Whether a dotted name is a module, or what one has at its top level."""
    module, _, name = dotted.rpartition(".")
    if not module:
        return name not in LINKS and importlib.util.find_spec(name) is not None
    if not is_name(module):
        return False
    owner = importlib.import_module(module)
    return hasattr(owner, name) or importlib.util.find_spec(dotted) is not None


def is_path(path: str) -> bool:
    return path in BUILT or any(True for _ in ROOT.glob(path.rstrip("/")))


def unknown(name: str) -> list[str]:
    """Whatever a file names and there is not."""
    text = text_of(name)
    targets = set(re.findall(r"^([a-z][a-z-]*):", text_of("Makefile"), re.MULTILINE))
    dotted = [
        word for word in DOTTED.findall(text) if word.split(".")[1] not in SUFFIXES
    ]
    near = (ROOT / name).parent
    return [
        *(shlex.join(["askless", *w]) for w in commands(text) if not is_command(w)),
        *(one for one in [*MODULE.findall(text), *dotted] if not is_name(one)),
        *(path for path in ROOTED.findall(text) if not is_path(path)),
        *(link for link in LINK.findall(text) if not (near / link).exists()),
        *(f"make {target}" for target in MAKE.findall(text) if target not in targets),
    ]


def test_whatever_is_named_exists() -> None:
    names = [*PAGES, *BUILD, "pyproject.toml"]

    assert {name: found for name in names if (found := unknown(name))} == {}


def test_examples_import_what_there_is() -> None:
    blocks = [
        b for p in PAGES for b in re.findall(r"```python\n(.*?)```", text_of(p), re.S)
    ]
    nodes = [node for block in blocks for node in ast.walk(ast.parse(block))]
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    names = [f"{one.module}.{alias.name}" for one in imports for alias in one.names]

    assert names
    assert [name for name in names if not is_name(name)] == []


def layout() -> list[str]:
    """Return the paths of the tree in CONTRIBUTING.md, two blanks a level."""
    (tree,) = re.findall(
        r"## Layout\n\n```\n(.*?)```", text_of("CONTRIBUTING.md"), re.S
    )
    folders: list[str] = []
    paths = []
    for line in tree.splitlines():
        level = (len(line) - len(line.lstrip())) // 2
        folders[level:] = [line.split()[0]]
        paths.append("".join(folders))
    return paths


def test_layout_shows_what_there_is() -> None:
    packages = {
        f"{p.parent.relative_to(ROOT)}/"
        for p in ROOT.glob("askless/core/*/__init__.py")
    }

    assert [path for path in layout() if not is_path(path)] == []
    assert packages <= set(layout())


def test_image_is_built_from_what_there_is() -> None:
    copied = re.findall(
        r"^COPY (?!--from)(?:--\S+ )*(.+) \S+$", text_of("Dockerfile"), re.M
    )
    sources = {source for line in copied for source in line.split()}
    lets_through = {
        one[1:] for one in text_of(".dockerignore").split() if one[0] == "!"
    }
    built = tomllib.loads(text_of("pyproject.toml"))["tool"]["hatch"]["build"][
        "targets"
    ]
    packages = set(built["wheel"]["packages"])

    assert {source for source in sources if not (ROOT / source).exists()} == set()
    assert sources == lets_through
    assert packages < sources
    assert packages < set(built["sdist"]["only-include"])


def test_commands_are_recognised() -> None:
    known = {
        "$ askless train x.csv --spec s.json -o m.json": True,
        "$ askless train x.csv --specs s.json": False,
        "RUN A=b askless compile-kernels": True,
        "`askless compile`": False,
        "`askless keys create x --days 9`": True,
        "`askless keys make x`": False,
        "`askless keys create x --hours 9`": False,
        'command: ["askless", "serve", "--no-worker"]': True,
        'command: ["askless", "server"]': False,
        "sh -c 'askless train x'": True,
        "pg_dump --username askless --format custom askless > askless.dump": True,
    }

    assert {text: all(map(is_command, commands(text))) for text in known} == known


def test_names_are_recognised() -> None:
    known = {
        "askless.core.warm.warm_up": True,
        "askless.core.kernels.warm_up": False,
        "app.client": False,
        "askless.Client": True,
        "askless.app.cli": True,
    }

    assert {dotted: is_name(dotted) for dotted in known} == known
