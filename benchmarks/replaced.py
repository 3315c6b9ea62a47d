"""Models in ONNX Runtime, as they are and with their gathers and scatters replaced: ``python benchmarks/replaced.py``.

Sessions take turns, each with threads of its own, which do not spin between its calls; the time is that of ``session.run``.  ONNX
Runtime's ScatterND loses sums of equal indices on several threads, so the results are compared with those of one thread.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from onnx_models import Workload, beam_step, embedding_bag, gnn_layer

import gscompile as gs

# a model, and sizes of its dynamic axes
ROWS: list[tuple[str, Workload, tuple[int, ...]]] = [
    ("GNN layer, 2,000 nodes, 20,000 edges of 64", gnn_layer(), (2_000, 20_000)),
    ("GNN layer, 20,000 nodes, 200,000 edges of 64", gnn_layer(), (20_000, 200_000)),
    ("embedding bag, 32 bags of 32 rows of 64", embedding_bag(), (32, 32)),
    ("embedding bag, 4,096 bags of 32 rows of 64", embedding_bag(), (4_096, 32)),
    ("beam search, 4 beams, 4 sentences of 32", beam_step(), (4, 32)),
    ("beam search, 4 beams, 16 sentences of 128", beam_step(), (16, 128)),
]


def session(model: Path, threads: int, library: Path | None = None) -> Any:
    """A session whose threads leave the cores to others between calls."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.force_spinning_stop", "1")
    if library is not None:
        options.register_custom_ops_library(str(library))
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def measure(model: Path, library: Path, original: Path, feed: Any, threads: int, rounds: int) -> list[float]:
    """Median milliseconds of the original and of the replaced model."""
    sessions = [session(original, threads), session(model, threads, library)]
    want, got = session(original, 1).run(None, feed), sessions[1].run(None, feed)
    for a, b in zip(want, got, strict=True):
        np.testing.assert_allclose(b, a, 1e-3, 1e-3)
    times: list[list[float]] = [[], []]
    for _ in range(rounds):
        for k, s in enumerate(sessions):
            s.run(None, feed)  # what the other one left in the caches is not its fault
            begin = time.perf_counter()
            s.run(None, feed)
            times[k].append((time.perf_counter() - begin) * 1e3)
    return [float(np.median(t)) for t in times]


def main() -> None:
    import onnx

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--threads", type=int, default=0, help="of each session; 0: as many as there are cores")
    options = parser.parse_args()
    print("| model | ONNX Runtime, ms | replaced, ms | ratio |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        for k, (title, workload, sizes) in enumerate(ROWS):
            original, model = Path(name) / f"net{k}.onnx", Path(name) / f"fast{k}.onnx"
            onnx.save(workload.model, original)
            gs.onnx.replace(original, model)
            library = model.with_suffix(".so")
            a, b = measure(model, library, original, workload.feed(*sizes), options.threads, options.rounds)
            print(f"| {title} | {a:.3g} | {b:.3g} | {a / b:.2f} |", flush=True)


if __name__ == "__main__":
    main()
