"""Values that are computed together, segment by segment: folds of the points of each, and what becomes of the points by them.

In ``exp(x - max[i]) / sum[i]``, where i is sorted, max and sum are scatters that nothing but ``take(.., i)`` reads.  Where
offsets say which points a segment has, they are reductions of runs that nothing but ``segment_expand`` by the same offsets reads.
The points of a segment follow each other, so that one nest can fold them as often as it takes, and write what they become.  A
group is all that stands between the first of these folds and the only value of it that others read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from gscompile.ir.bounds import Bounds
from gscompile.ir.graph import Graph, Value
from gscompile.ir.index_map import IndexMap
from gscompile.ir.ops.gather import Gather
from gscompile.ir.ops.movement import Full, RunNumbers
from gscompile.ir.ops.reduce import SegmentReduce
from gscompile.ir.ops.scatter import Scatter

Readers: TypeAlias = Mapping[int, Sequence[tuple[Value, int]]]
"""A value's ``id`` -> who reads it, as which argument."""


def readers_of(graph: Graph) -> Readers:
    """Of each value of a graph."""
    readers: dict[int, list[tuple[Value, int]]] = {id(v): [] for v in graph.values}
    for v in graph.values:
        for k, a in enumerate(v.args):
            readers[id(a)].append((v, k))
    return readers


@dataclass(frozen=True, slots=True)
class Segments:
    """A group.

    Attributes:
        values: those that only the group reads, in graph order: folds, gathers of what these give, and what is made of that.
        last: what is stored: the value that others read.
    """

    values: tuple[Value, ...]
    last: Value

    @property
    def folds(self) -> list[Value]:
        """The scatters, or the reductions of runs."""
        return [v for v in self.values if is_fold(v)]

    @property
    def inside(self) -> list[Value]:
        """The other values that only the group reads."""
        return [v for v in self.values if not is_fold(v)]

    @property
    def offsets(self) -> Value | None:
        """Where the segments begin and end; None where an index says in which one a point is."""
        return _offsets(self.folds[0])

    @property
    def reads(self) -> list[Value]:
        """The values that the nest reads."""
        mine = {id(v) for v in self.values}
        found = [a for v in (*self.values, self.last) for a in v.args if id(a) not in mine]
        offsets = self.offsets
        if offsets is None:
            return found
        ends = {id(a) for v in self.folds for a in v.args[1:]}
        return [offsets, *(a for a in found if id(a) not in ends and not isinstance(a.op, RunNumbers))]

    def gathers(self) -> list[tuple[Value, int]]:
        """The values that are a fold's, each at its point, with the number of that fold."""
        number = {id(v): k for k, v in enumerate(self.folds)}
        found = [*self.inside, self.last]
        return [(v, number[id(v.args[0])]) for v in found if v.args and id(v.args[0]) in number]

    def needs(self, value: Value, some: Sequence[Value]) -> list[int]:
        """The numbers of those of some values of the group that a value is made of, or is."""
        mine, found, todo = {id(v) for v in self.inside}, set(), [value]
        while todo:
            v = todo.pop()
            if id(v) not in found:
                found.add(id(v))
                todo += [a for a in v.args if id(a) in mine]
        return [k for k, v in enumerate(some) if id(v) in found]


def points_of(fold: Value) -> Value:
    """What a fold folds."""
    return fold.args[2 if isinstance(fold.op, Scatter) else 0]


def idle(graph: Graph, groups: Sequence[Segments]) -> set[int]:
    """The ids of the values, none of a group's own, that nothing reads but the nests that a group would be taken apart to."""
    of, todo = {id(g.last): g for g in groups}, list(graph.outputs)
    used = {id(v) for g in groups for v in g.values}
    while todo:
        v = todo.pop()
        if id(v) not in used:
            used.add(id(v))
            todo += of[id(v)].reads if id(v) in of else v.args
    return {id(v) for v in graph.values} - used


def offset_checks(groups: Sequence[Segments], unused: set[int]) -> dict[int, Value]:
    """The id of each value whose indices are to be checked, as offsets ascend then, though only unused ones read it -> the last
    value of the first group that the offsets are of.
    """
    found: dict[int, Value] = {}
    for g in groups:
        todo, seen = [v.args[1] for v, _ in g.gathers() if isinstance(v.args[1].op, RunNumbers)], set()
        while todo:
            v = todo.pop()
            if id(v) in unused and id(v) not in seen:
                seen.add(id(v))
                todo += v.args
                if v.op.indexing is not None and v.op.indexing.needs_check(v.args[0].shape):
                    found.setdefault(id(v), g.last)
    return found


