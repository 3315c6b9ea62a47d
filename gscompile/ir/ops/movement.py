"""Operators that only rename coordinates, and tensors that are functions of coordinates alone.

Each ``element`` is one formula: where the value at ``coords`` of the result stands in the argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gscompile.ir import tir as T
from gscompile.ir.coords import Coords, Element, Sizes
from gscompile.ir.dims import Dim, Shape, at_most_one, exact_quotient
from gscompile.ir.ops.base import Inline, Tree, reads_again
from gscompile.ir.ops.elementwise import POINTWISE
from gscompile.ir.ops.elementwise import cast as cast_expr
from gscompile.ir.ops.fill import Fill, made_of, word_values
from gscompile.ir.tir import Expr
from gscompile.ir.types import DTYPES, DType, OpaqueDType, TensorType

# How often the expression of a function contains that of an operand; naming the operand does not help, since TVM's analysis
# puts what is named in place of its name.
_USES = dict.fromkeys(
    ["add", "sub", "mul", "div", "neg", "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_not"],
    1,
)
_USES_OF_FLOATS = {
    **_USES,
    **dict.fromkeys(["abs", "floor", "ceil", "round", "trunc", "sqrt", "rsqrt", "reciprocal"], 1),
    "relu": 2,
}


def _uses_decoded(dtype: DType) -> int:
    """How often a value's expression contains that of the code it is decoded from."""
    return 1 if dtype.native or dtype.bits > 8 else 8 if dtype.is_float else 2


def _uses_encoded(dtype: DType) -> int:
    """How often a code's expression contains that of the value that it encodes, about."""
    # bfloat16's six times, but only one pass goes through all of them, the code generator
    return 1 if dtype.native else 3 if dtype.bits > 8 else 12 if dtype.is_float else 4


def _uses_cast(src: DType, dst: DType) -> int:
    # TVM's analysis of the casts between widths goes through them several times
    return 1 if src == dst else 3 * _uses_decoded(src) * _uses_encoded(dst)


@dataclass(frozen=True, slots=True)
class Pointwise(Inline):
    """A scalar function of operands that broadcast against each other from the right (NumPy's rule)."""

    function: str
    operand_dtypes: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.function

    @property
    def cost(self) -> int:
        return POINTWISE[self.function].cost

    @property
    def elementwise(self) -> bool:
        return True

    def repeats(self, position: int, out: Shape, arg: Shape) -> bool:
        return reads_again(out, arg)

    def tree(self, out: TensorType, args: Sequence[Tree], types: Sequence[TensorType]) -> Tree:
        operands = [DTYPES[want] for want in self.operand_dtypes]
        casts = [_uses_cast(t.dtype, want) for t, want in zip(types, operands, strict=True)]
        if self.moves(len(args) - 1):
            return Tree.over(args, casts)
        uses = self._uses(out.dtype.compute) * _uses_encoded(out.dtype)
        return Tree.over(args, [uses * n * _uses_decoded(want) for n, want in zip(casts, operands, strict=True)])

    def _uses(self, out: DType) -> int:
        """How often the function's expression contains that of an operand, about."""
        uses = (_USES_OF_FLOATS if out.is_float else _USES).get(self.function, max(6, self.cost))
        # TVM's analysis of the casts between widths goes through them several times
        return 3 if out.is_integer and uses == 1 else uses

    def moves(self, position: int) -> bool:
        return self.function == "where" and position > 0

    def aligns(self, position: int) -> bool:
        return True

    def in_words(self, dtype: OpaqueDType, rank: int) -> Pointwise:
        word = dtype.word.name
        return replace(self, operand_dtypes=tuple(word if d == dtype.name else d for d in self.operand_dtypes))

    def element(self, args: Sequence[Element], out: TensorType, coords: Coords, sizes: Sizes) -> Expr:
        values = []
        for k, (arg, want) in enumerate(zip(args, self.operand_dtypes, strict=True)):
            value = cast_expr(arg(*broadcast_coords(coords, arg.type.shape)), arg.type.dtype, DTYPES[want])
            values.append(value if self.moves(k) else cast_expr(value, DTYPES[want], DTYPES[want].compute))
        if self.moves(len(args) - 1):
            return POINTWISE[self.function].expr(out.dtype, values)
        result = out.dtype.compute
        return cast_expr(POINTWISE[self.function].expr(result, values), result, out.dtype)


