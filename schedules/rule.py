"""What a schedule rule is.

A rule takes a nest (``gscompile.ir.nests``) and returns a statement that computes it, or None where the rule does not apply.
The first rule that applies wins; each target's last rule always does.  A user's rules go in front::

    class Serial:
        name = "serial"
        def apply(self, nest, ctx):
            if not isinstance(nest, MapNest):
                return None
            ...
    b.build("llvm", rules=[Serial()])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from gscompile.ir.coords import Sizes
from gscompile.ir.dims import Shape
from gscompile.ir.nests import Nest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import DType
from gscompile.schedules.choices import AUTO, RULE, WAY, Choice, Choices, Value, refused
from gscompile.schedules.decisions import ONE_BY_ONE, Condition, Decision

ASSUMED_CORES = (1, 2, 4, 8, 16, 32, 64, 128)
"""Threads that a call may have, where a target does not say."""


@dataclass(frozen=True, slots=True)
class Target:
    """What rules may know of the target.

    Attributes:
        kind: ``llvm`` or ``cuda``.
        vector_bytes: width of one vector register, or of one memory access of a cuda thread.
        arch: LLVM's CPU name, or ``sm_90``.
        l2_bytes: of a core's L2 cache (llvm); None where it is not known.
        l3_bytes: of the L3 cache that cores share (llvm); None where it is not known.
        cores: that threads run on (llvm); None where it is not known.
        index_bits: the only width of the numbers of threads that kernels are to have (cuda); None: what extents allow, where only
            a call tells, both.
        cooperative: the threads of a block may wait for each other and share memory (cuda).
        multiprocessors: of the GPU, of which the sizes of grids are made (cuda).
    """

    kind: str
    vector_bytes: int
    arch: str
    l2_bytes: int | None = None
    l3_bytes: int | None = None
    cores: int | None = None
    index_bits: int | None = None
    cooperative: bool = True
    multiprocessors: int = 0


@dataclass(frozen=True, slots=True)
class Context:
    """Where a nest is being scheduled.

    Attributes:
        sizes: dimensions -> int64 expressions.
        threads: how many threads a parallel loop is to use (llvm), known at run time.
        guard: a condition under which the nest runs at all; None for always.  On llvm the caller applies it; a cuda rule must
            put it inside its kernels, because the host cannot read device memory.
        workspace: (name, shape, dtype) -> a buffer of scratch memory, aligned to 64 bytes, alive during the call.
        deterministic: results must not depend on the order in which threads run.
        choices: values for the choices that rules leave open, by nest and name; see :mod:`gscompile.schedules.choices`.
        asked: which choices rules asked for, by nest and name.
        decisions: by the name of a nest, what was decided by estimated times, for ``m.explain()``.
        nest: which is being scheduled.
        word: the name of a nest -> an int64 of the GPU's memory that is 0 when its kernels begin and theirs alone, as a buffer
            and the place; None where there is none left (cuda).
    """

    target: Target
    sizes: Sizes
    threads: Expr
    guard: Expr | None
    workspace: Callable[[str, Shape, DType], Buffer]
    deterministic: bool = False
    choices: Choices = field(default_factory=dict)
    asked: dict[str, dict[str, Choice]] = field(default_factory=dict)
    decisions: dict[str, list[Decision]] = field(default_factory=dict)
    nest: Nest | None = None
    word: Callable[[str], tuple[Buffer, Expr] | None] = lambda name: None

    def choose(self, choice: Choice) -> Any:
        """The value of a choice for the nest that is being scheduled: the given one, or the default.

        Raises:
            ArgumentError: the given one is none of its values.
        """
        if self.nest is None or not choice.when(self.nest, self.target):
            return choice.default
        self.asked.setdefault(self.nest.name, {})[choice.name] = choice
        value = self._given(choice.name, choice.default)
        if not choice.allows(value):
            raise refused(self.nest.name, choice, value)
        return value

    def _given(self, name: str, otherwise: Value | None = None) -> Value | None:
        given = {} if self.nest is None else self.choices.get(self.nest.name, {})
        value = given.get(name, otherwise)
        return otherwise if value == AUTO else value

    def forced(self, rule: str) -> bool:
        """Whether a rule was chosen for the nest, and is to carry it out whatever that is estimated to take."""
        return self._given(RULE) == rule

    def decided(self, decision: Decision) -> Decision:
        """The same, noted once."""
        noted = self.decisions.setdefault(decision.nest, [])
        if decision not in noted:
            noted.append(decision)
        return decision

    def least(self, decision: Decision, way: str) -> Condition:
        """Whether a way takes the least time, for as many threads as a call has on this target."""
        rule = self._given(RULE)
        if rule in decision.estimates:  # some ways are rules of their own
            return way == rule
        if self.nest is not None and len(decision.estimates) > 1:
            known = self.asked.setdefault(self.nest.name, {}).get(WAY)
            values = dict.fromkeys((AUTO, *(known.values if known else ()), *decision.estimates))
            self.asked[self.nest.name][WAY] = Choice(WAY, tuple(values), AUTO)
        given = self._given(WAY)
        if given in decision.estimates:
            return way == given
        if given is not None and ONE_BY_ONE in decision.estimates:  # it is one of those that do not group points
            return way == ONE_BY_ONE
        cores = self.target.cores
        counts = range(1, cores + 1) if cores else ASSUMED_CORES
        return decision.least(way, self.sizes, self.threads, counts)


@dataclass(frozen=True, slots=True)
class Checked:
    """What a rule returns that takes over a nest's index checks, ``nest.checks``, because it reads the indices anyway.

    There is one, but for a map for cuda whose cells are computed by several gathers.  Where an index is invalid
    (``nest.check.valid``), the statement must not access memory by it, and must store 1 to the first element of
    ``nest.check.status`` before it ends; the check itself then finds which index it is.  Such a statement never runs unchecked on
    data that it overwrites: the check comes first where a scatter works in place.  For a nest whose rule returns a bare
    statement, the checks always come first.
    """

    stmt: Stmt


class Rule(Protocol):
    """One way to compute some nests."""

    @property
    def name(self) -> str: ...

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None: ...
