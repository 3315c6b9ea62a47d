"""What tuning found, as one page of HTML: no scripts, nothing that is loaded, light or dark as the reader has it."""

from __future__ import annotations

import difflib
import html
import math
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from string import Template

from gscompile.build import made
from gscompile.errors import ArgumentError
from gscompile.tuning.result import Trial, Tuned

WIDTH, HEIGHT, LEFT, BOTTOM = 640, 240, 52, 34
CONTEXT = 4
"""Lines around each difference of the code that are shown."""

PAGE = Template(
    """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<link rel="icon" href="data:,">
<style>
:root { color-scheme: light dark; --ink: #1c1e21; --paper: #fff; --faint: #667; --line: #d5d8de; --best: #0a7d4b; --dot: #4565c8;
  --less: #fbe3e1; --more: #dcf3e4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e6ea; --paper: #16181c; --faint: #9aa1ad; --line: #3a3f47;
  --best: #4cc38a; --dot: #8fa6f5; --less: #4a2523; --more: #1d3d2b; } }
body { margin: 0 auto; max-width: 70rem; padding: 1rem; color: var(--ink); background: var(--paper);
  font: 1rem/1.5 system-ui, sans-serif; }
.wide { overflow-x: auto; }
svg { max-width: 100%; height: auto; }
svg text { fill: var(--faint); font: 12px system-ui, sans-serif; }
table { border-collapse: collapse; }
th, td { padding: .2rem .7rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
.bar { display: inline-block; height: .7em; background: var(--dot); }
.code td { padding: 0 .4rem; border: 0; white-space: pre; font: .75rem/1.35 ui-monospace, monospace; }
.code .less { background: var(--less); } .code .more { background: var(--more); } .code .gap { color: var(--faint); }
</style>
</head>
<body>
<h1>$title</h1>
<p>$machine<br>$versions</p>
$body
</body>
</html>
"""
)


def write_report(results: Sequence[Tuned], path: str | PathLike[str]) -> Path:
    """Write a page about results of tuning one graph, or several, for several distributions of indices.

    Raises:
        ArgumentError: there is no result, or the file cannot be written.
    """
    if not results:
        raise ArgumentError("report: a result is needed")
    try:
        Path(path).write_text(page(results), encoding="utf-8")
    except OSError as e:
        raise ArgumentError(f"report: cannot write {path}: {e.strerror or e}") from None
    return Path(path)


def require_folder(path: str | PathLike[str]) -> None:
    """Refuse a page's file before there is something to write to it.

    Raises:
        ArgumentError: its folder is not there, or it is a folder.
    """
    if not Path(path).absolute().parent.is_dir() or Path(path).is_dir():
        raise ArgumentError(f"report: cannot write {path}: a file in a folder that exists is needed")


def page(results: Sequence[Tuned]) -> str:
    """The page's text."""
    key = results[0].key
    names = dict.fromkeys(r.job.graph.name for r in results)
    sections = [_overview(results), *(_section(r) for r in results)]
    return PAGE.substitute(
        title=html.escape(f"Tuning of {', '.join(names)}"),
        machine=html.escape(f"{key.machine}; {key.target}".removesuffix(" {}")),  # attributes, if any
        versions=html.escape(key.versions),
        body="\n".join(sections),
    )


def _label(r: Tuned) -> str:
    given = dict.fromkeys(r.indices.values())
    where = ", ".join(given) if len(given) <= 1 else ", ".join(f"{n}: {d}" for n, d in r.indices.items())
    sizes = ", ".join(f"{n} = {x:,}" for n, x in r.sizes.items())
    return html.escape("; ".join(filter(None, [r.job.graph.name, where, sizes])))


def _overview(results: Sequence[Tuned]) -> str:
    """Best against default, a row for each distribution."""
    most = max(r.default_ms for r in results) or 1.0
    rows = "".join(
        f"<tr><td>{_label(r)}</td><td class='n'>{r.default_ms:.4g}</td><td class='n'>{r.ms:.4g}</td>"
        f"<td class='n'>{r.ratio:.2f}</td><td><span class='bar' style='width:{12 * r.ms / most:.2f}rem'></span></td>"
        f"<td>{_choices(r)}</td></tr>"
        for r in results
    )
    head = "<tr><th>indices<th>default, ms<th>best, ms<th>times as fast<th><th>choices</tr>"
    return f"<h2>Best against default</h2><div class='wide'><table>{head}{rows}</table></div>"


def _choices(r: Tuned) -> str:
    if not r.choices:
        return "the default: nothing is faster by more than noise"
    return "<br>".join(
        html.escape(f"{nest}: " + ", ".join(f"{n} = {v}" for n, v in given.items()))
        for nest, given in r.choices.items()
    )


def _section(r: Tuned) -> str:
    parts = [f"<h2>{_label(r)}</h2>", f"<p>{html.escape(str(r).splitlines()[0])}.</p>", _over_time(r), _importance(r)]
    return "\n".join([*parts, _code(r), _table(r)])


# -- trials over time


