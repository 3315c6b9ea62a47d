"""Atomic read-modify-write on global memory: a table of device functions.

CUDA has native atomics for some operations and types; minima and maxima of floats are those of integers, and the others are a
compare-and-swap loop.  All return nothing.  The emulation of kernels on the CPU replaces each call with the plain operation,
through ``PLAIN``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gscompile.ir import tir as T
from gscompile.ir.ops.elementwise import POINTWISE, cast
from gscompile.ir.ops.reductions import Reduction
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import DTYPES, DType

C_TYPES = {
    "int32": "int",
    "uint32": "unsigned int",
    "int64": "long long",
    "uint64": "unsigned long long",
    "float32": "float",
    "float64": "double",
}

# how two values combine, in C, where the bits are swapped with atomicCAS
FORMULA = {
    "mul": "a * b",
    "logaddexp": "(b < a ? a : b) + log1p(exp(a == b ? 0 : -fabs(a - b)))",  # infinities may be equal
}

# the same of every operation whose operands may be exchanged and grouped
MERGE = FORMULA | {
    "add": "a + b",
    "min": "(b < a || b != b) && a == a ? b : a",  # NaN wins
    "max": "(b > a || b != b) && a == a ? b : a",
    "and": "a & b",
    "or": "a | b",
    "xor": "a ^ b",
}

NEIGHBOURS = {"add": 4, "min": 2, "max": 2}
"""How many float32 of a row one function combines, at most."""

NARROW = {"float16": "half", "bfloat16": "unsigned short"}
"""Floats of 16 bits, and what C has them as; bfloat16 by its code."""

NARROW_NEIGHBOURS = 8
"""How many of them one function adds, at most: 16 bytes."""

# the pointwise function that combines -> the name of its atomic
ATOMICS = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "minimum": "min",
    "maximum": "max",
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
    "logaddexp": "logaddexp",
}


def _plain(row: str) -> Callable[[DType, Expr, Expr], Expr]:
    def combined(dtype: DType, a: Expr, b: Expr) -> Expr:
        wide = dtype.compute if dtype.name in NARROW else dtype
        return cast(POINTWISE[row].expr(wide, [cast(a, dtype, wide), cast(b, dtype, wide)]), wide, dtype)

    return combined


PLAIN = {name: _plain(row) for row, name in ATOMICS.items()}


def word(dtype: DType) -> str:
    """The unsigned C type of a dtype's size, in which signed sums and products wrap instead of being undefined."""
    return "unsigned int" if dtype.bits == 32 else "unsigned long long"


def extreme(op: str, dtype: DType, old: str, p: str, v: str) -> str:
    """A statement that makes ``*p`` the minimum or maximum of itself and ``v``, where ``*p`` was ``old`` some time ago.

    Floats of one sign are in the order of their bits, those of negative ones backwards.  NaN is made the one that is past all
    others in that order.  One of the other sign can only be what memory had before the kernel, so that ``old`` tells of it.
    """
    wide = dtype.bits == 64
    signed, unsigned = ("long long", "unsigned long long") if wide else ("int", "unsigned int")
    nan = {"max": "0x7fffffffffffffffll" if wide else "0x7fffffff", "min": "-1"}[op]
    positive, negative, worse = ("Max", "Min", "<=") if op == "max" else ("Min", "Max", ">=")
    bits = "__double_as_longlong" if wide else "__float_as_int"
    return (
        f"if ({old} == {old} && !({v} {worse} {old})) {{\n"
        f"    {signed} bits = {v} == {v} ? {bits}({v}) : {nan};\n"
        f"    if (bits >= 0) {{\n"
        f"      atomic{positive}(({signed}*)({p}), bits);\n"
        f"    }} else {{\n"
        f"      atomic{negative}(({unsigned}*)({p}), ({unsigned})bits);\n"
        f"    }}\n"
        f"  }}"
    )


def native(op: str, dtype: DType) -> str | None:
    """The body of a device function that CUDA's own atomics express."""
    if op in ("min", "max") and dtype.is_float:
        c = C_TYPES[dtype.name]
        return f"{c} seen = *(volatile {c}*)p;\n  {extreme(op, dtype, 'seen', 'p', 'v')}"
    if op in ("add", "sub"):
        c = C_TYPES[dtype.name] if dtype.is_float else word(dtype)
        return f"atomicAdd(({c}*)p, {'-' if op == 'sub' else ''}({c})v);"
    if op in ("and", "or", "xor"):
        return f"atomic{op.capitalize()}(({word(dtype)}*)p, ({word(dtype)})v);"
    if op in ("min", "max") and dtype.is_integer:
        return f"atomic{op.capitalize()}(({C_TYPES[dtype.name]}*)p, v);"
    return None


