"""A compiled function meets arrays.  Needs no compiler: deployed kernels use it as it is."""
