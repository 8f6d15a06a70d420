"""What axe-core finds of WCAG 2.2 AA, in light, in dark and on a narrow screen.

Of charts their colours are looked at in light, and of a narrow screen none: they take
most of the time. `make axe` looks at all in each.
"""

import os
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RUN = """([tags, rules, but]) => axe.run(
  {include: [["html"]], exclude: but},
  {runOnly: tags, rules, resultTypes: ["violations"]})"""
IS_WHOLE = os.environ.get("ASKLESS_AXE") == "whole"
ALL: dict[str, Any] = {"rules": {}, "but": []}
BUT_CHARTS = ALL if IS_WHOLE else ALL | {"but": [["svg[role=img] > *"]]}
BUT_COLOURS = (
    ALL if IS_WHOLE else ALL | {"rules": {"color-contrast": {"enabled": False}}}
)
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
    for name, size, colours, asked in (
        ("light", DESKTOP, "light", ALL),
        ("dark", DESKTOP, "dark", BUT_CHARTS),
        ("narrow", NARROW, "light", BUT_COLOURS),
    ):
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=colours)
        found += [f"{name}: {one}" for one in violations(page, asked)]
    wider = page.evaluate(OVERFLOW)
    if before is not None:
        page.set_viewport_size(before)
    page.emulate_media(color_scheme="light")
    if wider > 0:
        found.append(f"narrow: {wider} px wider than {NARROW['width']} px")
    if found:
        raise AssertionError("\n".join(found))


def violations(page: Page, asked: dict[str, Any]) -> list[str]:
    wanted = [TAGS, asked["rules"], asked["but"]]
    results: dict[str, Any] = page.evaluate(RUN, wanted)
    return [
        f"{one['id']}: {one['help']}: {node['html'][:200]} {node['failureSummary']}"
        for one in results["violations"]
        for node in one["nodes"]
    ]
