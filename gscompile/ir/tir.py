"""TVM's expressions and statements.  With ``codegen.py``, ``machine.py``, ``float16.py`` and ``ops/elementwise``, every TVM name
that graphs and schedules use, so that a new TVM release is met here.

Statements are built by plain functions that take their bodies as callables of the loop variable::

    for_(n, lambda i: store(out, [i], load(a, i) + 1))

All loop variables and coordinates are int64: tables of more than 2^31 elements are ordinary here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import tvm
import tvm_ffi
from tvm import ir, te, tirx
from tvm.sym import Analyzer

from gscompile.ir.reserved import in_code

Expr: TypeAlias = Any  # tvm's PrimExpr; its Python classes carry no usable types
Stmt: TypeAlias = Any
Buffer: TypeAlias = Any
Var: TypeAlias = Any
PrimFunc: TypeAlias = Any
GlobalVar: TypeAlias = Any

INT64_MAX = (1 << 63) - 1


# -- expressions ------------------------------------------------------------------------------------------------------


def const(value: Any, dtype: str = "int64") -> Expr:
    """A literal."""
    return tirx.const(value, dtype)


def int64(x: Any) -> Expr:
    """An int64 expression of a Python int or an integer expression."""
    if isinstance(x, int):
        return tirx.const(x, "int64")
    return x if str(x.ty.dtype) == "int64" else tirx.Cast("int64", x)


def dtype_of(x: Expr) -> str:
    """The dtype of an expression."""
    return str(x.ty.dtype)


def var(name: str, dtype: str = "int64") -> Var:
    return tirx.Var(name, dtype)


def cast(dtype: str, x: Expr) -> Expr:
    return x if dtype_of(x) == dtype else tirx.Cast(dtype, x)


def select(condition: Expr, a: Expr, b: Expr) -> Expr:
    """``a`` or ``b``; both may be computed."""
    return tirx.Select(condition, a, b)


def reinterpret(dtype: str, x: Expr) -> Expr:
    """The bits of ``x`` as a value of another dtype of the same width."""
    return tirx.reinterpret(dtype, x)


def reinterpreted(x: Expr) -> Expr:
    """The value whose bits :func:`reinterpret` took; ``x`` if it took none."""
    return x.args[0] if getattr(getattr(x, "op", None), "name", "") == "tirx.reinterpret" else x


def if_then_else(condition: Expr, a: Expr, b: Expr) -> Expr:
    """``a`` or ``b``; only the chosen one is computed, so that the other's loads never happen."""
    return tirx.if_then_else(condition, a, b)


def all_of(conditions: Iterable[Expr | None]) -> Expr | None:
    """The conjunction of the conditions that are there; None if there is none."""
    total = None
    for c in conditions:
        if c is not None:
            total = c if total is None else tirx.And(total, c)
    return total


def any_of(conditions: Iterable[Expr]) -> Expr:
    """The disjunction of at least one condition."""
    total = None
    for c in conditions:
        total = c if total is None else tirx.Or(total, c)
    return total


def not_(x: Expr) -> Expr:
    return tirx.Not(x)


def minimum(a: Expr, b: Expr) -> Expr:
    return tirx.Min(a, b)


def maximum(a: Expr, b: Expr) -> Expr:
    return tirx.Max(a, b)


def floordiv(a: Expr, b: Any) -> Expr:
    return tirx.floordiv(_rising(a), _wide(b))


def floormod(a: Expr, b: Any) -> Expr:
    return tirx.floormod(_rising(a), _wide(b))


def truncdiv(a: Expr, b: Any) -> Expr:
    return tirx.truncdiv(a, _wide(b))


def truncmod(a: Expr, b: Any) -> Expr:
    return tirx.truncmod(a, _wide(b))


def quotient(a: Expr, b: Expr) -> Expr:
    """``a // b`` where neither is negative.

    TVM does not know the sign of a size.  Its floor division by one brings in comparisons with 0 that make its analysis of
    coordinates in a box of many such sizes take minutes.
    """
    return truncdiv(a, b) if constant_value(b) is None else floordiv(a, b)


def remainder(a: Expr, b: Expr) -> Expr:
    """``a % b`` where neither is negative; see :func:`quotient`."""
    return truncmod(a, b) if constant_value(b) is None else floormod(a, b)


def hidden(x: Expr) -> Expr:
    """An integer behind a ``^ 0`` that TVM's simplifier does not look through."""
    return tirx.BitwiseXor(x, tirx.const(0, dtype_of(x)))


