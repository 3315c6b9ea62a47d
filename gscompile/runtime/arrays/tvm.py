"""TVM's tensors."""

from __future__ import annotations

from gscompile.errors import DeviceError, DTypeError
from gscompile.ir.types import DType
from gscompile.runtime.arrays.capsule import view_capsule
from gscompile.runtime.arrays.library import Library
from gscompile.runtime.arrays.views import Array, Device, View, make


class TVM(Library):
    name = "tvm"
    array_type = ("tvm_ffi", "Tensor")

    @staticmethod
    def view(x: Array) -> View:
        # Through DLPack: data_ptr() of a tensor that was imported leaves out its byte offset.
        return view_capsule(x.__dlpack__(), x, "tvm")

    def empty(self, shape: tuple[int, ...], dtype: DType, device: Device) -> tuple[Array, View]:
        array = empty_tvm(shape, dtype, device)
        return array, make(View, (array.data_ptr(), shape, dtype, device, True, False, array, "tvm", None))

    def current_stream(self, device: Device) -> int:
        import tvm_ffi

        return int(tvm_ffi.get_raw_stream(tvm_ffi.device(*device)))


def empty_tvm(shape: tuple[int, ...], dtype: DType, device: Device) -> Array:
    """An uninitialised tensor."""
    from tvm import runtime

    if dtype.is_complex:
        raise DTypeError(f"TVM has no dtype {dtype}")
    try:
        return runtime.empty(shape, dtype.name, runtime.device(*device))
    except RuntimeError as e:
        raise DeviceError(f"TVM cannot allocate on {device[0]}:{device[1]}: {e}") from e
