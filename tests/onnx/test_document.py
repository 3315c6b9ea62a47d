"""docs/onnx.md says what the importer does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install '.[onnx]'")

from tests.onnx import document


def test_the_page_is_up_to_date() -> None:
    assert document.PAGE.read_text() == document.page(), "write it with python -m tests.onnx.document"


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", document.page(), re.S)
    exec(compile(code, "docs/onnx.md", "exec"), {})
    assert "[[0. 0. 1.]\n [1. 0. 0.]]" in capsys.readouterr().out
