"""Moving several elements at once: up to 16 bytes, the most that one access of a thread can be.

A copy's cell is one element of one tensor.  Where the innermost coordinate is the same on both sides and occurs nowhere
else, a run of cells is a run of memory, whatever finds the row: the rows of a gather, a scatter's base, its slices.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, product
from gscompile.ir.nests import MapNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import DType, dtype
from gscompile.schedules.cuda.choices import ACCESS, CACHE
from gscompile.schedules.cuda.numbers import STREAMED_BYTES
from gscompile.schedules.loops import by_number
from gscompile.schedules.rule import Context
from gscompile.schedules.runs import Copied, copied

STREAM = "gs_stream_"
"""What the names of the device functions begin with that store past the caches; the emulation stores as usual."""

COPY, LOAD, STORE = "gs_copy_", "gs_load_", "gs_store_"
"""What the names of those begin with that move neighbours at once; see :func:`by_words`."""


def vector_length(ctx: Context, dtype: DType, *widths: Dim) -> int:
    """How many elements one access can move, aligned in rows of all these widths; TVM has no vectors of bool for cuda."""
    most = min(ctx.target.vector_bytes, ctx.choose(ACCESS))
    nbytes = dtype.itemsize if dtype.kind == "b" else most
    for width in widths:
        nbytes = math.gcd(nbytes, width * dtype.itemsize) if isinstance(width, int) else dtype.itemsize
    return max(1, nbytes // dtype.itemsize)


def store_run(out: Buffer, n: int, cell: Callable[[Expr], list[Expr]], value: Callable[[Expr], Expr]) -> Stmt:
    """``out[cell(q)] = value(q)`` for q < n at once, where ``value`` is a run that ``is_run`` has found."""

    def part(pick: Callable[[Copied], Expr]) -> Stmt:
        def one(q: Expr) -> Stmt:
            parts = copied(value(q))
            assert parts is not None
            return T.store(out, cell(q), pick(parts))

        return T.vectorized(n, one, "q")

    first = copied(value(T.const(0)))
    assert first is not None
    if first.ok is None:
        return part(lambda p: p.load)
    return T.if_(first.ok, part(lambda p: p.load), part(lambda p: p.fill))


def moved(to: Buffer, to_place: Expr, source: Buffer, source_place: Expr, n: int) -> Stmt:
    """n neighbours are copied at once, from and to row-major positions; one of the buffers may be a thread's own.

    A loop: TVM cannot tell which part of a thread's own buffer an access of a vector is to.
    """

    def one(q: Expr) -> Stmt:
        value = T.load(source, *by_number(source_place + q, T.extents(source)))
        return T.store(to, by_number(to_place + q, T.extents(to)), value)

    return T.vectorized(n, one, "q") if n > 1 else one(T.const(0))


# how neighbours are moved at once -> C++ for it, of a vector's type c
_HOW = {
    COPY: "*({c}*)to = *(const {c}*)from",
    LOAD: "*({c}*)to = __ldcs((const {c}*)from)",
    STORE: "__stcs(({c}*)to, *(const {c}*)from)",
}


def by_words(to: Buffer, to_place: Expr, source: Buffer, source_place: Expr, n: int, how: str) -> Stmt:
    """As :func:`moved`, of any dtype, as 32-bit words where they are that many.

    ``LOAD`` and ``STORE`` are for what no thread reads again, to a thread's own buffer by ``ld.global.cs`` or from one by
    ``st.global.cs``. They leave the L2 cache to what is read or added to at random. Measured on an H200: rows of 64 floats
    added to 100,000 others 185 us instead of 209, 8,000,000 points of a table of 67 MB 148 instead of 157.
    """
    nbytes = n * T.itemsize(source)
    if nbytes not in _WORDS:
        return T.seq(*(moved(to, to_place + q, source, source_place + q, 1) for q in range(n)))
    c, _ = _WORDS[nbytes]
    name, does = f"{how}{nbytes}", _HOW[how].format(c=c)
    text = f"__device__ __forceinline__ void {name}(void* to, const void* from) {{\n  {does};\n}}\n"
    address = T.address_of(source, *by_number(source_place, T.extents(source)))
    return T.evaluate(T.device_call(name, T.address_of(to, *by_number(to_place, T.extents(to))), address, source=text))


def plainly_moved(name: str, to: Buffer, at: list[Expr], source: Expr) -> Stmt:
    """What that device function does, by plain loads and stores."""
    buf, place = T.addressed(source)
    n = int(name.rpartition("_")[2]) // T.itemsize(to)

    def beside(x: list[Expr], k: int) -> list[Expr]:
        return [*x[:-1], x[-1] + k]

    return T.seq(*(T.store(to, beside(at, k), T.load(buf, *beside(place, k))) for k in range(n)))


def by_size(nest: MapNest, ctx: Context, kept: Stmt, streamed: Stmt) -> Stmt:
    """Stores of a nest's result by way of the caches, or past them where it is larger than they are."""
    how = ctx.choose(CACHE)
    if how != CACHE.default:
        return streamed if how == "stream" else kept
    large = ctx.sizes(product(nest.shape) * nest.dtype.itemsize) > STREAMED_BYTES
    known = T.constant_value(large)
    return T.if_(large, streamed, kept) if known is None else streamed if known else kept


