"""What an operator is, and what others may ask of one.

An operator is a frozen description (its attributes).  There are three kinds:

* a :class:`Leaf` comes from outside;
* an :class:`Inline` operator declares one element as an expression of the elements of its arguments, ``element``.  That is
  the body of a ``te.compute``; the lowering composes such functions, so chains of them are never stored;
* a :class:`Stored` operator (scatters, reductions) combines many contributions into a cell.  Its result always has storage of
  its own, and it gives the ``nest`` that fills it, and the plain ``formula`` that every schedule of that is compared with.

Whoever plans or lowers a graph asks the operator and never which one it is: the defaults here are those of an operator that
has nothing to say.  Nothing here mentions threads, vectors or a target.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from gscompile.ir.addressing import Addressing
from gscompile.ir.bounds import When
from gscompile.ir.coords import Coords, Element, Sizes
from gscompile.ir.dims import Dim, Shape, product
from gscompile.ir.nests import CheckNest, Nest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import OpaqueDType, TensorType


@dataclass(frozen=True, slots=True)
class Tree:
    """The size of a value's expression, counted as a tree.

    Attributes:
        nodes: how many it has; what is loaded counts as one.
        spots: how often its coordinates stand in it.
        given: it is an input or a constant.
        depth: how many operators stand on one another in it.
    """

    nodes: int = 1
    spots: int = 1
    given: bool = False
    depth: int = 0

    @property
    def total(self) -> int:
        return self.nodes + self.spots

    @staticmethod
    def over(args: Sequence[Tree], uses: Sequence[int]) -> Tree:
        """The expression that contains that of each argument so many times."""
        pairs = list(zip(args, uses, strict=True))
        nodes, spots = sum(n * a.nodes for a, n in pairs), sum(n * a.spots for a, n in pairs)
        return Tree(1 + nodes, max(1, spots), depth=Tree.above(args))

    @staticmethod
    def above(args: Sequence[Tree]) -> int:
        """The depth of what is computed from these."""
        return 1 + max((a.depth for a in args), default=0)


class Operator(ABC):
    """Attributes of one operation; arguments are passed to its methods."""

    __slots__ = ()

    @property
    @abstractmethod
    def name(self) -> str:
        """The operator's name, as in the graph's printout and in errors."""

    def attributes(self) -> str:
        """The attributes as the graph's printout shows them."""
        return ""

    @property
    def cost(self) -> int:
        """Rough scalar instructions per element, its arguments apart."""
        return 1

    @property
    def indexing(self) -> Addressing | None:
        """How its second argument indexes its first; None where it does not."""
        return None

    @property
    def elementwise(self) -> bool:
        """Whether each element depends on one element of each argument, at the same position."""
        return False

    @property
    def folds(self) -> bool:
        """Whether its nest folds the elements of its only argument and reads each once."""
        return False

    @property
    def lanes(self) -> int:
        """How many values its nest computes together."""
        return 1

    @property
    def in_place_argument(self) -> int | None:
        """The argument whose memory its result may take over, where nothing else needs that; None for none."""
        return None

    def with_lane(self) -> Operator:
        """The operator that does the same to tensors whose elements lie on one more axis, the innermost, part by part."""
        return self

    def picks(self, position: int) -> bool:
        """Whether it reads no more elements of an argument than its result has."""
        return False

    def repeats(self, position: int, out: Shape, arg: Shape) -> bool:
        """Whether it reads elements of an argument more than once (or may, where sizes are not known)."""
        return False

    def moves(self, position: int) -> bool:
        """Whether elements of that argument are moved as they are, whatever they hold; without arguments, those it makes."""
        return False

    def aligns(self, position: int) -> bool:
        """Whether that argument has the axes of its result: where one has an axis more, the other gets one of extent 1."""
        return False

    def in_words(self, dtype: OpaqueDType, rank: int) -> Operator:
        """This operator on the words of elements that it moves, which have an axis of their own, number ``rank``, if several."""
        raise NotImplementedError(self.name)

    def tree(self, out: TensorType, args: Sequence[Tree], types: Sequence[TensorType]) -> Tree:
        """About the size of its expression, which contains those of its arguments, of these types."""
        return Tree.over(args, [1] * len(args))


class Leaf(Operator):
    """A tensor that comes from outside: an input or a constant."""

    __slots__ = ()

    def moves(self, position: int) -> bool:
        return True

    def in_words(self, dtype: OpaqueDType, rank: int) -> Operator:
        return self


class Inline(Operator):
    """An operator whose element is an expression of its arguments' elements."""

    __slots__ = ()

    @abstractmethod
    def element(self, args: Sequence[Element], out: TensorType, coords: Coords, sizes: Sizes) -> Expr:
        """The value at ``coords``."""

    def assuming(self, checked: When) -> Inline:
        """The same operator where its indices, if it has any, are checked at that time."""
        return self


@dataclass(frozen=True, slots=True)
class Applied:
    """A stored operator's application to arguments, as the lowering describes it.

    Attributes:
        name: the value's.
        type: of the result.
        args: what it is applied to.
        outs: where each lane's result goes.
        cost: rough scalar instructions per element, those of inlined arguments included.
        in_place: true at run time where ``outs`` already hold what :attr:`Operator.in_place_argument` says; None if never.
        check: the index check that the nest may take over: its own, or of a fold that of the gather that it reads.
        grid: of such a fold: a position in its argument -> the grid position whose index is used there.
    """

    name: str
    type: TensorType
    args: Sequence[Element]
    outs: Sequence[Buffer]
    sizes: Sizes
    cost: int
    in_place: Expr | None
    check: CheckNest | None
    grid: Callable[[Coords], list[Expr]]


class Stored(Operator):
    """An operator whose result needs storage: many contributions meet in one cell.

    Attributes:
        lane: which of the values that one nest computes together this is.
    """

    __slots__ = ()
    lane: int = 0

    @abstractmethod
    def nest(self, at: Applied) -> Nest:
        """What computes the result, and that of its other lanes."""

    @abstractmethod
    def formula(self, out: Buffer, type: TensorType, args: Sequence[Element], sizes: Sizes) -> Stmt:
        """Serial TIR that stores the result, as plain as can be."""

    def joint(self, args: Sequence[int]) -> Hashable:
        """What is equal for the lanes of one nest.

        Args:
            args: its arguments, a number for each that tells it from others.
        """
        return (self, *args)

    def lane_type(self, lane: int, out: TensorType, args: Sequence[TensorType]) -> TensorType:
        """The type of what a lane gives; ``out`` is this one's."""
        return out


def reads_again(out: Shape, arg: Shape) -> bool:
    """Whether a result has more elements than what it is read from (or may have, where sizes are not known)."""
    reads: Dim = product(out)
    size: Dim = product(arg)
    if isinstance(reads, int) and isinstance(size, int):
        return reads > size
    return reads != size
