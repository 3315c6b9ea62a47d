"""Every pointwise function and every cast, on every dtype, against NumPy: on llvm and on the emulated cuda schedule.

The operands are the values where such functions go wrong: zeros of both signs, infinities, NaN, subnormals, the limits of
this type and of narrower ones, halves, powers of two and their neighbours; two operands meet as every pair of them.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.emulation import emulate
from gscompile.ir.ops.elementwise import POINTWISE
from tests.cases import DTYPES, FLOATS, INTEGERS, numpy_dtype
from tests.oracle import Array
from tests.paths import NUMPY

TARGETS: dict[str, Callable[[gs.Builder], Any]] = {"llvm": lambda b: b.build(), "cuda": emulate}
GROUP = 16  # outputs of one graph: the time of TVM's passes grows faster than their number

# How many units in the last place a result may be away from the exact one, by dtype of the computation; 16-bit floats are
# computed in float32 and rounded once, so they are one unit away where that falls on the other side of a tie.  Everything
# that is not here is exact.
ULPS = {
    "exp": {"float32": 2, "float64": 1},
    "log": {"float32": 2, "float64": 1},
    "logaddexp": {"float32": 3, "float64": 2},
    "rsqrt": {"float32": 1, "float64": 1},
    "tanh": {"float32": 2, "float64": 2},
    "sigmoid": {"float32": 3, "float64": 3},
    "gelu": {"float32": 6, "float64": 3},
    "gelu_tanh": {"float32": 8, "float64": 3},
    "erf": {"float32": 3, "float64": 1},
    "sin": {"float32": 1, "float64": 1},
    "cos": {"float32": 1, "float64": 1},
    "pow": {"float32": 1, "float64": 1},
}
# In float64 the rounding of an exponent costs the tails of these functions as many units as its size.
TAILS = ("gelu", "gelu_tanh")


# -- values -----------------------------------------------------------------------------------------------------------


@functools.cache
def ugly(dtype: str) -> Array:
    """Where functions go wrong."""
    to = numpy_dtype(dtype)
    if dtype == "bool":
        return np.array([False, True])
    if dtype in INTEGERS:
        info = np.iinfo(to)
        around = [
            s * 2**k + e for k in (0, 1, 2, 6, 7, 8, 15, 16, 31, 32, 62, 63, 64) for s in (1, -1) for e in (-1, 0, 1)
        ]
        found = sorted({v for v in (*around, 5, 10, -5, -10, 100) if info.min <= v <= info.max})
        return np.array(found, to)
    found = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 0.1, 7.25, 88.5, 1e-3, 1e-30, 1e30, 2.0**24 + 1, math.inf, math.nan]
    info = {"bfloat16": np.finfo("f4")}.get(dtype) or np.finfo(to)
    found += [float(info.max), float(info.tiny), float(info.tiny) / 4, float(info.eps), 1 + float(info.eps)]
    found += [1e-300, 1e300] if dtype == "float64" else []
    with np.errstate(over="ignore"):
        return np.array([s * v for v in found for s in (1, -1)]).astype(to)


@functools.cache
def many(dtype: str) -> Array:
    """``ugly``, and for floats a sweep of what the approximations are made for."""
    if dtype not in FLOATS:
        return ugly(dtype)
    rng = np.random.default_rng(1)
    sweep = [
        np.linspace(-30, 30, 3001),
        rng.normal(size=1000),
        np.exp(rng.uniform(-80, 80, 1000)),
        np.linspace(-110, 100, 501),
    ]
    with np.errstate(over="ignore"):
        return np.concatenate([ugly(dtype), np.concatenate(sweep).astype(numpy_dtype(dtype))])


# -- what the functions are -------------------------------------------------------------------------------------------


def by_scalar(f: Callable[..., Any]) -> Callable[..., Array]:
    """A function of Python numbers as one of arrays of integers, cut down to their type."""

    def whole(*xs: Array) -> Array:
        dt = xs[0].dtype
        bits, signed = 8 * dt.itemsize, dt.kind == "i"

        def one(*v: Any) -> int:
            n = f(*map(int, v), bits) % (1 << bits)
            return n - (1 << bits) if signed and n >> (bits - 1) else n

        at = np.broadcast(*xs)
        return np.array([one(*v) for v in at], dt).reshape(at.shape)

    return whole


def shifted(x: int, y: int, bits: int) -> int:
    return x << y if 0 <= y < bits else 0


def int_pow(x: int, y: int, bits: int) -> int:
    if y >= 0:
        return pow(x, y, 1 << bits)
    return {1: 1, -1: 1 if y % 2 == 0 else -1}.get(x, 0)


INTEGER: dict[str, Callable[..., Array]] = {
    "add": by_scalar(lambda x, y, n: x + y),
    "sub": by_scalar(lambda x, y, n: x - y),
    "mul": by_scalar(lambda x, y, n: x * y),
    "floordiv": by_scalar(lambda x, y, n: x // y if y else 0),
    "mod": by_scalar(lambda x, y, n: x % y if y else 0),
    "pow": by_scalar(int_pow),
    "neg": by_scalar(lambda x, n: -x),
    "abs": by_scalar(lambda x, n: abs(x)),
    "sign": by_scalar(lambda x, n: (x > 0) - (x < 0)),
    "square": by_scalar(lambda x, n: x * x),
    "reciprocal": by_scalar(lambda x, n: {1: 1, -1: -1}.get(x, 0)),
    "left_shift": by_scalar(shifted),
    "right_shift": by_scalar(lambda x, y, n: x >> y if 0 <= y < n else -(x < 0)),
    "bitwise_not": by_scalar(lambda x, n: ~x),
    **dict.fromkeys(["floor", "ceil", "round", "trunc"], lambda x: x),
}


def wide(f: Callable[..., Any]) -> Callable[..., Array]:
    """``f`` of longer floats than the ones given, rounded at the end."""

    def whole(*xs: Array) -> Array:
        longer = np.float64 if xs[0].dtype == np.float32 else np.longdouble
        return np.asarray(f(*(x.astype(longer) for x in xs))).astype(xs[0].dtype)

    return whole


def scalar(f: Callable[[float], float]) -> Callable[[Array], Array]:
    return lambda x: np.array([f(float(v)) for v in x.ravel()]).reshape(x.shape)


def normal_tail(x: float) -> float:
    """x Phi(x)."""
    if x == -math.inf:
        return -0.0
    exact = -np.longdouble(x) / np.sqrt(np.longdouble(2))
    z = float(exact)
    slope = 2 / math.sqrt(math.pi) * math.exp(-min(z * z, 800)) if math.isfinite(z) else 0
    correction = slope * float(exact - np.longdouble(z)) if math.isfinite(z) else 0
    return x * ((math.erfc(z) - correction) / 2)


def gelu_tanh(x: Array) -> Array:
    u = np.sqrt(x.dtype.type(8) / x.dtype.type(np.pi)) * (x + x.dtype.type(0.044715) * x**3)
    return np.where(x == -np.inf, x.dtype.type(-0.0), x / (1 + np.exp(-u)))


FLOAT: dict[str, Callable[..., Array]] = {
    **{name: wide(getattr(np, name)) for name in ("exp", "log", "logaddexp", "tanh", "sin", "cos")},
    "rsqrt": wide(lambda x: 1 / np.sqrt(x)),
    "sigmoid": wide(lambda x: 1 / (1 + np.exp(-x))),
    "pow": wide(np.power),
    "erf": wide(scalar(math.erf)),
    "gelu": wide(scalar(normal_tail)),
    "gelu_tanh": wide(gelu_tanh),
    "abs": np.abs,
    "sign": lambda x: np.where(x == 0, x.dtype.type(0), np.sign(x)),
}
BOOL: dict[str, Callable[..., Array]] = {
    **dict.fromkeys(["abs", "floor", "ceil", "round", "trunc", "relu"], lambda x: x),
    "minimum": np.logical_and,
    "maximum": np.logical_or,
}
ANY: dict[str, Callable[..., Array]] = {
    "clip": lambda x, low, high: np.minimum(np.maximum(x, low), high),
    "where": lambda c, x, y: np.where(c, x, y),
    "relu": lambda x: np.maximum(x, x.dtype.type(0)),
    "isnan": lambda x: x != x,
    "isinf": lambda x: (x == x) & (x - x != 0) if x.dtype.kind == "f" else np.zeros(x.shape, bool),
    "isfinite": lambda x: x - x == 0 if x.dtype.kind == "f" else np.ones(x.shape, bool),
}


def meet(p: str, q: str) -> str:
    """The dtype two operands meet in: NumPy's table, with bfloat16 in float16's place and float32 for the two together."""
    if "bfloat16" not in (p, q):
        return str(np.promote_types(p, q))
    other = q if p == "bfloat16" else p
    found = (
        "float32"
        if other == "float16"
        else "bfloat16"
        if other == "bfloat16"
        else str(np.promote_types("float16", other))
    )
    return "bfloat16" if found == "float16" else found


def computed_in(name: str, dtype: str) -> str | None:
    """The dtype of the computation on operands of ``dtype``; None where the function is not defined."""
    floating, boolean = dtype in FLOATS, dtype == "bool"
    if name.startswith("logical"):
        return "bool"
    if (name.startswith("bitwise") or name.endswith("shift")) and floating:
        return None
    if name in ("sub", "neg", "sign") and boolean:
        return None
    if name == "div" and not floating:
        return "float64"
    if (
        name in (*ULPS, "sqrt") and name != "pow" and not floating
    ):  # NumPy's: the narrowest float that holds the integer
        return {"bool": "float16", "int8": "float16", "uint8": "float16", "int16": "float32", "uint16": "float32"}.get(
            dtype, "float64"
        )
    if boolean and name in ("floordiv", "mod", "pow", "reciprocal", "square", "left_shift", "right_shift"):
        return "int8"
    return dtype


def wanted(name: str, dtype: str, *xs: Array) -> Array:
    """NumPy's result."""
    to = computed_in(name, dtype)
    assert to is not None
    if name == "where":
        return ANY["where"](xs[0] != 0, *xs[1:])
    if name.startswith("logical"):
        return np.asarray(getattr(np, name)(*(x != 0 for x in xs)))
    xs = tuple(NUMPY.cast(x, to) for x in xs)
    table = FLOAT if to in FLOATS else BOOL if to == "bool" else INTEGER
    f = table.get(name) or ANY.get(name) or getattr(NUMPY, name)
    if to not in ("float16", "bfloat16"):
        return np.asarray(f(*xs))
    result = np.asarray(f(*(x.astype(np.float32) for x in xs)))
    return result if result.dtype == bool else result.astype(numpy_dtype(to))


