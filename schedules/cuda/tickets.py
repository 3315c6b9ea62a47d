"""Blocks that wait for each other: tickets, so that a block waits only for blocks that run already.

A kernel that needs them has one number of the GPU's memory that is 0 at first (:attr:`gscompile.schedules.rule.Context.word`).
"""

from __future__ import annotations

from gscompile.ir import tir as T
from gscompile.ir.tir import Buffer, Expr, Stmt

ZERO = T.const(0)

WORD = "unsigned long long"
"""What atomics take the number as."""


def turn(word: Expr, told: Buffer, done: int, more: Expr | None, number: Buffer) -> Stmt:
    """Take the next ticket, all threads of a block together.

    Args:
        told: shared memory for an int32.
        done: how many tickets the block is done with since it took the last one, 0 or 1; its threads have waited for each other.
        more: whether it takes one at all; None: it does.
        number: a register, for the ticket's.
    """
    source = (
        f"__device__ __forceinline__ void gs_turn(int64_t* word, int* told, int done, int more, int* number) {{\n"
        f"  if (threadIdx.x == 0) {{\n"
        f"    __threadfence();\n"
        f"    *told = (int)atomicAdd(({WORD}*)word, (({WORD})done << 32) + more);\n"
        f"  }}\n"
        f"  __syncthreads();\n"
        f"  *number = *told;\n}}\n"
    )
    yes = T.const(1, "int32")
    taken = yes if more is None else T.select(more, yes, T.const(0, "int32"))
    registers = [T.address_of(told, ZERO), T.const(done, "int32"), taken, T.address_of(number, ZERO)]
    return T.evaluate(T.device_call("gs_turn", word, *registers, source=source))


def wait(word: Expr, done: Expr) -> Stmt:
    """Wait until so many tickets are done with; all of them must be before the block's own."""
    source = (
        f"__device__ __forceinline__ void gs_wait(int64_t* word, int done) {{\n"
        f"  if (threadIdx.x == 0) {{\n"
        f"    while ((int)(atomicAdd(({WORD}*)word, 0ull) >> 32) < done) __nanosleep(100);\n"
        f"    __threadfence();\n"
        f"  }}\n"
        f"  __syncthreads();\n}}\n"
    )
    return T.evaluate(T.device_call("gs_wait", word, T.cast("int32", done), source=source))