def opaque(x: Expr) -> Expr:
    """An int64 that on llvm the code generator does not look through either; see :func:`gscompile.ir.codegen.for_llvm`."""
    return tirx.BitwiseXor(tirx.BitwiseXor(x, OPAQUE_MARK), OPAQUE_MARK)


def unpredictable(x: Expr) -> Expr:
    """A choice between integers or 16-bit floats that on llvm is no branch; another expression as it is.

    LLVM makes branches of choices that a loop waits for, on x86, which cost more where what is chosen cannot be predicted.
    """
    if isinstance(x, tirx.Let):
        return tirx.Let(x.var, _by_code(x.value), unpredictable(x.body))
    if isinstance(x, tirx.Min | tirx.Max):
        first = x.a < x.b if isinstance(x, tirx.Min) else x.b < x.a
        return unpredictable(tirx.Select(first, x.a, x.b))
    if not isinstance(x, tirx.Select) or bits(x) > 64 or dtype_of(x) in ("float32", "float64"):
        return x
    condition = opaque(cast("int64", x.condition))
    if dtype_of(x) == "float16":  # of two comparisons, of which LLVM would make two choices, one of them a branch
        condition = opaque(condition)
    return tirx.Select(condition != const(0), x.true_value, x.false_value)


def _by_code(x: Expr) -> Expr:
    """A float16 that is loaded as an integer: x86 loads one into a part of a register, and waits for what the rest held."""
    if dtype_of(x) != "float16":
        return x
    return reinterpret("float16", cast("uint16", opaque(cast("int64", reinterpret("uint16", x)))))


def by_codes(x: Expr) -> Expr:
    """An expression of single elements whose float16 loads do not wait for those before, see :func:`_by_code`.

    LLVM makes no vectors of it.
    """
    return tvm_ffi.structural_map(x, (ir.TensorLoad, _by_code))


# a number of its own: no program's x ^ c ^ c is taken for an opaque one
OPAQUE_MARK = tirx.const(int.from_bytes(b"gsopaque", "big"), "int64")


def _wide(x: Any) -> Expr:
    """A divisor or a loop's extent, hidden where it is a literal that no int32 holds.

    NarrowDataType of TVM 0.27 makes int32 of what divides into few, and of the extent of a loop whose last step fits: 2^31.
    """
    known = x if isinstance(x, int) else int(x.value) if isinstance(x, tirx.IntImm) else 0
    return hidden(const(known, dtype_of(x) if not isinstance(x, int) else "int64")) if known >= 1 << 31 else x


def once(value: Expr, body: Callable[[Expr], Expr]) -> Expr:
    """An expression of an integer that is loaded once, however often the expression contains it."""
    if not loads_of(value):
        return body(value)
    v = tirx.Var("once", dtype_of(value))
    # hidden, since TVM fails where it finds two different bounds for a variable, under a condition and without
    return tirx.Let(v, hidden(value), body(v))


def uncast(x: Expr) -> Expr:
    """An integer without the casts to wider types, and the zeros of :func:`hidden`, around it."""
    if isinstance(x, tirx.Cast) and bits(x) >= bits(x.value):
        return uncast(x.value)
    if isinstance(x, tirx.BitwiseXor) and constant_value(x.b) == 0:
        return uncast(x.a)
    return x


def bits(x: Expr) -> int:
    return int(x.ty.dtype.bits)


def _rising(x: Expr) -> Expr:
    """``x`` as a dividend: hidden where it falls as a variable in it rises.

    FlattenBuffer of TVM 0.27 takes ``(255 - k) // 6`` for ``42 + -k // 6``.
    """
    return hidden(x) if _falls(x) else x


def _falls(x: Expr) -> bool:
    """Whether a variable may have a negative coefficient."""
    if isinstance(x, (tirx.Add, tirx.Mul)):
        return any(_falls(y) or (isinstance(x, tirx.Mul) and _is_negative(y)) for y in (x.a, x.b))
    return isinstance(x, tirx.Sub) and (_falls(x.a) or not isinstance(x.b, tirx.IntImm))


def _is_negative(x: Expr) -> bool:
    return isinstance(x, tirx.IntImm) and int(x.value) < 0


def loads_of(x: Expr) -> int:
    """How many loads from buffers an expression contains, those in the coordinates of a load included."""
    load = as_load(x)
    if load is not None:
        return 1 + sum(map(loads_of, load[1]))
    if isinstance(x, tirx.Cast):
        return loads_of(x.value)
    if isinstance(x, tirx.Select):
        return sum(map(loads_of, (x.condition, x.true_value, x.false_value)))
    if isinstance(x, tirx.Let):
        return loads_of(x.value) + loads_of(x.body)
    if hasattr(x, "a"):
        return loads_of(x.a) + loads_of(x.b) if hasattr(x, "b") else loads_of(x.a)
    return sum(map(loads_of, getattr(x, "args", ())))


