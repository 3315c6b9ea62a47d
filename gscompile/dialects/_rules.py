"""Rules that dialects share: what an operand may be, and the error where it is not."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Number
from typing import Any

import numpy as np

from gscompile.errors import DTypeError, GSError, ShapeError
from gscompile.frontend.builder import builder_of
from gscompile.frontend.computations import computation
from gscompile.ir.computation import Computation
from gscompile.ir.dims import shape_str
from gscompile.ir.graph import Value
from gscompile.ir.ops.reductions import Reduction, variant
from gscompile.ir.types import DType
from gscompile.runtime import arrays

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = (*SIGNED, *UNSIGNED)
FLOATS = ("float16", "bfloat16", "float32", "float64")


def need_dtype(op: str, argument: str, x: Value, allowed: Collection[str]) -> None:
    """Raises DTypeError unless ``x`` has one of some dtypes."""
    if x.dtype.name not in allowed:
        raise DTypeError(f"{op}: {argument} must have dtype {' or '.join(allowed)}; got {x.dtype}")


def need_same_dtype(op: str, a: str, x: Value, b: str, y: Value) -> None:
    """Raises DTypeError unless two operands have one dtype."""
    if x.dtype != y.dtype:
        raise DTypeError(f"{op}: {a} and {b} must have one dtype; got {x.dtype} and {y.dtype}")


def need_real(op: str, argument: str, x: Value) -> None:
    """Raises DTypeError where ``x`` is complex."""
    if x.dtype.is_complex:
        raise DTypeError(f"{op}: {argument} of dtype {x.dtype} is not supported")


def need_rank(op: str, argument: str, x: Value, low: int, high: int | None = None) -> None:
    """Raises ShapeError unless ``x`` has a rank in ``[low, high]``; with ``high`` left out, ``low`` exactly."""
    high = low if high is None else high
    if not low <= x.rank <= high:
        rule = str(low) if low == high else f"{low} to {high}"
        raise ShapeError(f"{op}: {argument} must have rank {rule}; got shape {shape_str(x.shape)}")


def without_nan(x: Value, reduction: str) -> Value:
    """What a ``min`` or ``max`` that ignores NaN takes in place of ``x``: NaN becomes the infinity that changes nothing."""
    if not x.dtype.is_float:
        return x
    b = builder_of(x)
    return b.where(b.isnan(x), float("inf") if reduction == "min" else float("-inf"), x)


def beaten(reduction: str) -> str | Reduction:
    """A reduction by name, whose min or max of values :func:`without_nan` is C's ``new < old ? new : old``, or with ``>``.

    This is :func:`compared` with ``stays``, but in any order, so that cuda does it with atomics.
    """
    return variant(reduction, zeros="first") if reduction in ("min", "max") else rounding(reduction)


def limits(x: Value) -> tuple[float, float]:
    """The lowest and the highest finite value of a dtype."""
    if not x.dtype.is_float:
        return x.dtype.min, x.dtype.max
    bfloat16 = x.dtype.name == "bfloat16"
    highest = float.fromhex("0x1.fep127") if bfloat16 else float(np.finfo(x.dtype.name).max)
    return -highest, highest


def from_zero(x: Value) -> Value:
    """What a sum that begins with 0.0 takes in place of ``x`` where it begins with ``x``: 0.0 for -0.0."""
    if x.dtype.is_complex:
        return x + 0
    return builder_of(x).where(x == 0, 0, x) if x.dtype.is_float else x


def rounding(reduction: str) -> str | Reduction:
    """A reduction by name, in which sums and products of 16-bit floats round at every step."""
    return variant(reduction, stepwise=True) if reduction in ("add", "sub", "mul", "mean") else reduction


def jax_fill(dtype: DType, fill_value: Any) -> Any:
    """What JAX gives for a point out of range: a number, cast; or NaN, the smallest int, the largest unsigned one, True."""
    if fill_value is not None:
        if not isinstance(fill_value, Number):
            raise DTypeError(f"fill_value must be a number; got {fill_value!r}")
        if dtype.kind == "b":
            return bool(fill_value)
        number: Any = fill_value
        if isinstance(fill_value, complex) and not dtype.is_complex:
            number = fill_value.real
        return int(number) if dtype.is_integer else number
    if dtype.is_float or dtype.is_complex:
        return float("nan")
    return dtype.min if dtype.kind == "i" else dtype.max


def compared(op: str, reduction: str, dtype: DType, *, stays: bool = False) -> str | Reduction:
    """A reduction by name, whose min or max of floats is C's ``old < new ? old : new``, or with ``>``.

    A comparison with NaN fails: one that arrives replaces what is there, and is replaced by what comes next.

    Args:
        stays: ``new < old ? new : old`` instead, of which NaN that is there stays, and one that arrives is ignored.
    """
    if reduction not in ("min", "max") or not dtype.is_float:
        return rounding(reduction)

    def step(old: Value, new: Value) -> Value:
        a, b = (new, old) if stays else (old, new)
        return builder_of(a).where(a < b if reduction == "min" else a > b, a, b)

    found = computation(op, step, [dtype])
    assert not isinstance(found, Computation)
    return found[0]


def ordered_by_parts(op: str, reduction: str, dtype: DType) -> Reduction:
    """``min`` or ``max`` of complex numbers as XLA has it: a part decides by one comparison, which NaN fails."""

    def step(old: Value, new: Value) -> Value:
        b = builder_of(old)
        wins = b.lt if reduction == "min" else b.gt
        (a, c), (x, y) = ((b.real(v), b.imag(v)) for v in (old, new))
        return b.where(b.where(a == x, wins(c, y), wins(a, x)), old, new)

    found = computation(op, step, [dtype])
    assert not isinstance(found, Computation)
    return found[0]


def truncated_quotient(total: Value, count: Value) -> Value:
    """``total / count`` of integers, rounded towards zero; ``count`` is positive."""
    b = builder_of(total)
    floor = total // count
    return b.where(b.logical_and(total < 0, floor * count != total), floor + 1, floor)


def dtype_of(op: str, argument: str, x: Any) -> DType:
    """The dtype of a value or an array."""
    if isinstance(x, Value):
        return x.dtype
    try:
        return arrays.view(arrays.as_array(x)).dtype
    except GSError as e:
        raise type(e)(f"{op}: {argument}: {e}") from e
