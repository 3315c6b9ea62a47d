"""A model whose gathers and scatters, and the arithmetic between them, are custom operators in a library of gscompile's."""

from __future__ import annotations

import dataclasses
import hashlib
import heapq
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import onnx.inliner

from gscompile.build import Module, export
from gscompile.deploy.library import installed
from gscompile.deploy.text import identifier
from gscompile.errors import ArgumentError, GraphError, GSError
from gscompile.onnx.importer import Import
from gscompile.onnx.node import Tensor
from gscompile.onnx.partition import KINDS, partition
from gscompile.onnx.read import Names, load
from gscompile.onnx.survey import Survey, is_small, uses_of


@dataclass(frozen=True, slots=True)
class Part:
    """Nodes of a model that became one.

    Attributes:
        name: of the custom operator.
        nodes: their numbers in the model.
        operators: what they were.
        inputs, outputs: names in the model.
    """

    name: str
    nodes: Sequence[int]
    operators: Sequence[str]
    inputs: Sequence[str]
    outputs: Sequence[str]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.inputs)}) -> {', '.join(self.outputs)}: {', '.join(self.operators)}"


def replace(
    model: Any,
    path: str | os.PathLike[str],
    kinds: Sequence[str] = tuple(KINDS),
    *,
    target: Any = "llvm",
    cpu: Sequence[str] = (),
    prefix: str = "",
    cc: str | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> tuple[list[Part], list[Path]]:
    """Write a model that gives what another one gives, and beside it the library with its custom operators.

    The largest groups of gathers, scatters and the arithmetic between and around them become one node each.  A session that runs
    the model registers the library first: ``options.register_custom_ops_library("model_fast.so")``.  What gscompile does not
    support, or would have other rules for, stays as it is; so do the graphs within Loop, Scan and If.

    Args:
        model: a path, the bytes of a file, or an ``onnx.ModelProto``, which is not changed.
        path: of the new model; the library has the same name and ends in ``.so``.
        kinds: of operators that make a group: ``gather``, ``scatter``.
        target, cpu, prefix, cc: of the library; see :meth:`gscompile.build.Module.export`.
        tell: is told what goes on.

    Returns:
        what was replaced, and the files.

    Raises:
        GraphError: there is nothing to replace.  ArgumentError: an option makes no sense, or a file cannot be written.
        TargetError: there is no C compiler.
    """
    to = Path(path)
    if to.suffix != ".onnx":
        raise ArgumentError(f"replace: a path that ends in .onnx is needed; got {str(path)!r}")
    tell("reading the model")
    proto, directory = load(model)
    proto = _inlined(proto, copy=proto is model)
    survey = Survey(proto, directory)
    groups = partition(survey, kinds)
    if not groups:
        raise GraphError(f"replace: the model has no {' or '.join(kinds)} of data that gscompile supports")
    name = Names()(to.stem)
    while True:
        parts = _outlined(survey, groups, name, prefix)
        modules = []
        failed: dict[int, str] = {}
        for k, part in enumerate(parts):
            tell(f"compiling {len(part.nodes):,} nodes for {target}")
            try:
                if part.outputs:
                    modules.append(_compiled(survey, part, f"{name}_{k}", target))
                else:
                    failed[k] = "what is gathered is not needed"
            except GSError as e:
                failed[k] = str(e)
        if not failed:
            break
        groups = [nodes for k, nodes in enumerate(groups) if k not in failed]
        if not groups:
            raise GraphError(f"replace: nothing can be replaced: {next(iter(failed.values()))}")
    tell("linking")
    domain = f"gscompile.{identifier(prefix + name)}.{_digest(survey, parts, target, cpu)}"
    written = export(modules, to.with_suffix(".so"), cpu=cpu, prefix=prefix, cc=cc, domain=domain)
    _rewrite(proto, survey, parts, domain)
    _save(proto, to, directory)
    return parts, [to, *written]


def _inlined(proto: Any, copy: bool) -> Any:
    """A model without functions of its own, which may be changed."""
    if proto.functions:
        return onnx.inliner.inline_local_functions(proto)
    if not copy:
        return proto
    copied = onnx.ModelProto()
    copied.CopyFrom(proto)
    return copied


# -- a part -----------------------------------------------------------------------------------------------------------


def _outlined(survey: Survey, groups: Sequence[Sequence[int]], name: str, prefix: str) -> list[Part]:
    """What each group reads, and what of its results is read outside."""
    protos = survey.graph.node
    drafts = [
        Part(identifier(f"{prefix}{name}_{k}"), nodes, [p.op_type for p in took], survey.needs(took), ())
        for k, (nodes, took) in enumerate((nodes, [protos[j] for j in nodes]) for nodes in groups)
    ]
    made = [dataclasses.replace(p, outputs=[n for k in p.nodes for n in protos[k].output if n]) for p in drafts]
    wanted = {o.name for o in survey.graph.output}.union(*map(uses_of, _remaining(survey, made)))
    return [dataclasses.replace(p, outputs=[n for n in p.outputs if n in wanted]) for p in made]


def _compiled(survey: Survey, part: Part, name: str, target: Any) -> Module:
    """A part by itself.  Raises GSError where that cannot be compiled."""
    source = Import(survey.model, survey.directory, name, {}, {})
    called = Names(["out"])
    scope: dict[str, Tensor] = {}
    for n in part.inputs:
        t = survey.scope[n]
        scope[n] = Tensor(n, t.dtype, made=source.b.input(called(n), t.shape, t.dtype), is_input=True)
    protos = [survey.graph.node[k] for k in part.nodes]
    given = {n for proto in protos for n in proto.output}
    for n in (n for proto in protos for n in proto.input if n not in scope and n not in given and n):
        scope[n] = Tensor(n, survey.scope[n].dtype, survey.scope[n].known)
    for k, proto in zip(part.nodes, protos, strict=True):
        proto.name = proto.name or str(k)  # as errors call it
    source.nodes(scope, protos)
    source.b.output(*(scope[n].value(source.b) for n in part.outputs))
    return source.b.build(target)


def _digest(survey: Survey, parts: Sequence[Part], *more: Any) -> str:
    """A hash of what the library follows from.

    A process that has loaded a library goes on with it when the file is replaced; then it has none of the new model's domain.
    """
    key = hashlib.sha256(repr((more, parts, installed("gscompile"), installed("apache-tvm"))).encode())
    for proto in (survey.graph.node[k] for p in parts for k in p.nodes):
        key.update(proto.SerializeToString(deterministic=True))
        for t in (survey.scope[n] for n in proto.input if n):
            known = t.known if t.known is not None and is_small(t) else None
            key.update(repr((t.shape, t.dtype, known is None or known.tolist())).encode())
    return key.hexdigest()[:12]


# -- the model --------------------------------------------------------------------------------------------------------


def _rewrite(model: Any, survey: Survey, parts: Sequence[Part], domain: str) -> None:
    """Put a node in the place of each part's, and leave out what nothing reads any more."""
    graph = model.graph
    ordered = _remaining(survey, parts, domain)
    described = {i.name for i in (*graph.value_info, *graph.output)}
    added = [_info(survey, n) for p in parts for n in p.outputs if n not in described]
    read = {i.name for i in (*graph.input, *graph.output)}.union(*map(uses_of, ordered))
    alive = read | {n for proto in ordered for n in proto.output}
    for field, keep in (
        (graph.initializer, [t for t in graph.initializer if t.name in read]),
        (graph.value_info, [i for i in graph.value_info if i.name in alive] + added),
        (graph.node, ordered),
    ):
        del field[:]
        field.extend(keep)
    model.opset_import.append(onnx.helper.make_opsetid(domain, 1))


def _remaining(survey: Survey, parts: Sequence[Part], domain: str = "") -> list[Any]:
    """The nodes of the new model, in their order."""
    gone = {k for p in parts for k in p.nodes}
    nodes = {k: proto for k, proto in enumerate(survey.graph.node) if k not in gone}
    for p in parts:
        nodes[p.nodes[-1]] = onnx.helper.make_node(p.name, p.inputs, p.outputs, name=p.name, domain=domain)
    return _needed(_ordered(nodes), {o.name for o in survey.graph.output})


def _ordered(nodes: Mapping[int, Any]) -> list[Any]:
    """Nodes so that each comes after those whose results it reads, otherwise in the order of their numbers.

    Raises:
        GraphError: they depend on each other in a circle.
    """
    giver = {n: k for k, proto in nodes.items() for n in proto.output if n}
    waits = {k: {giver[n] for n in uses_of(proto) if n in giver} for k, proto in nodes.items()}
    readers: dict[int, list[int]] = {k: [] for k in nodes}
    for k, found in waits.items():
        for j in found:
            readers[j].append(k)
    ready = [k for k, found in waits.items() if not found]
    heapq.heapify(ready)
    order = []
    while ready:
        k = heapq.heappop(ready)
        order.append(nodes[k])
        for j in readers[k]:
            waits[j].discard(k)
            if not waits[j]:
                heapq.heappush(ready, j)
    if len(order) < len(nodes):
        raise GraphError("replace: the model's nodes depend on each other in a circle")
    return order


def _needed(nodes: Sequence[Any], results: set[str]) -> list[Any]:
    """Nodes that the results need, of nodes in their order."""
    wanted = set(results)
    kept = []
    for proto in reversed(nodes):
        if wanted & set(proto.output):
            wanted |= uses_of(proto)
            kept.append(proto)
    return kept[::-1]


def _info(survey: Survey, name: str) -> Any:
    """A tensor's type, for the model."""
    t = survey.scope[name]
    shape = [d if isinstance(d, int) else survey.size_name(str(d)) for d in t.shape]
    return onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(t.dtype.numpy), shape)


def _save(model: Any, to: Path, directory: Path | None) -> None:
    """Write the model; where its external data lies elsewhere, that as well."""
    external = any(t.data_location == onnx.TensorProto.EXTERNAL for t in model.graph.initializer)
    try:
        if external and directory is not None and directory != to.resolve().parent:
            onnx.load_external_data_for_model(model, str(directory))
            onnx.save(model, to, save_as_external_data=True, location=f"{to.name}.data")
        else:
            onnx.save(model, to)
    except (OSError, ValueError) as e:
        raise ArgumentError(f"replace: cannot write {to}: {getattr(e, 'strerror', None) or e}") from None