def reads(x: Expr, conditions: bool = True) -> list[tuple[Expr | None, Buffer, list[Expr]]]:
    """The loads that an expression contains, as (condition under which they happen, buffer, coordinates).

    Those in the coordinates of another are left out, those that need a variable bound inside the expression, and if
    ``conditions`` is false those that only choose between values.
    """
    found: list[tuple[Expr | None, Buffer, list[Expr]]] = []

    def walk(x: Expr, condition: Expr | None, bound: list[Var]) -> None:
        load, choice = as_load(x), as_choice(x)
        if load is not None:
            if not any(_uses(part, bound) for part in [*load[1], condition] if part is not None):
                found.append((condition, *load))
        elif choice is not None:
            if conditions:
                walk(choice[0], condition, bound)
            walk(choice[1], all_of([condition, choice[0]]), bound)
            walk(choice[2], all_of([condition, not_(choice[0])]), bound)
        elif isinstance(x, tirx.Let):
            if conditions:
                walk(x.value, condition, bound)
            walk(x.body, condition, [*bound, x.var])
            if not conditions and any(x.var.same_as(v) for v in used):
                walk(x.value, condition, bound)
        elif isinstance(x, tirx.Var):
            used.append(x)
        elif isinstance(x, tirx.Select) and not conditions:
            walk(x.true_value, condition, bound)
            walk(x.false_value, condition, bound)
        else:
            for part in _operands(x):
                walk(part, condition, bound)

    used: list[Var] = []
    walk(x, None, [])
    return found


def all_loads(x: Expr) -> list[tuple[Buffer, list[Expr]]]:
    """The buffer and the coordinates of every load in an expression, those in the coordinates of another included."""
    return [(part.source, list(part.indices)) for part in parts_of(x, ir.TensorLoad)]


def divides(x: Expr) -> bool:
    """Whether an expression has a division by what is not known."""
    parts = parts_of(x, (tirx.Div, tirx.Mod, tirx.FloorDiv, tirx.FloorMod))
    return any(constant_value(part.b) is None for part in parts)


def with_loads(x: Stmt, change: Callable[[Buffer, list[Expr]], Expr | None]) -> Stmt:
    """A statement with other expressions in place of loads.

    Args:
        change: (buffer, coordinates) -> what to have in place of such a load, or None.
    """

    def changed(part: Any) -> Any:
        other = change(part.source, list(part.indices))
        return part if other is None else other

    return tvm_ffi.structural_map(x, (ir.TensorLoad, changed))


def _operands(x: Expr) -> list[Expr]:
    if isinstance(x, tirx.Select):
        return [x.condition, x.true_value, x.false_value]
    if isinstance(x, tirx.Cast):
        return [x.value]
    return [getattr(x, k) for k in ("a", "b") if hasattr(x, k)] or list(getattr(x, "args", ()))


def _uses(x: Expr, variables: list[Var]) -> bool:
    if not variables:
        return False
    if isinstance(x, tirx.Var):
        return any(x.same_as(v) for v in variables)
    load = as_load(x)
    parts = load[1] if load else [x.value, x.body] if isinstance(x, tirx.Let) else _operands(x)
    return any(_uses(part, variables) for part in parts)


def sign_bit(x: Expr) -> Expr:
    """1 where an int64 is negative, 0 elsewhere, without a comparison."""
    # of the unsigned value, since NarrowDataType may make x an int32, which cannot be shifted by 63
    return cast("int64", tirx.shift_right(cast("uint64", x), const(63, "uint64")))


def is_simple(x: Expr) -> bool:
    """Whether an expression is a literal or a variable."""
    return isinstance(x, (tirx.IntImm, tirx.Var))


def xor(a: Expr, b: Expr) -> Expr:
    """Bitwise exclusive or of integers."""
    return tirx.bitwise_xor(a, b)


def isnan(x: Expr) -> Expr:
    return tirx.isnan(x)


def simplify(x: Expr) -> Expr:
    """TVM's arithmetic simplifier."""
    return Analyzer().simplify(x)


def constant_value(x: Expr) -> int | None:
    """The value of an expression that simplifies to an integer literal; otherwise None."""
    if isinstance(x, int):
        return x
    if isinstance(x, tirx.IntImm):
        return int(x.value)
    s = Analyzer().simplify(x)
    return int(s.value) if isinstance(s, tirx.IntImm) else None


