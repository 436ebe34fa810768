"""A command of the program that is stopped before its system calls, so that something happens right there (programs/helpers/stops_at.c)."""
import os
import subprocess

from harness import BUILD, SEEN

STOPS_AT = os.path.join(BUILD, "tests", "programs", "helpers", "stops_at")


def joined(numbers):
    return ",".join(map(str, numbers)) or "0"


def run_stopped(session, act, words=("undo", "--all"), numbers=range(1, 20000), calls=(), of_calls=()):
    """Calls act(system call) before each of these calls (the first is 1), and before those of `of_calls` among `calls`; "kill" ends the
    command there.

    Returns its status, standard error, and how many calls there were (None: it was killed)."""
    go_in, go_out = os.pipe()
    line_in, line_out = os.pipe()
    process = subprocess.Popen([STOPS_AT, str(go_in), str(line_out), joined(numbers), joined(calls), joined(of_calls), SEEN, *words, "--session", session.name],
                               cwd=session.workspace, env=session.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, pass_fds=(go_in, line_out))
    os.close(go_in)
    os.close(line_out)
    count = None
    with os.fdopen(line_in) as lines:
        for line in lines:
            if line.startswith("end"):
                count = int(line.split()[1])
                break
            if act(int(line.split()[2])) == "kill":
                process.kill()
                break
            os.write(go_out, b".")
    os.close(go_out)
    errors = process.communicate(timeout=60)[1]
    return process.returncode, errors, count
