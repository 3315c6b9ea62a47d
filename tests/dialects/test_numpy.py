"""gscompile.dialects.numpy against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.dialects import numpy as gn
from tests.cases import DTYPES, FLOATS, INTEGERS, numpy_dtype
from tests.dialects.differential import Against, Draw
from tests.oracle import Array

JUDGE = f"numpy {np.__version__}"
MODES = ("raise", "wrap", "clip")


def against(function: str) -> Against:
    return Against("numpy", function, JUDGE)


def draws(count: int) -> Any:
    return pytest.mark.parametrize("seed", range(count))


def in_place(call: Callable[[Array], Any], a: Array) -> Callable[[], Array]:
    """What a function that works in place leaves in a copy of ``a``; it returns None."""

    def run() -> Array:
        copy = a.copy()
        assert call(copy) is None
        return copy

    return run


def small(i: Array, mode: str) -> Array:
    """NumPy's wrap subtracts the extent until an index fits: of those that are far away, the remainder."""
    return i if mode != "wrap" else np.fmod(i, np.array(100, i.dtype))


def index_of(d: Draw, shape: Any, size: int, mode: str = "raise") -> Array:
    if d.maybe(0.04):
        return d.data(shape, "bool")
    if d.maybe(0.03):
        return np.zeros(shape, "float32")
    return small(d.index(shape, size, d.choice(INTEGERS), wild=0.2), mode)


@draws(90)
def test_take(seed: int) -> None:
    d = Draw(seed)
    mode = MODES[seed % 3]
    shape = d.shape(d.integer(0, 5), empty=0.08)
    axis = None if d.maybe(0.2) else d.axis(len(shape))
    if d.maybe(0.03):
        axis = len(shape) + 1
    a = d.data(shape, d.choice(DTYPES))
    size = a.size if axis is None or not shape else shape[min(axis, len(shape) - 1)]
    if size == 0 and mode == "wrap":
        pytest.skip("NumPy never ends: it counts up to a multiple of 0")
    i = index_of(d, d.shape(d.integer(0, min(3, 7 - len(shape))), empty=0.08), size, mode)
    against("take").agree(
        lambda: gn.take(a, i, axis, mode=mode),
        lambda: np.take(a, i, axis, mode=mode),
        (shape, axis, i.dtype, i.shape, mode),
    )


def along(d: Draw) -> tuple[Array, Array, int | None]:
    """An array, indices whose extents broadcast with the array's, and an axis."""
    shape = d.shape(d.integer(0, 5), empty=0.06)
    shape = tuple(1 if d.maybe(0.2) else n for n in shape)
    a = d.data(shape, d.choice(DTYPES))
    if d.maybe(0.12):
        return a, index_of(d, (d.integer(0, 5),) if d.maybe(0.9) else (2, 2), a.size), None
    axis = d.axis(len(shape))
    other = [d.integer(1, 4) if n == 1 else 1 if d.maybe(0.25) else n for n in shape]
    if shape:
        other[axis] = d.integer(0 if d.maybe(0.1) else 1, 5)
        if d.maybe(0.06):
            other[d.axis(len(shape))] += 1
    if d.maybe(0.04):
        other.append(1)
    return a, index_of(d, other, shape[axis] if shape else 1), axis


@draws(70)
def test_take_along_axis(seed: int) -> None:
    a, i, axis = along(Draw(seed))
    against("take_along_axis").agree(
        lambda: gn.take_along_axis(a, i, axis),
        lambda: np.take_along_axis(a, i, axis),
        (a.shape, axis, i.dtype, i.shape),
    )


def values_of(d: Draw, a: Array, shape: Any) -> Array:
    """Of a's dtype, or of another that is cast to it without leaving its range."""
    if d.maybe(0.6):
        return d.data(shape, a.dtype.name)
    return d.rng.integers(0, 2, shape).astype(numpy_dtype(d.choice(DTYPES))) * 1