_C_OPERATORS = {
    tirx.Add: "({a} + {b})",
    tirx.Sub: "({a} - {b})",
    tirx.Mul: "({a} * {b})",
    **dict.fromkeys((tirx.FloorDiv, tirx.Div), "({a} / {b})"),  # of what is not negative
    **dict.fromkeys((tirx.FloorMod, tirx.Mod), "({a} % {b})"),
    tirx.Min: "({a} < {b} ? {a} : {b})",
    tirx.Max: "({a} > {b} ? {a} : {b})",
}


def c_text(x: Expr, name: Callable[[Var], str | None]) -> str | None:
    """An integer expression in C, of names and numbers that are not negative; None where it is made of more.

    Args:
        name: of a variable; None where it has none.
    """
    if isinstance(x, tirx.IntImm):
        return str(int(x.value))
    if isinstance(x, tirx.Var):
        return name(x)
    if isinstance(x, tirx.Cast):
        return c_text(x.value, name) if dtype_of(x).startswith("int64") else None
    form = _C_OPERATORS.get(type(x))
    if form is None:
        return None
    a, b = c_text(x.a, name), c_text(x.b, name)
    return None if a is None or b is None else form.format(a=a, b=b)


def call_extern(dtype: str, name: str, *args: Expr) -> Expr:
    """A call of a C function with side effects."""
    return tirx.call_extern(dtype, name, *args)


# -- buffers ----------------------------------------------------------------------------------------------------------


def pointer(name: str, dtype: str) -> Var:
    """A function parameter that is the address of ``dtype`` elements."""
    return tirx.Var(name, ir.PointerType(ir.PrimType(dtype), "global"))


def buffer(name: str, shape: Sequence[Any], dtype: str, *, align: int, scope: str = "global") -> Buffer:
    """A buffer variable; ``align`` is what the code may assume of its address, in bytes."""
    extents, name = [int64(s) for s in shape], in_code(name)
    return tirx.decl_buffer(extents, dtype, name, data_alignment=align, layout=None, scope=scope)


def declare(buf: Buffer, data: Expr) -> Stmt:
    """Bind a buffer to an address."""
    return tirx.DeclBuffer(buf, data=data)


def declared(stmt: Stmt) -> tuple[Buffer, Expr]:
    """The buffer and the address of a :func:`declare`."""
    return stmt.buffer, stmt.data


def offset_pointer(pointer_var: Var, byte_offset: Expr) -> Expr:
    return tirx.handle_add_byte_offset(pointer_var, byte_offset)


def allocate(buf: Buffer) -> Stmt:
    """Storage for a local buffer, alive until the enclosing scope ends."""
    return tirx.AllocBuffer(buf)


def load(buf: Buffer, *indices: Expr) -> Expr:
    return tirx.BufferLoad(buf, [int64(i) for i in indices])


def store(buf: Buffer, indices: Sequence[Expr], value: Expr) -> Stmt:
    return tirx.BufferStore(buf, value, [int64(i) for i in indices])


def load_vector(buf: Buffer, place: Expr, lanes: int) -> Expr:
    """Neighbours in memory at once, from a row-major position on: a vector, or an element for one lane."""
    return tirx.BufferLoad(buf, _run(buf, place, lanes))


def store_vector(buf: Buffer, place: Expr, value: Expr) -> Stmt:
    """The reverse."""
    return tirx.BufferStore(buf, value, _run(buf, place, lanes_of(value)))


def lanes_of(value: Expr) -> int:
    """Elements of a vector; 1 of a scalar."""
    return int(value.ty.dtype.lanes)


def _run(buf: Buffer, place: Expr, lanes: int) -> list[Expr]:
    last = place if lanes == 1 else tirx.Ramp(int64(place), const(1), lanes)
    return [*(const(0) for _ in buf.shape[1:]), last]


def broadcast(value: Expr, lanes: int) -> Expr:
    """A vector of equal elements."""
    return value if lanes == 1 else tirx.Broadcast(value, lanes)


def address_of(buf: Buffer, *indices: Expr) -> Expr:
    return tirx.address_of(load(buf, *indices))


def addressed(address: Expr) -> tuple[Buffer, list[Expr]]:
    """The buffer and the coordinates of an :func:`address_of`."""
    place = address.args[0]
    return place.source, list(place.indices)


def begin_of(buf: Buffer, pointer: Var) -> Expr:
    """The address of a buffer's first element, as a pointer of another's type."""
    return tirx.reinterpret(pointer.ty, address_of(buf, *(const(0) for _ in buf.shape)))


# -- statements -------------------------------------------------------------------------------------------------------

Body: TypeAlias = Callable[[Var], Stmt]


