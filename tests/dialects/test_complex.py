"""complex64 and complex128 in the dialects, against NumPy, PyTorch and JAX.

Parts are small integers, infinities, NaN and zeros of both signs, so that sums and products are exact in any order.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.dialects import jax as gj
from gscompile.dialects import numpy as gn
from gscompile.dialects import torch as gt
from gscompile.dialects import xla as gx
from tests.dialects.differential import Against, Draw, one_array
from tests.frameworks import need
from tests.oracle import Array

COMPLEX = ("complex64", "complex128")
USUAL = np.array([0.0, -0.0, 1, -1, 2, 3, -4])
UGLY = np.array([*USUAL, np.inf, -np.inf, np.nan])


def numbers(d: Draw, shape: Any, dtype: str = "complex64", ugly: float = 0.5) -> Array:
    pool = UGLY if d.maybe(ugly) else USUAL
    out = np.empty(shape, dtype)
    out.real, out.imag = (d.rng.choice(pool, shape) for _ in range(2))
    return out


def parts(call: Callable[[], Any]) -> Callable[[], Any]:
    """The call, with the parts of a complex result as floats."""

    def run() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x = call()
        if type(x).__module__.startswith("torch"):
            x = x.resolve_conj()
        found = one_array(x)
        return np.stack([found.real, found.imag], -1) if found.dtype.kind == "c" else found

    return run


seeds = pytest.mark.parametrize("seed", range(1, 4))


# -- PyTorch ----------------------------------------------------------------------------------------------------------


def torch_calls(torch: ModuleType, d: Draw) -> dict[str, Callable[[Any], Any]]:
    """One call of each function, as a function of the module that has it."""
    dtype = d.choice(COMPLEX)
    n, m, k = 4, 3, 6
    x, src = (torch.from_numpy(numbers(d, s, dtype)) for s in ((n, m), (k, m)))
    line, new = (torch.from_numpy(numbers(d, s, dtype)) for s in ((n,), (k,)))
    if d.maybe(0.3):
        x, src = x.conj(), src.conj()
    at = torch.from_numpy(d.index((k,), n, negative=False))
    grid = torch.from_numpy(d.index((k, m), n, negative=False))
    number = complex(d.integer(-3, 3), d.integer(-3, 3))
    mask, reduce = torch.from_numpy(d.rng.random((n,)) < 0.5), d.choice(("sum", "prod", "amax", "amin"))
    keep = d.maybe(0.5)
    pair = (grid, torch.from_numpy(d.index((k, m), m, negative=False)))
    return {
        "gather": lambda t: t.gather(x, 0, grid),
        "take_along_dim": lambda t: t.take_along_dim(x, grid, 0),
        "index_select": lambda t: t.index_select(x, 0, at),
        "take": lambda t: t.take(x, grid),
        "scatter": lambda t: t.scatter(x, 0, grid, src),
        "scatter add": lambda t: t.scatter(x, 0, grid, src, reduce="add"),
        "scatter multiply": lambda t: t.scatter(x, 0, grid, src, reduce="multiply"),
        "scatter number": lambda t: t.scatter(x, 0, grid, number, reduce="multiply" if keep else "add"),
        "scatter_add": lambda t: t.scatter_add(x, 0, grid, src),
        "scatter_reduce": lambda t: t.scatter_reduce(x, 0, grid, src, reduce, include_self=keep),
        "index_add": lambda t: t.index_add(line, 0, at, new),
        "index_add alpha": lambda t: t.index_add(x, 0, at, src, alpha=number),
        "index_copy": lambda t: t.index_copy(x, 0, at, src),
        "index_fill": lambda t: t.index_fill(x, 0, at, number),
        "index_reduce": lambda t: t.index_reduce(x, 0, at, src, "prod"),
        "put": lambda t: t.put(line, at, new, accumulate=keep) if t is gt else line.put(at, new, accumulate=keep),
        "index_put": lambda t: t.index_put(x, pair, src, accumulate=keep),
        "index_put masked": lambda t: t.index_put(line, (mask,), line[0], accumulate=keep),
        "cumsum": lambda t: t.cumsum(x, 0) + 0,
        "embedding": lambda t: (t if t is gt else t.nn.functional).embedding(grid, x),
        "embedding_bag": lambda t: (t if t is gt else t.nn.functional).embedding_bag(grid, x, mode="sum"),
    }


def test_torch() -> None:
    torch_agrees(0)


@seeds
def test_more_of_torch(seed: int) -> None:
    torch_agrees(seed)


def torch_agrees(seed: int) -> None:
    torch = need("torch")
    judge = f"torch {torch.__version__.split('+')[0]}"
    for label, call in torch_calls(torch, Draw(seed)).items():
        name = label.partition(" ")[0]
        ours, theirs = (parts(lambda t=t, call=call: call(t)) for t in (gt, torch))  # type: ignore[misc]
        # in products of more than two, PyTorch begins with other factors: infinities may become NaN
        Against("torch", name, judge).agree(ours, theirs, label)


def test_a_mean_in_torch() -> None:
    torch = need("torch")
    d = Draw(5)
    x, src = (torch.from_numpy(numbers(d, (k, 3), ugly=0)) for k in (4, 6))
    grid = torch.from_numpy(d.index((6, 3), 4, negative=False))
    ours, theirs = (parts(lambda t=t: t.scatter_reduce(x, 0, grid, src, "mean")) for t in (gt, torch))  # type: ignore[misc]
    Against("torch", "scatter_reduce", f"torch {torch.__version__.split('+')[0]}").agree(ours, theirs, rtol=1e-6)


# -- JAX --------------------------------------------------------------------------------------------------------------


def test_jax() -> None:
    jax_agrees(0)


@seeds
def test_more_of_jax(seed: int) -> None:
    jax_agrees(seed)


def jax_agrees(seed: int) -> None:
    jax = need("jax")
    jnp, d, judge = jax.numpy, Draw(seed), f"jax {jax.__version__}"
    with jax.enable_x64(True):
        dtype = d.choice(COMPLEX)
        x, new = jnp.asarray(numbers(d, (4, 3), dtype)), jnp.asarray(numbers(d, (6, 3), dtype))
        at = jnp.asarray(d.index((6,), 4, wild=0.3))
        grid = jnp.asarray(d.index((6, 3), 4, wild=0.3))
        for how in ("set", "add", "subtract", "multiply", "min", "max", "divide"):
            exact = how != "divide"
            y = new if exact else jnp.asarray(numbers(d, (6, 3), dtype, ugly=0) + 7)
            z = x if exact else jnp.asarray(numbers(d, (4, 3), dtype, ugly=0))
            Against("jax", "at", judge).agree(
                parts(lambda: getattr(gj.at(z)[at], how)(y)),  # noqa: B023
                parts(lambda: getattr(z.at[at], how)(y)),  # noqa: B023
                (how, seed),
                rtol=0 if exact else 1e-5,
            )
        calls: dict[str, tuple[Any, Any]] = {
            "at get": (lambda: gj.at(x)[at].get(mode="fill"), lambda: x.at[at].get(mode="fill")),
            "at fill": (
                lambda: gj.at(x)[at].get(mode="fill", fill_value=2 - 1j),
                lambda: x.at[at].get(mode="fill", fill_value=2 - 1j),
            ),
            "at number": (lambda: gj.at(x)[at].add(2j), lambda: x.at[at].add(2j)),
            "at real": (lambda: gj.at(x.real)[at].add(new), lambda: x.real.at[at].add(new)),
            "at apply": (lambda: gj.at(x)[at].apply(lambda v: v * v), lambda: x.at[at].apply(lambda v: v * v)),
            "take": (lambda: gj.take(x, at, 0), lambda: jnp.take(x, at, 0)),
            "take_along_axis": (lambda: gj.take_along_axis(x, grid, 0), lambda: jnp.take_along_axis(x, grid, 0)),
            "cumsum": (lambda: gj.cumsum(x, 0) + 0, lambda: jnp.cumsum(x, 0) + 0),
        }
        for how in ("sum", "prod", "min", "max"):
            ours, theirs = getattr(gj, f"segment_{how}"), getattr(jax.ops, f"segment_{how}")
            calls[f"segment_{how}"] = (lambda f=ours: f(new, at, 5), lambda f=theirs: f(new, at, 5))
        for label, (ours, theirs) in calls.items():
            Against("jax", label.partition(" ")[0], judge).agree(parts(ours), parts(theirs), (label, seed))


def test_the_power_of_complex_numbers_in_jax() -> None:
    jax = need("jax")
    x = np.array([1 + 2j, 3, -2 - 1j], "complex64")
    at, y = np.array([0, 1, 2]), np.array([0.5 - 1j, 2, 1.5], "complex64")
    want = jax.numpy.asarray(x).at[at].power(y)
    np.testing.assert_allclose(gj.at(x)[at].power(y), want, rtol=1e-5)


def test_xla() -> None:
    xla_agrees(0)


@seeds
def test_more_of_xla(seed: int) -> None:
    xla_agrees(seed)


def xla_agrees(seed: int) -> None:
    jax = need("jax")
    d = Draw(seed)
    x, new = numbers(d, (4, 3)), numbers(d, (6, 3))
    at = d.index((6, 1), 4, wild=0.3)
    for name, function in {
        "scatter": lambda old, new: new,
        "scatter_add": lambda old, new: old + new,
        "scatter_mul": lambda old, new: old * new,
        "scatter_min": lambda old, new: old.builder.minimum(old, new),
        "scatter_max": lambda old, new: old.builder.maximum(old, new),
    }.items():
        numbering = jax.lax.ScatterDimensionNumbers((1,), (0,), (0,))
        scatter = getattr(jax.lax, name)
        Against("xla", "scatter", f"jax {jax.__version__}").agree(
            parts(lambda: gx.scatter(x, at, new, [1], [0], [], [], [0], 1, update_computation=function)),  # noqa: B023
            parts(lambda: jax.enable_x64(True)(scatter)(x, at, new, numbering, mode="drop")),  # noqa: B023
            (name, seed),
        )


# -- NumPy ------------------------------------------------------------------------------------------------------------


def test_numpy() -> None:
    numpy_agrees(0)


@seeds
def test_more_of_numpy(seed: int) -> None:
    numpy_agrees(seed)


def numpy_agrees(seed: int) -> None:
    d, judge = Draw(seed), f"numpy {np.__version__}"
    dtype = d.choice(COMPLEX)
    a, new = numbers(d, (4, 3), dtype), numbers(d, (6, 3), dtype)
    at, grid = d.index((6,), 4), d.index((6, 3), 4)
    calls: dict[str, tuple[Any, Any]] = {
        "take": (lambda: gn.take(a, at, 0), lambda: np.take(a, at, 0)),
        "take_along_axis": (lambda: gn.take_along_axis(a, grid, 0), lambda: np.take_along_axis(a, grid, 0)),
        "choose": (lambda: gn.choose(np.abs(at) % 4, [a[0, 0], a[1, 0], a[2, 0], a[3, 0]]),) * 2,
    }
    calls["choose"] = (calls["choose"][0], lambda: np.choose(np.abs(at) % 4, [a[0, 0], a[1, 0], a[2, 0], a[3, 0]]))
    for label, (ours, theirs) in calls.items():
        Against("numpy", label, judge).agree(parts(ours), parts(theirs), (label, seed))
    for name in ("add", "subtract", "multiply", "minimum", "maximum"):
        for b in (new, new.real, 2, 1 + 2j):
            got, want = a.copy(), a.copy()

            def run(x: Array, at_: Any, b: Any = b) -> Array:
                at_(x, b)
                return x

            ours = parts(lambda: run(got, lambda x, b: gn.ufunc_at(name, x, at, b)))  # noqa: B023
            theirs = parts(lambda: run(want, lambda x, b: getattr(np, name).at(x, at, b)))  # noqa: B023
            Against("numpy", "ufunc_at", judge).agree(ours, theirs, (name, seed, type(b)))


def test_a_number_that_is_not_real_does_not_go_into_a_real_tensor() -> None:
    torch = need("torch")
    x, at = torch.ones(3), torch.tensor([0, 1])
    for call in (lambda t: t.index_fill(x, 0, at, 1j), lambda t: t.scatter(x, 0, at, 1j)):
        with pytest.raises(RuntimeError):
            call(torch)
        with pytest.raises(gs.DTypeError):
            call(gt)
