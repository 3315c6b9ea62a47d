"""From functions to machine code: the pipelines, and what is done to a function before LLVM sees it."""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Callable, Mapping
from typing import Any

import tvm
import tvm_ffi
from tvm import ir, s_tir, tirx
from tvm.tirx.compilation_pipeline import default_tir_pipeline, register_tir_pipeline

from gscompile.ir import tir as T
from gscompile.ir.float16 import moved_by_codes
from gscompile.ir.tir import Expr, PrimFunc, Stmt, Var

# TVM puts conversions of float16 into each module, weak ones that count where the system has no others: 150 lines to compile,
# most of what a short loop takes.  Aliases are linked in place of them; functions would not be, since TVM makes what it imports
# available_externally.  What they stand for is a group of its own, which a library of several modules has once.
_NO_HALVES = """
$gs_no_half = comdat any
@gs_no_half = linkonce_odr hidden constant i8 0, comdat
@__truncsfhf2 = hidden alias i8, ptr @gs_no_half
@__extendhfsf2 = hidden alias i8, ptr @gs_no_half
"""


def unit_module(funcs: Mapping[str, PrimFunc]) -> Any:
    """A module of an ELF library that no other code is linked into: without conversions of float16 where it has no float16."""

    def is_half(x: Any) -> bool:
        return str(getattr(x.ty, "dtype", "")).startswith("float16")

    if any(T.walk(f.body, ((ir.TensorLoad, tirx.Cast, ir.Call, tirx.FloatImm), is_half)) for f in funcs.values()):
        return T.module(funcs)
    first, *rest = funcs.items()
    return T.module({first[0]: first[1].with_body(T.import_llvm(_NO_HALVES, first[1].body)), **dict(rest)})


def cpu_passes(simplify: bool = False) -> list[Any]:
    """What lowers the body of a function for llvm.

    Args:
        simplify: statements, too.  LLVM does it in less time, but TVM's default pipeline fails where a value is bound in two
            places, of which two ranges are known.
    """
    return [
        *([s_tir.transform.StmtSimplify()] if simplify else []),
        tirx.transform.FlattenBuffer(),
        tirx.transform.NarrowDataType(32),
        tirx.transform.VectorizeLoop(True),
        s_tir.transform.RewriteUnsafeSelect(),
    ]


def _cpu_pipeline() -> tuple[Any, Any, Any]:
    """TVM's lowering of a function for llvm without what only blocks, threads or other loops than ours need.

    The full one took 81 ms for a scatter of rows and 361 ms with symbolic sizes, most of it in passes with nothing to do.
    """
    passes = [
        *cpu_passes(),
        tirx.transform.SplitHostDevice(),
        tirx.transform.prim_func_pass(_called_by_us, opt_level=0),
    ]
    _, host, device = default_tir_pipeline()
    return tvm.ir.transform.Sequential(passes), host, device


_ANY_VALUE = 15  # TVM's number for what a TVMFFIAny holds


def _called_by_us(func: PrimFunc, mod: Any, ctx: Any) -> PrimFunc:
    """A function as tvm-ffi calls it, of one that takes addresses and int64 numbers.

    TVM's ``MakePackedAPI`` also tests the kind of each argument, half of the code of a small module; the only caller is ours.
    """
    if "global_symbol" not in func.attrs or T.UNIT in func.attrs:
        return func
    name = str(func.attrs["global_symbol"])
    this, args, result = (tirx.Var(n, "handle") for n in ("self", "args", "result"))
    given = [T.bind(v, _argument(args, k, v)) for k, v in enumerate(func.params)]
    scope = tirx.AttrStmt(T.const(0, "int32"), "compute_scope", ir.StringImm(f"{name}_compute_"), func.body)
    body = T.seq(*given, scope, tirx.Return(tirx.const(0, "int32")))
    packed = tirx.PrimFunc([this, args, tirx.Var("count", "int32"), result], body, ir.PrimType("int32"), func.attrs)
    return packed.with_attr({"global_symbol": f"__tvm_ffi_{name}", "calling_conv": ir.CallingConv.C_PACKED_FUNC.value})


