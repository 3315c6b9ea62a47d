"""What a target is: all in which one differs from another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from gscompile.errors import GSError, TargetError
from gscompile.ir import codegen
from gscompile.ir.nests import CheckNest
from gscompile.ir.tir import Buffer, PrimFunc, Stmt
from gscompile.ir.types import DType
from gscompile.runtime.devices import Runner
from gscompile.schedules import Context, Rule
from gscompile.schedules import Target as Facts


@dataclass(frozen=True, slots=True)
class CodeKind:
    """A stage of a compiled function's code that can be looked at.

    Attributes:
        suffix: of a file that holds it.
        read: (the target, the function or the module of its parts, the library) -> the text.
    """

    suffix: str
    read: Callable[[Target, Any, Any], str]


@dataclass(frozen=True)
class Target(ABC):
    """A kind of target, with its attributes.  To add one: a subclass in a file of its own, passed to ``register``.

    Attributes:
        kind: TVM's name of it.
        device: where arrays must be: ``cpu`` or ``cuda``.
        device_type: DLPack's number of that device.
        alignment: what addresses of arrays must be multiples of, in bytes; 0 for nothing but the size of their elements.
        host_guards: the host can read what a nest's guard reads, and applies it; otherwise rules put it inside their kernels.
        joins_checks: a nest may take over the check of the indices that it reads.
        joins_several: a map may take over those of all gathers by which its cells are computed.
        by_driver: kernels are loaded and launched by a driver, from the host's code.
        variant: the attribute that says which CPU or GPU code is for.
        in_parts: a long function may call others; TVM takes kernels out of no function that is called.
        again: instructions for an element that several nests may take together rather than read it from memory.
        stores_indices: what a gather gives is stored where indices are made of it, rather than picked wherever they are read.
        by_segment: it has a rule for groups of folds over segments, see :mod:`gscompile.compiler.segments`.
        code: the stages of the code, by name.
        facts: what schedule rules may know.
        tvm: TVM's target.
        attributes: what it was made of, from which it is made again where it is unpickled.
    """

    facts: Facts
    tvm: Any
    attributes: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False, kw_only=True)

    kind: ClassVar[str]
    device: ClassVar[str]
    device_type: ClassVar[int]
    alignment: ClassVar[int] = 0
    host_guards: ClassVar[bool]
    joins_checks: ClassVar[bool]
    joins_several: ClassVar[bool] = False
    by_driver: ClassVar[bool]
    variant: ClassVar[str]
    in_parts: ClassVar[bool]
    again: ClassVar[int] = 0
    stores_indices: ClassVar[bool] = False
    by_segment: ClassVar[bool] = False
    pipeline: ClassVar[str] = "default"  # TVM's lowering
    code: ClassVar[Mapping[str, CodeKind]]

    @classmethod
    @abstractmethod
    def of(cls, attributes: Mapping[str, Any]) -> Target:
        """The target with these attributes; what they leave out is found or has a default.

        Raises:
            TargetError: they do not fit together, or name what this TVM does not have.
        """

    @property
    @abstractmethod
    def rules(self) -> Sequence[Rule]:
        """Its schedule rules, in the order in which they are tried."""

    @property
    @abstractmethod
    def runner(self) -> Runner:
        """How its kernels are run."""

    @property
    def is_named(self) -> bool:
        """Whether its attributes say for which CPU or GPU it is; otherwise it is this machine's."""
        return self.variant in self.attributes or "mtriple" in self.attributes

    @property
    def linkable(self) -> bool:
        """Whether its code can be linked to a shared library of this system."""
        return False

    def address_alignment(self, dtype: DType) -> int:
        """What kernels may assume of the address of elements, in bytes."""
        return self.alignment or dtype.itemsize

    def once(self, body: Stmt) -> Stmt:
        """A statement that runs once, where the kernels' memory can be written."""
        return body

    def named(self, checks: Sequence[CheckNest], ctx: Context, kept: Buffer | None) -> Stmt | None:
        """What makes the status say where an index is out of range, and what stands there; None where the checks do.

        Args:
            kept: with fewer than 0 threads receives what the status says if it is the first; None for nothing.
        """
        return None

    def adapted(self, func: PrimFunc) -> PrimFunc:
        """The function that is compiled, of the one that the rules made."""
        return func

    def compile(self, module: Any) -> Any:
        """A library with the functions of TVM's module ``module``.

        Raises:
            TargetError: TVM, or what it calls, cannot make code for this target.
        """
        try:
            return codegen.compile_module(module, self.tvm, self.pipeline)
        except GSError:
            raise
        except Exception as e:
            reason = (str(e).strip() or type(e).__name__).splitlines()[-1]
            raise TargetError(f"TVM cannot compile this for {self}: {reason}") from e

    def require_device(self, module: str) -> None:  # noqa: B027
        """Make sure that kernels can run in this process.

        Args:
            module: whose kernels, for the error.

        Raises:
            DeviceError: the device is not there.
        """

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).of, ({"kind": self.kind, **self.attributes},)

    def __str__(self) -> str:
        return f"{self.kind} ({self.facts.arch})"

    def source(self, code: str, func: Any, library: Any) -> str:
        """The code at one stage.

        Raises:
            TargetError: this target has no such stage.
        """
        if code not in self.code:
            raise TargetError(f"source: a module for {self.kind} has no {code} code")
        return self.code[code].read(self, func, library)


HOST_CODE: Mapping[str, CodeKind] = {
    "tir": CodeKind("py", lambda target, func, library: str(func.script())),
    "llvm": CodeKind("ll", lambda target, func, library: str(library.mod.inspect_source("ll"))),
    "asm": CodeKind("s", lambda target, func, library: str(library.mod.inspect_source("asm"))),
}
