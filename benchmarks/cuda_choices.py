"""What a graph's cuda kernels ask of a GPU's memory, by rule, way and distribution of indices: an experiment without a GPU.

    python benchmarks/cuda_choices.py SCRIPT.py:FUNCTION [--indices sorted --indices zipf:1.1] [--size n=1000] [--gpu A100]

On any machine with g++, in a checkout: the text of the kernels runs on the CPU (``tests/cuda``), with counters at each access.
Results are compared with the default's.  A call of a million points takes about a second for each kernel, so keep sizes small:
what a request asks for depends on the indices, and hardly on how many there are.  A line for each kernel:

* ``us``, ``limit``: what the model of ``cuda_model.py`` expects, and of what; caches begin empty.
* ``DRAM MB``: read and written, of the caches of that GPU.
* ``sectors``: of 32 bytes, for each request of a warp for global memory.  Neighbouring floats need 4, 32 scattered ones 32.
* ``used``: the part of these sectors' bytes that threads asked for.
* ``bank turns``: for each request for shared memory; 1 is one without a conflict of banks.
* ``atomics``, ``at one``: of global memory, and at the address that has most, which takes them one after the other.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from cuda_model import GPUS, Gpu, counting, kernels

from gscompile.bench.report import markdown
from gscompile.commands.compile import builders
from gscompile.commands.tune import sizes_of as given_sizes
from gscompile.compiler.targets import resolve
from gscompile.frontend.builder import Builder
from gscompile.schedules import Choices
from gscompile.tuning.experiment import DEFAULT, branches
from gscompile.tuning.indices import arrays, sizes_of, specs_of
from gscompile.tuning.worker import Job, differs
from tests.cuda import on_cpu

COLUMNS = {
    "us": "us",
    "limit": "limit",
    "dram_bytes": "DRAM MB",
    "sectors_per_request": "sectors",
    "used_of_sectors": "used",
    "shared_turns_per_request": "bank turns",
    "atomics": "atomics",
    "atomics_of_one_address": "at one",
}


def rows(
    b: Builder,
    indices: Sequence[Any] = ("uniform",),
    sizes: Mapping[str, int] | None = None,
    choices: Mapping[str, Choices] | None = None,
    gpu: Gpu = GPUS[0],
    seed: int = 0,
) -> list[dict[str, Any]]:
    """For each choice, distribution and kernel: ``choice``, ``indices``, and what ``cuda_model.kernels`` gives.

    Args:
        indices, sizes: as for :func:`gscompile.tune`, the first one after the other.
        choices: by a name; by default each rule that applies, and each of its ways.  The default is always among them.

    Raises:
        RuntimeError: a choice has another result than the default.
    """
    graph, target = b.graph(), resolve({"kind": "cuda", "arch": gpu.arch})
    found: list[dict[str, Any]] = []
    drawn = {}
    for how in indices:
        specs = specs_of(graph, how)
        known = sizes_of(graph, sizes, specs)
        drawn[str(how)] = arrays(graph, specs, known, seed)
        job = Job(graph, target, (), False, specs, known, 1)
    want: dict[str, Any] = {}
    for name, given in {DEFAULT: {}, **(branches(job) if choices is None else choices)}.items():
        with tempfile.TemporaryDirectory() as folder:
            ((module, _),) = on_cpu([b], Path(folder), arch=gpu.arch, traced=True, choices=[given])
            for how, inputs in drawn.items():
                with counting(gpu) as launches:
                    outs = module(*inputs)
                outs = [np.array(x) for x in (outs if isinstance(outs, (tuple, list)) else [outs])]
                if (problem := differs(outs, want.setdefault(how, outs))) is not None:
                    raise RuntimeError(f"{name}: {how}: {problem}")
                found += [{"choice": name, "indices": how, **k} for k in kernels(gpu, launches, 1.0)]
    return found


def table(found: Sequence[Mapping[str, Any]]) -> str:
    """In Markdown."""

    def shown(row: Mapping[str, Any], name: str) -> str:
        value = row[name]
        if value is None:
            return "-"
        if name == "dram_bytes":
            return f"{value / 1e6:.2f}"
        return f"{value:,}" if isinstance(value, int) else str(value)

    lines = [[r["choice"], r["indices"], r["kernel"], *(shown(r, name) for name in COLUMNS)] for r in found]
    return markdown(["choice", "indices", "kernel", *COLUMNS.values()], lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", metavar="SCRIPT.py:FUNCTION", help="or an ONNX model")
    parser.add_argument("--indices", action="append", default=[], help="uniform, zipf:1.1, ...; uniform by default")
    parser.add_argument("--size", metavar="NAME=N", action="append", default=[], help="a number for a symbolic size")
    parser.add_argument("--gpu", choices=[g.name.partition(" ")[0] for g in GPUS], default="H200")
    options = parser.parse_args()
    options.name = None
    (gpu,) = (g for g in GPUS if g.name.startswith(options.gpu))
    for b in builders(options, {}):
        print(f"{b.name}, {gpu.name} ({gpu.arch})\n")
        print(table(rows(b, options.indices or ["uniform"], given_sizes(options.size), gpu=gpu)))


if __name__ == "__main__":
    main()