def broadcast_coords(coords: Coords, shape: Shape) -> list[Expr]:
    """Coordinates in a tensor that was broadcast: its axes align from the right, and extent 1 repeats.

    So does one that is 0 or 1, since it has no other coordinate.
    """
    tail = coords[len(coords) - len(shape) :]
    return [T.const(0) if at_most_one(d) else c for c, d in zip(tail, shape, strict=True)]


@dataclass(frozen=True, slots=True)
class Cast(Inline):
    """A change of dtype: floats to integers truncate and saturate (NaN gives 0), wider integers wrap, x != 0 for bool."""

    to: str

    @property
    def name(self) -> str:
        return "cast"

    def attributes(self) -> str:
        return self.to

    @property
    def elementwise(self) -> bool:
        return True

    def tree(self, out: TensorType, args: Sequence[Tree], types: Sequence[TensorType]) -> Tree:
        return Tree.over(args, [_uses_cast(types[0].dtype, out.dtype)])

    def element(self, args: Sequence[Element], out: TensorType, coords: Coords, sizes: Sizes) -> Expr:
        return cast_expr(args[0](*coords), args[0].type.dtype, out.dtype)


@dataclass(frozen=True, slots=True)
class Full(Inline):
    """The same value everywhere."""

    value: Fill

    @property
    def name(self) -> str:
        return "full"

    def attributes(self) -> str:
        return repr(self.value)

    def moves(self, position: int) -> bool:
        return True

    def in_words(self, dtype: OpaqueDType, rank: int) -> Full:
        return replace(self, value=word_values(self.value, dtype))

    def element(self, args: Sequence[Element], out: TensorType, coords: Coords, sizes: Sizes) -> Expr:
        return made_of(self.value, out.dtype, coords)


@dataclass(frozen=True, slots=True)
class Iota(Inline):
    """The coordinate on one axis."""

    axis: int

    @property
    def name(self) -> str:
        return "iota"

    def attributes(self) -> str:
        return f"axis={self.axis}"

    def element(self, args: Sequence[Element], out: TensorType, coords: Coords, sizes: Sizes) -> Expr:
        return cast_expr(coords[self.axis], DTYPES["int64"], out.dtype)


@dataclass(frozen=True, slots=True)
class SizeOf(Inline):
    """A scalar int64 tensor that holds a symbolic size."""

    dim: Dim

    @property
    def name(self) -> str:
        return "size"

    def attributes(self) -> str:
        return str(self.dim)

    def element(self, args: Sequence[Element], out: TensorType, coords: Coords, sizes: Sizes) -> Expr:
        return cast_expr(sizes(self.dim), DTYPES["int64"], out.dtype)


