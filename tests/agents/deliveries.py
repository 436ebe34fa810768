"""What the model has been given, beyond whole files: one script for run.

Lines in parts, requests that are repeated, what changed instead of the file, instruction files, and what an agent's hook
says when a conversation is cut.  Played bare and wrapped with the settings of OPTIONS.
"""
import difflib
import re

from scenario import Notice, Script, first_lines, module

OPTIONS = ("--on-change", "diff", "--inject", "viewers", "-c", "notice.insist_requests=2")
RULES = "Files of this directory are never edited by hand.\n"
MANY = 70  # files of a directory whose listing is longer than a notice


class Again(Notice):
    """What a reader's command prints: its notice under `seen`, when it was given before."""

    def pattern(self):
        return r"\[[^\n]*" + re.escape(self.path) + r"[^\n]*, (seen-[0-9a-f]{16})\)\]\n"


class Either(Again):
    """The same where both are right: how the agent runs the command decides."""

    def pattern(self):
        return f"(?:{super().pattern()}|{re.escape(self.text)})"


class Changed(Notice):
    """A file that changed since it was given: what changed, under `seen`."""

    def __init__(self, path, old, new):
        super().__init__(path, new)
        self.old = old

    def pattern(self):
        hunks = list(difflib.unified_diff(self.old.splitlines(keepends=True), self.text.splitlines(keepends=True)))[2:]
        return (re.escape(f"[File changed since last read: {self.path}. ") + r"[^\n]*, (seen-[0-9a-f]{16})\)\]\n"
                + rf"--- {re.escape(self.path)}\t[^\n]*\n\+\+\+ {re.escape(self.path)}\t[^\n]*\n" + re.escape("".join(hunks)))


class Loaded(Notice):
    """An instruction file that comes before what a viewer shows; nothing without `seen`."""

    def __init__(self, path, text):
        super().__init__(path, "")
        self.rules = text

    def pattern(self):
        return (re.escape(f"[Loaded from {self.path}]\n{self.rules}")
                + r"\[End of instruction files\. \(Here begins the file, seen-[0-9a-f]{16}\)\]\n")


def rest_of(text, first):
    return "".join(text.splitlines(keepends=True)[first - 1:])


def numbered(text, word):
    """As `grep -n` prints them."""
    return "".join(f"{n}:{line}" for n, line in enumerate(text.splitlines(keepends=True), 1) if word in line)


def build(seen):
    """Returns (files at the start, steps, files at the end) as scenario.build().  seen: path of the program."""
    s = Script()
    for name in ("parts", "missing", "asked", "found", "changed", "cut", "filler"):
        s.files[f"{name}.py"] = module(name)
    for number in range(MANY):
        s.files[f"many/a_file_with_quite_a_long_name_{number:02}.txt"] = f"{number}\n"
    for name in ("one", "two"):
        s.files[f"sub/{name}.py"] = module(name)
    s.files["sub/AGENTS.md"] = RULES
    start = dict(s.files)

    # Lines in parts.
    text = s.files["parts.py"]
    s.shell("first lines", "sed -n 1,20p parts.py", first_lines(text, 20))
    s.shell("the other lines", "tail -n +21 parts.py; sleep 0.6", rest_of(text, 21))
    s.shell("cat after all lines", "cat parts.py", s.notice("parts.py"))
    text = s.files["missing.py"]
    s.shell("some lines", "head -n 20 missing.py; tail -n +22 missing.py", first_lines(text, 20) + rest_of(text, 22))
    s.shell("cat after all lines but one", "cat missing.py", s.real("missing.py"))

    # Requests.
    text = s.files["asked.py"]
    s.shell("sed -n", "sed -n 1,30p asked.py", first_lines(text, 30))
    s.shell("sed -n again", "sed -n 1,30p asked.py", Again("sed -n 1,30p asked.py", first_lines(text, 30)))
    s.shell("sed -n, the model insists", "sed -n 1,30p asked.py", first_lines(text, 30))
    found = numbered(s.files["found.py"], "line_")
    s.shell("grep -n", "command grep -n line_ found.py", found)
    s.shell("grep -n elsewhere", "command grep -n line_ found.py | wc -l", "40\n")
    s.shell("grep -n again", "command grep -n line_ found.py", Again("grep -n line_ found.py", found))
    s.files["found.py"] = s.files["found.py"].replace("line_7 =", "line_seven =")
    s.outsider("sed -i 's/^line_7 =/line_seven =/' found.py")
    found = numbered(s.files["found.py"], "line_")
    s.shell("grep -n after a change", "command grep -n line_ found.py", found)
    names = "".join(sorted(f"{path[5:]}\n" for path in s.files if path.startswith("many/")))
    s.shell("ls", "command ls many", names)
    s.shell("ls again", "command ls many", Again("ls many", names))
    s.files["many/another.txt"] = "another\n"
    s.outsider("echo another > many/another.txt")
    names = "".join(sorted(f"{path[5:]}\n" for path in s.files if path.startswith("many/")))
    s.shell("ls after a file came", "LC_ALL=C command ls many", names)

    # What changed.
    s.shell("cat before a change", "cat changed.py", s.real("changed.py"))
    old = s.files["changed.py"]
    s.files["changed.py"] = old.replace("value = 1\n", "value = 2\n")
    s.outsider("sed -i 's/^value = 1/value = 2/' changed.py")
    s.shell("cat after a change", "cat changed.py", Changed("changed.py", old, s.files["changed.py"]))
    s.shell("cat once more", "cat changed.py", s.real("changed.py"))

    # Instruction files.
    s.shell("cat below instructions", "cat sub/one.py", Loaded("sub/AGENTS.md", RULES), s.real("sub/one.py"))
    s.shell("cat another below them", "cat sub/two.py", s.real("sub/two.py"))
    s.shell("seen context says nothing more", f"{seen} context sub/two.py 2>/dev/null; echo done", "done\n")

    # A conversation is cut, and a hook says so.
    s.shell("cat before the cut", "cat cut.py; sleep 0.6", s.real("cut.py"))
    s.shell("cat again before the cut", "cat cut.py", s.notice("cut.py"))
    s.shell("the hook", f"{seen} forget --hook PreCompact < /dev/null; echo done", "done\n")
    s.shell("cat after the cut", "cat cut.py", s.real("cut.py"))
    s.shell("lines after the cut", "sed -n 1,30p asked.py", first_lines(s.files["asked.py"], 30))
    s.shell("instructions after the cut", "cat sub/one.py", Loaded("sub/AGENTS.md", RULES), s.real("sub/one.py"))
    return start, s.steps, s.files
