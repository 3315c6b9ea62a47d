"""Which dtypes the functions of NumPy, PyTorch and JAX take, ours take: every function with every dtype, judged by running them.

A function's result is compared bit for bit.  Both may refuse; what the framework takes and we do not is in ``MOVED``.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.dialects import jax as gj
from gscompile.dialects import numpy as gn
from gscompile.dialects import torch as gt
from tests.dialects.differential import Refused, outcome
from tests.frameworks import need
from tests.oracle import Array

Call = Callable[[Any], Any]

ARITHMETIC = ("cumsum", "cumprod", "ufunc_at")
# elements that are moved and nothing else: what NumPy computes with them is refused
MOVED = ("datetime", "timedelta", "<U", ">", "|S", "|V", "float128", "complex256", "[")
# of PyTorch's dtypes, those that it has hardly a function for, which arrays of ours cannot have: refused
UNKNOWN = {"bits8", "bits16", "bits1x8", "bits2x4", "bits4x2", "complex32", "float4_e2m1fn_x2"}
UNKNOWN |= {f"{sign}int{n}" for sign in ("", "u") for n in (3, 5, 6, 7)}
# (dialect, function, dtype): where a framework's result is its own
DIFFER = {
    (
        "torch",
        "index_reduce prod",
        "float8_e8m0fnu",
    ): "PyTorch takes 0, to which a product underflows, for 2^-127; XLA for NaN",
    ("jax", "cumsum", "float8_e8m0fnu"): "XLA's sums begin with 0, which is no power of two: all are NaN",
    ("jax", "lax_cumsum", "float8_e8m0fnu"): "as cumsum",
}


def bits(x: Any) -> tuple[str, tuple[int, ...], bytes]:
    """A result's dtype, shape and bytes."""
    if type(x).__module__.startswith("torch"):
        import torch

        x = x.detach().resolve_conj().contiguous()
        raw = x.reshape(-1).view(torch.uint8) if x.numel() else x.reshape(-1)[:0]
        return str(x.dtype), tuple(x.shape), bytes(raw.tolist())
    a = np.asarray(x)
    if a.dtype.name.startswith("float8"):  # by which sign XLA's NaN of 8 bits has depends on the CPU
        a = np.where(a != a, np.abs(a), a)
    return a.dtype.str if a.dtype.isbuiltin != 2 else a.dtype.name, a.shape, a.tobytes()


def compare(dialect: str, name: str, dtype: str, ours: Callable[[], Any], theirs: Callable[[], Any]) -> None:
    """Both give the same bits, or both refuse; ours with an error of gscompile's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want, got = outcome(lambda: bits(theirs())), outcome(lambda: bits(ours()))
    label = f"{dialect} {name} of {dtype}"
    if isinstance(got, Refused) and not isinstance(got.error, gs.GSError):
        raise AssertionError(f"{label}: {got}") from got.error
    if dialect == "numpy" and (
        dtype == "object" or (dtype.startswith(MOVED) and name.startswith(ARITHMETIC) and "index" not in name)
    ):
        assert isinstance(got, Refused), label
        assert isinstance(got.error, gs.DTypeError), f"{label}: {got}"
    elif dialect == "torch" and (dtype in UNKNOWN or (name.startswith("index_reduce") and dtype == "bool")):
        assert isinstance(got, Refused), f"{label}: {got}"
        assert isinstance(got.error, gs.DTypeError), f"{label}: {got}"
    elif (dialect, name, dtype) in DIFFER:
        assert not isinstance(got, Refused) and got != want, label
    elif dialect == "torch" and isinstance(want, Refused):
        pass  # ours take more 8-bit floats and integers
    elif isinstance(want, Refused) or isinstance(got, Refused):
        assert isinstance(want, Refused) and isinstance(got, Refused), f"{label}: theirs {want}, ours {got}"
    else:
        assert got == want, f"{label}: theirs {want}, ours {got}"


class Differences:
    """Collects what comparisons find, so that a test says all of it at its end."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.compared = 0

    def compare(self, dialect: str, name: str, dtype: str, ours: Callable[[], Any], theirs: Callable[[], Any]) -> None:
        self.compared += 1
        try:
            compare(dialect, name, dtype, ours, theirs)
        except AssertionError as error:
            self.seen.append(str(error))

    def none_among(self, atleast: int) -> None:
        assert self.compared >= atleast
        assert not self.seen, "\n".join(self.seen)


