"""What tuning found, in one file: a line of JSON for each trial and each winner.

Lines are what lets several processes add to a file at once, a process be killed at any moment, and files be merged by putting
one behind the other; and people read them.  A record is appended in one write, under a lock, and is on the disk before
:meth:`Database.append` returns.  Each line has a checksum.  What cannot be read is reported and skipped: a line that a process
was killed in, damage, what a later version wrote.

A record is for one graph (its structure, shapes and dtypes, without names), target, machine, distribution of the indices,
sizes and versions.  Its choices are for rules to check: what a rule does not offer here is refused when the graph is built.
"""

from __future__ import annotations

import json
import math
import os
import threading
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from gscompile.compiler.disk_cache import structure
from gscompile.compiler.targets import Target
from gscompile.errors import ArgumentError
from gscompile.ir.graph import Graph
from gscompile.runtime.threads import available_cores, get_num_threads
from gscompile.schedules import Choices

FORMAT = 1
TRIAL, WINNER = "trial", "winner"
STATES = ("ok", "same", "pruned", "wrong", "crashed", "hung", "failed")
"""How a trial ended: measured; its code is another's; much slower in a first call; another result than the default's; its process
ended; gave no answer; could not be built or called."""

Indices = Mapping[str, str]
"""By the number of an index input: its distribution."""


@dataclass(frozen=True, slots=True)
class Key:
    """What a record is for.

    Attributes:
        graph: a hash of its structure, shapes and dtypes.
        target: kind, CPU or GPU, and what else was given.
        machine: its CPU, cores and the threads of a call.
        versions: of gscompile and of TVM.
        options: ``deterministic``, and names of a user's rules.
        indices: by the number of an input, how its indices are distributed.
        sizes: of symbolic sizes, that it was measured with.
    """

    graph: str
    target: str
    machine: str
    versions: str
    options: str
    indices: Indices = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)

    def built_alike(self, other: Key) -> bool:
        """Whether both are for the same code, whatever the machine, the indices and the sizes."""
        return self._code == other._code

    @property
    def _code(self) -> tuple[str, ...]:
        return self.graph, self.target, self.versions, self.options


@dataclass(frozen=True, slots=True)
class Record:
    """A trial, or a winner that was measured again.

    Attributes:
        kind: ``trial`` or ``winner``.
        key: what it is for.
        choices: by the number of a value of the graph, or a nest's name: by name; what is not there has its default.
        state: of :data:`STATES`.
        ms: milliseconds of a call, the median; 0 where there is none.
        default_ms: of the default, measured in turns with it.
        ratio: how many times as fast as the default; the median over rounds.
        why: what went wrong, for people.
        graph: as it is printed, for people.
        when: seconds since 1970.
    """

    kind: str
    key: Key
    choices: Choices
    state: str
    ms: float = 0.0
    default_ms: float = 0.0
    ratio: float = 0.0
    why: str = ""
    graph: str = ""
    when: float = 0.0

    def line(self) -> bytes:
        """As the file has it."""
        found = {"format": FORMAT, **asdict(self)}
        return _text({**found, "sum": _sum(found)}).encode() + b"\n"

    @staticmethod
    def of(line: bytes) -> Record:
        """The record of a line.

        Raises:
            ValueError: it is none; the message says why.
        """
        try:
            found = json.loads(line, parse_constant=_refused)
        except RecursionError:
            raise ValueError("is nested too deep") from None
        except ValueError:
            raise ValueError("is no JSON") from None
        if not isinstance(found, dict):
            raise ValueError("is no record")
        if found.get("format") != FORMAT:
            raise ValueError(f"has the format {str(found.get('format'))[:20]}, and this version reads {FORMAT}")
        if found.pop("sum", None) != _sum(found):
            raise ValueError("is damaged: its checksum does not fit")
        del found["format"]
        try:
            record = Record(**{**found, "key": Key(**found["key"])})
        except (TypeError, KeyError):
            raise ValueError("has other fields than a record") from None
        record._require_types()
        return record

    def _require_types(self) -> None:
        key = self.key
        if not all(isinstance(d, dict) for d in (key.indices, key.sizes, self.choices)):
            raise ValueError("has a field of another type")
        texts = (self.why, self.graph, key.machine, *key._code, *key.indices, *key.indices.values(), *key.sizes)
        numbers = (self.ms, self.default_ms, self.ratio, self.when)
        right = (
            self.kind in (TRIAL, WINNER)
            and self.state in STATES
            and all(isinstance(t, str) for t in texts)
            and all(type(n) in (int, float) and math.isfinite(n) and n >= 0 for n in numbers)
            and all(type(n) is int and n >= 0 for n in key.sizes.values())
            and all(isinstance(c, dict) for c in self.choices.values())
            and all(type(v) in (int, str) for c in self.choices.values() for v in c.values())
        )
        if not right:
            raise ValueError("has a field of another type")


