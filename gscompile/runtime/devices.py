"""Where a module's kernels run: their scratch memory, and what their checks have found read back.

``HOST`` runs them on the calling thread.  ``Cuda`` launches them on the stream that the caller's library is using, with
scratch memory from that library's allocator, which hands memory out in the order of that stream.  A call returns when its
kernels are launched, unless index checks have to be read back, or the library has no stream to be ordered on.

A GPU's kernels note what they find in a status record of zeros.  The last one of a call, a thread, puts that in a record that
outlives the call, unless an earlier call has, and makes the status zeros again (:mod:`gscompile.runtime.checks`).
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

from gscompile.errors import DeviceError
from gscompile.ir.status import FAILED
from gscompile.ir.types import DTYPES
from gscompile.runtime import arrays
from gscompile.runtime.arrays import LIBRARIES, Array, Device, View

Launch: TypeAlias = Callable[[int, int, int], None]
"""(address of status, address of workspace, address of the record that outlives the call, 0 for none)"""

Status: TypeAlias = "ctypes.Array[ctypes.c_int64]"


@dataclass(slots=True, eq=False)
class Room:
    """A status record of zeros and scratch memory on a device, for one call at a time.

    Attributes:
        stream: whose order its calls are in; None: it was made, and is cleared, by a CUDA graph.
        one: held while a call is launched.
        fast: calls that are checked in C use it, which hold no lock.
    """

    status: View
    workspace: View
    stream: int | None
    one: threading.Lock = field(default_factory=threading.Lock)
    fast: bool = False


class Runner(Protocol):
    """A kind of device.

    Attributes:
        keeps: kernels keep what a check has found in a record that outlives the call: it is a :class:`Keeper`.
    """

    keeps: bool

    def constant(self, array: Array, device: Device) -> View:
        """The storage of a constant on a device, to be kept for all calls."""


class Keeper(Runner, Protocol):
    """A kind of device whose kernels keep what a check has found."""

    def record(self, length: int, kind: str, device: Device) -> View:
        """A record of zeros that outlives calls, of a library's memory.

        Raises:
            DeviceError: a call is being captured in a CUDA graph, which would clear it at each launch.
        """

    def stream(self, kind: str, device: Device) -> int | None:
        """Where a library's work goes; None where that is being captured in a CUDA graph, which has memory of its own."""

    def room(self, status: int, workspace: int, kind: str, device: Device) -> Room:
        """Memory for a call: numbers of its status record, bytes of scratch memory, from a library."""

    def enqueue(
        self, launch: Launch, room: Room, kept: View | None, inputs: Sequence[View], kind: str, device: Device
    ) -> None:
        """Call ``launch`` with a room, and wait for nothing.  Where it raises, the room's status is zeros again.

        Args:
            kept: the record that outlives the call, None where nothing is checked.
            inputs: what the kernels read.
            kind: the library whose arrays receive the result.
        """

    def take(self, record: View, device: Device, kind: str | None = None) -> Status:
        """What a record says once all is done that was launched on the device, or on a library's stream; then it says nothing."""

    def driver_addresses(self) -> tuple[int, ...] | None:
        """Of what the extension for calls needs of the driver; None where it cannot launch kernels."""

    def context(self, device: Device) -> int:
        """The address of the context in which kernels run."""


class Host:
    """The CPU."""

    keeps = False

    def run(self, launch: Launch, status: int, workspace: int) -> Status:
        """Call ``launch`` with scratch memory, and give what it wrote to a status record of so many numbers."""
        record = (ctypes.c_int64 * status)()
        scratch = host_scratch(workspace) if workspace else None
        launch(ctypes.addressof(record), 0 if scratch is None else scratch.ctypes.data, 0)
        return record

    def constant(self, array: Array, device: Device) -> View:
        v = arrays.view(array)
        if v.device != device:
            raise DeviceError(f"a constant is on {v.device[0]}:{v.device[1]}, the call on {device[0]}:{device[1]}")
        return v if v.contiguous else arrays.contiguous(v, array)


