"""Functions that take values of a builder, or arrays.

``@eager`` makes a function that adds to a graph one that can also be called with arrays::

    @eager
    def gather(input: Tensor, dim: int, index: Tensor) -> Value:
        return input.builder.gather(input, index, dim)

The body always sees values.  In a call with at least one :class:`~gscompile.ir.graph.Value`, arrays beside it become constants
of its graph.  In a call with arrays alone, the function is traced, compiled for the device that they are on, and run; the
compiled module is kept.

Parameters of type ``Tensor`` (or ``Tensor | None``, ``Tensor | float``, ``Sequence[Tensor]``) hold tensors; all others are
attributes, whose values are part of what a module is kept under.  Extents of the result that are given as numbers,
``num_segments: Size`` or ``shape: Sequence[Size]``, are treated as extents of an argument: a tensor of shape (number, 0), which
takes no memory, brings each of them into the graph.  A parameter ``out: Out = None`` takes an array that receives the result of a
call with arrays.  The types are read when the function is first called.

Modules are kept for a *kind* of call: the function, its attributes, the tensors' dtypes, ranks and device, and which axes
have extent 0 or 1 (these never stand for a size of another call: an extent of 1 may broadcast).  The first call of a kind
is compiled for its shapes; the second, of other shapes, for sizes known only at run time, those that changed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

import numpy as np

from gscompile.build import Module
from gscompile.compiler.targets import for_device
from gscompile.errors import ArgumentError, GSError
from gscompile.frontend.arguments import NUMBERS
from gscompile.frontend.builder import Builder, builder_of
from gscompile.frontend.call_signature import CachedCall, call_signature
from gscompile.frontend.draft import CALLED
from gscompile.frontend.module_cache import CacheInfo, ModuleCache, Pattern
from gscompile.frontend.parameters import Out, Parameters, Size, Tensor
from gscompile.ir.graph import Value
from gscompile.ir.types import DTYPES
from gscompile.runtime import arrays
from gscompile.runtime.arrays import View

F = TypeVar("F", bound=Callable[..., Any])

MAX_CACHED = 64  # calls of one function whose signatures are kept
LONGEST = 1 << 40  # a longer axis is left to the function, which may have something to say about it

MODULES = ModuleCache()
CACHED_CALLS: list[dict[Hashable, CachedCall]] = []  # of each function
_NOTHING = DTYPES["uint8"]


def cache_info() -> CacheInfo:
    """What the cache of calls with arrays has done, for all functions together."""
    return MODULES.info()


def cache_clear() -> None:
    """Forget all compiled calls with arrays, and their counts."""
    MODULES.clear()
    for cached in CACHED_CALLS:
        cached.clear()


@overload
def eager(function: F) -> F: ...


@overload
def eager(function: None = None, *, in_place: str | None = None, native: Sequence[str] = ()) -> Callable[[F], F]: ...


def eager(function: F | None = None, *, in_place: str | None = None, native: Sequence[str] = ()) -> Any:
    """Make a function that adds to a graph callable with arrays too; see the module's text.

    Args:
        in_place: the parameter whose array receives the result, where the framework's function returns None.  With values,
            the result is returned all the same, since a value cannot change.
        native: the parameters whose arrays of swapped bytes are copied into the machine's order; others are moved as they are.
    """
    if function is None:
        return functools.partial(eager, in_place=in_place, native=native)
    parameters = functools.cache(functools.partial(Parameters.of, function))
    if in_place is not None and in_place not in parameters().tensors:
        raise ArgumentError(f"{function.__name__}: in_place names a parameter that holds a tensor; got {in_place!r}")
    CALLED.add(function.__name__.lstrip("_"))
    cached: dict[Hashable, CachedCall] = {}
    CACHED_CALLS.append(cached)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        signature = None if in_place else call_signature(args, kwargs)
        known = None if signature is None else cached.get(signature)
        if known is not None and MODULES.used(known.key, known.module):
            return known.run(args, kwargs)
        found = parameters()
        try:
            bound = found.signature.bind(*args, **kwargs)
        except TypeError as e:
            raise ArgumentError(f"{function.__name__}: {e}") from None
        bound.apply_defaults()
        for name in native:
            given = bound.arguments[name]
            bound.arguments[name] = in_machine_order(given)
            if bound.arguments[name] is not given:
                signature = None  # its module takes other arrays than the caller gives
        invocation = Invocation(function, found, dict(bound.arguments))
        invocation.check()
        receives = invocation.arguments.pop(found.out, None)
        builder = invocation.builder()
        if builder is not None:
            if receives is not None:
                raise ArgumentError(f"{invocation.op}: {found.out} goes with arrays, not with values of a builder")
            return invocation.add(builder)
        if in_place is not None:
            invocation.run_into(in_place, invocation.arguments[in_place])
            return None
        if receives is not None:
            return invocation.run_into(found.out, receives)
        result, known = invocation.run([*found.signature.parameters][: len(args)])
        if signature is not None and known is not None:
            if len(cached) >= MAX_CACHED:
                cached.clear()
            cached[signature] = known
        return result

    return call


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a module is given: the tensors, and after them an array for each size."""

    names: list[str]
    arrays: list[Any]
    views: list[View]

    def add(self, name: str, array: Any, view: View) -> None:
        self.names.append(name)
        self.arrays.append(array)
        self.views.append(view)


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call of a function."""

    function: Callable[..., Any]
    parameters: Parameters
    arguments: dict[str, Any]

    @property
    def op(self) -> str:
        """What errors call the function: what an argument ``op`` says, where a public function hands over to this one."""
        return str(self.arguments.get("op") or self.function.__name__.lstrip("_"))

    def check(self) -> None:
        """Raises ArgumentError where a tensor is needed and None was passed."""
        for name, holds in self.parameters.tensors.items():
            if self.arguments[name] is None and not holds.nothing:
                raise ArgumentError(f"{self.op}: {name} must be a tensor; got None")

    # -- what is a tensor, and what a size, among the arguments

    def operands(self) -> Iterator[tuple[str, Any]]:
        """The tensors, with names; those of a sequence as ``name_0, name_1, ..``."""
        for name in self.parameters.tensors:
            x = self.arguments[name]
            if self.parameters.tensors[name].only and x is not None and not self._is_sequence(name):
                raise ArgumentError(f"{self.op}: {name} must be a list or tuple of tensors; got {type(x).__name__}")
            if self._is_sequence(name):
                yield from ((f"{name}_{k}", y) for k, y in enumerate(x))
            elif not self._is_attribute(name):
                yield name, x

    def _is_sequence(self, name: str) -> bool:
        return self.parameters.tensors[name].sequence and isinstance(self.arguments[name], (list, tuple))

    def _is_attribute(self, name: str) -> bool:
        """No tensor, though it might be one: None, or a number that takes its dtype from the tensors beside it."""
        holds, x = self.parameters.tensors.get(name), self.arguments[name]
        return holds is None or x is None or (holds.number and type(x) in NUMBERS)

    def sizes(self) -> Iterator[tuple[str, int]]:
        """The sizes, with names; those of a sequence as ``name_0, name_1, ..``."""
        for name, x in self.arguments.items():
            if name in self.parameters.sizes:
                many = isinstance(x, (list, tuple))
                yield from (
                    (f"{name}_{k}" if many else name, int(n)) for k, n in enumerate(x if many else [x]) if _varies(n)
                )

    def builder(self) -> Builder | None:
        """The graph that the call adds to; None where all its tensors are arrays."""
        return next((builder_of(x) for _, x in self.operands() if isinstance(x, Value)), None)

    # -- adding to a graph

    def with_tensors(self, tensors: Iterator[Any], sizes: Iterator[Any] | None = None) -> Any:
        """What the function gives for these tensors, and sizes, in the order of :meth:`operands` and :meth:`sizes`."""
        arguments = {}
        for name, x in self.arguments.items():
            if name in self.parameters.sizes and sizes is not None:
                arguments[name] = _replaced(x, sizes.__next__)
            elif name in self.parameters.tensors and self._is_sequence(name):
                arguments[name] = [next(tensors) for _ in x]
            else:
                arguments[name] = x if self._is_attribute(name) else next(tensors)
        bound = self.parameters.signature.bind_partial()
        bound.arguments.update(arguments)
        return self.function(*bound.args, **bound.kwargs)

    def add(self, builder: Builder) -> Any:
        """Add to a graph."""
        with builder.draft.within(self.op):
            return self.with_tensors(builder.draft.as_value(self.op, name, x) for name, x in self.operands())

    def trace(self, names: Sequence[str], views: Sequence[View], pattern: Pattern) -> Builder:
        """The graph of a call with arrays: an input for each."""
        b = Builder(self.op)
        types = zip(names, pattern, views, strict=True)
        inputs = [b.input("out_" if n == "out" else n, shape, v.dtype) for n, shape, v in types]
        with b.draft.within(self.op):
            count = len(list(self.operands()))
            result = self.with_tensors(iter(inputs[:count]), (x.shape[0] for x in inputs[count:]))
        b.output(*(result if isinstance(result, (list, tuple)) else [result]))
        return b

    # -- computing with arrays

    def run(self, positional: Sequence[str]) -> tuple[Any, CachedCall | None]:
        """Compile, unless that was done before, and run.

        Args:
            positional: the names of the arguments that were given without.

        Returns:
            the result, and what calls of the same signature do; None where tensors come in sequences.
        """
        inputs = self.inputs()
        key, module = self.module(inputs)
        result = module(*inputs.arrays)
        count = sum(1 for _ in self.operands())
        names = inputs.names[:count]
        if not all(n in self.parameters.tensors for n in names):
            return result, None
        places = [positional.index(n) if n in positional else n for n in names]
        return result, CachedCall(key, module, [*places, *inputs.arrays[count:]])

    def run_into(self, parameter: str, receives: Any) -> Any:
        """As :meth:`run`, into the array that a parameter holds."""
        if isinstance(receives, Value) or arrays.is_value(receives):
            raise ArgumentError(f"{self.op}: {parameter} must be an array that can be written; got {receives!r}")
        inputs = self.inputs()
        _, module = self.module(inputs)
        return module(*inputs.arrays, out=receives)

    def inputs(self) -> Inputs:
        """Raises ArgumentError, DeviceError, DTypeError where an operand is no array that a kernel can read."""
        found = Inputs([], [], [])
        for name, x in self.operands():
            try:
                array = arrays.as_array(x)
                found.add(name, array, arrays.view(array))
            except GSError as e:
                raise type(e)(f"{self.op}: {name}: {e}") from e
        if not found.views:
            among = ", ".join(self.parameters.tensors)
            raise ArgumentError(f"{self.op}: an array or a value of a builder is needed among {among}")
        device = found.views[0].device
        for name, size in self.sizes():
            library = "numpy" if device[0] == "cpu" else "tvm"
            found.add(f"{name}_size", *arrays.empty(library, (size, 0), _NOTHING, device))
        return found

    def module(self, inputs: Inputs) -> tuple[Hashable, Module]:
        """The compiled module, and what it is kept under."""
        target = for_device(inputs.views[0].device[0])
        attributes = tuple(
            (n, _frozen(self.op, n, _replaced(x, lambda: None) if n in self.parameters.sizes else x))
            for n, x in self.arguments.items()
            if self._is_attribute(n)
        )
        kinds = tuple(
            (n, v.dtype.key, tuple(d if d < 2 else -1 for d in v.shape))
            for n, v in zip(inputs.names, inputs.views, strict=True)
        )
        key = (self.function, target, attributes, kinds)

        def build(pattern: Pattern) -> Module:
            return self.trace(inputs.names, inputs.views, pattern).build(target)

        return key, MODULES.module(key, tuple(v.shape for v in inputs.views), build)


def in_machine_order(x: Any) -> Any:
    """NumPy's arrays, alone or in a sequence, with the bytes of each element in the machine's order; anything else as it is."""
    if isinstance(x, (list, tuple)):
        return [in_machine_order(y) for y in x] if any(map(_is_swapped, x)) else x
    return x.astype(x.dtype.newbyteorder("=")) if _is_swapped(x) else x


def _is_swapped(x: Any) -> bool:
    return isinstance(x, np.ndarray) and not x.dtype.isnative and x.dtype.names is None


def _varies(n: Any) -> bool:
    """Whether a number is taken as an extent that another call may have otherwise; of 0 and 1 see the module's text."""
    return isinstance(n, (int, np.integer)) and not isinstance(n, bool) and 2 <= int(n) <= LONGEST


def _replaced(x: Any, size: Callable[[], Any]) -> Any:
    """A size, or a sequence of them, with others in place of those that vary."""
    if isinstance(x, (list, tuple)):
        return [size() if _varies(n) else n for n in x]
    return size() if _varies(x) else x


def _frozen(op: str, name: str, x: Any) -> Hashable:
    """An attribute as part of a key; numbers that are equal but of different types differ."""
    if isinstance(x, (list, tuple)):
        return (type(x).__name__, *(_frozen(op, name, y) for y in x))
    if getattr(x, "ndim", None) == 0 and hasattr(x, "item"):
        x = x.item()
    if isinstance(x, float) and x != x:
        return ("float", "nan")
    if isinstance(x, float):
        return ("float", x.hex())
    if isinstance(x, complex):
        return ("complex", _frozen(op, name, x.real), _frozen(op, name, x.imag))
    try:
        hash(x)
    except TypeError:
        raise ArgumentError(f"{op}: {name} is an attribute, not a tensor; got {type(x).__name__}") from None
    return (type(x).__name__, x)


__all__ = ["Out", "Size", "Tensor", "cache_clear", "cache_info", "eager"]
