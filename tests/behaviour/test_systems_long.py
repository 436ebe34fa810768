"""Packages for many systems (scripts/package --release), each installed, used and removed in a clean root of a Debian release.

For root alone; needs debootstrap, bubblewrap, a mirror, and qemu-user-static for aarch64.  Rows: docs/systems.md.
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from driver import SOURCE

ROOT = str(SOURCE / "packaging/root")
SUITES = ["bullseye", "bookworm", "trixie", "sid"]
COLUMNS = ["installs", "demo", "calls", "sink", "undo", "uninstalls"]


def run(*words, **more):
    more.setdefault("check", True)
    return subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=3000, **more)


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("debootstrap") and shutil.which("bwrap"), "needs root, debootstrap, bubblewrap")
class Systems(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.top = pathlib.Path(tempfile.mkdtemp(prefix="seen-systems-"))
        cls.addClassCleanup(shutil.rmtree, cls.top, ignore_errors=True)
        run(SOURCE / "scripts/package", "--release", "--programs", cls.top / "programs", "--output", cls.top / "packages")

    def table(self, arch, suites, debian_arch):
        for suite in suites:
            for pattern in (f"seen_*_{debian_arch}.deb", f"seen-*-linux-{arch}.tar.gz"):
                package, = self.top.glob("packages/" + pattern)
                with self.subTest(suite=suite, package=package.name), tempfile.TemporaryDirectory() as scratch:
                    run("cp", "-a", run(ROOT, "make", suite, debian_arch).stdout.strip(), scratch + "/root")
                    printed = run(ROOT, "run", scratch + "/root", "--ro-bind", package.parent, "/packages", "--ro-bind", self.top / "programs" / arch,
                                  "/programs", "--ro-bind", SOURCE / "tests", "/tests", "--", "/bin/bash", "/tests/support/system_check",
                                  f"/packages/{package.name}", "/programs", "/tests/support").stdout
                    print(f"{suite} {arch} {package.name}\n{printed}", flush=True)
                    rows = [line.split("\t") for line in printed.splitlines()]
                    self.assertEqual([(row[0], row[1]) for row in rows], [(what, "ok") for what in COLUMNS], printed)

    def test_x86_64(self):
        self.table("x86_64", SUITES, "amd64")

    @unittest.skipUnless(shutil.which("qemu-aarch64-static"), "no qemu-user-static")
    def test_aarch64(self):
        self.table("aarch64", ["bookworm"], "arm64")

    def test_needs_no_newer_glibc_than_2_28(self):
        for package in self.top.glob("packages/*.tar.gz"):
            with tempfile.TemporaryDirectory() as scratch:
                run("tar", "-C", scratch, "-xf", package)
                for name in ("bin/seen", "lib/seen/libseen.so", "lib/seen/seen-demo-agent"):
                    for path in pathlib.Path(scratch).glob("*/" + name):
                        versions = re.findall(r"GLIBC_([\d.]+)", run("objdump", "-T", path).stdout)
                        self.assertLessEqual(max([tuple(map(int, version.split("."))) for version in versions], default=(0,)), (2, 28), name)


if __name__ == "__main__":
    unittest.main()
