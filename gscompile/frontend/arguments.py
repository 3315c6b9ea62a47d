"""A user's arguments: numbers, flags and axes, read and checked."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

import numpy as np

from gscompile.errors import ArgumentError, DTypeError, GSError, ShapeError
from gscompile.ir.types import DType

T = TypeVar("T")
Scalar: TypeAlias = bool | int | float
Operand: TypeAlias = Any  # a Value, a Python scalar, or an array


def int_of(op: str, argument: str, x: Any) -> int:
    """A user's int; a bool or a float is not one."""
    if isinstance(x, (bool, np.bool_)) or not hasattr(x, "__index__"):
        raise ArgumentError(f"{op}: {argument} must be an int; got {x!r}")
    return operator.index(x)


def ints_of(op: str, argument: str, x: Any) -> list[int]:
    """A user's sequence of ints."""
    return [int_of(op, argument, a) for a in list_of(op, argument, x, "ints")]


def list_of(op: str, argument: str, x: Any, what: str) -> list[Any]:
    """A user's sequence of ``what``; a str is not one."""
    if isinstance(x, (str, bytes)) or not isinstance(x, Iterable):
        raise ArgumentError(f"{op}: {argument} must be a sequence of {what}; got {x!r}")
    return named(op, argument, list, x)


def named(op: str, argument: str, read: Callable[[Any], T], x: Any) -> T:
    """``read(x)``, whose errors are made to name the operator and the argument."""
    try:
        return read(x)
    except GSError as e:
        raise type(e)(f"{op}: {argument}: {e}") from None


def axis_of(op: str, argument: str, axis: Any, rank: int) -> int:
    """A user's axis as a number in ``[0, rank)``; negative counts from the end."""
    a = int_of(op, argument, axis)
    if not -rank <= a < rank:
        raise ShapeError(f"{op}: {argument} must be in [{-rank}, {rank - 1}] for rank {rank}; got {a}")
    return a % rank


def axes_of(op: str, argument: str, axis: Any, rank: int) -> tuple[int, ...]:
    """A user's axes (one, several, or None for all) as sorted numbers, each once."""
    if axis is None:
        return tuple(range(rank))
    given = list(axis) if isinstance(axis, Iterable) else [axis]
    found = [axis_of(op, argument, a, rank) for a in given]
    if len(set(found)) != len(found):
        raise ShapeError(f"{op}: {argument} names an axis twice: {tuple(given)}")
    return tuple(sorted(found))


def scalar_of(x: Any, d: DType, op: str) -> Scalar:
    """A Python scalar that ``d`` can hold."""
    if hasattr(x, "item"):
        x = x.item()
    if not isinstance(x, (bool, int, float)):
        raise DTypeError(f"{op}: a scalar is needed; got {x!r}")
    if d.kind == "b":
        if x not in (0, 1):
            raise DTypeError(f"{op}: {x!r} does not fit {d}")
        return bool(x)
    if d.is_integer:
        if (isinstance(x, float) and (not math.isfinite(x) or x != int(x))) or not d.min <= int(x) <= d.max:
            raise DTypeError(f"{op}: {x!r} does not fit {d}")
        return int(x)
    return float(x)


def flag(op: str, argument: str, x: Any) -> bool:
    """A user's True or False."""
    if not isinstance(x, (bool, np.bool_)):
        raise ArgumentError(f"{op}: {argument} must be True or False; got {x!r}")
    return bool(x)
