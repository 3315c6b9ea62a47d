"""The builder, in parts: one file per family of operators, all adding values to one graph."""
