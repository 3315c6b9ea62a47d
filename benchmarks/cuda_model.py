"""What the cuda kernels would take on a GPU, by a model of its memory: ``python benchmarks/cuda_model.py``, on any machine.

Runs the kernels' CUDA text on the CPU (``tests/cuda``) with the benchmark's own indices, counts the sectors that each request
asks for, what the caches miss, bank conflicts and atomics, and turns that into time with a roofline: a kernel takes a launch and
the longest of what DRAM, L2, L1, the atomic units and its own latency need.  Sizes are the benchmark's, and caches begin empty.
The floor is what the bytes that must move take at a copy's bandwidth, without a launch, which no kernel reaches; ``part_of_copy``
is against a copy of as many bytes, which has one.  Takes about two minutes.  Writes ``benchmarks/results/cuda-model.json``.

Four aims, and what was counted.  They hold, and ``tests/cuda/test_schedules.py`` asserts the first and the third:

* Copies of rows use at least 90 % of the sectors that they read and write: all of them, where rows are multiples of 32 bytes.
* They take at most 1 / 0.9 of the time of a plain copy of as many bytes: 1.00 to 1.02 of it.
* A histogram has at most one global atomic per cell and block: ``histogram_add`` 908,736 for 4,096 cells and 488 blocks, and no
  cell more than 488, of 4,000,000 points.
* Message passing moves at most 1.15 times what it must: 1.00.

Where it does not come near the floor it is not DRAM that limits: message passing reads its gathered rows from L2.

Held against an H200 (``benchmarks/NOTES.md``) copies are within 20 %; random elements take twice, atomics two to three times and
folds over segments five times what it says, since it has neither DRAM's 64 bytes nor what atomics and barriers cost there.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

import gscompile as gs  # noqa: E402
from gscompile.bench.workload import Arguments, Arrays, Workload, ascending, zipf  # noqa: E402
from gscompile.bench.workloads import WORKLOADS, among  # noqa: E402
from tests.cuda import on_cpu  # noqa: E402
from tests.cuda.counters import SECTOR, Launch, counted  # noqa: E402

LAUNCH = 2.0e-6  # seconds between the starts of two kernels in a stream
LATENCY_DRAM, LATENCY_L2 = 0.6e-6, 0.2e-6  # seconds until what was read is there
IN_FLIGHT = 4  # reads of one buffer, one after the other, for which a warp waits at once
SUSTAINED = 0.92  # of DRAM's bandwidth, that a copy reaches


def segment_softmax(name: str, segments: int, points: int, *row: int) -> Workload:
    """Of sorted segments, as of the edges that end in a node of a graph, for each column of a row."""

    def make(a: Arguments) -> Arrays:
        (count,) = a.cut(points)
        return {"x": a.data(count, *row), "i": a.index(ascending(zipf(0.8)), segments, (count,))}

    def declare(b: gs.Builder, x: gs.Value, i: gs.Value) -> gs.Value:
        least = b.full((segments, *row), float("-inf"), "float32")
        most = b.put(least, i, x, reduction="max", sorted=True)
        power = b.exp(x - b.take(most, i))
        total = b.put(b.zeros((segments, *row)), i, power, reduction="add", sorted=True)
        return power / b.take(total, i)

    def expected(x: Any, i: Any) -> Any:
        most, total = np.full((segments, *row), -np.inf), np.zeros((segments, *row))
        np.maximum.at(most, i, x)
        power = np.exp(x - most[i])
        np.add.at(total, i, power)
        return (power / total[i]).astype("float32")

    return Workload(name, name, make, declare, expected, sums=True)


def run_softmax(name: str, runs: int, points: int, *row: int) -> Workload:
    """The same, where offsets say which points a segment has."""

    def make(a: Arguments) -> Arrays:
        (count,) = a.cut(points)
        index = a.index(ascending(zipf(0.8)), runs, (count,))
        return {"x": a.data(count, *row), "offsets": np.searchsorted(index, np.arange(runs + 1))}

    def declare(b: gs.Builder, x: gs.Value, offsets: gs.Value) -> gs.Value:
        power = b.exp(x - b.segment_expand(b.segment_reduce(x, offsets, "max"), offsets, x.shape[0]))
        return power / b.segment_expand(b.segment_reduce(power, offsets, "sum"), offsets, x.shape[0])

    def expected(x: Any, offsets: Any) -> Any:
        filled, lengths = np.flatnonzero(np.diff(offsets)), np.diff(offsets)
        most = np.zeros((runs, *row))
        total = most.copy()
        most[filled] = np.maximum.reduceat(x, offsets[filled])
        power = np.exp(x - np.repeat(most, lengths, 0))
        total[filled] = np.add.reduceat(power, offsets[filled])
        return (power / np.repeat(total, lengths, 0)).astype("float32")

    return Workload(name, name, make, declare, expected, sums=True)


def run_sum(name: str, runs: int, points: int, longest: int, *row: int) -> Workload:
    """Sums of runs that offsets give, all alike but for one in the middle."""

    def make(a: Arguments) -> Arrays:
        (count,) = a.cut(points)
        long = count * longest // points
        offsets = (count - long) * np.arange(runs + 1) // runs
        offsets[runs // 2 + 1 :] += long
        return {"x": a.data(count, *row), "offsets": offsets}

    def declare(b: gs.Builder, x: gs.Value, offsets: gs.Value) -> gs.Value:
        return b.segment_reduce(x, offsets)

    def expected(x: Any, offsets: Any) -> Any:
        filled, total = np.flatnonzero(np.diff(offsets)), np.zeros((runs, *row))
        total[filled] = np.add.reduceat(x.astype("float64"), offsets[filled])
        return total.astype("float32")

    return Workload(name, name, make, declare, expected, sums=True)


ROWS = {
    **WORKLOADS,
    "segment_softmax": segment_softmax("segment_softmax", 20_000, 400_000),
    "segment_softmax_rows": segment_softmax("segment_softmax_rows", 20_000, 400_000, 8),
    "run_softmax": run_softmax("run_softmax", 20_000, 400_000),
    "run_softmax_rows": run_softmax("run_softmax_rows", 20_000, 400_000, 8),
    "run_sum": run_sum("run_sum", 20_000, 400_000, 0),
    "run_sum_long": run_sum("run_sum_long", 20_000, 400_000, 300_000),
    "run_sum_rows": run_sum("run_sum_rows", 20_000, 400_000, 0, 8),
    "run_sum_rows_long": run_sum("run_sum_rows_long", 20_000, 400_000, 300_000, 8),
}
"""The benchmark's, and some that are timed nowhere yet."""


