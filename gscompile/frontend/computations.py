"""Update computations from Python functions of scalars, as in XLA's scatter.

The function is called once, with scalar values of a builder, and what it builds is kept as a
:class:`gscompile.ir.computation.Computation`.

A function that only adds, subtracts, multiplies, takes the smaller or larger, or replaces is found to be the reduction of that
name, and is as fast.  (On cuda sums and products are then in no fixed order, and those of 16-bit floats may round less often.)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from gscompile.errors import ArgumentError, GSError
from gscompile.frontend.builder import Builder
from gscompile.ir.computation import Computation, item
from gscompile.ir.dims import shape_str
from gscompile.ir.graph import Graph, Value
from gscompile.ir.ops.base import Inline
from gscompile.ir.ops.leaf import Constant, Input
from gscompile.ir.ops.movement import Pointwise
from gscompile.ir.ops.reductions import REDUCTIONS, Reduction, variant
from gscompile.ir.types import DType

LARGE = 400  # nodes of a computation's expression, counted as a tree
# functions of two values that may be exchanged -> the reduction
_NAMED = {r.function: r.name for r in REDUCTIONS.values() if r.function and r.commutative and not r.averaged}
_NAMED_BOOL = {"bitwise_or": "max", "logical_or": "max", "bitwise_and": "min", "logical_and": "min"}


def computation(op: str, function: Callable[..., Any], dtypes: Sequence[DType]) -> Computation | list[Reduction]:
    """What a Python function of ``2 n`` scalars does with n tensors of these dtypes.

    Returns:
        One reduction for each tensor, where no result depends on another tensor's values; otherwise one for all together.

    Raises:
        ArgumentError: the function does not give n scalars of the tensors' dtypes, or does something that is not
            arithmetic on its arguments and on constants.
    """
    if not callable(function):
        raise ArgumentError(f"{op}: update_computation must be a function of scalars; got {function!r}")
    n = len(dtypes)
    b = Builder("update_computation")
    old = [b.input(f"old{k}", (), d) for k, d in enumerate(dtypes)]
    new = [b.input(f"new{k}", (), d) for k, d in enumerate(dtypes)]
    if not _takes(function, 2 * n):
        raise ArgumentError(f"{op}: update_computation must be a function of {2 * n} scalars; got {function!r}")
    try:
        returned = function(*old, *new)
        results = list(returned) if isinstance(returned, (tuple, list)) else [returned]
        values = [b.draft.as_value(op, f"result {k} of update_computation", r) for k, r in enumerate(results)]
    except GSError as e:
        raise ArgumentError(f"{op}: update_computation: {e}") from e
    if len(values) != n:
        raise ArgumentError(f"{op}: update_computation must give {n} result(s), one for each input; got {len(values)}")
    for k, (v, d) in enumerate(zip(values, dtypes, strict=True)):
        if v.dtype != d or v.rank:
            raise ArgumentError(
                f"{op}: update_computation must give a scalar of its input's dtype {d} as result {k}; "
                f"got {v.dtype}{shape_str(v.shape)}"
            )
    alone = [_graph([r], [x, y]) for r, x, y in zip(values, old, new, strict=True)]
    if all(len(g.inputs) == 2 for g in alone):
        return [_reduction(op, g) for g in alone]
    return _computation(op, _graph(values, [*old, *new]))


def _takes(function: Callable[..., Any], n: int) -> bool:
    """Whether it can be called with n arguments, as far as can be told."""
    try:
        inspect.signature(function).bind(*[None] * n)
    except TypeError:
        return False
    except ValueError:  # a builtin without a signature
        return True
    return True


def _graph(outputs: Sequence[Value], inputs: Sequence[Value]) -> Graph:
    """What the outputs need, after all of these inputs; other inputs that they need come in between."""
    found: list[Value] = list(inputs)
    seen = {id(v) for v in found}

    def add(v: Value) -> None:
        if id(v) not in seen:
            seen.add(id(v))
            for a in v.args:
                add(a)
            found.append(v)

    for v in outputs:
        add(v)
    return Graph("update_computation", tuple(found), tuple(outputs), ())


def _reduction(op: str, graph: Graph) -> Reduction:
    """The reduction of a function of two values, by its name if it has one."""
    (result,), (old, new) = graph.outputs, graph.inputs
    if result is new:
        return REDUCTIONS["update"]
    if isinstance(result.op, Pointwise):
        names = _NAMED | _NAMED_BOOL if result.dtype.kind == "b" else _NAMED
        if result.op.function in names and {id(a) for a in result.args} == {id(old), id(new)}:
            return variant(names[result.op.function], stepwise=True)
        if result.op.function == "sub" and result.args[0] is old and result.args[1] is new:
            return variant("sub", stepwise=True)
    return _computation(op, graph)


def _computation(op: str, graph: Graph) -> Computation:
    size: dict[int, int] = {}
    for v in graph.values:
        if v.rank or not isinstance(v.op, (Inline, Input, Constant)) or v.op.indexing is not None:
            raise ArgumentError(f"{op}: update_computation must be arithmetic on scalars; got {v!r}")
        size[id(v)] = 1 + sum(size[id(a)] for a in v.args)
    if sum(size[id(v)] for v in graph.outputs) > LARGE:
        raise ArgumentError(f"{op}: update_computation is an expression of more than {LARGE} nodes")
    constants = [(v.name, item(v)) for v in graph.values if isinstance(v.op, Constant)]
    key = f"{graph}\n{constants!r}"
    return Computation(
        name="computation",
        function=None,
        identity=None,
        associative=False,
        commutative=False,
        ordered=True,
        key=key,
        graph=graph,
    )
