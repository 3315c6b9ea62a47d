"""Changes of ONNX models, of their bytes and of their fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.onnx.models import onnx

NUMBERS = (
    0,
    1,
    -1,
    2,
    3,
    7,
    -9,
    64,
    255,
    1 << 20,
    (1 << 31) - 1,
    1 << 31,
    1 << 40,
    (1 << 60) + 1,
    (1 << 63) - 1,
    -(1 << 63),
)
TEXTS = ("", "x", "y", "a" * 5000, "\0", "../x", "/etc/passwd", "int", "é", '"\\\n', "axis", "x" * 70, "0")
FLOATS = (0.0, -0.0, 1.0, -1.5, float("nan"), float("inf"), float("-inf"), 3e38, 1e-45)


def mutate(model_bytes: bytes, rng: np.random.Generator) -> bytes:
    """The model with one to three changes: of bytes, or of fields of the messages in it."""
    data = model_bytes
    for _ in range(int(rng.integers(1, 4))):
        data = _bytes(data, rng) if rng.random() < 0.25 else _fields(data, rng)
    return data


def _bytes(data: bytes, rng: np.random.Generator) -> bytes:
    if not data:
        return bytes([int(rng.integers(256))])
    at = int(rng.integers(len(data)))
    kind = rng.integers(4)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + data[at + int(rng.integers(1, 9)) :]
    if kind == 2:
        return data[:at] + rng.bytes(int(rng.integers(1, 9))) + data[at:]
    return data[:at] + bytes([data[at] ^ (1 << int(rng.integers(8)))]) + data[at + 1 :]


def _fields(data: bytes, rng: np.random.Generator) -> bytes:
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except Exception:  # protobuf's implementations have no common class
        return _bytes(data, rng)
    messages = [model, *_messages(model)]
    if rng.random() < 0.3:
        nodes = [m for m in messages if isinstance(m, (onnx.NodeProto, onnx.AttributeProto))]
        messages = nodes or messages
    message = messages[int(rng.integers(len(messages)))]
    fields = list(message.DESCRIPTOR.fields)
    given = [f for f, _ in message.ListFields()]
    field = (
        (given if given and rng.random() < 0.8 else fields)[int(rng.integers(len(given or fields)))]
        if given
        else fields[0]
    )
    try:
        _change(message, field, rng)
        return bytes(model.SerializeToString())
    except Exception:  # a number that the field cannot hold, text that is no UTF-8
        return data


def _messages(message: Any) -> Iterator[Any]:
    """Every message inside one, of which there are as many as the model is long."""
    for field, x in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for inner in [x] if hasattr(x, "ListFields") else x:
                yield inner
                yield from _messages(inner)


def _change(message: Any, field: Any, rng: np.random.Generator) -> None:
    x = getattr(message, field.name)
    repeated = hasattr(x, "__len__") and not isinstance(x, (str, bytes))
    if rng.random() < 0.15:
        message.ClearField(field.name)
    elif field.type == field.TYPE_MESSAGE:
        if repeated:
            _change_list(x, rng)
        else:
            x.Clear() if rng.random() < 0.5 else x.SetInParent()
    elif repeated:
        values = list(x)
        if values and rng.random() < 0.6:
            values[int(rng.integers(len(values)))] = _scalar(field, rng)
        elif rng.random() < 0.5:
            values += [_scalar(field, rng)] * int(rng.integers(1, 9))
        else:
            rng.shuffle(values)
        del x[:]
        x.extend(values)
    else:
        setattr(message, field.name, _scalar(field, rng))


def _change_list(x: Any, rng: np.random.Generator) -> None:
    """Messages dropped, doubled or in another order, so that names are given twice and nodes form cycles."""
    if not x:
        x.add()
        return
    at, other = (int(rng.integers(len(x))) for _ in range(2))
    kind = rng.integers(4)
    if kind == 0:
        del x[at]
    elif kind == 1:
        x.add().CopyFrom(x[at])
    elif kind == 2:
        copy = type(x[at])()
        copy.CopyFrom(x[at])
        x[at].CopyFrom(x[other])
        x[other].CopyFrom(copy)
    else:
        x[at].CopyFrom(x[other])


def _scalar(field: Any, rng: np.random.Generator) -> Any:
    def one(values: tuple[Any, ...]) -> Any:
        return values[int(rng.integers(len(values)))]

    if field.type == field.TYPE_STRING:
        return one(TEXTS)
    if field.type == field.TYPE_BYTES:
        return one((b"", b"\xff\xfe", b"\0" * 24, b"none", b"x" * 5000))
    if field.type in (field.TYPE_FLOAT, field.TYPE_DOUBLE):
        return one(FLOATS)
    if field.type == field.TYPE_ENUM:
        return int(rng.integers(0, 30))
    x = one(NUMBERS) if rng.random() < 0.6 else int(rng.integers(-4, 20))
    return x if field.type == field.TYPE_INT64 else max(-(1 << 31), min(x, (1 << 31) - 1))
