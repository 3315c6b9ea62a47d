"""Launching on cuda without a GPU: the order of what the driver and the libraries are asked for."""

from __future__ import annotations

import ctypes
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import tvm_ffi  # noqa: F401  before another torch is there

import gscompile as gs
from gscompile.ir.types import DTYPES
from gscompile.runtime import arrays, checks
from gscompile.runtime import devices as device
from gscompile.runtime.arrays import View
from gscompile.runtime.checks import DeviceCalls
from gscompile.runtime.devices import HOST, Cuda, Launch, Room

GPU = ("cuda", 1)


class FakeDriver:
    """Does what the driver does, in host memory, and keeps a record of it."""

    def __init__(self) -> None:
        self.log: list[Any] = []
        self.capturing: set[int] = set()

    @contextmanager
    def current(self, number: int) -> Iterator[None]:
        self.log.append(("push", number))
        try:
            yield
        finally:
            self.log.append("pop")

    def to_host(self, to: int, address: int, nbytes: int, stream: int) -> None:
        self.log.append(("to_host", nbytes, stream))
        ctypes.memmove(to, address, nbytes)

    def clear(self, address: int, nbytes: int, stream: int) -> None:
        self.log.append(("clear", nbytes, stream))
        ctypes.memset(address, 0, nbytes)

    def to_device(self, to: int, address: int, nbytes: int) -> None:
        self.log.append(("to_device", nbytes))
        ctypes.memmove(to, address, nbytes)

    def synchronize(self, stream: int) -> None:
        self.log.append(("synchronize", stream))

    def synchronize_all(self) -> None:
        self.log.append("synchronize all")

    def captures(self, stream: int) -> bool:
        return stream in self.capturing

    def context(self, number: int) -> int:
        return 1000 + number


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    """A driver, and libraries whose memory on cuda is NumPy's."""
    fake = FakeDriver()
    empty = arrays.empty

    def on_host(kind: str, shape: Any, dtype: Any, where: Any) -> Any:
        assert where == GPU
        fake.log.append(("empty", kind, shape, str(dtype)))
        array, v = empty("numpy", shape, dtype, arrays.CPU)
        return array, v._replace(device=GPU, kind=kind)

    monkeypatch.setattr(arrays, "empty", on_host)
    streams = SimpleNamespace(current_stream=lambda number: SimpleNamespace(cuda_stream=100 + number))
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=streams))
    streams = SimpleNamespace(get_current_stream=lambda: SimpleNamespace(ptr=200))
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=streams))
    return fake


def writes(*record: int, log: list[Any] | None = None) -> Launch:
    """A launch whose kernels keep a record, where there is one to keep it in, and fill 64 bytes of scratch memory."""

    def launch(status: int, workspace: int, kept: int) -> None:
        if log is not None:
            log.append(("launch", arrays.LIBRARIES["tvm"].current_stream(GPU)))
        if kept:
            (ctypes.c_int64 * len(record)).from_address(kept)[:] = record
        ctypes.memset(workspace, 1, 64)

    return launch


def fails(status: int, workspace: int, kept: int) -> None:
    """A launch of which a kernel has found something, and the last one is not there to clear that."""
    ctypes.c_int64.from_address(status).value = 1
    raise RuntimeError("out of resources")


def an_input(kind: str) -> View:
    return View(0, (0,), DTYPES["float32"], GPU, True, False, None, kind)


def run(driver: FakeDriver, launch: Launch, inputs: list[str], kind: str, checked: bool = False) -> list[Any]:
    """Launch in a new room, with a new record if checked; what the driver is asked for after that."""
    cuda = Cuda(lambda: driver)
    record, room = cuda.record(3, kind, GPU) if checked else None, cuda.room(3, 64, kind, GPU)
    driver.log.clear()
    cuda.enqueue(launch, room, record, [an_input(k) for k in inputs], kind, GPU)
    return driver.log


@pytest.mark.parametrize(("kind", "stream"), [("torch", 101), ("cupy", 200), ("tvm", 0), ("dlpack", 0)])
@pytest.mark.parametrize("checked", [False, True])
def test_a_call_is_launched_on_its_librarys_stream(driver: FakeDriver, kind: str, stream: int, checked: bool) -> None:
    log = run(driver, writes(1, 5, -7, log=driver.log), [kind], kind, checked)
    assert log == [("push", 1), ("launch", stream), "pop"]


