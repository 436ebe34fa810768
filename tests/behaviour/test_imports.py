"""What the library that lives in other people's processes takes from libc: these names and no others.

No malloc, no stdio (fileno only inspects a stream; see below for the end), no locks, no exit, nothing that sets errno by itself or is
a cancellation point.  A name that is missing here is a decision to be made, with its reason.
"""

import re
import subprocess
import unittest

from harness import LIBRARY

ALLOWED = {
    # memory and text: neither allocate nor inspect the locale
    "memchr", "memrchr", "memcmp", "memcpy", "memmove", "memset", "strchr", "strcmp", "strcspn", "strlen", "strncmp", "strnlen", "strpbrk", "strrchr",
    "strspn", "strstr", "memmem",
    # the program's environment, only read; errno, saved and put back
    "environ", "__environ", "__errno_location",
    # has there only ever been one thread: only read
    "__libc_single_threaded",
    # the vDSO
    "clock_gettime",
    # what is loaded, and where; the functions behind the exported names, where that is not known (musl's loader)
    "_r_debug", "dlsym", "dl_iterate_phdr",
    # at exit, for streams that a notice may be in: never waits for a lock
    "ftrylockfile", "fflush_unlocked", "funlockfile", "stdout",
    # was something read from, or written to, a reader's: only inspected
    "stderr", "stdin",
    # once, at the start
    "on_exit", "pthread_atfork", "__register_atfork", "gnu_get_libc_version", "getauxval",
    # the child of posix_spawn that is to be supervised: a system call with a stack of its own; a set of signals, only read
    "clone", "sigismember",
    # the compiler's and the linker's own
    "__stack_chk_fail", "__tls_get_addr",
}

# musl has none of these: its loader ends a program that preloads a library which needs one.
NOT_IN_MUSL = {"_r_debug", "on_exit", "__register_atfork", "gnu_get_libc_version"}


class Imports(unittest.TestCase):
    def names(self, *options):
        output = subprocess.run(["nm", "-D", *options, LIBRARY], check=True, stdout=subprocess.PIPE, text=True).stdout
        for line in output.splitlines():
            kind, name = re.fullmatch(r"[0-9a-f ]*([A-Za-z]) (\S+)", line.strip()).groups()
            yield kind, re.sub(r"@.*", "", name)

    def test_imports(self):
        self.assertEqual({name for _, name in self.names("--undefined-only")} - ALLOWED, set())

    def test_weak_for_musl(self):
        strong = {name for kind, name in self.names("--undefined-only") if kind not in "wv"}
        self.assertEqual(strong & NOT_IN_MUSL, set())

    def test_own_names_are_not_imported(self):
        """An import that is also an export would be bound to another library's, or the program's, or our own wrapper."""
        exported = {name for _, name in self.names("--defined-only")}
        imported = {name for _, name in self.names("--undefined-only")}
        self.assertEqual(exported & imported, set())

    def test_no_dependency_but_libc(self):
        output = subprocess.run(["readelf", "-d", LIBRARY], check=True, stdout=subprocess.PIPE, text=True).stdout
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", output))
        self.assertTrue(needed <= {"libc.so.6", "libdl.so.2"}, needed)
        self.assertNotIn("TEXTREL", output)
        self.assertNotIn("(RPATH)", output)
        self.assertNotIn("(RUNPATH)", output)

    def test_no_executable_stack(self):
        output = subprocess.run(["readelf", "-lW", LIBRARY], check=True, stdout=subprocess.PIPE, text=True).stdout
        for line in output.splitlines():
            if "GNU_STACK" in line:
                self.assertNotIn("RWE", line)
