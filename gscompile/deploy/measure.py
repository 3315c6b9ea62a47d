"""The C by which a library's graph is called and timed on another machine, through TVM's RPC.

A plain server of TVM's loads such a library.  The loop that is timed is in it, so that no network is in the times, and so is
the call that may crash, in a process of its own.  ``time_evaluator`` of TVM's times what returns, and not what crashes: a crash
ends the server for good.
"""

from __future__ import annotations

from gscompile.deploy.source import HERE, Function

CRASHED, HUNG = 1000, 2000
"""What ``gs_survives`` returns, the first with a signal's number added."""
SYMBOLS = tuple(f"__tvm_ffi_gs_{name}" for name in ("call", "survives", "time", "same", "machine"))


def source(f: Function) -> str:
    """What follows a graph's function in the library's C file.

    Arguments of its functions are the inputs and the outputs, as arrays of bytes, and then the sizes.
    """
    arrays = len(f.inputs) + len(f.outputs)
    given = [f"gs_data(a + {k})" for k in range(arrays)]
    given += [f"a[{arrays + k}].is.number" for k in range(len(f.sizes))]
    return (
        f"enum {{ GS_CRASHED = {CRASHED}, GS_HUNG = {HUNG} }};\n"
        f"{(HERE / 'measure.h').read_text()}\n"
        f"static int gs_measured(const GsAny *a, gs_error *error) {{\n"
        f"    return {f.name}({', '.join([*given, 'NULL', 'error'])});\n}}\n"
    )
