"""What the agent's own read, edit and write tools are answered, where its hooks answer: for `run --answered`.

Each row is one tool call; the model server's log says what the model was given for it.  Files are changed by the agent, by an
external program, and read in part; afterwards the agent works on what it was given.
"""
import os
import re

from agents import bare_lines, missing_lines, write_file
from hooked import FIRST, FULL_TOKENS, LAST, PROMPT, SUB_AGENTS, TALKS, TEXT, Hooked, Talk
from model_server import Call, requests_in_log, results_in_log, texts_in
from stage import Play, agent_of, seen_run

NOTICE, LINES, CHANGED = "[File previously read: ", "[Lines ", "[File changed since last read: "
SEARCHED = ": already run. Same output as "
REWORDED = "[Command already run in other words: "
REPEATED = "[Command already run: "
UNREAD = " has not been read yet. Please read the file first."
STALE, SAME = " was modified since you last read it. Please read the file again.", " already held this content.]"


def text_of(count, word="line"):
    return "".join(f"{word} {i} of a file that is read again\n" for i in range(1, count + 1))


FILES = {"a.txt": text_of(60), "part.txt": text_of(300), "own.txt": text_of(80), "ext.txt": text_of(80), "edit.txt": text_of(80),
         "same.txt": text_of(50), "long.txt": text_of(5000), "wide.txt": "x" * 9000 + "\n" + text_of(40), "crlf.txt": text_of(60).replace("\n", "\r\n"),
         "last.txt": text_of(60).rstrip("\n"), "found.txt": text_of(60, "found"), "dir/AGENTS.md": "Rules of this directory.\n", "dir/f.txt": text_of(60)}
EXTERNAL = "an external program's line\n"
LINE, NEW_LINE = "line 7 of a file that is read again", "line seven of a file that is read again"


class Row:
    """name; call: operation words for the agent; kind: what the model must be given; outsider: see ModelServer."""

    def __init__(self, name, kind, *operation, outsider=None, text=None, more="found more"):
        self.name, self.kind, self.operation, self.outsider, self.text, self.more = name, kind, operation, outsider, text, more

    def is_own(self, agent, given, body):
        """Is it the agent's own answer, and is it so?  An unchanged file is in front of the model, whole."""
        kind = "notice" if self.kind in ("real", "lines", "fair") else self.kind
        if given is None or kind not in agent.own_words or not given.startswith(agent.own_words[kind]):
            return False
        return kind != "notice" or not missing_lines(self.text or FILES[self.operation[1]], texts_in(body))

    def fault(self, given, earlier):
        if given is None:
            return "no result"
        kinds = {"notice": given.lstrip().startswith(NOTICE), "lines": given.lstrip().startswith(LINES),
                 "diff": given.lstrip().startswith(CHANGED), "stale": STALE in given, "unread": UNREAD in given, "same": SAME in given,
                 "done": not any(words in given for words in (STALE, UNREAD, NOTICE, CHANGED))}
        if self.kind == "real":
            answered = any(words in given for words in (NOTICE, LINES, CHANGED))
            missing = missing_lines(self.text or "", given)
            return f"{len(missing)} lines are missing; given: {given[:200]!r}" if missing or answered else None
        if self.kind == "found":
            return None if SEARCHED in given else f"given: {given[:300]!r}"
        if self.kind == "reworded":
            return None if given.lstrip().startswith(REWORDED) else f"given: {given[:300]!r}"
        if self.kind == "repeated":
            return None if given.lstrip().startswith(REPEATED) else f"given: {given[:300]!r}"
        if self.kind == "compared":
            right = self.more in given and "On branch" in given and "[Command already run" not in given
            return None if right else f"given: {given[:300]!r}"
        if self.kind in ("searched", "more found"):
            has_more = self.more in given
            right = "found 60" in given and not any(words in given for words in (SEARCHED, REWORDED)) and has_more == (self.kind == "more found")
            return None if right else f"given: {given[:300]!r}"
        if self.kind == "fair":  # a notice only for what some earlier result held whole
            whole = any(FILES[self.operation[1]].rstrip("\n") in bare_lines(text) for text in earlier)
            return f"given: {given[:200]!r}" if NOTICE in given and not whole else None
        return None if kinds[self.kind] else f"given: {given[:300]!r}"


