"""Shapes: reshape, transpose, slice and their kin; tensors made from nothing.  Arithmetic on symbolic sizes stays symbolic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gscompile.dims import Dim, Shape, as_dim, as_shape, dim_max, dim_min, exact_quotient, product, shape_str
from gscompile.errors import ArgumentError, DTypeError, ShapeError
from gscompile.frontend.base import GraphBuilder, Operand, axes_of, axis_of, scalar_of
from gscompile.graph import Value
from gscompile.ops.movement import BroadcastTo, Concat, Full, Iota, Pad, Reshape, SizeOf, Slice, Transpose
from gscompile.types import DTYPES, TensorType, dtype, promote


class MovementOps(GraphBuilder):
    """Operators that move elements without changing them."""

    # -- made from nothing

    def zeros(self, shape: Any, dtype: Any = "float32") -> Value:
        """Zeros of a shape and dtype."""
        return self.full(shape, 0, dtype)

    def full(self, shape: Any, value: float, dtype: Any = "float32") -> Value:
        """One value everywhere; it must fit the dtype."""
        type = TensorType.of(shape, dtype)
        return self._add(Full(scalar_of(value, type.dtype, "full")), [], type)

    def constant(self, array: Any, dtype: Any = None, name: str | None = None) -> Value:
        """A fixed array: referenced, not copied, where it is an array of the wanted dtype already."""
        value = self._constant(array, "constant", name)
        return value if dtype is None else self.cast(value, dtype)  # type: ignore[attr-defined,no-any-return]

    def iota(self, shape: Any, axis: int = 0, dtype: Any = "int64") -> Value:
        """The coordinate on ``axis``."""
        type = TensorType.of(shape, dtype)
        return self._add(Iota(axis_of("iota", "axis", axis, type.rank)), [], type)

    def size(self, dim: Any, dtype_: Any = "int64") -> Value:
        """A size as a scalar tensor: an int, a symbolic size's name, or an entry of some value's ``shape``."""
        return self._add(SizeOf(as_dim(dim)), [], TensorType((), dtype(dtype_)))

    # -- renamed coordinates

    def reshape(self, x: Operand, shape: Any) -> Value:
        """The same elements in row-major order; one extent may be -1."""
        v = self._value("reshape", "x", x)
        wanted = [shape] if isinstance(shape, (int, str)) else list(shape)
        free = [k for k, d in enumerate(wanted) if isinstance(d, int) and d == -1]
        if len(free) > 1:
            raise ShapeError(f"reshape: at most one extent may be -1; got {tuple(wanted)}")
        total = product(v.shape)
        if free:
            rest = product(as_shape([d for k, d in enumerate(wanted) if k != free[0]]))
            if rest == 0:
                raise ShapeError(f"reshape: -1 is ambiguous beside an extent of 0; got {tuple(wanted)}")
            exact = exact_quotient(total, rest)
            if exact is None and isinstance(total, int) and isinstance(rest, int):
                raise ShapeError(f"reshape: {shape_str(v.shape)} has {total} elements, not a multiple of {rest}")
            wanted[free[0]] = total // rest if exact is None else exact
        out = as_shape(wanted)
        self._require([("==", product(out), total, f"reshape: number of elements of {shape_str(v.shape)} and {shape_str(out)}")])
        return v if out == v.shape else self._add(Reshape(), [v], TensorType(out, v.dtype))

    def transpose(self, x: Operand, perm: Sequence[int] | None = None) -> Value:
        """Axes in another order: axis k of the result is axis ``perm[k]``; all reversed by default."""
        v = self._value("transpose", "x", x)
        order = tuple(range(v.rank))[::-1] if perm is None else tuple(axis_of("transpose", "perm", a, v.rank) for a in perm)
        if sorted(order) != list(range(v.rank)):
            raise ShapeError(f"transpose: perm must name each of {v.rank} axes once; got {perm}")
        return self._add(Transpose(order), [v], TensorType(tuple(v.shape[a] for a in order), v.dtype))

    def broadcast_to(self, x: Operand, shape: Any) -> Value:
        """Repeat axes of extent 1, and add leading axes."""
        v, out = self._value("broadcast_to", "x", x), as_shape(shape)
        if self._broadcast("broadcast_to", [v.shape, out]) != out:
            raise ShapeError(f"broadcast_to: {shape_str(v.shape)} does not broadcast to {shape_str(out)}")
        return self._add(BroadcastTo(), [v], TensorType(out, v.dtype))

    def squeeze(self, x: Operand, axes: Any = None) -> Value:
        """Drop axes of extent 1: the given ones, or all that certainly are."""
        v = self._value("squeeze", "x", x)
        drop = [a for a, d in enumerate(v.shape) if d == 1] if axes is None else axes_of("squeeze", "axes", axes, v.rank)
        self._require([("==", v.shape[a], 1, f"squeeze: {shape_str(v.shape)} on axis {a}") for a in drop])
        out = tuple(d for a, d in enumerate(v.shape) if a not in drop)
        return self._add(Reshape(), [v], TensorType(out, v.dtype))

    def unsqueeze(self, x: Operand, axes: Any) -> Value:
        """Add axes of extent 1 at these positions of the result."""
        v = self._value("unsqueeze", "x", x)
        count = len(axes) if isinstance(axes, Sequence) else 1
        new = axes_of("unsqueeze", "axes", axes, v.rank + count)
        old = iter(v.shape)
        out = tuple(1 if a in new else next(old) for a in range(v.rank + count))
        return self._add(Reshape(), [v], TensorType(out, v.dtype))

    def flatten(self, x: Operand, axis: int = 0) -> Value:
        """All axes as one; or, with ``axis``, those before it and those from it on as two (ONNX)."""
        v = self._value("flatten", "x", x)
        if axis == 0:
            return self.reshape(v, (product(v.shape),))
        a = axis_of("flatten", "axis", axis, v.rank + 1)
        return self.reshape(v, (product(v.shape[:a]), product(v.shape[a:])))

    def flip(self, x: Operand, axes: Any = None) -> Value:
        """Reverse the order along axes (all by default)."""
        v = self._value("flip", "x", x)
        turned = axes_of("flip", "axes", axes, v.rank)
        starts = tuple(d - 1 if a in turned else 0 for a, d in enumerate(v.shape))
        steps = tuple(-1 if a in turned else 1 for a in range(v.rank))
        return self._add(Slice(starts, steps), [v], v.type)

    def slice(self, x: Operand, starts: Any, stops: Any, axes: Any = None, steps: Any = None) -> Value:
        """``x[start:stop:step]`` on each given axis, with Python's rules for negative and excessive bounds."""
        v = self._value("slice", "x", x)
        starts, stops = list(starts), list(stops)
        where = range(len(starts)) if axes is None else [axis_of("slice", "axes", a, v.rank) for a in axes]
        steps = [1] * len(starts) if steps is None else list(steps)
        if not len(starts) == len(stops) == len(where) == len(steps) or len(starts) > v.rank:
            raise ShapeError("slice: starts, stops, axes and steps must have one entry per axis that is sliced")
        if len(set(where)) != len(where):
            raise ShapeError(f"slice: axes names an axis twice: {tuple(where)}")
        keys = [slice(None)] * v.rank
        for a, begin, end, step in zip(where, starts, stops, steps, strict=True):
            keys[a] = slice(begin, end, step)
        return self._slice(v, keys)

    def _slice(self, v: Value, keys: Sequence[slice]) -> Value:
        begins, steps, extents = [], [], []
        for key, d in zip(keys, v.shape, strict=True):
            begin, step, extent = slice_of(key, d)
            begins.append(begin)
            steps.append(step)
            extents.append(extent)
        return self._add(Slice(tuple(begins), tuple(steps)), [v], TensorType(tuple(extents), v.dtype))

    def getitem(self, x: Operand, key: Any) -> Value:
        """``x[key]``: ints, slices, None and one Ellipsis as in NumPy; an integer tensor gathers along the first axis."""
        v = self._value("getitem", "x", x)
        if isinstance(key, Value):
            return self.take(v, key)  # type: ignore[attr-defined,no-any-return]
        keys = list(key) if isinstance(key, tuple) else [key]
        used = sum(k is not None and k is not Ellipsis for k in keys)
        if sum(k is Ellipsis for k in keys) > 1 or used > v.rank:
            raise ShapeError(f"getitem: too many indices for shape {shape_str(v.shape)}: {key!r}")
        if not any(k is Ellipsis for k in keys):
            keys.append(Ellipsis)
        slices: list[slice] = []
        out: list[Any] = []  # per axis of the result: None (new), or its number in the sliced tensor
        for k in keys:
            if k is Ellipsis:
                out += range(len(slices), len(slices) + v.rank - used)
                slices += [slice(None)] * (v.rank - used)
            elif k is None:
                out.append(None)
            elif isinstance(k, slice):
                out.append(len(slices))
                slices.append(k)
            elif hasattr(k, "__index__") and not isinstance(k, bool):
                d, at = v.shape[len(slices)], int(k)
                if isinstance(d, int) and not -d <= at < d:
                    raise ShapeError(f"getitem: index {at} is out of range on axis {len(slices)} of {shape_str(v.shape)}")
                self._require([("<=", at + 1 if at >= 0 else -at, d, f"getitem: index {at} on axis {len(slices)}")])
                slices.append(slice(at, at + 1 if at != -1 else None))
            else:
                raise ArgumentError(f"getitem: an int, slice, None, Ellipsis or an integer tensor is needed; got {k!r}")
        cut = self._slice(v, slices)
        shape = tuple(1 if a is None else cut.shape[a] for a in out)
        return cut if shape == cut.shape else self._add(Reshape(), [cut], TensorType(shape, v.dtype))

    def pad(self, x: Operand, low: Sequence[int], high: Sequence[int], value: float = 0) -> Value:
        """``low[k]`` elements of ``value`` before axis k and ``high[k]`` after it; negative amounts cut."""
        v = self._value("pad", "x", x)
        if len(low) != v.rank or len(high) != v.rank:
            raise ShapeError(f"pad: low and high must have {v.rank} entries; got {len(low)} and {len(high)}")
        out = []
        for d, a, b in zip(v.shape, low, high, strict=True):
            whole = d + int(a) + int(b)
            if isinstance(whole, int) and whole < 0:
                raise ShapeError(f"pad: {shape_str(v.shape)} cannot be cut by {tuple(low)} and {tuple(high)}")
            if not isinstance(whole, int) and a + b < 0:
                self._require([("<=", -a - b, d, f"pad: {shape_str(v.shape)} is cut")])
            out.append(whole)
        fill = scalar_of(value, v.dtype, "pad: value")
        return self._add(Pad(tuple(int(a) for a in low), fill), [v], TensorType(tuple(out), v.dtype))

    def concat(self, values: Sequence[Operand], axis: int = 0) -> Value:
        """One after the other along an axis; the other extents agree, dtypes meet as in arithmetic."""
        parts = [self._value("concat", f"values[{k}]", x) for k, x in enumerate(values)]
        if not parts:
            raise ArgumentError("concat: at least one value is needed")
        a = axis_of("concat", "axis", axis, parts[0].rank)
        common = parts[0].dtype
        for k, p in enumerate(parts):
            if p.rank != parts[0].rank:
                raise ShapeError(f"concat: values[{k}] must have rank {parts[0].rank}; got {shape_str(p.shape)}")
            common = promote(common, p.dtype)
            rules = [("==", d, w, f"concat: values[{k}] on axis {i}") for i, (d, w) in enumerate(zip(p.shape, parts[0].shape, strict=True)) if i != a]
            self._require(rules)
        parts = [self.cast(p, common) for p in parts]  # type: ignore[attr-defined]
        total: Dim = 0
        for p in parts:
            total = p.shape[a] + total
        out: Shape = (*parts[0].shape[:a], total, *parts[0].shape[a + 1 :])
        return self._add(Concat(a), parts, TensorType(out, common))

    def stack(self, values: Sequence[Operand], axis: int = 0) -> Value:
        """Along a new axis."""
        parts = [self._value("stack", f"values[{k}]", x) for k, x in enumerate(values)]
        if not parts:
            raise ArgumentError("stack: at least one value is needed")
        a = axis_of("stack", "axis", axis, parts[0].rank + 1)
        return self.concat([self.unsqueeze(p, a) for p in parts], a)


