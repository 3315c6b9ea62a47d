"""What the cuda kernels would take on a GPU, by a model of its memory: ``python benchmarks/cuda_model.py``, on any machine.

Runs the kernels' CUDA text on the CPU (``tests/cuda``) with the benchmark's own indices, counts what each request asks for, what
the caches miss, bank conflicts, atomics, instructions and waits, and turns that into time.  Sizes are the benchmark's.  Caches
begin empty, but for rows of which the eight sets of arrays of a measurement fit in half of L2: these find what was left.
The floor is what the bytes that must move take at a copy's bandwidth, which no kernel reaches; ``part_of_copy`` is against a copy
of as many bytes, by the same model.  Takes three minutes.  Writes ``benchmarks/results/cuda-model.json``, with a comparison of
the rows whose kernels ``benchmarks/results/nvidia-h200/peers.json`` has.

A kernel takes ``START`` and what its resources need together, which overlap in part: times add as squares do (``OVERLAP``).

* ``dram``: bytes, at the bandwidth that a copy reaches.  Of what is read and missed, L2 fetches 64 bytes.
* ``l2``: accesses of up to 64 bytes that lie together; each slice has one a clock.
* ``l1``: lines of each request, and turns of shared memory.
* ``issue``: instructions of warps; each multiprocessor begins four a clock.
* ``atomics``: the sectors that atomics change, or the atomics of one address, one after the other.
* ``shared``: atomics of one address of a block's shared memory, one after the other.
* ``latency``: what the warps of a block do one after the other, for each wave of blocks, and in the last wave what the longest
  block does.

Five numbers are fitted to what 26 rows took on an H200 (:class:`Gpu`); the others are published, measured apart or read from
ptxas' code, as it says beside them.  All 26 are within a factor of 1.32, 22 within 1.25; geometric mean 1.13.
Each predicted by numbers that are fitted to the other 25: 1.19, but histogram_add 1.75, which alone has atomics of shared memory.
17 rows of ``benchmarks/gpu_workloads.py``, mostly larger, which were looked at for ``lines`` alone: 1.16, the worst 1.36.

The A100 has the same five numbers and was never measured.  What is not in the model: how long one block waits for another, that
blocks run at the same time and see what others have not stored yet, and that the two halves of L2 may both hold what is read.

Four aims, and what was counted.  All but the second hold; ``tests/cuda/test_schedules.py`` asserts the first and the third:

* Copies of rows use at least 90 % of the sectors that they read and write: all of them, where rows are multiples of 32 bytes.
* They take at most 1 / 0.9 of the time of a plain copy of as many bytes: rows of 8 KB do, 1.04 of it; shorter ones take 1.15 to
  1.22.  Of larger tables, on the H200, rows of 8 KB took 1.06 of a copy's time and rows of 64 bytes 1.5.
* A histogram has at most one global atomic per cell and block: ``histogram_add`` 908,464 for 4,096 cells and 488 blocks, and no
  cell more than 488, of 4,000,000 points.
* Message passing moves at most 1.15 times what it must: 1.00.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

import gscompile as gs  # noqa: E402
from gscompile.bench.workload import Arguments, Arrays, Workload, ascending, zipf  # noqa: E402
from gscompile.bench.workloads import WORKLOADS, among  # noqa: E402
from tests.cuda import on_cpu  # noqa: E402
from tests.cuda.counters import SECTOR, Chain, Launch, counted  # noqa: E402

# measured on the H200
START = 0.6e-6  # seconds that a kernel of one thread takes, which reads a number: 0.74 to 0.96 us, without that
GAP = 1.4e-6  # seconds between two kernels in a stream: CUDA's events around calls, without their kernels
SUSTAINED = 0.86  # of DRAM's bandwidth, that a copy reaches
FETCH = 64  # bytes that L2 fetches of what is missed: what random elements take of DRAM
# published for an H100: https://arxiv.org/abs/2402.13499; clocks
L2_CLOCKS, DRAM_CLOCKS, OPERATION_CLOCKS = 263, 479, 29
# read from ptxas' code of these kernels
SASS = 1.2  # instructions of the GPU for each that is counted: 320 of index_max_rows for 241, some of which do not run
REGISTERS = 40  # of a thread: most kernels have 32 to 56
# assumed
IN_FLIGHT = 4  # reads of one buffer, one after the other, for which a warp waits at once
OVERLAP = 2  # times of resources add as powers do: 1 without overlap, the longest alone for a large number

SETS = 8  # of arrays that benchmarks/gpu.py has at most, one after the other
PEERS = ROOT / "benchmarks" / "results" / "nvidia-h200" / "peers.json"


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


def in_order(name: str, of: str) -> Workload:
    """A sum of rows that is the same in every call."""
    like = WORKLOADS[of]

    def declare(b: gs.Builder, x: gs.Value, index: gs.Value, src: gs.Value) -> gs.Value:
        return b.put(x, index, src, reduction="add", deterministic=True)

    return replace(like, name=name, declare=declare)


def running_sum(name: str, count: int) -> Workload:
    """Of one row."""

    def make(a: Arguments) -> Arrays:
        return {"x": a.data(*a.cut(count))}

    def expected(x: Any) -> Any:
        return np.cumsum(x.astype("float64")).astype("float32")

    return Workload(name, name, make, lambda b, x: b.cumsum(x, 0), expected, sums=True)


ROWS = {
    **WORKLOADS,
    "index_add_in_order": in_order("index_add_in_order", "index_add_rows"),
    "running_sum": running_sum("running_sum", 1_000_000),
    "segment_softmax": segment_softmax("segment_softmax", 20_000, 400_000),
    "segment_softmax_rows": segment_softmax("segment_softmax_rows", 20_000, 400_000, 8),
    "run_softmax": run_softmax("run_softmax", 20_000, 400_000),
    "run_softmax_rows": run_softmax("run_softmax_rows", 20_000, 400_000, 8),
    "run_sum": run_sum("run_sum", 20_000, 400_000, 0),
    "run_sum_long": run_sum("run_sum_long", 20_000, 400_000, 300_000),
    "run_sum_rows": run_sum("run_sum_rows", 20_000, 400_000, 0, 8),
    "run_sum_rows_long": run_sum("run_sum_rows_long", 20_000, 400_000, 300_000, 8),
}
"""The benchmark's, sums in order, scans, and folds of segments."""


