"""Where other libraries' arrays lie in memory, and storage in their kind."""

from __future__ import annotations

import ctypes
import gc
import math
import subprocess
import sys
import textwrap
import types
import weakref
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

from gscompile.errors import ArgumentError, DeviceError, DTypeError, MissingExtraError, ShapeError
from gscompile.ir.types import DTYPES
from gscompile.runtime import arrays
from gscompile.runtime.aliasing import overlap, span
from gscompile.runtime.arrays import View, as_array, contiguous, copy_into, empty, finish, ndarray, view
from gscompile.runtime.arrays.jax import _adopter, empty_jax
from tests import cases

CPU = ("cpu", 0)
WIDE = cases.DTYPES
NAMES = [name for name in WIDE if name != "bfloat16"]


def need(module: str) -> Any:
    """The module, or a skip that names it."""
    return pytest.importorskip(module, reason=f"{module} is not installed", exc_type=ImportError)


def need_cuda() -> Any:
    """torch, where it has a CUDA device."""
    torch = need("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no CUDA device")
    return torch


def np_type(name: str) -> np.dtype[Any]:
    return np.dtype(need("ml_dtypes").bfloat16) if name == "bfloat16" else np.dtype(name)


def sample(name: str = "float32", shape: tuple[int, ...] = (3, 4)) -> np.ndarray[Any, Any]:
    """Values that differ from one element to the next (as far as bool can)."""
    return (np.arange(math.prod(shape)) % 100).reshape(shape).astype(np_type(name))


def memory(v: View) -> bytes:
    """What is at a contiguous view's address."""
    return ctypes.string_at(v.ptr, math.prod(v.shape) * v.dtype.itemsize)


# -- an array library of our own --------------------------------------------------------------------------------------

CapsuleDestructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def _api(name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_new = _api("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, CapsuleDestructor)
# A destructor gets a capsule that is dying: an address, never a Python reference.
_pointer = _api("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
_immortal = _api("Py_IncRef", None, ctypes.py_object)
_is_valid = _api("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)


class Tensor(ctypes.Structure):
    """DLTensor, written again from the specification rather than taken from what is tested."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("dtype_code_and_bits", ctypes.c_uint8 * 2),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )


class Legacy(ctypes.Structure):
    _fields_ = (("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", Deleter))


class Versioned(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint32 * 2),
        ("context", ctypes.c_void_p),
        ("deleter", Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


class Exporter:
    """An array with nothing but DLPack, that counts how often its tensors are deleted."""

    CODES = types.MappingProxyType({"i": 0, "u": 1, "f": 2, "V": 4, "c": 5, "b": 6})
    alive: ClassVar[dict[int, Any]] = {}  # address of a managed tensor -> all that it points to

    def __init__(self, array: np.ndarray[Any, Any], *, versioned: bool = True, **changes: Any) -> None:
        self.array = array
        self.versioned = versioned
        self.changes = changes  # of the struct: data device code bits lanes strides byte_offset flags version name
        self.deleted = [0]
        self.asked: list[dict[str, Any]] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **keywords: Any) -> object:
        self.asked.append(keywords)
        if not self.versioned and keywords:
            raise TypeError("an old producer knows no keywords")
        versioned = "max_version" in keywords
        a, c = self.array, self.changes
        shape = (ctypes.c_int64 * a.ndim)(*a.shape)
        strides = (ctypes.c_int64 * a.ndim)(*(s // a.itemsize for s in a.strides))
        tensor = Tensor(
            c.get("data", a.ctypes.data),
            (ctypes.c_int32 * 2)(*c.get("device", (1, 0))),
            a.ndim,
            (ctypes.c_uint8 * 2)(c.get("code", self.CODES[a.dtype.kind]), c.get("bits", a.itemsize * 8)),
            c.get("lanes", 1),
            ctypes.addressof(shape),
            ctypes.addressof(strides) if c.get("strides", True) else None,
            c.get("byte_offset", 0),
        )
        count = self.deleted

        def delete(address: int) -> None:
            count[0] += 1
            del Exporter.alive[address]

        deleter = Deleter(delete)
        managed: Any
        if versioned:
            version = (ctypes.c_uint32 * 2)(*c.get("version", (1, 0)))
            managed = Versioned(version, None, deleter, c.get("flags", 0), tensor)
        else:
            managed = Legacy(tensor, None, deleter)
        address = ctypes.addressof(managed)
        name = c.get("name", b"dltensor_versioned" if versioned else b"dltensor")

        def destroy(capsule: int) -> None:
            if _is_valid(capsule, name):  # nobody renamed it to take the tensor over
                managed.deleter(_pointer(capsule, name))

        destructor = CapsuleDestructor(destroy)
        Exporter.alive[address] = (a, shape, strides, managed, name)
        # A callback must not be freed while it runs, nor before the last capsule dies as the interpreter ends.
        for callback in (deleter, destructor):
            _immortal(callback)
        return _new(address, name, destructor)


class Wrapper:
    """An array with nothing but DLPack, and that NumPy's."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def __dlpack__(self, **keywords: Any) -> object:
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


def to_torch(a: np.ndarray[Any, Any]) -> Any:
    """A tensor that shares the storage of ``a``."""
    torch = need("torch")
    if a.dtype.name == "bfloat16":
        return torch.from_numpy(a.view(np.uint16)).view(torch.bfloat16)
    return torch.from_numpy(a)


def to_jax(a: np.ndarray[Any, Any]) -> Any:
    jax = need("jax")
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else need("jax.experimental").enable_x64():
        return jax.device_put(a)


def to_tvm(a: np.ndarray[Any, Any]) -> Any:
    return need("tvm.runtime").tensor(a)


# Of each kind: an array made from a NumPy array, and the address of its storage by another way than ``view``'s.
LIBRARIES: dict[str, tuple[Callable[[np.ndarray[Any, Any]], Any], Callable[[Any, np.ndarray[Any, Any]], int]]] = {
    "numpy": (lambda a: a, lambda x, a: int(a.ctypes.data)),
    "torch": (to_torch, lambda x, a: int(a.ctypes.data)),
    "jax": (to_jax, lambda x, a: int(np.asarray(x).ctypes.data)),  # zero-copy on the cpu
    "tvm": (to_tvm, lambda x, a: int(np.from_dlpack(Uint8(x)).ctypes.data)),
    "dlpack": (Exporter, lambda x, a: int(a.ctypes.data)),
}


class Uint8:
    """A DLPack array whose dtype NumPy need not know."""

    def __init__(self, x: Any) -> None:
        self.x = x._create_view((x.numpy().nbytes,), "uint8")

    def __dlpack__(self, **keywords: Any) -> object:
        return self.x.__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        return self.x.__dlpack_device__()


# -- view -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WIDE)
@pytest.mark.parametrize("kind", LIBRARIES)
def test_pointer_shape_dtype(kind: str, name: str) -> None:
    if kind == "torch" and not hasattr(need("torch"), name):
        pytest.skip(f"this torch has no {name}")
    if kind == "tvm" and DTYPES[name].is_complex:
        pytest.skip("TVM has no complex dtypes")
    make, address = LIBRARIES[kind]
    a = sample(name, (2, 3, 4))
    x = make(a)
    v = view(x)
    assert v.ptr == address(x, a)
    assert memory(v) == a.tobytes()
    assert v[1:6] == ((2, 3, 4), DTYPES[name], CPU, True, kind == "jax")
    assert v.kind == kind
    assert v.strides is None
    assert type(v.shape) is tuple


@pytest.mark.parametrize("shape", [(), (1,), (0,), (0, 3), (2, 0, 3), (1, 1, 2)])
@pytest.mark.parametrize("kind", LIBRARIES)
def test_small_and_empty_shapes(kind: str, shape: tuple[int, ...]) -> None:
    a = sample(shape=shape)
    x = LIBRARIES[kind][0](a)
    v = view(x)
    assert v.shape == shape
    assert v.contiguous
    assert v.strides is None
    assert contiguous(v, x, 64).shape == shape
    if a.size:
        assert memory(v) == a.tobytes()


def strided_cases() -> dict[str, Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]]:
    return {
        "transposed": lambda a: a.T,
        "rows": lambda a: a[::2],
        "columns": lambda a: a[:, 1:3],
        "broadcast": lambda a: np.broadcast_to(a[:1], (5, a.shape[1])),
        "reversed": lambda a: a[::-1, ::-1],
    }


@pytest.mark.parametrize("name", ["float32", "bool", "bfloat16", "int64"])
@pytest.mark.parametrize(
    ("kind", "case"),
    # torch has no negative strides
    [(k, c) for k in ("numpy", "torch", "dlpack", "tvm") for c in strided_cases() if (k, c) != ("torch", "reversed")],
)
def test_strided(kind: str, case: str, name: str) -> None:
    s = strided_cases()[case](sample(name))
    if kind == "torch":
        base = to_torch(sample(name))
        x = {
            "transposed": lambda: base.t(),
            "rows": lambda: base[::2],
            "columns": lambda: base[:, 1:3],
            "broadcast": lambda: base[:1].expand(5, 4),
        }[case]()
    elif kind == "tvm":
        x = need("tvm_ffi").from_dlpack(Exporter(s))
    else:
        x = s if kind == "numpy" else Exporter(s)
    v = view(x)
    assert not v.contiguous
    assert v.strides == s.strides
    assert v.shape == s.shape
    if kind != "torch":
        assert v.ptr == s.ctypes.data
    copy = contiguous(v, x)
    assert copy.contiguous
    assert copy.strides is None
    assert copy.kind == kind
    assert not copy.readonly
    assert copy[1:4] == v[1:4]
    assert copy.ptr % 64 == 0
    assert memory(copy) == s.tobytes()
    assert not overlap(span(copy), span(v))


def test_negative_stride_pointer_is_of_the_first_element() -> None:
    a = sample()
    assert view(a[::-1]).ptr == a.ctypes.data + 2 * a.strides[0]


def test_a_size_1_axis_with_an_odd_stride_is_no_gap() -> None:
    a = np.lib.stride_tricks.as_strided(sample(), (3, 1, 4), (16, 3, 4))
    v = view(a)
    assert v.contiguous
    assert contiguous(v, a) is v
    assert view(Exporter(a)).contiguous
    torch = need("torch")
    assert view(torch.as_strided(torch.zeros(12), (3, 1, 4), (4, 77, 1))).contiguous


@pytest.mark.parametrize("kind", ["numpy", "torch", "dlpack"])
def test_misaligned_elements_are_copied(kind: str) -> None:
    raw = np.arange(64, dtype=np.uint8)
    offset = -raw.ctypes.data % 8 + 2
    a = raw[offset : offset + 24].view(np.float32)
    if kind == "torch":
        torch = need("torch")
        x = torch.frombuffer(raw, dtype=torch.float32, count=6, offset=offset)
    else:
        x = a if kind == "numpy" else Exporter(a)
    v = view(x)
    assert v.ptr == a.ctypes.data
    assert not v.contiguous
    copy = contiguous(v, x)
    assert copy.ptr % 4 == 0
    assert memory(copy) == a.tobytes()


def test_readonly_numpy() -> None:
    a = sample()
    assert not view(a).readonly
    assert not view(a.T).readonly
    a.setflags(write=False)
    v = view(a)
    assert v.readonly
    assert v.contiguous
    assert v.ptr == a.ctypes.data
    assert view(a.T).readonly
    b = np.broadcast_to(np.float32(3), (2, 2))
    assert view(b).readonly
    assert not view(b).contiguous


def test_numpy_subclasses_and_platform_types(tmp_path: Any) -> None:
    m = np.memmap(tmp_path / "m", np.int16, "w+", shape=(5,))
    m[:] = range(5)
    v = view(m)
    assert v.kind == "numpy"
    assert memory(v) == np.arange(5, dtype=np.int16).tobytes()
    for code in "bBhHiIlLqQpPefd?":  # int64 is both long and long long
        assert view(np.zeros(2, code)).dtype.name == np.dtype(code).name


@pytest.mark.parametrize(
    ("value", "shape", "name"),
    [
        (3, (), "int64"),
        (True, (), "bool"),
        (2.5, (), "float64"),
        ([[1, 2], [3, 4]], (2, 2), "int64"),
        ((1.5, 2), (2,), "float64"),
        (range(3), (3,), "int64"),
        (np.float32(7), (), "float32"),
        (np.float64(7), (), "float64"),
        (np.bool_(True), (), "bool"),
        (bytearray(b"ab"), (2,), "uint8"),
        (memoryview(np.arange(3, dtype=np.int16)), (3,), "int16"),
    ],
)
def test_view_of_python_values(value: Any, shape: tuple[int, ...], name: str) -> None:
    v = view(value)
    assert v[1:5] == (shape, DTYPES[name], CPU, True)
    assert v.kind == "numpy"
    assert memory(v) == np.asarray(value).tobytes()


def test_view_of_an_object_with_array_interface_shares_its_storage() -> None:
    a = sample()
    assert view(types.SimpleNamespace(__array_interface__=a.__array_interface__, keep=a)).ptr == a.ctypes.data


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: np.array([None]), "object"),
        (lambda: need("torch").zeros(2, dtype=need("torch").complex32), "complex32"),
        (lambda: need("torch").zeros(2).view(need("torch").bits8), "bits8"),
        (lambda: need("jax").random.key(0), "key"),
        (lambda: need("tvm.runtime").empty((2,), "float4_e2m1fn"), "DLPack code 17"),
        (lambda: need("tvm.runtime").empty((2,), "float32x4"), "float32x4"),
        (lambda: Exporter(np.zeros(2, "complex64"), bits=32), "complex32"),
        (lambda: Exporter(np.zeros(2, "int8"), bits=4), "int4"),
        (lambda: Exporter(np.zeros(2, "float32"), lanes=4), "float32x4"),
        (lambda: None, "NoneType"),
        (dict, "dict"),
        (lambda: np.ndarray, "type"),
        (lambda: "text", "<U4"),
        (lambda: [1, None], "object"),
        (lambda: [2**70, 1], str(2**70)),
    ],
)
def test_types_that_are_refused(make: Callable[[], Any], message: str) -> None:
    x = make()
    with pytest.raises(DTypeError, match=message):
        view(x)


