"""From a model to a builder."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from gscompile.dialects.onnx import LATEST
from gscompile.errors import ArgumentError, DTypeError, GraphError, GSError
from gscompile.frontend.builder import Builder
from gscompile.ir.graph import Value
from gscompile.ir.types import DType, dtype
from gscompile.onnx import known as known_elements
from gscompile.onnx.node import OPERATORS, TENSOR_TYPES, NeedsValue, Node, Tensor, element_name, type_str
from gscompile.onnx.read import Names, array_of, load, tensor_type

for _family in ("elementwise", "index", "movement", "normalise", "products", "reduce"):
    importlib.import_module(f"gscompile.onnx.{_family}")  # fills OPERATORS

NEWEST = min(LATEST, onnx.defs.onnx_opset_version())
_DEFAULT_DOMAIN = ("", "ai.onnx")
_OPTIONAL, _VARIADIC = (getattr(onnx.defs.OpSchema.FormalParameterOption, n) for n in ("Optional", "Variadic"))


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
    return _Import(proto, Path(directory) if directory is not None else found, name, shapes or {}, known or {}).run()


class _Import:
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
        self.b = Builder(name or Names()(self.graph.name or "main"))
        self.shapes, self.known = shapes, known
        self.functions = {(f.domain, f.name, f.overload): f for f in model.functions}
        self.calls: list[tuple[str, str, str]] = []  # the functions that are being expanded

    def run(self) -> Builder:
        if not self.model.HasField("graph"):
            raise GraphError("import_model: the model has no graph")
        scope: dict[str, Tensor] = {}
        self.leaves(scope)
        self.nodes(self.graph.node, scope, opsets(self.model.opset_import), {})
        for info in self.graph.output:
            if info.name not in scope:
                raise GraphError(f"import_model: no node gives the output {info.name!r}")
            self.output(info, scope[info.name])
        return self.b

    def leaves(self, scope: dict[str, Tensor]) -> None:
        """Inputs and initialisers."""
        if self.graph.sparse_initializer:
            name = self.graph.sparse_initializer[0].values.name
            raise GraphError(f"import_model: sparse initialisers are not supported: {name!r}")
        constants = {t.name: t for t in self.graph.initializer}
        wanted = [i for i in self.graph.input if i.name not in constants]
        names = [i.name for i in wanted]
        for argument, given in (("shapes", self.shapes), ("known", self.known)):
            if unknown := [n for n in given if n not in names]:
                raise ArgumentError(f"import_model: {argument}: no input is called {unknown[0]!r}; inputs: {names}")
        size, identifier = Names(), Names(["out"])
        for info in wanted:
            if info.name in scope:
                raise GraphError(f"import_model: two inputs are called {info.name!r}")
            declared = tensor_type(info, self.shapes.get(info.name), size)
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
                scope[info.name] = Tensor(info.name, declared.dtype, made=made, sources=frozenset([info.name]))
        for name, t in constants.items():
            array, d = array_of(t, self.directory, f"initialiser {name!r}")
            scope[name] = Tensor(name, d, array, self.b.constant(array, name=identifier(name)))

    def output(self, info: Any, t: Tensor) -> None:
        declared = info.type.tensor_type
        if declared.elem_type and TENSOR_TYPES.get(declared.elem_type) != t.dtype:
            said = element_name(declared.elem_type)
            raise DTypeError(f"import_model: the model says that output {info.name!r} is {said}; it is {t.dtype}")
        self.b.output(t.value(self.b))

    # -- nodes

    def nodes(
        self, nodes: Iterable[Any], scope: dict[str, Tensor], domains: Mapping[str, int], outer: Mapping[str, Any]
    ) -> None:
        """Nodes of a graph or of a function's body, in their order.

        Args:
            scope: what the names stand for so far; what the nodes give is added.
            domains: the operator set of each domain.
            outer: attributes of the node that the function stands for.
        """
        for k, proto in enumerate(nodes):
            where = f"node {proto.name!r} ({proto.op_type})" if proto.name else f"node {k} ({proto.op_type})"
            try:
                with self.b.draft.within(where):
                    results = self.node(proto, scope, domains, outer)
                for j, name in enumerate(proto.output):
                    t = results[j] if j < len(results) else None
                    if not name:
                        continue
                    if t is None:
                        raise GraphError(f"output {j}, {name!r}, is not supported")
                    if name in scope:
                        raise GraphError(f"the name {name!r} is given twice")
                    scope[name] = t
            except NeedsValue as e:
                raise NeedsValue(f"{where}: {e}", e.inputs) from e
            except GSError as e:
                raise type(e)(f"{where}: {e}") from e

    def node(
        self, proto: Any, scope: Mapping[str, Tensor], domains: Mapping[str, int], outer: Mapping[str, Any]
    ) -> Sequence[Tensor | None]:
        """What a node gives, in the order of its outputs; None for one that it does not have."""
        tensors = [inputs_of(scope, name) for name in proto.input]
        while tensors and tensors[-1] is None:
            tensors.pop()
        if any(a.ref_attr_name for a in proto.attribute):
            proto = with_attributes(proto, outer)
        given = {a.name: a for a in proto.attribute}
        local = self.functions.get((proto.domain, proto.op_type, proto.overload))
        if local is not None:
            return self.function(local, tensors, given)
        domain = "" if proto.domain in _DEFAULT_DOMAIN else proto.domain
        if domain or domain not in domains:
            said = f"domain {domain!r}" if domain else "ONNX, of which the model names no operator set,"
            raise GraphError(f"the operator {proto.op_type} of {said} is not supported")
        opset = domains[domain]
        schema = schema_of(proto.op_type, opset)
        attributes = attributes_of(schema, given)
        node = Node(self.b, proto.op_type, opset, schema, tensors, attributes, list(proto.output), self.directory)
        check_operands(node)
        row = OPERATORS.get(proto.op_type)
        if row is not None and opset >= row.since:
            found = known_elements.fold(node)
            return tensors_of(node, row.convert(node) if found is None else found)
        body = body_of(node, proto)
        if body is not None:
            return self.function(body, tensors, {a.name: a for a in all_attributes(schema, given)})
        if row is not None:
            raise GraphError(
                f"the operator {proto.op_type} is supported from opset {row.since} on; the model has {opset}"
            )
        if any(a.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS) for a in given.values()):
            raise GraphError(f"the operator {proto.op_type} is not supported: it holds another graph")
        raise GraphError(f"the operator {proto.op_type} is not supported")

    def function(
        self, body: Any, tensors: Sequence[Tensor | None], given: Mapping[str, Any]
    ) -> Sequence[Tensor | None]:
        """What a function gives, of the model's own or of an operator that ONNX defines by others."""
        called = (body.domain, body.name, body.overload)
        if called in self.calls:
            raise GraphError(f"the function {body.name!r} calls itself")
        if len(tensors) > len(body.input):
            raise GraphError(f"the function {body.name!r} takes {len(body.input)} inputs; got {len(tensors)}")
        attributes = {**{a.name: a for a in body.attribute_proto}, **given}
        if missing := [n for n in body.attribute if n not in attributes and body.domain not in _DEFAULT_DOMAIN]:
            raise ArgumentError(f"the function {body.name!r} needs the attribute {missing[0]!r}")
        scope = {name: t for name, t in zip(body.input, tensors, strict=False) if t is not None}
        self.calls.append(called)
        try:
            self.nodes(body.node, scope, opsets(body.opset_import), attributes)
        finally:
            self.calls.pop()
        return [scope.get(n) for n in body.output]


