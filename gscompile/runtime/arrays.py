"""Other libraries' arrays: where their storage is, and new storage in their kind.

A compiled kernel takes raw pointers to C-ordered storage.  ``view`` finds the pointer, shape, type and device of an
array without copying it, ``contiguous`` copies only where a kernel could not read the storage in place, and ``empty``
and ``finish`` make a result in the library that its caller uses.

No array library but NumPy is imported to look at an array: an instance can only exist once its library is imported, so
a class is looked for in ``sys.modules``, and only when an array of a type that was not seen before arrives.

Work on a cuda device is not ordered here beyond what a library does by itself when asked for a pointer: the caller
launches kernels on a stream that comes after the arrays' producers.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from gscompile.errors import ArgumentError, DeviceError, DTypeError, ShapeError
from gscompile.ir.dims import shape_str
from gscompile.ir.types import DTYPES, DType
from gscompile.runtime.extension import extension

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array: TypeAlias = Any  # an array of whatever library
Device: TypeAlias = tuple[str, int]

CPU: Device = ("cpu", 0)
ALIGNMENT = 64  # of NumPy storage made here: one AVX-512 vector, one cache line, and what JAX adopts without copying


class View(NamedTuple):
    """What a kernel needs to know of an array.  It is a tuple because that costs a sixth of a frozen dataclass to make.

    Attributes:
        ptr: address of the element at index (0, ..., 0); may be 0 where there are no elements.
        shape: the extents; () for a 0-d array.
        dtype: the element type, in native byte order.
        device: ``("cpu", 0)`` or ``("cuda", k)``.
        contiguous: whether a kernel can use the storage in place: C order, no gaps (axes of size 1 and arrays without
            elements never make one), every element at a multiple of its size.
        readonly: whether the storage must not be written.
        owner: keeps the storage alive.
        kind: the library, ``numpy``, ``torch``, ``jax``, ``cupy``, ``tvm`` or ``dlpack``.
        strides: bytes from one element to the next along each axis; None where ``contiguous``.  Not enough to read the
            elements of a torch tensor, which may be negated lazily: ``contiguous()`` heeds that.
    """

    ptr: int
    shape: tuple[int, ...]
    dtype: DType
    device: Device
    contiguous: bool
    readonly: bool
    owner: object
    kind: str
    strides: tuple[int, ...] | None = None


_make = tuple.__new__  # skips NamedTuple's own __new__, which doubles the cost

_KINDS = ("numpy", "torch", "jax", "cupy", "tvm", "dlpack")


def view(x: Array) -> View:
    """The storage of an array of any library; never a copy of it.

    Python scalars and nested lists, and objects that only NumPy can read, are made into NumPy arrays first.

    Raises:
        DTypeError: the element type is not one of gscompile's, its bytes are swapped, or ``x`` is no array.
        DeviceError: the storage is not on one cpu or cuda device, or is not strided (sparse, meta, sharded arrays).
        ArgumentError: the array has no storage of its own to read, or hides some of it (traced, masked).
    """
    viewer = VIEWERS.get(type(x))
    return viewer(x) if viewer is not None else _view_new_type(x)


def _view_new_type(x: Array) -> View:
    """``view`` of an array whose type was not met before; remembers the libraries' own types."""
    viewer: Callable[[Array], View] | None = None
    if isinstance(x, (np.generic, *_UNTYPED)):
        return _view_numpy(np.asarray(as_array(x)))
    if isinstance(x, np.ndarray):
        if isinstance(x, np.ma.MaskedArray):
            raise ArgumentError("a NumPy masked array holds values that its mask hides; pass x.filled(value)")
        viewer = _view_numpy
    elif _is_a(x, "torch", "Tensor"):
        _TORCH_DTYPES.update(_torch_dtypes())
        viewer = _view_torch
    elif _is_a(x, "jax.core", "Tracer"):
        raise ArgumentError("a JAX tracer has no storage: call compiled modules outside jax.jit, jax.grad and jax.vmap")
    elif _is_a(x, "jax", "Array"):
        viewer = _view_jax
    elif _is_a(x, "cupy", "ndarray"):
        viewer = _view_cupy
    elif _is_a(x, "tvm_ffi", "Tensor"):
        viewer = _view_tvm
    if viewer is not None:
        VIEWERS[type(x)] = viewer
        return viewer(x)
    # Not remembered: a class may be made anew for every array, and the table would keep each one alive.
    if not isinstance(x, type):
        if hasattr(x, "__dlpack__"):
            return _view_dlpack(x)
        if _is_buffer(x) or any(hasattr(x, f"__array{how}__") for how in ("", "_interface", "_struct")):
            return _view_numpy(np.asarray(x))
    raise DTypeError(f"expected an array, a number or a nested list of numbers; got {_type_name(x)}")


