"""The processes that candidates are built and measured in, which may crash or hang, and the one that they are forked of.

That one has imported TVM, which takes seconds.  It is sent numbers on a socket: with two file descriptors, to begin a process by
that number; without, to kill it.  A process has one of the file descriptors to answer one request after the other, and how it
ended is written to the other one.  What a process builds is kept in a disk cache of the tuning's own, where others find it.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
import sys
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import NoReturn

from gscompile.runtime.threads import set_num_threads
from gscompile.tuning.remote import RemoteWorker
from gscompile.tuning.worker import Job, OnGpu, WithoutGpu, Worker

NUMBER = struct.Struct("<q")
"""Of a process, or how it ended: an exit status, or a signal's number below 0."""


def worker_of(job: Job) -> Worker:
    """What answers requests about a job."""
    if job.boards is not None:
        return RemoteWorker(job, job.boards)
    return (Worker if not job.on_gpu else OnGpu if job.measured else WithoutGpu)(job)


def serve(connection: Connection) -> None:
    """Answer requests until the other end is gone.  First come variables of the environment, folders of modules, and the job."""
    environment, folders = connection.recv()
    os.environ.update(environment)
    sys.path[:] = folders
    job: Job = connection.recv()
    if job.cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, job.cores)
    set_num_threads(job.threads)
    worker = worker_of(job)
    while True:
        connection.send(worker.answer(connection.recv()))


def main() -> None:
    """The process that others are forked of; its only argument is the number of the socket's file descriptor.

    It ends, and those with it, when the other end of the socket is gone.
    """
    sys.modules.pop("torch", None)  # whoever wants it may import it from now on
    asked = socket.socket(fileno=int(sys.argv[1]))
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running: dict[int, tuple[int, int]] = {}  # by number: the process, and where to say how it ended
    while True:
        select.select([asked.fileno(), woken], [], [])
        with suppress(BlockingIOError):
            os.read(woken, 1 << 12)
        for number, (pid, told) in list(running.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del running[number]
                with suppress(BrokenPipeError):
                    os.write(told, NUMBER.pack(os.waitstatus_to_exitcode(status)))
                os.close(told)
        if not select.select([asked], [], [], 0)[0]:
            continue
        data, given, _, _ = socket.recv_fds(asked, NUMBER.size, 2)
        if not data:
            break
        (number,) = NUMBER.unpack(data)
        if given:
            connection, told = given
            pid = os.fork()
            if pid == 0:
                _child(connection, [asked.fileno(), woken, wake, told, *(t for _, t in running.values())])
            os.close(connection)
            running[number] = pid, told
        elif number in running:
            os.kill(running[number][0], signal.SIGKILL)
    for pid, _ in running.values():
        os.kill(pid, signal.SIGKILL)


def _child(connection: int, others: list[int]) -> NoReturn:
    """A process; what it does not need is closed."""
    status = 0
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for fd in others:
            os.close(fd)
        serve(Connection(connection))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # whoever asked has gone
    except BaseException:
        traceback.print_exc()
        status = 1
    os._exit(status)
