"""OpenVINO's CPU plugin, with one thread: what several write to one place is in no order."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import openvino as ov
from openvino import opset1

PYTHON_OPSET = {"scatter_nd_update_3": 4}
CORE = ov.Core()
EXACT = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}


def version() -> str:
    return f"openvino {ov.__version__.split('-')[0]} CPU"


def judge(function: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A model of the one operation, compiled and run; ``gather_8`` is Gather-8."""
    name, _, number = function.rpartition("_")
    opset = importlib.import_module(f"openvino.opset{PYTHON_OPSET.get(function, number)}")
    tensors = [tensor(a) for a in args]
    inputs = [opset1.parameter(list(t.shape), t.element_type) for t in tensors]
    model = ov.Model([getattr(opset, name)(*inputs, **options)], inputs)
    result = CORE.compile_model(model, "CPU", EXACT)(dict(enumerate(tensors)))[0]
    like = args[0].dtype
    return np.array(result).view(like) if like.name == "bfloat16" else np.array(result)


def tensor(x: np.ndarray[Any, Any]) -> ov.Tensor:
    if x.dtype.name == "bfloat16":
        return ov.Tensor(np.array(x).view("uint16"), x.shape, ov.Type.bf16)
    return ov.Tensor(np.array(x))
