"""Functions that take values of a builder, or arrays.

``@operator`` makes a function that adds to a graph one that can also be called with arrays::

    @operator
    def gather(input: Tensor, dim: int, index: Tensor) -> Value:
        return input.builder.gather(input, index, dim)

The body always sees values.  In a call with at least one :class:`~gscompile.ir.graph.Value`, arrays beside it become constants
of its graph.  In a call with arrays alone, the function is traced, compiled for the device that they are on, and run; the
compiled module is kept.

Parameters that are annotated with ``Tensor`` (or ``Tensor | None``, ``Tensor | float``, ``Sequence[Tensor]``) hold tensors;
all others are attributes, whose values are part of what a module is kept under.  Extents of the result that are given as numbers,
``num_segments: Size`` or ``shape: Sequence[Size]``, are treated as extents of an argument: a tensor of shape (number, 0), which
takes no memory, brings each of them into the graph.

Modules are kept for a *kind* of call: the function, its attributes, the tensors' dtypes, ranks and device, and which axes
have extent 0 or 1 (these never stand for a size of another call: an extent of 1 may broadcast).  The first call of a kind
is compiled for its shapes; the second, of other shapes, for sizes known only at run time, those that changed.
"""

from __future__ import annotations

import functools
import inspect
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar, overload

import numpy as np

from gscompile.compiler.targets import for_device
from gscompile.errors import ArgumentError, GSError
from gscompile.frontend.builder import Builder, builder_of
from gscompile.ir.graph import Value
from gscompile.ir.types import DTYPES
from gscompile.runtime import arrays
from gscompile.runtime.arrays import VIEWERS, View

if TYPE_CHECKING:
    from gscompile.build import Module

Tensor: TypeAlias = Value  # for a caller also an array of whatever library
Size: TypeAlias = Any  # an int; in a graph also a symbolic size
F = TypeVar("F", bound=Callable[..., Any])
Shapes: TypeAlias = tuple[tuple[int, ...], ...]
Pattern: TypeAlias = tuple[tuple[int | str, ...], ...]

MAX_KINDS = 256  # kinds of calls whose modules are kept
MAX_MODULES = 8  # modules of one kind
MAX_REPEATED = 64  # calls of a function that are recognised when they come again
LONGEST = 1 << 40  # a longer axis is left to the function, which may have something to say about it


class CacheInfo(NamedTuple):
    """What the cache of compiled calls has done.

    Attributes:
        hits: calls that found a module.
        misses: calls that compiled one.
        size: modules that are kept now.
        kinds: kinds of calls that they belong to.
        maxkinds: how many kinds are kept; the one that was not called for the longest time goes first.
    """

    hits: int
    misses: int
    size: int
    kinds: int
    maxkinds: int


