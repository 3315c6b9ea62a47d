"""Calling modules: whose memory is used, whose arrays come back, what is never written, threads, sizes, large tables.

Most tests run for ``llvm`` and for ``cuda``: the cuda schedules' loops on the CPU (:mod:`gscompile.emulation`).
"""

from __future__ import annotations

import ctypes
import functools
import gc
import itertools
import math
import mmap
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import tvm_ffi

import gscompile as gs
from gscompile.runtime import arrays
from tests.cases import DTYPES, INDEX_DTYPES, numpy_dtype, random_data
from tests.frameworks import need
from tests.oracle import assert_same, assert_same_folds
from tests.unit.test_arrays import Exporter

Array = np.ndarray[Any, Any]
TARGETS = ("llvm", "cuda")
REDUCTIONS = ("update", "add", "sub", "mul", "min", "max", "mean")


@pytest.fixture(autouse=True)
def default_threads() -> Iterator[None]:
    """Tests that set the number of threads leave it as they found it."""
    before = gs.get_num_threads()
    yield
    gs.set_num_threads(before)


def build(b: gs.Builder, target: str = "llvm", **options: Any) -> Any:
    if target == "cuda":
        from gscompile.emulation import emulate

        return emulate(b, **options)
    return b.build(target=target, **options)


def spied(module: Any) -> list[list[int]]:
    """Every later call of the module adds the pointers that the compiled function got: inputs first, then outputs."""
    calls: list[list[int]] = []
    function = module._function

    def recording(*args: Any) -> Any:
        calls.append([a.value or 0 for a in args if isinstance(a, ctypes.c_void_p)])
        return function(*args)

    module._loaded = tvm_ffi.convert(recording)
    module._fast = None  # what was remembered of the function
    module.__call__ = module._call
    return calls


@functools.cache
def take_module(target: str = "llvm", shape: Any = ("n", 3), dtype: str = "float32", index: str = "int64") -> Any:
    """``take(x: dtype(n, 3), i: index(k,))``."""
    b = gs.Builder("take")
    b.output(b.take(b.input("x", shape, dtype), b.input("i", ("k",), index)))
    return build(b, target)


@functools.cache
def put_module(target: str = "llvm", dtype: str = "float32", reduction: str = "add", include_self: bool = True) -> Any:
    """``put(x: dtype(n, 3), i: int64(k,), s: dtype(k, 3))``."""
    b = gs.Builder("put")
    x, i, s = b.input("x", ("n", 3), dtype), b.input("i", ("k",), "int64"), b.input("s", ("k", 3), dtype)
    b.output(b.put(x, i, s, reduction=reduction, include_self=include_self))
    return build(b, target)


def put_reference(x: Array, i: Array, s: Array) -> Array:
    """What ``put_module()`` adds up, one point after the other."""
    out = x.copy()
    for k, row in enumerate(i):
        out[row] = out[row] + s[k]
    return out


X = np.arange(18, dtype=np.float32).reshape(6, 3)
INDEX = np.array([5, 0, -1, 5])
S = (np.arange(12, dtype=np.float32).reshape(4, 3) + 1) / 8


# -- other libraries' arrays ------------------------------------------------------------------------------------------


def as_torch(x: Array) -> Any:
    return need("torch").from_numpy(x)


def as_jax(x: Array) -> Any:
    """The dtype is kept: JAX cuts 64-bit types by default."""
    jax = need("jax")
    with jax.enable_x64(True):
        return jax.numpy.asarray(x)


def as_tvm(x: Array) -> Any:
    from tvm import runtime

    out = runtime.empty(x.shape, x.dtype.name)
    out.copyfrom(x)
    return out


MAKE: dict[str, Callable[[Array], Any]] = {
    "numpy": lambda x: x,
    "torch": as_torch,
    "jax": as_jax,
    "tvm": as_tvm,
    "dlpack": Exporter,
}
KINDS = tuple(MAKE)


def address(kind: str, x: Any) -> int:
    """Where an array's first element is, as its own library says."""
    if kind == "torch":
        return int(x.data_ptr())
    if kind == "jax":
        return int(x.unsafe_buffer_pointer())
    if kind == "tvm":
        return int(np.from_dlpack(x).ctypes.data)
    return int((x.array if kind == "dlpack" else x).ctypes.data)


def kind_of(x: Any) -> str:
    """The library of a result; what has only DLPack gives NumPy arrays."""
    return type(x).__module__.partition(".")[0].replace("jaxlib", "jax")


def values(x: Any) -> Array:
    return x.array if isinstance(x, Exporter) else np.from_dlpack(x)


@pytest.mark.parametrize("kind", KINDS)
def test_inputs_and_results_are_not_copied(kind: str) -> None:
    x, i, s = (MAKE[kind](a) for a in (X.copy(), INDEX.copy(), S.copy()))
    module = put_module()
    calls = spied(module)
    result = module(x, i, s)
    assert calls == [calls[0]] and calls[0][:3] == [address(kind, a) for a in (x, i, s)]
    result_kind = "numpy" if kind == "dlpack" else kind
    assert calls[0][3] == address(result_kind, result)
    assert kind_of(result) == result_kind
    assert_same(values(result), put_reference(X, INDEX, S))
    for array, was in [(x, X), (i, INDEX), (s, S)]:
        assert_same(values(array), was)


@pytest.mark.parametrize("kind", ["numpy", "torch", "tvm", "dlpack"])
def test_out_is_written_where_it_lies(kind: str) -> None:
    out = MAKE[kind](np.full((6, 3), np.nan, np.float32))
    module = put_module()
    calls = spied(module)
    assert module(X, INDEX, S, out=out) is out
    assert calls[0][3] == address(kind, out)
    assert_same(values(out), put_reference(X, INDEX, S))


def test_out_of_jax_is_refused() -> None:
    """JAX's arrays are immutable."""
    x = as_jax(np.zeros((6, 3), np.float32))
    with pytest.raises(gs.ArgumentError, match=r"put: out .*read-only"):
        put_module()(X, INDEX, S, out=x)
    assert not np.asarray(x).any()


@pytest.mark.parametrize("kind", ["numpy", "torch", "tvm", "dlpack"])
def test_out_may_be_data_of_every_kind(kind: str) -> None:
    x = MAKE[kind](X.copy())
    module = put_module()
    calls = spied(module)
    assert module(x, INDEX, S, out=x) is x
    assert calls[0][0] == calls[0][3] == address(kind, x)
    assert_same(values(x), put_reference(X, INDEX, S))


def test_out_may_be_a_part_of_a_larger_array() -> None:
    whole = np.full((8, 3), np.nan, np.float32)
    module = put_module()
    calls = spied(module)
    module(X, INDEX, S, out=whole[1:7])
    assert calls[0][3] == whole[1:7].ctypes.data
    assert_same(whole[1:7], put_reference(X, INDEX, S))
    assert np.isnan(whole[[0, 7]]).all()


