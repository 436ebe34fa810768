"""Agents' ignore files: what they name is not for the model.  git says what a pattern means."""
import json
import shutil
import subprocess
import unittest

from driver import Case

# Patterns of gitignore(5), with its rules on slashes, order, negation and directories.
FILES = (
    ("secret.txt\n*.key\n",),
    ("/root.txt\nsub/inner.txt\n",),
    ("dir/\n",),
    ("*.log\n!keep.log\n",),
    ("*.log\n!keep.log\nkeep.log\n",),
    ("dir/\n!dir/a.txt\n",),
    ("dir/*\n!dir/a.txt\n",),
    ("**/deep.txt\n",),
    ("sub/**/deep.txt\n",),
    ("sub/**\n",),
    ("# comment\n\n\\#name\nwith\\ blank.txt\ntrailing.txt   \n",),
    ("/*\n!/sub\n",),
    ("[a-c].txt\n?.md\n",),
    ("$HOME.txt\n@agents\n",),
    ("\\!bang.txt\n",),
)
NAMES = ("secret.txt", "a.key", "root.txt", "sub/root.txt", "sub/inner.txt", "sub/sub/inner.txt", "dir/a.txt", "dir/b/c.txt", "sub/dir/d.txt", "x.log", "keep.log",
         "sub/keep.log", "deep.txt", "sub/deep.txt", "sub/x/y/deep.txt", "#name", "with blank.txt", "trailing.txt", "a.txt", "d.txt", "r.md", "$HOME.txt", "@agents",
         "!bang.txt", "plain")


