"""Bool masks among indices: each stands for the places where it is True, one index for each of its axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gscompile.errors import ArgumentError, ShapeError
from gscompile.frontend.builder import builder_of
from gscompile.frontend.draft import Draft
from gscompile.frontend.getitem import known_mask
from gscompile.ir.dims import Dim, shape_str
from gscompile.ir.graph import Value
from gscompile.ir.index_map import undecided


def is_mask(x: Any) -> bool:
    """Whether an array or a value, or a list, is of bools."""
    return "bool" in str(np.asarray(x).dtype if isinstance(x, list) else getattr(x, "dtype", ""))


def places_of(op: str, x: Any, indices: Sequence[Any]) -> list[Any]:
    """Indices into an array, with masks among them read and replaced.

    Raises:
        ArgumentError: a mask without axes.  ShapeError: a mask's extents are not those of the axes that it is for.
    """
    found: list[Any] = []
    for i in indices:
        if is_mask(i):
            if not np.shape(i):
                raise ArgumentError(f"{op}: a bool mask must have an axis; got {i!r}")
            need_mask(op, np.shape(i), np.shape(x), len(found))
            found += _nonzero(i)
        else:
            found.append(i)
    return found


def _nonzero(mask: Any) -> Sequence[Any]:
    """Where a mask is True, in arrays of its own library and on its device."""
    if type(mask).__module__.partition(".")[0] == "torch":
        return tuple(mask.nonzero(as_tuple=True))
    return tuple(mask.nonzero() if hasattr(mask, "nonzero") else np.nonzero(mask))


def replaced_masks(op: str, x: Any, key: Sequence[Any]) -> list[Any]:
    """What stands between the brackets of ``x[..]``, with an index for each axis of a mask in its place.

    Args:
        x: an array, or a value, whose masks may be arrays, and values that are constants.
    """
    shape = x.shape if isinstance(x, Value) else np.shape(x)
    masks = [k is not None and k is not Ellipsis and not isinstance(k, (bool, slice)) and is_mask(k) for k in key]
    if not any(masks):
        return list(key)
    takes = [len(k.shape) if mask else k is not None and k is not Ellipsis for k, mask in zip(key, masks, strict=True)]
    found: list[Any] = []
    axis = 0
    for k, mask, used in zip(key, masks, takes, strict=True):
        if not mask:
            found.append(k)
        elif isinstance(k, Value):
            need_mask(op, k.shape, shape, axis, builder_of(k).draft)
            found += known_mask(op, k).places
        else:
            need_mask(op, np.shape(k), shape, axis)
            found += _nonzero(k)
        axis += used if k is not Ellipsis else len(shape) - sum(takes)
    return found


def known_places(op: str, x: Value, indices: Sequence[Value]) -> list[Value]:
    """As :func:`places_of`, in a graph, where a mask's elements must be known.

    Raises:
        ArgumentError: they are not.  ShapeError: see there.
    """
    draft = builder_of(x).draft
    found: list[Value] = []
    for i in indices:
        if i.dtype.kind == "b":
            mask = known_mask(op, i)
            need_mask(op, mask.shape, x.shape, len(found), draft)
            found += [draft.constant(place, f"{op}: mask") for place in mask.places]
        else:
            found.append(i)
    return found


def need_mask(op: str, mask: Sequence[Dim], shape: Sequence[Dim], axis: int, draft: Draft | None = None) -> None:
    """Raises ShapeError unless a mask has the extents of the axes that it is for, from ``axis`` on."""
    extents = shape[axis : axis + len(mask)]
    what = f"{op}: extents of a mask {shape_str(mask)} for axes {shape_str(extents)}"
    if len(extents) < len(mask):
        raise ShapeError(f"{what}: there are not so many")
    rules: list[tuple[str, Dim, Dim, str]] = [("==", n, d, what) for n, d in zip(mask, extents, strict=True)]
    if draft is not None:
        draft.require(rules)
    elif undecided(rules):
        raise ShapeError(
            f"{what}: a mask for an axis of a size that only a call knows must be a constant of the builder"
        )