@draws(70)
def test_put_along_axis(seed: int) -> None:
    d = Draw(seed)
    a, i, axis = along(d)
    try:
        points = (a.flatten() if axis is None else a)[tuple(np.ogrid[tuple(map(slice, i.shape))])].shape
    except IndexError:
        points = i.shape
    points = tuple(1 if d.maybe(0.15) else n for n in points)[d.integer(0, 1) if points else 0 :]
    if d.maybe(0.1):
        points = (1, 1, *points)
    if d.maybe(0.05):
        points = (3, *points)
    v = values_of(d, a, points)
    against("put_along_axis").agree(
        in_place(lambda x: gn.put_along_axis(x, i, v, axis), a),
        in_place(lambda x: np.put_along_axis(x, i, v, axis), a),
        (a.shape, a.dtype, axis, i.shape, v.dtype, v.shape),
    )


@draws(70)
def test_put(seed: int) -> None:
    d = Draw(seed)
    mode = MODES[seed % 3]
    a = d.data(d.shape(d.integer(0, 4), empty=0.05), d.choice(DTYPES))
    i = index_of(d, d.shape(d.integer(0, 3), empty=0.05), a.size, mode)
    v = values_of(d, a, d.shape(d.integer(0, 2), empty=0.05))
    against("put").agree(
        in_place(lambda x: gn.put(x, i, v, mode), a),
        in_place(lambda x: np.put(x, i, v, mode), a),
        (a.shape, a.dtype, i.dtype, i.shape, v.dtype, v.shape, mode),
    )


@draws(70)
def test_choose(seed: int) -> None:
    d = Draw(seed)
    mode = MODES[seed % 3]
    n = d.integer(1, 5)
    common = d.shape(d.integer(0, 4))

    def part() -> tuple[int, ...]:
        shape = tuple(1 if d.maybe(0.2) else k for k in common)[d.integer(0, len(common)) if d.maybe(0.3) else 0 :]
        return (*shape, 4) if d.maybe(0.02) else shape

    i = small(d.index(part(), n, d.choice(INTEGERS), negative=mode != "raise", wild=0.3), mode)
    if d.maybe(0.05):
        i = d.data(i.shape, d.choice(("bool", "float32")))
    numbers = [t for t in DTYPES if t != "bfloat16"]
    dtypes = [d.choice(numbers) for _ in range(n)] if d.maybe(0.4) else [d.choice(numbers)] * n
    choices: Any = [d.data(part(), t) for t in dtypes]
    if d.maybe(0.2):
        choices = d.data((n, *part()), dtypes[0])
    against("choose").agree(
        lambda: gn.choose(i, choices, mode=mode),
        lambda: np.choose(i, choices, mode=mode),
        (i.dtype, i.shape, [c.shape for c in choices], dtypes, mode),
    )


EXACT = ("add", "subtract", "multiply", "minimum", "maximum")
WHOLE = ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift")
LOGICAL = ("logical_and", "logical_or", "logical_xor")
OTHER = ("divide", "floor_divide", "remainder", "power", "fmin", "fmax")
UNARY = ("negative", "absolute", "square", "sqrt", "invert", "logical_not")


def defined(name: str, a: Array, b: Any) -> bool:
    """Whether all results can be told to be numbers that a's dtype holds: the cast of others is not defined."""
    b = np.asarray(b)
    if "bfloat16" in (a.dtype.name, b.dtype.name):  # which NumPy lets meet few others
        return bool(a.dtype == b.dtype)
    return a.dtype.kind == "f" or np.result_type(a, b).kind != "f" or name in ("minimum", "maximum")


