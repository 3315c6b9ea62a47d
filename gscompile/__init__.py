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
from types import ModuleType

from gscompile.bounds import Bounds
from gscompile.builder import Builder, NetBuilder
from gscompile.eager import cache_clear, cache_info
from gscompile.errors import (
    ArgumentError,
    BoundsError,
    DeviceError,
    DTypeError,
    GraphError,
    GSError,
    MissingExtraError,
    ShapeError,
    TargetError,
)
from gscompile.graph import Graph, Value
from gscompile.index_map import Fixed, Indexed, IndexMap, Shared, Window
from gscompile.module import Module
from gscompile.threads import get_num_threads, set_num_threads
from gscompile.types import BFloat16, Bool, DType, Float, Int, TensorType, UInt

__version__ = "0.1.0"


def __getattr__(name: str) -> ModuleType:
    """``gscompile.onnx`` is imported when it is first used, since it needs the package onnx."""
    if name == "onnx":
        return import_module("gscompile.onnx")
    raise AttributeError(f"module 'gscompile' has no attribute {name!r}")


__all__ = [
    "ArgumentError",
    "BFloat16",
    "Bool",
    "Bounds",
    "BoundsError",
    "Builder",
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
    "ShapeError",
    "Shared",
    "TargetError",
    "TensorType",
    "UInt",
    "Value",
    "Window",
    "cache_clear",
    "cache_info",
    "get_num_threads",
    "set_num_threads",
]
