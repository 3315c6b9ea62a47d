"""Folds, each of which reduces the box of one cell, with their accumulators in local storage."""

from __future__ import annotations

from collections.abc import Sequence

from gscompile.ir import tir as T
from gscompile.ir.nests import ReduceNest
from gscompile.ir.tir import Buffer, Expr, Stmt


def accumulators(nest: ReduceNest, extent: int, scope: str) -> list[Buffer]:
    """Storage for ``extent`` folds.

    Scope ``local`` is that of a cuda thread.  On llvm TVM would take it from the heap each time, but puts ``global`` buffers of
    less than 1024 bytes on the stack, where LLVM makes registers of them.
    """
    return [T.buffer(f"acc{k}", [extent], d.name, align=64, scope=scope) for k, (d, _) in enumerate(nest.initial)]


def fold_step(nest: ReduceNest, acc: Sequence[Buffer], slot: Expr, c: list[Expr], r: list[Expr]) -> Stmt:
    """One step of the fold of a cell ``c``, whose accumulators are in ``slot``: what is at ``r`` in its box."""
    new = nest.step([T.load(a, slot) for a in acc], c, r)
    if len(acc) == 1:
        return T.store(acc[0], [slot], new[0])

    def bind(k: int, names: list[Expr]) -> Stmt:  # all new values are computed before any is stored
        if k == len(acc):
            return T.seq(*(T.store(a, [slot], v) for a, v in zip(acc, names, strict=True)))
        return T.let(f"new{k}", new[k], lambda v: bind(k + 1, [*names, v]))

    return bind(0, [])
