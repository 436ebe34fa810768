"""Programs start as without seen: by every way to start one, with every error, below other tools, by each mechanism."""
import re
import shutil
import subprocess
import sys
import unittest

import bare
from harness import LONG

SLOW = ("preload", "both", "auto") if LONG else ("auto",)  # by which tests of programs that trace others are repeated

# Errors as Python's own starts report them: by a pipe from the child, or by posix_spawn's result.
BY_PYTHON = r"""
import os, subprocess, sys
static, plain = sys.argv[1:]
open("text", "w").write("exit 3\n")
os.chmod("text", 0o755)
open("closed", "w").close()
os.mkdir("directory")
os.environ["PATH"] = "directory:.:" + os.environ["PATH"]
for name in ("missing", "./missing", "./text", "text", "./closed", "closed", "./directory", "./text/below", ""):
    for more in ({}, {"close_fds": False}, {"preexec_fn": os.getpid}, {"shell": True}, {"cwd": "directory"}, {"start_new_session": True}):
        try:
            done = subprocess.run([name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
            print(name, sorted(more), done.returncode, done.stdout, done.stderr)
        except OSError as error:
            print(name, sorted(more), type(error).__name__, error.errno, error.filename)
    for spawn in (os.posix_spawn, os.posix_spawnp):
        try:
            print(name, spawn.__name__, os.waitstatus_to_exitcode(os.waitpid(spawn(name, [name], os.environ), 0)[1]))
        except OSError as error:
            print(name, spawn.__name__, error.errno, error.filename)
for program in (static, plain):
    for more in ({}, {"close_fds": False}, {"start_new_session": True}, {"process_group": 0}):
        done = subprocess.run(["a name", "show"], executable=program, stdout=subprocess.PIPE, **more)
        print(sorted(more), done.returncode, done.stdout)
"""
BY_NODE = r"""
const { spawnSync, spawn } = require("child_process");
const [program, plain] = process.argv.slice(2);
for (const name of ["missing", "./missing", process.cwd(), program, plain]) {
	const done = spawnSync(name, ["show"], { argv0: "a name", encoding: "utf8" });
	console.log(name, done.status, done.stdout, done.error ? [done.error.code, done.error.syscall] : null);
}
spawn("missing", []).on("error", (error) => console.log("later", error.code, error.syscall, error.path));
"""
BY_GO = r"""
package main

import (
	"fmt"
	"os"
	"os/exec"
)

func main() {
	for _, name := range append([]string{"missing", "./missing", "/"}, os.Args[1:]...) {
		text, err := exec.Command(name, "show").CombinedOutput()
		fmt.Println(name, string(text), err)
	}
}
"""
# What a shell makes of a file that exec refuses, its statuses, and jobs that stop and go on.
BY_SHELL = r"""
static=$1 plain=$2
printf 'echo no first line $0 $1\nexit 5\n' >text
chmod 755 text
touch closed
mkdir directory
for name in missing ./missing ./text text ./closed ./directory; do
	"$name" word 2>&1 | sed 's/^.*line [0-9]*: //'
	echo "$name ${PIPESTATUS[0]}"
done
PATH=.:$PATH text word
echo $?
for program in "$static" "$plain"; do
	(exec -a "-a name" "$program" show)
	(ulimit -n 8; exec "$program" show)
	env -i "$program" show
	timeout 20 "$program" show
	nice -n 3 "$program" show
	echo "$program show" | sh
	find closed -exec "$program" show {} +
	printf 'one\ntwo\n' | xargs -n 1 "$program" show
	perl -e 'exec { $ARGV[0] } "perl", "show"' "$program"
	sh -c 'exec "$0" show' "$program"
done
echo $?
"""
JOBS = r"""
set -m
for program in "$1" "$2"; do
	"$program" wait &
	sleep 0.1
	kill -STOP %1
	until jobs | grep -q Stopped; do sleep 0.02; done
	jobs | sed 's/ .*wait/ wait/'
	kill -CONT %1
	bg >/dev/null 2>&1
	until jobs | grep -q Running; do sleep 0.02; done
	kill -TERM %1
	wait %1
	echo $?
done
"""
# In namespaces of its own; a file system from which no program may be started.
NAMESPACES = r"""
for program in "$1" "$2"; do
	unshare --user --map-root-user --mount --pid --net --ipc --uts --fork --mount-proc "$program" show
	unshare --user --map-root-user --mount sh -c '
		mkdir -p closed && mount -t tmpfs -o noexec none closed && cp "$0" closed/program && ./closed/program show; echo $?' "$program" 2>&1 |
		sed 's/^.*: //'
done
"""
# Kills the supervisor and starts programs.  Prints the same where there is none.
KILLED = r"""
import os, pathlib, signal, subprocess, sys
def parent(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
def name(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip(), parent(pid)
    except (OSError, IndexError):
        return "", 0
above, pid = set(), os.getpid()
while pid > 1:
    above.add(pid)
    pid = parent(pid)
def show():
    for program in sys.argv[2:]:
        done = subprocess.run([program, "show"], stdout=subprocess.PIPE, timeout=20)
        print(done.returncode, done.stdout)
show()
for entry in os.listdir("/proc"):
    if entry.isdigit():
        comm, its_parent = name(entry)
        if comm == "seen-supervisor" and ({int(entry), its_parent} & above):
            os.kill(int(entry), getattr(signal, sys.argv[1]))
show()
"""


