"""ONNX models as graphs of gscompile: ``gs.onnx.import_model``, ``gs.onnx.Backend``, ``gs.onnx.replace``.

A model goes through three steps: ``read`` turns what is in the file into arrays and shapes, ``importer`` walks the nodes, and
each node becomes calls of the builder by its row in ``OPERATORS``, which ``elementwise``, ``movement``, ``reduce``, ``index``,
``normalise`` and ``products`` fill.  ``known`` computes what can be known while the graph is built: shapes, and what is made
of them.

``replace`` compiles parts of a model for ONNX Runtime: ``survey`` tells what is known of its tensors, ``partition`` which nodes
are compiled together.

Needs the package onnx: ``pip install '.[onnx]'``.
"""

from gscompile.errors import missing_extra

try:
    import onnx as _onnx  # noqa: F401
except ImportError:
    raise missing_extra("onnx", "onnx", "reading ONNX models") from None

from gscompile.onnx.backend import Backend
from gscompile.onnx.importer import import_model
from gscompile.onnx.node import NeedsValue
from gscompile.onnx.rewrite import replace

__all__ = ["Backend", "NeedsValue", "import_model", "replace"]