@dataclass(frozen=True, slots=True)
class Reshape(Inline):
    """The same elements in row-major order under another shape.

    Runs of axes whose products agree on both sides are matched, so that a split or a merge costs one division and an
    added or removed axis of extent 1 none.
    """

    @property
    def name(self) -> str:
        return "reshape"

    def tree(self, out: TensorType, args: Sequence[Tree], types: Sequence[TensorType]) -> Tree:
        """A coordinate of the argument holds all those of the result's run."""
        (arg,) = args
        runs = matched_runs(types[0].shape, out.shape)
        widest = max((sum(out.shape[a] != 1 for a in new) for _, new in runs), default=1)
        split = any(sum(types[0].shape[a] != 1 for a in old) > 1 for old, _ in runs)
        if widest <= 1 and not split:
            return Tree.over(args, [1])
        spots = arg.spots * max(widest, 1)
        return Tree(1 + arg.nodes + 2 * spots, spots, depth=Tree.above(args))

    def moves(self, position: int) -> bool:
        return True

    def in_words(self, dtype: OpaqueDType, rank: int) -> Reshape:
        return self

    def element(self, args: Sequence[Element], out: TensorType, coords: Coords, sizes: Sizes) -> Expr:
        source = args[0].type.shape
        found: list[Expr] = []
        for old, new in matched_runs(source, out.shape):
            flat: Expr = T.const(0)
            for a in new:
                if out.shape[a] != 1:
                    flat = flat * sizes(out.shape[a]) + coords[a]
            rest = [a for a in old if source[a] != 1]
            inner: list[Expr] = []
            for position, a in enumerate(reversed(rest)):
                last = position == len(rest) - 1
                inner.insert(0, flat if last else T.remainder(flat, _positive(source[a], sizes)))
                flat = flat if last else T.quotient(flat, _positive(source[a], sizes))
            at = dict(zip(rest, inner, strict=True))
            found.extend(at.get(a, T.const(0)) for a in old)
        return args[0](*found)


def _positive(dim: Dim, sizes: Sizes) -> Expr:
    """An extent as a divisor: an empty tensor has no elements to locate, but its index code must not divide by zero."""
    return T.const(max(dim, 1)) if isinstance(dim, int) else T.maximum(sizes(dim), T.const(1))


def matched_runs(old: Shape, new: Shape) -> list[tuple[list[int], list[int]]]:
    """Split both shapes into runs of axes with equal products, as short as can be told."""
    runs: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(old) or j < len(new):
        a: list[int] = []
        b: list[int] = []
        pa: Dim = 1
        pb: Dim = 1
        while not (a or b) or pa != pb:
            if i < len(old) and (j == len(new) or not a or (b and _grow_first(pa, pb))):
                a.append(i)
                pa = pa * old[i]
                i += 1
            elif j < len(new):
                b.append(j)
                pb = pb * new[j]
                j += 1
            else:  # the products are equal, but not provably so
                break
        runs.append((a, b))
    return runs


def _grow_first(pa: Dim, pb: Dim) -> bool:
    """Whether the run with product ``pa`` is the one that still lacks axes."""
    if isinstance(pa, int) and isinstance(pb, int):
        return pa < pb
    return exact_quotient(pb, pa) is not None


@dataclass(frozen=True, slots=True)
class Transpose(Inline):
    """Axis ``k`` of the result is axis ``perm[k]`` of the argument."""

    perm: tuple[int, ...]

    @property
    def name(self) -> str:
        return "transpose"

    def attributes(self) -> str:
        return f"perm={self.perm}"

    def with_lane(self) -> Transpose:
        return Transpose((*self.perm, len(self.perm)))

    def moves(self, position: int) -> bool:
        return True

    def in_words(self, dtype: OpaqueDType, rank: int) -> Transpose:
        return self.with_lane() if dtype.words > 1 else self

    def element(self, args: Sequence[Element], out: TensorType, coords: Coords, sizes: Sizes) -> Expr:
        at = dict(zip(self.perm, coords, strict=True))
        return args[0](*(at[a] for a in range(len(self.perm))))


@dataclass(frozen=True, slots=True)
class BroadcastTo(Inline):
    """Repeat along axes of extent 1 and along new leading axes."""

    @property
    def name(self) -> str:
        return "broadcast_to"

    def repeats(self, position: int, out: Shape, arg: Shape) -> bool:
        return reads_again(out, arg)

    def moves(self, position: int) -> bool:
        return True

    def in_words(self, dtype: OpaqueDType, rank: int) -> BroadcastTo:
        return self

    def element(self, args: Sequence[Element], out: TensorType, coords: Coords, sizes: Sizes) -> Expr:
        return args[0](*broadcast_coords(coords, args[0].type.shape))


