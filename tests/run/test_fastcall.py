"""What the C extension checks itself, and what it leaves to the slow path; results: test_repeated_calls.py."""

from __future__ import annotations

import gc
import inspect
import sys
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.runtime import compiled
from gscompile.runtime.fastcall import MOST, SMALL, extension
from tests.frameworks import need
from tests.run.calls import INDEX, SlowPathError, X, locked, made, misaligned, only_fast, put
from tests.run.exchange import library, new_capsule

if extension is None:
    pytest.skip("the C extension is not built (pip install -e .), or switched off", allow_module_level=True)


@pytest.fixture
def take() -> Any:
    """A compiled take that has been called once."""
    m = made()
    m(X, INDEX, out=np.empty((4, 3), np.float32))
    return m


@pytest.fixture
def direct(monkeypatch: pytest.MonkeyPatch, take: Any) -> Any:
    """The take, whose calls without keywords have to be found good by compiled code from now on."""
    for _ in range(2):
        take(X, INDEX, out=np.empty((4, 3), np.float32))
    prepare = compiled.prepare

    def refuse(interface: Any, args: Any, kwargs: Any, out: Any) -> Any:
        if not kwargs:
            raise SlowPathError
        return prepare(interface, args, kwargs, out)

    monkeypatch.setattr(compiled, "prepare", refuse)
    return take


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
    with pytest.raises(SlowPathError):
        direct(x, i, out=out)


def test_another_number_of_inputs(direct: Any) -> None:
    for args in ((), (X,), (X, INDEX, INDEX)):
        with pytest.raises(SlowPathError):
            direct(*args, out=np.empty((4, 3), np.float32))


def test_overlapping_arrays_are_looked_at(direct: Any) -> None:
    storage = np.empty((14, 3), np.float32)
    storage[:8] = X
    for begin in (0, 3, 7):
        with pytest.raises(SlowPathError):
            direct(storage[:8], INDEX, out=storage[begin : begin + 4])
    np.testing.assert_array_equal(direct(storage[:8], INDEX, out=storage[8:12]), X[INDEX])  # side by side


def test_many_shapes_are_known_and_more_are_looked_at(take: Any) -> None:
    x = np.arange(150, dtype=np.float32).reshape(50, 3)
    for _ in range(3):
        for k in range(1, 2 * MOST):
            out = np.empty((k, 3), np.float32)
            np.testing.assert_array_equal(take(x, np.arange(k), out=out), x[:k])
    assert len(take._fast_calls) == MOST


def test_in_place_by_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    m, source = put(), np.ones((4, 3), np.float32)
    want = m(X, INDEX, source)
    for _ in range(2):
        m(X, INDEX, source, out=np.empty_like(X))
    prepare = compiled.prepare
    monkeypatch.setattr(compiled, "prepare", lambda *_: pytest.fail("the slow path"))
    data = X.copy()
    assert m(data, INDEX, source, out=data) is data
    np.testing.assert_array_equal(data, want)
    out = np.empty_like(X)
    np.testing.assert_array_equal(m(X, INDEX, source, out=out), want)
    monkeypatch.setattr(compiled, "prepare", prepare)
    with pytest.raises(gs.BoundsError, match=r"i\[2\] = 8 "):
        m(data, np.array([0, 1, 8, 2]), source, out=data)
    np.testing.assert_array_equal(data, want)  # untouched


def test_calls_that_make_their_result(direct: Any) -> None:
    for x in (X, X + 1):
        first, second = direct(x, INDEX), direct(x, INDEX)
        np.testing.assert_array_equal(first, x[INDEX])
        assert type(first) is np.ndarray and not np.shares_memory(first, second)
    for other in (np.asfortranarray(X), X.astype("f8"), X.tolist(), X[:5].copy()):
        with pytest.raises(SlowPathError):
            direct(other, INDEX)


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
        assert direct(X, INDEX, **{name: out}) is out
        assert direct(x=X, i=INDEX, out=out) is out
        assert direct(X, i=INDEX, out=out) is out
        np.testing.assert_array_equal(direct(X, INDEX, out=None), X[INDEX])
        with pytest.raises(gs.ArgumentError, match="no input is called 'out2'"):
            direct(X, INDEX, out2=out)
        with pytest.raises(gs.ArgumentError, match="missing input i"):
            direct(x=X)


