"""Conversations that are cut, or that a sub-agent joins, in the agent's own process: what its hooks and its transcript tell.

Each play is one agent process in which the conversation is compacted between two turns, or where it is long enough by its own
count. hooks: the agent's hooks are installed, and its transcript is not inspected. transcript: the other way round. neither: what
the model loses without both. After the cut the model has the file no more, so that a notice is one too many.

The model server counts its turns, not tool results: these are what a compaction takes away.
"""
import json
import os
import shlex
import signal
import subprocess
import time

from agents import bare_lines, missing_lines
from model_server import APIS, Call, ModelServer, texts_in
from stage import (NODE_BIN, PROMPT, SYSTEM_PATH, Play, agent_of, command_path, kill_descendants, make_workspace,
                   run_in_terminal, seen_run)

TEXT = "".join(f"line {i} of a file that is read again\n" for i in range(60))
NOTICE = "[File previously read: "
FULL_TOKENS = 300000  # more than any of these agents' windows
LIMIT_S = 300  # on a busy machine
SUMMARY, SNAPSHOT = "<summary>All was read.</summary>", "<state_snapshot>All was read.</state_snapshot>"
# What agents ask for a summary with; asks without tools are such, too.
ASKS_FOR_SUMMARY = ("CONTEXT CHECKPOINT COMPACTION", "Respond with TEXT ONLY", "context summarization assistant")
SUB_TASK = "SUBTASK: read the file."
LAST, FIRST = "All done.", "The first part is done."


class TurnServer(ModelServer):
    """Plays a list of (Call, tokens) in the order of the requests; below a sub-agent, another one."""

    def __init__(self, script, sub_script, workspace, log_path, think_s=0):
        super().__init__(script, workspace, log_path, think_s)
        self.scripts = {False: script, True: sub_script}
        self.turns = {False: 0, True: 0}

    def _answer(self, request):
        path = request.path.split("?")[0]
        data = request.rfile.read(int(request.headers.get("content-length") or 0))
        api = next((a for a in APIS if path.endswith(a.path)), None)
        try:
            body = json.loads(data)
        except ValueError:
            api, body = None, None
        if api is None:
            is_summary = path.endswith(":generateContent") and b"<state_snapshot>" in data
            self._note(kind="aside" if is_summary else "other", method="POST", path=path)
            part = {"content": {"role": "model", "parts": [{"text": SNAPSHOT}]}, "finishReason": "STOP", "index": 0}
            return self._send(request, json.dumps({"candidates": [part]} if is_summary else {}).encode(), "application/json")
        messages = body.get("messages") or body.get("input") or body.get("contents") or []
        last = json.dumps(messages[-1:]) + json.dumps(messages[:1])[:2000]
        call, tokens, index = Call(None, SUMMARY), 100, 0
        if not body.get("tools") or any(words in last for words in ASKS_FOR_SUMMARY):
            self._note(kind="aside", path=path)
        else:
            below = SUB_TASK in json.dumps(messages[:2] + [message for message in messages if message.get("type") == "agent_message"])
            index = self.turns[below]
            self.turns[below] += 1
            call, tokens = self.scripts[below][min(index, len(self.scripts[below]) - 1)]
            self._note(kind="turn", step=index, below=below, results=api.results(body), body=body)
        time.sleep(self.think_s)
        stream = "".join((f"event: {name}\n" if name else "")
                         + f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n"
                         for name, event in api.events(call, f"{index}_{self.turns[True]}"))
        if tokens != 100:
            for name in ("input_tokens", "promptTokenCount", "prompt_tokens"):
                stream = stream.replace(f'"{name}": 100', f'"{name}": {tokens}')
            for name in ("total_tokens", "totalTokenCount"):
                stream = stream.replace(f'"{name}": 120', f'"{name}": {tokens + 20}')
        self._send(request, stream.encode(), "text/event-stream")


class Talk:
    """How an agent is talked to so that its conversation is cut: prompts on its standard input, or none.

    words: behind the agent's name; None: those for PROMPT.  messages: lines for its standard input.  is_end: has it done with one?
    typed: what is typed at its terminal in place of these, the first when its first part is done.
    fills: it cuts its conversation by itself, since the model says that it is too long.  event: that its hook tells then.  has_forms: its
    transcript is read by conditions, which can be switched off.
    """

    def __init__(self, words=None, messages=(), is_end=None, fills=False, event="PreCompact", has_forms=True, typed=()):
        self.words, self.messages, self.is_end, self.fills, self.event, self.has_forms = words, messages, is_end, fills, event, has_forms
        self.typed = typed


