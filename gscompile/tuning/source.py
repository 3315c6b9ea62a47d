"""What is tuned: a builder, a graph or a module."""

from __future__ import annotations

from typing import Any

from gscompile.build import Module
from gscompile.compiler.targets import Target, resolve
from gscompile.errors import ArgumentError
from gscompile.frontend.builder import Builder
from gscompile.ir.graph import Graph


def graph_of(who: str, source: Builder | Graph | Module) -> Graph:
    """The graph of what was given.

    Raises:
        ArgumentError: it has none.
    """
    if isinstance(source, Module):
        return source._recipe.graph
    graph = source.graph() if isinstance(source, Builder) else source
    if not isinstance(graph, Graph):
        raise ArgumentError(f"{who}: a builder, a graph or a module is needed; got {type(source).__name__}")
    return graph


def target_of(source: Builder | Graph | Module, target: Any) -> Target:
    """The target that was given, or of None a module's own and ``"llvm"`` for a graph."""
    if target is None and isinstance(source, Module):
        return source._recipe.target
    return resolve("llvm" if target is None else target)
