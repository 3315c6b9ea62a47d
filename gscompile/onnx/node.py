"""One node as its converter sees it, and the table of converters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import onnx

from gscompile.errors import ArgumentError, DTypeError, GraphError, ShapeError
from gscompile.frontend.arguments import axis_of
from gscompile.frontend.builder import Builder
from gscompile.ir.dims import Dim, Shape, SymDim
from gscompile.ir.graph import Value
from gscompile.ir.types import DTYPES, DType

Array: TypeAlias = npt.NDArray[Any]

_OTHERWISE = ("float32", "float64", "bool")

# What ONNX calls gscompile's types: in a TensorProto, and in the operators' definitions.
TENSOR_TYPES: dict[int, DType] = {
    getattr(onnx.TensorProto, name): DTYPES[ours]
    for name, ours in {
        "FLOAT": "float32",
        "DOUBLE": "float64",
        "BOOL": "bool",
        **{d.name.upper(): d.name for d in DTYPES.values() if d.bits > 8 or d.native if d.name not in _OTHERWISE},
    }.items()
}
_SPELLED = {"float32": "float", "float64": "double"}


MAX_SHOWN = 100  # characters of a model's name in a message


def type_str(d: DType) -> str:
    """A dtype as an operator's definition spells it: ``tensor(float)``."""
    return f"tensor({_SPELLED.get(d.name, d.name)})"


def dtype_of(element_type: int, what: str) -> DType:
    """gscompile's type for an element type of ONNX.  Raises DTypeError where it has none."""
    if element_type not in TENSOR_TYPES:
        raise DTypeError(f"{what}: the element type {element_name(element_type)} is not supported")
    return TENSOR_TYPES[element_type]


def element_name(element_type: int) -> str:
    """What ONNX calls an element type, or its number where it has none of that number."""
    kinds = onnx.TensorProto.DataType
    return str(kinds.Name(element_type) if element_type in kinds.values() else element_type)


def shortened(text: str, limit: int = MAX_SHOWN) -> str:
    """A model's text for a message: without its middle where it is longer, and with escapes for what does not print."""
    shown = text if len(text) <= limit else f"{text[: limit // 2]}..{text[-limit // 4 :]}"
    return shown if shown.isprintable() else repr(shown)[1:-1]


def quoted(name: str) -> str:
    """A model's name for a message."""
    return f"'{shortened(name)}'"


