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
    for d in ("float16", "float32", "float64", "int8", "int32", "uint8", "uint64", "bool"):
        sheet.input(d, (2, 5), d)
    scalars: dict[str, list[Any]] = {"f": [2, 0.3, True], "i": [3, 1.5, True], "u": [3, 1.5, True], "b": [3, 1.5, True]}
    for d in vars(sheet.values):
        functions = {**OPERATORS, **({} if d.startswith("float") else BITS)}
        for k, (symbol, f) in enumerate(functions.items()):
            s = scalars[d[0]][k % (2 if symbol == "-" or symbol in BITS else 3)]
            s = 3 if symbol in BITS and d != "bool" else True if symbol in ("&", "|", "^") else 1 if symbol in BITS else s
            sheet.check(f"{d} {symbol} {s!r}", lambda b, v, d=d, f=f, s=s: f(getattr(v, d), s))
            sheet.check(f"{s!r} {symbol} {d}", lambda b, v, d=d, f=f, s=s: f(s, getattr(v, d)))
        if d != "bool":
            sheet.check(f"-{d}", lambda b, v, d=d: -getattr(v, d))
        if not d.startswith("float"):
            sheet.check(f"~{d}", lambda b, v, d=d: ~getattr(v, d))
        sheet.check(f"abs {d}", lambda b, v, d=d: abs(getattr(v, d)))
    for d, s in [("float32", 2), ("float64", 0.5), ("int32", 3), ("uint8", 2), ("float16", 2)]:
        sheet.check(f"{d} ** {s}", lambda b, v, d=d, s=s: getattr(v, d) ** s, rtol=0 if isinstance(s, int) else 1e-12)
        sheet.check(f"{s} ** {d}", lambda b, v, d=d, s=s: s ** abs(getattr(v, d)), rtol=0 if d[0] in "iu" else 2e-3)
    sheet.run(
        **{d: data((2, 5), d, 3) for d in vars(sheet.values) if d not in ("int8", "int32", "uint8", "uint64")},
        **{d: rng(5).integers(0 if d[0] == "u" else -9, 9, (2, 5)).astype(d) for d in ("int8", "int32", "uint8", "uint64")},
    )
