"""What a workspace's .seen.ini takes from a run is reported; the rule set `ci` watches that file."""
import unittest

from driver import Case


class Weakened(Case):
    def lines(self, content, *options):
        (self.work / ".seen.ini").write_text(content)
        said = self.seen("run", *options, "--", "true", code=0).stderr.decode()
        return [line.removeprefix(f"seen: {self.work.resolve()}/.seen.ini:") for line in said.splitlines() if ".seen.ini" in line]

    def test_each(self):
        for content, line in (("[processes]\nignore = a b\n", "2: [processes] ignore = a b: these programs are not tracked, nor what they read; what they change cannot be undone"),
                              ("[paths]\nexclude = x\n", "2: [paths] exclude = x: these files are not tracked or guarded"),
                              ("[session]\nmode = observe\n", "2: [session] mode = observe: nothing is answered, and the guard refuses nothing"),
                              ("[notice]\nmin_bytes = 9000\n", "2: [notice] min_bytes = 9000: fewer repeated reads are answered"),
                              ("[window]\n\nbytes = 9000\n", "3: [window] bytes = 9000: fewer repeated reads are answered"),
                              ("[requests]\nenable = no\n", "2: [requests] enable = no: no repeated command is answered"),
                              ("[requests]\nnever = grep**\n", "2: [requests] never = grep**: these commands are not answered")):
            with self.subTest(line):
                self.assertEqual(self.lines(content, "--summary"), [line, line])
                self.assertEqual(self.lines(content, "--quiet"), [line])

    def test_lines_of_a_list(self):
        self.assertEqual([line[:3] for line in self.lines("[paths]\nexclude = x\nexclude = y\n")], ["2: ", "3: "])

    def test_tightens(self):
        """What refuses more, and what a user's own file says, is no line."""
        self.assertEqual(self.lines("[guard]\nstale_write = deny\ndeny = x\n[rules]\nuse = secrets\nfail_on = stale\n", "--summary"), [])
        (self.home / ".config/seen/seen.ini").write_text("[paths]\nexclude = x\n[session]\nmode = observe\n")
        self.assertEqual(self.lines("", "--summary"), [])

    def test_flag_wins(self):
        self.assertEqual(self.lines("[session]\nmode = observe\n", "--mode", "substitute"), [])

    def test_off(self):
        self.assertEqual(len(self.lines("[session]\nmode = off\n", "--summary")), 2)

    def test_too_long(self):
        """Rules that a session has no room for are named: it is no lack of space on a disk."""
        (self.work / ".seen.ini").write_text("".join(f"[rule w{i}]\nop = read\n" + "".join(f"path = {'x' * 180}{k}\n" for k in range(60)) for i in range(9)))
        said = self.seen("run", "--", "true", code=0).stderr.decode()
        self.assertRegex(said, r"the texts of all options need \d+ bytes, a session holds 65536; the largest is \[rule w\d\] path with \d+, set by "
                               rf"{self.work.resolve()}/.seen.ini:3, .*; the command runs unobserved")

    def test_cannot_be_undone(self):
        """What the line reports about programs that are ignored."""
        (self.work / ".seen.ini").write_text("[processes]\nignore = rm\n")
        for name in ("a", "b"):
            (self.work / name).write_text("content\n")
        self.seen("run", "--session", "s", "--", "sh", "-c", "rm a; mv b c", code=0)
        self.seen("undo", "--session", "s", "--last", code=0)
        self.assertEqual(sorted(path.name for path in self.work.iterdir() if path.name[0] != "."), ["b"])

    def test_watched(self):
        done = self.seen("run", "--rules", "ci", "--fail-on=rule", "--", "sh", "-c", "echo '[session]' > .seen.ini; mv .seen.ini x", code=14)
        self.assertIn(b"ci-vcs (2)", done.stderr)


if __name__ == "__main__":
    unittest.main()
