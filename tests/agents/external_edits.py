"""An external program changes a file between an agent's read and its edit: three scripts for run.

warned()  [guard] stale_write = warn: edits go as the agent does them; what they destroy is kept
denied()  stale_write = deny: each edit over a change is refused; it goes after the agent read again
unread()  read_before_write = deny: what was never read is not overwritten, until it was read

Some agents refuse by themselves what they see to be changed: the bare play tells which.
"""
import collections
import json
import os

import journal
from scenario import Script, Step, module
from stage import LAST_WORD

OVERWRITES = "another program changed it since it was read, and this overwrites that"
NOT_STALE = "not overwritten: another program changed it since it was read; read it again first"
NOT_UNREAD = "not overwritten: it was never read; read it first"
SAID = "seen: "
REFUSALS = ("EIO", "ESTALE", "EACCES")
REFUSED = ("stale_denied", "unread_denied", "notices_refused")
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
    """What an external program makes of a module."""
    return text.replace("line_20 = ", "theirs = ")


def changes_it(path, in_place):
    """The outsider's command for that."""
    edit = "s/^line_20 = /theirs = /"
    if in_place:
        return f"sed '{edit}' {path} > ../theirs && cat ../theirs > {path}"
    return f"sed -i '{edit}' {path}"


class ExternalEdits(Script):
    """A script whose files are changed by an external program.

    changed:  paths that an external program changed
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

    def change_by_another_program(self, way, before=""):
        """An external program changes the file right before the next step."""
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
    s = ExternalEdits(*WAYS, "left", "mine", "tools")
    s.read("own read of mine.py", "mine.py")
    s.read("own read of left.py", "left.py")
    s.shell("cat tools.py", "cat tools.py", s.real("tools.py"))
    s.knows(*WAYS)
    for way in WAYS:
        s.change_by_another_program(way)
        s.change(way, f"{way} over a change", OVERWRITES)
        s.applied(way)
    # What is the agent's, by whatever tool, is no external program's.
    s.edit("own edit", "mine.py", VALUE, NEW_VALUE)
    s.files["mine.py"] = s.files["mine.py"].replace(NEW_VALUE, "value = 3") + "# mine\n"
    s.shell("shell edits of it", f"sed -i 's/^{NEW_VALUE}/value = 3/' mine.py; "
            "echo '# mine' >> mine.py; echo done", "done\n")
    s.edit("own edit after them", "mine.py", "value = 3", "value = 4")
    s.shell("edited and checked out", "echo '# mine' >> tools.py; git checkout -q tools.py; "
            "cp tools.py ../copy; mv ../copy tools.py; echo done", "done\n")
    s.change_by_another_program("left")
    s.pause()
    return s


def denied():
    """As warned(): each call over a change is refused, and goes when the agent has read again."""
    s = ExternalEdits(*WAYS)
    s.knows(*WAYS)
    before = ""
    for way in WAYS:
        s.change_by_another_program(way, before)
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
    s = ExternalEdits("write", "echo")
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


# What came of a play

def refuses_itself(script, play):
    """The paths of changes that the agent, played bare, did not overwrite: what is there is theirs.
    """
    paths = set()
    for path in script.changed:
        with open(os.path.join(play.workspace, path), encoding="utf-8") as file:
            if path != "left.py" and file.read() == theirs(script.start[path]):
                paths.add(path)
    return paths


def has_record(play):
    """Whether a file of the agent's own has the last word of the model: a transcript, a log."""
    for directory, _, names in os.walk(os.path.join(play.directory, "home")):
        for name in names:
            with open(os.path.join(directory, name), "rb") as file:
                if LAST_WORD.argument.encode() in file.read():
                    return True
    return False