def swap_loop(op: str, dtype: DType) -> str:
    """The body of a compare-and-swap loop."""
    w = word(dtype)
    c = C_TYPES[dtype.name] if dtype.is_float else w
    return (
        f"union U {{ {w} w; {c} x; }};\n"
        f"  {w}* w = ({w}*)p;\n"
        f"  U seen, next;\n"
        f"  {w} old = *(volatile {w}*)w;\n"
        f"  do {{\n"
        f"    seen.w = old;\n"
        f"    {c} a = seen.x, b = v;\n"
        f"    next.x = {FORMULA[op]};\n"
        f"    if (next.w == seen.w) break;\n"
        f"    old = atomicCAS(w, seen.w, next.w);\n"
        f"  }} while (old != seen.w);"
    )


def function_name(op: str, dtype: DType) -> str:
    return f"gs_atomic_{op}_{dtype.name}"


def _pointer(dtype: DType) -> str:
    """TVM's C type of an element in memory."""
    return f"{dtype.name}_t" if dtype.name in ("int64", "uint64") else C_TYPES[dtype.name]


def device_function(op: str, dtype: DType) -> str:
    """The CUDA C++ of one row of the table."""
    c = C_TYPES[dtype.name]
    body = native(op, dtype) or swap_loop(op, dtype)
    return f"__device__ __forceinline__ void {function_name(op, dtype)}({_pointer(dtype)}* p, {c} v) {{\n  {body}\n}}\n"


def atomic(op: str, buf: Buffer, at: list[Expr], value: Expr, narrow: str = "") -> Stmt:
    """``buf[at] = op(buf[at], value)``, safe against other threads.

    Args:
        narrow: a row of :data:`NARROW`, if the value is one; it is added then.
    """
    if narrow:
        name, source = f"gs_atomic_add_{narrow}", _narrow_source(narrow)
    else:
        dtype = DTYPES[T.dtype_of(value)]
        name, source = function_name(op, dtype), device_function(op, dtype)
    return T.evaluate(T.device_call(name, T.address_of(buf, *at), value, source=source))


def matched(op: str, buf: Buffer, cell: Expr, value: Expr) -> Stmt:
    """As :func:`atomic` at a cell's row-major number, once for all lanes of a warp that have the same; negative ones are nowhere.

    All 32 lanes must be there.  For a row of :data:`MERGE`.
    """
    dtype = DTYPES[T.dtype_of(value)]
    name = f"gs_matched_{op}_{dtype.name}"
    c = C_TYPES[dtype.name] if dtype.is_float or op in ("min", "max") else word(dtype)
    source = (
        f"__device__ __forceinline__ void {name}({_pointer(dtype)}* p, int64_t cell, {C_TYPES[dtype.name]} v) {{\n"
        f"  const unsigned int all = 0xffffffffu, lane = threadIdx.x % 32;\n"
        f"  unsigned int same = __match_any_sync(all, (unsigned long long)cell);\n"
        f"  unsigned int before = same & ((1u << lane) - 1), after = same & ~before & ~(1u << lane), rank = __popc(before);\n"
        f"  while (__any_sync(all, after != 0)) {{\n"
        f"    int next = after ? __ffs(after) - 1 : (int)lane;\n"
        f"    {c} a = ({c})v, b = __shfl_sync(all, ({c})v, next);\n"
        f"    if (after) v = {MERGE[op]};\n"
        f"    after &= ~__ballot_sync(all, rank & 1);\n"
        f"    rank >>= 1;\n"
        f"  }}\n"
        f"  if (before || cell < 0) return;\n"
        f"  p += cell;\n"
        f"  {native(op, dtype) or swap_loop(op, dtype)}\n}}\n"
    )
    start = T.address_of(buf, *(T.const(0) for _ in T.extents(buf)))
    return T.evaluate(T.device_call(name, start, cell, value, source=source))