def claude_says(text):
    return {"type": "user", "message": {"role": "user", "content": text}}


TALKS = {
    "claude": Talk(["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--model",
                    "claude-sonnet-4-5", "--dangerously-skip-permissions"],
                   [claude_says(PROMPT), claude_says("/compact"), claude_says("Again.")],
                   lambda message, event: event.get("type") == "result"),
    "pi": Talk(["--mode", "rpc", "--provider", "scripted", "--model", "scripted"],
               [{"type": "prompt", "message": PROMPT}, {"type": "compact"}, {"type": "prompt", "message": "Again."}],
               lambda message, event: event.get("command") == "compact" if message["type"] == "compact"
               else event.get("type") == "agent_end"),
    "codex": Talk(["exec", "--dangerously-bypass-hook-trust", "--json", "--dangerously-bypass-approvals-and-sandbox", PROMPT],
                  fills=True),
    "gemini": Talk(["-i", PROMPT, "--yolo", "-m", "gemini-2.5-pro"], event="PreCompress", typed=("/compress", "Again.")),
    "cline": Talk(fills=True, event="PostCompact", has_forms=False),
    "opencode": Talk(fills=True, event="PostCompact", has_forms=False),
    "kilo": Talk(fills=True, event="PostCompact", has_forms=False),
}
# How a sub-agent is started that does SUB_TASK; with which options, and how its end is waited for, where that is another call.
SUB_AGENT_OPTIONS = {"codex": ["--enable", "multi_agent_v2"]}
SUB_AGENT_WAITS = {"codex": [Call("wait_agent", {"timeout_ms": 60000}, "collaboration")]}
SUB_AGENTS = {
    "codex": Call("spawn_agent", {"task_name": "task_1", "fork_turns": "none", "message": SUB_TASK}, "collaboration"),
    "claude": Call("Agent", {"description": "run the sub-agent", "prompt": SUB_TASK, "subagent_type": "general-purpose",
                             "run_in_background": False}),
    "gemini": Call("invoke_agent", {"agent_name": "generalist", "prompt": SUB_TASK}),
    "cline": Call("spawn_agent", {"systemPrompt": "You are the sub-agent.", "task": SUB_TASK}),
    "opencode": Call("task", {"description": "run the sub-agent", "prompt": SUB_TASK, "subagent_type": "general"}),
    "kilo": Call("task", {"description": "run the sub-agent", "prompt": SUB_TASK, "subagent_type": "general"}),
}


def without_transcripts(name):
    return ("-c", f"agent {name}.compaction=")


