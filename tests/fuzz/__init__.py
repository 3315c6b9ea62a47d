"""Hostile input: whatever is passed in, a :class:`gscompile.GSError` or a result comes out, within 10 seconds and 2 GB.

``python -m tests.fuzz`` runs as many cases as it is asked for, for hours if need be; ``python -m tests.fuzz --help`` says how.
Each module whose name ends in ``_cases`` has a function ``run(draw)`` that makes one case of a :class:`tests.fuzz.draw.Draw` and
runs it.
"""
