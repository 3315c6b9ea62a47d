"""Pieces of C: names, strings, types, sizes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from gscompile.ir.dims import Dim, fold
from gscompile.ir.types import DType, OpaqueDType

_WORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const constexpr continue decltype
default delete do double dynamic_cast else enum error explicit export extern false float for friend goto if inline int int8_t
int16_t int32_t int64_t long mutable namespace new noexcept not not_eq nullptr operator options or or_eq private protected
public register reinterpret_cast restrict return short signed size sizeof static static_assert static_cast struct switch
template this thread_local throw true try typedef typeid typename uint8_t uint16_t uint32_t uint64_t union unsigned using
virtual void volatile wchar_t while xor xor_eq main args status arrays bad workspace"""
_TAKEN = frozenset(re.findall(r"\w+", _WORDS))  # of C and C++, and of what is generated
_TYPES = {"float32": "float", "float64": "double", "complex64": "float", "complex128": "double"}


def identifier(name: str, taken: Iterable[str] = ()) -> str:
    """A name as C and C++ may have it, unlike those that are taken."""
    plain = re.sub(r"\W", lambda c: f"_u{ord(c[0]):x}", name, flags=re.ASCII)
    while plain in _TAKEN or plain in taken or plain.startswith("gs_"):
        plain += "_"
    return plain


def string(text: str) -> str:
    """A literal: ASCII, with everything else escaped."""
    escaped = "".join(
        chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in text.encode("utf-8", "replace")
    )
    return f'"{escaped}"'


def element(dtype: DType) -> str:
    """The C type of an element; of complex numbers, that of a part; of what C has no type for, an unsigned integer."""
    if dtype.is_integer and dtype.native:
        return f"{dtype.name}_t"
    if isinstance(dtype, OpaqueDType):
        return f"{dtype.word.name}_t"
    return _TYPES.get(dtype.name, f"uint{dtype.bits}_t")


def alignment(dtype: DType) -> int:
    """Bytes that the address of an element must be a multiple of."""
    return dtype.word.itemsize if isinstance(dtype, OpaqueDType) else dtype.real.itemsize


def number(n: int) -> str:
    """An int64 literal."""
    return "INT64_MIN" if n == -(1 << 63) else f"INT64_C({n})"


def size(dim: Dim, name: Callable[[str], str]) -> str:
    """A dimension as an expression that sets ``bad`` where it passes int64."""
    operations: dict[str, Callable[[str, str], str]] = {
        "add": lambda a, b: f"gs_add({a}, {b}, &bad)",
        "mul": lambda a, b: f"gs_mul({a}, {b}, &bad)",
        "floordiv": lambda a, b: f"gs_div({a}, {b}, &bad)",
        "max": lambda a, b: f"gs_max({a}, {b})",
        "min": lambda a, b: f"gs_min({a}, {b})",
    }
    return str(fold(dim, name, number, operations))


def bytes_of(data: bytes) -> str:
    """An initialiser's numbers."""
    return ",".join(map(str, data))
