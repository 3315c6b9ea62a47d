"""The processes that candidates are built and measured in, which may crash or hang.

One answers one request after the other, on a connection whose file descriptor it is given.  What it builds is kept in a disk
cache of the tuning's own, where another process finds it.
"""

from __future__ import annotations

import os
import sys
from multiprocessing.connection import Connection

from gscompile.runtime.threads import set_num_threads
from gscompile.tuning.remote import RemoteWorker
from gscompile.tuning.worker import Job, OnGpu, WithoutGpu, Worker


def worker_of(job: Job) -> Worker:
    """What answers requests about a job."""
    if job.boards is not None:
        return RemoteWorker(job, job.boards)
    return (Worker if not job.on_gpu else OnGpu if job.measured else WithoutGpu)(job)


def serve(connection: Connection) -> None:
    """Answer requests until the other end is gone."""
    job: Job = connection.recv()
    if job.cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, job.cores)
    set_num_threads(job.threads)
    worker = worker_of(job)
    while True:
        connection.send(worker.answer(connection.recv()))


def main() -> None:
    """The process, whose only argument is the number of the file descriptor."""
    try:
        serve(Connection(int(sys.argv[1])))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        os._exit(0)  # whoever asked has gone
