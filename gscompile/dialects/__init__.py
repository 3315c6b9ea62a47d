"""Every framework's own gathers and scatters, one file each: ``from gscompile.dialects import torch as gt``.

A dialect is a translation.  Its functions carry the framework's names, argument order and defaults, and decide nothing but
which index map, bounds policy and reduction a call is; what these do is the core's business.  Every function takes values
of a builder, and adds to their graph, or arrays, and computes at once: see :mod:`gscompile.frontend.eager`.

Where a framework reads or writes memory that is not its tensors', or leaves a result to chance, the function's docstring
says what is done instead.  Where it refuses a call, so does the dialect, with an error of gscompile's that names the
argument and the rule.

A dialect is imported when it is first used: ``gs.dialects.torch.gather`` needs no import of its own.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

__all__ = sorted(m.name for m in iter_modules(__path__) if not m.name.startswith("_"))


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'gscompile.dialects' has no attribute {name!r}; dialects: {', '.join(__all__)}")
    return import_module(f"gscompile.dialects.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
