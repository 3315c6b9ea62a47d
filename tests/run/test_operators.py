"""Every operator that is neither a gather nor a scatter, against NumPy, on three paths: see :mod:`tests.paths`."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.dims import SymDim, evaluate
from gscompile.frontend.movement import slice_of
from tests.cases import DTYPES, FLOATS, INTEGERS, numpy_dtype, random_data
from tests.oracle import Array
from tests.paths import NUMPY, Sheet


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def data(shape: Any, dtype: str = "float32", seed: int = 0, special: bool = False) -> Array:
    return random_data(rng(seed), shape, dtype, special)


def counted(shape: tuple[int, ...], dtype: str = "int32") -> Array:
    """0, 1, 2, ...: every element tells where it comes from."""
    return np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape)


def small(shape: Any, dtype: str, seed: int = 0) -> Array:
    """Whole numbers whose sums are exact in every dtype and every order."""
    low = 0 if dtype.startswith("u") or dtype == "bool" else -2
    return rng(seed).integers(low, 2 if dtype == "bool" else 4, shape).astype(numpy_dtype(dtype))


# -- arithmetic -------------------------------------------------------------------------------------------------------

BINARY = "add sub mul div floordiv mod minimum maximum eq ne lt le gt ge logical_and logical_or logical_xor".split()
OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
BITS = {
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}


def test_dtypes_meet_as_in_numpy() -> None:
    """Every pair of dtypes in some function, and every function in some pairs."""
    sheet = Sheet()
    for d in DTYPES:
        sheet.input(d, (33,), d)
    functions = [f for f in BINARY if f not in ("minimum", "maximum")]
    for k, (p, q) in enumerate(itertools.combinations_with_replacement(DTYPES, 2)):
        name = functions[k % len(functions)]
        if (p, q, name) == ("bool", "bool", "sub"):
            name = "add"  # NumPy has no difference of bool either
        p, q = (p, q) if k % 2 else (q, p)
        # With uint64, NumPy divides int64 in float64; bool and int8 meet in int8.
        sheet.check(f"{name} {p} {q}", lambda b, v, p=p, q=q, name=name: getattr(b, name)(getattr(v, p), getattr(v, q)))
    for seed in (0, 1):
        sheet.run(**{d: data((33,), d, seed + k, special=True) for k, d in enumerate(DTYPES)})


def test_every_python_operator_and_its_reflection() -> None:
    """On the left and on the right of a Python scalar, which takes the dtype of the tensor beside it (NEP 50)."""
    sheet = Sheet()
    for d in ("float16", "float32", "int8", "uint8", "bool"):
        sheet.input(d, (2, 5), d)
    scalars: dict[str, list[Any]] = {"float": [2, 0.5, True], "other": [3, 1.5, True]}
    for k, d in enumerate(("float32", "int8", "uint8", "bool", "float16")):
        for j, (symbol, f) in enumerate([*OPERATORS.items(), *(() if d.startswith("float") else BITS.items())]):
            if d == "float16" and j % 3:
                continue
            s = scalars["float" if d.startswith("float") else "other"][(j + k) % 3]
            if symbol in BITS:
                s = True if symbol in "&|^" and j % 2 else 1
            elif symbol == "-" and s is True:
                s = 3  # NumPy has no difference of bool
            sheet.check(f"{d} {symbol} {s!r}", lambda b, v, d=d, f=f, s=s: f(getattr(v, d), s))
            sheet.check(f"{s!r} {symbol} {d}", lambda b, v, d=d, f=f, s=s: f(s, getattr(v, d)))
        if d != "bool":
            sheet.check(f"-{d}", lambda b, v, d=d: -getattr(v, d))
        if not d.startswith("float"):
            sheet.check(f"~{d}", lambda b, v, d=d: ~getattr(v, d))
        sheet.check(f"abs {d}", lambda b, v, d=d: abs(getattr(v, d)))
    sheet.run(
        **{d: data((2, 5), d, 3) for d in ("float16", "float32", "bool")},
        **{d: rng(5).integers(0 if d[0] == "u" else -9, 9, (2, 5)).astype(d) for d in ("int8", "uint8")},
    )


def test_powers() -> None:
    sheet = Sheet()
    sheet.input("f", (2, 5), "float32")
    sheet.input("i", (2, 5), "int32")
    sheet.input("u", (2, 5), "uint8")
    sheet.check("f ** 2", lambda b, v: v.f**2, rtol=1e-6)
    sheet.check("2 ** f", lambda b, v: 2**v.f, rtol=1e-6)
    sheet.check("pow(|f|, i)", lambda b, v: b.pow(b.abs(v.f), v.i), rtol=1e-12)
    sheet.check("i ** u", lambda b, v: v.i**v.u)
    sheet.check("3 ** u", lambda b, v: 3**v.u)
    sheet.run(f=data((2, 5)) / 64, i=rng(1).integers(-9, 9, (2, 5)).astype("int32"), u=data((2, 5), "uint8", 2))


def test_a_python_integer_that_does_not_fit_is_refused() -> None:
    b = gs.Builder("net")
    x, y = b.input("x", (3,), "uint8"), b.input("y", (3,), "int8")
    for f in (lambda: x + 256, lambda: x * -1, lambda: 128 - y, lambda: b.clip(y, -129, 0)):
        with pytest.raises(gs.DTypeError, match="does not fit"):
            f()


def test_operands_broadcast() -> None:
    """Ranks 0 to 4, extents 1 and 0, and symbolic sizes, which never stretch."""
    sheet = Sheet()
    for name, shape in {"s": (), "a": (6,), "c": (5, 1), "d": (4, 1, 6), "e": (2, 1, 5, 1), "z": (0, 1, 1)}.items():
        sheet.input(name, shape)
    sheet.input("p", ("n", 6))
    sheet.input("q", ("m", 1, 6))
    sheet.input("r", ("m", "n", 1))
    for x, y in itertools.combinations("sacde", 2):
        sheet.check(f"{x} - {y}", lambda b, v, x=x, y=y: getattr(v, x) - getattr(v, y))
    for pair in ("sz", "az", "cz", "ez", "sp", "ap", "pq", "pr", "qr", "qp", "rr", "sr"):
        sheet.check(" * ".join(pair), lambda b, v, pair=pair: getattr(v, pair[0]) * getattr(v, pair[1]))
    sheet.check("where c d e", lambda b, v: b.where(v.c > 0, v.d, v.e))
    sheet.check("clip r a s", lambda b, v: b.clip(v.r, b.minimum(v.a, v.s), b.maximum(v.a, v.s)), signed_zero=False)
    sheet.check("where p scalars", lambda b, v: b.where(v.p > 0, 1.5, v.p))
    fixed = {k: data(sheet.b._values[j].shape, seed=j) for j, k in enumerate("sacdez")}
    for n, m in [(5, 3), (1, 1), (0, 2), (7, 0)]:
        sheet.run(**fixed, p=data((n, 6), seed=n), q=data((m, 1, 6), seed=m), r=data((m, n, 1), seed=9))


def test_a_symbolic_size_never_stretches() -> None:
    b = gs.Builder("net")
    x, y = b.input("x", ("n", 3), "float32"), b.input("y", ("m", 3), "float32")
    b.output(x + y, x + b.zeros((4, 3)))
    module = b.build()
    assert module(np.ones((4, 3), "f4"), np.ones((4, 3), "f4"))[0].shape == (4, 3)
    for n, m in [(1, 4), (4, 1), (1, 1), (5, 5)]:
        with pytest.raises(gs.ShapeError, match="operands on axis -2"):
            module(np.ones((n, 3), "f4"), np.ones((m, 3), "f4"))


UNARY: dict[str, float] = {  # relative tolerance in float32; 0 for what is exact
    **dict.fromkeys("neg abs sign relu floor ceil round trunc square sqrt reciprocal".split(), 0),
    **dict.fromkeys("isnan isinf isfinite logical_not".split(), 0),
    **dict.fromkeys("exp log rsqrt tanh sigmoid erf gelu sin cos".split(), 1e-6),
}


def test_functions_of_one_operand() -> None:
    sheet = Sheet()
    sheet.input("x", ("n", 3))
    sheet.input("w", (40,), "float64")
    sheet.input("h", (40,), "float16")
    sheet.input("g", (40,), "bfloat16")
    sheet.input("i", (40,), "int16")
    for k, (name, rtol) in enumerate(UNARY.items()):
        operand = b_abs if name in ("log", "sqrt", "rsqrt") else identity
        sheet.check(f"{name} float32", lambda b, v, n=name, o=operand: getattr(b, n)(o(b, v.x)), rtol=rtol)
        d, tolerance = [("w", 1e-14), ("h", 2e-3), ("g", 2e-2), ("i", 0)][k % 4 if rtol == 0 else k % 3]
        if not (d == "i" and name in ("sqrt", "reciprocal", "isinf", "isnan", "isfinite")):
            sheet.check(
                f"{name} {d}",
                lambda b, v, n=name, o=operand, d=d: getattr(b, n)(o(b, getattr(v, d))),
                rtol=rtol and tolerance,
            )
    sheet.check("gelu tanh", lambda b, v: b.gelu(v.x, "tanh"), rtol=1e-6)
    common = {"w": data((40,), "float64", 2) / 99, "h": data((40,), "float16", 3), "g": data((40,), "bfloat16", 4)}
    common = {k: np.clip(a, -4, 4) for k, a in common.items()}
    x = np.clip(data((11, 3), seed=1), -6, 6)
    sheet.run(x=x, i=data((40,), "int16", 5), **common)
    sheet.run(x=np.array([[0.0, -0.0, np.nan], [np.inf, 0.5, -2.5]], "f4"), i=data((40,), "int16", 6), **common)


def identity(b: Any, x: Any) -> Any:
    return x


def b_abs(b: Any, x: Any) -> Any:
    return b.abs(x)


def test_casts_between_all_dtypes() -> None:
    sheet = Sheet()
    for d in DTYPES:
        sheet.input(d, (57,), d)
    for p, q in itertools.permutations(DTYPES, 2):
        sheet.check(f"{p} to {q}", lambda b, v, p=p, q=q: b.cast(getattr(v, p), q))
    sheet.run(**{d: ugly(d, 57) for d in DTYPES})


def ugly(dtype: str, count: int) -> Array:
    """The limits of this type and of narrower ones, halves, specials; the rest at random."""
    values = data((count,), dtype, 8, special=True)
    if dtype in FLOATS:
        powers = [2.0**k for k in (7, 8, 15, 16, 31, 32, 63, 64)]
        edges = [np.nan, np.inf, -np.inf, -0.0, 0.5, -0.5, 1.5, 2.5, -1.0, 65504.0, 65520.0, 1e-8, 3e38]
        edges += [s * p for p in powers for s in (1, -1)] + [p - 1 for p in powers] + [-p - 1 for p in powers]
        with np.errstate(over="ignore"):
            values[: len(edges)] = np.array(edges).astype(values.dtype)
    elif dtype in INTEGERS:
        info = np.iinfo(dtype)
        powers = [2**k for k in (7, 8, 11, 15, 16, 24, 31, 32, 53, 63)]
        edges = [v for p in powers for v in (p - 1, p, p + 1, -p, -p - 1) if info.min <= v <= info.max]
        edges = [info.min, info.max, 0, *edges][:count]
        values[: len(edges)] = np.array(edges, dtype)
    return values


def test_where_clip_minimum_maximum() -> None:
    sheet = Sheet()
    for d in ("float32", "bfloat16", "int64", "uint8", "bool", "float64"):
        sheet.input(d, (31,), d)
    for p, q in [("float32", "float32"), ("bfloat16", "float32"), ("int64", "uint8"), ("bool", "bool"), ("uint8", "float64")]:
        for name in ("minimum", "maximum"):
            sheet.check(
                f"{name} {p} {q}",
                lambda b, v, p=p, q=q, name=name: getattr(b, name)(getattr(v, p), getattr(v, q)),
                signed_zero=False,
            )
        sheet.check(f"where {p} {q}", lambda b, v, p=p, q=q: b.where(v.bool, getattr(v, p), getattr(v, q)))
        sheet.check(f"where by {p}", lambda b, v, p=p, q=q: b.where(getattr(v, p), getattr(v, q), getattr(v, p)))
    for name, low, high in [("float32", -1.5, 2), ("int64", -3, 5), ("uint8", 10, 200), ("float64", None, 0.25)]:
        sheet.check(f"clip {name}", lambda b, v, n=name, low=low, high=high: b.clip(getattr(v, n), low, high))
    sheet.check("clip low", lambda b, v: b.clip(v.float32, low=0.5))
    sheet.check("clip neither", lambda b, v: b.clip(v.int64))
    sheet.check("clip tensors", lambda b, v: b.clip(v.int64, v.uint8, 100))
    for seed in (1, 2):
        sheet.run(**{d: data((31,), d, 7 * seed + k, special=True) for k, d in enumerate(vars(sheet.values))})


