"""Micro-kernels in LLVM IR, for what a loop cannot say.

``gs_copy_row``       copies a row, where told to by non-temporal stores: the lines of a large result are then not read before
                      they are overwritten, which a plain store does, and do not evict what is read again.  100,000 rows of
                      512 bytes: 2.0 ms, with plain vector stores 2.9, with the C library's copy 3.3.
``gs_copy_lines``     copies a row of a few whole lines by non-temporal stores, if ``gs_in_lines`` says that rows can be.  Where
                      their length is known only at run time, a loop with no other way to copy in it keeps what it needs in
                      registers: a million rows of 64 bytes 4.6 ms, by ``gs_copy_row`` 6.0, of a length known before 4.3.
``gs_prefetch_row``   prefetches the first cache lines of a row that will be read soon, into the L1 cache.
``gs_prefetch_end``   prefetches the line of its last byte, since rows begin anywhere in one: a million rows of 48 bytes of 32 MB
                      4.8 ms, without 6.6.
``gs_prefetch_lines`` prefetches some lines from which elements will be picked soon, into the L2 cache.  1,024 of 4,096 columns
                      of 4,096 rows: 3.1 ms, without 7.4.
``gs_store_fence``    waits until non-temporal stores are visible; once per thread, before others are told that it is done.

LLVM splits the 64-byte vectors for CPUs whose registers are shorter, and ignores the hints where there is no non-temporal store
or no such prefetch.
"""

from __future__ import annotations

from gscompile.ir import tir as T
from gscompile.ir.tir import Expr, Stmt
from gscompile.schedules.llvm.numbers import ELEMENT_BYTES, FEW_LINES, LINE_BYTES, PREFETCH_LINES, WHOLE_LINES_BYTES

assert LINE_BYTES == 64, "the code below is written for cache lines of 64 bytes"


def _line(o: str, at: str) -> str:
    """One line of a row, at the offset ``at``, by 16 bytes at a time, by non-temporal stores; ``o`` begins all names."""
    return "".join(
        f"  %{o}.{k} = add nuw nsw i64 {at}, {16 * k}\n"
        f"  %{o}.source{k} = getelementptr i8, ptr %from, i64 %{o}.{k}\n"
        f"  %{o}.bytes{k} = load <4 x i32>, ptr %{o}.source{k}, align 1\n"
        for k in range(4)
    ) + "".join(
        f"  %{o}.target{k} = getelementptr i8, ptr %to, i64 %{o}.{k}\n"
        f"  store <4 x i32> %{o}.bytes{k}, ptr %{o}.target{k}, align 16, !nontemporal !0\n"
        for k in range(4)
    )


def _ends(size: int, kind: str, otherwise: str) -> str:
    """The first and the last ``size`` bytes of a row that has as many; they may overlap."""
    o = f"e{size}"
    return (
        f"  %{o}.at = sub i64 %n, {size}\n"
        f"  %{o}.fits = icmp sge i64 %{o}.at, 0\n"
        f"  br i1 %{o}.fits, label %{o}, label %{otherwise}\n"
        f"{o}:\n"
        f"  %{o}.source = getelementptr i8, ptr %from, i64 %{o}.at\n"
        f"  %{o}.target = getelementptr i8, ptr %to, i64 %{o}.at\n"
        f"  %{o}.first = load {kind}, ptr %from, align 1\n"
        f"  %{o}.last = load {kind}, ptr %{o}.source, align 1\n"
        f"  store {kind} %{o}.first, ptr %to, align 1\n"
        f"  store {kind} %{o}.last, ptr %{o}.target, align 1\n"
        f"  br label %done\n"
        f"{otherwise}:\n"
    )


