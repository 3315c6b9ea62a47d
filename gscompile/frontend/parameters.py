"""Which parameters of a function hold tensors, sizes, or an array for the result: ``Tensor``, ``Size`` and ``Out``.

They are ordinary types with a mark, so that type checkers read them too: ``Tensor`` is a value, the others are anything.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, NamedTuple, TypeAlias, Union, get_args, get_origin, get_type_hints

from gscompile.ir.graph import Value


class Mark(Enum):
    """What a type says about a parameter, beside what type checkers see."""

    TENSOR = "tensor"
    SIZE = "size"
    OUT = "out"


Tensor: TypeAlias = Annotated[Value, Mark.TENSOR]  # for a caller also an array of whatever library
Size: TypeAlias = Annotated[Any, Mark.SIZE]  # an int; in a graph also a symbolic size
Out: TypeAlias = Annotated[Any, Mark.OUT]  # an array that receives the result, or None; the function itself sees None


class Holds(NamedTuple):
    """What a parameter that holds a tensor may hold instead.

    Attributes:
        sequence: several tensors.
        only: and never one alone.
        number: a number that takes its dtype from the tensors beside it.
        nothing: None.
    """

    sequence: bool
    only: bool
    number: bool
    nothing: bool


@dataclass(frozen=True, slots=True)
class Parameters:
    """A function's parameters.

    Attributes:
        tensors: those that hold tensors.
        sizes: those that hold sizes, or sequences of them.
        out: the one that holds the array for the result; empty where there is none.
    """

    signature: inspect.Signature
    tensors: Mapping[str, Holds]
    sizes: frozenset[str]
    out: str

    @staticmethod
    def of(function: Callable[..., Any]) -> Parameters:
        """Raises NameError where an annotation names what the function's module does not have."""
        hints = get_type_hints(function, include_extras=True)
        signature = inspect.signature(function)
        choices = {n: _choices(hints[n]) for n in signature.parameters if n in hints}
        tensors = {
            n: Holds(
                Mark.TENSOR in of_many,
                Mark.TENSOR not in alone,
                not {int, float, complex}.isdisjoint(alone),
                types.NoneType in alone,
            )
            for n, (alone, of_many) in choices.items()
            if Mark.TENSOR in alone or Mark.TENSOR in of_many
        }
        sizes = frozenset(n for n, (alone, of_many) in choices.items() if Mark.SIZE in alone or Mark.SIZE in of_many)
        out = next((n for n, (alone, _) in choices.items() if Mark.OUT in alone), "")
        return Parameters(signature, tensors, sizes, out)


def _choices(hint: Any) -> tuple[set[Any], set[Any]]:
    """What a parameter may hold, and what the sequences that it may hold are made of: marks, and types without one."""
    alone, of_many = set(), set()
    for member in _members(hint):
        if get_origin(member) is Sequence:
            of_many |= {_mark(item) for item in _members(get_args(member)[0])}
        else:
            alone.add(_mark(member))
    return alone, of_many


def _members(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _mark(hint: Any) -> Any:
    return next((m for m in getattr(hint, "__metadata__", ()) if isinstance(m, Mark)), hint)