def _is_a(x: object, module: str, name: str) -> bool:
    """Whether ``x`` is an instance of a class of a module that may not be imported."""
    cls = getattr(sys.modules.get(module), name, None)
    return isinstance(cls, type) and isinstance(x, cls)


def _is_buffer(x: object) -> bool:
    try:
        memoryview(x)  # type: ignore[arg-type]
    except (TypeError, BufferError):
        return False
    return True


def _type_name(x: object) -> str:
    return f"{type(x).__module__}.{type(x).__qualname__}".removeprefix("builtins.")


def _c_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Strides in bytes of C order."""
    strides = []
    step = itemsize
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def _fits(ptr: int, shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    """``View.contiguous`` of an array that is given by its strides in bytes."""
    if 0 in shape:
        return True
    step = itemsize
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1:
            if stride != step:
                return False
            step *= extent
    return ptr % itemsize == 0


def _strided(
    ptr: int,
    shape: tuple[int, ...],
    dtype: DType,
    device: Device,
    strides: tuple[int, ...] | None,
    readonly: bool,
    owner: object,
    kind: str,
) -> View:
    """A view of an array that is given by its strides in bytes; None is C order."""
    if strides is None:
        strides = _c_strides(shape, dtype.itemsize)
    fits = _fits(ptr, shape, strides, dtype.itemsize)
    return View(ptr, shape, dtype, device, fits, readonly, owner, kind, None if fits else strides)


# -- NumPy ------------------------------------------------------------------------------------------------------------


def _pointer_by_interface(x: NDArray[Any]) -> int:
    address: int = x.__array_interface__["data"][0]
    return address


# The address of an ndarray's first element.  In Python a dict or an object is built for it, which takes 1 us.
_numpy_pointer: Callable[[NDArray[Any]], int] = _pointer_by_interface if extension is None else extension.address

_NUMPY_DTYPES: dict[Any, DType] = {np.dtype(name): d for name, d in DTYPES.items() if name != "bfloat16"}
_NUMPY_TYPES: dict[str, Any] = {d.name: np_type for np_type, d in _NUMPY_DTYPES.items()}


def _numpy_dtype(np_type: Any) -> DType:
    """The DType of a NumPy dtype that is not in the table; adds ml_dtypes' bfloat16 to it when that is first met."""
    if not np_type.isnative:
        raise DTypeError(f"dtype {np_type.newbyteorder('=')} with swapped bytes ({np_type.str}) is not supported")
    if np_type.name == "bfloat16" and np_type.itemsize == 2:
        _NUMPY_DTYPES[np_type] = DTYPES["bfloat16"]
        return DTYPES["bfloat16"]
    raise _unsupported(str(np_type))


def _unsupported(name: str) -> DTypeError:
    return DTypeError(f"dtype {name} is not supported; supported: {', '.join(DTYPES)}")


def _view_numpy(x: NDArray[Any]) -> View:
    try:
        dtype = _NUMPY_DTYPES[x.dtype]
    except KeyError:
        dtype = _numpy_dtype(x.dtype)
    if x.flags.carray:  # C order, aligned and writable
        return _make(View, (_numpy_pointer(x), x.shape, dtype, CPU, True, False, x, "numpy", None))
    flags = x.flags
    fits = flags.c_contiguous and flags.aligned
    strides = None if fits else x.strides
    return _make(View, (_numpy_pointer(x), x.shape, dtype, CPU, fits, not flags.writeable, x, "numpy", strides))


def _empty_numpy(shape: tuple[int, ...], dtype: DType, align: int = ALIGNMENT) -> tuple[NDArray[Any], int]:
    """Uninitialised NumPy storage and its address, a multiple of ``align``."""
    raw = np.empty(math.prod(shape) * dtype.itemsize + align - 1, np.uint8)
    address = _numpy_pointer(raw)
    offset = -address % align
    try:
        np_type = _NUMPY_TYPES[dtype.name]
    except KeyError:
        np_type = _NUMPY_TYPES[dtype.name] = dtype.numpy
    return np.ndarray(shape, np_type, raw, offset), address + offset


