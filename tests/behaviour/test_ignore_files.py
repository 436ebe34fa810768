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
        for name in (".aiderignore", ".aiexclude", ".claudeignore", ".clineignore", ".codeiumignore", ".cursorignore", ".geminiignore", ".rooignore"):
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


if __name__ == "__main__":
    unittest.main()
