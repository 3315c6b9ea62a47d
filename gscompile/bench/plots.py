"""Drawings, by matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gscompile.errors import missing_extra


def pyplot() -> Any:
    """matplotlib without a display.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        import matplotlib
    except ImportError as e:
        raise missing_extra("matplotlib", "plot", "drawing") from e
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.fonttype"] = "none"  # text stays text
    matplotlib.rcParams["svg.hashsalt"] = "gscompile"  # the same numbers give the same file
    from matplotlib import pyplot as found

    return found


def _save(draw: Any, figure: Any, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    draw.close(figure)


def bars(groups: Sequence[str], values: Mapping[str, Sequence[float]], label: str, path: Path) -> None:
    """Horizontal bars on a logarithmic axis, from 1 to a ratio, one group to a line.

    Args:
        values: by name of a series, one ratio per group; NaN where there is none.  "floor" is drawn in grey.
        label: what the ratios are.
    """
    draw = pyplot()
    figure, axes = draw.subplots(figsize=(10, 0.5 * len(groups) + 1.2))
    height = 0.84 / max(len(values), 1)
    for k, (name, series) in enumerate(values.items()):
        at = [n + (k - (len(values) - 1) / 2) * height for n in range(len(groups))]
        widths = [ratio - 1 for ratio in series]
        axes.barh(at, widths, height, left=1, label=name, color="0.7" if name == "floor" else f"C{k}")
    axes.set_yticks(range(len(groups)), groups)
    axes.set_ylim(len(groups) - 0.4, -0.6)
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.grid(True, axis="x", linewidth=0.3)
    axes.set_axisbelow(True)
    axes.set_xlabel(label)
    if values:
        axes.legend(fontsize="small")
    _save(draw, figure, path)


def curves(
    series: Mapping[str, Sequence[tuple[float, float]]],
    dashed: Mapping[str, Sequence[tuple[float, float]]],
    labels: tuple[str, str],
    path: Path,
) -> None:
    """Lines on two logarithmic axes; a dashed one has the colour of the line of its name."""
    draw = pyplot()
    figure, axes = draw.subplots(figsize=(9, 5.5))
    for k, (name, points) in enumerate(series.items()):
        axes.plot(*zip(*points, strict=True), marker="o", markersize=3, color=f"C{k}", label=name)
        if dashed.get(name):
            axes.plot(*zip(*dashed[name], strict=True), linestyle="--", linewidth=0.8, color=f"C{k}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    axes.grid(True, which="major", linewidth=0.3)
    axes.legend(fontsize="small")
    _save(draw, figure, path)