@dataclass(frozen=True)
class Gpu:
    """What the maker publishes, and from ``lines`` on what is fitted to the rows on an H200.

    Attributes:
        dram: bytes a second.
        l2, l1: bytes; L1 of one multiprocessor.
        clock: Hz.
        slices: of L2; of Hopper, Ampere's.
        lines: that L1 looks up in a clock.
        atomic_sectors: that L2 changes in a clock.
        atomic_clocks: until the next atomic of the same address.
        shared_clocks: until the next atomic of the same address of shared memory, of floats a loop that compares and swaps.
        instruction_clocks: until the next instruction of the same warp.
    """

    name: str
    arch: str
    dram: float
    l2: int
    l1: int
    multiprocessors: int
    clock: float
    slices: int = 80
    lines: int = 4
    atomic_sectors: int = 53
    atomic_clocks: int = 12
    shared_clocks: int = 83
    instruction_clocks: int = 7


GPUS = (
    Gpu("H200", "sm_90", 4.8e12, 50 << 20, 256 << 10, 132, 1.98e9),
    Gpu("A100 80 GB", "sm_80", 2.039e12, 40 << 20, 192 << 10, 108, 1.41e9),
)
MEASURED = GPUS[0]


@contextmanager
def counting(gpu: Gpu, part: float = 1.0) -> Iterator[list[Launch]]:
    """The launches of a ``with`` statement, of this part of the whole work."""
    with counted(l1=gpu.l1, l2=int(gpu.l2 * part), in_flight=IN_FLIGHT, fetch=FETCH) as launches:
        yield launches


