"""What a compiled function takes and gives: all that a call must know of the graph it was compiled from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gscompile.errors import ArgumentError, ShapeError
from gscompile.ir import status
from gscompile.ir.dims import Constraint, Dim, Shape, evaluate, shape_str, symbols
from gscompile.ir.types import DType, TensorType
from gscompile.runtime.arrays import View

KEPT = 256  # combinations of shapes whose consequences are kept
MOST = (1 << 63) - 1  # what a kernel can count: elements, bytes, steps


@dataclass(frozen=True, slots=True)
class Argument:
    """An input or an output."""

    name: str
    type: TensorType

    @property
    def shape(self) -> Shape:
        return self.type.shape

    @property
    def dtype(self) -> DType:
        return self.type.dtype


@dataclass(frozen=True, slots=True)
class Extents:
    """What follows from the shapes of the inputs.

    Attributes:
        sizes: the symbolic sizes.
        numbers: those that the compiled function takes, in its order.
        shapes: the outputs' shapes.
        workspace: bytes of scratch memory.
        work: rough scalar instructions.
        input_bytes, output_bytes: how much memory each takes.
    """

    sizes: Mapping[str, int]
    numbers: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    workspace: int
    work: int
    input_bytes: tuple[int, ...]
    output_bytes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Interface:
    """A compiled function's.

    Attributes:
        name: the function's, for errors.
        device: ``cpu`` or ``cuda``: where arrays must be.
        alignment: what addresses must be multiples of, in bytes; 0 for nothing but their elements' size.
        symbols: the sizes that the compiled function takes.
        constraints: what the sizes of a call must satisfy.
        workspace: bytes of scratch memory.
        work: rough scalar instructions.
        in_place: output number -> the number of the input whose memory it may take over.
        checks: how many index checks the status record has room for.
        known: the inputs' shapes -> what follows from them.
    """

    name: str
    device: str
    alignment: int
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    symbols: tuple[str, ...]
    constraints: tuple[Constraint, ...]
    workspace: Dim
    work: Dim
    in_place: Mapping[int, int]
    checks: int
    known: dict[tuple[tuple[int, ...], ...], Extents] = field(default_factory=dict, compare=False, repr=False)

    @property
    def status_length(self) -> int:
        """Numbers in the status record."""
        return status.length(self.checks)

    @property
    def kept_length(self) -> int:
        """Numbers in a record that outlives its call."""
        return status.kept_length(self.checks, len(self.symbols))

    def arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        """The inputs in order.

        Raises:
            ArgumentError: one is missing, or given twice, or unknown.
        """
        names = [v.name for v in self.inputs]
        if len(args) > len(names):
            raise ArgumentError(f"{self.name}: takes {len(names)} inputs ({', '.join(names)}); got {len(args)}")
        found = dict(zip(names, args, strict=False))
        for k, x in kwargs.items():
            if k not in names:
                raise ArgumentError(f"{self.name}: no input is called {k!r}; inputs: {', '.join(names)}")
            if k in found:
                raise ArgumentError(f"{self.name}: input {k!r} is given twice")
            found[k] = x
        if missing := [n for n in names if n not in found]:
            raise ArgumentError(f"{self.name}: missing input{'s' * (len(missing) > 1)} {', '.join(missing)}")
        return [found[n] for n in names]

    def extents(self, views: Sequence[View]) -> Extents:
        """What follows from the inputs' shapes.

        Raises:
            ShapeError: a shape, or a rule about sizes, does not hold; something is more than 63 bits can count.
        """
        shapes = tuple([v.shape for v in views])
        found = self.known.get(shapes)
        if found is None:
            found = self._extents(views)
            if len(self.known) >= KEPT:
                self.known.clear()
            self.known[shapes] = found
        return found

    def _extents(self, views: Sequence[View]) -> Extents:
        sizes = self._sizes(views)
        shapes = tuple(tuple(evaluate(d, sizes) for d in o.shape) for o in self.outputs)
        workspace, work = evaluate(self.workspace, sizes), evaluate(self.work, sizes)
        for o, shape in zip(self.outputs, shapes, strict=True):
            if (
                math.prod(n for n in shape if n) * o.dtype.itemsize > MOST
            ):  # NumPy refuses empty arrays of such a shape, too
                raise ShapeError(
                    f"{self.name}: output {o.name} would have shape {shape_str(shape)}, past 2^63 - 1 bytes"
                )
        if max(workspace, work) > MOST:
            given = ", ".join(f"{name} = {n}" for name, n in sizes.items())
            raise ShapeError(f"{self.name}: with {given}, the work is more than 2^63 - 1 steps")
        return Extents(
            sizes,
            tuple(sizes[n] for n in self.symbols),
            shapes,
            workspace,
            work,
            tuple(math.prod(v.shape) * v.dtype.itemsize for v in views),
            tuple(math.prod(s) * o.dtype.itemsize for s, o in zip(shapes, self.outputs, strict=True)),
        )

    def _sizes(self, views: Sequence[View]) -> dict[str, int]:
        """The symbolic sizes; checks every shape and constraint."""
        sizes: dict[str, int] = {}
        origin: dict[str, str] = {}
        later = []
        for value, v in zip(self.inputs, views, strict=True):
            if len(v.shape) != len(value.shape):
                raise self._wrong_shape(value, v)
            for axis, (d, got) in enumerate(zip(value.shape, v.shape, strict=True)):
                if isinstance(d, int):
                    if d != got:
                        raise self._wrong_shape(value, v)
                    continue
                names = symbols(d)
                name = next(iter(names))
                if len(names) > 1 or str(d) != name:
                    later.append((value, axis, d, got))
                elif sizes.setdefault(name, got) == got:
                    origin.setdefault(name, f"axis {axis} of {value.name}")
                else:
                    raise ShapeError(
                        f"{self.name}: size {name} is {sizes[name]} by {origin[name]}, but {got} by axis {axis} of {value.name}"
                    )
        for value, axis, d, got in later:
            if evaluate(d, sizes) != got:
                raise ShapeError(
                    f"{self.name}: axis {axis} of input {value.name} must be {d} = {evaluate(d, sizes)}; got {got}"
                )
        for c in self.constraints:
            a, b = evaluate(c.lhs, sizes), evaluate(c.rhs, sizes)
            if not (a == b if c.relation == "==" else a <= b):
                rule = "equal to" if c.relation == "==" else "at most"
                raise ShapeError(f"{c.message}: must be {rule} {c.rhs} = {b}; got {c.lhs} = {a}")
        return sizes

    def _wrong_shape(self, value: Argument, v: View) -> ShapeError:
        want, got = shape_str(value.shape), shape_str(v.shape)
        return ShapeError(f"{self.name}: input {value.name} must have shape {want}; got {got}")
