"""The one thing that pyproject.toml cannot say: a C extension that needs NumPy's headers."""

import sysconfig

import numpy as np
from setuptools import Extension, setup

fastcall = Extension(
    "gscompile.runtime._fastcall",
    ["gscompile/runtime/_fastcall.c"],
    depends=["gscompile/runtime/_fastcall_arrays.h", "gscompile/runtime/_fastcall_signature.h"],
    include_dirs=[np.get_include()],
    optional=True,  # calls take the slow path where it cannot be built
)
setup(ext_modules=[] if sysconfig.get_config_var("Py_GIL_DISABLED") else [fastcall])