def _argument(args: Var, k: int, v: Var) -> Expr:
    """What the k-th TVMFFIAny holds, for a parameter."""
    if isinstance(v.ty, ir.PointerType):
        return tirx.reinterpret(v.ty, tirx.tvm_struct_get(args, k, _ANY_VALUE, "handle"))
    return tirx.tvm_struct_get(args, k, _ANY_VALUE, T.dtype_of(v))


CPU_PIPELINE = "gscompile.cpu"
register_tir_pipeline(CPU_PIPELINE, _cpu_pipeline)


_THREADS, _NO_THREADS = "thread_extent", "gs_thread_extent"


def _renamed(key: str, new: str) -> Any:
    """A pass that gives attributes another key.

    Where ``FlattenBuffer`` knows a kernel's threads it tries to write each place as a sum over them, under all the tests around
    it: a third of all the time, for nearly the same text. At most the terms of an address stand in another order.
    """

    def change(func: PrimFunc, mod: Any, ctx: Any) -> PrimFunc:
        def rename(x: Any) -> Any:
            return tirx.AttrStmt(x.node, new, x.value, x.body) if x.attr_key == key else x

        return func.with_body(tvm_ffi.structural_map(func.body, (tirx.AttrStmt, rename), order="post"))

    return tirx.transform.prim_func_pass(change, opt_level=0)


def _cuda_pipeline() -> tuple[Any, Any, Any]:
    """TVM's lowering of a function for cuda without what only blocks need, of which the rules make none.

    The full one gives nearly the same text in three times the time: ``CompactBufferAllocation`` takes long, of five
    passes that simplify all statements two are enough, before storage is flat and where loops are unrolled, and storage is
    made flat without a look at threads.
    """
    hoist = s_tir.transform.HoistIfThenElse().passes[0]  # and not those after it, which simplify and remove
    passes = [
        s_tir.transform.UnifyThreadBinding(),
        s_tir.transform.StmtSimplify(),
        s_tir.transform.LowerOpaqueBlock(),  # loops bound to threads become statements
        _renamed(_THREADS, _NO_THREADS),
        tirx.transform.FlattenBuffer(),
        _renamed(_NO_THREADS, _THREADS),
        tirx.transform.BF16ComputeLegalize(),
        tirx.transform.NarrowDataType(32),
        s_tir.transform.LoopPartition(),
        tirx.transform.VectorizeLoop(True),
        hoist,
        tirx.transform.UnrollLoop(),
        s_tir.transform.RenormalizeSplitPattern(),
        tirx.transform.RemoveNoOp(),  # simplifies as well
        s_tir.transform.RewriteUnsafeSelect(),
        tirx.transform.FP8ComputeLegalize(),
        tirx.transform.VerifyMemory(),
        tirx.transform.AnnotateEntryFunc(),
        s_tir.transform.ThreadSync("shared"),
        s_tir.transform.ThreadSync("shared.dyn"),
        s_tir.transform.ThreadSync("warp"),
        s_tir.transform.LowerThreadAllreduce(),
        s_tir.transform.MergeSharedMemoryAllocations(),
        tirx.transform.SplitHostDevice(),
        tirx.transform.MakePackedAPI(),
        tirx.transform.FP8StorageLegalize(),
        tirx.transform.BF16StorageLegalize(),
    ]
    _, host, device = default_tir_pipeline()
    return tvm.ir.transform.Sequential(passes), host, device


CUDA_PIPELINE = "gscompile.cuda"
register_tir_pipeline(CUDA_PIPELINE, _cuda_pipeline)


def wraps_around(x: PrimFunc | Stmt) -> bool:
    """Whether one of the loops of a function, or a statement, does; see :func:`counter_wraps`."""
    return T.walk(x, (tirx.For, counter_wraps))


