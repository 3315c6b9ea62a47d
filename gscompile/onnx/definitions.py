"""ONNX's own definitions: what an operator of an operator set takes, has and gives, and by which others ONNX defines it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from typing import Any

import onnx

from gscompile.dialects.onnx import LATEST
from gscompile.errors import ArgumentError, DTypeError, GraphError
from gscompile.ir.types import DType
from gscompile.onnx.node import Node, Tensor, quoted, shortened, type_str

NEWEST = min(LATEST, onnx.defs.onnx_opset_version())
DEFAULT_DOMAIN = ("", "ai.onnx")
_OPTIONAL, _VARIADIC = (getattr(onnx.defs.OpSchema.FormalParameterOption, n) for n in ("Optional", "Variadic"))


def opsets(imports: Iterable[Any]) -> dict[str, int]:
    """The operator set of each domain.  Raises GraphError where ONNX's is not known here."""
    found = {"" if o.domain in DEFAULT_DOMAIN else o.domain: int(o.version) for o in imports}
    if not 1 <= found.get("", 1) <= NEWEST:
        raise GraphError(f"opset {found['']} is not supported: 1 to {NEWEST} are")
    return found


@functools.lru_cache(4096)
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
        raise GraphError(f"ONNX has no operator {shortened(op)}") from None
    if schema.deprecated and not function_versions(schema):  # GroupNormalization was deprecated as it was brought
        raise GraphError(f"the operator {op} was removed at opset {schema.since_version}; the model has {opset}")
    return schema


# -- attributes -------------------------------------------------------------------------------------------------------


def given_attributes(proto: Any, outer: Mapping[str, Any]) -> dict[str, Any]:
    """A node's attributes by name; those that refer to the function's are the function's, and left out where these are."""
    found: dict[str, Any] = {}
    for a in proto.attribute:
        if a.name in found:
            raise GraphError(f"the attribute {quoted(a.name)} is given twice")
        if not a.ref_attr_name:
            found[a.name] = a
        elif a.ref_attr_name in outer:
            found[a.name] = outer[a.ref_attr_name]
    return found


def with_defaults(schema: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a node, and the definition's defaults for those that it leaves out."""
    defaults = {n: a.default_value for n, a in schema.attributes.items() if a.default_value.type}
    return {**defaults, **given}


def attributes_of(schema: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes as Python values, checked against the definition."""
    for name, a in given.items():
        if name not in schema.attributes:
            raise ArgumentError(f"{schema.name} has no attribute {quoted(name)} in opset {schema.since_version}")
        if a.type != schema.attributes[name].type.value:
            raise DTypeError(f"the attribute {name} must be of type {schema.attributes[name].type.name}")
    for name, formal in schema.attributes.items():
        if formal.required and name not in given:
            raise ArgumentError(f"the attribute {name} is missing")
    return {name: python_value(a) for name, a in with_defaults(schema, given).items()}


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


# -- operators defined by others --------------------------------------------------------------------------------------


def function_versions(schema: Any) -> list[int]:
    """The operator sets in which a definition's function is written; none where it has no function."""
    versions: list[int] = []
    if schema.has_function:
        versions += schema.function_opset_versions
    if schema.has_context_dependent_function:
        versions += schema.context_dependent_function_opset_versions
    return versions


def body_of(n: Node, given: Mapping[str, Any]) -> Any:
    """The function by which ONNX defines an operator; None where it does not, or not for such inputs.

    A function is written in an operator set of its own, and stands for the operator in later ones as well, until the operator
    is defined anew: the latest that is not after the model's is taken.
    """
    s = n.schema
    version = max((v for v in function_versions(s) if v <= n.opset), default=None)
    if version is None:
        return None
    try:
        if s.has_function and version in s.function_opset_versions:
            data = s.get_function_with_opset_version(version)
        else:
            types = [type_proto(n.tensors[k] if n.has(k) else None) for k in range(len(n))]
            data = s.get_context_dependent_function_with_opset_version(version, node_proto(n, given), types)
    except Exception as e:  # of ONNX's C++ code, which has no class of its own for them
        raise GraphError(
            f"ONNX defines {n.op} by other operators, but not with these inputs and attributes: {e}"
        ) from e
    body = onnx.FunctionProto()
    body.ParseFromString(data)
    return body if body.node else None


def node_proto(n: Node, given: Mapping[str, Any]) -> bytes:
    """A node as ONNX's code wants it, none of whose attributes refers to a function's."""
    proto = onnx.NodeProto(op_type=n.op, output=n.outputs)
    proto.input.extend("" if t is None else t.name or f"input_{k}" for k, t in enumerate(n.tensors))
    for name, a in given.items():
        added = proto.attribute.add()
        added.CopyFrom(a)
        added.name = name
    return bytes(proto.SerializeToString())


def type_proto(t: Tensor | None) -> bytes:
    if t is None:
        return bytes(onnx.TypeProto().SerializeToString())
    shape = [d if isinstance(d, int) else re.sub(r"\W", "_", str(d)) for d in t.shape]
    element = onnx.helper.np_dtype_to_tensor_dtype(t.dtype.numpy)
    return bytes(onnx.helper.make_tensor_type_proto(element, shape).SerializeToString())
