"""``gscompile demo``: what gscompile does, in twenty seconds."""

from __future__ import annotations

import argparse
import sys

HELP = "small examples that are computed, timed and checked here and now"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The demo has no options."""


def run(options: argparse.Namespace) -> int:
    """All parts, in order; 1 if anything differs."""
    from gscompile.commands.demo_parts import PARTS

    failed = []
    for number, (title, part) in enumerate(PARTS, 1):
        print(f"{number}. {title}\n")
        if not part():
            failed.append(f"{number} ({title})")
        print(flush=True)
    if failed:
        print(
            f"gscompile: demo: wrong in part {', '.join(failed)}; see the lines that begin with WRONG", file=sys.stderr
        )
        return 1
    print("Everything is as expected.")
    return 0
