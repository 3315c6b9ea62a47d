"""Relax programs whose gathers and scatters are gscompile's kernels; see :func:`LegalizeGatherScatter`."""

from __future__ import annotations

from typing import Any

__all__ = ["LegalizeGatherScatter"]


def LegalizeGatherScatter(target: Any = None, *, threads: int | None = None) -> Any:
    """A pass over an IRModule, to be run before Relax's ``LegalizeOps``; it may stand in a ``tvm.ir.transform.Sequential``.

    ``R.take``, ``R.gather_elements``, ``R.gather_nd``, ``R.scatter_elements``, ``R.scatter_nd`` and ``R.index_put`` become
    ``R.call_tir`` of our kernels, each with the arithmetic that it feeds, broadcasting, casts, reshapes and sums, as long as
    nothing else uses what is between: message passing is one kernel.  Results are those of Relax's own legalisation, but that
    sums of floats may be added in another order.  An index out of range, where Relax reads or writes what is not the
    tensor's, is clamped by a gather and dropped by a scatter.

    What cannot be replaced stays as it is: shapes of unknown extents, dtypes that kernels see in another one (bfloat16, 8-bit
    floats), other operators, and everything for a target that is no CPU.

    Args:
        target: what the kernels are for, a TVM target too; by default the current one, or ``"llvm"``.
        threads: that share a kernel's work; by default as many as there are cores.

    Returns:
        a ``tvm.ir.transform.Pass``.
    """
    import tvm

    def run(module: Any, context: Any) -> Any:
        from gscompile.relax.rewrite import rewritten  # Relax is imported where it is used

        return rewritten(module, tvm.target.Target.current(allow_none=True) if target is None else target, threads)

    return tvm.ir.transform.module_pass(run, opt_level=0, name="gscompile.LegalizeGatherScatter")
