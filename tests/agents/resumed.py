"""What the hooks tell the model, and what they know again of a conversation that is resumed: for `run --answered`.

Four runs of one conversation.  In the first the agent reads files, and a command of it fails.  The second is in the same session,
after an external change.  The third is in another session two days and a boot later, after another one; so is the fourth, at whose begin
the sessions before it are removed for their age.  Two days later: the times of all that seen and the agent keep are two days older.
The witness is the model server's log.
"""
import json
import os
import re
import shutil

from answered import FILES, NOTICE, Row
from model_server import ModelServer
from stage import LAST_WORD, NODE_BIN, PROMPT, SYSTEM_PATH, Play, agent_of, command_path, make_workspace, run_in_terminal, seen_run

WORDS = {"AGENTS.md": "Words of agents.\n", "GEMINI.md": "Words of gemini.\n", "CLAUDE.md": "Words of claude.\n"}
DAYS = 2
GO_ON = "Go on."
CHANGED, BEFORE, UNDO = "changed since you read them: ", "Before in this conversation", "`seen undo --step "


def rows(agent):
    reads = ("shell", "cat %s; sleep 0.6") if agent.reads_by_shell else ("read", "%s")
    def read(name, kind, path, **more):
        return Row(name, kind, reads[0], reads[1] % path, **more)
    def edits(line, word):
        """Over an external change, and after reading that."""
        old, new = (f"line {number} of a file that is read again" for number in (line, word))
        return [Row("an edit over an external change", "stale", "edit", "edit.txt", old, new), read("read after the refusal", "fresh", "edit.txt"),
                Row("the edit after reading again", "done", "edit", "edit.txt", old, new)]
    return ([read("read", "real", "edit.txt", text=FILES["edit.txt"]), read("another", "real", "ext.txt", text=FILES["ext.txt"]),
             read("a third", "real", "a.txt", text=FILES["a.txt"]),
             Row("a command that fails", "any", "shell", "echo made > made.txt; exit 3")], [],
            [*edits(7, "seven"), read("read what was given", "given", "a.txt", text=FILES["a.txt"])], edits(9, "nine"))


def make_older(top, days):
    """Moves all times below a directory back: those of files, and those in records of conversations."""
    for directory, _, names in os.walk(top):
        for path in [directory, *(os.path.join(directory, name) for name in names)]:
            if "/.conversations/" in path:
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                with open(path, "w", encoding="utf-8") as file:
                    file.write(re.sub(r'("time": ?)(\d+)', lambda match: f"{match[1]}{int(match[2]) - days * 86400 * 10**9}", text))
            stat = os.lstat(path)
            os.utime(path, ns=tuple(at - days * 86400 * 10**9 for at in (stat.st_atime_ns, stat.st_mtime_ns)), follow_symlinks=False)