def opsets(imports: Iterable[Any]) -> dict[str, int]:
    """The operator set of each domain.  Raises GraphError where ONNX's is not known here."""
    found = {"" if o.domain in _DEFAULT_DOMAIN else o.domain: int(o.version) for o in imports}
    if not 1 <= found.get("", 1) <= NEWEST:
        raise GraphError(f"import_model: opset {found['']} is not supported: 1 to {NEWEST} are")
    return found


def inputs_of(scope: Mapping[str, Tensor], name: str) -> Tensor | None:
    if not name:
        return None
    if name not in scope:
        raise GraphError(f"its input {name!r} is given by no node before it, and is no input or initialiser")
    return scope[name]


def schema_of(op: str, opset: int) -> Any:
    """An operator's definition in an operator set."""
    try:
        schema = onnx.defs.get_schema(op, opset, "")
    except onnx.defs.SchemaError:
        if onnx.defs.has(op):
            first = min(
                s.since_version for s in onnx.defs.get_all_schemas_with_history() if (s.name, s.domain) == (op, "")
            )
            raise GraphError(f"the operator {op} exists from opset {first} on; the model has {opset}") from None
        raise GraphError(f"ONNX has no operator {op}") from None
    if schema.deprecated:
        raise GraphError(f"the operator {op} was removed at opset {schema.since_version}; the model has {opset}")
    return schema


# -- attributes -------------------------------------------------------------------------------------------------------


