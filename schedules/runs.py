"""Nests that move runs of memory: of what a cell is a copy, and how many of its neighbours are copied with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gscompile.ir import tir as T
from gscompile.ir.coords import Sizes
from gscompile.ir.dims import Dim
from gscompile.ir.nests import MapNest
from gscompile.ir.tir import Buffer, Expr


@dataclass(frozen=True, slots=True)
class Copied:
    """A cell of a copy: the element of which it is a copy, where ``ok`` holds (None: always), else ``fill``."""

    load: Expr
    source: tuple[Buffer, list[Expr]]
    ok: Expr | None = None
    fill: Expr | None = None


def copied(value: Expr) -> Copied | None:
    """The parts of a cell's value; None if that is no copy."""
    ok, load, fill = T.as_choice(value) or (None, value, None)
    source = T.as_load(load)
    return None if source is None else Copied(load, source, ok, fill)


def is_run(value: Callable[[Expr], Expr], width: int) -> bool:
    """Whether cells are copies of a run of memory, as a function of the coordinate along rows of ``width`` elements."""
    here, there = T.var("here"), T.var("there")
    a, b = copied(value(here)), copied(value(there))
    if a is None or b is None:
        return False
    if a.ok is not None and not (T.same_expr(a.ok, b.ok) and T.same_expr(a.fill, b.fill)):
        return False
    (buf, at), (_, beside) = a.source, b.source
    rows = all(T.same_expr(x, y) for x, y in zip(at[:-1], beside[:-1], strict=True))
    return rows and T.constant_value(at[-1] - here) == 0 and T.constant_value(T.extents(buf)[-1]) == width


def some_cell(shape: Sequence[Dim]) -> list[Expr]:
    """Coordinates of any cell, as ``unravel`` gives them; 0 on axes of extent 1, where more may be known."""
    return [T.const(0) if d == 1 else T.var(f"c{k}") for k, d in enumerate(shape)]


def common_axes(nest: MapNest, sizes: Sizes) -> int:
    """How many innermost axes of the output are those of the tensor that it copies, whole and in order.

    Cells that differ only there are neighbours in memory on both sides.
    """
    c = some_cell(nest.shape)
    other = [T.var(f"d{k}") for k in range(len(nest.shape))]
    found = copied(nest.element(c))
    if found is None:
        return 0
    buf, at = found.source
    extents = T.extents(buf)
    count = 0
    while count < min(len(c), len(at)):
        k = count + 1
        if T.constant_value(at[-k] - c[-k]) != 0 or T.constant_value(extents[-k] - sizes(nest.shape[-k])) != 0:
            break
        # nothing else may depend on that coordinate
        moved = copied(nest.element([*c[:-k], other[-k], *c[len(c) - count :]]))
        assert moved is not None
        rest = zip(
            [*at[:-k], *at[len(at) - count :]],
            [*moved.source[1][:-k], *moved.source[1][len(at) - count :]],
            strict=True,
        )
        if not all(T.same_expr(x, y) for x, y in rest):
            break
        if found.ok is not None and not (T.same_expr(found.ok, moved.ok) and T.same_expr(found.fill, moved.fill)):
            break
        count = k
    return count
