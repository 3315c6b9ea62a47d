"""Options and hooks of the whole test suite."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite tests/ir/golden/ from what the compiler gives now"
    )
    parser.addoption(
        "--draws",
        type=int,
        default=20,
        help="calls of every function of TensorFlow, OpenVINO and PaddlePaddle to compare",
    )


@pytest.fixture
def draws(request: pytest.FixtureRequest) -> int:
    """How many calls of a function to compare with a framework that runs in a process of its own."""
    count: int = request.config.getoption("--draws")
    return count


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests marked ``gpu`` are skipped where there is none."""
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    from gscompile.ir import tir as _tvm

    if not _tvm.cuda_exists():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))
