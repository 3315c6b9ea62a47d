"""What is said: dimensions, types, index maps, operators, the graph, and loop nests in TIR."""
