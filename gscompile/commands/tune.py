"""``gscompile tune MODEL``: the choices with which an ONNX model, or graphs of a script, run fastest, here or on boards."""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any

from gscompile.commands.compile import builders, indices_of, shape_of, shortened, target_of
from gscompile.errors import ArgumentError, GSError

HELP = (
    "find the schedules with which a model's gathers and scatters run fastest here, for indices like those it will get"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The model, the indices, and how long."""
    parser.add_argument(
        "model", nargs="?", help="an ONNX model, or SCRIPT.py:FUNCTION, which returns a Builder or several"
    )
    parser.add_argument(
        "--indices",
        metavar="[INPUT=]HOW",
        action="append",
        default=[],
        help="uniform, zipf:1.1, sorted, permutation, blocked:64, constant, runs:32; of an input also FILE.npy, FILE.npz:NAME or "
        "FILE.parquet:COLUMN; several without an input are tuned for one after the other",
    )
    parser.add_argument("--size", metavar="NAME=N", action="append", default=[], help="a number for a symbolic size")
    parser.add_argument(
        "--shape", metavar="INPUT=N,M,..", action="append", default=[], help="a shape that stands for the model's"
    )
    parser.add_argument("--name", help="the name of the graph; by default the model's")
    parser.add_argument("--target", default="llvm", help="llvm (this CPU), or attributes as JSON, also of boards")
    parser.add_argument("--trials", type=int, default=64, help="of each graph and distribution (%(default)s)")
    parser.add_argument("--time", type=float, metavar="SECONDS", help="that all of it may take, about")
    parser.add_argument(
        "--database", metavar="FILE", default="tuned.jsonl", help="where trials and winners are kept (%(default)s)"
    )
    parser.add_argument(
        "--merge", metavar="FILE", action="append", default=[], help="first add what another database has"
    )
    parser.add_argument("--search", default="optuna", help="optuna, random or exhaustive (%(default)s)")
    parser.add_argument(
        "--suite", type=int, metavar="N", help="instead of a model: so many workloads of gscompile bench's sample"
    )
    parser.add_argument(
        "--tracker", metavar="HOST:PORT", help="measure on boards, which this tracker of TVM's RPC knows"
    )
    parser.add_argument("--key", help="what the tracker calls them")
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        nargs="?",
        const="",
        help="tune on the machines of a Ray cluster, a graph on each at a time: HOST:PORT or auto; by default RAY_ADDRESS, or "
        "this machine alone",
    )
    parser.add_argument("--seed", type=int, default=0, help="of arrays, of the search, of --suite (%(default)s)")
    parser.add_argument("--report", metavar="FILE", help="write a page of HTML")
    parser.add_argument("--quiet", action="store_true", help="no progress")


def run(options: argparse.Namespace) -> int:
    """Tune, print and save.

    Raises:
        GSError: an option makes no sense.
    """
    from gscompile.compiler.tuned import Database, skipped

    require_sense(options)
    if options.merge:
        database = Database(options.database)
        print(f"{options.database}: {database.merge(*options.merge)} records added")
        if database.problems:
            print(skipped(database.problems), file=sys.stderr)
    if options.model is None and options.suite is None:
        if options.merge:
            return 0
        raise ArgumentError("tune: a model is needed, or --suite")
    from gscompile.tuning.report import require_folder, write_report
    from gscompile.tuning.suite import Entry, sampled, tune_all

    if options.report is not None:
        require_folder(options.report)
    sizes, everywhere, by_input = sizes_of(options.size), *indices_of(options.indices)
    if options.suite is not None:
        entries = sampled(options.suite, options.seed)
    else:
        try:
            found = builders(options, dict(shape_of(s) for s in options.shape))
        except GSError as e:
            print(f"gscompile: tune: {options.model}: {e}", file=sys.stderr)
            return 1
        entries = [Entry(b, each, sizes) for b in found for each in indices_for(everywhere, by_input)]
    results = []
    for result in tune_all(
        entries,
        target_of(options.target),
        trials=options.trials,
        time=options.time,
        database=options.database,
        search=options.search,
        progress=not options.quiet,
        seed=options.seed,
        tracker=options.tracker,
        key=options.key,
        ray=options.ray,
    ):
        print(result, flush=True)
        results.append(result)
    if options.report is not None:
        print(f"wrote {write_report(results, options.report)}")
    if any(r.interrupted for r in results):
        print(f"interrupted; the same command goes on from {options.database}", file=sys.stderr)
        return 130
    return 0


def require_sense(options: argparse.Namespace) -> None:
    """Refuse what would be ignored.

    Raises:
        ArgumentError: --suite with what is a model's, or with no number of graphs; a time that is none.
    """
    if options.time is not None and not options.time >= 0:
        raise ArgumentError(f"tune: --time: seconds, not negative, are needed; got {options.time}")
    if options.suite is None:
        return
    if options.suite < 1:
        raise ArgumentError(f"tune: --suite: a number of graphs is needed; got {options.suite}")
    own = {"a model": options.model, "--indices": options.indices, "--size": options.size, "--shape": options.shape}
    if unused := [name for name, given in {**own, "--name": options.name}.items() if given]:
        raise ArgumentError(
            f"tune: --suite draws graphs, their sizes and indices: {unused[0]} cannot be given with it; "
            "several graphs of a script, SCRIPT.py:FUNCTION, share --time as well"
        )


def indices_for(everywhere: list[str], by_input: dict[str, str]) -> list[Any]:
    """What to tune for, one after the other."""
    if by_input and everywhere:
        raise ArgumentError("tune: --indices: for all inputs, or for some by name")
    return [by_input] if by_input else list(everywhere) or [None]


def sizes_of(given: list[str]) -> dict[str, int]:
    """Sizes by name."""
    found = {}
    for text in given:
        name, _, number = text.partition("=")
        if not re.fullmatch("[0-9]{1,18}", number):
            raise ArgumentError(f"tune: --size: NAME=N is needed; got {shortened(text)}")
        found[name] = int(number)
    return found
