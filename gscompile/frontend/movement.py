"""Shapes: reshape, transpose, slice and their kin; tensors made from nothing.  Arithmetic on symbolic sizes stays symbolic."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

from gscompile.errors import ArgumentError, DTypeError, ShapeError
from gscompile.frontend.arguments import (
    Operand,
    axes_of,
    axis_of,
    index_of,
    ints_of,
    list_of,
    named,
    one_or_many,
    scalar_of,
)
from gscompile.frontend.draft import stretch
from gscompile.frontend.index import IndexOps
from gscompile.ir.dims import (
    INT64_MAX,
    Dim,
    Opaque,
    Shape,
    SymDim,
    as_dim,
    as_shape,
    at_most_one,
    ceildiv,
    dim_max,
    dim_min,
    exact_quotient,
    product,
    shape_str,
    total,
)
from gscompile.ir.graph import Value
from gscompile.ir.ops.movement import BroadcastTo, Concat, Full, Iota, Pad, Reshape, SizeOf, Slice, Transpose
from gscompile.ir.types import TensorType, promote
from gscompile.ir.types import dtype as as_dtype

Key: TypeAlias = slice  # under its own name, since MovementOps has a method called slice


CONCAT_PARTS = 32
"""Parts of one concatenation, each element of which compares its coordinate with where they begin; more are joined in steps."""


class MovementOps(IndexOps):
    """Operators that move elements without changing them."""

    # -- made from nothing

    def zeros(self, shape: Any, dtype: Any = "float32") -> Value:
        """Zeros of a shape and dtype."""
        return self._full("zeros", shape, 0, dtype)

    def full(self, shape: Any, value: complex, dtype: Any = "float32") -> Value:
        """One value everywhere; it must fit the dtype."""
        return self._full("full", shape, value, dtype)

    def _full(self, method: str, shape: Any, value: complex, dtype: Any) -> Value:
        result = TensorType(named(method, "shape", as_shape, shape), named(method, "dtype", as_dtype, dtype))
        return self.draft.add(Full(scalar_of(value, result.dtype, method)), [], result)

    def constant(self, array: Any, dtype: Any = None, name: str | None = None) -> Value:
        """A fixed array: referenced, not copied, where it is an array of the wanted dtype already."""
        value = self.draft.constant(array, "constant", name)
        return value if dtype is None else self.cast(value, dtype)

    def iota(self, shape: Any, axis: int = 0, dtype: Any = "int64") -> Value:
        """The coordinate on ``axis``."""
        result = TensorType(named("iota", "shape", as_shape, shape), named("iota", "dtype", as_dtype, dtype))
        return self.draft.add(Iota(axis_of("iota", "axis", axis, result.rank)), [], result)

    def size(self, dim: Any, dtype: Any = "int64") -> Value:
        """A size as a scalar tensor: an int, a symbolic size's name, or an entry of some value's ``shape``."""
        result = TensorType((), named("size", "dtype", as_dtype, dtype))
        extent = named("size", "dim", as_dim, dim)
        if isinstance(extent, int) and extent > INT64_MAX:
            raise ShapeError(f"size: an extent must be less than 2^63; got {extent}")
        return self.draft.add(SizeOf(extent), [], result)

    # -- renamed coordinates

    def reshape(self, x: Operand, shape: Any) -> Value:
        """The same elements in row-major order; one extent may be -1."""
        v = self.draft.as_value("reshape", "x", x)
        wanted = one_or_many(shape)
        free = [k for k, d in enumerate(wanted) if index_of(d) == -1]
        if len(free) > 1:
            raise ShapeError(f"reshape: at most one extent may be -1; got {tuple(wanted)}")
        total = product(v.shape)
        if free:
            rest = product(named("reshape", "shape", as_shape, [d for k, d in enumerate(wanted) if k != free[0]]))
            if rest == 0:
                raise ShapeError(f"reshape: -1 is ambiguous beside an extent of 0; got {tuple(wanted)}")
            exact = exact_quotient(total, rest)
            if exact is None and isinstance(total, int) and isinstance(rest, int):
                raise ShapeError(f"reshape: {shape_str(v.shape)} has {total} elements, not a multiple of {rest}")
            wanted[free[0]] = total // rest if exact is None else exact
        out = named("reshape", "shape", as_shape, wanted)
        what = f"reshape: number of elements of {shape_str(v.shape)} and {shape_str(out)}"
        self.draft.require([("==", product(out), total, what)])
        return v if out == v.shape else self.draft.add(Reshape(), [v], TensorType(out, v.dtype))

    def transpose(self, x: Operand, perm: Sequence[int] | None = None) -> Value:
        """Axes in another order: axis k of the result is axis ``perm[k]``; all reversed by default."""
        v = self.draft.as_value("transpose", "x", x)
        wanted = range(v.rank)[::-1] if perm is None else ints_of("transpose", "perm", perm)
        order = tuple(axis_of("transpose", "perm", a, v.rank) for a in wanted)
        if sorted(order) != list(range(v.rank)):
            raise ShapeError(f"transpose: perm must name each of {v.rank} axes once; got {perm}")
        return self.draft.add(Transpose(order), [v], TensorType(tuple(v.shape[a] for a in order), v.dtype))

    def broadcast_to(self, x: Operand, shape: Any) -> Value:
        """Repeat axes of extent 1, and add leading axes."""
        v, out = self.draft.as_value("broadcast_to", "x", x), named("broadcast_to", "shape", as_shape, shape)
        refused = f"broadcast_to: {shape_str(v.shape)} does not broadcast to {shape_str(out)}"
        if v.rank > len(out):
            raise ShapeError(refused)
        for d, wanted in zip(v.shape, out[len(out) - v.rank :], strict=True):
            if d == 1 or d == wanted:
                continue
            if isinstance(d, int) and isinstance(wanted, int):
                raise ShapeError(refused)
            rule = stretch(d, wanted) if isinstance(d, SymDim) and at_most_one(d) else ("==", d, wanted)
            self.draft.require([(*rule, f"broadcast_to: {shape_str(v.shape)} to {shape_str(out)}")])
        return self.draft.add(BroadcastTo(), [v], TensorType(out, v.dtype))

    def squeeze(self, x: Operand, axis: Any = None) -> Value:
        """Drop axes of extent 1: one, several, or for None all that certainly are."""
        v = self.draft.as_value("squeeze", "x", x)
        ones = [a for a, d in enumerate(v.shape) if d == 1]
        drop = ones if axis is None else axes_of("squeeze", "axis", axis, v.rank)
        self.draft.require([("==", v.shape[a], 1, f"squeeze: {shape_str(v.shape)} on axis {a}") for a in drop])
        out = tuple(d for a, d in enumerate(v.shape) if a not in drop)
        return self.draft.add(Reshape(), [v], TensorType(out, v.dtype))

    def unsqueeze(self, x: Operand, axis: Any) -> Value:
        """Add axes of extent 1 at these positions of the result."""
        v = self.draft.as_value("unsqueeze", "x", x)
        wanted = one_or_many(axis)
        rank = v.rank + len(wanted)
        new = axes_of("unsqueeze", "axis", wanted, rank)
        old = iter(v.shape)
        out = tuple(1 if a in new else next(old) for a in range(rank))
        return self.draft.add(Reshape(), [v], TensorType(out, v.dtype))

    def flatten(self, x: Operand, axis: int = 0) -> Value:
        """All axes as one; or, with ``axis`` not 0, those before it and those from it on as two (ONNX)."""
        v = self.draft.as_value("flatten", "x", x)
        (a,) = ints_of("flatten", "axis", [axis])
        if not -v.rank <= a <= v.rank:
            raise ShapeError(f"flatten: axis must be in [{-v.rank}, {v.rank}] for rank {v.rank}; got {a}")
        if a == 0:
            return self.reshape(v, (product(v.shape),))
        return self.reshape(v, (product(v.shape[:a]), product(v.shape[a:])))

    def flip(self, x: Operand, axis: Any = None) -> Value:
        """Reverse the order along one axis, several, or for None all."""
        v = self.draft.as_value("flip", "x", x)
        turned = axes_of("flip", "axis", axis, v.rank)
        starts = tuple(d - 1 if a in turned else 0 for a, d in enumerate(v.shape))
        steps = tuple(-1 if a in turned else 1 for a in range(v.rank))
        return self.draft.add(Slice(starts, steps), [v], v.type)

    def slice(self, x: Operand, starts: Any, stops: Any, axes: Any = None, steps: Any = None) -> Value:
        """``x[start:stop:step]`` on each given axis, with Python's rules for negative and excessive bounds.

        A bound may also be a size (an entry of some value's ``shape``, or a sum of them) that is not negative at any call; the
        step must then be positive.
        """
        v = self.draft.as_value("slice", "x", x)
        starts, stops = list_of("slice", "starts", starts, "ints"), list_of("slice", "stops", stops, "ints")
        axes = range(len(starts)) if axes is None else list_of("slice", "axes", axes, "ints")
        where = [axis_of("slice", "axes", a, v.rank) for a in axes]
        steps = [1] * len(starts) if steps is None else list_of("slice", "steps", steps, "ints")
        if not len(starts) == len(stops) == len(where) == len(steps) or len(starts) > v.rank:
            raise ShapeError("slice: starts, stops, axes and steps must have one entry per axis that is sliced")
        if len(set(where)) != len(where):
            raise ShapeError(f"slice: axes names an axis twice: {tuple(where)}")
        keys = [Key(None)] * v.rank
        for a, begin, end, step in zip(where, starts, stops, steps, strict=True):
            keys[a] = Key(begin, end, step)
        return self._cut(v, [self._slice_of(key, d) for key, d in zip(keys, v.shape, strict=True)])

    def _slice_of(self, key: Key, d: Dim) -> tuple[Dim, int, Dim]:
        for bound in (key.start, key.stop):
            if not (bound is None or never_negative(bound)):
                self.draft.require([("<=", 0 - bound, 0, f"slice: the bound {bound}, negated")])
        return slice_of(key, d)

    def _cut(self, v: Value, cuts: Sequence[tuple[Dim, int, Dim]]) -> Value:
        """Start, step and extent on every axis."""
        starts, steps, extents = zip(*cuts, strict=True) if cuts else ((), (), ())
        return self.draft.add(Slice(starts, steps), [v], TensorType(extents, v.dtype))

    def pad(self, x: Operand, low: Sequence[int], high: Sequence[int], value: complex = 0) -> Value:
        """``low[k]`` elements of ``value`` before axis k and ``high[k]`` after it; negative amounts cut."""
        v = self.draft.as_value("pad", "x", x)
        before, after = ints_of("pad", "low", low), ints_of("pad", "high", high)
        if len(before) != v.rank or len(after) != v.rank:
            raise ShapeError(f"pad: low and high must have {v.rank} entries; got {len(before)} and {len(after)}")
        out = tuple(d + a + b for d, a, b in zip(v.shape, before, after, strict=True))
        refused = f"pad: {shape_str(v.shape)} cannot be cut by {tuple(before)} and {tuple(after)}"
        if any(isinstance(d, int) and d < 0 for d in out):
            raise ShapeError(refused)
        for d, a, b in zip(v.shape, before, after, strict=True):
            if not isinstance(d, int) and a + b < 0:
                self.draft.require([("<=", -a - b, d, refused)])
        return self.draft.add(
            Pad(tuple(before), scalar_of(value, v.dtype, "pad: value")), [v], TensorType(out, v.dtype)
        )

    def concat(self, values: Sequence[Operand], axis: int = 0) -> Value:
        """One after the other along an axis; the other extents agree, dtypes meet as in arithmetic."""
        parts = [
            self.draft.as_value("concat", f"values[{k}]", x)
            for k, x in enumerate(list_of("concat", "values", values, "values"))
        ]
        if not parts:
            raise ArgumentError("concat: at least one value is needed")
        a = axis_of("concat", "axis", axis, parts[0].rank)
        common = parts[0].dtype
        for k, p in enumerate(parts):
            if p.rank != parts[0].rank:
                raise ShapeError(f"concat: values[{k}] must have rank {parts[0].rank}; got {shape_str(p.shape)}")
            common = named("concat", f"values[{k}]", functools.partial(promote, common), p.dtype)
            for i, (d, wanted) in enumerate(zip(p.shape, parts[0].shape, strict=True)):
                if i != a:
                    self.draft.require([("==", d, wanted, f"concat: values[{k}] on axis {i}")])
        parts = [self.cast(p, common) for p in parts]
        while len(parts) > CONCAT_PARTS:
            parts = [self._joined(parts[k : k + CONCAT_PARTS], a) for k in range(0, len(parts), CONCAT_PARTS)]
        return self._joined(parts, a)

    def _joined(self, parts: Sequence[Value], a: int) -> Value:
        """Parts that fit, one after the other along axis ``a``."""
        first = parts[0]
        out: Shape = (*first.shape[:a], total(p.shape[a] for p in parts), *first.shape[a + 1 :])
        return self.draft.add(Concat(a), parts, TensorType(out, first.dtype))

    def stack(self, values: Sequence[Operand], axis: int = 0) -> Value:
        """Along a new axis."""
        parts = [
            self.draft.as_value("stack", f"values[{k}]", x)
            for k, x in enumerate(list_of("stack", "values", values, "values"))
        ]
        if not parts:
            raise ArgumentError("stack: at least one value is needed")
        a = axis_of("stack", "axis", axis, parts[0].rank + 1)
        return self.concat([self.unsqueeze(p, a) for p in parts], a)


def never_negative(bound: Any) -> bool:
    """Whether a dimension can be told to be 0 or more: a sum or product of sizes is, a difference may not be.

    A bound that is no dimension with names in it is left to Python's rules.
    """
    if not isinstance(bound, SymDim):
        return True
    return all(
        c >= 0 and all(isinstance(a, str) or _never_negative(a) for a in monomial) for monomial, c in bound.terms
    )


def _never_negative(atom: Opaque) -> bool:
    known = [never_negative(x) if isinstance(x, SymDim) else x >= 0 for x in (atom.lhs, atom.rhs)]
    return any(known) if atom.kind == "max" else all(known)


LONGEST = 1 << 48  # no axis whose extent only a call brings has as many elements: addresses have 47 bits


def slice_of(key: Key, d: Dim) -> tuple[Dim, int, Dim]:
    """Start, step and extent of a Python slice of an axis of extent ``d``.

    Raises:
        ShapeError: the step is 0.  DTypeError: a bound or the step is not an int.
    """
    for bound in (key.start, key.stop, key.step):
        if isinstance(bound, SymDim) and bound is not key.step:
            continue
        if bound is not None and (isinstance(bound, bool) or not hasattr(bound, "__index__")):
            raise DTypeError(f"slice: bounds and steps must be ints; got {bound!r}")
    step = 1 if key.step is None else operator.index(key.step)
    if step == 0:
        raise ShapeError("slice: step must not be 0")
    if isinstance(d, int) and not (isinstance(key.start, SymDim) or isinstance(key.stop, SymDim)):
        chosen = range(*slice(key.start, key.stop, step).indices(d))
        return chosen.start, step if len(chosen) > 1 else _bounded(step), len(chosen)
    step = _bounded(step)
    if isinstance(key.start, SymDim) or isinstance(key.stop, SymDim):
        if step < 0:
            raise ShapeError(f"slice: a size as a bound needs a positive step; got {key.start}:{key.stop}:{step}")
        return _between(_bound(key.start), _bound(key.stop), d, step)
    start = None if key.start is None else _bounded(key.start)
    stop = None if key.stop is None else _bounded(key.stop)
    if step > 0:
        return _rising(start or 0, stop, d, step)
    return _falling(start, stop, d, step)


def _bounded(x: Any) -> int:
    """An int, or one that means the same of an axis that is not as long, and with which no position in bytes leaves int64."""
    return max(-LONGEST, min(operator.index(x), LONGEST))


def _bound(x: Any) -> Dim | None:
    return x if x is None or isinstance(x, SymDim) else _bounded(x)


def _between(start: Dim | None, stop: Dim | None, d: Dim, step: int) -> tuple[Dim, int, Dim]:
    """A slice whose bounds may be sizes; such a one is not negative."""
    begin = _counted(0 if start is None else start, d)
    end = dim_min(d if stop is None else _counted(stop, d), d)
    length = end if begin == 0 and never_negative(end) else dim_max(end - begin, 0)
    return begin, step, ceildiv(length, step)


def _counted(bound: Dim, d: Dim) -> Dim:
    return dim_max(d + bound, 0) if isinstance(bound, int) and bound < 0 else bound


# An axis of unknown extent d: Python's bounds, clamped to [0, d] where the step is positive and to [-1, d - 1] where it is
# negative, written so that the common extents come out readable and equal ones come out alike.  Where nothing is left the
# start does not matter.


def _rising(start: int, stop: int | None, d: Dim, step: int) -> tuple[Dim, int, Dim]:
    begin = dim_max(d + start, 0) if start < 0 else start
    if stop is None:
        length = dim_min(d, -start) if start < 0 else d if start == 0 else dim_max(d - start, 0)
    elif start < 0:
        length = dim_max(dim_min(d, stop) - begin if stop >= 0 else dim_min(d, -start) + stop, 0)
    elif stop < 0:
        length = dim_max(d + (stop - start), 0)
    elif stop <= start:
        length = 0
    else:
        length = dim_min(d, stop) if start == 0 else dim_max(dim_min(d, stop) - start, 0)
    return begin, step, ceildiv(length, step)


def _falling(start: int | None, stop: int | None, d: Dim, step: int) -> tuple[Dim, int, Dim]:
    if start is None:
        begin, length = d - 1, d
    elif start < 0:
        begin, length = dim_max(d + start, -1), dim_max(d + (start + 1), 0)
    else:
        begin, length = dim_min(d - 1, start), dim_min(d, start + 1)
    if stop is not None:
        last = dim_max(d + stop, -1) if stop < 0 else stop
        length = dim_max(begin - last, 0)
    return begin, step, ceildiv(length, -step)
