"""Tests of what a function means, not of its machine code: three in four compile it without optimising, in half the time."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import pytest

from gscompile.compiler.targets import TARGETS
from gscompile.compiler.targets.llvm import Llvm
from gscompile.frontend import eager
from gscompile.frontend.module_cache import ModuleCache
from tests.paths import UNOPTIMISED

OPTIMISED = 4
"""Of so many tests, one is of optimised code, as in use; all are with ``--thorough``."""


class Unoptimised(Llvm):
    """A CPU, through LLVM, whose instructions are as the schedules wrote them."""

    @classmethod
    def of(cls, attributes: Mapping[str, Any]) -> Llvm:
        return super().of({**UNOPTIMISED, **attributes})


MODULES = ModuleCache()


@pytest.fixture(autouse=True)
def unoptimised(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the test builds is not optimised, unless it is one of a few."""
    compile_unoptimised(request, monkeypatch)


def compile_unoptimised(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What this test builds is not optimised, unless it is one of a few; modules of both are kept apart."""
    name = request.node.nodeid.encode()
    if request.config.getoption("--thorough") or zlib.crc32(name) % OPTIMISED == 0:
        return
    monkeypatch.setitem(TARGETS, "llvm", Unoptimised)
    monkeypatch.setattr(eager, "MODULES", MODULES)