# -- NumPy ------------------------------------------------------------------------------------------------------------

NUMBERS = [*"?bBhHiIqQefdgFDG"]
OTHERS = ["M8[s]", "m8[ms]", "S3", "U2", "V5", "i4,f8", ">i4", ">f8", ">c8", ">M8[s]", ">U2", "object"]
NARROW = [
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3b11fnuz",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e3m4",
    "float8_e8m0fnu",
    "int4",
    "uint4",
    "int2",
    "uint2",
    "float4_e2m1fn",
]


def numpy_dtypes() -> Iterator[np.dtype[Any]]:
    import ml_dtypes

    yield from map(np.dtype, (*NUMBERS, *OTHERS))
    yield from (np.dtype(getattr(ml_dtypes, name)) for name in NARROW)


def filled(shape: tuple[int, ...], dtype: np.dtype[Any], first: int = 0) -> Array:
    """Small numbers, or what the dtype makes of their bytes."""
    n = int(np.prod(shape))
    if dtype.kind in "SU":
        flat = np.array([chr(97 + (first + k) % 3) for k in range(n)], dtype)
    elif dtype.names or (dtype.kind == "V" and dtype.num == np.dtype("V1").num):
        flat = np.frombuffer(bytes((first + k) % 7 for k in range(n * dtype.itemsize)), dtype).copy()
    else:
        flat = np.array([(first + k) % 2 for k in range(n)]).astype(dtype)
    return flat.reshape(shape)


def numpy_calls(x: Array, src: Array) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """Ours and theirs of each function; those that write in place on copies."""
    at, grid = np.array([2, 0, -1]), np.array([[0, 2, 1], [1, 0, 3]])

    def written(write: Callable[[Array], Any]) -> Callable[[], Any]:
        def run() -> Any:
            copy = x.copy()
            write(copy)
            return copy

        return run

    calls = {
        "take": (lambda: gn.take(x, at, 0), lambda: np.take(x, at, 0)),
        "take clip": (lambda: gn.take(x, at + 3, mode="clip"), lambda: np.take(x, at + 3, mode="clip")),
        "take_along_axis": (lambda: gn.take_along_axis(x, grid, 0), lambda: np.take_along_axis(x, grid, 0)),
        "choose": (
            lambda: gn.choose(grid % 3, [x[:2], src[:2], x[2:]]),
            lambda: np.choose(grid % 3, [x[:2], src[:2], x[2:]]),
        ),
        "put": (written(lambda c: gn.put(c, at, src[0])), written(lambda c: np.put(c, at, src[0]))),
        "put_along_axis": (
            written(lambda c: gn.put_along_axis(c, grid, src[:2], 0)),
            written(lambda c: np.put_along_axis(c, grid, src[:2], 0)),
        ),
        "cumsum": (lambda: gn.cumsum(x, 0), lambda: np.cumsum(x, 0)),
        "cumprod": (lambda: gn.cumprod(x, 0), lambda: np.cumprod(x, 0)),
    }
    for name in (
        "add",
        "subtract",
        "multiply",
        "maximum",
        "minimum",
        "fmax",
        "logical_or",
        "bitwise_and",
        "left_shift",
    ):
        ufunc = getattr(np, name)
        calls[f"ufunc_at {name}"] = (
            written(lambda c, ufunc=ufunc: gn.ufunc_at(ufunc, c, [0, 2, 0], src[:3])),
            written(lambda c, ufunc=ufunc: ufunc.at(c, [0, 2, 0], src[:3])),
        )
    for name in ("negative", "invert"):
        ufunc = getattr(np, name)
        calls[f"ufunc_at {name}"] = (
            written(lambda c, ufunc=ufunc: gn.ufunc_at(ufunc, c, [0, 2])),
            written(lambda c, ufunc=ufunc: ufunc.at(c, [0, 2])),
        )
    return calls


NUMPY_NAMES = list(numpy_calls(np.zeros((4, 3)), np.ones((4, 3))))


@pytest.mark.parametrize("name", NUMPY_NAMES)
def test_numpy(name: str) -> None:
    need("ml_dtypes")
    differences = Differences()
    for dtype in numpy_dtypes():
        x, src = filled((4, 3), dtype), filled((4, 3), dtype, 1)
        differences.compare("numpy", name, str(dtype), *numpy_calls(x, src)[name])
    differences.none_among(len(NUMBERS) + len(OTHERS) + len(NARROW))


