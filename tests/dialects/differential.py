"""Comparing a dialect with its framework: same result, or both refuse.

A comparison is counted under (dialect, function, judge); the table of the documentation is made of these counts, by
``tests/dialects/table.py``.  A call that ends the framework's process is no comparison: it is counted apart, and warned of.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

import gscompile as gs
from tests.cases import index_palette, random_data
from tests.dialects.judges import Ended
from tests.oracle import Array, assert_same

COUNTS: Counter[tuple[str, str, str]] = Counter()
ENDED: Counter[tuple[str, str, str]] = Counter()


@dataclass(frozen=True)
class Refused:
    """A call that raised."""

    error: Exception

    def __str__(self) -> str:
        return f"{type(self.error).__name__}: {str(self.error)[:300]}"


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return Refused(error)


def as_arrays(result: Any) -> list[Array]:
    """A result, or several, of any library as NumPy arrays."""
    many = isinstance(result, (tuple, list)) and not hasattr(result, "dtype")
    return [one_array(r) for r in result] if many else [one_array(result)]


def one_array(x: Any) -> Array:
    if type(x).__module__.split(".")[0] == "torch":
        import torch

        x = x.detach().cpu()
        if x.dtype is torch.bfloat16:
            import ml_dtypes

            return np.asarray(x.view(torch.int16).numpy()).view(ml_dtypes.bfloat16)
    return np.asarray(x)


@dataclass(frozen=True)
class Against:
    """One function of a dialect and who judges it.

    Attributes:
        judge: the framework and its version, such as ``torch 2.13.0``; for recorded results, where they are from.
    """

    dialect: str
    function: str
    judge: str

    def agree(
        self,
        ours: Callable[[], Any],
        theirs: Callable[[], Any],
        label: Any = "",
        *,
        rtol: float = 0,
        signed_zero: bool = True,
        equal_dtype: bool = True,
    ) -> bool:
        """Both give the same, bit for bit unless ``rtol`` is given, or both refuse; ours with an error of gscompile's.

        Where the call ends the framework's process there is nothing to compare with: ours may give anything or refuse.

        Returns: whether there was a result of the framework's.
        """
        want, got = outcome(theirs), outcome(ours)
        if isinstance(got, Refused) and not isinstance(got.error, gs.GSError):
            raise got.error
        if isinstance(got, Refused) and isinstance(got.error, gs.BoundsError):
            self.names_an_argument(got.error)
        if isinstance(want, Refused) and isinstance(want.error, Ended):
            ENDED[self.dialect, self.function, self.judge] += 1
            warnings.warn(f"{self.judge} ended in {label} ({want.error}); ours {_brief(got)}", stacklevel=2)
            return False
        if isinstance(want, Refused) != isinstance(got, Refused):
            raise AssertionError(f"{self.function} {label}: {self.judge} gives {_brief(want)}, ours {_brief(got)}")
        COUNTS[self.dialect, self.function, self.judge] += 1
        if isinstance(want, Refused):
            return False
        wanted, found = as_arrays(want), as_arrays(got)
        assert len(wanted) == len(found), f"{self.function} {label}: {len(wanted)} results, ours {len(found)}"
        for w, g in zip(wanted, found, strict=True):
            if not equal_dtype:
                g = g.astype(w.dtype)
            try:
                same(g, w, rtol, signed_zero)
            except AssertionError as error:
                raise AssertionError(f"{self.function} {label} against {self.judge}: {error}") from None
        return True

    def names_an_argument(self, error: gs.BoundsError) -> None:
        """An index out of range is reported in the framework's words: the function, and the argument that holds it."""
        function = getattr(import_module(f"gscompile.dialects.{self.dialect}"), self.function, None)
        if function is None or not inspect.isfunction(function):
            return
        arguments = inspect.signature(function).parameters
        said = f"{self.function}: {error} (tensor {error.tensor!r})"
        assert str(error).startswith(f"{error.op}: "), said
        assert error.op.lower().startswith(self.function.lower()), said
        assert any(re.fullmatch(rf"{name}(_\d+)?", error.tensor) for name in arguments), said

    def differs(self, ours: Callable[[], Any], theirs: Callable[[], Any], want: Any) -> None:
        """A deliberate difference, which the function's docstring states: theirs is not ``want``, ours is.

        ``want`` is a result, or the class of the error that ours raises.
        """
        got, other = outcome(ours), outcome(theirs)
        if isinstance(want, type) and issubclass(want, Exception):
            assert isinstance(got, Refused) and isinstance(got.error, want), f"{self.function}: {_brief(got)}"
            assert not isinstance(other, Refused), f"{self.judge} refuses too: {other}"
        else:
            assert not isinstance(got, Refused), f"{self.function}: {got}"
            same(as_arrays(got)[0], np.asarray(want), 0, True)
            if not isinstance(other, Refused):
                theirs_too = np.array_equal(as_arrays(other)[0], np.asarray(want), equal_nan=True)
                assert not theirs_too, f"{self.judge} gives the same"
        COUNTS[self.dialect, self.function, self.judge] += 1


def same(got: Array, want: Array, rtol: float, signed_zero: bool) -> None:
    if not rtol:
        assert_same(got, want, signed_zero=signed_zero)
        return
    assert (got.shape, got.dtype) == (want.shape, want.dtype), (
        f"{got.dtype}{got.shape}, expected {want.dtype}{want.shape}"
    )
    np.testing.assert_allclose(got.astype("f8"), want.astype("f8"), rtol=rtol, atol=rtol)


def _brief(x: Any) -> str:
    return str(x) if isinstance(x, Refused) else f"{[(a.dtype.name, a.shape) for a in as_arrays(x)]} {str(x)[:200]}"


# -- draws ------------------------------------------------------------------------------------------------------------


class Draw:
    """Random calls that repeat: shapes with different extents, ugly indices."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def integer(self, low: int, high: int) -> int:
        """In ``[low, high]``."""
        return int(self.rng.integers(low, high + 1))

    def choice(self, options: Sequence[Any]) -> Any:
        return options[self.integer(0, len(options) - 1)]

    def maybe(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def shape(self, rank: int, empty: float = 0.05) -> tuple[int, ...]:
        """Extents of 1 to 5, sometimes 0."""
        return tuple(0 if self.maybe(empty) else self.integer(1, 5) for _ in range(rank))

    def axis(self, rank: int) -> int:
        """An axis, counted from either end."""
        return self.integer(-rank, rank - 1) if rank else 0

    def data(self, shape: Sequence[int], dtype: str = "float32", special: bool = True) -> Array:
        """Values of all sizes; with NaN, infinities and zeros of both signs, if ``special``."""
        return random_data(self.rng, tuple(shape), dtype, special)

    def index(
        self, shape: Sequence[int], size: int, dtype: str = "int64", *, negative: bool = True, wild: float = 0.0
    ) -> Array:
        """Indices into an axis of ``size``.

        Args:
            negative: also those that count from the end.
            wild: the probability that the tensor also has values out of range: just past both ends, the dtype's limits.
        """
        good, bad = index_palette(size, 1, dtype, negative)
        pool = good + bad if (self.maybe(wild) or not good) and bad else good
        if not pool:
            pool = [0]
        return np.array([self.choice(pool) for _ in range(int(np.prod(shape)))], dtype).reshape(tuple(shape))