def counter_wraps(loop: Any) -> bool:
    """Whether a loop with branches computes with its counter's remainder, its bits, or the counter as a narrower integer."""

    def over(x: Any, variables: Any) -> bool:
        return T.walk(x, (tirx.Var, lambda v: v in variables))

    counters = {loop.loop_var}

    def bound(x: Any) -> bool:
        if over(x.value, counters):
            counters.add(x.var)
        return False

    def wraps(x: Any) -> bool:
        if isinstance(x, tirx.Cast):
            to, of = (T.dtype_of(e).lstrip("u") for e in (x, x.value))
            if not (to.startswith("int") and of.startswith("int") and int(to[3:]) < int(of[3:])):
                return False
        elif isinstance(x, tirx.FloorMod | tirx.Mod) and not isinstance(x.b, tirx.IntImm):
            return False
        return over(x, counters)

    if not T.walk(loop.body, (tirx.IfThenElse, lambda _: True), (ir.Call, lambda x: T.as_choice(x) is not None)):
        return False
    binds = ((tirx.Let, tirx.Bind), bound)
    return T.walk(loop.body, binds, ((tirx.FloorMod, tirx.Mod, tirx.BitwiseAnd, tirx.Cast), wraps), order="pre")


# LLVM 22.1 vectorises ``if c: y[i] = x[p + i % 8]``, p loaded outside of the loop, as if i % 8 never came back to 0, and drops
# the check that would see to it: wrong results, and reads past the end.  It does so to branches only.  Its options belong to
# the process, hence the lock; who compiles in another thread meanwhile gets the same code, or this slower one.
_NO_IF_CONVERSION = {"cl-opt": ["-enable-if-conversion:bool=0"]}
_llvm_options = threading.Lock()


def _forked() -> None:
    """A child has none of its parent's threads, one of which may have held the lock."""
    global _llvm_options
    _llvm_options = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


_OPAQUE = """
define i64 @gs_opaque(i64 %x) alwaysinline nounwind {
  %y = call i64 asm "", "=r,0"(i64 %x) memory(none) nounwind willreturn
  ret i64 %y
}
define i64 @gs_choose(i64 %c, i64 %x, i64 %y) alwaysinline nounwind {
  %first = icmp ne i64 %c, 0
  %a = call i64 asm "", "=r,0"(i64 %x) memory(none) nounwind willreturn
  %one = select i1 %first, i64 %a, i64 %y, !unpredictable !0
  %z = call i64 asm "", "=r,0"(i64 %one) memory(none) nounwind willreturn
  ret i64 %z
}
!0 = !{}
"""


# Our launcher is told into how many tasks a loop is cut: see gscompile/runtime/_launch.h.
_TASKS = """
@__TVMBackendParallelLaunch = external global ptr
define void @gs_tasks(i64 %n) alwaysinline nounwind {
  %launch = load ptr, ptr @__TVMBackendParallelLaunch
  %tasks = trunc i64 %n to i32
  %none = call i32 %launch(ptr null, ptr null, i32 %tasks)
  ret void
}
"""


def _announced(func: PrimFunc) -> PrimFunc:
    """A function that says before each parallel loop how many iterations it has."""

    def is_parallel(x: Any) -> bool:
        return bool(x.kind == tirx.ForKind.PARALLEL)

    def announced(x: Any) -> Any:
        return T.seq(T.evaluate(T.call_extern("void", "gs_tasks", x.extent)), x) if is_parallel(x) else x

    if not T.walk(func.body, (tirx.For, is_parallel)):
        return func
    return func.with_body(T.import_llvm(_TASKS, tvm_ffi.structural_map(func.body, (tirx.For, announced), order="post")))


# LLVM puts no second copy of a call like this anywhere: it neither unrolls nor unswitches the loops that it stands in.
_UNIQUE = """
define void @gs_unique() alwaysinline nounwind {
  call void asm sideeffect "", ""() noduplicate nounwind willreturn memory(inaccessiblemem: readwrite)
  ret void
}
"""


