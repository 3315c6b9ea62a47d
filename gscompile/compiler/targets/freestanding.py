"""CPUs without a system: one thread, no storage but the stack and what the caller gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gscompile.compiler.targets.llvm import Llvm
from gscompile.errors import TargetError
from gscompile.ir import codegen
from gscompile.ir.tir import PrimFunc
from gscompile.schedules import Rule
from gscompile.schedules.llvm import SERIAL_RULES


class Freestanding(Llvm):
    """What :class:`Llvm` is, for code that calls nothing but memcpy, memset, memmove, memcmp and functions of libm."""

    @classmethod
    def of(cls, attributes: Mapping[str, Any]) -> Llvm:
        return super().of({**attributes, "num-cores": 1})

    @property
    def rules(self) -> Sequence[Rule]:
        return SERIAL_RULES

    def adapted(self, func: PrimFunc) -> PrimFunc:
        """The function on one thread.

        Raises:
            TargetError: it has a local buffer that is too large for a stack.
        """
        large = codegen.beyond_stack(func)
        if large is not None:
            raise TargetError(
                f"a freestanding library has no storage for {large}, a local buffer of more than {codegen.STACK_BYTES} bytes"
            )
        return codegen.without_threads(func)

    def __str__(self) -> str:
        return f"freestanding {super().__str__()}"