def test_every_reference_is_given_back(take: Any) -> None:
    out, missing = np.empty((4, 3), np.float32), np.array([5, 8, 7, 0])
    bound = take.bind(X, INDEX, out=out)

    def rounds() -> None:
        for _ in range(50):
            take(X, INDEX, out=out)
            take(X, INDEX)
            bound()
            for arguments in ((X, missing), (X,)):
                with pytest.raises((gs.BoundsError, gs.ArgumentError)):
                    take(*arguments)

    def counts() -> list[int]:
        gc.collect()  # the errors, whose tracebacks lead to the arrays
        return [sys.getrefcount(x) for x in (X, INDEX, missing, out, out.dtype, INDEX.dtype, take, bound)]

    rounds()
    before = counts()
    rounds()
    assert counts() == before


def test_what_a_call_tells_of_itself(take: Any) -> None:
    assert str(inspect.signature(take)) == "(x, i, *, out=None)"
    assert str(inspect.signature(take.bind(X, INDEX))) == "()"
    assert "Raises:" in (inspect.getdoc(type(take).__call__) or "")


# -- other libraries' arrays ------------------------------------------------------------------------------------------


def test_torch_tensors_are_read(take: Any) -> None:
    torch = need("torch")
    x, i, out = torch.from_numpy(X), torch.from_numpy(INDEX), torch.empty(4, 3)
    take(x, i, out=out)
    bound = take.bind(x, i, out=out)
    with only_fast(take):
        for table in (x, x + 1, torch.from_numpy(np.stack([X, X]))[1]):
            out.zero_()
            assert take(table, i, out=out) is out and torch.equal(out, table[i])
            first, second = take(table, i), take(table, i)
            assert torch.equal(first, table[i]) and first.data_ptr() != second.data_ptr()
        x += 1
        assert bound() is out and torch.equal(out, x[i])
        x -= 1


@pytest.mark.parametrize(
    "change",
    [
        lambda t, x, i, out: (x[:7], i, out),
        lambda t, x, i, out: (x.double(), i, out),
        lambda t, x, i, out: (x[None], i, out),
        lambda t, x, i, out: (x.t().contiguous().t(), i, out),
        lambda t, x, i, out: (t._neg_view(x), i, out),
        lambda t, x, i, out: (x, i, t._neg_view(out)),
        lambda t, x, i, out: (x.to("meta"), i, out),
        lambda t, x, i, out: (x.to_sparse(), i, out),
        lambda t, x, i, out: (t.frombuffer(bytearray(97), dtype=t.uint8)[1:].view(t.int8).numpy(), i, out),
        lambda t, x, i, out: (t.from_numpy(misaligned((8, 3))), i, out),
        lambda t, x, i, out: (x.as_subclass(type("Own", (t.Tensor,), {})), i, out),
        lambda t, x, i, out: (x, i.int(), out),
        lambda t, x, i, out: (x, i, out[:3]),
        lambda t, x, i, out: (x, i, out.to("meta")),
        lambda t, x, i, out: (x, i, out.bfloat16()),
        lambda t, x, i, out: (x, i, out[:1].expand(4, 3)),
        lambda t, x, i, out: (x, i, x[2:6]),
        lambda t, x, i, out: (x, t.tensor([0, 1, 8, 2]), out),
    ],
)
def test_torch_tensors_that_are_left_to_the_slow_path(take: Any, change: Any) -> None:
    torch = need("torch")
    x, i, out = torch.from_numpy(X.copy()), torch.from_numpy(INDEX), torch.empty(4, 3)
    take(x, i, out=out)
    args = change(torch, x, i, out)
    with only_fast(take):
        take(x, i, out=out)
        with pytest.raises(SlowPathError):
            take(*args[:2], out=args[2])


