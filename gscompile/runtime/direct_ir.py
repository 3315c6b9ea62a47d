"""LLVM IR of a call of a compiled function on NumPy arrays; see :mod:`gscompile.runtime.direct`.

``gs_called``  is what ``m(...)`` calls, ``gs_bound`` what ``m.bind(...)()`` calls: functions as extension modules have them,
               whose ``self`` is a tuple of what they need.  They ask ``gs_run``, and where that refuses, a function in Python.
``gs_run``     compares the arrays with what is known, makes a small result where none is given, and runs the kernel, without
               holding Python's lock if that takes longer than to give it away.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

from gscompile.runtime.layout import DATA, DTYPE, EXTENTS, FLAGS, HEAD, ITEMS, RANK, TYPE
from gscompile.runtime.threads import COUNT_AT

# A pattern is words of 8 bytes: these, then for each input and the output FACTS of them, its dtype, the flags it needs, its
# bytes and its rank, and then its extents.
WORDS = ("next", "caller", "function", "inputs", "arguments", "template", "status", "in_place", "brief")
FACTS = 4
_WORD = {name: k for k, name in enumerate(WORDS)}
INTEGER, POINTER = 1, 4  # TVMFFITypeIndex of an argument, whose value follows it

# What the tuple holds: an array of one word, the address of the first pattern; the function in Python; bound, also the
# output and the inputs.
FIRST, CLOSELY, RESULT, INPUTS = range(4)

SMALL = 16384  # bytes of a result that is made here: beyond, where it begins matters more than how soon it is there
OUT = sys.intern("out")
_EMPTY = 184  # PyArray_Empty in NumPy's table of functions


def _python(name: str) -> str:
    """A function of Python's, by its address."""
    return f"inttoptr (i64 {ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value} to ptr)"


