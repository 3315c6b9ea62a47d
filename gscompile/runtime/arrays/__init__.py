"""Other libraries' arrays: where their storage is, and new storage in their kind.

A compiled kernel takes raw pointers to C-ordered storage.  ``view`` finds the pointer, shape, type and device of an
array without copying it, ``contiguous`` copies only where a kernel could not read the storage in place, and ``empty``
and ``finish`` make a result in the library that its caller uses.

Each library is a subclass of ``Library`` in a file of its own, and an entry of ``LIBRARIES``.  None but NumPy is
imported to look at an array: its class is looked for in ``sys.modules``, and only when an array of a type that was not
seen before arrives.

Work on a cuda device is not ordered here beyond what a library does by itself when asked for a pointer: the caller
launches kernels on a stream that comes after the arrays' producers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from gscompile.errors import ArgumentError, DeviceError, DTypeError, GSError, OutOfMemoryError, ShapeError
from gscompile.ir.dims import shape_str
from gscompile.ir.types import DType
from gscompile.runtime.arrays.capsule import DLTensor
from gscompile.runtime.arrays.cupy import CuPy
from gscompile.runtime.arrays.dlpack import DLPack
from gscompile.runtime.arrays.jax import Jax
from gscompile.runtime.arrays.library import Library
from gscompile.runtime.arrays.ndarray import ALIGNMENT, view_ndarray
from gscompile.runtime.arrays.numpy import NumPy
from gscompile.runtime.arrays.torch import Torch
from gscompile.runtime.arrays.tvm import TVM
from gscompile.runtime.arrays.values import as_array, is_value
from gscompile.runtime.arrays.views import CPU, Array, Device, View, Viewer, is_aligned, type_name

# by ``View.kind``, in the order in which they are asked whether an array is theirs
LIBRARIES: dict[str, Library] = {
    library.name: library for library in (NumPy(), Torch(), Jax(), CuPy(), TVM(), DLPack())
}

# by type, what ``view`` does; filled as types arrive
VIEWERS: dict[type, Viewer] = {np.ndarray: NumPy.view}

_Made = TypeVar("_Made")
_STORAGE = View._fields.index("owner")  # what stands before it says where and what the elements are


def view(x: Array) -> View:
    """The storage of an array of any library; never a copy of it.

    Python scalars and nested lists, and objects that only NumPy can read, are made into NumPy arrays first.

    Raises:
        DTypeError: the element type is not one of gscompile's, its bytes are swapped, or ``x`` is no array.
        DeviceError: the storage is not on one cpu or cuda device, or is not strided (sparse, meta, sharded arrays).
        ArgumentError: the array has no storage of its own to read, or hides some of it (traced, masked).
    """
    viewer = VIEWERS.get(type(x))
    return viewer(x) if viewer is not None else _view_new_type(x)


def operand(x: Array) -> View:
    """``view`` of an array that is to be computed with.

    Raises:
        ArgumentError: its library would have recorded the computation to take derivatives, which gscompile does not.
        What ``view`` raises.
    """
    v = view(x)
    if LIBRARIES[v.kind].records(x):
        raise ArgumentError(
            "the tensor requires grad, and no derivative is recorded here: pass x.detach(), or call under torch.no_grad()"
        )
    return v


def stands(x: Array, v: View) -> bool:
    """Whether an array still is where, and what, a view of it says."""
    try:
        return view(x)[:_STORAGE] == v[:_STORAGE]
    except GSError:
        return False


def _view_new_type(x: Array) -> View:
    """``view`` of an array whose type was not met before; remembers the libraries' own types."""
    if x is not None and is_value(x):
        return view_ndarray(np.asarray(as_array(x)))
    for library in LIBRARIES.values():
        if library.owns(x):
            viewer = library.viewer(x)
            if library.has_types:
                VIEWERS[type(x)] = viewer
            return viewer(x)
    if _numpy_reads(x):
        return view_ndarray(np.asarray(x))
    raise DTypeError(f"expected an array, a number or a nested list of numbers; got {type_name(x)}")


def _numpy_reads(x: object) -> bool:
    """Whether NumPy makes an array of an object that has no ``__dlpack__``."""
    if isinstance(x, type):
        return False
    if any(hasattr(x, f"__array{how}__") for how in ("", "_interface", "_struct")):
        return True
    try:
        memoryview(x)  # type: ignore[arg-type]
    except (TypeError, BufferError):
        return False
    return True


