"""gscompile: a compiler for gather and scatter.

import gscompile as gs
b = gs.Builder("net")
a = b.input("a", (8, 24), "float32")
i = b.input("i", (3, 24), "int64")
y = b.gather(a, i, dim=0)
m = b.build(target="llvm")
out = m(a_array, i_array)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gscompile import alias as _alias

if TYPE_CHECKING:
    from gscompile import dialects as dialects
    from gscompile import onnx as onnx
    from gscompile import te as te
    from gscompile.build import Module, export
    from gscompile.compiler.tuned import set_default_database
    from gscompile.errors import (
        ArgumentError,
        BoundsError,
        DeviceError,
        DTypeError,
        GraphError,
        GSError,
        MissingExtraError,
        OutOfMemoryError,
        ShapeError,
        TargetError,
    )
    from gscompile.frontend.builder import Builder, NetBuilder
    from gscompile.frontend.eager import cache_clear, cache_info
    from gscompile.ir.bounds import Bounds
    from gscompile.ir.graph import Graph, Value
    from gscompile.ir.index_map import Fixed, Indexed, IndexMap, Shared, Window
    from gscompile.ir.types import BFloat16, Bool, Complex, DType, Float, Int, TensorType, UInt
    from gscompile.runtime.load import load
    from gscompile.runtime.pools import get_thread_pool, set_thread_pool
    from gscompile.runtime.threads import get_num_threads, set_num_threads
    from gscompile.tuning.dispatch import dispatch
    from gscompile.tuning.experiment import experiment
    from gscompile.tuning.tune import tune

__version__ = "0.1.0"

# Where each public name stands.  It is imported when it is first used, so that the command line answers, and a deployed kernel
# runs, without loading TVM.
_HOMES = {
    "build": "Module export",
    "compiler.tuned": "set_default_database",
    "errors": "ArgumentError BoundsError DTypeError DeviceError GSError GraphError MissingExtraError OutOfMemoryError ShapeError "
    "TargetError",
    "frontend.builder": "Builder NetBuilder",
    "frontend.eager": "cache_clear cache_info",
    "ir.bounds": "Bounds",
    "ir.graph": "Graph Value",
    "ir.index_map": "Fixed IndexMap Indexed Shared Window",
    "ir.types": "BFloat16 Bool Complex DType Float Int TensorType UInt",
    "runtime.load": "load",
    "tuning.dispatch": "dispatch",
    "tuning.experiment": "experiment",
    "tuning.tune": "tune",
    "runtime.pools": "get_thread_pool set_thread_pool",
    "runtime.threads": "get_num_threads set_num_threads",
}
_HOME = {name: f"gscompile.{module}" for module, names in _HOMES.items() for name in names.split()}
_SUBPACKAGES = ("dialects", "onnx", "te")

_alias.install()


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return import_module(f"gscompile.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'gscompile' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBPACKAGES})


__all__ = [
    "ArgumentError",
    "BFloat16",
    "Bool",
    "Bounds",
    "BoundsError",
    "Builder",
    "Complex",
    "DType",
    "DTypeError",
    "DeviceError",
    "Fixed",
    "Float",
    "GSError",
    "Graph",
    "GraphError",
    "IndexMap",
    "Indexed",
    "Int",
    "MissingExtraError",
    "Module",
    "NetBuilder",
    "OutOfMemoryError",
    "ShapeError",
    "Shared",
    "TargetError",
    "TensorType",
    "UInt",
    "Value",
    "Window",
    "cache_clear",
    "cache_info",
    "dispatch",
    "experiment",
    "export",
    "get_num_threads",
    "get_thread_pool",
    "load",
    "set_default_database",
    "set_num_threads",
    "set_thread_pool",
    "tune",
]
