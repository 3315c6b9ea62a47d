"""A compiled function meets arrays: what needs neither a compiler nor to have compiled in this process."""
