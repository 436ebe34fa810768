"""Programs in tmux, driven by keys, on a screen that can be read."""
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest

from harness import wait_until

DEADLINE = 60


@unittest.skipUnless(shutil.which("tmux"), "no tmux")
class Tmux(unittest.TestCase):
    """A terminal whose screen can be read.  `environment(**more)` of the class gives that of its programs, `workspace` where they start."""

    def setUp(self):
        super().setUp()
        self.directory = tempfile.mkdtemp(prefix="seen-tmux.")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.socket = os.path.join(self.directory, "tmux")

    def tmux(self, *words, check=True):
        return subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", *words], env=self.environment(TERM="xterm-256color"),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=DEADLINE,
                              check=check).stdout.decode()

    def open(self, words, columns=80, height=24, shell=False):
        self.tmux("new-session", "-d", "-x", str(columns), "-y", str(height), "-c", self.workspace,
                  *(["bash", "--norc"] if shell else words))
        self.addCleanup(self.tmux, "kill-server", check=False)
        self.tmux("set-option", "-g", "remain-on-exit", "on")

    def screen(self):
        return self.tmux("capture-pane", "-p").split("\n")[:-1]

    def shows(self, pattern, seconds=DEADLINE):
        """The screen, once one of its lines matches."""
        end = time.monotonic() + seconds
        while True:
            screen = self.screen()
            if any(re.search(pattern, line) for line in screen):
                return screen
            if time.monotonic() > end:
                raise AssertionError("no %r:\n%s" % (pattern, "\n".join(screen)))
            time.sleep(0.05)

    def hides(self, pattern):
        try:
            wait_until(lambda: not any(re.search(pattern, line) for line in self.screen()), DEADLINE)
        except AssertionError:
            raise AssertionError("still %r:\n%s" % (pattern, "\n".join(self.screen()))) from None

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def ended(self):
        """The program has ended, with 0 where the terminal knows: tmux 3.3 can miss the status of one that ends at once."""
        wait_until(lambda: self.tmux("list-panes", "-F", "#{pane_dead} #{pane_dead_status}").strip() in ("1", "1 0"), DEADLINE)

    def line(self, screen, pattern):
        found = [line for line in screen if re.search(pattern, line)]
        self.assertTrue(found, (pattern, screen))
        return found[0]