def whole_fill(dtype: DType, n: int) -> bool:
    """Whether TVM can write a vector of equal elements: not one of many small integers, which it makes of bfloat16, too."""
    return n <= 4 or (dtype.is_float and dtype.name != "bfloat16")


FILL = "gs_fill_"
"""What the names of the device functions begin with that store equal elements; the number of these follows."""


def store_equal(out: Buffer, place: Expr, value: Expr, n: int) -> Stmt:
    """n neighbours become equal, up to 16 bytes at once."""
    element, nbytes, bits = T.element_dtype(out), n * T.itemsize(out), 8 * T.itemsize(out)
    # a vector of equal int64 is one of int32 for a pass of TVM, which its own pipeline has
    written = element != "int64" and whole_fill(dtype(element), n)
    if n == 1 or nbytes not in _WORDS or written:
        return T.store_vector(out, place, T.broadcast(value, n))
    if bits == 64:
        word, vector, count = "v", "ulonglong2", 2
    else:
        word, vector, count = (
            f"(uint{bits}_t)v * {sum(1 << k for k in range(0, 32, bits)):#x}u",
            _WORDS[nbytes][0],
            nbytes // 4,
        )
    made = "w" if count == 1 else f"make_{vector}({', '.join('w' for _ in range(count))})"
    name = f"{FILL}{n}_{element}"
    source = (
        f"__device__ __forceinline__ void {name}(void* p, {element if element == 'bool' else f'{element}_t'} v) {{\n"
        f"  {'unsigned long long' if bits == 64 else 'unsigned int'} w = {word};\n"
        f"  *({vector}*)p = {made};\n}}\n"
    )
    at = [*(T.const(0) for _ in T.extents(out)[1:]), place]
    return T.evaluate(T.device_call(name, T.address_of(out, *at), value, source=source))


# nbytes -> C's name of a vector of 32-bit words, TVM's
_WORDS = {4: ("unsigned int", "uint32"), 8: ("uint2", "uint32x2"), 16: ("uint4", "uint32x4")}


def stream(out: Buffer, place: Expr, value: Expr, nbytes: int) -> Stmt:
    """Store a unit of so many bytes that nothing reads soon: ``st.global.cs``."""
    if nbytes not in _WORDS:
        return T.store_vector(out, place, value)
    c, words = _WORDS[nbytes]
    name = f"{STREAM}{nbytes}"
    source = f"__device__ __forceinline__ void {name}(void* p, {c} v) {{\n  __stcs(({c}*)p, v);\n}}\n"
    at = [*(T.const(0) for _ in T.extents(out)[1:]), place]
    return T.evaluate(T.device_call(name, T.address_of(out, *at), T.reinterpret(words, value), source=source))