class ExecBare(bare.Case):
    def test_errors(self):
        """ENOENT in a search, ENOEXEC, EACCES, ETXTBSY, ELIBBAD, E2BIG, ELOOP, a file that was cut."""
        output = self.compare(self.plain, "errors", self.static, self.plain)
        for error in ("ENOENT", "ENOEXEC", "EACCES", "ETXTBSY", "ELIBBAD", "E2BIG", "ELOOP", "ENOTDIR", "ENAMETOOLONG"):
            self.assertIn(f"  vfork: {error}\n", output)
            self.assertIn(f"  posix_spawn: returned {error}\n", output)

    def test_errors_to_a_static_program(self):
        self.compare(self.static, "errors", self.static, self.plain)

    def test_ways(self):
        """Words, names, descriptors, limits, signals; programs that exist in memory alone; what /proc says when the call returns."""
        output = self.compare(self.plain, "ways", self.static, self.plain)
        self.assertEqual(output.count("the program itself when vfork returned: 20 of 20; posix_spawn: 20\n"), 2)

    def test_python(self):
        self.compare(sys.executable, "by_python.py", self.static, self.plain, files={"by_python.py": BY_PYTHON})

    @unittest.skipUnless(shutil.which("node"), "no node: its starts are not compared")
    def test_node(self):
        self.compare("node", "by_node.js", self.static, self.plain, files={"by_node.js": BY_NODE})

    @unittest.skipUnless(shutil.which("go"), "no go: its starts are not compared")
    def test_go(self):
        (self.top / "by_go.go").write_text(BY_GO)
        subprocess.run(["go", "build", "-o", str(self.top / "by_go"), str(self.top / "by_go.go")], check=True)
        self.compare(str(self.top / "by_go"), self.static, self.plain)

    @unittest.skipUnless(shutil.which("bash"), "no bash")
    def test_shells(self):
        self.compare("bash", "by_shell", self.static, self.plain, files={"by_shell": BY_SHELL})

    @unittest.skipUnless(shutil.which("bash"), "no bash")
    def test_jobs(self):
        self.compare("bash", "jobs", self.static, self.plain, files={"jobs": JOBS})

    def test_namespaces(self):
        probe = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "--pid", "--net", "--fork", "--mount-proc", "true"],
                               stderr=subprocess.DEVNULL, check=False) if shutil.which("unshare") else None
        if not probe or probe.returncode != 0:
            self.skipTest("no unshare, or no user namespaces: programs in namespaces of their own are not compared")
        output = self.compare("bash", "namespaces", self.static, self.plain, files={"namespaces": NAMESPACES})
        self.assertEqual(output.count("ermission denied"), 2)

    def test_below_another_filter(self):
        for words in ((self.static, "show"), (self.plain, "ways", self.static, self.plain)):
            self.compare("sh", "-c", '"$@"; exit $?', "sh", self.plain, "filtered", *words)  # the command itself ends with `seen run`

    @unittest.skipUnless(shutil.which("gdb"), "no gdb: programs below it are not compared")
    def test_gdb(self):
        """`run` ends with the program's status; `starti` stops in the program, not before it."""
        def clean(text):
            return "\n".join(line for line in re.sub(r"process \d+|0x[0-9a-f]+", "N", text).splitlines()
                             if re.match(r"\[Inferior|exe =|.*show; as", line))

        for program in (self.static, self.plain):
            output = self.compare("gdb", "-nx", "-batch", "-ex", "run", "--args", program, "show", clean=clean, mechanisms=SLOW)
            if "exited with code 052" not in output:
                self.skipTest("gdb may not trace here")
            output = self.compare("gdb", "-nx", "-batch", "-ex", "starti", "-ex", "info proc exe", "-ex", "kill", "--args", program, "show",
                                  clean=clean, mechanisms=SLOW)
            self.assertIn(f"exe = '{program}'", output)

    @unittest.skipUnless(shutil.which("strace"), "no strace: programs below it are not compared")
    def test_strace(self):
        if subprocess.run(["strace", "-o", "/dev/null", "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("strace may not trace here")
        self.compare("strace", "-f", "-o", "trace", self.plain, "ways", self.static, self.plain, mechanisms=SLOW)

    def test_supervisor_killed(self):
        self.compare(sys.executable, "killed.py", "SIGKILL", self.static, self.plain, files={"killed.py": KILLED}, mechanisms=("both", "auto"))

    def test_supervisor_stopped(self):
        """Nothing waits for a supervisor that does not answer, where none is above the program already."""
        self.compare(sys.executable, "killed.py", "SIGSTOP", self.static, self.plain, files={"killed.py": KILLED}, mechanisms=("auto",))


if __name__ == "__main__":
    unittest.main()
