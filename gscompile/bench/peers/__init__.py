"""What users would call instead: one adapter per library.

An adapter is a picklable object with a ``name`` and ``prepare(workload, arrays, threads)``, which gives functions without
arguments: the ways in which the library can compute the result, of which the fastest right one is timed.  They write to
storage that is allocated beforehand where the library can do that, and start from the arrays as the user has them: an index
that has to be changed first is changed in the time taken.  To add one, write its module here and name it in ``PEERS``.
"""

from __future__ import annotations

import importlib.util

from gscompile.bench.peers.base import Peer
from gscompile.bench.peers.jax import Jax
from gscompile.bench.peers.numpy import NumPy
from gscompile.bench.peers.onnxruntime import OnnxRuntime
from gscompile.bench.peers.openvino import OpenVino
from gscompile.bench.peers.torch import Torch
from gscompile.bench.peers.torch_compile import TorchCompile

PEERS: dict[str, Peer] = {p.name: p for p in (NumPy(), Torch(), TorchCompile(), Jax(), OnnxRuntime(), OpenVino())}


def missing(peer: Peer) -> list[str]:
    """The packages that a peer needs and that are not installed."""
    return [p for p in peer.packages if importlib.util.find_spec(p) is None]
