"""Arguments, most of them plausible, some of them ugly, a few of them nonsense."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

DTYPES = ("float32", "float64", "float16", "int8", "int32", "int64", "uint8", "uint64", "bool", "bfloat16", "complex64")
UGLY_DTYPES = (
    "float33",
    "",
    "O",
    "S3",
    "M8[s]",
    ">f4",
    "V5",
    "int4",
    "float8_e5m2",
    "void",
    None,
    int,
    object,
    3,
    "f4, f4",
)
UGLY_INTEGERS = (
    -1,
    -2,
    127,
    2**30,
    2**31,
    -(2**31),
    2**32,
    2**62,
    2**63 - 1,
    -(2**63),
    2**63,
    2**64,
    10**30,
    -(10**30),
)
UGLY_FLOATS = (float("nan"), float("inf"), -float("inf"), -0.0, 1e308, 5e-324, 0.5, 1e300 * 1j)
SIZES = ("n", "m", "k", "n m", "", "2", "int", "n\x00", "é", '"', "n\n", "x" * 3000)
WORDS = (
    *(
        "raise",
        "clip",
        "wrap",
        "fill",
        "trust",
        "update",
        "add",
        "mul",
        "min",
        "max",
        "mean",
        "sum",
        "prod",
        "amax",
        "amin",
    ),
    *(
        "none",
        "default",
        "promise_in_bounds",
        "tanh",
        "ignore",
        "cpu",
        "gpu",
        "llvm",
        "",
        "\x00",
        "RAISE",
        "argmax",
        "and",
    ),
)
JUNK: tuple[Callable[[], Any], ...] = (
    *(
        lambda: None,
        object,
        lambda: "x",
        list,
        dict,
        lambda: b"\xff",
        lambda: float("nan"),
        lambda: 1j,
        lambda: ...,
        set,
    ),
    *(
        lambda: [[1, 2], [3]],
        lambda: np.array([None, "a"], object),
        lambda: np.array("text"),
        lambda: print,
        lambda: type,
    ),
    *(lambda: [None], lambda: (1, "a"), lambda: slice(None), lambda: True, lambda: np.float32(1.5), lambda: "9" * 5000),
)


class Draw:
    """One case's choices.

    Args:
        rng: where they come from.
        log: told each step before it is taken, so that a case that ends the process can be read.
    """

    def __init__(self, rng: Random, log: Callable[[str], None]) -> None:
        self.rng = rng
        self.log = log

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def one_of(self, items: Sequence[Any]) -> Any:
        return items[self.rng.randrange(len(items))]

    def integer(self) -> Any:
        """Mostly an axis or a small extent."""
        if self.chance(0.9):
            return self.rng.randint(-3, 5)
        return self.one_of([*UGLY_INTEGERS, np.int64(2), np.uint8(1), np.array(1), np.array([1]), 1.0, True, None])

    def integers(self) -> Any:
        found = [self.integer() for _ in range(self.rng.randint(0, 4))]
        return self.one_of([found, tuple(found), found, np.array(found, object)]) if found else found

    def extent(self) -> Any:
        return self.one_of([0, 1, 1, 2, 3, 4, 5, 8]) if self.chance(0.97) else self.integer()

    def shape(self) -> list[int]:
        return [self.one_of([0, 1, 1, 2, 3, 4, 5, 8]) for _ in range(self.rng.randint(0, 4))]

    def symbolic_shape(self) -> Any:
        found = [self.one_of(SIZES[:3]) if self.chance(0.2) else self.extent() for _ in range(self.rng.randint(0, 4))]
        if self.chance(0.03):
            found.append(self.one_of(SIZES))
        return found

    def dtype(self) -> Any:
        return self.one_of(DTYPES) if self.chance(0.95) else self.one_of(UGLY_DTYPES)

    def scalar(self) -> Any:
        return self.one_of([0, 1, -1, 2.5, *UGLY_FLOATS, *UGLY_INTEGERS, True, np.float32(3), np.int8(-4)])

    def word(self) -> Any:
        return self.one_of(WORDS)

    def junk(self) -> Any:
        return self.one_of(JUNK)()

    def array(self, shape: Sequence[int] | None = None, dtype: Any = None) -> Any:
        """A NumPy array, whose memory is not always as one would wish."""
        shape = self.shape() if shape is None else shape
        name = self.one_of(DTYPES) if dtype is None else dtype
        if name == "bfloat16":
            import ml_dtypes  # type: ignore[import-untyped,unused-ignore]

            name = ml_dtypes.bfloat16
        values = np.array([self.number(name) for _ in range(int(np.prod(shape)) % 257)] or [0])
        with np.errstate(all="ignore"):
            found = np.resize(values, shape).astype(name)
        return self.laid_out(found)

    def number(self, dtype: Any) -> float:
        if self.chance(0.9):
            return self.rng.randint(-2, 6)
        if np.dtype(dtype).kind in "iu":
            limits = np.iinfo(dtype)
            return self.one_of([int(limits.min), int(limits.max), int(limits.max) // 2])
        return float(self.one_of([0.5, -1.25, np.inf, np.nan]))

    def laid_out(self, array: Any) -> Any:
        """The same values otherwise in memory."""
        how = self.rng.randint(0, 20)
        if how == 0:
            return np.asfortranarray(array)
        if how == 1 and array.ndim:
            return np.flip(array).copy()[::-1] if array.ndim == 1 else array[::-1]
        if how == 2:
            found = array.copy()
            found.flags.writeable = False
            return found
        if how == 3 and array.ndim:
            return np.broadcast_to(array[:1], array.shape) if array.shape[0] else array
        if how == 4:
            raw = np.empty(array.nbytes + 1, np.uint8)[1:]  # off its element's alignment
            return raw.view(array.dtype)[: array.size].reshape(array.shape) if array.dtype.itemsize == 1 else array
        return array

    def argument(self, parameter: inspect.Parameter, tensor: Callable[[], Any]) -> Any:
        """What may be passed for a parameter, by its annotation and its name."""
        if self.chance(0.02):
            return self.junk()
        text, name = str(parameter.annotation), parameter.name
        if "None" in text and self.chance(0.3):
            return None
        if "Sequence[Tensor]" in text or "Sequence[Operand]" in text:
            return [tensor() for _ in range(self.rng.randint(0, 3))]
        if any(t in text for t in ("Tensor", "Operand", "Value")):
            return tensor() if self.chance(0.97) else self.scalar()
        if "bool" in text:
            return self.chance(0.5)
        if name in ("shape", "slice_sizes", "broadcast_shape"):
            return self.symbolic_shape()
        if name in ("axis", "axes", "perm", "starts", "stops", "steps", "low", "high", "dims"):
            return self.integer() if self.chance(0.5) else self.integers()
        if "Sequence[int]" in text:
            return self.integers()
        if "int" in text or name in ("num_segments", "size", "dim"):
            return self.integer()
        if "dtype" in name:
            return self.dtype()
        if "float" in text or name == "value":
            return self.scalar()
        if "str" in text:
            return self.word()
        return self.one_of([tensor, self.integer, self.integers, self.word, self.scalar, self.junk])()

    def arguments(self, function: Callable[..., Any], tensor: Callable[[], Any]) -> tuple[list[Any], dict[str, Any]]:
        """Arguments of a function that Python itself would accept."""
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for p in inspect.signature(function).parameters.values():
            if p.kind is p.VAR_KEYWORD:
                continue
            if p.kind is p.VAR_POSITIONAL:
                args += [self.argument(p, tensor) for _ in range(self.rng.randint(0, 3))]
            elif p.default is p.empty and p.kind is not p.KEYWORD_ONLY:
                args.append(self.argument(p, tensor))
            elif p.default is p.empty or self.chance(0.3):
                kwargs[p.name] = self.argument(p, tensor)
        return args, kwargs


def shown(x: Any) -> str:
    """A value in a log: short, and never an error."""
    if isinstance(x, np.ndarray):
        return f"array({x.dtype}, {x.shape}, {x.ravel()[:6].tolist()})"
    if isinstance(x, list | tuple):
        return "[" + ", ".join(map(shown, x)) + "]"
    try:
        return repr(x)[:200]
    except Exception as e:  # a repr of ours that fails is a finding of the caller's
        return f"<{type(x).__name__} whose repr raises {e!r}>"