def rows():
    """In the order of play."""
    own = FILES["own.txt"].replace("line 40 of", "line forty of")
    return [
        Row("read", "real", "read", "a.txt", text=FILES["a.txt"]),
        Row("read again", "notice", "read", "a.txt"),
        Row("asked again", "real", "read", "a.txt", text=FILES["a.txt"]),
        Row("read lines", "real", "read_lines", "part.txt", 100, 100, text="".join(FILES["part.txt"].splitlines(keepends=True)[99:199])),
        Row("lines of these", "lines", "read_lines", "part.txt", 120, 60),
        Row("lines of these and others", "real", "read_lines", "part.txt", 150, 100,
            text="".join(FILES["part.txt"].splitlines(keepends=True)[149:249])),
        Row("the whole file after lines of it", "real", "read", "part.txt", text=FILES["part.txt"]),
        Row("read before its own edit", "real", "read", "own.txt", text=FILES["own.txt"]),
        Row("its own edit", "done", "edit", "own.txt", "line 40 of a file that is read again", "line forty of a file that is read again"),
        Row("read after its own edit", "diff", "read", "own.txt"),
        Row("asked again after its own edit", "real", "read", "own.txt", text=own),
        Row("read before an external change", "real", "read", "ext.txt", text=FILES["ext.txt"]),
        Row("read after an external change", "diff", "read", "ext.txt", outsider=f"printf %s {EXTERNAL!r} >> ext.txt".replace("\\n", "\n")),
        Row("read before an edit", "real", "read", "edit.txt", text=FILES["edit.txt"]),
        Row("an edit over an external change", "stale", "edit", "edit.txt", LINE, NEW_LINE,
            outsider="sleep 1.1; echo external >> edit.txt; sleep 2"),  # an agent may read it by itself meanwhile
        Row("read after the refusal", "diff", "read", "edit.txt"),
        Row("the edit after reading again", "done", "edit", "edit.txt", LINE, NEW_LINE),
        Row("read before a write", "real", "read", "same.txt", text=FILES["same.txt"]),
        Row("a write that changes nothing", "same", "write", "same.txt", FILES["same.txt"]),
        Row("a long file", "fair", "read", "long.txt"),
        Row("the long file again", "fair", "read", "long.txt"),
        Row("a file with a long line", "fair", "read", "wide.txt"),
        Row("the file with a long line again", "fair", "read", "wide.txt"),
        Row("a file with CRLF", "real", "read", "crlf.txt"),
        Row("the file with CRLF again", "fair", "read", "crlf.txt"),
        Row("a file without a last newline", "real", "read", "last.txt", text=FILES["last.txt"]),
        Row("that one again", "notice", "read", "last.txt"),
        Row("below instructions", "real", "read", "dir/f.txt", text=FILES["dir/f.txt"]),
        Row("below instructions again", "notice", "read", "dir/f.txt"),
    ]


def search_rows():
    """By a search tool of the agent's own: one file holds what is found, so that its order is one."""
    found = ("search", "found .* of a file")
    return [Row("search", "searched", *found), Row("the same search", "found", *found), Row("the search asked again", "searched", *found),
            Row("the search after a change", "more found", *found, outsider="echo 'found more of a file' >> found.txt")]


def command_rows(agent):
    """By its shell, in other words."""
    grep = agent.grep
    return [Row("a command", "searched", "shell", f"{grep} -rn 'found .* of a file' found.txt; sleep 0.6", more="found yet more"),
            Row("the command in other words", "reworded", "shell", f"{grep} --line-number -r -e 'found .* of a file' -- found.txt; sleep 0.6"),
            Row("in other words after a change", "more found", "shell", f"{grep} -nr 'found .* of a file' found.txt; sleep 0.6", more="found yet more",
                outsider="echo 'found yet more of a file' >> found.txt")]


