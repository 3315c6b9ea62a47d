"""What tuning gives: the best choices, how much they gain, and every trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gscompile.build import Module, made
from gscompile.compiler.tuned import Key
from gscompile.schedules import Choices
from gscompile.tuning.worker import Job


@dataclass(frozen=True, slots=True)
class Trial:
    """A candidate, and what came of it.

    Attributes:
        choices: by the name of a nest, what it chose other than by default.
        state: ``ok``; ``same``: its code is another's; ``pruned`` after one call; ``wrong``; ``crashed``; ``hung``; ``failed``.
            For a GPU that is not here: ``right``: its result is the default's on the CPU; ``built``: it was compiled only.
        ms, default_ms: medians of a call's milliseconds, measured in turns; 0 where there is none.
        ratio: how many times as fast as the default.
        why: what went wrong.
        seconds: since tuning began; of an earlier run, 0.
    """

    choices: Choices
    state: str
    ms: float
    default_ms: float
    ratio: float
    why: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Tuned:
    """The result of :func:`gscompile.tune`.

    Attributes:
        choices: the best ones, by the name of a nest; empty where nothing is better than the default by more than noise.
        ratio: how many times as fast as the default, measured again on fresh arrays; 1.0 where nothing is better.
        noise: by how much the default differed from itself then.
        ms, default_ms: medians of a call's milliseconds then.
        trials: all of them, those of earlier runs first.
        seconds: that tuning took.
        indices: by input, the distribution.
        sizes: of symbolic sizes.
        interrupted: whether somebody ended it early.
        key: of the records in a database.
    """

    job: Job
    choices: Choices
    ratio: float
    noise: float
    ms: float
    default_ms: float
    trials: Sequence[Trial]
    seconds: float
    indices: Mapping[str, str]
    sizes: Mapping[str, int]
    interrupted: bool
    key: Key

    def build(self) -> Module:
        """The module with the best choices."""
        return made(self.job.recipe(self.choices))

    def table(self) -> list[dict[str, Any]]:
        """A row for each trial, as ``pandas.DataFrame`` takes them: its choices are columns ``NEST.CHOICE``."""
        rows = []
        for k, t in enumerate(self.trials):
            chosen = {f"{nest}.{name}": v for nest, given in t.choices.items() for name, v in given.items()}
            rows.append({"trial": k, "state": t.state, "ms": t.ms, "ratio": t.ratio, "seconds": t.seconds, **chosen})
        return rows

    def __str__(self) -> str:
        states: dict[str, int] = {}
        for t in self.trials:
            states[t.state] = states.get(t.state, 0) + 1
        earlier = sum(t.seconds == 0 for t in self.trials)
        counts = [f"{n} {state}" for state, n in states.items()] + [f"{earlier} from the database"] * bool(earlier)
        number = f"{len(self.trials)} trial{'s' * (len(self.trials) != 1)}"
        ended = ", interrupted" * self.interrupted
        head = f"{self.job.graph.name}: {number} ({', '.join(counts) or 'none'}) in {self.seconds:.1f} s{ended}"
        if not self.job.measured:
            return f"{head}\nnothing was measured: that needs a GPU"
        if not self.choices:
            return f"{head}\nnothing is faster than the default ({self.default_ms:.4g} ms) by more than noise"
        lines = [f"  {nest}: " + ", ".join(f"{n} = {v}" for n, v in c.items()) for nest, c in self.choices.items()]
        medians = f"medians {self.ms:.4g} and {self.default_ms:.4g} ms"
        gain = f"{self.ratio:.2f} times as fast as the default in the same rounds, {medians}"
        return "\n".join([head, gain, *lines])
