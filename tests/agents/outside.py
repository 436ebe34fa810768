"""Somebody else changes a file between an agent's read and its edit: three scripts for run.

warned()  [guard] stale_write = warn: edits go as the agent does them; what they destroy is kept
denied()  stale_write = deny: each edit over a change is refused; it goes after the agent read again
unread()  read_before_write = deny: what was never read is not overwritten, until it was read

Some agents refuse by themselves what they see to be changed: the bare play tells which.
"""
import collections
import os

import journal
from scenario import Script, Step, module

OVERWRITES = "somebody else changed it since it was read, and this overwrites that"
NOT_STALE = "not overwritten: somebody else changed it since it was read; read it again first"
NOT_UNREAD = "not overwritten: it was never read; read it first"
SAID = "seen: "
REFUSALS = ("EIO", "ESTALE", "EACCES")
VALUE, NEW_VALUE = "value = 1", "value = 2"

# How the agent changes NAME.py, where that destroys what is there; {} is the path.
SHELL_WAYS = {
    "sed": f"sed -i 's/^{VALUE}/{NEW_VALUE}/' {{}}",
    "echo": "echo new > {}",
    "checkout": "git checkout -q {}",
}
WAYS = ("edit", "write", *SHELL_WAYS)


class Change(Step):
    """A step that changes a file. line: what a shell's error output has of it, where the agent is
    wrapped; None: nothing of seen."""

    def __init__(self, name, operation, outsider, line=None):
        super().__init__(name, operation, None, outsider)
        self.line = line

    @property
    def expected(self):
        return "a line" if self.line else "real"

    def wrong(self, given, wrapped, nonces):
        fault = super().wrong(given, wrapped, nonces)
        if fault is None and wrapped and self.line and self.line not in given:
            return "not told"
        if fault is None and SAID in given and not (wrapped and self.line):
            return "told for nothing"
        return fault


def theirs(text):
    """What somebody else makes of a module."""
    return text.replace("line_20 = ", "theirs = ")


def changes_it(path, in_place):
    """The outsider's command for that."""
    edit = "s/^line_20 = /theirs = /"
    if in_place:
        return f"sed '{edit}' {path} > ../theirs && cat ../theirs > {path}"
    return f"sed -i '{edit}' {path}"


class Outside(Script):
    """A script whose files are changed by somebody else.

    changed:  paths that somebody else changed
    refused:  paths whose change the agent's call must not have overwritten; a copy of each as
              it was right after lies in `../refused`
    """

    def __init__(self, *names):
        super().__init__()
        for name in names:
            self.files[f"{name}.py"] = module(name)
        self.start = dict(self.files)
        self.changed = []
        self.refused = []

    def text_by(self, way, text):
        """What an agent's change makes of a text."""
        return {"edit": text.replace(VALUE, NEW_VALUE, 1), "write": module(way, 45),
                "sed": text.replace(VALUE, NEW_VALUE, 1), "echo": "new\n",
                "checkout": module(way)}[way]

    def knows(self, *ways):
        """The agent reads the files: those for its own tools by its own tool."""
        shell = [f"{way}.py" for way in ways if way in SHELL_WAYS]
        for way in ways:
            if way not in SHELL_WAYS:
                self.read(f"own read of {way}.py", f"{way}.py")
        if shell:
            self.shell("cat the others", "cat " + " ".join(shell), *map(self.real, shell))
        self.pause()

    def change(self, way, name, line=None):
        """The agent's call. line: as for Change, for a shell's."""
        path = f"{way}.py"
        operation = {"edit": ("edit", path, VALUE, NEW_VALUE),
                     "write": ("write", path, self.text_by(way, ""))}.get(way) or (
                         "shell", SHELL_WAYS[way].format(path) + "; echo done")
        self.steps.append(Change(name, operation, self._outsider,
                                 line if way in SHELL_WAYS else None))
        self._outsider = None

    def somebody_changes(self, way, before=""):
        """Somebody else changes the file right before the next step."""
        path = f"{way}.py"
        self.outsider(before + changes_it(path, len(self.changed) % 2))
        self.files[path] = theirs(self.files[path])
        self.changed.append(path)

    def applied(self, way):
        path = f"{way}.py"
        self.files[path] = self.text_by(way, self.files[path])


def keep_copy(path):
    """The outsider's command that keeps a file as it is now."""
    return f"mkdir -p ../refused && cp {path} ../refused/{path}"


def warned():
    """As scenario.build(), but returns the script itself."""
    s = Outside(*WAYS, "left", "mine", "tools")
    s.read("own read of mine.py", "mine.py")
    s.read("own read of left.py", "left.py")
    s.shell("cat tools.py", "cat tools.py", s.real("tools.py"))
    s.knows(*WAYS)
    for way in WAYS:
        s.somebody_changes(way)
        s.change(way, f"{way} over a change", OVERWRITES)
        s.applied(way)
    # What is the agent's, by whatever tool, is nobody else's.
    s.edit("own edit", "mine.py", VALUE, NEW_VALUE)
    s.files["mine.py"] = s.files["mine.py"].replace(NEW_VALUE, "value = 3") + "# mine\n"
    s.shell("shell edits of it", f"sed -i 's/^{NEW_VALUE}/value = 3/' mine.py; "
            "echo '# mine' >> mine.py; echo done", "done\n")
    s.edit("own edit after them", "mine.py", "value = 3", "value = 4")
    s.shell("edited and checked out", "echo '# mine' >> tools.py; git checkout -q tools.py; "
            "cp tools.py ../copy; mv ../copy tools.py; echo done", "done\n")
    s.somebody_changes("left")
    s.pause()
    return s


def denied():
    """As warned(): each call over a change is refused, and goes when the agent has read again."""
    s = Outside(*WAYS)
    s.knows(*WAYS)
    before = ""
    for way in WAYS:
        s.somebody_changes(way, before)
        s.change(way, f"{way} over a change", NOT_STALE)
        s.refused.append(f"{way}.py")
        before = keep_copy(f"{way}.py") + "; "
    s.outsider(before + "true")
    s.knows(*WAYS)
    for way in WAYS:
        s.change(way, f"{way} when read again")
        s.applied(way)
    return s


def unread():
    """As denied(), of files that were never read."""
    s = Outside("write", "echo")
    for way in ("write", "echo"):
        s.change(way, f"{way} over what was not read", NOT_UNREAD)
        s.outsider(keep_copy(f"{way}.py"))
        s.refused.append(f"{way}.py")
        if way == "write":  # before the next change
            s.shell("nothing", "echo nothing", "nothing\n")
    s.knows("write", "echo")
    for way in ("write", "echo"):
        s.change(way, f"{way} when it was read")
        s.applied(way)
    s.write("own new file", "new.py", module("new"))
    return s
