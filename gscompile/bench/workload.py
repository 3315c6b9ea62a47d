"""A workload: what is computed, on which arrays.  :mod:`gscompile.bench.workloads` lists those that are timed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gscompile.errors import missing_extra
from gscompile.frontend.builder import Builder
from gscompile.ir.dims import evaluate

if TYPE_CHECKING:
    from gscompile.ir.graph import Value

Arrays: TypeAlias = dict[str, Any]
Extents: TypeAlias = tuple[int, ...]

# How far a sum may be from NumPy's, in float64, relative to the largest element: by the rounding of the result and, where a
# product is rounded before it is summed, of that.
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-4, "float64": 1e-10}


def relative_error(got: Any, want: Any) -> float:
    """The largest difference, as a part of the largest element; NaN where there is one."""
    return float(np.abs(got - want).max(initial=0) / (np.abs(want).max(initial=0) or 1))


# Numbers are drawn once and reused: drawing takes longer than everything else.  Since this is prime, no row repeats where it
# could be taken for another.
BLOCK = 1_000_003

LINE = 64  # bytes of a cache line


@dataclass(frozen=True)
class Arguments:
    """Draws arrays, cut to ``most`` elements per axis or a few more where a small run is wanted."""

    rng: np.random.Generator
    dtype: str
    index_dtype: str
    most: int | None

    def cut(self, *shape: int) -> Extents:
        """Equal extents stay equal, and most that differ still do."""
        return shape if self.most is None else tuple(min(n, self.most + n % 7) for n in shape)

    def data(self, *shape: int) -> Any:
        """Normally distributed numbers, for integers 25 times as wide, of a shape that is cut already."""
        x = np.empty(shape, numpy_dtype(self.dtype))
        flat = x.reshape(-1)
        block = self.rng.standard_normal(min(BLOCK, flat.size), np.float32)
        block = (block * 25 if self.dtype.startswith("int") else block).astype(x.dtype)
        for at in range(0, flat.size, BLOCK):
            flat[at : at + BLOCK] = block[: flat.size - at]
        return x

    def index(self, draw: Draw, size: int, shape: Extents) -> Any:
        return draw(self.rng, size, shape).astype(self.index_dtype, copy=False)


Draw: TypeAlias = Callable[[np.random.Generator, int, Extents], Any]
"""(random generator, size, shape) -> indices below the size."""


def uniform(rng: np.random.Generator, size: int, shape: Extents) -> Any:
    """Every index as often as any other."""
    return rng.integers(0, size, shape)


def zipf(a: float) -> Draw:
    """Frequencies that fall like 1 / rank^a, the ranks dealt out at random."""

    def draw(rng: np.random.Generator, size: int, shape: Extents) -> Any:
        weights = 1.0 / np.arange(1, size + 1) ** a
        drawn = rng.choice(size, shape, p=weights / weights.sum())
        return rng.permutation(size)[drawn]

    return draw


def ascending(draw: Draw) -> Draw:
    """The same, sorted."""
    return lambda rng, size, shape: np.sort(draw(rng, size, shape).reshape(-1)).reshape(shape)


def distinct(rng: np.random.Generator, size: int, shape: Extents) -> Any:
    """No index twice; fewer along the first axis if there are not as many."""
    return rng.permutation(size)[: shape[0]]


def all_equal(rng: np.random.Generator, size: int, shape: Extents) -> Any:
    """One index, repeated."""
    return np.full(shape, size // 2)


def numpy_dtype(name: str) -> Any:
    """NumPy's dtype of a name; bfloat16 is ml_dtypes'.

    Raises:
        MissingExtraError: ml_dtypes is not installed.
    """
    if name != "bfloat16":
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError as e:
        raise missing_extra("ml_dtypes", "bench", "arrays of bfloat16") from e
    return np.dtype(ml_dtypes.bfloat16)


def sorted_runs(rng: np.random.Generator, size: int, shape: Extents) -> Any:
    """Ascending, each index some hundred times."""
    count = int(np.prod(shape))
    return np.sort(rng.integers(0, size, -(-count // 200))).repeat(200)[:count].reshape(shape)


def blocked(length: int) -> Draw:
    """Runs of so many neighbours, each from anywhere."""

    def draw(rng: np.random.Generator, size: int, shape: Extents) -> Any:
        count = int(np.prod(shape))
        starts = rng.integers(0, max(size - length + 1, 1), -(-count // length))
        return ((starts[:, None] + np.arange(length)).reshape(-1)[:count] % size).reshape(shape)

    return draw


def runs(length: int) -> Draw:
    """Each index so many times in a row, from anywhere."""

    def draw(rng: np.random.Generator, size: int, shape: Extents) -> Any:
        count = int(np.prod(shape))
        return rng.integers(0, size, -(-count // length)).repeat(length)[:count].reshape(shape)

    return draw


def skewed(rng: np.random.Generator, size: int, shape: Extents) -> Any:
    """Like ``zipf(1)``, of any size."""
    rank = np.minimum(np.float64(size) ** rng.random(shape), size).astype(np.int64) - 1
    return (np.maximum(rank, 0) * SPREAD) % size


def permuted(rng: np.random.Generator, size: int, shape: Extents) -> Any:
    """No index twice, as long as there are enough."""
    count = int(np.prod(shape))
    return np.concatenate([rng.permutation(size) for _ in range(-(-count // max(size, 1)))])[:count].reshape(shape)


SPREAD = (
    1_000_003  # sends neighbouring ranks to distant indices; prime, so to all of them where it does not divide the size
)


@dataclass(frozen=True)
class Workload:
    """One row of the table.

    Attributes:
        kind: what peers must know how to do; see :mod:`gscompile.bench.peers`.
        make: draws the arrays, by name.
        declare: (builder, one value per array) -> the result.
        expected: NumPy's result, of sums through float64 and int64.
        options: what else the kind takes: ``axis``, ``reduction`` ...
        sums: whether another order of additions may give another result.
        dtype, index_dtype: of the data and the indices.
        selects: (table, arrays) -> the elements of ``x`` that are read, of an array like ``x``; all of them where it is None.
        symbolic: whether gscompile is to know no sizes.
        drawn: what :mod:`gscompile.bench.sample` makes it of, in a process of its own.
    """

    name: str
    kind: str
    make: Callable[[Arguments], Arrays]
    declare: Callable[..., Value]
    expected: Callable[..., Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    sums: bool = False
    dtype: str = "float32"
    index_dtype: str = "int64"
    selects: Callable[[Any, Arrays], Any] | None = None
    symbolic: bool = False
    drawn: Mapping[str, Any] | None = None

    def of(self, **changes: Any) -> Workload:
        """The same with another ``name``, ``dtype`` or ``index_dtype``."""
        return replace(self, **changes)

    def arrays(self, seed: int = 0, most: int | None = None) -> Arrays:
        """The arrays, of at most about ``most`` elements per axis."""
        return self.make(Arguments(np.random.default_rng(seed), self.dtype, self.index_dtype, most))

    def builder(self, arrays: Arrays, symbolic: bool = False, **options: Any) -> Builder:
        """The graph for these arrays; with symbolic sizes, if wanted, wherever an axis is longer than 8."""
        b = Builder(self.name if self.drawn is None else self.kind)
        names: dict[int, str] = {}
        values = []
        for name, x in arrays.items():
            shape = [names.setdefault(n, f"n{len(names)}") if symbolic and n > 8 else n for n in x.shape]
            values.append(b.input(name, shape, x.dtype))
        b.output(self.declare(b, *values, **options))
        return b

    def moved(self, arrays: Arrays) -> int:
        """The least bytes that must move between memory and cores; see :class:`gscompile.compiler.lower.Stats`.

        Of a drawn workload, whole cache lines.
        """
        if self.drawn is not None:
            return self._touched(arrays)
        from gscompile.compiler.lower import lower
        from gscompile.compiler.targets import resolve

        return int(evaluate(lower(self.builder(arrays).graph(), resolve("llvm")).summary.stats.min_bytes, {}))

    def _touched(self, arrays: Arrays) -> int:
        """Bytes of all cache lines that must move: those of a table that are read, and all of the other arrays and the result."""
        rest = [self.expected(**arrays), *(a for name, a in arrays.items() if name != "x")]
        total = sum(-(-int(a.nbytes) // LINE) for a in rest)
        x = arrays["x"]
        if self.selects is None:
            return LINE * (total + -(-int(x.nbytes) // LINE))
        lines = (np.arange(x.size, dtype=np.int64) * x.itemsize // LINE).astype(np.int32).reshape(x.shape)
        seen = np.zeros(-(-x.nbytes // LINE), bool)
        seen[self.selects(lines, arrays)] = True
        return LINE * (total + int(seen.sum()))

    def differs(self, got: Any, want: Any) -> str | None:
        """How a result differs from the expected one."""
        if got.shape != want.shape:
            return f"shape {got.shape}, expected {want.shape}"
        if got.dtype != want.dtype:
            return f"dtype {got.dtype}, expected {want.dtype}"
        if not self.sums or want.dtype.kind in "iu":
            bad = int((got != want).sum())
            return f"{bad} of {want.size} elements differ" if bad else None
        worst = relative_error(got.astype(np.float64), want.astype(np.float64))
        return None if worst <= TOLERANCE[want.dtype.name] else f"off by {worst:.1e} of the largest element"
