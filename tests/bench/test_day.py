"""The agent's day of the bench: its files are what makes them says, its driver plays them, and its judge finds what is wrong.

Nothing here is timed.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.join(os.environ["SEEN_SOURCE"], "tests/bench")
BUILD = os.environ["SEEN_BUILD"]
for loaded in [name for name in sys.modules if name.split(".")[0] == "harness"]:
    del sys.modules[loaded]  # tests/support/harness.py is another
sys.path.insert(0, HERE)

from harness import day, place, ways, works_day  # noqa: E402


def text_of(name, lines=40):
    return "".join("%s has a line %d\n" % (name, i) for i in range(lines)).encode()


def notice_of(path, content, lines=None, size=None):
    return b"[File previously read: %s. Content unchanged since last read. If it is not in your context, repeat. (%d lines, %d bytes, version %s, seen-%s)]\n" % (
        path.encode(), content.count(b"\n") if lines is None else lines, len(content) if size is None else size, b"0" * 12, b"0" * 16)


def command_notice(words, size):
    return b"[Command already run: %s. Same output as 2 seconds ago: nothing that it reads has changed. (%d bytes, seen-%s)]\n" % (words, size, b"0" * 16)


def diff_of(path, old, new):
    with tempfile.TemporaryDirectory() as directory:
        for name, content in (("old", old), ("new", new)):
            place.write_file(os.path.join(directory, name), content)
        text = subprocess.run(["diff", "-u", "old", "new"], cwd=directory, stdout=subprocess.PIPE, check=False).stdout
    head = (b"[File changed since last read: %s. Below is not the file but what changed in it, a unified diff against version %s. (%d bytes, version %s, "
            b"seen-%s)]\n" % (path.encode(), b"0" * 12, len(new), b"1" * 12, b"0" * 16))
    return head + text


class Judging(unittest.TestCase):
    """Days of a few steps: what bare gave, and what a way gave."""

    def setUp(self):
        self.steps, self.got, self.wanted = [], [], []

    def add(self, step, wanted, got=None, status=0, **files):
        if isinstance(step, str):
            step = {"run": step}
        self.steps.append(step)
        self.wanted.append({"output": wanted, "status": 0, "files": files})
        self.got.append({"output": wanted if got is None else got, "status": status, "files": {}})

    def judged(self):
        return day.judge("way", self.steps, self.got, self.wanted)

    def refused(self, why):
        with self.assertRaisesRegex(place.Failed, why):
            self.judged()

    def test_the_same(self):
        self.add("cat a", text_of("a"), a=text_of("a"))
        self.add({"edit": "a"}, b"edited a\n")
        found = self.judged()
        self.assertEqual((found.notices, found.commands, found.diffs), (0, 0, 0))
        self.assertEqual(found.given, [text_of("a"), b"edited a\n"])

    def test_other_bytes(self):
        self.add("cat a", text_of("a"), text_of("a").replace(b"line 7", b"line 8"), a=text_of("a"))
        self.refused("step 0, .*: b'a has a line 8.n' in place of b'a has a line 7")

    def test_fewer_and_more_bytes(self):
        self.add("cat a", text_of("a"), text_of("a", 39), a=text_of("a"))
        self.refused("ends after")
        self.got[0]["output"] = text_of("a", 41)
        self.refused("in place of b''")

    def test_another_status(self):
        self.add("cat a", b"", status=1)
        self.refused("exit status 1, not 0")

    def test_a_step_that_is_missing(self):
        self.add("cat a", b"")
        self.got.pop()
        self.refused("0 of 1 steps")

    def test_a_notice(self):
        a, b = text_of("a"), text_of("b")
        self.add("cat a b", a + b, a=a, b=b)
        self.add("cat b", b, notice_of("b", b), b=b)
        self.add("cat a b", a + b, a + notice_of("b", b), a=a, b=b)
        found = self.judged()
        self.assertEqual(found.notices, 2)
        self.assertEqual(found.given[1], notice_of("b", b))

    def test_a_notice_for_what_was_never_given(self):
        a, b = text_of("a"), text_of("b")
        self.add("cat a", a, a=a)
        self.add("cat b", b, notice_of("b", b), b=b)
        self.refused("a notice for b, which was never given")

    def test_a_notice_for_another_version(self):
        a = text_of("a")
        self.add("cat a", a, a=a)
        self.add("cat a", a + b"more\n", notice_of("a", a + b"more\n"), a=a + b"more\n")
        self.refused("never given")

    def test_a_notice_for_another_file(self):
        a, b = text_of("a"), text_of("b")
        self.add("cat a b", a + b, a=a, b=b)
        self.add("cat b", b, notice_of("a", a), b=b)
        self.refused("a notice for a, whose bytes these are not")

    def test_a_notice_that_lies(self):
        a = text_of("a")
        self.add("cat a", a, a=a)
        self.add("cat a", a, notice_of("a", a, lines=1), a=a)
        self.refused("wrong number of lines")
        self.got[1]["output"] = notice_of("a", a, size=10)
        self.refused("whose bytes these are not")

    def test_a_notice_after_a_compaction(self):
        a = text_of("a")
        self.add("cat a", a, a=a)
        self.add({"compact": True}, b"")
        self.add("cat a", a, notice_of("a", a), a=a)
        self.refused("never given")

    def test_a_notice_for_what_the_agent_cut(self):
        a = text_of("a", 3000)
        self.assertGreater(len(a), day.LIMIT_BYTES)
        self.add("cat a", a, a=a)
        self.add("cat a", a, notice_of("a", a), a=a)
        self.assertRaises(place.Failed, self.judged)

    def test_a_notice_after_parts(self):
        a = text_of("a")
        lines = a.splitlines(keepends=True)
        self.add("sed -n 1,20p a", b"".join(lines[:20]))
        self.add("sed -n 15,40p a", b"".join(lines[14:]))
        self.add("cat a", a, notice_of("a", a), a=a)
        self.assertEqual(self.judged().notices, 1)
        self.got[1]["output"] = self.wanted[1]["output"] = b"".join(lines[21:])  # line 21 was not given
        self.refused("never given")

    def test_a_notice_for_a_command(self):
        self.add("grep -n has a", text_of("a"))
        self.add("grep -n has a", text_of("a"), command_notice(b"grep -n has a", len(text_of("a"))))
        self.assertEqual(self.judged().commands, 1)
        self.wanted[1]["output"] = text_of("b")
        self.refused("a command whose output was never given")

    def test_a_diff(self):
        old = text_of("a", 200)
        new = old.replace(b"line 7\n", b"line seven\n").replace(b"line 150\n", b"")
        self.add("cat a", old, a=old)
        self.add("cat a", new, diff_of("a", old, new), a=new)
        self.add("cat a", new, notice_of("a", new), a=new)
        found = self.judged()
        self.assertEqual((found.diffs, found.notices), (1, 1))

    def test_a_diff_that_leads_elsewhere(self):
        old = text_of("a", 200)
        new = old.replace(b"line 7\n", b"line seven\n")
        self.add("cat a", old, a=old)
        self.add("cat a", new, diff_of("a", old, old.replace(b"line 7\n", b"line eight\n")), a=new)
        self.refused("a diff of a that does not lead to what is there")

    def test_a_diff_against_what_was_not_given(self):
        old = text_of("a", 200)
        new = old.replace(b"line 7\n", b"line seven\n")
        self.add("cat a", new, diff_of("a", old, new), a=new)
        self.refused("a diff of a that cannot be applied")
        self.setUp()
        self.add("cat a", old.replace(b"line 8\n", b"x\n"), a=old.replace(b"line 8\n", b"x\n"))
        self.add("cat a", new, diff_of("a", old, new), a=new)
        self.refused("cannot be applied")


class Days(unittest.TestCase):
    def test_files(self):
        """The recorded days are what makes them would make."""
        for name in day.SHARES:
            with open(day.path_of(name), encoding="utf-8") as file:
                self.assertEqual(file.read(), day.script(name), "run `python3 -m harness.day` in tests/bench")
            head, steps = day.load(name)
            self.assertEqual((head["name"], len(steps)), (name, day.SHARES[name]["steps"]))
            for step in steps:
                self.assertEqual(len({"run", "edit", "compact"}.intersection(step)), 1, step)

    def test_repeats(self):
        """As many as in the sessions that they are made after, not more; the result is measured by the bench."""
        for name, shares in day.SHARES.items():
            made = day.Maker(shares)
            made.make()
            for kind in ("identical", "covered", "changed", "after_compaction"):
                self.assertLessEqual(made.given[kind], 1.1 * shares[kind] * made.given[shares["of"]] + 5000, (name, kind))

    def test_the_workspace(self):
        files = day.workspace(1)
        self.assertEqual(files, day.workspace(1))
        self.assertNotEqual(files, day.workspace(2))

    def test_tokens(self):
        """Each text is counted by itself."""
        with tempfile.TemporaryDirectory() as directory:
            one, two = (day.tokens_of([text], directory)["seen"] for text in (b"some words here\n", b"12 and 345\n"))
            self.assertGreater(one, 0)
            self.assertEqual(day.tokens_of([b"some words here\n", b"12 and 345\n"], directory)["seen"], one + two)
            self.assertEqual(day.tokens_of([], directory)["seen"], 0)


class Playing(unittest.TestCase):
    """The driver, bare and under seen, with a day of a few steps."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="seen-day.")
        self.addCleanup(directory.cleanup)
        self.place = place.Place(os.path.realpath(directory.name), ways.ALL, quick=True)
        self.player = works_day.Player(self.place, "usual")
        self.player.steps = [{"run": "cat docs/%s" % name, "shows": ["docs/%s" % name]} for name in ("a", "b", "a")] + [
            {"edit": "docs/b", "line": 3, "old": "b has a line 2", "new": "b has another line", "context": 1},
            {"run": "cat docs/b", "shows": ["docs/b"]}, {"run": "false"}, {"compact": True}, {"run": "cat docs/b", "shows": ["docs/b"]}]
        script = os.path.join(self.place.top, "script")
        place.write_file(script, "".join(json.dumps(step) + "\n" for step in [{}, *self.player.steps]).encode())
        for name in ("a", "b"):
            place.write_file(os.path.join(self.player.pristine, "docs", name), text_of(name))
        self.addCleanup(setattr, day, "path_of", day.path_of)
        day.path_of = lambda name: script
        _, self.player.reference = self.player.play("bare", contents=True)

    def test_bare(self):
        results = self.player.reference
        self.assertEqual([result["output"] for result in results[:3]], [text_of("a"), text_of("b"), text_of("a")])
        self.assertEqual(results[3]["output"], b"edited docs/b\nb has a line 1\nb has another line\nb has a line 3\n")
        self.assertEqual(results[4]["files"], {"docs/b": text_of("b").replace(b"a line 2\n", b"another line\n")})
        self.assertEqual([result["status"] for result in results], [0, 0, 0, 0, 0, 1, 0, 0])

    def test_seen(self):
        """One notice: what comes after the compaction is given in full."""
        _, found = self.player.judged("answering")
        self.assertEqual((found.notices, found.commands, found.diffs), (1, 0, 0))
        _, found = self.player.judged("observing")
        self.assertEqual((found.notices, found.commands, found.diffs), (0, 0, 0))

    def test_a_step_that_cannot_be_done(self):
        """An edit of a line that is another is no step of the day."""
        self.player.steps[3]["old"] = "something else"
        place.write_file(day.path_of(""), "".join(json.dumps(step) + "\n" for step in [{}, *self.player.steps]).encode())
        with self.assertRaisesRegex(place.Failed, "exit status 1, not 0"):
            self.player.judged("bare")


if __name__ == "__main__":
    unittest.main()
