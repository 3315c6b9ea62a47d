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

    @property
    def other(self) -> tuple[Buffer, list[Expr]] | None:
        """Where ``fill`` is an element of a tensor, too: which one."""
        return None if self.fill is None else T.as_load(self.fill)


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


def common_axes(nest: MapNest, sizes: Sizes, merges: bool = False) -> int:
    """How many innermost axes of the output are those of the tensor that it copies, whole and in order.

    Cells that differ only there are neighbours in memory on both sides.

    Args:
        merges: the output may be made of the rows of two tensors; these axes are then those of both.
    """
    c = some_cell(nest.shape)
    other = [T.var(f"d{k}") for k in range(len(nest.shape))]
    found = copied(nest.element(c))
    if found is None:
        return 0

    def sources(cell: Copied) -> list[tuple[Buffer, list[Expr]]]:
        return [s for s in (cell.source, cell.other if merges else None) if s is not None]

    both = sources(found)
    count = 0
    while count < min(len(c), *(len(at) for _, at in both)):
        k = count + 1
        if any(
            T.constant_value(at[-k] - c[-k]) != 0 or T.constant_value(T.extents(buf)[-k] - sizes(nest.shape[-k])) != 0
            for buf, at in both
        ):
            break
        # nothing else may depend on that coordinate
        moved = copied(nest.element([*c[:-k], other[-k], *c[len(c) - count :]]))
        assert moved is not None
        rest = [
            pair
            for (_, at), (_, beside) in zip(both, sources(moved), strict=True)
            for pair in zip(
                [*at[:-k], *at[len(at) - count :]], [*beside[:-k], *beside[len(beside) - count :]], strict=True
            )
        ]
        if len(both) == 1 and found.fill is not None:
            rest.append((found.fill, moved.fill))
        if not all(T.same_expr(x, y) for x, y in rest):
            break
        if found.ok is not None and not T.same_expr(found.ok, moved.ok):
            break
        count = k
    return count
