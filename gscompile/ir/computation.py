"""Update computations: how values meet in a cell, as a graph of scalars.

Nothing is known of such a reduction, so points that hit one cell are combined one after the other in row-major order, on every
target; each step rounds to the operand's dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gscompile.ir import tir as T
from gscompile.ir.coords import Sizes
from gscompile.ir.graph import Graph, Value
from gscompile.ir.ops.base import Inline, Tree
from gscompile.ir.ops.elementwise import Scalar, filler
from gscompile.ir.ops.leaf import Constant
from gscompile.ir.ops.reductions import Reduction
from gscompile.ir.tir import Expr, Stmt
from gscompile.ir.types import DType, TensorType

MOST = 40  # nodes of an expression, counted as a tree; TVM's passes take time in proportion


@dataclass(frozen=True, slots=True, kw_only=True)
class Computation(Reduction):
    """A reduction of ``n`` tensors at once, given by a graph of scalars.

    Attributes:
        key: the graph's text: two of one text are one computation.
        graph: its inputs are the n old values, then the n new ones; its outputs the n results.
    """

    key: str
    graph: Graph = field(compare=False, repr=False)

    @property
    def arity(self) -> int:
        return len(self.graph.outputs)

    def combine(self, dtype: DType, old: Expr, new: Expr) -> Expr:
        return self.results([dtype], [old], [new])[0]

    def accumulator(self, dtype: DType) -> DType:
        return dtype

    def results(self, dtypes: Sequence[DType], old: Sequence[Expr], new: Sequence[Expr]) -> list[Expr]:
        return self._results([*old, *new], lambda value, dtype: value)

    def step(
        self, dtypes: Sequence[DType], old: Sequence[Expr], new: Sequence[Expr], then: Callable[[list[Expr]], Stmt]
    ) -> Stmt:
        stored: list[Stmt] = []

        def keep(value: Expr, dtype: DType) -> Expr:
            slot = T.buffer(f"between{len(stored) // 2}", [1], dtype.tir, align=dtype.itemsize, scope="local")
            stored.extend([T.allocate(slot), T.store(slot, [T.const(0)], value)])
            return T.load(slot, T.const(0))

        results = self._results([*old, *new], keep)
        return T.seq(*stored, then(results))

    def _results(self, given: Sequence[Expr], keep: Callable[[Expr, DType], Expr]) -> list[Expr]:
        """The results for old and new values.  What makes an expression of more than ``MOST`` nodes goes through ``keep``."""
        at = {id(v): [x] for v, x in zip(self.graph.inputs, given, strict=True)}
        at |= {id(v): [filler(item(v), v.dtype, [])] for v in self.graph.constants}
        trees = dict.fromkeys(at, Tree(given=True))
        for v in self.graph.values:
            if id(v) not in at:
                assert isinstance(v.op, Inline)
                op, elements = v.op, [_Few(a.type, at[id(a)]) for a in v.args]
                found = [op.element(elements, v.type, c, Sizes({})) for c in _positions(v.type)]
                tree = op.tree(v.type, [trees[id(a)] for a in v.args], [a.type for a in v.args])
                if tree.nodes > MOST:
                    found, tree = [keep(x, v.dtype) for x in found], Tree()
                at[id(v)], trees[id(v)] = found, tree
        return [at[id(v)][0] for v in self.graph.outputs]


def _positions(type: TensorType) -> list[list[Expr]]:
    """The coordinates of a scalar, or along the only axis of a pair (:mod:`gscompile.ir.pairs`)."""
    return [[T.const(k)] for k in range(int(str(type.shape[0])))] if type.rank else [[]]


@dataclass(frozen=True, slots=True)
class _Few:
    """Expressions as a tensor of no axes or of one."""

    type: TensorType
    values: Sequence[Expr]

    def __call__(self, *coords: Expr) -> Expr:
        return self.values[T.constant_value(coords[0]) or 0 if coords else 0]


def item(v: Value) -> Scalar:
    """The number that a constant of no axes holds."""
    assert isinstance(v.op, Constant)
    array = v.op.array
    found: Scalar = array.item() if hasattr(array, "item") else array
    return found
