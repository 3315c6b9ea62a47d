"""``gscompile bench``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gscompile.errors import ArgumentError, MissingExtraError

HELP = "time gathers and scatters against other libraries, in one run"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("workloads", nargs="*", help="names, or parts of names; all by default")
    parser.add_argument("--peers", default="numpy,torch,jax,ort", help="comma-separated; 'none' for none (%(default)s)")
    parser.add_argument(
        "--rounds", type=int, default=15, help="interleaved rounds, of which medians are taken (%(default)s)"
    )
    parser.add_argument("--threads", type=int, help="of every contender; one per core by default")
    parser.add_argument("--json", type=Path, metavar="FILE", help="save the numbers and the machine's description")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw bars, as .svg or .png; needs the extra [plot]")


def run(options: argparse.Namespace) -> int:
    from gscompile.bench.measure import measure
    from gscompile.bench.peers import PEERS
    from gscompile.bench.report import as_json, plot, table
    from gscompile.bench.workloads import WORKLOADS

    if options.rounds < 1 or (options.threads is not None and options.threads < 1):
        raise ArgumentError("bench: --rounds and --threads are positive")
    peers = [] if options.peers == "none" else options.peers.split(",")
    for p in peers:
        if p not in PEERS:
            raise ArgumentError(f"bench: unknown peer {p!r}; known: {', '.join(PEERS)}")
    chosen = [
        w for w in WORKLOADS.values() if not options.workloads or any(part in w.name for part in options.workloads)
    ]
    if not chosen:
        raise ArgumentError(f"bench: no workload is called so; known: {', '.join(WORKLOADS)}")
    rows = []
    for w in chosen:
        try:
            row = measure(w, peers, rounds=options.rounds, threads=options.threads)
        except MissingExtraError as e:
            raise MissingExtraError(f"{e}, or leave it out of --peers") from e
        rows.append(row)
        print(f"{len(rows)}/{len(chosen)} {w.name}", file=sys.stderr, flush=True)
    print(table(rows))
    names = " ".join(options.workloads)
    command = f"gscompile bench {names} --peers {options.peers} --rounds {options.rounds}".replace("  ", " ")
    if options.json:
        options.json.write_text(as_json(rows, command))
    if options.plot:
        plot(rows, options.plot)
    return 1 if any("gscompile" in r.wrong for r in rows) else 0
