"""Choosing the rule that carries out a nest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gscompile.errors import ArgumentError
from gscompile.ir.nests import Nest
from gscompile.ir.tir import Stmt
from gscompile.schedules.choices import AUTO, RULE, Choice
from gscompile.schedules.rule import Checked, Context, Rule


def schedule(nest: Nest, ctx: Context, rules: Sequence[Rule]) -> tuple[str, Stmt | Checked]:
    """The first rule that applies, or the one that was chosen: its name, and its statement.

    Args:
        rules: in the order in which they are tried: a user's own, then all of the target's.

    Raises:
        ArgumentError: a rule has no name, or no method ``apply``; the chosen one does not apply.
    """
    for rule in rules:
        if not callable(getattr(rule, "apply", None)) or not hasattr(rule, "name"):
            raise ArgumentError(f"build: a rule has a name and a method apply(nest, ctx); got {rule!r}")
    chosen = ctx.choices.get(nest.name, {}).get(RULE, AUTO)
    ctx.asked.setdefault(nest.name, {})[RULE] = Choice(RULE, (AUTO, *dict.fromkeys(r.name for r in rules)), AUTO)
    ctx = replace(ctx, nest=nest)
    for rule in rules:
        if chosen in (AUTO, rule.name):
            stmt = rule.apply(nest, ctx)
            if stmt is not None:
                return rule.name, stmt
    if chosen != AUTO:
        raise ArgumentError(f"choices: {nest.name}: rule {chosen!r} does not apply to it on {ctx.target.kind}")
    raise AssertionError(f"no rule of target {ctx.target.kind} applies to {type(nest).__name__}")
