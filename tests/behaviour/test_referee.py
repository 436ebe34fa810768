"""The journal against a referee: strace and the journal of one run tell the same of every call (see referee.py).

The last test prints a table: calls that strace saw, those in the journal, those that are not and by which rule, what is missing.
"""

import errno
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from harness import LONG, Session
from referee import Journal, Referee, table

ENVIRONMENT = {"LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "n", "GIT_AUTHOR_EMAIL": "e", "GIT_COMMITTER_NAME": "n",
               "GIT_COMMITTER_EMAIL": "e", "MALLOC_ARENA_MAX": "1"}

COREUTILS = r"""
mkdir -p d/e 'sp ace'; echo 1 >d/a; echo 2 >d/e/b; printf 'x\ny\nz\n' >l
cp -a d d2; mv d2 d4; ln l hl; ln -sf l sl; install -m 600 l inst; touch -d @1 l; touch new; truncate -s 100 tr; truncate -s +5 tr
chmod -R u+w d; chmod 600 nofile; chown root l; sort -o l l; split -n 2 l part; dd if=l of=dd bs=1 count=4; mkfifo ff; rmdir 'sp ace'; rmdir d
rm -rf d4; shred -u new; tee t1 t2 <l; mv nofile x; cat l sl; fallocate -l 10 fal; mktemp -p .; mktemp -d -p .; head -c 3 l >hh; tail -n1 l >>hh
touch $'non\xffutf'; rm $'non\xffutf' hl
"""

SHELL = r"""
echo a >f; exec 5<f; read x <&5; exec 5<&-; (cd /tmp; echo >$OLDPWD/g); cat <<X >h
here
X
for i in 1 2 3; do echo $i; done >>h; x=$(cat h); wc <h >w 2>&1; : >nodir/x; . ./nofile; exec 3<>rw; echo hi >&3; exec 3>&-; cat h | sort | uniq >u
mapfile -t lines <h; set -o noclobber; echo x >h; dash -c 'echo 1 >da; cat da >db; . ./lib 2>/dev/null; cat <da; x=`wc da`; exec cat da'
(kill -9 $BASHPID); (exec nofile); echo *; exec ls
"""

GIT = r"""
git init -q; echo a >a; echo b >b; git add -A; git commit -qm m; echo c >>a; git status; git commit -qam m2; git checkout -q -b br HEAD~1
git log -p >/dev/null; git gc -q
"""

MAKE = r"""
mkdir src; for i in 1 2; do printf '#include "h.h"\nint f%d(void) { return 0; }\n' $i >src/f$i.c; done
echo 'int f1(void); int main(void) { return f1(); }' >src/main.c; touch src/h.h
printf 'O=$(patsubst %%.c,%%.o,$(wildcard src/*.c))\nprog: $O\n\tgcc -o $@ $^\n%%.o: %%.c\n\tgcc -MMD -c -o $@ $<\n-include $(wildcard src/*.d)\n' >Makefile
make -j2; ./prog; make -s
"""

FIND = r"""
mkdir -p a/b; for i in 1 2; do echo foo$i >a/b/$i.txt; done; find a -name '*.txt' -exec sed -i s/foo/bar/ {} \;; find a -type f -print0 | xargs -0 grep -l bar
find a -execdir cat {} +; tar czf t.tgz a; mkdir x; tar xzf t.tgz -C x; perl -pi.bak -e 's/baz/bar/' a/b/1.txt
perl -e 'opendir D, "a"; readdir D; rename "a/b/1.txt", "q"; unlink "q"; open F, ">", "pp"; print F "x" x 10000; close F; system("true"); print `cat pp`'
find a -delete; diff -r x nodir
"""

