"""From a model to a builder."""

from __future__ import annotations

import importlib
import os
from collections import ChainMap, Counter
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import onnx

from gscompile.errors import ArgumentError, DTypeError, GraphError, GSError
from gscompile.frontend.builder import Builder
from gscompile.frontend.draft import without_callee
from gscompile.ir.graph import Value
from gscompile.ir.reserved import in_code
from gscompile.ir.types import DType, TensorType, dtype
from gscompile.onnx import known as known_elements
from gscompile.onnx.definitions import (
    DEFAULT_DOMAIN,
    attributes_of,
    body_of,
    check_operands,
    given_attributes,
    opsets,
    schema_of,
    with_defaults,
)
from gscompile.onnx.node import OPERATORS, TENSOR_TYPES, Array, Node, Tensor, element_name, quoted, shortened
from gscompile.onnx.read import Names, array_of, load, tensor_type

for _family in ("elementwise", "index", "movement", "normalise", "products", "reduce"):
    importlib.import_module(f"gscompile.onnx.{_family}")  # fills OPERATORS

MAX_MESSAGE = 2000  # characters: what a message shows of a model may be of any length
MAX_EXPANDED = 50_000  # nodes that the functions of a model stand for: n functions may stand for 2**n

Key: TypeAlias = tuple[str, str, str]  # a function's domain, name and overload


def import_model(
    model: Any,
    *,
    name: str | None = None,
    shapes: Mapping[str, Iterable[Any]] | None = None,
    known: Mapping[str, Any] | None = None,
    directory: str | os.PathLike[str] | None = None,
) -> Builder:
    """A graph that computes what an ONNX model does.

    The inputs keep the model's order, and its names where these are Python identifiers (any other character becomes ``_``);
    the outputs keep the model's order.  An axis without a fixed extent becomes a size known only at a call: axes with one
    ``dim_param`` share it, others have one each.  Initialisers become constants, which refer to the model's bytes, or to the
    file of external data, which is mapped; nothing outside the model's directory is read.

    Args:
        model: a path (of a binary file, or of text or JSON by its ending), the bytes of a file, or an ``onnx.ModelProto``.
        name: of the graph; by default the model's.
        shapes: for inputs, by name, a shape that stands for the model's; a dimension is an int, or a str naming a size.
        known: for inputs, by name, the elements: such an input becomes a constant, and the calls do not pass it.
        directory: where external data lies; by default the directory of the model's path.

    Raises:
        GraphError: the model is broken, or uses an operator, an operator set or a kind of tensor that is not supported;
            NeedsValue, where a shape depends on the elements of a tensor.  DTypeError, ShapeError, ArgumentError: a node's
            inputs or attributes do not fit its operator.  Messages name the node and what is wrong with it.
    """
    proto, found = load(model)
    return Import(proto, Path(directory) if directory is not None else found, name, shapes or {}, known or {}).run()