class _Memory:
    """Memory that NumPy makes an array of, and that the array then keeps alive."""

    def __init__(self, v: View) -> None:
        self.view = v
        self.__array_interface__ = {
            "version": 3,
            "data": (v.ptr, v.readonly),
            "shape": v.shape,
            "strides": v.strides,
            "typestr": np.dtype(f"u{v.dtype.itemsize}").str,
        }


def _bits(v: View) -> NDArray[Any]:
    """An array in cpu memory as NumPy array of its shape and strides, elements as unsigned integers of their size.

    Copying bits needs no ml_dtypes for bfloat16, and takes every library's cpu arrays.
    """
    return np.asarray(_Memory(v))


# -- PyTorch ----------------------------------------------------------------------------------------------------------

_TORCH_DTYPES: dict[Any, DType] = {}  # filled when the first tensor is seen


def _torch_dtypes() -> dict[Any, DType]:
    import torch

    # PyTorch has uint16, uint32 and uint64 since 2.3.
    return {getattr(torch, name): d for name, d in DTYPES.items() if hasattr(torch, name)}


def _view_torch(x: Array) -> View:
    try:
        ptr = x.data_ptr()
        shape = tuple(x.shape)
        dtype = _TORCH_DTYPES[x.dtype]
        # A lazily negated tensor's storage holds its values with the wrong sign.
        fits = x.is_contiguous() and not ptr % (dtype.bits >> 3) and not x.is_neg()
    except KeyError:
        raise _unsupported(str(x.dtype)) from None
    except RuntimeError as e:  # sparse, mkldnn and nested tensors, and those that torch.func maps over
        raise _no_storage(x) from e
    device = CPU if x.is_cpu else _torch_device(x)
    if not ptr and not (x.layout is sys.modules["torch"].strided and 0 in shape):
        raise _no_storage(x)  # a fake or a zero tensor, or a subclass that wraps other tensors
    strides = None if fits else tuple(s * (dtype.bits >> 3) for s in x.stride())
    return _make(View, (ptr, shape, dtype, device, fits, False, x, "torch", strides))


def _torch_device(x: Array) -> Device:
    device = x.device
    if device.type != "cuda":
        raise DeviceError(f"expected a torch tensor on cpu or cuda; got one on {device}")
    return ("cuda", x.get_device())


def _no_storage(x: Array) -> DeviceError:
    return DeviceError(f"expected a torch tensor with strided storage; got {_type_name(x)}, {x.layout}, on {x.device}")


def _empty_torch(shape: tuple[int, ...], dtype: DType, device: Device, align: int = 1) -> Array:
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


# -- JAX --------------------------------------------------------------------------------------------------------------


_JAX_DEVICES: dict[tuple[Any, str | None], Device] = {}


def _view_jax(x: Array) -> View:
    dtype = _NUMPY_DTYPES.get(x.dtype)
    if dtype is None:
        # Random keys have a dtype of JAX's own.
        dtype = _numpy_dtype(x.dtype) if isinstance(x.dtype, np.dtype) else None
        if dtype is None:
            raise _unsupported(str(x.dtype))
    devices = x.sharding.device_set
    if len(devices) != 1:
        raise DeviceError(f"expected a JAX array on one device; got one sharded over {len(devices)}")
    where = (*devices, x.sharding.memory_kind)
    device = _JAX_DEVICES.get(where)
    if device is None:
        device = _JAX_DEVICES[where] = _jax_device(*where)
    if x.is_deleted():  # is_ready() would crash the process
        raise DeviceError("a JAX array that was deleted or donated has no storage")
    # The pointer is known before the computation that fills the array has run.
    if not x.is_ready():
        x.block_until_ready()
    ptr = x.unsafe_buffer_pointer()
    shape = x.shape
    # JAX lets a program choose in which order an array's axes lie in memory.
    order = x.format.layout.major_to_minor if hasattr(x, "format") else x.layout.device_local_layout.major_to_minor
    strides = None
    if order != tuple(range(len(shape))):
        lengths = _c_strides(tuple(shape[axis] for axis in order), dtype.itemsize)
        strides = tuple(lengths[order.index(axis)] for axis in range(len(shape)))
    return _strided(ptr, shape, dtype, device, strides, True, x, "jax")


