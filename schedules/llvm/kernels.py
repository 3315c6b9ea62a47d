"""Micro-kernels in LLVM IR, for what a loop cannot say.

``gs_copy_row``  copies a row.  Where told to, and where the row is made of whole cache lines, it stores past the caches: the
                 lines of a large result are then not read before they are overwritten, which a plain store does, and do not
                 push out what is read again.
``gs_touch_row`` asks for the first cache lines of a row that will be copied soon.
``gs_drain``     waits until such stores are done; once per thread, before others are told.

LLVM splits the 64-byte vectors for CPUs whose registers are shorter, and ignores the hint where there is no such store.
"""

from __future__ import annotations

from gscompile import _tvm as T
from gscompile._tvm import Expr, Stmt

TOUCHED_LINES = 8

_COPY_ROW = """
define void @gs_copy_row(ptr noalias nocapture writeonly %to, ptr noalias nocapture readonly %from, i64 %n, i32 %past)
    alwaysinline nounwind {
entry:
  %address = ptrtoint ptr %to to i64
  %both = or i64 %address, %n
  %low = and i64 %both, 63
  %whole = icmp eq i64 %low, 0
  %asked = icmp ne i32 %past, 0
  %some = icmp sgt i64 %n, 0
  %a = and i1 %whole, %asked
  %b = and i1 %a, %some
  br i1 %b, label %line, label %plain
line:
  %at = phi i64 [ 0, %entry ], [ %next, %line ]
  %source = getelementptr i8, ptr %from, i64 %at
  %target = getelementptr i8, ptr %to, i64 %at
  %bytes = load <16 x i32>, ptr %source, align 1
  store <16 x i32> %bytes, ptr %target, align 64, !nontemporal !0
  %next = add nuw nsw i64 %at, 64
  %more = icmp slt i64 %next, %n
  br i1 %more, label %line, label %done
plain:
  call void @llvm.memcpy.p0.p0.i64(ptr align 1 %to, ptr align 1 %from, i64 %n, i1 false)
  br label %done
done:
  ret void
}
declare void @llvm.memcpy.p0.p0.i64(ptr noalias nocapture writeonly, ptr noalias nocapture readonly, i64, i1 immarg)
!0 = !{i32 1}
"""

_TOUCH_ROW = (
    "define void @gs_touch_row(ptr nocapture readonly %row, i64 %n) alwaysinline nounwind {\n"
    "line0:\n"
    + "".join(
        f"  %p{k} = getelementptr i8, ptr %row, i64 {64 * k}\n"
        f"  call void @llvm.prefetch.p0(ptr %p{k}, i32 0, i32 3, i32 1)\n"
        f"  %more{k} = icmp sgt i64 %n, {64 * (k + 1)}\n"
        + (
            f"  br i1 %more{k}, label %line{k + 1}, label %done\nline{k + 1}:\n"
            if k + 1 < TOUCHED_LINES
            else "  br label %done\n"
        )
        for k in range(TOUCHED_LINES)
    )
    + "done:\n  ret void\n}\ndeclare void @llvm.prefetch.p0(ptr nocapture readonly, i32 immarg, i32 immarg, i32 immarg)\n"
)

_DRAIN = "define void @gs_drain() alwaysinline nounwind {\n  fence seq_cst\n  ret void\n}\n"


def with_kernels(body: Stmt) -> Stmt:
    """A statement that may call the micro-kernels."""
    return T.import_llvm(_COPY_ROW + _TOUCH_ROW + _DRAIN, body)


def copy_row(to: Expr, source: Expr, nbytes: Expr, past_caches: Expr) -> Stmt:
    return T.evaluate(T.call_extern("void", "gs_copy_row", to, source, nbytes, T.cast("int32", past_caches)))


def touch_row(row: Expr, nbytes: Expr) -> Stmt:
    return T.evaluate(T.call_extern("void", "gs_touch_row", row, nbytes))


def drain() -> Stmt:
    return T.evaluate(T.call_extern("void", "gs_drain"))
