"""JAX's arrays.  Nobody may write one, so on the cpu a result is NumPy storage until JAX adopts it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Any

import numpy as np

from gscompile.errors import ArgumentError, DeviceError, DTypeError
from gscompile.ir.types import DType
from gscompile.runtime.arrays.library import Library, is_a
from gscompile.runtime.arrays.ndarray import NUMPY_DTYPES, empty_ndarray, numpy_dtype, view_ndarray
from gscompile.runtime.arrays.views import CPU, Array, Device, View, Viewer, c_strides, make, strided, unsupported

_DEVICES: dict[tuple[Any, str | None], Device] = {}  # by JAX's device and memory kind


class Jax(Library):
    name = "jax"
    array_type = ("jax", "Array")
    stream_ordered = False

    def owns(self, x: object) -> bool:
        return super().owns(x) or _is_tracer(x)

    def viewer(self, x: Array) -> Viewer:
        if _is_tracer(x):
            raise ArgumentError(
                "a JAX tracer has no storage: call compiled modules outside jax.jit, jax.grad and jax.vmap"
            )
        return self.view

    @staticmethod
    def view(x: Array) -> View:
        dtype = NUMPY_DTYPES.get(x.dtype)
        if dtype is None:
            # Random keys have a dtype of JAX's own.
            dtype = numpy_dtype(x.dtype) if isinstance(x.dtype, np.dtype) else None
            if dtype is None:
                raise unsupported(str(x.dtype))
        devices = x.sharding.device_set
        if len(devices) != 1:
            raise DeviceError(f"expected a JAX array on one device; got one sharded over {len(devices)}")
        where = (*devices, x.sharding.memory_kind)
        device = _DEVICES.get(where)
        if device is None:
            device = _DEVICES[where] = _device(*where)
        if x.is_deleted():  # is_ready() would crash the process
            raise DeviceError("a JAX array that was deleted or donated has no storage")
        # The pointer is known before the computation that fills the array has run.
        if not x.is_ready():
            x.block_until_ready()
        if dtype.digits:  # packed, several elements in a byte
            return _unpacked(x, dtype, device)
        ptr = x.unsafe_buffer_pointer()
        shape = x.shape
        # JAX lets a program choose in which order an array's axes lie in memory.
        order = x.format.layout.major_to_minor if hasattr(x, "format") else x.layout.device_local_layout.major_to_minor
        strides = None
        if order != tuple(range(len(shape))):
            lengths = c_strides(tuple(shape[axis] for axis in order), dtype.itemsize)
            strides = tuple(lengths[order.index(axis)] for axis in range(len(shape)))
        return strided(ptr, shape, dtype, device, strides, True, x, "jax")

    def empty(self, shape: tuple[int, ...], dtype: DType, device: Device) -> tuple[Array, View]:
        array: Array
        if device[0] == "cpu":
            array, ptr = empty_ndarray(shape, dtype)
            return array, make(View, (ptr, shape, dtype, CPU, True, False, array, "jax", None))
        array = empty_jax(shape, dtype, device)
        return array, self.view(array)._replace(readonly=False)

    def finish(self, array: Array) -> Array:
        """An array of JAX's own; it adopts NumPy storage without copying, so nobody may write it any more."""
        return _adopter()(array) if isinstance(array, np.ndarray) else array

    def copy_on_cuda(self, v: View, x: Array) -> View:
        return self.view(sys.modules["jax"].numpy.copy(x))


def _unpacked(x: Array, dtype: DType, device: Device) -> View:
    """A copy with one element a byte, which JAX makes and keeps."""
    if device != CPU:
        raise DTypeError(f"JAX packs {dtype} on {device[0]}, which no kernel reads; cast it to a wider dtype")
    return view_ndarray(np.asarray(x))._replace(readonly=True, kind="jax")


def _is_tracer(x: object) -> bool:
    return is_a(x, "jax.core", "Tracer")


@cache
def _adopter() -> Callable[[np.ndarray], Array]:
    """What makes a JAX array of NumPy storage: the function below ``device_put`` where this JAX has it, 4 us instead of 26."""
    import jax

    device = jax.local_devices(backend="cpu")[0]

    def adopt(array: np.ndarray) -> Array:
        with _64_bit(NUMPY_DTYPES.get(array.dtype) or numpy_dtype(array.dtype)):
            return jax.device_put(array, device, may_alias=True)

    try:
        from jax._src.core import ShapedArray
        from jax._src.lib import xla_client

        sharding, described = jax.sharding.SingleDeviceSharding(device), lru_cache(ShapedArray)

        def adopt_quickly(array: np.ndarray) -> Array:
            aval = described(array.shape, array.dtype)
            return xla_client.batched_device_put(aval, sharding, [array], [device], enable_x64=True)

        sample = np.arange(3, dtype=np.int64)
        got, want = adopt_quickly(sample), adopt(sample)
        same = got.aval == want.aval and got.sharding == want.sharding and np.array_equal(got, want)
        return adopt_quickly if same else adopt
    except Exception:  # it is not part of what JAX promises
        return adopt


def _device(device: Any, memory: str | None) -> Device:
    if device.platform == "cpu":
        return CPU
    is_cuda = device.platform in ("gpu", "cuda") and "rocm" not in device.client.platform_version.lower()
    if not is_cuda or memory not in (None, "device"):
        raise DeviceError(f"expected a JAX array on cpu or cuda; got one on {device}, {memory} memory")
    index = device.local_hardware_id
    return ("cuda", device.id if index is None else index)


def empty_jax(shape: tuple[int, ...], dtype: DType, device: Device) -> Array:
    """A fresh JAX array.  Its buffer is nobody else's, so a kernel may fill it before it is handed out."""
    import jax

    try:
        candidates = jax.local_devices(backend=device[0])
    except RuntimeError as e:
        raise DeviceError(f"JAX has no {device[0]} devices: {e}") from e
    for candidate in candidates:
        if candidate.platform == "cpu" or candidate.local_hardware_id in (device[1], None):
            with _64_bit(dtype):
                return jax.numpy.empty(shape, dtype.numpy, device=candidate).block_until_ready()
    raise DeviceError(f"JAX has no device {device[0]}:{device[1]}")


@contextlib.contextmanager
def _64_bit(dtype: DType) -> Iterator[None]:
    """Let JAX make an array of a 64-bit type as such; by default it makes a 32-bit copy, whatever the values."""
    import jax

    if dtype.real.bits != 64 or jax.config.jax_enable_x64:
        yield
        return
    if hasattr(jax, "enable_x64"):
        with jax.enable_x64(True):
            yield
    else:  # older JAX
        from jax.experimental import enable_x64

        with enable_x64():
            yield
