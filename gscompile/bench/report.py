"""What ``gscompile bench`` prints, saves and draws."""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gscompile import __version__
from gscompile.bench.measure import Row
from gscompile.errors import missing_extra


def machine() -> dict[str, Any]:
    """What the numbers depend on."""
    from importlib import metadata

    def version(package: str) -> str | None:
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            return None

    packages = ("apache-tvm", "numpy", "torch", "jax", "onnxruntime")
    return {
        "cpu": _cpu_name(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "gscompile": __version__,
        "packages": {p: v for p in packages if (v := version(p))},
    }


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def geometric_mean(ratios: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else float("nan")


def table(rows: Sequence[Row]) -> str:
    """Medians in milliseconds; the ratio says how many times as long the best peer takes."""
    peers = sorted({k for r in rows for k in r.ms} - {"gscompile"})
    head = ["workload", "gscompile", *peers, "floor", "x floor", "x best peer"]
    lines = [head, ["---"] * len(head)]
    for r in rows:
        ours = r.ms.get("gscompile")
        times = ["wrong" if p in r.wrong else _ms(r.ms.get(p)) for p in peers]
        best = "-" if r.ratio is None or r.best_peer is None else f"{r.ratio:.2f} {r.best_peer[0]}"
        over = "-" if ours is None or not r.floor_ms else f"{ours / r.floor_ms:.2f}"
        mine = "wrong" if "gscompile" in r.wrong else _ms(ours)
        lines.append([r.name, mine, *times, _ms(r.floor_ms), over, best])
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    text = "\n".join("| " + " | ".join(c.ljust(n) for c, n in zip(line, widths, strict=True)) + " |" for line in lines)
    ratios = [r.ratio for r in rows if r.ratio is not None and not r.name.startswith("tiny")]
    if ratios:
        text += f"\n\ngeometric mean of best peer / gscompile over {len(ratios)} rows: {geometric_mean(ratios):.2f}"
    for r in rows:
        for name, problem in r.wrong.items():
            text += f"\n{r.name}: the result of {name} is wrong and was not timed: {problem}"
    return text


def _ms(x: float | None) -> str:
    return "-" if x is None else f"{x:.3g}" if x < 100 else f"{x:.0f}"


def as_json(rows: Sequence[Row], command: str) -> str:
    """The machine, the command and all rows."""
    found = [
        {
            "workload": r.name,
            "moved_bytes": r.moved,
            "floor_ms": round(r.floor_ms, 5),
            "ms": {k: round(v, 5) for k, v in r.ms.items()},
            "wrong": r.wrong,
        }
        for r in rows
    ]
    return json.dumps({"machine": machine(), "command": command, "rows": found}, indent=1) + "\n"


def plot(rows: Sequence[Row], path: Path) -> None:
    """Bars: time relative to gscompile's, per workload and library, on a logarithmic axis.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        import matplotlib
    except ImportError as e:
        raise missing_extra("matplotlib", "plot", "drawing") from e
    matplotlib.use("Agg")
    from matplotlib import pyplot

    shown = [r for r in rows if "gscompile" in r.ms]
    names = ["gscompile", *sorted({k for r in shown for k in r.ms} - {"gscompile"}), "floor"]
    figure, axes = pyplot.subplots(figsize=(10, 0.42 * len(shown) + 1.6))
    height = 0.8 / len(names)
    for k, name in enumerate(names):
        at = [n + (k - (len(names) - 1) / 2) * height for n in range(len(shown))]
        times = [r.floor_ms if name == "floor" else r.ms.get(name, float("nan")) for r in shown]
        relative = [t / r.ms["gscompile"] for t, r in zip(times, shown, strict=True)]
        axes.barh(at, relative, height, label=name, color="0.75" if name == "floor" else None)
    axes.set_yticks(range(len(shown)), [r.name for r in shown])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel("time / gscompile's time")
    axes.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)
