"""The fast path of calls: arrays like those of an earlier call are checked in C.

What a kernel must know of an array, its type, dtype, extents, flags and address, takes Python 1 us an array to find out.  A
call signature is what they were in a call that the slow path, in Python, found good.  A C extension (``_fastcall.c``) compares it
with the arrays of another call, and if all agree, the storage is usable as it is, and the output overlaps no input, runs the
kernel.  Whatever differs, and an index out of range, is the slow path's.

Arrays are read by public C APIs: NumPy's; the DLPack C exchange API (``__dlpack_c_exchange_api__`` of a type) of PyTorch, Paddle
and whoever has it; for JAX, which has not, the buffer protocol, which waits for the array and refuses one that was deleted.

The extension is optional: without a compiler, in free-threaded Python, or with ``GSCOMPILE_FASTCALL=0`` in the environment when
gscompile is imported, all calls take the slow path, with the same results.

On a GPU a signature also says on which stream, in whose memory, and, where calls wait for their checks, on which thread.  There
it is for PyTorch's tensors only, whose exchange API tells the stream that is in use.  While its kernels are being launched by one
thread, it fits no call of another.
"""

from __future__ import annotations

import ctypes
import math
import operator
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gscompile.errors import MissingExtraError
from gscompile.ir.types import DType
from gscompile.runtime import arrays
from gscompile.runtime.extension import extension
from gscompile.runtime.interface import Extents
from gscompile.runtime.threads import COUNT_AT

if TYPE_CHECKING:
    from gscompile.runtime import _fastcall

MOST = 16  # signatures of a module
SMALL = 16384  # bytes of a result that a signature may keep an example of

Answer: TypeAlias = Callable[..., Any]


class FastCalls:
    """The call signatures of a module, and calls that look among them first.

    Args:
        function: the compiled one; its arguments are inputs, output, status, workspace, sizes, threads, flags.  TVM's, or one
            that has ``entry``: the address of a function that is called as TVM calls one, and what it is passed first.
        status: words of its status record.
        dtype: of its output.
        slow: what is called where no signature fits, with the arguments of the call.
        gpu: for a GPU's function, the addresses of what the extension calls of CUDA's driver.
        alignment: what addresses of arrays must be multiples of, in bytes; 0 for the size of their elements.

    Attributes:
        called: ``slow``, until there is a signature; then what compares with it first.
    """

    __slots__ = ("_count", "_dtype", "_fast", "called")

    def __init__(
        self,
        function: Any,
        status: int,
        dtype: DType,
        slow: Answer,
        gpu: Sequence[int] | None = None,
        alignment: int = 0,
    ) -> None:
        self._dtype, self._count = dtype, 0
        self._fast: _fastcall.FastCall | None = None
        self.called = slow
        if extension is not None and status <= extension.MOST_STATUS:
            call, first = getattr(function, "entry", None) or (_address("TVMFFIFunctionCall"), function.__chandle__())
            addresses = None if gpu is None else (_address("TVMFFIEnvSetStream"), *gpu)
            self._fast = extension.FastCall(call, first, function, COUNT_AT, status, slow, addresses, alignment)

    def __len__(self) -> int:
        return self._count

    def bound(self, inputs: Sequence[Any], out: Any, slow: Answer) -> Answer:
        """A call of these arrays, without arguments; ``slow`` where no signature fits them."""
        if self._fast is None or extension is None:
            return slow
        bound: Answer = extension.FastBound(self._fast, tuple(inputs), out, slow)
        return bound

    @property
    def full(self) -> bool:
        """Whether no signature can be added."""
        return self._fast is None or self._count >= MOST

    def add(
        self,
        inputs: Sequence[Any],
        out: Any,
        extents: Extents,
        in_place: int | None,
        brief: bool,
        there: tuple[int, int, int, int, int, int, int, object] | None = None,
    ) -> None:
        """Remember a call that was found good, if all its arrays can be read in C.

        Args:
            out: the output's array; NumPy storage where the result is a JAX array.
            extents: what follows from the shapes.
            in_place: the input whose storage ``out`` may be.
            brief: it takes so little time that other threads wait meanwhile: to let them run costs 0.05 us.
            there: where such calls run on a GPU; see ``FastCall.add``.
        """
        if self._fast is None or self._count >= MOST or not all(map(_is_known, (*inputs, out))):
            return
        make, finish = self._result(inputs, tuple(out.shape))
        place = -1 if in_place is None else in_place
        if self._fast.add(tuple(inputs), out, extents.numbers, extents.workspace, place, brief, make, finish, there):
            self._count += 1
            self.called = self._fast

    def _result(self, inputs: Sequence[Any], shape: tuple[int, ...]) -> tuple[Any, Any]:
        """How a call without ``out`` makes its result, as an array of the first input's library; see ``FastCall.add``."""
        kind = _module(type(inputs[0])) if inputs else "numpy"
        if kind == "torch":
            torch = sys.modules["torch"]
            if not hasattr(torch, self._dtype.name):
                return None, None
            like = {"dtype": getattr(torch, self._dtype.name), "device": inputs[0].device}
            if math.prod(shape) * self._dtype.itemsize > SMALL:
                return (torch.empty, (shape,), like), None
            # to say dtype and device by a tensor takes 0.6 us, by keywords 1.1
            return (torch.empty_like, (torch.empty(shape, **like),), {}), None
        try:
            dtype = self._dtype.numpy
        except MissingExtraError:
            return None, None
        return dtype, partial(arrays.finish, "jax") if kind == "jaxlib" else None