def test_ragged_lists_are_refused() -> None:
    with pytest.raises(ShapeError, match="inhomogeneous"):
        view([[1], [2, 3]])


def test_masked_arrays_are_refused() -> None:
    with pytest.raises(ArgumentError, match="filled"):
        view(np.ma.masked_array([1, 2], [True, False]))


def test_a_view_keeps_its_numpy_array_and_lets_it_go() -> None:
    a = sample()
    alive = weakref.ref(a)
    v = view(a)
    del a
    gc.collect()
    assert alive() is not None
    assert memory(v) == sample().tobytes()
    del v
    assert alive() is None


@pytest.mark.parametrize("kind", ["torch", "jax"])
def test_a_view_keeps_a_framework_array_and_lets_it_go(kind: str) -> None:
    x = LIBRARIES[kind][0](sample())
    alive = weakref.ref(x)
    v = view(x)
    del x
    gc.collect()
    assert alive() is not None
    assert memory(v) == sample().tobytes()
    del v
    gc.collect()
    assert alive() is None


def test_no_library_is_imported_to_look_at_an_array() -> None:
    code = """
        import sys
        import numpy as np
        from gscompile.errors import DTypeError
        from gscompile.ir.types import DTYPES
        from gscompile.runtime import arrays
        class Wrapper:
            def __dlpack__(self, **keywords):
                return np.zeros(3).__dlpack__(**keywords)
        before = set(sys.modules)
        for x in (np.zeros(3), [1, 2], 3, np.float32(1), bytearray(4), Wrapper(), np.zeros((2, 3)).T):
            arrays.contiguous(arrays.view(x), x)
        arrays.finish("numpy", arrays.empty("numpy", (3,), DTYPES["float32"])[0])
        try:
            arrays.view(None)
        except DTypeError:
            print(sorted((set(sys.modules) - before) & {"torch", "jax", "cupy", "tvm", "tvm_ffi", "ml_dtypes"}))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_the_portable_way_to_a_numpy_pointer(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is used where NumPy's layout is not the known one."""
    monkeypatch.setattr(ndarray, "_pointer", ndarray._pointer_by_interface)
    a = sample()
    for x in (a, a.T, a[1:], a[::-1]):
        assert view(x).ptr == x.ctypes.data
    assert empty("numpy", (3,), DTYPES["int8"])[1].ptr % 64 == 0


# -- torch ------------------------------------------------------------------------------------------------------------


def test_torch_tensors_that_require_grad() -> None:
    torch = need("torch")
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    assert view(x).ptr == x.detach().numpy().ctypes.data
    parameter = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3))
    assert view(parameter)[0:2] == (parameter.data_ptr(), (2, 3))
    copy = contiguous(view(parameter.t()), parameter.t())
    assert memory(copy) == np.arange(6, dtype=np.float32).reshape(2, 3).T.tobytes()
    assert not copy.owner.requires_grad  # type: ignore[attr-defined]
    y = (x * 2).t()
    assert contiguous(view(y), y).shape == (3, 2)
    copy_into(parameter, view(parameter), y.t(), view(y.t()))
    assert parameter.tolist() == (x * 2).tolist()


