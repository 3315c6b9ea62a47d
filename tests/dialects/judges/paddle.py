"""PaddlePaddle on the CPU."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import paddle


def version() -> str:
    return f"paddlepaddle {paddle.__version__}"


def judge(function: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A function of ``paddle``."""
    result = getattr(paddle, function)(*map(tensor, args), **options)
    if result.dtype == paddle.bfloat16:
        return result.astype("float32").numpy().astype(ml_dtypes.bfloat16)
    return result.numpy()


def tensor(x: Any) -> Any:
    if not isinstance(x, np.ndarray):
        return x
    if x.dtype.name == "bfloat16":
        return paddle.to_tensor(x.astype("float32"), place=paddle.CPUPlace()).astype("bfloat16")
    return paddle.to_tensor(x, place=paddle.CPUPlace())