def rg_rows(agent):
    """By its shell: rg with its threads, which find what they print in one file.  One that the agent brings is static, and run each time."""
    rg = ("shell", "command rg -n 'found .* of a file' .; sleep 0.6")
    return [Row("rg", "searched", *rg, more="found at last"), Row("rg again", "searched" if agent.brings_rg else "repeated", *rg, more="found at last"),
            Row("rg after a change", "more found", *rg, more="found at last", outsider="echo 'found at last of a file' >> found.txt")]


def git_rows(agent):
    """By its shell: git's commands are answered where the agent's hook announces what its shell tool runs."""
    status = ("shell", "git status; sleep 0.6")
    return [Row("git, so that its index is up to date", "done", "shell", "sleep 1.1; git add .; touch a_new_file_with_a_long_name_{1..9}; "
                "git status > /dev/null; sleep 0.6; echo done"),
            Row("git", "compared", *status, more="own.txt"), Row("git again", "repeated" if agent.announces else "compared", *status, more="own.txt"),
            Row("git after a change", "compared", *status, more="found_at_last", outsider="touch found_at_last")]


def shell_rows():
    """Of an agent that reads by its shell: its commands are answered without hooks, its edits by them."""
    return [
        Row("cat before an edit", "real", "shell", "cat edit.txt; sleep 0.6", text=FILES["edit.txt"]),
        Row("an edit over an external change", "stale", "edit", "edit.txt", LINE, NEW_LINE, outsider="sleep 1.1; echo external >> edit.txt"),
        Row("cat after the refusal", "real", "shell", "cat edit.txt; sleep 0.6", text=FILES["edit.txt"]),
        Row("the edit after reading again", "done", "edit", "edit.txt", LINE, NEW_LINE),
        Row("cat before its own edit", "real", "shell", "cat own.txt; sleep 0.6", text=FILES["own.txt"]),
        Row("its own edit", "done", "edit", "own.txt", "line 40 of a file that is read again", "line forty of a file that is read again"),
        Row("another own edit", "done", "edit", "own.txt", "line 41 of a file that is read again", "line one of a file that is read again"),
    ]


class Answered(Play):
    def __init__(self, spec, out, options=(), name="answered", prepare=None):
        self.name, self.wrapped, self.prepare = name, True, prepare
        self.session = f"agents-{agent_of(spec).name}-{os.getpid()}-{name.split()[-1]}"
        self.rows = [row for row in (shell_rows() if agent_of(spec).reads_by_shell else rows()) if agent_of(spec).rewrites or row.operation[0] != "write"]
        if hasattr(agent_of(spec), "search"):
            self.rows += search_rows()
        self.rows += command_rows(agent_of(spec)) + rg_rows(agent_of(spec)) + git_rows(agent_of(spec))
        self.least_s = 15 * len(self.rows)  # kilo has git copy the workspace before and behind each step: ten seconds on a busy machine
        for row in self.rows:
            if row.text and agent_of(spec).cuts and len(row.text) > agent_of(spec).cuts:
                row.text = None
        super().__init__(spec, os.path.join(out, f"{spec}.answered-{name.split()[-1]}"), FILES, [], seen_run(self.session, "auto", options))

    def script(self):
        calls = [(self.agent.call(row.operation, self.workspace), row.outsider) for row in self.rows]
        return [*calls, *super().script()]

    def _run(self, command):
        self.install_hooks()
        if self.prepare:
            self.prepare(self)
        super()._run(command)

    def judge(self):
        given, bodies = results_in_log(self.log), requests_in_log(self.log)
        result = []
        for index, row in enumerate(self.rows):
            text = given.get(index)
            if text is not None:
                text = self.agent.bare_result(text)
                if row.kind == "same":  # beside the result, perhaps
                    text += texts_in((bodies[index].get("messages") or bodies[index].get("contents") or bodies[index].get("input"))[-1:])
            fault = row.fault(text, [given.get(i) or "" for i in range(index)])
            result.append((row.name, row.kind, None if row.is_own(self.agent, text, bodies.get(index)) else fault))
        result.append(("exit status", "0", None if self.status == 0 else f"it is {self.status}"))
        with open(f"{self.workspace}/edit.txt", encoding="utf-8") as file:
            text = file.read()
        result.append(("the edited file", "both changes", None if "line seven" in text and text.endswith("external\n") else text[-200:]))
        self.ask_seen("log", "--json", "--session", self.session)
        return result