@draws(110)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_ufunc_at(seed: int) -> None:
    d = Draw(seed)
    names = (*EXACT, *EXACT, *WHOLE, *LOGICAL, *OTHER, *UNARY)
    name = names[seed % len(names)]
    numbers = [t for t in DTYPES if t != "bool"]
    wanted = {"divide": FLOATS, "sqrt": FLOATS, "invert": (*INTEGERS, "bool"), "negative": (*FLOATS, *INTEGERS[:4])}
    dtypes = (
        ("bool",) if name in (*LOGICAL, "logical_not") else INTEGERS if name in WHOLE else wanted.get(name, numbers)
    )
    dtype = d.choice(dtypes if name not in ("add", "multiply", "maximum") or d.maybe(0.9) else ("bool",))
    a = d.rng.integers(0 if name == "sqrt" else 1, 4, d.shape(d.integer(1, 5))).astype(numpy_dtype(dtype))
    count = d.integer(1, min(2, a.ndim))
    grid = d.shape(d.integer(0, 2), empty=0.03)
    index = []
    for k in range(count):
        shape = tuple(1 if d.maybe(0.2) else n for n in grid)
        index.append(d.index(shape, a.shape[k], d.choice(INTEGERS), wild=0.1))
    points = (*np.broadcast_shapes(*(i.shape for i in index)), *a.shape[count:])
    shape = tuple(1 if d.maybe(0.1) else n for n in points)[d.integer(0, len(points)) if d.maybe(0.4) else 0 :]
    if d.maybe(0.04):
        shape = (1, *points)
    b: Any = d.rng.integers(0, 3, shape).astype(numpy_dtype(dtype if d.maybe(0.7) else d.choice(numbers)))
    if d.maybe(0.15):
        b = True if dtype == "bool" else d.choice((2, 2.5, True))
    if not defined(name, a, b):
        b = np.asarray(b).astype(a.dtype)
    at: Any = tuple(index) if count > 1 or d.maybe(0.5) else index[0]
    more = () if name in UNARY else (b,)
    ufunc = getattr(np, name)
    against("ufunc_at").agree(
        in_place(lambda x: gn.ufunc_at(ufunc if seed % 2 else name, x, at, *more), a),
        in_place(lambda x: ufunc.at(x, at, *more), a),
        (name, a.shape, dtype, [i.shape for i in index], np.shape(b)),
        rtol=0 if a.dtype.kind in "iub" or name in EXACT else 1e-2 if a.dtype.itemsize < 4 else 1e-5,
    )


def test_ufunc_at_of_a_scalar() -> None:
    a = np.array(3, "int32")
    against("ufunc_at").agree(
        in_place(lambda x: gn.ufunc_at("add", x, (), 4), a), in_place(lambda x: np.add.at(x, (), 4), a)
    )