@pytest.mark.parametrize(
    ("kinds", "result"),
    [
        (("torch", "numpy", "jax"), "torch"),
        (("numpy", "torch", "torch"), "numpy"),
        (("jax", "numpy", "numpy"), "jax"),
        (("tvm", "torch", "numpy"), "tvm"),
        (("list", "torch", "numpy"), "torch"),
        (("list", "list", "jax"), "jax"),
        (("list", "list", "list"), "numpy"),
        (("dlpack", "torch", "numpy"), "numpy"),
    ],
)
def test_the_first_array_decides_the_kind_of_the_result(kinds: Sequence[str], result: str) -> None:
    given = [a.tolist() if kind == "list" else MAKE[kind](a) for kind, a in zip(kinds, (X, INDEX, S), strict=True)]
    got = put_module()(*given)
    assert kind_of(got) == result
    assert_same(values(got), put_reference(X, INDEX, S))


def test_a_result_of_torch_needs_no_gradient() -> None:
    torch = need("torch")
    x = torch.tensor(X, requires_grad=True)
    with torch.no_grad():
        got = put_module()(x, torch.tensor(INDEX), torch.tensor(S))
    assert not got.requires_grad
    assert_same(got.numpy(), put_reference(X, INDEX, S))


def test_a_memory_mapped_file_is_read_in_place(tmp_path: Any) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(X.tobytes())
    x = np.memmap(path, np.float32, "r", shape=X.shape)
    module = take_module()
    calls = spied(module)
    assert_same(np.asarray(module(x, INDEX)), X[INDEX])
    assert calls[0][0] == x.ctypes.data
    x = np.memmap(path, np.float32, "r+", shape=X.shape)
    put_module()(x, INDEX, S, out=x)
    x.flush()
    assert path.read_bytes() == put_reference(X, INDEX, S).tobytes()


def test_results_outlive_what_they_came_from() -> None:
    results = []
    for n in range(4):
        module = take_module.__wrapped__()  # one of its own
        results.append([module(MAKE[kind](np.full((4, 3), n, np.float32)), [0, 3]) for kind in KINDS])
        del module
    gc.collect()
    junk = [np.full((2, 3), -1, np.float32) for _ in range(100)]
    for n, of_each_kind in enumerate(results):
        for result in of_each_kind:
            assert_same(values(result), np.full((2, 3), n, np.float32))
    assert len(junk) == 100


# -- inputs that are not as a kernel wants them -----------------------------------------------------------------------

ODD: dict[str, Callable[[Array], Array]] = {  # arrays equal to x that share storage with something larger, or are odd
    "every other row": lambda x: np.repeat(x, 2, 0)[::2],
    "every other column": lambda x: np.repeat(x, 2, -1)[..., ::2],
    "reversed": lambda x: x[::-1].copy()[::-1],
    "reversed rows": lambda x: x[..., ::-1].copy()[..., ::-1],
    "transposed": lambda x: x.T.copy().T,
    "inside": lambda x: np.pad(x, 1, constant_values=99)[(slice(1, -1),) * x.ndim],
    "misaligned": lambda x: misaligned(x),
    "read-only": lambda x: frozen(x.copy()),
    "read-only and strided": lambda x: frozen(np.repeat(x, 2, 0))[::2],
    "of bytes": lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
}


def misaligned(x: Array) -> Array:
    raw = np.zeros(x.nbytes + 1, np.uint8)
    out = raw[1:].view(x.dtype).reshape(x.shape)
    out[...] = x
    assert not out.flags.aligned
    return out


def frozen(x: Array) -> Array:
    x.flags.writeable = False
    return x


def storage(x: Array) -> Array:
    """The array that owns x's memory, as bytes."""
    while isinstance(x.base, np.ndarray):
        x = x.base
    return np.atleast_1d(x)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("odd", ODD)
def test_odd_inputs_are_read_right_and_never_written(odd: str, target: str) -> None:
    given = [ODD[odd](a) for a in (X, INDEX, S)]
    before = [storage(a).tobytes() for a in given]
    module = put_module(target)
    calls = spied(module)
    assert_same(module(*given), put_reference(X, INDEX, S))
    assert [storage(a).tobytes() for a in given] == before
    for a, pointer in zip(given, calls[0], strict=False):
        assert (a.ctypes.data == pointer) == (a.flags.c_contiguous and a.flags.aligned)


@pytest.mark.parametrize("target", TARGETS)
def test_broadcast_inputs(target: str) -> None:
    x = np.broadcast_to(np.array([1, 2, 3], np.float32), (6, 3))
    i, s = np.broadcast_to(np.int64(4), 5), np.broadcast_to(np.float32(0.5), (5, 3))
    want = put_reference(x, i, s)
    assert_same(put_module(target)(x, i, s), want)
    assert x.base is not None and x.base.tolist() == [1, 2, 3]
    assert want[4].tolist() == [3.5, 4.5, 5.5]


def test_odd_torch_inputs() -> None:
    torch = need("torch")
    x, i, s = torch.tensor(X), torch.tensor(INDEX), torch.tensor(S)
    module, want = put_module(), put_reference(X, INDEX, S)
    for odd in (
        lambda t: t.T.contiguous().T if t.ndim > 1 else t,
        lambda t: t.repeat_interleave(2, 0)[::2],
        lambda t: t.clone().expand_as(t),
        lambda t: torch.nn.functional.pad(t, (1, 1))[..., 1:-1],
    ):
        given = [odd(t) for t in (x, i, s)]
        copies = [t.clone() for t in given]
        assert_same(module(*given).numpy(), want)
        assert all(torch.equal(a, b) for a, b in zip(given, copies, strict=True))
    negated = torch.complex(x, -x).conj().imag  # negated lazily: the storage has the other sign
    assert negated.is_neg()
    assert_same(module(negated, i, s).numpy(), want)
    assert negated.is_neg() and torch.equal(negated, x)


def test_read_only_data_is_not_a_place_to_work_in() -> None:
    """Data is contiguous, so its memory goes to the kernel as it is; the scatter's copy of it must be elsewhere."""
    module = put_module()
    calls = spied(module)
    x = frozen(X.copy())
    got = module(x, INDEX, S)
    assert calls[0][0] == x.ctypes.data != calls[0][3]
    assert_same(x, X)
    assert not np.shares_memory(got, x)


@pytest.mark.parametrize("target", TARGETS)
def test_one_array_as_several_inputs(target: str) -> None:
    b = gs.Builder("twice")
    x, i, s = (b.input(name, ("n",), "int64") for name in "xis")
    b.output(b.put(x, i, s, reduction="add"), b.take(i, x) + s)
    a = np.array([1, 2, 0, 2])
    first, second = build(b, target)(a, a, a)
    assert first.tolist() == [1 + 0, 2 + 1, 0 + 2 + 2, 2] and second.tolist() == [2 + 1, 0 + 2, 1 + 0, 0 + 2]
    assert a.tolist() == [1, 2, 0, 2]


