"""Compiled graphs leave home: one library for C, C++ and Python, which needs nothing of TVM, nor of the compiler."""
