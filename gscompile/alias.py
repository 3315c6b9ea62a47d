"""``schedules``, another name of :mod:`gscompile.schedules`, for users' imports.

gscompile itself never imports by that name, which a file of a user may have.  Where one has, the name is the user's.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_loader
from pathlib import Path
from types import ModuleType

NAME = "schedules"
BESIDE = Path(__file__).resolve().parents[1] / NAME / "__init__.py"  # in a checkout, and where gscompile is installed


class Alias:
    """Gives ``schedules.x`` as the module ``gscompile.schedules.x``: one module, of two names.

    A finder and a loader, without their base classes, whose import takes longer than that of all else here.
    """

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        top, _, below = name.partition(".")
        if top != NAME:
            return None
        here = sys.modules[top].__spec__ if below else PathFinder.find_spec(top)
        ours = here is None or here.name.startswith("gscompile.") or _is_beside(here)
        return spec_from_loader(name, self) if ours else None  # type: ignore[arg-type]  # which asks for an old method

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(f"gscompile.{spec.name}")
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """It has run; what imports it by this name has changed only what it says of itself."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


def _is_beside(spec: ModuleSpec) -> bool:
    return spec.origin is not None and Path(spec.origin).resolve() == BESIDE


def install() -> None:
    """Let imports find the other name."""
    sys.meta_path.insert(0, Alias())
