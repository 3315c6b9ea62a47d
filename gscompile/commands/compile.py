"""``gscompile compile MODEL``: an ONNX model, compiled; what became of it, and its code."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from gscompile.errors import ArgumentError, GSError

HELP = "compile an ONNX model: prints its graph and what was made of it, and saves the code"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The model, the target, and what to fix of the model."""
    parser.add_argument("model", help="the model's file (.onnx; by its ending also .json, .textproto, .onnxtxt)")
    parser.add_argument(
        "--target", default="llvm", help='llvm (this CPU), cuda, or JSON: \'{"kind": "cuda", "arch": "sm_90"}\''
    )
    parser.add_argument("--out", metavar="DIR", help="save the code of every stage here")
    parser.add_argument("--name", help="the name of the graph and of its function; by default the model's")
    parser.add_argument(
        "--shape",
        metavar="INPUT=N,M,..",
        action="append",
        default=[],
        help="a shape that stands for the model's; each extent a number or a name",
    )


def run(options: argparse.Namespace) -> int:
    """Compile, print and save; 1 where the model cannot be compiled."""
    try:
        compile_model(options)
    except GSError as e:
        print(f"gscompile: compile: {options.model}: {e}", file=sys.stderr)
        return 1
    return 0


def compile_model(options: argparse.Namespace) -> None:
    from gscompile.onnx import import_model  # needs the extra [onnx]

    target, shapes = target_of(options.target), dict(shape_of(s) for s in options.shape)
    builder = import_model(options.model, name=options.name, shapes=shapes)
    module = builder.build(target)
    print(builder, "", module, module.stats, sep="\n")
    if options.out is not None:
        try:
            written = module.save_source(options.out)
        except OSError as e:
            raise ArgumentError(f"--out: cannot write to {e.filename}: {e.strerror}") from None
        print("", *(f"wrote {path}" for path in written), sep="\n")


def target_of(text: str) -> Any:
    """A target's name, or its attributes as JSON."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        return json.loads(text)
    except ValueError as e:
        raise ArgumentError(f"--target: this is no JSON: {text!r}: {e}") from None


def shape_of(text: str) -> tuple[str, tuple[int | str, ...]]:
    """An input's name and its shape."""
    name, equals, dims = text.rpartition("=")
    if not equals:
        raise ArgumentError(f"--shape: INPUT=N,M,.. is needed; got {text!r}")
    found = [d.strip() for d in dims.split(",") if d.strip()]
    return name, tuple(int(d) if d.lstrip("-").isdigit() else d for d in found)
