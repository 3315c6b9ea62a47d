"""Data types: how they are named, and where two of them meet."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.errors import DTypeError, ShapeError
from gscompile.ir.dims import SymDim
from gscompile.ir.types import DTYPES, DType, TensorType, dtype, promote, result_of_scalar
from tests.cases import DTYPES as WIDE
from tests.cases import numpy_dtype


@pytest.mark.parametrize(("a", "b"), list(itertools.product(WIDE, WIDE)))
def test_two_dtypes_meet_as_in_numpy(a: str, b: str) -> None:
    """Where NumPy and ml_dtypes have no answer for bfloat16, it takes float16's place, and the two meet in float32."""
    try:
        want = np.promote_types(numpy_dtype(a), numpy_dtype(b)).name
    except np.exceptions.DTypePromotionError:
        assert "bfloat16" in (a, b)
        half = ["float16" if name == "bfloat16" else name for name in (a, b)]
        want = "float32" if half == ["float16"] * 2 else np.promote_types(*half).name
    assert promote(dtype(a), dtype(b)).name == want


@pytest.mark.parametrize("a", WIDE)
def test_meeting_is_symmetric_and_idempotent(a: str) -> None:
    for b in WIDE:
        meet = promote(dtype(a), dtype(b))
        assert meet == promote(dtype(b), dtype(a))
        assert promote(meet, dtype(a)) == meet


@pytest.mark.parametrize("name", WIDE)
def test_a_python_scalar_is_weak(name: str) -> None:
    """NEP 50; NumPy itself does not apply it to bfloat16, which goes as float16 does."""
    if name == "bfloat16":
        assert [result_of_scalar(x, dtype(name)).name for x in (True, 3, 2.5)] == [name] * 3
        return
    array = np.ones(2, name)
    for scalar in (True, 3, 2.5):
        assert result_of_scalar(scalar, dtype(name)).numpy == (array + scalar).dtype, (name, scalar)


@pytest.mark.parametrize("name", [n for n in WIDE if DTYPES[n].is_integer])
def test_a_python_integer_must_fit(name: str) -> None:
    d, info = dtype(name), np.iinfo(name)
    assert (d.min, d.max) == (info.min, info.max)
    for value in (d.min, d.max):
        assert result_of_scalar(value, d) == d
    for value in (d.min - 1, d.max + 1):
        with pytest.raises(DTypeError, match="does not fit"):
            result_of_scalar(value, d)


@pytest.mark.parametrize("name", WIDE)
def test_every_way_to_write_a_dtype(name: str) -> None:
    d = DTYPES[name]
    np_type = numpy_dtype(name)
    assert dtype(name) is dtype(d) is dtype(np_type) is dtype(np_type.type) is d
    assert dtype(np.zeros(3, np_type).dtype) is d
    assert (d.numpy, d.itemsize, str(d)) == (np_type, np_type.itemsize, name)
    assert (d.is_float, d.is_integer) == (d.kind == "f", d.kind in "iu")


def test_numpys_other_spellings() -> None:
    pairs: list[tuple[Any, str]] = [("f4", "float32"), ("<i8", "int64"), ("?", "bool"), ("u1", "uint8"), (bool, "bool")]
    pairs += [(np.half, "float16"), (np.double, "float64"), (np.intc, "int32"), ("half", "float16"), (np.bool_, "bool")]
    for spec, name in pairs:
        assert dtype(spec).name == name


@pytest.mark.parametrize("name", WIDE)
def test_torchs_dtypes(name: str) -> None:
    torch = pytest.importorskip("torch")
    assert dtype(getattr(torch, name)) is DTYPES[name]


@pytest.mark.parametrize("name", WIDE)
def test_jaxs_dtypes(name: str) -> None:
    jnp = pytest.importorskip("jax.numpy")
    scalar = jnp.bool_ if name == "bool" else getattr(jnp, name)
    assert dtype(scalar) is dtype(jnp.dtype(scalar)) is DTYPES[name]


def test_ml_dtypes() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for d in DTYPES.values():
        if not d.native:
            scalar = getattr(ml_dtypes, d.name)
            assert dtype(scalar) is dtype(np.dtype(scalar)) is d
            assert d.numpy == np.dtype(scalar)


@pytest.mark.parametrize(
    "bad",
    ["float8", "complex16", "object", "float", "", "Float32", "int", int, float, None, 3, "datetime64"],
)
def test_unknown_dtypes(bad: Any) -> None:
    with pytest.raises(DTypeError):
        dtype(bad)


def test_cinns_spellings() -> None:
    assert [gs.Float(b).name for b in (16, 32, 64)] == ["float16", "float32", "float64"]
    assert [gs.Int(b).name for b in (8, 64)] == ["int8", "int64"]
    assert [gs.UInt(b).name for b in (8, 32)] == ["uint8", "uint32"]
    assert (gs.Bool().name, gs.BFloat16().name) == ("bool", "bfloat16")
    for bad in (lambda: gs.Float(8), lambda: gs.Int(128), lambda: gs.UInt(1)):
        with pytest.raises(DTypeError):
            bad()


def test_tensor_types() -> None:
    t = TensorType.of((2, "n", 3), np.float32)
    n = SymDim.var("n")
    assert (t.rank, t.size, t.nbytes) == (3, 6 * n, 24 * n)
    assert str(t) == "float32(2, n, 3)"
    assert str(TensorType.of((), "bool")) == "bool()"
    assert TensorType.of(4, "int8").nbytes == 4
    assert t == TensorType.of([2, "n", 3], "float32") and hash(t) == hash(TensorType.of([2, "n", 3], "float32"))
    with pytest.raises(ShapeError):
        TensorType.of((2, -1), "int8")
    with pytest.raises(AttributeError):
        t.shape = ()  # type: ignore[misc]


def test_a_dtype_is_a_value() -> None:
    assert DType("int8", "i", 8) == DTYPES["int8"]
    assert len({*DTYPES.values(), *map(dtype, DTYPES)}) == len(DTYPES) == len(WIDE) + 19
