"""README.md against the code: its example runs, its table is complete, its policies and reductions are those that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gscompile as gs
from gscompile.ir.ops.reductions import REDUCTIONS
from gscompile.ir.types import DTYPES

README = (Path(__file__).parents[2] / "README.md").read_text()


def section(title: str) -> str:
    return README.split(f"## {title}\n")[1].split("\n## ")[0]


def words(text: str) -> set[str]:
    """The names in code, calls and operators included."""
    return set(re.findall(r"[a-z][a-z_0-9]*", " ".join(re.findall(r"`([^`]*)`", text))))


def test_the_table_names_every_operator() -> None:
    methods = {n for n in dir(gs.Builder) if not n.startswith("_")}
    around = {"input", "create_input", "output", "graph", "build"}
    assert around < methods
    named = words(section("Operators").split("**Index maps.**")[0])
    assert methods - around - named == set()


def test_the_table_names_nothing_else() -> None:
    rows = section("Operators").split("**Index maps.**")[0].splitlines()
    called = {n for row in rows for n in re.findall(r"`([a-z_]+)[(`]", row.split("|")[1] if "|" in row else "")}
    assert called and called <= set(dir(gs.Builder))


def test_policies_reductions_and_dtypes() -> None:
    assert {b.value for b in gs.Bounds} == set(re.findall(r'^\| `"([a-z]+)"`', section("Bounds"), re.M))
    assert set(REDUCTIONS) <= words(section("Duplicates"))
    named = words(section("Dtypes"))
    assert all(d in named or d.startswith(("int", "uint")) for d in DTYPES)


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", section("Example"), re.S)
    assert len(code.splitlines()) <= 16
    names: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), names)
    assert "workspace_bytes=0" in capsys.readouterr().out
    assert getattr(names["out"], "shape", None) == (1000, 64)


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", README, re.S))
def test_every_snippet_runs(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out


def test_the_two_commands() -> None:
    commands = [
        line.split("#")[0].strip() for line in section("Install and try").splitlines() if line.startswith("    ")
    ]
    assert commands == ["pip install . && gscompile demo", "pip install '.[test]' && pytest"]


@pytest.mark.parametrize("name", sorted(n for n in dir(gs.Builder) if not n.startswith("_")))
def test_every_method_says_what_it_does(name: str) -> None:
    assert (getattr(gs.Builder, name).__doc__ or "").strip()