def test_jax_arrays_are_complete_when_handed_out(driver: FakeDriver) -> None:
    log = run(driver, writes(log=driver.log), ["jax"], "jax")
    assert log == [("push", 1), ("launch", 0), ("synchronize", 0), "pop"]


def test_another_librarys_stream_is_waited_for(driver: FakeDriver) -> None:
    log = run(driver, writes(log=driver.log), ["torch", "cupy", "cupy"], "torch")
    assert log == [("push", 1), ("synchronize", 200), ("launch", 101), "pop"]


def test_a_launch_that_fails_leaves_the_device_the_stream_and_the_status_as_they_were(driver: FakeDriver) -> None:
    cuda = Cuda(lambda: driver)
    room = cuda.room(3, 64, "torch", GPU)
    driver.log.clear()
    with pytest.raises(RuntimeError, match="out of resources"):
        cuda.enqueue(fails, room, None, [], "torch", GPU)
    assert driver.log == [("push", 1), ("clear", 24, 101), "pop"]
    assert arrays.LIBRARIES["tvm"].current_stream(GPU) == 0
    assert numbers(room.status) == [0, 0, 0]


def numbers(v: View) -> list[int]:
    return list((ctypes.c_int64 * v.shape[0]).from_address(v.ptr))


def test_a_room_is_cleared_once(driver: FakeDriver) -> None:
    cuda = Cuda(lambda: driver)
    room = cuda.room(3, 64, "torch", GPU)
    assert driver.log == [
        ("push", 1),
        ("empty", "torch", (3,), "int64"),
        ("empty", "torch", (64,), "uint8"),
        ("clear", 24, 101),
        "pop",
    ]
    assert numbers(room.status) == [0, 0, 0] and room.stream == 101
    for _ in range(2):
        driver.log.clear()
        cuda.enqueue(writes(), room, None, [an_input("torch")], "torch", GPU)
        assert driver.log == [("push", 1), "pop"]
    driver.capturing = {101}
    assert cuda.room(3, 64, "torch", GPU).stream is None  # a graph clears it


def test_constants_are_copied_to_the_device(driver: FakeDriver) -> None:
    table = np.arange(24, dtype="int16").reshape(4, 6)[:, ::2]
    v = Cuda(lambda: driver).constant(table, GPU)
    assert (v.shape, v.device) == ((4, 3), GPU)
    assert ("to_device", 24) in driver.log
    assert ctypes.string_at(v.ptr, 24) == table.tobytes()
    assert Cuda(lambda: driver).constant(np.zeros((0, 3)), GPU).shape == (0, 3)


def test_the_host_runs_in_memory_of_its_own() -> None:
    seen = []

    def launch(status: int, workspace: int, kept: int) -> None:
        seen.append((workspace, kept))
        writes(1, 2, 3)(0, workspace, status)

    assert list(HOST.run(launch, 3, 64)) == [1, 2, 3]
    assert seen[0][0] % arrays.ALIGNMENT == 0 and seen[0][1] == 0


def test_without_a_driver_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    with pytest.raises(gs.DeviceError, match="driver cannot be loaded"):
        device.Driver()


class FakeLibrary:
    """A driver library of which one function fails."""

    def __init__(self, fails: str) -> None:
        self.fails = fails
        self.pushed: list[int] = []

    def cuGetErrorName(self, code: int, name: Any) -> int:
        name._obj.value = b"CUDA_ERROR_ILLEGAL_ADDRESS"
        return 0

    def cuDevicePrimaryCtxRetain(self, context: Any, number: int) -> int:
        context._obj.value = 1000 + number
        return 0

    def cuCtxPushCurrent_v2(self, context: Any) -> int:
        self.pushed.append(context.value)
        return 0

    def cuCtxPopCurrent_v2(self, context: Any) -> int:
        self.pushed.append(-1)
        return 0

    def __getattr__(self, name: str) -> Any:
        return lambda *args: 700 if name == self.fails else 0