@dataclass(slots=True)
class Kind:
    """The modules of one kind of call, the newest first."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    modules: list[tuple[Pattern, Module]] = field(default_factory=list)
    shapes: Shapes | None = None

    def find(self, shapes: Shapes) -> Module | None:
        """A module that takes these shapes."""
        return next((m for pattern, m in list(self.modules) if matches(pattern, shapes)), None)

    def add(self, shapes: Shapes, compile: Callable[[Pattern], Module]) -> Module:
        """A new module for these shapes: for just them the first time, for others like them later."""
        earlier, self.shapes = self.shapes, shapes
        candidates: list[Pattern] = []
        if earlier is not None:
            candidates = [generalised(earlier, shapes, tied=True), generalised(earlier, shapes, tied=False)]
            known = {pattern for pattern, _ in self.modules}
            candidates = [p for p in candidates if p not in known and matches(p, shapes)]
        for pattern in candidates:
            try:
                module = compile(pattern)
            except (GSError, TypeError):
                continue  # a shape rule that needs the numbers
            break
        else:
            pattern = shapes
            module = compile(pattern)
        self.modules.insert(0, (pattern, module))
        del self.modules[MAX_MODULES:]
        return module


def matches(pattern: Pattern, shapes: Shapes) -> bool:
    """Whether shapes are of a pattern: equal numbers, and one number for each name."""
    sizes: dict[str, int] = {}
    for want, got in zip(pattern, shapes, strict=True):
        for p, n in zip(want, got, strict=True):
            if (sizes.setdefault(p, n) if isinstance(p, str) else p) != n:
                return False
    return True


def generalised(first: Shapes, second: Shapes, tied: bool) -> Pattern:
    """A pattern of both shapes: a name where they differ.

    Args:
        tied: axes that have the same extents in both are taken to be one size; otherwise each axis is a size of its own.
    """
    names: dict[Hashable, str] = {}
    pattern = []
    for t, (a, b) in enumerate(zip(first, second, strict=True)):
        dims: list[int | str] = []
        for axis, (m, n) in enumerate(zip(a, b, strict=True)):
            key = (m, n) if tied else (t, axis)
            dims.append(m if m == n else names.setdefault(key, f"n{len(names)}"))
        pattern.append(tuple(dims))
    return tuple(pattern)


class Cache:
    """Kinds of calls, by key; safe for any number of threads."""

    def __init__(self, maxkinds: int = MAX_KINDS) -> None:
        self.maxkinds = maxkinds
        self._lock = threading.Lock()
        self._kinds: OrderedDict[Hashable, Kind] = OrderedDict()
        self._hits = self._misses = 0

    def module(self, key: Hashable, shapes: Shapes, compile: Callable[[Pattern], Module]) -> Module:
        """The module for a call; compiled, where there is none yet, by one thread while the others wait for it."""
        with self._lock:
            kind = self._kinds.get(key)
            if kind is None:
                kind = self._kinds[key] = Kind()
                while len(self._kinds) > self.maxkinds:
                    self._kinds.popitem(last=False)
            else:
                self._kinds.move_to_end(key)
            module = kind.find(shapes)
            if module is not None:
                self._hits += 1
                return module
        with kind.lock:
            module = kind.find(shapes)  # another thread may have compiled it meanwhile
            found = module is not None
            if module is None:
                module = kind.add(shapes, compile)
        with self._lock:
            self._hits += found
            self._misses += not found
        return module

    def used(self, key: Hashable, module: Module) -> bool:
        """A call of a kind has found its module elsewhere; False if that is not kept any more."""
        with self._lock:
            kind = self._kinds.get(key)
            if kind is None or all(m is not module for _, m in kind.modules):
                return False
            self._kinds.move_to_end(key)
            self._hits += 1
            return True

    def info(self) -> CacheInfo:
        with self._lock:
            size = sum(len(k.modules) for k in self._kinds.values())
            return CacheInfo(self._hits, self._misses, size, len(self._kinds), self.maxkinds)

    def clear(self) -> None:
        with self._lock:
            self._kinds.clear()
            self._hits = self._misses = 0


_CACHE = Cache()
_REPEATED: list[dict[Hashable, Repeated]] = []  # of each function
_NOTHING = DTYPES["uint8"]


def cache_info() -> CacheInfo:
    """What the cache of calls with arrays has done, for all functions together."""
    return _CACHE.info()


def cache_clear() -> None:
    """Forget all compiled calls with arrays, and their counts."""
    _CACHE.clear()
    for repeated in _REPEATED:
        repeated.clear()


@overload
def operator(function: F) -> F: ...


@overload
def operator(function: None = None, *, in_place: str | None = None) -> Callable[[F], F]: ...


def operator(function: F | None = None, *, in_place: str | None = None) -> Any:
    """Make a function that adds to a graph callable with arrays too; see the module's text.

    Args:
        in_place: the parameter whose array receives the result, where the framework's function returns None.  With values,
            the result is returned all the same, since a value cannot change.
    """
    if function is None:
        return functools.partial(operator, in_place=in_place)
    signature = inspect.signature(function)
    said = {n: set(re.findall(r"\w+", str(p.annotation))) for n, p in signature.parameters.items()}
    tensors = {
        n: Holds("Sequence" in w, bool(w & {"float", "int", "Scalar"})) for n, w in said.items() if "Tensor" in w
    }
    sizes = [n for n, w in said.items() if "Size" in w]
    if in_place is not None and in_place not in tensors:
        raise ArgumentError(f"{function.__name__}: in_place names a parameter that holds a tensor; got {in_place!r}")

    repeated: dict[Hashable, Repeated] = {}
    _REPEATED.append(repeated)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        look = None if in_place else appearance(args, kwargs)
        known = None if look is None else repeated.get(look)
        if known is not None and _CACHE.used(known.key, known.module):
            return known.run(args, kwargs)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as e:
            raise ArgumentError(f"{function.__name__}: {e}") from None
        bound.apply_defaults()
        found = Call(function, signature, dict(bound.arguments), tensors, sizes)
        builder = found.builder()
        if builder is not None:
            return found.add(builder)
        result, known = found.run(in_place, [*signature.parameters][: len(args)])
        if look is not None and known is not None:
            if len(repeated) >= MAX_REPEATED:
                repeated.clear()
            repeated[look] = known
        return result

    return call


class Repeated(NamedTuple):
    """What is known of a call when another of the same :func:`appearance` comes.

    Attributes:
        key: of the module, in the cache.
        inputs: of the module: the place of an argument, its name, or an array.
    """

    key: Hashable
    module: Module
    inputs: Sequence[Any]

    def run(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return self.module(*[args[x] if type(x) is int else kwargs[x] if type(x) is str else x for x in self.inputs])


def appearance(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Hashable:
    """What a call's module follows from, where the arguments are arrays of known types and plain attributes; else None."""
    parts: list[Any] = [len(args), *kwargs] if kwargs else [len(args)]
    for x in (*args, *kwargs.values()) if kwargs else args:
        kind = type(x)
        if kind is np.ndarray:
            parts += (x.dtype, x.shape)
        elif kind in _PLAIN:
            parts += (kind, x)
        elif (kind is list or kind is tuple) and all(type(y) is int for y in x):
            parts += (kind, *x, None)
        elif kind in VIEWERS:
            try:
                v = VIEWERS[kind](x)
            except GSError:
                return None
            parts += (kind, v.dtype.name, v.shape, v.device)
        else:
            return None
    return tuple(parts)


