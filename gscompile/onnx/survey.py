"""What is known of a model's tensors before any node is compiled: dtypes, shapes with their symbolic sizes, small elements.

The whole model is imported, node by node.  What a node gives that is not supported here is an input from there on, of the type
that ONNX's shape inference gives it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import onnx

from gscompile.errors import GSError
from gscompile.ir.dims import SymDim, symbols
from gscompile.onnx.definitions import DEFAULT_DOMAIN
from gscompile.onnx.importer import Import
from gscompile.onnx.known import LIMIT
from gscompile.onnx.node import Tensor
from gscompile.onnx.read import Names, array_of, tensor_type

_NOT_OVERRIDABLE = 3  # IR versions up to here list every initialiser among the inputs


class Survey(Import):
    """A model's tensors.

    Attributes:
        scope: the tensors that are known, by their names in the model.
        supported: of each node, whether it was imported without a rule that ONNX does not have.
        tellers: sizes, and the tensor whose axis tells each.
    """

    def __init__(self, model: Any, directory: Path | None) -> None:
        super().__init__(model, directory, None, {}, {})
        self.scope: dict[str, Tensor] = {}
        self.tellers: dict[str, str] = {}
        self._identifier = Names(["out"])
        self.leaves(self.scope)
        inferred = {i.name: i for i in _inferred(model).graph.value_info}
        inferred.update((o.name, o) for o in self.graph.output)
        self.supported = [self._node(proto, inferred) for proto in self.graph.node]

    def leaves(self, scope: dict[str, Tensor]) -> None:
        """Inputs and initialisers, but for those that are not supported."""
        constants = {t.name: t for t in self.graph.initializer}
        for info in self.graph.input:
            if info.name not in constants or self.model.ir_version > _NOT_OVERRIDABLE:
                self._input(info)
        for name, t in constants.items():
            if name in scope:
                continue
            try:
                array, d = array_of(t, self.directory, name)
                scope[name] = Tensor(name, d, array, self.b.constant(array))
            except GSError:
                continue

    def _input(self, info: Any) -> None:
        """A tensor that comes from outside, where its type is known and supported."""
        try:
            t = tensor_type(info, None, self.size)
            made = self.b.input(self._identifier(info.name), t.shape, t.dtype)
        except GSError:
            return
        self.scope[info.name] = Tensor(info.name, t.dtype, made=made, is_input=True)
        for d in t.shape:
            if isinstance(d, SymDim):
                self.tellers.setdefault(str(d), info.name)

    def _node(self, proto: Any, inferred: dict[str, Any]) -> bool:
        rules = len(self.b.draft.constraints)
        try:
            self.nodes(self.scope, [proto])
        except GSError:
            for name in proto.output:
                if name and name not in self.scope and name in inferred:
                    self._input(inferred[name])
            return False
        return len(self.b.draft.constraints) == rules or not broadcasts(proto)

    def sizes(self, t: Tensor) -> set[str]:
        """The sizes in a tensor's shape, and among its elements where these are known."""
        elements = t.known.flat if t.known is not None and t.known.dtype == object else ()
        return {n for d in (*t.shape, *elements) if isinstance(d, SymDim) for n in symbols(d)}

    def needs(self, protos: Sequence[Any]) -> list[str]:
        """The tensors that nodes of one group take from outside: what they read, and what tells their sizes."""
        given = {n for proto in protos for n in proto.output if n}
        read = dict.fromkeys(n for proto in protos for n in proto.input if n and n not in given)
        taken = [n for n in read if not is_small(self.scope[n])]
        for size in sorted({size for n in (*read, *given) for size in self.sizes(self.scope[n])}):
            told = {str(d) for n in taken for d in self.scope[n].shape}
            if size not in told and size in self.tellers:
                taken.append(self.tellers[size])
        return taken

    def size_name(self, name: str) -> str:
        """What the model calls a size."""
        return next((theirs for theirs, ours in self.size.found() if ours == name), name)


def is_small(t: Tensor) -> bool:
    """Whether elements are known, and few enough to be a part of the code."""
    return t.known is not None and t.known.size <= LIMIT


def in_onnx(proto: Any, operators: Collection[str]) -> bool:
    """Whether a node is one of these operators of ONNX's."""
    return proto.op_type in operators and proto.domain in DEFAULT_DOMAIN


_ELEMENTWISE = """
Abs Add And BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast CastLike Ceil Celu Clip Cos Cosh Div Elu Equal Erf Exp Floor
Gelu Greater GreaterOrEqual HardSigmoid HardSwish IsInf IsNaN LeakyRelu Less LessOrEqual Log Max Mean Min Mish Mod Mul Neg Not Or
PRelu Pow Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub Sum Swish Tan Tanh ThresholdedRelu
Where Xor"""
ELEMENTWISE = frozenset(re.findall(r"\w+", _ELEMENTWISE))


def broadcasts(proto: Any) -> bool:
    """Whether a node stretches extents of 1: a rule that two symbolic sizes be equal is then more than ONNX asks for."""
    return in_onnx(proto, ELEMENTWISE | {"Expand"})


def graphs_in(proto: Any) -> Iterator[Any]:
    """The graphs that a node holds."""
    for a in proto.attribute:
        if a.type == onnx.AttributeProto.GRAPH:
            yield a.g
        yield from a.graphs


def uses_of(proto: Any) -> set[str]:
    """The names that a node reads; of those that only the graphs within it give, too."""
    found = {n for n in proto.input if n}
    for graph in graphs_in(proto):
        found.update(o.name for o in graph.output)
        for inner in graph.node:
            found |= uses_of(inner)
    return found


def _inferred(model: Any) -> Any:
    """The model with the types that ONNX infers, without the elements of large initialisers, which decide no shape."""
    graph = onnx.GraphProto(name=model.graph.name)
    graph.node.extend(model.graph.node)
    graph.input.extend(model.graph.input)
    graph.output.extend(model.graph.output)
    graph.value_info.extend(model.graph.value_info)
    given = {i.name for i in graph.input}
    for t in model.graph.initializer:
        external = t.data_location == onnx.TensorProto.EXTERNAL
        if not external and t.ByteSize() <= 16 * LIMIT:
            graph.initializer.add().CopyFrom(t)
        elif t.name not in given:
            graph.input.append(onnx.helper.make_tensor_value_info(t.name, t.data_type, t.dims))
    shown = onnx.ModelProto(ir_version=model.ir_version, graph=graph, opset_import=model.opset_import)
    try:
        return onnx.shape_inference.infer_shapes(shown, data_prop=True)
    except Exception:  # of ONNX's C++ code: the model contradicts itself, and ONNX Runtime will say so
        return shown
