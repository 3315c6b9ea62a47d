"""What is made of the totals of segments, made point by point instead: ``take(sum + 1e-16, i)`` as ``take(sum, i) + 1e-16``.

A group of segments (:mod:`gscompile.compiler.segments`) reads its folds at its points only, and PyG's softmax adds a number to
the sum before.  The functions are the same, of the same values, so that results are bitwise the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import replace

from gscompile.compiler.segments import fold_key, is_fold, readers_of
from gscompile.ir.bounds import Bounds
from gscompile.ir.graph import Graph, Rewritten, Value
from gscompile.ir.ops.gather import Gather
from gscompile.ir.ops.movement import Full
from gscompile.ir.types import TensorType


def totals_at_points(graph: Graph) -> Rewritten:
    """The graph itself where nothing is made of totals but what points read of them."""
    made = _Made(graph)
    return made.rewritten() if made.values else Rewritten.unchanged(graph)


MOST = 16
"""Values that are made of a fold, at most: who makes more of it has it stored."""


class _Made:
    """What is made of totals, all of which only gathers at the totals' own points read.

    Attributes:
        folds: the ids of the totals.
        values: the ids of what is made of them.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.outputs = Counter(map(id, graph.outputs))
        self.readers = readers_of(graph)
        folds = self._found()
        self.folds = set(folds)
        self.values = {id(v) for _, made in folds.values() for v in made}

    def _found(self) -> dict[int, tuple[Hashable, list[Value]]]:
        """The id of each fold -> its key, and what is made of it."""
        folds: dict[int, tuple[Hashable, list[Value]]] = {}
        for v in filter(is_fold, self.graph.values):
            reached = self._reached(v)
            if reached is not None and (key := fold_key(v, reached[1], self.outputs)):
                folds[id(v)] = key, reached[0]
        while True:
            of = {id(v): key for key, made in folds.values() for v in made}
            known = {k: key for k, (key, _) in folds.items()} | of
            dropped = [k for k, (key, made) in folds.items() if not all(self._belongs(v, key, known) for v in made)]
            if not dropped:
                return folds
            for k in dropped:
                del folds[k]

    def _reached(self, fold: Value) -> tuple[list[Value], list[tuple[Value, int]]] | None:
        """What elementwise functions make of a fold, and the gathers of it and of that; None where others read some of it."""
        made: dict[int, Value] = {}
        gathers: list[tuple[Value, int]] = []
        todo = [fold]
        while todo:
            x = todo.pop()
            for v, k in self.readers[id(x)]:
                if isinstance(v.op, Gather) and k == 0 and v.op.addressing.bounds in (Bounds.RAISE, Bounds.TRUST):
                    gathers.append((v, k))  # others give 0 where there are no totals
                elif not v.op.elementwise or v.shape != fold.shape or self.outputs[id(v)]:
                    return None
                elif id(v) not in made:
                    made[id(v)] = v
                    todo.append(v)
                    if len(made) > MOST:
                        return None
        return [*made.values()], gathers

    def _belongs(self, v: Value, key: Hashable, known: dict[int, Hashable]) -> bool:
        """Whether a value is made of totals of the same segments, and of numbers."""
        return all(known[id(a)] == key if id(a) in known else _is_number(a, v) for a in v.args)

    def rewritten(self) -> Rewritten:
        values: list[Value] = []
        origin: dict[int, Value] = {}
        found: dict[int, Value] = {}
        at: dict[tuple[int, int, Hashable], Value] = {}

        def add(v: Value, of: Value) -> Value:
            values.append(v)
            origin[id(v)] = of
            return v

        def at_points(x: Value, g: Value) -> Value:
            """What a gather would give of a total, or of what is made of it."""
            assert isinstance(g.op, Gather)
            place = (id(x), id(g.args[1]), g.op.addressing)
            if place not in at:
                name, type = f"{x.name}_of_{g.name}", TensorType(g.shape, x.dtype)
                if id(x) in self.values:
                    new = replace(x, name=name, type=type, args=tuple(at_points(a, g) for a in x.args))
                elif id(x) in self.folds:
                    new = replace(g, name=name, type=type, args=(found[id(x)], found[id(g.args[1])]))
                elif isinstance(x.op, Full):
                    new = replace(x, name=name, type=type)
                else:
                    return found[id(x)]
                at[place] = add(new, g)
            return at[place]

        for v in self.graph.values:
            if id(v) in self.values:
                continue
            if isinstance(v.op, Gather) and id(v.args[0]) in self.values:
                found[id(v)] = at_points(v.args[0], v)
                continue
            args = tuple(found[id(a)] for a in v.args)
            same = all(a is b for a, b in zip(args, v.args, strict=True))
            found[id(v)] = add(v if same else replace(v, args=args), v)
        outputs = tuple(found[id(v)] for v in self.graph.outputs)
        return Rewritten(Graph(self.graph.name, tuple(values), outputs, self.graph.constraints), origin)


def _is_number(a: Value, v: Value) -> bool:
    """Whether an operand is the same everywhere."""
    return isinstance(a.op, Full) or (a.rank <= v.rank and all(d == 1 for d in a.shape))
