"""Arithmetic, comparison and logic, element by element.

Operands broadcast as in NumPy; a symbolic size never stretches.  Dtypes meet as in NumPy (``gscompile.ir.types.promote``), a
Python scalar takes the dtype of the tensors beside it.  The exact rule of each function is its row in
``gscompile.ir.ops.elementwise.POINTWISE``.

Every function is rounded as if it stood alone, with one exception: where the product of two floats is added to something in
the same kernel, LLVM and nvcc may round once instead of twice (a fused multiply-add), so ``x * w + y`` can differ from
NumPy's in the last bit, and from that of a graph that stores the product.

Complex numbers add, subtract, multiply and divide by NumPy's formulas, and are ordered by the real part, then by the imaginary
one.  Functions that are not defined for them say so.
"""

from __future__ import annotations

from typing import Any

from gscompile.errors import ArgumentError
from gscompile.frontend.arguments import Operand, named
from gscompile.frontend.draft import GraphBuilder
from gscompile.ir.graph import Value
from gscompile.ir.ops.elementwise import POINTWISE
from gscompile.ir.types import dtype as as_dtype


class MathOps(GraphBuilder):
    """One method a row of the table."""

    def pointwise(self, function: str, *operands: Operand) -> Value:
        """The row of that name, applied to operands that broadcast."""
        if not isinstance(function, str) or function not in POINTWISE:
            raise ArgumentError(f"pointwise: unknown function {function!r}; known: {', '.join(POINTWISE)}")
        return self.draft.pointwise(function, *operands)

    def add(self, x: Operand, y: Operand) -> Value:
        """x + y."""
        return self.draft.pointwise("add", x, y)

    def sub(self, x: Operand, y: Operand) -> Value:
        """x - y."""
        return self.draft.pointwise("sub", x, y)

    def mul(self, x: Operand, y: Operand) -> Value:
        """x * y."""
        return self.draft.pointwise("mul", x, y)

    def div(self, x: Operand, y: Operand) -> Value:
        """x / y; of integers, in float64."""
        return self.draft.pointwise("div", x, y)

    def floordiv(self, x: Operand, y: Operand) -> Value:
        """The quotient rounded down; of integers, 0 where y is 0."""
        return self.draft.pointwise("floordiv", x, y)

    def mod(self, x: Operand, y: Operand) -> Value:
        """x - y * (x // y), the sign of y; of integers, 0 where y is 0."""
        return self.draft.pointwise("mod", x, y)

    def pow(self, x: Operand, y: Operand) -> Value:
        """x ** y."""
        return self.draft.pointwise("pow", x, y)

    def minimum(self, x: Operand, y: Operand) -> Value:
        """The smaller; NaN if either is."""
        return self.draft.pointwise("minimum", x, y)

    def maximum(self, x: Operand, y: Operand) -> Value:
        """The larger; NaN if either is."""
        return self.draft.pointwise("maximum", x, y)

    def eq(self, x: Operand, y: Operand) -> Value:
        """x == y."""
        return self.draft.pointwise("eq", x, y)

    def ne(self, x: Operand, y: Operand) -> Value:
        """x != y."""
        return self.draft.pointwise("ne", x, y)

    def lt(self, x: Operand, y: Operand) -> Value:
        """x < y."""
        return self.draft.pointwise("lt", x, y)

    def le(self, x: Operand, y: Operand) -> Value:
        """x <= y."""
        return self.draft.pointwise("le", x, y)

    def gt(self, x: Operand, y: Operand) -> Value:
        """x > y."""
        return self.draft.pointwise("gt", x, y)

    def ge(self, x: Operand, y: Operand) -> Value:
        """x >= y."""
        return self.draft.pointwise("ge", x, y)

    def logical_and(self, x: Operand, y: Operand) -> Value:
        """x != 0 and y != 0."""
        return self.draft.pointwise("logical_and", x, y)

    def logical_or(self, x: Operand, y: Operand) -> Value:
        """x != 0 or y != 0."""
        return self.draft.pointwise("logical_or", x, y)

    def logical_xor(self, x: Operand, y: Operand) -> Value:
        """Exactly one of x and y is not 0."""
        return self.draft.pointwise("logical_xor", x, y)

    def bitwise_and(self, x: Operand, y: Operand) -> Value:
        """x & y."""
        return self.draft.pointwise("bitwise_and", x, y)

    def bitwise_or(self, x: Operand, y: Operand) -> Value:
        """x | y."""
        return self.draft.pointwise("bitwise_or", x, y)

    def bitwise_xor(self, x: Operand, y: Operand) -> Value:
        """x ^ y."""
        return self.draft.pointwise("bitwise_xor", x, y)

    def left_shift(self, x: Operand, y: Operand) -> Value:
        """x << y; 0 where y is not in [0, bits)."""
        return self.draft.pointwise("left_shift", x, y)

    def right_shift(self, x: Operand, y: Operand) -> Value:
        """x >> y; the sign where y is not in [0, bits)."""
        return self.draft.pointwise("right_shift", x, y)

    def neg(self, x: Operand) -> Value:
        """-x."""
        return self.draft.pointwise("neg", x)

    def abs(self, x: Operand) -> Value:
        """The absolute value; of a complex number a real one."""
        return self.draft.pointwise("abs", x)

    def conj(self, x: Operand) -> Value:
        """The complex conjugate; a real number is its own."""
        return self.draft.pointwise("conj", x)

    def real(self, x: Operand) -> Value:
        """The real part, in the dtype of a part; a real number is its own."""
        return self.draft.pointwise("real", x)

    def imag(self, x: Operand) -> Value:
        """The imaginary part, in the dtype of a part; 0 of a real number."""
        return self.draft.pointwise("imag", x)

    def angle(self, x: Operand) -> Value:
        """The angle of a complex number to the positive real axis, in radians."""
        v = self.draft.as_value("angle", "x", x)
        # numpy.angle is arctan2(0, x), where 0 makes an integer of a bool
        return self.draft.pointwise("angle", self.cast(v, "int64") if v.dtype.kind == "b" else v)

    def sign(self, x: Operand) -> Value:
        """-1, 0 or 1; NaN stays NaN."""
        return self.draft.pointwise("sign", x)

    def exp(self, x: Operand) -> Value:
        """e**x."""
        return self.draft.pointwise("exp", x)

    def log(self, x: Operand) -> Value:
        """The natural logarithm."""
        return self.draft.pointwise("log", x)

    def logaddexp(self, x: Operand, y: Operand) -> Value:
        """log(e**x + e**y), which does not overflow."""
        return self.draft.pointwise("logaddexp", x, y)

    def sqrt(self, x: Operand) -> Value:
        """The square root."""
        return self.draft.pointwise("sqrt", x)

    def rsqrt(self, x: Operand) -> Value:
        """1 / sqrt(x)."""
        return self.draft.pointwise("rsqrt", x)

    def tanh(self, x: Operand) -> Value:
        """The hyperbolic tangent."""
        return self.draft.pointwise("tanh", x)

    def sigmoid(self, x: Operand) -> Value:
        """1 / (1 + exp(-x))."""
        return self.draft.pointwise("sigmoid", x)

    def relu(self, x: Operand) -> Value:
        """max(x, 0); NaN stays NaN."""
        return self.draft.pointwise("relu", x)

    def erf(self, x: Operand) -> Value:
        """The error function."""
        return self.draft.pointwise("erf", x)

    def sin(self, x: Operand) -> Value:
        """The sine."""
        return self.draft.pointwise("sin", x)

    def cos(self, x: Operand) -> Value:
        """The cosine."""
        return self.draft.pointwise("cos", x)

    def floor(self, x: Operand) -> Value:
        """Rounded down."""
        return self.draft.pointwise("floor", x)

    def ceil(self, x: Operand) -> Value:
        """Rounded up."""
        return self.draft.pointwise("ceil", x)

    def round(self, x: Operand) -> Value:
        """Rounded to the nearest integer, halves to even."""
        return self.draft.pointwise("round", x)

    def trunc(self, x: Operand) -> Value:
        """Rounded towards zero."""
        return self.draft.pointwise("trunc", x)

    def reciprocal(self, x: Operand) -> Value:
        """1 / x."""
        return self.draft.pointwise("reciprocal", x)

    def square(self, x: Operand) -> Value:
        """x * x."""
        return self.draft.pointwise("square", x)

    def isnan(self, x: Operand) -> Value:
        """Whether x is NaN."""
        return self.draft.pointwise("isnan", x)

    def isinf(self, x: Operand) -> Value:
        """Whether x is infinite."""
        return self.draft.pointwise("isinf", x)

    def isfinite(self, x: Operand) -> Value:
        """Whether x is neither infinite nor NaN."""
        return self.draft.pointwise("isfinite", x)

    def logical_not(self, x: Operand) -> Value:
        """x == 0."""
        return self.draft.pointwise("logical_not", x)

    def bitwise_not(self, x: Operand) -> Value:
        """~x; of bool, not."""
        return self.draft.pointwise("bitwise_not", x)

    def gelu(self, x: Operand, approximate: str = "none") -> Value:
        """``x * Phi(x)``; ``approximate="tanh"`` is the tanh formula of Hendrycks and Gimpel (2016)."""
        if approximate not in ("none", "tanh"):
            raise ArgumentError(f"gelu: approximate must be 'none' or 'tanh'; got {approximate!r}")
        return self.draft.pointwise("gelu" if approximate == "none" else "gelu_tanh", x)

    def clip(self, x: Operand, low: Operand | None = None, high: Operand | None = None) -> Value:
        """``min(max(x, low), high)``; either limit may be left out."""
        if low is None:
            return self.draft.as_value("clip", "x", x) if high is None else self.minimum(x, high)
        return self.maximum(x, low) if high is None else self.draft.pointwise("clip", x, low, high)

    def where(self, condition: Operand, x: Operand, y: Operand) -> Value:
        """x where the condition holds, y elsewhere."""
        return self.draft.pointwise("where", condition, x, y, weak_against=slice(1, None))

    def cast(self, x: Operand, dtype: Any) -> Value:
        """x in another dtype.

        Floats to integers truncate and saturate (NaN gives 0), wider integers wrap, bool is x != 0; of a complex number only the
        real part is taken.
        """
        value, to = self.draft.as_value("cast", "x", x), named("cast", "dtype", as_dtype, dtype)
        return self.draft.cast(value, to)
