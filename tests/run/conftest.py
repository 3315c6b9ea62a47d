"""Fixtures of the tests that run modules."""

from __future__ import annotations

import pytest

from gscompile.runtime import fastcall
from gscompile.runtime.arrays import ndarray


@pytest.fixture(params=["extension", "plain"])
def call_path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that asks for it runs with the C extension and without."""
    if request.param == "plain":
        monkeypatch.setattr(fastcall, "extension", None)
        monkeypatch.setattr(ndarray, "_pointer", ndarray._pointer_by_interface)
    elif fastcall.extension is None:
        pytest.skip("the C extension is not built (pip install -e .), or switched off")