def test_the_drivers_errors_have_names(monkeypatch: pytest.MonkeyPatch) -> None:
    library = FakeLibrary("cuStreamSynchronize")
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    driver = device.Driver()
    with (
        pytest.raises(gs.DeviceError, match=r"cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS \(700\)"),
        driver.current(2),
    ):
        driver.to_host(0, 0, 8, 0)
    assert library.pushed == [1002, -1]
    library.fails = "cuInit"
    with pytest.raises(gs.DeviceError, match="cuInit"):
        device.Driver()


def test_what_the_extension_calls_is_in_the_order_of_its_header(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(device.__file__).parent / "_fastcall_gpu.h").read_text()
    names = re.findall(r"^    int \(\*(\w+)\)", text, re.MULTILINE)
    assert names == ["set_stream", "context", "push", "pop", "captures", "to_host", "clear", "synchronize"]
    found: list[str] = []

    class Library(FakeLibrary):
        def __getitem__(self, name: str) -> Any:
            found.append(name)
            return ctypes.c_void_p(len(found))

    monkeypatch.setattr(ctypes, "CDLL", lambda name: Library(""))
    assert device.Driver().addresses() == (1, 2, 3, 4, 5, 6, 7)
    assert found == [
        "cuCtxGetCurrent",
        "cuCtxPushCurrent_v2",
        "cuCtxPopCurrent_v2",
        "cuStreamIsCapturing",
        "cuMemcpyDtoHAsync_v2",
        "cuMemsetD8Async",
        "cuStreamSynchronize",
    ]
    assert device.Driver().context(3) == 1003


# -- records that outlive a call -----------------------------------------------------------------------------------


def test_a_deferred_call_neither_waits_nor_allocates(driver: FakeDriver) -> None:
    cuda = Cuda(lambda: driver)
    record, room = cuda.record(3, "torch", GPU), cuda.room(3, 64, "torch", GPU)
    driver.log.clear()
    cuda.enqueue(writes(1, 5, -7, log=driver.log), room, record, [an_input("torch")], "torch", GPU)
    assert driver.log == [("push", 1), ("launch", 101), "pop"]
    driver.log.clear()
    assert list(cuda.take(record, GPU)) == [1, 5, -7]
    assert driver.log == [
        ("push", 1),
        "synchronize all",
        ("to_host", 24, 0),
        ("clear", 24, 0),
        ("synchronize", 0),
        "pop",
    ]
    assert list(cuda.take(record, GPU)) == [0, 0, 0]
    assert driver.log[-3:] == ["synchronize all", ("to_host", 24, 0), "pop"]


def test_what_waits_all_the_same(driver: FakeDriver) -> None:
    """Arrays of two libraries, and a result that its library would read without waiting."""
    log = run(driver, writes(1, 5, -7, log=driver.log), ["cupy"], "jax", checked=True)
    assert log == [("push", 1), ("synchronize", 200), ("launch", 0), ("synchronize", 0), "pop"]


def test_a_first_call_is_not_captured(driver: FakeDriver) -> None:
    driver.capturing = {101}
    with pytest.raises(gs.DeviceError, match="call it once before"):
        Cuda(lambda: driver).record(3, "torch", GPU)
    assert not [step for step in driver.log if step[0] in ("empty", "clear")]
    Cuda(lambda: driver).record(3, "cupy", GPU)


# -- calls and their rooms -------------------------------------------------------------------------------------------


def calls_of(driver: FakeDriver, *, deferred: bool = False, checks: int = 1) -> DeviceCalls:
    """Of a function with records of three numbers, of which the last is the size n."""
    interface: Any = SimpleNamespace(name="f", checks=checks, kept_length=3, status_length=2, symbols=("n",))
    return DeviceCalls(Cuda(lambda: driver), interface, deferred)


def a_call(kind: str = "torch", workspace: int = 64) -> Any:
    extents = SimpleNamespace(workspace=workspace)
    return SimpleNamespace(kind=kind, device=GPU, extents=extents, inputs=[an_input(kind)])


def rooms_of(calls: DeviceCalls, call: Any, room: Room | None = None) -> tuple[int, int]:
    """The addresses of status and scratch memory with which it is launched."""
    seen: list[tuple[int, int]] = []
    calls.run(lambda status, workspace, kept: seen.append((status, workspace)), call, room)
    return seen[0]


