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
    return replaced(acc, slot, nest.step([T.load(a, slot) for a in acc], c, r))


def replaced(acc: Sequence[Buffer], slot: Expr, new: Sequence[Expr]) -> Stmt:
    """Accumulators get new values, all of which are computed before any is stored."""
    if len(acc) == 1:
        return T.store(acc[0], [slot], new[0])
    return T.lets("new", new, lambda v: T.seq(*(T.store(a, [slot], x) for a, x in zip(acc, v, strict=True))))