class Aftermath:
    """What seen reports about a play when it is over.

    verdict: warned or denied, reason: stale or unread, as in the journal
    itself:  the paths that the agent does not overwrite anyway
    """

    def __init__(self, script, play, verdict, reason, itself):
        self.script = script
        self.play = play
        self.verdict = verdict
        self.reason = reason
        self.itself = itself
        self.events = journal.events_of(self.ask("log"))
        self.status = json.loads(self.ask("status") or "{}")
        self.state = os.path.join(play.environment["XDG_STATE_HOME"], "seen", play.session)

    def ask(self, *words):
        return self.play.ask_seen(*words, "--json", "--session", self.play.session)

    def path_of(self, event):
        return os.path.relpath(event.get("resolved") or event["path"], self.play.workspace)

    def listed(self, *words):
        """The paths that `seen WORDS...` names, or None."""
        text = self.ask(*words)
        return None if text is None else {file["path"] for file in json.loads(text)["files"]}

    def all_of(self, op):
        return [event for event in self.events if event["op"] == op]

    def rows(self, bare):
        """(name, expected, fault or None), as of Run.judge(). bare: the play without seen."""
        read_again = self.script.refused or [path for path in self.script.changed
                                            if path != "left.py"]
        for path in read_again:
            yield path, self.verdict, self.guarded(path)
        yield "guarded events", "no others", self.others(read_again)
        yield "refused calls", "no others", self.refusals()
        yield "counters", "the same", self.counters()
        yield "the agent's own records", "as bare", (
            None if has_record(self.play) or not has_record(bare) else "without the last word")
        yield "whose changes", "told apart", self.sources()
        yield "seen changed", "theirs", self.changed()
        yield "seen edited", "the agent's", self.edited()
        yield "task metadata", "told apart", self.metadata()

    def guarded(self, path):
        """What is wrong with how a call was guarded."""
        events = [event for event in self.all_of("guarded") if self.path_of(event) == path]
        before = self.script.start[path]
        if path in self.script.changed:
            before = theirs(before)
        if self.verdict == "denied":
            with open(os.path.join(self.play.directory, "refused", path), encoding="utf-8") as file:
                if file.read() != before:
                    return "it was overwritten"
        if path in self.itself:
            return "told, though nothing was lost" if events else None
        found = [(event["verdict"], event["reason"], event["degraded"]) for event in events]
        if found != [(self.verdict, self.reason, False)]:
            return f"it is {found or 'not in the journal'}"
        if self.verdict == "warned" and before.encode() not in self.kept(path):
            return "not kept"
        return None

    def kept(self, path):
        """The contents of a file's versions, as `seen restore` brings them back; the file is as it was then."""
        document = json.loads(self.ask("versions", path) or '{"versions": []}')
        name = os.path.join(self.play.workspace, path)
        contents, was = [], os.stat(name)
        with open(name, "rb") as file:
            before = file.read()
        for version in document["versions"]:
            if self.play.ask_seen("restore", path, version["hash"], "--session", self.play.session) is not None:
                with open(name, "rb") as file:
                    contents.append(file.read())
        with open(name, "wb") as file:
            file.write(before)
        os.utime(name, ns=(was.st_atime_ns, was.st_mtime_ns))
        return contents

    def others(self, read_again):
        paths = {self.path_of(event) for event in self.all_of("guarded")} - set(read_again)
        return ", ".join(sorted(paths)) or None

    def refusals(self):
        """Calls that failed as refused ones do, but those that the guard refused."""
        expected = collections.Counter((event["pid"], event["error"])
                                       for event in self.all_of("guarded"))
        wrong = []
        for event in self.events:
            if event["op"] != "guarded" and event["error"] in REFUSALS:
                expected[event["pid"], event["error"]] -= 1
                if expected[event["pid"], event["error"]] < 0:
                    wrong.append(f"{event['op']} {event.get('resolved') or event.get('path')}: "
                                 f"{event['error']}")
        return ", ".join(wrong) or None

    def counters(self):
        counters = self.status.get("counters", {})
        expected = dict.fromkeys(REFUSED, 0)
        expected["stale_warned"] = 0
        expected[f"{self.reason}_{self.verdict}"] = len(self.all_of("guarded"))
        wrong = [f"{name} is {counters.get(name)}" for name, count in expected.items()
                 if counters.get(name) != count]
        return ", ".join(wrong) or None

    def sources(self):
        """The journal never attributes to an external program what the session did, nor the other way."""
        wrong = [f"{self.path_of(event)} by {event['source']}"
                 for event in self.all_of("changed")
                 if event["source"] and self.path_of(event) not in self.script.changed]
        wrong += [f"{path} by nobody" for path in self.made() - {
            self.path_of(event) for event in self.all_of("edited")
            if event["source"] in ("agent_edited", "tool_edited")}]
        return ", ".join(sorted(wrong)) or None

    def made(self):
        """The files that are not what they were, nor what an external program made of them."""
        start = self.script.start
        return {path for path, text in self.play.end.items()
                if text not in (start.get(path), theirs(start.get(path, "")))}

    def changed(self):
        """Of what an external program changed the agent has seen what it read since; the rest is reported."""
        paths = self.listed("changed")
        if paths is None:
            return "failed"
        wrong = [f"{path} is named" for path in paths - set(self.script.changed)]
        if self.verdict == "denied":  # all was read again
            wrong += [f"{path} is named" for path in paths]
        elif "left.py" not in paths:
            wrong.append("left.py is not")
        return ", ".join(sorted(wrong)) or None

    def edited(self):
        paths = self.listed("edited", "--tools")
        if paths is None:
            return "failed"
        wrong = [f"{path} is not named" for path in self.made() - paths]
        wrong += [f"{path} is named" for path in paths & set(self.script.files)
                  if path not in self.made() and not self.is_touched(path)]
        return ", ".join(sorted(wrong)) or None

    def is_touched(self, path):
        return any(self.path_of(event) == path for event in self.all_of("edited"))

    def metadata(self):
        try:
            with open(os.path.join(self.state, "task_metadata.json"), encoding="utf-8") as file:
                entries = json.load(file)["files_in_context"]
        except (OSError, ValueError, KeyError) as error:
            return str(error)
        wrong = [f"{entry['path']} is {entry['record_source']}" for entry in entries
                 if entry["path"] not in self.script.changed
                 and (entry["record_source"] == "user_edited" or entry["user_edit_date"])]
        active = {entry["path"]: entry for entry in entries if entry["record_state"] == "active"}
        for path in self.made() | {"left.py"} & set(self.script.changed):
            entry = active.get(path, {})
            sources = ("user_edited",) if path == "left.py" else ("agent_edited", "tool_edited")
            if entry.get("record_source") == "read_tool" and entry["agent_edit_date"]:
                continue  # the agent read what it made
            if entry.get("record_source") not in sources:
                wrong.append(f"{path} is {entry.get('record_source')}")
            elif path == "left.py" and (not entry["user_edit_date"] or entry["agent_edit_date"]):
                wrong.append(f"{path} has other dates")
        return ", ".join(sorted(wrong)) or None
