"""Calls of a compiled function on NumPy arrays whose facts are read by compiled code, not by Python.

What a kernel must know of an array, its type, dtype, rank, extents, flags and address, are members of the array object.  A
pattern is what they were in a call that was found good.  Compiled code (:mod:`.direct_ir`) compares them with the arrays
of another call, and if all agree runs the kernel; where they do not, or an index was out of range, a function in Python has to
look more closely.  Python calls that code as it calls an extension module's functions, with no frame of its own in between.

100 elements of 1,000: ``m(x, i, out=out)`` 0.28 us, ``m.bind(x, i, out=out)()`` 0.12, ``m(x, i)`` 0.28; where Python reads
the same members 4.5, 1.1 and 10; ``x.take(i, None, out, "clip")`` of NumPy 0.36.  Other threads run during all but brief
kernels: who changes an array's shape or storage meanwhile must not be surprised.
"""

from __future__ import annotations

import ctypes
import itertools
import re
import tempfile
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import tvm_ffi.libinfo

from gscompile.compiler.targets import resolve
from gscompile.ir import tir as T
from gscompile.runtime import layout
from gscompile.runtime.direct_ir import FACTS, INTEGER, POINTER, WORDS, code

MOST = 16  # patterns of a module

Answer: TypeAlias = Callable[..., Any]


class _Method(ctypes.Structure):
    """Python's ``PyMethodDef``."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_NO_ARGUMENTS, _FAST, _KEYWORDS = 0x4, 0x80, 0x2  # METH_NOARGS, METH_FASTCALL, METH_KEYWORDS


@lru_cache(maxsize=1)
def methods() -> tuple[_Method, _Method] | None:
    """A call and a bound one; None where arrays are not laid out as expected, or Python lacks a function that they need."""
    if not layout.is_known():
        return None
    try:
        text = code()
    except AttributeError:
        return None
    # a module's function is inlined wherever it is called, and has no address, unless the module is read from a file
    x = T.var("x")
    smallest = T.compile_module(T.module({"same": T.prim_func("same", [x], T.return_(x), 1)}), resolve("llvm").tvm)
    head = re.findall("^target .*$", smallest.mod.inspect_source("ll"), re.MULTILINE)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "call.ll"
        path.write_text("\n".join([*head, text]))
        library = T.load_module(path)
        addresses = (ctypes.c_void_p * 2)()
        library["gs_addresses"](ctypes.c_void_p(ctypes.addressof(addresses)))
    called = _Method(b"call", addresses[0], _FAST | _KEYWORDS, None)
    bound = _Method(b"call", addresses[1], _NO_ARGUMENTS, None)
    _forever.append((library, called, bound))
    return called, bound


_forever: list[Any] = []  # what functions in use need


def _function(method: _Method, self: tuple[Any, ...]) -> Answer:
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    function: Answer = new(ctypes.addressof(method), self, None)
    return function


class Patterns:
    """The patterns of a module's good calls on NumPy arrays.

    Args:
        function: the compiled one; its arguments are inputs, output, status, workspace (none), sizes, threads, flags.
        status: how many words its record has.
        closely: what is called where the arrays are like none of a good call, with the arguments of the call.

    Attributes:
        called: ``closely``, until there is a pattern; then what compares with it first.
    """

    __slots__ = ("_closely", "_first", "_function", "_kept", "_seen", "_status", "called")

    def __init__(self, function: Any, status: int, closely: Answer) -> None:
        self._function, self._status, self._closely = function, status, closely
        self._first = np.zeros(1, np.int64)
        self._seen: set[tuple[tuple[int, ...], ...]] = set()
        self._kept: list[Any] = []  # and never freed, as another thread may be comparing with it
        self.called = closely

    def bound(self, inputs: Sequence[Any], out: Any, closely: Answer) -> Answer:
        """A call without arguments, of ``closely`` where it cannot be run on these arrays just so."""
        found = methods()
        if found is None or any(type(x) is not np.ndarray for x in (*inputs, out)):
            return closely
        return _function(found[1], (self._first, closely, out, *inputs))

    def add(self, inputs: Sequence[Any], out: Any, numbers: Sequence[int], in_place: int | None, brief: bool) -> None:
        """Remember a call that was found good, if all its arrays are NumPy's.

        Args:
            numbers: the sizes that the function takes.
            in_place: the input whose storage ``out`` may be.
            brief: it takes so little time that other threads wait meanwhile: to let them run costs 0.05 us.
        """
        if len(self._kept) >= MOST or any(type(x) is not np.ndarray for x in (*inputs, out)):
            return
        shapes = tuple([x.shape for x in inputs])
        found = methods()
        if found is None or shapes in self._seen:
            return
        self._seen.add(shapes)
        arguments = [(POINTER, 0)] * (len(inputs) + 3) + [(INTEGER, n) for n in (*numbers, 0, 0)]
        template = (ctypes.c_int64 * (2 * len(arguments)))(*itertools.chain(*arguments))
        head = {
            "next": int(self._first[0]),
            "caller": _function_call(),
            "function": self._function.__chandle__(),
            "inputs": len(inputs),
            "arguments": len(arguments),
            "template": ctypes.addressof(template),
            "status": self._status,
            "in_place": -1 if in_place is None else in_place,
            "brief": int(brief),
        }
        words = [head[name] for name in WORDS]
        for k, x in enumerate((*inputs, out)):
            flags = layout.ROW_MAJOR | layout.ALIGNED | (layout.WRITEABLE if k == len(inputs) else 0)
            facts = [id(x.dtype), flags, x.nbytes, x.ndim]
            assert len(facts) == FACTS
            words += [*facts, *x.shape]
        pattern = (ctypes.c_int64 * len(words))(*words)
        self._kept.append((pattern, template, [x.dtype for x in (*inputs, out)]))
        self._first[0] = ctypes.addressof(pattern)
        if self.called is self._closely:
            self.called = _function(found[0], (self._first, self._closely))


@lru_cache(maxsize=1)
def _function_call() -> int:
    """The address of TVM's own call of a function."""
    library = ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi())
    return ctypes.cast(library.TVMFFIFunctionCall, ctypes.c_void_p).value or 0
