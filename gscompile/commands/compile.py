"""``gscompile compile MODEL``: an ONNX model or a graph of a script, compiled; what became of it, its code, and a library."""

from __future__ import annotations

import argparse
import inspect
import json
import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from gscompile.errors import ArgumentError, GSError

Shape: TypeAlias = tuple[int | str, ...]

HELP = "compile an ONNX model, or graphs of a script: prints them and what was made of them, saves the code, writes a library"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The model, the target, and what to fix of the model."""
    parser.add_argument(
        "model",
        help="the model's file (.onnx; by its ending also .json, .textproto, .onnxtxt), or SCRIPT.py:FUNCTION, which returns a "
        "Builder or several, or fills the one that it is given",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write a library for C, C++ and gs.load, and its header beside it: .so (shared), .a (static) or .o (an object "
        "file); with --replace a model",
    )
    parser.add_argument(
        "--replace",
        metavar="KIND,..",
        help="gather, scatter, or both: of an ONNX model, write to FILE.onnx one for ONNX Runtime in which these, and the "
        "arithmetic between them, are custom operators, and beside it the library with them",
    )
    parser.add_argument(
        "--cpu",
        metavar="NAME,..",
        default="",
        help="of the library: CPUs, of which the best that the machine has is chosen when it is used: v2,v3,v4",
    )
    parser.add_argument(
        "--arch",
        metavar="NAME,..",
        default="",
        help="of the library, for cuda: GPU architectures that it has machine code for: sm_80,sm_90",
    )
    parser.add_argument("--prefix", default="", help="of the library: of all its names in C")
    parser.add_argument(
        "--weights", metavar="FILE", help="of the library: write its constants to this file, which it maps"
    )
    parser.add_argument("--cc", help="of the library: the C compiler's command")
    parser.add_argument(
        "--freestanding",
        action="store_true",
        help="of the library: for firmware: no threads, no storage but what the caller gives, nothing of a libc",
    )
    parser.add_argument(
        "--target", default="llvm", help='llvm (this CPU), cuda, or JSON: \'{"kind": "cuda", "arch": "sm_90"}\''
    )
    parser.add_argument("--out", metavar="DIR", help="save the code of every stage here")
    parser.add_argument(
        "--quiet", action="store_true", help="no progress, which goes to stderr where that is a terminal"
    )
    parser.add_argument("--name", help="the name of the graph and of its function; by default the model's")
    parser.add_argument(
        "--shape",
        metavar="INPUT=N,M,..",
        action="append",
        default=[],
        help="a shape that stands for the model's; each extent a number or a name",
    )
    parser.add_argument("--database", metavar="FILE", help="what gscompile tune wrote: use its best choices")
    parser.add_argument(
        "--indices",
        metavar="[INPUT=]HOW",
        action="append",
        default=[],
        help="of the database: the distribution of indices",
    )
    parser.add_argument(
        "--machine", metavar="NAME", help="of the database: part of the name of the machine whose records count"
    )


def run(options: argparse.Namespace) -> int:
    """Compile, print and save; 1 where the model cannot be compiled.

    Raises:
        GSError: an option makes no sense, whatever the model.
    """
    from gscompile.compiler.targets import resolve
    from gscompile.frontend.builder import Builder

    target, shapes = resolve(target_of(options.target)), dict(shape_of(s) for s in options.shape)
    if options.name is not None:
        Builder(options.name)  # which says what a name may be
    if options.out is not None:
        make_folder(options.out)
    work = compile_model if options.replace is None else replace_operators
    try:
        work(options, target, shapes)
    except GSError as e:
        progress(options)("")
        print(f"gscompile: compile: {options.model}: {e}", file=sys.stderr)
        return 1
    return 0


def compile_model(options: argparse.Namespace, target: Any, shapes: dict[str, Shape]) -> None:
    tell = progress(options)
    tell("reading the model")
    everywhere, by_input = indices_of(options.indices)
    if len(everywhere) + bool(by_input) > 1:
        raise ArgumentError("--indices: one distribution for all inputs, or one for each by name")
    indices = everywhere[0] if everywhere else by_input or None
    modules = []
    for builder in builders(options, shapes):
        tell(f"compiling {len(builder.graph().values):,} values for {target}")
        module = builder.build(target, database=options.database, indices=indices, machine=options.machine)
        modules.append(module)
        tell("")
        print(builder, "", module, module.stats, sep="\n")
        if options.out is not None:
            try:
                written = module.save_source(options.out)
            except OSError as e:
                raise ArgumentError(f"--out: cannot write to {e.filename}: {e.strerror}") from None
            print("", *(f"wrote {path}" for path in written), sep="\n")
    if options.output is not None:
        from gscompile.build import export

        tell("linking")
        cpus, archs = ([name for name in given.split(",") if name] for given in (options.cpu, options.arch))
        written = export(
            modules,
            options.output,
            cpu=cpus,
            prefix=options.prefix,
            cc=options.cc,
            freestanding=options.freestanding,
            arch=archs,
            weights=options.weights,
        )
        tell("")
        print("", *(f"wrote {path}" for path in written), sep="\n")


def replace_operators(options: argparse.Namespace, target: Any, shapes: dict[str, Shape]) -> None:
    """Write a model with custom operators, and print what became of which nodes."""
    from gscompile.onnx import replace  # needs the extra [onnx]

    if options.output is None:
        raise ArgumentError("--replace needs -o: where to write the model")
    if shapes or not {options.name, options.out, options.database} <= {None}:
        raise ArgumentError("--replace takes no --shape, --name, --out or --database")
    kinds, cpus = ([x for x in text.split(",") if x] for text in (options.replace, options.cpu))
    tell = progress(options)
    parts, written = replace(
        options.model, options.output, kinds, target=target, cpu=cpus, prefix=options.prefix, cc=options.cc, tell=tell
    )
    tell("")
    print(*parts, "", *(f"wrote {path}" for path in written), sep="\n")


def builders(options: argparse.Namespace, shapes: dict[str, Shape]) -> list[Any]:
    """The graphs of a model or a script."""
    script, colon, function = options.model.rpartition(":")
    if options.model.endswith(".py"):
        raise ArgumentError("a script's function makes the graph: SCRIPT.py:FUNCTION is needed")
    if not colon or not script.endswith(".py"):
        from gscompile.onnx import import_model  # needs the extra [onnx]

        return [import_model(options.model, name=options.name, shapes=shapes)]
    if shapes:
        raise ArgumentError("--shape is for ONNX models; a script says its own shapes")
    return _of_script(Path(script), function, options.name)


def _of_script(path: Path, function: str, name: str | None) -> list[Any]:
    from gscompile.frontend.builder import Builder

    if not path.is_file():
        raise ArgumentError("there is no such script")
    make = runpy.run_path(str(path)).get(function)
    if not callable(make):
        raise ArgumentError(f"{path.name} has no function {function!r}")
    given = [Builder(name or function)] if len(inspect.signature(make).parameters) == 1 else []
    found = make(*given)
    if given and not isinstance(found, Builder):
        if found is not None:
            given[0].output(*(found if isinstance(found, (tuple, list)) else (found,)))
        return given
    several = list(found) if isinstance(found, (tuple, list)) else [found]
    if not several or not all(isinstance(b, Builder) for b in several):
        raise ArgumentError(f"{function} must return a Builder, or several; got {type(found).__name__}")
    return several


def progress(options: argparse.Namespace) -> Callable[[str], None]:
    """What says on a terminal's last line what goes on now; an empty text clears it."""
    if options.quiet or not sys.stderr.isatty():
        return lambda text: None
    return lambda text: print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def make_folder(path: str) -> None:
    """Make the folder for the code before there is any.

    Raises:
        ArgumentError: it cannot be made.
    """
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as e:  # ValueError: a path with a NUL
        reason = e.strerror if isinstance(e, OSError) else e
        raise ArgumentError(f"compile: --out: cannot write to {shortened(path)}: {reason}") from None


