"""Programs that tests run in Python processes of their own."""

WITHOUT_TORCH = "import sys; sys.modules['torch'] = None\n"
"""The beginning of one that needs no torch: TVM imports it where it is installed, which takes as long as all the rest.

Not for programs whose threads are tested: with torch comes a library of OpenMP, whose threads gscompile then uses.
"""
