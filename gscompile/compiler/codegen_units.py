"""A function's machine code, made by several threads.

LLVM takes most of the time of a build, and one thread takes all of it for one module.  The parallel loops of a function, which
become functions of their own anyway, are dealt out among modules, the codegen units, whose objects the linker joins again.  What
each loop is compiled to does not change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from gscompile.compiler.parts import Outlined
from gscompile.ir import codegen
from gscompile.ir import tir as T
from gscompile.ir.tir import PrimFunc, Stmt
from gscompile.runtime.background import large_stacks
from gscompile.runtime.threads import available_cores

MOST = 4
"""Units: each costs what LLVM takes for an empty module, about as much as a short loop."""
LEAST = 20
"""Parts of the syntax tree in a unit, of a loop with a few statements about 50."""

STRAIGHT = 3
"""Parts of what is left of a function that take LLVM as long as one of a loop: adds of rows, 74 parts 13 ms, 82 of a loop 49."""


class Loop(NamedTuple):
    """A parallel loop as a function of its own."""

    name: str
    func: PrimFunc
    size: int


def codegen_units(name: str, func: PrimFunc) -> list[Any]:
    """TVM's modules for a function, the first of which has it; one where it is short or this process has one core.

    Args:
        name: the function's.
    """
    cores, loops = available_cores(), list[Loop]()
    if cores < 2:
        return [codegen.unit_module({name: func})]
    main = _with_loops_called(name, func, loops)
    rest = T.tree_size(main.body)
    count = min(MOST, cores, (rest + sum(loop.size for loop in loops)) // LEAST, 1 + len(loops))
    if count < 2:
        return [codegen.unit_module({name: func})]
    units: list[dict[str, PrimFunc]] = [{name: main}, *({} for _ in range(count - 1))]
    sizes = [rest // STRAIGHT] + [0] * (count - 1)
    for loop in sorted(loops, key=lambda loop: -loop.size):  # each to the unit that is smallest by then
        k = sizes.index(min(sizes))
        units[k][loop.name] = loop.func
        sizes[k] += loop.size
    return [codegen.unit_module(unit) for unit in units]


def in_threads(work: Callable[[Any], None], items: Sequence[Any]) -> None:
    """``work(item)`` for each, each on a thread of its own.  The first error is raised after all have ended."""
    if len(items) == 1:
        work(items[0])
        return
    with large_stacks(), ThreadPoolExecutor(len(items), "gscompile") as pool:
        for done in [pool.submit(work, item) for item in items]:
            done.result()


def _with_loops_called(name: str, func: PrimFunc, loops: list[Loop]) -> PrimFunc:
    """The function with calls in place of its parallel loops, which are added to ``loops``."""
    addresses = dict(T.declarations(func))

    def call(loop: Stmt, imports: Sequence[str]) -> Stmt:
        outlined = Outlined.of(loop, addresses)
        if any(map(T.is_buffer, outlined.params)):
            return loop  # it uses storage that the function allocates
        part, body = f"{name}_loop{len(loops)}", outlined.body
        for text in reversed(imports):
            body = T.import_llvm(text, body)
        loops.append(Loop(part, T.unit_func(part, outlined.params, body), T.tree_size(loop)))
        return T.call_unit(part, outlined.arguments)

    return func.with_body(T.with_parallel_loops(func.body, call))