# NumPy computes every step in the dtype in which a and b meet, and casts what comes out.
@pytest.mark.parametrize("of", ["bool", "int8", "uint8", "int32", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize(
    "by", ["bool", "int8", "int64", "uint64", "float16", "float64", "a number", "an int", "a big int"]
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_ufunc_at_of_two_dtypes(of: str, by: str) -> None:
    d = Draw(3)
    a, i = d.rng.integers(0, 100, 3).astype(of), np.array([0, 1, 0, 2, 0, 1])
    b: Any = {"a number": 2.5, "an int": 3, "a big int": 300}.get(by)
    if b is None:
        b = (np.abs(d.rng.standard_normal(6)) * 9 if by.startswith("float") else d.rng.integers(0, 60, 6)).astype(by)
    for name in (*EXACT, "divide", "floor_divide", "bitwise_xor", "right_shift"):
        if defined(name, a, b):
            against("ufunc_at").agree(
                in_place(lambda x: gn.ufunc_at(name, x, i, b), a),  # noqa: B023
                in_place(lambda x: getattr(np, name).at(x, i, b), a),  # noqa: B023
                (name, of, by),
            )


@pytest.mark.parametrize("dtype", FLOATS)
def test_ufunc_at_of_many_values(dtype: str) -> None:
    d = Draw(7)
    i = d.rng.integers(0, 5, 200)
    for inner in (1, 3, 64):
        a, b = (d.rng.standard_normal((n, inner)).astype(numpy_dtype(dtype)) for n in (5, 200))
        z = np.where(d.rng.random(b.shape) < 0.5, np.zeros(1, b.dtype), -np.zeros(1, b.dtype))
        for name, values in (("add", b), ("subtract", b), ("multiply", b), ("minimum", z), ("maximum", z)):
            against("ufunc_at").agree(
                in_place(lambda x: gn.ufunc_at(name, x, i, values), a),  # noqa: B023
                in_place(lambda x: getattr(np, name).at(x, i, values), a),  # noqa: B023
                (name, inner, dtype),
            )


def test_put_that_raises_has_written_nothing() -> None:
    a, i, v = np.zeros(3), np.array([0, 9]), np.ones(2)
    with pytest.raises(gs.BoundsError):
        gn.put(a, i, v)
    np.testing.assert_array_equal(a, 0)
    with pytest.raises(IndexError):
        np.put(a, i, v)
    np.testing.assert_array_equal(a, [1, 0, 0])


def test_many_choices() -> None:
    choices = [np.array([k]) for k in range(70)]
    against("choose").differs(
        lambda: gn.choose(np.array([40]), choices), lambda: np.choose(np.array([40]), choices), np.array([40])
    )


def test_values_of_a_builder_and_symbolic_sizes() -> None:
    b = gs.Builder()
    x, i = b.input("x", ("n", "m"), "float64"), b.input("i", ("k",), "int64")
    j, v = b.input("j", ("n", "q"), "int32"), b.input("v", ("p",), "float32")
    b.output(
        gn.take(x, i, 1, mode="clip"),
        gn.take(x, i, mode="wrap"),
        gn.take_along_axis(x, j, 1),
        gn.put(x, i, v, "wrap"),
        gn.put_along_axis(x, j, 7.5, 1),
        gn.ufunc_at(np.add, x, j[:, 0], 1.5),
        gn.choose(j, [x[:, 0][:, None], 0 * x[:, 0][:, None]], mode="wrap"),
    )
    d = Draw(1)
    arrays = (
        d.data((4, 3), "float64", special=False),
        d.index((6,), 3, wild=1),
        d.index((4, 2), 3, "int32"),
        d.data((5,)),
    )
    a, at, rows, values = arrays
    put, put_along, added = a.copy(), a.copy(), a.copy()
    np.put(put, at, values, "wrap")
    np.put_along_axis(put_along, rows, 7.5, 1)
    np.add.at(added, rows[:, 0], 1.5)
    wanted = [
        np.take(a, at, 1, mode="clip"),
        np.take(a, at, mode="wrap"),
        np.take_along_axis(a, rows, 1),
        put,
        put_along,
        added,
        np.choose(rows, [a[:, :1], 0 * a[:, :1]], mode="wrap"),
    ]
    for got, want in zip(b.build()(*arrays), wanted, strict=True):
        np.testing.assert_array_equal(got, want)


def test_what_is_refused() -> None:
    x, i = np.zeros((3, 4)), np.zeros(2, "int64")

    def refused(match: str, call: Callable[[], Any]) -> None:
        with pytest.raises(gs.GSError, match=match):
            call()

    refused("mode must be 'raise', 'wrap' or 'clip'; got 'CLIP'", lambda: gn.take(x, i, mode="CLIP"))
    refused("out must be an array that can be written", lambda: gn.take(x, i, out=1))
    refused("ufunc must be one of add, ", lambda: gn.ufunc_at("hypot", x, i, 1))
    refused("add needs b", lambda: gn.ufunc_at("add", x, i))
    refused("negative does not take b", lambda: gn.ufunc_at("negative", x, i, 1))
    refused("bitwise_and", lambda: gn.ufunc_at("bitwise_and", x, i, 1))
    refused("3 indices for a of rank 2", lambda: gn.ufunc_at("add", x, (i, i, i), 1))
    refused("at least one choice", lambda: gn.choose(i, []))


@draws(60)
def test_cumsum(seed: int) -> None:
    """Sums of float16, which NumPy rounds at every step, within 1 %."""
    d = Draw(seed)
    name = ("cumsum", "cumprod")[seed % 2]
    shape = d.shape(d.integer(0, 4), empty=0.08)
    axis = None if d.maybe(0.2) else d.axis(len(shape))
    if d.maybe(0.05):
        axis = len(shape) + 1
    wanted = [x for x in DTYPES if x != "bfloat16"]
    a = d.data(shape, d.choice(wanted), special=False)
    dtype = d.choice(wanted) if d.maybe(0.3) else None
    if a.dtype.kind == "f" and dtype is not None and np.dtype(dtype).kind in "iu":
        a = np.abs(a) % 100  # of others C leaves the cast open
    half = "float16" in (dtype, a.dtype.name)
    ours, theirs = getattr(gn, name), getattr(np, name)
    against(name).agree(
        lambda: ours(a, axis, dtype),
        lambda: theirs(a, axis, dtype),
        (shape, axis, a.dtype, dtype),
        rtol=1e-2 if half else 0,
    )
