"""Runs the comparisons of all dialects and writes ``docs/conformance.md`` from what was counted.

python -m tests.dialects.table
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections import Counter
from pathlib import Path

import pytest

import gscompile.dialects
from tests.dialects.differential import COUNTS, ENDED

PAGE = Path(__file__).resolve().parents[2] / "docs" / "conformance.md"

HEAD = """# What was compared with what

Written by `python -m tests.dialects.table`, which runs the tests of all dialects and counts their comparisons.  A comparison
is one call of gscompile's function and the same call of the judge: both give the same, bit for bit unless the test says how
much sums of floats may differ by, or both refuse.  A judge called *recorded* is a set of results that were written down from
a run or a document, named in the test, where the framework does not install beside the others.
"""


def dialects() -> list[str]:
    """The dialects' names."""
    return sorted(m.name for m in pkgutil.iter_modules(gscompile.dialects.__path__) if not m.name.startswith("_"))


def functions(dialect: str) -> list[str]:
    """The public functions of a dialect."""
    module = importlib.import_module(f"gscompile.dialects.{dialect}")
    found = inspect.getmembers(module, inspect.isfunction)
    return sorted(name for name, f in found if not name.startswith("_") and f.__module__ == module.__name__)


def page(counts: Counter[tuple[str, str, str]], ended: Counter[tuple[str, str, str]]) -> str:
    """The page's text."""
    lines = [HEAD, "| framework | functions | comparisons | judges |", "|---|---|---|---|"]
    for d in dialects():
        mine = {key: n for key, n in counts.items() if key[0] == d}
        judges = ", ".join(sorted({judge for _, _, judge in mine}))
        lines.append(f"| {d} | {len(functions(d))} | {sum(mine.values())} | {judges} |")
    for d in dialects():
        lines += ["", f"## {d}", "", "| function | judge | comparisons |", "|---|---|---|"]
        lines += [f"| {f} | {judge} | {n} |" for (_, f, judge), n in sorted(counts.items()) if _ == d]
        ends = [f"{f} of {judge}: {n}" for (_, f, judge), n in sorted(ended.items()) if _ == d]
        lines += ["", f"Calls that ended the framework's process: {'; '.join(ends)}."] if ends else []
    return "\n".join(lines) + "\n"


def main() -> int:
    here = Path(__file__).parent
    status = pytest.main(
        [
            *("-o", "addopts=", "-q", "-p", "no:cacheprovider", "--slow", "--thorough", "--draws=60"),
            *(str(here), f"--ignore={here / 'test_table.py'}", f"--ignore={here / 'test_judges.py'}"),
        ]
    )
    if status:
        print("the page was not written: a comparison failed", file=sys.stderr)
        return int(status)
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(COUNTS, ENDED))
    print(f"wrote {PAGE.name}: {sum(COUNTS.values())} comparisons")
    return 0


if __name__ == "__main__":
    sys.exit(main())
