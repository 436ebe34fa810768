"""The same as test_sanitizers.py with every sanitizer, and ten programs below each of valgrind's tools that looks for errors."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import test_sanitizers  # noqa: E402
from test_sanitizers import SANITIZED  # noqa: E402


class Sanitizers(test_sanitizers.Sanitizers):
    sanitized = {**SANITIZED,
                 "tsan-static": (("gcc", "-fsanitize=thread", "-static-libtsan"), True),
                 "tsan-clang": (("clang", "-fsanitize=thread"), True),
                 "lsan": (("gcc", "-fsanitize=leak"), True),
                 "lsan-clang": (("clang", "-fsanitize=leak"), True),
                 "ubsan": (("gcc", "-fsanitize=undefined"), True),
                 "ubsan-clang": (("clang", "-fsanitize=undefined"), True)}


class Valgrind(test_sanitizers.Valgrind):
    PROGRAMS = ("program", "cat file", "sed -n 1p file", "sort file", "grep file file", "cp file copy", "mv copy moved", "rm moved",
                "tar cf new.tar file", "perl -e 'print 1'", "bash -c 'echo x >new; cat new; rm new'")
    tools = dict.fromkeys(("memcheck", "helgrind", "drd"), PROGRAMS)


if __name__ == "__main__":
    unittest.main()
