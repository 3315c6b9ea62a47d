"""The process of one framework: ``python -m tests.dialects.judges MODULE FD``, with a pipe at that file descriptor.

It first says ``("result", version)``, then answers every call with ``(kind, content)``, until the pipe is closed.
"""

from __future__ import annotations

import importlib
import resource
import sys
import traceback
from multiprocessing.connection import Connection
from typing import Any

import numpy as np


def main(name: str, pipe: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # its end is nothing to examine
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        pipe.send(("missing", str(error)))
        return
    pipe.send(("result", module.version()))
    try:
        while True:
            pipe.send(answer(module, *pipe.recv()))
    except (EOFError, BrokenPipeError):
        return


def answer(module: Any, function: str, args: tuple[Any, ...], options: dict[str, Any]) -> tuple[str, Any]:
    try:
        result = module.judge(function, args, options)
    except Exception as error:
        return "refused", f"{type(error).__name__}: {error}"
    if not isinstance(result, (np.ndarray, np.generic)) or result.dtype == object:
        return "broken", f"{function} gave a {type(result).__name__}, not an array"
    return "result", np.array(result)  # in memory of its own


if __name__ == "__main__":
    ours = Connection(int(sys.argv[2]))
    try:
        main(sys.argv[1], ours)
    except Exception:
        ours.send(("broken", traceback.format_exc()))
