"""How a rule is chosen: the first one that applies."""

from __future__ import annotations

from collections.abc import Sequence

from gscompile.errors import ArgumentError
from gscompile.ir.nests import Nest
from gscompile.ir.tir import Stmt
from schedules.rule import Checked, Context, Rule


def schedule(nest: Nest, ctx: Context, rules: Sequence[Rule]) -> tuple[str, Stmt | Checked]:
    """The first rule that applies: its name, and its statement.

    Raises:
        ArgumentError: one of them is no rule.
    """
    for rule in rules:
        if not callable(getattr(rule, "apply", None)) or not hasattr(rule, "name"):
            raise ArgumentError(f"build: a rule has a name and a method apply(nest, ctx); got {rule!r}")
    for rule in rules:
        stmt = rule.apply(nest, ctx)
        if stmt is not None:
            return rule.name, stmt
    raise AssertionError(f"no rule of target {ctx.target.kind} applies to {type(nest).__name__}")
