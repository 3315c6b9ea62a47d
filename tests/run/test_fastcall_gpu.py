"""Calls of PyTorch's tensors on a GPU, as the C extension checks and launches them, without a GPU; see fake_gpu.py."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
import time
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.emulation import emulate
from gscompile.ir.types import DTYPES
from gscompile.runtime import arrays
from gscompile.runtime.fastcall import FastCalls, extension
from tests.run.fake_gpu import (
    CHECKED,
    CONTEXT,
    LENGTH,
    NUMBER,
    STREAM,
    UNCHECKED,
    Argument,
    Machine,
    Other,
    Owner,
    Tensor,
    fast_call,
    finds,
)

if extension is None:
    pytest.skip("the C extension is not built (pip install -e .), or switched off", allow_module_level=True)

SIZES = 8, 4
IN_PLACE = 0
WAITED = [("to_host", 8 * LENGTH, STREAM), ("synchronize", STREAM)]
LAUNCHED = [("stream", STREAM), ("kernel", STREAM, CONTEXT), ("stream", 5)]


def aligned(x: Any) -> Any:
    """A copy that begins at a multiple of 64 bytes."""
    storage = np.empty(x.nbytes + 64, np.uint8)
    found = storage[-storage.ctypes.data % 64 :][: x.nbytes].view(x.dtype).reshape(x.shape)
    found[...] = x
    return found


@pytest.fixture(autouse=True)
def as_they_were() -> Any:
    before = dict(Tensor.changes)
    yield
    Tensor.changes.clear()
    Tensor.changes.update(before)


class Case:
    """A call of two inputs that was found good, and what is called where no signature fits."""

    def __init__(self, *, checked: bool = True, waits: bool = True, make: bool = False, **options: Any) -> None:
        self.machine, self.owner, self.slow_calls = Machine(), Owner(), 0
        self.x, self.i = Tensor(aligned(np.ones((8, 3), np.float32))), Tensor(aligned(np.arange(4)))
        self.out = Tensor(aligned(np.zeros((4, 3), np.float32)))
        self.checked, self.waits = checked, waits
        self.fast = fast_call(self.machine, self.slow, **options)
        self.made: Any = (lambda: Tensor(aligned(np.zeros((4, 3), np.float32))), (), {}) if make else None
        assert self.add()

    def add(self, owner: Owner | None = None, **changes: Any) -> bool:
        there = (owner or self.owner).there(checked=self.checked, waits=self.waits, **changes)
        return bool(self.fast.add((self.x, self.i), self.out, SIZES, 64, IN_PLACE, True, self.made, None, there))

    def slow(self, *args: Any, **kwargs: Any) -> str:
        self.slow_calls += 1
        return "slow"

    def __call__(self, *inputs: Any, out: Any = None) -> Any:
        self.machine.log.clear()
        out = self.out if out is None else out
        found = self.fast(*(inputs or (self.x, self.i)), out=out)
        assert found == "slow" or found is out
        return found

    def is_slow(self, *inputs: Any, launches: bool = False, out: Any = None) -> bool:
        """Whether a call is left to the slow path, without a launch."""
        calls = len(self.machine.calls)
        found = self(*inputs, out=out)
        return bool(found == "slow" and (launches or len(self.machine.calls) == calls))


WAYS = [(False, False), (True, False), (True, True)]


@pytest.mark.parametrize(("checked", "waits"), WAYS)
def test_what_a_kernel_is_called_with(checked: bool, waits: bool) -> None:
    case = Case(checked=checked, waits=waits)
    case()
    given = [a.x.ctypes.data for a in (case.x, case.i, case.out)]
    owner = case.owner
    own = [owner.status.ctypes.data, owner.kept.ctypes.data if checked else 0, owner.scratch.ctypes.data]
    assert case.machine.calls == [[*given, *own, *SIZES, CHECKED if checked else UNCHECKED, 0]]
    assert case.machine.log == [*LAUNCHED, *(WAITED if waits else [])]
    assert case.slow_calls == 0 and case.machine.stream == 5


def test_types_of_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    case, types = Case(), []

    def call(function: int, arguments: Any, count: int, result: int) -> int:
        types.append((function, [(arguments[k].type, arguments[k].zero) for k in range(count)]))
        return 0

    kernel = type(case.machine._kept[-1])(call)
    gpu, address = tuple(case.machine.gpu), ctypes.cast(kernel, ctypes.c_void_p).value or 0
    assert extension is not None and ctypes.sizeof(Argument) == 16
    case.fast = extension.FastCall(address, 9, kernel, 0, LENGTH, case.slow, gpu)
    assert case.add() and case() is case.out
    assert types == [(9, [(4, 0)] * 6 + [(1, 0)] * 4)]


def test_in_place() -> None:
    case = Case()
    case.out = Tensor(case.x.x[:4])
    assert case() is case.out and case.machine.calls[-1][-1] == 1
    assert case.is_slow(out=Tensor(case.x.x[1:5]))


def test_results_are_made() -> None:
    case = Case(make=True)
    results = [case.fast(case.x, case.i) for _ in range(2)]
    assert [call[2] for call in case.machine.calls] == [r.x.ctypes.data for r in results]
    assert case.slow_calls == 0
    case = Case()
    assert case.fast(case.x, case.i) == "slow" and not case.machine.calls


def test_bound_calls() -> None:
    case = Case()
    assert extension is not None
    bound = extension.FastBound(case.fast, (case.x, case.i), case.out, case.slow)
    assert bound() is case.out and case.slow_calls == 0
    case.machine.capturing = {STREAM}
    assert bound() == "slow"


def test_other_streams_and_devices_and_captures() -> None:
    case = Case(waits=False)
    for changes in ({"stream": STREAM + 1}, {"stream": 0}, {"number": NUMBER + 1}, {"device": 1}, {"no_stream": True}):
        with pytest.MonkeyPatch.context() as patch:
            for name, value in changes.items():
                patch.setitem(Tensor.changes, name, value)
            assert case.is_slow(), changes
    assert not case.is_slow()
    case.machine.capturing = {STREAM + 1}
    assert not case.is_slow()
    case.machine.capturing = {STREAM}
    assert case.is_slow()
    case.machine.capturing = set()
    case.machine.fails = {"captures"}
    assert case.is_slow()
    case.machine.fails = set()
    assert not case.is_slow()


def test_each_stream_has_a_place_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    case, second = Case(), Owner()
    assert not case.add()  # it is known
    monkeypatch.setitem(Tensor.changes, "stream", STREAM + 1)
    assert case.add(second, stream=STREAM + 1)
    for stream, owner in ((STREAM + 1, second), (STREAM, case.owner), (STREAM + 1, second)):
        Tensor.changes["stream"] = stream
        assert not case.is_slow()
        assert case.machine.calls[-1][3] == owner.status.ctypes.data
        assert case.machine.log[0] == ("stream", stream) and case.machine.log[-1] == ("synchronize", stream)


def test_arrays_of_two_libraries_are_left_to_the_slow_path() -> None:
    """It waits for what another library is still computing."""
    case = Case()
    foreign = Other(case.i.x)
    assert case.is_slow(case.x, foreign)
    there = Owner().there()
    assert not case.fast.add((case.x, foreign), case.out, SIZES, 64, IN_PLACE, True, None, None, there)
    assert not case.fast.add((case.x, case.i), Other(case.out.x), SIZES, 64, IN_PLACE, True, None, None, there)
    assert not case.fast.add((case.x, np.arange(4)), case.out, SIZES, 64, IN_PLACE, True, None, None, there)
    assert not case.fast.add((), case.out, SIZES, 64, IN_PLACE, True, None, None, there)


def test_addresses_that_a_kernel_cannot_use() -> None:
    x = np.ones((9, 3), np.float32)
    shifted = Tensor(aligned(np.zeros(25, np.float32))[1:].reshape(8, 3))
    case = Case(alignment=16)
    assert not case.is_slow()
    assert case.is_slow(shifted, case.i)
    assert case.is_slow(out=Tensor(aligned(x)[1:5]))
    assert not case.is_slow(Tensor(aligned(x)[:8]), case.i)
    assert not Case().is_slow(shifted, case.i)  # as where elements' size is enough


def test_the_context_is_changed_where_another_is_current() -> None:
    case = Case()
    case()
    assert "pop" not in case.machine.log
    case.machine.current = 1000
    case()
    assert case.machine.log == [("push", CONTEXT), *LAUNCHED, *WAITED, "pop"]
    assert case.machine.current == 1000
    case.machine.fails = {"push"}
    assert case.is_slow()
    case.machine.fails = {"stream"}
    assert case.is_slow() and case.machine.log[-1] == "pop"


def test_a_thread_reads_its_own_record_only() -> None:
    for waits in (True, False):
        case, found = Case(waits=waits), []

        def call(to: list[bool] = found, case: Case = case) -> None:
            to.append(case.is_slow())
            assert case.add(Owner()) is case.waits  # as Python does after a call
            to.append(case.is_slow())

        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
        assert found == [waits, False] and not case.is_slow()


def test_a_failure_is_told_by_the_slow_path_once() -> None:
    case = Case()
    case.machine.kernel = lambda arguments: finds(arguments[4])
    assert case.is_slow(launches=True)
    assert case.machine.log == [*LAUNCHED, *WAITED, ("clear", 8 * LENGTH, STREAM), ("synchronize", STREAM)]
    assert not case.owner.kept.any()
    case.machine.kernel = lambda arguments: 0
    assert not case.is_slow() and case.slow_calls == 1


def test_a_deferred_failure_is_not_looked_at() -> None:
    case = Case(waits=False)
    case.machine.kernel = lambda arguments: finds(arguments[4])
    assert not case.is_slow() and case.machine.log == LAUNCHED
    assert case.owner.kept.any()


@pytest.mark.parametrize("name", ["context", "stream", "to_host", "synchronize"])
def test_a_driver_that_fails(name: str) -> None:
    case = Case()
    case.machine.fails = {name}
    assert case.is_slow(launches=True)
    case.machine.fails = set()
    assert case.machine.stream in (5, STREAM) and not case.is_slow()


def test_kernels_that_cannot_be_launched_leave_a_status_of_zeros() -> None:
    case = Case()

    def kernel(arguments: list[int]) -> int:
        return finds(arguments[3]) - 1

    case.machine.kernel = kernel
    assert case.is_slow(launches=True)
    assert case.machine.log == [*LAUNCHED, ("clear", 8 * LENGTH, STREAM)] and not case.owner.status.any()
    case.machine.kernel = lambda arguments: 0
    assert not case.is_slow()
    case.machine.kernel, case.machine.fails = kernel, {"clear"}
    assert case.is_slow(launches=True)
    case.machine.kernel, case.machine.fails = lambda arguments: 0, set()
    assert case.is_slow()  # its status may be anything
    second = Owner()
    assert case.add(second) and not case.is_slow()
    assert case.machine.calls[-1][3] == second.status.ctypes.data


def test_another_thread_may_run_while_kernels_are_launched() -> None:
    """A full queue makes a launch wait, perhaps for that thread; a call of its own has to have other memory meanwhile."""
    case = Case(waits=False)
    found: list[bool] = []

    def meanwhile() -> None:
        found.append(case.is_slow())
        assert case.add(second)
        found.append(case.is_slow())

    def kernel(arguments: list[int]) -> int:
        if len(case.machine.calls) == 1:
            thread = threading.Thread(target=meanwhile)
            thread.start()
            thread.join()
        return 0

    second = Owner()
    case.machine.kernel = kernel
    assert case() is case.out
    assert found == [True, False]
    status = [call[3] for call in case.machine.calls]
    assert status == [case.owner.status.ctypes.data, second.status.ctypes.data]
    assert not case.is_slow()


@pytest.mark.skipif(os.name != "posix", reason="sleeps in the C library")
def test_launches_do_not_hold_the_gil() -> None:
    case = Case(checked=False, waits=False)
    sleep = ctypes.cast(ctypes.CDLL(None).usleep, ctypes.c_void_p).value or 0
    assert extension is not None
    case.fast = extension.FastCall(sleep, 500_000, None, 0, LENGTH, case.slow, tuple(case.machine.gpu))
    assert case.add()
    thread = threading.Thread(target=case)
    thread.start()
    time.sleep(0.05)
    assert thread.is_alive()
    thread.join()
    assert case.slow_calls == 0


def test_a_place_is_not_taken_within_a_launch() -> None:
    """A function of Python may run then, and call the module."""
    case = Case(make=True)
    inner: list[Any] = []

    def enter(arguments: list[int]) -> int:
        if not inner:
            inner.append(case.fast(case.x, case.i))  # within a launch
        return 0

    case.machine.kernel = enter
    assert case.fast(case.x, case.i) != "slow" and inner == ["slow"]


def test_a_place_that_is_taken_while_the_result_is_made() -> None:
    case = Case(waits=False)
    entered, end = threading.Event(), threading.Event()

    def kernel(arguments: list[int]) -> int:
        entered.set()
        end.wait(60)
        return 0

    thread = threading.Thread(target=lambda: case.fast(case.x, case.i, out=case.out))

    def make() -> Any:
        thread.start()
        entered.wait(60)
        return Tensor(aligned(np.zeros((4, 3), np.float32)))

    case.made = make, (), {}
    case.fast = fast_call(case.machine, case.slow)
    assert case.add()
    case.machine.kernel = kernel
    assert case.fast(case.x, case.i) == "slow"
    end.set()
    thread.join()
    assert len(case.machine.calls) == 1 and not case.is_slow()


def test_interrupts_are_not_swallowed() -> None:
    case = Case()

    def interrupt() -> Any:
        raise KeyboardInterrupt

    case.made = interrupt, (), {}
    case.fast = fast_call(case.machine, case.slow)
    assert case.add()
    with pytest.raises(KeyboardInterrupt):
        case.fast(case.x, case.i)
    assert not case.is_slow()


def test_from_python_with_tvms_own_streams() -> None:
    machine, owner, streams = Machine(), Owner(), []
    current = arrays.LIBRARIES["tvm"].current_stream

    def kernel(arguments: list[int]) -> int:
        streams.append(current(("cuda", NUMBER)))
        return 0

    machine.kernel = kernel
    function: Any = SimpleNamespace(entry=(machine.call, 9), keep=machine)
    calls = FastCalls(function, LENGTH, DTYPES["float32"], lambda *_, out: "slow", machine.gpu[1:], 16)
    x, i, out = (Tensor(aligned(a)) for a in (np.ones((8, 3), "f4"), np.arange(4), np.ones((4, 3), "f4")))
    out.shape = (4, 3)
    extents: Any = SimpleNamespace(numbers=SIZES, workspace=64)
    before = calls.called
    calls.add((x, i), out, extents, None, True, owner.there())
    assert len(calls) == 1 and calls.called is not before
    assert calls.called(x, i, out=out) is out and calls.bound((x, i), out, lambda: "slow")() is out
    assert streams == [STREAM] * 2 and current(("cuda", NUMBER)) == 0
    shifted = Tensor(aligned(np.zeros(25, "f4"))[1:].reshape(8, 3))
    assert calls.called(shifted, i, out=out) == "slow"


def test_a_bound_call_is_remembered_for_each_thread_and_stream() -> None:
    b = gs.Builder("take")
    b.output(b.take(b.input("x", (8, 3), "float32"), b.input("i", (4,), "int64")))
    m = emulate(b)
    run = m.bind(np.ones((8, 3), "f4"), np.arange(4))
    found: list[Any] = []
    m._remember = lambda *args: found.append(args)  # type: ignore[method-assign]
    run(), run()
    assert [args[2] for args in found] == [run._room, run._room]


def test_wrong_arguments() -> None:
    assert extension is not None
    case, good = Case(), Owner().there()

    def new(gpu: Any, **options: Any) -> Any:
        assert extension is not None
        return extension.FastCall(case.machine.call, 9, None, 0, LENGTH, print, gpu, **options)

    for gpu in (7, case.machine.gpu, (), tuple(case.machine.gpu[:-1]), (*case.machine.gpu, 1)):
        with pytest.raises(TypeError, match="gpu must be None or 8 addresses"):
            new(gpu)
    with pytest.raises(ValueError, match="a function's address is 0"):
        new((0,) * 8)
    with pytest.raises(TypeError):
        new(("f",) * 8)
    with pytest.raises(ValueError, match="no such alignment: -1"):
        new(None, alignment=-1)

    def add(there: Any, fast: Any = case.fast) -> Any:
        return fast.add((case.x, case.i), case.out, SIZES, 64, IN_PLACE, True, None, None, there)

    for there in (None, 7, list(good)):
        with pytest.raises(TypeError, match="there must be a tuple for a GPU"):
            add(there)
    with pytest.raises(TypeError, match="there must be a tuple for a GPU"):
        add(good, new(None))
    for there in ((), good[:-1], (*good, 1), ("s", *good[1:]), (*good[:6], "n", good[7])):
        with pytest.raises(TypeError):
            add(there)
    for there in (
        (*good[:6], -1, good[7]),
        (*good[:6], 7, good[7]),
        (*good[:2], 0, *good[3:]),
        (*good[:3], 0, *good[4:]),
    ):
        with pytest.raises(ValueError, match="there needs a status"):
            add(there)
    owner, fast = good[-1], new(tuple(case.machine.gpu))
    count = sys.getrefcount(owner)
    assert not fast.add((case.x, case.i), case.out, ("n",), 64, IN_PLACE, True, None, None, good)
    assert sys.getrefcount(owner) == count


def test_what_owns_the_memory_lives_as_long_as_the_module() -> None:
    case = Case()
    case()
    owner, machine = weakref.ref(case.owner), weakref.ref(case.machine)
    case.owner = None  # type: ignore[assignment]
    gc.collect()
    assert owner() is not None
    refused = Owner()
    gone = weakref.ref(refused)
    assert not case.add(refused)
    del refused
    assert gone() is None
    del case.fast
    gc.collect()
    assert owner() is None and machine() is case.machine


def test_a_module_in_a_circle_is_collected() -> None:
    case = Case()
    case.owner.module = case  # type: ignore[attr-defined]
    gone = weakref.ref(case.owner)
    del case
    gc.collect()
    assert gone() is None


def test_every_reference_is_given_back() -> None:
    case, refused = Case(make=True), Owner()
    counted = (case.x, case.i, case.out, case.owner, refused, case.made, case.fast, None, True, False)

    def rounds() -> None:
        for _ in range(50):
            case()
            case.fast(case.x, case.i)
            assert not case.add(refused)
            case.machine.kernel = lambda arguments: finds(arguments[4])
            assert case.is_slow(launches=True)
            case.machine.kernel = lambda arguments: 0
            case.machine.capturing = {STREAM}
            assert case.is_slow()
            case.machine.capturing = set()

    rounds()
    before = [sys.getrefcount(x) for x in counted]
    rounds()
    after = [sys.getrefcount(x) for x in counted]
    assert after[:-3] == before[:-3]
    assert all(abs(a - b) < 20 for a, b in zip(after[-3:], before[-3:], strict=True))