# Non-temporal stores must be aligned.  Large NumPy arrays begin 16 bytes after a multiple of 64: 16 bytes at a time then,
# but whole lines in the middle of a row that is long enough.
_COPY_ROW = (
    """
define void @gs_copy_row(ptr noalias nocapture writeonly %to, ptr noalias nocapture readonly %from, i64 %n, i32 %non.temporal)
    alwaysinline nounwind {
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %begin, label %done
begin:
  %address = ptrtoint ptr %to to i64
  %both = or i64 %address, %n
  %low = and i64 %both, 15
  %aligned = icmp eq i64 %low, 0
  %wanted = icmp ne i32 %non.temporal, 0
  %stream = and i1 %aligned, %wanted
  br i1 %stream, label %cut, label %plain
cut:
  %short = icmp slt i64 %n, """
    + str(WHOLE_LINES_BYTES)
    + """
  br i1 %short, label %fours, label %long
fours:
  %o = phi i64 [ 0, %cut ], [ %o.next, %four ]
  %o.next = add nuw nsw i64 %o, 64
  %o.fits = icmp sle i64 %o.next, %n
  br i1 %o.fits, label %four, label %remain
four:
"""
    + _line("o", "%o")
    + """  br label %fours
remain:
  %remains = icmp slt i64 %o, %n
  br i1 %remains, label %last, label %done
long:
  %before = sub i64 0, %address
  %head = and i64 %before, 63
  %rest = sub i64 %n, %head
  %whole = and i64 %rest, -64
  %tail = add i64 %head, %whole
  %any.head = icmp sgt i64 %head, 0
  br i1 %any.head, label %first, label %line
first:
  %f = phi i64 [ 0, %long ], [ %f.next, %first ]
  %f.source = getelementptr i8, ptr %from, i64 %f
  %f.target = getelementptr i8, ptr %to, i64 %f
  %f.bytes = load <4 x i32>, ptr %f.source, align 1
  store <4 x i32> %f.bytes, ptr %f.target, align 16, !nontemporal !0
  %f.next = add nuw nsw i64 %f, 16
  %f.more = icmp slt i64 %f.next, %head
  br i1 %f.more, label %first, label %line, !llvm.loop !3
line:
  %at = phi i64 [ 0, %long ], [ %head, %first ], [ %next, %line ]
  %source = getelementptr i8, ptr %from, i64 %at
  %target = getelementptr i8, ptr %to, i64 %at
  %bytes = load <16 x i32>, ptr %source, align 1
  store <16 x i32> %bytes, ptr %target, align 64, !nontemporal !0
  %next = add nuw nsw i64 %at, 64
  %more = icmp slt i64 %next, %tail
  br i1 %more, label %line, label %end
end:
  %any.tail = icmp slt i64 %tail, %n
  br i1 %any.tail, label %last, label %done
last:
  %l = phi i64 [ %o, %remain ], [ %tail, %end ], [ %l.next, %last ]
  %l.source = getelementptr i8, ptr %from, i64 %l
  %l.target = getelementptr i8, ptr %to, i64 %l
  %l.bytes = load <4 x i32>, ptr %l.source, align 1
  store <4 x i32> %l.bytes, ptr %l.target, align 16, !nontemporal !0
  %l.next = add nuw nsw i64 %l, 16
  %l.more = icmp slt i64 %l.next, %n
  br i1 %l.more, label %last, label %done, !llvm.loop !4
plain:
  %v.end = sub i64 %n, 64
  %lines = icmp sge i64 %v.end, 0
  br i1 %lines, label %vector, label %shorter
vector:
  %v = phi i64 [ 0, %plain ], [ %v.next, %vector ]
  %v.source = getelementptr i8, ptr %from, i64 %v
  %v.target = getelementptr i8, ptr %to, i64 %v
  %v.bytes = load <16 x i32>, ptr %v.source, align 1
  store <16 x i32> %v.bytes, ptr %v.target, align 1
  %v.next = add nuw nsw i64 %v, 64
  %v.more = icmp sle i64 %v.next, %v.end
  br i1 %v.more, label %vector, label %odd, !llvm.loop !1
odd:
  %is.odd = icmp slt i64 %v.next, %n
  br i1 %is.odd, label %overlap, label %done
overlap:
  %e.source = getelementptr i8, ptr %from, i64 %v.end
  %e.target = getelementptr i8, ptr %to, i64 %v.end
  %e.bytes = load <16 x i32>, ptr %e.source, align 1
  store <16 x i32> %e.bytes, ptr %e.target, align 1
  br label %done
shorter:
"""
    + _ends(32, "<8 x i32>", "sixteens")
    + _ends(16, "<4 x i32>", "eights")
    + _ends(8, "i64", "fourths")
    + _ends(4, "i32", "least")
    + """  %b.bytes = load i8, ptr %from, align 1
  store i8 %b.bytes, ptr %to, align 1
  %b.half = lshr i64 %n, 1
  %b.last = sub i64 %n, 1
  %b.half.source = getelementptr i8, ptr %from, i64 %b.half
  %b.half.target = getelementptr i8, ptr %to, i64 %b.half
  %b.half.bytes = load i8, ptr %b.half.source, align 1
  store i8 %b.half.bytes, ptr %b.half.target, align 1
  %b.last.source = getelementptr i8, ptr %from, i64 %b.last
  %b.last.target = getelementptr i8, ptr %to, i64 %b.last
  %b.last.bytes = load i8, ptr %b.last.source, align 1
  store i8 %b.last.bytes, ptr %b.last.target, align 1
  br label %done
done:
  ret void
}
!0 = !{i32 1}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.isvectorized", i32 1}
!3 = distinct !{!3, !6}
!4 = distinct !{!4, !6}
!5 = distinct !{!5, !6}
!6 = !{!"llvm.loop.unroll.disable"}
"""
)

_COPY_LINES = (
    """
define i32 @gs_in_lines(ptr %to, i64 %n, i32 %non.temporal) alwaysinline nounwind {
  %address = ptrtoint ptr %to to i64
  %place = and i64 %address, 15
  %rest = and i64 %n, 63
  %both = or i64 %place, %rest
  %whole = icmp eq i64 %both, 0
  %before = sub i64 %n, 1
  %few = icmp ult i64 %before, """
    + str(LINE_BYTES * FEW_LINES)
    + """
  %wanted = icmp ne i32 %non.temporal, 0
  %fits = and i1 %whole, %few
  %all = and i1 %fits, %wanted
  %answer = zext i1 %all to i32
  ret i32 %answer
}
define void @gs_copy_lines(ptr noalias nocapture writeonly %to, ptr noalias nocapture readonly %from, i64 %n)
    alwaysinline nounwind {
"""
    + "".join(
        f"line{j}:\n"
        + _line(f"o{j}", f"{64 * j}")
        + (
            f"  %more{j} = icmp sgt i64 %n, {64 * (j + 1)}\n  br i1 %more{j}, label %line{j + 1}, label %done\n"
            if j + 1 < FEW_LINES
            else "  br label %done\n"
        )
        for j in range(FEW_LINES)
    )
    + "done:\n  ret void\n}\n"
)