def target_of(text: str) -> Any:
    """A target's name, or its attributes as JSON."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as e:
        raise ArgumentError(f"compile: --target: this is no JSON: {shortened(text)}: {e}") from None


def shape_of(text: str) -> tuple[str, Shape]:
    """An input's name and its shape."""
    name, equals, dims = text.rpartition("=")
    found = [d.strip() for d in dims.split(",") if d.strip()]
    extents = [d for d in found if re.fullmatch("[0-9]+", d)]
    names = [d for d in found if re.fullmatch(r"[A-Za-z_]\w*", d)]
    if not equals or len(extents) + len(names) < len(found) or any(len(d) > 18 for d in extents):
        raise ArgumentError(
            f"compile: --shape: INPUT=N,M,.. is needed, each a number below 10**18 or a name; got {shortened(text)}"
        )
    return name, tuple(d if d in names else int(d) for d in found)


def indices_of(given: list[str]) -> tuple[list[str], dict[str, str]]:
    """Distributions for all inputs, and those of one."""
    everywhere, by_input = [], {}
    for text in given:
        name, equals, spec = text.partition("=")
        if equals and re.fullmatch(r"[A-Za-z_]\w*", name):
            by_input[name] = spec
        else:
            everywhere.append(text)
    return everywhere, by_input


def shortened(text: str) -> str:
    """As Python writes it, but not all of what is long."""
    return repr(text if len(text) <= 200 else f"{text[:200]}..")
