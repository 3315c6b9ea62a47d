"""Records the calls of one framework: ``python -m tests.dialects.recorded tensorflow``."""

import sys

from tests.dialects.recorded import record

record(sys.argv[1])
