"""From a caller's arrays to what a compiled function takes: checks, sizes, storage for the results.

What follows from the inputs' shapes alone is kept, so that a second call with the same shapes only looks at the arrays.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from gscompile.errors import ArgumentError, DeviceError, DTypeError, GSError, ShapeError
from gscompile.ir.dims import Dim, evaluate, shape_str, symbols
from gscompile.ir.graph import Graph, Value
from gscompile.runtime import arrays
from gscompile.runtime.arrays import CPU, VIEWERS, Array, Device, View

KEPT = 256  # combinations of shapes whose consequences are kept


@dataclass(frozen=True, slots=True)
class Extents:
    """What follows from the shapes of the inputs.

    Attributes:
        sizes: the symbolic sizes.
        numbers: those that the compiled function takes, in its order.
        shapes: the outputs' shapes.
        workspace: bytes of scratch memory.
        work: rough scalar instructions.
        input_bytes, output_bytes: how much memory each takes.
    """

    sizes: Mapping[str, int]
    numbers: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    workspace: int
    work: int
    input_bytes: tuple[int, ...]
    output_bytes: tuple[int, ...]


@dataclass(slots=True)
class Signature:
    """What a module takes and gives.

    Attributes:
        name: the module's, for errors.
        device: ``cpu`` or ``cuda``: where arrays must be.
        align: what addresses must be multiples of; 0 for nothing but their elements' size.
        symbols: the sizes that the compiled function takes.
        in_place: output number -> the number of the input whose memory it may take over.
        known: the inputs' shapes -> what follows from them.
    """

    name: str
    graph: Graph
    device: str
    align: int
    symbols: Sequence[str]
    workspace: Dim
    work: Dim
    in_place: Mapping[int, int]
    inputs: tuple[Value, ...] = field(init=False)
    outputs: tuple[Value, ...] = field(init=False)
    known: dict[tuple[tuple[int, ...], ...], Extents] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.inputs = tuple(self.graph.inputs)
        self.outputs = self.graph.outputs

    def arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        """The inputs in order."""
        names = [v.name for v in self.inputs]
        if len(args) > len(names):
            raise ArgumentError(f"{self.name}: takes {len(names)} inputs ({', '.join(names)}); got {len(args)}")
        found = dict(zip(names, args, strict=False))
        for k, x in kwargs.items():
            if k not in names:
                raise ArgumentError(f"{self.name}: no input is called {k!r}; inputs: {', '.join(names)}")
            if k in found:
                raise ArgumentError(f"{self.name}: input {k!r} is given twice")
            found[k] = x
        if missing := [n for n in names if n not in found]:
            raise ArgumentError(f"{self.name}: missing input{'s' * (len(missing) > 1)} {', '.join(missing)}")
        return [found[n] for n in names]

    def extents(self, views: Sequence[View]) -> Extents:
        """What follows from the inputs' shapes.

        Raises:
            ShapeError: a shape, or a rule about sizes, does not hold.
        """
        shapes = tuple([v.shape for v in views])
        found = self.known.get(shapes)
        if found is None:
            found = self._extents(views)
            if len(self.known) >= KEPT:
                self.known.clear()
            self.known[shapes] = found
        return found

    def _extents(self, views: Sequence[View]) -> Extents:
        sizes = self._sizes(views)
        shapes = tuple(tuple(evaluate(d, sizes) for d in o.shape) for o in self.outputs)
        return Extents(
            sizes,
            tuple(sizes[n] for n in self.symbols),
            shapes,
            evaluate(self.workspace, sizes),
            evaluate(self.work, sizes),
            tuple(math.prod(v.shape) * v.dtype.itemsize for v in views),
            tuple(math.prod(s) * o.dtype.itemsize for s, o in zip(shapes, self.outputs, strict=True)),
        )

    def _sizes(self, views: Sequence[View]) -> dict[str, int]:
        """The symbolic sizes; checks every shape and constraint."""
        sizes: dict[str, int] = {}
        origin: dict[str, str] = {}
        later = []
        for value, v in zip(self.inputs, views, strict=True):
            if len(v.shape) != value.rank:
                raise self._wrong_shape(value, v)
            for axis, (d, got) in enumerate(zip(value.shape, v.shape, strict=True)):
                if isinstance(d, int):
                    if d != got:
                        raise self._wrong_shape(value, v)
                    continue
                names = symbols(d)
                name = next(iter(names))
                if len(names) > 1 or str(d) != name:
                    later.append((value, axis, d, got))
                elif sizes.setdefault(name, got) == got:
                    origin.setdefault(name, f"axis {axis} of {value.name}")
                else:
                    raise ShapeError(
                        f"{self.name}: size {name} is {sizes[name]} by {origin[name]}, but {got} by axis {axis} of {value.name}"
                    )
        for value, axis, d, got in later:
            if evaluate(d, sizes) != got:
                raise ShapeError(
                    f"{self.name}: axis {axis} of input {value.name} must be {d} = {evaluate(d, sizes)}; got {got}"
                )
        for c in self.graph.constraints:
            a, b = evaluate(c.lhs, sizes), evaluate(c.rhs, sizes)
            if not (a == b if c.relation == "==" else a <= b):
                rule = "equal to" if c.relation == "==" else "at most"
                raise ShapeError(f"{c.message}: must be {rule} {c.rhs} = {b}; got {c.lhs} = {a}")
        return sizes

    def _wrong_shape(self, value: Value, v: View) -> ShapeError:
        want, got = shape_str(value.shape), shape_str(v.shape)
        return ShapeError(f"{self.name}: input {value.name} must have shape {want}; got {got}")

    def view(self, what: str, x: Any) -> View:
        """An array's storage."""
        try:
            return arrays.view(x)
        except GSError as e:
            raise type(e)(f"{self.name}: {what}: {e}") from e

    def converted(self, value: Value, x: Any) -> tuple[Array, View]:
        """An input that is no array of a known type: a number or a list becomes an array of the wanted dtype."""
        try:
            array = arrays.as_array(x, value.dtype)
        except GSError as e:
            raise type(e)(f"{self.name}: input {value.name}: {e}") from e
        return array, self.view(f"input {value.name}", array)