def _jax_device(device: Any, memory: str | None) -> Device:
    if device.platform == "cpu":
        return CPU
    is_cuda = device.platform in ("gpu", "cuda") and "rocm" not in device.client.platform_version.lower()
    if not is_cuda or memory not in (None, "device"):
        raise DeviceError(f"expected a JAX array on cpu or cuda; got one on {device}, {memory} memory")
    index = device.local_hardware_id
    return ("cuda", device.id if index is None else index)


def _empty_jax(shape: tuple[int, ...], dtype: DType, device: Device) -> Array:
    """A fresh JAX array.  Its buffer is nobody else's, so a kernel may fill it before it is handed out."""
    import jax

    try:
        candidates = jax.local_devices(backend=device[0])
    except RuntimeError as e:
        raise DeviceError(f"JAX has no {device[0]} devices: {e}") from e
    for candidate in candidates:
        if candidate.platform == "cpu" or candidate.local_hardware_id in (device[1], None):
            with _jax_64_bit(dtype):
                return jax.numpy.empty(shape, dtype.numpy, device=candidate).block_until_ready()
    raise DeviceError(f"JAX has no device {device[0]}:{device[1]}")


@contextlib.contextmanager
def _jax_64_bit(dtype: DType) -> Iterator[None]:
    """Let JAX make an array of a 64-bit type as such; by default it makes a 32-bit copy, whatever the values."""
    import jax

    if dtype.bits != 64 or jax.config.jax_enable_x64:
        yield
        return
    if hasattr(jax, "enable_x64"):
        with jax.enable_x64(True):
            yield
    else:  # older JAX
        from jax.experimental import enable_x64

        with enable_x64():
            yield


# -- CuPy -------------------------------------------------------------------------------------------------------------


def _view_cupy(x: Array) -> View:
    dtype = _NUMPY_DTYPES.get(x.dtype) or _numpy_dtype(x.dtype)
    return _strided(x.data.ptr, x.shape, dtype, ("cuda", x.device.id), x.strides, False, x, "cupy")


# -- DLPack -----------------------------------------------------------------------------------------------------------


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
_DLPACK_VERSION = (1, 1)
_DLPACK_READ_ONLY = 1
_DLPACK_DEVICES = {1: "cpu", 2: "cuda", 3: "cpu", 13: "cuda"}  # kDLCPU, kDLCUDA, kDLCUDAHost, kDLCUDAManaged
_DLPACK_CODES = {0: "int", 1: "uint", 2: "float", 3: "handle", 4: "bfloat", 5: "complex", 6: "bool"}
_DLPACK_DTYPES = {
    (code, bits): DTYPES[name]
    for code, kind in _DLPACK_CODES.items()
    for bits in (8, 16, 32, 64)
    if (name := "bool" if (kind, bits) == ("bool", 8) else f"{kind}{bits}") in DTYPES
}

# Prototypes of our own: those that hang on ctypes.pythonapi are shared with every other user of it.
_capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _view_capsule(capsule: object, owner: object, kind: str) -> View:
    """A view of the tensor in a DLPack capsule.

    The capsule keeps its name, so it stays the owner of the tensor: when it dies, its destructor calls the deleter.
    """
    if not isinstance(capsule, _CAPSULE):
        raise ArgumentError(f"expected a DLPack capsule; got {_type_name(capsule)}")
    name = _capsule_name(capsule)
    readonly = False
    if name == b"dltensor_versioned":
        managed = DLManagedTensorVersioned.from_address(_capsule_pointer(capsule, name))
        if managed.major != _DLPACK_VERSION[0]:
            # A new major version may have moved everything but the version and the deleter.
            raise ArgumentError(f"DLPack {managed.major}.{managed.minor} is not supported; supported: 1.x, unversioned")
        readonly = bool(managed.flags & _DLPACK_READ_ONLY)
        tensor = managed.dl_tensor
    elif name == b"dltensor":
        tensor = DLManagedTensor.from_address(_capsule_pointer(capsule, name)).dl_tensor
    else:
        raise ArgumentError(f"expected a fresh DLPack capsule; got one named {name!r}")
    dtype = _DLPACK_DTYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if dtype is None:
        lanes = f"x{tensor.lanes}" if tensor.lanes != 1 else ""
        raise _unsupported(f"{_DLPACK_CODES.get(tensor.code, f'DLPack code {tensor.code}, bits ')}{tensor.bits}{lanes}")
    where = _DLPACK_DEVICES.get(tensor.device_type)
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
    return _strided(ptr, shape, dtype, device, strides, readonly, owner, kind)


