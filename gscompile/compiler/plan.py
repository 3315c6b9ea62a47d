"""Which values get storage, and in what order the nests run.

A value is either *inlined* (computed where it is read, so that chains of operators never touch memory) or *stored*.

Stored are:
* the outputs, in the caller's memory;
* scatters and reductions: many contributions meet in one cell, so no cell can be computed by itself;
* an inlined value that would be computed more often than once at more than ``CHEAP`` instructions: one that several nests
  or operands read, or that a gather, a broadcast or a window reads repeatedly.  Loading it back costs about as much as
  ``CHEAP`` instructions.  A GPU's arithmetic costs less than its memory: there a value that several read, each element once, is
  computed by each of them, if that takes less memory traffic and few instructions;
* on a CPU what a gather gives where it is an index, or an index is made of it: the check reads it, too, and two reads of which
  one waits for the other reach less far ahead than a loop for each.  A GPU has enough threads, and its checks ride along;
* what a group of folds over segments makes of its points (:mod:`gscompile.compiler.segments`), and nothing inside of it, where
  the target has nests of several stages;
* an inlined value whose expression has grown past ``LARGE`` nodes, counted as a tree: TVM's passes take time in proportion,
  even where equal parts of it are the same object;
* an inlined value on which ``DEEP`` others stand, one read by the next: composing them takes as many calls within one another,
  and TVM's passes recurse as deep as the expression.

Nothing here recurses, and all takes time in proportion to the graph.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from gscompile.compiler.segments import Readers, Segments, find_segments, idle, offset_checks, readers_of
from gscompile.ir.graph import Graph, Value
from gscompile.ir.ops.base import Inline, Leaf, Stored, Tree

CHEAP = 12
LARGE = 400
DEEP = 64
SECTOR = 8
"""Elements of 4 bytes that a GPU reads where it needs one."""


@dataclass(frozen=True, slots=True)
class Ride:
    """A gather whose indices the map may check whose cells are computed by it.

    Attributes:
        by: the gathers whose index it is, as it is or by way of elementwise arithmetic, from the map's cells on.
    """

    gather: Value
    by: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """The decisions.

    Attributes:
        stored: ids of the values with storage, leaves apart.
        early: values whose indices can be checked before anything is written, in graph order.
        late: the other values whose indices are checked.
        joined: ids of those early ones whose indices the nest that reads them may check itself.
        folded: id of a fold -> the gather whose indices its nest may check.
        riding: id of a value that a map computes -> the gathers whose indices it may check, in graph order.
        in_place: output number -> the input whose memory it may take over.
        segments: id of a value -> the group whose last it is, which one nest computes; values of it that have storage have it
            there, one point's at a time.
        apart: as ``stored``, where groups are taken apart.
        idle: ids of the values that are computed only there.
    """

    stored: frozenset[int]
    early: tuple[Value, ...]
    late: tuple[Value, ...]
    joined: frozenset[int]
    folded: dict[int, Value]
    riding: dict[int, tuple[Ride, ...]]
    in_place: dict[int, Value]
    cost: dict[int, int]
    segments: dict[int, Segments]
    apart: frozenset[int]
    idle: frozenset[int]


def plan(
    graph: Graph, again: int = 0, stores_indices: bool = False, by_segment: bool = False, several: bool = False
) -> Plan:
    """Decide for a graph.

    Args:
        again: instructions for an element that its readers may take together to compute it, each for itself.
        stores_indices: what a gather gives is stored where indices are made of it.
        by_segment: one nest may compute a group of folds over segments.
        several: a map may check the indices of all gathers by which its cells are computed.
    """
    readers = readers_of(graph)
    groups = find_segments(graph, readers) if by_segment else []
    stored, cost = _stored(graph, readers, again, stores_indices, groups)
    apart = _stored(graph, readers, again, stores_indices, [])[0] if groups else stored
    unused = idle(graph, groups) if groups else set()
    offsets = offset_checks(groups, unused)
    nest_of = {id(fold): g.last for g in groups for fold in g.folds}
    one = {id(last): k for k, last in offsets.items()}  # that a nest takes over
    nest_of |= {k: last for k, last in offsets.items() if one[id(last)] == k}
    indexed = [v for v in graph.values if id(v) not in unused or id(v) in offsets]
    alike = _alike([v for v in indexed if v.op.indexing is not None and v.op.indexing.needs_check(v.args[0].shape)])
    checked = [v for v, *_ in alike]  # whose checks cover the others
    written = _reading_stored(graph, stored)
    early = tuple(v for v in checked if id(v.args[1]) not in written)
    late = tuple(v for v in checked if id(v.args[1]) in written)
    order = {id(v): k for k, v in enumerate(graph.values)}
    in_place = _in_place(graph, readers, order, late)
    rides = _rides(graph, alike, stored, readers, order) if several and not groups else {}
    nests = _joined(order, early, late, stored, readers, [graph.outputs[k] for k in in_place], nest_of, rides)
    folded = {id(nest): v for v, nest in nests if nest is not v and id(v) not in rides}
    riding: dict[int, tuple[Ride, ...]] = {}
    for v, nest in reversed(nests):
        if id(nest) not in folded:
            ride = rides[id(v)][1] if id(v) in rides else Ride(v)
            riding[id(nest)] = (*riding.get(id(nest), ()), ride)
    segments = {id(g.last): g for g in groups}
    joined = frozenset(id(v) for v, _ in nests)
    apart_, unused_ = frozenset(apart), frozenset(unused)
    return Plan(frozenset(stored), early, late, joined, folded, riding, in_place, cost, segments, apart_, unused_)


def _stored(
    graph: Graph, readers: Readers, again: int, stores_indices: bool, groups: list[Segments]
) -> tuple[set[int], dict[int, int]]:
    """The ids of the values with storage, and every value's cost."""
    stored = {id(v) for v in graph.outputs if not isinstance(v.op, Leaf)}
    stored |= {id(v) for v in graph.values if isinstance(v.op, Stored)}
    stored |= {id(g.last) for g in groups}
    inside = {id(v) for g in groups for v in g.inside}
    cost: dict[int, int] = {}
    trees: dict[int, Tree] = {}
    indices = _indices(graph, readers) if stores_indices else set()
    for v in graph.values:
        inlined = [a for a in v.args if id(a) not in stored and not isinstance(a.op, Leaf)]
        # storing an argument keeps its expression out of this one
        while inlined and _is_too_much(_tree(v, inlined, trees)):
            biggest = max(inlined, key=lambda a: (trees[id(a)].depth >= DEEP, trees[id(a)].nodes))
            stored.add(id(biggest))
            inlined = [a for a in inlined if a is not biggest]
        trees[id(v)] = _tree(v, inlined, trees)
        cost[id(v)] = v.op.cost + sum(cost[id(a)] for a in inlined)
        if id(v) in stored or id(v) in inside or not isinstance(v.op, Inline) or not v.args:
            continue
        readings = readers[id(v)]
        if v.op.indexing is not None and id(v) in indices:
            stored.add(id(v))
            continue
        repeated = any(reader.op.repeats(k, reader.shape, v.shape) for reader, k in readings)
        often = repeated or len(readings) > 1
        few = not repeated and len(readings) * cost[id(v)] <= again
        if (
            often
            and cost[id(v)] > CHEAP
            and not (few and _is_read_for_less(sum(_reads(v, stored).values()), len(readings)))
        ):
            stored.add(id(v))
    return stored, cost


