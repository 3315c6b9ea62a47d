"""From a kernel's record of an index out of range to the error that the caller sees.

The kernel knows a place in the tensor that an operator was given.  That is seldom the caller's own: dialects reshape, cast and
combine what they are passed.  The operators' own formulas, taken at that place, lead back to the element that was read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gscompile.errors import BoundsError, index_changed
from gscompile.ir import tir as T
from gscompile.ir.bounds import Bounds
from gscompile.ir.coords import Element, Sizes
from gscompile.ir.dims import Dim, evaluate, shape_str
from gscompile.ir.graph import Value
from gscompile.ir.index_map import IndexMap
from gscompile.ir.ops.base import Inline
from gscompile.ir.ops.leaf import Constant
from gscompile.ir.tir import Buffer, Expr
from gscompile.ir.types import TensorType

FOLLOWED = 64
"""Operators that are followed from an index to where it comes from."""
FOLLOWED_DEEP = 16
"""How many of them on one another."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The element that an index was computed from.

    Attributes:
        tensor: its tensor's name.
        position: its coordinates there; None where they depend on other elements.
        same: the index is that element; otherwise something was done to it on the way.
    """

    tensor: str
    position: tuple[int, ...] | None
    same: bool


def empty_axis(
    name: str, data: Value, index: Value, map: IndexMap, component: int, symbols: Sequence[str]
) -> BoundsError:
    """The error for indices, of fixed shape, into an axis of extent 0.

    Args:
        name: the operator's.
        component: which of the indexed axes.
        symbols: the names of all symbolic sizes.
    """
    at = [0] * index.rank
    if map.vector_axis is not None:
        at[map.vector_axis] = component
    found = origin(index, tuple(at), Sizes.of(symbols))
    where = f"axis {map.indexed_axes[component]} of data {shape_str(data.shape)}"
    message = f"{name}: {where} is empty, and index {shape_str(index.shape)} is not"
    return BoundsError(message, op=name, tensor=found.tensor)


def bounds_error(op: Value, position: int, number: int, sizes: Mapping[str, int]) -> BoundsError:
    """The error for an index that was found out of range.

    Args:
        op: the gather or scatter.
        position: row-major, in its index tensor.
        number: the index, an int64.
        sizes: the symbolic sizes of the call.
    """
    a, data, index = op.op.indexing, op.args[0], op.args[1]
    assert a is not None
    extents = _numbers(data.shape, sizes)
    at = tuple(int(c) for c in np.unravel_index(position, _numbers(index.shape, sizes))) if index.rank else ()
    axis = a.map.indexed_axes[0 if a.map.vector_axis is None else at[a.map.vector_axis]]
    size = extents[axis]
    count = size - evaluate(a.map.slice_size(axis), sizes) + 1
    if index.dtype.name == "uint64" and number < 0:
        number += 1 << 64
    found = origin(index, at, Sizes({n: T.const(k) for n, k in sizes.items()}))
    name = op.scope or op.name
    where = f"{found.tensor}{list(found.position) if found.position else ''}"
    inner = op.scope and data.scope == op.scope  # not what the caller passed
    what = f"an axis of {size}" if inner else f"axis {axis} of data {shape_str(extents)}"
    says = f"{name}: {where} {'=' if found.same else 'gives'} {number}"
    if a.bounds is not Bounds.RAISE or count <= 0:
        message = f"{says}{'' if found.same else ', which'} has nowhere to point to: {what} has no valid position"
        return BoundsError(message, op=name, tensor=found.tensor, position=found.position or (), value=number)
    low = -size if a.negative and index.dtype.kind == "i" else 0
    if low <= number < count - size or 0 <= number < count:
        return index_changed(name, found.tensor)
    message = f"{says}{' is' if found.same else ', which is'} out of range for {what}: valid are {low} to {count - 1}"
    return BoundsError(
        message, op=name, tensor=found.tensor, position=found.position or (), value=number, valid=(low, count - 1)
    )


def origin(value: Value, position: tuple[int, ...], sizes: Sizes) -> Origin:
    """Where an element comes from: followed through unnamed operators, as long as, constants apart, one tensor decides it.

    What only chooses between elements, a condition or another gather's index, does not decide.  Where several of the tensor's
    elements do, it is the one at the same position, or else the first.
    """
    own = Origin(value.name, position, True)
    if _has_name(value):
        return own
    found = _read(value, [T.const(c) for c in position], sizes)
    if found is None:
        return own
    source, coordinates, same = found
    numbers = [tuple(map(T.constant_value, at)) for at in coordinates]
    places = [tuple(c for c in at if c is not None) for at in numbers if None not in at]
    if not places:
        return Origin(source.name, None, same)
    place = position if position in places else places[0]
    return Origin(source.name, place[: source.rank], same)


def _read(value: Value, at: Sequence[Expr], sizes: Sizes) -> tuple[Value, list[list[Expr]], bool] | None:
    """The one tensor, constants apart, that an element is computed from, where it is read, and whether the element is what stands
    there; None where there are several.
    """
    reader = _Reader(value, sizes, {})
    x = T.simplify(reader(*at))
    known = {v.name: v for v in reader.seen.values()}
    reads = [(known[buffer.name], c) for _, buffer, c in T.reads(x, conditions=False) or T.reads(x)]
    inputs = [r for r in reads if not isinstance(r[0].op, Constant)] or reads
    if len({v.name for v, _ in inputs}) != 1:
        return None
    return inputs[0][0], [c for _, c in inputs], T.as_load(T.uncast(x)) is not None


@dataclass(frozen=True, slots=True)
class Origins:
    """As :class:`Origin`, of any element of a tensor.

    Attributes:
        position: in C, of the element's coordinates ``p[k]``; None where that is not so simple.
    """

    tensor: str
    position: tuple[str, ...] | None
    same: bool


def origins(value: Value, symbols: Sequence[str], size: Callable[[str], str]) -> Origins:
    """Where the elements of an index come from, as formulas in C.

    Args:
        symbols: the names of all symbolic sizes.
        size: a size in C, by its name.
    """
    here = [T.var(f"p{k}") for k in range(value.rank)]
    own = Origins(value.name, tuple(f"p[{k}]" for k in range(value.rank)), True)
    if _has_name(value):
        return own
    sizes = Sizes.of(symbols)
    known = {v: f"p[{k}]" for k, v in enumerate(here)} | {v: size(n) for n, v in sizes.variables.items()}
    found = _read(value, here, sizes)
    if found is None:
        return own
    source, coordinates, same = found
    if len(coordinates) > 1:
        return Origins(source.name, None, same)
    texts = [T.c_text(T.simplify(c), known.get) for c in coordinates[0][: source.rank]]
    return Origins(source.name, None if None in texts else tuple(t for t in texts if t is not None), same)


def _has_name(v: Value) -> bool:
    """Whether a name of a value's own tells more than what it was computed from."""
    return not isinstance(v.op, Inline) or re.fullmatch(rf"{v.op.name}_\d+", v.name) is None


