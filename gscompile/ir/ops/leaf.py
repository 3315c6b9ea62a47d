"""Tensors that come from outside the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gscompile.ir.ops.base import Leaf


@dataclass(frozen=True, slots=True)
class Input(Leaf):
    """A tensor the caller passes at every call."""

    @property
    def name(self) -> str:
        return "input"


@dataclass(frozen=True, slots=True, eq=False)
class Constant(Leaf):
    """An array fixed when the graph was built; it is referenced, not copied."""

    array: Any

    @property
    def name(self) -> str:
        return "constant"
