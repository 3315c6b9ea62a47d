"""Arrays of a library that has the DLPack C exchange API, written with ctypes."""

from __future__ import annotations

import ctypes
from typing import Any

from gscompile.runtime.arrays import DLTensor


class Exchange(ctypes.Structure):
    """``DLPackExchangeAPI``."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("functions", ctypes.c_void_p * 5),
    )


FILL = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))
STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
NAME = b"dlpack_exchange_api"
new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)


def library(**changes: Any) -> Any:
    """A class of arrays that another library might have; changes of what it tells of them through its C table.

    ``Array.changes``: the same, which may be changed later on.
    """

    class Array:
        __dlpack_c_exchange_api__: Any = None

        def __init__(self, x: Any) -> None:
            self.x, self.extents = x, (ctypes.c_int64 * x.ndim)(*x.shape)
            self.steps = (ctypes.c_int64 * x.ndim)(*[s // x.itemsize for s in x.strides])

        def __dlpack__(self, **keywords: Any) -> Any:
            return self.x.__dlpack__(**keywords)

    def fill(x: Any, to: Any) -> int:
        t = to[0]
        if changes.get("fails"):
            return -1
        t.data, t.byte_offset = x.x.ctypes.data - 8, 8
        t.device_type, t.device_id, t.ndim = changes.get("device", 1), changes.get("number", 0), x.x.ndim
        t.code, t.bits, t.lanes = (2 if x.x.dtype.kind == "f" else 0), x.x.itemsize * 8, changes.get("lanes", 1)
        t.shape = x.extents
        t.strides = x.steps if changes.get("strides", True) else None
        return 0

    def current(type: int, number: int, stream: Any) -> int:
        assert (type, number) == (changes["device"], changes["number"])
        stream[0] = changes["stream"]
        return int(changes.get("no_stream", False))

    function, stream = FILL(fill), STREAM(current)
    functions = (ctypes.c_void_p * 5)(*[ctypes.cast(f, ctypes.c_void_p) for f in (*[function] * 4, stream)])
    table = Exchange(changes.get("major", 1), 3, None, functions)
    Array.keep = newest = [function, stream, table]  # type: ignore[attr-defined]
    if "newer" in changes:
        newest.append(Exchange(2, 0, ctypes.addressof(table)))
    Array.__dlpack_c_exchange_api__ = new_capsule(ctypes.addressof(newest[-1]), NAME, None)
    Array.changes = changes  # type: ignore[attr-defined]
    FOREVER.append(newest)
    return Array


FOREVER: list[Any] = []  # a table lives as long as the process
