"""The C extension of :mod:`gscompile.runtime.fastcall`, where it was built and is not switched off."""

from __future__ import annotations

import os
import sysconfig
from types import ModuleType

SWITCH = "GSCOMPILE_FASTCALL"


def _load() -> ModuleType | None:
    if os.environ.get(SWITCH) == "0" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None
    try:
        from gscompile.runtime import _fastcall
    except ImportError:  # no compiler where the package was installed, or a NumPy that the extension was not built for
        return None
    return _fastcall


extension = _load()