def _view_dlpack(x: Array) -> View:
    capsule = None
    # Producers take as many of the keywords as their version of the protocol knows.
    for keywords in ({"max_version": _DLPACK_VERSION, "copy": False}, {"max_version": _DLPACK_VERSION}, {}):
        try:
            capsule = x.__dlpack__(**keywords)
            break
        except TypeError:
            if not keywords:
                raise
        except BufferError as e:
            raise ArgumentError(f"{_type_name(x)} cannot be shared through DLPack: {e}") from e
    return _view_capsule(capsule, capsule, "dlpack")


def _view_tvm(x: Array) -> View:
    # Through DLPack: data_ptr() of a tensor that was imported leaves out its byte offset.
    return _view_capsule(x.__dlpack__(), x, "tvm")


# by type, what ``view`` does; filled as types arrive
VIEWERS: dict[type, Callable[[Any], View]] = {np.ndarray: _view_numpy}


# -- Python values ----------------------------------------------------------------------------------------------------

_UNTYPED = (bool, int, float, complex, str, bytes, list, tuple, range)
_EXACT = 1 << 53  # integers up to here are themselves in float64


def is_value(x: object) -> bool:
    """Whether ``x`` is a number, text or a list: readable as an array, but with no storage to write to."""
    return isinstance(x, (np.generic, *_UNTYPED)) or x is None


def as_array(x: Array, dtype: DType | None = None) -> Array:
    """Python numbers and nested lists as a NumPy array, of type ``dtype`` if given; arrays as they are.

    Integers must be exact in ``dtype``, floats convert to any float type (rounding, but not past its largest value),
    bools to any type.  Without ``dtype`` NumPy's own rule holds: bool, int64 (uint64 from 2^63), float64.  A NumPy
    scalar becomes a 0-d array of its own type.

    Raises:
        DTypeError: a value does not fit ``dtype``, or is no number.
        ShapeError: the lists are ragged.
    """
    if isinstance(x, np.generic):  # np.float64 is a Python float too
        return np.asarray(x)
    if not isinstance(x, _UNTYPED):
        return x
    try:
        values = np.asarray(x)
    except ValueError as e:
        raise ShapeError(f"the nested lists have no one shape: {e}") from e
    except TypeError as e:
        raise DTypeError(f"the nested lists hold something that is no number: {e}") from e
    if values.dtype.name == "bfloat16":  # of ml_dtypes' scalars
        return values if dtype is None else _convert(x, values.astype(np.float32), dtype)
    if values.dtype.kind == "O" and values.size and all(isinstance(v, (int, float)) for v in values.flat):
        # NumPy has no type for integers past uint64.
        if dtype is None:
            raise DTypeError(f"integers beyond 64 bits are not supported; got {_largest(values)}")
    elif values.dtype.kind not in "biuf":
        raise _unsupported(str(values.dtype))
    return values if dtype is None else _convert(x, values, dtype)


def _largest(values: NDArray[Any]) -> object:
    return max((v for v in values.flat if isinstance(v, int)), key=abs)


def _convert(x: Array, values: NDArray[Any], dtype: DType) -> NDArray[Any]:
    """``values``, made from the Python values ``x``, in another type."""
    kind = values.dtype.kind
    if values.size == 0:
        return np.empty(values.shape, dtype.numpy)
    if kind == "b":
        return values.astype(dtype.numpy)
    if kind == "O" or (kind in "iuf" and dtype.kind != "b" and not _is_small(values)):
        # NumPy has rounded integers that stand beside floats, or beside ones that no one type holds.
        return _convert_each(np.array(x, dtype=object), dtype)
    if dtype.kind == "b" or (kind == "f" and not dtype.is_float):
        what = "a float" if kind == "f" else "an integer"
        raise DTypeError(f"{what} does not convert to {dtype}; got {values.flat[0]}")
    if dtype.is_integer:
        for v in (int(values.min()), int(values.max())):
            if not dtype.min <= v <= dtype.max:
                raise _does_not_fit(v, dtype)
        return values.astype(dtype.numpy)
    with np.errstate(over="ignore"):
        out = values.astype(dtype.numpy)
    wide = out.astype(np.float64)
    wrong = wide != values if kind != "f" else np.isinf(wide) & np.isfinite(values)
    if wrong.any():
        raise _does_not_fit(values[wrong].flat[0], dtype)
    return out


