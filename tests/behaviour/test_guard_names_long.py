"""The same as test_guard_names.py with each name in each call, by the agent and by tools."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import test_guard_names  # noqa: E402
from harness import VIA  # noqa: E402, F401  (by all mechanisms)
from test_guard_names import CALLS, NAMES, NOT_BY_TOOLS  # noqa: E402


class Whole:
    shell_names = [name for name in NAMES if not isinstance(NAMES[name], tuple) and name not in NOT_BY_TOOLS]

    def pairs(self):
        return [(name, call) for name in NAMES for call in CALLS]


class Warn(Whole, test_guard_names.Warn):
    pass


class Deny(Whole, test_guard_names.Deny):
    pass


if __name__ == "__main__":
    unittest.main()
