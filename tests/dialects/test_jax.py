"""gscompile.dialects.jax against JAX on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.dialects import jax as gj
from tests.cases import DTYPES, FLOATS, INTEGERS, numpy_dtype
from tests.dialects.differential import Against, Draw
from tests.frameworks import need
from tests.oracle import Array

jax = need("jax")
jnp = jax.numpy
JUDGE = f"jax {jax.__version__}"
MODES = (None, "fill", "drop", "clip", "promise_in_bounds")


@pytest.fixture(autouse=True)
def sixty_four_bits() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def against(function: str) -> Against:
    return Against("jax", function, JUDGE)


def draws(count: int) -> Any:
    return pytest.mark.parametrize("seed", range(count))


def whole(d: Draw, shape: Any, dtype: str) -> Array:
    """Small whole numbers, exact in every dtype in sums and products of a few."""
    return d.rng.integers(0, 3, tuple(shape)).astype(numpy_dtype(dtype))


def index_of(d: Draw, shape: Any, size: int, mode: str | None, odd: float = 0.04) -> Array:
    if d.maybe(odd):
        return d.data(shape, d.choice(("bool", "float32")))
    wild = 0.0 if mode == "promise_in_bounds" else 0.4
    i = d.index(shape, size, d.choice(INTEGERS), negative=mode != "promise_in_bounds", wild=wild)
    if wild and i.dtype.itemsize == 8 and i.size and d.maybe(0.2):
        i.flat[d.integer(0, i.size - 1)] = d.choice((2**32, 2**32 + 1, 2**33 - 1, 2**31, 2**62))
    return i


@draws(60)
def test_take(seed: int) -> None:
    d = Draw(seed)
    mode = (None, "fill", "clip", "wrap")[seed % 4]
    shape = d.shape(d.integer(0, 5), empty=0.06)
    axis = None if d.maybe(0.2) else d.axis(len(shape))
    a = d.data(shape, d.choice(DTYPES))
    size = a.size if axis is None or not shape else shape[axis]
    i = index_of(d, d.shape(d.integer(0, min(3, 7 - len(shape))), empty=0.06), size, mode)
    fill = d.choice((None, None, 1)) if mode != "wrap" else None
    against("take").agree(
        lambda: gj.take(a, i, axis, mode=mode, fill_value=fill),
        lambda: jnp.take(a, i, axis, mode=mode, fill_value=fill),
        (shape, a.dtype, axis, i.dtype, i.shape, mode, fill),
    )


@draws(60)
def test_take_along_axis(seed: int) -> None:
    d = Draw(seed)
    mode = MODES[seed % 5]
    shape = tuple(1 if d.maybe(0.2) else n for n in d.shape(d.integer(0, 5), empty=0.04))
    a = d.data(shape, d.choice(DTYPES))
    axis: int | None = d.axis(len(shape))
    other = [d.integer(1, 4) if n == 1 else 1 if d.maybe(0.25) else n for n in shape]
    if shape:
        other[axis] = d.integer(0 if d.maybe(0.1) else 1, 5)
    if d.maybe(0.06) and shape:
        other[d.axis(len(shape))] += 1
    size = shape[axis] if shape else 1
    if d.maybe(0.12):
        axis, other, size = None, [d.integer(0, 5)] if d.maybe(0.9) else [2, 2], a.size
    i = index_of(d, other, size, mode)
    wrap = d.choice((None, None, None, True, False)) if mode != "promise_in_bounds" else None
    against("take_along_axis").agree(
        lambda: gj.take_along_axis(a, i, axis, mode, wrap_negative_indices=wrap),
        lambda: jnp.take_along_axis(a, i, axis, mode, wrap_negative_indices=wrap),
        (shape, a.dtype, axis, i.dtype, i.shape, mode, wrap),
    )


def key_of(d: Draw, shape: tuple[int, ...], mode: str | None) -> tuple[Any, ...]:
    """An index for ``at``: some of each kind."""
    grid = d.shape(d.integer(0, 2), empty=0.03)
    count = d.integer(0 if d.maybe(0.1) else 1, len(shape)) if shape else 0
    key: list[Any] = []
    for axis in range(count):
        n = shape[axis]
        kind = d.choice(("array", "array", "array", "int", "slice", "all"))
        if kind == "array":
            part = tuple(1 if d.maybe(0.2) else g for g in grid)[d.integer(0, len(grid)) if d.maybe(0.2) else 0 :]
            key.append(index_of(d, part, n, mode, odd=0.0))
        elif kind == "int":
            good = range(n) if mode == "promise_in_bounds" and n else range(-n - 1, n + 2)
            key.append(int(d.choice(list(good))))
        elif kind == "slice":
            key.append(
                slice(*(d.choice((None, d.integer(-n - 1, n + 1))) for _ in "ab"), d.choice((None, 1, 2, -1, -2)))
            )
        else:
            key.append(slice(None))
    if d.maybe(0.3):
        key.insert(d.integer(0, len(key)), None)
    if d.maybe(0.3):
        key.insert(d.integer(0, len(key)), ...)
        if d.maybe(0.3) and shape and len(key) < len(shape):
            key.append(index_of(d, grid, shape[-1], mode, odd=0.0))
    if d.maybe(0.03):
        key += [0] * (len(shape) + 1)
    return tuple(key)


def labels(key: tuple[Any, ...]) -> list[Any]:
    return [f"{k.dtype}{k.shape}={k.tolist()}" if isinstance(k, np.ndarray) else k for k in key]


def devices(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(jnp.asarray(k) if isinstance(k, np.ndarray) else k for k in key)


def at_case(d: Draw, mode: str | None, dtypes: Any = DTYPES) -> tuple[Array, tuple[Any, ...], bool]:
    shape = d.shape(d.integer(0, 4), empty=0.03)
    x = d.data(shape, d.choice(dtypes))
    wrap = mode != "promise_in_bounds" or d.maybe(0.5)
    return x, key_of(d, shape, mode), wrap if mode == "promise_in_bounds" else not d.maybe(0.15)


@draws(80)
def test_at_get(seed: int) -> None:
    d = Draw(seed)
    mode = MODES[seed % 5]
    x, key, wrap = at_case(d, mode)
    options: Any = {"mode": mode, "wrap_negative_indices": wrap}
    if d.maybe(0.2):
        options["fill_value"] = 1
    against("at.get").agree(
        lambda: gj.at(x)[key].get(**options),
        lambda: jnp.asarray(x).at[devices(key)].get(**options),
        (x.shape, x.dtype, labels(key), options),
    )


WRITES = ("set", "add", "multiply", "min", "max", "subtract", "mul")


def values_of(d: Draw, x: Array, key: tuple[Any, ...]) -> Any:
    """What broadcasts to ``x[key]``, mostly; of x's dtype, mostly."""
    try:
        places = tuple(
            np.zeros(k.shape, int) if isinstance(k, np.ndarray) else 0 if isinstance(k, int) else k for k in key
        )
        shape = x[places].shape
    except IndexError:
        shape = ()
    shape = tuple(1 if d.maybe(0.15) else n for n in shape)[d.integer(0, len(shape)) if d.maybe(0.3) else 0 :]
    if d.maybe(0.05):
        shape = (*shape, 7)
    if d.maybe(0.05):
        return 2
    return d.data(shape, x.dtype.name if d.maybe(0.8) else d.choice([t for t in DTYPES if t != "bool"]))


