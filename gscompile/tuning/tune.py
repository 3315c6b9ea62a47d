"""Tuning: candidates are asked for, built in the background, compared, timed, and the best ones timed again."""

from __future__ import annotations

import os
import shutil
import tempfile
import time as clock
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ALL_COMPLETED, FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from gscompile.build import Module
from gscompile.compiler.tuned import TRIAL, WINNER, Database, Key, Record, key_of, named, numbered, skipped
from gscompile.errors import ArgumentError, TargetError
from gscompile.frontend.builder import Builder
from gscompile.ir.graph import Graph
from gscompile.runtime.threads import available_cores, get_num_threads
from gscompile.tuning.candidates import Candidate, Space
from gscompile.tuning.indices import sizes_of, specs_of, text_of
from gscompile.tuning.places import Fleet, Here, Place
from gscompile.tuning.processes import Process, forks
from gscompile.tuning.progress import Progress, Tell, shown
from gscompile.tuning.remote import tracker_of
from gscompile.tuning.report import require_folder, write_report
from gscompile.tuning.result import Trial, Tuned
from gscompile.tuning.search import Search, search_of
from gscompile.tuning.source import graph_of, target_of
from gscompile.tuning.winner import chosen, gains
from gscompile.tuning.worker import Answer, Boards, Build, Job, Measure, MeasureAgain

BUILD_S = 120.0
"""For a build."""
PATIENCE_S, PATIENCE = 10.0, 300.0
"""For a measurement: at least so many seconds, and so many times what the default takes."""
AGAIN, DRAWS = 3, 3
"""How many of the best are measured again, and on how many fresh draws of arrays."""
MOST_BUILDERS = 8
"""Processes that build, at most: each takes some 200 MB."""
FRESH = 1_000_003
"""Added to the seed for each of these."""


def tune(
    source: Builder | Graph | Module,
    target: Any = None,
    *,
    indices: Any = None,
    sizes: Mapping[str, int] | None = None,
    trials: int = 64,
    time: float | None = None,
    database: str | PathLike[str] | None = None,
    search: str = "optuna",
    rules: Sequence[Any] = (),
    deterministic: bool = False,
    progress: bool | Tell = True,
    seed: int = 0,
    report: str | PathLike[str] | None = None,
    tracker: str | None = None,
    key: str | None = None,
) -> Tuned:
    """Find the choices with which a graph runs fastest on this machine, or on boards, for indices like those that it will get.

    Args:
        source: what to tune.
        target: ``"llvm"``, or attributes of a CPU target that runs here; or ``"cuda"``; by default a module's own, and ``"llvm"``
            otherwise.  Without a GPU the candidates of ``"cuda"`` are compiled, and compared with the default on the CPU; nothing
            is measured or kept then, and the result says so.
        indices: how indices are distributed: ``uniform`` (by default), ``zipf:1.1``, ``sorted``, ``permutation``, ``blocked:64``,
            ``constant``, ``runs:32``; for all inputs that index others, or by name of an input.  There also an array, or a file:
            ``FILE.npy``, ``FILE.npz:NAME``, ``FILE.parquet:COLUMN``.
        sizes: a number for each symbolic size.
        trials: how many candidates to try, those of earlier runs in the database among them.
        time: seconds after which no other one is tried.
        database: a file that trials and the winner are added to, and that earlier ones are read from.
        search: ``optuna``, ``random`` or ``exhaustive``.
        rules, deterministic: as for :meth:`gscompile.frontend.builder.Builder.build`.
        progress: whether to show how far it is, where that can be seen; or a function that is called with a
            :class:`gscompile.tuning.progress.Progress`.
        seed: of arrays and of the search.
        report: a page of HTML to write: trials over time, what each choice contributes, the winner's TIR beside the default's.
        tracker, key: ``HOST:PORT`` of a tracker of TVM's RPC, and what it calls the boards to which candidates for ``target``
            are sent, and on which they are timed; records are for their processor then.

    Raises:
        ArgumentError: indices, sizes or options make no sense, or the graph cannot be called.  DeviceError: the target is a CPU
        that cannot run here; or there is no tracker, no board of that key, or none any more: what is finished is kept.
        TargetError: there is no C compiler for the boards.  MissingExtraError: the extra ``tune`` is not installed.
    """
    graph = graph_of("tune", source)
    if type(trials) is not int or trials < 0:
        raise ArgumentError(f"tune: trials is an int that is not negative; got {trials!r}")
    if time is not None and not time >= 0:  # nor a NaN
        raise ArgumentError(f"tune: time is a number of seconds that is not negative; got {time!r}")
    if report is not None:
        require_folder(report)
    found = target_of(source, target)
    if (tracker is None) != (key is None):
        raise ArgumentError("tune: tracker= says who knows the boards, and key= which of them: both are needed")
    address = None if tracker is None else tracker_of(tracker)
    if tracker is not None and found.by_driver:
        raise TargetError(f"tune: boards are CPUs; got {found}")
    if tracker is None and not found.by_driver:
        found.require_device("tune")
    specs = specs_of(graph, indices)
    known = sizes_of(graph, sizes, specs)
    job = Job(graph, found, tuple(rules), deterministic, specs, known, get_num_threads())
    search_of(search, Space(()), seed)  # refuses what is none before anything is built
    records = None if database is None else Database(database)
    if records is not None:
        records.require_own()
    begin = clock.monotonic()
    cache = new_cache()
    place: Place = Here(job, cache, seed)
    if address is not None and key is not None:
        boards = Boards(*address, key, cache)
        job = replace(job, boards=boards)
        place = Fleet(job, boards, cache, seed)
    with forks():
        try:
            place.open()
            space = Space.of(graph, found, rules, deterministic, known, place.threads)
            numbers = {v.name: str(k) for k, v in enumerate(graph.inputs)}
            described = {numbers[name]: text_of(spec) for name, spec in specs.items()}
            own = key_of(graph, found, deterministic, rules)
            own = replace(own, machine=place.machine, indices=described, sizes=known)
            searched = search_of(search, space, seed)
            run = _Run(job, place, cache, own, space, searched, records, trials, begin, time, seed)
            with shown(progress, graph.name, trials) as tell:
                result = run.run(tell)
        finally:
            place.stop()
            shutil.rmtree(cache, ignore_errors=True)
    if report is not None:
        write_report([result], report)
    return result


