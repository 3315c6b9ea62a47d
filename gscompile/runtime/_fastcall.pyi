"""What :mod:`gscompile.runtime.fastcall` needs of the C extension."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_STATUS: int  # words of a status record
SMALL: int  # bytes of a NumPy result that is made by NumPy's allocator; larger ones begin at a multiple of 64

def leave() -> int:
    """How many other threads are inside a kernel; the calling thread ends the process, and no other enters a kernel any more."""

def forked() -> None:
    """This process is a child that has the calling thread only."""

class FastCall:
    """A call of a compiled function: ``call(*inputs, out=None)``.

    Arguments that equal no call signature go to ``slow``, as does a call whose kernel reports an error.
    """

    def __new__(
        cls,
        call: int,
        function: int,
        keep: object,
        threads: int,
        status: int,
        slow: Callable[..., Any],
        gpu: tuple[int, ...] | None = None,
        alignment: int = 0,
    ) -> FastCall:
        """
        Args:
            call, function: addresses of TVM's C function that calls functions, and of the function.
            keep: what owns the function.
            threads: the address of an int64, the number of threads.
            status: words of the status record.
            gpu: for a GPU's function, addresses of the functions that ``_fastcall_gpu.h`` lists.
            alignment: what addresses of arrays must be multiples of, in bytes; 0 for the size of their elements.
        """

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def add(
        self,
        inputs: tuple[Any, ...],
        out: Any,
        numbers: tuple[int, ...],
        workspace: int,
        in_place: int,
        brief: bool,
        make: np.dtype[Any] | tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]] | None,
        finish: Callable[[Any], Any] | None,
        there: tuple[int, int, int, int, int, int, int, object] | None,
        /,
    ) -> bool:
        """Remember the signature of a call that was found good; False if it is known, or an array cannot be read here.

        Args:
            numbers: the sizes that the function takes.
            workspace: bytes of scratch memory.
            in_place: the input whose storage ``out`` may be; -1: none.
            brief: the GIL is kept while the kernel runs.
            make: how a call without ``out`` gets an array of ``out``'s shape: as NumPy storage of a dtype, or by a call;
                None: such calls are slow.
            finish: what makes the caller's array of NumPy storage that was filled.
            there: on a GPU the call's stream and context, addresses of its status, of the record that outlives it, of scratch
                memory and of the host's copy of the record, 0 where calls do not wait for their checks, bytes of a record, and
                what owns all this.  None on the CPU.
        """

class FastBound:
    """A call on fixed arrays, without arguments."""

    def __new__(cls, call: FastCall, inputs: tuple[Any, ...], out: Any, slow: Callable[[], Any]) -> FastBound: ...
    def __call__(self) -> Any: ...

def register(
    type: type,
    api: object | None,
    checks: tuple[tuple[Callable[[Any], object], object, Callable[[], object] | None], ...],
    whole: bool,
    written: Callable[[Any], object] | None,
    writable: bool,
    /,
) -> None:
    """Say how arrays of exactly this type are read, for good.  NumPy's are known.

    Args:
        api: the type's ``__dlpack_c_exchange_api__``; None: through the buffer protocol.
        checks: of each (question, answer, otherwise), ``question(array)`` must be the very object ``answer``, or else
            ``otherwise()`` must, if there is one.  Two at most, and none without ``api``.
        whole: whether arrays of integers and of bool are checked, too.
        written: is called with an array that a kernel is about to write.
        writable: whether arrays may be written where ``api`` does not tell.

    Raises:
        ValueError: another version of the API; too many types, or checks.
    """

def address(array: NDArray[Any], /) -> int:
    """The address of a NumPy array's first element."""