def test_lazily_negated_torch_tensors_are_copied() -> None:
    torch = need("torch")
    for x in (torch.tensor([1 + 2j]).conj().imag, torch.tensor([1 + 2j, 3 + 4j]).conj().imag):
        assert x.is_neg()
        v = view(x)
        assert not v.contiguous
        assert memory(contiguous(v, x)) == np.array(x.tolist(), np.float32).tobytes()
        out, ov = empty("numpy", v.shape, v.dtype)
        copy_into(out, ov, x, v)
        assert out.tolist() == x.tolist()
        out += 10
        with pytest.raises(ArgumentError, match="lazily negated"):
            copy_into(x, v, out, ov)
        result = torch.full(v.shape, 7.0)
        copy_into(x, v, result, view(result))
        assert x.tolist() == result.tolist()


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.zeros(2, 3, device="meta"),
        lambda t: t.zeros(0, device="meta"),
        lambda t: t.zeros(2, 3).to_sparse(),
        lambda t: t.zeros(2, 3).to_sparse_csr(),
        lambda t: t.nested.nested_tensor([t.ones(2), t.ones(3)]),
        lambda t: t.nested.nested_tensor([t.ones(2), t.ones(3)], layout=t.jagged),
        lambda t: t._efficientzerotensor(3),
    ],
)
def test_torch_tensors_without_strided_storage_on_cpu_or_cuda(make: Callable[[Any], Any]) -> None:
    x = make(need("torch"))
    with pytest.raises(DeviceError, match="expected a torch tensor"):
        view(x)


def test_fake_and_mapped_torch_tensors() -> None:
    torch = need("torch")
    with need("torch._subclasses.fake_tensor").FakeTensorMode():
        x = torch.zeros(2, 3)
    with pytest.raises(DeviceError, match="FakeTensor"):
        view(x)
    with pytest.raises(DeviceError, match="strided storage"):
        torch.vmap(lambda row: view(row).owner)(torch.zeros(2, 3))


@pytest.mark.gpu
def test_torch_on_cuda() -> None:
    torch = need_cuda()
    x = torch.arange(12.0, device="cuda:0").reshape(3, 4)
    v = view(x)
    assert v[0:5] == (x.data_ptr(), (3, 4), DTYPES["float32"], ("cuda", 0), True)
    copy = contiguous(view(x.t()), x.t(), 256)
    assert copy.device == ("cuda", 0)
    assert copy.owner.cpu().tolist() == x.t().tolist()  # type: ignore[attr-defined]
    out, ov = empty("torch", (4, 3), DTYPES["float32"], ("cuda", 0))
    assert ov[0:4] == (out.data_ptr(), (4, 3), DTYPES["float32"], ("cuda", 0))
    copy_into(out, ov, x.t(), view(x.t()))
    assert out.tolist() == x.t().tolist()
    wrapped = Wrapper(x.t())
    v = view(wrapped)
    assert v[0:5] == (x.data_ptr(), (4, 3), DTYPES["float32"], ("cuda", 0), False)
    assert contiguous(v, wrapped).owner.tolist() == x.t().tolist()  # type: ignore[attr-defined]


# -- JAX --------------------------------------------------------------------------------------------------------------


def test_jax_waits_for_the_computation() -> None:
    jax = need("jax")
    x = jax.numpy.eye(1200) * 1.001
    v = view(jax.jit(lambda x: x @ x @ x @ x + 1)(x))
    assert np.frombuffer(memory(v), np.float32).reshape(1200, 1200).min() == 1.0


def test_jax_layouts_other_than_row_major() -> None:
    jax = need("jax")
    layouts = need("jax.experimental.layout")
    if not hasattr(layouts, "Format"):
        pytest.skip("this JAX has no Format")
    x = jax.numpy.arange(24.0).reshape(2, 3, 4)
    y = jax.jit(lambda x: x + 0, out_shardings=layouts.Format(layouts.Layout((2, 0, 1)), x.sharding))(x)
    v = view(y)
    assert not v.contiguous
    assert v.strides == (12, 4, 24)
    assert memory(v._replace(contiguous=True)) == np.asarray(x).transpose(2, 0, 1).tobytes()
    copy = contiguous(v, y)
    assert copy.kind == "jax"
    assert memory(copy) == np.asarray(x).tobytes()


def test_jax_arrays_without_storage() -> None:
    jax = need("jax")
    x = jax.numpy.zeros(3)
    x.delete()
    with pytest.raises(DeviceError, match="deleted"):
        view(x)
    with pytest.raises(ArgumentError, match="tracer"):
        jax.jit(lambda x: view(x).owner)(jax.numpy.zeros(3))


def test_jax_sharded_and_second_devices() -> None:
    need("jax")
    code = """
        import jax, numpy as np
        from gscompile.runtime.arrays import view
        from gscompile.errors import DeviceError
        devices = jax.devices("cpu")
        print(len(devices), view(jax.device_put(np.zeros(4), devices[1])).device)
        mesh = jax.sharding.Mesh(np.array(devices), "x")
        for spec in ("x", None):
            try:
                view(jax.device_put(np.zeros(4), jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(spec))))
            except DeviceError as e:
                print(e)
    """
    environment = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False, env=environment
    )
    refused = "expected a JAX array on one device; got one sharded over 2\n"
    assert done.stdout == "2 ('cpu', 0)\n" + 2 * refused, done.stderr


# -- CuPy -------------------------------------------------------------------------------------------------------------