def _module(cls: type) -> str:
    """The library of a type."""
    return cls.__module__.partition(".")[0]


def _is_known(x: Any) -> bool:
    """Whether the extension sees all there is to an array: of a complex tensor it would miss that it is lazily conjugated."""
    return _is_read(type(x)) and not (_module(type(x)) == "torch" and x.is_complex())


_readable: set[type] = {np.ndarray}  # types that the extension reads; it never forgets one


def _is_read(cls: type) -> bool:
    """Whether the extension reads arrays of exactly this type; teaches it to, if it can be."""
    if cls in _readable:
        return True
    assert extension is not None
    kind = _module(cls)
    torch = sys.modules.get("torch")
    is_torch = torch is not None and cls in (torch.Tensor, torch.nn.Parameter)
    if kind == "jaxlib" and cls.__name__ == "ArrayImpl":
        api = None
    elif is_torch or "__dlpack_c_exchange_api__" in vars(cls):  # a subclass may mean something else by its storage
        api = cls.__dlpack_c_exchange_api__  # type: ignore[attr-defined]
    else:
        return False
    # What the API does not tell: a lazily negated tensor's storage holds its values with the wrong sign; PyTorch would record
    # what is computed from tensors that require a gradient, and counts what is written; Paddle refuses to hand such tensors out.
    checks: tuple[Any, ...] = ()
    written = None
    if is_torch:
        requires_grad = operator.attrgetter("requires_grad")
        checks = (cls.is_neg, False, None), (requires_grad, False, torch.is_grad_enabled)  # type: ignore[union-attr,attr-defined]
        written = torch.autograd.graph.increment_version  # type: ignore[union-attr]
    elif kind == "paddle":
        checks = ((operator.attrgetter("stop_gradient"), True, None),)
    try:
        extension.register(cls, api, checks, not is_torch, written, is_torch)
    except ValueError:  # a version of the API that is not known, or too many types
        return False
    _readable.add(cls)
    return True


@lru_cache(maxsize=8)
def _address(name: str) -> int:
    """The address of a function of TVM's C interface."""
    import tvm_ffi.libinfo

    library = ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi())
    return ctypes.cast(library[name], ctypes.c_void_p).value or 0