class AsDevice(Host):
    """The CPU, for kernels of a GPU."""

    keeps = True

    def __init__(self) -> None:
        self._one = threading.Lock()  # plain code instead of an atomic keeps a record

    def record(self, length: int, kind: str, device: Device) -> View:
        array, v = arrays.empty("numpy", (length,), DTYPES["int64"])
        array[...] = 0
        return v

    def stream(self, kind: str, device: Device) -> int | None:
        return 0

    def room(self, status: int, workspace: int, kind: str, device: Device) -> Room:
        return Room(self.record(status, kind, device), arrays.empty("numpy", (workspace,), DTYPES["uint8"])[1], 0)

    def enqueue(
        self, launch: Launch, room: Room, kept: View | None, inputs: Sequence[View], kind: str, device: Device
    ) -> None:
        with self._one:
            try:
                launch(room.status.ptr, room.workspace.ptr, 0 if kept is None else kept.ptr)
            except BaseException:
                ctypes.memset(room.status.ptr, 0, _nbytes(room.status))
                raise

    def take(self, record: View, device: Device, kind: str | None = None) -> Status:
        found: Status = (ctypes.c_int64 * record.shape[0])()
        with self._one:
            ctypes.memmove(found, record.ptr, _nbytes(record))
            ctypes.memset(record.ptr, 0, _nbytes(record))
        return found

    def driver_addresses(self) -> tuple[int, ...] | None:
        return None

    def context(self, device: Device) -> int:
        return 0


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

    def context(self, device: int) -> int:
        """The address of the context that CUDA's runtime uses on a device."""
        return self._context(device).value or 0

    def addresses(self) -> tuple[int, ...]:
        """Of the functions that the extension for calls needs (``_fastcall_gpu.h``)."""
        context = "cuCtxGetCurrent", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2"
        stream = "cuStreamIsCapturing", "cuMemcpyDtoHAsync_v2", "cuMemsetD8Async", "cuStreamSynchronize"
        return tuple(ctypes.cast(self._library[name], ctypes.c_void_p).value or 0 for name in (*context, *stream))

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

    keeps = True

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

    @staticmethod
    def _ready(driver: Driver, inputs: Sequence[View], kind: str, device: Device) -> int:
        """The stream for a call, once the inputs are complete there."""
        stream = LIBRARIES[kind].current_stream(device)
        for other in {LIBRARIES[v.kind].current_stream(device) for v in inputs} - {stream}:
            driver.synchronize(other)  # another library may still be computing an input
        return stream

    def driver_addresses(self) -> tuple[int, ...] | None:
        return self._driver().addresses() if self._in_use is stream_in_use else None

    def context(self, device: Device) -> int:
        return self._driver().context(device[1])

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

    def stream(self, kind: str, device: Device) -> int | None:
        driver = self._driver()
        with driver.current(device[1]):
            stream = LIBRARIES[kind].current_stream(device)
            return None if driver.captures(stream) else stream

    def room(self, status: int, workspace: int, kind: str, device: Device) -> Room:
        driver = self._driver()
        with driver.current(device[1]):
            _, found = arrays.empty(kind, (status,), DTYPES["int64"], device)
            _, scratch = arrays.empty(kind, (max(workspace, 1),), DTYPES["uint8"], device)
            stream = LIBRARIES[kind].current_stream(device)
            driver.clear(found.ptr, _nbytes(found), stream)
            return Room(found, scratch, None if driver.captures(stream) else stream)

    def enqueue(
        self, launch: Launch, room: Room, kept: View | None, inputs: Sequence[View], kind: str, device: Device
    ) -> None:
        driver = self._driver()
        with driver.current(device[1]):
            stream = self._ready(driver, inputs, kind, device)
            try:
                with self._in_use(device, stream):
                    launch(room.status.ptr, room.workspace.ptr, 0 if kept is None else kept.ptr)
            except BaseException:  # the kernel that makes the status zeros may not have been launched
                driver.clear(room.status.ptr, _nbytes(room.status), stream)
                raise
            if not LIBRARIES[kind].stream_ordered:  # it would read the result without waiting
                driver.synchronize(stream)

    def take(self, record: View, device: Device, kind: str | None = None) -> Status:
        driver = self._driver()
        found: Status = (ctypes.c_int64 * record.shape[0])()
        with driver.current(device[1]):
            if kind is None:
                driver.synchronize_all()
            stream = 0 if kind is None else LIBRARIES[kind].current_stream(device)
            driver.to_host(ctypes.addressof(found), record.ptr, ctypes.sizeof(found), stream)
            if found[FAILED]:
                driver.clear(record.ptr, ctypes.sizeof(found), stream)
                driver.synchronize(stream)
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
