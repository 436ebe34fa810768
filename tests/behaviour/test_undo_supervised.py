"""What is kept of programs that only the supervisor observes, and what is known of how they left it.

The commands are busybox's, whose programs are static; by preload they are supervised at their exec (--via auto).
"""
import os
import shutil
import subprocess
import sys
import time
import unittest

import packs
from driver import SEEN, Case
from harness import VIA, wait_until
from undoing import difference, tree

BUSYBOX = shutil.which("busybox")
WAY = "auto" if VIA == "preload" else VIA


def is_static(path):
    return path and b"statically linked" in subprocess.run(["file", "-L", path], stdout=subprocess.PIPE, check=False).stdout


@unittest.skipUnless(BUSYBOX, "no busybox")
class Supervised(Case):
    def setUp(self):
        super().setUp()
        self.env["SEEN_UNDO_RESERVE"] = "0"
        os.mkdir(self.work / "src")
        for name, content in ("a", b"one\n"), ("b", b"two\n"), ("src/c", b"three\n"), ("src/large", os.urandom(100000)):
            (self.work / name).write_bytes(content)

    def run_in(self, script, *words):
        return self.seen("run", "--quiet", "--via", WAY, "--session", "s", "--", BUSYBOX, "sh", "-c", script, *words)

    def undo(self, *words):
        return self.seen("undo", "--session", "s", *(words or ("--all",)), "--times")

    def records(self):
        return packs.read(self.session_directory() / "undo")

    def test_everything_comes_back(self):
        before = tree(self.work)
        self.run_in("rm -rf src; echo new > a; echo more >> b; mkdir d; mv b d/e; ln -s a s; ln a h; chmod 600 a; touch -d 2001-01-01 d/e; truncate -s 1 h; cp a d; mkfifo p; rmdir src 2> /dev/null; mv nothing x")
        after = tree(self.work)
        self.assertNotEqual(difference(before, after), [])
        self.assertEqual((self.undo().returncode, difference(before, tree(self.work))), (0, []))
        self.assertEqual((self.seen("redo", "--session", "s").returncode, difference(after, tree(self.work))), (0, []))

    def test_what_failed_is_no_change(self):
        before = tree(self.work)
        self.run_in("rmdir src; mv a src/c/x; rm src; mkdir a; ln a b; mv -T src a; true 2> src; chmod 644 src/c; mknod b p")
        self.assertEqual(self.undo().returncode, 1)  # there is nothing to undo
        self.assertEqual(difference(before, tree(self.work)), [])

    def test_truncated_to_the_size_that_they_have(self):
        """That sets their times.  What is there is what the program left, however soon the supervisor inspects it."""
        names = ["t%d" % i for i in range(200)]
        for name in names:
            (self.work / name).write_bytes(b"x")
            os.utime(self.work / name, (1, 1))
        before = tree(self.work)
        truncating = "import os, sys, time\nfor name in sys.argv[1:]: os.truncate(name, 1)"
        opening = "while [ ! -e stop ]; do : < a; done"
        self.run_in('(%s) & (%s) & python3 -I -S -c "$0" "$@"; : > stop; wait' % (opening, opening), truncating, *names)
        self.assertEqual((self.undo().stderr, difference(before, tree(self.work))), (b"", []))

    def test_an_external_edit_behind_a_close_stays(self):
        """Also where the program goes on, and opened the file for writing, or could not."""
        program = subprocess.Popen([SEEN, "run", "--quiet", "--via", WAY, "--session", "s", "--", BUSYBOX, "sh", "-c",
                                    "echo x > a; echo y >> b; echo z > new; mkdir go; while [ ! -e stop ]; do sleep 0.02; done"], cwd=self.work, env=self.env)
        self.addCleanup(program.kill)
        wait_until(lambda: os.path.isdir(self.work / "go"))
        time.sleep(0.05)
        for name in "a", "b", "new":
            with open(self.work / name, "ab") as file:
                file.write(b"external\n")
        (self.work / "stop").write_bytes(b"")
        program.wait()
        result = self.undo()
        self.assertEqual(result.returncode, 12, result.stderr)
        for name, content in ("a", b"x\nexternal\n"), ("b", b"two\ny\nexternal\n"), ("new", b"z\nexternal\n"):
            self.assertEqual((self.work / name).read_bytes(), content)
        self.assertEqual(self.undo("--all", "--force").returncode, 0)
        self.assertEqual(((self.work / "a").read_bytes(), (self.work / "b").read_bytes(), (self.work / "new").exists()), (b"one\n", b"two\n", False))

    def test_one_of_many_that_have_a_file_open_writes_last(self):
        """Whether it is open yet is asked of all that opened it."""
        before = tree(self.work)
        self.run_in("exec 7>> a; for i in $(seq 20); do busybox sh -c 'echo more >> a' 7>&-; done; sleep 0.1; echo last >&7; exec 7>&-")
        self.assertTrue((self.work / "a").read_bytes().endswith(b"last\n"))
        result = self.undo()
        self.assertEqual((result.returncode, result.stderr, difference(before, tree(self.work))), (0, b"", []))

    def test_names_made_anew_while_the_file_before_is_open(self):
        """The close of a file that has lost its name is no close of the one that has it then."""
        before = tree(self.work)
        self.run_in("for i in $(seq 40); do exec 7<> n$i; rm n$i; echo x >&7; echo y > n$i; exec 7>&-; done")
        self.assertNotEqual(difference(before, tree(self.work)), [])
        result = self.undo()
        self.assertEqual((result.returncode, result.stderr, difference(before, tree(self.work))), (0, b"", []))

    def test_written_by_a_descriptor_whose_name_is_gone(self):
        """The file has another name, by which the session had left it before."""
        for gone in "rm a", "mv src/c a", "rm a; echo y 1<> h", "rm a; echo y >&7; mv h i":
            with self.subTest(gone):
                os.link(self.work / "a", self.work / "h")
                before = tree(self.work)
                self.run_in("echo z 1<> h; exec 7<> a; %s; sleep 0.02; echo x >&7; echo new > a" % gone)
                self.assertNotEqual(difference(before, tree(self.work)), [])
                result = self.undo()
                self.assertEqual((result.returncode, result.stderr, difference(before, tree(self.work))), (0, b"", []))
                os.unlink(self.work / "h")
                shutil.rmtree(self.session_directory())

    def test_an_external_edit_of_another_name_stays(self):
        """Behind the close of a descriptor whose name is gone, also where the session reads the file yet."""
        os.link(self.work / "a", self.work / "h")
        program = subprocess.Popen([SEEN, "run", "--quiet", "--via", WAY, "--session", "s", "--", BUSYBOX, "sh", "-c",
                                    "echo z 1<> h; exec 8< h 7<> a; rm a; echo x >&7; exec 7>&-; mkdir go; while [ ! -e stop ]; do sleep 0.02; done"], cwd=self.work, env=self.env)
        self.addCleanup(program.kill)
        wait_until(lambda: os.path.isdir(self.work / "go"))
        time.sleep(0.05)
        for line in b"external\n", b"edit\n":
            with open(self.work / "h", "ab") as file:
                file.write(line)
            time.sleep(0.05)
        (self.work / "stop").write_bytes(b"")
        program.wait()
        result = self.undo()
        self.assertEqual((result.returncode, (self.work / "h").read_bytes()), (12, b"x\ne\nexternal\nedit\n"), result.stderr)

    def test_open_until_its_program_ends(self):
        """The kernel may tell the supervisor of that before it closes what the program had open."""
        before = tree(self.work)
        for i in range(12):
            self.run_in("exec 7<> a; echo x >&7; busybox sh -c true; echo y >&7")
            result = self.undo()
            self.assertEqual((result.returncode, result.stderr, difference(before, tree(self.work))), (0, b"", []), i)
            shutil.rmtree(self.session_directory())

    def test_two_make_a_file_behind_a_link(self):
        """Both open a symbolic link to nothing: whichever makes the file, it was not there before."""
        for i in range(20):
            os.symlink("new%d" % i, self.work / ("link%d" % i))
        before = tree(self.work)
        self.run_in("for i in $(seq 0 19); do (echo a; echo b) > link$i & echo c >> link$i; wait; done")
        self.assertEqual(len(list(self.work.glob("new*"))), 20)
        result = self.undo()
        self.assertEqual((result.returncode, result.stderr, difference(before, tree(self.work))), (0, b"", []))

    def test_two_open_a_file_and_one_is_late(self):
        """It has little of the processor: the other one has made, written and closed the file before it gets to open it."""
        before = tree(self.work)
        (self.top / "run").write_bytes(b"")  # what spins ends with it: it goes with its directory at the latest
        self.run_in("for i in $(seq %d); do while [ -e ../run ]; do :; done & done; for i in $(seq 6); do nice -n 19 %s sh -c 'echo c >> new'$i & "
                    "p=$!; sleep 0.01; echo a >> new$i; wait $p; done; rm ../run; wait" % (len(os.sched_getaffinity(0)) + 2, BUSYBOX))
        self.assertEqual({path.read_bytes() for path in self.work.glob("new*")} - {b"a\nc\n", b"c\na\n"}, set())
        result = self.undo()
        self.assertEqual((result.returncode, result.stderr, difference(before, tree(self.work))), (0, b"", []))

    def test_exchanged_while_open(self):
        """The close of a file is reported by the name that it has then."""
        before = tree(self.work)
        self.seen("run", "--quiet", "--via", WAY, "--session", "s", "--", self.static(EXCHANGER), "a", "b", code=0)
        self.assertEqual(((self.work / "a").read_bytes(), (self.work / "b").read_bytes()), (b"two\n", b"xne\n"))
        result = self.undo()
        self.assertEqual((result.returncode, result.stderr, difference(before, tree(self.work))), (0, b"", []))

    def test_written_by_one_descriptor_when_another_is_closed(self):
        """The supervisor inspects the file in between: what it finds then is not what is left."""
        for i in range(1000):
            (self.work / ("x%d" % i)).write_bytes(b"x\n")
        before = tree(self.work)
        self.seen("run", "--quiet", "--via", WAY, "--session", "s", "--", self.static(CLOSES), "1000", code=0)
        self.assertEqual((self.work / "x999").read_bytes(), b"x\n1\n2\n")
        result = self.undo()
        self.assertEqual((result.returncode, result.stderr, difference(before, tree(self.work))), (0, b"", []))

    def static(self, text):
        """A program."""
        program = self.top / "program"
        (self.top / "program.c").write_text(text)
        if subprocess.run(["cc", "-O1", "-static", "-pthread", "-o", program, self.top / "program.c"], stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no static libc")
        return program

    def test_in_another_root(self):
        if os.geteuid():
            self.skipTest("chroot is root's")
        os.makedirs(self.work / "root/bin")
        os.makedirs(self.work / "root/way/in")
        shutil.copy(os.path.realpath(BUSYBOX), self.work / "root/bin/busybox")
        if subprocess.run(["chroot", self.work / "root", "/bin/busybox", "true"], check=False).returncode:
            self.skipTest("busybox is not static")
        (self.work / "root/f").write_bytes(b"in another root\n")
        os.symlink("/way/in", self.work / "root/link")
        before = tree(self.work)
        self.run_in("exec chroot root /bin/busybox sh -c 'rm /f; cd /way; echo new > /link/g; mv /link/g in/h; cd in; mkdir ../k; echo > ../../link/i'")
        self.assertTrue((self.work / "root/way/in/h").exists() and (self.work / "root/way/in/i").exists())
        self.assertEqual((self.undo().returncode, difference(before, tree(self.work))), (0, []))

    def test_threads_that_change_names_under_a_call(self):
        """The memory of a path changes while the call is inspected: nothing that is there is lost, whichever was kept."""
        program = self.static(RACE)
        for i in range(40):
            (self.work / ("x%02d" % i)).write_bytes(b"x %d\n" % i)
            (self.work / ("y%02d" % i)).write_bytes(b"y %d\n" % i)
        self.seen("run", "--quiet", "--via", WAY, "--session", "s", "--", program, code=0)
        there = {path.name: path.read_bytes() for path in self.work.iterdir() if path.is_file()}
        self.undo("--all")
        for name, content in there.items():
            self.assertEqual((self.work / name).read_bytes(), content, "undo destroyed what the race had left")

    def test_kept_once_where_the_library_is_in_the_process(self):
        self.seen("run", "--quiet", "--via", WAY, "--session", "s", "--", sys.executable, "-c",
                  "import os; open('a', 'w').write('x'); os.unlink('b'); os.chmod('src/c', 0o600); os.mkdir('d'); os.rename('src/large', 'd/l')", code=0)
        kinds = sorted((record.kind, os.path.basename(record.path)) for record in self.records() if record.kind not in ("after", "boundary"))
        self.assertEqual(kinds, [("content", "a"), ("created", "d"), ("metadata", "c"), ("removed", "b"), ("renamed", "large")])


RACE = r"""
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static char path[8];
static volatile int ends;
static void *flip(void *data)
{
	while (!ends)
		path[0] ^= 'x' ^ 'y';
	return data;
}
int main(void)
{
	pthread_t thread;
	path[0] = 'x';
	pthread_create(&thread, NULL, flip, NULL);
	for (int i = 0; i < 40; i++) {
		path[1] = (char)('0' + i / 10);
		path[2] = (char)('0' + i % 10);
		unlink(path);
	}
	ends = 1;
	pthread_join(thread, NULL);
	return 0;
}
"""

EXCHANGER = r"""
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int fd = open(argv[1], O_WRONLY);
	int error = fd < 0 || syscall(SYS_renameat2, AT_FDCWD, argv[1], AT_FDCWD, argv[2], RENAME_EXCHANGE);
	error |= write(fd, "x", 1) != 1;
	close(fd);
	close(open(argv[2], O_RDONLY));
	return argc != 3 || error;
}
"""

CLOSES = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int error = argc != 2, count = error ? 0 : atoi(argv[1]);
	for (int i = 0; !error && i < count; i++) {
		char path[16];
		(void)snprintf(path, sizeof(path), "x%d", i);
		int one = open(path, O_WRONLY | O_APPEND), two = open(path, O_WRONLY | O_APPEND);
		close(open(".", O_WRONLY)); /* both are known to be open */
		error = write(one, "1\n", 2) != 2;
		close(one);
		for (volatile int wait = i % 100 * 300; wait; wait--)
			;
		error |= write(two, "2\n", 2) != 2;
		close(two);
	}
	return error;
}
"""

if __name__ == "__main__":
    unittest.main()
