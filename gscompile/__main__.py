"""``python -m gscompile``: the command line without an installed script."""

import sys

from gscompile.cli import main

if __name__ == "__main__":
    sys.exit(main())
