"""Several conversations of one process, as a server of the agent's has them: what one was given the other was not.  For `run --answered`.

Each turn is a prompt to one of the conversations, by the server's own interface; the model server's log says what the model was given.
"""
import json
import os
import re
import signal
import subprocess
import threading
import time
import urllib.request

from answered import FILES, LINE, NEW_LINE, Row
from model_server import ModelServer, texts_in
from stage import LAST_WORD, NODE_BIN, RUN_LIMIT_S, SYSTEM_PATH, Play, agent_of, command_path, kill_descendants, make_workspace, seen_run

OUTSIDER = "echo external >> edit.txt"
WAIT = "until [ -e go ]; do sleep 0.1; done"
ANOTHER_LINE, ITS_NEW_LINE = LINE.replace("line 7 ", "line 9 "), NEW_LINE.replace("line seven ", "line nine ")


def cat(kind, path):
    """By the shell.  A notice names the file as one by the read tool does."""
    return Row(f"cat {path}", kind, "shell", f"cat {path}; sleep 0.6", text=FILES[path])


def read(kind, path, **more):
    return Row(f"read {path}", kind, "read", path, text=FILES[path], **more)


def turns():
    """(conversation, rows): in this order.  One that goes on behind another is given all in full.  What stands behind a turn that waits is played while it does."""
    return [
        ("A", [cat("real", "a.txt"), cat("notice", "a.txt"), read("real", "own.txt"), read("real", "edit.txt"), read("real", "ext.txt")]),
        ("B", [cat("real", "a.txt"), cat("real", "part.txt"), cat("notice", "part.txt"), read("real", "own.txt"), read("real", "edit.txt", outsider=OUTSIDER)]),
        ("A", [cat("real", "part.txt"), cat("notice", "part.txt"), cat("real", "a.txt"), read("real", "own.txt"),
               Row("an edit of what its prompt named", "stale", "edit", "edit.txt", ANOTHER_LINE, ITS_NEW_LINE)]),
        ("B", [cat("real", "part.txt"), read("real", "own.txt"), Row("an edit of what it knows", "done", "edit", "edit.txt", LINE, NEW_LINE)]),
        ("A", [Row("it waits", "done", "shell", f"{WAIT}; echo ready"),
               Row("an edit of what the other was given", "stale", "edit", "ext.txt", ANOTHER_LINE, ITS_NEW_LINE)]),
        ("B beside", [cat("real", "a.txt"), cat("real", "a.txt"), Row("read ext.txt", "real", "read", "ext.txt", text=FILES["ext.txt"],
                                                                      outsider="sleep 1.1; echo external >> ext.txt; sleep 1")]),
    ]


class Server(ModelServer):
    """Plays the turn that the last prompt of a request names: script: its calls by that name."""

    def next_call(self, body, results):
        at, name = prompt_of(body)
        index = sum(message["role"] == "tool" for message in body["messages"][at:])
        calls = self.script.get(name) or []
        return (f"{name} {index}", *(calls[index] if index < len(calls) else (LAST_WORD, None)))


def prompt_of(body):
    """Where the last prompt stands in the messages, and the name of its turn."""
    at = max(index for index, message in enumerate(body["messages"]) if message["role"] == "user")
    name = re.search(r"turn (\d+)", texts_in(body["messages"][at]))
    return at, name and int(name[1])


