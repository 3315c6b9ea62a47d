"""``View``: where the storage of an array is, whatever library it is of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from gscompile.errors import DTypeError
from gscompile.ir.types import DTYPES, DType

Array: TypeAlias = Any  # an array of whatever library
Device: TypeAlias = tuple[str, int]

CPU: Device = ("cpu", 0)


class View(NamedTuple):
    """What a kernel needs to know of an array.  It is a tuple because that costs a sixth of a frozen dataclass to make.

    Attributes:
        ptr: address of the element at index (0, ..., 0); may be 0 where there are no elements.
        shape: the extents; () for a 0-d array.
        dtype: the element type, in native byte order.
        device: ``("cpu", 0)`` or ``("cuda", k)``.
        contiguous: whether a kernel can use the storage in place: C order, no gaps (axes of size 1 and arrays without
            elements never make one), every element at a multiple of its size.
        readonly: whether the storage must not be written.
        owner: keeps the storage alive.
        kind: the library, ``numpy``, ``torch``, ``jax``, ``cupy``, ``tvm`` or ``dlpack``.
        strides: bytes from one element to the next along each axis; None where ``contiguous``.  Not enough to read the
            elements of a torch tensor, which may be negated lazily: ``contiguous()`` resolves that.
    """

    ptr: int
    shape: tuple[int, ...]
    dtype: DType
    device: Device
    contiguous: bool
    readonly: bool
    owner: object
    kind: str
    strides: tuple[int, ...] | None = None


Viewer: TypeAlias = Callable[[Array], View]

make = tuple.__new__  # make(View, (...)) skips NamedTuple's own __new__, which doubles the cost


def strided(
    ptr: int,
    shape: tuple[int, ...],
    dtype: DType,
    device: Device,
    strides: tuple[int, ...] | None,
    readonly: bool,
    owner: object,
    kind: str,
) -> View:
    """A view of an array that is given by its strides in bytes; None is C order."""
    if strides is None:
        strides = c_strides(shape, dtype.itemsize)
    fits = _fits(ptr, shape, strides, dtype.itemsize)
    return View(ptr, shape, dtype, device, fits, readonly, owner, kind, None if fits else strides)


def c_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Strides in bytes of C order."""
    strides = []
    step = itemsize
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def _fits(ptr: int, shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    """``View.contiguous`` of an array that is given by its strides in bytes."""
    if 0 in shape:
        return True
    step = itemsize
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1:
            if stride != step:
                return False
            step *= extent
    return ptr % itemsize == 0


def is_aligned(v: View, align: int) -> bool:
    """Whether the storage begins at a multiple of ``align``; storage without elements may begin anywhere."""
    return align <= 1 or v.ptr % align == 0 or 0 in v.shape


def unsupported(name: str) -> DTypeError:
    """The error for an element type that is none of gscompile's."""
    return DTypeError(f"dtype {name} is not supported; supported: {', '.join(DTYPES)}")


def type_name(x: object) -> str:
    """The name of an object's type, for an error."""
    return f"{type(x).__module__}.{type(x).__qualname__}".removeprefix("builtins.")
