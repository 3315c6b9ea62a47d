"""Symbolic sizes: arithmetic on them agrees with arithmetic on their values."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gscompile.errors import ShapeError
from gscompile.ir.dims import (
    Dim,
    SymDim,
    as_dim,
    as_shape,
    ceildiv,
    dim_max,
    dim_min,
    evaluate,
    exact_quotient,
    fold,
    from_json,
    product,
    shape_str,
    symbols,
    to_json,
    total,
)

NAMES = ("n", "m", "k")
n, m, k = (SymDim.var(name) for name in NAMES)
sizes = st.fixed_dictionaries({name: st.integers(0, 50) for name in NAMES})


@dataclass(frozen=True)
class Formula:
    """A dimension, and the same formula on plain ints."""

    dim: Dim
    value: Callable[[dict[str, int]], int]


LEAVES = st.one_of(
    st.integers(-4, 9).map(lambda c: Formula(c, lambda s, c=c: c)),
    st.sampled_from(NAMES).map(lambda x: Formula(SymDim.var(x), lambda s, x=x: s[x])),
)
BINARY: dict[str, tuple[Callable[[Dim, Dim], Dim], Callable[[int, int], int]]] = {
    "+": (operator.add, operator.add),
    "-": (operator.sub, operator.sub),
    "*": (operator.mul, operator.mul),
    "max": (dim_max, max),
    "min": (dim_min, min),
}


def combined(parts: Any) -> Any:
    def binary(name: str, x: Formula, y: Formula) -> Formula:
        on_dims, on_ints = BINARY[name]
        return Formula(on_dims(x.dim, y.dim), lambda s: on_ints(x.value(s), y.value(s)))

    def divided(name: str, x: Formula, c: int) -> Formula:
        f: Any = {"//": operator.floordiv, "%": operator.mod, "ceil": ceildiv}[name]
        return Formula(f(x.dim, c), lambda s: -(-x.value(s) // c) if name == "ceil" else f(x.value(s), c))

    return st.one_of(
        st.builds(binary, st.sampled_from(sorted(BINARY)), parts, parts),
        st.builds(divided, st.sampled_from(("//", "%", "ceil")), parts, st.integers(1, 7)),
    )


formulas = st.recursive(LEAVES, combined, max_leaves=8)
exact = settings(max_examples=300, deadline=None, derandomize=True, database=None)


@exact
@given(formulas, sizes)
def test_arithmetic_agrees_with_that_of_values(f: Formula, s: dict[str, int]) -> None:
    assert evaluate(f.dim, s) == f.value(s)
    assert symbols(f.dim) <= set(NAMES)
    if isinstance(f.dim, SymDim):
        assert symbols(f.dim), "without a name it must have become an int"


@exact
@given(formulas, formulas, formulas)
def test_equal_polynomials_are_equal_and_hash_alike(a: Formula, b: Formula, c: Formula) -> None:
    x, y, z = a.dim, b.dim, c.dim
    for left, right in [
        (x + y, y + x),
        (x * y, y * x),
        ((x + y) + z, x + (y + z)),
        ((x * y) * z, x * (y * z)),
        (x * (y + z), x * y + x * z),
        ((x - y) + y, x),
        (x - x, 0),
        (dim_max(x, y), dim_max(y, x)),
        (dim_min(x, y), dim_min(y, x)),
        (dim_max(x, x + 1), x + 1),
        (dim_min(x - 2, x), x - 2),
    ]:
        assert left == right and hash(left) == hash(right)


@exact
@given(formulas, formulas, sizes)
def test_division_by_a_size(a: Formula, b: Formula, s: dict[str, int]) -> None:
    if isinstance(a.dim, int) and isinstance(b.dim, int):
        return
    if b.dim == 0:
        with pytest.raises(ShapeError, match="divided by 0"):
            a.dim // b.dim
        return
    quotient = a.dim // b.dim
    if b.value(s) != 0:
        assert evaluate(quotient, s) == a.value(s) // b.value(s)
        assert evaluate(a.dim % b.dim, s) == a.value(s) % b.value(s)


@exact
@given(formulas, st.sampled_from([n, m * k, 3 * n, 5, 2 * n * m]))
def test_an_exact_quotient_is_exact(a: Formula, divisor: Dim) -> None:
    assert exact_quotient(a.dim * divisor, divisor) == a.dim
    found = exact_quotient(a.dim, divisor)
    assert found is None or found * divisor == a.dim


def test_what_does_not_divide() -> None:
    assert exact_quotient(n, m) is None
    assert exact_quotient(2 * n, 3) is None
    assert exact_quotient(n + 1, n) is None
    assert exact_quotient(n * m, n + m) is None
    assert exact_quotient(12, 5) is None
    assert exact_quotient(0, n) == 0


def test_constants_come_back_as_ints() -> None:
    for value, want in [
        (n - n + 3, 3),
        (n * 0, 0),
        ((n + 2) - (n - 1), 3),
        ((4 * n) // n, 4),
        ((6 * n * m) // (2 * n * m), 3),
        (dim_max(n + 1, n) - n, 1),
        (n % n, 0),
    ]:
        assert isinstance(value, int) and value == want


@pytest.mark.parametrize(
    ("dim", "text"),
    [
        (n, "n"),
        (n * 4, "4*n"),
        (n * n * 2 - 1, "2*n*n-1"),
        (1 - n, "-n+1"),
        (m + n * 2 + 3, "m+2*n+3"),
        (3 - n * m + k, "-m*n+k+3"),
        (n // 4, "n//4"),
        ((n * 3 + 1) // 2 * 5, "5*((3*n+1)//2)"),
        (12 // n, "12//n"),
        (n // m, "n//m"),
        (dim_max(n - 2, 0), "max(n-2, 0)"),
        (dim_min(3, n), "min(n, 3)"),
        (dim_max(m, n), "max(m, n)"),
    ],
)
def test_sizes_are_printed_readably(dim: Dim, text: str) -> None:
    assert str(dim) == repr(dim) == text


def test_shapes_are_printed_as_python_prints_tuples() -> None:
    assert shape_str(()) == "()"
    assert shape_str((n,)) == "(n,)"
    assert shape_str((2, n * 2, 3)) == "(2, 2*n, 3)"


def test_what_users_write() -> None:
    assert as_shape((2, "n", np.int64(3), n + 1)) == (2, n, 3, n + 1)
    assert as_shape("n") == (n,)
    assert as_shape(5) == as_shape(np.int64(5)) == as_shape([5]) == as_shape(np.array([5])) == (5,)
    assert as_shape(d for d in (1, "m")) == (1, m)
    assert as_shape(()) == ()
    assert type(as_dim(np.int32(4))) is int


@pytest.mark.parametrize("bad", [-1, 1.0, None, "", "2n", "n-1", "a b", (1,), object()])
def test_no_dimensions(bad: Any) -> None:
    with pytest.raises(ShapeError):
        as_dim(bad)
    with pytest.raises(ShapeError):
        as_shape((2, bad))


@pytest.mark.parametrize("bad", [None, 1.5, (1, (2,)), object()])
def test_no_shapes(bad: Any) -> None:
    with pytest.raises(ShapeError):
        as_shape(bad)


def test_a_size_has_no_truth_value() -> None:
    for use in (lambda: bool(n), lambda: n and 1, lambda: [1] if n - 3 else []):
        with pytest.raises(ShapeError, match="only at run time"):
            use()
    assert n != 0 and n != m and n == SymDim.var("n")


def test_a_size_that_is_divided_by_one_that_is_0_at_run_time() -> None:
    with pytest.raises(ShapeError, match="divided by one that is 0"):
        evaluate(n // m, {"n": 4, "m": 0})


def test_products_and_rebuilding() -> None:
    assert product([]) == 1
    assert product([2, n, m, 3]) == 6 * n * m
    assert product([n, 0]) == 0
    text: dict[str, Callable[..., str]] = {
        "add": lambda a, b: f"({a} + {b})",
        "mul": lambda a, b: f"({a} * {b})",
        "floordiv": lambda a, b: f"({a} // {b})",
        "max": lambda a, b: f"max({a}, {b})",
        "min": lambda a, b: f"min({a}, {b})",
    }
    dim = dim_max(2 * n * m - 1, 0) // 3 + k
    rebuilt = fold(dim, str, str, text)
    for s in [{"n": 3, "m": 2, "k": 1}, {"n": 0, "m": 9, "k": 4}]:
        assert eval(rebuilt, {"max": max}, s) == evaluate(dim, s)


def test_a_size_has_bounds() -> None:
    """What would take TVM, or a printout, beyond any measure is refused where it is made."""
    d: Dim = n
    with pytest.raises(ShapeError, match="product of 64 sizes"):
        for _ in range(13):
            d = d * d
    d = n + m + k + 1
    with pytest.raises(ShapeError, match="terms"):
        for _ in range(13):
            d = d * d
    with pytest.raises(ShapeError, match="int64"):
        n * 2**63
    with pytest.raises(ShapeError, match="1025 terms"):
        total(SymDim.var(f"s{i}") for i in range(1025))
    with pytest.raises(ShapeError, match="within one another"):
        d = n
        for _ in range(40):
            d = dim_max(d // 2, m) + n


@given(st.integers(-9, 9), st.integers(-9, 9), st.integers(-9, 9), st.integers(0, 20))
def test_extremes_of_extremes(a: int, b: int, c: int, size: int) -> None:
    for outer, inner in ((dim_max, dim_max), (dim_min, dim_min), (dim_max, dim_min), (dim_min, dim_max)):
        assert evaluate(outer(inner(n + a, b) + c, a), {"n": size}) == outer(inner(size + a, b) + c, a)


def test_slices_of_slices_stay_short() -> None:
    d: Dim = n
    for _ in range(1000):
        d = dim_max(d - 1, 0)
    assert str(d) == "max(-1000+n, 0)" or str(d) == "max(n-1000, 0)"


@exact
@given(formulas)
def test_json_gives_it_back(f: Formula) -> None:
    assert from_json(json.loads(json.dumps(to_json(f.dim)))) == f.dim


@pytest.mark.parametrize(
    "found",
    [
        None,
        1.5,
        True,
        "n",
        {"n": 1},
        [1],
        [["n"]],
        [[1, "2"]],
        [[1, ["pow", 2, 3]]],
        [[1, ["max", 2]]],
        [[1, ["floordiv", [[1, "n"]], 0]]],
    ],
)
def test_json_that_is_no_size(found: Any) -> None:
    with pytest.raises(ShapeError, match=r"this is no size|cannot be divided|must be named"):
        from_json(found)
