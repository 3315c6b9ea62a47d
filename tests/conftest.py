"""Options and hooks of the whole test suite."""

from __future__ import annotations

import gc
import os
import re
import sys
import zlib
from pathlib import Path

import pytest

# tests change numbers of rules, of which code on disk knows nothing; tests/run/test_disk_cache.py has folders of its own
os.environ["GSCOMPILE_CACHE"] = "off"

SLOW = Path(__file__).with_name("slow.txt")
PRODUCT = "tests/ir/test_product.py"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite tests/ir/golden/ from what the compiler gives now"
    )
    parser.addoption("--slow", action="store_true", help="run what tests/slow.txt lists, too")
    parser.addoption(
        "--thorough",
        action="store_true",
        help="what even --slow does in part: every variant of the guard pages, a minute of fuzzing, all dialects optimised",
    )
    parser.addoption("--product", action="store_true", help=f"run {PRODUCT}, thousands of kernels, too")
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


@pytest.fixture
def thorough(request: pytest.FixtureRequest) -> bool:
    """Whether to do all of what ``--slow`` does in part."""
    return bool(request.config.getoption("--thorough"))


def slow_tests() -> list[str]:
    """The beginnings of the ids of tests that only ``--slow`` runs."""
    return [test for test, share in _slow_lines() if share is None]


def sampled_tests() -> list[tuple[str, int]]:
    """The beginnings of the ids of tests of whose cases one in so many is run without ``--slow``."""
    return [(test, share) for test, share in _slow_lines() if share is not None]


def _slow_lines() -> list[tuple[str, int | None]]:
    lines = [line.split() for line in SLOW.read_text().splitlines() if line and not line.startswith("#")]
    return [(test, int(why[0][2:]) if re.fullmatch(r"1/\d+", why[0]) else None) for test, *why in lines]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Slow tests are left out, but for those that the command line names; tests marked ``gpu`` are skipped without one."""
    named = [a.split("::")[0] for a in config.args if a.endswith(".py") or ".py::" in a]
    left_out: set[pytest.Item] = set()
    slow = [] if config.getoption("--slow") else slow_tests()
    slow += [] if config.getoption("--product") else [PRODUCT]
    if slow:
        left_out |= {i for i in items if i.nodeid.startswith(tuple(slow))}
    if not config.getoption("--slow"):
        left_out |= not_sampled([i for i in items if i not in left_out], sampled_tests())
    left_out = {i for i in left_out if not _is_named(i.nodeid, named)}
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [i for i in items if i not in left_out]
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    from gscompile.ir import machine

    if not machine.cuda_exists():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))


def not_sampled(items: list[pytest.Item], shares: list[tuple[str, int]]) -> set[pytest.Item]:
    """Of each function's cases, those that wait for ``--slow``: by a hash of the id, which favours no value of a parameter."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left_out: set[pytest.Item] = set()
    for function, of_it in cases.items():
        share = max((share for test, share in shares if function.startswith(test)), default=1)  # the smallest part
        mixed = sorted(of_it, key=lambda item: zlib.crc32(item.nodeid.encode()))
        left_out |= set(mixed[-(-len(mixed) // share) :])
    return left_out


def pytest_collection_finish() -> None:
    """What was imported and collected stays: each full collection would go through it anew, 7 % of the suite's time."""
    gc.collect()
    gc.freeze()


def _is_named(nodeid: str, files: list[str]) -> bool:
    """Whether a test's file was asked for by name."""
    return any(file.endswith(nodeid.split("::")[0]) for file in files)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """What a file's tests leave behind in the process is gone before the next file's begin.

    JAX keeps what it compiled, 1.4 MB a call of new shapes: a process of all its comparisons grew to 9 GB.
    """
    if nextitem is not None and nextitem.path == item.path:
        return
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
    if threads := sys.modules.get("gscompile.runtime.threads"):
        threads.set_num_threads(threads.available_cores())