PYTHON = r"""
import os, shutil, socket, sqlite3, subprocess, tempfile, threading, json, email.message, xml.dom.minidom, asyncio, logging, zipfile, tarfile, pathlib
os.makedirs("t/u/v"); open("t/u/f", "w").write("x" * 100000); open("t/u/g", "wb").write(b"y")
shutil.copytree("t", "t2"); shutil.move("t2", "t3"); os.rename("t3", "t4"); os.link("t/u/g", "t/u/h"); os.symlink("g", "t/u/s"); shutil.rmtree("t4")
with tempfile.TemporaryDirectory() as directory:
    open(directory + "/q", "w").write("1")
tempfile.TemporaryFile().write(b"a")
tempfile.NamedTemporaryFile().write(b"b")
subprocess.run(["cat", "t/u/g"], stdout=open("o", "w"))
subprocess.check_output("cat o", shell=True)
for call in (lambda: subprocess.run(["nofile"]), lambda: os.open("nofile", os.O_RDONLY), lambda: os.rename("nofile", "x"), lambda: os.mkdir("t"),
             lambda: os.removexattr("o", "user.none"), lambda: os.link("nofile", "o"), lambda: os.open("t", os.O_WRONLY), lambda: os.chdir("nofile")):
    try:
        call()
    except OSError:
        pass
os.chmod("o", 0o600); os.utime("o", (1, 1)); os.truncate("o", 1); os.chown("o", os.getuid(), -1)
fd = os.open("t", os.O_RDONLY); ends = os.pipe()
os.open("u/f", os.O_RDONLY, dir_fd=fd); os.unlink("u/h", dir_fd=fd); os.mkdir("m", dir_fd=fd); os.rename("m", "n", src_dir_fd=fd, dst_dir_fd=fd)
os.fchdir(fd); open("u/f").close(); os.mkdir("m"); os.rename("m", "m2"); os.chdir(".."); os.listdir(fd); open("t/u/f").close()
os.chdir("t/u"); os.open("f", os.O_RDONLY); os.symlink("f", "f2"); os.chdir("../.."); os.open("t/u/f2", os.O_RDONLY)
for call in (lambda: os.unlink("none", dir_fd=fd), lambda: os.unlink("none"), lambda: os.rmdir("u", dir_fd=fd), lambda: os.rmdir("t"), lambda: os.mkdir("u", dir_fd=fd),
             lambda: os.rename("none", "x", src_dir_fd=fd), lambda: os.symlink("x", "u", dir_fd=fd), lambda: os.symlink("x", "t"), lambda: os.chmod("none", 1),
             lambda: os.chmod("none", 1, dir_fd=fd), lambda: os.utime("none"), lambda: os.utime("none", dir_fd=fd), lambda: os.truncate("none", 1),
             lambda: os.chown("none", 1, 1), lambda: os.lchown("none", 1, 1), lambda: os.chown("none", 1, 1, dir_fd=fd), lambda: os.mkfifo("t"),
             lambda: os.mkfifo("u", dir_fd=fd), lambda: os.mknod("t"), lambda: os.listdir("none"), lambda: os.scandir("o"), lambda: os.setxattr("none", "user.a", b""),
             lambda: os.link("t", "x"), lambda: os.link("none", "x", src_dir_fd=fd), lambda: os.ftruncate(fd, 1), lambda: os.fchdir(ends[0]),
             lambda: os.posix_spawn("none", ["none"], os.environ), lambda: os.execve("none", ["none"], os.environ), lambda: os.execvp("none", ["none"]),
             lambda: os.open("none", os.O_RDONLY, dir_fd=fd), lambda: os.open("o/x", os.O_RDONLY), lambda: open("none", "rb"), lambda: os.rename("t", "t/u/x")):
    try:
        call()
    except OSError:
        pass
for _ in os.fwalk("t"):
    pass
ends = os.pipe(); os.write(ends[1], b"pipe"); os.read(ends[0], 4)  # their numbers were a directory's: a READ of that would be wrong
pair = socket.socketpair(); os.write(pair[0].fileno(), b"22"); os.read(pair[1].fileno(), 9)
socket.socket(socket.AF_UNIX).bind("socket"); socket.socket().bind(("127.0.0.1", 0)); socket.socket(socket.AF_UNIX).bind("")
os.posix_spawn("/bin/cat", ["cat", "o"], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, "spo", os.O_WRONLY | os.O_CREAT, 0o600)]); os.wait()
os.system("echo sys >sys"); os.popen("cat sys").read()
base = sqlite3.connect("db"); base.execute("create table a(b)"); base.execute("insert into a values(1)"); base.commit()
zipfile.ZipFile("z.zip", "w").write("o"); tarfile.open("z.tar", "w").add("t")
child = os.fork()
if child == 0:
    open("child", "w").write("c")
    os._exit(3)
os.waitpid(child, 0)
def work(i):
    open("th%d" % i, "w").write("x"); os.unlink("th%d" % i)
threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
os.copy_file_range(os.open("t/u/f", 0), os.open("cfr", os.O_WRONLY | os.O_CREAT), 100000)
file = open("kept", "wb", 0); file.write(b"1"); file.write(b"22"); os.dup2(file.fileno(), 40); os.write(40, b"333"); file.close()
"""

