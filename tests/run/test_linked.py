"""Code that is not optimised is linked and loaded, or left to TVM where that cannot be."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.compiler import linked


def rows() -> gs.Builder:
    b = gs.Builder("rows")
    x, i = b.input("x", ("n", 3), "float16"), b.input("i", ("k",), "int64")
    b.output(b.take(x, i) + b.exp(b.take(x, i)))
    return b


X, AT = np.arange(12, dtype="float16").reshape(4, 3) / 8, np.array([3, 0, -1])


@pytest.mark.parametrize("fails", [None, FileNotFoundError("ld"), subprocess.CalledProcessError(1, "ld")])
def test_results(fails: Exception | None, monkeypatch: pytest.MonkeyPatch) -> None:
    link, calls = linked.link, []

    def counted(command: str, objects: Sequence[str], library: str) -> Any:
        calls.append(library)
        if fails is not None:
            raise fails
        return link(command, objects, library)

    monkeypatch.setenv("GSCOMPILE_CACHE", "off")
    monkeypatch.setattr(linked, "link", counted)
    expected = rows().build()(X, AT)
    assert not calls
    assert np.allclose(rows().build({"kind": "llvm", "opt-level": 0})(X, AT), expected, rtol=1e-3)
    assert len(calls) == (linked.linker() is not None)


def test_without_a_linker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linked, "linker", lambda: None)
    assert rows().build({"kind": "llvm", "opt-level": 0})(X, AT).shape == (3, 3)
