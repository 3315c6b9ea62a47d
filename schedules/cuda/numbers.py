"""All numbers of the cuda rules.  None has been measured: they follow from what every GPU since compute capability 7.0 is."""

from __future__ import annotations

THREADS_PER_BLOCK = 256
"""Threads of a thread block: a multiple of the warp, small enough that eight fit a multiprocessor."""

ORDERED_THREADS = 16384
"""Threads that fill a GPU; more would read the indices more often.  Kernels may be compiled where the GPU is not known."""

ORDERED_RANGES = 64
"""Ranges of an indexed axis, where the number of columns is known at run time only."""

SCAN_BLOCK = 256
"""Steps of a scan that one thread takes."""

SCAN_ROWS = 16384
"""Rows of a scan that fill a GPU without cutting any."""
