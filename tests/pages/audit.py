"""What axe-core finds of WCAG 2.2 AA, in light, in dark and on a narrow screen.

In dark only the contrast of colours is looked at, outside charts; on a narrow screen
only what depends on the layout. `make axe` runs every rule on everything in each.
"""

import os
from typing import Any, NamedTuple

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RUN = """([rules, but]) => axe.run(
  {include: [["html"]], exclude: but}, {runOnly: rules, resultTypes: ["violations"]})"""
IS_WHOLE = os.environ.get("ASKLESS_AXE") == "whole"


class Rules(NamedTuple):
    """The rules that axe-core runs, and what it passes over."""

    run_only: dict[str, Any]
    but: list[list[str]]

    @classmethod
    def of(cls, *names: str, but: str | None = None) -> "Rules":
        """Run some rules; all of them with `make axe`."""
        if IS_WHOLE:
            return ALL
        return cls({"type": "rule", "values": names}, [[but]] if but else [])


ALL = Rules({"type": "tag", "values": TAGS}, [])
COLOURS = Rules.of("color-contrast", but="svg[role=img] > *")
LAYOUT = Rules.of("target-size", "scrollable-region-focusable", "meta-viewport")
# Wider than the screen: one would have to scroll in two directions.
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
DESKTOP = {"width": 1280, "height": 900}
# 320 px is a small phone, and also 1280 px at 400 % zoom.
NARROW = {"width": 320, "height": 640}


def audit(page: Page) -> None:
    """Fail where the page, as it is now, keeps anybody out."""
    before = page.viewport_size
    page.wait_for_load_state()
    page.evaluate(AXE_SCRIPT)
    found = []
    for name, size, colours, rules in (
        ("light", DESKTOP, "light", ALL),
        ("dark", DESKTOP, "dark", COLOURS),
        ("narrow", NARROW, "light", LAYOUT),
    ):
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=colours)
        found += [f"{name}: {violation}" for violation in violations(page, rules)]
    wider = page.evaluate(OVERFLOW)
    if before is not None:
        page.set_viewport_size(before)
    page.emulate_media(color_scheme="light")
    if wider > 0:
        found.append(f"narrow: {wider} px wider than {NARROW['width']} px")
    if found:
        raise AssertionError("\n".join(found))


def violations(page: Page, rules: Rules) -> list[str]:
    results: dict[str, Any] = page.evaluate(RUN, list(rules))
    return [
        f"{violation['id']}: {violation['help']}: {node['html'][:200]} "
        f"{node['failureSummary']}"
        for violation in results["violations"]
        for node in violation["nodes"]
    ]