def find_segments(graph: Graph, readers: Readers) -> list[Segments]:
    """The groups of a graph; no value is in two."""
    outputs = Counter(map(id, graph.outputs))
    groups: list[_Growing] = []
    current: dict[Hashable, _Growing] = {}
    of: dict[int, _Growing] = {}
    for v in graph.values:
        members = {id(of[id(a)]): of[id(a)] for a in v.args if id(a) in of}
        group = next(iter(members.values()), None)
        if key := fold_key(v, readers[id(v)], outputs):
            if group is None:
                group = current.get(key)
                if group is None or group.is_over(outputs):
                    group = current[key] = _Growing(key, points_of(v))
                    groups.append(group)
            if group.key != key or (isinstance(v.op, Scatter) and id(v.args[0]) in of):
                continue
        elif group is None or len(members) > 1 or not group.takes(v):
            continue
        of[id(v)] = group
        group.add(v, len(readers[id(v)]) + outputs[id(v)])
    found = [g.found() for g in groups if g.last is not None]
    return [g for g in found if len(g.folds) > 1 or outputs[id(g.last)]]


@dataclass(slots=True)
class _Growing:
    """A group as values are added.

    Attributes:
        key: what its folds have in common.
        points: a value of the points' shape.
        ids: those of the values.
        open: id of a value -> how often it is read by what is not in the group so far.
        last: with the values before it the largest group so far of which others read one value only.
        before: how many these are.
    """

    key: Hashable
    points: Value
    values: list[Value] = field(default_factory=list)
    ids: set[int] = field(default_factory=set)
    open: dict[int, int] = field(default_factory=dict)
    last: Value | None = None
    before: int = 0

    def takes(self, v: Value) -> bool:
        """Whether a value that reads some of the group can be in it: its points are made of theirs, one by one."""
        is_total = isinstance(v.op, Gather) and id(v.args[0]) in self.ids
        return (is_total or v.op.elementwise) and v.shape == self.points.shape

    def add(self, v: Value, readings: int) -> None:
        for a in v.args:
            if id(a) in self.open:
                self.open[id(a)] -= 1
                if not self.open[id(a)]:
                    del self.open[id(a)]
        self.open[id(v)] = readings
        if len(self.open) == 1 and not is_fold(v):
            self.last, self.before = v, len(self.values)
        self.values.append(v)
        self.ids.add(id(v))

    def found(self) -> Segments:
        """That group."""
        assert self.last is not None
        return Segments(tuple(self.values[: self.before]), self.last)

    def is_over(self, outputs: Counter[int]) -> bool:
        """Whether nothing that is still to come reads any of it."""
        return self.last is not None and self.open == {id(self.last): outputs[id(self.last)]}


def is_fold(v: Value) -> bool:
    """Whether it may fold segments."""
    return isinstance(v.op, (Scatter, SegmentReduce))


def _offsets(v: Value) -> Value | None:
    """The offsets of a reduction of runs, as the builder adds one: their parts are slices of what checks them."""
    checked = v.args[1].args[:1] if isinstance(v.op, SegmentReduce) else ()
    return checked[0].args[1] if checked and len(checked[0].args) > 1 else None


def fold_key(v: Value, readings: Sequence[tuple[Value, int]], outputs: Counter[int]) -> Hashable:
    """What is equal for folds of the same segments; None where a value is none, or others read what it gives."""
    op = v.op
    if not isinstance(op, (Scatter, SegmentReduce)) or outputs[id(v)] or v.dtype.kind not in "fiu":
        return None
    r = op.reduction
    if r.arity > 1 or r.function is None or not (r.associative and r.commutative):
        return None
    return _scattered(v, op, readings) if isinstance(op, Scatter) else _reduced(v, readings)


def _scattered(v: Value, op: Scatter, readings: Sequence[tuple[Value, int]]) -> Hashable:
    """As :func:`fold_key`, of scatters by one index."""
    m = op.addressing.map
    if not op.sorted or op.overlapping or op.deterministic:
        return None
    if op.addressing.bounds is Bounds.FILL or len(m.own_axes) != 1 or not isinstance(v.args[0].op, Full):
        return None
    own = m.layout.index(("index", m.own_axes[0]))
    same = all(
        isinstance(g.op, Gather) and k == 0 and g.op.addressing == op.addressing and g.args[1] is v.args[1]
        for g, k in readings
    )
    if not same or any(kind != "window" for kind, _ in m.layout[own + 1 :]):
        return None
    return (id(v.args[1]), op.addressing, v.shape, v.args[2].shape)


def _reduced(v: Value, readings: Sequence[tuple[Value, int]]) -> Hashable:
    """As :func:`fold_key`, of reductions of runs: each row gets what its own run has given."""
    points, offsets = v.args[0], _offsets(v)
    take = IndexMap.take(v.rank, 1)
    same = all(
        isinstance(g.op, Gather)
        and (k, g.op.addressing.map, g.shape) == (0, take, points.shape)
        and isinstance(g.args[1].op, RunNumbers)
        and g.args[1].args[1] is offsets
        for g, k in readings
    )
    return (id(offsets), points.shape) if same and offsets is not None else None
