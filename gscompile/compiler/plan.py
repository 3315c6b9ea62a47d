"""Which values get storage, and in what order the nests run.

A value is either *inlined* (computed where it is read, so that chains of operators never touch memory) or *stored*.

Stored are:
* the outputs, in the caller's memory;
* scatters and reductions: many contributions meet in one cell, so no cell can be computed by itself;
* an inlined value that would be computed more often than once at more than ``CHEAP`` instructions: one that several nests
  or operands read, or that a gather, a broadcast or a window reads repeatedly.  Loading it back costs about as much as
  ``CHEAP`` instructions;
* an inlined value whose expression has grown past ``LARGE`` nodes, counted as a tree: TVM's passes take time in proportion,
  even where equal parts of it are the same object.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from gscompile.ir.dims import Dim, product
from gscompile.ir.graph import Graph, Value
from gscompile.ir.ops.base import Inline, Leaf, Stored
from gscompile.ir.ops.gather import Gather
from gscompile.ir.ops.movement import BroadcastTo, Cast, Pointwise
from gscompile.ir.ops.reduce import ArgReduce, Reduce
from gscompile.ir.ops.scatter import Scatter

CHEAP = 12
LARGE = 400


@dataclass(frozen=True, slots=True)
class Plan:
    """The decisions.

    Attributes:
        stored: ids of the values with storage, leaves apart.
        early: values whose indices can be checked before anything is written, in graph order.
        late: the other values whose indices are checked.
        joined: ids of those early ones whose indices the nest that reads them may check itself.
        folded: id of a fold -> the gather whose indices its nest may check.
        in_place: output number -> the input whose memory it may take over.
    """

    stored: frozenset[int]
    early: tuple[Value, ...]
    late: tuple[Value, ...]
    joined: frozenset[int]
    folded: dict[int, Value]
    in_place: dict[int, Value]
    cost: dict[int, int]


Readers: TypeAlias = dict[int, list[tuple[Value, int]]]
"""A value's ``id`` -> who reads it, as which argument."""


def plan(graph: Graph) -> Plan:
    """Decide for a graph."""
    stored: set[int] = {id(v) for v in graph.outputs if not isinstance(v.op, Leaf)}
    stored |= {id(v) for v in graph.values if isinstance(v.op, Stored)}
    readers: Readers = {id(v): [] for v in graph.values}
    for v in graph.values:
        for k, a in enumerate(v.args):
            readers[id(a)].append((v, k))
    cost: dict[int, int] = {}
    nodes: dict[int, int] = {}  # the size of a value's expression
    spots: dict[int, int] = {}  # how often it contains its coordinates
    for v in graph.values:
        inlined = [a for a in v.args if id(a) not in stored and not isinstance(a.op, Leaf)]
        own = v.op.cost if isinstance(v.op, Inline) else 1
        cost[id(v)] = own + sum(cost[id(a)] for a in inlined)
        # storing an argument keeps its expression out of this one
        while inlined and sum(_tree(v, inlined, nodes, spots)) > LARGE:
            biggest = max(inlined, key=lambda a: nodes[id(a)])
            stored.add(id(biggest))
            inlined = [a for a in inlined if a is not biggest]
        nodes[id(v)], spots[id(v)] = _tree(v, inlined, nodes, spots)
        if id(v) in stored or not isinstance(v.op, Inline) or not v.args:
            continue
        often = len(readers[id(v)]) > 1 or any(_repeats(reader, k, v) for reader, k in readers[id(v)])
        if often and cost[id(v)] > CHEAP:
            stored.add(id(v))
    checked = [
        v for v in graph.values if isinstance(v.op, (Gather, Scatter)) and v.op.addressing.needs_check(v.args[0].shape)
    ]
    checked = _distinct(checked)
    early = tuple(v for v in checked if not _reads_stored(v.args[1], stored))
    late = tuple(v for v in checked if not any(v is e for e in early))
    in_place = {}
    if not late:
        for k, v in enumerate(graph.outputs):
            base = v.args[0] if isinstance(v.op, Scatter) else None
            if base is not None and isinstance(base.op, Leaf) and base.op.name == "input":
                alone = len(readers[id(base)]) == 1 and not any(o is base for o in graph.outputs)
                if alone and sum(o is v for o in graph.outputs) == 1:
                    in_place[k] = base
    nests = _joined(graph, early, late, stored, readers, [graph.outputs[k] for k in in_place])
    folded = {id(nest): v for v, nest in nests if nest is not v}
    return Plan(frozenset(stored), early, late, frozenset(id(v) for v, _ in nests), folded, in_place, cost)


