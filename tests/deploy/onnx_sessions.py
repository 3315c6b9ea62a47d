"""Models in sessions of ONNX Runtime, as they are and with their gathers and scatters replaced."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import gscompile as gs
from tests.frameworks import need

onnx, onnxruntime = need("onnx"), need("onnxruntime")

from benchmarks import onnx_models  # noqa: E402

SEVERITY_NONE = 4


def model(inputs: str, outputs: str, nodes: str, **initializers: Any) -> Any:
    """A model of operator set 18, in ONNX's text."""
    text = f'<ir_version: 10, opset_import: ["": 18]> net ({inputs}) => ({outputs}) {{ {nodes} }}'
    return onnx_models.parsed(text, **initializers)


def session(model: Any, *libraries: Path, threads: int = 0, parallel: bool = False) -> Any:
    """A session of a model, or of a file, which prints nothing."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = SEVERITY_NONE
    if parallel:
        options.execution_mode = onnxruntime.ExecutionMode.ORT_PARALLEL
    for library in libraries:
        options.register_custom_ops_library(str(library))
    source = str(model) if isinstance(model, Path) else model.SerializeToString()
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


class Pair:
    """A model in two sessions: the original, of one thread, and the replaced one.

    ONNX Runtime's ScatterND loses sums of equal indices on several threads.
    """

    def __init__(self, model: Any, folder: Path, *kinds: str, threads: int = 0, name: str = "fast") -> None:
        self.path = folder / f"{name}.onnx"
        self.library = self.path.with_suffix(".so")
        self.parts, _ = gs.onnx.replace(model, self.path, kinds or ("gather", "scatter"))
        self.original = session(model, threads=1)
        self.replaced = session(self.path, self.library, threads=threads)

    @property
    def operators(self) -> list[list[str]]:
        """What became of which nodes."""
        return [list(p.operators) for p in self.parts]

    def agree(self, feed: dict[str, Any], rtol: float = 0.0) -> list[Any]:
        """Run both; they must give the same, bit for bit where no tolerance is given."""
        want, got = self.original.run(None, feed), self.replaced.run(None, feed)
        for a, b in zip(want, got, strict=True):
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            if rtol:
                np.testing.assert_allclose(b, a, rtol, rtol)
            else:
                np.testing.assert_array_equal(b, a)
        return list(got)