@dataclass(frozen=True)
class Gpu:
    """What the maker publishes, but for ``l2_bytes_per_clock`` of Hopper, which is Ampere's, and the atomic units.

    Attributes:
        dram: bytes a second.
        l2, l1: bytes; L1 of one multiprocessor.
        clock: Hz.
        atomic_sectors: a clock, all of L2; one address takes one atomic of a request at a time, in ``atomic_clocks``.
    """

    name: str
    arch: str
    dram: float
    l2: int
    l1: int
    multiprocessors: int
    clock: float
    l2_bytes_per_clock: int = 5120
    atomic_sectors: int = 80
    atomic_clocks: int = 1


GPUS = (
    Gpu("H200", "sm_90", 4.8e12, 50 << 20, 256 << 10, 132, 1.98e9),
    Gpu("A100 80 GB", "sm_80", 2.039e12, 40 << 20, 192 << 10, 108, 1.41e9),
)


def seconds(gpu: Gpu, launch: Launch, part: float) -> dict[str, float]:
    """What each resource needs for a launch that is this part of the whole one."""
    resident = min(32, max(1, 2048 // launch.threads)) * gpu.multiprocessors
    waves = launch.blocks / part / resident
    turns = launch.total("wavefronts") + launch.total("wavefronts", shared=True)
    atomics = launch.total("sectors", access="atomic")
    waits = (launch.l2_waits * LATENCY_L2 + launch.dram_waits * LATENCY_DRAM) / launch.warps
    longest = launch.longest_l2_waits * LATENCY_L2 + launch.longest_dram_waits * LATENCY_DRAM
    return {
        "dram": launch.dram_bytes / part / (gpu.dram * SUSTAINED),
        "l2": launch.l2_bytes / part / (gpu.l2_bytes_per_clock * gpu.clock),
        "l1": turns / part / gpu.multiprocessors / gpu.clock,
        "atomics": max(atomics / gpu.atomic_sectors, launch.atomics_of_one * gpu.atomic_clocks) / part / gpu.clock,
        "latency": max(waves * waits, longest),
    }


def row(w: Workload, most: int | None, folder: Path) -> dict[str, Any]:
    """One workload: counts of each kernel, and the time of each GPU."""
    full, arrays = w.arrays(), w.arrays(most=most)
    whole, moved = w._touched(full), w._touched(arrays)  # cache lines that must move
    part = moved / whole
    found: dict[str, Any] = {"workload": w.name, "moved_bytes": whole, "part": round(part, 4), "gpus": {}}
    for gpu in GPUS:
        own = folder / gpu.arch  # a library is loaded once from each path
        own.mkdir()
        ((module, _),) = on_cpu([w.builder(arrays)], own, arch=gpu.arch)
        with counted(l1=gpu.l1, l2=int(gpu.l2 * part), in_flight=IN_FLIGHT) as launches:
            got = module(**arrays)
        assert (problem := w.differs(got, w.expected(**arrays))) is None, f"{w.name}: {problem}"
        total = sum(LAUNCH + max(seconds(gpu, launch, part).values()) for launch in launches)
        floor = whole / (gpu.dram * SUSTAINED)
        traffic = sum(launch.dram_bytes for launch in launches) / moved
        found["gpus"][gpu.name] = {
            "us": _us(total),
            "floor_us": _us(floor),
            "part_of_floor": round(floor / total, 3),
            "part_of_copy": round((LAUNCH + floor) / total, 3),
            "traffic": round(traffic, 3),
            "kernels": kernels(gpu, launches, part),
        }
    return found


def kernels(gpu: Gpu, launches: Sequence[Launch], part: float) -> list[dict[str, Any]]:
    """Of each launch its time, what limits it, and its counts."""
    found = []
    for launch in launches:
        need = seconds(gpu, launch, part)
        limit = max(need, key=lambda k: need[k])
        found.append({"kernel": launch.kernel, "limit": limit, "us": _us(LAUNCH + need[limit]), **_counts(launch)})
    return found


def _us(s: float) -> float:
    return round(s * 1e6, 2)


def _counts(launch: Launch) -> dict[str, Any]:
    reads_writes = [s for s in launch.sites if not s.shared]
    asked = sum(s.lanes * s.size for s in reads_writes)
    sectors = launch.total("sectors")
    return {
        "blocks": launch.blocks,
        "threads": launch.threads,
        "dram_bytes": launch.dram_bytes,
        "l2_bytes": launch.l2_bytes,
        "sectors_per_request": _ratio(sectors, launch.total("requests")),
        "used_of_sectors": round(asked / (sectors * SECTOR), 3) if sectors else None,
        "requests_per_warp": round(
            (launch.total("requests") + launch.total("requests", shared=True)) / launch.warps, 2
        ),
        "atomics": launch.total("lanes", access="atomic"),
        "atomics_of_one_address": launch.atomics_of_one,
        "shared_turns_per_request": _ratio(
            launch.total("wavefronts", shared=True), launch.total("requests", shared=True)
        ),
    }


def _ratio(a: int, b: int) -> float | None:
    return round(a / b, 2) if b else None


def table(rows: Sequence[dict[str, Any]]) -> str:
    names = "".join(f"{g.name + ' us':>14}{'of floor':>10}{'of copy':>9}{'traffic':>9}" for g in GPUS)
    lines = [f"{'workload':<22}{'kernels':>8}{names}"]
    for r in rows:
        cells = [r["gpus"][g.name] for g in GPUS]
        lines.append(
            f"{r['workload']:<22}{len(cells[0]['kernels']):>8}"
            + "".join(f"{c['us']:>14}{c['part_of_floor']:>10}{c['part_of_copy']:>9}{c['traffic']:>9}" for c in cells)
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("workloads", nargs="*", help="names, or parts of names; all rows of the table by default")
    parser.add_argument("--most", type=int, help="cut longer axes, and L2 with them: for a rehearsal")
    parser.add_argument("--json", type=Path, default=ROOT / "benchmarks" / "results" / "cuda-model.json")
    options = parser.parse_args()
    rows = []
    for w in among(ROWS, options.workloads):
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            rows.append(row(w, options.most, Path(folder)))
        print(f"{w.name}: {time.monotonic() - begin:.1f} s", file=sys.stderr, flush=True)
    document = {
        "measure": "model",
        "command": " ".join(["python benchmarks/cuda_model.py", *sys.argv[1:]]),
        "assumed": {
            "launch_us": _us(LAUNCH),
            "dram_latency_us": _us(LATENCY_DRAM),
            "l2_latency_us": _us(LATENCY_L2),
            "in_flight": IN_FLIGHT,
            "sustained": SUSTAINED,
        },
        "gpus": [asdict(g) for g in GPUS],
        "rows": rows,
    }
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(document, indent=1) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
