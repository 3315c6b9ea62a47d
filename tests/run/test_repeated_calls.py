"""Repeated calls, with the C extension and without: what was found out about an array is used again only while it holds."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import sysconfig
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile import runtime
from gscompile.runtime import compiled, fastcall
from gscompile.runtime.extension import _load
from tests.children import WITHOUT_TORCH
from tests.frameworks import need
from tests.run.calls import INDEX, X, locked, made, misaligned, put

pytestmark = pytest.mark.usefixtures("call_path")


@pytest.fixture
def take() -> Any:
    """A compiled take that has been called once."""
    m = made()
    m(X, INDEX, out=np.empty((4, 3), np.float32))
    return m


@pytest.fixture
def only_fast(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From when it is called, and where the extension is used, calls may not take the slow path."""

    def refuse(*args: Any) -> Any:
        raise AssertionError("the call took the slow path")

    def start() -> None:
        if fastcall.extension is not None:
            monkeypatch.setattr(compiled, "prepare", refuse)

    return start


def test_arrays_that_were_seen_and_others_like_them(take: Any, only_fast: Callable[[], None]) -> None:
    only_fast()
    out = np.empty((4, 3), np.float32)
    for x in (X, X + 1, X + 2):
        for i in (INDEX, INDEX[::-1].copy()):
            assert take(x, i, out=out) is out
            np.testing.assert_array_equal(out, x[i])


def test_read_only_inputs_and_a_torch_tensor(take: Any, only_fast: Callable[[], None]) -> None:
    x, i, out = X.copy(), INDEX.copy(), np.empty((4, 3), np.float32)
    x.flags.writeable = i.flags.writeable = False
    torch = need("torch")
    result = torch.empty(4, 3)
    take(x, i, out=result)  # what such a call is like is known from now on
    only_fast()
    for _ in range(2):
        out[...] = 0
        np.testing.assert_array_equal(take(x, i, out=out), X[INDEX])
        result.zero_()
        assert take(x, i, out=result) is result
        np.testing.assert_array_equal(result.numpy(), X[INDEX])


def test_storage_that_moved_is_found(take: Any, only_fast: Callable[[], None]) -> None:
    only_fast()
    x, out = X[:2].copy(), np.empty((4, 3), np.float32)
    take(X, INDEX, out=out)
    x.resize((8, 3), refcheck=False)  # the same array elsewhere
    x[...] = X + 5
    np.testing.assert_array_equal(take(x, INDEX, out=out), x[INDEX])


@pytest.mark.parametrize(
    ("error", "change"),
    [
        (gs.ArgumentError, lambda out: locked(out)),
        (gs.ShapeError, lambda out: out.reshape(3, 4)),
        (gs.ShapeError, lambda out: out[:3]),
        (gs.DTypeError, lambda out: out.view(np.int32)),
        (gs.DTypeError, lambda out: out.astype(out.dtype.newbyteorder())),
        (gs.ArgumentError, lambda out: np.ma.masked_array(out)),
        (gs.ArgumentError, lambda out: np.broadcast_to(out[:1], (4, 3))),
    ],
    ids=["read-only", "another shape", "fewer", "dtype", "byte order", "masked", "shared elements"],
)
def test_an_output_that_cannot_be_used(take: Any, error: Any, change: Callable[[Any], Any]) -> None:
    out = np.empty((4, 3), np.float32)
    take(X, INDEX, out=out)
    with pytest.raises(error):
        take(X, INDEX, out=change(out))


@pytest.mark.parametrize(
    ("error", "x", "i"),
    [
        (gs.ShapeError, X[:, :2].copy(), INDEX),
        (gs.DTypeError, X.astype(np.float64), INDEX),
        (gs.DTypeError, X.astype(">f4"), INDEX),
        (gs.DTypeError, X, INDEX.astype(np.int32)),
        (gs.BoundsError, X, np.array([5, -9, 7, 0])),
        (gs.BoundsError, X[:7].copy(), INDEX),
    ],
    ids=["columns", "dtype", "byte order", "index dtype", "index", "rows"],
)
def test_an_input_that_cannot_be_used(take: Any, error: Any, x: Any, i: Any) -> None:
    out = np.empty((4, 3), np.float32)
    for _ in range(2):  # an array that was refused is not taken the next time
        with pytest.raises(error):
            take(x, i, out=out)
    np.testing.assert_array_equal(take(X, INDEX, out=out), X[INDEX])