class Import:
    """How far the import of a model has come.

    Attributes:
        size: the names of sizes, by what the model calls them.
        b: what the values are added to.
    """

    def __init__(
        self,
        model: Any,
        directory: Path | None,
        name: str | None,
        shapes: Mapping[str, Iterable[Any]],
        known: Mapping[str, Any],
    ) -> None:
        self.model = model
        self.graph = model.graph
        self.directory = directory
        self.b = Builder(name or in_code(Names()(self.graph.name or "main")))
        self.shapes, self.known = shapes, known
        self.size = Names()
        self.functions: dict[Key, Any] = {}
        self.constants: dict[int, tuple[Any, Array, DType]] = {}  # what Constant nodes hold; a function's are read once

    def run(self) -> Builder:
        if not self.model.HasField("graph"):
            raise GraphError("import_model: the model has no graph")
        scope: dict[str, Tensor] = {}
        for f in self.model.functions:
            if self.functions.setdefault((f.domain, f.name, f.overload), f) is not f:
                raise GraphError(f"import_model: two functions are called {quoted(f.name)}")
        self.leaves(scope)
        self.nodes(scope, self.graph.node)
        for info in self.graph.output:
            if info.name not in scope:
                raise GraphError(f"import_model: no node gives the output {quoted(info.name)}")
            self.output(info, scope[info.name])
        return self.b

    def leaves(self, scope: dict[str, Tensor]) -> None:
        """Inputs and initialisers."""
        if self.graph.sparse_initializer:
            name = self.graph.sparse_initializer[0].values.name
            raise GraphError(f"import_model: sparse initialisers are not supported: {name!r}")
        constants = {t.name: t for t in self.graph.initializer}
        if len(constants) < len(self.graph.initializer):
            name = next(n for n, times in Counter(t.name for t in self.graph.initializer).items() if times > 1)
            raise GraphError(f"import_model: two initialisers are called {quoted(name)}")
        wanted = [i for i in self.graph.input if i.name not in constants]
        names = [i.name for i in wanted]
        for argument, given in (("shapes", self.shapes), ("known", self.known)):
            if unknown := [n for n in given if n not in names]:
                raise ArgumentError(
                    f"import_model: {argument}: no input is called {unknown[0]!r}; inputs: {shortened(str(names), 1000)}"
                )
        identifier = Names(["out"])
        for info in wanted:
            if info.name in scope:
                raise GraphError(f"import_model: two inputs are called {quoted(info.name)}")
            declared = tensor_type(info, self.shapes.get(info.name), self.size)
            if info.name in self.known:
                array = np.asarray(self.known[info.name])
                fits = array.ndim == declared.rank and all(
                    n == d for n, d in zip(array.shape, declared.shape, strict=True) if isinstance(d, int)
                )
                if dtype(array.dtype) != declared.dtype or not fits:
                    raise ArgumentError(
                        f"import_model: known: {info.name!r} must be {declared}; got {array.dtype}{array.shape}"
                    )
                scope[info.name] = Tensor(info.name, declared.dtype, array)
            else:
                made = self.b.input(identifier(info.name), declared.shape, declared.dtype)
                scope[info.name] = Tensor(info.name, declared.dtype, made=made, is_input=True)
        for name, t in constants.items():
            array, d = array_of(t, self.directory, f"initialiser {quoted(name)}")
            scope[name] = Tensor(name, d, array, self.b.constant(array, name=identifier(name)))

    def output(self, info: Any, t: Tensor) -> None:
        declared = info.type.tensor_type
        if declared.elem_type and TENSOR_TYPES.get(declared.elem_type) != t.dtype:
            said = element_name(declared.elem_type)
            raise DTypeError(f"import_model: the model says that output {quoted(info.name)} is {said}; it is {t.dtype}")
        self.b.output(t.value(self.b))

    # -- nodes

    def nodes(self, scope: dict[str, Tensor], nodes: Sequence[Any]) -> None:
        """Nodes of the model, and in the place of one that calls a function those of the function.

        Functions may be nested to any depth: a stack holds those that are being expanded, the graph at the bottom.
        """
        stack = [_Nodes(nodes, scope, opsets(self.model.opset_import))]
        active: set[Key] = set()
        expanded = 0
        try:
            while stack:
                top = stack[-1]
                if not top.advance():
                    stack.pop()
                    active.discard(top.function)
                    if stack:
                        stack[-1].give([top.scope.get(name) for name in top.outputs])
                    continue
                self.b.draft.scope = stack[0].where
                expanded += len(stack) > 1
                if expanded > MAX_EXPANDED:
                    raise GraphError(f"the functions of the model stand for more than {MAX_EXPANDED:,} nodes")
                found = self.node(top)
                if not isinstance(found, _Nodes):
                    top.give(found)
                    continue
                if found.function in active:
                    raise GraphError(f"the function {quoted(found.function[1])} calls itself")
                if any(found.function):
                    active.add(found.function)
                stack.append(found)
        except GSError as e:
            said = str(e)
            if not said.startswith(stack[0].where):  # as an error about an index does
                # what a node is made of means nothing to who has the model
                said = without_callee(said, stack[-1].proto.op_type)
                said = f"{path_of([nodes.where for nodes in stack])}: {said}"
            e.args = (shortened(said, MAX_MESSAGE), *e.args[1:])
            raise
        finally:
            self.b.draft.scope = ""

    def node(self, at: _Nodes) -> Sequence[Tensor | None] | _Nodes:
        """What a node gives, in the order of its outputs, None for one that it does not have; or the nodes it stands for."""
        proto = at.proto
        tensors = [at.input(name) for name in proto.input]
        while tensors and tensors[-1] is None:
            tensors.pop()
        given = given_attributes(proto, at.attributes)
        local = self.functions.get((proto.domain, proto.op_type, proto.overload))
        if local is not None:
            return function(local, tensors, given)
        domain = "" if proto.domain in DEFAULT_DOMAIN else proto.domain
        if domain or domain not in at.domains:
            said = f"domain {quoted(domain)}" if domain else "ONNX, of which the model names no operator set,"
            raise GraphError(f"the operator {shortened(proto.op_type)} of {said} is not supported")
        opset = at.domains[domain]
        schema = schema_of(proto.op_type, opset)
        attributes = attributes_of(schema, given)
        node = Node(self.b, proto.op_type, opset, schema, tensors, attributes, list(proto.output), self.constant)
        check_operands(node)
        if proto.op_type == "If":
            return self.branch(node, at)
        row = OPERATORS.get(proto.op_type)
        if row is not None and opset >= row.since:
            found = known_elements.fold(node)
            return tensors_of(node, row.convert(node) if found is None else found)
        body = body_of(node, given)
        if body is not None:
            return _Nodes(
                body.node,
                {name: t for name, t in zip(body.input, tensors, strict=False) if t is not None},
                opsets(body.opset_import),
                {**{a.name: a for a in body.attribute_proto}, **with_defaults(schema, given)},
                list(body.output),
            )
        if row is not None:
            raise GraphError(
                f"the operator {proto.op_type} is supported from opset {row.since} on; the model has {opset}"
            )
        if any(a.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS) for a in given.values()):
            raise GraphError(f"the operator {proto.op_type} is not supported: it holds another graph")
        raise GraphError(f"the operator {proto.op_type} is not supported")

    def branch(self, n: Node, outer: _Nodes) -> _Nodes:
        """The nodes of the branch that an If takes, which must be known now; they read what stands before it."""
        graph = n.attr("then_branch" if n.scalar(0) else "else_branch")
        if graph.input or graph.sparse_initializer:
            raise GraphError(f"the branch {quoted(graph.name)} must have no inputs and no sparse initialisers")
        scope = ChainMap[str, Tensor]({}, *outer.scopes)
        for t in graph.initializer:
            array, d = self.constant(t, f"initialiser {quoted(t.name)}")
            scope[t.name] = Tensor(t.name, d, array)
        return _Nodes(graph.node, scope, outer.domains, outer.attributes, [o.name for o in graph.output])

    def constant(self, proto: Any, what: str) -> tuple[Array, DType]:
        """The elements of a tensor that a node holds; those of one proto are one array, however often a function is called."""
        if id(proto) not in self.constants:
            self.constants[id(proto)] = (proto, *array_of(proto, self.directory, what))
        return self.constants[id(proto)][1:]


