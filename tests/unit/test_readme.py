"""README.md: its two commands, its example, and no more than a screen and a half."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text()


def section(title: str) -> str:
    return README.split(f"## {title}\n")[1].split("\n## ")[0]


def test_length() -> None:
    assert len(README.splitlines()) <= 100


def test_the_two_commands() -> None:
    commands = [
        line.split("#")[0].strip() for line in section("Install and try").splitlines() if line.startswith("    ")
    ]
    assert commands == ["pip install . && gscompile demo", "pip install -e '.[test]' && pytest"]


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", section("Example"), re.S)
    assert len(code.splitlines()) <= 16
    names: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), names)
    assert "workspace_bytes=0" in capsys.readouterr().out
    assert getattr(names["out"], "shape", None) == (1000, 64)
