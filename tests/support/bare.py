"""What programs print and how they end by each mechanism, held against what they do bare."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from driver import SEEN, SOURCE

MECHANISMS = ("preload", "both", "auto")


class Case(unittest.TestCase):
    """`static` and `plain` are programs (tests/programs/helpers/starts.c) in a directory that every user may read."""

    @classmethod
    def setUpClass(cls):
        if not shutil.which("cc"):
            raise unittest.SkipTest("no cc")
        cls.top = pathlib.Path(tempfile.mkdtemp(prefix="seen-exec-")).resolve()
        cls.addClassCleanup(shutil.rmtree, cls.top, ignore_errors=True)
        cls.static, cls.plain = str(cls.top / "static"), str(cls.top / "plain")
        helper = [str(SOURCE / "tests/programs/helpers/starts.c"), f"-I{SOURCE}/tests/support", f"-I{SOURCE}", "-D_GNU_SOURCE"]
        subprocess.run(["cc", "-o", cls.plain, *helper], check=True)
        if subprocess.run(["cc", "-static", "-o", cls.static, *helper], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            raise unittest.SkipTest("no static programs can be built here")
        os.chmod(cls.top, 0o755)

    def run_by(self, mechanism, words, files=None, options=(), above=(), user=None):
        """What a command prints and its status, in a directory of its own.  above: words before those of seen."""
        work, home = self.top / "work", self.top / "home"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        home.mkdir(exist_ok=True)
        for name, text in (files or {}).items():
            (work / name).write_text(text)
        if user is not None:
            shutil.rmtree(home)
            home.mkdir()
            os.chown(home, user, user)
            os.chown(work, user, user)
        wrap = [] if mechanism == "bare" else [SEEN, "run", "--quiet", "--via", mechanism, *options, "--"]
        done = subprocess.run([*above, *wrap, *words], cwd=work, env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=60, check=False, **({} if user is None else {"user": user, "group": user, "extra_groups": []}))
        return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")

    def environment(self):
        return {"HOME": str(self.top / "home"), "PATH": f"{pathlib.Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
                "LC_ALL": "C", "TERM": "dumb", "DEBUGINFOD_URLS": ""}

    def compare(self, *words, mechanisms=MECHANISMS, clean=lambda text: text, **more):
        """The same output and status by each mechanism as bare; what was printed bare."""
        bare = self.run_by("bare", words, **more)
        for mechanism in mechanisms:
            with self.subTest(mechanism):
                code, output, errors = self.run_by(mechanism, words, **more)
                self.assertEqual(clean(output).splitlines(), clean(bare[1]).splitlines(), errors[-2000:])
                self.assertEqual(code, bare[0])
        return bare[1]