@pytest.mark.parametrize("name", ["take", "take_along_axis", "choose", "put", "put_along_axis", "ufunc_at"])
def test_indices_of_numpy(name: str) -> None:
    x, differences = np.arange(12.0).reshape(4, 3), Differences()
    for code in (*NUMBERS, ">i4", ">i8", ">u2", "m8[ms]", "S1"):
        at = np.array([[0, 1, 1], [1, 0, 0]]).astype(code)

        def call(module: Any, at: Array = at) -> Any:
            c = x.copy()
            if name == "take":
                return module.take(c, at, 0)
            if name == "take_along_axis":
                return module.take_along_axis(c, at, 0)
            if name == "choose":
                return module.choose(at, [c[:2], c[2:]])
            if name == "put":
                module.put(c, at, -x[0])
            elif name == "put_along_axis":
                module.put_along_axis(c, at, -x[:2], 0)
            elif module is gn:
                gn.ufunc_at(np.add, c, at, 1.0)
            else:
                np.add.at(c, at, 1.0)
            return c

        for _ in range(2):  # the second call finds the first one's module
            differences.compare(
                "numpy", f"{name} index", str(at.dtype), lambda call=call: call(gn), lambda call=call: call(np)
            )
    differences.none_among(2 * len(NUMBERS))


# -- PyTorch ----------------------------------------------------------------------------------------------------------


def torch_calls(torch: Any, x: Any, src: Any) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    at, grid = torch.tensor([2, 0, 1, 3]), torch.tensor([[0, 2, 1], [1, 0, 3], [2, 1, 0], [3, 3, 2]])
    F = torch.nn.functional
    offsets = torch.tensor([0, 2])
    one: dict[str, Call] = {
        "gather": lambda t: t.gather(x, 0, grid),
        "take_along_dim": lambda t: t.take_along_dim(x, grid, 0),
        "index_select": lambda t: t.index_select(x, 0, at),
        "take": lambda t: t.take(x, grid),
        "scatter": lambda t: t.scatter(x, 0, grid, src),
        "scatter number": lambda t: t.scatter(x, 0, grid, 1),
        "scatter add": lambda t: t.scatter(x, 0, grid, src, reduce="add"),
        "scatter multiply": lambda t: t.scatter(x, 0, grid, src, reduce="multiply"),
        "scatter_add": lambda t: t.scatter_add(x, 0, grid, src),
        **{
            f"scatter_reduce {how}": lambda t, how=how: t.scatter_reduce(x, 0, grid, src, how)
            for how in ("sum", "prod", "amax", "amin", "mean")
        },
        "index_add": lambda t: t.index_add(x, 0, at, src),
        "index_add alpha": lambda t: t.index_add(x, 0, at, src, alpha=2),
        "index_copy": lambda t: t.index_copy(x, 0, at, src),
        "index_fill": lambda t: t.index_fill(x, 0, at, 1),
        **{
            f"index_reduce {how}": lambda t, how=how: t.index_reduce(x, 0, at, src, how)
            for how in ("prod", "amax", "amin", "mean")
        },
        "put": lambda t: t.put(x, grid, src) if t is gt else x.put(grid, src),
        "put accumulate": lambda t: t.put(x, grid, src, True) if t is gt else x.put(grid, src, True),
        "index_put": lambda t: t.index_put(x, (at,), src),
        "index_put accumulate": lambda t: t.index_put(x, (at,), src, True),
        "index_put masked": lambda t: t.index_put(x.reshape(-1), (torch.arange(12) % 3 > 1,), src.reshape(-1)[:4]),
        "cumsum": lambda t: t.cumsum(x, 0),
        "cumprod": lambda t: t.cumprod(x, 0),
        "embedding": lambda t: (t if t is gt else F).embedding(grid, x),
        **{
            f"embedding_bag {how}": lambda t, how=how: (t if t is gt else F).embedding_bag(at, x, offsets, mode=how)
            for how in ("sum", "mean", "max")
        },
    }
    return {name: (lambda c=call: c(gt), lambda c=call: c(torch)) for name, call in one.items()}


def torch_dtypes(torch: Any) -> list[Any]:
    return sorted({d for d in vars(torch).values() if isinstance(d, torch.dtype)}, key=str)