NODE = r"""
const fs = require('fs'), cp = require('child_process'), fsp = fs.promises;
fs.mkdirSync('nd/a/b', {recursive: true}); fs.writeFileSync('nd/f', 'x'.repeat(100000)); fs.appendFileSync('nd/f', 'y'); fs.renameSync('nd/f', 'nd/g');
fs.copyFileSync('nd/g', 'nd/h'); fs.symlinkSync('g', 'nd/s'); fs.linkSync('nd/g', 'nd/l'); fs.chmodSync('nd/g', 0o600);
fs.utimesSync('nd/g', 1, 1); fs.truncateSync('nd/g', 5); fs.mkdtempSync('tmp-'); fs.readdirSync('nd'); try { fs.readFileSync('nofile') } catch (e) {}
require('os').networkInterfaces(); cp.execSync('cat nd/g'); cp.spawnSync('nofile'); cp.execFileSync('/bin/echo', ['a'], {cwd: 'nd'});
(async () => {
  await Promise.all([...Array(20).keys()].map(async i => {
    await fsp.writeFile('p' + i, 'q'.repeat(i * 1000)); await fsp.readFile('p' + i); await fsp.rename('p' + i, 'r' + i); await fsp.unlink('r' + i) }));
  await new Promise(r => fs.createReadStream('nd/h').pipe(fs.createWriteStream('nd/i')).on('finish', r));
  fs.rmSync('nd', {recursive: true});
})();
"""


