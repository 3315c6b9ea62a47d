"""Where a module's kernels run: their scratch memory, and their status read back.

``HOST`` runs them on the calling thread.  ``Cuda`` launches them on the stream that the caller's library is using, with
scratch memory from that library's allocator, which hands memory out in the order of that stream.  A call returns when its
kernels are launched, unless index checks have to be read back, or the library has no stream to be ordered on.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

import numpy as np

from gscompile.errors import DeviceError
from gscompile.ir.status import FAILED
from gscompile.ir.types import DTYPES
from gscompile.runtime import arrays
from gscompile.runtime.arrays import LIBRARIES, Array, Device, View

Launch: TypeAlias = Callable[[int, int, bool], None]
"""(address of status, address of workspace, whether kernels are only to name the index of which a check has noted the place)"""

Status: TypeAlias = "ctypes.Array[ctypes.c_int64]"


class Runner(Protocol):
    """A kind of device."""

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


class Host:
    """The CPU.

    Attributes:
        names_later: kernels only note the place of an index out of range, and are called again to say what stands there.
    """

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
        launch(ctypes.addressof(record), address, False)
        if self.names_later and record[FAILED]:
            launch(ctypes.addressof(record), address, True)
        return record


class AsDevice(Host):
    """The CPU, for kernels of a GPU."""

    names_later = True


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


def stream_in_use(device: Device, stream: int) -> AbstractContextManager[Any]:
    """A context in which TVM's host code launches the kernels for a device on a stream."""
    import tvm_ffi

    context: AbstractContextManager[Any] = tvm_ffi.use_raw_stream(tvm_ffi.device(*device), stream)
    return context


class Cuda:
    """CUDA devices."""

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
            nbytes = int(np.prod(v.shape, dtype=np.int64)) * v.dtype.itemsize
            if nbytes:
                driver.to_device(there.ptr, v.ptr, nbytes)
        return there

    def run(
        self, launch: Launch, status: int, workspace: int, inputs: Sequence[View], kind: str, device: Device
    ) -> Status:
        driver = self._driver()
        record = (ctypes.c_int64 * status)()
        with driver.current(device[1]):
            stream = LIBRARIES[kind].current_stream(device)
            for other in {LIBRARIES[v.kind].current_stream(device) for v in inputs} - {stream}:
                driver.synchronize(other)  # another library may still be computing an input
            _, found = arrays.empty(kind, (status,), DTYPES["int64"], device)
            _, scratch = arrays.empty(kind, (max(workspace, 1),), DTYPES["uint8"], device)
            if status > 1:
                driver.clear(found.ptr, ctypes.sizeof(record), stream)
            with self._in_use(device, stream):
                launch(found.ptr, scratch.ptr, False)
            if status > 1:
                driver.to_host(ctypes.addressof(record), found.ptr, ctypes.sizeof(record), stream)
                if record[FAILED]:
                    with self._in_use(device, stream):
                        launch(found.ptr, scratch.ptr, True)
                    driver.to_host(ctypes.addressof(record), found.ptr, ctypes.sizeof(record), stream)
            elif not LIBRARIES[kind].stream_ordered:  # it would read the result without waiting
                driver.synchronize(stream)
        return record


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
