"""Relax models with and without ``gscompile.relax.LegalizeGatherScatter``: results compared, calls interleaved, medians in ms.

python benchmarks/relax.py [--rounds 15]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
import torch
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx
from tvm.relax.frontend.torch import from_exported_program

from gscompile.compiler.targets import resolve
from gscompile.relax import LegalizeGatherScatter

TARGET = resolve("llvm").tvm
RNG = np.random.default_rng(0)

MESSAGES = """
<ir_version: 8, opset_import: ["" : 18]>
net (float[n, 64] x, int64[e] src, int64[e, 1] dst, float[e, 1] w, float[n, 64] zero) => (float[n, 64] y)
{
    rows = Gather <axis = 0> (x, src)
    messages = Mul (rows, w)
    summed = ScatterND <reduction = "add"> (zero, dst, messages)
    y = Relu (summed)
}
"""


class Bags(torch.nn.Module):  # type: ignore[misc]
    """Sums of 32 rows of a table."""

    def __init__(self, rows: int, width: int) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(rows, width)

    def forward(self, ids: Any) -> Any:
        return self.table(ids).sum(1)


def models() -> Iterator[tuple[str, Any, list[Any]]]:
    """(name, module, inputs)."""
    nodes, edges = 20_000, 400_000
    x = RNG.standard_normal((nodes, 64), "float32")
    src, dst = RNG.integers(0, nodes, edges), RNG.integers(0, nodes, (edges, 1))
    w = RNG.random((edges, 1), dtype="float32")
    graph = from_onnx(onnx.parser.parse_model(MESSAGES), keep_params_in_input=False)
    yield "ONNX: message passing, 400,000 edges", graph, [x, src, dst, w, np.zeros_like(x)]
    ids = torch.from_numpy(RNG.integers(0, 100_000, (4096, 32)))
    with torch.no_grad():
        bags = from_exported_program(torch.export.export(Bags(100_000, 64).eval(), (ids,)))
    yield "PyTorch: 4,096 bags of 32 rows", bags, [ids.numpy()]


def timed(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    for name, module, arrays in models():
        inputs = [tvm.runtime.tensor(a) for a in arrays]
        ways = {"without": module, "with": LegalizeGatherScatter(TARGET)(module)}
        calls = {}
        for way, made in ways.items():
            vm = relax.VirtualMachine(tvm.compile(made, target=TARGET), tvm.cpu())
            calls[way] = lambda vm=vm, given=inputs: vm["main"](*given)
        results = [_first(call()).numpy() for call in calls.values()]
        np.testing.assert_allclose(*results, rtol=1e-3, atol=1e-4)
        times: dict[str, list[float]] = {way: [] for way in calls}
        for _ in range(rounds):
            for way, call in calls.items():
                times[way].append(timed(call))
        found = {way: statistics.median(t) for way, t in times.items()}
        print(f"{name}: {found['without']:.2f} ms without, {found['with']:.2f} with")


def _first(result: Any) -> Any:
    return result if hasattr(result, "numpy") else result[0]


if __name__ == "__main__":
    main()
