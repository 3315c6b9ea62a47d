"""``python -m gscompile``: the command line without an installed script."""

import sys

from gscompile.commands.main import main

if __name__ == "__main__":
    sys.exit(main())
