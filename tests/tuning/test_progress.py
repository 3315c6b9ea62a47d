"""Where it is shown how far tuning is."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import pytest

from gscompile.tuning.progress import Progress, shown
from gscompile.tuning.result import Trial

pytest.importorskip("tqdm", reason="the extra [tune] is not installed")
LAST = Trial({}, "ok", 1.0, 2.0, 2.0)


class ZMQInteractiveShell:
    """What IPython calls a notebook's."""


class TerminalInteractiveShell:
    """And a terminal's."""


def said(stderr: io.StringIO) -> str:
    with shown(True, "rows", 5) as tell:
        for k in range(1, 4):
            tell(Progress(k, 5, 2.0, 3.0, 0.1 * k, None, LAST))
    return stderr.getvalue()


@pytest.mark.parametrize(
    ("is_terminal", "shell", "is_shown"),
    [
        (False, None, False),
        (True, None, True),
        (False, ZMQInteractiveShell(), True),
        (False, TerminalInteractiveShell(), False),
    ],
)
def test_where_it_is_seen(is_terminal: bool, shell: object, is_shown: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal and a notebook; a file is left alone."""
    stderr = io.StringIO()
    monkeypatch.setattr(stderr, "isatty", lambda: is_terminal)
    monkeypatch.setattr(sys, "stderr", stderr)
    if shell is None:
        monkeypatch.delitem(sys.modules, "IPython", raising=False)
    else:
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))  # type: ignore[arg-type]
    text = said(stderr)
    assert (text != "") == is_shown
    assert not is_shown or ("tuning rows" in text and "3/5" in text and "best 2.00x of 3 ms, last ok" in text)


def test_a_function_and_nothing() -> None:
    seen = list[int]()
    with shown(lambda p: seen.append(p.trials), "rows", 5) as tell:
        tell(Progress(1, 5, 1.0, 3.0, 0.1, None, LAST))
    with shown(False, "rows", 5) as tell:
        tell(Progress(2, 5, 1.0, 3.0, 0.1, None, LAST))
    assert seen == [1]