def test_arrays_that_have_to_be_copied(take: Any) -> None:
    out = np.empty((4, 3), np.float32)
    askew = misaligned((8, 3))
    askew[...] = X
    for x in (np.asfortranarray(X), X.repeat(2, 0)[::2], askew):
        for _ in range(2):
            out[...] = 0
            np.testing.assert_array_equal(take(x, INDEX, out=out), X[INDEX])
    for receiver in (np.empty((3, 4), np.float32).T, misaligned((4, 3)), np.empty((8, 3), np.float32)[::2]):
        for _ in range(2):
            receiver[...] = 0
            assert take(X, INDEX, out=receiver) is receiver
            np.testing.assert_array_equal(receiver, X[INDEX])


@pytest.mark.parametrize("shift", range(-4, 9, 2))
def test_an_output_over_an_input_is_computed_elsewhere(take: Any, shift: int) -> None:
    storage = np.empty(60, np.float32)
    x, out = storage[12:36].reshape(8, 3), storage[12 + 3 * shift : 24 + 3 * shift].reshape(4, 3)
    take(X, INDEX, out=np.empty((4, 3), np.float32))
    x[...] = X
    take(x, INDEX, out=out)
    np.testing.assert_array_equal(out, X[INDEX])


def test_a_scatter_works_in_place_only_on_its_own_data() -> None:
    m, source = put(), np.ones((4, 3), np.float32)
    want = m(X, INDEX, source)
    for _ in range(2):
        data = X.copy()
        assert m(data, INDEX, source, out=data) is data
        np.testing.assert_array_equal(data, want)
        out = np.empty((8, 3), np.float32)
        m(X, INDEX, source, out=out)
        np.testing.assert_array_equal(out, want)
        both = np.empty((8, 3), np.float32)
        both[:4] = 1
        np.testing.assert_array_equal(m(X, INDEX, both[:4], out=both), want)


@pytest.mark.parametrize("name", ["bfloat16", "bool", "int8"])
def test_other_dtypes_and_ranks(name: str) -> None:
    b = gs.Builder()
    b.output(b.take(b.input("x", (5,), name), b.input("i", (), "int32"), bounds="wrap"))
    m = b.build()
    x = np.arange(5).astype(np.dtype(name) if name != "bfloat16" else need("ml_dtypes").bfloat16)
    out = np.empty((), x.dtype)
    for k in (0, 4, -1, 9, -6, 2):
        m(x, np.array(k, np.int32), out=out)
        assert out == x[k % 5]
    assert len(m._fast_calls) == (fastcall.extension is not None)


def test_nothing_to_do() -> None:
    b = gs.Builder()
    b.output(b.take(b.input("x", ("n", 3), "float32"), b.input("i", ("k",), "int64")))
    m, out = b.build(), np.empty((0, 3), np.float32)
    for _ in range(4):
        assert m(X, INDEX[:0], out=out) is out


def test_threads_that_add_signatures_at_once(take: Any) -> None:
    x = np.arange(150, dtype=np.float32).reshape(50, 3)

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for k in rng.integers(0, 12, 300):
            index = rng.integers(-50, 50, k)
            np.testing.assert_array_equal(take(x, index, out=np.empty((k, 3), np.float32)), x[index])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


def test_a_module_is_freed_with_all_that_it_knows() -> None:
    m = made()
    out = np.empty((4, 3), np.float32)
    for _ in range(3):
        m(X, INDEX, out=out)
    bound, freed = m.bind(X, INDEX, out=out), weakref.ref(m)
    called = m.__call__
    del m
    gc.collect()
    out[...] = 0
    assert called(X, INDEX, out=out) is out and bound() is out  # which keep it
    np.testing.assert_array_equal(out, X[INDEX])
    del called, bound
    gc.collect()
    assert freed() is None


def test_other_threads_run_during_a_kernel() -> None:
    b = gs.Builder()
    x = b.input("x", (1 << 16,), "float32")
    b.output(b.put(b.zeros((1,)), b.input("i", (1 << 16,), "int64"), x, reduction="add"))
    m = b.build()
    values, index, out = np.ones(1 << 16, np.float32), np.zeros(1 << 16, np.int64), np.empty(1, np.float32)
    run = m.bind(values, index, out=out)
    run()
    ended, ticks = threading.Event(), 0

    def call() -> None:
        for _ in range(300):
            run()
        ended.set()

    other = threading.Thread(target=call)
    before = sys.getswitchinterval()
    sys.setswitchinterval(60)  # from now on a thread that does not give the lock away keeps it
    try:
        other.start()
        while not ended.is_set():
            ticks += 1
            time.sleep(0)
    finally:
        sys.setswitchinterval(before)
    other.join()
    assert ticks > 10


def test_the_result_is_of_the_first_arrays_kind(take: Any) -> None:
    torch = need("torch")
    for _ in range(3):
        assert type(take(torch.from_numpy(X), INDEX)) is torch.Tensor
        assert type(take(X, torch.from_numpy(INDEX))) is np.ndarray
        np.testing.assert_array_equal(take(x=X, i=INDEX), take(X, INDEX))


