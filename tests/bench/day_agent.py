"""Plays an agent's day: an agent as seen knows them, which starts `bash -c COMMAND` for each command and reads its output by a pipe.

usage: day_agent.py DAY RESULTS WORKSPACE STEPS [--contents]

DAY is a file of tests/bench/days (harness/day.py says what it holds).  The first STEPS steps are played.  RESULTS gets for each a line of JSON, {"bytes", "status",
"files": [[name, bytes]...]}, and behind it as many bytes of output and of files: with --contents, those that the step showed.  They are
written when all is done; the report (report.h) counts the steps, and neither start nor results.
"""
import json
import os
import resource
import subprocess
import sys
import time


def cpu_ns():
    return int(1e9 * sum(usage.ru_utime + usage.ru_stime for usage in (
        resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))))


def edit(path, line, old, new, context):
    """The agent's edit tool: what the model reads."""
    with open(path, "rb") as file:
        lines = file.read().splitlines(keepends=True)
    if lines[line - 1] != old.encode() + b"\n":
        return b"%s: line %d is another\n" % (path.encode(), line), 1
    lines[line - 1] = new.encode() + b"\n"
    with open(path, "wb") as file:
        file.write(b"".join(lines))
    return b"edited " + path.encode() + b"\n" + b"".join(lines[max(0, line - 1 - context):line + context]), 0


def run(command):
    done = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.stdout, done.returncode


def forget():
    """What an agent's hook does when its conversation was cut short; nothing where there is no session."""
    seen = os.environ.get("BENCH_SEEN")
    if seen and "SEEN_SESSION" in os.environ:
        subprocess.run([seen, "forget", "--hook", "PreCompact"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        steps = [json.loads(line) for line in file][1:1 + int(sys.argv[4])]
    os.chdir(sys.argv[3])
    contents = "--contents" in sys.argv
    results = []
    cpu, wall = cpu_ns(), time.monotonic_ns()
    for step in steps:
        if "run" in step:
            output, status = run(step["run"])
        elif "edit" in step:
            output, status = edit(step["edit"], step["line"], step["old"], step["new"], step["context"])
        else:
            forget()
            output, status = b"", 0
        files = []
        for name in step.get("shows", []) if contents else []:
            with open(name, "rb") as file:
                files.append((name, file.read()))
        results.append((output, status, files))
    wall, cpu = time.monotonic_ns() - wall, cpu_ns() - cpu
    with open(sys.argv[2], "wb") as file:
        for output, status, files in results:
            head = {"bytes": len(output), "status": status, "files": [[name, len(content)] for name, content in files]}
            file.write(json.dumps(head).encode() + b"\n" + output + b"".join(content for _, content in files))
    with open(os.environ["BENCH_REPORT"], "w", encoding="ascii") as file:
        file.write("%d %d %d\n" % (len(steps), wall, cpu))
        for name in ("maps", "status"):
            with open("/proc/self/" + name, encoding="ascii", errors="replace") as shown:
                file.write(shown.read())


if __name__ == "__main__":
    main()
