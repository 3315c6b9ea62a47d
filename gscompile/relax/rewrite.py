"""Groups of Relax bindings become calls of our kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import tvm
from tvm import relax

from gscompile.build import prim_func
from gscompile.compiler.targets import resolve
from gscompile.errors import DTypeError, GSError, ShapeError
from gscompile.frontend.builder import Builder
from gscompile.ir.graph import Value
from gscompile.relax.operators import AROUND, INDEXING
from gscompile.te import Shapes

NAMED = 4
"""Operators that a kernel is named after."""


@dataclass(slots=True)
class Group:
    """Bindings that one kernel computes, the last of which is its result.

    Attributes:
        bindings: in the program's order.
        given: what it is computed from.
    """

    bindings: list[Any]
    given: list[Any] = field(default_factory=list)

    def built(self) -> Builder:
        """It as a graph, of inputs ``given``.

        Raises:
            GSError: an operator, a dtype or a shape that kernels do not have.
        """
        calls = [b.value for b in self.bindings]
        name = "_".join(c.op.name.rpartition(".")[2] for c in calls[:NAMED])
        b, shapes, self.given = Builder(f"gs_{name}"), Shapes(), []
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
        return b


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


def _is_call(value: Any, of: Mapping[str, Any]) -> bool:
    return isinstance(value, tvm.ir.Call) and isinstance(value.op, tvm.ir.Op) and value.op.name in of


def groups(func: Any) -> list[Group]:
    """What is replaced in a function: gathers and scatters with what they feed, as long as nothing else uses it."""
    users: dict[int, set[int]] = {}
    bindings = [(b, k) for k, block in enumerate(func.body.blocks) for b in block.bindings]
    for n, (binding, _) in enumerate(bindings):
        for v in relax.analysis.free_vars(binding.value):
            users.setdefault(hash(v), set()).add(n)
    for v in relax.analysis.free_vars(func.body.body):
        users.setdefault(hash(v), set()).add(-1)
    order = {hash(binding.var): n for n, (binding, _) in enumerate(bindings)}
    open_: dict[int, tuple[Group, int]] = {}  # by the variable of the result; with its block
    for binding, block in bindings:
        value = binding.value
        if not isinstance(binding, relax.VarBinding) or not (_is_call(value, INDEXING) or _is_call(value, AROUND)):
            continue
        feeds = {hash(x) for x in _tensors(value)}
        fed = [v for v in feeds if v in open_ and len(users[v]) == 1 and open_[v][1] == block]
        if not fed and not _is_call(value, INDEXING):
            continue
        parts = sorted((b for v in fed for b in open_[v][0].bindings), key=lambda b: order[hash(b.var)]) if fed else []
        for group in (Group([*parts, binding]), Group([binding])):
            if len(group.bindings) == 1 and not _is_call(value, INDEXING):
                continue
            try:
                group.built()
            except GSError:
                continue
            if len(group.bindings) > 1:
                for v in fed:
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
        for group in groups(func):
            try:
                kernel = prim_func(group.built().graph(), self.target, checks="clamp", threads=self.threads)
            except GSError:
                continue  # too long for one function
            name = str(kernel.attrs["global_symbol"])
            called = self.builder_.add_func(kernel.without_attr("global_symbol"), name)
            *inner, last = group.bindings
            self.inner |= {hash(b.var) for b in inner}
            self.kernels[hash(last.var)] = called, group
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
