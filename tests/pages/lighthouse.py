"""What Lighthouse says of the pages of SHOTS, on a desk and on a phone.

`make lighthouse`, or `python -m tests.pages.lighthouse home` for some. Lighthouse comes
from npm into a folder that ends with the run; ASKLESS_LIGHTHOUSE names one that has it.
It loads an address: what only a form leads to, such as a refusal, is for axe alone.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Browser

from tests.pages.conftest import CHROMIUM
from tests.pages.screenshots import Shot, chosen, served
from tests.pages.site import Site

PACKAGE = "lighthouse@12"
# The least that a page reaches, of 100.
LEAST = {"accessibility": 100, "best-practices": 100, "performance": 95}
SCREENS = {"desk": ["--preset=desktop"], "phone": []}
FLAGS = "--headless --no-sandbox --disable-gpu --disable-background-networking"


@contextmanager
def installed() -> Iterator[Path]:
    """Yield the path of Lighthouse."""
    kept = os.environ.get("ASKLESS_LIGHTHOUSE")
    with TemporaryDirectory() as made:
        folder = Path(kept or made)
        if kept is None:
            wanted = ["npm", "install", "--silent", "--prefix", made, PACKAGE]
            if subprocess.run(wanted, check=False).returncode != 0:
                raise SystemExit(f"npm could not install {PACKAGE}")
        yield folder / "node_modules" / ".bin" / "lighthouse"


def skipped(reason: str) -> int:
    """Say why nothing is judged, which is no failure."""
    print(f"Skipped: {reason}.")
    return 0


def addresses(browser: Browser, site: Site, shots: list[Shot]) -> dict[str, str]:
    """Return the address that each shot leads to, and its name; each address once."""
    found: dict[str, str] = {}
    for shot in shots:
        page = browser.new_page(base_url=site.url)
        shot.play(page, site)
        found.setdefault(page.url, shot.name)
        page.close()
    return found


def judge(lighthouse: Path, url: str, screen: str) -> dict[str, Any]:
    """Return Lighthouse's report of an address."""
    command = [
        *(str(lighthouse), url, "--quiet", "--output=json", "--output-path=stdout"),
        *(f"--chrome-flags={FLAGS}", f"--only-categories={','.join(LEAST)}"),
        *SCREENS[screen],
    ]
    env = os.environ | {"CHROME_PATH": str(CHROMIUM)}
    done = subprocess.run(command, env=env, check=True, capture_output=True)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def wanting(report: dict[str, Any], kind: str) -> list[str]:
    """Return what cost a page points."""
    return [
        f"{entry['id']}: {report['audits'][entry['id']]['title']}"
        for entry in report["categories"][kind]["auditRefs"]
        if entry["weight"] > 0 and (report["audits"][entry["id"]]["score"] or 0) < 0.9
        if report["audits"][entry["id"]]["scoreDisplayMode"] != "notApplicable"
    ]


def judge_all(lighthouse: Path, pages: dict[str, str]) -> int:
    """Print a row for each page and screen; return how many fell short."""
    print(f"{'page':24}{'screen':8}" + "".join(f"{name:>16}" for name in LEAST))
    short = 0
    for url, name in pages.items():
        for screen in SCREENS:
            report = judge(lighthouse, url, screen)
            scores = {
                kind: round(100 * (report["categories"][kind]["score"] or 0))
                for kind in LEAST
            }
            row = "".join(f"{scores[kind]:16}" for kind in LEAST)
            print(f"{name:24}{screen:8}{row}", flush=True)
            lacking = [kind for kind in LEAST if scores[kind] < LEAST[kind]]
            short += bool(lacking)
            for kind in lacking:
                print(*(f"  {one}" for one in wanting(report, kind)), sep="\n")
    return short


def main(names: list[str]) -> int:
    shots = chosen(names)
    if CHROMIUM is None:
        return skipped("Debian's chromium is not installed")
    kept = os.environ.get("ASKLESS_LIGHTHOUSE")
    if shutil.which("node") is None or (kept is None and shutil.which("npm") is None):
        return skipped("there is no npm, which brings Lighthouse")
    with installed() as lighthouse, served() as (site, browser):
        short = judge_all(lighthouse, addresses(browser, site, shots))
    if short:
        least = ", ".join(f"{kind} {least}" for kind, least in LEAST.items())
        print(f"{short} fell short of {least}.", file=sys.stderr)
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
