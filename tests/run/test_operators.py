"""Every operator that is neither a gather nor a scatter, against NumPy, on three paths: see :mod:`tests.paths`."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.frontend.movement import slice_of
from gscompile.ir.dims import SymDim, evaluate
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

BINARY = ["add", "sub", "mul", "div", "floordiv", "mod", "eq", "ne", "lt", "le", "gt", "ge"]
BINARY += ["logical_and", "logical_or", "logical_xor"]
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
    for k, (p, q) in enumerate(itertools.combinations_with_replacement(DTYPES, 2)):
        name = BINARY[k % len(BINARY)]
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


def test_zeros_are_numbers_like_any_other() -> None:
    """No simplifier may take x * 0 for 0, or 0.0 for -0.0, or refuse to divide by 0."""
    sheet = Sheet()
    sheet.input("x", (7,))
    sheet.input("i", (7,), "int32")
    for zero in (0.0, -0.0, 0):
        for symbol in ("*", "/", "//", "%", "+", "-"):
            f = OPERATORS[symbol]
            sheet.check(f"x {symbol} {zero}", lambda b, v, f=f, zero=zero: f(v.x, zero))
            sheet.check(f"{zero} {symbol} x", lambda b, v, f=f, zero=zero: f(zero, v.x))
            if zero == 0 and not isinstance(zero, float):
                sheet.check(f"i {symbol} 0", lambda b, v, f=f: f(v.i, 0))
                sheet.check(f"0 {symbol} i", lambda b, v, f=f: f(0, v.i))
        sheet.check(f"zeros {zero}", lambda b, v, zero=zero: b.full((7,), zero) * v.x / b.full((7,), zero))
        sheet.check(f"where {zero}", lambda b, v, zero=zero: b.where(v.x > 0, zero, -zero))
    sheet.check("x - x", lambda b, v: v.x - v.x)
    sheet.check("x / x", lambda b, v: v.x / v.x)
    sheet.check("x == x", lambda b, v: v.x == v.x)
    x = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, -3.0, 2.5], "f4")
    sheet.run(x=x, i=np.array([-9, 9, 0, 1, -1, 2**31 - 1, -(2**31)], "i4"))


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
    fixed = {k: data(sheet.inputs[k][0], seed=j) for j, k in enumerate("sacdez")}
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
    **dict.fromkeys(
        ["neg", "abs", "sign", "relu", "floor", "ceil", "round", "trunc", "square", "sqrt", "reciprocal"], 0
    ),
    **dict.fromkeys(["isnan", "isinf", "isfinite", "logical_not"], 0),
    **dict.fromkeys(["exp", "log", "rsqrt", "tanh", "sigmoid", "erf", "gelu", "sin", "cos"], 1e-6),
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
    common = {k: np.clip(a, -4, 4).astype(a.dtype) for k, a in common.items()}
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
    for p, q in [
        ("float32", "float32"),
        ("bfloat16", "float32"),
        ("int64", "uint8"),
        ("bool", "bool"),
        ("uint8", "float64"),
    ]:
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


# -- shapes -----------------------------------------------------------------------------------------------------------


def test_reshape() -> None:
    """Splits, merges, runs that do not match, axes of extent 1 and 0, and -1."""
    sheet = Sheet()
    sheet.input("x", (6, 4), "int32")
    sheet.input("y", (2, 3, 1, 4, 5), "int32")
    sheet.input("z", (3, 0, 2), "int32")
    sheet.input("s", (), "int32")
    for shape in [(24,), (8, 3), (3, 8), (2, 3, 4), (6, 2, 2), (2, 3, 2, 2), (1, 6, 1, 4, 1), (4, 6), (12, -1), (-1,)]:
        sheet.check(f"(6, 4) to {shape}", lambda b, v, s=shape: b.reshape(v.x, s))
    for shape in [(6, 20), (2, 3, 20), (2, 12, 5), (120,), (5, 24), (2, 60), (4, 30), (6, 4, 5), (3, 2, 4, 5), (8, 15)]:
        sheet.check(f"y to {shape}", lambda b, v, s=shape: b.reshape(v.y, s))
    for shape in [(0,), (2, 0, 3), (0, 7), (3, 0), (5, 0, 4, 4), (-1, 3)]:
        sheet.check(f"z to {shape}", lambda b, v, s=shape: b.reshape(v.z, s))
    sheet.check("scalar to (1, 1)", lambda b, v: b.reshape(v.s, (1, 1)))
    sheet.check("one element to scalar", lambda b, v: b.reshape(v.x[:1, :1], ()))
    sheet.check("an int", lambda b, v: b.reshape(v.x, 24))
    sheet.run(x=counted((6, 4)), y=counted((2, 3, 1, 4, 5)), z=counted((3, 0, 2)), s=counted(()))


def test_reshape_with_symbolic_sizes() -> None:
    sheet = Sheet()
    sheet.input("x", ("n", 4), "int32")
    sheet.input("y", ("n", "m", 6), "int32")
    sheet.input("f", (12,), "int32")
    shapes: dict[str, Any] = {
        "(n, 4) flat": (lambda b, v: b.reshape(v.x, (-1,)), "(4*n,)"),
        "(n, 4) to (2n, 2)": (lambda b, v: b.reshape(v.x, (-1, 2)), "(2*n, 2)"),
        "(n, 4) to (2, 2n)": (lambda b, v: b.reshape(v.x, (2, -1)), "(2, 2*n)"),
        "(n, 4) to (4, n)": (lambda b, v: b.reshape(v.x, (4, v.n)), "(4, n)"),
        "(n, 4) to (2, n, 1, 2)": (lambda b, v: b.reshape(v.x, (2, v.n, 1, 2)), "(2, n, 1, 2)"),
        "(n, m, 6) to (nm, 6)": (lambda b, v: b.reshape(v.y, (-1, 6)), "(m*n, 6)"),
        "(n, m, 6) to (n, 6m)": (lambda b, v: b.reshape(v.y, (v.n, -1)), "(n, 6*m)"),
        "(n, m, 6) to (m, n, 2, 3)": (lambda b, v: b.reshape(v.y, (v.m, v.n, 2, 3)), "(m, n, 2, 3)"),
        "(n, m, 6) to (-1, 4)": (lambda b, v: b.reshape(v.y, (-1, 4)), "((6*m*n)//4, 4)"),
        "(12,) to (n, -1)": (lambda b, v: b.reshape(v.f, (v.n, -1)), "(n, 12//n)"),
        "flatten": (lambda b, v: b.flatten(v.y), "(6*m*n,)"),
        "flatten 1": (lambda b, v: b.flatten(v.y, 1), "(n, 6*m)"),
        "flatten -1": (lambda b, v: b.flatten(v.y, -1), "(m*n, 6)"),
        "flatten 3": (lambda b, v: b.flatten(v.y, 3), "(6*m*n, 1)"),
    }
    for label, (body, shape) in shapes.items():
        assert str(sheet.check(label, body).type) == f"int32{shape}"
    for n, m in [(3, 2), (1, 4), (4, 6), (2, 0)]:
        sheet.run(x=counted((n, 4)), y=counted((n, m, 6)), f=counted((12,)))
    for n, m in [(3, 1), (5, 2)]:
        with pytest.raises(gs.ShapeError, match="number of elements"):
            sheet.compute("llvm", x=counted((n, 4)), y=counted((n, m, 6)), f=counted((12,)))
    with pytest.raises(gs.ShapeError, match="divided by one that is 0"):
        sheet.compute("llvm", x=counted((0, 4)), y=counted((0, 1, 6)), f=counted((12,)))


def test_transpose_squeeze_unsqueeze_flip_broadcast() -> None:
    sheet = Sheet()
    sheet.input("x", (2, 3, 5), "int32")
    sheet.input("y", (1, 4, 1, 6), "int32")
    sheet.input("z", ("n", 1, "m"), "int32")
    sheet.input("s", (), "int32")
    for perm in (None, *itertools.permutations(range(3)), (-1, 0, 1)):
        sheet.check(f"transpose {perm}", lambda b, v, p=perm: b.transpose(v.x, p))
        sheet.check(f"transpose z {perm}", lambda b, v, p=perm: b.transpose(v.z, p))
    sheet.check("transpose a scalar", lambda b, v: b.transpose(v.s))
    for axes in (None, 0, [0], (0, 2), -2, [-2, 0]):
        sheet.check(f"squeeze {axes}", lambda b, v, a=axes: b.squeeze(v.y, a))
    sheet.check("squeeze z", lambda b, v: b.squeeze(v.z, 1))
    for axes in (0, 1, -1, [0, 2], (0, -1), [1, 3, 4]):
        sheet.check(f"unsqueeze {axes}", lambda b, v, a=axes: b.unsqueeze(v.x, a))
        if axes != [1, 3, 4]:
            sheet.check(f"unsqueeze z {axes}", lambda b, v, a=axes: b.unsqueeze(v.z, a))
    for axes in (None, 0, -1, (0, 2), [1], ()):
        sheet.check(f"flip {axes}", lambda b, v, a=axes: b.flip(v.x, a))
        sheet.check(f"flip z {axes}", lambda b, v, a=axes: b.flip(v.z, a))
    for name, shape in [
        ("s", (2, 3)),
        ("s", ()),
        ("x", (4, 2, 3, 5)),
        ("y", (3, 4, 2, 6)),
        ("y", (2, 1, 4, 1, 6)),
        ("y", (0, 4, 1, 6)),
    ]:
        sheet.check(f"broadcast {name} {shape}", lambda b, v, n=name, s=shape: b.broadcast_to(getattr(v, n), s))
    sheet.check("broadcast z", lambda b, v: b.broadcast_to(v.z, (2, v.n, 3, v.m)))
    sheet.check("broadcast scalar to n", lambda b, v: b.broadcast_to(v.s, (v.n, v.m)))
    for n, m in [(4, 7), (1, 1), (0, 3), (70, 0)]:
        sheet.run(x=counted((2, 3, 5)), y=counted((1, 4, 1, 6)), z=counted((n, 1, m)), s=np.array(9, "i4"))


def test_symbolic_sizes_that_must_be_one_or_equal() -> None:
    b = gs.Builder("net")
    x = b.input("x", ("n", 4), "int32")
    b.output(b.squeeze(x, 0), b.broadcast_to(x, (1, 4)), b.broadcast_to(b.zeros((1, 4), "int32"), ("n", 4)))
    module = b.build()
    assert [r.shape for r in module(counted((1, 4)))] == [(4,), (1, 4), (1, 4)]
    with pytest.raises(gs.ShapeError, match="squeeze"):
        module(counted((2, 4)))


# -- slices -----------------------------------------------------------------------------------------------------------


def every_slice(n: int) -> list[slice]:
    """Every start, stop and step from ``-n - 2`` to ``n + 2``, and None."""
    bounds = [None, *range(-n - 2, n + 3)]
    return [slice(*key) for key in itertools.product(bounds, bounds, [s for s in bounds if s != 0])]


def test_every_slice_has_pythons_extent_and_start() -> None:
    for n in range(4):
        for key in every_slice(n):
            want = range(n)[key]
            start, step, extent = slice_of(key, n)
            assert (extent, step) == (len(want), want.step), key
            assert start == want.start, key
    size = SymDim.var("n")
    for key in every_slice(3):
        start, step, extent = slice_of(key, size)
        for n in range(8):
            want = range(n)[key]
            assert (evaluate(extent, {"n": n}), step) == (len(want), want.step), (key, n, extent)
            if len(want):
                assert evaluate(start, {"n": n}) == want.start, (key, n, start)


def distinct_slices(n: int, d: Any) -> list[slice]:
    """One of each kind that is computed differently on an axis of extent ``d``."""
    return list({slice_of(key, d): key for key in every_slice(n)}.values())


PAST = [2**70, -(2**70), 2**64, 2**63 - 1, -(2**63), 2**62, 2**48, -(2**48)]


@pytest.mark.parametrize("extent", ["n", 4])
def test_slices_past_the_end_of_int64(extent: Any) -> None:
    x = counted((4, 3))
    kinds = [
        lambda p: (p, None),
        lambda p: (None, p),
        lambda p: (None, None, p),
        lambda p: (p, -p, p),
        lambda p: (p, -p, -1),
    ]
    keys = [slice(*kind(p)) for p in PAST for kind in kinds]
    b = gs.Builder("past")
    v = b.input("x", (extent, 3), x.dtype)
    b.output(*(v[key] for key in keys))
    for key, got in zip(keys, b.build()(x), strict=True):
        assert got.tolist() == x[key].tolist(), key


def test_every_slice_of_a_static_axis() -> None:
    sheet = Sheet()
    sheet.input("x", (3,), "int32")
    for key in distinct_slices(3, 3):
        sheet.check(str(key), lambda b, v, key=key: v.x[key])
    sheet.run(x=counted((3,)) + 7)


@pytest.mark.parametrize("paths", [("llvm",), ("cuda", "reference")])
def test_every_slice_of_a_symbolic_axis(paths: tuple[str, ...]) -> None:
    """All of them on llvm, a sample on the slower paths."""
    sheet = Sheet(paths)
    sheet.input("x", ("n",), "int32")
    for key in distinct_slices(2, SymDim.var("n"))[:: 1 if paths == ("llvm",) else 9]:
        sheet.check(str(key), lambda b, v, key=key: v.x[key])
    for n in (0, 1, 2, 3, 4, 5, 9):
        sheet.run(x=counted((n,)) + 7)


def test_slices_of_symbolic_axes_are_readable_and_alike() -> None:
    b = gs.Builder("net")
    x = b.input("x", ("n", "m"), "float32")
    shapes = {
        "(max(n-1, 0), m)": x[1:],
        "(max(n-2, 0), m)": x[:-2],
        "(min(n, 3), m)": x[:3],
        "(min(n, 4), m)": x[-4:],
        "((n+1)//2, m)": x[::2],
        "(n, m)": x[::-1],
        "(m,)": x[-1],
        "(n,)": x[:, 0],
        "(n, 1, max(m-2, 0))": x[:, None, 1:-1],
        "(0, m)": x[2:1],
    }
    for shape, value in shapes.items():
        assert str(value.type) == f"float32{shape}"
    assert (x[1:] - x[:-1]).shape == x[1:].shape
    assert x[1:][1:].rank == 2


def test_slice_and_getitem() -> None:
    sheet = Sheet()
    sheet.input("x", (4, 5, 3), "int32")
    sheet.input("y", ("n", 5, "m"), "int32")
    sheet.input("i", (2, 3), "int64")
    x: list[Any] = [0, -1, 3, np.int64(2), (1, 2), (1, 2, -3), (slice(None), 4), (..., 1), (1, ..., 2), ..., None, ()]
    x += [
        (None, 2, None),
        (slice(1, 3), None, ..., -1),
        (slice(None, None, -2), slice(4, 0, -3)),
        (slice(1, 9), ..., None),
    ]
    for key in x:
        sheet.check(f"x[{key}]", lambda b, v, k=key: b.getitem(v.x, k))
    y: list[Any] = [
        -2,
        1,
        (0, 1, -1),
        (slice(None), 0, slice(1, None)),
        (slice(-2, None), ..., None, 0),
        (..., slice(None, None, -1)),
    ]
    for key in y:
        sheet.check(f"y[{key}]", lambda b, v, k=key: v.y[k])
    sheet.check("x[i]", lambda b, v: v.x[v.i])
    sheet.check("y[i][:, 1]", lambda b, v: v.y[v.i][:, 1])
    sheet.check("slice one axis", lambda b, v: b.slice(v.x, [1], [-1], axes=[1]))
    sheet.check("slice first axes", lambda b, v: b.slice(v.x, [3, 0], [0, 4], steps=[-1, 2]))
    sheet.check("slice two axes", lambda b, v: b.slice(v.y, [-1, 1], [-99, 99], axes=[2, 0], steps=[-1, 1]))
    index = np.array([[1, 0, -1], [0, 1, 1]])
    for n, m in [(2, 1), (5, 3), (2, 9)]:
        sheet.run(x=counted((4, 5, 3)), y=counted((n, 5, m)), i=index)
    with pytest.raises(gs.ShapeError, match="getitem: index -2 on axis 0"):
        sheet.compute("llvm", x=counted((4, 5, 3)), y=counted((1, 5, 1)), i=index)


# -- pad, concat, and tensors made from nothing -----------------------------------------------------------------------


def test_pad() -> None:
    sheet = Sheet()
    sheet.input("x", (3, 4), "float32")
    sheet.input("y", ("n", 3), "int16")
    sheet.input("e", (0, 2), "float32")
    sheet.input("w", (0, 16), "float32")
    for low, high in [
        ((1, 0), (0, 2)),
        ((2, 3), (4, 5)),
        ((-1, 0), (0, -2)),
        ((-2, 1), (3, -3)),
        ((-5, 0), (4, 0)),
        ((0, 0), (0, 0)),
        ((-3, 0), (0, 0)),
    ]:
        sheet.check(f"x {low} {high}", lambda b, v, low=low, high=high: b.pad(v.x, low, high, -0.0))
        sheet.check(f"exp x {low} {high}", lambda b, v, low=low, high=high: b.pad(v.x * 3, low, high, float("nan")))
    for low, high in [((1, 0), (0, 2)), ((-1, 1), (1, -2)), ((2, -1), (-2, 0)), ((0, 0), (-1, 0))]:
        sheet.check(f"y {low} {high}", lambda b, v, low=low, high=high: b.pad(v.y, low, high, -7))
    sheet.check("empty", lambda b, v: b.pad(v.e, (1, 0), (2, 1), 2.5))
    sheet.check("one row of filling", lambda b, v: b.pad(v.w, (1, 0), (0, 0), 2.5))
    sheet.check("pad of pad", lambda b, v: b.pad(b.pad(v.x, (1, 1), (1, 1), 5), (-1, -1), (2, -1), 6))
    for n in (1, 2, 5, 66):
        sheet.run(x=data((3, 4)), y=counted((n, 3), "int16"), e=data((0, 2)), w=data((0, 16)))
    with pytest.raises(gs.ShapeError, match="pad"):
        sheet.compute("llvm", x=data((3, 4)), y=counted((0, 3), "int16"), e=data((0, 2)), w=data((0, 16)))


def test_concat_and_stack() -> None:
    sheet = Sheet()
    sheet.input("x", (3, 4), "int32")
    sheet.input("y", (2, 4), "float32")
    sheet.input("z", (3, 0), "int32")
    sheet.input("n1", ("n", 4), "int32")
    sheet.input("m1", ("m", 4), "int8")
    sheet.input("u", (3, 4), "uint8")
    sheet.input("s", (), "int32")
    cases: dict[str, Any] = {
        "one": lambda b, v: b.concat([v.x]),
        "itself": lambda b, v: b.concat([v.x, v.x], axis=1),
        "axis -1, an empty part": lambda b, v: b.concat([v.z, v.x, v.z, v.x[:, 1:2]], axis=-1),
        "dtypes": lambda b, v: b.concat([v.x, v.y]),
        "symbolic and dtypes": lambda b, v: b.concat([v.n1, v.m1, v.x]),
        "symbolic three": lambda b, v: b.concat([v.n1, v.n1[1:], v.m1, v.n1[::-1]]),
        "nothing but empty": lambda b, v: b.concat([v.z, v.z], axis=1),
        "arithmetic": lambda b, v: b.concat([v.x * 2, b.flip(v.x), b.zeros((1, 4), "int32")]) + 1,
        "stack 0": lambda b, v: b.stack([v.x, v.x * 2]),
        "stack -1": lambda b, v: b.stack([v.x, v.u, v.x], axis=-1),
        "stack 1": lambda b, v: b.stack([v.n1, v.n1], axis=1),
        "stack scalars": lambda b, v: b.stack([v.s, v.s + 1, b.size(v.n, "int32")]),
    }
    values = {label: sheet.check(label, body) for label, body in cases.items()}
    assert str(values["symbolic and dtypes"].type) == "int32(m+n+3, 4)"
    assert str(values["stack 1"].type) == "int32(n, 2, 4)"
    fixed = {
        "x": counted((3, 4)),
        "y": data((2, 4)),
        "z": counted((3, 0)),
        "u": data((3, 4), "uint8"),
        "s": np.array(5, "i4"),
    }
    for n, m in [(3, 2), (0, 1), (1, 0), (0, 0), (70, 5)]:
        sheet.run(n1=counted((n, 4)), m1=data((m, 4), "int8", 2), **fixed)


def test_every_dtype_is_moved_bit_for_bit() -> None:
    sheet = Sheet()
    for d in DTYPES:
        sheet.input(d, (3, 5), d)
        sheet.check(f"concat {d}", lambda b, v, d=d: b.concat([b.flip(getattr(v, d)), getattr(v, d)[1:]]))
        sheet.check(f"pad {d}", lambda b, v, d=d: b.pad(b.transpose(getattr(v, d)), (1, 0), (0, 2), 1))
        if d not in FLOATS and d != "bool":
            info = np.iinfo(d)
            sheet.check(f"limits {d}", lambda b, v, d=d, i=info: b.pad(getattr(v, d), (1, 0), (0, 0), int(i.max)))
            sheet.check(f"full {d}", lambda b, v, d=d, i=info: b.full((2, 3), int(i.min), d))
        else:
            for value in (0, 1) if d == "bool" else (0.1, -0.0, float("inf"), float("-inf"), float("nan"), 1e-8):
                sheet.check(f"full {value} {d}", lambda b, v, d=d, value=value: b.full((2, 3), value, d))
    sheet.run(**{d: data((3, 5), d, k, special=True) for k, d in enumerate(DTYPES)})


def test_tensors_made_from_nothing() -> None:
    sheet = Sheet()
    sheet.input("x", ("n", 2, "m"), "float32")
    fixed = np.arange(6.0).reshape(2, 3)[:, ::-1]  # not contiguous
    for d in ("int64", "float32", "int8", "bfloat16", "bool"):
        sheet.check(f"iota {d}", lambda b, v, d=d: b.iota((3, 4), 1, d))
        sheet.check(f"zeros {d}", lambda b, v, d=d: b.zeros((v.n, 2), d))
        sheet.check(f"size {d}", lambda b, v, d=d: b.size(v.n, d))
    sheet.check("iota n", lambda b, v: b.iota((2, v.n, 3), 1))
    sheet.check("iota -1", lambda b, v: b.iota((2, v.m), -1, "int32") * 2)
    sheet.check("full", lambda b, v: b.full((v.m, v.n), 2.5))
    sheet.check("empty", lambda b, v: b.zeros((2, 0, v.n)))
    sheet.check("sizes", lambda b, v: b.size(v.n) * b.size(v.m) + b.size(3))
    sheet.check("size in arithmetic", lambda b, v: v.x / b.size(v.m, "float32"))
    sheet.check("constant strided", lambda b, v: b.constant(fixed))
    sheet.check("constant added", lambda b, v: v.x[:1, :, :1] + fixed[:, :1].astype("f4"))
    sheet.check("constant list", lambda b, v: b.constant([[1, 2], [3, 4]]))
    sheet.check("constant of floats", lambda b, v: b.constant([1.5, 2]))
    sheet.check("constant dtype", lambda b, v: b.constant([1, 300], "uint8"))
    sheet.check("constant bool", lambda b, v: b.constant(np.array([True, False])))
    sheet.check("constant empty", lambda b, v: b.constant(np.zeros((0, 3), "i4")))
    sheet.check("numpy on the left", lambda b, v: np.float32(2) * v.x)
    for n, m in [(3, 4), (1, 1), (0, 5), (2, 130)]:
        sheet.run(x=data((n, 2, m)))
    b = gs.Builder("net")
    b.output(b.size(b.input("x", ("n", 4), "int8").shape[0] * 4 + 1))
    assert b.build()(np.zeros((3, 4), "i1")) == 13


def test_torch_constants() -> None:
    torch = pytest.importorskip("torch")
    b = gs.Builder("net")
    b.output(b.constant(torch.arange(6).reshape(2, 3).t()), b.constant(torch.tensor([1.5], dtype=torch.bfloat16)))
    whole, bits = b.build()()
    assert np.array_equal(whole, np.arange(6).reshape(2, 3).T)
    assert bits.dtype == numpy_dtype("bfloat16") and bits == 1.5


# -- reductions -------------------------------------------------------------------------------------------------------

FOLDS = ("sum", "mean", "prod", "max", "min", "any", "all")
AXES: tuple[Any, ...] = (None, 0, 1, -1, (0, 2), (1, 2), [0, 1], (2, 1, 0), ())


def test_reductions_over_axes() -> None:
    """One, several, all and no axes, with and without keepdims; sums of small whole numbers are exact."""
    sheet = Sheet()
    sheet.input("x", (3, 5, 7))
    sheet.input("y", ("n", 5, "m"))
    for k, (name, axes) in enumerate(itertools.product(FOLDS, AXES)):
        keep = bool(k % 2)
        sheet.check(f"{name} {axes} {keep}", lambda b, v, n=name, a=axes, k=keep: getattr(b, n)(v.x, a, k))
        if (k + len(FOLDS)) % 3 == 0:
            sheet.check(f"{name} {axes} y", lambda b, v, n=name, a=axes, k=keep: getattr(b, n)(v.y, a, not k))
    for n, m in [(3, 2), (1, 1), (2, 65)]:
        sheet.run(x=small((3, 5, 7), "float32", n) + 0.0, y=small((n, 5, m), "float32", m) + 0.0)


def test_reductions_of_all_dtypes() -> None:
    """NumPy's result dtypes; 16-bit floats accumulate in float32."""
    sheet = Sheet()
    for k, d in enumerate(DTYPES):
        sheet.input(d, (4, 9), d)
        for j, name in enumerate(FOLDS):
            sheet.check(f"{name} {d}", lambda b, v, n=name, d=d, a=(k + j) % 2: getattr(b, n)(getattr(v, d), a))
    sheet.run(**{d: small((4, 9), d, k) for k, d in enumerate(DTYPES)})
    limits = {d: np.full((4, 9), np.iinfo(d).max, d) for d in INTEGERS}  # sums and products wrap
    sheet.run(**limits, **{d: small((4, 9), d, 5) for d in (*FLOATS, "bool")})


