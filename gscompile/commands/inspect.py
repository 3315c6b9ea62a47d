"""``gscompile inspect LIBRARY``: what an exported library says of itself.  None of its code runs."""

from __future__ import annotations

import argparse
import json

HELP = "print what an exported library takes, gives and needs, without running any of its code"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The library, and how to print."""
    parser.add_argument("library", help="a file that Module.export or gscompile compile wrote: .so, .a or .o")
    parser.add_argument("--json", action="store_true", help="print the manifest as JSON")


def run(options: argparse.Namespace) -> int:
    """Print the manifest.

    Raises:
        ArgumentError: the file is no library, was changed, or is of a newer format.
    """
    from gscompile.runtime import manifest

    found = manifest.read(options.library)
    print(json.dumps(found.to_json(), indent=1) if options.json else found.text())
    return 0