# -- PyTorch, JAX, Paddle ---------------------------------------------------------------------------------------------


def test_torch_tensors(take: Any) -> None:
    torch = need("torch")
    x, i = torch.from_numpy(X.copy()), torch.from_numpy(INDEX)
    out, parameter = torch.empty(4, 3), torch.nn.Parameter(x)
    for table in (x, x + 1, parameter, x.t().contiguous().t()):
        for _ in range(3):
            out.zero_()
            with torch.no_grad():
                assert take(table, i, out=out) is out
                made = take(table, i)
            assert torch.equal(out, table.detach()[i])
            assert type(made) is torch.Tensor and not made.requires_grad and torch.equal(made, table.detach()[i])
            made.resize_(100)  # is a tensor like any other


def test_torch_tensors_whose_storage_is_not_their_value(take: Any) -> None:
    torch = need("torch")
    x, i, out = torch.from_numpy(X), torch.from_numpy(INDEX), torch.empty(4, 3)
    for _ in range(3):
        assert torch.equal(take(x, i, out=out), x[i])
        assert torch.equal(take(torch._neg_view(x), i, out=out), -x[i])
        assert torch.equal(take(torch._neg_view(x), i), -x[i])
        receiver = torch._neg_view(torch.empty(4, 3))
        assert torch.equal(take(x, i, out=receiver), x[i])
        one = torch.tensor([1 + 2j]).conj().imag.expand(8, 3).contiguous()
        assert torch.equal(take(one, i, out=out), torch.full((4, 3), -2.0))


@pytest.mark.parametrize("kind", ["meta", "sparse", "fake", "mapped"])
def test_torch_tensors_without_storage(take: Any, kind: str) -> None:
    torch = need("torch")
    x, i, out = torch.from_numpy(X), torch.from_numpy(INDEX), torch.empty(4, 3)
    for _ in range(3):
        take(x, i, out=out)
        with pytest.raises(gs.DeviceError):
            if kind == "meta":
                take(x.to("meta"), i, out=out)
            elif kind == "sparse":
                take(x.to_sparse(), i, out=out)
            elif kind == "fake":
                from torch._subclasses.fake_tensor import FakeTensorMode

                take(FakeTensorMode().from_tensor(x), i, out=out)
            else:
                torch.func.vmap(lambda row: take(row, i, out=out))(x[None])
        with pytest.raises(gs.DeviceError):
            take(x, i, out=torch.empty(4, 3, device="meta"))


def test_a_torch_subclass_is_computed_with(take: Any) -> None:
    torch = need("torch")

    class Own(torch.Tensor):  # type: ignore[misc, name-defined]
        pass

    x, i = torch.from_numpy(X), torch.from_numpy(INDEX)
    for _ in range(3):
        assert torch.equal(take(x.as_subclass(Own), i, out=torch.empty(4, 3)), x[i])
        assert type(take(x.as_subclass(Own), i)) is torch.Tensor


@pytest.mark.parametrize(
    ("error", "change"),
    [
        (gs.ShapeError, lambda x, i, out: (x, i, out[:3])),
        (gs.ShapeError, lambda x, i, out: (x, i, out.reshape(3, 4))),
        (gs.ShapeError, lambda x, i, out: (x[:, :2].contiguous(), i, out)),
        (gs.DTypeError, lambda x, i, out: (x.double(), i, out)),
        (gs.DTypeError, lambda x, i, out: (x, i.int(), out)),
        (gs.DTypeError, lambda x, i, out: (x, i, out.int())),
        (gs.BoundsError, lambda x, i, out: (x, i + 4, out)),
        (gs.BoundsError, lambda x, i, out: (x[:7], i, out)),
        (gs.ArgumentError, lambda x, i, out: (x, i, out[:1].expand(4, 3))),
    ],
)
def test_torch_tensors_that_cannot_be_used(take: Any, error: Any, change: Callable[..., Any]) -> None:
    torch = need("torch")
    x, i, out = torch.from_numpy(X), torch.from_numpy(INDEX), torch.empty(4, 3)
    for _ in range(3):
        take(x, i, out=out)
        x2, i2, out2 = change(x, i, out)
        with pytest.raises(error):
            take(x2, i2, out=out2)


@pytest.mark.parametrize("name", ["float64", "float16", "bfloat16", "bool", "int8", "int64"])
def test_torch_dtypes(name: str) -> None:
    torch = need("torch")
    m, x = made(name), torch.arange(24).reshape(8, 3).to(getattr(torch, name))
    i, out = torch.from_numpy(INDEX), torch.empty(4, 3, dtype=x.dtype)
    for _ in range(3):
        assert torch.equal(m(x, i, out=out), x[i])
        assert torch.equal(m(x, i), x[i]) and m(x, i).dtype == x.dtype