def test_cupy_arrays_by_a_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """CuPy needs a GPU; this checks which of its documented attributes are read, and that a strided array is copied."""

    class Ndarray:
        def __init__(self, base: np.ndarray[Any, Any]) -> None:
            self.base = base
            self.shape, self.strides, self.dtype = base.shape, base.strides, base.dtype
            self.data = types.SimpleNamespace(ptr=base.ctypes.data)
            self.device = types.SimpleNamespace(id=2)

        def copy(self, order: str) -> Ndarray:
            return Ndarray(self.base.copy(order))

        __dlpack__ = None  # the class must be known before that is looked for

    monkeypatch.setitem(sys.modules, "cupy", types.SimpleNamespace(ndarray=Ndarray))  # type: ignore[misc]
    a = sample("float16")
    x = Ndarray(a)
    v = view(x)
    assert v == (a.ctypes.data, (3, 4), DTYPES["float16"], ("cuda", 2), True, False, x, "cupy", None)
    t = Ndarray(a.T)
    assert view(t)[4:] == (False, False, t, "cupy", (2, 8))
    copy = contiguous(view(t), t)
    assert copy[3:5] == (("cuda", 2), True)
    assert memory(copy) == a.T.tobytes()
    del arrays.VIEWERS[Ndarray]


# -- DLPack and TVM ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("versioned", [True, False])
def test_dlpack_tensor_lives_as_long_as_its_view(versioned: bool) -> None:
    exporter = Exporter(sample(), versioned=versioned)
    deleted = exporter.deleted
    alive = weakref.ref(exporter.array)
    v = view(exporter)
    del exporter
    gc.collect()
    assert deleted == [0]
    assert memory(v) == sample().tobytes()
    other = v._replace(kind="numpy")
    del v
    gc.collect()
    assert deleted == [0]
    del other
    gc.collect()
    assert deleted == [1]
    assert alive() is None


@pytest.mark.parametrize("versioned", [True, False])
def test_dlpack_tensor_is_deleted_when_it_is_refused(versioned: bool) -> None:
    for changes in ({"device": (4, 0)}, {"lanes": 2}, {"version": (2, 0)}):
        if "version" in changes and not versioned:
            continue
        exporter = Exporter(sample(), versioned=versioned, **changes)
        with pytest.raises((ArgumentError, DTypeError, DeviceError)):
            view(exporter)
        gc.collect()
        assert exporter.deleted == [1]


def test_dlpack_copies_keep_a_strided_tensor_only_while_they_are_made() -> None:
    exporter = Exporter(sample().T)
    copy = contiguous(view(exporter), exporter)
    gc.collect()
    assert exporter.deleted == [1]
    assert memory(copy) == sample().T.tobytes()


def test_dlpack_fields() -> None:
    a = sample()
    assert view(Exporter(a)).readonly is False
    assert view(Exporter(a, flags=1)).readonly is True
    assert view(Exporter(a, flags=2)).readonly is False
    assert view(Exporter(a, versioned=False)).readonly is False
    assert view(Exporter(a.T, strides=False)).contiguous  # no strides: C order
    assert view(Exporter(a, byte_offset=16)).ptr == a.ctypes.data + 16
    assert view(Exporter(a, version=(1, 9))).ptr == a.ctypes.data
    assert view(Exporter(np.zeros((0, 3)), data=None)).ptr == 0
    assert view(Exporter(a, device=(2, 3))).device == ("cuda", 3)
    assert view(Exporter(a, device=(3, 1))).device == CPU  # host memory that CUDA has pinned
    assert view(Exporter(a, device=(13, 1))).device == ("cuda", 1)  # managed
    assert view(Exporter(sample("bool"), code=1)).dtype.name == "uint8"
    with pytest.raises(DeviceError, match="no storage"):
        view(Exporter(a, data=None))
    with pytest.raises(DeviceError, match="device type 8"):
        view(Exporter(a, device=(8, 0)))
    with pytest.raises(ArgumentError, match=r"DLPack 2\.0"):
        view(Exporter(a, version=(2, 0)))
    with pytest.raises(ArgumentError, match="used_dltensor"):
        view(Exporter(a, name=b"used_dltensor_versioned"))


def test_dlpack_asks_for_no_copy_and_goes_back_to_old_producers() -> None:
    new, old = Exporter(sample()), Exporter(sample(), versioned=False)
    view(new)
    assert new.asked == [{"max_version": (1, 1), "copy": False}]
    view(old)
    assert old.asked[-1] == {}

    class Stubborn:
        def __dlpack__(self, **keywords: Any) -> object:
            raise BufferError("not today")

    with pytest.raises(ArgumentError, match="not today"):
        view(Stubborn())

    class Wrong:
        def __dlpack__(self, **keywords: Any) -> object:
            return 3

    with pytest.raises(ArgumentError, match="capsule; got int"):
        view(Wrong())


def test_dlpack_of_numpy_through_a_class_with_nothing_else() -> None:
    a = sample()
    count = sys.getrefcount(a)
    v = view(Wrapper(a))
    assert v[0:6] == (a.ctypes.data, (3, 4), DTYPES["float32"], CPU, True, False)
    assert sys.getrefcount(a) > count
    del v
    assert sys.getrefcount(a) == count
    a.setflags(write=False)
    assert view(Wrapper(a)).readonly


def test_types_of_single_use_classes_are_not_kept() -> None:
    def make() -> weakref.ref[type]:
        class Once(Wrapper):
            pass

        view(Once(sample()))
        return weakref.ref(Once)

    once = make()
    gc.collect()
    assert once() is None


def test_tvm_tensor_lives_as_long_as_its_view() -> None:
    ffi = need("tvm_ffi")
    exporter = Exporter(sample())
    deleted = exporter.deleted
    x = ffi.from_dlpack(exporter)
    v = view(x)
    assert v.kind == "tvm"
    assert v.ptr == exporter.array.ctypes.data
    del x, exporter
    gc.collect()
    assert deleted == [0]
    del v
    gc.collect()
    assert deleted == [1]


def test_tvm_byte_offset() -> None:
    exporter = Exporter(sample(), byte_offset=8)
    x = need("tvm_ffi").from_dlpack(exporter)
    assert view(x).ptr == exporter.array.ctypes.data + 8


