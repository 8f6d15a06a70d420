"""The settings of docs/doors.md for signing in elsewhere are ones that can be used."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from askless.app.settings.environment import read_settings

PAGE = (Path(__file__).resolve().parents[4] / "docs/doors.md").read_text("utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
SETTING = [
    block for block in BLOCKS if re.search(r"export ASKLESS_(OIDC|SMART)", block)
]


@pytest.mark.parametrize("block", SETTING)
def test_settings_of_the_page_are_taken(
    monkeypatch: pytest.MonkeyPatch, block: str
) -> None:
    for name in os.environ:
        if name.startswith("ASKLESS_"):
            monkeypatch.delenv(name)
    # Without the commands, whose lines begin with a path.
    exports = re.sub(r"^\.venv/.*$", "", block, flags=re.MULTILINE)
    told = subprocess.run(
        ["bash", "-ec", f"{exports}\nenv -0"],
        capture_output=True,
        text=True,
        check=True,
    )
    for line in told.stdout.split("\0"):
        name, _, text = line.partition("=")
        if name.startswith("ASKLESS_"):
            monkeypatch.setenv(name, text)

    settings = read_settings()

    assert settings.oidc_groups or settings.smart_servers
    assert settings.must_ask(is_local=True)


def test_the_page_has_settings_of_both() -> None:
    assert len(SETTING) == 4
