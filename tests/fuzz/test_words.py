"""Arguments that are words, of every dialect's functions and the builder's methods, given what no table of words can look up."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from tests.fuzz.builder_cases import METHODS
from tests.fuzz.dialect_cases import FUNCTIONS

X, AT, IDS = np.ones((3, 2), "float32"), np.zeros((3, 2), "int64"), np.zeros(3, "int64")
# the tensors and numbers that go first; some of them fit most functions
OTHERS: tuple[tuple[Any, ...], ...] = (
    (X, AT, X, AT),
    (X, IDS, X, X),
    (X, AT, 1.0, 0),
    (X, 0, AT, X),
    (0, X, AT, X),
    (X, IDS, 3, X),
)
NO_WORDS: tuple[Any, ...] = ([], {}, {1}, np.array("x"), slice(None), b"x", 1.5)


def words(f: Callable[..., Any]) -> list[tuple[str, int | None]]:
    """The parameters that are words, and which of those without a default each is."""
    parameters = list(inspect.signature(f).parameters.values())
    needed = [
        p.name for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    found = [p.name for p in parameters if isinstance(p.default, str) or "str" in str(p.annotation)]
    return [(name, needed.index(name) if name in needed else None) for name in found]


def method(name: str) -> Callable[..., Any]:
    """A builder's method, on a new builder at each call."""
    f = getattr(gs.Builder(), name)

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(gs.Builder(), name)(*args, **kwargs)

    return call


ALL = [*FUNCTIONS, *((name, method(name)) for name, _ in METHODS)]
WITH_WORDS = [(name, f) for name, f in ALL if words(f)]


def test_there_are_many() -> None:
    assert len(WITH_WORDS) > 30


@pytest.mark.parametrize(("name", "f"), WITH_WORDS, ids=[name for name, _ in WITH_WORDS])
def test_what_is_no_word(name: str, f: Callable[..., Any]) -> None:
    parameters = inspect.signature(f).parameters.values()
    count = sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
    for word, at in words(f):
        for no_word in NO_WORDS:
            for others in OTHERS:
                given = [*others, *[X] * count][: count - (at is not None)]
                if at is not None:
                    given.insert(at, no_word)
                with contextlib.suppress(gs.GSError):
                    f(*given, **({} if at is not None else {word: no_word}))