def test_torch_storage_that_moved(take: Any) -> None:
    torch = need("torch")
    x, i, out = torch.from_numpy(X.copy()), torch.from_numpy(INDEX), torch.empty(4, 3)
    run = take.bind(x, i, out=out)
    for k in range(3):
        x.set_(torch.from_numpy(X + k))  # the same tensor elsewhere
        assert torch.equal(take(x, i, out=out), x[i])
    x.resize_(6, 3)
    with pytest.raises(gs.BoundsError):
        take(x, i, out=out)
    assert run is not None


def test_an_output_over_a_torch_input(take: Any) -> None:
    torch = need("torch")
    storage, i = torch.empty(14, 3), torch.from_numpy(INDEX)
    for _ in range(3):
        for begin in (0, 3, 7, 8, 10):
            storage[:8] = torch.from_numpy(X)
            want = storage[:8][i]
            assert torch.equal(take(storage[:8], i, out=storage[begin : begin + 4]), want)


def test_a_torch_scatter_in_place() -> None:
    torch = need("torch")
    m, i, source = put(), torch.from_numpy(INDEX), torch.ones(4, 3)
    want = torch.from_numpy(m(X, INDEX, np.ones((4, 3), np.float32)))
    for _ in range(3):
        data = torch.from_numpy(X.copy())
        assert torch.equal(m(data, i, source), want) and torch.equal(data, torch.from_numpy(X))
        assert m(data, i, source, out=data) is data and torch.equal(data, want)
        with pytest.raises(gs.BoundsError, match=r"i\[2\] = 8 "):
            m(data, torch.tensor([0, 1, 8, 2]), source, out=data)
        assert torch.equal(data, want)  # untouched


def test_jax_arrays(take: Any) -> None:
    jax = need("jax")
    with jax.enable_x64(True):
        x, i, missing = jax.numpy.asarray(X), jax.numpy.asarray(INDEX), jax.numpy.asarray(INDEX + 4)
    out = np.empty((4, 3), np.float32)
    run = take.bind(x, i, out=out)
    for table in (x, x + 1):
        for _ in range(3):
            out[...] = 0
            assert take(table, i, out=out) is out
            np.testing.assert_array_equal(out, np.asarray(table)[INDEX])
            made = take(table, i)
            assert isinstance(made, jax.Array)
            np.testing.assert_array_equal(made, out)
            assert run() is out
    with pytest.raises(gs.ArgumentError, match="read-only"):
        take(x, i, out=made)
    gone = x + 2
    take(gone, i, out=out)
    gone.delete()
    with pytest.raises(gs.DeviceError, match="deleted"):
        take(gone, i, out=out)
    with pytest.raises(gs.BoundsError):
        take(x, missing, out=out)


def test_jax_bfloat16() -> None:
    jax = need("jax")
    m, x = made("bfloat16"), jax.numpy.asarray(X, dtype="bfloat16")
    for _ in range(3):
        result = m(x, INDEX)
        assert isinstance(result, jax.Array)
        np.testing.assert_array_equal(np.asarray(result, np.float32), X[INDEX])


def test_arrays_of_several_libraries(take: Any) -> None:
    torch, jax = need("torch"), need("jax")
    tables = (X, torch.from_numpy(X), jax.numpy.asarray(X))
    for _ in range(3):
        for x in tables:
            for i in (INDEX, torch.from_numpy(INDEX)):
                for out in (np.empty((4, 3), np.float32), torch.empty(4, 3)):
                    assert take(x, i, out=out) is out
                    np.testing.assert_array_equal(np.asarray(out), X[INDEX])
                result = take(x, i)
                assert isinstance(result, jax.Array) if x is tables[2] else type(result) is type(x)
                np.testing.assert_array_equal(np.asarray(result), X[INDEX])


# -- the switch -------------------------------------------------------------------------------------------------------


def test_the_environment_switches_the_extension_off() -> None:
    code = (
        f"{WITHOUT_TORCH}from tests.run.calls import X, INDEX, made\n"
        "from gscompile.runtime.fastcall import extension\n"
        "m = made()\n"
        "assert extension is None and all((m(X, INDEX) == X[INDEX]).all() for _ in range(3)) and m.__call__ == m._call"
    )
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "GSCOMPILE_FASTCALL": "0"}, check=True)


def test_free_threaded_python_has_no_fast_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysconfig, "get_config_var", lambda name: int(name == "Py_GIL_DISABLED"))
    assert _load() is None


def test_an_extension_that_cannot_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(runtime, "_fastcall", raising=False)
    monkeypatch.setitem(sys.modules, "gscompile.runtime._fastcall", None)
    assert _load() is None
