"""Where NumPy's arrays and Python's tuples keep what they hold, for code that reads it without their help.

NumPy's C headers read these members (``PyArray_DATA``, ``PyArray_DIMS``...) from inline code in every extension module, so
where they stand is part of its binary interface; :func:`is_known` tries it before it is relied on.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from typing import Any

import numpy as np
from numpy.typing import NDArray

# In bytes.  The address of the data, as the number of a tuple's items, follows any object's head: its count and its type.
HEAD = object.__basicsize__
TYPE, DATA, RANK, EXTENTS, DTYPE, FLAGS = HEAD - 8, HEAD, HEAD + 8, HEAD + 16, HEAD + 40, HEAD + 48
ITEMS = tuple.__basicsize__

ROW_MAJOR, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400  # of ndarray.flags.num


def is_known() -> bool:
    """Whether arrays and tuples are laid out as expected, found by trying; only CPython's ``id`` is an address."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    if np.ndarray.__basicsize__ < FLAGS + 4:
        return False
    base = np.zeros((4, 6), np.int16)
    probes = (base, base[1:, 2:], base[::-1], base.T, np.zeros(()), np.zeros((0, 3), np.float32), np.zeros(2, ">f8"))
    count, items = _words(id(probes) + HEAD, 1), _words(id(probes) + ITEMS, len(probes))
    return count == [len(probes)] and items == [id(x) for x in probes] and all(map(_matches, probes))


def _matches(x: NDArray[Any]) -> bool:
    at, short = id(x), ctypes.c_int32.from_address
    (kind,), (data,), (dtype,) = (_words(at + offset, 1) for offset in (TYPE, DATA, DTYPE))
    if (kind, data, dtype) != (id(np.ndarray), x.__array_interface__["data"][0], id(x.dtype)):
        return False
    if (short(at + RANK).value, short(at + FLAGS).value) != (x.ndim, x.flags.num):
        return False
    return not x.ndim or _words(_words(at + EXTENTS, 1)[0], x.ndim) == list(x.shape)


def _words(address: int, count: int) -> list[int]:
    return list((ctypes.c_int64 * count).from_address(address))
