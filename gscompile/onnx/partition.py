"""Which nodes of a model are compiled together: gathers and scatters, and the arithmetic between and around them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gscompile.deploy.onnxruntime import NUMBERS
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
    takes = [survey.supported[k] and _computed(survey, k) and _of_tensors(survey, k) for k in range(len(nodes))]
    seeds = [k for k in range(len(nodes)) if takes[k] and in_onnx(nodes[k], wanted) and not _misread(survey, k)]
    joined = {k for k in range(len(nodes)) if takes[k] and in_onnx(nodes[k], _JOINED)}
    groups = _Groups(survey, set(seeds), joined)
    for seed in seeds:
        groups.grow(seed)
    return sorted({id(g): sorted(g) for g in (groups.of[k] for k in seeds)}.values())


def _computed(survey: Survey, k: int) -> bool:
    """Whether a call computes what a node gives: it is not known while the code is made."""
    names = [n for n in survey.graph.node[k].output if n]
    return all(n in survey.scope and survey.scope[n].known is None for n in names)


def _of_tensors(survey: Survey, k: int) -> bool:
    """Whether ONNX Runtime has tensors of all that a node reads and gives."""
    proto = survey.graph.node[k]
    return all(survey.scope[n].dtype.name in NUMBERS for n in (*proto.input, *proto.output) if n)


def _misread(survey: Survey, k: int) -> bool:
    extremes = (a.name == "reduction" and a.s in (b"min", b"max") for a in survey.graph.node[k].attribute)
    return opsets(survey.model.opset_import)[""] in _MISREAD and any(extremes)


class _Groups:
    """Nodes, each alone at first; those with seeds grow.  Groups never depend on each other in a circle.

    Attributes:
        seeds, joined: nodes that make a group, and those that one may take in.
        of: the group of each node; nodes of a group have the same set.
        before: of each node, those whose results it reads.
        within: the same of a node in a group with seeds.  It reads no elements that are known while code is made, as those of
            Shape are, but what tells the sizes in them.
        after: of each node, those that read its results in one of these ways.
        known: nodes whose results are known while code is made.
        gives_result: of each node, whether it gives a result of the model.
    """

    def __init__(self, survey: Survey, seeds: set[int], joined: set[int]) -> None:
        nodes = survey.graph.node
        giver = {name: k for k, proto in enumerate(nodes) for name in proto.output if name}
        results = {o.name for o in survey.graph.output}
        self.seeds, self.joined = seeds, joined
        self.of = [{k} for k in range(len(nodes))]
        self.before = [{giver[n] for n in uses_of(proto) if n in giver} for proto in nodes]
        self.within = [
            {giver[n] for n in survey.needs([proto]) if n in giver} if k in seeds | joined else self.before[k]
            for k, proto in enumerate(nodes)
        ]
        self.after: list[set[int]] = [set() for _ in nodes]
        for k in range(len(nodes)):
            for j in self.before[k] | self.within[k]:
                self.after[j].add(k)
        self.known = {k for k in range(len(nodes)) if survey.supported[k] and not _computed(survey, k)}
        self.gives_result = [any(n in results for n in proto.output) for proto in nodes]

    def grow(self, seed: int) -> None:
        """Take neighbours in until none is left: what reads, what only groups like this one read, and other seeds' groups."""
        refused: set[int] = set()
        while True:
            group = self.of[seed]
            after = _outside(group, (j for k in group for j in self.after[k]))
            before = _outside(group, (j for k in group for j in self.within[k]))
            wanted = [j for j in after if j in self.joined or j in self.seeds]
            wanted += [j for j in before if self.of[j] & self.seeds or (j in self.joined and self._only_for_groups(j))]
            found = next((j for j in wanted if j not in refused), None)
            if found is None:
                return
            other = self.of[found]
            if self._apart(group, other) or self._apart(other, group):
                refused.add(found)
                continue
            group |= other
            for j in other:
                self.of[j] = group
            refused.clear()

    def _only_for_groups(self, k: int) -> bool:
        """Whether all that read a node's results are in groups with seeds, or need no elements."""
        return not self.gives_result[k] and all(self.of[j] & self.seeds or j in self.known for j in self.after[k])

    def _apart(self, first: set[int], last: set[int]) -> bool:
        """Whether others are between two groups that become one: they read the first's results, and the last reads theirs."""
        merged = first | last
        seen = set(merged)
        rest = list(first)
        while rest:
            k = rest.pop()
            for j in self.after[k]:
                grouped = j in merged or bool(self.of[j] & self.seeds)
                if k not in (self.within if grouped else self.before)[j]:
                    continue
                if j in last and k not in merged:
                    return True
                if j not in seen:
                    seen |= self.of[j]
                    rest.extend(self.of[j])
        return False


def _outside(group: set[int], nodes: Iterable[int]) -> list[int]:
    return sorted(set(nodes) - group)
