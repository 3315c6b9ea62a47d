"""A user's arguments: numbers, flags and axes, read and checked."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

import numpy as np

from gscompile.errors import ArgumentError, DTypeError, GSError, ShapeError
from gscompile.ir.types import DType, OpaqueDType

T = TypeVar("T")
Scalar: TypeAlias = bool | int | float | complex
NUMBERS = (bool, int, float, complex)
Operand: TypeAlias = Any  # a Value, a Python scalar, or an array


def int_of(op: str, argument: str, x: Any) -> int:
    """A user's int, NumPy's and arrays of one integer without axes included; a bool or a float is not one."""
    found = index_of(x)
    if found is None:
        raise ArgumentError(f"{op}: {argument} must be an int; got {x!r}")
    return found


def index_of(x: Any) -> int | None:
    """What is an int where Python wants one, and no bool; None if ``x`` is something else."""
    if isinstance(x, bool) or "bool" in str(getattr(x, "dtype", "")):
        return None
    try:
        return operator.index(x)
    except TypeError:
        return None


class Unsaid(int):
    """A default that can be told from an equal number that a user gave."""


FIRST = Unsaid(0)


def one_axis(op: str, dim: int, axis: int) -> int:
    """The axis that a user named as ``dim`` or as ``axis``, which mean the same; ``FIRST`` stands for what was not given.

    Raises:
        ArgumentError: both were given.
    """
    if dim is not FIRST and axis is not FIRST:
        raise ArgumentError(f"{op}: dim and axis are two names of one argument; got dim={dim!r} and axis={axis!r}")
    return dim if axis is FIRST else axis


def ints_of(op: str, argument: str, x: Any) -> list[int]:
    """A user's sequence of ints."""
    return [int_of(op, argument, a) for a in list_of(op, argument, x, "ints")]


def list_of(op: str, argument: str, x: Any, what: str) -> list[Any]:
    """A user's sequence of ``what``; a str is not one."""
    if isinstance(x, (str, bytes)) or not isinstance(x, Iterable) or getattr(x, "ndim", None) == 0:
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


def one_or_many(x: Any) -> list[Any]:
    """What a user gave as one thing or as a sequence, as a list; a str is one, and so is an array without axes."""
    return list(x) if isinstance(x, Iterable) and not isinstance(x, str) and getattr(x, "ndim", True) else [x]


def axes_of(op: str, argument: str, axis: Any, rank: int) -> tuple[int, ...]:
    """A user's axes (one, several, or None for all) as sorted numbers, each once."""
    if axis is None:
        return tuple(range(rank))
    given = one_or_many(axis)
    found = [axis_of(op, argument, a, rank) for a in given]
    if len(set(found)) != len(found):
        raise ShapeError(f"{op}: {argument} names an axis twice: {tuple(given)}")
    return tuple(sorted(found))


def scalar_of(x: Any, d: DType, op: str) -> Any:
    """A Python scalar that ``d`` can hold; of a dtype that is moved only, the element's bytes."""
    if isinstance(d, OpaqueDType):
        return _bytes_of(x, d, op)
    if hasattr(x, "item"):
        x = x.item()
    if not isinstance(x, NUMBERS):
        raise DTypeError(f"{op}: a scalar is needed; got {x!r}")
    if d.is_complex:
        return complex(x)
    if isinstance(x, complex):
        raise DTypeError(f"{op}: {x!r} does not fit {d}")
    if d.kind == "b":
        if x not in (0, 1):
            raise DTypeError(f"{op}: {x!r} does not fit {d}")
        return bool(x)
    if d.is_integer:
        if (isinstance(x, float) and (not math.isfinite(x) or x != int(x))) or not d.min <= int(x) <= d.max:
            raise DTypeError(f"{op}: {x!r} does not fit {d}")
        return int(x)
    return float(x)


def _bytes_of(x: Any, d: OpaqueDType, op: str) -> bytes:
    """Whatever NumPy makes an element of; the number 0 is zero bytes."""
    if type(x) in (bool, int, float) and x == 0:
        return bytes(d.itemsize)
    try:
        element = np.asarray(x, d.described)
    except (TypeError, ValueError, OverflowError) as e:
        raise DTypeError(f"{op}: {x!r} is no element of {d}: {e}") from None
    if element.shape:
        raise DTypeError(f"{op}: one element is needed; got {x!r}")
    return element.tobytes()


def flag(op: str, argument: str, x: Any) -> bool:
    """A user's True or False."""
    if not isinstance(x, (bool, np.bool_)):
        raise ArgumentError(f"{op}: {argument} must be True or False; got {x!r}")
    return bool(x)
