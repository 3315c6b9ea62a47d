"""A compiled graph: calling it, and looking at what was made."""

from __future__ import annotations

import ctypes
import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gscompile.compiler.bounds_errors import bounds_error
from gscompile.compiler.lower import Lowered, Stats, lower
from gscompile.compiler.targets import Resolved, resolve
from gscompile.errors import ArgumentError, BoundsError, DeviceError, TargetError
from gscompile.ir import tir as T
from gscompile.ir.graph import Graph, Value
from gscompile.ir.nests import status_length
from gscompile.runtime.arrays import Device, View, empty
from gscompile.runtime.call import Call, Extents, Signature, Start, prepared, quick_call
from gscompile.runtime.devices import CUDA, HOST, Runner, Status
from gscompile.runtime.direct import Patterns
from gscompile.runtime.threads import get_num_threads, kernels_run

BRIEF = 16384  # instructions during which other threads may as well wait: some 5 us

_SUFFIX = {"tir": "py", "llvm": "ll", "asm": "s", "cuda": "cu", "ptx": "ptx"}


_CALL = """Run it.

Args:
    args, kwargs: the inputs, in order or by name: NumPy, PyTorch, JAX, CuPy, TVM arrays or anything with DLPack, on the
        module's device.  Strided or misaligned ones are copied first; none is ever written.
    out: one array (several outputs: a sequence) that receives the result.  It may be the data of a scatter, which then works in
        place; any other overlap with an input is resolved with a copy.

Returns:
    one array, or a tuple of them, of the kind of the first input that is an array; ``out`` itself if given.

Raises:
    ShapeError, DTypeError, ArgumentError, DeviceError, BoundsError; a call that raises has changed nothing but the content of an
    ``out`` that is not an input.
"""
_SIGNATURE = inspect.Signature(
    [
        inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
        inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None),
        inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
    ]
)


def build(graph: Graph, target: Any = "llvm", *, rules: Sequence[Any] = (), deterministic: bool = False) -> Module:
    """Compile a graph for a target; see :meth:`gscompile.frontend.builder.Builder.build`."""
    resolved = resolve(target)
    lowered = lower(graph, resolved.facts, rules, deterministic)
    return Module(lowered, resolved)