class Hooked(Play):
    """cat, cat: a notice.  The conversation is cut.  cat: the file, where that was reported; cat: a notice."""

    def __init__(self, spec, out, name, hooks, transcript, reported=True):
        self.name, self.hooks, self.reported = f"hooked, {name}", hooks, reported
        self.transcript = transcript
        self.wrapped = True
        self.session = f"agents-{agent_of(spec).name}-{os.getpid()}-{name}"
        agent = agent_of(spec).name
        options = ("-c", "notice.yield=never", *(() if transcript else without_transcripts(agent)))
        super().__init__(spec, os.path.join(out, f"{spec}.hooked-{name}"), {"f.txt": TEXT}, [],
                         seen_run(self.session, "auto", options))
        self.talk = TALKS.get(agent)

    def script(self):
        cat = self.agent.shell(self.workspace, "cat f.txt")
        pause = self.agent.shell(self.workspace, "sleep 0.6; echo ready")
        fills = self.talk is None or self.talk.fills
        # An agent that is asked to cut it keeps what is no longer than the summary.
        first = [(cat, 100), (cat, 100), (pause if fills else Call(None, FIRST), FULL_TOKENS if fills or self.talk.typed else 100)]
        return first + ([] if fills else [(pause, 100)]) + [(cat, 100), (cat, 100), (Call(None, LAST), 100)]

    sub_script = ()

    def play(self):
        home = self._sub("home")
        make_workspace(self._sub("workspace"), self.files)
        with TurnServer(self.script(), self.sub_script, self.workspace, self.log, self.agent.think_s) as server:
            self.environment = {
                "PATH": f"{NODE_BIN}:{SYSTEM_PATH}", "HOME": home, "SHELL": "/bin/bash", "USER": "user",
                "TERM": "xterm-256color", "LANG": "C.UTF-8", "NO_COLOR": "1", "TMPDIR": self._sub("tmp"),
                "XDG_CONFIG_HOME": f"{home}/.config", "XDG_CACHE_HOME": f"{home}/.cache",
                "XDG_DATA_HOME": f"{home}/.local/share", "XDG_STATE_HOME": f"{home}/.local/state",
                "XDG_RUNTIME_DIR": self._sub("run"), **self.agent.configure(home, self.workspace, server.url)}
            if self.hooks:
                self.install_hooks()
            self._talk()
        self.ask_seen("status", "--json", "--session", self.session)

    def _talk(self):
        if self.talk and self.talk.fills:
            self.agent.narrow(self.environment["HOME"])
        words = self.talk and self.talk.words or self.agent.arguments(PROMPT)
        command = [*self.wrapper, command_path(self.spec), *words]
        if self.talk and self.talk.typed:
            self._type(command)
            return
        with open(f"{self.directory}/stdout", "w", encoding="utf-8") as out, open(f"{self.directory}/stderr", "wb") as err:
            process = subprocess.Popen(command, cwd=self.workspace, env=self.environment, stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=err, start_new_session=True, text=True)
            old = signal.signal(signal.SIGALRM, lambda *_: process.kill())
            signal.alarm(LIMIT_S)
            try:
                for message in self.talk.messages if self.talk else ():
                    process.stdin.write(json.dumps(message) + "\n")
                    process.stdin.flush()
                    for line in process.stdout:
                        out.write(line)
                        if line.startswith("{") and self.talk.is_end(message, json.loads(line)):
                            break
                process.stdin.close()
                out.write(process.stdout.read())
                self.status = process.wait()
            except OSError as error:
                self.status = str(error)
            finally:
                signal.alarm(0)
                signal.signal(signal.SIGALRM, old)
                kill_descendants()

    def _type(self, command):
        """At a terminal: the summary is asked for once it was typed, and the last turn is the last one of the script."""
        compress, again = self.talk.typed
        def count(kind):
            with open(self.log, encoding="utf-8") as log:
                return sum(json.loads(line)["kind"] == kind for line in log)
        asides, script = [], self.script()
        def is_first_done():
            asides[:] = [count("aside")]
            return count("turn") >= 3
        self.status = run_in_terminal(command, self.workspace, self.environment, [
            (is_first_done, compress), (lambda: count("aside") > asides[0], again), (lambda: count("turn") >= len(script), "")],
            f"{self.directory}/stdout") or 0

    def turns(self):
        """What the model was given for each of its turns, in order: the last result of the next request, and that request."""
        given = {False: [], True: []}
        with open(self.log, encoding="utf-8") as log:
            for line in log:
                record = json.loads(line)
                if record["kind"] == "turn":
                    given[record["below"]].append((self.agent.bare_result((record["results"] or [""])[-1]), record["body"]))
        return given

    def causes(self):
        log = self.ask_seen("log", "--json", "--op", "forgotten", "--session", self.session) or ""
        return [json.loads(line)["cause"] for line in log.splitlines()]

    def _row(self, name, expected, result):
        text, body = result
        own = self.agent.own_words.get("notice")
        if own and text.startswith(own):  # its own words: they are so where the file is in front of the model
            missing = missing_lines(TEXT, texts_in(body))
            return name, expected, f"its own notice, without {len(missing)} lines of the file" if missing else None
        is_notice = bare_lines(text).lstrip().startswith(NOTICE)  # an agent may number them
        is_real = not is_notice and not missing_lines(TEXT, text)
        is_right = {"notice": is_notice, "real": is_real, "either": is_notice or is_real}[expected]
        return name, expected, None if is_right else f"given: {text[:160]!r}"

    def judge(self):
        given = self.turns()[False] + [("", None)] * 8
        fills = self.talk is None or self.talk.fills
        after = given[4:6] if fills else given[5:7]
        # An agent that keeps the last message repeats it: the last result is what matters.
        rows = [self._row("cat", "real", given[1]), self._row("cat again", "notice", given[2])]
        if self.talk:
            rows += [self._row("cat after the cut", "real" if self.reported else "either", after[0]),
                     self._row("cat again after the cut", "notice", after[1])]
        causes = self.causes()
        for wanted, has in (("hook SessionStart", self.hooks), (f"hook {self.talk.event if self.talk else 'PreCompact'}", self.hooks and self.talk),
                            ("compaction in ", self.transcript and self.talk)):
            found = any(cause and cause.startswith(wanted) for cause in causes)
            if wanted.startswith("hook") or self.talk:
                rows.append((f"told by {wanted.strip()}", "yes" if has else "no",
                             None if found == bool(has) else f"causes: {causes}"))
        rows.append(("exit status", "0", None if self.status == 0 else f"it is {self.status}"))
        rows.append(("last word", "said", None if self.said_last_word() else "not said"))
        return rows


