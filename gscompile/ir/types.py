"""Data types and tensor types.

``dtype`` turns whatever a user writes (``"float32"``, ``np.int64``, ``torch.bfloat16``, ``gs.Float(32)``) into a :class:`DType`.
``promote`` and ``result_of_scalar`` state the arithmetic rules: NumPy's own table, with Python scalars weak (NEP 50), and
bfloat16 in float16's place except that the two together give float32.

TIR has no complex numbers: before anything is planned, :mod:`gscompile.ir.pairs` turns a graph with complex values into one
without.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gscompile.errors import DTypeError, ShapeError, missing_extra
from gscompile.ir.dims import INT64_MAX, Dim, Shape, as_shape, product, shape_str


@dataclass(frozen=True, slots=True)
class DType:
    """A scalar type.

    Attributes:
        kind: ``f`` (float), ``c`` (complex), ``i`` (signed), ``u`` (unsigned), ``b`` (bool) or ``V`` (opaque).
        bits: its storage width.
        digits: of a type narrower than its storage, as int4, how many of the bits count.
        native: whether TVM computes with it.  Values of any other type travel as the unsigned integers that encode them,
            since TVM's own lowering of them loses values.
    """

    name: str
    kind: str
    bits: int
    digits: int = 0
    native: bool = True

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.bits // 8

    @property
    def tir(self) -> str:
        """The TIR dtype that holds it."""
        return self.name if self.native else f"uint{self.bits}"

    @property
    def key(self) -> str:
        """What a module for arrays of this type is kept under."""
        return self.name

    @property
    def compute(self) -> DType:
        """The type it is computed in: float32 for bfloat16 and 8-bit floats, int8 for int4."""
        if self.native:
            return self
        return DTYPES["float32"] if self.is_float else DTYPES["int8" if self.kind == "i" else "uint8"]

    @property
    def real(self) -> DType:
        """The type of the parts of a complex number; any other type is its own."""
        return DTYPES[f"float{self.bits // 2}"] if self.is_complex else self

    @property
    def is_float(self) -> bool:
        return self.kind == "f"

    @property
    def is_complex(self) -> bool:
        return self.kind == "c"

    @property
    def is_integer(self) -> bool:
        """Signed or unsigned; bool is neither."""
        return self.kind in "iu"

    @property
    def min(self) -> int:
        """The smallest value of an integer type."""
        return -(1 << ((self.digits or self.bits) - 1)) if self.kind == "i" else 0

    @property
    def max(self) -> int:
        """The largest value of an integer type."""
        return 1 if self.kind == "b" else (1 << ((self.digits or self.bits) - (self.kind == "i"))) - 1

    def checked(self, value: float) -> int:
        """``value`` as an int.  Raises DTypeError: the type, an integer or bool one, cannot hold it."""
        if not self.min <= value <= self.max:
            raise DTypeError(f"the constant {value!r} does not fit {self}")
        return int(value)

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy type; bfloat16 and narrower ones need the package ml_dtypes."""
        if self.native:
            return np.dtype(self.name)
        try:
            import ml_dtypes
        except ImportError:
            raise missing_extra("ml_dtypes", "test", f"{self.name} in NumPy") from None
        if not hasattr(ml_dtypes, self.name):
            raise DTypeError(f"ml_dtypes {ml_dtypes.__version__} has no {self.name}")
        dt: np.dtype[Any] = np.dtype(getattr(ml_dtypes, self.name))
        return dt

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        """There is one of each name."""
        return dtype, (self.name,)