@dataclass
class _Nodes:
    """The nodes of a graph, of a branch or of a function's body, in their order, and how far the import has come.

    Attributes:
        scope: what the names stand for so far; what the nodes give is added.
        domains: the operator set of each domain.
        attributes: of the node that the function stands for.
        outputs: the names of what the function gives.
        function: which of the model's functions this is; of no name where it is none.
    """

    nodes: Sequence[Any]
    scope: MutableMapping[str, Tensor]
    domains: Mapping[str, int]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    outputs: Sequence[str] = ()
    function: Key = ("", "", "")
    next: int = 0
    proto: Any = None
    where: str = ""

    def advance(self) -> bool:
        """Go on to the next node, where there is one."""
        if self.next == len(self.nodes):
            return False
        self.proto = self.nodes[self.next]
        name = quoted(self.proto.name) if self.proto.name else self.next
        self.where = f"node {name} ({shortened(self.proto.op_type)})"
        self.next += 1
        return True

    @property
    def scopes(self) -> Sequence[MutableMapping[str, Tensor]]:
        """Where names are looked for, the innermost first."""
        return self.scope.maps if isinstance(self.scope, ChainMap) else [self.scope]

    def input(self, name: str) -> Tensor | None:
        if not name:
            return None
        if name not in self.scope:
            raise GraphError(f"its input {quoted(name)} is given by no node before it, and is no input or initialiser")
        return self.scope[name]

    def give(self, results: Sequence[Tensor | None]) -> None:
        """What the node at hand gives."""
        for j, name in enumerate(self.proto.output):
            if not name:
                continue
            t = results[j] if j < len(results) else None
            if t is None:
                raise GraphError(f"output {j}, {quoted(name)}, is not supported")
            if name in self.scope:
                raise GraphError(f"the name {quoted(name)} is given twice")
            self.scope[name] = t


def path_of(wheres: Sequence[str]) -> str:
    """The nodes that lead to one in a function, outermost first; of many, the first and the last."""
    shown = [*wheres[:2], f".. {len(wheres) - 4} more", *wheres[-2:]] if len(wheres) > 5 else wheres
    return ": ".join(shown)


def function(body: Any, tensors: Sequence[Tensor | None], given: Mapping[str, Any]) -> _Nodes:
    """The nodes that a call of one of the model's functions stands for."""
    name = quoted(body.name)
    if len(tensors) > len(body.input):
        raise GraphError(f"the function {name} takes {len(body.input)} inputs; got {len(tensors)}")
    if len(set(body.input)) < len(body.input):
        raise GraphError(f"the function {name} has two inputs of one name")
    attributes = {**{a.name: a for a in body.attribute_proto}, **given}
    if missing := [n for n in body.attribute if n not in attributes]:
        raise ArgumentError(f"the function {name} needs the attribute {quoted(missing[0])}")
    scope = {name: t for name, t in zip(body.input, tensors, strict=False) if t is not None}
    key = (body.domain, body.name, body.overload)
    return _Nodes(body.node, scope, opsets(body.opset_import), attributes, list(body.output), key)


def tensors_of(n: Node, result: Any) -> list[Tensor]:
    """What a converter gave, as a list of tensors with names."""
    results = [result] if isinstance(result, (Value, Tensor)) else result
    names = [*n.outputs, *("" for _ in results)]
    for x in results:
        TensorType(tuple(x.shape), x.dtype).check_size("the result")
    parents = tuple(t for t in n.tensors if t is not None and t.known is None)
    return [
        Tensor(name, x.dtype, made=x, parents=parents) if isinstance(x, Value) else x
        for name, x in zip(names, results, strict=False)
    ]