def seconds(gpu: Gpu, launch: Launch, part: float) -> dict[str, float]:
    """What each resource needs for a launch that is this part of the whole one."""
    resident = max(1, min(32, 2048 // launch.threads, 65536 // (REGISTERS * launch.threads)))
    waves = launch.blocks / part / (resident * gpu.multiprocessors)
    reads_writes = launch.total("l2_accesses") - launch.total("l2_accesses", access="atomic")
    lines, turns = launch.total("wavefronts"), launch.total("wavefronts", shared=True)
    atomics = launch.total("sectors", access="atomic")

    def clocks(chain: Chain) -> float:
        waits = chain.l2_waits * L2_CLOCKS + chain.dram_waits * DRAM_CLOCKS
        return waits + chain.operations * OPERATION_CLOCKS + chain.instructions * SASS * gpu.instruction_clocks

    needs = {
        "l2": reads_writes / part / gpu.slices,
        "l1": (lines / gpu.lines + turns) / part / gpu.multiprocessors,
        "issue": (launch.instructions * SASS + launch.operations) / part / gpu.multiprocessors / 4,
        "atomics": max(atomics / gpu.atomic_sectors, launch.atomics_of_one * gpu.atomic_clocks) / part,
        "shared": max(1, math.ceil(waves)) * launch.shared_atomics_of_one * gpu.shared_clocks,
        "latency": max(0.0, waves - 1) * clocks(launch.chain) / launch.blocks + clocks(launch.longest_chain),
    }
    dram = launch.dram_bytes / part / (gpu.dram * SUSTAINED)
    return {"dram": dram, **{name: n / gpu.clock for name, n in needs.items()}}


def together(needs: Iterable[float]) -> float:
    """Seconds of a kernel whose resources need so many each."""
    return START + float(sum(n**OVERLAP for n in needs) ** (1 / OVERLAP))


def copy(gpu: Gpu, moved: int) -> float:
    """Seconds of a plain copy that reads and writes so many bytes in all."""
    return together([moved / (gpu.dram * SUSTAINED), moved / 64 / gpu.slices / gpu.clock])


def row(w: Workload, most: int | None, folder: Path) -> dict[str, Any]:
    """One workload: counts of each kernel, and the time of each GPU."""
    full, arrays = w.arrays(), w.arrays(most=most)
    whole, moved = w._touched(full), w._touched(arrays)  # cache lines that must move
    part = moved / whole
    found: dict[str, Any] = {"workload": w.name, "moved_bytes": whole, "part": round(part, 4), "gpus": {}}
    for gpu in GPUS:
        own = folder / gpu.arch  # a library is loaded once from each path
        own.mkdir()
        ((module, _),) = on_cpu([w.builder(arrays)], own, arch=gpu.arch, traced=True)
        again = SETS * whole <= gpu.l2 // 2
        with counting(gpu, part) as launches:
            if again:
                module(**arrays)
            got = module(**arrays)
        assert (problem := w.differs(got, w.expected(**arrays))) is None, f"{w.name}: {problem}"
        launches = launches[len(launches) // 2 if again else 0 :]
        of_kernels = sum(together(seconds(gpu, launch, part).values()) for launch in launches)
        total = of_kernels + GAP * len(launches)
        floor = whole / (gpu.dram * SUSTAINED)
        traffic = sum(launch.dram_bytes for launch in launches) / moved
        found["gpus"][gpu.name] = {
            "us": _us(total),
            "kernels_us": _us(of_kernels),
            "floor_us": _us(floor),
            "part_of_floor": round(floor / total, 3),
            "part_of_copy": round((copy(gpu, whole) + GAP) / total, 3),
            "traffic": round(traffic, 3),
            "in_l2": again,
            "kernels": kernels(gpu, launches, part),
        }
    return found


def kernels(gpu: Gpu, launches: Sequence[Launch], part: float) -> list[dict[str, Any]]:
    """Of each launch its time, what limits it, and its counts."""
    found = []
    for launch in launches:
        need = seconds(gpu, launch, part)
        us = {name: _us(s) for name, s in need.items() if s >= 0.5e-8}
        limit = max(need, key=lambda k: need[k])
        found.append(
            {
                "kernel": launch.kernel,
                "limit": limit,
                "us": _us(together(need.values())),
                "needs_us": us,
                **_counts(launch),
            }
        )
    return found


def measured(name: str) -> dict[str, float]:
    """Microseconds of a row's kernels on the H200; empty where it was not measured."""
    row = json.loads(PEERS.read_text()).get("model", {}).get(name, {}) if PEERS.exists() else {}
    return {} if row.get("wrong") else dict(row.get("kernels_us", {}))


def comparison(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What the model says of the H200, and what that took: kernels that both have, without the gaps between them."""
    found = []
    for r in rows:
        took = measured(r["workload"])
        both = [k for k in r["gpus"][MEASURED.name]["kernels"] if k["kernel"] in took]
        if both and r["part"] == 1:
            us, of = sum(k["us"] for k in both), sum(took[k["kernel"]] for k in both)
            ratio = {"model_us": round(us, 2), "measured_us": round(of, 2), "ratio": round(us / of, 3)}
            found.append({"workload": r["workload"], **ratio})
    if not found:
        return {"rows": []}
    off = {f["workload"]: max(f["ratio"], 1 / f["ratio"]) for f in found}
    worst = max(off, key=lambda name: off[name])
    return {
        "gpu": MEASURED.name,
        "geometric_mean": round(math.exp(sum(math.log(x) for x in off.values()) / len(off)), 3),
        "worst": worst,
        "worst_ratio": next(f["ratio"] for f in found if f["workload"] == worst),
        "within_1.25": sum(x <= 1.25 for x in off.values()),
        "rows": found,
    }


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
        "l2_accesses": launch.total("l2_accesses"),
        "sectors_per_request": _ratio(sectors, launch.total("requests")),
        "used_of_sectors": round(asked / (sectors * SECTOR), 3) if sectors else None,
        "requests_per_warp": round(
            (launch.total("requests") + launch.total("requests", shared=True)) / launch.warps, 2
        ),
        "instructions_per_warp": _ratio(launch.instructions, launch.warps),
        "barriers_per_block": _ratio(launch.barriers, launch.blocks),
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


def compared(found: dict[str, Any]) -> str:
    """The comparison as a table."""
    if not found["rows"]:
        return "nothing was measured of these rows"
    lines = [f"{'workload':<22}{'model us':>10}{'measured':>10}{'ratio':>8}"]
    lines += [f"{r['workload']:<22}{r['model_us']:>10}{r['measured_us']:>10}{r['ratio']:>8}" for r in found["rows"]]
    lines.append(
        f"{found['gpu']}: geometric mean of max(ratio, 1 / ratio) {found['geometric_mean']}, "
        f"{found['within_1.25']} of {len(found['rows'])} within 1.25, worst {found['worst']} {found['worst_ratio']}"
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
    document: dict[str, Any] = {
        "measure": "model",
        "command": " ".join(["python benchmarks/cuda_model.py", *sys.argv[1:]]),
        "assumed": {
            "start_us": _us(START),
            "gap_us": _us(GAP),
            "sustained": SUSTAINED,
            "dram_latency_clocks": DRAM_CLOCKS,
            "l2_latency_clocks": L2_CLOCKS,
            "operation_clocks": OPERATION_CLOCKS,
            "fetch_bytes": FETCH,
            "instructions_for_each": SASS,
            "registers": REGISTERS,
            "in_flight": IN_FLIGHT,
            "overlap": OVERLAP,
        },
        "gpus": [asdict(g) for g in GPUS],
        "compared": comparison(rows),
        "rows": rows,
    }
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(document, indent=1) + "\n")
    print(table(rows), compared(document["compared"]), sep="\n\n")


if __name__ == "__main__":
    main()
