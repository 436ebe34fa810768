"""What an agent waits for at each of its hooks: the shell that runs it, and `seen` in that."""
import json
import os
import subprocess

from .place import SEEN, Failed, text_of, write_file
from .works import Study

SESSION = "bench-hooks"
TURNS = 200
FILE_BYTES = 20000
# Commands by turns, each with a document on descriptor 0; {name: [(ns, ns of processor time) of each turn]}.  Beside them so many processes that do nothing but run.
RUNNER = r'''
import json, os, signal, sys, time
cases, turns, loads = json.load(open(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])
pids = []
for _ in range(loads):
    pid = os.fork()
    if pid == 0:
        while os.getppid() != 1: pass
        os._exit(0)
    pids.append(pid)
times = {name: [] for name in cases}
for turn in range(-3, turns):
    for name, (command, document) in cases.items():
        actions = [(os.POSIX_SPAWN_OPEN, 0, document, os.O_RDONLY, 0), (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
        start = time.monotonic_ns()
        _, status, used = os.wait4(os.posix_spawn("/bin/sh", ["sh", "-c", command], os.environ, file_actions=actions), 0)
        if status: sys.exit(f"{command}: {status}")
        if turn >= 0: times[name].append((time.monotonic_ns() - start, int((used.ru_utime + used.ru_stime) * 1e9)))
for pid in pids: os.kill(pid, signal.SIGKILL)
json.dump(times, open(sys.argv[4], "w"))
'''


def at(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))] / 1e6


class Hooks(Study):
    group, name, share = "hooks", "hooks of agents", 0.7
    about = ("Milliseconds from the start of the hook's shell to its end. Loaded: beside one process for each processor that does nothing but run. "
             "more: the median of what the hook took more than `sh -c :` of the same turn; cpu: of processor time, with all processes below.")
    goals = ("hook", "hook outside", "hook loaded")

    def prepare(self):
        place = self.place
        self.runner = os.path.join(place.work, "hook-runner.py")
        self.file = os.path.join(place.work, "hook-read.txt")
        write_file(self.runner, RUNNER.encode())
        write_file(self.file, text_of(FILE_BYTES, 1))
        with open(self.file, encoding="utf-8") as file:
            text = file.read()
        lines = text.count("\n") + 1
        common = {"session_id": "c", "cwd": place.work, "tool_use_id": "t"}
        read = {"type": "text", "file": {"filePath": self.file, "content": text, "numLines": lines, "startLine": 1, "totalLines": lines}}
        documents = {
            "prompt": {"hook_event_name": "UserPromptSubmit", "prompt": "Do it.", **common},
            "before an edit": {"hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_input": {"file_path": self.file}, **common},
            "after a command": {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "true"}, "tool_response": {"stdout": ""}, **common},
            "after a read of 20 KB": {"hook_event_name": "PostToolUse", "tool_name": "Read", "tool_input": {"file_path": self.file}, "tool_response": read, **common}}
        self.cases = {"`sh -c :`": (":", "/dev/null"), "`sh -c '/bin/true || :'`": ("/bin/true || :", "/dev/null")}
        for name, document in documents.items():
            path = os.path.join(place.work, "hook-%s.json" % name.replace(" ", "-"))
            write_file(path, json.dumps(document).encode())
            self.cases[name] = ("%s answer hook claude 2>/dev/null || :" % SEEN, path)

    def times(self, inside, loads):
        """{name: [(ns, ns of processor time)]} of all cases."""
        cases, result = os.path.join(self.place.work, "hook-cases.json"), os.path.join(self.place.work, "hook-times.json")
        write_file(cases, json.dumps(self.cases).encode())
        wrapper = [SEEN, "run", "--quiet", "--session", SESSION, "--workspace", self.place.work, "--agent", "hook-runner.py", "--"] if inside else []
        done = subprocess.run([*wrapper, "python3", self.runner, cases, str(20 if self.place.quick else TURNS), str(loads), result], cwd=self.place.work,
                              env=self.place.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if done.returncode or done.stdout or done.stderr:
            raise Failed("hooks: exit status %d: %s" % (done.returncode, done.stderr.decode(errors="replace")[-300:]))
        if inside:
            self.prove()
        with open(result, encoding="utf-8") as file:
            return json.load(file)

    def prove(self):
        """The hooks were at work: each call is on record, and reads were answered."""
        log = subprocess.run([SEEN, "log", "--session", SESSION, "--json"], cwd=self.place.work, env=self.place.env, stdout=subprocess.PIPE, check=True)
        ops = [json.loads(line)["op"] for line in log.stdout.splitlines()]
        self.place.forget(SESSION)
        if ops.count("reported") < 4 * 20 or "notice" not in ops:
            raise Failed("hooks: %d were reported, %d answered" % (ops.count("reported"), ops.count("notice")))

    def measure(self, rounds):
        shell = next(iter(self.cases))
        rows, data, figures = [], {}, {"more_ms": 0, "more_outside_ms": 0, "more_loaded_p99_ms": 0}
        for title, inside, loads in (("in a session", True, 0), ("outside", False, 0), ("in a session, loaded", True, os.cpu_count())):
            times = data[title] = self.times(inside, loads)
            for name, values in times.items():
                walls, bases = [wall for wall, _ in values], [wall for wall, _ in times[shell]]
                more, cpu = (at([value[i] - base[i] for value, base in zip(values, times[shell])], 0.5) for i in (0, 1))
                rows.append([title, name, "%.1f" % at(walls, 0.5), "%.1f" % at(walls, 0.99), "%.1f" % more, "%.1f" % cpu])
                if name not in list(self.cases)[:2]:
                    key = "more_loaded_p99_ms" if loads else "more_ms" if inside else "more_outside_ms"
                    figures[key] = max(figures[key], at(walls, 0.99) - at(bases, 0.99) if loads else more)
        return {"data": data, "figures": figures, "tables": [{
            "title": self.name, "header": ["where", "hook", "median", "99 of 100", "more", "cpu"], "rows": rows, "note": self.about}]}

    def clean(self):
        self.place.forget(SESSION)


def works(place):
    return [Hooks(place)]
