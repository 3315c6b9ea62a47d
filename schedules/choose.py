"""Choosing the rule that carries out a nest."""

from __future__ import annotations

from collections.abc import Sequence

from gscompile.errors import ArgumentError
from gscompile.ir.nests import Nest
from gscompile.ir.tir import Stmt
from gscompile.schedules.rule import Checked, Context, Rule


def schedule(nest: Nest, ctx: Context, rules: Sequence[Rule]) -> tuple[str, Stmt | Checked]:
    """The first rule that applies: its name, and its statement.

    Args:
        rules: in the order in which they are tried: a user's own, then all of the target's.

    Raises:
        ArgumentError: a rule has no name, or no method ``apply``.
    """
    for rule in rules:
        if not callable(getattr(rule, "apply", None)) or not hasattr(rule, "name"):
            raise ArgumentError(f"build: a rule has a name and a method apply(nest, ctx); got {rule!r}")
    for rule in rules:
        stmt = rule.apply(nest, ctx)
        if stmt is not None:
            return rule.name, stmt
    raise AssertionError(f"no rule of target {ctx.target.kind} applies to {type(nest).__name__}")
