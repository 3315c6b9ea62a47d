"""NumPy arrays: viewed, made at an aligned address, and as the means to copy what any library has in cpu memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gscompile.errors import DTypeError
from gscompile.ir.types import DTYPES, DType
from gscompile.runtime.arrays.views import CPU, View, make, unsupported
from gscompile.runtime.extension import extension

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALIGNMENT = 64  # of NumPy storage made here: one AVX-512 vector, one cache line, and what JAX adopts without copying


def _pointer_by_interface(x: NDArray[Any]) -> int:
    address: int = x.__array_interface__["data"][0]
    return address


# The address of an ndarray's first element.  In Python a dict or an object is built for it, which takes 1 us.
_pointer: Callable[[NDArray[Any]], int] = _pointer_by_interface if extension is None else extension.address

# by NumPy's dtype, also that of a JAX or CuPy array; ml_dtypes' bfloat16 is added when it is first met
NUMPY_DTYPES: dict[Any, DType] = {np.dtype(name): d for name, d in DTYPES.items() if name != "bfloat16"}
_NUMPY_TYPES: dict[str, Any] = {d.name: np_type for np_type, d in NUMPY_DTYPES.items()}


def numpy_dtype(np_type: Any) -> DType:
    """The DType of a NumPy dtype that is not in the table.

    Raises:
        DTypeError: it is none of gscompile's, or its bytes are swapped.
    """
    if not np_type.isnative:
        raise DTypeError(f"dtype {np_type.newbyteorder('=')} with swapped bytes ({np_type.str}) is not supported")
    if np_type.name == "bfloat16" and np_type.itemsize == 2:
        NUMPY_DTYPES[np_type] = DTYPES["bfloat16"]
        return DTYPES["bfloat16"]
    raise unsupported(str(np_type))


def view_ndarray(x: NDArray[Any]) -> View:
    try:
        dtype = NUMPY_DTYPES[x.dtype]
    except KeyError:
        dtype = numpy_dtype(x.dtype)
    if x.flags.carray:  # C order, aligned and writable
        return make(View, (_pointer(x), x.shape, dtype, CPU, True, False, x, "numpy", None))
    flags = x.flags
    fits = flags.c_contiguous and flags.aligned
    strides = None if fits else x.strides
    return make(View, (_pointer(x), x.shape, dtype, CPU, fits, not flags.writeable, x, "numpy", strides))


def empty_ndarray(shape: tuple[int, ...], dtype: DType, align: int = ALIGNMENT) -> tuple[NDArray[Any], int]:
    """Uninitialised NumPy storage and its address, a multiple of ``align``."""
    raw = np.empty(math.prod(shape) * dtype.itemsize + align - 1, np.uint8)
    address = _pointer(raw)
    offset = -address % align
    try:
        np_type = _NUMPY_TYPES[dtype.name]
    except KeyError:
        np_type = _NUMPY_TYPES[dtype.name] = dtype.numpy
    return np.ndarray(shape, np_type, raw, offset), address + offset


def copied(v: View, align: int) -> View:
    """A C-ordered copy of an array in cpu memory, in NumPy storage."""
    storage = DTYPES["uint16"] if v.dtype.name == "bfloat16" else v.dtype
    out, ptr = empty_ndarray(v.shape, storage, max(align, ALIGNMENT))
    copy = View(ptr, v.shape, v.dtype, v.device, True, False, out, v.kind)
    copy_bits(copy, v)
    return copy


def copy_bits(dst: View, src: View) -> None:
    """Copy an array in cpu memory into another of its shape and type."""
    np.copyto(_bits(dst), _bits(src))


class _Memory:
    """Memory that NumPy makes an array of, and that the array then keeps alive."""

    def __init__(self, v: View) -> None:
        self.view = v
        self.__array_interface__ = {
            "version": 3,
            "data": (v.ptr, v.readonly),
            "shape": v.shape,
            "strides": v.strides,
            "typestr": np.dtype(f"u{v.dtype.itemsize}").str,
        }


def _bits(v: View) -> NDArray[Any]:
    """An array in cpu memory as NumPy array of its shape and strides, elements as unsigned integers of their size.

    Copying bits needs no ml_dtypes for bfloat16, and takes every library's cpu arrays.
    """
    return np.asarray(_Memory(v))