def _in_one_copy(func: PrimFunc) -> PrimFunc:
    """A function of whose loops LLVM makes no copies that :func:`~gscompile.ir.tir.for_` was told to compile once."""

    def is_one(x: Any) -> bool:
        return T.ONE_COPY in x.annotations

    def unique(x: Any) -> Any:
        if not is_one(x):
            return x
        body = T.seq(T.evaluate(T.call_extern("void", "gs_unique")), x.body)
        return tirx.For(x.loop_var, x.min, x.extent, x.kind, body, None)

    if not T.walk(func.body, (tirx.For, is_one)):
        return func
    return func.with_body(T.import_llvm(_UNIQUE, tvm_ffi.structural_map(func.body, (tirx.For, unique), order="post")))


def without_threads(func: PrimFunc) -> PrimFunc:
    """A function whose parallel loops are serial."""

    def serial(x: Any) -> Any:
        if x.kind != tirx.ForKind.PARALLEL:
            return x
        return tirx.For(x.loop_var, x.min, x.extent, tirx.ForKind.SERIAL, x.body, None)

    return func.with_body(tvm_ffi.structural_map(func.body, (tirx.For, serial), order="post"))


STACK_BYTES = 1024
"""Of a local buffer that TVM puts on the stack; larger ones, and those whose size is not known, it asks the system for."""


def beyond_stack(func: PrimFunc) -> str | None:
    """A local buffer of a function that TVM would not put on the stack."""
    found: list[str] = []

    def beyond(x: Any) -> bool:
        size = T.constant_value(T.simplify(T.size_of(x.buffer)))
        if size is None or size > STACK_BYTES:
            found.append(str(x.buffer.name))
        return bool(found)

    T.walk(func.body, (tirx.AllocBuffer, beyond))
    return found[0] if found else None


def for_llvm(func: PrimFunc) -> PrimFunc:
    """A function whose :func:`~gscompile.ir.tir.opaque` numbers pass through an empty piece of assembly, constants first.

    :func:`~gscompile.ir.tir.unpredictable` choices are marked so for LLVM.
    """

    def marked(x: Any) -> bool:
        return isinstance(x, tirx.BitwiseXor) and isinstance(x.b, tirx.IntImm) and x.b.value == T.OPAQUE_MARK.value

    def is_opaque(x: Any) -> bool:
        return marked(x) and marked(x.a)

    def is_choice(x: Any) -> bool:
        return isinstance(x.condition, tirx.NE) and is_opaque(x.condition.a)

    def chosen(x: Any) -> Any:
        if not is_choice(x):
            return x
        dtype, code = T.dtype_of(x), f"int{T.bits(x)}"
        of_floats = dtype == "float16"
        a, b = (T.cast("int64", T.reinterpret(code, y) if of_floats else y) for y in (x.true_value, x.false_value))
        one = T.call_extern("int64", "gs_choose", x.condition.a.a.a, a, b)
        return T.reinterpret(dtype, T.cast(code, one)) if of_floats else T.cast(dtype, one)

    def through(x: Any) -> Any:
        if not is_opaque(x):
            return x
        passed, known = T.call_extern("int64", "gs_opaque", x.a.a), T.constant_value(x.a.a)
        if known is None:
            return passed
        return constants.setdefault(known, (T.var("opaque"), passed))[0]

    if not T.walk(func.body, (tirx.BitwiseXor, is_opaque)):
        return func
    constants: dict[int, tuple[Var, Expr]] = {}
    body = tvm_ffi.structural_map(func.body, (tirx.Select, chosen), order="post")
    body = tvm_ffi.structural_map(body, (tirx.BitwiseXor, through), order="pre")
    return func.with_body(T.import_llvm(_OPAQUE, T.seq(*(T.bind(v, passed) for v, passed in constants.values()), body)))


def compile_module(mod: Any, target: Any, pipeline: str = "default") -> Any:
    """Compile; the result has ``[name]`` to get functions, and ``.mod`` for sources.

    Args:
        pipeline: the name of TVM's lowering, as registered.
    """
    if pipeline == CPU_PIPELINE:
        mod = tvm.IRModule(
            {name: _announced(for_llvm(_in_one_copy(moved_by_codes(f)))) for name, f in mod.functions.items()}
        )
        if any(wraps_around(f) for f in mod.functions.values()):
            with _llvm_options:
                return _compile(mod, tvm.target.Target({**dict(target.export()), **_NO_IF_CONVERSION}), pipeline)
    return _compile(mod, target, pipeline)


