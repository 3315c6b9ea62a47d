"""A framework's process, and what becomes of a comparison that ends it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gscompile as gs
from tests.dialects import differential
from tests.dialects.judges import Ended, Judge, RefusedThere, need


@pytest.fixture
def judge() -> Iterator[Judge]:
    found = Judge("tests.dialects.judges.stub", call_s=20)
    yield found
    found.stop()


@pytest.mark.parametrize("dtype", ["float32", ml_dtypes.bfloat16, "int8", "bool"])
def test_arrays_come_back(judge: Judge, dtype: Any) -> None:
    x = np.array([[0, 1, 3]]).astype(dtype)
    y = judge.ask("echo", (x, 1, None, [2]), {})
    assert judge.version == "stub 1.0"
    assert (y.dtype, y.shape) == (x.dtype, x.shape)
    np.testing.assert_array_equal(x, y)


def test_what_the_framework_raises(judge: Judge) -> None:
    with pytest.raises(RefusedThere, match="ValueError: no such axis"):
        judge.ask("refuse", ("no such axis",), {})
    assert judge.ask("echo", (), {}) == 1  # of the same process


@pytest.mark.parametrize(("how", "what"), [("abort", "SIGABRT"), ("segfault", "SIGSEGV"), ("exit", "exit status 3")])
def test_an_end_is_survived(judge: Judge, how: str, what: str) -> None:
    with pytest.raises(Ended, match=what):
        judge.ask(how, (), {})
    assert judge.ask("echo", (), {}) == 1


def test_a_call_that_never_answers_is_ended(judge: Judge) -> None:
    judge.call_s = 0.5
    with pytest.raises(Ended, match=r"no answer for 0\.5 s"):
        judge.ask("hang", (), {})
    judge.call_s = 20
    assert judge.ask("echo", (), {}) == 1


def test_an_earlier_call_s_fault(judge: Judge) -> None:
    """A call that a new process survives is not what ended the old one."""
    assert judge.ask("echo", (), {}) == 1
    assert judge.ask("abort", (), {"after": 1}) == 1


def test_mistakes_of_the_tests_are_no_ends(judge: Judge) -> None:
    with pytest.raises(pytest.fail.Exception, match="not an array"):
        judge.ask("echo", ("text",), {})
    with pytest.raises(pytest.fail.Exception, match="pickle"):
        judge.ask("echo", (lambda: 0,), {})
    assert judge.ask("echo", (), {}) == 1


def test_a_framework_that_is_missing_is_a_skip_that_names_the_extra() -> None:
    with pytest.raises(pytest.skip.Exception, match=r"needs no_framework: pip install '\.\[conformance\]'"):
        need("no_framework")


def test_an_end_is_counted_apart(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differential, "COUNTS", differential.COUNTS.copy())
    monkeypatch.setattr(differential, "ENDED", differential.ENDED.copy())
    against = differential.Against("stub", "f", judge.version)
    x = np.zeros(3)

    def refuse() -> None:
        raise gs.ShapeError("f: no")

    for ours in (lambda: x, refuse):
        with pytest.warns(UserWarning, match=r"stub 1\.0 ended in this call \(SIGABRT"):
            assert not against.agree(ours, lambda: judge.ask("abort", (), {}), "this call")
    assert differential.ENDED["stub", "f", "stub 1.0"] == 2
    assert differential.COUNTS["stub", "f", "stub 1.0"] == 0
    with pytest.raises(ZeroDivisionError):  # ours must give something or refuse
        against.agree(lambda: 1 / 0, lambda: judge.ask("abort", (), {}))
    assert against.agree(lambda: x, lambda: judge.ask("echo", (x,), {}))
    assert differential.COUNTS["stub", "f", "stub 1.0"] == 1
