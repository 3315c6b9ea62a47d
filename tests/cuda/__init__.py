"""CUDA source run on the CPU, as a GPU would: threads of a block that wait for each other, in an order that a seed shuffles.

:func:`on_cpu` runs compiled graphs so, :class:`Program` kernels that are written by hand.
"""

from tests.cuda.device import CudaError, cpu_compiler
from tests.cuda.graphs import on_cpu
from tests.cuda.mutations import Mutation, mutations, of_warps
from tests.cuda.program import Program
from tests.cuda.text import Text, common_header, joined

__all__ = [
    "CudaError",
    "Mutation",
    "Program",
    "Text",
    "common_header",
    "cpu_compiler",
    "joined",
    "mutations",
    "of_warps",
    "on_cpu",
]
