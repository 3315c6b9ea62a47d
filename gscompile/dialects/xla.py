"""XLA and StableHLO: ``gather`` and ``scatter`` with full dimension numbers.

Arguments have StableHLO's names and order.  Dimension numbers are held to the rules of the StableHLO specification; an error
names the rule, ``(C4)`` for constraint C4 of the operation.  Indices have any integer dtype and mean their value; a negative
index is out of range.

A gather moves a slice that lies partly outside so that it fits.  A scatter drops it as a whole, as XLA does on the CPU (the
specification would drop single elements).  Updates that meet in one element are combined in row-major order of updates,
which the specification leaves open: of those that replace, the last one wins.

``mode`` says otherwise, in JAX's words: ``"clip"``, ``"fill"`` or ``"drop"``, ``"promise_in_bounds"`` (a promise which, if it is
broken, changes nothing here), or a member of ``jax.lax.GatherScatterMode``.

``indices_are_sorted`` of a scatter is a promise: if it is broken, on cuda what cells hold that are hit is undefined; a gather
ignores it.  ``unique_indices`` is a promise: where two updates meet in spite of it, on
cuda any of them may win.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gscompile.dialects._rules import INTEGERS, dtype_of, jax_fill, need_dtype, ordered_by_parts
from gscompile.errors import ArgumentError, ShapeError
from gscompile.frontend import core
from gscompile.frontend.arguments import flag, int_of, ints_of
from gscompile.frontend.builder import builder_of
from gscompile.frontend.computations import computation
from gscompile.frontend.core import Lane, ScatterOptions
from gscompile.frontend.eager import Tensor, eager
from gscompile.ir.computation import Computation
from gscompile.ir.dims import Dim, Shape, shape_str
from gscompile.ir.graph import Value
from gscompile.ir.index_map import IndexMap
from gscompile.ir.ops.reductions import Reduction, variant
from gscompile.ir.types import DType

Computed = Computation | tuple[Reduction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Numbers:
    """Dimension numbers, of a gather or a scatter.

    Attributes:
        window: the axes of the points that hold a slice.
        dropped: axes of data that the points leave out.
        batching, indices_batching: axes of data and of the indices that go together.
        index_map: the axis of data that each component of an index vector is for.
        vector: the axis of the indices that index vectors lie along.
    """

    window: Sequence[int]
    dropped: Sequence[int]
    batching: Sequence[int]
    indices_batching: Sequence[int]
    index_map: Sequence[int]
    vector: int

    def map(self, rank: int, index_rank: int, sizes: Sequence[Dim]) -> IndexMap:
        """The index map, for data and indices of these ranks and slices of these sizes, one for each axis of data."""
        return IndexMap.xla(
            rank,
            index_rank,
            offset_dims=self.window,
            collapsed_slice_dims=self.dropped,
            operand_batching_dims=self.batching,
            start_indices_batching_dims=self.indices_batching,
            start_index_map=self.index_map,
            index_vector_dim=self.vector,
            slice_sizes=sizes,
        )


@eager
def gather(
    operand: Tensor,
    start_indices: Tensor,
    offset_dims: Sequence[int],
    collapsed_slice_dims: Sequence[int],
    operand_batching_dims: Sequence[int],
    start_indices_batching_dims: Sequence[int],
    start_index_map: Sequence[int],
    index_vector_dim: int,
    slice_sizes: Sequence[int],
    indices_are_sorted: bool = False,
    *,
    mode: Any = None,
    fill_value: float | None = None,
) -> Value:
    """Slices of operand, of extents slice_sizes, at the index vectors along axis index_vector_dim of start_indices.

    start_index_map: the axis of operand that each component of an index vector is for; on the others a slice starts at 0.
    offset_dims: the axes of the result that hold the slice, in the order of operand's axes; the other axes of the result are
    those of start_indices without index_vector_dim.
    collapsed_slice_dims: axes of operand that the result leaves out; their slice size must be 1 (the specification's 0 would
    leave elements of the result without a value).
    operand_batching_dims, start_indices_batching_dims: axes that go together, with equal extents; their slice size must be 1,
    or, of a batching axis without elements, 0 (in JAX 1 too, and here where a mode is given).
    index_vector_dim: rank(start_indices) for indices that are vectors of one component.

    A start is clamped so that its slice is inside operand; with mode ``"fill"`` (JAX's) a slice that is partly outside is filled
    with fill_value, by default NaN, the smallest value of a signed and the largest of an unsigned integer, True.
    """
    op = "gather"
    need_dtype(op, "start_indices", start_indices, INTEGERS)
    flag(op, "indices_are_sorted", indices_are_sorted)
    numbers = _Numbers(
        window=_axes(op, "offset_dims", offset_dims),
        dropped=_axes(op, "collapsed_slice_dims", collapsed_slice_dims),
        batching=_axes(op, "operand_batching_dims", operand_batching_dims),
        indices_batching=_axes(op, "start_indices_batching_dims", start_indices_batching_dims),
        index_map=_axes(op, "start_index_map", start_index_map),
        vector=int_of(op, "index_vector_dim", index_vector_dim),
    )
    sizes = _axes(op, "slice_sizes", slice_sizes)
    bounds = _bounds(op, mode, {None: "clip", "promise_in_bounds": "clip"})
    fill = jax_fill(operand.dtype, fill_value) if bounds == "fill" else 0
    _check_gather(op, numbers, operand, start_indices, sizes, mode is not None)
    through = numbers.map(operand.rank, start_indices.rank, sizes)
    return builder_of(operand).gather_map(operand, start_indices, through, bounds=bounds, negative=False, fill=fill)


def _bounds(op: str, mode: Any, own: dict[str | None, str]) -> str:
    """The bounds policy of a mode: JAX's word for it, a member of ``jax.lax.GatherScatterMode``, or None.

    Args:
        own: what gathers and scatters have each their own for.
    """
    table = own | {"clip": "clip", "fill": "fill", "drop": "fill", "fill_or_drop": "fill"}
    word = mode if mode is None or isinstance(mode, str) else str(getattr(mode, "name", mode)).lower()
    if word not in table or mode == "fill_or_drop":
        raise ArgumentError(f"{op}: mode must be 'clip', 'fill', 'drop' or 'promise_in_bounds'; got {mode!r}")
    return table[word]


def _check_gather(op: str, n: _Numbers, operand: Value, indices: Value, sizes: Sequence[int], jax: bool) -> None:
    """The specification's rules for a gather's dimension numbers and slice sizes."""
    _rule(
        "C1",
        operand.rank == len(n.window) + len(n.dropped) + len(n.batching),
        f"gather: offset_dims, collapsed_slice_dims and operand_batching_dims must name {operand.rank} axes, operand's rank",
    )
    _vectors("C2", "C3", op, "start_index_map", n.index_map, "start_indices", indices.shape, n.vector)
    grid = indices.rank - (n.vector < indices.rank)
    _sorted("C4", op, "offset_dims", n.window)
    _within("C5", op, "offset_dims", n.window, len(n.window) + grid)
    _distinct("C6", op, "collapsed_slice_dims and operand_batching_dims", [*n.dropped, *n.batching])
    _sorted("C7", op, "collapsed_slice_dims", n.dropped)
    _within("C8", op, "collapsed_slice_dims", n.dropped, operand.rank)
    _sorted("C10", op, "operand_batching_dims", n.batching)
    _within("C11", op, "operand_batching_dims", n.batching, operand.rank)
    _rule("C20", len(sizes) == operand.rank, f"gather: slice_sizes must have {operand.rank} entries; got {len(sizes)}")
    for rule, name, axes in (("C9", "collapsed_slice_dims", n.dropped), ("C12", "operand_batching_dims", n.batching)):
        ones = all(sizes[a] == 1 or (rule == "C12" and operand.shape[a] == 0) for a in axes)
        _rule(rule, ones, f"gather: slice_sizes must be 1 on {name}; got {tuple(sizes)}")
    _batches(("C13", "C14", "C15", "C16", "C17"), op, n, operand, indices, "start_indices")
    _distinct("C18", op, "start_index_map and operand_batching_dims", [*n.index_map, *n.batching])
    _within("C19", op, "start_index_map", n.index_map, operand.rank)
    # JAX has slices of size 1 of a batching axis without elements too, the specification of size 0
    most = [1 if jax and a in n.batching else d for a, d in enumerate(operand.shape)]
    fits = (size >= 0 and (not isinstance(d, int) or size <= d) for size, d in zip(sizes, most, strict=True))
    _rule("C21", all(fits), f"gather: slice_sizes must be in [0, {shape_str(operand.shape)}]; got {tuple(sizes)}")


def scatter(
    inputs: Any,
    scatter_indices: Any,
    updates: Any,
    update_window_dims: Sequence[int],
    inserted_window_dims: Sequence[int],
    input_batching_dims: Sequence[int],
    scatter_indices_batching_dims: Sequence[int],
    scatter_dims_to_operand_dims: Sequence[int],
    index_vector_dim: int,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    update_computation: Callable[..., Any] = lambda old, new: new,
    *,
    mode: Any = None,
) -> Any:
    """inputs with updates written to the slices at the index vectors along axis index_vector_dim of scatter_indices.

    inputs, updates: a tensor each, or as many of each, of one shape and pairwise of one dtype.
    scatter_dims_to_operand_dims: the axis of the inputs that each component of an index vector is for.
    update_window_dims: the axes of updates that hold a slice, in the order of the inputs' axes; the others are those of
    scatter_indices without index_vector_dim.  A slice may be smaller than the input.
    inserted_window_dims: axes of the inputs on which a slice has one element, and updates no axis.
    input_batching_dims, scatter_indices_batching_dims: axes that go together, with equal extents.
    update_computation: a Python function of what is in a cell and what arrives, as scalars of a builder; for n inputs, of n
    values that are there and n that arrive, and it returns n.  It is called once, to see what it computes.  Adding,
    subtracting, multiplying, the smaller, the larger and the new value are found to be the reductions of these names, which on
    cuda take floats in no fixed order, and round 16-bit ones once; any other function takes the updates of a cell one after the
    other.  16-bit floats round at every step, and the larger of two zeros is 0.0, the smaller -0.0.

    mode: JAX's; ``"clip"`` moves a slice that lies partly outside, as a gather does, and all others drop it.

    Returns: a tensor of the input's type; a tuple of them where inputs is a sequence.
    """
    many = isinstance(inputs, (list, tuple))
    data, src = (list(x) if isinstance(x, (list, tuple)) else [x] for x in (inputs, updates))
    if len(data) != len(src) or not data:
        raise ArgumentError(f"scatter: inputs and updates must be equally many; got {len(data)} and {len(src)} (C5)")
    dtypes = [dtype_of("scatter", f"inputs[{k}]", x) for k, x in enumerate(data)]
    computed = computation("scatter", update_computation, dtypes)
    out = _scatter(
        data,
        scatter_indices,
        src,
        update_window_dims,
        inserted_window_dims,
        input_batching_dims,
        scatter_indices_batching_dims,
        scatter_dims_to_operand_dims,
        index_vector_dim,
        indices_are_sorted,
        unique_indices,
        tuple(map(_as_xla, computed, dtypes)) if isinstance(computed, list) else computed,
        _bounds("scatter", mode, {None: "fill", "promise_in_bounds": "fill"}),
    )
    found = tuple(out) if isinstance(out, (list, tuple)) else (out,)
    return found if many else found[0]


def _as_xla(reduction: Reduction, dtype: DType) -> Reduction:
    if reduction.name not in ("min", "max"):
        return reduction
    return (
        ordered_by_parts("scatter", reduction.name, dtype)
        if dtype.is_complex
        else variant(reduction.name, zeros="sign")
    )


@eager
def _scatter(
    inputs: Sequence[Tensor],
    scatter_indices: Tensor,
    updates: Sequence[Tensor],
    update_window_dims: Sequence[int],
    inserted_window_dims: Sequence[int],
    input_batching_dims: Sequence[int],
    scatter_indices_batching_dims: Sequence[int],
    scatter_dims_to_operand_dims: Sequence[int],
    index_vector_dim: int,
    indices_are_sorted: bool,
    unique_indices: bool,
    computed: Computed,
    bounds: str,
) -> list[Value]:
    op = "scatter"
    first, indices = inputs[0], scatter_indices
    need_dtype(op, "scatter_indices", indices, INTEGERS)
    ascending = flag(op, "indices_are_sorted", indices_are_sorted)
    unique = flag(op, "unique_indices", unique_indices)
    numbers = _Numbers(
        window=_axes(op, "update_window_dims", update_window_dims),
        dropped=_axes(op, "inserted_window_dims", inserted_window_dims),
        batching=_axes(op, "input_batching_dims", input_batching_dims),
        indices_batching=_axes(op, "scatter_indices_batching_dims", scatter_indices_batching_dims),
        index_map=_axes(op, "scatter_dims_to_operand_dims", scatter_dims_to_operand_dims),
        vector=int_of(op, "index_vector_dim", index_vector_dim),
    )
    _check_tensors(inputs, updates)
    _check_scatter(op, numbers, first, indices, updates[0])
    _check_updates(numbers, first.shape, indices.shape, updates[0].shape)
    if any(d == 0 for d in first.shape):
        return list(inputs)
    window = iter(numbers.window)
    alone = (*numbers.dropped, *numbers.batching)
    sizes: list[Dim] = [1 if a in alone else updates[0].shape[next(window)] for a in range(first.rank)]
    through = numbers.map(first.rank, indices.rank, sizes)
    draft = builder_of(first).draft
    out = []
    for k, x in enumerate(inputs):
        reduction, lane = (
            (computed, Lane(k, [*inputs, *updates])) if isinstance(computed, Computation) else (computed[k], None)
        )
        ascends = ascending and (bounds == "fill" or through.components == 1)  # vectors may not, once they are clipped
        options = ScatterOptions(reduction=reduction, bounds=bounds, negative=False, unique=unique, sorted=ascends)
        out.append(core.scatter(draft, op, x, indices, updates[k], through, options, lane=lane))
    return out


def _check_tensors(inputs: Sequence[Value], updates: Sequence[Value]) -> None:
    """The specification's rules for the tensors of a scatter: one shape each, and dtypes in pairs."""
    shape, points = inputs[0].shape, updates[0].shape
    for k, (x, u) in enumerate(zip(inputs, updates, strict=True)):
        same = f"scatter: inputs must have one shape; got {shape_str(shape)} and {shape_str(x.shape)}"
        _rule("C1", x.shape == shape, same)
        same = f"scatter: updates must have one shape; got {shape_str(points)} and {shape_str(u.shape)}"
        _rule("C3", u.shape == points, same)
        _rule("C6", u.dtype == x.dtype, f"scatter: updates[{k}] must have its input's dtype {x.dtype}; got {u.dtype}")


def _check_scatter(op: str, n: _Numbers, first: Value, indices: Value, updates: Value) -> None:
    """The specification's rules for a scatter's dimension numbers."""
    _rule(
        "C2",
        first.rank == len(n.window) + len(n.dropped) + len(n.batching),
        f"scatter: update_window_dims, inserted_window_dims and input_batching_dims must name {first.rank} axes, "
        "the inputs' rank",
    )
    _sorted("C7", op, "update_window_dims", n.window)
    _within("C8", op, "update_window_dims", n.window, updates.rank)
    _distinct("C9", op, "inserted_window_dims and input_batching_dims", [*n.dropped, *n.batching])
    _sorted("C10", op, "inserted_window_dims", n.dropped)
    _within("C11", op, "inserted_window_dims", n.dropped, first.rank)
    _sorted("C12", op, "input_batching_dims", n.batching)
    _within("C13", op, "input_batching_dims", n.batching, first.rank)
    _batches(("C14", "C15", "C16", "C17", "C18"), op, n, first, indices, "scatter_indices")
    _vectors("C22", "C19", op, "scatter_dims_to_operand_dims", n.index_map, "scatter_indices", indices.shape, n.vector)
    _distinct("C20", op, "scatter_dims_to_operand_dims and input_batching_dims", [*n.index_map, *n.batching])
    _within("C21", op, "scatter_dims_to_operand_dims", n.index_map, first.rank)


def _check_updates(n: _Numbers, shape: Shape, indices: Shape, points: Shape) -> None:
    """The specification's rule C4 for the updates' shape: the indices' axes and slices that fit into the input."""
    grid = [d for j, d in enumerate(indices) if j != n.vector]
    _rule(
        "C4",
        len(points) == len(grid) + len(n.window),
        f"scatter: updates must have rank {len(grid) + len(n.window)}: the axes of scatter_indices but index_vector_dim, and "
        f"update_window_dims; got {shape_str(points)}",
    )
    spread = [d for a, d in enumerate(points) if a not in n.window]
    for got, want in zip(spread, grid, strict=True):
        _rule(
            "C4",
            got == want or not isinstance(got, int) or not isinstance(want, int),
            f"scatter: updates {shape_str(points)} must have the extents of scatter_indices {shape_str(indices)} on its "
            "axes that are no window",
        )
    kept = [a for a in range(len(shape)) if a not in (*n.dropped, *n.batching)]
    for a, w in zip(kept, n.window, strict=True):
        size, most = points[w], shape[a]
        _rule(
            "C4",
            not isinstance(size, int) or not isinstance(most, int) or size <= most,
            f"scatter: a slice must fit into the input {shape_str(shape)}; got {size} on axis {a}",
        )


# -- the rules --------------------------------------------------------------------------------------------------------


def _axes(op: str, name: str, x: Any) -> list[int]:
    return ints_of(op, name, x)


def _rule(rule: str, holds: bool, message: str) -> None:
    if not holds:
        raise ShapeError(f"{message} ({rule})")


def _within(rule: str, op: str, name: str, axes: Sequence[int], rank: int) -> None:
    _rule(rule, all(0 <= a < rank for a in axes), f"{op}: {name} must be in [0, {rank}); got {tuple(axes)}")


def _distinct(rule: str, op: str, name: str, axes: Sequence[int]) -> None:
    _rule(rule, len(set(axes)) == len(axes), f"{op}: {name} must name an axis once; got {tuple(axes)}")


def _sorted(rule: str, op: str, name: str, axes: Sequence[int]) -> None:
    _rule(rule, sorted(axes) == list(axes), f"{op}: {name} must be sorted; got {tuple(axes)}")
    _distinct(rule, op, name, axes)


def _vectors(
    within: str, length: str, op: str, name: str, index_map: Sequence[int], tensor: str, shape: Shape, vector: int
) -> None:
    rank = len(shape)
    _rule(within, 0 <= vector <= rank, f"{op}: index_vector_dim must be in [0, {rank}], {tensor}'s rank; got {vector}")
    n = shape[vector] if vector < rank else 1
    _rule(
        length,
        n == len(index_map) or not isinstance(n, int),
        f"{op}: {name} must have {n} entries, the length of the index vectors; got {tuple(index_map)}",
    )


def _batches(
    rules: tuple[str, str, str, str, str], op: str, n: _Numbers, operand: Value, indices: Value, tensor: str
) -> None:
    name = f"{tensor}_batching_dims"
    _distinct(rules[0], op, name, n.indices_batching)
    _within(rules[1], op, name, n.indices_batching, indices.rank)
    _rule(rules[2], n.vector not in n.indices_batching, f"{op}: {name} must not name index_vector_dim {n.vector}")
    _rule(
        rules[3],
        len(n.batching) == len(n.indices_batching),
        f"{op}: {name} must have as many entries as the other tensor's batching dims, {len(n.batching)}; "
        f"got {tuple(n.indices_batching)}",
    )
    builder_of(operand).draft.require(
        [
            (
                "==",
                operand.shape[a],
                indices.shape[j],
                f"{op}: ({rules[4]}) batching axis {a} of {shape_str(operand.shape)} and {j} of {shape_str(indices.shape)}",
            )
            for a, j in zip(n.batching, n.indices_batching, strict=True)
        ]
    )