def contiguous(v: View, x: Array, align: int = 0) -> View:
    """The view ``v`` of ``x`` if a kernel can read it in place, at a multiple of ``align``; else one of a C-order copy.

    The copy is on the same device and has the same ``kind``; on the cpu its owner may be a NumPy array whatever the
    kind.  It is writable, and is not written back to ``x``.

    Raises:
        DeviceError: ``x`` is a cuda array whose library gives no means to copy it.
        OutOfMemoryError: there is no room for a copy.
    """
    if v.contiguous and is_aligned(v, align):
        return v
    return _allocated(lambda: LIBRARIES[v.kind].copy(v, x, align), v.shape, v.dtype)


def empty(kind: str, shape: tuple[int, ...], dtype: DType, device: Device = CPU) -> tuple[Array, View]:
    """Uninitialised C-ordered storage of a library, and its view; pass the array through ``finish`` when it is filled.

    NumPy storage starts at a multiple of 64 bytes.  A JAX array cannot be written, so on the cpu its storage is NumPy's
    until ``finish``; ``dlpack``, an array of no library in particular, is a NumPy array on the cpu and TVM's on cuda.

    Raises:
        DeviceError: the library has no such device.
        DTypeError: the library has no such type.
        OutOfMemoryError: there is no room for it.
        MissingExtraError: ``dtype`` is bfloat16 or narrower, the storage is NumPy's and ml_dtypes is not installed.
    """
    if device[0] not in ("cpu", "cuda"):
        raise DeviceError(f"expected the device cpu or cuda; got {device[0]}")
    try:
        library = LIBRARIES[kind]
    except KeyError:
        raise ArgumentError(f"unknown kind of array {kind!r}; known: {', '.join(LIBRARIES)}") from None
    return _allocated(lambda: library.empty(shape, dtype, device), shape, dtype)


def _allocated(make: Callable[[], _Made], shape: tuple[int, ...], dtype: DType) -> _Made:
    """What ``make`` gives; where it fails, the error that there is no room."""
    try:
        return make()
    except GSError:
        raise
    except (MemoryError, RuntimeError, ValueError) as e:  # NumPy's, PyTorch's and JAX's, and NumPy's past 63 bits
        raise OutOfMemoryError(f"no room for an array of shape {shape_str(shape)}, {dtype}: {e}") from e


def finish(kind: str, array: Array) -> Array:
    """What a caller gets for the storage from ``empty(kind, ...)``: ``array`` itself, or for JAX an array of its own.

    JAX adopts NumPy storage without copying, so nobody may write it any more.
    """
    return LIBRARIES[kind].finish(array)


def copy_into(dst_array: Array, dst: View, src_array: Array, src: View) -> None:
    """Copy a result into an array of a caller who wants it there; ``dst`` and ``src`` are the arrays' views.

    The libraries may differ on the cpu.  The two must not overlap.

    Raises:
        ShapeError, DTypeError, DeviceError: the two differ in shape, type or device.
        ArgumentError: the destination is read-only, or several of its elements lie in the same place.
    """
    if dst.shape != src.shape:
        raise ShapeError(f"cannot copy an array of shape {shape_str(src.shape)} into one of {shape_str(dst.shape)}")
    if dst.dtype is not src.dtype and dst.dtype != src.dtype:
        raise DTypeError(f"cannot copy an array of {src.dtype} into one of {dst.dtype}")
    if dst.device != src.device:
        raise DeviceError(f"cannot copy an array on {src.device} into one on {dst.device}")
    if dst.readonly:
        raise ArgumentError(f"cannot copy into a {dst.kind} array that is read-only")
    if dst.strides and any(extent > 1 and not stride for extent, stride in zip(dst.shape, dst.strides, strict=True)):
        raise ArgumentError("cannot copy into an array whose elements share storage (a broadcast view)")
    if 0 in dst.shape:
        return
    if dst.kind != src.kind and src.device[0] == "cpu":
        src = contiguous(src, src_array)  # only its library knows what the elements of a strided array are
    LIBRARIES[dst.kind].fill(dst_array, dst, src_array, src)


__all__ = [
    "ALIGNMENT",
    "CPU",
    "LIBRARIES",
    "VIEWERS",
    "Array",
    "DLTensor",
    "Device",
    "Library",
    "View",
    "as_array",
    "contiguous",
    "copy_into",
    "empty",
    "finish",
    "is_value",
    "operand",
    "stands",
    "view",
]
