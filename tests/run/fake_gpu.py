"""A CUDA device for the C extension: a driver of ctypes callbacks, and arrays on the host that say they are on the device."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from ctypes import CFUNCTYPE, POINTER, c_int, c_int32, c_size_t, c_ubyte, c_uint64, c_void_p
from typing import Any

import numpy as np

from gscompile.ir.status import FAILED
from gscompile.runtime.fastcall import extension
from tests.run.exchange import library

CONTEXT, STREAM, NUMBER = 1001, 77, 1
LENGTH = 4  # of records
UNCHECKED, CHECKED = 1, -1  # what a kernel is told of threads


class Argument(ctypes.Structure):
    """``TVMFFIAny``."""

    _fields_ = (("type", c_int32), ("zero", ctypes.c_uint32), ("value", ctypes.c_int64))


def array_type(**changes: Any) -> Any:
    """A class of arrays on the device that the extension reads and writes."""
    Array = library(device=2, number=NUMBER, stream=STREAM, **changes)
    if extension is not None:
        extension.register(Array, Array.__dlpack_c_exchange_api__, (), True, None, True)
    return Array


Tensor = array_type()  # at most 32 types are ever read: one for all tests
Other = array_type()


class Machine:
    """A driver, and a kernel that keeps what it is called with.

    Attributes:
        log: what the driver was asked for, without questions.
        fails: names of functions that report an error.
        calls: arguments of the kernel.
        kernel: what it does.
        current: the context of the calling thread.
        stream: TVM's stream for the device.
    """

    def __init__(self) -> None:
        self.log: list[Any] = []
        self.fails: set[str] = set()
        self.calls: list[list[int]] = []
        self.kernel: Callable[[list[int]], int] = lambda arguments: 0
        self.capturing: set[int] = set()
        self.stream = 5
        self._contexts = threading.local()
        at = c_void_p, c_uint64
        functions = [
            (self._set_stream, c_int32, c_int32, c_void_p, POINTER(c_void_p)),
            (self._context, POINTER(c_void_p)),
            (self._push, c_void_p),
            (self._pop, POINTER(c_void_p)),
            (self._captures, c_void_p, POINTER(c_int)),
            (self._to_host, *at, c_size_t, c_void_p),
            (self._clear, c_uint64, c_ubyte, c_size_t, c_void_p),
            (self._synchronize, c_void_p),
            (self._call, c_void_p, POINTER(Argument), c_int32, c_void_p),
        ]
        self._kept = [CFUNCTYPE(c_int, *types)(function) for function, *types in functions]
        *self.gpu, self.call = (ctypes.cast(f, c_void_p).value or 0 for f in self._kept)

    @property
    def current(self) -> int:
        return getattr(self._contexts, "stack", [CONTEXT])[-1]

    @current.setter
    def current(self, context: int) -> None:
        self._contexts.stack = [context]

    def _done(self, name: str, *what: Any) -> int:
        self.log.append((name, *what) if what else name)
        return int(name in self.fails)

    def _set_stream(self, type: int, number: int, stream: int | None, before: Any) -> int:
        assert (type, number) == (2, NUMBER)
        if before:
            before[0] = self.stream
        self.stream = stream or 0
        return self._done("stream", self.stream)

    def _context(self, to: Any) -> int:
        to[0] = self.current
        return int("context" in self.fails)

    def _push(self, context: int) -> int:
        if "push" not in self.fails:
            self._contexts.stack = [*getattr(self._contexts, "stack", [CONTEXT]), context]
        return self._done("push", context)

    def _pop(self, to: Any) -> int:
        to[0] = self._contexts.stack.pop()
        return self._done("pop")

    def _captures(self, stream: int | None, to: Any) -> int:
        to[0] = stream in self.capturing
        return int("captures" in self.fails)

    def _to_host(self, to: int, address: int, nbytes: int, stream: int) -> int:
        ctypes.memmove(to, address, nbytes)
        return self._done("to_host", nbytes, stream)

    def _clear(self, address: int, value: int, nbytes: int, stream: int) -> int:
        ctypes.memset(address, value, nbytes)
        return self._done("clear", nbytes, stream)

    def _synchronize(self, stream: int) -> int:
        return self._done("synchronize", stream)

    def _call(self, function: int, arguments: Any, count: int, result: int) -> int:
        found = [arguments[k].value for k in range(count)]
        self.calls.append(found)
        self.log.append(("kernel", self.stream, self.current))
        return self.kernel(found)


class Owner:
    """Of a place's memory: a status, a record that outlives the call, scratch memory, and the host's copy."""

    def __init__(self) -> None:
        self.status, self.kept, self.host = (np.zeros(LENGTH, np.int64) for _ in range(3))
        self.scratch = np.zeros(64, np.uint8)

    def there(self, *, checked: bool = True, waits: bool = True, stream: int = STREAM) -> Any:
        at = [x.ctypes.data for x in (self.status, self.kept, self.scratch, self.host)]
        at[1] *= checked
        at[3] *= waits
        return (stream, CONTEXT, *at, 8 * LENGTH, self)


def fast_call(machine: Machine, slow: Callable[..., Any], **options: Any) -> Any:
    """A function of the machine's kernel."""
    assert extension is not None
    function = options.pop("keep", machine)
    return extension.FastCall(machine.call, 9, function, 0, LENGTH, slow, tuple(machine.gpu), **options)


def finds(record: int) -> int:
    """What a kernel does that finds an index out of range; 0."""
    ctypes.c_int64.from_address(record + 8 * FAILED).value = 1
    return 0
