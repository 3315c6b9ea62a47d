"""Fixtures of the tests that run modules."""

from __future__ import annotations

import pytest

from gscompile.runtime import fastcall
from gscompile.runtime.arrays import ndarray
from tests.unoptimised import compile_unoptimised

MEANING = {
    "test_aliasing",
    "test_complex",
    "test_elementwise",
    "test_float8",
    "test_frameworks",
    "test_movement",
    "test_operators",
    "test_properties",
    "test_reductions",
    "test_segment_expand",
    "test_segment_reduce",
    "test_subbyte",
    "test_te",
}
"""Files whose tests are of what operators mean; the others', of rules and of calls, are of the code that is in use."""


@pytest.fixture(autouse=True)
def unoptimised(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three in four tests of what operators mean compile without optimising."""
    if request.path.stem in MEANING:
        compile_unoptimised(request, monkeypatch)


@pytest.fixture(params=["extension", "plain"])
def call_path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that asks for it runs with the C extension and without."""
    if request.param == "plain":
        monkeypatch.setattr(fastcall, "extension", None)
        monkeypatch.setattr(ndarray, "_pointer", ndarray._pointer_by_interface)
    elif fastcall.extension is None:
        pytest.skip("the C extension is not built (pip install -e .), or switched off")
