"""Tensor extents: integers, or polynomials over sizes that are known only at run time.

A dimension is an ``int`` or a :class:`SymDim`.  A ``SymDim`` is a polynomial with integer coefficients in canonical form,
so that equal sums and products compare equal and hash alike; its atoms are names (``"n"``) and the few operations that a
polynomial cannot express (floor division, maximum and minimum).  Arithmetic that turns out constant gives an ``int`` back.

Nothing here depends on TVM: a deployed module's loader can evaluate shapes without a compiler.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from gscompile.errors import ShapeError

Dim: TypeAlias = Union[int, "SymDim"]
Shape: TypeAlias = tuple[Dim, ...]

INT64_MAX = (1 << 63) - 1
MAX_TERMS = 1024
"""Terms of a dimension; what reads or writes a formula recurses over them."""
MAX_DEGREE = 63
"""Factors of a term: more overflow int64 if each is at least 2."""
MAX_DEPTH = 32
"""Divisions, maxima and minima within one another."""

if TYPE_CHECKING:
    Atom: TypeAlias = str | "Opaque"
    Monomial: TypeAlias = tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Opaque:
    """An operation that stays unexpanded: ``kind`` is ``floordiv``, ``max`` or ``min``.

    Attributes:
        text: what it is printed as, made once: terms are sorted by it.
    """

    kind: str
    lhs: Dim
    rhs: Dim
    depth: int = field(init=False, compare=False)
    text: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        division = self.kind == "floordiv"
        text = f"{_operand(self.lhs)}//{_operand(self.rhs)}" if division else f"{self.kind}({self.lhs}, {self.rhs})"
        object.__setattr__(self, "depth", 1 + max(_depth(self.lhs), _depth(self.rhs)))
        object.__setattr__(self, "text", text)

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text


def _operand(dim: Dim) -> str:
    text = str(dim)
    return text if text.isidentifier() or text.isdigit() else f"({text})"


def _order(monomial: Monomial) -> tuple[int, tuple[str, ...]]:
    return (-len(monomial), tuple(str(atom) for atom in monomial))


@dataclass(frozen=True, slots=True)
class SymDim:
    """A symbolic extent: the sum of ``coefficient * product of atoms`` over ``terms``, in canonical order."""

    terms: tuple[tuple[Monomial, int], ...]

    @staticmethod
    def var(name: str) -> SymDim:
        """The size called ``name``."""
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise ShapeError(f"a symbolic size must be named like a Python identifier; got {name!r}")
        return SymDim((((name,), 1),))

    def __add__(self, other: Dim) -> Dim:
        return _collect([*self.terms, *_terms(other)])

    __radd__ = __add__

    def __neg__(self) -> Dim:
        return self * -1

    def __sub__(self, other: Dim) -> Dim:
        return self + (other * -1)

    def __rsub__(self, other: Dim) -> Dim:
        return (self * -1) + other

    def __mul__(self, other: Dim) -> Dim:
        others = _terms(other)
        if len(self.terms) * len(others) > MAX_TERMS * 16:  # not even multiplied out
            raise ShapeError(f"a size would be a product of sums of {len(self.terms)} and {len(others)} terms")
        return _collect([(tuple(sorted(a + b, key=str)), x * y) for a, x in self.terms for b, y in others])

    __rmul__ = __mul__

    def __floordiv__(self, other: Dim) -> Dim:
        if other == 0:
            raise ShapeError(f"the size {self} cannot be divided by 0")
        exact = exact_quotient(self, other)
        if exact is not None:
            return exact
        return _atom(Opaque("floordiv", self, other))

    def __rfloordiv__(self, other: int) -> Dim:
        return _atom(Opaque("floordiv", other, self))

    def __mod__(self, other: Dim) -> Dim:
        return self - (self // other) * other

    def __rmod__(self, other: int) -> Dim:
        return other - (other // self) * self

    def __str__(self) -> str:
        parts: list[str] = []
        for monomial, coefficient in self.terms:
            factors = [str(a) for a in monomial]
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, str(abs(coefficient)))
            if len(factors) > 1:
                factors = [f"({f})" if "//" in f else f for f in factors]
            sign = "-" if coefficient < 0 else "+" if parts else ""
            parts.append(sign + "*".join(factors))
        return "".join(parts)

    __repr__ = __str__

    def __bool__(self) -> bool:
        raise ShapeError(f"the size {self} is known only at run time and has no truth value")


def _terms(dim: Dim) -> tuple[tuple[Monomial, int], ...]:
    if isinstance(dim, SymDim):
        return dim.terms
    return (((), dim),) if dim else ()


def _collect(terms: Iterable[tuple[Monomial, int]]) -> Dim:
    total: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        total[monomial] = total.get(monomial, 0) + coefficient
    kept = sorted(((m, c) for m, c in total.items() if c), key=lambda t: _order(t[0]))
    if not kept:
        return 0
    if len(kept) == 1 and kept[0][0] == ():
        return kept[0][1]
    if len(kept) > MAX_TERMS:
        raise ShapeError(f"a size would be a sum of {len(kept)} terms; the limit is {MAX_TERMS}")
    for monomial, coefficient in kept:
        if abs(coefficient) > INT64_MAX:
            raise ShapeError(f"a size would have the factor {coefficient}, which int64 cannot hold")
        if len(monomial) > MAX_DEGREE:
            raise ShapeError(
                f"a size would be a product of {len(monomial)} sizes; the limit is {MAX_DEGREE}, above which int64 overflows"
            )
    return SymDim(tuple(kept))


def _atom(atom: Opaque) -> SymDim:
    if atom.depth > MAX_DEPTH:
        raise ShapeError(
            f"a size would be a formula of more than {MAX_DEPTH} divisions, maxima or minima within one another"
        )
    return SymDim((((atom,), 1),))


def _depth(dim: Dim) -> int:
    """How many operations that stay unexpanded stand within one another."""
    if isinstance(dim, int):
        return 0
    return max((a.depth for monomial, _ in dim.terms for a in monomial if isinstance(a, Opaque)), default=0)


def exact_quotient(a: Dim, b: Dim) -> Dim | None:
    """``a / b`` where ``b`` is one monomial that divides every term of ``a``; otherwise None."""
    divisor = _terms(b)
    if len(divisor) != 1:
        return None
    (monomial, coefficient) = divisor[0]
    out: list[tuple[Monomial, int]] = []
    for m, c in _terms(a):
        rest = list(m)
        for atom in monomial:
            if atom not in rest:
                return None
            rest.remove(atom)
        if c % coefficient:
            return None
        out.append((tuple(rest), c // coefficient))
    return _collect(out)


def dim_max(a: Dim, b: Dim) -> Dim:
    """The larger of two dimensions."""
    difference = a - b
    if isinstance(difference, int):
        return a if difference >= 0 else b
    a, b = _ordered(a, b)
    inner = _shifted(a, b, "max")
    if inner is not None:
        x, least = inner
        return dim_max(x, b) if b >= least else a  # type: ignore[operator]
    return _atom(Opaque("max", a, b))


def dim_min(a: Dim, b: Dim) -> Dim:
    """The smaller of two dimensions."""
    difference = a - b
    if isinstance(difference, int):
        return a if difference <= 0 else b
    a, b = _ordered(a, b)
    inner = _shifted(a, b, "min")
    if inner is not None:
        x, most = inner
        return dim_min(x, b) if b <= most else a  # type: ignore[operator]
    return _atom(Opaque("min", a, b))


def at_most_one(dim: Dim) -> bool:
    """Whether an extent is 0 or 1 whatever the sizes are, as that of ``x[:1]`` is."""
    bound = dim if isinstance(dim, int) else _upper_bound(dim)
    return bound is not None and bound <= 1


def _upper_bound(dim: Dim) -> int | None:
    """What a dimension is never above, where that can be told; sizes are not negative."""
    if isinstance(dim, int):
        return dim
    total = 0
    for monomial, coefficient in dim.terms:
        if coefficient < 0 and monomial and all(isinstance(atom, str) for atom in monomial):
            continue  # at most 0
        bound = _bound_of(monomial) if coefficient > 0 or not monomial else None
        if bound is None:
            return None
        total += coefficient * bound
    return total


def _bound_of(monomial: Monomial) -> int | None:
    """What a product of atoms is never above: of none, 1; of a single minimum or maximum, what follows from its sides."""
    if not monomial:
        return 1
    (atom, *others) = monomial
    if others or isinstance(atom, str) or atom.kind == "floordiv":
        return None
    sides = [b for b in (_upper_bound(atom.lhs), _upper_bound(atom.rhs)) if b is not None]
    if len(sides) < (1 if atom.kind == "min" else 2):
        return None
    return min(sides) if atom.kind == "min" else max(sides)


def _shifted(a: Dim, b: Dim, kind: str) -> tuple[Dim, int] | None:
    """``(x + k, c + k)`` where ``b`` is a number and ``a`` is ``max(x, c) + k``, or of that other kind; otherwise None."""
    if isinstance(a, int) or not isinstance(b, int):
        return None
    (monomial, coefficient), *rest = a.terms
    if len(monomial) != 1 or coefficient != 1 or any(m for m, _ in rest):
        return None
    (atom,), shift = monomial, sum(k for _, k in rest)
    if isinstance(atom, str) or atom.kind != kind or not isinstance(atom.rhs, int):
        return None
    return atom.lhs + shift, atom.rhs + shift


def _ordered(a: Dim, b: Dim) -> tuple[Dim, Dim]:
    """Operands whose order does not matter, in the canonical one: constants last."""
    first, last = sorted((a, b), key=lambda d: (isinstance(d, int), str(d)))
    return first, last


def ceildiv(a: Dim, b: int) -> Dim:
    """``a / b`` rounded up."""
    return (a + (b - 1)) // b


def product(dims: Iterable[Dim]) -> Dim:
    """The product of dimensions; 1 for none."""
    total: Dim = 1
    for d in dims:
        total = total * d
    return total


def total(dims: Iterable[Dim]) -> Dim:
    """The sum of dimensions; 0 for none."""
    return _collect(term for d in dims for term in _terms(d))


def symbols(dim: Dim) -> frozenset[str]:
    """The names a dimension depends on."""
    if isinstance(dim, int):
        return frozenset()
    found: set[str] = set()
    for monomial, _ in dim.terms:
        for atom in monomial:
            found |= {atom} if isinstance(atom, str) else symbols(atom.lhs) | symbols(atom.rhs)
    return frozenset(found)


def shape_symbols(*shapes: Sequence[Dim]) -> list[str]:
    """The names that occur in shapes, sorted."""
    return sorted({n for shape in shapes for d in shape for n in symbols(d)})


def evaluate(dim: Dim, sizes: Mapping[str, int]) -> int:
    """The value of a dimension when every name in it has the given size."""
    return dim if isinstance(dim, int) else int(fold(dim, sizes.__getitem__, lambda x: x, _INT_OPS))


def _floordiv(a: int, b: int) -> int:
    if b == 0:
        raise ShapeError(f"a size that is {a} at this call cannot be divided by one that is 0")
    return a // b


_INT_OPS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "floordiv": _floordiv,
    "max": max,
    "min": min,
}


def fold(
    dim: Dim, name: Callable[[str], Any], const: Callable[[int], Any], ops: Mapping[str, Callable[..., Any]]
) -> Any:
    """Rebuild a dimension in another arithmetic, given its ``add mul floordiv max min``, names and constants."""
    if isinstance(dim, int):
        return const(dim)
    total = None
    for monomial, coefficient in dim.terms:
        factors: list[Any] = [const(coefficient)] if coefficient != 1 or not monomial else []
        for atom in monomial:
            if isinstance(atom, str):
                factors.append(name(atom))
            else:
                factors.append(ops[atom.kind](fold(atom.lhs, name, const, ops), fold(atom.rhs, name, const, ops)))
        term = factors[0]
        for factor in factors[1:]:
            term = ops["mul"](term, factor)
        total = term if total is None else ops["add"](total, term)
    return total


def to_json(dim: Dim) -> Any:
    """A dimension as JSON can hold it: an int, or a list of terms ``[coefficient, atom...]``."""
    if isinstance(dim, int):
        return dim
    return [
        [c, *(a if isinstance(a, str) else [a.kind, to_json(a.lhs), to_json(a.rhs)] for a in m)] for m, c in dim.terms
    ]


def from_json(found: Any) -> Dim:
    """The dimension that :func:`to_json` wrote.

    Raises:
        ShapeError: it is none.
    """
    if type(found) is int:
        return found
    try:
        return total(product([operator.index(factor), *map(_atom_from_json, atoms)]) for factor, *atoms in found)
    except (TypeError, ValueError, KeyError) as e:
        raise ShapeError(f"this is no size: {str(found)[:100]}") from e


def _atom_from_json(found: Any) -> Dim:
    if isinstance(found, str):
        return SymDim.var(found)
    kind, lhs, rhs = found
    return _OPERATIONS[kind](from_json(lhs), from_json(rhs))


_OPERATIONS: dict[str, Callable[[Any, Any], Dim]] = {"floordiv": operator.floordiv, "max": dim_max, "min": dim_min}


@dataclass(frozen=True, slots=True)
class Constraint:
    """A rule about sizes that only a call can decide: ``lhs == rhs`` or ``lhs <= rhs``."""

    relation: str
    lhs: Dim
    rhs: Dim
    message: str


def as_dim(d: object) -> Dim:
    """A user's dimension: an int, or a str naming a size known only at run time."""
    if isinstance(d, SymDim):
        return d
    if isinstance(d, str):
        return SymDim.var(d)
    try:
        if isinstance(d, bool) or "bool" in str(getattr(d, "dtype", "")):
            raise TypeError
        value = operator.index(d)  # type: ignore[arg-type]
    except TypeError:
        raise ShapeError(f"a dimension must be an int or a str; got {d!r}") from None
    if value < 0:
        raise ShapeError(f"a dimension must not be negative; got {value}")
    return value


def as_shape(shape: object) -> Shape:
    """A user's shape: one dimension, or an iterable of them."""
    if isinstance(shape, (str, SymDim)) or (hasattr(shape, "__index__") and not getattr(shape, "ndim", 0)):
        return (as_dim(shape),)
    try:
        return tuple(as_dim(d) for d in shape)  # type: ignore[attr-defined]
    except TypeError:
        raise ShapeError(f"a shape must be a tuple of ints and strs; got {shape!r}") from None


def shape_str(shape: Iterable[Dim]) -> str:
    """A shape as Python would print the tuple, sizes by name."""
    dims = [str(d) for d in shape]
    return f"({dims[0]},)" if len(dims) == 1 else f"({', '.join(dims)})"
