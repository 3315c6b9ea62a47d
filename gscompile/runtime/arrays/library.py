"""What is known of an array library: a subclass of ``Library`` in a file of its own, listed in ``LIBRARIES``."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from typing import ClassVar

from gscompile.errors import DeviceError
from gscompile.ir.types import DType
from gscompile.runtime.arrays.ndarray import copied, copy_bits
from gscompile.runtime.arrays.views import Array, Device, View, Viewer, is_aligned


class Library(ABC):
    """A library whose arrays a compiled function takes and returns.

    A subclass has to say how its arrays are looked at and made.  The rest, copying among it, has defaults that need
    nothing of the library but ``__dlpack__``.  To look at an array imports nothing; ``empty``, ``finish`` and
    ``current_stream`` are for callers who use the library, and may import it.

    Attributes:
        name: of the library, as in ``View.kind``.
        array_type: the module and the name of the class of its arrays.
        has_types: whether the arrays have classes of their own, to be remembered.
        stream_ordered: whether the library itself reads a result after the work that is on ``current_stream``.
    """

    name: ClassVar[str]
    array_type: ClassVar[tuple[str, str]]
    has_types: ClassVar[bool] = True
    stream_ordered: ClassVar[bool] = True

    def owns(self, x: object) -> bool:
        """Whether ``x`` is one of the library's arrays.

        An instance can only exist once its library is imported, so the class is looked for in ``sys.modules``.
        """
        return is_a(x, *self.array_type)

    def viewer(self, x: Array) -> Viewer:
        """What views the arrays of ``x``'s type; asked for the first one only.

        Raises:
            ArgumentError: arrays of this type have no storage of their own to read, or hide some of it.
        """
        return self.view

    @staticmethod
    @abstractmethod
    def view(x: Array) -> View:
        """The storage of an array that the library owns.  A plain function: every call of a kernel comes by here.

        Raises:
            DTypeError, DeviceError, ArgumentError: as ``arrays.view``.
        """

    @abstractmethod
    def empty(self, shape: tuple[int, ...], dtype: DType, device: Device) -> tuple[Array, View]:
        """Uninitialised C-ordered storage and its view, which may be written; the device is a cpu or cuda one.

        Raises:
            DeviceError: the library has no such device.
            DTypeError: the library has no such type.
        """

    def finish(self, array: Array) -> Array:
        """What a caller gets for the storage from ``empty`` when it is filled."""
        return array

    def copy(self, v: View, x: Array, align: int) -> View:
        """A C-ordered copy of ``x``, whose view is ``v``, on the same device, at a multiple of ``align``.

        Raises:
            DeviceError: there is no means to make it.
        """
        if v.device[0] == "cpu":
            return copied(v, align)
        copy = self.copy_on_cuda(v, x)
        if not copy.contiguous or not is_aligned(copy, align):
            raise DeviceError(f"{v.kind} gave no C-ordered copy at a multiple of {max(align, v.dtype.itemsize)} bytes")
        return copy._replace(kind=v.kind, readonly=False)

    def copy_on_cuda(self, v: View, x: Array) -> View:
        """A C-ordered copy of an array on cuda: torch's, unless the library makes its own."""
        copy = shared_with_torch(v, x).clone(memory_format=sys.modules["torch"].contiguous_format)
        return View(copy.data_ptr(), v.shape, v.dtype, v.device, True, False, copy, v.kind)

    def fill(self, dst_array: Array, dst: View, src_array: Array, src: View) -> None:
        """Copy an array of any library into one of this library; they agree in shape, type and device."""
        if dst.device[0] == "cpu":
            copy_bits(dst, src)
        else:
            shared_with_torch(dst, dst_array).copy_(shared_with_torch(src, src_array))

    def records(self, x: Array) -> bool:
        """Whether the library would record what is computed from an array, or written to it, to take derivatives."""
        return False

    def written(self, x: Array) -> None:
        """Say that a kernel writes an array, to a library that keeps count of that."""
        return

    def current_stream(self, device: Device) -> int:
        """The stream on which it does its work on a cuda device; 0, the default stream, where it does not say."""
        return 0


def is_a(x: object, module: str, name: str) -> bool:
    """Whether ``x`` is an instance of a class of a module that may not be imported."""
    cls = getattr(sys.modules.get(module), name, None)
    return isinstance(cls, type) and isinstance(x, cls)


def shared_with_torch(v: View, x: Array) -> Array:
    """A cuda array of a library without copying of its own, as a torch tensor that shares its storage."""
    torch = sys.modules.get("torch")
    if torch is None:
        raise DeviceError(f"copying a {v.kind} array on cuda needs torch, which is not imported; pass one in C order")
    return x.detach() if v.kind == "torch" else torch.from_dlpack(x)