_PREFETCH_ROW = (
    "define void @gs_prefetch_row(ptr nocapture readonly %row, i64 %n) alwaysinline nounwind {\n"
    "line0:\n"
    + "".join(
        f"  %p{k} = getelementptr i8, ptr %row, i64 {64 * k}\n"
        f"  call void @llvm.prefetch.p0(ptr %p{k}, i32 0, i32 3, i32 1)\n"
        f"  %more{k} = icmp sgt i64 %n, {64 * (k + 1)}\n"
        + (
            f"  br i1 %more{k}, label %line{k + 1}, label %done\nline{k + 1}:\n"
            if k + 1 < PREFETCH_LINES
            else "  br label %done\n"
        )
        for k in range(PREFETCH_LINES)
    )
    + "done:\n  ret void\n}\n"
    + "define void @gs_prefetch_end(ptr nocapture readonly %row, i64 %n) alwaysinline nounwind {\n"
    + "  %last = add i64 %n, -1\n"
    + "  %p = getelementptr i8, ptr %row, i64 %last\n"
    + "  call void @llvm.prefetch.p0(ptr %p, i32 0, i32 3, i32 1)\n"
    + "  ret void\n}\n"
    + "declare void @llvm.prefetch.p0(ptr nocapture readonly, i32 immarg, i32 immarg, i32 immarg)\n"
)

_PREFETCH_LINES = """
define void @gs_prefetch_lines(ptr nocapture readonly %from, i64 %lines) alwaysinline nounwind {
entry:
  %some = icmp sgt i64 %lines, 0
  br i1 %some, label %line, label %done
line:
  %k = phi i64 [ 0, %entry ], [ %next, %line ]
  %offset = shl i64 %k, 6
  %at = getelementptr i8, ptr %from, i64 %offset
  call void @llvm.prefetch.p0(ptr %at, i32 0, i32 2, i32 1)
  %next = add nuw nsw i64 %k, 1
  %more = icmp slt i64 %next, %lines
  br i1 %more, label %line, label %done, !llvm.loop !5
done:
  ret void
}
"""

_STORE_FENCE = "define void @gs_store_fence() alwaysinline nounwind {\n  fence seq_cst\n  ret void\n}\n"


def with_kernels(body: Stmt) -> Stmt:
    """A statement that may call the micro-kernels."""
    return T.import_llvm(_COPY_ROW + _COPY_LINES + _PREFETCH_ROW + _PREFETCH_LINES + _STORE_FENCE, body)


def copy_row(to: Expr, source: Expr, nbytes: Expr, non_temporal: Expr) -> Stmt:
    """Copy ``nbytes`` bytes; see ``gs_copy_row``."""
    return T.evaluate(T.call_extern("void", "gs_copy_row", to, source, nbytes, T.cast("int32", non_temporal)))


def in_lines(to: Expr, nbytes: Expr, non_temporal: Expr) -> Expr:
    """Whether rows of this length, the first of them at ``to``, are to be copied by :func:`copy_lines`."""
    return T.call_extern("int32", "gs_in_lines", to, nbytes, T.cast("int32", non_temporal)) != 0


def copy_lines(to: Expr, source: Expr, nbytes: Expr) -> Stmt:
    """Copy a row for which :func:`in_lines` holds."""
    return T.evaluate(T.call_extern("void", "gs_copy_lines", to, source, nbytes))


def prefetch_row(row: Expr, nbytes: Expr) -> Stmt:
    """Prefetch the first of ``nbytes`` bytes into the L1 cache, at most :data:`PREFETCH_LINES` lines.

    The line of the last byte, too, if their number is known and as few, since a row begins anywhere in a line.
    """
    begin, known = T.evaluate(T.call_extern("void", "gs_prefetch_row", row, nbytes)), T.constant_value(nbytes)
    if known is None or not ELEMENT_BYTES < known <= PREFETCH_LINES * LINE_BYTES:
        return begin
    return T.seq(begin, T.evaluate(T.call_extern("void", "gs_prefetch_end", row, nbytes)))


def prefetch_lines(start: Expr, lines: Expr) -> Stmt:
    """Prefetch this many lines into the L2 cache."""
    return T.evaluate(T.call_extern("void", "gs_prefetch_lines", start, lines))


def store_fence(non_temporal: Expr) -> Stmt:
    """Wait until non-temporal stores are visible to other threads, where there were some: it waits for all others, too."""
    return T.if_(non_temporal, T.evaluate(T.call_extern("void", "gs_store_fence")))
