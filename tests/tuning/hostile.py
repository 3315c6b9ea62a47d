"""A rule of which some choices make wrong, slow or deadly code, to be imported by the processes that measure."""

from __future__ import annotations

import os
from typing import Any

from gscompile.ir import tir as T
from gscompile.ir.nests import MapNest
from gscompile.ir.ops.scattering import ScatterNest
from gscompile.schedules import Choice, Context
from gscompile.schedules.cuda.launch import over


class Hostile:
    name = "hostile"
    mood = Choice("mood", ("fine", "wrong", "dead", "slow", "endless", "broken"), "fine")

    def apply(self, nest: Any, ctx: Context) -> Any:
        if not isinstance(nest, MapNest) or len(nest.shape) != 1:
            return None
        mood = ctx.choose(self.mood)
        if mood == "broken":
            raise ValueError("a mistake in a rule")
        extent = ctx.sizes(nest.shape[0])
        value = nest.element if mood != "wrong" else lambda c: nest.element(c) + 1
        body = T.for_(extent, lambda i: T.store(nest.out, [i], value([i])), "i")
        if mood == "dead":
            return T.seq(T.evaluate(T.call_extern("void", "abort")), body)
        if mood == "slow":
            return T.for_(T.const(300), lambda k: T.seq(T.evaluate(T.call_extern("int32", "rand")), body), "k")
        if mood == "endless":
            return T.for_(T.const(1 << 60), lambda k: T.seq(T.evaluate(T.call_extern("int32", "rand")), body), "k")
        return body


class Off:
    """For a GPU: a thread for each cell, whose number may be one too large."""

    name = "off"
    by = Choice("off", (0, 1), 0)

    def apply(self, nest: Any, ctx: Context) -> Any:
        if not isinstance(nest, MapNest):
            return None
        by = ctx.choose(self.by)
        return over(
            ctx, nest.shape, lambda c, _: T.store(nest.out, c, nest.element(c) + T.cast("float32", T.const(by)))
        )


class Deadly:
    """Ends the process that asks what it offers for a scatter."""

    name = "deadly"

    def apply(self, nest: Any, ctx: Context) -> Any:
        if isinstance(nest, ScatterNest):
            os._exit(1)