# -- as_array ---------------------------------------------------------------------------------------------------------

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ([1, 2, 300], "int16"),
        ([-128, 127], "int8"),
        ([0, 255], "uint8"),
        ([0, 2**64 - 1], "uint64"),
        ([-(2**63), 2**63 - 1], "int64"),
        ([1, 2, 3], "float16"),
        ([2**24, -1], "float32"),
        ([2**60, 1.5], "float32"),
        ([2**64, 2**70], "float64"),
        ([-1, 2**63], "float64"),
        ([1.5, -0.1, NAN, INF, -INF], "float16"),
        ([1.5, -0.1, NAN, INF, -INF], "float32"),
        ([1e300, 1e-300], "float64"),
        ([1e30, -1e30], "float32"),
        (0.1, "float32"),
        (3, "float64"),
        ([True, False], "bool"),
        ([True, False], "int32"),
        ([True, 5], "uint8"),
        ([], "int32"),
        ([[], []], "bool"),
        (range(4), "int8"),
        ([np.int8(3), 4], "float16"),
    ],
)
def test_python_values_that_fit(value: Any, name: str) -> None:
    got = as_array(value, DTYPES[name])
    with np.errstate(all="ignore"):
        want = np.array(value, object).astype(name)
    assert got.dtype == np.dtype(name)
    assert got.shape == want.shape
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("value", "name", "message"),
    [
        ([1, 128], "int8", "128 does not fit int8"),
        ([-1], "uint8", "-1 does not fit uint8"),
        ([-1, 2**63], "uint64", "-1 does not fit uint64"),
        ([-1, 2**63], "int64", f"{2**63} does not fit int64"),
        ([2**64], "uint64", f"{2**64} does not fit uint64"),
        ([2049], "float16", "2049 does not fit float16"),
        ([2**24 + 1], "float32", "16777217 does not fit float32"),
        ([2**53 + 1], "float64", f"{2**53 + 1} does not fit float64"),
        ([2**53 + 1, 0.5], "float64", f"{2**53 + 1} does not fit float64"),
        ([10**400], "float64", "does not fit float64"),
        ([70000], "float16", "70000 does not fit float16"),
        ([70000.5], "float16", "70000.5 does not fit float16"),
        ([1e39], "float32", r"1e\+39 does not fit float32"),
        ([1.0], "int64", "a float does not convert to int64"),
        ([1e30], "int64", "a float does not convert to int64"),
        (1.5, "bool", "a float does not convert to bool"),
        ([0, 1], "bool", "an integer does not convert to bool"),
        ([2**64], "bool", "not convert to bool|does not fit bool"),
        (["a"], "float32", "<U1"),
        ([1j], "float32", "a complex number does not convert to float32"),
        ([1e39j], "complex64", r"1e\+39 does not fit float32"),
        ([None, 2**70], "int64", "object"),
        ([1.5, "a"], "float32", "<U"),
    ],
)
def test_python_values_that_do_not_fit(value: Any, name: str, message: str) -> None:
    with pytest.raises(DTypeError, match=message):
        as_array(value, DTYPES[name])


def test_python_values_as_bfloat16() -> None:
    ml_dtypes = need("ml_dtypes")
    bfloat16 = DTYPES["bfloat16"]
    got = as_array([1, 256, -3], bfloat16)
    assert got.dtype == ml_dtypes.bfloat16
    assert got.tolist() == [1, 256, -3]
    assert as_array([0.1, NAN, INF, 1e38], bfloat16).astype(np.float32)[0] == np.float32(0.10009765625)
    assert as_array([ml_dtypes.bfloat16(1.5)], DTYPES["float32"]).tolist() == [1.5]
    assert as_array([ml_dtypes.bfloat16(1.5)]).dtype == ml_dtypes.bfloat16
    for value in ([257], [3.4e38], [1e39], [2**130]):
        with pytest.raises(DTypeError, match="does not fit bfloat16"):
            as_array(value, bfloat16)


def test_arrays_are_left_as_they_are() -> None:
    a = sample()
    assert as_array(a, DTYPES["int8"]) is a
    x = Wrapper(a)
    assert as_array(x, DTYPES["int8"]) is x
    t = to_torch(a)
    assert as_array(t, DTYPES["int8"]) is t
    assert as_array(np.float32(3), DTYPES["int8"]).dtype == np.float32
    assert as_array(np.float64(3), DTYPES["int8"]).dtype == np.float64
    assert as_array([1, 2]).dtype == np.int64
    assert as_array([2**63]).dtype == np.uint64


# -- storage ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WIDE)
@pytest.mark.parametrize("kind", ["numpy", "torch", "jax", "tvm", "dlpack"])
def test_empty_and_finish(kind: str, name: str) -> None:
    need({"dlpack": "numpy", "tvm": "tvm.runtime"}.get(kind, kind))
    if kind == "tvm" and DTYPES[name].is_complex:
        with pytest.raises(DTypeError, match=f"TVM has no dtype {name}"):
            empty(kind, (3,), DTYPES[name], CPU)
        return
    if kind == "torch" and not hasattr(need("torch"), name):
        pytest.skip(f"this torch has no {name}")
    if kind in ("numpy", "jax", "dlpack"):
        np_type(name)
    for shape in ((), (3,), (0, 2), (5, 7), (17, 3, 2)):
        array, v = empty(kind, shape, DTYPES[name], CPU)
        assert v[1:6] == (shape, DTYPES[name], CPU, True, False)
        assert (v.kind, v.strides) == (kind, None)
        assert v.owner is array
        a = sample(name, shape)
        if not a.size:
            assert view(finish(kind, array)).shape == shape
            continue
        assert v.ptr % 64 == 0
        ctypes.memmove(v.ptr, a.ctypes.data, a.nbytes)  # as a kernel does
        result = finish(kind, array)
        rv = view(result)
        assert rv[0:5] == v[0:5]  # the pointer too: nothing was copied
        assert memory(rv) == a.tobytes()
        assert rv.kind == {"dlpack": "numpy"}.get(kind, kind)
        if kind != "jax":
            assert result is array


