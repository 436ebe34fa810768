"""What the hooks tell the model, and what they know again of a conversation that is resumed: for `run --answered`.

Three runs of one conversation.  In the first the agent reads files, and a command of it fails.  The second is in the same session,
after an external change; the third in another session, after another one.  The witness is the model server's log.
"""
import json
import os

from answered import FILES, NOTICE, Row
from model_server import ModelServer
from stage import LAST_WORD, NODE_BIN, PROMPT, SYSTEM_PATH, Play, agent_of, command_path, make_workspace, seen_run

WORDS = {"AGENTS.md": "Words of agents.\n", "GEMINI.md": "Words of gemini.\n", "CLAUDE.md": "Words of claude.\n"}
CHANGED, BEFORE, UNDO = "changed since you read them: ", "Before in this conversation", "`seen undo --step "


def rows(agent):
    reads = ("shell", "cat %s; sleep 0.6") if agent.reads_by_shell else ("read", "%s")
    def read(name, kind, path, **more):
        return Row(name, kind, reads[0], reads[1] % path, **more)
    line, new = "line 7 of a file that is read again", "line seven of a file that is read again"
    return ([read("read", "real", "edit.txt", text=FILES["edit.txt"]), read("another", "real", "ext.txt", text=FILES["ext.txt"]),
             read("a third", "real", "a.txt", text=FILES["a.txt"]),
             Row("a command that fails", "any", "shell", "echo made > made.txt; exit 3")], [],
            [Row("an edit over an external change", "stale", "edit", "edit.txt", line, new), read("read after the refusal", "fresh", "edit.txt"),
             Row("the edit after reading again", "done", "edit", "edit.txt", line, new), read("read what was given", "given", "a.txt", text=FILES["a.txt"])])


class Resumed(Play):
    def __init__(self, spec, out):
        self.name, self.wrapped = "resumed", True
        self.parts = rows(agent_of(spec))
        self.session = f"agents-{agent_of(spec).name}-{os.getpid()}-resumed"
        self.statuses, self.begins = [], [0]
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
            self.ask_seen("hooks", "install", self.agent.name)
            for number, script in enumerate(scripts):
                server.script = script
                words = self.agent.arguments(PROMPT) if number == 0 else self.agent.resume("Go on.", home)
                if words is None:
                    break
                session = self.session if number < 2 else self.session + "-later"
                self._run([*seen_run(session, "auto", ("-c", "notice.yield=never")), command_path(self.spec), *words])
                self.statuses.append(self.status)
                self.begins.append(self._requests())
                for name in ("stdout", "stderr"):
                    os.replace(f"{self.directory}/{name}", f"{self.directory}/{name}.{number}")
                changed = ("ext.txt", "edit.txt", None)[number]
                if changed:
                    with open(f"{self.workspace}/{changed}", "a", encoding="utf-8") as file:
                        file.write("external\n")

    def _requests(self):
        with open(self.log, encoding="utf-8") as log:
            return len(log.readlines())

    def judge(self):
        with open(self.log, encoding="utf-8") as log:
            records = [json.loads(line) for line in log]
        runs = [[record for record in records[begin:end] if record["kind"] == "turn"] for begin, end in zip(self.begins, self.begins[1:])]
        first = [json.dumps(run[0]["body"], ensure_ascii=False) if run else "" for run in runs]
        new = [text.split("Go on.", 1)[-1] if number else text for number, text in enumerate(first)]
        result = []
        for name in sorted(set(WORDS) - set(self.agent.instructions)):
            result.append((f"{name} at the start", "given", None if f"[Project instructions from {name}]\\n{WORDS[name].strip()}" in first[0] else "not given"))
        for name in self.agent.instructions:
            result.append((f"{name} at the start", "not given", "given" if f"[Project instructions from {name}]" in first[0] else None))
        if len(runs) < 3:
            self.parts, first = self.parts[:1], [first[0], "", ""]
        reports = {} if len(runs) < 3 else {"changed": [f"{CHANGED}ext.txt (+1 -0, by another program)" in first[1], f"{CHANGED}edit.txt" in first[2]],
                "history": [BEFORE in first[1], BEFORE in first[2]]}
        for name, found in reports.items():
            result.append((f"{name}, in the session", "given", None if found[0] else f"not given; behind the prompt: {new[1][:300]!r}"))
            result.append((f"{name}, in another", "given", None if found[1] else f"not given; behind the prompt: {new[2][:300]!r}"))
        if len(runs) == 3:
            result.append(("a failed command", "given", None if UNDO in first[1] else "not given"))
        for number, part in enumerate(self.parts):
            for row, record in zip(part, [*runs[number][1:], *[None] * len(part)]):
                text, body = (self.agent.bare_result((record["results"] or [""])[-1]), record["body"]) if record else (None, None)
                result.append((row.name, row.kind, None if row.is_own(self.agent, text, body) else self._fault(row, text)))
        result.append(("exit statuses", "0", None if not any(self.statuses) else f"they are {self.statuses}"))
        with open(f"{self.workspace}/edit.txt", encoding="utf-8") as file:
            text = file.read()
        if len(runs) == 3:
            result.append(("the edited file", "both changes", None if "line seven" in text and text.endswith("external\n") else text[-200:]))
        story = self.ask_seen("story", "--json", "--session", self.session) or ""
        result.append(("the failed command in the story", "by its call", None if '"tool"' in story and "made.txt" in story else story[:300]))
        for session in (self.session, self.session + "-later"):
            self.ask_seen("log", "--json", "--session", session)
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