def _is_small(values: NDArray[Any]) -> bool:
    """Whether no integer among the values has been rounded: all are below 2^53, infinite or NaN."""
    if values.dtype.kind == "f":
        values = values[np.isfinite(values)]
        return bool((np.abs(values) < _EXACT).all())
    return int(values.min()) >= -_EXACT and int(values.max()) <= _EXACT


def _convert_each(values: NDArray[Any], dtype: DType) -> NDArray[Any]:
    """Like ``_convert``, from an array of Python objects, one at a time."""
    for v in values.flat:
        if not isinstance(v, (bool, int, float, np.generic)):
            raise DTypeError(f"expected numbers; got {_type_name(v)}")
        if dtype.is_integer and not isinstance(v, (int, np.integer, np.bool_)):
            raise DTypeError(f"a float does not convert to {dtype}; got {v}")
        if dtype.is_integer and not dtype.min <= int(v) <= dtype.max:
            raise _does_not_fit(v, dtype)
    if dtype.is_integer:
        return values.astype(dtype.numpy)
    try:
        with np.errstate(over="ignore"):
            out = values.astype(np.float64).astype(dtype.numpy)
    except OverflowError:
        raise _does_not_fit(_largest(values), dtype) from None
    for v, got in zip(values.flat, out.astype(np.float64).flat, strict=True):
        # Python compares a float with an int exactly; NumPy would round the int first.
        if float(got) != int(v) if isinstance(v, (int, np.integer)) else math.isinf(got) and not math.isinf(v):
            raise _does_not_fit(v, dtype)
    return out


def _does_not_fit(value: object, dtype: DType) -> DTypeError:
    return DTypeError(f"the value {value} does not fit {dtype}")


# -- storage ----------------------------------------------------------------------------------------------------------


def contiguous(v: View, x: Array, align: int = 0) -> View:
    """The view ``v`` of ``x`` if a kernel can read it in place, at a multiple of ``align``; else one of a C-order copy.

    The copy is on the same device and has the same ``kind``; on the cpu its owner may be a NumPy array whatever the
    kind.  It is writable, and is not written back to ``x``.

    Raises:
        DeviceError: ``x`` is a cuda array whose library gives no means to copy it.
    """
    if v.contiguous and (align <= 1 or v.ptr % align == 0 or 0 in v.shape):
        return v
    if v.kind == "torch":
        copy = _empty_torch(v.shape, v.dtype, v.device, max(align, 1))
        copy.copy_(x.detach())
        return _view_torch(copy)
    if v.device[0] == "cpu":
        storage = DTYPES["uint16"] if v.dtype.name == "bfloat16" else v.dtype
        out, ptr = _empty_numpy(v.shape, storage, max(align, ALIGNMENT))
        copied = View(ptr, v.shape, v.dtype, v.device, True, False, out, v.kind)
        np.copyto(_bits(copied), _bits(v))
        return copied
    if v.kind == "cupy":
        copied = _view_cupy(x.copy(order="C"))
    elif v.kind == "jax":
        copied = _view_jax(sys.modules["jax"].numpy.copy(x))
    else:
        copied = view(_cuda_array(x, v).clone(memory_format=sys.modules["torch"].contiguous_format))
    if not copied.contiguous or (align > 1 and copied.ptr % align and 0 not in v.shape):
        raise DeviceError(f"{v.kind} gave no C-ordered copy at a multiple of {max(align, v.dtype.itemsize)} bytes")
    return copied._replace(kind=v.kind, readonly=False)


def _cuda_array(x: Array, v: View) -> Array:
    """A cuda array of a library without copying of its own, as a torch tensor that shares its storage."""
    torch = sys.modules.get("torch")
    if torch is None:
        raise DeviceError(f"copying a {v.kind} array on cuda needs torch, which is not imported; pass one in C order")
    return x.detach() if v.kind == "torch" else torch.from_dlpack(x)


