"""What pyproject.toml cannot say: C extensions, one with NumPy's headers, and a package of which one file is installed."""

import os
import sysconfig

import numpy as np
from setuptools import Extension, setup
from setuptools.command.build_py import build_py


class BuildPy(build_py):
    """Of ``schedules``, the other name of ``gscompile.schedules``, only what leads there."""

    def find_package_modules(self, package, package_dir):
        found = super().find_package_modules(package, package_dir)
        return [module for module in found if package != "schedules" or module[1] == "__init__"]


launch = Extension(
    "gscompile.runtime._launch",
    ["gscompile/runtime/_launch.c"],
    depends=["gscompile/runtime/_launch.h"],
    extra_compile_args=["-std=c11"] if os.name == "posix" else [],
    optional=True,  # threads of Python run the tasks where it cannot be built
)
fastcall = Extension(
    "gscompile.runtime._fastcall",
    ["gscompile/runtime/_fastcall.c"],
    depends=[
        f"gscompile/runtime/{name}.h"
        for name in ("_fastcall_arrays", "_fastcall_gpu", "_fastcall_signature", "_scratch")
    ],
    extra_compile_args=["-std=c11"] if os.name == "posix" else [],
    include_dirs=[np.get_include()],
    optional=True,  # calls take the slow path where it cannot be built
)
free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
setup(cmdclass={"build_py": BuildPy}, ext_modules=[launch] if free_threaded else [launch, fastcall])
