"""Some seconds of hostile input, and that the fuzzer notices what it is for."""

from __future__ import annotations

import contextlib
import os
import signal
from random import Random
from typing import Any

import pytest

from tests.fuzz import worker
from tests.fuzz.__main__ import KINDS, fuzz, run_batch


def test_some_of_it(thorough: bool) -> None:
    """Of each kind a hundred cases, and a search through fifty; a minute of both with ``--thorough``."""
    if thorough:
        found = fuzz(KINDS, seed=0, cases=1_000_000, seconds=60.0, jobs=2)
    else:
        found = [
            b for s, n in ((0, 100), (3, 50)) for b in fuzz(KINDS, seed=s, cases=n * len(KINDS), seconds=600, jobs=2)
        ]
    assert {b.kind for b in found} == set(KINDS)
    assert not [f for b in found for f in b.failures]


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_runs(kind: str) -> None:
    found = run_batch(kind, seed=0, cases=5)
    assert found.cases == 5 and not found.failures


def careless(draw: Any) -> None:
    """Code that forgets one value."""
    x = draw.one_of([1, 2, 3, "x"])
    draw.log(f"x = {x!r}")
    x + 1


@pytest.mark.parametrize("how", ["sweep", "search"])
def test_an_exception_is_noticed(how: str, tmp_path: Any) -> None:
    w = worker.Worker("builder", str(tmp_path / "steps"))
    w.case = careless
    (failure,) = getattr(w, how)(0, 100)
    assert failure.startswith("x = 'x'\n") and "TypeError" in failure


def test_a_case_without_end_is_noticed(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(draw: Any) -> None:
        while True:
            with contextlib.suppress(Exception):
                draw.rng.random()

    monkeypatch.setattr(worker, "SECONDS", 0.2)
    before = signal.signal(signal.SIGPROF, worker.too_long)
    try:
        w = worker.Worker("builder", str(tmp_path / "steps"))
        w.case = endless
        (failure,) = w.sweep(0, 1)
    finally:
        signal.signal(signal.SIGPROF, before)
    assert "TooLong" in failure


def test_a_crash_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """The process that runs the cases dies; the report has the steps of the last one."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "if any('tests.fuzz.worker' in word for word in sys.orig_argv):\n"
        "    import random, ctypes\n"
        "    from tests.fuzz import builder_cases\n"
        "    def run(draw):\n"
        "        draw.log('the step before')\n"
        "        ctypes.string_at(0)\n"
        "    builder_cases.run = run\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.getcwd(), os.environ.get("PYTHONPATH", "")]))
    found = run_batch("builder", seed=0, cases=3)
    assert "the step before" in found.failures[0] and "exit status" in found.failures[0]


def test_a_seed_gives_the_same_cases_again(tmp_path: Any) -> None:
    seen: list[list[float]] = []
    for _ in range(2):
        w = worker.Worker("builder", str(tmp_path / "steps"))
        drawn: list[float] = []
        w.case = lambda draw, drawn=drawn: drawn.append(draw.rng.random())
        assert w.sweep(7, 5) == []
        seen.append(drawn)
    assert seen[0] == seen[1] and seen[0][0] == Random("7 0").random()