class Conversations(Play):
    def __init__(self, spec, out):
        self.name, self.wrapped = "conversations", True
        self.session = f"agents-{agent_of(spec).name}-{os.getpid()}-conversations"
        self.turns = turns()
        self.url, self.ids, self.faults = None, {}, []
        super().__init__(spec, os.path.join(out, f"{spec}.conversations"), FILES, [], seen_run(self.session, "auto", ("-c", "notice.yield=never")))

    def script(self):
        return {number: [(self.agent.call(row.operation, self.workspace), row.outsider) for row in rows] for number, (_, rows) in enumerate(self.turns)}

    def play(self):
        home = self._sub("home")
        make_workspace(self._sub("workspace"), self.files)
        with Server(self.script(), self.workspace, self.log, self.agent.think_s) as server:
            self.environment = {
                "PATH": f"{NODE_BIN}:{SYSTEM_PATH}", "HOME": home, "SHELL": "/bin/bash", "USER": os.environ.get("USER", "user"), "TERM": "xterm-256color",
                "LANG": "C.UTF-8", "NO_COLOR": "1", "TMPDIR": self._sub("tmp"), "XDG_CONFIG_HOME": f"{home}/.config", "XDG_CACHE_HOME": f"{home}/.cache",
                "XDG_DATA_HOME": f"{home}/.local/share", "XDG_STATE_HOME": f"{home}/.local/state", "XDG_RUNTIME_DIR": self._sub("run"),
                **self.agent.configure(home, self.workspace, server.url)}
            self.install_hooks()
            with open(f"{self.directory}/stdout", "wb") as out, open(f"{self.directory}/stderr", "wb") as err:
                process = subprocess.Popen([*self.wrapper, command_path(self.spec), "serve", "--port", "0"], cwd=self.workspace, env=self.environment,
                                           stdout=out, stderr=err, stdin=subprocess.DEVNULL, start_new_session=True)
                try:
                    self._talk()
                    os.killpg(process.pid, signal.SIGTERM)
                    self.status = process.wait(30)
                except (OSError, ValueError, subprocess.TimeoutExpired) as error:
                    self.status = repr(error)
                finally:
                    kill_descendants()

    def _talk(self):
        until = time.monotonic() + RUN_LIMIT_S
        while not self.url and time.monotonic() < until:
            time.sleep(0.2)
            with open(f"{self.directory}/stdout", encoding="utf-8") as file:
                found = re.search(r"listening on (http://[\w.:]+)", file.read())
                self.url = found and found[1]
        beside = None
        for number, (conversation, rows) in enumerate(self.turns):
            if rows[0].name == "it waits":
                beside = threading.Thread(target=self._prompt, args=(conversation, number))
                beside.start()
                self._wait_for(number)
            else:
                self._prompt(conversation.split()[0], number)
        with open(f"{self.workspace}/go", "w", encoding="utf-8"):
            pass
        beside.join()

    def _wait_for(self, number):
        """Until the model was asked for a turn."""
        until = time.monotonic() + RUN_LIMIT_S
        while time.monotonic() < until and not any(name == number for name, _, _ in self._requests()):
            time.sleep(0.1)
        time.sleep(2)  # its call is made

    def _ask(self, path, document):
        request = urllib.request.Request(self.url + path, json.dumps(document).encode(), {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=RUN_LIMIT_S) as response:
            return json.load(response)

    def _prompt(self, conversation, number):
        if conversation not in self.ids:
            self.ids[conversation] = self._ask("/session", {})["id"]
        self._ask(f"/session/{self.ids[conversation]}/message", {"model": {"providerID": "scripted", "modelID": self.agent.model},
                                                               "parts": [{"type": "text", "text": f"Please do turn {number}."}]})

    def _requests(self):
        """(turn, calls that were made in it, the request's messages), as they came."""
        with open(self.log, encoding="utf-8") as log:
            records = [json.loads(line) for line in log if line.endswith("\n")]
        for record in records:
            if record["kind"] == "turn":
                messages = record["body"]["messages"]
                at, name = prompt_of(record["body"])
                yield name, [message for message in messages[at:] if message["role"] == "tool"], messages[at:]

    def judge(self):
        given, prompts = {}, {}
        for name, results, messages in self._requests():
            prompts.setdefault(name, texts_in(messages[:1]))
            for index, message in enumerate(results):
                given.setdefault((name, index), texts_in(message["content"]))
        rows = []
        for number, (conversation, turn) in enumerate(self.turns):
            for index, row in enumerate(turn):
                text = given.get((number, index))
                fault = row.fault(text and self.agent.bare_result(text), [])
                rows.append((f"{number} {conversation}: {row.name}", row.kind, None if row.is_own(self.agent, text, []) else fault))
        has_words = "changed since you read them: edit.txt" in prompts.get(2, "")
        rows.append(("A learns what B knows", "given", None if has_words else prompts.get(2, "")[:300]))
        rows.append(("exit status", "ended", None if isinstance(self.status, int) else self.status))
        return rows
