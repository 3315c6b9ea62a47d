"""What happens to an index that is out of range: one enum, one function.

Other threads may write the index while a call runs, so that each look at it finds another value.  A test says nothing, then, of
what a later load gives: every coordinate is brought into its axis where it is used, but for ``trust``, whatever was tested
before.  The step that does it takes the value once.

``raise``  the call raises :class:`~gscompile.errors.BoundsError`; nothing is read or written out of range.
``clip``   the index becomes the nearest valid one.
``wrap``   the index is taken modulo the number of valid ones.
``fill``   a gather gives the fill value, a scatter drops the point.
``trust``  the caller promises that it does not happen; memory outside the tensor is touched if it does.

Before that, a negative index counts from the end once (``negative=True``), as in Python; ``wrap`` needs no such step.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from gscompile.errors import ArgumentError
from gscompile.ir import tir as T
from gscompile.ir.tir import Expr


class Bounds(Enum):
    """Policies for an index out of range."""

    RAISE = "raise"
    CLIP = "clip"
    WRAP = "wrap"
    FILL = "fill"
    TRUST = "trust"


def bounds(spec: str | Bounds, op: str) -> Bounds:
    """The policy a user named."""
    try:
        return Bounds(spec)
    except ValueError:
        raise ArgumentError(f"{op}: unknown bounds {spec!r}; known: {', '.join(p.value for p in Bounds)}") from None


@dataclass(frozen=True, slots=True)
class Start:
    """Where a point begins on one axis: the coordinate, and whether the index was in range (None: it always is)."""

    coord: Expr
    ok: Expr | None


class When(Enum):
    """When the indices of a gather under ``raise`` are found to be in range, or not.

    ``NEVER``: nothing can be raised: an index out of range means the nearest valid one.  ``BEFORE``: those that a nest reads
    were in range.  ``MEANWHILE``: the result is given up where one is not.  With the last two no axis is without a valid
    position.
    """

    NEVER = auto()
    BEFORE = auto()
    MEANWHILE = auto()


FAR = 1 << 62  # no axis is that long, and no sum of it with an extent overflows


def as_int64(value: Expr, sliced: bool) -> Expr:
    """An index of any integer dtype as int64; what is too large for that becomes ``FAR``, which no axis reaches.

    Args:
        sliced: it will be compared with an extent minus a slice's, which TVM turns into a sum on the other side: values near
            the ends of int64 are brought in to ``FAR``, so that the sum cannot overflow.
    """
    dtype = T.dtype_of(value)
    if dtype == "uint64":
        return T.hidden(T.select(value > T.const(FAR, "uint64"), T.const(FAR), T.cast("int64", value)))
    v = T.cast("int64", value)
    # hidden, or TVM would look through the minimum and compare the value itself
    return T.hidden(T.maximum(T.minimum(v, T.const(FAR)), T.const(-FAR))) if sliced and dtype == "int64" else v


def wrapped(value: Expr, size: Expr, negative: bool, sliced: bool) -> Expr:
    """``value`` as int64, counted from the end where it is negative and that is allowed."""
    v = as_int64(value, sliced)
    if not negative or T.dtype_of(value).startswith("uint"):
        return v
    if T.loads_of(v) <= 1:
        return T.select(v < T.const(0), v + size, v)
    # the same; but TVM's simplifier takes a select apart case by case, in time that grows fourteenfold with each gather of a
    # chain of them
    return v + T.sign_bit(v) * size


def in_range(value: Expr, size: Expr, count: Expr, negative: bool, sliced: bool) -> Expr:
    """Whether an index is valid on an axis of extent ``size`` with ``count`` valid starts (``size - slice + 1``)."""
    v = wrapped(value, size, negative, sliced)
    return T.all_of([T.const(0) <= v, v < count])


def clamped(v: Expr, count: Expr) -> Expr:
    """The nearest valid start.

    A number counted from the end, if it was negative, is below a bound that is known, so that a code generator would leave that
    bound out for those, and may load the index twice, for the sign and for the number.
    """
    if not T.loads_of(v):
        return T.maximum(T.minimum(v, count - 1), T.const(0))
    return inside(T.maximum(_as_read(v), T.const(0)), _unknown(count))


def _unknown(count: Expr) -> Expr:
    """A count of which the code generator knows nothing."""
    return count if T.constant_value(count) is None else T.opaque(count)


def inside(v: Expr, count: Expr) -> Expr:
    """``v`` where it is a valid start, otherwise another one: as an unsigned number a negative one is too large, too.

    Of two starts LLVM would ask which, and make vectors of conditions.  467,000 int8 picked of rows of 2: 0.50 ms, so 0.34.
    """
    starts = _unknown(count) if T.constant_value(count) == 2 else count
    last = T.cast("uint64", T.maximum(starts - 1, T.const(0)))
    return T.cast("int64", T.minimum(T.cast("uint64", _as_read(v)), last))


def _as_read(v: Expr) -> Expr:
    """What is about to be clamped: hidden where it is loaded, or TVM would leave the clamp out under a condition on that load."""
    return T.hidden(v) if T.loads_of(v) else v


def excess(value: Expr, size: Expr, count: Expr, negative: bool, sliced: bool) -> Expr:
    """An int64 that is 0 just where :func:`in_range` holds, without a comparison: the cheapest test for vectors."""
    v = wrapped(value, size, negative, sliced)
    beyond = T.xor(v, inside(v, count))
    known = T.constant_value(count)
    return beyond if known is not None and known > 0 else beyond | T.cast("int64", count <= 0)


def resolve(
    value: Expr, size: Expr, count: Expr, policy: Bounds, negative: bool, *, sliced: bool, checked: When
) -> Start:
    """The start that an index value means.

    Args:
        value: the index as read, of any integer dtype.
        size: the axis's extent, int64.
        count: how many starts are valid: ``size - slice + 1``.
        sliced: a point takes more than one element on this axis.
        checked: of ``raise``: when the index is found to be in range.
    """
    if policy is Bounds.WRAP:
        safe = T.maximum(count, T.const(1))  # an empty axis is reported by its own check, never divided by
        if T.dtype_of(value) == "uint64":
            start = T.cast("int64", T.truncmod(value, T.cast("uint64", safe)))
        else:  # what TVM makes of a floormod contains the value several times
            start = T.once(value, lambda v: T.floormod(T.cast("int64", v), safe))
        # A remainder is made of the value and its quotient, and a code generator may load the value twice for them; if it
        # knew the bound, it would find the remainder below it, and leave the clamp out.
        return Start(inside(start, _unknown(safe)) if T.loads_of(value) else start, None)
    v = wrapped(value, size, negative, sliced)
    if policy is Bounds.TRUST or (policy is Bounds.RAISE and checked is When.BEFORE and not T.loads_of(v)):
        return Start(v, None)
    if policy is Bounds.FILL:
        return Start(inside(v, count), T.all_of([T.const(0) <= v, v < count]))
    if policy is Bounds.RAISE and checked is not When.NEVER:
        return Start(inside(v, count), None)
    return Start(clamped(v, count), None)
