"""From a caller's arrays to what a compiled function takes: checks, sizes, storage for the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from gscompile.errors import ArgumentError, DeviceError, DTypeError, GSError, ShapeError
from gscompile.ir.dims import shape_str
from gscompile.runtime import arrays
from gscompile.runtime.aliasing import Aliasing, aliasing, overlap, span
from gscompile.runtime.arrays import CPU, LIBRARIES, VIEWERS, Array, Device, View
from gscompile.runtime.interface import Argument, Extents, Interface

_Found = TypeVar("_Found")


@dataclass(slots=True)
class PreparedCall:
    """The arguments of one call, checked.

    Attributes:
        arrays: the inputs, of which ``inputs`` are views.
        results: the arrays that the caller gets, once :meth:`finish` has filled them.
        kind: the library of the first input that is an array.
        in_place: bit k: output k's storage already holds the data it starts from.
        fresh: the results were made for this call.
        copies: (the caller's array, its view, the array that is computed, its view).
        copied: names of inputs that could not be used as they are.
    """

    extents: Extents
    arrays: list[Array]
    inputs: list[View]
    outputs: list[View]
    results: list[Array]
    kind: str
    device: Device
    in_place: int
    fresh: bool
    copies: Sequence[tuple[Array, View, Array, View]]
    copied: Sequence[str]

    @property
    def direct(self) -> bool:
        """Whether every array is used as it is."""
        return not self.copied and not self.copies

    @property
    def stands(self) -> bool:
        """Whether every array still is what it was found to be; all are used as they are."""
        given, views = (*self.arrays, *self.results), (*self.inputs, *self.outputs)
        return all(arrays.stands(x, v) and not LIBRARIES[v.kind].records(x) for x, v in zip(given, views, strict=True))

    def written(self) -> None:
        """Say to the results' libraries that they are written."""
        for x, v in zip(self.results, self.outputs, strict=True):
            LIBRARIES[v.kind].written(x)

    def finish(self) -> Any:
        """What the call returns, once the kernels have run."""
        for copy in self.copies:
            arrays.copy_into(*copy)
        found = self.results
        if self.fresh and self.kind == "jax":
            found = [arrays.finish(self.kind, x) for x in found]
        return found[0] if len(found) == 1 else tuple(found)


def prepare(f: Interface, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> PreparedCall:
    """Check a call's arguments and find storage for its results.

    Raises:
        ShapeError, DTypeError, ArgumentError, DeviceError, OutOfMemoryError.
    """
    given = args if len(args) == len(f.inputs) and not kwargs else f.arguments(args, kwargs)
    found: list[Array] = []
    views: list[View] = []
    copied: list[str] = []
    kind = None
    device = CPU if f.device == "cpu" else None
    for value, x in zip(f.inputs, given, strict=True):
        array = x
        v = _named(f, f"input {value.name}", arrays.operand, x) if type(x) in VIEWERS else None
        if v is None:
            array, v = _converted(f, value, x)
        if v.dtype is not value.dtype and v.dtype != value.dtype:
            raise DTypeError(f"{f.name}: input {value.name} must have dtype {value.dtype}; got {v.dtype}")
        if v.device[0] != f.device or (device is not None and v.device != device):
            raise _wrong_device(f, f"input {value.name}", v, device)
        if not v.contiguous or (f.alignment and v.ptr % f.alignment):
            v = _named(f, f"input {value.name}", arrays.contiguous, v, array, f.alignment)
            copied.append(value.name)
        if kind is None and array is x:
            kind, device = v.kind, v.device
        found.append(array)
        views.append(v)
    device = device or (f.device, 0)
    kind = kind or ("numpy" if f.device == "cpu" else "tvm")
    extents = f.extents(views)
    if out is not None:
        return _with_out(f, out, found, views, extents, kind, device, copied)
    results, fresh = [], []
    for value, shape in zip(f.outputs, extents.shapes, strict=True):
        array, v = _named(f, f"output {value.name}", arrays.empty, kind, shape, value.dtype, device)
        results.append(array)
        fresh.append(v)
    return PreparedCall(extents, found, views, fresh, results, kind, device, 0, True, (), copied)


def _named(f: Interface, what: str, do: Callable[..., _Found], *args: Any) -> _Found:
    """What a function gives; its errors say what they are about."""
    try:
        return do(*args)
    except GSError as e:
        raise type(e)(f"{f.name}: {what}: {e}") from e


def _converted(f: Interface, value: Argument, x: Any) -> tuple[Array, View]:
    """An input that is no array of a known type: a number or a list becomes an array of the wanted dtype."""
    what = f"input {value.name}"
    array = _named(f, what, arrays.as_array, x, value.dtype)
    return array, _named(f, what, arrays.operand, array)


def _wrong_device(f: Interface, what: str, v: View, device: Device | None) -> DeviceError:
    want = f.device if device is None else f"{device[0]}:{device[1]}"
    return DeviceError(f"{f.name}: {what} must be on {want}; got {v.device[0]}:{v.device[1]}")


def _with_out(
    f: Interface,
    out: Any,
    operands: list[Array],
    inputs: list[View],
    extents: Extents,
    kind: str,
    device: Device,
    copied: list[str],
) -> PreparedCall:
    """A call whose results go to the caller's arrays, by way of a copy where they cannot be written directly."""
    given = list(out) if isinstance(out, (tuple, list)) else [out]
    if len(given) != len(f.outputs):
        count = f"{len(given)}" if isinstance(out, (tuple, list)) else "one array"
        raise ArgumentError(f"{f.name}: out must be a tuple of {len(f.outputs)} arrays; got {count}")
    views: list[View] = []
    received: list[View] = []
    copies: list[tuple[Array, View, Array, View]] = []
    in_place = 0
    spans = [(v.ptr, v.ptr + nbytes) for v, nbytes in zip(inputs, extents.input_bytes, strict=True)]
    for k, (value, shape, array) in enumerate(zip(f.outputs, extents.shapes, given, strict=True)):
        v = _receiver(f, value, shape, array, device)
        if any(overlap(span(v), span(o)) for o in received):
            raise ArgumentError(f"{f.name}: out for {value.name} overlaps the array for another output")
        received.append(v)
        usable = v.contiguous and not (f.alignment and v.ptr % f.alignment)
        found = aliasing(span(v), spans, f.in_place.get(k)) if usable else Aliasing.CONFLICT
        if found is Aliasing.CONFLICT:
            array2, v2 = _named(f, f"output {value.name}", arrays.empty, v.kind, shape, value.dtype, device)
            copies.append((array, v, array2, v2))
            v = v2
        elif found is Aliasing.IN_PLACE:
            in_place |= 1 << k
        views.append(v)
    return PreparedCall(extents, operands, inputs, views, given, kind, device, in_place, False, copies, copied)


def _receiver(f: Interface, value: Argument, shape: tuple[int, ...], array: Any, device: Device) -> View:
    """The storage of an array that is to receive an output."""
    where = f"{f.name}: out for {value.name}"
    if type(array) not in VIEWERS and arrays.is_value(array):
        raise DTypeError(f"{where} must be an array that can be written; got {type(array).__name__}")
    v = _named(f, f"out for {value.name}", arrays.operand, array)
    if v.dtype is not value.dtype and v.dtype != value.dtype:
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