def test_sums_of_16_bit_floats_do_not_round_at_each_step() -> None:
    sheet = Sheet()
    for d in ("float16", "bfloat16"):
        sheet.input(d, (3000, 2), d)
        for name in ("sum", "mean"):
            for axes in (0, None):
                sheet.check(f"{name} {d} {axes}", lambda b, v, n=name, d=d, a=axes: getattr(b, n)(getattr(v, d), a))
    sheet.run(**{d: rng(1).integers(0, 9, (3000, 2)).astype(numpy_dtype(d)) for d in ("float16", "bfloat16")})


def test_reductions_with_nan_and_infinities() -> None:
    sheet = Sheet()
    for d in ("float32", "bfloat16", "float64"):
        sheet.input(d, (6, 8), d)
        for name in FOLDS:
            for axis in (0, 1):
                sheet.check(
                    f"{name} {d} {axis}",
                    lambda b, v, n=name, d=d, a=axis: getattr(b, n)(getattr(v, d), a),
                    signed_zero=False,
                )
    for seed in range(3):
        values = rng(seed).choice(
            [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 2.0], (6, 8), p=[0.05, 0.1, 0.1, 0.2, 0.2, 0.15, 0.2]
        )
        sheet.run(**{d: values.astype(numpy_dtype(d)) for d in ("float32", "bfloat16", "float64")})


