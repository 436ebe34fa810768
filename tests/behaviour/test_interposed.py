"""Every function that libc.so.6 exports is interposed, or left alone for a reason that is written down.

Compares `nm -D libc.so.6` with shim/preload/hooks.def and with left_out.txt, whose head tells its form.
"""

import ctypes
import os
import pathlib
import platform
import re
import shutil
import subprocess
import unittest

HERE = pathlib.Path(__file__).resolve().parent
HOOKS = HERE.parents[1] / "shim" / "preload" / "hooks.def"
LEFT_OUT = HERE / "left_out.txt"


def version_of(text):
    return tuple(int(part) for part in text.split("."))


def libc_path():
    """The file of the libc that this interpreter runs with."""
    ctypes.CDLL("libc.so.6")
    with open("/proc/self/maps") as maps:
        for line in maps:
            path = line.rstrip("\n").partition("/")[2]
            if re.search(r"(^|/)libc([.-][0-9.]+)?\.so(\.6)?$", path):
                return "/" + path
    raise unittest.SkipTest("no glibc in this process")


def exported(path):
    """The functions that a library exports, whatever their version, but those that only glibc itself may use."""
    nm = subprocess.run(["nm", "-D", "--defined-only", path], stdout=subprocess.PIPE, check=True, text=True)
    names = set()
    for line in nm.stdout.splitlines():
        kind, name = line.split()[-2:]
        if kind in "TtWi" and "@GLIBC_PRIVATE" not in name and "@@GLIBC_PRIVATE" not in name:
            names.add(name.partition("@")[0])
    return names


class Interposed(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        if not shutil.which("nm"):
            raise unittest.SkipTest("no nm (binutils)")
        try:
            cls.here = version_of(os.confstr("CS_GNU_LIBC_VERSION").split()[1])
        except (ValueError, OSError, AttributeError):
            raise unittest.SkipTest("not glibc")
        cls.libc = exported(libc_path())
        cls.hooks = re.findall(r"^HOOK\((\w+), \w+\)", HOOKS.read_text(), re.M)
        cls.read_list()

    @classmethod
    def read_list(cls):
        cls.written_for = cls.machine = None
        cls.left_out = {}  # name: (kind, reason, version it came with or None)
        cls.headings = {}  # (kind, reason): its names in the file's order
        cls.twice = []
        heading = None
        for number, line in enumerate(LEFT_OUT.read_text().splitlines(), 1):
            if not line or line.startswith("#"):
                continue
            if line.startswith("= glibc "):
                version, cls.machine = line.split()[2:]
                cls.written_for = version_of(version)
            elif line.startswith("= "):
                match = re.fullmatch(r"= (call|none): (\S.*)", line)
                if not match:
                    raise AssertionError(f"{LEFT_OUT}:{number}: not a heading: {line}")
                heading = match.groups()
                if heading in cls.headings:
                    raise AssertionError(f"{LEFT_OUT}:{number}: a heading twice")
                cls.headings[heading] = []
            else:
                match = re.fullmatch(r"(\w+)(?: (\d+\.\d+))?", line)
                if not match or not heading:
                    raise AssertionError(f"{LEFT_OUT}:{number}: not a name: {line}")
                name, came_with = match.groups()
                if name in cls.left_out:
                    cls.twice.append(name)
                cls.left_out[name] = (*heading, came_with and version_of(came_with))
                cls.headings[heading].append(name)

    def test_every_name_is_judged(self):
        unknown = sorted(self.libc - set(self.hooks) - set(self.left_out))
        variants = sum(kind == "call" and name in self.libc for name, (kind, _, _) in self.left_out.items())
        hooked = len(self.libc & set(self.hooks))
        print(f"\nglibc {'.'.join(map(str, self.here))}: {len(self.libc)} functions; {hooked + variants + len(unknown)} touch files, "
              f"descriptors or processes: {hooked} interposed, {variants} left out by {len([h for h in self.headings if h[0] == 'call'])} "
              f"reasons, {len(unknown)} neither")
        absent = sorted(set(self.hooks) - self.libc)
        if absent:
            print(f"interposed, and not in this libc: {' '.join(absent)}")
        self.assertEqual(unknown, [], "exported by libc, neither in hooks.def nor in left_out.txt")

    def test_no_name_in_both(self):
        self.assertEqual(sorted(set(self.hooks) & set(self.left_out)), [])

    def test_listed_names_exist(self):
        if (self.here, platform.machine()) < (self.written_for, self.machine) or platform.machine() != self.machine:
            self.skipTest("the list was written for another libc")
        gone = [name for name, (_, _, came_with) in self.left_out.items()
                if name not in self.libc and (came_with or self.written_for) <= self.here]
        if self.here != self.written_for:
            print("\nlisted, and not in this libc:", " ".join(gone) or "none")
            return
        self.assertEqual(gone, [], "in left_out.txt, not in libc")

    def test_hooks_exist(self):
        if self.here != self.written_for:
            self.skipTest("the list was written for another libc")
        # what a newer libc has may be interposed already
        newer = {"openat2", "pidfd_spawn", "pidfd_spawnp"}
        others = {"io_submit"}  # libaio's
        self.assertEqual(sorted(set(self.hooks) - self.libc - newer - others), [])

    def test_form(self):
        self.assertEqual(self.twice, [], "a name twice")
        self.assertEqual(self.hooks, sorted(self.hooks), "hooks.def is not sorted")
        for heading, names in self.headings.items():
            self.assertEqual(names, sorted(names), f"not sorted: {heading}")
            self.assertTrue(names, f"no name under {heading}")
