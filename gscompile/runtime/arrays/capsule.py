"""DLPack's capsules: the tensor in one, read where it lies.  The structs are those of ``dlpack.h``."""

from __future__ import annotations

import ctypes

import numpy as np

from gscompile.errors import ArgumentError, DeviceError
from gscompile.ir.types import DTYPES
from gscompile.runtime.arrays.views import CPU, View, strided, type_name, unsupported

VERSION = (1, 1)  # of the protocol, as asked of producers


class DLTensor(ctypes.Structure):
    """``DLDevice`` and ``DLDataType`` are written out; they have no padding of their own."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class DLManagedTensor(ctypes.Structure):
    """What a capsule called ``dltensor`` points to."""

    _fields_ = (("dl_tensor", DLTensor), ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class DLManagedTensorVersioned(ctypes.Structure):
    """What a capsule called ``dltensor_versioned`` points to."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("dl_tensor", DLTensor),
    )


_CAPSULE = type(np.zeros(0).__array_struct__)  # types.CapsuleType since Python 3.13
_READ_ONLY = 1
_DEVICES = {1: "cpu", 2: "cuda", 3: "cpu", 13: "cuda"}  # kDLCPU, kDLCUDA, kDLCUDAHost, kDLCUDAManaged
_CODES = {0: "int", 1: "uint", 2: "float", 3: "handle", 4: "bfloat", 5: "complex", 6: "bool"}
_DTYPES = {
    (code, bits): DTYPES[name]
    for code, kind in _CODES.items()
    for bits in (8, 16, 32, 64, 128)
    if (name := "bool" if (kind, bits) == ("bool", 8) else f"{kind}{bits}") in DTYPES
}
_FLOAT8 = ("e3m4", "e4m3", "e4m3b11fnuz", "e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu")  # codes 7 and on
_DTYPES |= {(code, 8): DTYPES[f"float8_{name}"] for code, name in enumerate(_FLOAT8, 7)}

# Prototypes of our own: those that hang on ctypes.pythonapi are shared with every other user of it.
_capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def view_capsule(capsule: object, owner: object, kind: str) -> View:
    """A view of the tensor in a DLPack capsule.

    The capsule keeps its name, so it stays the owner of the tensor: when it dies, its destructor calls the deleter.
    """
    if not isinstance(capsule, _CAPSULE):
        raise ArgumentError(f"expected a DLPack capsule; got {type_name(capsule)}")
    name = _capsule_name(capsule)
    readonly = False
    if name == b"dltensor_versioned":
        managed = DLManagedTensorVersioned.from_address(_capsule_pointer(capsule, name))
        if managed.major != VERSION[0]:
            # A new major version may have moved everything but the version and the deleter.
            raise ArgumentError(f"DLPack {managed.major}.{managed.minor} is not supported; supported: 1.x, unversioned")
        readonly = bool(managed.flags & _READ_ONLY)
        tensor = managed.dl_tensor
    elif name == b"dltensor":
        tensor = DLManagedTensor.from_address(_capsule_pointer(capsule, name)).dl_tensor
    else:
        raise ArgumentError(f"expected a fresh DLPack capsule; got one named {name!r}")
    dtype = _DTYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if dtype is None:
        lanes = f"x{tensor.lanes}" if tensor.lanes != 1 else ""
        raise unsupported(f"{_CODES.get(tensor.code, f'DLPack code {tensor.code}, bits ')}{tensor.bits}{lanes}")
    where = _DEVICES.get(tensor.device_type)
    if where is None:
        raise DeviceError(f"expected an array on cpu or cuda; got one on DLPack device type {tensor.device_type}")
    device = CPU if where == "cpu" else (where, tensor.device_id)
    shape = tuple(tensor.shape[: tensor.ndim]) if tensor.ndim else ()
    strides = None
    if tensor.ndim and tensor.strides:
        strides = tuple(s * dtype.itemsize for s in tensor.strides[: tensor.ndim])
    ptr = (tensor.data or 0) + tensor.byte_offset
    if not ptr and 0 not in shape:
        raise DeviceError("the DLPack tensor has elements but no storage")
    return strided(ptr, shape, dtype, device, strides, readonly, owner, kind)