def with_attributes(proto: Any, outer: Mapping[str, Any]) -> Any:
    """A node of a function's body, with the function's attributes where it refers to them; those left out stay so."""
    copy = onnx.NodeProto()
    copy.CopyFrom(proto)
    del copy.attribute[:]
    for a in proto.attribute:
        if not a.ref_attr_name or a.ref_attr_name in outer:
            added = copy.attribute.add()
            added.CopyFrom(outer[a.ref_attr_name] if a.ref_attr_name else a)
            added.name = a.name
    return copy


def all_attributes(schema: Any, given: Mapping[str, Any]) -> list[Any]:
    """The attributes of a node, and the definition's defaults for those that it leaves out."""
    defaults = [a.default_value for n, a in schema.attributes.items() if n not in given and a.default_value.type]
    return [*given.values(), *defaults]


def attributes_of(schema: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes as Python values, checked against the definition."""
    for name, a in given.items():
        if name not in schema.attributes:
            raise ArgumentError(f"{schema.name} has no attribute {name!r} in opset {schema.since_version}")
        if a.type != schema.attributes[name].type.value:
            raise DTypeError(f"the attribute {name} must be of type {schema.attributes[name].type.name}")
    for name, formal in schema.attributes.items():
        if formal.required and name not in given:
            raise ArgumentError(f"the attribute {name} is missing")
    return {a.name: python_value(a) for a in all_attributes(schema, given)}


def python_value(attribute: Any) -> Any:
    x = onnx.helper.get_attribute_value(attribute)
    return x.decode("utf-8", "replace") if isinstance(x, bytes) else x


# -- inputs and outputs -----------------------------------------------------------------------------------------------


def check_operands(n: Node) -> None:
    """Raises unless a node's inputs are as many, and of the types, that the definition says, and its outputs as many."""
    if len(n.outputs) < n.schema.min_output:
        raise GraphError(f"gives at least {n.schema.min_output} outputs; the model names {len(n.outputs)}")
    formals = n.schema.inputs
    if len(n) > n.schema.max_input:
        raise GraphError(f"takes at most {n.schema.max_input} inputs; got {len(n)}")
    types: dict[str, tuple[str, DType]] = {}
    for k in range(max(len(n), len(formals))):
        formal = formals[min(k, len(formals) - 1)]
        if not n.has(k):
            if formal.option != _OPTIONAL and k < max(n.schema.min_input, len(n)):
                raise GraphError(f"input {k}, {formal.name}, is missing")
            continue
        d = n.tensor(k).dtype
        if type_str(d) not in formal.types:
            raise DTypeError(f"input {k}, {formal.name}, cannot be {d} in opset {n.schema.since_version}")
        if formal.option == _VARIADIC and not formal.is_homogeneous:
            continue
        other, wanted = types.setdefault(formal.type_str, (formal.name, d))
        if wanted != d:
            raise DTypeError(f"input {k}, {formal.name}, must have the dtype of {other}, {wanted}; got {d}")


def tensors_of(n: Node, result: Any) -> list[Tensor]:
    """What a converter gave, as a list with names and sources."""
    results = [result] if isinstance(result, (Value, Tensor)) else result
    names = [*n.outputs, *("" for _ in results)]
    sources = frozenset[str]().union(*(t.sources for t in n.tensors if t is not None and t.known is None))
    return [
        Tensor(name, x.dtype, made=x, sources=sources) if isinstance(x, Value) else x
        for name, x in zip(names, results, strict=False)
    ]


def body_of(n: Node, proto: Any) -> Any:
    """The function by which ONNX defines an operator; None where it does not, or not for such inputs."""
    s = n.schema
    if s.has_function:
        data = s.get_function_with_opset_version(n.opset)
    elif s.has_context_dependent_function:
        types = [type_proto(n.tensors[k] if n.has(k) else None) for k in range(len(n))]
        data = s.get_context_dependent_function_with_opset_version(n.opset, proto.SerializeToString(), types)
    else:
        return None
    body = onnx.FunctionProto()
    body.ParseFromString(data)
    return body


def type_proto(t: Tensor | None) -> bytes:
    if t is None:
        return bytes(onnx.TypeProto().SerializeToString())
    shape = [d if isinstance(d, int) else re.sub(r"\W", "_", str(d)) for d in t.shape]
    element = onnx.helper.np_dtype_to_tensor_dtype(t.dtype.numpy)
    return bytes(onnx.helper.make_tensor_type_proto(element, shape).SerializeToString())