def distance(got: Array, want: Array) -> Array:
    """How many floats lie between two, element by element; infinities and NaN only equal themselves."""
    bits = f"i{got.dtype.itemsize}"
    lowest = np.iinfo(bits).min
    ordered = [np.where(b < 0, lowest - b, b).astype(object) for b in (a.view(bits) for a in (got, want))]
    apart = np.abs(ordered[0] - ordered[1]).astype(float)
    g, w = got.astype(float), want.astype(float)
    strict = ~(np.isfinite(g) & np.isfinite(w))
    return np.where(strict, np.where((g == w) | (np.isnan(g) & np.isnan(w)), 0, np.inf), apart)


def difference(got: Array, want: Array, ulps: Any) -> str | None:
    """What is wrong with a result; None if nothing is."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{got.shape}, expected {want.dtype}{want.shape}"
    if str(got.dtype) not in FLOATS:
        bad = got != want
    else:
        # no zero of the wrong sign
        bad = (distance(got, want) > ulps) | ((want == 0) & (got == 0) & (np.signbit(got) != np.signbit(want)))
    if not bad.any():
        return None
    k = np.unravel_index(int(np.argmax(bad)), bad.shape)
    return f"{int(bad.sum())} of {bad.size}, first at {tuple(map(int, k))}: {got[k]!r}, expected {want[k]!r}"


def compute(
    target: str, arrays: dict[str, Array], bodies: list[Callable[[gs.Builder, dict[str, Any]], Any]]
) -> list[Array]:
    """The results of many bodies, some in one graph."""
    results: list[Array] = []
    for k in range(0, len(bodies), GROUP):
        b = gs.Builder("sheet")
        values = {name: b.input(name, a.shape, str(a.dtype)) for name, a in arrays.items()}
        b.output(*(body(b, values) for body in bodies[k : k + GROUP]))
        got = TARGETS[target](b)(*arrays.values())
        results += got if isinstance(got, tuple) else [got]
    return results


# -- tests ------------------------------------------------------------------------------------------------------------


def call(b: gs.Builder, name: str, *xs: Any) -> gs.Value:
    result = b.gelu(*xs, approximate="tanh") if name == "gelu_tanh" else getattr(b, name)(*xs)
    assert isinstance(result, gs.Value)
    return result


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_function(dtype: str, target: str) -> None:
    values = ugly(dtype)
    arrays = {"x": many(dtype), "p": values[:, None], "q": values[None, :], "r": values[::-3][None, :]}
    operands = {1: ("x",), 2: ("p", "q"), 3: ("p", "q", "r")}
    arrays["r"] = np.resize(values[::-3], arrays["q"].shape)
    names = [name for name in POINTWISE if computed_in(name, dtype) is not None]
    bodies = [lambda b, v, name=name: call(b, name, *(v[o] for o in operands[POINTWISE[name].arity])) for name in names]
    wrong = []
    with np.errstate(all="ignore"):
        for name, got in zip(names, compute(target, arrays, bodies), strict=True):
            want = wanted(name, dtype, *(arrays[o] for o in operands[POINTWISE[name].arity]))
            to = str(computed_in(name, dtype))
            ulps: Any = 0 if name not in ULPS or to not in FLOATS else ULPS[name].get(to, 1)
            if name in TAILS and to == "float64":
                x = arrays["x"].astype(float)
                exponent = np.abs(np.log(np.abs(want)) - np.log(np.abs(x)))
                ulps = ulps + np.where(np.isfinite(exponent), 3 * exponent, 0)
            if name == "logaddexp" and to in FLOATS:  # near 0 it is a difference: rounded as its terms are
                terms = np.maximum(np.abs(arrays["p"].astype(float)), np.abs(arrays["q"].astype(float)))
                share = np.nan_to_num(terms / np.abs(want.astype(float)), nan=1, posinf=1)
                ulps = ulps * np.maximum(share, 1)
            if error := difference(np.asarray(got), want, ulps):
                wrong.append(f"{name}: {error}")
    assert not wrong, "\n".join(wrong)


def test_functions_refuse_what_they_are_not_defined_for() -> None:
    for name, row in POINTWISE.items():
        for dtype in DTYPES:
            b = gs.Builder("net")
            xs = [b.input(f"x{k}", (2,), dtype) for k in range(row.arity)]
            if computed_in(name, dtype) is None:
                with pytest.raises(gs.DTypeError, match=f"{name} is not defined for \\({dtype}"):
                    call(b, name, *xs)
            else:
                call(b, name, *xs)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", DTYPES)
def test_every_cast(source: str, target: str) -> None:
    arrays = {"x": many(source)}
    bodies = [lambda b, v, to=to: b.cast(v["x"], to) for to in DTYPES if to != source]
    wrong = []
    with np.errstate(all="ignore"):
        for to, got in zip((d for d in DTYPES if d != source), compute(target, arrays, bodies), strict=True):
            if error := difference(np.asarray(got), NUMPY.cast(arrays["x"], to), 0):
                wrong.append(f"{source} to {to}: {error}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("target", TARGETS)
def test_dtypes_meet(target: str) -> None:
    """All pairs; int64 and uint64 are compared as the numbers they are, which float64 cannot do."""
    arrays = {d: np.resize(ugly(d), 40) for d in DTYPES}
    pairs = list(itertools.combinations(DTYPES, 2))
    bodies: list[Any] = [lambda b, v, p=p, q=q: b.add(v[p], v[q]) for p, q in pairs]
    bodies += [lambda b, v, p=p, q=q: b.lt(v[q], v[p]) for p, q in pairs]
    got = compute(target, arrays, bodies)
    wrong = []
    with np.errstate(all="ignore"):
        for (p, q), total, less in zip(pairs, got[: len(pairs)], got[len(pairs) :], strict=True):
            d = meet(p, q)
            if error := difference(np.asarray(total), wanted("add", d, *(NUMPY.cast(arrays[k], d) for k in (p, q))), 0):
                wrong.append(f"{p} + {q}: {error}")
            if {p, q} <= {*INTEGERS, "bool"}:
                want = np.array([int(y) < int(x) for x, y in zip(arrays[p], arrays[q], strict=True)])
            else:
                want = NUMPY.cast(arrays[q], d) < NUMPY.cast(arrays[p], d)
            if error := difference(np.asarray(less), want, 0):
                wrong.append(f"{q} < {p}: {error}")
    assert not wrong, "\n".join(wrong)


def test_every_function_of_two_takes_every_pair_of_dtypes() -> None:
    """The result's dtype, by the rule of NumPy; no compilation."""
    for name, row in POINTWISE.items():
        if row.arity != 2:
            continue
        for p, q in itertools.product(DTYPES, DTYPES):
            b = gs.Builder("net")
            x, y = b.input("x", (2,), p), b.input("y", (2,), q)
            to = computed_in(name, meet(p, q))
            if to is None:
                with pytest.raises(gs.DTypeError, match=name):
                    call(b, name, x, y)
                continue
            if name in ("eq", "ne", "lt", "le", "gt", "ge"):
                to = "bool"
            assert call(b, name, x, y).dtype.name == to, (name, p, q)


