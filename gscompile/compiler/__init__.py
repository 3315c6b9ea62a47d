"""From a graph to a compiled library: plan, loop nests, one PrimFunc, a target's code."""
