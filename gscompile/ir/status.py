"""The status record, in which a kernel says what its index checks found: int64 numbers, laid out as said here.

The first is not 0 where some check has failed.  After it each check, by its number, has two: the smallest row-major position in
its index tensor that failed, :data:`NOWHERE` for none, and the value there.
"""

from __future__ import annotations

from typing import Any

FAILED = 0
"""Where it says whether some check has failed."""

NOWHERE = (1 << 63) - 1
"""The position of a check that has found nothing."""

UNSAID = 0
"""What stands for that while kernels on a GPU run: they keep what a position lacks to ``NOWHERE``, the largest of all."""


def length(checks: int) -> int:
    """How many numbers it has."""
    return 1 + 2 * checks


def kept_length(checks: int, sizes: int) -> int:
    """How many numbers a record has that outlives its call: after it stand the symbolic sizes of that call."""
    return length(checks) + sizes


def position(check: Any) -> Any:
    """Where a check's position stands: an int for an int, an expression for one."""
    return 1 + 2 * check


def value(check: Any) -> Any:
    """Where the index stands that a check has found.

    It is 0 until a GPU's kernels have run, and so one of them may count there (:attr:`gscompile.schedules.rule.Context.word`).
    """
    return 2 + 2 * check


def first_found(record: Any, checks: int) -> tuple[int, int, int] | None:
    """The first check that has found something, the position and the value; None where none has, though one has failed."""
    for check in range(checks):
        if record[position(check)] != NOWHERE:
            return check, int(record[position(check)]), int(record[value(check)])
    return None