def test_python_scalars_take_the_dtype_beside_them() -> None:
    for d in DTYPES:
        b = gs.Builder("net")
        x = b.input("x", (2,), d)
        assert (x + True).dtype.name == d
        assert (x + 1).dtype.name == ("int64" if d == "bool" else d)
        assert (1.5 * x).dtype.name == (d if d in FLOATS else "float64")
        assert b.where(x, 1, 2.5).dtype.name == "float64"  # the condition lends no dtype


@pytest.mark.parametrize("target", TARGETS)
def test_operands_broadcast(target: str) -> None:
    shapes = {
        "s": (),
        "a": (6,),
        "c": (5, 1),
        "d": (4, 1, 6),
        "e": (2, 1, 5, 1),
        "z": (0, 1, 1),
        "r8": (1, 3, 1, 1, 2, 1, 1, 1),
    }
    rng = np.random.default_rng(3)
    arrays = {k: np.asarray(rng.integers(-99, 99, s), "i4") for k, s in shapes.items()}
    pairs = [p for p in itertools.combinations(shapes, 2) if p != ("d", "z")]
    bodies = [lambda b, v, p=p, q=q: v[p] - v[q] for p, q in pairs]
    for (p, q), got in zip(pairs, compute(target, arrays, bodies), strict=True):
        assert difference(np.asarray(got), np.asarray(arrays[p] - arrays[q]), 0) is None, (p, q)
    with pytest.raises(gs.ShapeError, match=r"sub: shapes .* do not broadcast: 4 and 0"):
        compute(target, arrays, [lambda b, v: v["d"] - v["z"]])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_overflow_is_not_reasoned_away(dtype: str, target: str) -> None:
    """Sums and products wrap before they are compared or divided: no compiler may take ``x + 1 > x`` for true."""
    bodies: dict[str, Callable[[Any], Any]] = {
        "x + 1 > x": lambda v: v["x"] + 1 > v["x"],
        "x - 1 < x": lambda v: v["x"] - 1 < v["x"],
        "x + y < y": lambda v: v["x"] + v["y"] < v["y"],
        "x * 2 // 2": lambda v: v["x"] * 2 // 2,
        "x * x < 0": lambda v: v["x"] * v["x"] < 0,
        "x - y > 0": lambda v: v["x"] - v["y"] > 0,
        "-x > 0": lambda v: -v["x"] > 0,
        "abs(x) < 0": lambda v: abs(v["x"]) < 0,
        "(x + y) - y": lambda v: (v["x"] + v["y"]) - v["y"],
        "x * 3 * y - x": lambda v: v["x"] * 3 * v["y"] - v["x"],
    }
    values = ugly(dtype)
    arrays = {"x": values[:, None], "y": values[None, :]}
    results = compute(target, arrays, [lambda b, v, f=f: f(v) for f in bodies.values()])
    with np.errstate(all="ignore"):
        for (label, f), got in zip(bodies.items(), results, strict=True):
            assert (error := difference(np.asarray(got), np.asarray(f(arrays)), 0)) is None, f"{label}: {error}"