def seq(*stmts: Stmt | None) -> Stmt:
    """Statements in order; None and nested sequences are flattened away."""
    flat: list[Stmt] = []
    for s in stmts:
        if isinstance(s, tirx.SeqStmt):
            flat.extend(s.seq)
        elif s is not None:
            flat.append(s)
    if not flat:
        return nothing()
    return flat[0] if len(flat) == 1 else tirx.SeqStmt(flat)


def import_llvm(text: str, body: Stmt) -> Stmt:
    """A statement that may call functions given as LLVM IR."""
    return tirx.AttrStmt(tirx.const(0, "int32"), _IMPORT, ir.StringImm(text), body)


_IMPORT = "pragma_import_llvm"


def nothing() -> Stmt:
    return tirx.Evaluate(tirx.const(0, "int32"))


def evaluate(x: Expr) -> Stmt:
    return tirx.Evaluate(x)


def if_(condition: Expr | None, then: Stmt, otherwise: Stmt | None = None) -> Stmt:
    """``then`` where the condition holds; a condition of None always holds."""
    return then if condition is None else tirx.IfThenElse(condition, then, otherwise)


def let(name: str, value: Expr, body: Callable[[Expr], Stmt]) -> Stmt:
    """Give a name to a value that the body uses more than once."""
    v = tirx.Var(name, dtype_of(value))
    return seq(tirx.Bind(v, value), body(v))


def lets(name: str, values: Sequence[Expr], body: Callable[[list[Expr]], Stmt]) -> Stmt:
    """The same for several values: ``name0``, ``name1`` and so on."""
    variables = [tirx.Var(f"{name}{k}", dtype_of(x)) for k, x in enumerate(values)]
    return seq(*map(tirx.Bind, variables, values), body(variables))


def kept(names: str | Sequence[str], values: Sequence[Expr], body: Callable[[list[Expr]], Stmt]) -> Stmt:
    """As :func:`lets`, for integers that TVM's simplifier would put in place of their names, again and again: by way of memory.

    LLVM takes that out.
    """
    long = [k for k, x in enumerate(values) if not is_simple(x)]
    if not long:
        return body(list(values))
    called = [f"{names}{k}" if isinstance(names, str) else names[k] for k in long]

    def whole(variables: list[Expr]) -> Stmt:
        known = dict(zip(long, variables, strict=True))
        return body([known.get(k, x) for k, x in enumerate(values)])

    cells = buffer(f"{called[0]}_", [len(long)], "int64", align=8)
    return _by_way_of(cells, called, [values[k] for k in long], whole)


def registers(name: str, values: Sequence[Expr], body: Callable[[list[Expr]], Stmt]) -> Stmt:
    """As :func:`kept`, in a thread of a kernel: numbers of one dtype, which its compiler keeps in registers."""
    if not values:
        return body([])
    cells = buffer(f"{name}_", [len(values)], dtype_of(values[0]), align=8, scope="local")
    return _by_way_of(cells, [f"{name}{k}" for k in range(len(values))], values, body)


def _by_way_of(cells: Buffer, names: Sequence[str], values: Sequence[Expr], body: Callable[[list[Expr]], Stmt]) -> Stmt:
    """Values are stored to memory and loaded from it, and have these names from there on."""
    stores = [store(cells, [const(k)], x) for k, x in enumerate(values)]
    variables = [tirx.Var(name, dtype_of(x)) for name, x in zip(names, values, strict=True)]
    binds = [tirx.Bind(v, load(cells, const(k))) for k, v in enumerate(variables)]
    return seq(allocate(cells), *stores, *binds, body(list(variables)))


def bind(variable: Var, value: Expr) -> Stmt:
    """Give a variable its value, for the statements that follow."""
    return tirx.Bind(variable, value)


def _loop(
    extent: Any, body: Body, name: str, kind: Any, start: Any = 0, notes: Mapping[str, Any] | None = None
) -> Stmt:
    v = tirx.Var(name, "int64")
    return tirx.For(v, int64(start), int64(_wide(extent)), kind, body(v), None, notes)


def for_(extent: Any, body: Body, name: str = "i", one_copy: bool = False) -> Stmt:
    """A serial loop over ``[0, extent)``.

    Args:
        one_copy: it seldom runs, or most of the time is spent in loops inside: LLVM neither unrolls nor unswitches it.
    """
    return _loop(extent, body, name, tirx.ForKind.SERIAL, notes={ONE_COPY: const(1)} if one_copy else None)


