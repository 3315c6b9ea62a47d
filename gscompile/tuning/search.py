"""Who says what to try next: Optuna, by default; at random, or everything.

Optuna: its tree-structured Parzen estimator takes choices that exist only where others have some value, and several trials that
are underway; it needs some ten trials before it is better than chance, and no server; it has been maintained since 2018.
"""

from __future__ import annotations

import itertools
import random
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from gscompile.errors import ArgumentError, missing_extra
from gscompile.tuning.candidates import Candidate, Space, text_of

AGAIN = 200
"""Candidates in a row that were tried before, after which there are taken to be no others."""


class Search(Protocol):
    """Says what to try, and is told what came of it."""

    def ask(self) -> Candidate | None:
        """A candidate that was not tried yet; None where there is none."""
        ...

    def tell(self, candidate: Candidate, state: str, cost: float) -> None:
        """What came of it.

        Args:
            cost: how many times the default's time it takes; of what could not be measured, nothing.
        """
        ...


def search_of(name: str, space: Space, seed: int) -> Search:
    """The search of a name.

    Raises:
        ArgumentError: there is no such search.  MissingExtraError: Optuna is not installed.
    """
    if name not in SEARCHES:
        raise ArgumentError(f"tune: there is no search {name!r}; known: {', '.join(SEARCHES)}")
    made: Search = SEARCHES[name](space, seed)
    return made


class Listed:
    """Candidates of a list, in its order."""

    def __init__(self, candidates: Iterator[Candidate]) -> None:
        self._candidates = candidates
        self._known = {text_of({})}

    def ask(self) -> Candidate | None:
        for candidate in itertools.islice(self._candidates, AGAIN):
            if text_of(candidate) not in self._known:
                self._known.add(text_of(candidate))
                return candidate
        return None

    def tell(self, candidate: Candidate, state: str, cost: float) -> None:
        self._known.add(text_of(candidate))


def _exhaustive(space: Space, seed: int) -> Listed:
    return Listed(c for part in (space.first(), space) for c in part)


def _random(space: Space, seed: int) -> Listed:
    rng = random.Random(seed)
    return Listed(c for part in (space.first(), iter(lambda: space.drawn(rng), None)) for c in part)


class Optuna:
    """Optuna's tree-structured Parzen estimator, which begins with what the cost model estimates."""

    def __init__(self, space: Space, seed: int) -> None:
        try:
            import optuna
        except ImportError as e:
            raise missing_extra("optuna", "tune", 'tuning with search="optuna"') from e
        self._optuna: Any = optuna
        self._space = space
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some of its options are called experimental
            sampler = optuna.samplers.TPESampler(
                seed=seed, multivariate=True, group=True, constant_liar=True, n_startup_trials=12
            )
        self._study = optuna.create_study(direction="minimize", sampler=sampler)
        self._asked: dict[str, Any] = {}
        self._known: dict[str, tuple[str, float]] = {text_of({}): ("ok", 1.0)}
        for candidate in space.first():
            self._study.enqueue_trial(space.suggestions(candidate) or {})

    def ask(self) -> Candidate | None:
        for _ in range(AGAIN):
            trial = self._study.ask()
            candidate = self._space.walk(lambda name, values, trial=trial: trial.suggest_categorical(name, values))
            text = text_of(candidate)
            if text in self._known:
                self._told(trial, *self._known[text])
            elif text in self._asked:
                self._told(trial, "failed", 0.0)
            else:
                self._asked[text] = trial
                return candidate
        return None

    def tell(self, candidate: Candidate, state: str, cost: float) -> None:
        text = text_of(candidate)
        self._known[text] = state, cost
        trial = self._asked.pop(text, None)
        if trial is not None:
            self._told(trial, state, cost)
        elif (given := self._space.suggestions(candidate)) is not None:  # of an earlier run
            self._add(given, state, cost)

    def _add(self, given: Mapping[str, Any], state: str, cost: float) -> None:
        """Have the study know a trial that it did not ask for."""
        if state not in ("ok", "same"):
            return
        known: dict[str, Any] = {}

        def suggest(name: str, values: Sequence[Any]) -> Any:
            known[name] = self._optuna.distributions.CategoricalDistribution(values)
            return given[name]

        self._space.walk(suggest)
        self._study.add_trial(self._optuna.trial.create_trial(params=given, distributions=known, value=cost))

    def _told(self, trial: Any, state: str, cost: float) -> None:
        states = self._optuna.trial.TrialState
        if state in ("ok", "same"):
            self._study.tell(trial, cost)
        elif state == "pruned":
            trial.report(cost, 0)
            self._study.tell(trial, state=states.PRUNED)
        else:
            self._study.tell(trial, state=states.FAIL)


SEARCHES: dict[str, Any] = {"optuna": Optuna, "random": _random, "exhaustive": _exhaustive}
