"""Python's numbers and nested lists, as NumPy arrays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gscompile.errors import DTypeError, ShapeError
from gscompile.ir.types import DTYPES, DType
from gscompile.runtime.arrays.views import Array, type_name, unsupported

if TYPE_CHECKING:
    from numpy.typing import NDArray

_UNTYPED = (bool, int, float, complex, str, bytes, list, tuple, range)
_EXACT = 1 << 53  # integers up to here are themselves in float64


def is_value(x: object) -> bool:
    """Whether ``x`` is a number, text or a list: readable as an array, but with no storage to write to."""
    return isinstance(x, (np.generic, *_UNTYPED)) or x is None


def as_array(x: Array, dtype: DType | None = None) -> Array:
    """Python numbers and nested lists as a NumPy array, of type ``dtype`` if given; arrays as they are.

    Integers must be exact in ``dtype``, floats convert to any float type (rounding, but not past its largest value),
    bools to any type.  Without ``dtype`` NumPy's own rule holds: bool, int64 (uint64 from 2^63), float64.  A NumPy
    scalar becomes a 0-d array of its own type.

    Raises:
        DTypeError: a value does not fit ``dtype``, or is no number.
        ShapeError: the lists are ragged.
    """
    if isinstance(x, np.generic):  # np.float64 is a Python float too
        return np.asarray(x)
    if not isinstance(x, _UNTYPED):
        return x
    try:
        values = np.asarray(x)
    except ValueError as e:
        raise ShapeError(f"the nested lists have no one shape: {e}") from e
    except TypeError as e:
        raise DTypeError(f"the nested lists hold something that is no number: {e}") from e
    known = DTYPES.get(values.dtype.name)
    if known is not None and not known.native:  # of ml_dtypes' scalars
        return values if dtype is None else _convert(x, values.astype(np.float32), dtype)
    if values.dtype.kind == "O" and values.size and all(isinstance(v, (int, float)) for v in values.flat):
        # NumPy has no type for integers past uint64.
        if dtype is None:
            raise DTypeError(f"integers beyond 64 bits are not supported; got {_largest(values)}")
    elif values.dtype.kind not in "biufc":
        raise unsupported(str(values.dtype))
    return values if dtype is None else _convert(x, values, dtype)


def _largest(values: NDArray[Any]) -> object:
    return max((v for v in values.flat if isinstance(v, int)), key=abs)


def _convert(x: Array, values: NDArray[Any], dtype: DType) -> NDArray[Any]:
    """``values``, made from the Python values ``x``, in another type."""
    kind = values.dtype.kind
    if dtype.is_complex:
        return _to_complex(values, dtype)
    if kind == "c" and values.size:
        raise DTypeError(f"a complex number does not convert to {dtype}; got {values.flat[0]}")
    if values.size == 0:
        return np.empty(values.shape, dtype.numpy)
    if kind == "b":
        return values.astype(dtype.numpy)
    if kind == "O" or (kind in "iuf" and dtype.kind != "b" and not _is_small(values)):
        # NumPy has rounded integers that stand beside floats, or beside ones that no one type holds.
        return _convert_each(np.array(x, dtype=object), dtype)
    if dtype.kind == "b" or (kind == "f" and not dtype.is_float):
        what = "a float" if kind == "f" else "an integer"
        raise DTypeError(f"{what} does not convert to {dtype}; got {values.flat[0]}")
    if dtype.is_integer:
        for v in (int(values.min()), int(values.max())):
            if not dtype.min <= v <= dtype.max:
                raise _does_not_fit(v, dtype)
        return values.astype(dtype.numpy)
    with np.errstate(over="ignore"):
        out = values.astype(dtype.numpy)
    wide = out.astype(np.float64)
    wrong = wide != values if kind != "f" else np.isinf(wide) & np.isfinite(values)
    if wrong.any():
        raise _does_not_fit(values[wrong].flat[0], dtype)
    return out


def _to_complex(values: NDArray[Any], dtype: DType) -> NDArray[Any]:
    """Like ``_convert``, each part for itself."""
    out = np.empty(values.shape, dtype.numpy)
    for part, given in ((out.real, values.real), (out.imag, values.imag)):
        part[...] = _convert(given.tolist(), np.asarray(given), dtype.real)
    return out


def _is_small(values: NDArray[Any]) -> bool:
    """Whether no integer among the values has been rounded: all are below 2^53, infinite or NaN."""
    if values.dtype.kind == "f":
        values = values[np.isfinite(values)]
        return bool((np.abs(values) < _EXACT).all())
    return int(values.min()) >= -_EXACT and int(values.max()) <= _EXACT


def _convert_each(values: NDArray[Any], dtype: DType) -> NDArray[Any]:
    """Like ``_convert``, from an array of Python objects, one at a time."""
    for v in values.flat:
        if not isinstance(v, (bool, int, float, np.generic)):
            raise DTypeError(f"expected numbers; got {type_name(v)}")
        if dtype.is_integer and not isinstance(v, (int, np.integer, np.bool_)):
            raise DTypeError(f"a float does not convert to {dtype}; got {v}")
        if dtype.is_integer and not dtype.min <= int(v) <= dtype.max:
            raise _does_not_fit(v, dtype)
    if dtype.is_integer:
        return values.astype(dtype.numpy)
    try:
        with np.errstate(over="ignore"):
            out = values.astype(np.float64).astype(dtype.numpy)
    except OverflowError:
        raise _does_not_fit(_largest(values), dtype) from None
    for v, got in zip(values.flat, out.astype(np.float64).flat, strict=True):
        # Python compares a float with an int exactly; NumPy would round the int first.
        if float(got) != int(v) if isinstance(v, (int, np.integer)) else math.isinf(got) and not math.isinf(v):
            raise _does_not_fit(v, dtype)
    return out


def _does_not_fit(value: object, dtype: DType) -> DTypeError:
    return DTypeError(f"the value {value} does not fit {dtype}")
