"""What a rule leaves open: choices, each with its values, its default, and where it is one.

A rule declares each of its choices once and asks for it where it makes its loops::

    class Squares:
        name = "squares"
        edge = Choice("edge", (8, 16, 32, 64), default=32)

        def apply(self, nest, ctx):
            edge = ctx.choose(self.edge)
            ...

What was asked for is what a tuner may vary; see :mod:`gscompile.schedules.space`.  With no values given, every choice has its
default.  Two choices are gscompile's: :data:`RULE`, which rule carries out a nest, and :data:`WAY`, which of the ways that a rule
would choose among by estimated time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from gscompile.errors import ArgumentError
from gscompile.ir.nests import Nest

Value: TypeAlias = "int | str"
"""Of a choice: what JSON can hold."""

Choices: TypeAlias = Mapping[str, Mapping[str, Value]]
"""By the name of a nest: by the name of a choice its value."""

RULE = "rule"
WAY = "way"
AUTO = "auto"
"""The value of these two that leaves the choice to the target's order of rules, and to the estimates."""


def always(nest: Nest, target: Any) -> bool:
    """Wherever it is asked for."""
    return True


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing that a rule leaves open.

    Attributes:
        name: unique among those of a rule.
        values: ints or strings, the default among them.  Each gives the same result, but for how sums of floats round.
        default: what is chosen where nothing is given.
        when: (nest, :class:`gscompile.schedules.rule.Target`) -> whether it is one there; elsewhere it has its default.
    """

    name: str
    values: tuple[Value, ...]
    default: Value
    when: Callable[[Nest, Any], bool] = always

    def __post_init__(self) -> None:
        assert self.default in self.values, f"choice {self.name}: its default {self.default!r} is none of its values"

    def allows(self, value: object) -> bool:
        """Whether it is one of the values; True is not 1."""
        return any(type(v) is type(value) and v == value for v in self.values)


def refused(nest: str, choice: Choice, value: object) -> ArgumentError:
    """The error for a value that a choice does not have."""
    got = repr(value) if not isinstance(value, int) or value.bit_length() < 64 else "a larger int"
    return ArgumentError(
        f"choices: {nest}: {choice.name} is one of {', '.join(map(repr, choice.values))}; got {got[:200]}"
    )
