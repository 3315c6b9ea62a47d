"""Arrays of no library in particular, that have ``__dlpack__``."""

from __future__ import annotations

from gscompile.errors import ArgumentError
from gscompile.ir.types import DType
from gscompile.runtime.arrays.capsule import VERSION, view_capsule
from gscompile.runtime.arrays.library import Library
from gscompile.runtime.arrays.ndarray import empty_ndarray
from gscompile.runtime.arrays.tvm import empty_tvm
from gscompile.runtime.arrays.views import CPU, Array, Device, View, make, type_name


class DLPack(Library):
    """Results are NumPy's on the cpu and TVM's on cuda."""

    name = "dlpack"
    has_types = False  # a class may be made anew for every array, and the table of them would keep each one alive

    def owns(self, x: object) -> bool:
        return not isinstance(x, type) and hasattr(x, "__dlpack__")

    @staticmethod
    def view(x: Array) -> View:
        capsule = None
        # Producers take as many of the keywords as their version of the protocol knows.
        for keywords in ({"max_version": VERSION, "copy": False}, {"max_version": VERSION}, {}):
            try:
                capsule = x.__dlpack__(**keywords)
                break
            except TypeError:
                if not keywords:
                    raise
            except BufferError as e:
                raise ArgumentError(f"{type_name(x)} cannot be shared through DLPack: {e}") from e
        return view_capsule(capsule, capsule, "dlpack")

    def empty(self, shape: tuple[int, ...], dtype: DType, device: Device) -> tuple[Array, View]:
        array: Array
        if device[0] == "cpu":
            array, ptr = empty_ndarray(shape, dtype)
            return array, make(View, (ptr, shape, dtype, CPU, True, False, array, "dlpack", None))
        array = empty_tvm(shape, dtype, device)
        return array, make(View, (array.data_ptr(), shape, dtype, device, True, False, array, "dlpack", None))
