"""Data types and tensor types.

``dtype`` turns whatever a user writes (``"float32"``, ``np.int64``, ``torch.bfloat16``, ``gs.Float(32)``) into a :class:`DType`.
``promote`` and ``result_of_scalar`` state the arithmetic rules: NumPy's own table, with Python scalars weak (NEP 50), and
bfloat16 in float16's place except that the two together give float32.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from gscompile.errors import DTypeError, missing_extra
from gscompile.ir.dims import Dim, Shape, as_shape, product, shape_str


@dataclass(frozen=True, slots=True)
class DType:
    """A scalar type: ``kind`` is ``f`` (float), ``i`` (signed), ``u`` (unsigned) or ``b`` (bool); ``bits`` its storage width."""

    name: str
    kind: str
    bits: int

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.bits // 8

    @property
    def tir(self) -> str:
        """The TIR dtype that holds it: bfloat16 travels as its 16 bits, since TVM's own lowering of it loses values."""
        return "uint16" if self.name == "bfloat16" else self.name

    @property
    def compute(self) -> DType:
        """The type it is computed in: float32 for bfloat16."""
        return DTYPES["float32"] if self.name == "bfloat16" else self

    @property
    def is_float(self) -> bool:
        return self.kind == "f"

    @property
    def is_integer(self) -> bool:
        """Signed or unsigned; bool is neither."""
        return self.kind in "iu"

    @property
    def min(self) -> int:
        """The smallest value of an integer type."""
        return -(1 << (self.bits - 1)) if self.kind == "i" else 0

    @property
    def max(self) -> int:
        """The largest value of an integer type."""
        return 1 if self.kind == "b" else (1 << (self.bits - (self.kind == "i"))) - 1

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy type; bfloat16 needs the package ml_dtypes."""
        if self.name == "bfloat16":
            try:
                import ml_dtypes
            except ImportError:
                raise missing_extra("ml_dtypes", "test", "bfloat16 in NumPy") from None
            dt: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
            return dt
        return np.dtype(self.name)

    def __str__(self) -> str:
        return self.name


DTYPES: dict[str, DType] = {
    d.name: d
    for d in [
        DType("bool", "b", 8),
        *(DType(f"int{b}", "i", b) for b in (8, 16, 32, 64)),
        *(DType(f"uint{b}", "u", b) for b in (8, 16, 32, 64)),
        DType("float16", "f", 16),
        DType("bfloat16", "f", 16),
        DType("float32", "f", 32),
        DType("float64", "f", 64),
    ]
}


def dtype(spec: object) -> DType:
    """The data type that ``spec`` names: a str, a DType, a NumPy type or dtype, or a framework's dtype object."""
    if isinstance(spec, DType):
        return spec
    if spec is bool:
        return DTYPES["bool"]
    if spec is float or spec is int:
        raise DTypeError(f"{spec} has no fixed width; name one of {', '.join(DTYPES)}")
    name = spec if isinstance(spec, str) else str(spec).rpartition(".")[2]
    if name not in DTYPES and spec is not None and spec not in ("float", "int"):
        with contextlib.suppress(TypeError):
            name = np.dtype(spec).name  # type: ignore[call-overload]
    if name not in DTYPES:
        raise DTypeError(f"unknown dtype {spec!r}; known: {', '.join(DTYPES)}")
    return DTYPES[name]


def promote(a: DType, b: DType) -> DType:
    """The type in which values of two types meet, as ``numpy.promote_types`` says."""
    if a == b:
        return a
    if "bfloat16" in (a.name, b.name):
        other = b if a.name == "bfloat16" else a
        if other.name == "float16":
            return DTYPES["float32"]
        return (
            DTYPES["bfloat16"]
            if promote(DTYPES["float16"], other).name == "float16"
            else promote(DTYPES["float16"], other)
        )
    return DTYPES[np.promote_types(a.name, b.name).name]


def result_of_scalar(scalar: bool | int | float, other: DType) -> DType:
    """The type a Python scalar takes beside a tensor of type ``other`` (NEP 50: the scalar is weak)."""
    if isinstance(scalar, bool):
        return other
    if isinstance(scalar, int):
        if other.kind == "b":
            return DTYPES["int64"]
        if other.is_integer and not other.min <= scalar <= other.max:
            raise DTypeError(f"the Python integer {scalar} does not fit {other}")
        return other
    return other if other.is_float else DTYPES["float64"]


@dataclass(frozen=True, slots=True)
class TensorType:
    """A shape and a data type."""

    shape: Shape
    dtype: DType

    @staticmethod
    def of(shape: object, dt: object) -> TensorType:
        return TensorType(as_shape(shape), dtype(dt))

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> Dim:
        """Number of elements."""
        return product(self.shape)

    @property
    def nbytes(self) -> Dim:
        return self.size * self.dtype.itemsize

    def __str__(self) -> str:
        return f"{self.dtype}{shape_str(self.shape)}"


def Float(bits: int) -> DType:
    """CINN's spelling of a float type: 16, 32 or 64 bits."""
    return dtype(f"float{bits}")


def Int(bits: int) -> DType:
    """CINN's spelling of a signed integer type: 8, 16, 32 or 64 bits."""
    return dtype(f"int{bits}")


def UInt(bits: int) -> DType:
    """CINN's spelling of an unsigned integer type: 8, 16, 32 or 64 bits."""
    return dtype(f"uint{bits}")


def Bool() -> DType:
    """CINN's spelling of bool."""
    return DTYPES["bool"]


def BFloat16() -> DType:
    """CINN's spelling of bfloat16."""
    return DTYPES["bfloat16"]
