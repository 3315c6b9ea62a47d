"""Launching on cuda without a GPU: the order of what the driver and the libraries are asked for."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.ir.types import DTYPES
from gscompile.runtime import arrays
from gscompile.runtime import devices as device
from gscompile.runtime.arrays import View
from gscompile.runtime.devices import HOST, Cuda, Launch

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
    """A launch whose kernels leave a record in status, of an index its number only when it is asked for, and fill 64 bytes."""

    def launch(status: int, workspace: int, naming: bool, kept: int) -> None:
        if log is not None:
            log.append(("name" if naming else "launch", arrays.LIBRARIES["tvm"].current_stream(GPU)))
        for k, x in enumerate(record if naming or log is None else record[:2]):
            ctypes.c_int64.from_address(status + 8 * k).value = x
        ctypes.memset(workspace, 1, 64)

    return launch


def an_input(kind: str) -> View:
    return View(0, (0,), DTYPES["float32"], GPU, True, False, None, kind)


def test_checks_are_read_back_in_the_order_of_the_callers_stream(driver: FakeDriver) -> None:
    launch = writes(1, 5, -7, log=driver.log)
    found = Cuda(lambda: driver).run(launch, 3, 64, [an_input("torch")], "torch", GPU)
    assert list(found) == [1, 5, -7]
    assert driver.log == [
        ("push", 1),
        ("empty", "torch", (3,), "int64"),
        ("empty", "torch", (64,), "uint8"),
        ("clear", 24, 101),
        ("launch", 101),
        ("to_host", 24, 101),
        ("name", 101),
        ("to_host", 24, 101),
        "pop",
    ]
    assert arrays.LIBRARIES["tvm"].current_stream(GPU) == 0


@pytest.mark.parametrize(("kind", "stream"), [("torch", 101), ("cupy", 200), ("tvm", 0), ("dlpack", 0)])
def test_without_checks_a_call_does_not_wait(driver: FakeDriver, kind: str, stream: int) -> None:
    Cuda(lambda: driver).run(writes(0, log=driver.log), 1, 64, [an_input(kind)], kind, GPU)
    assert driver.log[3:] == [("launch", stream), "pop"]


def test_jax_arrays_are_complete_when_handed_out(driver: FakeDriver) -> None:
    Cuda(lambda: driver).run(writes(0, log=driver.log), 1, 64, [an_input("jax")], "jax", GPU)
    assert driver.log[3:] == [("launch", 0), ("synchronize", 0), "pop"]


def test_another_librarys_stream_is_waited_for(driver: FakeDriver) -> None:
    inputs = [an_input("torch"), an_input("cupy"), an_input("cupy")]
    Cuda(lambda: driver).run(writes(0, log=driver.log), 1, 64, inputs, "torch", GPU)
    assert driver.log[:2] == [("push", 1), ("synchronize", 200)]


def test_a_launch_that_fails_leaves_the_device_and_the_stream_as_they_were(driver: FakeDriver) -> None:
    def launch(status: int, workspace: int, naming: bool, kept: int) -> None:
        raise RuntimeError("out of resources")

    with pytest.raises(RuntimeError, match="out of resources"):
        Cuda(lambda: driver).run(launch, 3, 64, [], "torch", GPU)
    assert driver.log[-1] == "pop"
    assert arrays.LIBRARIES["tvm"].current_stream(GPU) == 0


def test_constants_are_copied_to_the_device(driver: FakeDriver) -> None:
    table = np.arange(24, dtype="int16").reshape(4, 6)[:, ::2]
    v = Cuda(lambda: driver).constant(table, GPU)
    assert (v.shape, v.device) == ((4, 3), GPU)
    assert ("to_device", 24) in driver.log
    assert ctypes.string_at(v.ptr, 24) == table.tobytes()
    assert Cuda(lambda: driver).constant(np.zeros((0, 3)), GPU).shape == (0, 3)


def test_the_host_runs_in_memory_of_its_own() -> None:
    seen = []

    def launch(status: int, workspace: int, naming: bool, kept: int) -> None:
        seen.append(workspace)
        writes(1, 2, 3)(status, workspace, naming, kept)

    assert list(HOST.run(launch, 3, 64, [], "numpy", arrays.CPU)) == [1, 2, 3]
    assert seen[0] % arrays.ALIGNMENT == 0


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


# -- calls that do not wait -------------------------------------------------------------------------------------------


def keeping(log: list[Any]) -> Launch:
    """A launch whose kernels keep the record [1, 5, -7]."""

    def launch(status: int, workspace: int, naming: bool, kept: int) -> None:
        log.append(("launch", arrays.LIBRARIES["tvm"].current_stream(GPU)))
        (ctypes.c_int64 * 3).from_address(kept)[:] = [1, 5, -7]

    return launch


def test_a_deferred_call_neither_waits_nor_allocates(driver: FakeDriver) -> None:
    cuda = Cuda(lambda: driver)
    record, room = cuda.record(3, "torch", GPU), cuda.room(3, 64, "torch", GPU)
    assert driver.log[-2:] == [("empty", "torch", (3,), "int64"), ("empty", "torch", (64,), "uint8")]
    driver.log.clear()
    cuda.enqueue(keeping(driver.log), room, record, [an_input("torch")], "torch", GPU)
    assert driver.log == [("push", 1), ("clear", 24, 101), ("launch", 101), "pop"]
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


def test_a_deferred_call_without_checks_only_launches(driver: FakeDriver) -> None:
    cuda = Cuda(lambda: driver)
    room = cuda.room(1, 0, "torch", GPU)
    driver.log.clear()
    cuda.enqueue(writes(0), room, None, [an_input("torch")], "torch", GPU)
    assert driver.log == [("push", 1), "pop"]


def test_what_waits_all_the_same(driver: FakeDriver) -> None:
    """Arrays of two libraries, and a result that its library would read without waiting."""
    cuda = Cuda(lambda: driver)
    record, room = cuda.record(3, "jax", GPU), cuda.room(3, 64, "jax", GPU)
    driver.log.clear()
    cuda.enqueue(keeping(driver.log), room, record, [an_input("cupy")], "jax", GPU)
    assert driver.log == [
        ("push", 1),
        ("synchronize", 200),
        ("clear", 24, 0),
        ("launch", 0),
        ("synchronize", 0),
        "pop",
    ]


def test_a_first_call_is_not_captured(driver: FakeDriver) -> None:
    driver.capturing = {101}
    with pytest.raises(gs.DeviceError, match="call it once before"):
        Cuda(lambda: driver).record(3, "torch", GPU)
    assert not [step for step in driver.log if step[0] in ("empty", "clear")]
    Cuda(lambda: driver).record(3, "cupy", GPU)