def test_gelu_is_that_of_torch() -> None:
    torch = pytest.importorskip("torch")
    x = np.linspace(-12, 12, 4001)
    b = gs.Builder("net")
    v = b.input("x", x.shape, "float64")
    b.output(b.gelu(v), b.gelu(v, "tanh"))
    for got, approximate in zip(b.build()(x), ("none", "tanh"), strict=True):
        want = torch.nn.functional.gelu(torch.from_numpy(x), approximate=approximate).numpy()
        # torch loses the digits of the tails to cancellation
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-15)


def test_distance_counts_floats() -> None:
    one = np.array([1.0, 0.0, -0.0, 1e-45, np.nan, np.inf, np.inf], "f4")
    two = np.array([np.nextafter(np.float32(1), np.float32(2)), -0.0, 1e-45, -1e-45, np.nan, np.inf, 3e38], "f4")
    assert distance(one, two).tolist() == [1, 0, 1, 2, 0, 0, np.inf]


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "uint64"])
def test_unsigned_numbers_beside_0(dtype: str) -> None:
    """TVM ends the process where it is to tell whether one is below 0, as in a maximum of it and 0."""
    x = np.array([0, 1, 200], dtype)
    b = gs.Builder("k")
    v, zero = b.input("x", x.shape, dtype), b.zeros(x.shape, dtype)
    pairs = [(v, zero), (zero, v)]
    b.output(*(f(*p) for f in (b.maximum, b.minimum, b.lt, b.le, b.gt, b.ge) for p in pairs))
    numpy = (np.maximum, np.minimum, np.less, np.less_equal, np.greater, np.greater_equal)
    want = [f(*p) for f in numpy for p in ((x, x * 0), (x * 0, x))]
    for got, expected in zip(b.build()(x), want, strict=True):
        np.testing.assert_array_equal(got, expected)
