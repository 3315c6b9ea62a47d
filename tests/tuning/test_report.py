"""The page about a tuning: complete, well formed, and nothing in it is loaded or run."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import gscompile as gs
from gscompile.compiler.targets import resolve
from gscompile.compiler.tuned import key_of
from gscompile.tuning.report import importance, page, side_by_side, write_report
from gscompile.tuning.result import Trial, Tuned
from gscompile.tuning.worker import Job
from tests.tuning import graphs

VOID = {"meta", "link", "br"}
OPTIONAL = {"th"}


class Page(HTMLParser):
    """Checks that tags are closed in order, and collects them and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID | OPTIONAL:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in OPTIONAL:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def result(indices: str, choices: Any = None, name: str = "rows<b>") -> Tuned:
    g = replace(graphs.rows(width=32).graph())
    key = replace(key_of(g, resolve("llvm")), indices={"1": indices})
    job = Job(g, resolve("llvm"), (), False, {"i": indices}, {}, 2)
    chosen = {"take_2": {"prefetch": 4}} if choices is None else choices
    trials = (
        Trial({"take_2": {"prefetch": 4}}, "ok", 0.5, 1.0, 2.0, "", 1.0),
        Trial({"take_2": {"prefetch": 32, "stores": "plain"}}, "ok", 1.0, 1.0, 1.0, "", 2.0),
        Trial({"take_2": {"rule": "rows"}}, "pruned", 4.0, 1.0, 0.25, "", 3.0),
        Trial({"take_2": {"block": 16}}, "crashed", 0, 0, 0, "<script>alert(1)</script>", 4.0),
    )
    return Tuned(job, chosen, 2.0, 0.01, 0.5, 1.0, trials, 5.0, {"i": indices}, {}, False, key)


def test_the_page(tmp_path: Path) -> None:
    results = [result("uniform"), result("zipf:1.1", choices={})]
    path = write_report(results, tmp_path / "out.html")
    text = path.read_text()
    found = Page()
    found.feed(text)
    found.close()
    assert found.open == [] and f"{results[0].key.machine}; llvm" in text and " {}<br>" not in text
    shown = " ".join(found.text)
    for piece in (
        "Best against default", "uniform", "zipf:1.1", "take_2: prefetch = 4", "Trials over time", "TIR: default, and best",
        "nothing is faster by more than noise", "All trials", "crashed", results[0].key.machine,
    ):  # fmt: skip
        assert piece in shown, piece
    tags = [t for t, _ in found.tags]
    assert tags.count("svg") == 2 and tags.count("circle") == 6 and tags.count("polyline") == 2
    assert "script" not in tags and "&lt;script&gt;" in text
    assert not [a for t, attrs in found.tags for a in attrs if a.startswith("on") or a == "src"]
    assert not re.search(r"https?://", text) and "@import" not in text and "url(" not in text
    assert ("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}) in found.tags
    assert "prefers-color-scheme: dark" in text and "overflow-x: auto" in text
    numbers = [float(x) for t, a in found.tags if t == "circle" for x in (a["cx"] or "", a["cy"] or "")]
    assert all(0 <= x <= 640 for x in numbers)
    assert {"less", "more"} <= {a.get("class") for t, a in found.tags if t == "td"}


def test_importance_is_the_share_of_variance() -> None:
    def trial(prefetch: int, block: int, ratio: float) -> Trial:
        return Trial({"a": {"prefetch": prefetch, "block": block}}, "ok", 1.0, 1.0, ratio)

    trials = [trial(p, b, 1.0 + (p == 4)) for p in (0, 4) for b in (1, 2)]
    assert importance(trials) == pytest.approx({"a.prefetch": 1.0, "a.block": 0.0})
    assert importance(trials[:2]) == {} and importance([]) == {}
    assert importance([trial(0, 1, 1.0)] * 4) == {"a.prefetch": 0.0, "a.block": 0.0}


def test_code_side_by_side() -> None:
    a = [f"line {k}" for k in range(30)]
    b = [*a[:10], "other", *a[11:20], "more", *a[20:]]
    rows = list(side_by_side(a, b))
    assert ("line 10", "other", "less", "more") in rows
    assert ("", "more", "", "more") in rows
    assert ("line 0", "line 0", "", "") not in rows and len(rows) < 40
    assert list(side_by_side(a, a)) == []


def test_mistakes(tmp_path: Path) -> None:
    with pytest.raises(gs.ArgumentError, match="a result is needed"):
        write_report([], tmp_path / "x")
    with pytest.raises(gs.ArgumentError, match="cannot write"):
        write_report([result("uniform")], tmp_path / "none" / "x")


def test_a_page_without_times() -> None:
    r = replace(result("uniform", choices={}), trials=())
    assert "No trial was timed" in page([r])
