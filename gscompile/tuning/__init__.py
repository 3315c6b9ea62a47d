"""Tuning that knows the indices: candidates, measured in processes of their own, and the search for the best."""
