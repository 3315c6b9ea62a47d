"""What tests of tuning share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gscompile.tuning.processes import forks


@pytest.fixture(scope="session", autouse=True)
def one_import() -> Iterator[None]:
    """Processes of all tests are forked of one, which has imported TVM."""
    with forks():
        yield