class NeedsValue(GraphError):
    """The graph's shapes depend on the elements of a tensor that only a call brings.

    Attributes:
        inputs: the model's inputs that it is computed from, in alphabetical order.
    """

    def __init__(self, message: str, inputs: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.inputs = list(inputs)


@dataclass(slots=True, eq=False)
class Tensor:
    """What a name of the model stands for: a value of the graph, or elements that are known while it is built.

    Attributes:
        known: the elements; of dtype object where some are sizes known only at a call.
        made: the value in the graph; of known elements, made when it is first needed.
        parents: what elements that are not known are computed from.
        is_input: whether a call brings the elements.
    """

    name: str
    dtype: DType
    known: Array | None = None
    made: Value | None = None
    parents: tuple[Tensor, ...] = ()
    is_input: bool = False

    @property
    def sources(self) -> frozenset[str]:
        """The model's inputs that elements which are not known depend on."""
        found: set[str] = set()
        seen: set[int] = set()
        rest = [self]
        while rest:
            t = rest.pop()
            if t.known is None and id(t) not in seen:
                seen.add(id(t))
                found |= {t.name} if t.is_input else set()
                rest.extend(t.parents)
        return frozenset(found)

    @property
    def shape(self) -> Shape:
        if self.made is not None:
            return self.made.shape
        assert self.known is not None
        return tuple(self.known.shape)

    def value(self, b: Builder) -> Value:
        if self.made is None:
            assert self.known is not None
            if self.known.dtype != object:
                self.made = b.constant(self.known)
            else:
                self.made = _sizes_as_value(b, self.known, self.dtype)
        return self.made


def _sizes_as_value(b: Builder, elements: Array, d: DType) -> Value:
    if not elements.shape:
        return b.size(elements.item(), d)
    parts = [b.size(x, d) if isinstance(x, SymDim) else b.full((), x, d) for x in elements.flat]
    return b.reshape(b.stack(parts), elements.shape)


def known_tensor(name: str, elements: Array, d: DType) -> Tensor:
    """A tensor of these elements: ints, and perhaps sizes, in an array of objects, or an array of the dtype."""
    if elements.dtype == object and not any(isinstance(x, SymDim) for x in elements.flat):
        elements = np.array(elements, d.numpy)
    return Tensor(name, d, elements)


@dataclass
class Node:
    """A node whose inputs and attributes fit the operator's definition.

    ``n[k]`` is the k-th input as a value of the graph; an input that is left out is None in ``tensors``.
    """

    b: Builder
    op: str
    opset: int
    schema: Any
    tensors: Sequence[Tensor | None]
    attributes: Mapping[str, Any]
    outputs: Sequence[str]
    read: Callable[[Any, str], tuple[Array, DType]]  # a TensorProto's elements; the str is what errors call it

    def __len__(self) -> int:
        return len(self.tensors)

    def has(self, k: int) -> bool:
        """Whether the k-th input is given."""
        return k < len(self.tensors) and self.tensors[k] is not None

    def tensor(self, k: int) -> Tensor:
        found = self.tensors[k]
        assert found is not None  # the definition says so, and was checked
        return found

    def __getitem__(self, k: int) -> Value:
        return self.tensor(k).value(self.b)

    @property
    def values(self) -> list[Value]:
        """All inputs, of an operator that takes any number of them."""
        return [self[k] for k in range(len(self))]

    def attr(self, name: str) -> Any:
        """An attribute, by default the definition's; None where it has none."""
        return self.attributes.get(name)

    def defines(self, name: str) -> bool:
        """Whether the operator has this attribute in the model's operator set."""
        return name in self.schema.attributes

    # -- inputs that must be known while the graph is built

    def argument(self, k: int) -> str:
        """The name of an input in the operator's definition."""
        formal = self.schema.inputs
        return str(formal[min(k, len(formal) - 1)].name)

    def known(self, k: int) -> Array:
        """The elements of an input.  Raises NeedsValue where only a call brings them."""
        t = self.tensor(k)
        if t.known is None:
            sources = sorted(t.sources)
            what = f"input {k}, {self.argument(k)} = {quoted(t.name)}"
            raise NeedsValue(f"{what}, must be known {_how(sources)}", sources)
        return t.known

    def sizes(self, k: int) -> list[Dim]:
        """The elements of an input of integers; some may be sizes known only at a call."""
        return [x if isinstance(x, SymDim) else int(x) for x in self.known(k).flat]

    def ints(self, k: int) -> list[int]:
        """The elements of an input of integers, all of them numbers."""
        return [self.number(x, self.argument(k)) for x in self.sizes(k)]

    def number(self, x: Dim, what: str) -> int:
        if isinstance(x, SymDim):
            raise ShapeError(f"{what} must be a number; it is the size {x}, which only a call tells")
        return x

    def listed(self, name: str, k: int) -> list[Dim] | None:
        """Integers that are an attribute in old operator sets, and the k-th input in new ones; None where left out."""
        if self.defines(name):
            found = self.attr(name)
            return None if found is None else list(found)
        return self.sizes(k) if self.has(k) else None

    def axes(self, name: str, k: int, rank: int) -> list[int] | None:
        """Axes of a tensor of this rank, counted from 0, stated as ``listed``."""
        found = self.listed(name, k)
        return None if found is None else [axis_of(self.op, name, self.number(a, name), rank) for a in found]

    def axis(self, rank: int, name: str = "axis") -> int:
        """The attribute ``axis`` counted from 0."""
        return axis_of(self.op, name, self.attr(name), rank)

    def choice(self, name: str, allowed: Sequence[Any]) -> Any:
        """An attribute that has one of a few values.  Raises ArgumentError for any other."""
        x = self.attr(name)
        if x not in allowed:
            raise ArgumentError(f"{name} must be {' or '.join(map(repr, allowed))}; got {x!r}")
        return x

    def scalar(self, k: int) -> Any:
        """The one element of an input, as a Python number.  Raises NeedsValue, ShapeError."""
        x = self.known(k)
        if x.size != 1:
            raise ShapeError(f"{self.argument(k)} must be one element; got shape {x.shape}")
        return x.reshape(()).item()


def _how(sources: Sequence[str]) -> str:
    """What a message says about a tensor that must be known, but is computed from inputs, or from none."""
    if not sources:
        return "while the graph is built, and depends on sizes that only a call tells"
    fixed = ", ".join(f"{quoted(i)}: .." for i in sources[:4]) + (", .." if len(sources) > 4 else "")
    return f"while the graph is built: fix what it is computed from with import_model(.., known={{{fixed}}})"


Result: TypeAlias = Value | Tensor | Sequence[Value | Tensor]
Convert: TypeAlias = Callable[[Node], Result]


@dataclass(frozen=True)
class Operator:
    """A row of the table.

    Attributes:
        since: the first operator set in which the operator is supported.
        note: what of its definition is not.
    """

    name: str
    convert: Convert = field(repr=False)
    since: int = 1
    note: str = ""


OPERATORS: dict[str, Operator] = {}


def operator(name: str, since: int = 1, note: str = "") -> Callable[[Convert], Convert]:
    """Enter a function in the table; a function may stand in several rows."""

    def enter(convert: Convert) -> Convert:
        assert name not in OPERATORS, name
        OPERATORS[name] = Operator(name, convert, since, note)
        return convert

    return enter