def for_range(lo: Expr, hi: Expr, body: Body, name: str = "i", one_copy: bool = False) -> Stmt:
    """:func:`for_` over ``[lo, hi)``; no iteration where ``hi <= lo``.  Ends that are loaded are loaded once."""

    def loop(lo: Expr, hi: Expr) -> Stmt:
        return for_(hi - lo, lambda k: body(lo + k), name, one_copy)

    if not loads_of(lo) and not loads_of(hi):
        return loop(lo, hi)
    return let(f"{name}_begin", lo, lambda a: let(f"{name}_end", hi, lambda b: loop(a, b)))


def parallel(extent: Any, body: Body, name: str = "t") -> Stmt:
    """A loop whose iterations are tasks for the process's threads; see :mod:`gscompile.runtime.pools`."""
    return _loop(extent, body, name, tirx.ForKind.PARALLEL)


def vectorized(lanes: int, body: Body, name: str = "v") -> Stmt:
    """A loop of ``lanes`` iterations executed as one vector operation."""
    return _loop(lanes, body, name, tirx.ForKind.VECTORIZED)


def thread_binding(tag: str, extent: Any, body: Body, name: str, dtype: str = "int64") -> Stmt:
    """A loop whose iterations are the blocks or threads of a kernel launch."""
    v = tirx.Var(name, dtype)
    iv = tirx.IterVar(None, v, tirx.IterVar.ThreadIndex, tag)
    extent = const(extent, dtype) if isinstance(extent, int) else cast(dtype, extent)
    return tirx.For(v, const(0, dtype), extent, tirx.ForKind.THREAD_BINDING, body(v), iv)


def resident(blocks: int, body: Stmt) -> Stmt:
    """The body of a kernel so many of whose blocks a multiprocessor shall hold: what its registers are limited by."""
    return tirx.AttrStmt(const(0, "int32"), "tirx.launch_bounds_min_blocks_per_sm", const(blocks, "int32"), body)


def synchronize_block() -> Stmt:
    """Wait for the threads of a block, which then see what they have stored in shared memory."""
    return evaluate(tirx.call_intrin("void", "tirx.tvm_storage_sync", ir.StringImm("shared")))


def from_lane(value: Expr, lane: Expr) -> Expr:
    """The value of the thread of a warp with that number; all 32 threads must be there."""
    mask, warp = tirx.const(0xFFFFFFFF, "uint32"), const(32, "int32")
    return tirx.call_intrin(dtype_of(value), "tirx.tvm_warp_shuffle", mask, value, cast("int32", lane), warp, warp)


def from_lane_below(value: Expr, distance: Expr) -> Expr:
    """The value of the thread of a warp so many lanes further; all 32 threads must be there."""
    mask, warp = tirx.const(0xFFFFFFFF, "uint32"), const(32, "int32")
    distance = cast("int32", distance)
    return tirx.call_intrin(dtype_of(value), "tirx.tvm_warp_shuffle_down", mask, value, distance, warp, warp)


# -- functions --------------------------------------------------------------------------------------------------------


def prim_func(name: str, params: Sequence[Var], body: Stmt, device_type: int) -> PrimFunc:
    """A function whose pointer parameters never overlap.

    TVM reads the device of a function off its tensor parameters; with raw addresses it has to be told (1: CPU, 2: cuda).
    """
    f = tirx.PrimFunc(list(params), _on_device(body, device_type))
    return f.with_attr("global_symbol", name).with_attr("tirx.noalias", True)


def _on_device(body: Stmt, device_type: int) -> Stmt:
    zero = tirx.const(0, "int32")
    for key, value in [("device_type", tirx.const(device_type, "int32")), ("device_id", zero)]:
        body = tirx.AttrStmt(ir.StringImm("default"), key, value, body)
    return body


def buffer_func(name: str, buffers: Sequence[Buffer], body: Stmt) -> PrimFunc:
    """A function whose parameters are tensors, which never overlap, and whose loops DLight leaves as they are."""
    f = tirx.PrimFunc(list(buffers), body)
    return f.with_attr("global_symbol", name).with_attr("tirx.noalias", True).with_attr("tirx.is_scheduled", True)


def private_func(params: Sequence[Var], body: Stmt, device_type: int) -> PrimFunc:
    """A function that only others of its module call, see :func:`call_function`; otherwise as :func:`prim_func`."""
    # TVM leaves a function with a number that says whether a parallel loop has failed
    # a scope of its own, which LLVM does not inline: a part is called from many places
    body = tirx.AttrStmt(const(0, "int32"), "compute_scope", ir.StringImm("part_compute_"), body)
    f = tirx.PrimFunc(list(params), _on_device(body, device_type), ir.PrimType("int32"))
    return f.with_attr("tirx.noalias", True)


def global_var(name: str) -> GlobalVar:
    """The name of a function in its module."""
    return ir.GlobalVar(name)


