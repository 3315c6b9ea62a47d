"""All numbers of the cuda rules.  None has been measured: they follow from what every GPU since compute capability 7.0 is."""

from __future__ import annotations

THREADS_PER_BLOCK = 256  # a multiple of the warp; small enough that eight thread blocks fit a multiprocessor
# threads that fill a GPU; more would read the indices more often.  Not asked of the GPU: kernels are compiled where there is none
ORDERED_THREADS = 16384
ORDERED_RANGES = 64  # ranges of an indexed axis where the number of columns is known at run time only
