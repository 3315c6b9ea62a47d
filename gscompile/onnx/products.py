"""Products of matrices, as the sums of products that they are.

16-bit floats are multiplied and added in float32, and rounded once.
"""

from __future__ import annotations

from collections import Counter

from gscompile.errors import ArgumentError, ShapeError
from gscompile.frontend.builder import builder_of
from gscompile.ir.dims import Dim, shape_str
from gscompile.ir.graph import Value
from gscompile.onnx.node import Node, operator


def wide(x: Value) -> Value:
    """In the type that its products are added in."""
    return builder_of(x).cast(x, "float32") if x.dtype.is_float and x.dtype.bits == 16 else x


@operator("MatMul")
def matmul(n: Node) -> Value:
    x, y = n[0], n[1]
    if 0 in (x.rank, y.rank):
        raise ShapeError(f"no scalars; got shapes {shape_str(x.shape)} and {shape_str(y.shape)}")
    b = n.b
    rows, columns = x.rank > 1, y.rank > 1
    x = x if rows else b.unsqueeze(x, 0)
    y = y if columns else b.unsqueeze(y, 1)
    found = product(wide(x), wide(y))
    dropped = [a for a, kept in ((-2, rows), (-1, columns)) if not kept]
    return b.cast(b.squeeze(found, dropped) if dropped else found, n[0].dtype)


def product(x: Value, y: Value) -> Value:
    """Matrices times matrices, in the last two axes; those before broadcast."""
    b = builder_of(x)
    b.draft.require(
        [("==", y.shape[-2], x.shape[-1], f"{shape_str(x.shape)} times {shape_str(y.shape)}: the inner extents")]
    )
    rank = max(x.rank, y.rank)
    y = b.reshape(y, (*(1 for _ in range(rank - y.rank)), *y.shape))
    x = b.reshape(x, (*(1 for _ in range(rank - x.rank)), *x.shape))
    return b.sum(b.unsqueeze(x, rank) * b.unsqueeze(y, rank - 2), rank - 1)


@operator("Gemm")
def gemm(n: Node) -> Value:
    b = n.b
    if n[0].rank != 2 or n[1].rank != 2:
        raise ShapeError(f"A and B must be matrices; got {shape_str(n[0].shape)} and {shape_str(n[1].shape)}")
    x, y = (b.transpose(n[k]) if n.attr(t) else n[k] for k, t in ((0, "transA"), (1, "transB")))
    found = scaled(product(wide(x), wide(y)), n.attr("alpha"))
    if n.has(2):
        found = found + scaled(wide(n[2]), n.attr("beta"))
    return b.cast(found, n[0].dtype)


def scaled(x: Value, factor: float) -> Value:
    """x times a factor, in x's dtype; of integers, truncated."""
    return x if factor == 1 else builder_of(x).cast(x * factor, x.dtype)


@operator("Einsum", 12)
def einsum(n: Node) -> Value:
    """A sum of products over the letters that the result leaves out."""
    terms, result, sizes = parsed(n)
    letters = [*result, *sorted(set(sizes) - set(result))]
    total: Value | None = None
    for k, term in enumerate(terms):
        x = diagonal(wide(n[k]), term)
        axes = list(dict.fromkeys(term))
        x = n.b.transpose(x, [axes.index(c) for c in sorted(axes, key=letters.index)])
        x = n.b.reshape(x, [sizes[c] if c in axes else 1 for c in letters])
        total = x if total is None else total * x
    assert total is not None
    total = n.b.broadcast_to(total, [sizes[c] for c in letters])
    return n.b.cast(n.b.sum(total, list(range(len(result), len(letters)))), n[0].dtype)


def parsed(n: Node) -> tuple[list[list[str]], list[str], dict[str, Dim]]:
    """The letters of each input and of the result, and their extents; an ellipsis is letters of its own."""
    equation = n.attr("equation").replace(" ", "")
    left, arrow, right = equation.partition("->")
    written = left.split(",")
    if len(written) != len(n):
        raise ArgumentError(f"equation {equation!r} has {len(written)} terms for {len(n)} inputs")
    hidden = max((n[k].rank - len(t.replace("...", "")) for k, t in enumerate(written) if "..." in t), default=0)
    terms: list[list[str]] = []
    sizes: dict[str, Dim] = {}
    for k, t in enumerate(written):
        x = n[k]
        rest = x.rank - len(t.replace("...", ""))
        term = spelled(t, [f"{d:03}" for d in range(hidden - rest, hidden)] if "..." in t else [], equation)
        if len(term) != x.rank:
            raise ShapeError(f"equation {equation!r}: input {k} must have rank {len(term)}; got {shape_str(x.shape)}")
        for c, d in zip(term, x.shape, strict=True):
            n.b.draft.require([("==", d, sizes.setdefault(c, d), f"equation {equation!r}: the extents of {c}")])
        terms.append(term)
    dots = [f"{d:03}" for d in range(hidden)]
    once = Counter(c for t in written for c in t.replace("...", ""))
    result = spelled(right, dots, equation) if arrow else dots + sorted(c for c, times in once.items() if times == 1)
    if len(set(result)) != len(result) or not set(result) <= set(sizes):
        raise ArgumentError(f"equation {equation!r}: the result names a letter twice, or one that no input has")
    return terms, result, sizes


def spelled(term: str, dots: list[str], equation: str) -> list[str]:
    before, found, after = term.partition("...")
    if not (before + after).isalpha() and before + after:
        raise ArgumentError(f"equation {equation!r} may hold letters, commas, '...' and '->'")
    return [*before, *(dots if found else []), *after]


def diagonal(x: Value, term: list[str]) -> Value:
    """The elements at which axes of one letter have one coordinate, on the first of these axes."""
    b = builder_of(x)
    letters = list(term)
    for c in sorted(set(term)):
        while letters.count(c) > 1:
            first = letters.index(c)
            second = letters.index(c, first + 1)
            same = b.eq(b.iota(x.shape, first), b.iota(x.shape, second))
            x = b.sum(b.where(same, x, b.full((), 0, x.dtype)), second)
            del letters[second]
    return x
