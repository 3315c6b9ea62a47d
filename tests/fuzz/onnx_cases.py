"""Models with something changed in them: imported, and some of them built and called."""

from __future__ import annotations

import contextlib
import functools

import numpy as np

import gscompile as gs
from tests.fuzz.builder_cases import call
from tests.fuzz.draw import Draw
from tests.fuzz.onnx_models import mutate
from tests.onnx.models import corpus, onnx


@functools.cache
def models() -> list[bytes]:
    return [m.SerializeToString() for m in corpus()]


def run(draw: Draw) -> None:
    rng = np.random.default_rng(draw.rng.getrandbits(63))
    k = draw.rng.randrange(len(models()))
    data = mutate(models()[k], rng)
    with contextlib.suppress(Exception):  # a model that protobuf reads is shown as text
        draw.log(str(onnx.load_model_from_string(data))[:2000])
    with contextlib.suppress(gs.GSError):
        b = gs.onnx.import_model(data)
        b.graph()
        if draw.chance(0.1):
            call(draw, b.build())