def test_torch_results_by_size() -> None:
    torch = need("torch")
    m, x = made(), torch.from_numpy(X)
    for k in (0, 1, SMALL // 12, SMALL // 12 + 1, 10_000):
        i = torch.arange(k) % 16 - 8
        m(x, i)
        with only_fast(m):
            assert torch.equal(m(x, i), x[i])


def test_torch_parameters_and_inference(take: Any) -> None:
    torch = need("torch")
    parameter, i = torch.nn.Parameter(torch.from_numpy(X)), torch.from_numpy(INDEX)
    with torch.no_grad():
        take(parameter, i)
    with only_fast(take):
        with torch.no_grad():
            assert torch.equal(take(parameter, i), parameter.detach()[i])
            assert not take(parameter, i).is_inference()
        with torch.inference_mode():
            assert take(parameter, i).is_inference()
        with pytest.raises(SlowPathError):  # which refuses what would lose its gradient
            take(parameter, i)


def test_jax_arrays_are_read(take: Any) -> None:
    jax = need("jax")
    with jax.enable_x64(True):
        x, i = jax.numpy.asarray(X), jax.numpy.asarray(INDEX)
    out = np.empty((4, 3), np.float32)
    take(x, i, out=out)
    gone = x + 1
    with only_fast(take):
        for table in (x, x + 2):
            assert take(table, i, out=out) is out
            np.testing.assert_array_equal(out, np.asarray(table)[INDEX])
            result = take(table, i)
            assert isinstance(result, jax.Array)
            np.testing.assert_array_equal(result, out)
        gone.delete()
        for args in ((gone, i), (x[:7], i), (x.astype("float16"), i), (x, INDEX.tolist())):
            with pytest.raises(SlowPathError):
                take(*args, out=out)
        with pytest.raises(SlowPathError):
            take(x, i, out=result)


def test_results_of_arrays_of_several_libraries(take: Any) -> None:
    torch = need("torch")
    x, out = torch.from_numpy(X), np.empty((4, 3), np.float32)
    take(x, INDEX, out=out)
    take(X, torch.from_numpy(INDEX), out=torch.empty(4, 3))
    with only_fast(take):
        assert type(take(x, INDEX)) is torch.Tensor
        assert type(take(X, torch.from_numpy(INDEX))) is np.ndarray


def test_references_to_tensors_are_given_back(take: Any) -> None:
    torch, jax = need("torch"), need("jax")
    tables = [torch.from_numpy(X), jax.numpy.asarray(X)]
    missing, out = torch.tensor([5, 8, 7, 0]), np.empty((4, 3), np.float32)

    def rounds() -> None:
        for x in tables:
            for _ in range(20):
                take(x, INDEX, out=out)
                take(x, INDEX)
                with pytest.raises(gs.BoundsError):
                    take(x, missing, out=out)

    rounds()
    before = [sys.getrefcount(x) for x in (*tables, missing, out, False)]
    rounds()
    after = [sys.getrefcount(x) for x in (*tables, missing, out, False)]
    assert after[:-1] == before[:-1] and abs(after[-1] - before[-1]) < 20


@pytest.mark.parametrize("changes", [{}, {"strides": False}, {"newer": True}, {"number": 3}])
def test_any_librarys_arrays_are_read(take: Any, changes: Any) -> None:
    Array = library(**changes)
    x, i, out = Array(X), Array(INDEX), np.empty((4, 3), np.float32)
    take(x, i)
    with only_fast(take):
        assert take(x, i, out=out) is out
        np.testing.assert_array_equal(out, X[INDEX])
        np.testing.assert_array_equal(take(Array(X + 1), i), X[INDEX] + 1)
        if "strides" not in changes:
            with pytest.raises(SlowPathError):
                take(Array(np.asfortranarray(X)), i, out=out)
        with pytest.raises(SlowPathError):  # whether it may be written the table does not tell
            take(x, i, out=Array(out))


@pytest.mark.parametrize("changes", [{"fails": True}, {"device": 2}, {"major": 2}])
def test_a_librarys_arrays_that_are_left_to_the_slow_path(take: Any, changes: Any) -> None:
    Array = library(**changes)
    for _ in range(3):
        np.testing.assert_array_equal(take(Array(X), INDEX), X[INDEX])
    with only_fast(take), pytest.raises(SlowPathError):
        take(Array(X), INDEX)


# -- the extension by itself ------------------------------------------------------------------------------------------


def test_interrupts_are_not_swallowed(take: Any) -> None:
    class Array(library()):  # type: ignore[misc]
        pass

    def interrupt(x: Any) -> Any:
        raise KeyboardInterrupt

    assert extension is not None
    extension.register(Array, Array.__dlpack_c_exchange_api__, ((interrupt, True, None),), True, None, False)
    with pytest.raises(KeyboardInterrupt):
        take(Array(X), INDEX, out=np.empty((4, 3), np.float32))


@pytest.mark.parametrize("sizes", [(40, 60_000), ("m", "n")], ids=["fixed", "symbolic"])
def test_scratch_memory(sizes: Any) -> None:
    """Partial results need some; the extension allocates it, as much as the sizes of the call want."""
    m, n = sizes
    b = gs.Builder("sums")
    b.output(
        b.put(
            b.input("x", (m,), "float32"), b.input("i", (n,), "int64"), b.input("src", (n,), "float32"), reduction="add"
        )
    )
    sums = b.build("llvm")
    assert sums.stats.workspace_bytes != 0
    shapes = [sizes] if isinstance(m, int) else [(40, 60_000), (30, 100), (7, 500_000)]
    for rows, points in shapes:
        x, index, src = np.ones(rows, "float32"), np.arange(points) % rows, np.ones(points, "float32")
        want = 1 + np.bincount(index, minlength=rows).astype("float32")
        for _ in range(3):
            assert np.array_equal(sums(x, index, src), want)
    assert len(sums._fast_calls) == len(shapes)
    called = []
    sums._run = lambda *args: called.append(args)  # what the slow path does
    assert np.array_equal(sums(x, index, src), want) and not called


def test_wrong_arguments_of_the_extension() -> None:
    assert extension is not None
    fast = extension.FastCall(1, 1, None, 1, 1, print)
    with pytest.raises(ValueError, match="status must be from 1 to 64; got 65"):
        extension.FastCall(1, 1, None, 1, 65, print)
    with pytest.raises(TypeError):
        extension.FastCall(1)
    for make in (7, (print,), (print, 1, {}), (print, (), 1)):
        with pytest.raises(TypeError, match="make must be"):
            fast.add((X,), X.copy(), (), 0, -1, True, make, None, None)
    out = np.empty(3)
    with pytest.raises(ValueError, match="no such number of bytes: -1"):
        fast.add((X,), X.copy(), (), -1, -1, True, None, None, None)
    assert not fast.add((X,), X.tolist(), (), 0, -1, True, None, None, None)  # no array
    assert not fast.add((X,) * 40, out, (), 0, -1, True, None, None, None)  # too many of them
    assert not fast.add((X,), out, (0,) * 70, 0, -1, True, None, None, None)
    assert not fast.add((X,), out, ("n",), 0, -1, True, None, None, None)
    assert not fast.add((X,), locked(np.empty(3)), (), 0, -1, True, None, None, None)
    assert not fast.add(
        (X.reshape((1,) * 7 + X.shape),), out, (), 0, -1, True, None, None, None
    )  # no module has nine axes
    with pytest.raises(ValueError, match="incorrect name"):
        extension.register(int, new_capsule(1, b"another", None), (), True, None, False)
    check = print, None, None
    with pytest.raises(ValueError, match="at most 2 checks"):
        extension.register(int, library().__dlpack_c_exchange_api__, (check,) * 3, True, None, False)
    with pytest.raises(ValueError, match="none through the buffer protocol"):
        extension.register(int, None, (check,), True, None, False)
    for wrong in (print, (), (print, None)):
        with pytest.raises(TypeError, match="a check must be"):
            extension.register(int, library().__dlpack_c_exchange_api__, (wrong,), True, None, False)
    with pytest.raises(TypeError):
        extension.address([1])
    assert extension.address(out) == out.ctypes.data
    with pytest.raises(TypeError):
        extension.FastBound(print, (), out, print)


def test_a_bound_call_takes_no_arguments(take: Any) -> None:
    run = take.bind(X, INDEX)
    for call in (lambda: run(X), lambda: run(out=X)):
        with pytest.raises(TypeError):
            call()