def test_reductions_of_nothing() -> None:
    """A sum of nothing is 0, a product 1, a mean NaN; max and min of nothing are refused where that is known."""
    sheet = Sheet()
    sheet.input("x", (0, 3))
    sheet.input("i", (2, 0), "int32")
    sheet.input("y", ("n", 3))
    for name in ("sum", "mean", "prod", "any", "all"):
        for axes in (0, 1, None):
            for v in ("x", "i", "y"):
                sheet.check(f"{name} {v} {axes}", lambda b, s, n=name, a=axes, v=v: getattr(b, n)(getattr(s, v), a))
    sheet.check("max over the other axis", lambda b, v: b.max(v.x, 1))
    sheet.check("argmax over the other axis", lambda b, v: b.argmax(v.i, 0))
    for n in (0, 2):
        sheet.run(x=data((0, 3)), i=counted((2, 0)), y=small((n, 3), "float32"))
    b = gs.Builder("net")
    x, y = b.input("x", (0, 3), "float32"), b.input("y", ("n", 3), "float32")
    for f in (lambda: b.max(x), lambda: b.min(x, 0), lambda: b.argmax(x), lambda: b.argmin(x, 0)):
        with pytest.raises(gs.ShapeError, match="no elements"):
            f()
    b.output(b.max(y, 0), b.argmin(y, 0))
    largest, where = b.build()(np.zeros((0, 3), "f4"), np.zeros((0, 3), "f4"))
    assert largest.tolist() == [-np.inf] * 3 and where.tolist() == [0] * 3


