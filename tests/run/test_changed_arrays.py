"""Bound calls, and constants, after the arrays have changed: they are looked at again and used, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.runtime import fastcall
from tests.frameworks import need
from tests.run.calls import made, only_fast

ROWS = 20_000  # large enough for memory that is given back to the system

X, INDEX = np.random.default_rng(5).random((9, 3)).astype("float32"), np.arange(ROWS) % 9


pytestmark = pytest.mark.usefixtures("call_path")


def two_outputs() -> Any:
    """A take beside another output, which the fast path does not know."""
    b = gs.Builder("two")
    x = b.input("x", ("n", 3), "float32")
    b.output(b.take(x, b.input("i", ("k",), "int64")), b.neg(x))
    return b.build()


def test_an_output_that_shrank_is_refused() -> None:
    torch = need("torch")
    out, array = torch.empty(ROWS, 3), np.empty((ROWS, 3), np.float32)
    runs = [made().bind(X, INDEX, out=out), made().bind(X, INDEX, out=array)]
    for run in runs:
        run()
    out.resize_(1, 3).untyped_storage().resize_(12)
    array.resize((1, 3), refcheck=False)
    beside = [np.zeros((ROWS, 3), np.float32) for _ in range(4)]
    for run in runs:
        for _ in range(2):
            with pytest.raises(gs.ShapeError, match=r"must have shape \(20000, 3\); got \(1, 3\)"):
                run()
    assert not any(x.any() for x in beside)
    array.resize((ROWS, 3), refcheck=False)
    np.testing.assert_array_equal(runs[1](), X[INDEX])


@pytest.mark.parametrize("make", [made, two_outputs])
def test_other_storage_is_found(make: Callable[[], Any]) -> None:
    torch = need("torch")
    p, out = torch.from_numpy(X.copy()), torch.empty(ROWS, 3)
    run = make().bind(p, torch.from_numpy(INDEX), out=out if make is made else (out, torch.empty(9, 3)))
    run()
    p.data = torch.from_numpy(X) + 1
    run()
    assert torch.equal(out, p[INDEX])
    out.data = torch.zeros(ROWS, 3)
    run()
    assert torch.equal(out, p[INDEX])
    p.data = torch.ones(9, 3, dtype=torch.float64)
    with pytest.raises(gs.DTypeError, match="input x must have dtype float32; got float64"):
        run()
    p.data = torch.ones(3, 9).t()
    with pytest.raises(gs.ArgumentError, match="x would be copied"):
        run()


def test_an_input_may_grow() -> None:
    x = X.copy()
    m = made()
    run = m.bind(x, INDEX)
    run()
    x.resize((90, 3), refcheck=False)
    x[:] = np.arange(270).reshape(90, 3)
    np.testing.assert_array_equal(run(), x[INDEX])
    if fastcall.extension is not None:
        with only_fast(m):  # which remembers what it is now
            np.testing.assert_array_equal(run(), x[INDEX])


@pytest.mark.parametrize("make", [made, two_outputs])
def test_an_output_that_was_locked_is_not_written(make: Callable[[], Any]) -> None:
    out = np.zeros((ROWS, 3), np.float32)
    run = make().bind(X, INDEX, out=out if make is made else (out, X.copy()))
    out.flags.writeable = False
    with pytest.raises(gs.ArgumentError, match="read-only"):
        run()
    assert not out.any()
    out.flags.writeable = True
    run()
    np.testing.assert_array_equal(out, X[INDEX])


def test_an_output_that_came_to_lie_over_an_input_is_refused() -> None:
    x = X.copy()
    torch = need("torch")
    t, o = torch.from_numpy(x), torch.zeros(9, 3)
    run = made().bind(t, torch.from_numpy(INDEX[:9]), out=o)
    run()
    o.data = t
    with pytest.raises(gs.ArgumentError, match="out would be copied"):
        run()
    np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize("how", ["deleted", "donated"])
def test_a_jax_array_that_is_gone_is_refused(how: str) -> None:
    jax = need("jax")
    with jax.enable_x64(True):
        x, i = jax.numpy.asarray(X) + 0, jax.numpy.asarray(INDEX)
    out = np.zeros((ROWS, 3), np.float32)
    run = made().bind(x, i, out=out)
    np.testing.assert_array_equal(run(), X[INDEX])
    if how == "deleted":
        x.delete()
    else:
        jax.jit(lambda x: x + 1, donate_argnums=0)(x).block_until_ready()
    if x.is_deleted():  # a platform may decline a donation
        with pytest.raises(gs.DeviceError, match="deleted or donated"):
            run()


def test_arrays_of_dlpack_are_looked_at_again() -> None:
    class Holder:
        """An array of a library that nobody knows."""

        def __init__(self, x: Any) -> None:
            self.x = x

        def __dlpack__(self, **keywords: Any) -> Any:
            return self.x.__dlpack__(**keywords)

    x, out = Holder(X), np.zeros((ROWS, 3), np.float32)
    run = made().bind(x, INDEX, out=out)
    np.testing.assert_array_equal(run(), X[INDEX])
    x.x = X + 1
    np.testing.assert_array_equal(run(), X[INDEX] + 1)
    x.x = X[:, :2].copy()
    with pytest.raises(gs.ShapeError):
        run()


def test_a_constant_that_moved_is_found_and_one_that_shrank_is_refused() -> None:
    table = X.copy()
    b = gs.Builder("constant")
    b.output(b.take(b.constant(table), b.input("i", ("k",), "int64")))
    m = b.build()
    run = m.bind(INDEX)
    table.resize((ROWS, 3), refcheck=False)
    for call in (run, lambda: m(INDEX)):
        with pytest.raises(gs.ArgumentError, match=r"a constant was .* when it was compiled"):
            call()
    table.resize((9, 3), refcheck=False)
    table[:] = X + 2
    np.testing.assert_array_equal(m(INDEX), X[INDEX] + 2)
    np.testing.assert_array_equal(run(), X[INDEX] + 2)