@dataclass(slots=True)
class _Run:
    """The state of one tuning."""

    job: Job
    place: Place
    cache: str
    key: Key
    space: Space
    search: Search
    database: Database | None
    wanted: int
    begin: float
    limit: float | None
    seed: int
    trials: list[Trial] = field(default_factory=list)
    codes: dict[str, Trial] = field(default_factory=dict)
    default_ms: float = 0.0

    def run(self, tell: Tell) -> Tuned:
        self.resume()
        interrupted = False
        builders = self.builders()
        try:
            self.place.start()
            for process in builders:
                process.start()
            self.default_ms = self.place.ready()
            try:
                self.all(builders, tell)
            except KeyboardInterrupt:
                interrupted = True
            return self.result(interrupted)
        finally:
            for process in builders:
                process.stop()

    def resume(self) -> None:
        """What an earlier run has tried."""
        records = [] if self.database is None else self.database.records()
        if self.database is not None and self.database.problems:
            warnings.warn(skipped(self.database.problems), stacklevel=2)
        for r in records:
            if r.kind != TRIAL or r.key != self.key:
                continue
            choices = named(self.job.graph, r.choices)
            if self.space.suggestions(choices) is None:
                continue  # of other rules, or damaged
            self.trials.append(Trial(choices, r.state, r.ms, r.default_ms, r.ratio, r.why))
            self.search.tell(_plain(choices), r.state, 1 / r.ratio if r.ratio else 0.0)

    # -- trials

    @property
    def left(self) -> bool:
        """Whether another candidate may be tried."""
        return self.limit is None or clock.monotonic() - self.begin < self.limit

    def builders(self) -> list[Process]:
        """The processes that build: one for each free core, or for each core where none is free."""
        cores = self.place.cores
        count = min(len(cores) or available_cores(), MOST_BUILDERS)
        return [Process(replace(self.job, threads=1, cores=cores), self.cache) for _ in range(count)]

    def all(self, builders: Sequence[Process], tell: Tell) -> None:
        """Try candidates until there are enough.

        Where no core is free, nothing is measured while something is built.  Boards measure while others do, and what is done
        first is noted first.
        """
        free, boards, count = len(self.place.cores), self.place.boards, len(builders)
        idle: SimpleQueue[Process] = SimpleQueue()
        for b in builders:
            idle.put(b)

        def build(candidate: Candidate) -> tuple[Answer, Answer | None]:
            builder = idle.get()
            try:
                built = builder.ask(Build(candidate), BUILD_S)
            finally:
                idle.put(builder)
            return built, self.found(candidate, built) if boards else None

        pending: list[tuple[Candidate, Future[tuple[Answer, Answer | None]]]] = []
        pool = ThreadPoolExecutor(count + boards)
        try:
            while True:
                while (
                    len(pending) < 2 * (count + boards) + 2 * (not free)
                    and len(self.trials) + len(pending) < self.wanted
                    and self.left
                ):
                    candidate = self.search.ask()
                    if candidate is None:
                        break
                    pending.append((candidate, pool.submit(build, candidate)))
                if not pending:
                    return
                batch = pending[:1] if free and not boards else pending
                done, _ = wait([f for _, f in batch], return_when=FIRST_COMPLETED if boards else ALL_COMPLETED)
                # errors last, so that what is finished is noted
                batch = sorted((p for p in batch if p[1] in done), key=lambda p: p[1].exception() is not None)
                pending = [p for p in pending if p not in batch]
                for candidate, future in batch:
                    built, found = future.result()
                    self.add(candidate, built, found or self.found(candidate, built))
                    tell(self.progress())
                    if not self.left:
                        return
        finally:
            pool.shutdown(cancel_futures=True)

    def found(self, candidate: Candidate, built: Answer) -> Answer:
        """What came of a candidate that was built: it is measured, if its code is new."""
        known = self.codes.get(built.code) if built.state == "ok" else None
        if built.state != "ok":
            return built
        if known is not None:
            state = "same" if known.state == "ok" else known.state
            return Answer(state, known.why, built.code, known.ms, known.default_ms, known.ratio)
        patience = max(PATIENCE_S, PATIENCE * self.default_ms / 1e3)
        return self.place.ask(Measure(candidate, patience), patience)

    def add(self, candidate: Candidate, built: Answer, found: Answer) -> None:
        """Note a trial."""
        seconds = clock.monotonic() - self.begin
        trial = Trial(candidate, found.state, found.ms, found.default_ms, found.ratio, found.why, seconds)
        self.trials.append(trial)
        if built.code:
            self.codes.setdefault(built.code, trial)
        self.note(TRIAL, trial)
        self.search.tell(candidate, found.state, 1 / found.ratio if found.ratio else 0.0)

    def note(self, kind: str, t: Trial) -> None:
        """Add a record to the database, if there is one."""
        if self.database is not None and self.job.measured:
            choices, text = numbered(self.job.graph, t.choices), str(self.job.graph)
            record = Record(kind, self.key, choices, t.state, t.ms, t.default_ms, t.ratio, t.why, text, clock.time())
            self.database.append(record)

    def progress(self) -> Progress:
        """How far it is."""
        seconds = clock.monotonic() - self.begin
        fastest = max((t.ratio for t in self.trials if t.state == "ok"), default=1.0)
        last = self.trials[-1]
        return Progress(len(self.trials), self.wanted, max(fastest, 1.0), self.default_ms, seconds, self.limit, last)

    # -- the winner

    def result(self, interrupted: bool) -> Tuned:
        """The best, measured again on fresh draws of arrays in turns with the default; who loses on one is out."""
        ranked = sorted((t for t in self.trials if t.state == "ok" and t.ratio > 1), key=lambda t: -t.ratio)[:AGAIN]
        left, answers = {str(k): t for k, t in enumerate(ranked)}, list[Answer]()
        while left and len(answers) < DRAWS:
            answers.append(self.place.ask(self.again(left, len(answers)), BUILD_S))
            left = {name: t for name, t in left.items() if gains(answers[-1], name)}
        winner, noise = chosen(left, answers, Trial({}, "ok", self.default_ms, self.default_ms, 1.0))
        if self.trials:
            self.note(WINNER, winner)
        names = {str(k): v.name for k, v in enumerate(self.job.graph.inputs)}
        return Tuned(
            self.job,
            winner.choices,
            winner.ratio,
            noise,
            winner.ms,
            winner.default_ms,
            tuple(self.trials),
            clock.monotonic() - self.begin,
            {names[k]: v for k, v in self.key.indices.items()},
            self.job.sizes,
            interrupted,
            self.key,
        )

    def again(self, candidates: Mapping[str, Trial], draw: int) -> MeasureAgain:
        """The request for one of the fresh draws."""
        return MeasureAgain({name: t.choices for name, t in candidates.items()}, self.seed + FRESH * (draw + 1))


CACHE = "gscompile-tune-"


def new_cache() -> str:
    """A folder for what is built; those that processes have left behind which were killed are removed."""
    for old in Path(tempfile.gettempdir()).glob(f"{CACHE}[0-9]*-*"):
        owner = int(old.name.removeprefix(CACHE).partition("-")[0])
        try:
            os.kill(owner, 0)
        except ProcessLookupError:
            shutil.rmtree(old, ignore_errors=True)
        except OSError:  # somebody else's
            continue
    return tempfile.mkdtemp(prefix=f"{CACHE}{os.getpid()}-")


def _plain(choices: Mapping[str, Mapping[str, int | str]]) -> Candidate:
    return {nest: dict(given) for nest, given in choices.items()}