TORCH_NAMES = (
    *("gather", "take_along_dim", "index_select", "take", "index_add", "index_add alpha", "index_copy", "index_fill"),
    *("scatter", "scatter number", "scatter add", "scatter multiply", "scatter_add"),
    *(f"scatter_reduce {how}" for how in ("sum", "prod", "amax", "amin", "mean")),
    *(f"index_reduce {how}" for how in ("prod", "amax", "amin", "mean")),
    *(
        "put",
        "put accumulate",
        "index_put",
        "index_put accumulate",
        "index_put masked",
        "cumsum",
        "cumprod",
        "embedding",
    ),
    *(f"embedding_bag {how}" for how in ("sum", "mean", "max")),
)


def torch_filled(torch: Any, dtype: Any, first: int = 0) -> Any:
    """Zeros and ones; of a dtype that PyTorch converts nothing to, bytes; None where PyTorch makes no tensors of it."""
    with contextlib.suppress(RuntimeError, NotImplementedError):
        return torch.tensor([(first + k) % 2 for k in range(12)]).to(dtype).reshape(4, 3)
    with contextlib.suppress(RuntimeError, NotImplementedError):
        raw = torch.tensor([(first + k) % 2 for k in range(12 * dtype.itemsize)], dtype=torch.uint8)
        return raw.view(dtype).reshape(4, 3)
    return None


@pytest.mark.parametrize("name", TORCH_NAMES)
def test_torch(name: str) -> None:
    torch, differences = need("torch"), Differences()
    for dtype in torch_dtypes(torch):
        x, src = torch_filled(torch, dtype), torch_filled(torch, dtype, 1)
        if x is not None:
            calls = torch_calls(torch, x, src)
            assert set(calls) == set(TORCH_NAMES)
            differences.compare("torch", name, str(dtype).removeprefix("torch."), *calls[name])
    differences.none_among(16)


# -- JAX --------------------------------------------------------------------------------------------------------------


def jax_calls(jax: Any, x: Any, src: Any) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    jnp = jax.numpy
    at, grid = np.array([2, 0, 1, 2]), np.array([[0, 2, 1], [1, 0, 3]])
    calls = {
        "take": (lambda: gj.take(x, at, 0), lambda: jnp.take(x, at, 0)),
        "take_along_axis": (lambda: gj.take_along_axis(x, grid, 0), lambda: jnp.take_along_axis(x, grid, 0)),
        "at get": (lambda: gj.at(x)[at].get(), lambda: x.at[at].get()),
        "cumsum": (lambda: gj.cumsum(x, 0), lambda: jnp.cumsum(x, 0)),
        "cumprod": (lambda: gj.cumprod(x, 0), lambda: jnp.cumprod(x, 0)),
        "lax_cumsum": (lambda: gj.lax_cumsum(x), lambda: jax.lax.cumsum(x)),
        "lax_cumprod": (lambda: gj.lax_cumprod(x), lambda: jax.lax.cumprod(x)),
    }
    for how in ("set", "add", "subtract", "multiply", "min", "max"):
        calls[f"at {how}"] = (
            lambda how=how: getattr(gj.at(x)[at], how)(src),
            lambda how=how: getattr(x.at[at], how)(src),
        )
    for how in ("sum", "prod", "max", "min"):
        calls[f"segment_{how}"] = (
            lambda how=how: getattr(gj, f"segment_{how}")(x, at, 4),
            lambda how=how: getattr(jax.ops, f"segment_{how}")(x, at, 4),
        )
    return calls


JAX_DTYPES = (*NUMBERS, *NARROW)
JAX_NAMES = (
    *("take", "take_along_axis", "cumsum", "cumprod", "lax_cumsum", "lax_cumprod"),
    *(f"at {how}" for how in ("get", "set", "add", "subtract", "multiply", "min", "max")),
    *(f"segment_{how}" for how in ("sum", "prod", "max", "min")),
)


@pytest.mark.parametrize("name", JAX_NAMES)
def test_jax(name: str) -> None:
    jax, ml_dtypes, differences = need("jax"), need("ml_dtypes"), Differences()
    with jax.enable_x64(True):
        for code in JAX_DTYPES:
            dtype = np.dtype(getattr(ml_dtypes, code)) if len(code) > 1 else np.dtype(code)
            try:
                x, src = (jax.numpy.asarray(filled((4, 3), dtype, k)) for k in (0, 1))
            except TypeError:  # longdouble
                continue
            calls = jax_calls(jax, x, src)
            assert set(calls) == set(JAX_NAMES)
            differences.compare("jax", name, str(dtype), *calls[name])
    differences.none_among(21)
