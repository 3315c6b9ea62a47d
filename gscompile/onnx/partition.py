"""Which nodes of a model are compiled together: gathers and scatters, and the arithmetic between and around them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gscompile.errors import ArgumentError
from gscompile.onnx.definitions import opsets
from gscompile.onnx.survey import ELEMENTWISE, Survey, in_onnx, uses_of

KINDS = {
    "gather": ("Gather", "GatherElements", "GatherND"),
    "scatter": ("Scatter", "ScatterElements", "ScatterND", "TensorScatter"),
}
# What a gather or a scatter takes along.  Matrix products, convolutions and normalisations are faster where they are.
_MOVED_AND_REDUCED = """
Concat ConstantOfShape Expand Flatten Identity Reshape Slice Squeeze Tile Transpose Unsqueeze
ReduceL1 ReduceL2 ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare"""
_JOINED = ELEMENTWISE | frozenset(re.findall(r"\w+", _MOVED_AND_REDUCED))
# Operator sets whose scatters overwrite in ONNX Runtime where gscompile reads what PyTorch meant.
_MISREAD = (16, 17)


def partition(survey: Survey, kinds: Sequence[str]) -> list[list[int]]:
    """Groups of nodes, by number, each of which can become one node: nothing outside is between two of its nodes.

    Args:
        kinds: of operators to look for, of ``KINDS``.

    Raises:
        ArgumentError: an unknown kind, or none.
    """
    if not kinds or not set(kinds) <= KINDS.keys():
        raise ArgumentError(f"replace: one or more of {', '.join(KINDS)} are needed; got {', '.join(kinds) or 'none'}")
    wanted = [op for kind in kinds for op in KINDS[kind]]
    nodes = survey.graph.node
    takes = [survey.supported[k] and _computed(survey, k) for k in range(len(nodes))]
    seeds = [k for k in range(len(nodes)) if takes[k] and in_onnx(nodes[k], wanted) and not _misread(survey, k)]
    joined = {k for k in range(len(nodes)) if takes[k] and in_onnx(nodes[k], _JOINED)}
    groups = _Groups(survey)
    for seed in seeds:
        groups.grow(seed, joined, set(seeds))
    return sorted({id(g): sorted(g) for g in (groups.of[k] for k in seeds)}.values())


def _computed(survey: Survey, k: int) -> bool:
    """Whether a call computes what a node gives: it is not known while the code is made."""
    names = [n for n in survey.graph.node[k].output if n]
    return all(n in survey.scope and survey.scope[n].known is None for n in names)


def _misread(survey: Survey, k: int) -> bool:
    extremes = (a.name == "reduction" and a.s in (b"min", b"max") for a in survey.graph.node[k].attribute)
    return opsets(survey.model.opset_import)[""] in _MISREAD and any(extremes)


class _Groups:
    """Nodes, each alone at first.  Groups never depend on each other in a circle.

    Attributes:
        of: the group of each node; nodes of a group have the same set.
        before, after: of each node, those whose results it reads, and those that read its.
    """

    def __init__(self, survey: Survey) -> None:
        nodes = survey.graph.node
        self.of = [{k} for k in range(len(nodes))]
        giver = {name: k for k, proto in enumerate(nodes) for name in proto.output if name}
        self.before = [{giver[n] for n in uses_of(proto) if n in giver} for proto in nodes]
        self.after: list[set[int]] = [set() for _ in nodes]
        for k, found in enumerate(self.before):
            for j in found:
                self.after[j].add(k)
        results = {o.name for o in survey.graph.output}
        self.gives_result = [any(n in results for n in proto.output) for proto in nodes]

    def grow(self, seed: int, joined: set[int], seeds: set[int]) -> None:
        """Take neighbours in until there is none that may be: what reads, what only this group reads, and other seeds' groups."""
        refused: set[int] = set()
        while True:
            group = self.of[seed]
            after = _outside(group, (j for k in group for j in self.after[k]))
            before = _outside(group, (j for k in group for j in self.before[k]))
            own = [j for j in before if j in joined and self.after[j] <= group and not self.gives_result[j]]
            others = [j for j in before if self.of[j] & seeds]
            wanted = [*(j for j in after if j in joined or j in seeds), *others, *own]
            found = next((j for j in wanted if j not in refused), None)
            if found is None:
                return
            first, last = (self.of[found], group) if found in before else (group, self.of[found])
            if self._apart(first, last):
                refused.add(found)
                continue
            group |= self.of[found]
            for j in self.of[found]:
                self.of[j] = group
            refused.clear()

    def _apart(self, first: set[int], last: set[int]) -> bool:
        """Whether a third group is between two: it reads the first's results, and the last reads its."""
        end = max(last)
        seen: set[int] = set()
        rest = [j for k in first for j in self.after[k] if j not in first and j not in last]
        while rest:
            k = rest.pop()
            if k in seen or min(self.of[k]) > end:
                continue
            seen |= self.of[k]
            for j in {j for member in self.of[k] for j in self.after[member]}:
                if j in last:
                    return True
                if j not in first:
                    rest.append(j)
        return False


def _outside(group: set[int], nodes: Iterable[int]) -> list[int]:
    return sorted(set(nodes) - group)