Start: TypeAlias = Callable[[Sequence[ctypes.c_void_p], Extents, int], None]
"""(addresses of inputs and output, what follows from the shapes, the flags of :class:`Call`): runs the compiled function."""


Good: TypeAlias = Callable[[Sequence[Any], Any, Extents], None]
"""(inputs, output, what follows from the shapes): told of calls that were found good."""


def quick_call(s: Signature, start: Start, good: Good) -> Callable[[Sequence[Any], Any], bool]:
    """The call that needs nothing done: arrays of known types that can be used as they are, shapes that were seen before.

    For modules with one output on the CPU.  It checks what :func:`prepared` checks; where it returns False that has to look more
    closely, be it to find an error.
    """
    in_place, dtypes = s.in_place.get(0), [v.dtype for v in (*s.inputs, *s.outputs)]

    def call(args: Sequence[Any], out: Any) -> bool:
        if len(args) != len(s.inputs):
            return False
        try:
            views, o = [VIEWERS[type(x)](x) for x in args], VIEWERS[type(out)](out)
        except (KeyError, GSError):
            return False
        extents = s.known.get(tuple([v.shape for v in views]))
        if extents is None or o.shape != extents.shapes[0] or o.readonly:
            return False
        views.append(o)
        for k, v in enumerate(views):
            if v.dtype is not dtypes[k] or not v.contiguous or v.device != CPU:
                return False
        begin, flags = o.ptr, 0
        end = begin + extents.output_bytes[0]
        for k, nbytes in enumerate(extents.input_bytes):
            address = views[k].ptr
            if address < end and begin < address + nbytes:
                if address != begin or in_place != k:
                    return False
                flags = 1
        start([ctypes.c_void_p(v.ptr) for v in views], extents, flags)
        good(args, out, extents)
        return True

    return call


@dataclass(slots=True)
class Call:
    """The arguments of one call.

    Attributes:
        arrays: the results as the caller gets them, once :meth:`results` has finished them.
        kind: the library of the first input that is an array.
        flags: bit k: output k's storage already holds the data it starts from.
        copies: (the caller's array, its view, the array that was computed, its view).
        copied: names of inputs that could not be used as they are.
    """

    extents: Extents
    inputs: list[View]
    outputs: list[View]
    arrays: list[Array]
    kind: str
    device: Device
    flags: int
    fresh: bool
    copies: Sequence[tuple[Array, View, Array, View]]
    copied: Sequence[str]

    def results(self) -> Any:
        """What the call returns, once the kernels have run."""
        for copy in self.copies:
            arrays.copy_into(*copy)
        found = self.arrays
        if self.fresh and self.kind == "jax":
            found = [arrays.finish(self.kind, x) for x in found]
        return found[0] if len(found) == 1 else tuple(found)


