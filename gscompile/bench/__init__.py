"""``gscompile bench``: what other libraries do in the same time, on the same arrays, in the same run."""