def in_order(op: str, buf: Buffer, cell: Expr, value: Expr, run: Sequence[Buffer], width: int) -> Stmt:
    """A round of a warp over points whose cells are in order: runs that end are combined with memory, the others go on.

    The lanes have 32 points that follow each other, in columns: the next of a lane's column is ``width`` points further, in this
    round or the next one.  The first run of a column takes an atomic, as the warp before this one may have a part of it; the
    others are this warp's.  All 32 lanes must be there.

    Args:
        op: a row of :data:`MERGE`.
        buf: the cells.
        cell: the row-major number of this lane's, negative for none: that ends no run.
        value: what it brings; where there is no cell, what leaves a total as it is.
        run: of the round before: this lane's cell, int64, -1 at first; the total of its run so far, at first what leaves others
            as they are; and, uint32 and the same in all lanes, in whose columns a run has ended, 0 at first.
        width: columns, below 32.
    """
    dtype = DTYPES[T.dtype_of(value)]
    name = f"gs_in_order_{op}_{dtype.name}_{width}"
    c = C_TYPES[dtype.name] if dtype.is_float or op in ("min", "max") else word(dtype)
    column = sum(1 << k for k in range(0, 32, width))
    source = (
        f"__device__ __forceinline__ void {name}({_pointer(dtype)}* p, int64_t cell, {C_TYPES[dtype.name]} v, "
        f"int64_t* run, {_pointer(dtype)}* sum, unsigned int* ended) {{\n"
        f"  const unsigned int all = 0xffffffffu, lane = threadIdx.x % 32, first = lane % {width}, last = first + {32 - width};\n"
        f"  const unsigned int upto = {column}u << first & all >> (31 - lane);\n"
        f"  const bool over = lane >= {32 - width};  // the column goes on in the next round\n"
        f"  unsigned int here = __ballot_sync(all, cell >= 0);\n"
        f"  if (here != all) {{  // a point without a cell is taken as one of the run before it\n"
        f"    int64_t carried = __shfl_sync(all, *run, last);\n"
        f"    here &= upto;\n"
        f"    cell = __shfl_sync(all, cell, here ? 31 - __clz(here) : lane);\n"
        f"    if (!here) cell = carried;\n"
        f"  }}\n"
        f"  int64_t before = __shfl_sync(all, over ? *run : cell, (lane + {32 - width}) % 32);\n"
        f"  {c} x = ({c})v, carry = __shfl_sync(all, ({c})*sum, last);\n"
        f"  unsigned int heads = __ballot_sync(all, cell != before && before >= 0), mine = heads & upto;\n"
        f"  if (lane < {width} && !mine) {{\n"
        f"    {c} a = carry, b = x;\n"
        f"    x = {MERGE[op]};\n"
        f"  }}\n"
        f"  int reach = lane + __clz(mine | 1u << first) - 31;\n"
        f"  for (int step = {width}; step < 32; step *= 2) {{\n"
        f"    {c} a = __shfl_up_sync(all, x, step), b = x;\n"
        f"    if (step <= reach) x = {MERGE[op]};\n"
        f"  }}\n"
        f"  bool later = mine || *ended >> last & 1;\n"
        f"  if (heads >> (lane + {width}) % 32 & 1) {{\n"
        f"    p += over ? *run : cell;\n"
        f"    v = over ? *sum : ({C_TYPES[dtype.name]})x;\n"
        f"    if (over ? *ended >> lane & 1 : later) {{\n"
        f"      {c} a = ({c})*p, b = ({c})v;\n"
        f"      *p = {MERGE[op]};\n"
        f"    }} else {{\n"
        f"      {native(op, dtype) or swap_loop(op, dtype)}\n"
        f"    }}\n"
        f"  }}\n"
        f"  *run = cell;\n"
        f"  *sum = x;\n"
        f"  *ended = __ballot_sync(all, later);\n}}\n"
    )
    start = T.address_of(buf, *(T.const(0) for _ in T.extents(buf)))
    state = [T.address_of(r, T.const(0)) for r in run]
    return T.evaluate(T.device_call(name, start, cell, value, *state, source=source))


_BFLOAT16_SUM = (
    "__device__ __forceinline__ unsigned {name}_sum(unsigned int a, unsigned int b) {{\n"
    "  float sum = __uint_as_float(a << 16) + __uint_as_float(b << 16);\n"
    "  unsigned int u = __float_as_uint(sum);\n"
    "  return sum != sum ? 0x7fff : (u + 0x7fff + (u >> 16 & 1)) >> 16;\n}}\n"
)


def _narrow_source(dtype: str) -> str:
    """The device function that adds a float of 16 bits, which is rounded."""
    name, c = f"gs_atomic_add_{dtype}", NARROW[dtype]
    head = f"__device__ __forceinline__ void {name}({c}* p, {c} v) {{\n"
    if dtype == "float16":
        return f"{head}  atomicAdd(p, v);\n}}\n"
    return (
        f"{_BFLOAT16_SUM.format(name=name)}{head}"
        f"#if __CUDA_ARCH__ >= 900\n"
        f'  asm volatile("red.global.add.noftz.bf16 [%0], %1;" : : "l"(p), "h"(v) : "memory");\n'
        f"#else\n"
        f"  unsigned short seen, old = *(volatile unsigned short*)p;\n"
        f"  do {{\n"
        f"    seen = old;\n"
        f"    old = atomicCAS(p, seen, (unsigned short){name}_sum(seen, v));\n"
        f"  }} while (old != seen);\n"
        f"#endif\n}}\n"
    )


