"""Read the locks: what extras need beside the server, and what the server consists of.

Images and environments are set up by it, so it needs nothing but Python.
"""

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SERVER = "requirements.lock"
REST = "requirements-dev.lock"
PARTS_LIST = "requirements.cdx.json"
PROJECT = "askless"
PIN = re.compile(r"([\w.-]+)(?:\[[^]]+\])?==([^\s;]+)(?: ; (.+?))?(?: \\)?$")


class Locked(NamedTuple):
    """A package of a lock: its pin, and the names of the packages that need it."""

    name: str
    version: str
    marker: str
    needed_by: set[str]
    text: str

    @property
    def pin(self) -> str:
        """Return the line with its version, extras and marker."""
        return self.text.partition("\n")[0]


def read_lock(text: str) -> list[Locked]:
    """Return the packages of a lock that `uv pip compile` has written."""
    packages = []
    for block in re.split(r"^(?=\w)", text, flags=re.MULTILINE)[1:]:
        pin = PIN.match(block.partition("\n")[0])
        if pin is None:
            raise ValueError(f"no pin: {block[:80]!r}")
        needed_by = re.findall(r"^ +#(?: +via)? +([\w.-]+)", block, re.MULTILINE)
        name, version, marker = pin.groups(default="")
        packages.append(Locked(name, version, marker, {*needed_by} - {"via"}, block))
    return packages


def normalize(requirement: str) -> str:
    """Return the name of what a requirement is for, as locks have it."""
    name = re.match(r"[\w.-]+", requirement)
    return re.sub(r"[-_.]+", "-", name[0]).lower() if name else ""


def read_project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def select_extras(rest: list[Locked], wanted: list[str]) -> list[Locked]:
    """Return the packages of the second lock that requirements bring along."""
    names = {normalize(one) for one in wanted}
    chosen: list[Locked] = []
    left = rest
    while True:
        added = [one for one in left if one.name in names or one.needed_by & names]
        if not added:
            return chosen
        chosen += added
        names |= {one.name for one in added}
        left = [one for one in left if one not in added]


def describe_parts(packages: list[Locked], version: str) -> dict[str, Any]:
    """Return the packages as a CycloneDX document, the same each time."""
    names = {one.name: reference(one.name, one.version) for one in packages}
    root = reference(PROJECT, version)
    owners = {PROJECT: root} | names
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": PROJECT,
                "version": version,
                "purl": root,
            }
        },
        "components": [describe_part(one) for one in packages],
        "dependencies": [
            {
                "ref": owners[owner],
                "dependsOn": [names[p.name] for p in packages if owner in p.needed_by],
            }
            for owner in owners
        ],
    }


def reference(name: str, version: str) -> str:
    return f"pkg:pypi/{name}@{version}"


def describe_part(package: Locked) -> dict[str, Any]:
    part: dict[str, Any] = {
        "type": "library",
        "bom-ref": reference(package.name, package.version),
        "name": package.name,
        "version": package.version,
        "purl": reference(package.name, package.version),
    }
    if package.marker:
        # Installed on some platforms only.
        marker = {"name": f"{PROJECT}:marker", "value": package.marker}
        part |= {"scope": "optional", "properties": [marker]}
    return part


def parts_text() -> str:
    """Return what `requirements.cdx.json` must hold."""
    packages = read_lock((ROOT / SERVER).read_text("utf-8"))
    version = read_project()["project"]["version"]
    return json.dumps(describe_parts(packages, version), indent=1) + "\n"


def tidy() -> None:
    """Leave out of the second lock what the first has, and list the server's parts."""
    server = {package.pin for package in read_lock((ROOT / SERVER).read_text("utf-8"))}
    rest = read_lock((ROOT / REST).read_text("utf-8"))
    kept = [package.text for package in rest if package.pin not in server]
    (ROOT / REST).write_text("".join(kept), "utf-8")
    (ROOT / PARTS_LIST).write_text(parts_text(), "utf-8")


def main(command: str, *names: str) -> None:
    """`tidy`; `extras NAME...`: their pins; `group NAME`: what it asks for."""
    if command == "tidy":
        tidy()
        return
    project = read_project()
    if command == "group":
        groups = project["dependency-groups"]
        lines = [one for name in names for one in groups[name]]
    else:
        extras = project["project"]["optional-dependencies"]
        wanted = [one for name in names for one in extras[name]]
        rest = read_lock((ROOT / REST).read_text("utf-8"))
        lines = [one.text.rstrip() for one in select_extras(rest, wanted)]
    print(*lines, sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
