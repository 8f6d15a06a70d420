"""What axe-core finds of WCAG 2.2 AA, in light, in dark and on a narrow screen."""

from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RUN = "tags => axe.run({runOnly: tags, resultTypes: ['violations']})"
# Wider than the screen: one would have to scroll in two directions.
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
DESKTOP = {"width": 1280, "height": 900}
# 320 px is a small phone, and also 1280 px at 400 % zoom.
NARROW = {"width": 320, "height": 640}


def audit(page: Page) -> None:
    """Fail where the page, as it is now, keeps anybody out."""
    before = page.viewport_size
    page.evaluate(AXE_SCRIPT)
    found = []
    for name, size, colours in (
        ("light", DESKTOP, "light"),
        ("dark", DESKTOP, "dark"),
        ("narrow", NARROW, "light"),
    ):
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=colours)
        found += [f"{name}: {one}" for one in violations(page)]
    wider = page.evaluate(OVERFLOW)
    if before is not None:
        page.set_viewport_size(before)
    page.emulate_media(color_scheme="light")
    if wider > 0:
        found.append(f"narrow: {wider} px wider than {NARROW['width']} px")
    if found:
        raise AssertionError("\n".join(found))


def violations(page: Page) -> list[str]:
    results: dict[str, Any] = page.evaluate(RUN, TAGS)
    return [
        f"{one['id']}: {one['help']}: {node['html'][:200]} {node['failureSummary']}"
        for one in results["violations"]
        for node in one["nodes"]
    ]
