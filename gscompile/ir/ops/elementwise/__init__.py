"""The table of pointwise scalar functions, as TIR expressions that mean the same on every target.

Every value here is defined for every operand: integers wrap, no division traps, no shift or conversion is undefined, and
NaN, infinities and signed zeros behave as in NumPy.  TVM 0.27 gives none of that by itself, hence the shape of this code:

* TVM marks ``+ - *`` of 32 and 64 bit integers as never overflowing, unsigned ones too, and both LLVM and TVM's own
  simplifier use it; and 8 and 16 bit ones are computed in C's ``int`` on cuda.  So each integer operation is carried out
  where it cannot overflow, and its bits are cut down by :func:`~gscompile.ir.ops.elementwise.expr.wrap`.
* TVM's simplifier takes ``Cast`` to keep the value: ``uint32(x) > 0x7fffffff`` of an int32 ``x`` becomes false.  ``^ 0``,
  which it does not look into and LLVM and nvcc drop, hides a cast that wraps (:func:`~gscompile.ir.ops.elementwise.expr.opaque`).
* The simplifier takes floats for real numbers: ``x == x`` becomes true, ``x - x`` and ``x * 0`` become 0, ``not (x < y)``
  becomes ``y <= x``.  Comparisons of floats are hidden as above, ``x - y`` is ``x + y * -1``, and zeros are hidden by
  :func:`constant`.
* Float16 is computed in float32 and rounded once, which is exact for ``+ - * /`` and ``sqrt``.  Bfloat16, 8-bit floats and
  int4 have no expressions of their own: their values are the integers that encode them (``DType.tir``), which :func:`cast`
  turns into float32 or int8 and back (``formats``, ``encodings``).
* Intrinsics such as ``tirx.tanh`` are lowered to different formulas on different targets, some of them inaccurate.  What
  has no instruction of its own is written out in float32 (so that it vectorises), or is a call to the function of C's
  library, which has the same name on cuda (a scalar call on llvm).

``a * b + c`` across two functions may be contracted to a fused multiply-add by LLVM and by nvcc.

Reading order: ``expr`` (literals, names for shared values, hiding), ``comparisons``, ``casts``, ``integers`` (modulo 2**bits),
``floats`` (what IEEE 754 defines to the bit), ``transcendental`` (what is approximated), ``complexes``, and ``table``, which
puts a name, a dtype rule and a cost to each.
"""

from gscompile.ir.ops.elementwise.casts import cast, extremum
from gscompile.ir.ops.elementwise.complexes import filler
from gscompile.ir.ops.elementwise.expr import Scalar, constant
from gscompile.ir.ops.elementwise.table import POINTWISE, Pointwise

__all__ = ["POINTWISE", "Pointwise", "Scalar", "cast", "constant", "extremum", "filler"]
