"""Schedules: how each loop nest becomes loops on each target.

``rule`` says what a rule is, ``choose`` which one is taken; ``llvm`` and ``cuda`` are the rules.  What operators mean is said in
the rest of gscompile; nothing here knows a framework, and nothing there knows a thread.

The package is ``gscompile.schedules`` wherever gscompile imports it, so that a user's own ``schedules.py`` is never taken for it;
``schedules`` is another name of it (``gscompile/alias.py``).
"""

from gscompile.schedules.choices import Choice, Choices
from gscompile.schedules.choose import schedule
from gscompile.schedules.decisions import Decision
from gscompile.schedules.rule import Checked, Context, Rule, Target
from gscompile.schedules.space import Explorer, NestSpace

__all__ = [
    "Checked",
    "Choice",
    "Choices",
    "Context",
    "Decision",
    "Explorer",
    "NestSpace",
    "Rule",
    "Target",
    "schedule",
]
