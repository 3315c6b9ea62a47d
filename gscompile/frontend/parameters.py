"""Which parameters of a function hold tensors, and which sizes: said by their types, ``Tensor`` and ``Size``.

Both are ordinary types with a mark, so that type checkers read them too: ``Tensor`` is a value, ``Size`` anything.
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


Tensor: TypeAlias = Annotated[Value, Mark.TENSOR]  # for a caller also an array of whatever library
Size: TypeAlias = Annotated[Any, Mark.SIZE]  # an int; in a graph also a symbolic size


class Holds(NamedTuple):
    """What a parameter that holds a tensor may hold instead.

    Attributes:
        sequence: several tensors.
        number: a number that takes its dtype from the tensors beside it.
    """

    sequence: bool
    number: bool


@dataclass(frozen=True, slots=True)
class Parameters:
    """A function's parameters.

    Attributes:
        tensors: those that hold tensors.
        sizes: those that hold sizes, or sequences of them.
    """

    signature: inspect.Signature
    tensors: Mapping[str, Holds]
    sizes: frozenset[str]

    @staticmethod
    def of(function: Callable[..., Any]) -> Parameters:
        """Raises NameError where an annotation names what the function's module does not have."""
        hints = get_type_hints(function, include_extras=True)
        signature = inspect.signature(function)
        choices = {n: _choices(hints[n]) for n in signature.parameters if n in hints}
        tensors = {
            n: Holds(Mark.TENSOR in of_many, not {int, float}.isdisjoint(alone))
            for n, (alone, of_many) in choices.items()
            if Mark.TENSOR in alone or Mark.TENSOR in of_many
        }
        sizes = frozenset(n for n, (alone, of_many) in choices.items() if Mark.SIZE in alone or Mark.SIZE in of_many)
        return Parameters(signature, tensors, sizes)


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
