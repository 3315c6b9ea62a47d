"""The fast path of a call with arrays: one whose signature is known goes straight to its module."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gscompile.build import Module
from gscompile.errors import GSError
from gscompile.runtime.arrays import VIEWERS

_PLAIN = frozenset({int, bool, str, type(None)})  # equal ones of the same type are the same; floats are not


class CachedCall(NamedTuple):
    """What a call does, for others of the same :func:`call_signature`.

    Attributes:
        key: of the module, in the cache of modules.
        inputs: of the module: the place of an argument, its name, or an array.
    """

    key: Hashable
    module: Module
    inputs: Sequence[Any]

    def run(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result for these arguments."""
        return self.module(*[args[x] if type(x) is int else kwargs[x] if type(x) is str else x for x in self.inputs])


def call_signature(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Hashable:
    """What a call's module follows from, where the arguments are arrays of known types and plain attributes; else None."""
    parts: list[Any] = [len(args), *kwargs] if kwargs else [len(args)]
    for x in (*args, *kwargs.values()) if kwargs else args:
        kind = type(x)
        if kind is np.ndarray:
            if x.dtype.metadata is not None:  # in which dtypes may differ that are equal
                return None
            parts += (x.dtype, x.shape)
        elif kind in _PLAIN:
            parts += (kind, x)
        elif (kind is list or kind is tuple) and all(type(y) is int for y in x):
            parts += (kind, *x, None)
        elif kind in VIEWERS:
            try:
                v = VIEWERS[kind](x)
            except GSError:
                return None
            parts += (kind, v.dtype.key, v.shape, v.device)
        else:
            return None
    return tuple(parts)
