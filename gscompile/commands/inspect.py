"""``gscompile inspect LIBRARY``: what an exported library says of itself.  None of its code runs."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

HELP = "print what an exported library takes, gives and needs, without running any of its code"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The library, and how to print."""
    parser.add_argument("library", help="a file that Module.export or gscompile compile wrote: .so, .a or .o")
    parser.add_argument(
        "--weights", metavar="FILE", help="the file of its constants, where it is not beside the library"
    )
    parser.add_argument("--json", action="store_true", help="print the manifest as JSON")


def run(options: argparse.Namespace) -> int:
    """Print the manifest, and verify the file of constants where it is found.

    Raises:
        ArgumentError: the file is no library, was changed, or is of a newer format; the constants are not the library's.
    """
    from gscompile.runtime import manifest

    found = manifest.read(options.library)
    if options.json:
        print(json.dumps({**found.to_json(), "sha256": found.digest.hex()}, indent=1))
    else:
        print(found.text())
    if found.weights is not None:
        beside = Path(options.weights or Path(options.library).parent / found.weights.name)
        if options.weights or beside.exists():
            found.weights.verify(beside)
        if not options.json:
            print(f"\n{beside}: {'its hash is right' if beside.exists() else 'it is not there'}")
    return 0
