"""Calls that do not wait for their index checks: the first that failed is told by ``m.check()``, once."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.build import Module
from gscompile.emulation import emulate
from tests.cuda import device
from tests.cuda.graphs import on_cpu

X = np.arange(20, dtype="float32").reshape(5, 4)
Build = Callable[[gs.Builder], Module]


def two_checks() -> gs.Builder:
    """A gather of rows at computed indices, and a scatter with indices of its own."""
    b = gs.Builder("two")
    x, i, j = b.input("x", ("n", 4), "float32"), b.input("i", ("k",), "int64"), b.input("j", ("k",), "int32")
    b.output(b.put(x, j, b.take(x, i * 2), reduction="add"))
    return b


def want(i: Any, j: Any) -> Any:
    found = X.copy()
    np.add.at(found, j, X[np.asarray(i) * 2])
    return found


def on_llvm(b: gs.Builder) -> Module:
    return b.build(check="deferred")


def emulated(b: gs.Builder) -> Module:
    return emulate(b, check="deferred")


@pytest.fixture(params=["llvm", "emulated", "text"])
def m(request: pytest.FixtureRequest, tmp_path: Path) -> Module:
    """The graph on the CPU, by the emulation, and as the CUDA text on the tests' device."""
    if request.param != "text":
        return {"llvm": on_llvm, "emulated": emulated}[request.param](two_checks())
    if reason := device.cpu_compiler():
        pytest.skip(reason)
    ((found, _),) = on_cpu([two_checks()], tmp_path, check="deferred")
    return found


def call(m: Module, i: list[int], j: list[int], **options: Any) -> Any:
    return m(X, np.array(i, np.int64), np.array(j, np.int32), **options)


def failure(m: Module) -> gs.BoundsError:
    with pytest.raises(gs.BoundsError) as e:
        m.check()
    return e.value


def test_the_first_call_that_failed_is_told_once(m: Module) -> None:
    m.check()  # nothing was called
    np.testing.assert_array_equal(call(m, [0, 1, -1], [4, 4, 0]), want([0, 1, -1], [4, 4, 0]))
    m.check()
    call(m, [0, 1, 2], [4, 5, -9])
    call(m, [3, 0], [0, 0])
    found = call(m, [2, 0], [1, 1])  # computed in spite of the two before
    np.testing.assert_array_equal(found, want([2, 0], [1, 1]))
    e = failure(m)
    assert (e.tensor, e.position, e.value, e.valid) == ("j", (1,), 5, (-5, 4))
    m.check()
    call(m, [0, 0, 0, 3], [0, 0, 0, 0])
    e = failure(m)
    assert (e.tensor, e.position, e.value) == ("i", (3,), 6) and "which is out of range" in str(e)
    m.check()


@pytest.mark.parametrize(
    ("i", "j"),
    [
        ([3, 0, 9], [0, 9, 0]),  # both checks: the first in the order in which they are made
        ([-(2**62)], [0]),
        ([0], [-(2**31)]),
        ([0, 0], [2**31 - 1, -6]),
        ([-3], [5]),
    ],
)
def test_the_error_is_that_of_a_call_that_waits(m: Module, i: list[int], j: list[int]) -> None:
    waiting = emulate(two_checks()) if m._recipe.target.kind != "llvm" else two_checks().build()
    with pytest.raises(gs.BoundsError) as e:
        call(waiting, i, j)
    call(m, i, j)
    found = failure(m)
    assert str(found) == str(e.value) and found.position == e.value.position and found.value == e.value.value


def test_data_in_place_stays_where_an_index_is_bad() -> None:
    b = gs.Builder("in_place")
    x, j, v = b.input("x", ("n", 4), "float32"), b.input("j", ("k",), "int32"), b.input("v", ("k", 4), "float32")
    b.output(b.put(x, j, v))
    for m in (on_llvm(b), emulated(b)):
        data = X.copy()
        assert m(data, np.array([0, 7], np.int32), X[:2], out=data) is data
        assert (data == X).all() and failure(m).value == 7


def test_sizes_are_those_of_the_call_that_failed() -> None:
    m = emulated(two_checks())
    call(m, [0, 4], [0, 0])
    m(X[:2], np.array([0]), np.array([0], np.int32))
    assert "of data (5, 4)" in str(failure(m))


def test_empty() -> None:
    for m in (on_llvm(two_checks()), emulated(two_checks())):
        assert call(m, [], []).tolist() == X.tolist()
        m.check()


def test_bound_calls() -> None:
    for m in (on_llvm(two_checks()), emulated(two_checks())):
        i, j, out = np.array([0, 1]), np.array([3, 3], np.int32), np.empty_like(X)
        run = m.bind(X, i, j, out=out)
        assert run() is out and (out == want(i, j)).all()
        i[1] = 5
        run()
        i[1] = 2
        run()
        assert (out == want(i, j)).all()
        assert failure(m).value == 10  # what stood there when the call ran
        m.check()


@pytest.mark.parametrize("build", [on_llvm, emulated])
def test_threads(build: Build) -> None:
    """Of many calls at once that fail, one is told, as it was: never a mixture of two."""
    m = build(two_checks())
    for _ in range(20):
        begin = threading.Barrier(4)

        def work(t: int, begin: threading.Barrier = begin) -> None:
            begin.wait()
            for k in range(5):
                found = call(m, [0] * (t + 1), [4] * (t + 1))
                np.testing.assert_array_equal(found, want([0] * (t + 1), [4] * (t + 1)))
                call(m, [0] * t + [10 * t + k + 10], [0] * (t + 1))

        threads = [threading.Thread(target=work, args=(t,)) for t in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        e = failure(m)
        assert e.value is not None and e.value // 20 - 1 in range(4) and e.position == ((e.value // 2 - 10) // 10,)
        m.check()


def test_a_graph_without_checks() -> None:
    b = gs.Builder("clipped")
    b.output(b.take(b.input("x", (5, 4), "float32"), b.input("i", ("k",), "int64"), bounds="clip"))
    for m in (on_llvm(b), emulated(b)):
        assert m(X, np.array([99, -99]))[:, 0].tolist() == [16, 0]
        m.check()


def test_waiting_calls_have_nothing_to_tell() -> None:
    m = two_checks().build()
    with pytest.raises(gs.BoundsError):
        call(m, [9], [0])
    m.check()


def test_copies_are_alike() -> None:
    m = on_llvm(two_checks())
    for other in (copy.copy(m), copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        call(other, [9], [0])
        assert failure(other).value == 18


def test_exported(tmp_path: Path) -> None:
    two_checks().build().export(tmp_path / "two.so")
    m: Any = gs.load(tmp_path / "two.so", check="deferred")
    for f in (m, pickle.loads(pickle.dumps(m))):
        call(f, [0, 0], [0, 8])
        assert failure(f).value == 8
        f.check()


@pytest.mark.parametrize("check", ["later", "", None, 1])
def test_no_such_check(check: Any, tmp_path: Path) -> None:
    with pytest.raises(gs.ArgumentError, match='check must be "sync" or "deferred"; got'):
        two_checks().build(check=check)
