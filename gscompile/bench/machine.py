"""What the numbers depend on."""

from __future__ import annotations

import datetime
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

from gscompile.compiler.tuned import cpu, own_version
from gscompile.runtime.threads import available_cores

PACKAGES = ("apache-tvm", "numpy", "torch", "jax", "onnxruntime", "openvino")
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


def machine() -> dict[str, Any]:
    """The processor, the memory, the versions of what is installed, and today's date."""
    return {
        "cpu": cpu(),
        "cores": available_cores(),
        "vectors": [f for f in ("avx2", "avx512f") if f in (_line("/proc/cpuinfo", "flags") or "").split()],
        "caches": caches(),
        "memory_gb": round(memory("MemTotal") / 2**30),
        "system": platform.platform(),
        "python": platform.python_version(),
        "gscompile": own_version(),
        "packages": {p: v for p in PACKAGES if (v := _version(p))},
        "date": datetime.date.today().isoformat(),
    }


def caches() -> dict[str, str]:
    """Sizes of the first core's caches of data, by level; empty where the system does not tell."""
    found = {}
    for folder in sorted(CACHES.glob("index*")):
        level, kind, size = ((folder / name).read_text().strip() for name in ("level", "type", "size"))
        if kind != "Instruction":
            found[f"L{level}"] = size
    return found


def memory(entry: str) -> int:
    """Bytes of an entry of the system's account of memory; 0 where there is none."""
    text = _line("/proc/meminfo", entry)
    return int(text.split()[0]) << 10 if text else 0


def _line(path: str, key: str) -> str | None:
    """The value of the first line ``key: value`` of a file."""
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.partition(":")[0].strip() == key), None)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