def slice_of(key: slice, d: Dim) -> tuple[Dim, int, Dim]:
    """Start, step and extent of a Python slice of an axis of extent ``d``."""
    step = 1 if key.step is None else int(key.step)
    if step == 0:
        raise ShapeError("slice: step must not be 0")
    for bound in (key.start, key.stop):
        if bound is not None and not hasattr(bound, "__index__"):
            raise DTypeError(f"slice: bounds must be ints; got {bound!r}")
    if isinstance(d, int):
        begin, end, _ = slice(key.start, key.stop, step).indices(d)
        return begin, step, len(range(begin, end, step))

    def clamp(bound: int, top: Dim) -> Dim:
        """Python's reading of a bound on an axis of unknown extent, as far as it can matter."""
        at: Dim = dim_max(d + bound, 0 if step > 0 else -1) if bound < 0 else bound
        return at if bound < 0 else dim_min(at, top)

    if step > 0:
        begin_dim: Dim = 0 if key.start in (None, 0) else clamp(int(key.start), d)
        end_dim: Dim = d if key.stop is None else clamp(int(key.stop), d)
        extent = end_dim - begin_dim
    else:
        begin_dim = d - 1 if key.start is None else clamp(int(key.start), d - 1)
        end_dim = -1 if key.stop is None else clamp(int(key.stop), d - 1)
        extent = begin_dim - end_dim
    size = abs(step)
    whole = extent if size == 1 else (extent + (size - 1)) // size
    exact_full = (key.start in (None, 0) and key.stop is None and step > 0) or (key.start is None and key.stop is None)
    return begin_dim, step, whole if exact_full else dim_max(whole, 0)


__all__ = ["DTYPES", "MovementOps", "slice_of"]
