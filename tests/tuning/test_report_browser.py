"""The page about a tuning in a real browser: no error, readable on a phone, light and dark."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gscompile.tuning.report import write_report
from tests.tuning.test_report import result

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("playwright") is None, reason="needs the extra [browser]"),
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
]
LEAST_CONTRAST = 4.5  # WCAG 2.1, level AA

# of each element with text of its own: its colour, and that of the nearest background that is not transparent
COLOURS = """() => [...document.querySelectorAll('body *')]
  .filter(e => [...e.childNodes].some(n => n.nodeType == 3 && n.data.trim()))
  .map(e => {
    let behind = e;
    const clear = x => getComputedStyle(x).backgroundColor == 'rgba(0, 0, 0, 0)';
    while (behind.parentElement && clear(behind)) behind = behind.parentElement;
    const own = e instanceof SVGElement ? getComputedStyle(e).fill : getComputedStyle(e).color;
    return [e.tagName, own, getComputedStyle(behind).backgroundColor];
  })"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        found = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    return write_report([result("uniform"), result("zipf:1.1"), result("sorted", choices={})], folder / "out.html")


def luminance(colour: str) -> float:
    """WCAG's relative luminance of CSS's ``rgb(r, g, b)``."""
    values = [float(c) / 255 for c in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    r, g, b = (v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in values)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: str, other: str) -> float:
    a, b = sorted((luminance(one), luminance(other)))
    return (b + 0.05) / (a + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 375])
def test_the_page(browser: Any, report: Path, scheme: str, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    problems: list[str] = []
    page.on("console", lambda m: problems.append(m.text))
    page.on("pageerror", lambda e: problems.append(str(e)))
    asked: list[str] = []
    page.on("request", lambda r: asked.append(r.url))
    page.goto(report.as_uri())
    for closed in page.query_selector_all("summary"):
        closed.click()
    assert not problems
    assert [url for url in asked if not url.startswith("data:")] == [report.as_uri()], "something is loaded"
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "it scrolls sideways"
    small = page.evaluate(
        "[...document.querySelectorAll('p, td, th')].map(e => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(small) >= 12
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (luminance(paper) < 0.1) == (scheme == "dark")
    for tag, ink, behind in page.evaluate(COLOURS):
        ground = paper if behind == "rgba(0, 0, 0, 0)" else behind
        assert contrast(ink, ground) >= LEAST_CONTRAST, (tag, ink, ground)
    page.close()