def _refused(name: str) -> Any:
    raise ValueError(name)


def _text(found: Any) -> str:
    return json.dumps(found, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _sum(found: Any) -> str:
    return f"{zlib.crc32(_text(found).encode()):08x}"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a build looks for choices.

    Attributes:
        path: of a database.
        indices: distributions by the number of an input, or one of all inputs; None for whatever there is.
        machine: part of the name of the machines whose records count; None for this one's, see :meth:`find`.
    """

    path: Path
    indices: str | Indices | None
    machine: str | None

    def find(self, key: Key, target: Target) -> Choices:
        """The choices of the winner, by the numbers of values; none where there is no record.

        Of a target that names its CPU or GPU, whose code may be for another machine, records of others count as well.
        """
        record = Database(self.path).winner(key, self.indices, self.machine, target.is_named)
        return {} if record is None else record.choices


class Database:
    """The records of a file; there need be none yet.

    Args:
        path: of the file, whose folder is there.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.problems: list[str] = []
        """What could not be read the last time, a line each."""

    def append(self, record: Record) -> None:
        """Add a record; it is on the disk then.

        Raises:
            ArgumentError: the file cannot be written.
        """
        try:
            with open(self.path, "ab+") as file, _locked(file):
                file.write(_start(file) + record.line())
                file.flush()
                os.fsync(file.fileno())
        except OSError as e:
            raise ArgumentError(f"database {self.path}: cannot be written: {e.strerror or e}") from None

    def records(self) -> list[Record]:
        """All that can be read, in the order of the file; :attr:`problems` says what cannot.

        Raises:
            ArgumentError: there is a file, and it cannot be read.
        """
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            data = b""
        except OSError as e:
            raise ArgumentError(f"database {self.path}: cannot be read: {e.strerror or e}") from None
        found, self.problems = [], []
        lines = data.split(b"\n")
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                found.append(Record.of(line))
            except ValueError as e:
                torn = " (the last one: whoever wrote it was ended)" if number == len(lines) else ""
                self.problems.append(f"{self.path}: line {number} {e}{torn}")
        return found

    def require_own(self) -> None:
        """Refuse to add records to a file of another kind; one that is torn or damaged is none.

        Raises:
            ArgumentError: there is something in the file, and nothing of it is a record.
        """
        if self.records() or not self.problems:
            return
        data, begins = self.path.read_bytes(), b'{"choices"'  # as lines do, whose keys are sorted
        if not data.startswith(begins[: len(data)]) and b'"format"' not in data:
            raise ArgumentError(f"database {self.path}: is another kind of file, with no record in it")

    def merge(self, *others: str | os.PathLike[str]) -> int:
        """Add what other files have and this one has not; returns how many records that are."""
        self.require_own()
        known = {r.line() for r in self.records()}
        problems, added = list(self.problems), 0
        for path in others:
            if not Path(path).is_file():
                raise ArgumentError(f"database {path}: there is no such file")
            other = Database(path)
            for record in other.records():
                if record.line() not in known:
                    known.add(record.line())
                    self.append(record)
                    added += 1
            problems += other.problems
        self.problems = problems
        return added

    def winner(
        self, key: Key, indices: str | Indices | None = None, machine: str | None = None, anywhere: bool = False
    ) -> Record | None:
        """The winner for a graph: of these indices, if they are given; else for any, of uniform ones before others.

        Of several the last one counts.

        Args:
            machine: part of the name of the machines that it may be of; by default it is of the key's.
            anywhere: where that machine has none, any other's will do.
        """
        alike = [r for r in self._winners() if r.key.built_alike(key) and _meant(r.key.indices, indices)]
        if machine is not None:
            found = [r for r in alike if machine.casefold() in r.key.machine.casefold()]
        else:
            found = [r for r in alike if r.key.machine == key.machine] or (alike if anywhere else [])
        uniform = [r for r in found if all(v == "uniform" for v in r.key.indices.values())]
        best = (uniform or found) if indices is None else found
        return best[-1] if best else None

    def _winners(self) -> tuple[Record, ...]:
        """All winners; the file is read again when it has changed."""
        try:
            status = self.path.stat()
        except OSError:
            return ()
        return _winners_of(str(self.path.absolute()), status.st_mtime_ns, status.st_size)


def skipped(problems: Sequence[str]) -> str:
    """What is said of lines that could not be read: the first one, and how many there are."""
    more = len(problems) - 1
    return f"skipped: {problems[0]}" + (f", and {more} more line{'s' * (more > 1)}" if more else "")


_read: dict[str, tuple[tuple[int, int], tuple[Record, ...]]] = {}


def _winners_of(path: str, changed: int, size: int) -> tuple[Record, ...]:
    known = _read.get(path)
    if known is None or known[0] != (changed, size):
        database = Database(path)
        winners = tuple(r for r in database.records() if r.kind == WINNER)
        if database.problems:
            warnings.warn(skipped(database.problems), stacklevel=2)
        known = _read[path] = (changed, size), winners
    return known[1]


def _meant(indices: Indices, given: str | Indices | None) -> bool:
    if given is None:
        return True
    return all(v == given for v in indices.values()) if isinstance(given, str) else dict(indices) == dict(given)


def _start(file: Any) -> bytes:
    """What ends a line that somebody was killed in."""
    end = file.seek(0, os.SEEK_END)
    if end == 0:
        return b""
    file.seek(end - 1)
    return b"" if file.read(1) == b"\n" else b"\n"


_within = threading.Lock()  # some systems' file locks are a process's, not a thread's


@contextmanager
def _locked(file: Any) -> Iterator[None]:
    """Alone among the processes that lock the file; where the system has no such locks, among threads."""
    with _within:
        try:
            import fcntl
        except ImportError:  # not on this system
            yield
            return
        fcntl.flock(file, fcntl.LOCK_EX)  # the end of the `with` that closes the file gives it back
        yield


# -- keys


def key_of(graph: Graph, target: Target, deterministic: bool = False, rules: Sequence[Any] = ()) -> Key:
    """What records for a graph are found by, here and now."""
    options = ["deterministic"] * deterministic + [str(r.name) for r in rules]
    return Key(
        structure(graph),
        described(target),
        machine(),
        versions(),
        ", ".join(options),
    )


def described(target: Target) -> str:
    """A target as records have it: what it is called, and all attributes that were given."""
    given = {k: v for k, v in target.attributes.items() if k != "kind"}
    return f"{target} {json.dumps(given, sort_keys=True, default=str)}"


def machine() -> str:
    """This machine's CPU, its cores, and the threads of a call."""
    return f"{cpu()}, {available_cores()} cores, {get_num_threads()} threads"


@cache
def cpu() -> str:
    """What this machine's processor is called."""
    import platform

    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()


def own_version() -> str:
    """Of gscompile."""
    return str(import_module(__name__.partition(".")[0]).__version__)


@cache
def versions() -> str:
    """Of what makes the code."""
    return f"gscompile {own_version()}, apache-tvm {metadata.version('apache-tvm')}"


def numbered(graph: Graph, choices: Choices) -> Choices:
    """Choices by the numbers of values, which graphs of one structure share, instead of their names."""
    numbers = {v.name: str(k) for k, v in enumerate(graph.values)}
    return {numbers.get(nest, nest): dict(given) for nest, given in choices.items() if given}


def named(graph: Graph, choices: Choices) -> Choices:
    """The reverse of :func:`numbered`."""
    names = {str(k): v.name for k, v in enumerate(graph.values)}
    return {names.get(number, number): dict(given) for number, given in choices.items()}


def numbered_indices(graph: Graph, indices: str | Indices | None) -> str | Indices | None:
    """Distributions by the numbers of inputs instead of their names.

    Raises:
        ArgumentError: there is no such input.
    """
    if indices is None or isinstance(indices, str):
        return indices
    numbers = {v.name: str(k) for k, v in enumerate(graph.inputs)}
    if unknown := [name for name in indices if name not in numbers]:
        raise ArgumentError(f"indices: there is no input {unknown[0]!r}; there are {', '.join(numbers)}")
    return {numbers[name]: spec for name, spec in indices.items()}


# -- the database that builds look into where none is named

_default: list[Database] = []


def set_default_database(path: str | os.PathLike[str] | None) -> None:
    """Have every build look for tuned choices in this file: of builders, dialects' calls, ONNX models, exported libraries.

    Args:
        path: of what :func:`gscompile.tune` wrote; None for no file, as it is at first.

    Modules that were built before stay as they are; :func:`gscompile.cache_clear` forgets those of calls on arrays.
    """
    _default[:] = [] if path is None else [Database(path)]


def default_database() -> Database | None:
    """What :func:`set_default_database` named."""
    return _default[0] if _default else None