def test_empty_numpy_is_a_normal_array() -> None:
    array, v = empty("numpy", (3, 4), DTYPES["float32"])
    assert type(array) is np.ndarray
    assert array.flags.carray
    array[...] = 3
    assert array.sum() == 36
    assert v.ptr == array.ctypes.data
    addresses = {empty("numpy", (n,), DTYPES["int8"])[1].ptr % 64 for n in range(1, 50)}
    assert addresses == {0}


def test_finished_jax_arrays_own_their_storage() -> None:
    jax = need("jax")
    array, v = empty("jax", (64,), DTYPES["float32"])
    array[...] = range(64)
    base = weakref.ref(array.base)
    result = finish("jax", array)
    assert isinstance(result, jax.Array)
    del array, v
    gc.collect()
    assert base() is not None
    assert result.tolist() == list(range(64))
    del result
    gc.collect()
    assert base() is None


def test_finished_jax_arrays_keep_64_bits() -> None:
    jax = need("jax")
    assert not jax.config.jax_enable_x64
    array, v = empty("jax", (2,), DTYPES["int64"])
    array[...] = [2**40, -(2**40)]
    result = finish("jax", array)
    assert result.dtype == np.int64
    assert result.tolist() == [2**40, -(2**40)]
    assert view(result).ptr == v.ptr
    assert not jax.config.jax_enable_x64


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize(
    "name", ["float32", "bfloat16", "float8_e4m3fn", "bool", "int64", "float64", "complex64", "complex128"]
)
def test_finished_jax_arrays_are_like_those_of_device_put(
    name: str, quick: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the function below it, and without that one, which JAX does not promise."""
    jax = need("jax")
    if not quick:
        monkeypatch.delattr("jax._src.lib.xla_client")
    adopt = _adopter.__wrapped__()
    for wide in (False, True):
        with jax.enable_x64(wide):
            array, v = empty("jax", (2, 3), DTYPES[name])
            array[...] = 1
            got = adopt(array)
            assert view(got).ptr == v.ptr
            with jax.enable_x64(True):
                want = jax.device_put(np.array(array), jax.devices("cpu")[0])
            assert (got.aval, got.sharding, got.committed) == (want.aval, want.sharding, want.committed)
            with jax.enable_x64(True):
                assert (jax.jit(lambda x: x == 1)(got)).all()


def test_fresh_jax_storage_can_be_filled() -> None:
    """What ``empty`` gives on cuda, tried on the cpu."""
    need("jax")
    for name in ("float32", "int64", "bfloat16"):
        x, y = (empty_jax((3, 4), DTYPES[name], CPU) for _ in range(2))
        a = sample(name)
        ctypes.memmove(view(x).ptr, a.ctypes.data, a.nbytes)
        assert np.asarray(x).tobytes() == a.tobytes()
        assert np.asarray(y).tobytes() != a.tobytes()


def test_empty_where_there_is_none() -> None:
    f = DTYPES["float32"]
    with pytest.raises(ArgumentError, match="unknown kind of array 'tensorflow'"):
        empty("tensorflow", (3,), f)
    with pytest.raises(DeviceError, match="numpy has no arrays on cuda"):
        empty("numpy", (3,), f, ("cuda", 0))
    with pytest.raises(DeviceError, match="cupy has no arrays on cpu"):
        empty("cupy", (3,), f)
    with pytest.raises(DeviceError, match="metal"):
        empty("numpy", (3,), f, ("metal", 0))
    with pytest.raises(DeviceError, match="cuda"):
        empty("tvm", (3,), f, ("cuda", 99))
    need("torch")
    with pytest.raises(DeviceError, match="torch has no device cuda:99"):
        empty("torch", (3,), f, ("cuda", 99))
    need("jax")
    with pytest.raises(DeviceError, match="JAX has no"):
        empty("jax", (3,), f, ("cuda", 99))


@pytest.mark.parametrize("kind", LIBRARIES)
@pytest.mark.parametrize("align", [0, 1, 16, 64, 4096])
def test_contiguous_alignment(kind: str, align: int) -> None:
    a = sample(shape=(50,))
    x = LIBRARIES[kind][0](a)
    v = view(x)
    got = contiguous(v, x, align)
    assert got[1:5] == v[1:5]
    assert got.kind == kind
    assert memory(got) == a.tobytes()
    if align <= 1 or v.ptr % align == 0:
        assert got is v
    else:
        assert got.ptr % align == 0
        assert got.ptr != v.ptr
        assert not got.readonly


def test_contiguous_copies_for_alignment_only_when_it_must() -> None:
    a, v = empty("numpy", (40,), DTYPES["float32"])
    a[...] = range(40)
    assert contiguous(v, a, 64) is v
    shifted = a[1:]
    assert contiguous(view(shifted), shifted, 4).ptr == v.ptr + 4
    copy = contiguous(view(shifted), shifted, 64)
    assert copy.ptr % 64 == 0
    assert memory(copy) == shifted.tobytes()


@pytest.mark.parametrize("kind", ["jax", "tvm", "dlpack"])
def test_copying_on_cuda_by_a_stand_in(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays that are on the cpu and said to be on cuda: which library copies them."""
    torch, gpu, a = need("torch"), ("cuda", 0), sample()
    x = Wrapper(to_torch(a).t()) if kind == "dlpack" else LIBRARIES[kind][0](a)
    elements = a.T if kind == "dlpack" else a
    v = view(x)._replace(device=gpu, contiguous=False)
    copy = contiguous(v, x)
    assert copy[1:6] == (elements.shape, v.dtype, copy.device, True, False)
    assert copy.kind == kind and copy.ptr != v.ptr
    assert copy.device == (CPU if kind == "jax" else gpu)  # JAX says itself where its copy is
    assert memory(copy) == elements.tobytes()
    if kind != "jax":
        out = torch.zeros(elements.shape)
        copy_into(out, view(out)._replace(device=gpu), x, v)
        assert out.numpy().tobytes() == elements.tobytes()
        other = out + 1
        copy_into(x, v, other, view(other)._replace(device=gpu))
        assert memory(contiguous(v, x)) == other.numpy().tobytes()
        monkeypatch.delitem(sys.modules, "torch")
        with pytest.raises(DeviceError, match=f"copying a {kind} array on cuda needs torch"):
            contiguous(v, x)


def test_copying_bfloat16_needs_no_ml_dtypes(monkeypatch: pytest.MonkeyPatch) -> None:
    exporter = Exporter(sample("uint16").T, code=4)
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)  # importing it fails
    monkeypatch.delitem(ndarray._NUMPY_TYPES, "bfloat16", raising=False)
    v = view(exporter)
    assert v.dtype.name == "bfloat16"
    copy = contiguous(v, exporter)
    assert copy.dtype is v.dtype
    assert memory(copy) == exporter.array.tobytes()
    with pytest.raises(MissingExtraError, match="ml_dtypes"):
        empty("numpy", (3,), DTYPES["bfloat16"])


