"""TensorFlow, on the CPU or compiled by XLA for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf


def version() -> str:
    return f"tensorflow {tf.__version__}"


def judge(function: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A function of ``tf`` or ``tf.math``; ``device="xla"`` compiles it."""
    called = getattr(tf, function, None) or getattr(tf.math, function)
    options = dict(options)
    if options.pop("device", "cpu") == "cpu":
        return called(*args, **options).numpy()
    tensors = [a for a in args if isinstance(a, np.ndarray)]

    def compiled(*given: Any) -> Any:
        rest = iter(given)
        return called(*(next(rest) if isinstance(a, np.ndarray) else a for a in args), **options)

    return tf.function(compiled, jit_compile=True, autograph=False)(*map(tf.constant, tensors)).numpy()
