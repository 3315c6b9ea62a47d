"""Names that generated code must not give to a variable of its own: users and models may call a size anything."""

from __future__ import annotations

import keyword

_CPP = """
alignas alignof and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl concept const
const_cast consteval constexpr constinit continue co_await co_return co_yield decltype default delete do double dynamic_cast else
enum explicit export extern false float for friend goto if inline int long mutable namespace new noexcept not_eq nullptr operator
or_eq private protected public register reinterpret_cast requires restrict return short signed sizeof static static_assert
static_cast struct switch template this thread_local throw true try typedef typeid typename typeof union unsigned using virtual
void volatile wchar_t while xor xor_eq define undef include defined NULL INFINITY NAN
"""
_CUDA = """
int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t uchar ushort uint ulong longlong ulonglong
half blockIdx blockDim threadIdx gridDim warpSize condval memcpy printf
"""
_VECTORS = "char uchar short ushort int uint longlong ulonglong float double half"
_MATH = """
abs ceil cos erf exp exp2 exp10 fabs floor fma fmax fmin fmod isfinite isinf isnan log log2 log10 lrint max min nearbyint pow rint
round rsqrt sin sqrt tan tanh trunc
"""
_TVMSCRIPT = "T I tir"
_RESERVED = frozenset(
    [
        *keyword.kwlist,
        *(_CPP + _CUDA + _MATH + _TVMSCRIPT).split(),
        *(f"{function}f" for function in _MATH.split()),
        *(f"{kind}{lanes}" for kind in _VECTORS.split() for lanes in (1, 2, 3, 4, 8)),
    ]
)
_BEGINNINGS = ("_", "gs_", "tvm", "TVM", "cuda", "CUDA", "nv_", "std")


def in_code(name: str) -> str:
    """The name itself, or, where a language or a library that code is generated for has it, one like it that it has not."""
    return f"v_{name}" if name in _RESERVED or name.startswith(_BEGINNINGS) else name