def _indices(graph: Graph, readers: Readers) -> set[int]:
    """The ids of values that are read as an index, as they are or by way of arithmetic and movement."""
    found: set[int] = set()
    for v in reversed(graph.values):
        for reader, k in readers[id(v)]:
            at = reader.op.indexing
            if (at is not None and k == 1) or (at is None and isinstance(reader.op, Inline) and id(reader) in found):
                found.add(id(v))
    return found


def _reads(v: Value, stored: set[int]) -> dict[int, int]:
    """By tensor, how many elements an element of a value takes the time to read of.

    Single elements that an index picks from a tensor lie in sectors of their own; what folds have made of many is small, and in a
    cache.
    """
    found: dict[int, int] = {}
    at = v.op.indexing
    apart = at is not None and at.map.layout[-1:] != () and at.map.layout[-1][0] == "index"
    for k, a in enumerate(v.args):
        alone = apart and v.op.picks(k) and not isinstance(a.op, Stored)
        is_tensor = id(a) in stored or isinstance(a.op, Leaf)
        for tensor, count in ({id(a): 1} if is_tensor else _reads(a, stored)).items():
            found[tensor] = max(found.get(tensor, 0), SECTOR if alone else count)
    return found


def _is_read_for_less(reads: int, readers: int) -> bool:
    """Whether each reader takes so many reads in less time than one of them, which stores a value that all then read."""
    return readers * reads <= reads + 1 + readers


def _is_too_much(tree: Tree) -> bool:
    return tree.total > LARGE or tree.depth > DEEP


def _in_place(graph: Graph, readers: Readers, order: dict[int, int], late: Iterable[Value]) -> dict[int, Value]:
    """Output number -> the input whose memory it may take over: no check comes after it."""
    found = {}
    checked = max((order[id(v)] for v in late), default=-1)
    times = Counter(map(id, graph.outputs))
    for k, v in enumerate(graph.outputs):
        argument = v.op.in_place_argument
        base = None if argument is None else v.args[argument]
        if base is not None and isinstance(base.op, Leaf) and base.op.name == "input":
            alone = len(readers[id(base)]) == 1 and id(base) not in times
            if alone and times[id(v)] == 1 and checked <= order[id(v)]:
                found[k] = base
    return found


