"""CuPy's arrays, all of which are on cuda."""

from __future__ import annotations

import sys

from gscompile.errors import DeviceError
from gscompile.ir.types import DType
from gscompile.runtime.arrays.library import Library
from gscompile.runtime.arrays.ndarray import NUMPY_DTYPES, numpy_dtype
from gscompile.runtime.arrays.views import Array, Device, View, strided


class CuPy(Library):
    name = "cupy"
    array_type = ("cupy", "ndarray")

    @staticmethod
    def view(x: Array) -> View:
        dtype = NUMPY_DTYPES.get(x.dtype) or numpy_dtype(x.dtype)
        return strided(x.data.ptr, x.shape, dtype, ("cuda", x.device.id), x.strides, False, x, "cupy")

    def empty(self, shape: tuple[int, ...], dtype: DType, device: Device) -> tuple[Array, View]:
        if device[0] != "cuda":
            raise DeviceError(f"cupy has no arrays on {device[0]}")
        import cupy

        with cupy.cuda.Device(device[1]):
            array = cupy.empty(shape, dtype.numpy)
        return array, self.view(array)

    def copy_on_cuda(self, v: View, x: Array) -> View:
        return self.view(x.copy(order="C"))

    def fill(self, dst_array: Array, dst: View, src_array: Array, src: View) -> None:
        dst_array[...] = src_array if src.kind == "cupy" else sys.modules["cupy"].from_dlpack(src_array)

    def current_stream(self, device: Device) -> int:
        return int(sys.modules["cupy"].cuda.get_current_stream().ptr)  # of the current device
