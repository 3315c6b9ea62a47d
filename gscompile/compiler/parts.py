"""A long function in parts: a function for each nest, and one that calls them in turn.

What TVM and LLVM do takes time out of proportion to the length of a function, and nests that are alike, as those of the layers
of a network are, need to be compiled only once: they differ in what they are called with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gscompile.ir import tir as T
from gscompile.ir.tir import Buffer, Expr, GlobalVar, PrimFunc, Stmt, Var

NESTS = 16
"""Nests up to which a function stays in one piece: there is little to gain, and it is easier to read."""


class Outlined(NamedTuple):
    """A statement as the body of a function.

    Attributes:
        params: what it uses and does not define; of buffers their addresses.
        body: the statement, with its buffers declared.
        arguments: what the caller gives for ``params``.
    """

    params: list[Var]
    body: Stmt
    arguments: list[Expr]

    @classmethod
    def of(cls, stmt: Stmt, addresses: Mapping[Buffer, Expr]) -> Outlined:
        """``addresses``: of the buffers that the caller declares."""
        free = T.free_variables(stmt)
        seen = set(free)
        for buffer in [v for v in free if v in addresses]:
            free += [v for d in T.extents(buffer) for v in T.free_variables(d) if v not in seen]
            seen.update(free)
        params, declared, arguments = [], [], []
        for v in free:
            address = addresses.get(v)
            if address is None:
                params.append(v)
                arguments.append(v)
            else:
                params.append(T.pointer(f"p{len(params)}", T.element_dtype(v)))
                arguments.append(address)
                declared.append(T.declare(v, params[-1]))
        return cls(params, T.seq(*declared, stmt), arguments)


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
        outlined = Outlined.of(stmt, self.addresses)
        function = self._function(T.private_func(outlined.params, outlined.body, self.device_type))
        return T.call_function(function, outlined.arguments)

    def _function(self, function: PrimFunc) -> GlobalVar:
        alike = self._known.setdefault(T.structural_hash(function), [])
        for known in alike:
            if T.structural_equal(self.functions[known], function):
                return known
        new = T.global_var(f"{self.name}_part{len(self.functions)}")
        self.functions[new] = function
        alike.append(new)
        return new