def can_trace():
    """None, or why strace cannot be the referee here."""
    if not shutil.which("strace"):
        return "no strace"
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(["strace", "-f", "-k", "--seccomp-bpf", "-o", os.path.join(directory, "trace"), "/bin/true"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        if done.returncode != 0:
            return "strace cannot trace here: " + done.stdout.decode(errors="replace").strip()[:200]
        with open(os.path.join(directory, "trace")) as lines:
            if " > " not in lines.read():
                return "strace was built without stack traces"
    return None


WHY_NOT = can_trace()


class RefereeTest(unittest.TestCase):
    """One program, one run, two witnesses."""

    results = []

    @classmethod
    def setUpClass(cls):
        if WHY_NOT:
            raise unittest.SkipTest(WHY_NOT)
        cls.results = []

    @classmethod
    def tearDownClass(cls):
        if cls.results:
            print("\n" + table(cls.results), flush=True)
        for result in cls.results:
            print("%s: %s" % (result.name, ", ".join("%s %s %d" % (*key, count) for key, count in sorted(result.details.items()))))
            print("%s: %d programs and %d copies observed, not observed: %s; %s; without a path: %s" % (
                result.name, result.processes, result.forks, dict(result.unobserved) or "none", dict(+result.extra), dict(result.pathless) or "none"))

    def setUp(self):
        self.session = Session("referee")
        self.addCleanup(self.session.close)
        self.referee = Referee(self.session)

    def need(self, *programs):
        for program in programs:
            if not shutil.which(program, path=self.session.environment["PATH"]):
                self.skipTest("no " + program)

    def judge(self, name, *command, **more):
        result = self.referee.run(name, command, environment={**ENVIRONMENT, **more.pop("environment", {})}, **more)
        self.agrees(result)
        return result

    def agrees(self, result):
        type(self).results.append(result)
        self.assertGreater(result.matched, 0, self.referee.output)
        if result.problems:
            self.fail("%s: %d calls missing, %d records too many, %d wrong:\n%s" % (
                result.name, len(result.missing), len(result.surplus), len(result.wrong), "\n".join(result.problems[:40])))


class Programs(RefereeTest):
    def test_coreutils(self):
        self.judge("coreutils", "bash", "-c", COREUTILS)

    def test_shells(self):
        self.need("dash")
        result = self.judge("shells", "bash", "-c", SHELL)
        self.assertGreater(result.forks, 5)
        self.log_tells_the_same()

    def log_tells_the_same(self):
        """`seen log --json` gives what the reader of this test gives."""
        def plain(text):
            return text and text.encode().decode("unicode_escape").encode("latin-1") if text and text.isascii() else text and text.encode()

        out = self.session.seen("log", "--json", "--journal", self.referee.journal_path).stdout
        found = [(event["number"], event["op"], event["error"], event["tid"], plain(event.get("path"))) for event in map(json.loads, out.splitlines())]
        records = [(record.number, record.op.lower(), errno.errorcode[record.error] if record.error else None, record.tid or None, record.path)
                   for record in Journal(self.referee.journal_path).records]
        self.assertEqual(found, records)

    def test_git(self):
        self.need("git")
        self.judge("git", "sh", "-c", GIT)

    def test_make(self):
        self.need("make", "gcc")
        result = self.judge("make, gcc", "sh", "-c", MAKE)
        self.assertTrue(os.path.exists(self.session.path("prog")), self.referee.output)
        self.assertGreater(result.processes, 10)

    def test_find_tar_sed_perl(self):
        self.need("find", "tar", "perl", "diff")
        self.judge("find, tar, sed, perl", "bash", "-c", FIND)

    def test_python(self):
        self.need("python3")
        result = self.judge("python3", "python3", "-c", PYTHON)
        self.assertEqual(result.status, 0, self.referee.output)
        self.assertEqual(result.extra["planned and done"], 1)

    def test_an_agents_commands(self):
        """What is recorded of a command as a whole stands for no call."""
        self.judge("an agent's commands", "python3", "-c", "import subprocess\nfor _ in 1, 2:\n    subprocess.run(['sh', '-c', 'ls -l; cat l'], stdout=subprocess.PIPE)",
                   options=["--agent", "python3"])
        self.assertIn("REQUEST", {record.op for record in Journal(self.referee.journal_path).records})

    def test_node(self):
        self.need("node")
        result = self.judge("node", "node", "-e", NODE if LONG else NODE.replace("Array(20)", "Array(6)"))
        self.assertEqual(result.status, 0, self.referee.output)

    def test_unobserved(self):
        """What the library cannot be in is shown as that, and what it starts is seen."""
        static = self.session.path("static")
        self.session.write("static.c", b'#include <stdlib.h>\nint main(void) { return system("cat x; exit 3") != 3 << 8; }\n')
        if not shutil.which("gcc") or subprocess.run(["gcc", "-static", "-o", static, static + ".c"], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no static program can be built")
        self.session.write("x", b"1\n")
        for name in ("cat", "id"):
            shutil.copy(shutil.which(name), self.session.path("setuid-" + name))
            if os.getuid() == 0:  # another user's: else its identity is the caller's, and the library is loaded
                os.chown(self.session.path("setuid-" + name), 65534, -1)
            os.chmod(self.session.path("setuid-" + name), 0o4755)
        os.chmod(self.session.directory, 0o755)
        # Not below a tracer without rights, not on a file system without set-uid programs: then it is one like any other.
        asked = subprocess.run(["strace", "-f", "-o", os.path.join(self.session.directory, "asked"), self.session.path("setuid-id"), "-u"],
                               stdout=subprocess.PIPE)
        is_secure = int(asked.stdout or 0) not in (0, os.getuid())
        self.referee = Referee(self.session, privileges=True)
        result = self.judge("static, setuid", "bash", "-c", "%s cat x; ./setuid-cat x; cat x" % static)
        self.assertEqual(result.unobserved[static], 1)
        self.assertEqual(result.unobserved[self.session.path("./setuid-cat")], is_secure)
        self.assertGreater(result.rules["unobserved"], 0)
        self.assertEqual(result.status, 0)
        self.assertGreaterEqual(result.processes, 4)  # bash; sh and cat of the static program; cat


if __name__ == "__main__":
    unittest.main()
