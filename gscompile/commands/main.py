"""The command line: ``gscompile COMMAND ...``.

A command is a module with a ``HELP`` line, ``arguments(parser)``, which declares its options, and ``run(options)``, which does
the work and returns the exit status.  To add one, write that module and name it in ``COMMANDS``.

Exit status: 0, success; 1, the command ran and found something wrong; 2, a mistake in the command line or a
:class:`~gscompile.errors.GSError`; 130, interrupted; 141, whoever read the output has gone (128 + SIGINT and SIGPIPE, as
shells report them).
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Protocol

from gscompile import __version__
from gscompile.bench import command as bench
from gscompile.commands import compile, demo, inspect, tune
from gscompile.errors import GSError

INTERRUPTED = 130
BROKEN_PIPE = 141


class Command(Protocol):
    """What a command's module has."""

    @property
    def HELP(self) -> str: ...

    def arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, options: argparse.Namespace) -> int: ...


COMMANDS: Mapping[str, Command] = {"compile": compile, "inspect": inspect, "demo": demo, "bench": bench, "tune": tune}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; returns the exit status and never raises for a user's mistake."""
    before = warnings.formatwarning
    warnings.formatwarning = lambda message, *rest, **more: f"gscompile: {message}\n"  # without a line of our source
    try:
        try:
            options = completing(parser()).parse_args(argv)
            return COMMANDS[options.command].run(options)
        except SystemExit as e:  # argparse: --help, --version, or a usage error that it has printed
            return e.code if isinstance(e.code, int) else 0
        finally:
            sys.stdout.flush()  # so that a reader that has gone is noticed here, and not at exit
    except GSError as e:
        print(f"gscompile: {e}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("gscompile: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        discard_output()
        return BROKEN_PIPE
    finally:
        warnings.formatwarning = before


def parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    top = argparse.ArgumentParser(prog="gscompile", description="A compiler for gather and scatter.")
    top.add_argument("--version", action="version", version=f"gscompile {__version__}")
    commands = top.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        command.arguments(commands.add_parser(name, help=command.HELP, description=command.HELP))
    return top


def completing(top: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """The parser, which answers a shell that asks for completions, where argcomplete is installed, and then exits."""
    if "_ARGCOMPLETE" in os.environ:
        with suppress(ImportError):
            import argcomplete

            argcomplete.autocomplete(top)
    return top


def discard_output() -> None:
    """Let what is still buffered go nowhere, so that the interpreter's last flush does not fail as well."""
    try:
        fd = sys.stdout.fileno()
    except (OSError, ValueError):  # not a file: somebody captures the output
        return
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, fd)
    os.close(devnull)