# -- copy_into --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["float32", "bfloat16", "bool"])
@pytest.mark.parametrize("src_kind", ["numpy", "torch", "tvm", "jax", "dlpack"])
@pytest.mark.parametrize("dst_kind", ["numpy", "torch", "tvm", "dlpack"])
def test_copy_into(dst_kind: str, src_kind: str, name: str) -> None:
    a = sample(name)
    src = LIBRARIES[src_kind][0](a)
    storage = np.zeros((4, 6), np_type(name))
    target = storage[:, 1:4].T  # strided
    if dst_kind == "numpy":
        dst: Any = target
    elif dst_kind == "torch":
        dst = to_torch(storage)[:, 1:4].t()
    elif dst_kind == "tvm":
        dst = need("tvm_ffi").from_dlpack(Exporter(target))
    else:
        dst = Exporter(target)
    v = view(dst)
    assert v.ptr == target.ctypes.data
    assert not v.contiguous
    copy_into(dst, v, src, view(src))
    assert target.tobytes() == a.tobytes()
    assert not storage[:, [0, 4, 5]].any()


def test_copy_into_refuses() -> None:
    a = sample()
    v = view(a)
    for dst, error, message in [
        (np.zeros((4, 3), np.float32), ShapeError, r"\(3, 4\) into one of \(4, 3\)"),
        (np.zeros((3, 4), np.float64), DTypeError, "float32 into one of float64"),
        (np.zeros((3, 4), np.int32), DTypeError, "float32 into one of int32"),
        (np.broadcast_to(np.float32(0), (3, 4)), ArgumentError, "read-only"),
        (np.lib.stride_tricks.as_strided(np.zeros(4, np.float32), (3, 4), (0, 4)), ArgumentError, "share storage"),
        (to_torch(np.zeros(4, np.float32)).expand(3, 4), ArgumentError, "share storage"),
        (to_jax(np.zeros((3, 4), np.float32)), ArgumentError, "jax array that is read-only"),
        (Exporter(np.zeros((3, 4), np.float32), device=(2, 0)), DeviceError, "cuda"),
    ]:
        with pytest.raises(error, match=message):
            copy_into(dst, view(dst), a, v)
    z = np.zeros((0, 3), np.float32)
    copy_into(z, view(z), z, view(z))


# -- overlaps ---------------------------------------------------------------------------------------------------------


def overlaps(a: View, b: View) -> bool:
    return overlap(span(a), span(b))


def test_overlaps() -> None:
    base, _ = empty("numpy", (8, 8), DTYPES["int32"])
    cases: list[tuple[Any, Any, bool]] = [
        (base, base, True),
        (base[:4], base[4:], False),  # they touch
        (base[:5], base[4:], True),
        (base, base.T, True),
        (base[:4], base[4:].T, False),
        (base[:4], base[3:].T, True),
        (base[:, :4], base[:, 4:], True),  # they interleave
        (base[4:][::-1], base[:4], False),
        (base[3:][::-1, ::-1], base[:4], True),
        (base[7:3:-1], base[3], False),
        (base[7:3:-1], base[4], True),
        (base[0, ::4], base[0, 5:], False),
        (base[0, ::5], base[0, 5:], True),
        (np.broadcast_to(base[3, 3:4], (9, 9)), base[3, 3, ...], True),
        (np.broadcast_to(base[3, 3:4], (9, 9)), base[3, 4:], False),
        (base[:0], base, False),
        (base[2:2].T, base, False),
        (base[3, 3, ...], base[3], True),
        (base[3, 3, ...], base[4], False),
    ]
    for i, (a, b, want) in enumerate(cases):
        assert overlaps(view(a), view(b)) is want, i
        assert overlaps(view(b), view(a)) is want, i


def test_an_empty_array_overlaps_nothing_wherever_it_points() -> None:
    base = sample(shape=(8, 8))
    v = view(base)
    inside = view(Exporter(np.zeros((0, 3)), data=v.ptr + 64))
    assert inside.ptr == v.ptr + 64
    strided = inside._replace(shape=(5, 0), strides=(8, 4), contiguous=False)
    for empty_view in (inside, strided):
        assert not overlaps(empty_view, v)
        assert not overlaps(v, empty_view)


def test_overlaps_between_libraries() -> None:
    a = sample(shape=(8, 4))
    t = to_torch(a)
    assert overlaps(view(a), view(t.t()))
    assert overlaps(view(Exporter(a[:2])), view(t[1:]))
    assert not overlaps(view(Exporter(a[:2])), view(t[2:]))
    assert not overlaps(view(a), view(t.clone()))
