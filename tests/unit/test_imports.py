"""Any module may be the first that a process imports."""

from __future__ import annotations

import subprocess
import sys

import pytest

FIRST = [
    "gscompile",
    "schedules",
    "schedules.rule",
    "schedules.llvm",
    "schedules.cuda",
    "gscompile.te",
    "gscompile.ir.nests",
]


@pytest.mark.parametrize("module", FIRST)
def test_first(module: str) -> None:
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True, timeout=120)
