"""packages: a package is built bare, by auto and by both, and a build that came to something else is found."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from importlib.machinery import SourceFileLoader

PACKAGES = os.path.join(os.environ["SEEN_SOURCE"], "tests/bench/packages")
BUILD = os.path.realpath(os.environ["SEEN_BUILD"])
FILES = {
    "changelog": "tiny (1.0) unstable; urgency=low\n\n  * First.\n\n"
                 " -- A Person <person@example.com>  Mon, 17 Nov 2025 08:00:00 +0000\n",
    "control": "Source: tiny\nMaintainer: A Person <person@example.com>\nRules-Requires-Root: no\n\n"
               "Package: tiny\nArchitecture: all\nDescription: tiny\n",
    "rules": "#!/usr/bin/make -f\nbuild binary-arch:\nclean:\n\trm -rf debian/tiny debian/files\nbinary binary-indep:\n"
             "\tmkdir -p debian/tiny/DEBIAN debian/tiny/usr/share/tiny\n"
             "\techo same > debian/tiny/usr/share/tiny/file\n\tdpkg-gencontrol -ptiny -Pdebian/tiny\n"
             "\tdpkg-deb --root-owner-group -b debian/tiny ..\n",
    "source/format": "3.0 (native)\n",
}


def setUpModule():
    for tool in ("dpkg-buildpackage", "make"):
        if not shutil.which(tool):
            raise unittest.SkipTest("%s is not installed" % tool)


class Packages(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="seen-test.packages.")
        self.addCleanup(shutil.rmtree, self.top, ignore_errors=True)
        self.package = os.path.join(self.top, "tiny")
        for name, text in FILES.items():
            path = os.path.join(self.package, "debian", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
        os.chmod(os.path.join(self.package, "debian/rules"), 0o755)

    def farm(self, build=BUILD, names=(), **environment):
        done = subprocess.run([sys.executable, PACKAGES, "--directory", os.path.join(self.top, "farm"), "--rounds", "1", *(names or [self.package])],
                              env={**os.environ, "SEEN_BUILD": build, **environment}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=300, check=False)
        return done.returncode, done.stdout, done.stderr

    def fake(self, text):
        build = os.path.join(self.top, "fake")
        os.makedirs(os.path.join(build, "bin"))
        with open(os.path.join(build, "bin/seen"), "w", encoding="ascii") as file:
            file.write("#!/bin/sh\n%s\nexec %s/bin/seen \"$@\"\n" % (text, BUILD))
        os.chmod(file.name, 0o755)
        return build

    def test_same(self):
        status, text, errors = self.farm()
        self.assertEqual(status, 0, errors)
        ratio = r" [0-9.]+ \([0-9. to]+\) \|"
        self.assertRegex(text, r"\n\| tiny \|  \| [0-9.]+ s \|(%s%s [1-9][0-9,]* \| 0 \|){2} files \|\n\n"
                               r"Built: 1 of 1 packages\.  By auto: median [0-9.]+ \(goal 1\.015: \w+\), worst [0-9.]+ \(goal 1\.04: \w+\)\.\n$" % (ratio, ratio))

    def mirror(self, *missing):
        """A PATH with an apt-get that has no sources of these packages, and what bare has of the others' tools."""
        tools = os.path.join(self.top, "tools")
        os.makedirs(tools)
        with open(os.path.join(tools, "apt-get"), "w", encoding="ascii") as file:
            file.write("#!/bin/sh\nfor word; do case $word in %s) echo 'E: Failed to fetch http://mirror/%s.tar.gz  404  Not Found'; echo 'E: Failed to fetch some archives.'; exit 100;; esac; done\n"
                       % ("|".join(missing), missing[0]))
        os.chmod(file.name, 0o755)
        return tools + ":" + os.environ["PATH"]

    def test_sources_that_cannot_be_had(self):
        """The package is named, and those behind it are built; the goal is of these alone, and says so."""
        status, text, errors = self.farm(names=["libgone", self.package], PATH=self.mirror("libgone"))
        self.assertEqual(status, 0, errors)
        self.assertRegex(text, r"\n\| libgone \|  \| not built: E: Failed to fetch http://mirror/libgone\.tar\.gz  404  Not Found \|( +\|){9}\n")
        self.assertRegex(text, r"\n\| tiny \|  \| [0-9.]+ s \|")
        self.assertIn("\nBuilt: 1 of 2 packages, fewer than were asked for.  By auto: median ", text)

    def test_nothing_can_be_had(self):
        status, text, _ = self.farm(names=["libgone"], PATH=self.mirror("libgone"))
        self.assertEqual(status, 1)
        self.assertTrue(text.endswith("\nBuilt: 0 of 1 packages, fewer than were asked for.\n"), text)

    def test_goal(self):
        module = SourceFileLoader("packages", PACKAGES).load_module()
        self.assertIn("median 1.010 (goal 1.015: met), worst 1.050 (goal 1.04: MISSED)", module.judge([1.0, 1.01, 1.05], 3))
        self.assertIn("median 1.020 (goal 1.015: MISSED), worst 1.030 (goal 1.04: met)", module.judge([1.01, 1.03], 2))

    def test_other_results(self):
        """Bytes of files that are as large as bare's, too: but only where bare builds agree."""
        def built(*digests, last="1"):
            rows = {way: [("./a", "-rw-r--r--", last if way == "both" else "1")] for way in module.WAYS}
            return {way: {"results": {"a.deb": (rows[way], digest)}} for way, digest in zip(module.WAYS, digests)}

        module = SourceFileLoader("packages", PACKAGES).load_module()
        self.assertTrue(module.compare("a", [built("x", "x", "x"), built("x", "x", "x")]))
        self.assertFalse(module.compare("a", [built("x", "y", "z"), built("w", "y", "z")]))
        self.assertFalse(module.compare("a", [built("x", "y", "z")]))
        for digests in ("x", "y", "x"), ("x", "x", "y"):
            self.assertRaisesRegex(module.Failed, "other bytes", module.compare, "a", [built("x", "x", "x"), built(*digests)])
        self.assertRaisesRegex(module.Failed, "a, both: other files", module.compare, "a", [built("x", "x", "x", last="2")])

    def test_failed_build(self):
        status, _, errors = self.farm(self.fake("exit 3"))
        self.assertEqual(status, 1)
        self.assertIn("auto: status 3", errors)


if __name__ == "__main__":
    unittest.main()
