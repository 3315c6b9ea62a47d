"""The builder: a NetBuilder in CINN's manner, whose methods add values to a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from gscompile.build import Module, build, prim_func, status_error
from gscompile.errors import GraphError, GSError, ShapeError
from gscompile.frontend.draft import Draft, called_as
from gscompile.frontend.reduce import ReduceOps
from gscompile.ir.dims import SymDim, shape_symbols
from gscompile.ir.graph import Graph, Value
from gscompile.ir.listing import listing, table
from gscompile.ir.ops.leaf import Input
from gscompile.ir.types import TensorType


class Builder(ReduceOps):
    """Builds a graph of gathers, scatters and what surrounds them.

    Args:
        name: the graph's, and the compiled function's: a Python identifier.

    Example:
        >>> b = Builder("rows")
        >>> table = b.input("table", ("n", 64), "float32")
        >>> index = b.input("index", ("k",), "int64")
        >>> rows = b.take(table, index)
        >>> print(b)
        rows(table: float32(n, 64), index: int64(k,))
          take_2: float32(k, 64) = take(table, index, bounds=raise)
          return take_2: float32(k, 64)
    """

    def __init__(self, name: str = "main") -> None:
        self.draft = Draft(name, self)
        self.name = name

    def input(self, name: str, shape: Any, dtype: Any) -> Value:
        """A tensor that every call passes; a dimension is an int, or a str naming a size known only then."""
        result = TensorType.of(shape, dtype)
        if not isinstance(name, str) or not name.isidentifier():
            raise GraphError(f"input: the name must be a Python identifier; got {name!r}")
        if name == "out":
            raise GraphError("input: the name 'out' is taken: it is how a call names the array for its result")
        return self.draft.add(Input(), [], result, name)

    def create_input(self, dtype: Any, shape: Any, name: str) -> Value:
        """CINN's spelling of :meth:`input`."""
        return self.input(name, shape, dtype)

    def output(self, *values: Value) -> None:
        """Make values results of the graph, in this order; may be called several times."""
        for v in values:
            if not isinstance(v, Value):
                raise GraphError(f"output: a value of this builder is needed; got {v!r}")
            self.draft.outputs.append(self.draft.as_value("output", "value", v))

    def graph(self) -> Graph:
        """The graph as it stands: the outputs and what they need.

        What no output needs is left out, and so are the rules that it has for sizes: a call cannot fail because of it.  Inputs
        stay, needed or not.

        Raises:
            GraphError: there is no output.  ShapeError: a size that only a call can tell is not the extent of any input's axis.
        """
        outputs = self.draft.outputs
        if not outputs:
            used = {id(a) for v in self.draft.values for a in v.args}
            outputs = [v for v in self.draft.values if id(v) not in used and not isinstance(v.op, Input)]
        if not outputs:
            raise GraphError(f"builder {self.name!r} has no output: add an operator, or name the outputs with output()")
        needed: set[int] = set()
        stack = list(outputs)
        while stack:
            v = stack.pop()
            if id(v) not in needed:
                needed.add(id(v))
                stack.extend(v.args)
        values = tuple(v for v in self.draft.values if id(v) in needed or isinstance(v.op, Input))
        constraints = tuple(c for k, c in self.draft.constraints if id(self.draft.values[k]) in needed)
        graph = Graph(self.name, values, tuple(outputs), constraints)
        self._check_symbols(graph)
        return graph

    def _check_symbols(self, graph: Graph) -> None:
        known = {str(d) for v in graph.inputs for d in v.shape if isinstance(d, SymDim)}
        wanted = set(graph.symbols) | set(shape_symbols(*((c.lhs, c.rhs) for c in graph.constraints)))
        if missing := sorted(wanted - known):
            raise ShapeError(f"no input of {self.name!r} has a dimension that is the size {missing[0]!r} by itself")

    def build(
        self,
        target: Any = "llvm",
        *,
        rules: Sequence[Any] = (),
        deterministic: bool = False,
        choices: Mapping[str, Mapping[str, int | str]] | None = None,
        database: str | PathLike[str] | None = None,
        indices: str | Mapping[str, str] | None = None,
        machine: str | None = None,
        check: str = "sync",
    ) -> Module:
        """Compile the graph.

        Args:
            target: ``"llvm"`` (this machine's CPU with all its features), ``"cuda"``, a dict of TVM target attributes, or a
                ``tvm.target.Target``.
            rules: schedule rules to try before gscompile's own; see :mod:`gscompile.schedules.rule`.
            deterministic: floats are added in an order that is the same on every target, at the price of speed: results are
                bitwise repeatable on cuda too.  See docs/cuda.md.
            choices: by the name of a nest (``m.stats.kernels``), values for choices that rules leave open; the others have their
                defaults.  See docs/tuning.md.
            database: a file that :func:`gscompile.tune` wrote, whose best choices for this graph and target are used; by default
                that of :func:`gscompile.set_default_database`, if any.
            indices: of the database: the distribution that indices will have, of all inputs or by input; without it, the record
                for uniform ones comes first.
            machine: of the database: part of the name of the machine that it was tuned on (``"Cortex-A72"``; ``""`` for any).
                Without it, this one, or where the target names its CPU and this machine has no record, any other.
            check: ``"sync"``: a call raises where an index is out of range, for which it waits for its kernels.  ``"deferred"``:
                calls do not wait, and ``m.check()`` raises what the first that failed has found; see docs/bounds.md.

        Raises:
            GraphError, ShapeError, TargetError.  ArgumentError: a choice is none, or the database cannot be read.
        """
        return build(
            self.graph(),
            target,
            rules=rules,
            deterministic=deterministic,
            choices=choices,
            database=database,
            indices=indices,
            machine=machine,
            check=check,
        )

    def prim_func(
        self, target: Any = "llvm", *, schedule: bool = True, checks: str = "status", threads: int | None = None
    ) -> Any:
        """The graph as a ``tvm.tirx.PrimFunc``, which ``tvm.compile`` builds, an IRModule holds and Relax's ``call_tir`` calls.

        Its parameters are buffers: inputs, constants, outputs; sizes follow from their shapes.  bfloat16, 8-bit floats and opaque
        elements are unsigned integers, complex numbers have one more axis of extent 2.  Outputs must not overlap inputs.  What a
        call of a module checks about symbolic sizes is the caller's to keep.

        Args:
            target: what it is scheduled for.  On cuda the buffers are the device's, aligned to 16 bytes.
            schedule: with it, the loops that ``build`` compiles.  Without, the plain function that ``te.create_prim_func`` makes
                of the tensor expressions, for TVM's own ``Schedule``: its gathers clamp and its scatters drop what is out of
                range.
            checks: of a scheduled one; ``"status"``: a last parameter, int64 of 1 + 2 * (number of checks), says what was found
                out of range: its first number is not 0 where a check failed, and the outputs may hold anything then; after it,
                for each check, the first place in its index tensor, row-major, and the value there.  ``"clamp"``: no such
                parameter; a gather clamps an index out of range, and a scatter drops its point.
            threads: that share the work, one per core of the target by default.

        Raises:
            ArgumentError: no such ``checks``.  TargetError: the graph is so long that it is compiled in parts.
        """
        return prim_func(self.graph(), target, schedule=schedule, checks=checks, threads=threads)

    def check_status(self, status: Any, sizes: Mapping[str, int] | None = None, *, target: Any = "llvm") -> None:
        """Raise what a call of the module would have raised, if a function of :meth:`prim_func` found an index out of range.

        Args:
            status: what the function wrote to its last parameter: a NumPy array or a TVM tensor, int64.
            sizes: the symbolic sizes of that call, by name.
            target: as for :meth:`prim_func`: checks are numbered in the order in which a target carries them out.

        Raises:
            BoundsError: an IndexError: which index, where, and what it should have been.  ArgumentError: the status has not the
            length of this graph's, or there is no number for one of its sizes.
        """
        try:
            found = status_error(self.graph(), status, sizes or {}, target)
        except GSError as e:
            called_as("check_status", e)
            raise
        if found is not None:
            raise found  # in the name of the operator, as of a call

    def __reduce__(self) -> tuple[Any, ...]:
        raise GraphError(f"builder {self.name!r} is not copied or pickled, but what it gives is: graph() and build()")

    def __str__(self) -> str:
        return str(self.graph())

    def __repr__(self) -> str:
        return listing(f"builder {self.name}", self.draft.values, self.draft.outputs)

    def _repr_html_(self) -> str:
        return table(f"builder {self.name}", self.draft.values, self.draft.outputs)


NetBuilder = Builder


def builder_of(x: Value) -> Builder:
    """The builder that a value was made by."""
    assert isinstance(x.builder, Builder)
    return x.builder