def _numpy(place: int) -> str:
    """A function of NumPy's C interface, by its place in the table."""
    numpy: Any = np
    umath = (numpy._core if hasattr(numpy, "_core") else numpy.core)._multiarray_umath
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table: Any = ctypes.cast(pointer(umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    return f"inttoptr (i64 {table[place]} to ptr)"


def code() -> str:
    """All of it, for this process.

    Raises:
        AttributeError: Python or NumPy lacks a function that it needs.
    """
    return f"""
declare void @llvm.memcpy.p0.p0.i64(ptr noalias nocapture writeonly, ptr noalias nocapture readonly, i64, i1 immarg)

; The result of a call, a new reference; null where somebody has to look more closely.
define ptr @gs_run(ptr %patterns, ptr %args, i64 %given, ptr %wanted) nounwind {{
entry:
  %words.at = getelementptr i8, ptr %patterns, i64 {DATA}
  %words = load ptr, ptr %words.at
  %first = load i64, ptr %words
  %fresh = icmp eq ptr %wanted, null
  br label %next
next:
  %pattern.id = phi i64 [ %first, %entry ], [ %following, %differs ]
  %none = icmp eq i64 %pattern.id, 0
  br i1 %none, label %unknown, label %look
look:
  %pattern = inttoptr i64 %pattern.id to ptr
  %inputs.at = getelementptr i64, ptr %pattern, i64 {_WORD["inputs"]}
  %inputs = load i64, ptr %inputs.at
  %facts.first = getelementptr i64, ptr %pattern, i64 {len(_WORD)}
  %counts = icmp eq i64 %given, %inputs
  br i1 %counts, label %array, label %differs
array:
  %k = phi i64 [ 0, %look ], [ %k.next, %agrees ]
  %facts = phi ptr [ %facts.first, %look ], [ %facts.next, %agrees ]
  %is.out = icmp eq i64 %k, %inputs
  %slot = getelementptr ptr, ptr %args, i64 %k
  br i1 %is.out, label %output, label %item
output:
  br i1 %fresh, label %make, label %facing
item:
  %argument = load ptr, ptr %slot
  br label %facing
facing:
  %x = phi ptr [ %wanted, %output ], [ %argument, %item ]
  %type.at = getelementptr i8, ptr %x, i64 {TYPE}
  %type = load i64, ptr %type.at
  %is.array = icmp eq i64 %type, {id(np.ndarray)}
  br i1 %is.array, label %known, label %differs
known:
  %dtype.at = getelementptr i8, ptr %x, i64 {DTYPE}
  %dtype = load i64, ptr %dtype.at
  %dtype.want = load i64, ptr %facts
  %dtypes = icmp eq i64 %dtype, %dtype.want
  %flags.at = getelementptr i8, ptr %x, i64 {FLAGS}
  %flags.short = load i32, ptr %flags.at
  %flags = zext i32 %flags.short to i64
  %flags.want.at = getelementptr i64, ptr %facts, i64 1
  %flags.want = load i64, ptr %flags.want.at
  %flags.both = and i64 %flags, %flags.want
  %usable = icmp eq i64 %flags.both, %flags.want
  %rank.at = getelementptr i8, ptr %x, i64 {RANK}
  %rank.short = load i32, ptr %rank.at
  %rank = sext i32 %rank.short to i64
  %rank.want.at = getelementptr i64, ptr %facts, i64 3
  %rank.want = load i64, ptr %rank.want.at
  %ranks = icmp eq i64 %rank, %rank.want
  %two = and i1 %dtypes, %usable
  %three = and i1 %two, %ranks
  br i1 %three, label %axes, label %differs
axes:
  %extents.at = getelementptr i8, ptr %x, i64 {EXTENTS}
  %extents = load ptr, ptr %extents.at
  %wants = getelementptr i64, ptr %facts, i64 {FACTS}
  br label %axis
axis:
  %a = phi i64 [ 0, %axes ], [ %a.next, %extent ]
  %whole = icmp eq i64 %a, %rank
  br i1 %whole, label %agrees, label %extent
extent:
  %a.next = add nuw nsw i64 %a, 1
  %n.at = getelementptr i64, ptr %extents, i64 %a
  %n = load i64, ptr %n.at
  %n.want.at = getelementptr i64, ptr %wants, i64 %a
  %n.want = load i64, ptr %n.want.at
  %same = icmp eq i64 %n, %n.want
  br i1 %same, label %axis, label %differs
agrees:
  %k.next = add nuw nsw i64 %k, 1
  %facts.next = getelementptr i64, ptr %wants, i64 %rank
  br i1 %is.out, label %run, label %array
differs:
  %following = load i64, ptr %pattern
  br label %next

make:
  %room.at = getelementptr i64, ptr %facts, i64 2
  %room = load i64, ptr %room.at
  %small = icmp ule i64 %room, {SMALL}
  br i1 %small, label %new, label %unknown
new:
  %new.dtype = load ptr, ptr %facts
  call void {_python("Py_IncRef")}(ptr %new.dtype)
  %new.rank.at = getelementptr i64, ptr %facts, i64 3
  %new.rank = load i64, ptr %new.rank.at
  %new.rank.short = trunc i64 %new.rank to i32
  %new.extents = getelementptr i64, ptr %facts, i64 {FACTS}
  %made = call ptr {_numpy(_EMPTY)}(i32 %new.rank.short, ptr %new.extents, ptr %new.dtype, i32 0)
  %no.room = icmp eq ptr %made, null
  br i1 %no.room, label %forget, label %run
forget:
  call void {_python("PyErr_Clear")}()
  ret ptr null

run:
  %out = phi ptr [ %wanted, %agrees ], [ %made, %new ]
  %total.at = getelementptr i64, ptr %pattern, i64 {_WORD["arguments"]}
  %total = load i64, ptr %total.at
  %passed = alloca {{ i64, i64 }}, i64 %total, align 16
  %template.at = getelementptr i64, ptr %pattern, i64 {_WORD["template"]}
  %template = load ptr, ptr %template.at
  %bytes = mul nuw nsw i64 %total, 16
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %passed, ptr align 8 %template, i64 %bytes, i1 false)
  %status.words.at = getelementptr i64, ptr %pattern, i64 {_WORD["status"]}
  %status.words = load i64, ptr %status.words.at
  %status = alloca i64, i64 %status.words, align 64
  store i64 0, ptr %status
  %in.place.at = getelementptr i64, ptr %pattern, i64 {_WORD["in_place"]}
  %in.place = load i64, ptr %in.place.at
  %begin.at = getelementptr i8, ptr %out, i64 {DATA}
  %begin = load i64, ptr %begin.at
  %size.at = getelementptr i64, ptr %facts, i64 2
  %size = load i64, ptr %size.at
  %end = add i64 %begin, %size
  br label %place
place:
  %i = phi i64 [ 0, %run ], [ %i.next, %apart ]
  %from = phi ptr [ %facts.first, %run ], [ %from.next, %apart ]
  %taken = phi i64 [ 0, %run ], [ %taken.next, %apart ]
  %all = icmp eq i64 %i, %inputs
  br i1 %all, label %call, label %input
input:
  %input.at = getelementptr ptr, ptr %args, i64 %i
  %array.i = load ptr, ptr %input.at
  %data.at = getelementptr i8, ptr %array.i, i64 {DATA}
  %data = load i64, ptr %data.at
  %value = getelementptr {{ i64, i64 }}, ptr %passed, i64 %i, i32 1
  store i64 %data, ptr %value
  %nbytes.at = getelementptr i64, ptr %from, i64 2
  %nbytes = load i64, ptr %nbytes.at
  %data.end = add i64 %data, %nbytes
  %below = icmp ult i64 %data, %end
  %above = icmp ult i64 %begin, %data.end
  %overlap = and i1 %below, %above
  %place.same = icmp eq i64 %data, %begin
  %place.own = icmp eq i64 %i, %in.place
  %over = and i1 %place.same, %place.own
  %clear = xor i1 %overlap, true
  %fine = or i1 %clear, %over
  br i1 %fine, label %apart, label %refused
apart:
  %here = and i1 %overlap, %over
  %here.bit = zext i1 %here to i64
  %taken.next = or i64 %taken, %here.bit
  %i.next = add nuw nsw i64 %i, 1
  %rank.i.at = getelementptr i64, ptr %from, i64 3
  %rank.i = load i64, ptr %rank.i.at
  %from.extents = getelementptr i64, ptr %from, i64 {FACTS}
  %from.next = getelementptr i64, ptr %from.extents, i64 %rank.i
  br label %place
call:
  %result.value = getelementptr {{ i64, i64 }}, ptr %passed, i64 %inputs, i32 1
  store i64 %begin, ptr %result.value
  %status.place = add nuw nsw i64 %inputs, 1
  %status.value = getelementptr {{ i64, i64 }}, ptr %passed, i64 %status.place, i32 1
  %status.id = ptrtoint ptr %status to i64
  store i64 %status.id, ptr %status.value
  %threads = load i64, ptr inttoptr (i64 {COUNT_AT} to ptr)
  %threads.place = sub nuw nsw i64 %total, 2
  %threads.value = getelementptr {{ i64, i64 }}, ptr %passed, i64 %threads.place, i32 1
  store i64 %threads, ptr %threads.value
  %taken.place = sub nuw nsw i64 %total, 1
  %taken.value = getelementptr {{ i64, i64 }}, ptr %passed, i64 %taken.place, i32 1
  store i64 %taken, ptr %taken.value
  %nothing = alloca {{ i64, i64 }}, align 16
  store {{ i64, i64 }} zeroinitializer, ptr %nothing
  %caller.at = getelementptr i64, ptr %pattern, i64 {_WORD["caller"]}
  %caller = load ptr, ptr %caller.at
  %function.at = getelementptr i64, ptr %pattern, i64 {_WORD["function"]}
  %function = load ptr, ptr %function.at
  %count = trunc i64 %total to i32
  %brief.at = getelementptr i64, ptr %pattern, i64 {_WORD["brief"]}
  %brief = load i64, ptr %brief.at
  %long = icmp eq i64 %brief, 0
  br i1 %long, label %unlocked, label %locked
locked:
  %failed.locked = call i32 %caller(ptr %function, ptr %passed, i32 %count, ptr %nothing)
  br label %ran
unlocked:
  %python = call ptr {_python("PyEval_SaveThread")}()
  %failed.unlocked = call i32 %caller(ptr %function, ptr %passed, i32 %count, ptr %nothing)
  call void {_python("PyEval_RestoreThread")}(ptr %python)
  br label %ran
ran:
  %failed = phi i32 [ %failed.locked, %locked ], [ %failed.unlocked, %unlocked ]
  %bad = load i64, ptr %status
  %failed.wide = zext i32 %failed to i64
  %wrong = or i64 %failed.wide, %bad
  %right = icmp eq i64 %wrong, 0
  br i1 %right, label %done, label %refused
done:
  br i1 %fresh, label %give, label %keep
keep:
  call void {_python("Py_IncRef")}(ptr %out)
  br label %give
give:
  ret ptr %out
refused:
  br i1 %fresh, label %drop, label %unknown
drop:
  call void {_python("Py_DecRef")}(ptr %out)
  br label %unknown
unknown:
  ret ptr null
}}

; What the function in Python gives for the arguments.
define ptr @gs_closely(ptr %self, ptr %args, i64 %given, ptr %names) nounwind {{
entry:
  %closely.at = getelementptr i8, ptr %self, i64 {ITEMS + 8 * CLOSELY}
  %function = load ptr, ptr %closely.at
  %answer = call ptr {_python("PyObject_Vectorcall")}(ptr %function, ptr %args, i64 %given, ptr %names)
  ret ptr %answer
}}

define ptr @gs_called(ptr %self, ptr %args, i64 %given, ptr %names) nounwind {{
entry:
  %first.at = getelementptr i8, ptr %self, i64 {ITEMS + 8 * FIRST}
  %first = load ptr, ptr %first.at
  %no.names = icmp eq ptr %names, null
  br i1 %no.names, label %try, label %named
named:
  %count.at = getelementptr i8, ptr %names, i64 {HEAD}
  %count = load i64, ptr %count.at
  %one = icmp eq i64 %count, 1
  br i1 %one, label %name, label %closely
name:
  %name.at = getelementptr i8, ptr %names, i64 {ITEMS}
  %name.id = load i64, ptr %name.at
  %is.out = icmp eq i64 %name.id, {id(OUT)}
  br i1 %is.out, label %with.out, label %closely
with.out:
  %out.at = getelementptr ptr, ptr %args, i64 %given
  %out = load ptr, ptr %out.at
  %out.id = ptrtoint ptr %out to i64
  %is.none = icmp eq i64 %out.id, {id(None)}
  %out.or.null = select i1 %is.none, ptr null, ptr %out
  br label %try
try:
  %wanted = phi ptr [ null, %entry ], [ %out.or.null, %with.out ]
  %result = call ptr @gs_run(ptr %first, ptr %args, i64 %given, ptr %wanted)
  %refused = icmp eq ptr %result, null
  br i1 %refused, label %closely, label %done
done:
  ret ptr %result
closely:
  %answer = call ptr @gs_closely(ptr %self, ptr %args, i64 %given, ptr %names)
  ret ptr %answer
}}

define ptr @gs_bound(ptr %self, ptr %nothing) nounwind {{
entry:
  %first.at = getelementptr i8, ptr %self, i64 {ITEMS + 8 * FIRST}
  %first = load ptr, ptr %first.at
  %out.at = getelementptr i8, ptr %self, i64 {ITEMS + 8 * RESULT}
  %out = load ptr, ptr %out.at
  %count.at = getelementptr i8, ptr %self, i64 {HEAD}
  %count = load i64, ptr %count.at
  %given = sub i64 %count, {INPUTS}
  %args = getelementptr i8, ptr %self, i64 {ITEMS + 8 * INPUTS}
  %result = call ptr @gs_run(ptr %first, ptr %args, i64 %given, ptr %out)
  %refused = icmp eq ptr %result, null
  br i1 %refused, label %closely, label %done
done:
  ret ptr %result
closely:
  %answer = call ptr @gs_closely(ptr %self, ptr null, i64 0, ptr null)
  ret ptr %answer
}}

define i32 @__tvm_ffi_gs_addresses(ptr %self, ptr %args, i32 %given, ptr %result) {{
entry:
  %to.at = getelementptr i8, ptr %args, i64 8
  %to = load ptr, ptr %to.at
  store ptr @gs_called, ptr %to
  %next = getelementptr ptr, ptr %to, i64 1
  store ptr @gs_bound, ptr %next
  ret i32 0
}}
"""