def test_argmax_and_argmin() -> None:
    """Ties, NaN, every axis and None, keepdims, the first or the last of equals."""
    sheet = Sheet()
    for d, shape in [
        ("float32", (4, 5, 3)),
        ("bfloat16", (4, 6)),
        ("int8", (5, 7)),
        ("uint64", (5, 4)),
        ("bool", (4, 6)),
    ]:
        sheet.input(d, shape, d)
    sheet.input("y", ("n", "m"))
    for k, (name, d) in enumerate(itertools.product(("argmax", "argmin"), vars(sheet.values))):
        if d in ("n", "m"):
            continue
        rank = getattr(sheet.values, d).rank
        for j, axis in enumerate((None, *range(rank), -1)):
            keep, last = bool((k + j) % 2), bool((k + j) // 2 % 2)
            sheet.check(
                f"{name} {d} {axis} {keep} {last}",
                lambda b, v, n=name, d=d, a=axis, k=keep, z=last: getattr(b, n)(getattr(v, d), a, k, select_last=z),
            )
    for seed, (n, m) in enumerate([(3, 4), (1, 70), (9, 1)]):
        r = rng(seed)
        floats = r.choice(
            [np.nan, 1.0, 2.0, -1.0, np.inf, -np.inf, 0.0, -0.0],
            (4, 5, 3),
            p=[0.1, 0.2, 0.2, 0.2, 0.1, 0.1, 0.05, 0.05],
        )
        sheet.run(
            float32=floats.astype("f4"),
            bfloat16=floats.ravel()[:24].reshape(4, 6).astype(numpy_dtype("bfloat16")),
            int8=r.integers(-128, -125, (5, 7)).astype("i1"),
            uint64=r.integers(0, 3, (5, 4)).astype("u8") + np.uint64(2**64 - 3),
            bool=r.integers(0, 2, (4, 6)).astype(bool),
            y=r.integers(0, 3, (n, m)).astype("f4"),
        )


@pytest.mark.parametrize("columns", [63, 64, 65, 130, "m"])
def test_reductions_of_sizes_around_the_tile(columns: int | str) -> None:
    """Inner folds read runs of memory; outer ones take 64 columns side by side."""
    sheet = Sheet()
    sheet.input("x", ("n", columns))
    sheet.input("c", (2, 9, columns), "int32")
    for name in ("sum", "max", "argmax", "mean"):
        for axis in (0, 1):
            sheet.check(f"{name} {axis}", lambda b, v, n=name, a=axis: getattr(b, n)(v.x * 2, a))
        for axis in (1, 2):
            sheet.check(f"{name} c {axis}", lambda b, v, n=name, a=axis: getattr(b, n)(v.c, a))
    sheet.check("sum c (0, 1)", lambda b, v: b.sum(v.c, (0, 1)))
    sheet.check("sum c (1, 2)", lambda b, v: b.sum(v.c, (1, 2)))
    for n in (1, 5, 65):
        for m in (1, 3, 63, 65, 130) if columns == "m" else (columns,):
            sheet.run(x=small((n, m), "float32", n), c=small((2, 9, m), "int32", n))


def test_reductions_are_the_same_for_any_number_of_threads() -> None:
    b = gs.Builder("net")
    x = b.input("x", ("n", "m"), "float32")
    b.output(b.sum(x, 0), b.sum(x, 1), b.sum(x), b.mean(x, 0), b.argmax(x, 0), b.max(x, 1))
    module = b.build()
    values = data((300, 517), seed=4)
    was = gs.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3, 8):
            gs.set_num_threads(threads)
            results.append(module(values))
    finally:
        gs.set_num_threads(was)
    np.testing.assert_allclose(results[0][0], values.sum(0, dtype="f8"), rtol=2e-5, atol=1e-2)
    for other in results[1:]:
        assert [a.tobytes() for a in other] == [a.tobytes() for a in results[0]]


def test_numpy_reading_of_the_operators() -> None:
    """The yardstick itself, where it is more than a call of NumPy."""
    assert NUMPY.cast(np.array([np.nan, 300.0, -1.5, np.inf]), "uint8").tolist() == [0, 255, 0, 255]
    assert NUMPY.pad(np.arange(3), (-1,), (2,), 9).tolist() == [1, 2, 9, 9]
    assert NUMPY.argmax(np.array([1, 2, 2, 0]), select_last=True).tolist() == 2
