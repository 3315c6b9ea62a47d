"""Schedules: how each loop nest becomes loops on each target.

``schedules.rule`` says what a rule is, ``schedules.choose`` which one is taken; ``schedules.llvm`` and ``schedules.cuda`` are the
rules.  What operators mean is said in gscompile; nothing here knows a framework, and nothing there knows a thread.
"""

from schedules.choose import schedule
from schedules.rule import Checked, Context, Rule, Target

__all__ = ["Checked", "Context", "Rule", "Target", "schedule"]