@dataclass(frozen=True, slots=True)
class _Reader:
    """A value's element as an expression of the elements of values that have names of their own, or are too far away.

    Attributes:
        followed: the operators so far.
        depth: how many of them stand on this one.
    """

    value: Value
    sizes: Sizes
    buffers: dict[int, Buffer]
    seen: dict[int, Value] = field(default_factory=dict)
    followed: list[Value] = field(default_factory=list)
    depth: int = 0

    @property
    def type(self) -> TensorType:
        return self.value.type

    def __call__(self, *coords: Expr) -> Expr:
        v = self.value
        if _has_name(v) or self.depth == FOLLOWED_DEEP or len(self.followed) == FOLLOWED:
            self.seen[id(v)] = v
            buffer = self.buffers.get(id(v))
            if buffer is None:
                shape = self.sizes.shape(v.shape) or (T.const(1),)
                buffer = self.buffers[id(v)] = T.buffer(v.name, shape, v.dtype.tir, align=v.dtype.itemsize)
            return T.load(buffer, *coords or (T.const(0),))
        assert isinstance(v.op, Inline)
        self.followed.append(v)
        args: list[Element] = [replace(self, value=a, depth=self.depth + 1) for a in v.args]
        if v.op.indexing is not None:
            args[1] = _Address(args[1])
        return v.op.element(args, v.type, coords, self.sizes)


@dataclass(frozen=True, slots=True)
class _Address:
    """A gather's index: a number, or unknown, whatever it is computed from, and be that long."""

    index: Element

    @property
    def type(self) -> TensorType:
        return self.index.type

    def __call__(self, *coords: Expr) -> Expr:
        if all(T.constant_value(c) is not None for c in coords):
            x = T.simplify(self.index(*coords))
            if T.constant_value(x) is not None:
                return x
        return T.var("somewhere", self.type.dtype.tir)


def _numbers(shape: Sequence[Dim], sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(evaluate(d, sizes) for d in shape)