# -- out= -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8", "uint64"])
def test_in_place_gives_what_a_copy_gives(dtype: str, reduction: str, target: str) -> None:
    rng = np.random.default_rng(4)
    x, s = random_data(rng, (9, 3), dtype), random_data(rng, (7, 3), dtype)
    i = np.array([8, 0, 3, -9, 3, 3, -1])
    for include_self in (True, False):
        module = put_module(target, dtype, reduction, include_self)
        want = module(x, i, s)
        data = x.copy()
        calls = spied(module)
        assert module(data, i, s, out=data) is data
        assert calls[0][0] == calls[0][3] == data.ctypes.data
        assert_same(data, want)


@pytest.mark.parametrize("target", TARGETS)
def test_in_place_leaves_untouched_memory_alone(target: str) -> None:
    """In a gigabyte of memory that was never touched, a scatter of three rows makes a few pages real, not all."""
    rows, row = 1 << 20, 256
    region = mmap.mmap(-1, rows * row * 4, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0))
    data = np.frombuffer(region, np.float32).reshape(rows, row)
    b = gs.Builder("rows")
    x, i = b.input("x", ("n", row), "float32"), b.input("i", ("k",), "int64")
    b.output(b.put(x, i, b.input("s", ("k", row), "float32"), reduction="add"))
    module = build(b, target)
    calls = spied(module)
    before = resident()
    module(data, [0, rows - 1, rows // 2], np.ones((3, row), np.float32), out=data)
    assert resident() - before < 64 << 20
    assert calls[0][0] == calls[0][3] == data.ctypes.data
    assert all((data[r] == 1).all() for r in (0, rows - 1, rows // 2))


def resident() -> int:
    """Bytes of this process's memory that are real."""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * mmap.PAGESIZE


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shift", [1, -1, 2])
def test_out_that_overlaps_data_in_part(shift: int, target: str) -> None:
    whole = np.zeros((9, 3), np.float32)
    data, out = whole[2:8], whole[2 + shift : 8 + shift]
    if shift < 0:
        data, out = whole[1:7], whole[0:6]
    elif shift == 2:
        data, out = whole[:6], whole[2:8]
    data[...] = X
    want = put_reference(X, INDEX, S)
    before = whole.copy()
    module = put_module(target)
    assert module(data, INDEX, S, out=out) is out
    assert_same(out, want)
    outside = np.ones(9, bool)
    outside[(out.ctypes.data - whole.ctypes.data) // 12 :][:6] = False
    assert_same(whole[outside], before[outside])


@pytest.mark.parametrize("target", TARGETS)
def test_out_that_overlaps_what_is_read(target: str) -> None:
    """The result is that of separate arrays, whatever the overlap."""
    x, i, s = np.arange(8) * 10, np.array([7, 0, 7, 1]), np.array([1, 2, 3, 4])
    b = gs.Builder("ints")
    b.output(
        b.put(
            b.input("x", ("n",), "int64"), b.input("i", ("k",), "int64"), b.input("s", ("k",), "int64"), reduction="add"
        )
    )
    module = build(b, target)
    want = [2, 14, 20, 30, 40, 50, 60, 74]
    assert module(x, i, s).tolist() == want
    # three places for data, index and src; out is at 4 to 12, over some of them in part or whole
    for places in ([0, 50, 60], [0, 8, 14], [0, 14, 8], [50, 4, 8], [50, 2, 10], [12, 4, 8], [8, 4, 0], [4, 0, 12]):
        memory = np.full(70, -1)
        parts = [memory[at : at + len(a)] for at, a in zip(places, (x, i, s), strict=True)]
        for part, a in zip(parts, (x, i, s), strict=True):
            part[...] = a
        out = memory[4:12]
        assert module(*parts, out=out) is out
        assert out.tolist() == want, places
    # data, and src or index, and out are one array
    same = np.array([3, 1, 2, 3])
    assert module(same, [1, 1, 3, 0], same, out=same).tolist() == [3 + 3, 1 + 3 + 1, 2, 3 + 2]
    same = np.array([3, 1, 2, 3])
    assert module(same, same, [1, 2, 3, 4], out=same).tolist() == [3, 1 + 2, 2 + 3, 3 + 1 + 4]
    same = np.array([3, 1, 2, 3])
    assert module(same, same, same, out=same).tolist() == [3, 1 + 1, 2 + 2, 3 + 3 + 3]


@pytest.mark.parametrize("target", TARGETS)
def test_out_of_a_gather_may_be_its_data_or_index(target: str) -> None:
    b = gs.Builder("ints")
    b.output(b.take(b.input("x", ("n",), "int64"), b.input("i", ("n",), "int64")))
    module = build(b, target)
    x, i = np.array([10, 11, 12, 13, 14]), np.array([4, 0, 0, 1, -2])
    want = x[i]
    for of in range(2):
        given = [x.copy(), i.copy()]
        assert module(*given, out=given[of]) is given[of]
        assert_same(given[of], want)
    turned = x.copy()
    module(turned, i, out=turned[::-1])
    assert_same(turned[::-1], want)


@pytest.mark.parametrize("target", TARGETS)
def test_data_that_is_read_elsewhere_too(target: str) -> None:
    """Scatters whose data another operator, or src, reads as well: in place is wrong there, and must not happen."""
    b = gs.Builder("both")
    x, i = b.input("x", ("n",), "float32"), b.input("i", ("n",), "int64")
    b.output(b.put(x, i, b.take(x, i) + 1, reduction="add"))
    module = build(b, target)
    a, i_ = np.array([1, 2, 4, 8], np.float32), np.array([1, 2, 3, 3])
    want = module(a, i_)
    assert want.tolist() == [1, 2 + 3, 4 + 5, 8 + 9 + 9]
    assert_same(module(a, i_, out=a), want)
    b = gs.Builder("two")
    x, i = b.input("x", ("n",), "float32"), b.input("i", ("n",), "int64")
    b.output(b.put(x, i, 5), b.sum(x))
    module = build(b, target)
    a = np.array([1, 2, 4, 8], np.float32)
    total = np.zeros((), np.float32)
    module(a, i_, out=(a, total))
    assert a.tolist() == [1, 5, 5, 5] and total == 15


@pytest.mark.parametrize("target", TARGETS)
def test_two_scatters_in_place_each_in_its_own_data(target: str) -> None:
    b = gs.Builder("two")
    x, y = b.input("x", ("n",), "float32"), b.input("y", ("n",), "float32")
    i = b.input("i", ("k",), "int64")
    b.output(b.put(x, i, 1, reduction="add"), b.put(y, i, 2, reduction="mul"))
    module = build(b, target)
    calls = spied(module)
    a, c = np.array([1, 2, 3], np.float32), np.array([4, 5, 6], np.float32)
    module(a, c, [0, 0, 2], out=(a, c))
    assert calls[0][:2] == calls[0][3:5]
    assert a.tolist() == [3, 2, 4] and c.tolist() == [16, 5, 12]
    # crossed: each output over the other's data
    a, c = np.array([1, 2, 3], np.float32), np.array([4, 5, 6], np.float32)
    module(a, c, [0, 0, 2], out=(c, a))
    assert c.tolist() == [3, 2, 4] and a.tolist() == [16, 5, 12]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("how", ["every other row", "reversed", "transposed", "columns", "misaligned"])
def test_out_that_is_not_contiguous(how: str, target: str) -> None:
    base = np.full((14, 8), np.nan, np.float32)
    out = {
        "every other row": base[:12:2, :3],
        "reversed": base[5::-1, 2::-1],
        "transposed": base[:3, :6].T,
        "columns": base[1:7, 2:8:2],
        "misaligned": misaligned(np.zeros((6, 3), np.float32)),
    }[how]
    want = put_reference(X, INDEX, S)
    assert put_module(target)(X, INDEX, S, out=out) is out
    assert_same(np.ascontiguousarray(out), want)
    if how != "misaligned":
        assert np.isnan(base).sum() == base.size - out.size, "memory between out's elements was written"


def test_out_of_torch_that_is_not_contiguous() -> None:
    torch = need("torch")
    base = torch.full((6, 8), float("nan"))
    out = base[:, 1:7:2]
    assert put_module()(X, INDEX, S, out=out) is out
    assert_same(out.contiguous().numpy(), put_reference(X, INDEX, S))
    assert int(base.isnan().sum()) == base.numel() - out.numel()


def test_strided_data_that_is_out_too() -> None:
    base = np.zeros((6, 6), np.float32)
    data = base[:, ::2]
    data[...] = X
    put_module()(data, INDEX, S, out=data)
    assert_same(np.ascontiguousarray(data), put_reference(X, INDEX, S))
    assert not base[:, 1::2].any()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_call_that_raises_has_changed_nothing(dtype: str, reduction: str, target: str) -> None:
    """Bit for bit, NaN payloads included; the bad index comes last, after many that are fine."""
    bits = np.random.default_rng(5).integers(0, 1 << 16, (500, 3), np.uint16)
    x = bits.view(np.float16) if dtype == "float16" else bits.astype(np.uint32).view(np.float32)
    i = np.random.default_rng(6).integers(-500, 500, 4000)
    s = np.ones((4000, 3), dtype)
    modules = [put_module(target, dtype, reduction, include_self) for include_self in (True, False)]
    for module, bad in itertools.product(modules, (500, -501, np.iinfo(np.int64).min)):
        i[-1] = bad
        wide = np.repeat(x, 2, 1)
        for data in (x.copy(), wide[:, ::2]):  # in place; and through a copy
            before = storage(data).tobytes()
            with pytest.raises(gs.BoundsError) as caught:
                module(data, i, s, out=data)
            assert (caught.value.position, caught.value.value) == ((3999,), bad)
            assert storage(data).tobytes() == before


@pytest.mark.parametrize("target", TARGETS)
def test_an_index_that_another_scatter_computes(target: str) -> None:
    """It can only be checked after something was written; data must be whole all the same."""
    b = gs.Builder("late")
    x, k = b.input("x", ("n",), "float32"), b.input("k", ("m",), "int64")
    places = b.put(b.zeros(("n",), "int64"), k, 3, reduction="add")
    b.output(b.put(x, places, 1, reduction="add"))
    module = build(b, target)
    x_ = np.arange(6, dtype=np.float32)
    assert module(x_, [0, 1]).tolist() == [4, 1, 2, 5, 4, 5]
    data = x_.copy()
    assert module(data, [0, 1], out=data).tolist() == [4, 1, 2, 5, 4, 5]
    data = x_.copy()
    with pytest.raises(gs.BoundsError) as caught:
        module(data, [0, 2, 2], out=data)
    assert (caught.value.position, caught.value.value) == ((2,), 6)
    assert_same(data, x_)


@pytest.mark.parametrize("target", TARGETS)
def test_a_module_goes_on_after_an_error(target: str) -> None:
    module = take_module(target)
    for _ in range(50):
        with pytest.raises(gs.BoundsError):
            module(X, [6])
        assert_same(module(X, INDEX), X[INDEX])


# -- arguments and results --------------------------------------------------------------------------------------------


def test_inputs_by_name() -> None:
    module = put_module()
    want = put_reference(X, INDEX, S)
    assert_same(module(x=X, i=INDEX, s=S), want)
    assert_same(module(s=S, x=X, i=INDEX), want)
    assert_same(module(X, s=S, i=INDEX), want)
    out = np.empty_like(X)
    assert module(X, INDEX, s=S, out=out) is out
    assert_same(out, want)


def test_names_of_all_sorts() -> None:
    """Names that mean something to Python, C or the compiler are just names."""
    names = ["self", "int", "threads", "workspace", "lo", "n", "lambda"]
    for target in TARGETS:
        b = gs.Builder("memcpy")
        total: Any = 0
        for k, name in enumerate(names):
            total = b.put(b.input(name, (name, "threads"), "float32"), b.iota((1,)), k, name=f"c{k}")[0] + total
        b.output(total)
        module = build(b, target)
        given = {name: np.ones((k + 1, 5), np.float32) for k, name in enumerate(names)}
        got = module(**given | {"threads": np.ones((5, 5), np.float32)})
        assert_same(got, np.full(5, sum(range(len(names))), np.float32))


@pytest.mark.parametrize("target", TARGETS)
def test_several_outputs_are_a_tuple(target: str) -> None:
    b = gs.Builder("many")
    x, i = b.input("x", ("n", 3), "float32"), b.input("i", ("k",), "int64")
    y = b.take(x, i)
    b.output(y, b.sum(y, 0))
    b.output(b.cast(i, "int8"))
    module = build(b, target)
    got = module(X, INDEX)
    assert type(got) is tuple and len(got) == 3
    assert_same(got[0], X[INDEX])
    assert_same(got[1], X[INDEX].sum(0))
    assert_same(got[2], INDEX.astype(np.int8))
    outs = [np.empty_like(a) for a in got]
    again = module(X, INDEX, out=outs)
    assert all(a is o for a, o in zip(again, outs, strict=True))
    for a, o in zip(got, outs, strict=True):
        assert_same(o, a)


def test_one_output_is_not_a_tuple() -> None:
    assert isinstance(take_module()(X, INDEX), np.ndarray)


@pytest.mark.parametrize("target", TARGETS)
def test_a_value_that_is_output_twice(target: str) -> None:
    """Two arrays, so that writing one of them does not change the other."""
    b = gs.Builder("twice")
    x, i = b.input("x", ("n", 3), "float32"), b.input("i", ("k",), "int64")
    y = b.put(x, i, 1, reduction="add")
    b.output(y, y)
    module = build(b, target)
    one, two = module(X, INDEX)
    assert not np.shares_memory(one, two)
    assert_same(one, two)
    assert_same(one, put_reference(X, INDEX, np.ones((4, 3), np.float32)))
    data, other = X.copy(), np.empty_like(X)
    module(data, INDEX, out=(data, other))
    assert_same(data, one)
    assert_same(other, one)


@pytest.mark.parametrize("target", TARGETS)
def test_an_input_or_constant_that_is_an_output(target: str) -> None:
    """A copy, so that writing it changes neither the caller's array nor the next call's result."""
    b = gs.Builder("through")
    x = b.input("x", ("n", 3), "float32")
    c = b.constant(np.array([1, 2, 3], np.float32))
    b.output(x, c, b.add(x, c))
    module = build(b, target)
    for _ in range(2):
        same, constant, total = module(X)
        assert not np.shares_memory(same, X)
        assert_same(same, X)
        assert constant.tolist() == [1, 2, 3]
        assert_same(total, X + np.array([1, 2, 3], np.float32))
        same[...] = constant[...] = -1
    data, out = X.copy(), np.empty_like(X)
    module(data, out=(data, np.empty(3, np.float32), out))
    assert_same(data, X)


def test_a_constant_may_be_strided() -> None:
    table = np.arange(24, dtype=np.float32).reshape(4, 6)
    b = gs.Builder("strided")
    b.output(b.take(b.constant(table[::-1, ::2]), b.input("i", ("k",), "int64")))
    assert_same(b.build()([0, 3]), np.ascontiguousarray(table[::-1, ::2][[0, 3]]))


def test_no_inputs_at_all() -> None:
    b = gs.Builder("nothing")
    b.output(b.iota((5,)) * 2, b.full((), 7, "int8"))
    first, second = b.build()()
    assert first.tolist() == [0, 2, 4, 6, 8] and second.shape == () and second == 7


# -- threads ----------------------------------------------------------------------------------------------------------


def at_once(jobs: Sequence[Callable[[], None]]) -> None:
    """Run jobs in threads that start together; raise what one raised."""
    barrier = threading.Barrier(len(jobs))
    errors: list[BaseException] = []

    def run(job: Callable[[], None]) -> None:
        try:
            barrier.wait()
            job()
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("threads", [1, 5])
def test_many_threads_call_one_module(threads: int, target: str) -> None:
    """Eight at once, with inputs and sizes of their own, a workspace, and a quarter of the calls failing."""
    gs.set_num_threads(threads)
    b = gs.Builder("shared")
    x, i, s = b.input("x", ("n", 16), "float32"), b.input("i", ("k",), "int64"), b.input("s", ("k", 16), "float32")
    b.output(b.put(x, i, s, reduction="mean"), b.take(x, i))
    module = build(b, target)

    def job(number: int) -> Callable[[], None]:
        rng = np.random.default_rng(number)
        n, k = 50 + number, 3000 + 100 * number
        x_, i_ = rng.integers(0, 99, (n, 16)).astype(np.float32), rng.integers(0, n, k)
        s_ = rng.integers(0, 99, (k, 16)).astype(np.float32)
        total, count = x_.copy(), np.ones((n, 1), np.float32)
        np.add.at(total, i_, s_)
        np.add.at(count, i_, 1)
        mean, rows = total / count, x_[i_]
        wrong = i_.copy()
        wrong[number * 7] = n + number

        def run() -> None:
            for turn in range(12):
                if turn % 4 == 3:
                    with pytest.raises(gs.BoundsError) as caught:
                        module(x_, wrong, s_)
                    assert (caught.value.position, caught.value.value) == ((number * 7,), n + number)
                    assert caught.value.valid == (-n, n - 1)
                else:
                    got = module(x_, i_, s_)
                    assert_same(got[0], mean)
                    assert_same(got[1], rows)

        return run

    at_once([job(number) for number in range(8)])


def test_many_threads_make_the_first_call() -> None:
    """What a module prepares when it is called first, constants and all, is prepared once or alike."""
    for _ in range(5):
        b = gs.Builder("first")
        c = b.constant(np.arange(12, dtype=np.float32).reshape(3, 4).T)
        b.output(b.take(c, b.input("i", ("k",), "int64")))
        module = b.build()
        want = np.arange(12, dtype=np.float32).reshape(3, 4).T

        def job(number: int, module: Any = module, want: Array = want) -> Callable[[], None]:
            i = np.array([number % 4, 3])
            return lambda: assert_same(module(i), np.ascontiguousarray(want[i]))

        at_once([job(number) for number in range(8)])


def test_threads_build_at_once() -> None:
    def job(number: int) -> Callable[[], None]:
        def run() -> None:
            module = take_module.__wrapped__(dtype=("float32", "float64")[number % 2])
            x = X.astype(("float32", "float64")[number % 2]) + number
            assert_same(module(x, INDEX), x[INDEX])

        return run

    at_once([job(number) for number in range(4)])


def heavy(dtype: str, shape: tuple[int, ...], seed: int) -> Array:
    """Values of many magnitudes, so that sums depend on their order; small ones for integers."""
    rng = np.random.default_rng(seed)
    if dtype.startswith("int"):
        return rng.integers(-9, 10, shape).astype(dtype)
    return (rng.standard_normal(shape) * np.exp2(rng.integers(-6, 7, shape))).astype(numpy_dtype(dtype))


PLACES: dict[str, Callable[..., Any]] = {  # (builder, data (r, w), index) -> a scatter; the data's and index's shapes
    "rows": lambda b, x, i, s, **o: b.put(x, i, s, **o),
    "columns": lambda b, x, i, s, **o: b.put(x, i, s, axis=1, **o),
    "elements along rows": lambda b, x, i, s, **o: b.scatter(x, i, s, dim=1, **o),
    "elements along columns": lambda b, x, i, s, **o: b.scatter(x, i, s, dim=0, **o),
    "cells": lambda b, x, i, s, **o: b.scatter_nd(x, i, s, **o),
}
SHAPES = {  # data, index, src
    "rows": ((11, 40), (1000,), (1000, 40)),
    "columns": ((40, 11), (1000,), (40, 1000)),
    "elements along rows": ((70, 11), (70, 600), (70, 600)),
    "elements along columns": ((11, 70), (600, 70), (600, 70)),
    "cells": ((7, 5), (40000, 2), (40000,)),
}


@pytest.mark.parametrize(
    ("dtype", "place"),
    [
        *(("float32", place) for place in PLACES),
        ("float64", "rows"),
        ("float64", "elements along rows"),
        ("float16", "rows"),
        ("float16", "cells"),
        ("bfloat16", "columns"),
        ("bfloat16", "elements along columns"),
        ("int32", "cells"),
        ("int32", "columns"),
    ],
)
def test_results_do_not_depend_on_the_number_of_threads(dtype: str, place: str) -> None:
    """Bitwise, for 1, 2 and 5 threads, with a hundred duplicates a cell and more.

    With deterministic=True, sums are taken in the order of the points, however many there are.
    """
    data_shape, index_shape, src_shape = SHAPES[place]
    b = gs.Builder("ordered")
    x, i = b.input("x", data_shape, dtype), b.input("i", index_shape, "int32")
    s = b.input("s", src_shape, dtype)
    for reduction in REDUCTIONS:
        b.output(PLACES[place](b, x, i, s, reduction=reduction))
    b.output(PLACES[place](b, x, i, s, reduction="add", include_self=False), b.sum(s, 0), b.sum(s), b.mean(s, -1))
    b.output(PLACES[place](b, x, i, s, reduction="add", deterministic=True))
    module = b.build()
    x_, s_ = heavy(dtype, data_shape, 1), heavy(dtype, src_shape, 2)
    limit = data_shape[0 if place in ("rows", "elements along columns") else 1]
    i_ = np.random.default_rng(3).integers(-limit, limit, index_shape, np.int32)
    if place == "cells":
        i_[:, 0] = np.random.default_rng(4).integers(-data_shape[0], data_shape[0], len(i_))
    results = []
    for threads in (1, 2, 5):
        gs.set_num_threads(threads)
        assert gs.get_num_threads() == threads
        results.append(module(x_, i_, s_))
    for other in results[1:]:
        for k, (a, c) in enumerate(zip(results[0], other, strict=True)):
            assert a.tobytes() == c.tobytes(), f"output {k}"
    if dtype in ("float32", "float64"):
        want = added(place, x_, i_, s_)
        assert_same(results[0][-1], want)
        np.testing.assert_allclose(results[0][1], want, rtol=1e-4, atol=1e-5 * np.abs(s_).sum() / x_.size)
        # Were the order of no account here, equal results would say nothing about it.
        assert results[0][-1].tobytes() != added(place, x_, i_, s_, backwards=True).tobytes()


def added(place: str, x: Array, i: Array, s: Array, backwards: bool = False) -> Array:
    """The sum in row-major order of the points: NumPy's ``add.at`` takes one after the other."""
    where: tuple[Any, ...]
    if place == "rows":
        where = (i[:, None], np.arange(x.shape[1])[None])
    elif place == "columns":
        where = (np.arange(x.shape[0])[:, None], i[None])
    elif place == "elements along rows":
        where = (np.arange(x.shape[0])[:, None], i)
    elif place == "elements along columns":
        where = (i, np.arange(x.shape[1])[None])
    else:
        where = (i[:, 0], i[:, 1])
    flat = [a.ravel() for a in np.broadcast_arrays(*where, s)]
    if backwards:
        flat = [a[::-1] for a in flat]
    out = x.copy()
    np.add.at(out, (flat[0], flat[1]), flat[2])
    return out


@pytest.mark.parametrize("threads", [1, 2, 5, 64])
def test_more_threads_than_work(threads: int) -> None:
    gs.set_num_threads(threads)
    for n in (1, 2, 3, 4, 63, 20000):
        x, s = heavy("float64", (n, 3), n), np.ones((2 * n, 3))
        i = np.arange(2 * n) // 2
        assert_same(put_module(dtype="float64")(x, i, s), x + 1 + 1)


# -- sizes and types --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
def test_one_module_for_all_sizes(target: str) -> None:
    module = put_module(target)
    take = take_module(target)
    for n, k in itertools.product((0, 1, 2, 7, 1000, 20000), (0, 1, 5, 3000)):
        if n == 0 and k > 0:
            with pytest.raises(gs.BoundsError):
                take(np.zeros((0, 3), np.float32), np.zeros(k, np.int64))
            continue
        x, s = heavy("float32", (n, 3), n), heavy("float32", (k, 3), k)
        i = np.random.default_rng(n + k).integers(-n, n, k) if k else np.zeros(0, np.int64)
        got = module(x, i, s)
        assert got.shape == (n, 3) and got.dtype == np.float32
        want, magnitude = x.copy(), np.abs(x).astype("f8")
        np.add.at(want, i, s)
        np.add.at(magnitude, i, np.abs(s))
        if target == "llvm":
            assert_same(got, want)
        else:
            assert_same_folds(got, want, magnitude)
        assert_same(take(x, i), x[i])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("static", [True, False])
def test_empty_tensors(static: bool, target: str) -> None:
    """Every way to have nothing: no rows to take, nothing in a row, no index; scatters give data back."""

    def dims(*shape: int) -> tuple[Any, ...]:
        return shape if static else tuple(f"d{k}" if k < 2 else d for k, d in enumerate(shape))

    for shape, count in [((4, 0, 3), 2), ((4, 5, 3), 0), ((0, 5, 3), 0), ((0, 0, 3), 0), ((4, 0, 3), 0)]:
        x = heavy("float32", shape, 1)
        b = gs.Builder("empty")
        data, index = b.input("x", dims(*shape), "float32"), b.input("i", (count,) if static else ("k",), "int64")
        src = b.input("s", (count if static else "k", *dims(*shape)[1:]), "float32")
        b.output(b.take(data, index), b.put(data, index, src, reduction="mean"), b.sum(data, 0), b.max(data, 2))
        i, s = np.zeros(count, np.int64), np.zeros((count, *shape[1:]), np.float32)
        rows, same, total, largest = build(b, target)(x, i, s)
        assert rows.shape == (count, *shape[1:]) and rows.size == 0
        assert_same(same, x)
        assert total.shape == shape[1:]
        assert largest.shape == shape[:2]
        if shape[0] == 0:
            assert not total.any()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("empty", [(0,), (0, 3), (2, 0, 3)])
def test_empty_axis_under_each_policy(empty: tuple[int, ...], target: str) -> None:
    """``fill`` is at home on an empty axis; every other policy has no element to give."""
    axis = empty.index(0)
    names = tuple("n" if d == 0 else d for d in empty)
    x, i = np.zeros(empty, np.float32), np.array([0, -1, 5])
    for bounds in ("raise", "clip", "wrap", "fill"):
        b = gs.Builder("empty")
        data, index = b.input("x", names, "float32"), b.input("i", ("k",), "int64")
        b.output(b.take(data, index, axis=axis, bounds=bounds, fill=7), b.put(data, index, 1, axis=axis, bounds=bounds))
        module = build(b, target)
        if bounds == "fill":
            got, same = module(x, i)
            assert got.shape == (*empty[:axis], 3, *empty[axis + 1 :]) and (got == 7).all()
            assert same.shape == empty
        else:
            with pytest.raises(gs.BoundsError) as caught:
                module(x, i)
            assert (caught.value.position, caught.value.value, caught.value.valid) == ((0,), 0, None)
        full = np.ones([d or 4 for d in empty], np.float32)
        module(full, [0, 3, -1])


@pytest.mark.parametrize("target", TARGETS)
def test_a_scalar_index(target: str) -> None:
    b = gs.Builder("scalar")
    x, i = b.input("x", ("n", 3), "float32"), b.input("i", (), "int64")
    b.output(b.take(x, i), b.take(x, i, axis=1), b.put(x, i, 9), b.put(x, i, 1, axis=1, reduction="add"))
    module = build(b, target)
    for index in (2, -1, np.array(2), np.int64(0)):
        row, column, put, added_ = module(X, index)
        assert_same(row, X[int(index)])
        assert_same(column, np.ascontiguousarray(X[:, int(index)]))
        want = X.copy()
        want[int(index)] = 9
        assert_same(put, want)
        want = X.copy()
        want[:, int(index)] += 1
        assert_same(added_, want)


@pytest.mark.parametrize("target", TARGETS)
def test_scalar_data(target: str) -> None:
    """An index vector of length 0 points at the whole of data; data may then have rank 0."""
    b = gs.Builder("scalar")
    x, i = b.input("x", (), "float32"), b.input("i", ("k", 0), "int64")
    b.output(b.gather_nd(x, i), b.scatter_nd(x, i, b.input("s", ("k",), "float32"), reduction="add"))
    got, total = build(b, target)(np.float32(2), np.zeros((4, 0), np.int64), np.arange(4, dtype=np.float32))
    assert got.tolist() == [2, 2, 2, 2]
    assert total.shape == () and total == 8


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("symbolic", [True, False])
def test_rank_eight(symbolic: bool, target: str) -> None:
    shape = (2, 3, 1, 2, 4, 1, 3, 2)
    names = tuple(f"n{a}" if symbolic and a % 2 else d for a, d in enumerate(shape))
    x = heavy("float32", shape, 1)
    index_shape = (2, 3, 1, 2, 6, 1, 2, 2)
    i = np.random.default_rng(2).integers(-4, 4, index_shape)
    s = heavy("float32", index_shape, 3)
    b = gs.Builder("eight")
    data, src = b.input("x", names, "float32"), b.input("s", index_shape, "float32")
    index = b.input("i", index_shape, "int64")
    vectors = b.input("v", (5, 8), "int64")
    b.output(b.gather(data, index, dim=4), b.scatter(data, index, src, dim=4), b.gather_nd(data, vectors))
    v = np.array([[e - 1 for e in shape], [-e for e in shape], [0] * 8, [e // 2 for e in shape], [-1] * 8])
    got, put, cells = build(b, target)(x, s, i, v)
    want = np.empty(index_shape, np.float32)
    written = x.copy()
    for at in np.ndindex(index_shape):
        place = (*at[:4], int(i[at]), *at[5:])
        want[at] = x[place]
        written[place] = s[at]
    assert_same(got, want)
    assert_same(put, written)
    assert_same(cells, x[tuple(v.T)])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_travels_unchanged(dtype: str, target: str) -> None:
    """Gather and scatter's update move bits; NaN payloads, negative zeros and all."""
    n = numpy_dtype(dtype).itemsize
    bits = np.random.default_rng(1).integers(0, 256, (40, 3, n), np.uint8)
    if dtype == "bool":
        bits &= 1
    x = bits.view(numpy_dtype(dtype)).reshape(40, 3)
    i = np.array([39, 0, -40, 7, 7])
    got = take_module(target, dtype=dtype)(x, i)
    assert got.dtype == x.dtype
    assert got.tobytes() == x[i].tobytes()
    b = gs.Builder("put")
    data, index = b.input("x", ("n", 3), dtype), b.input("i", ("k",), "int64")
    b.output(b.put(data, index, b.input("s", ("k", 3), dtype)))
    want = x.copy()
    want[i] = x[10:15]
    assert build(b, target)(x, i, x[10:15]).tobytes() == want.tobytes()


@pytest.mark.parametrize("kind", ["torch", "jax", "tvm"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_of_every_kind(dtype: str, kind: str) -> None:
    x = random_data(np.random.default_rng(1), (6, 3), dtype)
    if kind == "torch":
        torch = need("torch")
        given = torch.from_numpy(x.view(np.uint16).copy()).view(torch.bfloat16) if dtype == "bfloat16" else as_torch(x)
    elif kind == "tvm" and dtype == "bfloat16":
        from tvm import runtime

        given = runtime.empty(x.shape, dtype)
        ctypes.memmove(address_of_tvm(given), x.ctypes.data, x.nbytes)
    else:
        given = MAKE[kind](x)
    got = take_module(dtype=dtype)(given, INDEX)
    assert kind_of(got) == kind and dtype in str(got.dtype)
    v = arrays.view(got)
    assert v.shape == (4, 3) and v.dtype.name == dtype
    assert ctypes.string_at(v.ptr, math.prod(v.shape) * v.dtype.itemsize) == x[INDEX].tobytes()


def address_of_tvm(x: Any) -> int:
    return int(arrays.view(x).ptr)


@pytest.mark.parametrize("dtype", INDEX_DTYPES)
def test_every_index_dtype_of_torch_and_lists(dtype: str) -> None:
    """An index of a narrow type on an axis longer than it can say, and lists as index of any type."""
    x = heavy("float32", (300, 3), 1)
    i = np.array([0, 127, 5] if dtype == "int8" else [0, 255, 5] if dtype == "uint8" else [0, 299, 128], dtype)
    module = take_module(index=dtype)
    assert_same(module(x, i), x[i])
    assert_same(module(as_torch(x), as_torch(i)).numpy(), x[i])
    assert_same(module(x, i.tolist()), x[i])
    if dtype.startswith("int"):
        assert_same(module(x, -i - 1), x[-i.astype(np.int64) - 1])


# -- large tables -----------------------------------------------------------------------------------------------------

GIB = 1 << 30


def available() -> int:
    """Bytes of memory that can be had without swapping."""
    with open("/proc/meminfo") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("MemAvailable"))


@pytest.fixture
def memory() -> None:
    if not os.path.exists("/proc/meminfo"):
        pytest.skip("how much memory is available is read from /proc/meminfo")
    if available() < 16 * GIB:
        pytest.skip(f"needs 16 GiB of available memory; {available() / GIB:.1f} GiB are")


def table() -> Array:
    """3 GiB of zeros, which cost memory only where they are written."""
    return np.zeros(3 * GIB, np.uint8)


FAR = (0, 1, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, 3 * GIB - 1)  # offsets on both sides of 2^31


@pytest.mark.big
@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("static", [True, False])
def test_a_table_of_three_gigabytes(static: bool, target: str) -> None:
    """Read and written past 2^31 with indices of 32 and 64 bits."""
    t = table()
    for k, at in enumerate(FAR):
        t[at] = k + 1
    n: Any = t.size if static else "n"
    for dtype in ("int64", "uint32", "int32", "uint64"):
        b = gs.Builder("far")
        x, i = b.input("x", (n,), "uint8"), b.input("i", ("k",), dtype)
        b.output(b.take(x, i), b.gather_nd(x, b.unsqueeze(i, 1)), b.gather(x, i), b.take(x, i, bounds="clip"))
        module = build(b, target)
        calls = spied(module)
        reach = [(k + 1, at) for k, at in enumerate(FAR) if at <= np.iinfo(dtype).max]
        index = np.array([at for _, at in reach], dtype)
        for got in module(t, index):
            assert got.tolist() == [k for k, _ in reach]
        assert calls[0][0] == t.ctypes.data
        if dtype == "int64":
            assert module(t, index - t.size)[0].tolist() == [k for k, _ in reach]
        if dtype != "int32":
            with pytest.raises(gs.BoundsError) as caught:
                module(t, np.array([0, 3 * GIB], dtype))
            assert (caught.value.position, caught.value.value) == ((1,), 3 * GIB)


@pytest.mark.big
@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("target", TARGETS)
def test_writing_into_three_gigabytes(target: str) -> None:
    """In place; on cuda as unique, since its atomics on bytes work in a copy of four bytes a cell."""
    t = table()
    for dtype in ("int64", "uint32"):
        b = gs.Builder("far")
        x, i, s = b.input("x", ("n",), "uint8"), b.input("i", ("k",), dtype), b.input("s", ("k",), "uint8")
        b.output(b.put(x, i, s, reduction="add", unique=target == "cuda"))
        module = build(b, target)
        calls = spied(module)
        before = resident()
        module(t, np.array(FAR, dtype), np.arange(len(FAR), dtype=np.uint8) + 1, out=t)
        assert calls[0][0] == calls[0][3] == t.ctypes.data
        assert resident() - before < GIB, "the table was copied"
    assert [int(t[at]) for at in FAR] == [2 * (k + 1) for k in range(len(FAR))]
    assert np.count_nonzero(t[: 1 << 20]) == 2


@pytest.mark.big
@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("target", TARGETS)
def test_rows_whose_offset_exceeds_32_bits(target: str) -> None:
    """Indices of 32 bits reach rows that begin past 2^31 bytes, though no index does."""
    rows, row = 1 << 21, 1536
    t = table().reshape(rows, row)
    far = np.array([rows - 1, 0, rows // 2, (1 << 31) // row + 1, -1], np.int32)
    for k, r in enumerate(far):
        t[r] = k + 1
    b = gs.Builder("rows")
    x, i, v = b.input("x", ("n", row), "uint8"), b.input("i", ("k",), "int32"), b.input("v", ("k", 2), "int32")
    b.output(b.take(x, i), b.gather_nd(x, v), b.gather(x, b.broadcast_to(b.unsqueeze(i, 1), ("k", row))))
    module = build(b, target)
    columns = np.stack([far, np.array([row - 1, 0, 5, -1, -row], np.int32)], 1)
    whole, cells, elements = module(t, far, columns)
    assert_same(whole, t[far])
    assert_same(cells, t[columns[:, 0], columns[:, 1]])
    assert_same(elements, t[far])
    assert [int(c) for c in cells] == [5, 2, 3, 4, 5]
    b = gs.Builder("write")
    x, i, s = b.input("x", ("n", row), "uint8"), b.input("i", ("k",), "int32"), b.input("s", ("k", row), "uint8")
    b.output(b.put(x, i, s, reduction="max", unique=target == "cuda"))
    build(b, target)(t, far[:-1], np.full((4, row), 77, np.uint8), out=t)
    assert all((t[r] == 77).all() for r in far) and not t[1].any()


@pytest.mark.big
@pytest.mark.usefixtures("memory")
def test_a_result_of_more_than_two_gigabytes() -> None:
    """Every element past 2^31 is written, by several threads."""
    row = (1 << 30) + 12345
    x = np.zeros((2, row), np.uint8)
    x[0, -1], x[1, 0], x[1, -1] = 1, 2, 3
    b = gs.Builder("wide")
    b.output(b.take(b.input("x", ("n", "m"), "uint8"), b.input("i", ("k",), "int64")))
    gs.set_num_threads(2)
    got = b.build()(x, [1, 0])
    assert got.shape == (2, row)
    assert (int(got[0, 0]), int(got[0, -1]), int(got[1, 0]), int(got[1, -1])) == (2, 3, 0, 1)
    assert np.count_nonzero(got) == 3


@pytest.mark.parametrize("shape", [(5, 0), (5, 0, 3), (5, 3, 0), (0, 5), (5, 3)])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("static", [True, False])
def test_a_bad_index_raises_where_nothing_moves(shape: tuple[int, ...], dtype: str, static: bool) -> None:
    """An empty slice does not hide an index out of range."""
    x = np.zeros(shape, "f4")
    src = np.zeros((4, *shape[1:]), "f4")
    data = shape if static else tuple(f"d{k}" for k in range(len(shape)))
    points: Any = 4 if static else "n"

    def built(op: str, index: Any, reduction: str) -> Any:
        b = gs.Builder()
        d, i = b.input("x", data, "float32"), b.input("i", (points, *index[1:]), dtype)
        if op in ("take", "gather_nd"):
            b.output(getattr(b, op)(d, i))
        else:
            s = b.input("s", (points, *data[1:]), "float32")
            b.output(getattr(b, op)(d, i, s, reduction=reduction))
        return b.build()

    for op, index, reduction in [
        ("take", (4,), ""),
        ("gather_nd", (4, 1), ""),
        *(("put", (4,), r) for r in ("update", "add", "max")),
        *(("scatter_nd", (4, 1), r) for r in ("update", "add", "max")),
    ]:
        try:
            m = built(op, index, reduction)
        except gs.BoundsError:  # already known
            assert static and 0 in shape
            continue
        args = [] if op in ("take", "gather_nd") else [src]
        for bad in (shape[0], -shape[0] - 1, np.iinfo(dtype).min, np.iinfo(dtype).max):
            with pytest.raises(gs.BoundsError):
                m(x, np.full(index, bad, dtype), *args)
