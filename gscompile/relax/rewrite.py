"""Groups of Relax bindings become calls of our kernels."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import tvm
from tvm import relax

from gscompile.build import prim_func
from gscompile.compiler.targets import resolve
from gscompile.errors import DTypeError, GSError, ShapeError
from gscompile.frontend.builder import Builder
from gscompile.ir.dims import Dim
from gscompile.ir.graph import Graph, Value
from gscompile.relax.operators import AROUND, INDEXING, VIEWS
from gscompile.te import Shapes

NAMED = 4
"""Operators that a kernel is named after."""


@dataclass(slots=True)
class Group:
    """Bindings that one kernel computes, the last of which is its result.

    Attributes:
        bindings: in the program's order.
        shapes: how it reads sizes.
        given: what it is computed from.
        inner: what nothing else uses.
    """

    bindings: list[Any]
    shapes: type[Shapes] = Shapes
    given: list[Any] = field(default_factory=list)
    inner: list[Any] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The kernel's."""
        names = [b.value.op.name for b in self.bindings]
        begin = next(k for k, n in enumerate(names) if n in INDEXING)  # views of an index apart
        return "_".join(["gs", *(n.rpartition(".")[2] for n in names[begin:][:NAMED])])

    def graph(self) -> Graph:
        """It as a graph, of inputs ``given``.

        Raises:
            GSError: an operator, a dtype or a shape that kernels do not have.
        """
        calls = [b.value for b in self.bindings]
        b, shapes, self.given = Builder(self.name), self.shapes(), []
        known: dict[int, Value] = {}

        def operand(x: Any) -> Value:
            if hash(x) not in known:
                t = _tensor(shapes, x.ty)
                known[hash(x)] = b.input(f"x{len(self.given)}", t.shape, t.dtype)
                self.given.append(x)
            return known[hash(x)]

        for binding, call in zip(self.bindings, calls, strict=True):
            translation = INDEXING.get(call.op.name) or AROUND[call.op.name]
            want = _tensor(shapes, call.ty)
            made = translation(b, call, [operand(x) for x in _tensors(call)], want.shape)
            if made.dtype != want.dtype or len(made.shape) != len(want.shape):
                raise DTypeError(f"{call.op.name}: {made.type} is not Relax's {want}")
            known[hash(binding.var)] = made
        b.output(known[hash(self.bindings[-1].var)])
        return b.graph()


class Formulas(Shapes):
    """Reads sizes as sums and products of the variables in them."""

    def dim(self, d: Any) -> Dim:
        if isinstance(d, tvm.tirx.Mul):
            return self.dim(d.a) * self.dim(d.b)
        if isinstance(d, tvm.tirx.Add):
            return self.dim(d.a) + self.dim(d.b)
        return super().dim(d)


@dataclass(frozen=True, slots=True)
class _Like:
    """A tensor type, as :class:`Shapes` reads one."""

    shape: Sequence[Any]
    dtype: Any


def _tensor(shapes: Shapes, ty: Any) -> Any:
    """The type of a tensor of known extents, of numbers that kernels see as they are."""
    if not isinstance(ty, relax.TensorType) or not isinstance(ty.shape, relax.ShapeExpr) or ty.dtype is None:
        raise ShapeError("a tensor without known extents")
    found = shapes.type_of(_Like(list(ty.shape.values), ty.dtype))
    if found.dtype.tir != str(ty.dtype):
        raise DTypeError(f"kernels see {ty.dtype} as {found.dtype.tir}")
    return found


def _tensors(call: Any) -> Iterator[Any]:
    """The operands of a call that are tensors."""
    for x in call.args:
        if isinstance(x, relax.Tuple):
            yield from x.fields
        elif not isinstance(x, relax.ShapeExpr):
            yield x


def _is_call(value: Any, of: Container[str]) -> bool:
    return isinstance(value, tvm.ir.Call) and isinstance(value.op, tvm.ir.Op) and value.op.name in of


