"""Loops that both targets share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gscompile import _tvm as T
from gscompile._tvm import Expr, Stmt
from gscompile.ops.base import ravel, unravel

__all__ = ["nested", "ravel", "unravel"]


def nested(names: str, extents: Sequence[Expr], body: Callable[[list[Expr]], Stmt]) -> Stmt:
    """Serial loops over a box in row-major order."""

    def level(done: list[Expr]) -> Stmt:
        k = len(done)
        return body(done) if k == len(extents) else T.for_(extents[k], lambda i: level([*done, i]), f"{names}{k}")

    return level([])
