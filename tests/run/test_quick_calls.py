"""Calls with prepared arrays: what was found out about an array is used again only while it holds."""

from __future__ import annotations

import gc
import inspect
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
from gscompile import build as module
from gscompile.runtime import direct as direct_calls
from gscompile.runtime import layout
from gscompile.runtime.arrays import view
from gscompile.runtime.direct import MOST
from gscompile.runtime.direct_ir import SMALL
from tests.frameworks import need

X, INDEX = np.arange(24, dtype=np.float32).reshape(8, 3), np.array([5, -8, 7, 0])


def made() -> Any:
    """A compiled take."""
    b = gs.Builder("take")
    b.output(b.take(b.input("x", ("n", 3), "float32"), b.input("i", ("k",), "int64")))
    return b.build()


@pytest.fixture
def take() -> Any:
    """A compiled take that has been called once."""
    m = made()
    m(X, INDEX, out=np.empty((4, 3), np.float32))
    return m


def put() -> Any:
    """A compiled put that adds, and may work in place."""
    b = gs.Builder("put")
    x, i, src = b.input("x", (8, 3), "float32"), b.input("i", (4,), "int64"), b.input("s", (4, 3), "float32")
    b.output(b.put(x, i, src, reduction="add"))
    return b.build()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls have to be quick."""

    def refuse(*args: Any) -> Any:
        raise AssertionError("the call was looked at closely")

    monkeypatch.setattr(module, "prepared", refuse)


def test_arrays_that_were_seen_and_others_like_them(take: Any, quick: None) -> None:
    out = np.empty((4, 3), np.float32)
    for x in (X, X + 1, X + 2):
        for i in (INDEX, INDEX[::-1].copy()):
            assert take(x, i, out=out) is out
            np.testing.assert_array_equal(out, x[i])


def test_read_only_inputs_and_a_torch_tensor(take: Any, quick: None) -> None:
    x, i, out = X.copy(), INDEX.copy(), np.empty((4, 3), np.float32)
    x.flags.writeable = i.flags.writeable = False
    for _ in range(2):
        out[...] = 0
        np.testing.assert_array_equal(take(x, i, out=out), X[INDEX])
    torch = need("torch")
    result = torch.empty(4, 3)
    view(result)  # its type is known from now on
    for _ in range(2):
        result.zero_()
        assert take(x, i, out=result) is result
        np.testing.assert_array_equal(result.numpy(), X[INDEX])


def test_storage_that_moved_is_found(take: Any, quick: None) -> None:
    x, out = X[:2].copy(), np.empty((4, 3), np.float32)
    take(X, INDEX, out=out)
    x.resize((8, 3), refcheck=False)  # the same array elsewhere
    x[...] = X + 5
    np.testing.assert_array_equal(take(x, INDEX, out=out), x[INDEX])


def locked(out: Any) -> Any:
    out.flags.writeable = False
    return out


def misaligned(shape: tuple[int, ...]) -> Any:
    return np.empty(4 * int(np.prod(shape)) + 1, np.uint8)[1:].view(np.float32).reshape(shape)


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


# -- what compiled code looks at --------------------------------------------------------------------------------------


@pytest.fixture
def direct(monkeypatch: pytest.MonkeyPatch, take: Any) -> Any:
    """The take, whose calls have to be found good by compiled code from now on."""
    for _ in range(2):
        take(X, INDEX, out=np.empty((4, 3), np.float32))

    def refuse(*args: Any) -> Any:
        raise LookedAtError

    monkeypatch.setitem(take.__dict__, "_quick", refuse)
    return take


class LookedAtError(Exception):
    """Python had to look at the arrays."""


def test_arrays_like_those_of_a_good_call(direct: Any) -> None:
    out = np.empty((4, 3), np.float32)
    frozen = X.copy()
    frozen.flags.writeable = False
    for x in (X, X + 1, frozen, np.stack([X, X])[1]):
        out[...] = 0
        assert direct(x, INDEX, out=out) is out
        np.testing.assert_array_equal(out, x[INDEX])


class Subclass(np.ndarray[Any, Any]):
    """Not an ndarray as far as members go."""


@pytest.mark.parametrize(
    ("x", "i", "out"),
    [
        (X[:7].copy(), INDEX, np.empty((4, 3), np.float32)),
        (X, INDEX[:3], np.empty((3, 3), np.float32)),
        (X, INDEX, np.empty((4, 4), np.float32)),
        (X, INDEX, np.empty((4, 3, 1), np.float32)),
        (X, INDEX, np.empty((4, 6), np.float32)[:, ::2]),
        (np.asfortranarray(X), INDEX, np.empty((4, 3), np.float32)),
        (X, INDEX, locked(np.empty((4, 3), np.float32))),
        (X, INDEX, misaligned((4, 3))),
        (X, INDEX.astype(np.uint64), np.empty((4, 3), np.float32)),
        (X.astype(">f4"), INDEX, np.empty((4, 3), np.float32)),
        (X.view(Subclass), INDEX, np.empty((4, 3), np.float32)),
        (X.tolist(), INDEX, np.empty((4, 3), np.float32)),
        (X, INDEX, 7),
        (X, np.array([0, 1, 8, 2]), np.empty((4, 3), np.float32)),
        (X, np.array([0, 1, -9, 2]), np.empty((4, 3), np.float32)),
    ],
)
def test_arrays_unlike_those_of_a_good_call(direct: Any, x: Any, i: Any, out: Any) -> None:
    with pytest.raises(LookedAtError):
        direct(x, i, out=out)


def test_another_number_of_inputs(direct: Any) -> None:
    for args in ((), (X,), (X, INDEX, INDEX)):
        with pytest.raises(LookedAtError):
            direct(*args, out=np.empty((4, 3), np.float32))


def test_overlapping_arrays_are_looked_at(direct: Any) -> None:
    storage = np.empty((14, 3), np.float32)
    storage[:8] = X
    for begin in (0, 3, 7):
        with pytest.raises(LookedAtError):
            direct(storage[:8], INDEX, out=storage[begin : begin + 4])
    np.testing.assert_array_equal(direct(storage[:8], INDEX, out=storage[8:12]), X[INDEX])  # side by side


def test_many_shapes_are_known_and_more_are_looked_at(take: Any) -> None:
    x = np.arange(150, dtype=np.float32).reshape(50, 3)
    for _ in range(3):
        for k in range(1, 2 * MOST):
            out = np.empty((k, 3), np.float32)
            np.testing.assert_array_equal(take(x, np.arange(k), out=out), x[:k])
    assert len(take._patterns._kept) == MOST


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
    assert len(m._patterns._kept) == 1


def test_nothing_to_do() -> None:
    b = gs.Builder()
    b.output(b.take(b.input("x", ("n", 3), "float32"), b.input("i", ("k",), "int64")))
    m, out = b.build(), np.empty((0, 3), np.float32)
    for _ in range(4):
        assert m(X, INDEX[:0], out=out) is out


def test_in_place_by_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    m, source = put(), np.ones((4, 3), np.float32)
    want = m(X, INDEX, source)
    for _ in range(2):
        m(X, INDEX, source, out=np.empty_like(X))
    quick = m._quick
    monkeypatch.setitem(m.__dict__, "_quick", lambda *_: pytest.fail("looked at"))
    data = X.copy()
    assert m(data, INDEX, source, out=data) is data
    np.testing.assert_array_equal(data, want)
    out = np.empty_like(X)
    np.testing.assert_array_equal(m(X, INDEX, source, out=out), want)
    monkeypatch.setitem(m.__dict__, "_quick", quick)
    with pytest.raises(gs.BoundsError, match=r"i\[2\] = 8 "):
        m(data, np.array([0, 1, 8, 2]), source, out=data)
    np.testing.assert_array_equal(data, want)  # untouched


def test_threads_that_find_patterns_at_once(take: Any) -> None:
    x = np.arange(150, dtype=np.float32).reshape(50, 3)

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for k in rng.integers(0, 12, 300):
            index = rng.integers(-50, 50, k)
            np.testing.assert_array_equal(take(x, index, out=np.empty((k, 3), np.float32)), x[index])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


@pytest.mark.parametrize("member", ["ITEMS", "TYPE", "DATA", "RANK", "EXTENTS", "DTYPE", "FLAGS"])
def test_another_layout_of_arrays_is_noticed(monkeypatch: pytest.MonkeyPatch, member: str) -> None:
    assert layout.is_known()
    monkeypatch.setattr(layout, member, getattr(layout, member) + (-8 if member == "TYPE" else 8))
    assert not layout.is_known()
    monkeypatch.undo()
    monkeypatch.setattr(layout, "is_known", lambda: False)
    python_has_to_look(monkeypatch)


def test_a_python_that_lacks_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacks() -> str:
        raise AttributeError("PyObject_Vectorcall")

    monkeypatch.setattr(direct_calls, "code", lacks)
    python_has_to_look(monkeypatch)


def test_a_python_without_a_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysconfig, "get_config_var", lambda name: int(name == "Py_GIL_DISABLED"))
    assert not layout.is_known()


def python_has_to_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct_calls, "methods", direct_calls.methods.__wrapped__)
    m = made()
    out = np.empty((4, 3), np.float32)
    for _ in range(3):
        np.testing.assert_array_equal(m(X, INDEX, out=out), X[INDEX])
        np.testing.assert_array_equal(m(X, INDEX), X[INDEX])
        np.testing.assert_array_equal(m.bind(X, INDEX)(), X[INDEX])
    assert not m._patterns._kept and m.__call__ == m._call


def test_calls_that_make_their_result(direct: Any) -> None:
    for x in (X, X + 1):
        first, second = direct(x, INDEX), direct(x, INDEX)
        np.testing.assert_array_equal(first, x[INDEX])
        assert type(first) is np.ndarray and not np.shares_memory(first, second)
    for known_shape in (np.asfortranarray(X), X.astype("f8")):
        with pytest.raises(LookedAtError):
            direct(known_shape, INDEX)
    for other in (X.tolist(), X[:5].copy()):  # are prepared as ever
        with pytest.raises(gs.BoundsError):
            direct(other, np.array([0, 1, 99, 2]))


def test_results_too_large_to_be_made_by_compiled_code() -> None:
    m = made()
    x = np.arange(3 * 8, dtype=np.float32).reshape(8, 3)
    for k in (SMALL // 12, SMALL // 12 + 1, 10_000):
        index = np.arange(k) % 16 - 8
        for _ in range(3):
            out = m(x, index)
            np.testing.assert_array_equal(out, x[index])
        assert (out.base is None) == (
            out.nbytes <= SMALL
        )  # larger ones begin at a multiple of 64 bytes of some storage


def test_keywords_as_they_come(direct: Any) -> None:
    out = np.empty((4, 3), np.float32)
    name = "".join(["o", "ut"])  # equal, but another object
    assert name is not sys.intern("out")
    for _ in range(2):
        with pytest.raises(LookedAtError):  # at most
            direct(X, INDEX, **{name: out})
        assert direct(x=X, i=INDEX, out=out) is out
        assert direct(X, i=INDEX, out=out) is out
        np.testing.assert_array_equal(direct(X, INDEX, out=None), X[INDEX])
        with pytest.raises(gs.ArgumentError, match="no input is called 'out2'"):
            direct(X, INDEX, out2=out)
        with pytest.raises(gs.ArgumentError, match="missing input i"):
            direct(x=X)


def test_every_reference_is_given_back(direct: Any) -> None:
    out, missing = np.empty((4, 3), np.float32), np.array([5, 8, 7, 0])
    bound = direct.bind(X, INDEX, out=out)

    def rounds() -> None:
        for _ in range(50):
            direct(X, INDEX, out=out)
            direct(X, INDEX)
            bound()
            for arguments in ((X, missing), (X,)):
                with pytest.raises((LookedAtError, gs.ArgumentError)):
                    direct(*arguments)

    def counts() -> list[int]:
        return [sys.getrefcount(x) for x in (X, INDEX, missing, out, out.dtype, INDEX.dtype, direct, bound)]

    rounds()
    before = counts()
    rounds()
    assert counts() == before


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


def test_what_a_call_tells_of_itself(direct: Any) -> None:
    assert str(inspect.signature(direct)) == "(*args, out=None, **kwargs)"
    assert str(inspect.signature(direct.bind(X, INDEX))) == "()"
    assert "Raises:" in (inspect.getdoc(type(direct).__call__) or "")


def test_the_result_is_of_the_first_arrays_kind(take: Any) -> None:
    torch = need("torch")
    for _ in range(3):
        assert type(take(torch.from_numpy(X), INDEX)) is torch.Tensor
        assert type(take(X, torch.from_numpy(INDEX))) is np.ndarray
        np.testing.assert_array_equal(take(x=X, i=INDEX), take(X, INDEX))