def _over_time(r: Tuned) -> str:
    """Each trial's ratio to the default, and the best so far; what could not be measured is left out."""
    timed = [(t.seconds, t.ratio) for t in r.trials if t.ratio > 0]
    if not timed:
        return "<p>No trial was timed.</p>"
    last = max(1e-9, *(s for s, _ in timed))
    top = max(1.1, *(x for _, x in timed)) * 1.05

    def place(seconds: float, ratio: float) -> tuple[float, float]:
        return LEFT + (WIDTH - LEFT - 8) * seconds / last, (HEIGHT - BOTTOM) * (1 - ratio / top) + 4

    def at(seconds: float, ratio: float) -> str:
        x, y = place(seconds, ratio)
        return f"{x:.1f},{y:.1f}"

    places = (place(s, x) for s, x in timed)
    dots = "".join(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3' fill='var(--dot)'/>" for x, y in places)
    best, path = 1.0, [at(0, 1.0)]
    for s, x in timed:
        path.append(at(s, best))
        best = max(best, x)
        path.append(at(s, best))
    path.append(at(last, best))
    y = place(0, 1.0)[1]
    return (
        "<h3>Trials over time</h3>"
        f"<svg viewBox='0 0 {WIDTH} {HEIGHT}' width='{WIDTH}' role='img' aria-label='ratio over seconds'>"
        f"<line x1='{LEFT}' x2='{WIDTH}' y1='{y:.1f}' y2='{y:.1f}' stroke='var(--line)'/>"
        f"<text x='4' y='{y + 4:.1f}'>default</text>"
        f"<text x='4' y='16'>{top:.2f}x</text><text x='{LEFT}' y='{HEIGHT - 6}'>0 s</text>"
        f"<text x='{WIDTH - 4}' y='{HEIGHT - 6}' text-anchor='end'>{last:.0f} s</text>{dots}"
        f"<polyline points='{' '.join(path)}' fill='none' stroke='var(--best)' stroke-width='2'/></svg>"
    )


# -- importance


def importance(trials: Sequence[Trial]) -> dict[str, float]:
    """How much of the variance of the logarithm of times each choice explains: between the trials of its values.

    The correlation ratio, eta squared.  Choices depend on each other, so that the sum may be above 1.
    """
    timed = [t for t in trials if t.ratio > 0]
    logs = [math.log(t.ratio) for t in timed]
    if len(timed) < 3:
        return {}
    mean = sum(logs) / len(logs)
    total = sum((x - mean) ** 2 for x in logs)
    names = dict.fromkeys((nest, name) for t in timed for nest, given in t.choices.items() for name in given)
    found = {}
    for nest, name in names:
        groups: dict[object, list[float]] = {}
        for t, x in zip(timed, logs, strict=True):
            groups.setdefault(t.choices.get(nest, {}).get(name), []).append(x)
        between = sum(len(g) * (sum(g) / len(g) - mean) ** 2 for g in groups.values())
        found[f"{nest}.{name}"] = between / total if total else 0.0
    return dict(sorted(found.items(), key=lambda x: -x[1]))


def _importance(r: Tuned) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(name)}</td><td class='n'>{x:.0%}</td>"
        f"<td><span class='bar' style='width:{10 * x:.2f}rem'></span></td></tr>"
        for name, x in importance(r.trials).items()
    )
    return (
        f"<h3>What each choice explains of the variance of times</h3><div class='wide'><table>{rows}</table></div>"
        * bool(rows)
    )


# -- code


def _code(r: Tuned) -> str:
    """The winner's TIR beside the default's."""
    if not r.choices:
        return ""
    default, best = (str(made(r.job.recipe(c)).source("tir")).splitlines() for c in ({}, r.choices))
    rows = "".join(
        f"<tr><td class='{a_kind}'>{html.escape(a)}</td><td class='{b_kind}'>{html.escape(b)}</td></tr>"
        for a, b, a_kind, b_kind in side_by_side(default, best)
    )
    return (
        "<h3>TIR: default, and best</h3><div class='wide'><table class='code'>"
        f"<tr><th>default</th><th>best</th></tr>{rows}</table></div>"
    )


def side_by_side(a: Sequence[str], b: Sequence[str]) -> Iterator[tuple[str, str, str, str]]:
    """Lines of two texts beside each other, with their kinds; of what is equal only what is near a difference."""
    for group in difflib.SequenceMatcher(None, a, b, autojunk=False).get_grouped_opcodes(CONTEXT):
        yield f"line {group[0][1] + 1}", f"line {group[0][3] + 1}", "gap", "gap"
        for kind, i, j, k, m in group:
            same = kind == "equal"
            for row in range(max(j - i, m - k)):
                left, right = a[i + row] if i + row < j else "", b[k + row] if k + row < m else ""
                yield left, right, "" if same or i + row >= j else "less", "" if same or k + row >= m else "more"


def _table(r: Tuned) -> str:
    rows = "".join(
        f"<tr><td class='n'>{k}</td><td>{t.state}</td><td class='n'>{t.ms:.4g}</td><td class='n'>{t.ratio:.2f}</td>"
        f"<td>{html.escape('; '.join(f'{n}: {c}' for n, c in t.choices.items()))}</td><td>{html.escape(t.why[:200])}</td></tr>"
        for k, t in enumerate(r.trials)
    )
    head = "<tr><th>trial<th>state<th>ms<th>ratio<th>choices<th></tr>"
    return f"<details><summary>All trials</summary><div class='wide'><table>{head}{rows}</table></div></details>"
