"""A compiled function that takes arrays.  It needs nothing of the compiler, nor to have been compiled in this process."""

from __future__ import annotations

import ctypes
import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from keyword import iskeyword
from typing import Any, TypeAlias, cast

from gscompile.errors import ArgumentError, DeviceError, GSError, OutOfMemoryError, index_changed
from gscompile.ir import status
from gscompile.ir.types import TensorType
from gscompile.runtime import arrays, pools
from gscompile.runtime.arrays import Array, Device, View
from gscompile.runtime.background import Inside, interruptible
from gscompile.runtime.call import PreparedCall, prepare
from gscompile.runtime.checks import DeviceCalls, FirstFound, Found, is_deferred
from gscompile.runtime.devices import HOST, Keeper, Room, Runner, Status
from gscompile.runtime.fastcall import FastCalls
from gscompile.runtime.interface import Argument, Extents, Interface
from gscompile.runtime.threads import get_num_threads

BRIEF = 16384  # instructions during which other threads may as well wait: some 5 us
LONG = 1 << 28  # instructions that Ctrl-C need not wait for: from some 0.05 s, or 1 s where each waits for memory

Explain: TypeAlias = Callable[[int, int, int, Mapping[str, int]], Exception]
"""(number of the check, row-major position, value there, symbolic sizes) -> the error."""

_CALL = """Run it.

Args:
    args, kwargs: the inputs, in order or by name: NumPy, PyTorch, JAX, CuPy, TVM arrays or anything with DLPack, on the
        function's device.  Strided or misaligned ones are copied first; none is ever written.
    out: one array (several outputs: a sequence) that receives the result.  It may be the data of a scatter, which then works in
        place; any other overlap with an input is resolved with a copy.

Returns:
    one array, or a tuple of them, of the kind of the first input that is an array; ``out`` itself if given.

Raises:
    ShapeError, DTypeError, ArgumentError, DeviceError, OutOfMemoryError, BoundsError; a call that raises has changed nothing but
    the content of an ``out`` that is not an input.  With ``check="deferred"`` a BoundsError is raised by :meth:`check` instead.

    KeyboardInterrupt during a long call on the CPU arrives at once, while the kernels run on to their end: until then they keep
    the arrays alive and go on writing to ``out``, input or not.
"""


def _signature(inputs: Sequence[Argument]) -> inspect.Signature:
    """The inputs, by position or by name, and ``out``; where an input's name is a keyword of Python, without names."""
    kind, names = inspect.Parameter, [v.name for v in inputs]
    given = (
        [
            kind("args", kind.VAR_POSITIONAL),
            kind("out", kind.KEYWORD_ONLY, default=None),
            kind("kwargs", kind.VAR_KEYWORD),
        ]
        if any(map(iskeyword, names))
        else [*(kind(n, kind.POSITIONAL_OR_KEYWORD) for n in names), kind("out", kind.KEYWORD_ONLY, default=None)]
    )
    return inspect.Signature(given)