class Module:
    """A graph compiled for one target.  Calls are safe from any number of threads at once.

    Attributes:
        stats: kernels, workspace and least bytes moved; see :class:`gscompile.compiler.lower.Stats`.
    """

    # What a call calls stands in a slot: a method in its place would cost a frame of Python's, half of a quick call.
    __slots__ = {"__call__": _CALL, "__dict__": "", "__weakref__": ""}
    __call__: Callable[..., Any]
    __signature__: inspect.Signature

    def __init__(self, lowered: Lowered, target: Resolved) -> None:
        self._lowered = lowered
        self._target = target
        self._graph = lowered.graph
        self._library = T.compile_module(T.module({self._graph.name: lowered.func}), target.tvm)
        self._function: Any = None
        self._status_length = status_length(len(lowered.checks))
        self._constants = [v.op.array for v in self._graph.constants]  # type: ignore[attr-defined]
        self._local = _Record(self._status_length)
        self._device_constants: dict[Device, list[View]] = {}
        self.__call__ = self._call
        self.__signature__ = _SIGNATURE

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
        return tuple(self._graph.inputs)

    @property
    def outputs(self) -> tuple[Value, ...]:
        """The outputs, in the order of the results."""
        return self._graph.outputs

    def __repr__(self) -> str:
        head = ", ".join(f"{v.name}: {v.type}" for v in self.inputs)
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
        from gscompile.compiler.nvcc import compile_cuda

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

    def _call(self, /, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """A call that looks at its arrays; with what it finds good, others need not."""
        if not kwargs and self._quick is not None:
            result = self._fresh(args) if out is None else out
            if result is not None and self._quick(args, result):
                return result
        function = self._entry()
        call = prepared(self._signature, args, kwargs, out)
        self._run(function, call, self._pointers(call))
        return call.results()

    def bind(self, /, *args: Any, out: Any = None, **kwargs: Any) -> Bound:
        """A call with everything checked and converted once, to be run many times on the same arrays.

        Args:
            args, kwargs, out: as for a call; every array must be usable as it is, in C order and aligned.  ``out`` is made if
                it is not given, except for JAX, whose arrays cannot be written again.

        Returns:
            a callable without arguments.  It reads what the arrays hold when it is called, writes to the same ``out`` each
            time, and returns it; it keeps the arrays alive.  Calls from several threads at once write the same ``out``.

        Raises:
            what a call raises about its arguments; ArgumentError: an array would have to be copied.
        """
        function = self._entry()
        call = prepared(self._signature, args, kwargs, out)
        if call.kind == "jax" and out is None:
            raise ArgumentError(f"{self.name}: bind needs out: JAX's arrays cannot be written again")
        if call.copied or call.copies:
            what = ", ".join(call.copied) or "out"
            raise ArgumentError(f"{self.name}: bind needs arrays that can be used as they are; {what} would be copied")
        return Bound(self, function, call)

    @cached_property
    def _signature(self) -> Signature:
        lowered, inputs = self._lowered, self.inputs
        return Signature(
            self.name,
            self._graph,
            self._target.device,
            16 if self._target.facts.kind == "cuda" else 0,
            lowered.symbols,
            lowered.stats.workspace_bytes,
            lowered.work,
            {k: next(n for n, v in enumerate(inputs) if v is base) for k, base in lowered.in_place.items()},
        )

    def _pointers(self, call: Call) -> list[ctypes.c_void_p]:
        """The function's leading arguments."""
        constants = self._constants_on(call.device) if self._constants else ()
        pointer = ctypes.c_void_p
        return [
            *[pointer(v.ptr) for v in call.inputs],
            *[pointer(v.ptr) for v in constants],
            *[pointer(v.ptr) for v in call.outputs],
        ]

    @cached_property
    def _plain(self) -> bool:
        """Whether a call on the CPU needs neither scratch memory nor constants."""
        return self._target.device == "cpu" and self.stats.workspace_bytes == 0 and not self._constants

    @cached_property
    def _patterns(self) -> Patterns | None:
        """What is known of NumPy arrays that can be used as they are; None where a call needs more than arrays."""
        if not self._plain or len(self.outputs) > 1:
            return None
        return Patterns(self._entry(), self._status_length, self._call)

    @cached_property
    def _quick(self) -> Callable[[Sequence[Any], Any], bool] | None:
        """The call for arrays that can be used as they are; None where a call needs more than arrays."""
        return None if self._patterns is None else quick_call(self._signature, self._start, self._good)

    def _good(self, inputs: Sequence[Any], out: Any, extents: Extents) -> None:
        """A call was found good."""
        patterns = self._patterns
        if patterns is not None:
            patterns.add(inputs, out, extents.numbers, self._signature.in_place.get(0), extents.work < BRIEF)
            self.__call__ = patterns.called

    def _fresh(self, args: Sequence[Any]) -> Any:
        """Storage for the result of a call on NumPy arrays; None for others, and for shapes that were not seen before."""
        for x in args:
            if type(x) is not np.ndarray:
                return None
        extents = self._signature.known.get(tuple([x.shape for x in args]))
        return None if extents is None else empty("numpy", extents.shapes[0], self.outputs[0].dtype)[0]

    @cached_property
    def _start(self) -> Start:
        """Runs a function that is :attr:`_plain`."""
        local, checks = self._local, self._status_length > 1
        self._entry()

        def start(pointers: Sequence[ctypes.c_void_p], extents: Extents, flags: int) -> None:
            self._function(*pointers, local.address, _NOTHING, *extents.numbers, get_num_threads(), flags)
            if checks and local.status[0]:
                raise self._bounds_error(local.status, extents.sizes)

        return start

    def _run(self, function: Any, call: Call, pointers: Sequence[ctypes.c_void_p]) -> None:
        extents = call.extents
        if self._plain:
            return self._start(pointers, extents, call.flags)

        def launch(status: int, workspace: int) -> None:
            function(
                *pointers,
                ctypes.c_void_p(status),
                ctypes.c_void_p(workspace),
                *extents.numbers,
                get_num_threads(),
                call.flags,
            )

        status = self._runner.run(launch, self._status_length, extents.workspace, call.inputs, call.kind, call.device)
        if status[0] and self._status_length > 1:
            raise self._bounds_error(status, extents.sizes)
        return None

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
            kernels_run()
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

    def _bounds_error(self, status: Status, sizes: Mapping[str, int]) -> BoundsError:
        """What the kernel's record means."""
        slot = next(k for k in range(len(self._lowered.checks)) if status[1 + 2 * k] != T.INT64_MAX)
        return bounds_error(self._lowered.checks[slot], int(status[1 + 2 * slot]), int(status[2 + 2 * slot]), sizes)


_NOTHING = ctypes.c_void_p(0)


class _Record(threading.local):
    """A thread's own status record, on the CPU."""

    def __init__(self, length: int) -> None:
        self.status: Status = (ctypes.c_int64 * length)()
        self.address = ctypes.c_void_p(ctypes.addressof(self.status))


class Bound:
    """A call on fixed arrays; see :meth:`Module.bind`."""

    __slots__ = {
        "__call__": "Run it; returns what :meth:`Module.bind` was given, or made, for ``out``.",
        "__signature__": "",
        "_call": "",
        "_function": "",
        "_module": "",
        "_pointers": "",
        "_result": "",
    }
    __call__: Callable[..., Any]
    __signature__: inspect.Signature

    def __init__(self, module: Module, function: Any, call: Call) -> None:
        self._module = module
        self._function = function
        self._call = call
        self._pointers = module._pointers(call)
        self._result = call.results()
        self.__call__, self.__signature__ = self._run, inspect.Signature()
        if module._patterns is not None:
            arrays = [v.owner for v in call.inputs]
            module._good(arrays, self._result, call.extents)
            self.__call__ = module._patterns.bound(arrays, self._result, self._run)

    def _run(self) -> Any:
        self._module._run(self._function, self._call, self._pointers)
        return self._result

    def __repr__(self) -> str:
        return f"<bound call of {self._module!r}>"
