"""Loop nests: what the lowering asks a schedule for.

A graph becomes a short list of nests.  A nest says what to compute, cell by cell, as functions of coordinates; how to loop
is for the rules in ``schedules/`` to decide.  Extents are dimensions (ints where known), so that a rule can look at them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from gscompile.ir import tir as T
from gscompile.ir.coords import Coords
from gscompile.ir.dims import Dim, Shape, product
from gscompile.ir.status import FAILED
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import DType


class Nest(ABC):
    """What a rule schedules.

    Attributes:
        name: the value's that it computes.
        check: the index check that a rule may take over, where nothing has run it yet; see
            :class:`gscompile.schedules.rule.Checked`.
        in_place: true at run time where the output already holds what the nest starts from; None if that cannot be.
        readable: true at run time where there is a position for an index out of range to be clamped to; None if there always
            is, or if the nest needs none.
    """

    __slots__ = ()
    name: str
    check: CheckNest | None = None
    in_place: Expr | None = None
    readable: Expr | None = None

    @property
    @abstractmethod
    def work(self) -> Dim:
        """Rough scalar instructions, without its checks."""

    @property
    def checks(self) -> tuple[CheckNest, ...]:
        """All index checks that a rule may take over, together: those of several gathers only of a map for cuda."""
        return () if self.check is None else (self.check,)

    @property
    @abstractmethod
    def reads(self) -> Dim:
        """0 where it has nothing to compute, and so looks at no index, though there may be a bad one."""


class CellsNest(Nest):
    """Cells that are computed one as the other.

    Attributes:
        shape: how many there are.
        cost: rough scalar instructions for each.
    """

    __slots__ = ()
    shape: Shape
    cost: int

    @property
    def work(self) -> Dim:
        return self.reads * max(self.cost, 1)

    @property
    def reads(self) -> Dim:
        return product(self.shape)


@dataclass(frozen=True, slots=True)
class Riding:
    """A further check that a map takes over: of a gather by which its cells are computed.

    Attributes:
        grid: the grid position whose index a cell uses; each is that of some cell, if there are any.
    """

    check: CheckNest
    grid: Callable[[Coords], list[Expr]]


@dataclass(frozen=True, slots=True)
class MapNest(CellsNest):
    """``out[c] = element(c)`` for every cell.

    Attributes:
        cost: rough scalar instructions per cell.
        loads: the (buffer, coordinates) pairs that computing a cell reads, to look for contiguous runs.
        check: of a gather: its index check; for cuda the first one of all gathers by which cells are computed.
        clamped: with a check: ``element``, but safe where the checks have not run.
        grid: with a check: the grid position whose index a cell uses.
        riding: the checks after that one.
    """

    name: str
    shape: Shape
    dtype: DType
    out: Buffer
    element: Callable[[Coords], Expr]
    cost: int
    loads: Callable[[Coords], list[tuple[Buffer, list[Expr]]]]
    check: CheckNest | None = None
    clamped: Callable[[Coords], Expr] | None = None
    grid: Callable[[Coords], list[Expr]] = list
    readable: Expr | None = None
    riding: tuple[Riding, ...] = ()

    @property
    def checks(self) -> tuple[CheckNest, ...]:
        return () if self.check is None else (self.check, *(r.check for r in self.riding))

    @property
    def safe(self) -> Callable[[Coords], Expr]:
        """What a cell is, whatever its index, also where no check has run."""
        return self.element if self.clamped is None else self.clamped


@dataclass(frozen=True, slots=True)
class Partial:
    """Folds of parts of a box, in any division of it, which are merged to that of the box.

    Attributes:
        initial: dtype and first value of each accumulator: the fold of no elements.
        step: as :attr:`ReduceNest.step`; the elements of a part come in row-major order.
        merge: the accumulators of two parts -> those of both.
        box: the extents of all cells' boxes, which begin at 0; None where each has its own.
        rounds: another division gives another result: of sums and products of floats.
    """

    initial: tuple[tuple[DType, Expr], ...]
    step: Callable[[Sequence[Expr], Coords, Coords], list[Expr]]
    merge: Callable[[Sequence[Expr], Sequence[Expr]], list[Expr]]
    box: Shape | None = None
    rounds: bool = False


@dataclass(frozen=True, slots=True)
class ReduceNest(Nest):
    """``out[c] = finish(fold of step over the box of c)``; several accumulators at once, for argmax.

    Attributes:
        elements: how many are folded in all.
        ranges: begin and end of each axis of a cell's box, which is folded in row-major order; they do not depend on the
            innermost coordinate of a cell unless ``inner``.
        initial: dtype and first value of each accumulator.
        step: (accumulators, c, position in the box) -> accumulators.
        finish: (accumulators, c) -> the cell.
        inner: the reduced axes are the innermost of the argument (a run of memory is folded).
        check: of a fold of what a gather gives: its index check.
        grid: of such a fold: (c, position in the box) -> the grid position whose index that step uses.
        partial: how parts of a box may be folded; None where all have to be taken in their order.
    """

    name: str
    shape: Shape
    dtype: DType
    out: Buffer
    elements: Dim
    ranges: Callable[[Coords], list[tuple[Expr, Expr]]]
    initial: tuple[tuple[DType, Expr], ...]
    step: Callable[[Sequence[Expr], Coords, Coords], list[Expr]]
    finish: Callable[[Sequence[Expr], Coords], Expr]
    cost: int
    inner: bool
    check: CheckNest | None = None
    grid: Callable[[Coords, Coords], list[Expr]] = lambda c, r: [*c, *r]
    partial: Partial | None = None

    @property
    def work(self) -> Dim:
        return self.elements * max(self.cost, 1)

    @property
    def reads(self) -> Dim:
        return self.elements


@dataclass(frozen=True, slots=True)
class RowNest(Nest):
    """A statement for each row, which stores that row's cells one after the other and no others.

    Attributes:
        rows: the box of rows.
        elements: how many cells all rows have.
        registers: dtype and number of the values that go along a row.
        row: (row, a buffer of the registers, that nothing is known of) -> the statement.
    """

    name: str
    rows: Shape
    elements: Dim
    registers: tuple[DType, int]
    row: Callable[[Coords, Buffer], Stmt]
    cost: int

    @property
    def work(self) -> Dim:
        return self.elements * max(self.cost, 1)

    @property
    def reads(self) -> Dim:
        return self.elements


class Asked(Enum):
    """What is asked about the indices of a check."""

    ALL = "whether one is not valid, and where the first of these is"
    WHETHER = "whether one is not valid"
    SELDOM = "whether one is not valid, where nothing else is done"
    WHERE = "where the first is that is not valid"


@dataclass(frozen=True, slots=True)
class Record:
    """What outlives a call on a GPU, in which the thread that finds an index out of range says at once which it is.

    Attributes:
        kept: the record; it is laid out as a status, with the symbolic sizes after it, but its first number is the call's.
        call: the number of the call, which is not 0.
        checks: how many checks it has room for.
        sizes: the symbolic sizes.
    """

    kept: Buffer
    call: Expr
    checks: int
    sizes: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class CheckNest(Nest):
    """Find the first index that is not ``valid`` and record it in ``status``.

    What ``status`` holds is said in :mod:`gscompile.ir.status`.

    Attributes:
        grid: extents of the index tensor without its vector axis.
        index: extents of the index tensor.
        valid: whether a component of the index vector at a grid position is in range.
        excess: an int64 that is 0 just where it is.
        position: where that component stands in the index tensor.
        value: the index value at a position of the index tensor.
        asked: what the statement is to find out.
        in_memory: the index tensor is in memory, each vector's components side by side: a row-major position leads to one.
        record: where a GPU's threads say what they have found; None where they note it in ``status``.
    """

    name: str
    grid: Shape
    index: Shape
    components: int
    valid: Callable[[Coords, int], Expr]
    excess: Callable[[Coords, int], Expr]
    position: Callable[[Coords, int], list[Expr]]
    value: Callable[[Coords], Expr]
    status: Buffer
    slot: int
    place: Expr
    asked: Asked = Asked.ALL
    in_memory: bool = False
    record: Record | None = None

    @property
    def work(self) -> Dim:
        return product(self.grid) * self.components

    @property
    def reads(self) -> Dim:
        return product(self.index)


def status_failed(status: Buffer) -> Expr:
    """Whether some check has failed."""
    return T.load(status, T.const(FAILED)) != 0


def fail(status: Buffer) -> Stmt:
    """Report that a check has failed."""
    return T.store(status, [T.const(FAILED)], T.const(1))