_PLAIN = frozenset({int, bool, str, type(None)})  # equal ones of the same type are the same; floats are not


class Holds(NamedTuple):
    """What a parameter that holds a tensor may hold instead.

    Attributes:
        sequence: several tensors.
        number: a number that takes its dtype from the tensors beside it.
    """

    sequence: bool
    number: bool


@dataclass(frozen=True, slots=True)
class Call:
    """One call: what is a tensor among its arguments."""

    function: Callable[..., Any]
    signature: inspect.Signature
    arguments: dict[str, Any]
    tensors: Mapping[str, Holds]
    sizes: Sequence[str]

    @property
    def op(self) -> str:
        return self.function.__name__.lstrip("_")  # what a public function hands over to is called as that

    def operands(self) -> Iterator[tuple[str, Any]]:
        """The tensors, with names; those of a sequence as ``name_0, name_1, ..``."""
        for name in self.tensors:
            x = self.arguments[name]
            if self._is_sequence(name):
                yield from ((f"{name}_{k}", y) for k, y in enumerate(x))
            elif not self._is_attribute(name):
                yield name, x

    def _is_sequence(self, name: str) -> bool:
        return self.tensors[name].sequence and isinstance(self.arguments[name], (list, tuple))

    def _is_attribute(self, name: str) -> bool:
        """No tensor, though it might be one: None, or a number that takes its dtype from the tensors beside it."""
        holds, x = self.tensors.get(name), self.arguments[name]
        return holds is None or x is None or (holds.number and type(x) in (bool, int, float))

    def builder(self) -> Builder | None:
        """The graph that the call adds to; None where all its tensors are arrays."""
        return next((builder_of(x) for _, x in self.operands() if isinstance(x, Value)), None)

    def lengths(self) -> Iterator[tuple[str, int]]:
        """The sizes, with names; those of a sequence as ``name_0, name_1, ..``."""
        for name in self.sizes:
            x = self.arguments[name]
            many = isinstance(x, (list, tuple))
            yield from (
                (f"{name}_{k}" if many else name, int(n)) for k, n in enumerate(x if many else [x]) if _varies(n)
            )

    def with_tensors(self, tensors: Iterator[Any], lengths: Iterator[Any] | None = None) -> Any:
        """What the function gives for these tensors, and sizes, in the order of :meth:`operands` and :meth:`lengths`."""
        arguments = {}
        for name, x in self.arguments.items():
            if name in self.sizes and lengths is not None:
                arguments[name] = _replaced(x, lengths.__next__)
            elif name in self.tensors and self._is_sequence(name):
                arguments[name] = [next(tensors) for _ in x]
            else:
                arguments[name] = x if self._is_attribute(name) else next(tensors)
        bound = self.signature.bind_partial()
        bound.arguments.update(arguments)
        return self.function(*bound.args, **bound.kwargs)

    def add(self, builder: Builder) -> Any:
        """Add to a graph."""
        with builder._within(self.op):
            return self.with_tensors(builder._value(self.op, name, x) for name, x in self.operands())

    def run(self, in_place: str | None, positional: Sequence[str]) -> tuple[Any, Repeated | None]:
        """Compile, unless that was done before, and run.

        Args:
            positional: the names of the arguments that were given without.

        Returns:
            the result, and what to do when a call of the same appearance comes.
        """
        names, given, views = [], [], []
        for name, x in self.operands():
            try:
                array = arrays.as_array(x)
                v = arrays.view(array)
            except GSError as e:
                raise type(e)(f"{self.op}: {name}: {e}") from e
            names.append(name)
            given.append(array)
            views.append(v)
        if not views:
            raise ArgumentError(
                f"{self.op}: an array or a value of a builder is needed among {', '.join(self.tensors)}"
            )
        device = views[0].device
        target = for_device(device[0])
        for name, length in self.lengths():
            array, v = arrays.empty("numpy" if device == arrays.CPU else "tvm", (length, 0), _NOTHING, device)
            names.append(f"{name}_size")
            given.append(array)
            views.append(v)
        attributes = [
            (n, _frozen(self.op, n, _replaced(x, lambda: None) if n in self.sizes else x))
            for n, x in self.arguments.items()
            if self._is_attribute(n)
        ]
        kinds = [
            (n, v.dtype.name, tuple(d if d < 2 else -1 for d in v.shape)) for n, v in zip(names, views, strict=True)
        ]

        def compile(pattern: Pattern) -> Module:
            return self.trace(names, views, pattern).build(target)

        key = (self.function, target, tuple(attributes), tuple(kinds))
        module = _CACHE.module(key, tuple(v.shape for v in views), compile)
        if in_place is None:
            count = len(given) - sum(1 for _ in self.lengths())
            places = [positional.index(n) if n in positional else n for n in names[:count]]
            plain = all(n in self.tensors for n in names[:count])  # no sequences
            return module(*given), Repeated(key, module, [*places, *given[count:]]) if plain else None
        receives = self.arguments[in_place]
        if arrays.is_value(receives):
            raise ArgumentError(f"{self.op}: {in_place} must be an array that can be written; got {receives!r}")
        module(*given, out=receives)
        return None, None

    def trace(self, names: Sequence[str], views: Sequence[View], pattern: Pattern) -> Builder:
        """The graph of a call with arrays: an input for each."""
        b = Builder(self.op)
        types = zip(names, pattern, views, strict=True)
        inputs = [b.input("out_" if n == "out" else n, shape, v.dtype) for n, shape, v in types]
        with b._within(self.op):
            count = len(list(self.operands()))
            result = self.with_tensors(iter(inputs[:count]), (x.shape[0] for x in inputs[count:]))
        b.output(*(result if isinstance(result, (list, tuple)) else [result]))
        return b


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
    if isinstance(x, np.generic):
        x = x.item()
    if isinstance(x, float) and x != x:
        return ("float", "nan")
    if isinstance(x, float):
        return ("float", x.hex())
    try:
        hash(x)
    except TypeError:
        raise ArgumentError(f"{op}: {name} is an attribute, not a tensor; got {type(x).__name__}") from None
    return (type(x).__name__, x)