class WithSubAgent(Hooked):
    """A sub-agent in the agent's process reads what the main conversation was given.

    own: by its read tool, not by a command.
    """

    sub_script = ()

    def __init__(self, spec, out, own=False):
        self.own = own
        super().__init__(spec, out, "sub-agent-reads" if own else "sub-agent", True, True)

    def script(self):
        cat = self.agent.read(self.workspace, "f.txt") if self.own else self.agent.shell(self.workspace, "cat f.txt")
        self.sub_script = [(cat, 100), (cat, 100), (Call(None, "It was read."), 100)]
        return [(cat, 100), (cat, 100),
                *((call, 100) for call in self.starts()),
                (cat, 100), (cat, 100), (Call(None, LAST), 100)]

    def starts(self):
        """The calls that start it, and wait for its end."""
        return [SUB_AGENTS[self.agent.name], *SUB_AGENT_WAITS.get(self.agent.name, ())]

    def _talk(self):
        self.talk = Talk([*self.agent.arguments(PROMPT), *SUB_AGENT_OPTIONS.get(self.agent.name, ())])
        super()._talk()

    def play(self):
        self.script()
        super().play()

    def judge(self):
        given = self.turns()
        main, below = given[False] + [("", None)] * 8, given[True] + [("", None)] * 4
        first, again = main[3 + len(self.starts()):][:2]
        rows = [self._row("cat", "real", main[1]), self._row("cat again", "notice", main[2]),
                self._row("the sub-agent's cat", "real", below[1]), self._row("once more", "real", below[2]),
                self._row("cat behind it", "real", first), self._row("cat again behind it", "notice", again)]
        causes = self.causes()
        for wanted in ("hook SubagentStart", "hook SubagentStop"):
            rows.append((f"told by {wanted}", "yes", None if wanted in causes else f"causes: {causes}"))
        rows.append(("exit status", "0", None if self.status == 0 else f"it is {self.status}"))
        return rows


class Nested(WithSubAgent):
    """A sub-agent that is a process of its own, started by the agent's shell: each knows what it was given itself."""

    def __init__(self, spec, out, own=False):
        super().__init__(spec, out, own)
        self.name = self.name.replace("sub-agent", "process below")

    def starts(self):
        words = [command_path(self.spec), *self.agent.arguments(SUB_TASK)]
        return [self.agent.shell(self.workspace, f"{shlex.join(words)} > /dev/null 2>&1; echo done")]

    def judge(self):
        given = self.turns()
        main, below = given[False] + [("", None)] * 8, given[True] + [("", None)] * 4
        return [self._row("cat", "real", main[1]), self._row("cat again", "notice", main[2]), self._row("the process below: cat", "real", below[1]),
                self._row("the process below: cat again", "notice", below[2]),
                # What its read tool was answered so is given when it asks again.
                self._row("cat behind it", "real" if self.own else "notice", main[4]),
                ("exit status", "0", None if self.status == 0 else f"it is {self.status}")]


def hookeds(spec, out):
    """The plays of one agent."""
    by = [False] if agent_of(spec).reads_by_shell else [False, True]
    plays = [Hooked(spec, out, "hooks", True, False)]
    if agent_of(spec).name in TALKS and TALKS[agent_of(spec).name].has_forms:
        plays += [Hooked(spec, out, "transcript", False, True)]
        if not TALKS[agent_of(spec).name].typed:  # else nothing is answered
            plays += [Hooked(spec, out, "neither", False, False, reported=False)]
    if agent_of(spec).name in SUB_AGENTS:
        plays += [WithSubAgent(spec, out, own) for own in by]
    else:
        plays += [Nested(spec, out, own) for own in by]
    return plays
