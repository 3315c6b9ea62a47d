"""Tuning many graphs on the machines of a Ray cluster: each machine tunes one after the other, and times on itself."""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeAlias

from gscompile.compiler.disk_cache import structure
from gscompile.compiler.tuned import Database, Record
from gscompile.errors import DeviceError, GSError, missing_extra
from gscompile.tuning.indices import specs_of
from gscompile.tuning.processes import forks
from gscompile.tuning.result import Tuned
from gscompile.tuning.tune import new_cache, tune

Ask: TypeAlias = Callable[[], Mapping[str, Any]]
"""Arguments of :func:`gscompile.tune`, of which ``source`` is a builder; called when it can begin."""
ANSWER_S = 10.0
"""For an answer of the cluster."""
LOSSES = 2
"""After so many processes that were lost with a graph it is given up."""


class Tuner:
    """A process on a machine of the cluster, which has all of its cores."""

    def __init__(self) -> None:
        self._forks = ExitStack()  # for as long as it lives
        self._forks.enter_context(forks())

    def tune(self, asked: Mapping[str, Any], known: Sequence[Record]) -> Iterator[list[Record] | Tuned]:
        """Tune a graph; give records as soon as there are some, and then the result.

        Args:
            known: records of earlier runs.
        """
        database, ended = Database(Path(new_cache()) / "records"), SimpleQueue[bool]()
        given = {**asked, "database": database.path, "progress": lambda _: ended.put(False)}
        try:
            for record in known:
                database.append(record)
            told, end = len(known), False
            with ThreadPoolExecutor(1) as pool:
                running = pool.submit(tune, **given)
                running.add_done_callback(lambda _: ended.put(True))
                while not end:
                    end = ended.get()
                    records = database.records()
                    yield records[told:]
                    told = len(records)
            yield running.result()
        finally:
            shutil.rmtree(database.path.parent, ignore_errors=True)


class Cluster:
    """The machines of a Ray cluster, which is left as it is found; one that is begun here is ended.

    Args:
        address: ``HOST:PORT`` or ``auto``; if empty, what ``RAY_ADDRESS`` says, or one of this machine alone.

    Raises:
        MissingExtraError: Ray is not installed.  DeviceError: there is no such cluster.
    """

    def __init__(self, address: str) -> None:
        try:
            import ray
        except ImportError as e:
            raise missing_extra("ray", "ray", "tuning on a cluster") from e
        self._ray: Any = ray
        self._begun = not ray.is_initialized()
        if self._begun:
            place = address or os.environ.get("RAY_ADDRESS", "")
            try:
                if match := re.fullmatch(r"([^/]+):(\d+)", place):  # Ray itself would try it for minutes
                    socket.create_connection((match[1], int(match[2])), ANSWER_S).close()
                ray.init(address or None, log_to_driver=False, logging_level="ERROR")
            except (OSError, RuntimeError, ValueError) as e:
                raise DeviceError(f"tune: there is no Ray cluster at {place!r}: {e}") from None
        self._tuners = {node: self._started(node, cores) for node, cores in self._nodes().items()}
        self.machines = len(self._tuners)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *error: Any) -> None:
        for tuner in self._tuners.values():
            self._ray.kill(tuner)
        if self._begun:
            self._ray.shutdown()

    def run(self, asks: Sequence[Ask], records: Database | None) -> Iterator[tuple[int, Tuned]]:
        """The results as they come, with the numbers of what was asked; records are added to a database at once.

        A graph whose process is lost is begun again, with the trials that are finished.

        Raises:
            GSError: of those that could not be tuned, when the others are.
        """
        waiting, free = deque(range(len(asks))), deque(self._tuners)
        given: dict[int, Mapping[str, Any]] = {}
        known: dict[int, list[Record]] = {}
        lost, failed = Counter[int](), list[GSError]()
        running: dict[Any, tuple[int, str]] = {}
        while waiting or running:
            while waiting and free:
                k, node = waiting.popleft(), free.popleft()
                if k not in given:
                    given[k] = self._sent(asks[k]())
                    own = structure(given[k]["source"])
                    known[k] = [r for r in records.records() if r.key.graph == own] if records is not None else []
                stream = self._tuners[node].tune.options(num_returns="streaming").remote(given[k], known[k])
                running[stream] = k, node
            if not running:
                raise DeviceError("tune: no machine of the Ray cluster is left")
            (stream, *_), _ = self._ray.wait(list(running))
            k, node = running[stream]
            try:
                found = self._ray.get(next(stream))
            except self._ray.exceptions.RayTaskError as e:
                if not isinstance(e.cause, GSError):
                    raise
                failed.append(e.cause)
            except self._ray.exceptions.RayError as e:
                lost[k] += 1
                if lost[k] < LOSSES:
                    waiting.append(k)
                else:
                    name = given[k]["source"].name
                    failed.append(
                        DeviceError(
                            f"tune: {name}: {LOSSES} processes of the cluster were lost with it: {str(e)[:500]}"
                        )
                    )
                self._begin_again(node)
            else:
                if isinstance(found, list):
                    known[k] += found
                    if records is not None:
                        for record in found:
                            records.append(record)
                    continue
                yield k, found
            del running[stream]
            if node in self._tuners:
                free.append(node)
        if failed:
            raise type(failed[0])("\n".join(map(str, failed))) from failed[0]

    @staticmethod
    def _sent(asked: Mapping[str, Any]) -> Mapping[str, Any]:
        """Arguments as another machine understands them: without files of this one."""
        graph = asked["source"].graph()
        return {**asked, "source": graph, "indices": specs_of(graph, asked["indices"])}

    def _nodes(self) -> dict[str, int]:
        """The machines that are there, and their cores."""
        found = {n["NodeID"]: int(n["Resources"].get("CPU", 0)) for n in self._ray.nodes() if n["Alive"]}
        return {node: cores for node, cores in found.items() if cores}

    def _started(self, node: str, cores: int) -> Any:
        """A process there, which has all cores: two that time at once would time each other."""
        there = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=False)
        return self._ray.remote(Tuner).options(num_cpus=cores, scheduling_strategy=there).remote()

    def _begin_again(self, node: str) -> None:
        """Another process on a machine, if that is there."""
        self._ray.kill(self._tuners.pop(node))
        cores = self._nodes().get(node, 0)
        if cores:
            self._tuners[node] = self._started(node, cores)