def _narrow_vector_source(dtype: str, n: int) -> str:
    """The device function that adds n floats of 16 bits that lie side by side, each of which is rounded.

    One access from compute capability 9.0 on; before, an atomic for two of them, which for bfloat16 is a loop that compares and
    swaps.
    """
    name, c, words = f"gs_atomic_add_{dtype}x{n}", NARROW[dtype], n // 2
    pair, vector = "f16x2" if dtype == "float16" else "bf16x2", f".v{words}" if words > 1 else ""
    places = ", ".join(f"%{k + 1}" for k in range(words))
    given = ", ".join(f'"r"(w[{k}])' for k in range(words))
    operands = f"{{{places}}}" if words > 1 else places
    helper, before = "", f"  for (int k = 0; k < {words}; ++k) atomicAdd((half2*)p + k, ((half2*)v)[k]);\n"
    if dtype == "bfloat16":
        helper = _BFLOAT16_SUM.format(name=name)
        before = (
            f"  for (int k = 0; k < {words}; ++k) {{\n"
            f"    unsigned int seen, old = ((volatile unsigned int*)p)[k];\n"
            f"    do {{\n"
            f"      seen = old;\n"
            f"      unsigned int low = {name}_sum(seen & 0xffff, w[k] & 0xffff), high = {name}_sum(seen >> 16, w[k] >> 16);\n"
            f"      old = atomicCAS((unsigned int*)p + k, seen, low | high << 16);\n"
            f"    }} while (old != seen);\n"
            f"  }}\n"
        )
    return (
        f"{helper}__device__ __forceinline__ void {name}({c}* p, {c}* v) {{\n"
        f"  const unsigned int* w = (const unsigned int*)v;\n"
        f"#if __CUDA_ARCH__ >= 900\n"
        f'  asm volatile("red.global.add.noftz{vector}.{pair} [%0], {operands};" : : "l"(p), {given} : "memory");\n'
        f"#else\n"
        f"{before}"
        f"#endif\n}}\n"
    )


def narrow_name(dtype: DType) -> str:
    """The row of :data:`NARROW` that a dtype is; nothing for another."""
    return dtype.name if dtype.name in NARROW else ""


def adds_narrow(reduction: Reduction, dtype: DType) -> bool:
    """Whether atomics add floats of 16 bits where they are: sums that round at every step."""
    return reduction.stepwise and reduction.function == "add" and not reduction.averaged and bool(narrow_name(dtype))


def atomic_vector(
    op: str, buf: Buffer, at: list[Expr], values: Buffer, n: int, begin: int = 0, narrow: str = ""
) -> Stmt:
    """Combine n neighbours from ``values[begin]`` on with those from ``buf[at]`` on: 2 or 4 float32, or 2, 4 or 8 floats of 16
    bits, whose bytes divide addresses.

    Sums are one access from compute capability 9.0 on, ``red.global.add.v4.f32``, and n atomics before.  Of minima and maxima
    one access looks at two neighbours, and an atomic changes those that the values are better than.
    """
    name = f"gs_atomic_{op}_{narrow or 'float32'}x{n}"
    addresses = T.address_of(buf, *at), T.address_of(values, T.const(begin))
    if narrow:
        return T.evaluate(T.device_call(name, *addresses, source=_narrow_vector_source(narrow, n)))
    if op == "add":
        body = (
            f"#if __CUDA_ARCH__ >= 900\n"
            f"  atomicAdd((float{n}*)p, *(float{n}*)v);\n"
            f"#else\n"
            f"  for (int k = 0; k < {n}; ++k) atomicAdd(p + k, v[k]);\n"
            f"#endif\n"
        )
    else:
        assert n == 2
        body = "  unsigned long long pair = *(volatile unsigned long long*)p;\n"
        for k in range(n):
            body += f"  float old{k} = __uint_as_float((unsigned int)(pair >> {32 * k}));\n"
            body += f"  {extreme(op, DTYPES['float32'], f'old{k}', f'p + {k}', f'v[{k}]')}\n"
    source = f"__device__ __forceinline__ void {name}(float* p, float* v) {{\n{body}}}\n"
    return T.evaluate(T.device_call(name, *addresses, source=source))


def widened(dtype: DType) -> DType:
    """Where a reduction accumulates: atomics work on 32 and 64 bits only; 16-bit floats would round at every step."""
    if dtype.bits >= 32:
        return dtype
    if dtype.is_float:
        return DTYPES["float32"]
    return DTYPES["int32"] if dtype.kind == "i" else DTYPES["uint32"]


def atomic_name(reduction: Reduction, dtype: DType) -> str:
    """The row that carries out a reduction; bool ``add`` is *or*, hence max of 0 and 1, and ``mul`` is *and*, hence min."""
    assert reduction.function is not None
    name = ATOMICS[reduction.function]
    return {"add": "max", "mul": "min"}.get(name, name) if dtype.kind == "b" else name
