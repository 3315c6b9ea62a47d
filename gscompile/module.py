"""A compiled graph: calling it, and looking at what was made."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gscompile import _tvm as T
from gscompile import arrays
from gscompile.arrays import Device, View
from gscompile.bounds import Bounds
from gscompile.device import CUDA, HOST, Runner, Status
from gscompile.dims import Shape, evaluate, shape_str, symbols
from gscompile.errors import (
    ArgumentError,
    BoundsError,
    DeviceError,
    DTypeError,
    GSError,
    ShapeError,
    TargetError,
)
from gscompile.graph import Graph, Value
from gscompile.lower import Check, Lowered, Stats, lower
from gscompile.nests import status_length
from gscompile.targets import Resolved, resolve
from gscompile.threads import get_num_threads
from gscompile.types import DType

_SUFFIX = {"tir": "py", "llvm": "ll", "asm": "s", "cuda": "cu", "ptx": "ptx"}


def build(graph: Graph, target: Any = "llvm", *, rules: Sequence[Any] = (), deterministic: bool = False) -> Module:
    """Compile a graph for a target; see :meth:`gscompile.builder.Builder.build`."""
    resolved = resolve(target)
    lowered = lower(graph, resolved.facts, rules, deterministic)
    return Module(lowered, resolved)


class Module:
    """A graph compiled for one target.  Calls are safe from any number of threads at once.

    Attributes:
        stats: kernels, workspace and least bytes moved; see :class:`gscompile.lower.Stats`.
    """

    def __init__(self, lowered: Lowered, target: Resolved) -> None:
        self._lowered = lowered
        self._target = target
        self._graph = lowered.graph
        self._library = T.compile_module(T.module({self._graph.name: lowered.func}), target.tvm)
        self._function: Any = None
        self._inputs = self._graph.inputs
        self._constants = [v.op.array for v in self._graph.constants]  # type: ignore[attr-defined]
        self._device_constants: dict[Device, list[View]] = {}

    # -- looking

    @property
    def name(self) -> str:
        return self._graph.name

    @property
    def stats(self) -> Stats:
        return self._lowered.stats

    @property
    def inputs(self) -> tuple[Value, ...]:
        """The inputs, in the order of positional arguments."""
        return tuple(self._inputs)

    @property
    def outputs(self) -> tuple[Value, ...]:
        """The outputs, in the order of the results."""
        return self._graph.outputs

    def __repr__(self) -> str:
        head = ", ".join(f"{v.name}: {v.type}" for v in self._inputs)
        tail = ", ".join(str(v.type) for v in self.outputs)
        t = self._target.facts
        return f"<gscompile module {self.name}({head}) -> {tail} for {t.kind} ({t.arch}), {len(self.stats.kernels)} kernels>"

    def source(self, kind: str = "tir") -> str:
        """The code at one stage: ``tir``; ``llvm`` and ``asm`` (of the host part, on cuda); ``cuda`` and ``ptx``.

        Raises:
            ArgumentError: no such kind.  TargetError: the target has no such stage.  MissingExtraError: ``ptx`` needs nvcc or
            NVRTC, and neither is there.
        """
        if kind not in _SUFFIX:
            raise ArgumentError(f"source: unknown kind {kind!r}; known: {', '.join(_SUFFIX)}")
        if kind == "tir":
            return str(self._lowered.func.script())
        if kind in ("llvm", "asm"):
            return str(self._library.mod.inspect_source("ll" if kind == "llvm" else "asm"))
        if self._target.facts.kind != "cuda":
            raise TargetError(f"source: a module for {self._target.facts.kind} has no {kind} code")
        code: str = T.device_source(self._library)
        if kind == "cuda":
            return code
        from gscompile.nvcc import compile_cuda

        return compile_cuda(code, self._target.facts.arch, "ptx").decode()

    def save_source(self, directory: str | Path) -> list[Path]:
        """Write every stage's code that can be had here into a directory; returns the files."""
        from gscompile.errors import MissingExtraError

        folder = Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        kinds = ["tir", "llvm", "asm"] + (["cuda", "ptx"] if self._target.facts.kind == "cuda" else [])
        written = []
        for kind in kinds:
            try:
                text = self.source(kind)
            except MissingExtraError:
                continue  # no cuda compiler here
            path = folder / f"{self.name}.{_SUFFIX[kind]}"
            path.write_text(text)
            written.append(path)
        return written

    # -- calling

    def __call__(self, /, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """Run it.

        Args:
            args, kwargs: the inputs, in order or by name: NumPy, PyTorch, JAX, CuPy, TVM arrays or anything with DLPack, on
                the module's device.  Strided or misaligned ones are copied first; none is ever written.
            out: one array (several outputs: a sequence) that receives the result.  It may be the data of a scatter, which then
                works in place; any other overlap with an input is resolved with a copy.

        Returns:
            one array, or a tuple of them, of the kind of the first input that is an array; ``out`` itself if given.

        Raises:
            ShapeError, DTypeError, ArgumentError, DeviceError, BoundsError; a call that raises has changed nothing but the
            content of an ``out`` that is not an input.
        """
        function = self._entry()
        given = self._arguments(args, kwargs)
        views: list[View] = []
        kind = None
        device: Device | None = None
        for value, x in zip(self._inputs, given, strict=True):
            array, v = self._viewed(f"input {value.name}", x, value.dtype)
            self._check_input(value, v, device)
            if not v.contiguous or (self._align and v.ptr % self._align):
                v = arrays.contiguous(v, array, self._align)
            if array is x and kind is None:
                kind = v.kind
                device = v.device
            views.append(v)
        device = device or (self._target.device, 0)
        kind = kind or ("numpy" if device[0] == "cpu" else "tvm")
        sizes = self._bind(views)
        shapes = [tuple(evaluate(d, sizes) for d in o.shape) for o in self.outputs]
        results, out_views, copies, flags = self._storage(out, views, shapes, kind, device)
        self._run(function, views, out_views, sizes, flags, kind, device)
        for target, target_view, source, source_view in copies:
            arrays.copy_into(target, target_view, source, source_view)
        return results[0] if len(results) == 1 else tuple(results)

    def _viewed(self, what: str, x: Any, wanted: DType | None) -> tuple[Any, View]:
        """An array and its storage; a number or a list becomes an array of the wanted dtype."""
        try:
            array = x if wanted is None else arrays.as_array(x, wanted)
            return array, arrays.view(array)
        except GSError as e:
            raise type(e)(f"{self.name}: {what}: {e}") from e

    @property
    def _align(self) -> int:
        return 16 if self._target.facts.kind == "cuda" else 0

    def _arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """The inputs in order."""
        names = [v.name for v in self._inputs]
        if len(args) > len(names):
            raise ArgumentError(f"{self.name}: takes {len(names)} inputs ({', '.join(names)}); got {len(args)}")
        if not kwargs and len(args) == len(names):
            return list(args)
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

    def _check_input(self, value: Value, v: View, device: Device | None) -> None:
        where = f"{self.name}: input {value.name}"
        if v.dtype != value.dtype:
            raise DTypeError(f"{where} must have dtype {value.dtype}; got {v.dtype}")
        if len(v.shape) != value.rank:
            raise ShapeError(f"{where} must have shape {shape_str(value.shape)}; got {shape_str(v.shape)}")
        if v.device[0] != self._target.device or (device is not None and v.device != device):
            want = self._target.device if device is None else f"{device[0]}:{device[1]}"
            raise DeviceError(f"{where} must be on {want}; got {v.device[0]}:{v.device[1]}")

    def _bind(self, views: Sequence[View]) -> dict[str, int]:
        """The symbolic sizes, from the inputs' shapes; checks every shape and constraint."""
        sizes: dict[str, int] = {}
        origin: dict[str, str] = {}
        later = []
        for value, v in zip(self._inputs, views, strict=True):
            for axis, (d, got) in enumerate(zip(value.shape, v.shape, strict=True)):
                if isinstance(d, int):
                    if d != got:
                        raise ShapeError(
                            f"{self.name}: input {value.name} must have shape {shape_str(value.shape)}; got {shape_str(v.shape)}"
                        )
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
        for c in self._graph.constraints:
            a, b = evaluate(c.lhs, sizes), evaluate(c.rhs, sizes)
            if not (a == b if c.relation == "==" else a <= b):
                rule = "equal to" if c.relation == "==" else "at most"
                raise ShapeError(f"{c.message}: must be {rule} {c.rhs} = {b}; got {c.lhs} = {a}")
        return sizes

    def _storage(
        self,
        out: Any,
        inputs: Sequence[View],
        shapes: Sequence[tuple[int, ...]],
        kind: str,
        device: Device,
    ) -> tuple[list[Any], list[View], list[tuple[Any, View, Any, View]], int]:
        """Where the outputs go: the arrays to return, the storage to write, what to copy afterwards, and in-place flags."""
        if out is None:
            results: list[Any] = []
            fresh: list[View] = []
            for value, shape in zip(self.outputs, shapes, strict=True):
                array, v = arrays.empty(kind, shape, value.dtype, device)
                results.append(array)
                fresh.append(v)
            return _Finished(kind, results), fresh, [], 0
        given = list(out) if isinstance(out, (tuple, list)) else [out]
        if len(given) != len(self.outputs):
            count = f"{len(given)}" if isinstance(out, (tuple, list)) else "one array"
            raise ArgumentError(f"{self.name}: out must be a tuple of {len(self.outputs)} arrays; got {count}")
        views: list[View] = []
        seen: list[View] = []
        copies: list[tuple[Any, View, Any, View]] = []
        flags = 0
        for k, (value, shape, array) in enumerate(zip(self.outputs, shapes, given, strict=True)):
            where = f"{self.name}: out for {value.name}"
            if arrays.is_value(array):
                raise DTypeError(f"{where} must be an array that can be written; got {type(array).__name__}")
            _, v = self._viewed(f"out for {value.name}", array, None)
            if v.dtype != value.dtype:
                raise DTypeError(f"{where} must have dtype {value.dtype}; got {v.dtype}")
            if v.shape != shape:
                raise ShapeError(f"{where} must have shape {shape_str(shape)}; got {shape_str(v.shape)}")
            if v.readonly:
                raise ArgumentError(f"{where} is read-only")
            if v.strides is not None and any(s == 0 and n > 1 for s, n in zip(v.strides, v.shape, strict=True)):
                raise ArgumentError(f"{where} has elements that share storage (a broadcast array)")
            if any(arrays.overlaps(v, o) for o in seen):
                raise ArgumentError(f"{where} overlaps the array for another output")
            seen.append(v)
            if v.device != device:
                raise DeviceError(f"{where} must be on {device[0]}:{device[1]}; got {v.device[0]}:{v.device[1]}")
            base = self._lowered.in_place.get(k)
            same = None if base is None else next(i for i, x in enumerate(self._inputs) if x is base)
            others = [x for i, x in enumerate(inputs) if i != same]
            clash = (
                not v.contiguous
                or bool(self._align and v.ptr % self._align)
                or any(arrays.overlaps(v, o) for o in others)
            )
            if not clash and same is not None and arrays.overlaps(v, inputs[same]):
                if inputs[same].ptr == v.ptr:
                    flags |= 1 << k
                else:
                    clash = True
            if clash:
                array2, v2 = arrays.empty(v.kind, shape, value.dtype, device)
                copies.append((array, v, array2, v2))
                v = v2
            views.append(v)
        return given, views, copies, flags

    def _run(
        self,
        function: Any,
        inputs: Sequence[View],
        outputs: Sequence[View],
        sizes: Mapping[str, int],
        flags: int,
        kind: str,
        device: Device,
    ) -> None:
        lowered = self._lowered
        pointers = [ctypes.c_void_p(v.ptr) for v in [*inputs, *self._constants_on(device), *outputs]]
        numbers = [*(sizes[n] for n in lowered.symbols), get_num_threads(), flags]

        def launch(status: int, workspace: int) -> None:
            function(*pointers, ctypes.c_void_p(status), ctypes.c_void_p(workspace), *numbers)

        scratch = evaluate(lowered.stats.workspace_bytes, sizes)
        status = self._runner.run(launch, status_length(len(lowered.checks)), scratch, inputs, kind, device)
        if lowered.checks and status[0]:
            raise self._bounds_error(status, inputs, sizes)

    @property
    def _runner(self) -> Runner:
        return CUDA if self._target.device == "cuda" else HOST

    def _entry(self) -> Any:
        if self._function is None:
            if self._target.facts.kind == "cuda" and not T.cuda_exists():
                raise DeviceError(
                    f"{self.name}: this module is compiled for cuda ({self._target.facts.arch}), and this process has no usable "
                    "CUDA device: build it with target='llvm' to run it here"
                )
            self._function = self._library[self._graph.name]
        return self._function

    def _constants_on(self, device: Device) -> list[View]:
        """The constants' storage on a device."""
        found = self._device_constants.get(device)
        if found is None:  # two threads may both do this; either result will do
            try:
                found = [self._runner.constant(array, device) for array in self._constants]
            except DeviceError as e:
                raise DeviceError(f"{self.name}: {e}") from e
            self._device_constants[device] = found
        return found

    def _bounds_error(self, status: Status, inputs: Sequence[View], sizes: Mapping[str, int]) -> BoundsError:
        """What the kernel's record means."""
        slot = next(k for k in range(len(self._lowered.checks)) if status[1 + 2 * k] != T.INT64_MAX)
        check = self._lowered.checks[slot]
        return bounds_error(check, int(status[1 + 2 * slot]), int(status[2 + 2 * slot]), sizes)


class _Finished(list[Any]):
    """Results in the caller's array kind."""

    def __init__(self, kind: str, items: Sequence[Any]) -> None:
        super().__init__(items)
        self._kind = kind

    def __getitem__(self, k: Any) -> Any:
        return arrays.finish(self._kind, super().__getitem__(k))

    def __iter__(self) -> Any:
        return (arrays.finish(self._kind, x) for x in super().__iter__())


def bounds_error(check: Check, position: int, value: int, sizes: Mapping[str, int]) -> BoundsError:
    """The error for the index at a row-major position of the index tensor."""
    shape: Shape = tuple(evaluate(d, sizes) for d in check.index_shape)
    data: Shape = tuple(evaluate(d, sizes) for d in check.data_shape)
    at = tuple(int(c) for c in np.unravel_index(position, shape)) if shape else ()  # type: ignore[arg-type]
    a = check.addressing
    component = 0 if a.map.vector_axis is None else at[a.map.vector_axis]
    axis = a.map.indexed_axes[component]
    size = evaluate(data[axis], sizes)
    count = size - evaluate(a.map.slice_size(axis), sizes) + 1
    if check.index_dtype.name == "uint64" and value < 0:
        value += 1 << 64
    where = f"{check.op}: {check.tensor}{list(at) if at else ''} = {value}"
    if a.bounds is not Bounds.RAISE or count <= 0:
        message = f"{where} has nowhere to point to: axis {axis} of data {shape_str(data)} has no valid position"
        return BoundsError(message, op=check.op, tensor=check.tensor, position=at, value=value)
    low = -size if a.negative and check.index_dtype.kind == "i" else 0
    message = f"{where} is out of range for axis {axis} of data {shape_str(data)}: valid are {low} to {count - 1}"
    return BoundsError(message, op=check.op, tensor=check.tensor, position=at, value=value, valid=(low, count - 1))