def test_a_call_that_waits_reads_its_record_on_its_stream(driver: FakeDriver) -> None:
    calls, call = calls_of(driver), a_call()
    assert calls.run(writes(0, 0, 0), call) is None
    driver.log.clear()
    assert calls.run(writes(0, 0, 0, log=driver.log), call) is None
    around = [("push", 1), "pop"]
    assert driver.log == [*around, ("push", 1), ("launch", 101), "pop", ("push", 1), ("to_host", 24, 101), "pop"]
    driver.log.clear()
    assert calls.run(writes(1, 5, 9), call) == ([1, 5, 9], {"n": 9})
    assert driver.log[-5:] == [("push", 1), ("to_host", 24, 101), ("clear", 24, 101), ("synchronize", 101), "pop"]
    assert calls.run(writes(), call) is None  # the record is zeros again


def test_a_deferred_call_is_told_of_by_take(driver: FakeDriver) -> None:
    calls, call = calls_of(driver, deferred=True), a_call()
    assert calls.take() is None
    calls.run(writes(0, 0, 0), call)
    driver.log.clear()
    calls.run(writes(1, 5, 9, log=driver.log), call)
    assert driver.log == [("push", 1), "pop", ("push", 1), ("launch", 101), "pop"]
    assert calls.take() == ([1, 5, 9], {"n": 9})
    assert calls.take() is None


def test_each_thread_waits_for_a_record_of_its_own(driver: FakeDriver) -> None:
    for deferred in (False, True):
        calls, kept = calls_of(driver, deferred=deferred), []

        def launch(status: int, workspace: int, record: int, to: Any = kept) -> None:
            to.append(record)

        calls.run(launch, a_call())
        thread = threading.Thread(target=calls.run, args=(launch, a_call()))
        thread.start()
        thread.join()
        calls.run(launch, a_call())
        assert kept[0] == kept[2] and (kept[0] == kept[1]) is deferred


def test_rooms_are_kept_for_each_stream(driver: FakeDriver) -> None:
    calls = calls_of(driver)
    first = rooms_of(calls, a_call())
    driver.log.clear()
    assert rooms_of(calls, a_call()) == first
    assert not [step for step in driver.log if step[0] in ("empty", "clear")]
    others = [a_call("cupy"), a_call(workspace=65), a_call("tvm")]
    found = [rooms_of(calls, call) for call in others]
    assert len({first, *found}) == 4
    assert [rooms_of(calls, call) for call in others] == found
    large = a_call(workspace=checks.KEPT_WORKSPACE + 1)
    driver.log.clear()
    rooms_of(calls, large), rooms_of(calls, large)
    assert [step[2] for step in driver.log if step[0] == "empty"] == [(3,), (large.extents.workspace,)] * 2


def test_no_more_rooms_are_kept_than_a_few(driver: FakeDriver) -> None:
    calls = calls_of(driver, checks=0)
    for workspace in range(64, 64 + 3 * checks.ROOMS):
        calls.run(writes(), a_call(workspace=workspace))
        assert len(calls._rooms) <= checks.ROOMS
    kept = len(calls._rooms)
    calls.run(writes(), a_call(workspace=workspace))
    assert len(calls._rooms) == kept


def test_a_call_that_is_captured_has_a_room_of_the_graphs(driver: FakeDriver) -> None:
    calls = calls_of(driver, deferred=True)
    before = rooms_of(calls, a_call())
    bound = calls.room(a_call())
    driver.capturing = {101}
    driver.log.clear()
    rooms_of(calls, a_call()), rooms_of(calls, a_call())
    assert len([step for step in driver.log if step[0] == "clear"]) == 2  # the graph clears each when it is launched
    own = (bound.status.ptr, bound.workspace.ptr)
    assert rooms_of(calls, a_call(), bound) == own
    bound.fast = True
    assert rooms_of(calls, a_call(), bound) == own  # what is captured runs later
    inside = calls.room(a_call())
    assert rooms_of(calls, a_call(), inside) != (inside.status.ptr, inside.workspace.ptr)  # another graph's
    driver.capturing = set()
    assert rooms_of(calls, a_call(), inside) == rooms_of(calls, a_call()) == before


