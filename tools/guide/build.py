"""Build docs/ as a site with search and references, and refuse what is broken in it.

`make docs` runs it. The site is written to build/guide, and for the server to one file,
askless/app/pages/guide.zip.
"""

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from inspect import isfunction
from pathlib import Path
from tempfile import gettempdir
from typing import NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import askless
from askless.app.main import create_app
from askless.app.settings.settings import Settings
from tools.guide import openapi

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
ARCHIVE = ROOT / "askless" / "app" / "pages" / "guide.zip"
ENTRY = re.compile(r"^- \[([^]]+)\]\((\w[\w-]*)\.md\): (.+)$", re.MULTILINE)
FENCE = re.compile(r"^ *(`{3,})(.*)$")
# What public names return, and MLflow's flavour, which is promised beside them.
RETURNED = (
    "askless.models.LoadedModel",
    "askless.core.estimator.predictions.ErrorCurve",
    "askless.core.estimator.predictions.PlannedPurchase",
)
OF_THE_CLIENT = (
    "askless.client.sessions.PredictionSession",
    "askless.client.questions.Question",
    "askless.client.datasets.StoredDataset",
    "askless.stored_models.StoredModel",
    "askless.client.jobs.TrainingProgress",
    "askless.client.jobs.JobProgress",
)
# Classes of others, whose methods are not ours to explain.
FOREIGN = "BaseEstimator, ClassifierMixin, Exception, ValueError, object"
REFERENCE = """
## Reference

- [Estimator and models](reference-estimator.md): public names that train and predict.
- [Python client](reference-client.md): public names that call a service.
- [HTTP API](reference-http.md): every operation with its parameters and answers.
- [Bodies](reference-bodies.md): every JSON body of the HTTP API with its fields.
"""


class Block(NamedTuple):
    """A fenced block of a page: the line where it begins, its language, its text."""

    line: int
    language: str
    text: str


def read_blocks(page: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page."""
    fence, start, language, kept = "", 0, "", list[str]()
    for number, line in enumerate(page.splitlines(), 1):
        found = FENCE.match(line)
        if not fence and found:
            fence, language = found.groups()
            start, kept = number, []
        elif fence and line.strip() == fence:
            yield Block(start, language.strip(), "\n".join(kept))
            fence = ""
        elif fence:
            kept.append(line)
    if fence:
        yield Block(start, "", "\n".join(kept))


def check_blocks(name: str, page: str) -> list[str]:
    """Return what is wrong with blocks: no language, or Python that doesn't compile."""
    faults = []
    for block in read_blocks(page):
        place = f"{name}:{block.line}"
        if not block.language:
            faults.append(f"{place}: a block needs a language, or its end is missing")
        elif block.language == "python":
            try:
                compile(block.text, place, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            except SyntaxError as error:
                faults.append(f"{place}: {error.msg} in line {error.lineno}")
    return faults


def add_contents(index: str) -> str:
    """Return the first page with the contents of the site, by its own headings."""
    parts = re.split(r"^## (.+)$", index, flags=re.MULTILINE)
    trees = [
        f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n"
        + "\n".join(f"{title} <{page}>" for title, page, _ in ENTRY.findall(entries))
        + "\n```"
        for caption, entries in zip(parts[1::2], parts[2::2], strict=True)
    ]
    return "\n\n".join([index.rstrip(), *trees]) + "\n"


def list_pages(index: str) -> str:
    """Return llms.txt: the first page, with links to the pages as Markdown."""
    return re.sub(r"\]\((\w[\w-]*\.md)\)", r"](_sources/\1)", index).replace(
        "# The guide", "# Askless"
    )


def describe_names(title: str, text: str, names: list[str]) -> str:
    """Return a page of Python names, from their docstrings."""
    directives = []
    for name in names:
        shown = getattr(askless, name.removeprefix("askless."), None)
        if isfunction(shown):
            directives.append(f".. autofunction:: {name}\n")
        else:
            members = f"   :members:\n   :inherited-members: {FOREIGN}\n"
            directives.append(f".. autoclass:: {name}\n{members}")
    return f"# {title}\n\n{text}\n\n```{{eval-rst}}\n" + "\n".join(directives) + "```\n"


def write_references(folder: Path) -> None:
    """Write the references of Python names and of the HTTP API as pages."""
    of_client = [
        name
        for name, place in askless.PLACES.items()
        if place.startswith("askless.client")
    ]
    others = [name for name in askless.PLACES if name not in of_client]
    public = {
        "reference-estimator.md": (
            "Estimator and models",
            "What trains and predicts in your own process. "
            "[The estimator](estimator.md) shows it by example.",
            [*(f"askless.{name}" for name in others), *RETURNED],
        ),
        "reference-client.md": (
            "Python client",
            "What calls a service. `AsyncClient` has the calls of `Client`, to be "
            "awaited. [The service](api.md) shows it by example.",
            [*(f"askless.{name}" for name in of_client), *OF_THE_CLIENT],
        ),
    }
    for name, (title, text, names) in public.items():
        (folder / name).write_text(describe_names(title, text, names), "utf-8")
    document = create_app(Settings(home=Path(gettempdir()))).openapi()
    http, bodies = openapi.describe_operations, openapi.describe_bodies
    (folder / "reference-http.md").write_text(http(document), "utf-8")
    (folder / openapi.BODIES).write_text(bodies(document), "utf-8")


def copy_pages(docs: Path, folder: Path) -> list[str]:
    """Copy docs/ and what its pages name beside it; return the faults of blocks."""
    shutil.copytree(docs, folder)
    faults = []
    for page in sorted(docs.glob("*.md")):
        text = page.read_text("utf-8")
        faults += check_blocks(page.name, text)
        for outside in re.findall(r"\]\(\.\./([^)#]+)", text):
            if (docs.parent / outside).is_file():
                target = folder.parent / outside
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(docs.parent / outside, target)
    return faults


def pack(site: Path, archive: Path) -> None:
    """Write the site as one file, the same for the same pages."""
    with ZipFile(archive, "w", ZIP_DEFLATED) as packed:
        for file in sorted(path for path in site.rglob("*") if path.is_file()):
            entry = ZipInfo(file.relative_to(site).as_posix())
            packed.writestr(entry, file.read_bytes(), ZIP_DEFLATED)


def render(source: Path, site: Path) -> int:
    """Write pages as a site; return 0 where no link or docstring is broken."""
    sphinx = [sys.executable, "-m", "sphinx", "--quiet", "--fresh-env"]
    strictly = ["--fail-on-warning", "--keep-going"]
    places = ["-c", Path(__file__).parent, "-d", site.parent / "doctrees", source, site]
    return subprocess.run([*sphinx, *strictly, *places], cwd=ROOT).returncode


def build(docs: Path, work: Path, archive: Path) -> int:
    """Build the site; return how it ended, 0 where nothing is broken."""
    shutil.rmtree(work, ignore_errors=True)
    source, site = work / "source" / "docs", work / "site"
    faults = copy_pages(docs, source)
    if faults:
        print(*faults, sep="\n", file=sys.stderr)
        return 1
    index = (docs / "index.md").read_text("utf-8") + REFERENCE
    (source / "index.md").write_text(add_contents(index), "utf-8")
    write_references(source)
    code = render(source, site)
    if code == 0:
        (site / "llms.txt").write_text(list_pages(index), "utf-8")
        pack(site, archive)
    return code


if __name__ == "__main__":
    sys.exit(build(ROOT / "docs", BUILD / "guide", ARCHIVE))
