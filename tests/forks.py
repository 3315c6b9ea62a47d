"""Processes of their own that begin within milliseconds: they are forked of one that has imported what takes seconds."""

from __future__ import annotations

import multiprocessing

FORKS = multiprocessing.get_context("forkserver")
"""What they know of the environment and of patched modules is what was so when the first of them began."""

# one list for all of a process's tests: it has a single server
FORKS.set_forkserver_preload(["gscompile.bench.contender", "tests.run.test_guard_pages"])
