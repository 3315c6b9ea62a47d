"""The exceptions gscompile raises for a user's mistake.

Every one derives from :class:`GSError` and from the built-in exception a Python user would expect, so that both
``except gs.GSError`` and ``except IndexError`` work.  Messages name the operator, the argument, the rule and what was got.
"""

from __future__ import annotations


class GSError(Exception):
    """Base of every error that gscompile raises on purpose."""


class ShapeError(GSError, ValueError):
    """A rank, an extent or an axis does not fit the operator's shape rule."""


class DTypeError(GSError, TypeError):
    """A data type is unknown or not allowed where it was used."""


class ArgumentError(GSError, ValueError):
    """An option has an unknown value, or inputs are missing, extra or misnamed."""


class GraphError(GSError, ValueError):
    """A value belongs to another builder, a name is used twice, or the graph has no output."""


class TargetError(GSError, ValueError):
    """The target is unknown, or this installation cannot compile for it."""


class DeviceError(GSError, RuntimeError):
    """An array lives on the wrong device, or the device that a module needs is not there."""


class OutOfMemoryError(GSError, MemoryError):
    """There is no room for a result, for a copy of an input, or for scratch memory."""


class MissingExtraError(GSError, ImportError):
    """An optional dependency is not installed; the message names the extra that brings it."""


class BoundsError(GSError, IndexError):
    """An index is out of range under ``bounds="raise"``, or was while the call ran.

    Attributes:
        op: name of the graph operator.
        tensor: name of the index tensor.
        position: coordinates, in the index tensor, of the first offending element in row-major order; ``()`` if it is the only
            one, or depends on other elements.
        value: the offending value as it stands in the index tensor; ``None`` where it no longer stands there.
        valid: the smallest and the largest value that is allowed; ``None`` where no value is (an empty axis), or where another
            thread has changed the index meanwhile, so that there is nothing to show.
    """

    def __init__(
        self,
        message: str,
        *,
        op: str = "",
        tensor: str = "",
        position: tuple[int, ...] = (),
        value: int | None = None,
        valid: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(message)
        self.op = op
        self.tensor = tensor
        self.position = position
        self.value = value
        self.valid = valid


def index_changed(op: str, tensor: str = "") -> BoundsError:
    """The error for an index that was found out of range, and then no more.

    Args:
        op: name of the graph operator, or of the function where that is not known.
        tensor: name of the index tensor, where that is known.
    """
    what = f"an index of {tensor}" if tensor else "an index"
    message = f"{op}: {what} was out of range while the call ran; give a copy if other threads write to it meanwhile"
    return BoundsError(message, op=op, tensor=tensor)


def missing_extra(module: str, extra: str, purpose: str) -> MissingExtraError:
    """The error for an optional dependency that is not installed."""
    return MissingExtraError(f"{purpose} needs {module}, which is not installed: {installation(extra)}")


def installation(extra: str) -> str:
    """The command that brings an optional dependency, as README has it: for a checkout."""
    return f"pip install '.[{extra}]'"