def prepared(s: Signature, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> Call:
    """Check a call's arguments and find storage for its results.

    Raises:
        ShapeError, DTypeError, ArgumentError, DeviceError.
    """
    given = args if len(args) == len(s.inputs) and not kwargs else s.arguments(args, kwargs)
    views: list[View] = []
    copied: list[str] = []
    kind = None
    device = CPU if s.device == "cpu" else None
    for value, x in zip(s.inputs, given, strict=True):
        array = x
        v = s.view(f"input {value.name}", x) if type(x) in VIEWERS else None
        if v is None:
            array, v = s.converted(value, x)
        if v.dtype is not value.dtype:
            raise DTypeError(f"{s.name}: input {value.name} must have dtype {value.dtype}; got {v.dtype}")
        if v.device[0] != s.device or (device is not None and v.device != device):
            raise _wrong_device(s, f"input {value.name}", v, device)
        if not v.contiguous or (s.align and v.ptr % s.align):
            v = arrays.contiguous(v, array, s.align)
            copied.append(value.name)
        if kind is None and array is x:
            kind, device = v.kind, v.device
        views.append(v)
    device = device or (s.device, 0)
    kind = kind or ("numpy" if s.device == "cpu" else "tvm")
    extents = s.extents(views)
    if out is not None:
        return _with_out(s, out, views, extents, kind, device, copied)
    results, fresh = [], []
    for value, shape in zip(s.outputs, extents.shapes, strict=True):
        array, v = arrays.empty(kind, shape, value.dtype, device)
        results.append(array)
        fresh.append(v)
    return Call(extents, views, fresh, results, kind, device, 0, True, (), copied)


def _wrong_device(s: Signature, what: str, v: View, device: Device | None) -> DeviceError:
    want = s.device if device is None else f"{device[0]}:{device[1]}"
    return DeviceError(f"{s.name}: {what} must be on {want}; got {v.device[0]}:{v.device[1]}")


def _with_out(
    s: Signature, out: Any, inputs: list[View], extents: Extents, kind: str, device: Device, copied: list[str]
) -> Call:
    """A call whose results go to the caller's arrays, by way of a copy where they cannot be written directly."""
    given = list(out) if isinstance(out, (tuple, list)) else [out]
    if len(given) != len(s.outputs):
        count = f"{len(given)}" if isinstance(out, (tuple, list)) else "one array"
        raise ArgumentError(f"{s.name}: out must be a tuple of {len(s.outputs)} arrays; got {count}")
    views: list[View] = []
    seen: list[View] = []
    copies: list[tuple[Array, View, Array, View]] = []
    flags = 0
    for k, (value, shape, array) in enumerate(zip(s.outputs, extents.shapes, given, strict=True)):
        v = _receiver(s, value, shape, array, device)
        if any(arrays.overlaps(v, o) for o in seen):
            raise ArgumentError(f"{s.name}: out for {value.name} overlaps the array for another output")
        seen.append(v)
        begin, end = v.ptr, v.ptr + extents.output_bytes[k]
        clash = not v.contiguous or (s.align > 0 and begin % s.align != 0)
        if not clash:
            for n, (x, nbytes) in enumerate(zip(inputs, extents.input_bytes, strict=True)):
                if x.ptr < end and begin < x.ptr + nbytes and nbytes and begin < end:
                    if x.ptr == begin and s.in_place.get(k) == n:
                        flags |= 1 << k
                    else:
                        clash = True
        if clash:
            flags &= ~(1 << k)
            array2, v2 = arrays.empty(v.kind, shape, value.dtype, device)
            copies.append((array, v, array2, v2))
            v = v2
        views.append(v)
    return Call(extents, inputs, views, given, kind, device, flags, False, copies, copied)


def _receiver(s: Signature, value: Value, shape: tuple[int, ...], array: Any, device: Device) -> View:
    """The storage of an array that is to receive an output."""
    where = f"{s.name}: out for {value.name}"
    if type(array) not in VIEWERS and arrays.is_value(array):
        raise DTypeError(f"{where} must be an array that can be written; got {type(array).__name__}")
    v = s.view(f"out for {value.name}", array)
    if v.dtype is not value.dtype:
        raise DTypeError(f"{where} must have dtype {value.dtype}; got {v.dtype}")
    if v.shape != shape:
        raise ShapeError(f"{where} must have shape {shape_str(shape)}; got {shape_str(v.shape)}")
    if v.readonly:
        raise ArgumentError(f"{where} is read-only")
    if v.strides is not None and any(n > 1 and not step for step, n in zip(v.strides, v.shape, strict=True)):
        raise ArgumentError(f"{where} has elements that share storage (a broadcast array)")
    if v.device != device:
        raise DeviceError(f"{where} must be on {device[0]}:{device[1]}; got {v.device[0]}:{v.device[1]}")
    return v