@dataclass(frozen=True, slots=True)
class Slice(Inline):
    """``start + step * coordinate`` on every axis; steps may be negative."""

    starts: tuple[Dim, ...]
    steps: tuple[int, ...]

    @property
    def name(self) -> str:
        return "slice"

    def attributes(self) -> str:
        return f"starts={self.starts}, steps={self.steps}"

    def picks(self, position: int) -> bool:
        return True

    def with_lane(self) -> Slice:
        return Slice((*self.starts, 0), (*self.steps, 1))

    def moves(self, position: int) -> bool:
        return True

    def in_words(self, dtype: OpaqueDType, rank: int) -> Slice:
        return self.with_lane() if dtype.words > 1 else self

    def element(self, args: Sequence[Element], out: TensorType, coords: Coords, sizes: Sizes) -> Expr:
        return args[0](
            *(
                c if (start, step) == (0, 1) else sizes(start) + c * step
                for c, start, step in zip(coords, self.starts, self.steps, strict=True)
            )
        )


@dataclass(frozen=True, slots=True)
class RunNumbers(Inline):
    """The number of the run that a row is in.

    Arguments: how many runs end at or before each row, and the offsets of the runs, which are known to ascend from 0 to the
    number of rows.  Result: of so many rows, what the first argument says.
    """

    @property
    def name(self) -> str:
        return "run_numbers"

    def picks(self, position: int) -> bool:
        return True

    def element(self, args: Sequence[Element], out: TensorType, coords: Coords, sizes: Sizes) -> Expr:
        return args[0](*coords)


@dataclass(frozen=True, slots=True)
class Pad(Inline):
    """The argument with ``low[k]`` elements before it on axis k, and as many after as the shape says, all ``value``."""

    low: tuple[int, ...]
    value: Fill

    @property
    def name(self) -> str:
        return "pad"

    def attributes(self) -> str:
        return f"low={self.low}, value={self.value!r}"

    def with_lane(self) -> Pad:
        return Pad((*self.low, 0), self.value)

    def moves(self, position: int) -> bool:
        return True

    def in_words(self, dtype: OpaqueDType, rank: int) -> Pad:
        moved = self.with_lane() if dtype.words > 1 else self
        return replace(moved, value=word_values(self.value, dtype))

    def element(self, args: Sequence[Element], out: TensorType, coords: Coords, sizes: Sizes) -> Expr:
        source = args[0].type.shape
        inside: list[Expr | None] = []
        at = []
        for c, low, d, whole in zip(coords, self.low, source, out.shape, strict=True):
            at.append(c - low if low else c)
            inside.append(c >= low if low else None)
            inside.append(at[-1] < sizes(d) if d + low != whole else None)
        condition = T.all_of(inside)
        if condition is None:
            return args[0](*at)
        return T.if_then_else(condition, args[0](*at), made_of(self.value, out.dtype, coords))


@dataclass(frozen=True, slots=True)
class Concat(Inline):
    """Arguments one after the other along an axis."""

    axis: int

    @property
    def name(self) -> str:
        return "concat"

    def attributes(self) -> str:
        return f"axis={self.axis}"

    def moves(self, position: int) -> bool:
        return True

    def in_words(self, dtype: OpaqueDType, rank: int) -> Concat:
        return self

    def element(self, args: Sequence[Element], out: TensorType, coords: Coords, sizes: Sizes) -> Expr:
        begins: list[Dim] = [0]
        for arg in args[:-1]:
            begins.append(begins[-1] + arg.type.shape[self.axis])

        def part(k: int) -> Expr:
            at = list(coords)
            at[self.axis] = coords[self.axis] - sizes(begins[k])
            return args[k](*at)

        value = part(len(args) - 1)
        for k in range(len(args) - 2, -1, -1):
            value = T.if_then_else(coords[self.axis] < sizes(begins[k + 1]), part(k), value)
        return value