def empty(kind: str, shape: tuple[int, ...], dtype: DType, device: Device = CPU) -> tuple[Array, View]:
    """Uninitialised C-ordered storage of a library, and its view; pass the array through ``finish`` when it is filled.

    NumPy storage starts at a multiple of 64 bytes.  A JAX array cannot be written, so on the cpu its storage is NumPy's
    until ``finish``; ``dlpack``, an array of no library in particular, is a NumPy array on the cpu and TVM's on cuda.

    Raises:
        DeviceError: the library has no such device.
        DTypeError: the library has no such type.
        MissingExtraError: ``dtype`` is bfloat16, the storage is NumPy's and ml_dtypes is not installed.
    """
    if device[0] not in ("cpu", "cuda"):
        raise DeviceError(f"expected the device cpu or cuda; got {device[0]}")
    if device[0] == "cpu" and kind in ("numpy", "jax", "dlpack"):
        out, ptr = _empty_numpy(shape, dtype)
        return out, _make(View, (ptr, shape, dtype, CPU, True, False, out, kind, None))
    array: Array
    if kind == "torch":
        array = _empty_torch(shape, dtype, device)
        return array, _make(View, (array.data_ptr(), shape, dtype, device, True, False, array, kind, None))
    if kind == "tvm" or (kind == "dlpack" and device[0] == "cuda"):
        from tvm import runtime

        try:
            array = runtime.empty(shape, dtype.name, runtime.device(*device))
        except RuntimeError as e:
            raise DeviceError(f"TVM cannot allocate on {device[0]}:{device[1]}: {e}") from e
        return array, _make(View, (array.data_ptr(), shape, dtype, device, True, False, array, kind, None))
    elif kind == "cupy" and device[0] == "cuda":
        import cupy

        with cupy.cuda.Device(device[1]):
            array = cupy.empty(shape, dtype.numpy)
    elif kind == "jax":
        array = _empty_jax(shape, dtype, device)
    elif kind in _KINDS:
        raise DeviceError(f"{kind} has no arrays on {device[0]}")
    else:
        raise ArgumentError(f"unknown kind of array {kind!r}; known: {', '.join(_KINDS)}")
    v = view(array)
    return array, v._replace(kind=kind, readonly=False)


def finish(kind: str, array: Array) -> Array:
    """What a caller gets for the storage from ``empty(kind, ...)``: ``array`` itself, or for JAX an array of its own.

    JAX adopts NumPy storage without copying, so nobody may write it any more.
    """
    if kind != "jax" or not isinstance(array, np.ndarray):
        return array
    import jax

    with _jax_64_bit(_NUMPY_DTYPES.get(array.dtype) or _numpy_dtype(array.dtype)):
        return jax.device_put(array, jax.local_devices(backend="cpu")[0], may_alias=True)


def copy_into(dst_array: Array, dst: View, src_array: Array, src: View) -> None:
    """Copy a result into an array of a caller who wants it there; ``dst`` and ``src`` are the arrays' views.

    The libraries may differ on the cpu.  The two must not overlap.

    Raises:
        ShapeError, DTypeError, DeviceError: the two differ in shape, type or device.
        ArgumentError: the destination is read-only, or several of its elements lie in the same place.
    """
    if dst.shape != src.shape:
        raise ShapeError(f"cannot copy an array of shape {shape_str(src.shape)} into one of {shape_str(dst.shape)}")
    if dst.dtype is not src.dtype:
        raise DTypeError(f"cannot copy an array of {src.dtype} into one of {dst.dtype}")
    if dst.device != src.device:
        raise DeviceError(f"cannot copy an array on {src.device} into one on {dst.device}")
    if dst.readonly:
        raise ArgumentError(f"cannot copy into a {dst.kind} array that is read-only")
    if dst.strides and any(extent > 1 and not stride for extent, stride in zip(dst.shape, dst.strides, strict=True)):
        raise ArgumentError("cannot copy into an array whose elements share storage (a broadcast view)")
    if 0 in dst.shape:
        return
    if dst.kind == "torch" and src.kind == "torch":
        with sys.modules["torch"].no_grad():
            dst_array.copy_(src_array)
    elif dst.device[0] == "cpu":
        if dst.kind == "torch" and dst_array.is_neg():
            raise ArgumentError("cannot copy into a torch tensor that is lazily negated; pass its resolve_neg()")
        np.copyto(_bits(dst), _bits(contiguous(src, src_array)))
    elif dst.kind == "cupy":
        dst_array[...] = src_array if src.kind == "cupy" else sys.modules["cupy"].from_dlpack(src_array)
    else:
        _cuda_array(dst_array, dst).copy_(_cuda_array(src_array, src))