class Unread(Answered):
    """A file is not overwritten before it was read."""

    def __init__(self, spec, out):
        super().__init__(spec, out, ("--read-before-write", "deny"), "answered, unread")
        self.rows = [Row("a write of a file that was not read", "unread", "write", "same.txt", "other\n"),
                     Row("read it", "real", "read", "same.txt", text=FILES["same.txt"]),
                     Row("the write after reading", "done", "write", "same.txt", "other\n"), Row("a new file", "done", "write", "new.txt", "new\n"),
                     Row("read before an edit", "real", "read", "edit.txt", text=FILES["edit.txt"]),
                     Row("an edit", "done", "edit", "edit.txt", LINE, NEW_LINE),
                     Row("another", "done", "shell", "echo external >> edit.txt")]


class Rival(Answered):
    """With another extension that changes outputs, too: nothing is answered."""

    def __init__(self, spec, out):
        super().__init__(spec, out, name="answered beside another", prepare=self._write)
        self.rows = [Row("read", "real", "read", "a.txt", text=FILES["a.txt"]), Row("read again", "real", "read", "a.txt", text=FILES["a.txt"]),
                     Row("an edit", "done", "edit", "edit.txt", LINE, NEW_LINE),
                     Row("another", "done", "shell", "echo external >> edit.txt")]

    @staticmethod
    def _write(play):
        for path, text in play.agent.rival(play.environment["HOME"]).items():
            write_file(path, text)


class Cut(Hooked):
    """The own read tool, before and after the conversation is compacted, or beside a sub-agent in the agent's process."""

    def __init__(self, spec, out, below):
        super().__init__(spec, out, "reads-below" if below else "reads-cut", True, True)
        self.name, self.below = f"answered, {'a sub-agent' if below else 'a compaction'}", below

    def script(self):
        read = self.agent.call(("read", "f.txt"), self.workspace)
        pause = self.agent.shell(self.workspace, "sleep 0.6; echo ready")
        if not self.below:
            cut = [(pause, FULL_TOKENS)] if self.talk.fills else [(Call(None, FIRST), FULL_TOKENS if self.talk.typed else 100), (pause, 100)]
            return [(read, 100), (read, 100), *cut, (read, 100), (read, 100), (Call(None, LAST), 100)]
        self.sub_script = [(read, 100), (read, 100), (Call(None, "It was read."), 100)]
        return [(read, 100), (read, 100), (SUB_AGENTS[self.agent.name], 100), (read, 100), (read, 100), (Call(None, LAST), 100)]

    def play(self):
        self.script()
        super().play()

    def _talk(self):
        if self.below:
            self.talk = Talk(self.agent.arguments(PROMPT))
        super()._talk()

    def judge(self):
        given = self.turns()
        main, below = given[False] + [("", None)] * 9, given[True] + [("", None)] * 4
        rows = [self._row("read", "real", main[1]), self._row("read again", "notice", main[2])]
        if self.below:
            rows += [self._row("the sub-agent's read", "real", below[1]), self._row("read behind it", "real", main[4]),
                     self._row("read again behind it", "notice", main[5])]
        else:
            first, again = main[4:6] if self.talk.fills else main[5:7]
            rows += [self._row("read after the cut", "real", first), self._row("read again after the cut", "notice", again),
                     *([] if self.talk.typed else [("history after the cut", "given", None if "Before in this conversation" in texts_in(again[1]) else "not given")])]
        return rows + [("exit status", "0", None if self.status == 0 else f"it is {self.status}")]


def answereds(spec, out):
    agent = agent_of(spec)
    return ([Answered(spec, out)] + ([Unread(spec, out)] if agent.rewrites and not agent.reads_by_shell else []) + ([Rival(spec, out)] if hasattr(agent, "rival") else [])
            + ([Cut(spec, out, False)] if agent.name in TALKS and not agent.reads_by_shell else [])
            + ([Cut(spec, out, True)] if agent.name in SUB_AGENTS and not agent.reads_by_shell else []))