def _joined(
    graph: Graph,
    early: tuple[Value, ...],
    late: tuple[Value, ...],
    stored: set[int],
    readers: Readers,
    in_place: list[Value],
) -> list[tuple[Value, Value]]:
    """The checks that may wait until a nest runs that reads every index itself, with the value that this nest is of.

    The last ones, so that all run in graph order still, and none after a nest that may overwrite an input.
    """
    joined: list[tuple[Value, Value]] = []
    order = {id(v): k for k, v in enumerate(graph.values)}
    last = min((order[id(v)] for v in in_place), default=len(order))
    for v in reversed(early):
        nest = v if id(v) in stored else _fold_of(v, stored, readers)
        if nest is None or order[id(nest)] > last or (isinstance(v.op, Scatter) and v.op.reduction.arity > 1):
            break
        if any(order[id(v)] < order[id(x)] < order[id(nest)] for x in late):
            break
        joined.append((v, nest))
        last = order[id(nest)] - 1
    return joined


def _fold_of(gather: Value, stored: set[int], readers: Readers) -> Value | None:
    """The fold over axes that reads each element of a gather once, and nothing else its indices; None if there is none."""
    alone = all(reader is gather for reader, _ in readers[id(gather.args[1])])
    v = gather
    while alone and id(v) not in stored and len(readers[id(v)]) == 1:
        ((reader, _),) = readers[id(v)]
        if isinstance(reader.op, (Reduce, ArgReduce)):
            return reader
        if not isinstance(reader.op, (Pointwise, Cast)) or reader.shape != gather.shape:
            return None
        v = reader
    return None


def _tree(value: Value, inlined: list[Value], nodes: dict[int, int], spots: dict[int, int]) -> tuple[int, int]:
    """The size of a value's expression, counted as a tree, and how often its coordinates stand in it.

    What is loaded counts as one node with its coordinates once.  In a gather, the index's expression stands where data's has
    coordinates.
    """
    sizes = [nodes[id(a)] if any(a is x for x in inlined) else 1 for a in value.args]
    places = [spots[id(a)] if any(a is x for x in inlined) else 1 for a in value.args]
    uses = [_uses(value, k) for k in range(len(value.args))]
    if isinstance(value.op, Gather):
        reads = places[0] * uses[1]
        return 1 + sizes[0] + reads * sizes[1], places[0] + reads * places[1]
    return 1 + sum(u * n for u, n in zip(uses, sizes, strict=True)), max(
        1, sum(u * p for u, p in zip(uses, places, strict=True))
    )


_USED_ONCE = frozenset(
    ["add", "sub", "mul", "div", "neg", "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_not"]
)


def _uses(reader: Value, position: int) -> int:
    """How often an operator's expression contains that of an argument, about."""
    op = reader.op
    if isinstance(op, (Gather, Scatter)):
        if position != 1:
            return 1
        return 2 if isinstance(reader.args[1].op, Leaf) else 4  # index + (index < 0 ? size : 0), and its analysis
    if isinstance(op, Pointwise):
        if reader.dtype.name == "bfloat16":
            return max(8, op.cost)
        if op.function not in _USED_ONCE:
            return max(6, op.cost)
        # TVM's analysis of the casts between widths goes through them several times
        return 3 if reader.dtype.is_integer else 1
    if isinstance(op, Cast):
        return 3
    return 1


def _repeats(reader: Value, position: int, value: Value) -> bool:
    """Whether ``reader`` reads elements of its argument more than once (or may, where sizes are not known)."""
    op = reader.op
    if isinstance(op, Gather):
        return (
            _more(product(reader.shape), product(value.shape))
            if position == 0
            else bool(op.addressing.map.window_sizes)
        )
    if isinstance(op, Scatter):
        return position == 1
    if isinstance(op, (BroadcastTo, Pointwise)):
        return _more(product(reader.shape), product(value.shape))
    return False


def _more(reads: Dim, size: Dim) -> bool:
    if isinstance(reads, int) and isinstance(size, int):
        return reads > size
    return reads != size


def _distinct(values: list[Value]) -> list[Value]:
    """Without those whose indices an earlier one's check covers: the same tensor against the same extents."""
    seen = set()
    kept = []
    for v in values:
        assert isinstance(v.op, (Gather, Scatter))
        a, shape = v.op.addressing, v.args[0].shape
        limits = tuple((shape[axis], a.map.slice_size(axis)) for axis in a.map.indexed_axes)
        key = (id(v.args[1]), a.map.vector_axis, a.bounds, a.negative, limits)
        if key not in seen:
            seen.add(key)
            kept.append(v)
    return kept


def _reads_stored(value: Value, stored: set[int]) -> bool:
    """Whether computing a value reads something that a nest must have written before."""
    seen: set[int] = set()
    stack = [value]
    while stack:
        v = stack.pop()
        if id(v) in seen:
            continue
        seen.add(id(v))
        if id(v) in stored:
            return True
        stack.extend(v.args)
    return False