def call_function(function: GlobalVar, arguments: Sequence[Expr]) -> Stmt:
    """Call a :func:`private_func`, and fail if it has failed."""
    return _succeed(ir.Call(function, list(arguments), ret_ty=ir.PrimType("int32")))


def _succeed(call: Expr) -> Stmt:
    # the condition comes first, though TVM's Python names it second
    message = [ir.StringImm("a part of this function failed")]
    return tirx.AssertStmt(call.equal(tirx.const(0, "int32")), ir.StringImm("RuntimeError"), message)


def unit_func(name: str, params: Sequence[Var], body: Stmt) -> PrimFunc:
    """A function that one of another module calls, see :func:`call_unit`: C's, for a CPU."""
    f = tirx.PrimFunc(list(params), _on_device(body, 1), ir.PrimType("int32"))
    return f.with_attr("global_symbol", name).with_attr("tirx.noalias", True).with_attr(UNIT, True)


UNIT = "gscompile.unit"  # of a function that is called as it is


def call_unit(name: str, arguments: Sequence[Expr]) -> Stmt:
    """Call a :func:`unit_func`, and fail if it has failed."""
    return _succeed(call_extern("int32", name, *arguments))


def with_parallel_loops(body: Stmt, change: Callable[[Stmt, Sequence[str]], Stmt]) -> Stmt:
    """A statement with others in place of its parallel loops.

    Args:
        change: (a loop, the texts of :func:`import_llvm` around it) -> what to have in its place.
    """

    def changed(s: Stmt, imports: tuple[str, ...]) -> Stmt:
        if isinstance(s, tirx.SeqStmt):
            return seq(*(changed(x, imports) for x in s.seq))
        if isinstance(s, tirx.AttrStmt):
            inner = (*imports, str(s.value.value)) if s.attr_key == _IMPORT else imports
            return tirx.AttrStmt(s.node, s.attr_key, s.value, changed(s.body, inner))
        if isinstance(s, tirx.IfThenElse):
            return if_(s.condition, changed(s.then_case, imports), s.else_case and changed(s.else_case, imports))
        return change(s, imports) if isinstance(s, tirx.For) and s.kind == tirx.ForKind.PARALLEL else s

    return changed(body, ())


def declarations(func: PrimFunc) -> list[tuple[Buffer, Expr]]:
    """The buffers that a function declares, each with its address."""
    return [declared(s) for s in parts_of(func.body, tirx.DeclBuffer)]


def single_threads(body: Stmt) -> set[Var]:
    """The numbers of blocks and threads of which there is one."""
    loops = parts_of(body, tirx.For)
    return {s.loop_var for s in loops if s.kind == tirx.ForKind.THREAD_BINDING and constant_value(s.extent) == 1}


def tree_size(x: Expr | Stmt) -> int:
    """How many statements and calls there are in it."""
    return len(parts_of(x, (tirx.Stmt, ir.Call)))


def is_buffer(v: Var) -> bool:
    """Whether a variable is a buffer."""
    return isinstance(v.ty, tirx.BufferType)


def free_variables(x: Expr | Stmt) -> list[Var]:
    """The variables, and the buffers, that an expression or a statement uses and does not define."""
    return list(tirx.analysis.undefined_vars(x, []))


def uses(x: Expr, variables: Sequence[Expr]) -> bool:
    """Whether an expression has one of some variables; what is no variable it does not have."""
    return any(v.same_as(w) for v in free_variables(evaluate(x)) for w in variables)


def structural_hash(x: Any) -> int:
    """Equal for what is built alike."""
    return int(tvm_ffi.structural_hash(x))


def structural_equal(a: Any, b: Any) -> bool:
    """Whether two functions are built alike, whatever their variables are called."""
    return bool(tvm_ffi.structural_equal(a, b))


def module(funcs: Mapping[str | GlobalVar, PrimFunc]) -> Any:
    return tvm.IRModule(dict(funcs))


def walk(x: Any, *looks: tuple[Any, Callable[[Any], bool]], order: str = "post") -> bool:
    """Whether a look at a part of an expression or a statement says so."""
    stop = tvm_ffi.VisitInterrupt
    return (
        tvm_ffi.structural_walk(
            x, [(of, lambda p, s=sees: stop() if s(p) else None) for of, sees in looks], order=order
        )
        is not None
    )


def parts_of(x: Expr | Stmt, kinds: Any) -> list[Any]:
    """The parts of an expression or a statement that are of a class, or of one of several."""
    found: list[Any] = []

    def note(part: Any) -> bool:
        found.append(part)
        return False

    walk(x, (kinds, note))
    return found


