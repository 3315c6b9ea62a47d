"""Where a module's kernels run: their scratch memory, and their status read back.

``HOST`` runs them on the calling thread.  ``Cuda`` launches them on the stream that the caller's library is using, with
scratch memory from that library's allocator, which hands memory out in the order of that stream.  A call returns when its
kernels are launched, unless index checks have to be read back, or the library has no stream to be ordered on.

Where calls do not wait for their checks (:mod:`gscompile.runtime.deferred`), each launches a last kernel that puts what it has
found in a record that outlives it, unless an earlier call has.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

from gscompile.errors import DeviceError
from gscompile.ir.status import FAILED
from gscompile.ir.types import DTYPES
from gscompile.runtime import arrays
from gscompile.runtime.arrays import LIBRARIES, Array, Device, View

Launch: TypeAlias = Callable[[int, int, bool, int], None]
"""(address of status, address of workspace, whether kernels are only to name the index of which a check has noted the place,
address of the record that outlives the call, 0 for none)"""

Status: TypeAlias = "ctypes.Array[ctypes.c_int64]"


@dataclass(frozen=True, slots=True)
class Room:
    """A status record and scratch memory on a device, for one call at a time."""

    status: View
    workspace: View


class Runner(Protocol):
    """A kind of device.

    Attributes:
        names_later: kernels only note the place of an index out of range, and are called again to say what stands there, or
            keep it in a record that outlives the call.
    """

    names_later: bool

    def constant(self, array: Array, device: Device) -> View:
        """The storage of a constant on a device, to be kept for all calls."""

    def run(
        self, launch: Launch, status: int, workspace: int, inputs: Sequence[View], kind: str, device: Device
    ) -> Status:
        """Call ``launch`` with scratch memory, and give what it wrote to status.

        Args:
            status: length of the status record, int64.  A record of length 1 says nothing and need not be waited for.
            workspace: bytes of scratch memory.
            inputs: what the kernels read.
            kind: the library whose arrays receive the result.
        """


class Keeper(Runner, Protocol):
    """A kind of device whose kernels can keep what a check has found."""

    def record(self, length: int, kind: str, device: Device) -> View:
        """A record of zeros that outlives calls, of a library's memory.

        Raises:
            DeviceError: a call is being captured in a CUDA graph, which would clear it at each launch.
        """

    def room(self, status: int, workspace: int, kind: str, device: Device) -> Room:
        """Memory for a call: numbers of its status record, bytes of scratch memory, from a library."""

    def enqueue(
        self, launch: Launch, room: Room, kept: View | None, inputs: Sequence[View], kind: str, device: Device
    ) -> None:
        """As ``run``, but wait for nothing; ``kept``: the record that outlives the call, None where nothing is checked."""

    def take(self, record: View, device: Device) -> Status:
        """What a record says once all that was launched on the device is done; it says nothing afterwards."""


class Host:
    """The CPU."""

    names_later = False

    def constant(self, array: Array, device: Device) -> View:
        v = arrays.view(array)
        if v.device != device:
            raise DeviceError(f"a constant is on {v.device[0]}:{v.device[1]}, the call on {device[0]}:{device[1]}")
        return v if v.contiguous else arrays.contiguous(v, array)

    def run(
        self, launch: Launch, status: int, workspace: int, inputs: Sequence[View], kind: str, device: Device
    ) -> Status:
        record = (ctypes.c_int64 * status)()
        scratch = host_scratch(workspace) if workspace else None
        address = 0 if scratch is None else scratch.ctypes.data
        launch(ctypes.addressof(record), address, False, 0)
        if self.names_later and record[FAILED]:
            launch(ctypes.addressof(record), address, True, 0)
        return record


class AsDevice(Host):
    """The CPU, for kernels of a GPU."""

    names_later = True

    def __init__(self) -> None:
        self._one = threading.Lock()  # plain code instead of an atomic keeps a record

    def record(self, length: int, kind: str, device: Device) -> View:
        array, v = arrays.empty("numpy", (length,), DTYPES["int64"])
        array[...] = 0
        return v

    def room(self, status: int, workspace: int, kind: str, device: Device) -> Room:
        return Room(self.record(status, kind, device), arrays.empty("numpy", (workspace,), DTYPES["uint8"])[1])

    def enqueue(
        self, launch: Launch, room: Room, kept: View | None, inputs: Sequence[View], kind: str, device: Device
    ) -> None:
        with self._one:
            ctypes.memset(room.status.ptr, 0, _nbytes(room.status))
            launch(room.status.ptr, room.workspace.ptr, False, 0 if kept is None else kept.ptr)

    def take(self, record: View, device: Device) -> Status:
        found: Status = (ctypes.c_int64 * record.shape[0])()
        with self._one:
            ctypes.memmove(found, record.ptr, _nbytes(record))
            ctypes.memset(record.ptr, 0, _nbytes(record))
        return found


def _nbytes(v: View) -> int:
    return math.prod(v.shape) * v.dtype.itemsize


def host_scratch(nbytes: int) -> Array:
    """Scratch memory on the CPU."""
    return arrays.empty("numpy", (nbytes,), DTYPES["uint8"])[0]


class Driver:
    """What is needed of CUDA's driver, whose interface all CUDA versions in a process share."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL("libcuda.so.1")
        except OSError as e:
            raise DeviceError(f"the CUDA driver cannot be loaded: {e}") from e
        self._contexts: dict[int, ctypes.c_void_p] = {}
        self._do("cuInit", 0)

    def _do(self, function: str, *args: Any) -> None:
        code = getattr(self._library, function)(*args)
        if code:
            name = ctypes.c_char_p()
            self._library.cuGetErrorName(code, ctypes.byref(name))
            raise DeviceError(f"{function}: {(name.value or b'error').decode()} ({code})")

    def _context(self, device: int) -> ctypes.c_void_p:
        """The context that CUDA's runtime uses on a device."""
        if device not in self._contexts:
            context = ctypes.c_void_p()
            self._do("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
            self._contexts[device] = context
        return self._contexts[device]

    @contextmanager
    def current(self, device: int) -> Iterator[None]:
        """Make a device current in this thread, and the former one afterwards."""
        self._do("cuCtxPushCurrent_v2", self._context(device))
        try:
            yield
        finally:
            self._do("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def to_host(self, to: int, address: int, nbytes: int, stream: int) -> None:
        """Copy in the stream's order, and wait for it."""
        args = (ctypes.c_void_p(to), ctypes.c_uint64(address), ctypes.c_size_t(nbytes), ctypes.c_void_p(stream))
        self._do("cuMemcpyDtoHAsync_v2", *args)
        self.synchronize(stream)

    def clear(self, address: int, nbytes: int, stream: int) -> None:
        """Set to zeros, in the stream's order."""
        args = (ctypes.c_uint64(address), ctypes.c_ubyte(0), ctypes.c_size_t(nbytes), ctypes.c_void_p(stream))
        self._do("cuMemsetD8Async", *args)

    def to_device(self, to: int, address: int, nbytes: int) -> None:
        """Copy, and wait for it."""
        self._do("cuMemcpyHtoD_v2", ctypes.c_uint64(to), ctypes.c_void_p(address), ctypes.c_size_t(nbytes))

    def synchronize(self, stream: int) -> None:
        self._do("cuStreamSynchronize", ctypes.c_void_p(stream))

    def synchronize_all(self) -> None:
        """Wait for all that was launched on the current device."""
        self._do("cuCtxSynchronize")

    def captures(self, stream: int) -> bool:
        """Whether what is launched on a stream becomes part of a CUDA graph."""
        found = ctypes.c_int()
        self._do("cuStreamIsCapturing", ctypes.c_void_p(stream), ctypes.byref(found))
        return found.value != 0


def stream_in_use(device: Device, stream: int) -> AbstractContextManager[Any]:
    """A context in which TVM's host code launches the kernels for a device on a stream."""
    import tvm_ffi

    context: AbstractContextManager[Any] = tvm_ffi.use_raw_stream(tvm_ffi.device(*device), stream)
    return context


class Cuda:
    """CUDA devices."""

    names_later = True

    def __init__(
        self, driver: Callable[[], Driver], in_use: Callable[[Device, int], AbstractContextManager[Any]] = stream_in_use
    ) -> None:
        """``in_use``: a context in which kernels are launched on a stream of a device."""
        self._driver = driver
        self._in_use = in_use

    def constant(self, array: Array, device: Device) -> View:
        v = arrays.view(array)
        if v.device == device:
            return v if v.contiguous else arrays.contiguous(v, array)
        if v.device[0] != "cpu":
            raise DeviceError(f"a constant is on {v.device[0]}:{v.device[1]}, the call on {device[0]}:{device[1]}")
        v = v if v.contiguous else arrays.contiguous(v, array)
        driver = self._driver()
        with driver.current(device[1]):
            _, there = arrays.empty("tvm", v.shape, v.dtype, device)
            if nbytes := _nbytes(v):
                driver.to_device(there.ptr, v.ptr, nbytes)
        return there

    def run(
        self, launch: Launch, status: int, workspace: int, inputs: Sequence[View], kind: str, device: Device
    ) -> Status:
        driver = self._driver()
        record = (ctypes.c_int64 * status)()
        with driver.current(device[1]):
            stream = self._ready(driver, inputs, kind, device)
            room = self.room(status, workspace, kind, device)
            found, scratch = room.status.ptr, room.workspace.ptr
            if status > 1:
                driver.clear(found, ctypes.sizeof(record), stream)
            with self._in_use(device, stream):
                launch(found, scratch, False, 0)
            if status > 1:
                driver.to_host(ctypes.addressof(record), found, ctypes.sizeof(record), stream)
                if record[FAILED]:
                    with self._in_use(device, stream):
                        launch(found, scratch, True, 0)
                    driver.to_host(ctypes.addressof(record), found, ctypes.sizeof(record), stream)
            elif not LIBRARIES[kind].stream_ordered:  # it would read the result without waiting
                driver.synchronize(stream)
        return record

    @staticmethod
    def _ready(driver: Driver, inputs: Sequence[View], kind: str, device: Device) -> int:
        """The stream for a call, once the inputs are complete there."""
        stream = LIBRARIES[kind].current_stream(device)
        for other in {LIBRARIES[v.kind].current_stream(device) for v in inputs} - {stream}:
            driver.synchronize(other)  # another library may still be computing an input
        return stream

    def record(self, length: int, kind: str, device: Device) -> View:
        driver = self._driver()
        with driver.current(device[1]):
            stream = LIBRARIES[kind].current_stream(device)
            if driver.captures(stream):
                raise DeviceError("the first call on a device cannot be captured in a CUDA graph: call it once before")
            _, v = arrays.empty(kind, (length,), DTYPES["int64"], device)
            driver.clear(v.ptr, _nbytes(v), stream)
            driver.synchronize(stream)
        return v

    def room(self, status: int, workspace: int, kind: str, device: Device) -> Room:
        _, found = arrays.empty(kind, (status,), DTYPES["int64"], device)
        _, scratch = arrays.empty(kind, (max(workspace, 1),), DTYPES["uint8"], device)
        return Room(found, scratch)

    def enqueue(
        self, launch: Launch, room: Room, kept: View | None, inputs: Sequence[View], kind: str, device: Device
    ) -> None:
        driver = self._driver()
        with driver.current(device[1]):
            stream = self._ready(driver, inputs, kind, device)
            if kept is not None:
                driver.clear(room.status.ptr, _nbytes(room.status), stream)
            with self._in_use(device, stream):
                launch(room.status.ptr, room.workspace.ptr, False, 0 if kept is None else kept.ptr)
            if not LIBRARIES[kind].stream_ordered:
                driver.synchronize(stream)

    def take(self, record: View, device: Device) -> Status:
        driver = self._driver()
        found: Status = (ctypes.c_int64 * record.shape[0])()
        with driver.current(device[1]):
            driver.synchronize_all()
            driver.to_host(ctypes.addressof(found), record.ptr, ctypes.sizeof(found), 0)
            if found[FAILED]:
                driver.clear(record.ptr, ctypes.sizeof(found), 0)
                driver.synchronize(0)
        return found


_streams = threading.local()


@contextmanager
def stream_of_thread(device: Device, stream: int) -> Iterator[None]:
    """A context in which :func:`thread_stream` gives this stream."""
    before = thread_stream()
    _streams.current = stream
    try:
        yield
    finally:
        _streams.current = before


def thread_stream() -> int:
    """The stream on which this thread launches kernels of exported libraries."""
    return int(getattr(_streams, "current", 0))


@lru_cache(maxsize=1)
def _the_driver() -> Driver:
    return Driver()


HOST = Host()
AS_DEVICE = AsDevice()
CUDA = Cuda(_the_driver)
LIBRARY_CUDA = Cuda(_the_driver, stream_of_thread)