@draws(105)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_at_write(seed: int) -> None:
    d = Draw(seed)
    mode = MODES[(seed // len(WRITES)) % 5]
    name = WRITES[seed % len(WRITES)]
    x, key, wrap = at_case(d, mode)
    v = values_of(d, x, key)
    options: Any = {"mode": mode, "wrap_negative_indices": wrap}
    against(f"at.{name}").agree(
        lambda: getattr(gj.at(x)[key], name)(v, **options),
        lambda: getattr(jnp.asarray(x).at[devices(key)], name)(v, **options),
        (x.shape, x.dtype, labels(key), np.shape(v), options),
    )


@draws(36)
def test_at_divide_power_apply(seed: int) -> None:
    d = Draw(seed)
    mode = MODES[seed % 5]
    x, key, _ = at_case(d, mode, FLOATS)
    x = whole(d, x.shape, x.dtype.name)
    v = np.asarray(values_of(d, x, key)).astype(x.dtype) + np.asarray(1, x.dtype)
    name = ("divide", "power", "apply")[seed % 3]
    given: Any = (lambda z: z * z + 1) if name == "apply" else v
    against(f"at.{name}").agree(
        lambda: getattr(gj.at(x)[key], name)(given, mode=mode),
        lambda: getattr(jnp.asarray(x).at[devices(key)], name)(given, mode=mode),
        (x.shape, x.dtype, labels(key), np.shape(v), mode),
        rtol=1e-2 if x.dtype.itemsize < 4 else 1e-6,
    )


SEGMENTS = ("segment_sum", "segment_prod", "segment_max", "segment_min")


@draws(60)
def test_segments(seed: int) -> None:
    d = Draw(seed)
    name = SEGMENTS[seed % 4]
    mode = MODES[(seed // 4) % 5]
    shape = d.shape(d.integer(1, 4), empty=0.03)
    data = d.data(shape, d.choice(DTYPES))
    count = d.integer(0 if d.maybe(0.1) else 1, 5)
    ids = index_of(d, shape[: d.integer(1, 2) if d.maybe(0.2) else 1], max(count, 1), mode)
    if d.maybe(0.04):
        ids = np.concatenate([ids, ids])
    number = None if d.maybe(0.2) and ids.size and ids.dtype.kind in "iu" and abs(int(ids.max())) < 50 else count
    if d.maybe(0.03):
        number = -1
    options: Any = {"mode": mode, "indices_are_sorted": False}
    against(name).agree(
        lambda: getattr(gj, name)(data, ids, number, **options),
        lambda: getattr(jax.ops, name)(jnp.asarray(data), jnp.asarray(ids), number, **options),
        (data.shape, data.dtype, ids.dtype, ids.shape, number, mode),
    )


def test_promises() -> None:
    x, i, y = np.zeros(6, "float32"), np.array([5, 0, 3]), np.arange(3, dtype="float32")
    options: Any = {"unique_indices": True, "indices_are_sorted": False}
    for name in ("set", "add"):
        against(f"at.{name}").agree(
            lambda: getattr(gj.at(x)[i], name)(y, **options),  # noqa: B023
            lambda: getattr(jnp.asarray(x).at[jnp.asarray(i)], name)(y, **options),  # noqa: B023
        )
    against("segment_sum").agree(
        lambda: gj.segment_sum(y, np.sort(i), 6, indices_are_sorted=True, unique_indices=True),
        lambda: jax.ops.segment_sum(y, np.sort(i), 6, indices_are_sorted=True, unique_indices=True),
    )


# JAX adds the extent in the index's dtype, and cuts what comes out to 32 bits.
@pytest.mark.parametrize("size", [127, 200, 300, 40000])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_an_axis_longer_than_the_index_counts(dtype: str, size: int) -> None:
    x, info = np.arange(float(size)), np.iinfo(dtype)
    ends = (0, size - 1, size, -size, -size - 1, 127, -128, 2**31, 2**32, 2**32 + 1, -(2**32) - 3, 2**63)
    near = [e + k for e in (*ends, info.min, info.max) for k in (-1, 0, 1)]
    i = np.array([n for n in near if info.min <= n <= info.max], object).astype(dtype)
    a, at = jnp.asarray(x), jnp.asarray(i)
    for mode in ("fill", "clip", "wrap"):
        against("take").agree(lambda: gj.take(x, i, mode=mode), lambda: jnp.take(a, at, mode=mode), (mode, size))  # noqa: B023
    for mode in ("fill", "clip"):
        for wrap in (True, False):
            options: Any = {"mode": mode, "wrap_negative_indices": wrap}
            against("at.get").agree(lambda: gj.at(x)[i].get(**options), lambda: a.at[at].get(**options), options)  # noqa: B023
            against("at.add").agree(lambda: gj.at(x)[i].add(1), lambda: a.at[at].add(1))
            against("take_along_axis").agree(
                lambda: gj.take_along_axis(x, i, 0, **options),  # noqa: B023
                lambda: jnp.take_along_axis(a, at, 0, **options),  # noqa: B023
            )
    against("segment_sum").agree(
        lambda: gj.segment_sum(x[: i.size], i, size), lambda: jax.ops.segment_sum(a[: i.size], at, size)
    )


@pytest.mark.parametrize("dtype", FLOATS)
def test_many_updates_of_few_elements(dtype: str) -> None:
    d = Draw(7)
    i = d.rng.integers(0, 5, 200)
    for inner in (1, 3, 64):
        x, v = (d.rng.standard_normal((n, inner)).astype(numpy_dtype(dtype)) for n in (5, 200))
        z = np.where(d.rng.random(v.shape) < 0.5, np.zeros(1, v.dtype), -np.zeros(1, v.dtype))
        for name, values in (("add", v), ("subtract", v), ("multiply", v), ("min", z), ("max", z)):
            against(f"at.{name}").agree(
                lambda: getattr(gj.at(x)[i], name)(values),  # noqa: B023
                lambda: getattr(jnp.asarray(x).at[i], name)(values),  # noqa: B023
                (inner, dtype),
            )
        against("segment_sum").agree(lambda: gj.segment_sum(v, i, 6), lambda: jax.ops.segment_sum(v, i, 6))  # noqa: B023


def test_values_of_a_builder_and_symbolic_sizes() -> None:
    b = gs.Builder()
    x, i, v = b.input("x", ("n", "m"), "float64"), b.input("i", ("k",), "int32"), b.input("v", ("k", "m"), "float64")
    b.output(
        gj.take(x, i, 0),
        gj.take_along_axis(x, b.unsqueeze(i, 1), 0, mode="clip"),
        gj.at(x)[i].get(mode="fill", fill_value=2),
        gj.at(x)[i].add(v),
        gj.at(x)[i, 1:].set(7, mode="clip"),
        gj.at(x)[..., -1].multiply(3),
        gj.at(x)[i].apply(lambda z: z * 2),
        gj.segment_max(v, i, 4),
    )
    d = Draw(2)
    arrays = whole(d, (4, 3), "float64"), np.array([1, -9, 4, 3, 1], "int32"), whole(d, (5, 3), "float64")
    a, at, values = (jnp.asarray(t) for t in arrays)
    wanted = [
        jnp.take(a, at, 0),
        jnp.take_along_axis(a, at[:, None], 0, mode="clip"),
        a.at[at].get(mode="fill", fill_value=2),
        a.at[at].add(values),
        a.at[at, 1:].set(7, mode="clip"),
        a.at[..., -1].multiply(3),
        a.at[at].apply(lambda z: z * 2),
        jax.ops.segment_max(values, at, 4),
    ]
    for got, want in zip(b.build()(*arrays), wanted, strict=True):
        np.testing.assert_array_equal(got, np.asarray(want))


def test_what_is_refused() -> None:
    x, i = np.zeros((3, 4)), np.zeros(2, "int64")

    def refused(match: str, call: Callable[[], Any]) -> None:
        with pytest.raises(gs.GSError, match=match):
            call()

    refused("mode must be 'fill', 'clip' or 'wrap'; got 'raise'", lambda: gj.take(x, i, 0, mode="raise"))
    refused("out must be None", lambda: gj.take(x, i, out=1))
    refused(
        "mode must be one of 'clip', 'fill', 'drop', 'promise_in_bounds'; got 'wrap'",
        lambda: gj.at(x)[i].get(mode="wrap"),
    )
    refused("bool mask", lambda: gj.at(x)[True].set(1))
    refused("got \\[0, 1\\]", lambda: gj.at(x)[[0, 1]].set(1))
    refused("one Ellipsis", lambda: gj.at(x)[..., ...].get())
    refused("bucket_size", lambda: gj.segment_sum(x, np.zeros(3, int), 2, bucket_size=2))
    refused("num_segments is needed", lambda: gj.segment_sum(gs.Builder().input("x", (3,), "int32"), np.zeros(3, int)))
    refused("not defined for bool", lambda: gj.at(x > 0)[i].add(True))


def cumulated(d: Draw, lax: bool) -> tuple[Array, Any]:
    shape = d.shape(d.integer(0, 4), empty=0.08)
    axis = len(shape) + 1 if d.maybe(0.05) else d.axis(len(shape))
    if lax and d.maybe(0.8):
        axis %= max(len(shape), 1)
    dtype = d.choice(DTYPES)
    if dtype in ("float16", "bfloat16"):  # which JAX rounds at every step
        return whole(d, shape, dtype), axis
    return d.data(shape, dtype, special=False), axis


def rounding_of(dtype: Any) -> float:
    """How far sums in another order may be off."""
    dtype = np.dtype(dtype)
    return 0 if dtype.kind in "iub" else {2: 2e-2, 4: 1e-4, 8: 1e-10}[dtype.itemsize]


@draws(60)
def test_cumsum(seed: int) -> None:
    d = Draw(seed)
    name = ("cumsum", "cumprod")[seed % 2]
    x, axis = cumulated(d, False)
    axis = None if d.maybe(0.2) else axis
    dtype = d.choice(("int16", "float64", "uint8")) if d.maybe(0.2) else None
    if dtype is not None:
        x = np.abs(x) if x.dtype.kind != "b" else x
        x = (x % 100).astype(x.dtype) if x.dtype.kind != "b" else x  # of others the cast is open
    against(name).agree(
        lambda: getattr(gj, name)(x, axis, dtype),
        lambda: getattr(jnp, name)(x, axis, dtype),
        (x.shape, x.dtype, axis, dtype),
        rtol=rounding_of(dtype or x.dtype),
    )


@draws(60)
def test_lax_cumsum(seed: int) -> None:
    d = Draw(seed)
    name = ("cumsum", "cumprod")[seed % 2]
    x, axis = cumulated(d, True)
    reverse = d.maybe(0.5)
    against(f"lax_{name}").agree(
        lambda: getattr(gj, f"lax_{name}")(x, axis, reverse),
        lambda: getattr(jax.lax, name)(jnp.asarray(x), axis, reverse),
        (x.shape, x.dtype, axis, reverse),
        rtol=rounding_of(x.dtype),
    )