@dataclass(frozen=True, slots=True)
class OpaqueDType(DType):
    """Elements that are moved and nothing else: dates, records, text, swapped bytes.  Its kind is ``V``.

    A kernel moves them as :attr:`words` unsigned integers; see ``gscompile.ir.words``.

    Attributes:
        described: NumPy's dtype, its metadata included.
        metadata: as text.  Dtypes that differ in it alone are the same, and a result has those of the graph's.
    """

    described: np.dtype[Any] = field(default_factory=lambda: np.dtype("V1"), compare=False)
    metadata: str = field(default="", compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return dtype, (self.described,)

    @property
    def key(self) -> str:
        return f"{self.name} {self.metadata}"

    @property
    def word(self) -> DType:
        """The widest unsigned integer type whose size divides an element's."""
        return DTYPES[f"uint{next(b for b in (64, 32, 16, 8) if self.bits % b == 0)}"]

    @property
    def words(self) -> int:
        """How many of them an element is."""
        return self.bits // self.word.bits

    @property
    def tir(self) -> str:
        return self.word.tir

    @property
    def numpy(self) -> np.dtype[Any]:
        return self.described


DTYPES: dict[str, DType] = {
    d.name: d
    for d in [
        DType("bool", "b", 8),
        *(DType(f"int{b}", "i", b) for b in (8, 16, 32, 64)),
        *(DType(f"uint{b}", "u", b) for b in (8, 16, 32, 64)),
        DType("float16", "f", 16),
        DType("bfloat16", "f", 16, native=False),
        DType("float32", "f", 32),
        DType("float64", "f", 64),
        DType("complex64", "c", 64),
        DType("complex128", "c", 128),
        # One element a byte, as ml_dtypes and JAX's arrays have them in NumPy.
        *(DType(f"float8_{name}", "f", 8, native=False) for name in ("e3m4", "e4m3", "e4m3b11fnuz", "e4m3fn")),
        *(DType(f"float8_{name}", "f", 8, native=False) for name in ("e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu")),
        *(DType(f"float6_{name}", "f", 8, 6, native=False) for name in ("e2m3fn", "e3m2fn")),
        DType("float4_e2m1fn", "f", 8, 4, native=False),
        *(DType(f"int{b}", "i", 8, b, native=False) for b in (1, 2, 4)),
        *(DType(f"uint{b}", "u", 8, b, native=False) for b in (1, 2, 4)),
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
    if isinstance(spec, np.dtype):
        return of_numpy(spec)
    name = spec if isinstance(spec, str) else str(spec).rpartition(".")[2]
    if name in DTYPES:
        return DTYPES[name]
    if spec is not None and name not in ("float", "int"):
        # NumPy reads parts of a string as a literal of Python, which fails in its own ways
        with contextlib.suppress(TypeError, ValueError, SyntaxError, MemoryError, RecursionError):
            return of_numpy(np.dtype(spec))  # type: ignore[call-overload]
    raise DTypeError(
        f"unknown dtype {spec!r:.200}; known: {', '.join(DTYPES)}, and NumPy's of a fixed size, to be moved only"
    )


def of_numpy(np_type: np.dtype[Any]) -> DType:
    """The data type of a NumPy array's elements.

    Raises:
        DTypeError: they are Python objects, have no size, or are none that gscompile reads.
    """
    found = DTYPES.get(np_type.name)
    if found is not None and np_type.isnative and np_type.itemsize == found.itemsize and np_type.names is None:
        return found
    name, metadata = str(np_type), "" if np_type.metadata is None else repr(dict(np_type.metadata))
    if (name, metadata) in _OPAQUE:
        return _OPAQUE[name, metadata]
    if np_type.hasobject or np_type.kind in "OT":
        raise DTypeError(
            f"dtype {np_type} is not supported: its elements are Python objects, whose bytes mean nothing elsewhere"
        )
    sized = np_type.itemsize > 0 and np_type.subdtype is None and np_type not in ("M8", "m8")
    if not sized:
        raise DTypeError(f"dtype {np_type} is not supported; supported: {', '.join(DTYPES)}")
    if len(_OPAQUE) >= _MOST_OPAQUE:
        _OPAQUE.clear()
    made = OpaqueDType(name, "V", 8 * np_type.itemsize, described=np_type, metadata=metadata)
    return _OPAQUE.setdefault((name, metadata), made)


_OPAQUE: dict[tuple[str, str], OpaqueDType] = {}
_MOST_OPAQUE = 1024


def promote(a: DType, b: DType) -> DType:
    """The type in which values of two types meet, as ``numpy.promote_types`` says."""
    if a == b:
        return a
    if "V" in (a.kind, b.kind):
        raise DTypeError(f"{a} and {b} meet in no dtype: elements of {a if a.kind == 'V' else b} are moved as they are")
    for narrow, other in ((a, b), (b, a)):
        if narrow.bits == 8 and not narrow.native:
            return _promote_narrow(narrow, other)
    if "bfloat16" in (a.name, b.name):
        other = b if a.name == "bfloat16" else a
        if other.is_complex:
            return other
        if other.name == "float16":
            return DTYPES["float32"]
        return (
            DTYPES["bfloat16"]
            if promote(DTYPES["float16"], other).name == "float16"
            else promote(DTYPES["float16"], other)
        )
    return DTYPES[np.promote_types(a.name, b.name).name]


def _promote_narrow(narrow: DType, other: DType) -> DType:
    """As ml_dtypes has it: an 8-bit float takes in small integers, and a wider one takes it in; int4 is an integer below int8."""
    if other.is_complex:
        return other
    both_narrow = other.bits == 8 and not other.native
    if narrow.is_float or (both_narrow and other.is_float):
        small, wide = (narrow, other) if narrow.is_float else (other, narrow)
        if not wide.is_float and wide.bits == 8:
            return small
        if wide.native and wide.bits >= 32 and wide.is_float:
            return wide
    elif both_narrow:
        if narrow.kind == other.kind:
            return max(narrow, other, key=lambda d: d.digits)
    elif other.kind == "b":
        return narrow
    elif other.native and not (narrow.kind == "i" and other.kind == "u"):
        return other
    raise DTypeError(f"{narrow} and {other} meet in no dtype; cast one of them")


def result_of_scalar(scalar: bool | int | float | complex, other: DType) -> DType:
    """The type a Python scalar takes beside a tensor of type ``other`` (NEP 50: the scalar is weak)."""
    if isinstance(scalar, bool):
        return other
    if isinstance(scalar, int):
        if other.kind == "b":
            return DTYPES["int64"]
        if other.is_integer and not other.min <= scalar <= other.max:
            raise DTypeError(f"the Python integer {scalar} does not fit {other}")
        return other
    if isinstance(scalar, complex):
        narrow = other.is_float and other.bits <= 32
        return other if other.is_complex else DTYPES["complex64" if narrow else "complex128"]
    return other if other.is_float or other.is_complex else DTYPES["float64"]


@dataclass(frozen=True, slots=True)
class TensorType:
    """A shape and a data type."""

    shape: Shape
    dtype: DType

    def __post_init__(self) -> None:
        """Raises ShapeError where no index could be as large as an extent."""
        for d in self.shape:
            if isinstance(d, int) and d >= 1 << 63:
                raise ShapeError(f"extents must be less than 2^63; got {shape_str(self.shape)}")

    @staticmethod
    def of(shape: object, dt: object) -> TensorType:
        return TensorType(as_shape(shape), dtype(dt))

    def check_size(self, what: str) -> None:
        """Raises ShapeError where it would have an extent, elements or bytes that int64 cannot count.

        A size that a call brings counts as 1, and an extent of 0 too: it makes any tensor empty, but code computes the strides.
        """
        counts = [d if isinstance(d, int) else max(abs(c) for _, c in d.terms) for d in self.shape]
        held = math.prod(max(n, 1) for n in counts) * self.dtype.itemsize
        if held > INT64_MAX:
            raise ShapeError(f"{what} would be {self}, {held} bytes or more; the limit is 2^63 - 1")

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
    return _of_bits("float", bits)


def Int(bits: int) -> DType:
    """CINN's spelling of a signed integer type: 8, 16, 32 or 64 bits."""
    return _of_bits("int", bits)


def UInt(bits: int) -> DType:
    """CINN's spelling of an unsigned integer type: 8, 16, 32 or 64 bits."""
    return _of_bits("uint", bits)


def _of_bits(kind: str, bits: int) -> DType:
    found = dtype(f"{kind}{bits}")
    if not found.native:
        raise DTypeError(f"unknown dtype {found}; {kind} has 8, 16, 32 or 64 bits")
    return found


def Bool() -> DType:
    """CINN's spelling of bool."""
    return DTYPES["bool"]


def Complex(bits: int) -> DType:
    """A complex type, in CINN's manner: 64 or 128 bits."""
    return dtype(f"complex{bits}")


def BFloat16() -> DType:
    """CINN's spelling of bfloat16."""
    return DTYPES["bfloat16"]
