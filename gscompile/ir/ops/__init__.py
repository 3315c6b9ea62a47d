"""The operators: pointwise functions, and what they are built from."""
