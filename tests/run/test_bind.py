"""Bound calls: everything checked once, run many times."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import gscompile as gs


def module(reduction: str | None = None) -> gs.Module:
    b = gs.Builder("net")
    x, i = b.input("x", ("n", 4), "float32"), b.input("i", ("k",), "int64")
    if reduction is None:
        b.output(b.take(x, i))
    else:
        b.output(b.put(x, i, b.input("src", ("k", 4), "float32"), reduction=reduction))
    return b.build()


def arrays(seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.random((9, 4)).astype("float32"), rng.integers(-9, 9, 5)


def test_it_reads_what_the_arrays_hold_when_it_is_called() -> None:
    x, i = arrays()
    out = np.empty((5, 4), "float32")
    run = module().bind(x, i=i, out=out)
    assert run() is out
    np.testing.assert_array_equal(out, x[i])
    x[:], i[:] = arrays(1)
    run()
    np.testing.assert_array_equal(out, x[i])
    assert "bound call" in repr(run)


def test_out_is_made_once() -> None:
    x, i = arrays()
    run = module().bind(x, i)
    first = run()
    assert run() is first
    np.testing.assert_array_equal(first, x[i])


def test_bounds_are_checked_at_every_call() -> None:
    x, i = arrays()
    run = module().bind(x, i)
    run()
    i[3] = 9
    for _ in range(2):
        with pytest.raises(gs.BoundsError, match=r"i\[3\] = 9"):
            run()
    i[3] = 8
    np.testing.assert_array_equal(run(), x[i])


def test_in_place() -> None:
    x, i = arrays()
    src = np.ones((5, 4), "float32")
    want = x.copy()
    run = module("add").bind(x, i, src, out=x)
    for _ in range(3):
        run()
        np.add.at(want, i, src)
    np.testing.assert_array_equal(x, want)
    i[0] = 9
    with pytest.raises(gs.BoundsError):
        run()
    np.testing.assert_array_equal(x, want)


def test_arrays_that_would_be_copied_are_refused() -> None:
    x, i = arrays()
    m = module()
    with pytest.raises(gs.ArgumentError, match="x would be copied"):
        m.bind(np.asfortranarray(x), i)
    with pytest.raises(gs.ArgumentError, match="out would be copied"):
        m.bind(x, i, out=np.empty((5, 8), "float32")[:, ::2])
    with pytest.raises(gs.ShapeError):
        m.bind(x[:, :3], i)
    with pytest.raises(gs.DTypeError):
        m.bind(x, i, out=np.empty((5, 4)))


def test_jax_needs_out() -> None:
    jax = pytest.importorskip("jax", reason="needs jax: pip install '.[conformance]'")
    x, i = arrays()
    given = jax.numpy.asarray(x), jax.numpy.asarray(i.astype("int32"))
    b = gs.Builder("net")
    b.output(b.take(b.input("x", (9, 4), "float32"), b.input("i", (5,), "int32")))
    m = b.build()
    with pytest.raises(gs.ArgumentError, match="bind needs out"):
        m.bind(*given)
    out = np.empty((5, 4), "float32")
    m.bind(*given, out=out)()
    np.testing.assert_array_equal(out, x[i])


def test_arrays_stay_alive() -> None:
    x, i = arrays()
    want = x[i]
    run = module().bind(x.copy(), i.copy())
    junk = [np.full((9, 4), 7, "float32") for _ in range(50)]
    np.testing.assert_array_equal(run(), want)
    assert junk


def test_bound_calls_of_many_threads() -> None:
    m = module()
    runs = [(m.bind(*arrays(k)), arrays(k)) for k in range(4)]
    wrong = []

    def work(k: int) -> None:
        run, (x, i) = runs[k]
        for _ in range(200):
            if not np.array_equal(run(), x[i]):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
