"""The tutorial's commands, in order, and the output that it shows of them."""

import shutil

import pytest

from tests.app.tours import ROOT, read_page, run, shown

SHOWN = shown(read_page("docs/tutorial.md"))


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """How each command ended."""
    folder = tmp_path_factory.mktemp("tutorial")
    shutil.copytree(ROOT / "app" / "demo", folder / "app" / "demo")
    return [run(name.command, folder) for name in SHOWN]


def test_six_commands_lead_from_a_messy_table_to_a_report(ended):

    assert [run.stderr for run in ended if run.returncode] == []
    for name in ("init", "check", "train", "evaluate", "ask", "report"):
        assert any(f"askless {name} " in one.command for one in SHOWN)


@pytest.mark.parametrize("place", range(len(SHOWN)))
def test_shown_output_is_what_a_command_prints(place, ended):
    printed = (ended[place].stdout + ended[place].stderr).splitlines()
    printed = {line.rstrip() for line in printed}

    assert [line for line in SHOWN[place].lines if line.rstrip() not in printed] == []