class IgnoreFiles(Case):
    def setUp(self):
        super().setUp()
        for name in NAMES:
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("content\n")

    def ignored(self, action="deny", program="cat", **more):
        """The names that cannot be read."""
        script = "".join(f"{program} '{name}' > /dev/null 2>&1 || echo '{name}'\n" for name in NAMES)
        return set(self.seen("run", "--ignore-files", action, "--", "bash", "-c", script, **more).stdout.decode().splitlines())

    @unittest.skipUnless(shutil.which("git"), "no git")
    def test_as_git(self):
        subprocess.run(["git", "init", "-q", "."], cwd=self.work, check=True)
        for content, in FILES:
            with self.subTest(content):
                (self.work / ".gitignore").write_text(content)
                done = subprocess.run(["git", "check-ignore", "--no-index", "-z", "--stdin"], cwd=self.work, input="\0".join(NAMES), stdout=subprocess.PIPE, text=True)
                (self.work / ".gitignore").unlink()
                (self.work / ".cursorignore").write_text(content)
                self.assertEqual(self.ignored(), set(done.stdout.split("\0")) - {""})

    def test_included_below_excluded(self):
        """Unlike git's: a pattern without a slash includes a file that an excluded directory holds."""
        (self.work / ".cursorignore").write_text("*\n!*.log\n")
        self.assertEqual(self.ignored(), set(NAMES) - {"x.log", "keep.log", "sub/keep.log"})

    def test_each_file(self):
        for name in (".aiderignore", ".aiexclude", ".augmentignore", ".claudeignore", ".clineignore", ".codeiumignore", ".continueignore", ".cursorignore",
                     ".geminiignore", ".kilocodeignore", ".qwenignore", ".rooignore"):
            with self.subTest(name):
                (self.work / name).write_text("plain\n")
                self.assertEqual(self.ignored(), {"plain"})
                (self.work / name).unlink()

    def test_warns(self):
        """By default a line says so, once for each program; a log line has each."""
        (self.work / ".cursorignore").write_text("*.txt\n")
        said = self.agent("cat a.txt d.txt", "grep -r content sub | sort")
        self.assertEqual(said[0].count(b"which rule ignore.cursorignore warns of"), 1, said)
        self.assertIn(b"content\ncontent\n", said[0])
        self.assertEqual(said[1].count(b"which rule ignore.cursorignore warns of"), 1, said)
        events = [event["path"] for event in map(json.loads, self.seen("log", "--session", "s", "--op", "ruled", "--json", code=0).stdout.splitlines())]
        self.assertLessEqual({f"{self.work}/{name}" for name in ("a.txt", "d.txt", "sub/root.txt")}, set(events))

    def test_programs(self):
        """A program that shows nothing reads as it does."""
        (self.work / ".cursorignore").write_text("*.txt\n")
        self.assertEqual(self.ignored(program="sha256sum"), set())
        self.assertEqual(self.ignored(program="head", action="off"), set())

    def test_own_section(self):
        """A section of the user's by that name counts more; a workspace's does not."""
        (self.work / ".cursorignore").write_text("plain\n")
        (self.work / ".seen.ini").write_text("[rule ignore.cursorignore]\nop = read\nexcept = *\naction = log\n")
        self.assertEqual(self.ignored(), {"plain"})
        (self.home / ".config/seen/seen.ini").write_text("[rule ignore.cursorignore]\nexcept = plain\nop = read\naction = warn\n")
        (self.work / ".seen.ini").unlink()
        self.assertEqual(self.ignored(), set())

    def test_stops_no_run(self):
        """Whatever is in such a file, or instead of it, a run starts."""
        path = self.work / ".cursorignore"
        for make in (lambda: path.symlink_to("/etc/passwd"), path.mkdir, lambda: path.write_bytes(b"\xff\0\x01\n" * 9), lambda: path.write_text("!x\n" * 99),
                     lambda: path.write_text("".join(f"p{i}\n!q{i}\n" for i in range(999))), lambda: path.write_text("x" * 60000),
                     lambda: path.write_text("".join(f"pattern-{i}\n" for i in range(9000)))):
            make()
            done = self.seen("run", "--", "true", code=0)
            self.assertLessEqual(done.stderr.count(b"\n"), 1)
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        path.write_text("".join(f"p{i}\n!q{i}\n" for i in range(999)))
        self.assertIn(b".cursorignore:32: there is no room for this and further patterns", self.seen("run", "--", "true").stderr)

    def test_what_is_not_in_force(self):
        """Each pattern is in force, or a line says which is not; the others are."""
        no_text, no_room = "the pattern is not UTF-8 text, or holds a control character: it is not in force", \
            "there is no room for this and further patterns: they are not in force"
        for content, line in ((b"\xef\xbb\xbfplain\n", None), (b"plain\r\n", None), (b"plain", None),
                              (b"a\0b\nplain\n", f"1: {no_text}"), (b"# caf\xe9\n\ncaf\xe9\nplain\n", f"3: {no_text}"), (b"\xff\xfep\0l\0\nplain\n", f"1: {no_text}"),
                              (b"x" * 600 + b"\nplain\n", "1: the pattern is too long: it is not in force"),
                              (b"plain\n" + b"# c\n" * 17000 + b"a.txt\n", f"16384: {no_room}"),
                              (b"plain \n" + b"# c\n" * 16381 + b"a.key.not-this-one\n", f"16383: {no_room}")):
            with self.subTest(content[:40]):
                (self.work / ".cursorignore").write_bytes(content)
                self.assertEqual(self.ignored(), {"plain"})
                said = self.seen("run", "--", "true", code=0).stderr.decode()
                self.assertEqual(said, f"seen: {self.work.resolve()}/.cursorignore:{line}\n" if line else "")

    def test_each_file_is_said(self):
        (self.work / ".cursorignore").symlink_to("plain")
        (self.work / ".rooignore").symlink_to("/nonexistent")
        (self.work / ".geminiignore").mkdir()
        said = self.seen("run", "--", "true", code=0).stderr.decode()
        for name, fault in ((".cursorignore", "is a symbolic link"), (".rooignore", "is a symbolic link"), (".geminiignore", "is no regular file")):
            self.assertIn(f"{name}:1: {fault}: its patterns are not in force", said)

    def test_no_room_beside_rules(self):
        """A session holds 64 rules: those of the user are all in force, and the run starts."""
        (self.home / ".config/seen/seen.ini").write_text("".join(f"[rule r{i}]\nop = read\npath = none-{i}\naction = warn\n" for i in range(62)))
        (self.work / ".cursorignore").write_text("plain\n!q\na.txt\n!q\na.key\n")
        self.assertEqual(self.ignored(), {"plain", "a.txt", "dir/a.txt"})
        self.assertIn(".cursorignore:5: there are too many rules: further patterns are not in force", self.seen("run", "--", "true", code=0).stderr.decode())


if __name__ == "__main__":
    unittest.main()
