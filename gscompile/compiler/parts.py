"""A long function in parts: a function for each nest, and one that calls them in turn.

What TVM and LLVM do takes time out of proportion to the length of a function, and nests that are alike, as those of the layers
of a network are, need to be compiled only once: they differ in what they are called with.
"""

from __future__ import annotations

from collections.abc import Iterable

from gscompile.ir import tir as T
from gscompile.ir.tir import Buffer, Expr, GlobalVar, PrimFunc, Stmt

NESTS = 16
"""Nests up to which a function stays in one piece: there is little to gain, and it is easier to read."""


class Parts:
    """Functions that share a prefix of their names, a device and the buffers of one caller."""

    def __init__(self, name: str, device_type: int, buffers: Iterable[tuple[Buffer, Expr]]) -> None:
        """``buffers``: what the caller declares, each with its address."""
        self.name, self.device_type = name, device_type
        self.addresses = dict(buffers)
        self.functions: dict[GlobalVar, PrimFunc] = {}
        self._known: dict[int, list[GlobalVar]] = {}

    def call(self, stmt: Stmt) -> Stmt:
        """A call of a function whose body is this statement; of one that is there already if it is alike."""
        free = T.free_variables(stmt)
        seen = set(free)
        for buffer in [v for v in free if v in self.addresses]:
            free += [v for d in T.extents(buffer) for v in T.free_variables(d) if v not in seen]
            seen.update(free)
        params, declared, arguments = [], [], []
        for v in free:
            address = self.addresses.get(v)
            if address is None:
                params.append(v)
                arguments.append(v)
            else:
                params.append(T.pointer(f"p{len(params)}", T.element_dtype(v)))
                arguments.append(address)
                declared.append(T.declare(v, params[-1]))
        return T.call_function(
            self._function(T.private_func(params, T.seq(*declared, stmt), self.device_type)), arguments
        )

    def _function(self, function: PrimFunc) -> GlobalVar:
        alike = self._known.setdefault(T.structural_hash(function), [])
        for known in alike:
            if T.structural_equal(self.functions[known], function):
                return known
        new = T.global_var(f"{self.name}_part{len(self.functions)}")
        self.functions[new] = function
        alike.append(new)
        return new