@dataclass(slots=True)
class Program:
    """A function's bindings, by number.

    Attributes:
        bindings: each with the number of its block.
        order: the number of the binding of a variable.
        users: the numbers of what uses a variable; -1 for the function's result.
    """

    bindings: list[tuple[Any, int]]
    order: dict[int, int] = field(default_factory=dict)
    users: dict[int, set[int]] = field(default_factory=dict)

    def __init__(self, func: Any) -> None:
        self.bindings = [(b, k) for k, block in enumerate(func.body.blocks) for b in block.bindings]
        self.order = {hash(b.var): n for n, (b, _) in enumerate(self.bindings)}
        self.users = {}
        values = [(n, b.value) for n, (b, _) in enumerate(self.bindings)]
        for n, value in [*values, (-1, func.body.body)]:
            for v in relax.analysis.free_vars(value):
                self.users.setdefault(hash(v), set()).add(n)

    def sorted(self, bindings: Iterable[Any]) -> list[Any]:
        """In the program's order, each once."""
        numbers = {self.order[hash(b.var)] for b in bindings}
        return [self.bindings[n][0] for n in sorted(numbers)]

    def views(self, value: Any, block: int) -> list[Any]:
        """The reshapes and casts, in the same block, that lead to the operands of a call."""
        found, todo = [], list(_tensors(value))
        while todo:
            n = self.order.get(hash(todo.pop()))
            if n is not None and self.bindings[n][1] == block and _is_call(self.bindings[n][0].value, VIEWS):
                found.append(self.bindings[n][0])
                todo += _tensors(self.bindings[n][0].value)
        return found

    def mark_inner(self, groups: Sequence[Group]) -> None:
        """Find what only these groups use, each of which computes it itself."""
        inside = [(g, {self.order[hash(b.var)] for b in g.bindings}) for g in groups]
        results = {self.order[hash(g.bindings[-1].var)] for g in groups}
        kept: set[int] = set()  # what computes something that others use, and so uses its operands itself
        for n, (binding, _) in reversed(list(enumerate(self.bindings))):
            own = [(g, numbers) for g, numbers in inside if n in numbers]
            computed = {m for _, numbers in own for m in numbers} - kept
            if own and n not in results and self.users.get(hash(binding.var), set()) <= computed:
                own[0][0].inner.append(binding)
            elif n not in results:
                kept.add(n)


def groups(program: Program) -> list[Group]:
    """What is replaced in a function: gathers and scatters with what they feed, as long as nothing else uses it.

    Reshapes and casts of their operands are computed in the same kernel where they tell it the sizes of its shapes.
    """
    open_: dict[int, tuple[Group, int]] = {}  # by the variable of the result; with its block
    for binding, block in program.bindings:
        value = binding.value
        indexes = _is_call(value, INDEXING)
        if not isinstance(binding, relax.VarBinding) or not (indexes or _is_call(value, AROUND)):
            continue
        feeds = {hash(x) for x in _tensors(value)}
        fed = [v for v in feeds if v in open_ and len(program.users[v]) == 1 and open_[v][1] == block]
        parts = [b for v in fed for b in open_[v][0].bindings]
        views = program.views(value, block) if indexes else []
        together = [parts, [*parts, *views], parts] if parts else []
        alone = [[], views, []] if indexes else []
        for k, before in enumerate([*together, *alone]):
            group = Group([*program.sorted(before), binding], Shapes if k % 3 == 2 else Formulas)
            try:
                group.graph()
            except GSError:
                continue
            for v in fed if k < len(together) else ():
                del open_[v]
            open_[hash(binding.var)] = (group, block)
            break
    return [group for group, _ in open_.values()]


@relax.expr_functor.mutator
class _Mutator(relax.PyExprMutator):  # type: ignore[misc]
    """Puts calls of kernels in place of groups."""

    def __init__(self, module: Any, target: Any, threads: int | None) -> None:
        super().__init__(module)
        self.target, self.threads = target, threads
        self.kernels: dict[int, tuple[Any, Group]] = {}
        self.inner: set[int] = set()

    def replace(self, func: Any) -> Any:
        program = Program(func)
        made: list[Group] = []
        for group in groups(program):
            try:
                kernel = prim_func(group.graph(), self.target, checks="clamp", threads=self.threads)
            except GSError:
                continue  # too long for one function
            name = str(kernel.attrs["global_symbol"])
            called = self.builder_.add_func(kernel.without_attr("global_symbol"), name)
            self.kernels[hash(group.bindings[-1].var)] = called, group
            made.append(group)
        program.mark_inner(made)
        self.inner |= {hash(b.var) for group in made for b in group.inner}
        return self.visit_expr(func)

    def visit_var_binding_(self, binding: Any) -> None:
        if hash(binding.var) in self.inner:
            return
        found = self.kernels.get(hash(binding.var))
        if found is None:
            super().visit_var_binding_(binding)
            return
        called, group = found
        given = [self.visit_expr(x) for x in group.given]
        call = self.builder_.normalize(relax.call_tir(called, relax.Tuple(given), binding.value.ty))
        self.builder_.emit_normalized(relax.VarBinding(binding.var, call))


def rewritten(module: Any, target: Any, threads: int | None) -> Any:
    """A module whose Relax functions call our kernels."""
    kernel_target = _ours(target)
    if kernel_target is None:
        return module
    mutator = _Mutator(module, kernel_target, threads)
    for name, func in module.functions.items():
        if isinstance(func, relax.Function) and isinstance(func.body, relax.SeqExpr):
            mutator.builder_.update_func(name, mutator.replace(func))
    return mutator.builder_.get()


def _ours(target: Any) -> Any:
    """Our target for one of TVM's; None for what is no CPU."""
    if target is None:
        return resolve("llvm")
    if isinstance(target, tvm.target.Target):
        known = {
            k: v for k, v in dict(target.export()).items() if k in ("kind", "mcpu", "mtriple", "mattr", "num-cores")
        }
        target = {k: list(v) if k == "mattr" else v for k, v in known.items()}
    try:
        found = resolve(target)
    except GSError:  # one that there is no code for
        return None
    return found if found.device == "cpu" else None
