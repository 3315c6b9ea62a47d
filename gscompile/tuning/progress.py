"""How far tuning is, shown by tqdm on a terminal or in a notebook, or told to a function."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from gscompile.tuning.result import Trial


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is.

    Attributes:
        trials: that are done.
        wanted: how many there are to be.
        ratio: of the best one so far to the default.
        default_ms: milliseconds of the default.
        seconds: since the beginning.
        limit: seconds that it may take; None for any.
        last: the last trial.
    """

    trials: int
    wanted: int
    ratio: float
    default_ms: float
    seconds: float
    limit: float | None
    last: Trial


Tell: TypeAlias = Callable[[Progress], Any]


@contextmanager
def shown(progress: bool | Tell, name: str, wanted: int) -> Iterator[Tell]:
    """What to call after each trial."""
    if callable(progress):
        yield progress
        return
    bar = _bar(name, wanted) if progress and (sys.stderr.isatty() or _in_notebook()) else None
    if bar is None:
        yield lambda p: None
        return

    def tell(p: Progress) -> None:
        left = "" if p.limit is None else f", at most {max(p.limit - p.seconds, 0):.0f} s left"
        bar.set_postfix_str(f"best {p.ratio:.2f}x of {p.default_ms:.3g} ms, last {p.last.state}{left}", refresh=False)
        bar.update(p.trials - bar.n)

    try:
        yield tell
    finally:
        bar.close()


def _bar(name: str, wanted: int) -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:  # it is not needed
        return None
    return tqdm(total=wanted, desc=f"tuning {name}", unit="trial")


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"
