"""Calls of a compiled function on NumPy arrays whose facts are read by compiled code, not by Python.

What a kernel must know of an array, its type, dtype, rank, extents, flags and address, are members of the array object.
NumPy's C headers read them (``PyArray_DATA``, ``PyArray_DIMS``...) from inline code in every extension module, so where they
stand is part of its binary interface; :func:`layout_is_known` tries it before it is relied on.  A pattern is what they were in
a call that was found good.  ``gs_call`` compares them with the arrays of another call, and if all agree runs the kernel.  Its
answer is 0 where they do not, or an index was out of range: the caller then has to look more closely.

100 elements of 1,000: 0.85 us a call in all, 4.5 where Python reads the same members.  Other threads run meanwhile, as in NumPy:
who changes an array's shape or storage during a call must not be surprised.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import tvm_ffi.libinfo
from numpy.typing import NDArray

from gscompile import _tvm as T
from gscompile.targets import resolve
from gscompile.threads import get_num_threads

# Where things stand in an object, in bytes.  The address of the data follows any object's head: its count and its type.
_HEAD = object.__basicsize__
_TYPE, _DATA, _RANK, _EXTENTS, _DTYPE, _FLAGS = _HEAD - 8, _HEAD, _HEAD + 8, _HEAD + 16, _HEAD + 40, _HEAD + 48
_ITEMS = tuple.__basicsize__

_ROW_MAJOR, _ALIGNED, _WRITEABLE = 0x1, 0x100, 0x400  # of ndarray.flags.num

# A pattern is words of 8 bytes: these, then for each input and the output its dtype, the flags it needs, its bytes, its rank
# and its extents.
_WORDS = ("next", "caller", "function", "inputs", "arguments", "template", "status", "in_place")
_WORD = {name: k for k, name in enumerate(_WORDS)}
_FACTS = 4
_INT, _POINTER = 1, 4  # TVMFFITypeIndex of an argument, whose value follows it
MOST = 16  # patterns of a module

_CALL = f"""
declare void @llvm.memcpy.p0.p0.i64(ptr noalias nocapture writeonly, ptr noalias nocapture readonly, i64, i1 immarg)

define i64 @gs_call(i64 %first, i64 %args.id, i64 %out.id, i64 %threads) nounwind {{
entry:
  %args = inttoptr i64 %args.id to ptr
  %out = inttoptr i64 %out.id to ptr
  %given.at = getelementptr i8, ptr %args, i64 {_HEAD}
  %given = load i64, ptr %given.at
  br label %next
next:
  %pattern.id = phi i64 [ %first, %entry ], [ %following, %differs ]
  %none = icmp eq i64 %pattern.id, 0
  br i1 %none, label %refused, label %look
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
  %item.at = getelementptr i8, ptr %args, i64 {_ITEMS}
  %slot = getelementptr ptr, ptr %item.at, i64 %k
  br i1 %is.out, label %facing, label %item
item:
  %argument = load ptr, ptr %slot
  br label %facing
facing:
  %x = phi ptr [ %out, %array ], [ %argument, %item ]
  %type.at = getelementptr i8, ptr %x, i64 {_TYPE}
  %type = load i64, ptr %type.at
  %is.array = icmp eq i64 %type, {id(np.ndarray)}
  br i1 %is.array, label %known, label %differs
known:
  %dtype.at = getelementptr i8, ptr %x, i64 {_DTYPE}
  %dtype = load i64, ptr %dtype.at
  %dtype.want = load i64, ptr %facts
  %dtypes = icmp eq i64 %dtype, %dtype.want
  %flags.at = getelementptr i8, ptr %x, i64 {_FLAGS}
  %flags.short = load i32, ptr %flags.at
  %flags = zext i32 %flags.short to i64
  %flags.want.at = getelementptr i64, ptr %facts, i64 1
  %flags.want = load i64, ptr %flags.want.at
  %flags.both = and i64 %flags, %flags.want
  %usable = icmp eq i64 %flags.both, %flags.want
  %rank.at = getelementptr i8, ptr %x, i64 {_RANK}
  %rank.short = load i32, ptr %rank.at
  %rank = sext i32 %rank.short to i64
  %rank.want.at = getelementptr i64, ptr %facts, i64 3
  %rank.want = load i64, ptr %rank.want.at
  %ranks = icmp eq i64 %rank, %rank.want
  %two = and i1 %dtypes, %usable
  %three = and i1 %two, %ranks
  br i1 %three, label %axes, label %differs
axes:
  %extents.at = getelementptr i8, ptr %x, i64 {_EXTENTS}
  %extents = load ptr, ptr %extents.at
  %wants = getelementptr i64, ptr %facts, i64 {_FACTS}
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

run:
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
  %begin.at = getelementptr i8, ptr %out, i64 {_DATA}
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
  %input.at = getelementptr ptr, ptr %item.at, i64 %i
  %array.i = load ptr, ptr %input.at
  %data.at = getelementptr i8, ptr %array.i, i64 {_DATA}
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
  %from.extents = getelementptr i64, ptr %from, i64 {_FACTS}
  %from.next = getelementptr i64, ptr %from.extents, i64 %rank.i
  br label %place
call:
  %result.value = getelementptr {{ i64, i64 }}, ptr %passed, i64 %inputs, i32 1
  store i64 %begin, ptr %result.value
  %status.place = add nuw nsw i64 %inputs, 1
  %status.value = getelementptr {{ i64, i64 }}, ptr %passed, i64 %status.place, i32 1
  %status.id = ptrtoint ptr %status to i64
  store i64 %status.id, ptr %status.value
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
  %failed = call i32 %caller(ptr %function, ptr %passed, i32 %count, ptr %nothing)
  %bad = load i64, ptr %status
  %failed.wide = zext i32 %failed to i64
  %wrong = or i64 %failed.wide, %bad
  %right = icmp eq i64 %wrong, 0
  %answer = zext i1 %right to i64
  ret i64 %answer
refused:
  ret i64 0
}}
"""


Caller: TypeAlias = Callable[[int, int, int, int], int]
"""(address of the first pattern, of the tuple of inputs, of the output, number of threads) -> whether it has run."""


def layout_is_known() -> bool:
    """Whether arrays and tuples are laid out as expected, found by trying; only CPython's ``id`` is an address."""
    if sys.implementation.name != "cpython" or np.ndarray.__basicsize__ < _FLAGS + 4:
        return False
    base = np.zeros((4, 6), np.int16)
    probes = (base, base[1:, 2:], base.T, np.zeros(()), np.zeros((0, 3), np.float32), np.zeros(2, ">f8"))
    count, items = _words(id(probes) + _HEAD, 1), _words(id(probes) + _ITEMS, len(probes))
    return count == [len(probes)] and items == [id(x) for x in probes] and all(map(_matches, probes))


