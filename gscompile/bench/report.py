"""Text: tables in Markdown, saved results."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from gscompile.errors import ArgumentError

Document: TypeAlias = dict[str, Any]
"""``measure``, ``command``, ``threads`` (on a CPU), ``rounds``, ``machine`` and ``rows``, whose entries the measurement names."""


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table, its columns as wide as they must be."""
    cells = [list(head), ["---"] * len(head), *map(list, lines)]
    widths = [max(len(line[k]) for line in cells) for k in range(len(head))]
    return "\n".join("| " + " | ".join(c.ljust(n) for c, n in zip(line, widths, strict=True)) + " |" for line in cells)


def number(x: float | None) -> str:
    """Three digits; ``-`` for None."""
    return "-" if x is None else f"{x:.3g}" if x < 100 else f"{x:.0f}"


def geometric_mean(ratios: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else float("nan")


def header(document: Document) -> str:
    """One paragraph on where the numbers come from."""
    m = document["machine"]
    if "gpu" in m:
        where = m["gpu"]
    else:
        caches = ", ".join(f"{v} {k}" for k, v in m["caches"].items())
        vectors = f", {m['vectors'][-1]}" if m["vectors"] else ""
        where = f"{m['cpu']}, {m['cores']} cores{vectors}, {caches}; {document['threads']} threads"
    packages = ", ".join(f"{k} {v}" for k, v in m["packages"].items())
    return f"`{document['command']}`, {m['date']}: {where}; medians of {document['rounds']} rounds; {packages}."


def save(document: Document, path: Path) -> None:
    """As JSON, a row of the table to a line."""
    rest = {k: v for k, v in document.items() if k != "rows"}
    rows = ",\n".join("  " + json.dumps(row) for row in document["rows"])
    path.write_text(json.dumps(rest, indent=1).removesuffix("\n}") + f',\n "rows": [\n{rows}\n ]\n}}\n')


def load(path: Path) -> Document:
    """What :func:`save` wrote.

    Raises:
        ArgumentError: the file is something else.
    """
    try:
        document: Document = json.loads(path.read_text())
        _ = document["measure"], document["rows"], document["machine"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as e:
        raise ArgumentError(f"bench: {path} holds no results of gscompile bench: {e}") from e
    return document