class Resumed(Play):
    def __init__(self, spec, out):
        self.name, self.wrapped = "resumed", True
        self.parts = rows(agent_of(spec))
        self.session = f"agents-{agent_of(spec).name}-{os.getpid()}-resumed"
        self.sessions = [self.session, self.session, self.session + "-later", self.session + "-last"]
        self.statuses, self.begins, self.story = [], [0], ""
        super().__init__(spec, os.path.join(out, f"{spec}.resumed"), {**FILES, **WORDS}, [])

    def script(self):
        """Of the three runs, by their requests: an agent may repeat old results more than once."""
        def play(part):
            calls = iter([*((self.agent.call(row.operation, self.workspace), row.outsider) for row in part)])
            return lambda results: next(calls, (LAST_WORD, None))
        return [play(part) for part in self.parts]

    def play(self):
        home = self._sub("home")
        make_workspace(self._sub("workspace"), self.files)
        scripts = self.script()
        with ModelServer(scripts[0], self.workspace, self.log, self.agent.think_s) as server:
            self.environment = {
                "PATH": f"{NODE_BIN}:{SYSTEM_PATH}", "HOME": home, "SHELL": "/bin/bash", "USER": os.environ.get("USER", "user"), "TERM": "xterm-256color",
                "LANG": "C.UTF-8", "NO_COLOR": "1", "TMPDIR": self._sub("tmp"), "XDG_CONFIG_HOME": f"{home}/.config", "XDG_CACHE_HOME": f"{home}/.cache",
                "XDG_DATA_HOME": f"{home}/.local/share", "XDG_STATE_HOME": f"{home}/.local/state", "XDG_RUNTIME_DIR": self._sub("run"),
                **self.agent.configure(home, self.workspace, server.url)}
            self.install_hooks()
            for number, script in enumerate(scripts):
                server.script = script
                words = self.agent.arguments(PROMPT) if number == 0 else self.agent.resume(GO_ON, home)
                if number > 1:
                    self._pass_days()
                self._resume([*seen_run(self.sessions[number], "auto", ("-c", "notice.yield=never", "-c", f"session.keep_days={1 if number == 3 else 30}")),
                              command_path(self.spec), *words], number)
                self.statuses.append(self.status)
                self.begins.append(self._requests())
                if number == 1:
                    self.story = self.ask_seen("story", "--json", "--session", self.session) or ""
                for name in (("ext.txt",), ("edit.txt",), ("edit.txt", "a.txt"), ())[number]:
                    with open(f"{self.workspace}/{name}", "a", encoding="utf-8") as file:
                        file.write("external\n")

    def _pass_days(self):
        shutil.rmtree(self.environment["XDG_RUNTIME_DIR"])  # as at a boot
        self._sub("run")
        make_older(self.environment["HOME"], DAYS)

    def _resume(self, command, number):
        if number and self.agent.asks:
            asked, screen = self._requests(), f"{self.directory}/stdout.{number}"
            def waits():
                with open(screen, "rb") as file:
                    return self.agent.asks.encode() in file.read()
            def is_done():
                with open(self.log, encoding="utf-8") as log:
                    turns = sum(json.loads(line)["kind"] == "turn" for line in log.readlines()[asked:])
                return turns > len(self.parts[number])  # the last one was answered by the last word
            self.status = run_in_terminal(command, self.workspace, self.environment, [(waits, GO_ON), (is_done, "")], screen) or 0
            return
        self._run(command)
        for name in ("stdout", "stderr"):
            os.replace(f"{self.directory}/{name}", f"{self.directory}/{name}.{number}")

    def _requests(self):
        with open(self.log, encoding="utf-8") as log:
            return len(log.readlines())

    def judge(self):
        with open(self.log, encoding="utf-8") as log:
            records = [json.loads(line) for line in log]
        runs = [[record for record in records[begin:end] if record["kind"] == "turn"] for begin, end in zip(self.begins, self.begins[1:])]
        first = [json.dumps(run[0]["body"], ensure_ascii=False) if run else "" for run in runs]
        new = [text.split(GO_ON, 1)[-1] if number else text for number, text in enumerate(first)]
        result = []
        for name in sorted(set(WORDS) - set(self.agent.instructions)):
            result.append((f"{name} at the start", "given", None if f"[Project instructions from {name}]\\n{WORDS[name].strip()}" in first[0] else "not given"))
        for name in self.agent.instructions:
            result.append((f"{name} at the start", "not given", "given" if f"[Project instructions from {name}]" in first[0] else None))
        reports = (("changed, in the session", 1, f"{CHANGED}ext.txt (+1 -0, by another program)" in first[1]), ("history, in the session", 1, BEFORE in first[1]),
                   *([("a failed command", 1, UNDO in first[1])] if self.agent.reports_failures else []), ("changed, in another", 2, f"{CHANGED}edit.txt" in first[2]), ("history, in another", 2, BEFORE in first[2]),
                   ("changed, where its sessions are gone", 3, re.search(CHANGED + r'[^"\\]*\ba\.txt', first[3])))
        for name, number, found in reports:
            result.append((name, "given", None if found else f"not given; behind the prompt: {new[number][:300]!r}"))
        left = self.ask_seen("sessions", "--json") or ""
        result.append(("the sessions before the last one", "removed", None if self.sessions[3] in left and not any(name + '"' in left for name in self.sessions[:3]) else left[:300]))
        for number, part in enumerate(self.parts):
            for row, record in zip(part, [*runs[number][1:], *[None] * len(part)]):
                text, body = (self.agent.bare_result((record["results"] or [""])[-1]), record["body"]) if record else (None, None)
                result.append((row.name, row.kind, None if row.is_own(self.agent, text, body) else self._fault(row, text)))
        result.append(("exit statuses", "0", None if not any(self.statuses) else f"they are {self.statuses}"))
        with open(f"{self.workspace}/edit.txt", encoding="utf-8") as file:
            text = file.read()
        result.append(("the edited file", "all changes", None if "line seven" in text and "line nine" in text and text.endswith("external\nexternal\n") else text[-200:]))
        result.append(("the failed command in the story", "by its call", None if '"tool"' in self.story and "made.txt" in self.story else self.story[:300]))
        return result

    def _fault(self, row, text):
        if text is None:
            return "no result"
        if row.kind == "any":
            return None
        if row.kind == "fresh":  # whole, or what changed
            return None if "external" in text and NOTICE not in text else f"given: {text[:200]!r}"
        if row.kind == "given" and self.agent.proves:  # by its transcript
            return None if NOTICE in text else f"given: {text[:200]!r}"
        row.kind = "real" if row.kind == "given" else row.kind
        return row.fault(text, [])