def _matches(x: NDArray[Any]) -> bool:
    at, short = id(x), ctypes.c_int32.from_address
    (kind,), (data,), (dtype,) = (_words(at + offset, 1) for offset in (_TYPE, _DATA, _DTYPE))
    if (kind, data, dtype) != (id(np.ndarray), x.__array_interface__["data"][0], id(x.dtype)):
        return False
    if (short(at + _RANK).value, short(at + _FLAGS).value) != (x.ndim, x.flags.num):
        return False
    return not x.ndim or _words(_words(at + _EXTENTS, 1)[0], x.ndim) == list(x.shape)


def _words(address: int, count: int) -> list[int]:
    return list((ctypes.c_int64 * count).from_address(address))


@lru_cache(maxsize=1)
def caller() -> Caller | None:
    """The compiled ``gs_call``; None where arrays are not laid out as it expects."""
    if not layout_is_known():
        return None
    parameters = [T.var(name) for name in ("first", "args", "out", "threads")]
    body = T.import_llvm(_CALL, T.return_(T.call_extern("int64", "gs_call", *parameters)))
    library = T.compile_module(T.module({"call": T.prim_func("call", parameters, body, 1)}), resolve("llvm").tvm)
    found: Caller = library["call"]
    return found


class Patterns:
    """The patterns of a module's good calls on NumPy arrays.

    Args:
        function: the compiled one; its arguments are inputs, output, status, workspace (none), sizes, threads, flags.
        status: how many words its record has.
    """

    __slots__ = ("_call", "_first", "_function", "_kept", "_seen", "_status")

    def __init__(self, function: Any, status: int) -> None:
        self._function, self._status = function, status
        self._first = 0
        self._call: Caller | None = None
        self._seen: set[tuple[tuple[int, ...], ...]] = set()
        self._kept: list[Any] = []  # and never freed, as another thread may be comparing with it

    def run(self, args: tuple[Any, ...], out: Any) -> bool:
        """Run the kernel on arrays like those of a good call; False if they are not, or an index was out of range."""
        return self._call is not None and bool(self._call(self._first, id(args), id(out), get_num_threads()))

    def add(self, inputs: Sequence[Any], out: Any, numbers: Sequence[int], in_place: int | None) -> None:
        """Remember a call that was found good, if all its arrays are NumPy's.

        Args:
            numbers: the sizes that the function takes.
            in_place: the input whose storage ``out`` may be.
        """
        if len(self._kept) >= MOST or any(type(x) is not np.ndarray for x in (*inputs, out)):
            return
        shapes = tuple([x.shape for x in inputs])
        call = caller()
        if call is None or shapes in self._seen:
            return
        self._seen.add(shapes)
        arguments = [(_POINTER, 0)] * (len(inputs) + 3) + [(_INT, n) for n in (*numbers, 0, 0)]
        template = (ctypes.c_int64 * (2 * len(arguments)))(*itertools.chain(*arguments))
        head = {
            "next": self._first,
            "caller": _function_call(),
            "function": self._function.__chandle__(),
            "inputs": len(inputs),
            "arguments": len(arguments),
            "template": ctypes.addressof(template),
            "status": self._status,
            "in_place": -1 if in_place is None else in_place,
        }
        words = [head[name] for name in _WORDS]
        for k, x in enumerate((*inputs, out)):
            flags = _ROW_MAJOR | _ALIGNED | (_WRITEABLE if k == len(inputs) else 0)
            words += [id(x.dtype), flags, x.nbytes, x.ndim, *x.shape]
        pattern = (ctypes.c_int64 * len(words))(*words)
        self._kept.append((pattern, template, [x.dtype for x in (*inputs, out)]))
        self._first = ctypes.addressof(pattern)
        self._call = call


@lru_cache(maxsize=1)
def _function_call() -> int:
    """The address of TVM's own call of a function."""
    library = ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi())
    return ctypes.cast(library.TVMFFIFunctionCall, ctypes.c_void_p).value or 0