class CompiledFunction:
    """A callable.  Calls are safe from any number of threads at once."""

    # What a call calls stands in a slot: a method in its place would cost a Python frame, half of a small call.
    __slots__ = {"__call__": _CALL, "__dict__": "", "__weakref__": ""}
    __call__: Callable[..., Any]
    __signature__: inspect.Signature

    def __init__(
        self,
        interface: Interface,
        load: Callable[[], Any],
        runner: Runner,
        constants: Sequence[tuple[TensorType, Array]],
        explain: Explain,
        check: str = "sync",
    ) -> None:
        """
        Args:
            load: gives the compiled function, or raises DeviceError where it cannot run here.
            constants: arrays that every call passes, and what they were when the function was compiled.
            explain: makes the error for an index out of range.
            check: when a call's index checks are read; one of ``CHECKS``.
        """
        deferred = is_deferred(interface.name, check)
        self._on_device = DeviceCalls(cast(Keeper, runner), interface, deferred) if runner.keeps else None
        self._first_found = FirstFound() if deferred and not runner.keeps else None
        self._interface = interface
        self._load = load
        self._runner = runner
        self._constants = constants
        self._explain = explain
        self._status = _ThreadStatus(interface.status_length)
        self._call_numbers = count(2, 2)  # of calls on a GPU; the fast path's are odd
        self._device_constants: dict[Device, list[View]] = {}
        # a call runs on the CPU and needs no constants
        self._plain = runner is HOST and not constants
        # made when the machine code is loaded, and by the first call.  Two threads may both do so; a lock would stay locked in a
        # process forked meanwhile
        self._loaded: Any = None
        self._begun = False
        self._fast: FastCalls | None = None
        self.__call__ = self._call
        self.__signature__ = _signature(interface.inputs)

    def __reduce__(self) -> tuple[Any, ...]:
        raise ArgumentError(
            f"{self.name}: this function was compiled in its process, which is all that knows it: it is not copied"
        )

    @property
    def name(self) -> str:
        return self._interface.name

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """The inputs, in the order of positional arguments."""
        return self._interface.inputs

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """The outputs, in the order of the results."""
        return self._interface.outputs

    def _call(self, /, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """The slow path, which checks everything; it remembers what the fast path can do the next time."""
        self._begin()
        call = prepare(self._interface, args, kwargs, out)
        if not call.fresh:
            call.written()
        self._run(call, self._pointers(call))
        if call.direct and not kwargs:
            self._remember(args, call)
        return call.finish()

    def bind(self, /, *args: Any, out: Any = None, **kwargs: Any) -> Bound:
        """A call with everything checked and converted once, to be run many times on the same arrays.

        Args:
            args, kwargs, out: as for a call; every array must be usable as it is, in C order and aligned.  ``out`` is made if
                it is not given, except for JAX, whose arrays cannot be written again.

        Returns:
            a callable without arguments.  It reads what the arrays hold when it is called, writes to the same ``out`` each
            time, and returns it; it keeps the arrays alive.  Calls from several threads at once write the same ``out``.
            Every call looks where the arrays are: one that has changed meanwhile (other storage, another shape, read-only,
            deleted) is checked as ``bind`` did, and used or refused.

        Raises:
            what a call raises about its arguments; ArgumentError: an array would have to be copied.
        """
        return Bound(self, self._bindable(args, kwargs, out))

    def check(self) -> None:
        """With ``check="deferred"``, wait for the calls so far and raise what the first one that failed has found.

        Afterwards the function is as if none had failed.  On a GPU it waits for everything that was launched there, CUDA graphs
        included, and must not be called while a stream is being captured.  With ``check="sync"`` there is nothing to do.

        Raises:
            BoundsError: an index was out of range.  DeviceError: kernels have failed.
        """
        source = self._on_device or self._first_found
        found = None if source is None else source.take()
        if found is not None:
            raise self._bounds_error(*found)

    def _bindable(self, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> PreparedCall:
        """A call whose arrays can be used as they are, again and again."""
        self._begin()
        call = prepare(self._interface, args, kwargs, out)
        if call.kind == "jax" and out is None:
            raise ArgumentError(f"{self.name}: bind needs out: JAX's arrays cannot be written again")
        if not call.direct:
            what = ", ".join(call.copied) or "out"
            raise ArgumentError(f"{self.name}: bind needs arrays that can be used as they are; {what} would be copied")
        return call

    def _pointers(self, call: PreparedCall) -> list[ctypes.c_void_p]:
        """The function's leading arguments."""
        constants = self._constants_on(call.device) if self._constants else ()
        return [ctypes.c_void_p(v.ptr) for v in (*call.inputs, *constants, *call.outputs)]

    def _run(self, call: PreparedCall, pointers: Sequence[ctypes.c_void_p], room: Room | None = None) -> None:
        """``room``: memory on the device for the call, where it is there already."""
        if self._is_long(call.extents):
            interruptible(lambda: self._run_here(call, pointers, room), keep=True)
        else:
            self._run_here(call, pointers, room)

    def _is_long(self, extents: Extents) -> bool:
        """Whether Ctrl-C must not wait for a call.  Kernels on a GPU are launched by the thread whose stream they are for."""
        return extents.work >= LONG and self._interface.device == "cpu"

    def _run_here(self, call: PreparedCall, pointers: Sequence[ctypes.c_void_p], room: Room | None) -> None:
        function, extents, on_device = self._function, call.extents, self._on_device

        def launch(found: int, workspace: int, kept: int) -> None:
            function(
                *pointers,
                ctypes.c_void_p(found),
                *((ctypes.c_void_p(kept),) if on_device is not None else ()),
                ctypes.c_void_p(workspace),
                *extents.numbers,
                -next(self._call_numbers) if kept else get_num_threads(),
                call.in_place,
            )

        found: Found | None = None
        with Inside():
            if self._plain and extents.workspace == 0:
                record = self._status.record
                launch(self._status.address, 0, 0)
            else:
                try:
                    if on_device is not None:
                        record, found = None, on_device.run(launch, call, room)
                    else:
                        record = HOST.run(launch, self._interface.status_length, extents.workspace)
                except OutOfMemoryError as e:
                    raise OutOfMemoryError(f"{self.name}: scratch memory: {e}") from e
        if record is not None and self._interface.checks and record[status.FAILED]:
            found = list(record), extents.sizes
            if self._first_found is not None:
                self._first_found.keep(*found)
                return
        if found is not None:
            raise self._bounds_error(*found)

    def _begin(self) -> None:
        """Before any call that the fast path does not know, so that a device that is not there is reported first."""
        self._function  # noqa: B018
        if not self._begun:
            pools.choose()
            self._begun = True

    def _load_here(self) -> None:
        """Load it now, so that its first call takes no longer than the second; nothing is done where it cannot run here.

        A GPU is left alone until the first call.
        """
        if self._interface.device == "cpu":
            with suppress(DeviceError):
                self._function, self._fast_calls  # noqa: B018

    @property
    def _function(self) -> Any:
        if self._loaded is None:
            with Inside():
                self._loaded = self._load()
        return self._loaded

    def _constants_on(self, device: Device) -> list[View]:
        """The constants' storage on a device, found anew where an array that is used as it is has changed."""
        found = self._device_constants.get(device)
        if found is None or not all(
            v.owner is not x or arrays.stands(x, v) for v, (_, x) in zip(found, self._constants, strict=True)
        ):
            found = [self._constant_on(device, kind, x) for kind, x in self._constants]
            self._device_constants[device] = found  # two threads may both do this; either result will do
        return found

    def _constant_on(self, device: Device, type: TensorType, array: Array) -> View:
        try:
            v = self._runner.constant(array, device)
        except GSError as e:
            raise e.__class__(f"{self.name}: a constant: {e}") from e
        if v.shape != type.shape or v.dtype is not type.dtype:
            got = TensorType(v.shape, v.dtype)
            raise ArgumentError(f"{self.name}: a constant was {type} when it was compiled, and is {got} now")
        return v

    def _bounds_error(self, record: Sequence[int], sizes: Mapping[str, int]) -> Exception:
        """What the kernel's record means."""
        found = status.first_found(record, self._interface.checks)
        return index_changed(self.name) if found is None else self._explain(*found, sizes)

    # -- the fast path

    @property
    def _fast_calls(self) -> FastCalls | None:
        """The fast path; None where a call needs more than arrays."""
        if self._fast is None and len(self.outputs) == 1 and not self._constants:
            addresses = None if self._on_device is None else self._on_device.addresses()
            if self._plain or addresses is not None:
                length, dtype = self._interface.status_length, self.outputs[0].dtype
                alignment = self._interface.alignment
                self._fast = FastCalls(self._function, length, dtype, self._call, addresses, alignment)
        return self._fast

    def _remember(self, inputs: Sequence[Any], call: PreparedCall, room: Room | None = None) -> None:
        """A call was found good, with every array used as it is; ``room``: a bound call's own."""
        fast, extents, there = self._fast_calls, call.extents, None
        if fast is None or fast.full or self._is_long(extents):
            return
        if self._on_device is not None:
            there = self._on_device.fast(call, room)
            if there is None:
                return
        fast.add(inputs, call.results[0], extents, self._interface.in_place.get(0), extents.work < BRIEF, there)
        self.__call__ = fast.called


class _ThreadStatus(threading.local):
    """A thread's own status record, on the CPU."""

    def __init__(self, length: int) -> None:
        self.record: Status = (ctypes.c_int64 * length)()
        self.address = ctypes.addressof(self.record)


class Bound:
    """A call on fixed arrays; see :meth:`CompiledFunction.bind`."""

    __slots__ = {
        "__call__": "Run it; returns what :meth:`CompiledFunction.bind` was given, or made, for ``out``.",
        "__signature__": "",
        "_call": "",
        "_compiled": "",
        "_room": "",
    }
    __call__: Callable[..., Any]
    __signature__: inspect.Signature

    def __init__(self, compiled: CompiledFunction, call: PreparedCall) -> None:
        self._compiled = compiled
        self._call = call
        self._room = None if compiled._on_device is None else compiled._on_device.room(call)
        self.__call__, self.__signature__ = self._run, inspect.Signature()
        if compiled._fast_calls is not None:
            compiled._remember(call.arrays, call, self._room)
            self.__call__ = compiled._fast_calls.bound(call.arrays, call.results[0], self._run)

    def _run(self) -> Any:
        """The slow path, which looks at every array, and checks the call anew where one has changed."""
        call, compiled = self._call, self._compiled
        if not call.stands:
            call = self._call = compiled._bindable(call.arrays, {}, call.finish())
            if compiled._on_device is not None:
                self._room = compiled._on_device.room(call)
            compiled._remember(call.arrays, call, self._room)
        call.written()
        compiled._run(call, compiled._pointers(call), self._room)
        if compiled._on_device is not None:  # perhaps another thread, or on another stream
            compiled._remember(call.arrays, call, self._room)
        return call.finish()

    def __reduce__(self) -> tuple[Any, ...]:
        raise ArgumentError(
            f"{self._compiled.name}: a bound call holds addresses of arrays, so it is not copied or pickled: "
            "copy the module, and bind it to arrays there"
        )

    def __repr__(self) -> str:
        return f"<bound call of {self._compiled!r}>"
