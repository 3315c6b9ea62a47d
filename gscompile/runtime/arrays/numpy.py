"""NumPy's arrays."""

from __future__ import annotations

import numpy as np

from gscompile.errors import ArgumentError, DeviceError
from gscompile.ir.types import DType
from gscompile.runtime.arrays.library import Library
from gscompile.runtime.arrays.ndarray import empty_ndarray, view_ndarray
from gscompile.runtime.arrays.views import CPU, Array, Device, View, Viewer, make


class NumPy(Library):
    name = "numpy"
    array_type = ("numpy", "ndarray")
    view = staticmethod(view_ndarray)

    def viewer(self, x: Array) -> Viewer:
        if isinstance(x, np.ma.MaskedArray):
            raise ArgumentError("a NumPy masked array holds values that its mask hides; pass x.filled(value)")
        return self.view

    def empty(self, shape: tuple[int, ...], dtype: DType, device: Device) -> tuple[Array, View]:
        if device[0] != "cpu":
            raise DeviceError(f"numpy has no arrays on {device[0]}")
        out, ptr = empty_ndarray(shape, dtype)
        return out, make(View, (ptr, shape, dtype, CPU, True, False, out, "numpy", None))
