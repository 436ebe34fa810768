"""kill -9 of any process at any moment: the session stays usable and every program ends in time.

SEEN_KILLS sets their number (default 1,000), SEEN_SEED the sequence."""

import os
import random
import signal
import subprocess
import time
import unittest

from harness import NOTICE, SEEN, SessionTest, lines

KILLS = int(os.environ.get("SEEN_KILLS") or 1000)
SEED = int(os.environ.get("SEEN_SEED") or 20261121)
DEADLINE = 30


def descendants(pid):
    """Process numbers below one, by /proc."""
    found = []
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
            for child in file.read().split():
                found.append(int(child))
                found.extend(descendants(int(child)))
    except OSError:
        pass
    return found


class KillTest(SessionTest):
    def test_killed_anywhere(self):
        rand = random.Random(SEED)
        contents = {name: self.session.write(name, lines(name, 150)) for name in ("a", "b", "c")}
        work = "cat a; cat b | cat > copy.$$; cat a b c > /dev/null; echo x > out.$$; bash -c 'cat c; cat c'; rm -f copy.$$ out.$$"
        kills = runs = 0
        while kills < KILLS:
            # several runs of one session at once
            roots = [subprocess.Popen([SEEN, "run", "--quiet", "--session", "test", "--agent", "fake_agent", "--agent-is", "outside", "--", "bash", "-c", "; ".join([work] * 3)],
                                      cwd=self.session.workspace, env=self.session.environment, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(3)]
            runs += len(roots)
            end = time.monotonic() + rand.random() * 0.04
            while time.monotonic() < end:
                pass
            for _ in range(8):
                targets = [pid for root in roots for pid in [root.pid] + descendants(root.pid)]
                if not targets:
                    break
                try:
                    os.kill(rand.choice(targets), signal.SIGKILL)
                    kills += 1
                except ProcessLookupError:
                    pass
                time.sleep(rand.random() * 0.004)
            for root in roots:
                try:
                    output, _ = root.communicate(timeout=DEADLINE)
                except subprocess.TimeoutExpired:
                    self.fail("a program did not end within %d s" % DEADLINE)
                for part in output.split(b"]\n"):
                    self.assertLessEqual(part.count(NOTICE), 1)
        for name, data in contents.items():
            self.assertEqual(self.session.read(name), data)
        # whatever was left behind holds no notice
        for name in os.listdir(self.session.workspace):
            self.assertNotIn(NOTICE, self.session.read(name), name)
        # and the session works as on its first day
        data = self.deliver("fresh")
        self.assertNotice(self.agent.shell("cat fresh"), "fresh")
        self.assertReal(self.agent.shell("cat fresh | cat"), data)
        print("%d kills in %d runs, seed %d" % (kills, runs, SEED))


if __name__ == "__main__":
    unittest.main()
