"""Graphs for people: a line for each value, and for notebooks a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from gscompile.ir.dims import shape_str
from gscompile.ir.graph import Value, line

MOST = 100  # values that are listed; of a longer graph the first and the last


def listing(title: str, values: Sequence[Value], outputs: Iterable[Value]) -> str:
    """A line for each value, and the outputs."""
    rows = [f"  {line(v)}" for v in values]
    if len(rows) > MOST:
        rows[MOST // 2 : -MOST // 2] = [f"  .. {len(rows) - MOST} more .."]
    found = ", ".join(v.name for v in outputs)
    return "\n".join([f"<{title}", *rows, f"  return {found or 'what nothing else uses'}>"])


def table(title: str, values: Sequence[Value], outputs: Iterable[Value]) -> str:
    """A table in HTML, with a row for each value."""
    results = {id(v) for v in outputs}
    rows = [_row(v, id(v) in results) for v in values]
    if len(rows) > MOST:
        rows[MOST // 2 : -MOST // 2] = [f'<tr><td colspan="5">.. {len(rows) - MOST} more ..</td></tr>']
    head = "".join(f"<th>{name}</th>" for name in ("value", "operator", "of", "dtype", "shape"))
    return f"<table><caption>{escape(title)}</caption><tr>{head}</tr>{''.join(rows)}</table>"


def _row(v: Value, is_output: bool) -> str:
    name = f"<b>{escape(v.name)}</b>" if is_output else escape(v.name)
    inner = ", ".join([*(a.name for a in v.args), *filter(None, [v.op.attributes()])])
    cells = [name, *map(escape, (v.op.name, inner, str(v.dtype), shape_str(v.shape)))]
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