def _compile(mod: Any, target: Any, pipeline: str) -> Any:
    # StorageRewrite would hoist local buffers out of the attributes that say which device they are on; CommonSubexprElim
    # fails on equal expressions in several nests, and LLVM and nvcc do its work anyway;
    # the cuda compiler is not told what it compiles for and asks for the current target
    # UnrollLoop counts steps in 32 bits, and unrolls a loop of any length where they overflow: not at any depth, then
    config = {
        "tirx.disable_storage_rewrite": True,
        "tirx.disable_cse_tir": True,
        "tirx.UnrollLoop": {"auto_max_depth": -1},
    }
    with target, tvm.transform.PassContext(config=config):
        return tvm.compile(mod, target=target, tir_pipeline=pipeline)


def device_source(library: Any) -> str:
    """The CUDA source of a compiled module's kernels."""
    return str(library.mod.imports[0].inspect_source()) if library.mod.imports else ""


def device_kernels(library: Any) -> list[tuple[str, list[str], list[str]]]:
    """The kernels of a cuda module: names, what their parameters are, and what the numbers after these are extents of.

    Only what TVM writes to disk says so.
    """
    if not library.mod.imports:
        return []
    data = bytes(tvm_ffi.get_global_func("runtime.ModulePackImportsToTensor")(library.mod).numpy())
    at = data.index(struct.pack("<Q", 4) + b"cuda") + 12 + 8  # a kind, and the length of what follows

    def number(form: str = "<Q") -> int:
        nonlocal at
        at += struct.calcsize(form)
        return int(struct.unpack_from(form, data, at - struct.calcsize(form))[0])

    def text() -> str:
        nonlocal at
        size = number()
        at += size
        return data[at - size : at].decode()

    text()  # the form of the code
    found = []
    for _ in range(number()):
        text()
        name, kinds = text(), []
        for _ in range(number()):
            code, bits, _ = number("<B"), number("<B"), number("<H")
            kinds.append(f"{('int', 'uint', 'float', 'handle')[code] if code < 4 else code}{bits}")
        tags = [text() for _ in range(number())]
        for _ in range(number()):
            number("<i")
        found.append((name, kinds, tags))
    return found


def serial_device(func: PrimFunc, plain: Callable[..., Stmt], backward: bool = False) -> PrimFunc:
    """A cuda function as one that runs on the CPU: thread bindings as serial loops.

    ``plain``: (name of a device function, buffer, coordinates, further arguments) -> what it does.
    ``backward``: blocks and threads are taken from the last to the first.
    """

    def visit(s: Stmt) -> Stmt:
        if isinstance(s, tirx.SeqStmt):
            return tirx.SeqStmt([visit(x) for x in s.seq])
        if isinstance(s, tirx.For) and s.kind == tirx.ForKind.THREAD_BINDING:
            k = tirx.Var("k", T.dtype_of(s.loop_var)) if backward else s.loop_var
            body = visit(s.body)
            if backward:
                body = T.seq(tirx.Bind(s.loop_var, T.hidden(s.extent - 1 - k)), body)
            return tirx.For(k, s.min, s.extent, tirx.ForKind.SERIAL, body, None)
        if isinstance(s, tirx.For):
            return tirx.For(s.loop_var, s.min, s.extent, s.kind, visit(s.body), None)
        if isinstance(s, tirx.IfThenElse):
            return tirx.IfThenElse(s.condition, visit(s.then_case), None if s.else_case is None else visit(s.else_case))
        if isinstance(s, tirx.AttrStmt):
            value = tirx.const(1, "int32") if s.attr_key == "device_type" else s.value
            return tirx.AttrStmt(s.node, s.attr_key, value, visit(s.body))
        if isinstance(s, tirx.Evaluate) and isinstance(s.value, ir.Call) and s.value.op.name == T.DEVICE_CALL:
            name, address, *values, _ = s.value.args
            return plain(str(name.value), *T.addressed(address), *values)
        return s

    return func.with_body(visit(func.body))
