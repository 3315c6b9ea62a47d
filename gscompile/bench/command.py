"""``gscompile bench``."""

from __future__ import annotations

import argparse
import importlib.util
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gscompile.errors import ArgumentError, installation, missing_extra
from gscompile.runtime.threads import available_cores

if TYPE_CHECKING:
    from gscompile.bench.peers.base import Peer
    from gscompile.bench.workload import Workload

HELP = "time gathers and scatters against other libraries, in one run"
MEASUREMENTS = ("peers", "costs", "dtypes", "sizes", "threads", "calls")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("workloads", nargs="*", help="names, or parts of names; the table's eighteen rows by default")
    parser.add_argument("--all", action="store_true", help="more workloads: other dtypes, ranks and distributions")
    parser.add_argument(
        "--measure",
        default="peers",
        choices=MEASUREMENTS,
        help="peers: against other libraries and a plain copy; costs: of checked indices and symbolic sizes; dtypes: against "
        "float32; sizes: from 10 points up; threads: one against more; calls: tiny calls, and builds (%(default)s)",
    )
    parser.add_argument("--peers", help="comma-separated, or 'none'; by default all that are installed")
    parser.add_argument(
        "--process",
        choices=("torch", "jax", "ort"),
        help="that library computes in every contender's process, right before each call that is timed; its own functions are "
        "the peers, unless --peers says otherwise",
    )
    parser.add_argument(
        "--arrays", default="numpy", choices=("numpy", "torch", "jax"), help="what gscompile is given (%(default)s)"
    )
    parser.add_argument(
        "--clients",
        type=int,
        default=1,
        metavar="N",
        help="threads of every contender's process that call at once; a time is that of one call by each (%(default)s)",
    )
    parser.add_argument(
        "--sample", type=int, metavar="N", help="instead of workloads with names, so many drawn from real use"
    )
    parser.add_argument("--seed", type=int, default=0, help="of --sample (%(default)s)")
    parser.add_argument("--rows", type=Path, metavar="FILE", help="those that --sample drew for a file of --json")
    parser.add_argument("--rounds", type=int, default=15, help="interleaved; medians are taken of them (%(default)s)")
    parser.add_argument("--threads", type=int, help="of every contender; one per core by default")
    parser.add_argument("--max-points", type=float, default=1e8, help="where --measure sizes ends (%(default).0e)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="save the numbers and the machine's description")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw, as .svg or .png; needs the extra [plot]")
    parser.add_argument("--show", type=Path, metavar="FILE", help="measure nothing: print what --json saved")
    parser.add_argument("--most", type=int, help=argparse.SUPPRESS)  # cuts the workloads' axes, for tests


def run(options: argparse.Namespace) -> int:
    from gscompile.bench import calls, compare, costs, dtypes, plots, report, scaling, sizes
    from gscompile.bench.machine import machine
    from gscompile.bench.measurement import Measurement, Request
    from gscompile.bench.workloads import choose

    found: Sequence[Measurement] = (compare, costs, dtypes, sizes, scaling, calls)
    measurements = dict(zip(MEASUREMENTS, found, strict=True))
    drawings = {"peers": compare.plot, "sizes": sizes.plot}
    document = report.load(options.show) if options.show else None
    if options.plot:  # before an hour of measuring
        plots.pyplot()
        if (document["measure"] if document else options.measure) not in drawings:
            raise ArgumentError(f"bench: --plot draws only --measure {' and '.join(drawings)}")
        if options.plot.suffix not in (".svg", ".png"):
            raise ArgumentError(f"bench: --plot: a name that ends in .svg or .png is needed; got {str(options.plot)!r}")
    for option, path in (("--json", options.json), ("--plot", options.plot)):
        if path is not None:
            require_writable(option, path)
    if document is None:
        cores = available_cores()
        threads = cores if options.threads is None else options.threads
        if options.rounds < 1 or not 1 <= threads <= cores:
            raise ArgumentError(
                f"bench: --rounds is positive, and --threads at most the cores that may be used here, {cores}"
            )
        if not 1 <= options.max_points <= 1e12 or (options.most is not None and options.most < 1):
            raise ArgumentError("bench: --max-points is from 1 to 1e12, and --most positive")
        if options.clients < 1 or (options.clients > 1 and (options.measure != "peers" or options.process)):
            raise ArgumentError("bench: --clients is positive, and goes with --measure peers and without --process")
        workloads = _drawn(options) or choose(options.workloads, options.all)
        own = _of_process(options)
        peers = _peers(options.peers or own) if options.measure == "peers" else []
        request = Request(
            workloads,
            peers,
            options.rounds,
            threads,
            options.most,
            int(options.max_points),
            options.process,
            options.arrays,
            options.clients,
        )
        document = {
            "measure": options.measure,
            "command": " ".join(["gscompile bench", *map(shlex.quote, _given(options))]),
            "threads": threads,
            "rounds": options.rounds,
            "machine": machine(),
            "rows": measurements[options.measure].measure(request),
        }
    rows = document["rows"]
    if options.json:
        report.save(document, options.json)
    drawn = any("drawn" in row for row in rows)
    table = compare.sample_table if drawn else measurements[document["measure"]].table
    print(f"{report.header(document)}\n\n{table(rows)}")
    if options.plot:
        drawings[document["measure"]](rows, options.plot)
    return 1 if any("gscompile" in r.get(part, {}) for r in rows for part in ("wrong", "failed")) else 0


def require_writable(option: str, path: Path) -> None:
    """Make sure that a file can be written before an hour of measuring; it stays as it is.

    Raises:
        ArgumentError: it cannot.
    """
    try:
        there = path.exists()
        with path.open("ab"):
            pass
        if not there:
            path.unlink()
    except (OSError, ValueError) as e:  # ValueError: a path with a NUL
        reason = e.strerror if isinstance(e, OSError) else e
        raise ArgumentError(f"bench: {option}: cannot write to {str(path)!r}: {reason}") from None


def _drawn(options: argparse.Namespace) -> list[Workload]:
    """The workloads of ``--sample`` or ``--rows``, none without them.

    Raises:
        ArgumentError: they go with nothing that names workloads, and with ``--measure peers`` only.
    """
    from gscompile.bench import sample

    if options.sample is None and options.rows is None:
        return []
    if options.workloads or options.all or options.measure != "peers" or (options.sample is not None and options.rows):
        raise ArgumentError("bench: --sample and --rows stand for the workloads, of --measure peers; give one of them")
    if options.rows:
        return sample.saved(options.rows)
    if not 1 <= options.sample <= 10**6 or not 0 <= options.seed < 2**63:
        raise ArgumentError("bench: --sample is positive, and --seed is not negative")
    return [sample.workload(d) for d in sample.draw(options.sample, options.seed)]


def _of_process(options: argparse.Namespace) -> str | None:
    """The peers of the library that computes in the same process.

    Raises:
        ArgumentError: nothing is measured there.  MissingExtraError: it, or whose arrays are wanted, is not installed.
    """
    from gscompile.bench.neighbours import NEIGHBOURS
    from gscompile.bench.peers import PEERS, missing

    process, arrays = options.process, options.arrays
    if (process or arrays != "numpy") and options.measure != "peers":
        raise ArgumentError("bench: --process and --arrays are for --measure peers")
    for name, package in ((process, process and NEIGHBOURS[process][0]), (arrays, arrays)):
        if package and importlib.util.find_spec(package) is None:
            raise missing_extra(package, "bench", f"measuring with {name}")
    if process is None:
        return None
    package = NEIGHBOURS[process][0]
    return ",".join(name for name, peer in PEERS.items() if package in peer.packages and not missing(peer))


def _peers(names: str | None) -> list[Peer]:
    """The peers of a list of names, or all that are installed.

    Raises:
        ArgumentError: there is no such peer.  MissingExtraError: one that is named is not installed.
    """
    from gscompile.bench.peers import PEERS, missing

    if names == "none":
        return []
    for name in names.split(",") if names else PEERS:
        if name not in PEERS:
            raise ArgumentError(f"bench: unknown peer {name!r}; known: {', '.join(PEERS)}")
    if names:
        for name in names.split(","):
            for package in missing(PEERS[name]):
                raise missing_extra(package, "bench", f"comparing with {name}")
        return [PEERS[name] for name in names.split(",")]
    absent = [name for name, peer in PEERS.items() if missing(peer)]
    if absent:
        print(f"not installed, and left out: {', '.join(absent)} ({installation('bench')})", file=sys.stderr)
    return [peer for name, peer in PEERS.items() if name not in absent]


def _given(options: argparse.Namespace) -> list[str]:
    """The command line's arguments that change what is measured."""
    words = [*options.workloads, *(["--all"] if options.all else [])]
    named = {
        "sample": None,
        "seed": 0,
        "rows": None,
        "measure": "peers",
        "process": None,
        "arrays": "numpy",
        "clients": 1,
        "peers": None,
        "rounds": 15,
        "threads": None,
        "max_points": 1e8,
        "most": None,
    }
    for name, default in named.items():
        value = getattr(options, name)
        if value != default:
            words += [f"--{name.replace('_', '-')}", f"{value:g}" if isinstance(value, float) else str(value)]
    return words
