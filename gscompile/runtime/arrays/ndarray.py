"""NumPy arrays: viewed, made at an aligned address, and as the means to copy what any library has in cpu memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gscompile.ir.types import DTYPES, DType, OpaqueDType, of_numpy
from gscompile.runtime.arrays.views import CPU, View, make
from gscompile.runtime.extension import extension

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALIGNMENT = 64  # of NumPy storage made here: one AVX-512 vector, one cache line, and what JAX adopts without copying


def _pointer_by_interface(x: NDArray[Any]) -> int:
    address: int = x.__array_interface__["data"][0]
    return address


# The address of an ndarray's first element.  In Python a dict or an object is built for it, which takes 1 us.
_pointer: Callable[[NDArray[Any]], int] = _pointer_by_interface if extension is None else extension.address

# by NumPy's dtype, also that of a JAX or CuPy array; those of ml_dtypes are added when they are first met
NUMPY_DTYPES: dict[Any, DType] = {np.dtype(name): d for name, d in DTYPES.items() if d.native}
_NUMPY_TYPES: dict[str, Any] = {d.name: np_type for np_type, d in NUMPY_DTYPES.items()}


def numpy_dtype(np_type: Any) -> DType:
    """The DType of a NumPy dtype that is not in the table.

    Raises:
        DTypeError: its elements are objects, have no size, or are none that gscompile reads.
    """
    found = of_numpy(np_type)
    if not isinstance(found, OpaqueDType):  # of those, two that NumPy takes for equal may have other metadata
        NUMPY_DTYPES[np_type] = found
    return found


def view_ndarray(x: NDArray[Any]) -> View:
    try:
        dtype = NUMPY_DTYPES[x.dtype]
    except KeyError:
        dtype = numpy_dtype(x.dtype)
    if dtype.kind == "V":
        return _view_opaque(x, dtype)
    ptr = _pointer(x)
    apart = dtype.is_complex and ptr % 8 != 0  # kernels move complex64 as one number, NumPy aligns it as two
    if x.flags.carray and not apart:  # C order, aligned and writable
        return make(View, (ptr, x.shape, dtype, CPU, True, False, x, "numpy", None))
    flags = x.flags
    fits = flags.c_contiguous and flags.aligned and not apart
    strides = None if fits else x.strides
    return make(View, (ptr, x.shape, dtype, CPU, fits, not flags.writeable, x, "numpy", strides))


def _view_opaque(x: NDArray[Any], dtype: DType) -> View:
    """NumPy asks for no alignment of most such elements; a kernel moves words."""
    assert isinstance(dtype, OpaqueDType)
    ptr, flags = _pointer(x), x.flags
    fits = flags.c_contiguous and (ptr % dtype.word.itemsize == 0 or x.size == 0)
    return make(View, (ptr, x.shape, dtype, CPU, fits, not flags.writeable, x, "numpy", None if fits else x.strides))


def empty_ndarray(shape: tuple[int, ...], dtype: DType, align: int = ALIGNMENT) -> tuple[NDArray[Any], int]:
    """Uninitialised NumPy storage and its address, a multiple of ``align``."""
    raw = np.empty(math.prod(shape) * dtype.itemsize + align - 1, np.uint8)
    address = _pointer(raw)
    offset = -address % align
    try:
        np_type = _NUMPY_TYPES[dtype.name] if dtype.kind != "V" else dtype.numpy
    except KeyError:
        np_type = _NUMPY_TYPES[dtype.name] = dtype.numpy
    return np.ndarray(shape, np_type, raw, offset), address + offset


def copied(v: View, align: int) -> View:
    """A C-ordered copy of an array in cpu memory, in NumPy storage."""
    storage = v.dtype if v.dtype.native else DTYPES[v.dtype.tir]  # needs no ml_dtypes
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
            "typestr": f"|V{v.dtype.itemsize}"
            if v.dtype.kind == "V" or v.dtype.itemsize > 8
            else np.dtype(f"u{v.dtype.itemsize}").str,
        }


def _bits(v: View) -> NDArray[Any]:
    """An array in cpu memory as NumPy array of its shape and strides, elements as unsigned integers of their size.

    Copying bits needs no ml_dtypes, and takes every library's cpu arrays.
    """
    return np.asarray(_Memory(v))
