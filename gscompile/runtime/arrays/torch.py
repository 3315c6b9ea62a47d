"""PyTorch's tensors."""

from __future__ import annotations

import math
import sys
from typing import Any

from gscompile.errors import ArgumentError, DeviceError, DTypeError
from gscompile.ir.types import DTYPES, DType
from gscompile.runtime.arrays.library import Library
from gscompile.runtime.arrays.views import CPU, Array, Device, View, Viewer, make, type_name, unsupported

_DTYPES: dict[Any, DType] = {}  # by torch's dtype; filled when the first tensor is seen


class Torch(Library):
    name = "torch"
    array_type = ("torch", "Tensor")

    def viewer(self, x: Array) -> Viewer:
        torch = sys.modules["torch"]
        # PyTorch has uint16, uint32 and uint64 since 2.3.
        _DTYPES.update({getattr(torch, name): d for name, d in DTYPES.items() if hasattr(torch, name)})
        return self.view

    @staticmethod
    def view(x: Array) -> View:
        try:
            ptr = x.data_ptr()
            shape = tuple(x.shape)
            dtype = _DTYPES[x.dtype]
            # The storage of a lazily negated or conjugated tensor holds its values with the wrong sign.
            fits = x.is_contiguous() and not ptr % (dtype.bits >> 3) and not is_lazy(x)
        except KeyError:
            raise unsupported(str(x.dtype)) from None
        except RuntimeError as e:  # sparse, mkldnn and nested tensors, and those that torch.func maps over
            raise _no_storage(x) from e
        device = CPU if x.is_cpu else _device(x)
        if not ptr and not (x.layout is sys.modules["torch"].strided and 0 in shape):
            raise _no_storage(x)  # a fake or a zero tensor, or a subclass that wraps other tensors
        strides = None if fits else tuple(s * (dtype.bits >> 3) for s in x.stride())
        return make(View, (ptr, shape, dtype, device, fits, False, x, "torch", strides))

    def empty(self, shape: tuple[int, ...], dtype: DType, device: Device) -> tuple[Array, View]:
        out = _empty(shape, dtype, device)
        return out, make(View, (out.data_ptr(), shape, dtype, device, True, False, out, "torch", None))

    def copy(self, v: View, x: Array, align: int) -> View:
        copy = _empty(v.shape, v.dtype, v.device, max(align, 1))
        copy.copy_(x.detach())
        return self.view(copy)

    def fill(self, dst_array: Array, dst: View, src_array: Array, src: View) -> None:
        if src.kind == "torch":
            with sys.modules["torch"].no_grad():
                dst_array.copy_(src_array)
            return
        if dst.device[0] == "cpu" and is_lazy(dst_array):
            how = "conj" if dst_array.is_conj() else "neg"
            lazily = {"conj": "conjugated", "neg": "negated"}[how]
            raise ArgumentError(f"cannot copy into a torch tensor that is lazily {lazily}; pass its resolve_{how}()")
        super().fill(dst_array, dst, src_array, src)

    def records(self, x: Array) -> bool:
        return bool(x.requires_grad) and bool(sys.modules["torch"].is_grad_enabled())

    def written(self, x: Array) -> None:
        sys.modules["torch"].autograd.graph.increment_version(x)  # tensors of inference have none, and stay as they are

    def current_stream(self, device: Device) -> int:
        return int(sys.modules["torch"].cuda.current_stream(device[1]).cuda_stream)


def is_lazy(x: Array) -> bool:
    """Whether a tensor's elements are those of its storage with a sign still to be changed."""
    return bool(x.is_neg() or x.is_conj())


def _device(x: Array) -> Device:
    device = x.device
    if device.type != "cuda":
        raise DeviceError(f"expected a torch tensor on cpu or cuda; got one on {device}")
    return ("cuda", x.get_device())


def _no_storage(x: Array) -> DeviceError:
    return DeviceError(f"expected a torch tensor with strided storage; got {type_name(x)}, {x.layout}, on {x.device}")


def _empty(shape: tuple[int, ...], dtype: DType, device: Device, align: int = 1) -> Array:
    """An uninitialised tensor at a multiple of ``align``."""
    import torch

    where = "cpu" if device[0] == "cpu" else f"cuda:{device[1]}"
    try:
        torch_type = getattr(torch, dtype.name)
    except AttributeError:
        raise DTypeError(f"torch {torch.__version__} has no dtype {dtype}") from None
    try:
        out = torch.empty(shape, dtype=torch_type, device=where)
    except AssertionError as e:  # a build of torch without CUDA
        raise DeviceError(f"torch has no device {where}: {e}") from e
    except RuntimeError as e:
        if device[0] == "cuda" and device[1] >= torch.cuda.device_count():
            raise DeviceError(f"torch has no device {where}: {e}") from e
        raise  # out of memory
    if out.data_ptr() % align == 0:
        return out
    nbytes = math.prod(shape) * dtype.itemsize
    raw = torch.empty(nbytes + align - 1, dtype=torch.uint8, device=where)
    offset = -raw.data_ptr() % align
    return raw[offset : offset + nbytes].view(torch_type).view(shape)