def test_a_call_that_waits_is_not_captured(driver: FakeDriver) -> None:
    calls = calls_of(driver)
    calls.run(writes(), a_call())
    driver.capturing = {101}
    with pytest.raises(gs.DeviceError, match=r'f: a call that waits .* build with check="deferred"'):
        calls.run(lambda *_: pytest.fail("launched"), a_call())
    calls_of(driver, checks=0).run(writes(), a_call())


def test_a_bound_calls_room_is_for_one_stream_and_for_one_way_of_calling(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = calls_of(driver)
    kept, bound = rooms_of(calls, a_call()), calls.room(a_call())
    own = (bound.status.ptr, bound.workspace.ptr)
    assert rooms_of(calls, a_call(), bound) == own != kept
    streams = SimpleNamespace(current_stream=lambda number: SimpleNamespace(cuda_stream=7))
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "torch", SimpleNamespace(cuda=streams))
        assert rooms_of(calls, a_call(), bound) not in (own, kept)
    bound.fast = True  # launches from C do not hold its lock
    assert rooms_of(calls, a_call(), bound) == kept


def test_a_room_whose_launch_raised_is_not_kept(driver: FakeDriver) -> None:
    for first in (True, False):
        calls = calls_of(driver, deferred=True)
        if not first:
            rooms_of(calls, a_call())
        with pytest.raises(RuntimeError, match="out of resources"):
            calls.run(fails, a_call())
        assert not calls._rooms
    bound = calls.room(a_call())
    with pytest.raises(RuntimeError, match="out of resources"):
        calls.run(fails, a_call(), bound)
    assert numbers(bound.status) == [0, 0, 0]  # there is no other for what is captured


def test_what_a_call_that_was_broken_off_has_found_is_no_other_calls(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = calls_of(driver)

    def interrupt(*_: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(driver, "to_host", interrupt)
        with pytest.raises(KeyboardInterrupt):
            calls.run(writes(1, 5, 9), a_call())
    driver.log.clear()
    assert calls.run(writes(), a_call()) is None
    assert "synchronize all" in driver.log
    driver.log.clear()
    assert calls.run(writes(), a_call()) is None
    assert "synchronize all" not in driver.log


# -- what calls that are checked in C get ------------------------------------------------------------------------


class FakeHost:
    """A tensor on the host."""

    def data_ptr(self) -> int:
        return 4096


def test_where_calls_run_that_are_checked_in_c(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "pinned", lambda length: FakeHost())
    calls, call = calls_of(driver), a_call()
    there = calls.fast(call, None)
    assert there is not None
    room, kept, _ = cast(Any, there[-1])
    assert there[:-1] == (101, 1001, room.status.ptr, kept.ptr, room.workspace.ptr, 4096, 24)
    assert room.fast and kept is calls.record(call)
    bound = calls.room(call)
    there = calls.fast(call, bound)
    assert there is not None and there[2] == bound.status.ptr and bound.fast
    there = calls.fast(call, bound)  # of another thread
    assert there is not None and there[2] != bound.status.ptr
    there = calls_of(driver, deferred=True).fast(call, None)
    assert there is not None and there[3] and there[5] == 0
    there = calls_of(driver, checks=0).fast(call, None)
    assert there is not None and there[3] == there[5] == 0


def test_where_calls_do_not_run_that_are_checked_in_c(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "pinned", lambda length: FakeHost())
    calls, large = calls_of(driver), a_call(workspace=checks.KEPT_WORKSPACE + 1)
    assert calls.fast(a_call("cupy"), None) is None  # whose stream the extension does not know
    assert calls.fast(large, None) is None
    assert calls.fast(large, calls.room(large)) is not None
    driver.capturing = {101}
    inside = calls.room(large)
    assert calls.fast(a_call(), None) is None
    driver.capturing = set()
    assert calls.fast(large, inside) is None

    def full(length: int) -> Any:
        raise RuntimeError("no memory that is pinned")

    monkeypatch.setattr(checks, "pinned", full)
    assert calls.fast(a_call(), None) is None  # the call itself was good