def _joined(
    order: dict[int, int],
    early: tuple[Value, ...],
    late: tuple[Value, ...],
    stored: set[int],
    readers: Readers,
    in_place: list[Value],
    nest_of: dict[int, Value],
    rides: dict[int, tuple[Value, Ride]],
) -> list[tuple[Value, Value]]:
    """The checks that may wait until a nest runs that reads every index itself, with the value that this nest is of.

    The last ones, so that all run in graph order still, and none after a nest that may overwrite an input.
    """
    joined: list[tuple[Value, Value]] = []
    last = min((order[id(v)] for v in in_place), default=len(order))
    waiting = [order[id(v)] for v in late]
    for v in reversed(early):
        nest = nest_of.get(id(v))
        if nest is None:
            nest = v if id(v) in stored else _fold_of(v, stored, readers)
        if id(v) in rides:
            nest = rides[id(v)][0]
        if nest is None or order[id(nest)] > last or v.op.lanes > 1:
            break
        after = bisect_right(waiting, order[id(v)])
        if after < len(waiting) and waiting[after] < order[id(nest)]:
            break
        joined.append((v, nest))
        last = order[id(nest)] - (not _is_map(nest))  # a map may take over several
    return joined


def _is_map(v: Value) -> bool:
    """Whether a value's storage is filled by a map."""
    return not isinstance(v.op, Stored)


def _rides(
    graph: Graph, alike: Sequence[Sequence[Value]], stored: set[int], readers: Readers, order: dict[int, int]
) -> dict[int, tuple[Value, Ride]]:
    """The id of a gather without storage -> the map that may check its indices, as cells are computed by each of them.

    It is the first nest that computes anything by those indices: those after it run where they are all in range.
    """
    first: dict[int, int] = {}  # nest that computes something by a value
    for v in reversed(graph.values):
        own = order[id(v)] if id(v) in stored else len(order)
        first[id(v)] = own if id(v) in stored else min((first[id(r)] for r, _ in readers[id(v)]), default=own)
    found = {}
    for v, *others in alike:
        begin = min(first[id(u)] for u in (v, *others))
        if id(v) not in stored and begin < len(order):
            nest = graph.values[begin]
            ride = _ride(v, nest, stored, readers) if _is_map(nest) else None
            if ride is not None:
                found[id(v)] = nest, ride
    return found


def _ride(gather: Value, nest: Value, stored: set[int], readers: Readers) -> Ride | None:
    """How a map reads each element of a gather, where each of its cells, if there are any, is computed by one; None if not."""
    todo, seen = [(gather, Ride(gather))], {id(gather)}
    while todo:
        v, ride = todo.pop()
        if v is nest:
            return ride
        for reader, k in readers[id(v)] if id(v) not in stored else ():
            at = reader.op.indexing
            if id(reader) in seen or not isinstance(reader.op, Inline):
                continue
            if at is not None and k == 1 and at.map.vector_axis is None:
                todo.append((reader, Ride(gather, (reader, *ride.by))))
                seen.add(id(reader))
            elif reader.op.elementwise and reader.shape == v.shape:
                todo.append((reader, ride))
                seen.add(id(reader))
    return None


def _fold_of(gather: Value, stored: set[int], readers: Readers) -> Value | None:
    """The fold over axes that reads each element of a gather once, and nothing else its indices; None if there is none."""
    alone = all(reader is gather for reader, _ in readers[id(gather.args[1])])
    v = gather
    while alone and id(v) not in stored and len(readers[id(v)]) == 1:
        ((reader, _),) = readers[id(v)]
        if reader.op.folds:
            return reader
        if not reader.op.elementwise or reader.shape != gather.shape:
            return None
        v = reader
    return None


def _tree(value: Value, inlined: list[Value], trees: dict[int, Tree]) -> Tree:
    """The size of a value's expression where these arguments are part of it."""
    args = [trees[id(a)] if any(a is x for x in inlined) else Tree(given=isinstance(a.op, Leaf)) for a in value.args]
    return value.op.tree(value.type, args, [a.type for a in value.args])


def _alike(values: list[Value]) -> list[list[Value]]:
    """By check: those whose indices are the same tensor, against the same extents."""
    found: dict[Hashable, list[Value]] = {}
    for v in values:
        a, shape = v.op.indexing, v.args[0].shape
        assert a is not None
        limits = tuple((shape[axis], a.map.slice_size(axis)) for axis in a.map.indexed_axes)
        key = (id(v.args[1]), a.map.vector_axis, a.bounds, a.negative, limits)
        found.setdefault(key, []).append(v)
    return list(found.values())


def _reading_stored(graph: Graph, stored: set[int]) -> set[int]:
    """The ids of the values that computing reads something for that a nest must have written before."""
    found = set(stored)
    for v in graph.values:
        if any(id(a) in found for a in v.args):
            found.add(id(v))
    return found
