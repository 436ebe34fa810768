"""The tables of shim/: what each of libc's functions and each system call does."""
import os
import pathlib
import re

SOURCE = pathlib.Path(os.environ.get("SEEN_SOURCE") or pathlib.Path(__file__).parents[2])


def rows(file, macro):
    """The arguments of each line of a table: MACRO(a, b, ...)."""
    text = re.sub(r"/\*.*?\*/", "", (SOURCE / file).read_text(), flags=re.S)
    return [re.split(r", ", row, maxsplit=9) for row in re.findall(r"^%s\((.*)\)\s*$" % macro, text, re.M)]