ONE_COPY = "one_copy"
"""What a loop is annotated with that :func:`for_` is told to compile once."""


DEVICE_CALL = "tirx.cuda.func_call"


def device_call(name: str, *args: Expr, source: str) -> Expr:
    """A call of a CUDA device function whose source travels with it."""
    return tirx.call_intrin("void", DEVICE_CALL, name, *args, source)


def itemsize(buf: Buffer) -> int:
    """Bytes of an element of a buffer."""
    return (int(tvm.DataType(str(buf.ty.dtype)).bits) + 7) // 8


def element_dtype(buf: Buffer) -> str:
    """The dtype of a buffer's elements."""
    return str(buf.ty.dtype)


def same_expr(a: Expr, b: Expr) -> bool:
    """Whether two expressions are built alike."""
    return bool(tvm_ffi.structural_equal(a, b, map_free_vars=False))


def as_load(x: Expr) -> tuple[Buffer, list[Expr]] | None:
    """The buffer and the coordinates of an expression that is a load; otherwise None."""
    return (x.source, list(x.indices)) if isinstance(x, ir.TensorLoad) else None


def as_choice(x: Expr) -> tuple[Expr, Expr, Expr] | None:
    """The condition and the two values of an expression that :func:`if_then_else` made; otherwise None."""
    if isinstance(x, ir.Call) and getattr(x.op, "name", "").endswith("if_then_else"):
        return tuple(x.args)
    return None


def extents(buf: Buffer) -> list[Expr]:
    """The extents of a buffer."""
    return [int64(d) for d in buf.ty.shape]


def size_of(buf: Buffer, first: int = 0) -> Expr:
    """Bytes of a buffer's elements, all of them or those that its axes from the ``first`` on number."""
    total = const(itemsize(buf))
    for n in extents(buf)[first:]:
        total = total * n
    return total


def launches(s: Stmt) -> int:
    """The kernels that a statement of the host launches, at most."""
    if isinstance(s, tirx.SeqStmt):
        return sum(map(launches, s.seq))
    if isinstance(s, tirx.For):
        return 1 if s.kind == tirx.ForKind.THREAD_BINDING else launches(s.body)
    if isinstance(s, tirx.IfThenElse):
        return max(launches(s.then_case), 0 if s.else_case is None else launches(s.else_case))
    return launches(s.body) if isinstance(s, tirx.AttrStmt) else 0


# -- tensor expressions -----------------------------------------------------------------------------------------------


def te_placeholder(name: str, shape: Sequence[Expr], dtype: str) -> Any:
    return te.placeholder(tuple(shape), dtype, name)


def is_te_tensor(x: Any) -> bool:
    return isinstance(x, te.Tensor)


def te_compute(name: str, shape: Sequence[Expr], body: Callable[..., Any]) -> Any:
    return te.compute(tuple(int64(s) for s in shape), body, name=name)


def te_extern(name: str, shape: Sequence[Expr], dtype: str, inputs: Sequence[Any], body: Callable[..., Stmt]) -> Any:
    """A tensor whose TIR is given; ``body`` gets the inputs' buffers and the output's."""
    return te.extern(
        [tuple(int64(s) for s in shape)],
        list(inputs),
        lambda ins, outs: body(list(ins), outs[0]),
        name=name,
        dtype=[dtype],
    )


def te_fold(
    name: str,
    shape: Sequence[Expr],
    reduced: Sequence[Expr],
    initial: Sequence[Expr],
    step: Callable[..., Any],
    values: Callable[[Sequence[Expr], Sequence[Expr]], Sequence[Expr]],
) -> Any:
    """A reduction of one or several accumulators; ``step`` combines two tuples of them."""
    axes = [te.reduce_axis((const(0), int64(r)), f"r{k}") for k, r in enumerate(reduced)]

    def combine(x: Any, y: Any) -> Any:
        xs, ys = (x, y) if isinstance(x, (tuple, list)) else ([x], [y])
        new = step(list(xs), list(ys))
        return tuple(new) if len(new) > 1 else new[0]

    def identity(*dtypes: str) -> Any:
        return tuple(initial) if len(initial) > 1 else initial[0]

    reducer = te.comm_reducer(combine, identity, name=name)

    def body(*c: Expr) -> Any:
        found = values(list(c), [a.var for a in axes])
        return reducer(tuple(found) if len(found) > 1 else found[0], axis=axes)

    return te.compute(tuple(int64(s) for s in shape), body, name=name)


def te_prim_func(tensors: Sequence[Any]) -> PrimFunc:
    return te.create_prim_func(list(tensors))
