"""versions, diff, restore: what is kept can be read and comes back, and nothing newer is lost by that."""
import base64
import errno
import json
import os
import shutil
import signal
import stat
import subprocess
import time
import unittest

import packs
from driver import SEEN, Case, text_of
from failing_functions import LIBRARY, run_failing
from harness import needs_library

ROOT = os.geteuid() == 0


class Kept(Case):
    """A session whose agent has read, changed and removed files."""

    def setUp(self):
        super().setUp()
        self.one, self.two = text_of(word="one"), text_of(word="two")
        self.file("f", self.one)

    def without_undo(self):
        """What is destroyed is in the content store alone."""
        self.env["SEEN_UNDO_ENABLE"] = "no"

    def keep(self, *commands, options=(), **more):
        self.agent("cat f", *(commands or ("sed -i s/one/two/ f", "rm f")), options=options, **more)

    @property
    def contents(self):
        return self.session_directory() / "content"

    def rows(self, *words, code=0):
        return self.json("versions", "--session", "s", *words, code=code)["versions"]

    def version(self, content, path="f"):
        """The digits of a version that is kept."""
        kept = packs.versions(self.session_directory())
        for row in self.rows(path):
            if (row["hash"], content) in kept:
                return row["version"]
        raise AssertionError("not kept: %r" % content[:40])

    def read(self, name="f"):
        return (self.work / name).read_bytes()

    def restore(self, *words, code=0, **more):
        return self.seen("restore", "--session", "s", *words, code=code, **more)


class Versions(Kept):
    def test_newest_first(self):
        self.keep()
        document = self.json("versions", "--session", "s", "f")
        self.assertEqual((document["schema"], document["session"], document["workspace"], document["bytes_kept"]),
                         ("seen/versions/1", "s", str(self.work), len(self.one) + len(self.two)))
        rows = document["versions"]
        self.assertEqual([(row["path"], row["bytes"], row["reason"], row["on_disk"]) for row in rows],
                         [("f", len(self.two), "destroyed", False), ("f", len(self.one), "destroyed", False)])
        self.assertEqual(sorted((row["time"] for row in rows), reverse=True), [row["time"] for row in rows])
        for row in rows:
            self.assertTrue(row["hash"].startswith(row["version"]))
            self.assertRegex(row["hash"], r"\A[0-9a-f]{32}\Z")
            self.assertRegex(row["time"], r"Z\Z")
        table = self.seen("versions", "--session", "s", code=0).stdout
        self.assert_plain(table)
        lines = table.decode().splitlines()
        self.assertEqual(lines[0].split(), ["KEPT", "VERSION", "BYTES", "WHY", "ON", "DISK", "PATH"])
        self.assertEqual([line.split()[1] for line in lines[1:]], [row["version"] for row in rows])

    def test_what_is_on_disk_now(self):
        self.keep()
        self.file("f", self.one)
        self.assertEqual([row["on_disk"] for row in self.rows()], [False, True])
        self.file("f", self.one.replace(b"1", b"2"))
        self.assertEqual([row["on_disk"] for row in self.rows()], [False, False])

    def test_paths(self):
        os.mkdir(self.work / "d")
        self.file("d/g", self.two)
        self.agent("cat f", "cat d/g", "rm f", "rm -r d")
        self.assertEqual({row["path"] for row in self.rows("d")}, {"d/g"})
        self.assertEqual({row["path"] for row in self.rows("f", "d/g")}, {"f", "d/g"})
        self.assertEqual({row["path"] for row in self.rows(".")}, {"f", "d/g"})
        done = self.seen("versions", "--session", "s", "nosuch", "f", code=1)
        self.assertIn(b"nosuch: no version is kept", done.stderr)
        self.assertIn(b" f\n", done.stdout)
        self.seen("versions", "--session", "s", "", code=2)

    def test_unusual_names(self):
        name = b"a b\n\xff\\\x1b[31m"
        self.file(name, self.two)
        (self.top / "commands").write_text("")
        self.agent("cat a*", "cat f", "rm a*", "rm f")
        self.assert_plain(self.seen("versions", "--session", "s", code=0).stdout)
        self.assertEqual([row["path"] for row in self.rows(os.fsdecode(name))], ["a b\n\\xff\\\\\x1b[31m"])
        self.restore(os.fsdecode(name), self.rows(os.fsdecode(name))[0]["version"])
        self.assertEqual(open(os.fsencode(self.work) + b"/" + name, "rb").read(), self.two)

    def test_broken_lines(self):
        self.keep()
        rows = self.rows()
        index = self.contents / "index"
        whole = index.read_bytes()
        name = whole.split()[1].decode()
        broken = [b"x %s given /f" % name.encode(), b"1 %s given f" % name.encode(), b"1 %s taken /f" % name.encode(),
                  b"1 %s given" % name.encode(), b"1 %s given /f\\q" % name.encode(), b"1 %s given /f\\x0" % name.encode(),
                  b"1 %s given /a\0b" % name.encode(), b"1 ../../etc/passwd given /f", b" ", b"99999999999999999999999 a given /f"]
        index.write_bytes(b"\n".join(broken) + b"\n\n" + whole + b"17223 0011")
        done = self.seen("versions", "--session", "s", "--json", code=0)
        self.assertEqual(json.loads(done.stdout)["versions"], rows)
        self.assertEqual(done.stderr.count(b"\n"), 1)
        self.assertIn(b"%s:1: " % os.fsencode(index), done.stderr)
        index.write_bytes(whole + b"17223 0011")
        done = self.seen("versions", "--session", "s", code=0)
        self.assertIn(b"its writer was killed", done.stderr)
        # and who comes next begins a line of its own
        self.file("f", b"three")
        self.restore("--force", "f", self.version(self.one))
        self.assertIn(b"\n17223 0011\n", index.read_bytes())
        self.assertEqual(self.rows()[0]["reason"], "replaced")

    def test_without_an_index(self):
        self.without_undo()
        self.keep()
        (self.contents / "index").unlink()
        rows = self.rows()
        self.assertEqual([(row["path"], row["reason"]) for row in rows], [(None, None)] * 2)
        self.rows("f", code=1)
        self.restore("f", rows[0]["version"])
        self.assertIn(self.read(), (self.one, self.two))

    def test_what_was_dropped_is_not_shown(self):
        self.without_undo()
        self.keep()
        for path in self.contents.glob("*-%d" % len(self.one)):
            path.unlink()
        self.assertEqual(self.rows(), [])

    def test_no_store(self):
        self.without_undo()
        self.keep(options=("-c", "content.max_bytes=0"))
        self.assertFalse(self.contents.exists())
        for words in (("versions",), ("diff", "--given", "f"), ("restore", "f", "12")):
            self.assertIn(b"keeps no versions", self.seen(words[0], "--session", "s", *words[1:], code=1).stderr)

    def test_the_directory_is_gone(self):
        self.without_undo()
        self.keep()
        shutil.rmtree(self.contents)
        self.assertIn(b"is gone", self.seen("versions", "--session", "s", code=1).stderr)
        self.file("f", self.one)
        self.keep("rm f")
        self.assertEqual(stat.S_IMODE(self.contents.stat().st_mode), 0o700)
        self.assertEqual(len(self.rows()), 1)

    def test_strangers_in_the_directory(self):
        self.keep()
        rows = self.rows()
        (self.contents / "README").write_text("hello")
        (self.contents / ("0" * 32 + "-5")).symlink_to("/etc/passwd")
        (self.contents / ("1" * 32 + "-5")).mkdir()
        os.mkfifo(self.contents / ("2" * 32 + "-0"))
        self.assertEqual(self.rows(), rows)

    def test_usage(self):
        self.keep()
        for words in (("diff", "--given"), ("diff", "--given", "a", "b"), ("restore",), ("restore", "f"), ("restore", "f", "1", "2"),
                      ("diff", "--session", "s", "--given", "--stat", "f"), ("restore", "--session", "s", "f", "../x"),
                      ("restore", "--session", "s", "f", ""), ("diff", "--session", "s", "--scope", "x", "f", "1")):
            self.seen(*words, code=2)
        self.seen("versions", "--session", "nosuch", code=3)
        for words in (("versions",), ("versions", "--json")):
            with open("/dev/full", "wb") as full:
                self.assertEqual(self.seen(words[0], "--session", "s", *words[1:], stdout=full).returncode, 6)


class Diff(Kept):
    def diff(self, *words, code):
        return self.seen("diff", "--session", "s", *words, code=code)

    def test_same_and_different(self):
        self.keep("sed -i s/one/two/ f")
        patch = self.diff("f", self.version(self.one), code=13).stdout
        self.assertEqual(patch.decode().splitlines()[2:7], ["--- a/f", "+++ b/f", "@@ -1,60 +1,60 @@",
                                                            *("-" + line for line in self.one.decode().splitlines()[:2])])
        subprocess.run(["git", "apply", "-R"], input=patch, cwd=self.work, env={**self.env, "GIT_CEILING_DIRECTORIES": str(self.top)},
                       check=True)
        self.assertEqual(self.read(), self.one)
        self.file("f", self.one)
        done = self.diff("f", self.version(self.one), code=0)
        self.assertEqual((done.stdout, done.stderr), (b"", b""))

    def test_a_reader_that_leaves(self):
        self.keep("sed -i s/one/two/ f")
        reading, writing = os.pipe()
        os.close(reading)
        done = self.seen("diff", "--session", "s", "f", self.version(self.one), stdout=writing, code=-signal.SIGPIPE)
        os.close(writing)
        self.assertEqual(done.stderr, b"")

    def test_what_was_given_last(self):
        self.keep("rm f")
        self.file("f", self.one + b"more\n")
        done = self.diff("--given", "f", code=13)
        self.assertIn(b"against %s, which an agent was given last" % self.version(self.one).encode(), done.stderr)
        self.assertEqual(done.stdout.splitlines()[-1], b"+more")
        scope = self.json("status", "--session", "s")["scopes"][0]["id"]
        self.assertIn(b"which the scope was given last", self.diff("--scope", scope, "f", code=13).stderr)
        self.assertIn(b"no scope", self.diff("--scope", "nosuch", "f", code=1).stderr)

    def test_what_was_kept_last(self):
        self.without_undo()
        self.keep("sed -i s/one/two/ f", "rm f")
        for path in self.contents.glob("*-%d" % len(self.one)):
            if path.read_bytes() == self.one:
                path.unlink()
        done = self.diff("--given", "f", code=13)
        self.assertIn(b"kept last (destroyed, ", done.stderr)
        self.assertIn(b"deleted file mode 100644\n", done.stdout)

    def test_nothing_kept(self):
        self.keep()
        self.assertIn(b"no version is kept", self.diff("--given", "nosuch", code=1).stderr)
        self.assertIn(b"no such version", self.diff("f", "0123456789ab", code=1).stderr)

    def test_a_damaged_one(self):
        self.without_undo()
        self.keep()
        version = self.version(self.one)
        path, = self.contents.glob(version + "*")
        path.chmod(0o600)
        path.write_bytes(self.one.replace(b"one", b"eno"))
        self.assertIn(b"version %s: it is damaged\n" % version.encode(), self.diff("f", version, code=4).stderr)
        self.file("f", self.two)
        self.assertIn(b"damaged", self.restore("f", version, code=8).stderr)
        self.assertEqual(self.read(), self.two)

    def test_binary_and_no_file(self):
        self.file("f", b"\0" + self.one)
        self.keep("rm f")
        version = self.rows("f")[0]["version"]
        self.file("f", b"\0")
        self.assertIn(b"GIT binary patch", self.diff("f", version, code=13).stdout)
        os.remove(self.work / "f")
        os.mkdir(self.work / "f")
        self.assertIn(b"no regular file", self.diff("f", version, code=8).stderr)


class Restore(Kept):
    def test_it_comes_back(self):
        self.keep()
        self.restore("f", self.version(self.two))
        self.assertEqual(self.read(), self.two)
        done = self.restore("f", self.version(self.one))
        self.assertEqual(self.read(), self.one)
        self.assertIn(b"what was there is kept as %s" % self.version(self.two).encode(), done.stdout)
        self.assertIn(b"already", self.restore("f", self.version(self.one)).stderr)
        self.assertEqual(os.listdir(self.work), ["f"])
        # upper case, the fewest digits, all of them
        self.restore("f", self.rows("f")[0]["hash"].upper())

    def test_mode_owner_links(self):
        self.keep("sed -i s/one/two/ f")
        os.chmod(self.work / "f", 0o751)
        if ROOT:
            os.chown(self.work / "f", 1234, 5678)
        self.restore("f", self.version(self.one))
        found = os.stat(self.work / "f")
        self.assertEqual(stat.S_IMODE(found.st_mode), 0o751)
        if ROOT:
            self.assertEqual((found.st_uid, found.st_gid), (1234, 5678))
        os.link(self.work / "f", self.work / "other")
        self.restore("f", self.version(self.two))
        self.assertEqual(self.read("other"), self.two)
        os.remove(self.work / "other")
        os.symlink("f", self.work / "link")
        self.restore("link", self.version(self.one))
        self.assertEqual(self.read(), self.one)
        self.assertTrue((self.work / "link").is_symlink())

    def test_directories_that_are_gone(self):
        os.makedirs(self.work / "a/b")
        self.file("a/b/g", self.two)
        self.agent("cat a/b/g", "rm -r a")
        self.restore("a/b/g", self.version(self.two, "a/b/g"))
        self.assertEqual(self.read("a/b/g"), self.two)

    @unittest.skipUnless(LIBRARY.exists(), "no such library in this build")
    def test_where_the_file_system_cannot_rename_without_replacing(self):
        self.keep("rm f")
        words = [SEEN, "restore", "--session", "s", "f", self.version(self.one)]
        for error in (errno.EINVAL, errno.ENOSYS):
            done = run_failing(words, ("renameat2",), 1, error, env=self.env, cwd=self.work)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertEqual(os.listdir(self.work), ["f"])
            self.assertEqual(self.read(), self.one)
            os.remove(self.work / "f")

    def test_a_newer_change_stays(self):
        self.keep("sed -i s/one/two/ f")
        version = self.version(self.one)
        self.file("f", b"precious")
        for _ in range(2):
            done = self.restore("f", version, code=12)
            self.assertEqual((done.stdout, done.stderr.count(b"\n")), (b"", 1))
            self.assertIn(b"--force", done.stderr)
            self.assertEqual(self.read(), b"precious")
        self.restore("f", version, "--force")
        self.assertEqual(self.read(), self.one)
        precious = self.version(b"precious")
        self.assertEqual([row["reason"] for row in self.rows("f") if row["version"] == precious], ["replaced"])
        # it is kept now: nothing is lost by taking turns
        self.restore("f", precious)
        self.restore("f", version)
        self.assertEqual(os.listdir(self.work), ["f"])

    def test_what_the_session_knows_is_no_newer_change(self):
        self.keep("sed -i s/one/two/ f")  # `two` is not kept: the session wrote it
        self.assertEqual(self.read(), self.two)
        self.restore("f", self.version(self.one))
        self.assertEqual(self.read(), self.one)

    def test_what_cannot_be_kept(self):
        self.keep("rm f", options=("-c", "content.max_file_bytes=%d" % (len(self.one) + 10)))
        version = self.version(self.one)
        large = self.one * 2
        self.file("f", large)
        self.restore("f", version, code=12)
        self.assertEqual(self.read(), large)
        self.restore("f", version, "--force")
        self.assertEqual(self.read(), self.one)

    def test_no_regular_file(self):
        self.keep()
        version = self.version(self.one)
        os.mkdir(self.work / "f")
        for force in ((), ("--force",)):
            self.assertIn(b"no regular file", self.restore("f", version, *force, code=12).stderr)
        os.rmdir(self.work / "f")
        os.mkfifo(self.work / "f")
        self.assertIn(b"no regular file", self.restore("f", version, code=12).stderr)

    def test_the_one_asked_for_is_not_dropped_for_the_one_replaced(self):
        """The store has room for two."""
        self.without_undo()
        self.keep(options=("-c", "content.max_bytes=%d" % (2 * len(self.one) + 20),
                           "-c", "content.max_file_bytes=%d" % (2 * len(self.one))))
        version = self.version(self.one)  # the oldest
        self.file("f", text_of(word="six"))
        self.restore("f", version, "--force")
        self.assertEqual(self.read(), self.one)
        self.assertEqual({(self.contents / ("%s-%d" % (row["hash"], row["bytes"]))).read_bytes() for row in self.rows()},
                         {self.one, text_of(word="six")})

    @unittest.skipUnless(ROOT and shutil.which("setpriv"), "needs another user")
    def test_a_directory_that_is_not_writable(self):
        self.keep("sed -i s/one/two/ f")
        version = self.version(self.one)
        for path in (self.top, *self.top.rglob("*")):
            os.chown(path, 4321, 4321)
        os.chown(self.work, 0, 0)
        os.chmod(self.work, 0o755)
        os.chmod(self.top, 0o755)
        node = os.stat(self.work / "f").st_ino
        done = subprocess.run(["setpriv", "--reuid=4321", "--regid=4321", "--clear-groups", SEEN, "restore", "--session", "s", "f", version],
                              cwd=self.work, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if done.returncode == 126 or b"ermission" in done.stderr:
            self.skipTest("another user cannot run the program here")
        self.assertEqual((done.returncode, self.read(), os.stat(self.work / "f").st_ino), (0, self.one, node), done.stderr)

    def test_on_record(self):
        self.keep("sed -i s/one/two/ f")
        self.restore("f", self.version(self.one))
        events = self.seen("log", "--session", "s", "--op", "kept", code=0).stdout
        self.assertIn(b"replaced %s" % self.version(self.two).encode(), events)

    def test_by_the_agent_it_is_no_change_external(self):
        """An agent that brings back what it knew may overwrite it, with nothing said."""
        command = "%s restore f $(%s versions --json f | grep -B3 -A9 destroyed | sed -n 's/.*\"version\": \"\\(.*\\)\",/\\1/p' | tail -1)" % (SEEN, SEEN)
        outputs = self.agent("cat f", "sed -i s/one/two/ f", command, "cat f | head -1", "echo three > f; cat f",
                             options=("--stale-write", "deny"))
        self.assertIn(b"restored f", outputs[2])
        self.assertEqual(outputs[3], self.one.splitlines(True)[0])
        self.assertEqual(outputs[4], b"three\n")
        counters = self.json("status", "--session", "s")["counters"]
        self.assertEqual((counters["stale_warned"], counters["stale_denied"], counters["edits_outside"]), (0, 0, 0))

    def test_by_an_unobserved_process_of_the_session(self):
        """Where the write is not observed, `restore` says itself that it was the session's."""
        command = ("SEEN_SESSION_MODE=off %s restore f $(%s versions --json f | sed -n 's/.*\"version\": \"\\(.*\\)\",/\\1/p' | head -1); sleep 0.6"
                   % (SEEN, SEEN))
        # what comes back is neither what the agent was given nor what it wrote last
        self.agent("cat f", "sed -i s/one/two/ f", "sed -i s/two/six/ f", command)
        self.assertEqual(self.read(), self.two)
        self.assertEqual(self.json("status", "--session", "s")["counters"]["edits_outside"], 0)
        self.assertEqual(self.json("changed", "--session", "s", code=None)["files"], [])
        # by a person, later, it is an external change
        self.restore("f", self.version(self.one))
        self.assertEqual([file["path"] for file in self.json("changed", "--session", "s")["files"]], ["f"])

    def test_by_the_agent_it_does_not_get_round_the_guard(self):
        """With --force either."""
        command = ("sleep 1; %s restore --force f $(%s versions --json f | sed -n 's/.*\"version\": \"\\(.*\\)\",/\\1/p' | tail -1); echo $?" % (SEEN, SEEN))
        (self.top / "commands").write_text(json.dumps(["cat f", "sed -i s/one/two/ f", "echo >&2 ready; sleep 0.5", command]))
        run = subprocess.Popen([SEEN, "run", "--session", "s", "--agent", "agent", "--stale-write", "deny", "--", "python3",
                                str(self.top / "agent.py"), str(self.top / "commands"), str(self.top / "results")],
                               cwd=self.work, env=self.env, stdin=subprocess.DEVNULL)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        deadline = time.monotonic() + 30
        while self.read() != self.two:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        time.sleep(0.3)
        self.file("f", b"precious")
        self.assertEqual(run.wait(timeout=60), 0)
        self.assertEqual(self.read(), b"precious")
        output = base64.b64decode(json.loads((self.top / "results").read_text())[3])
        self.assertIn(b"refused by the guard", output)
        self.assertEqual(output.splitlines()[-1], b"12")


@needs_library("undo keeps by preload")
class OfUndo(Kept):
    """What undo kept is a version, too: also of files that no agent was given, and with nothing in the content store."""

    def setUp(self):
        super().setUp()
        self.env["SEEN_UNDO_RESERVE"] = "0"
        self.large = os.urandom(100000)

    def run_in(self, command, session="s"):
        self.seen("run", "--quiet", "--via", "preload", "--session", session, "--", "bash", "-c", command, code=0)

    def destroy(self):
        self.file("large", self.large)
        os.chmod(self.work / "large", 0o640)
        self.run_in("sed -i s/one/two/ f; rm large; : > f")
        self.assertEqual(os.listdir(self.contents), [], "no second copy")

    def test_it_is_listed_and_comes_back(self):
        self.destroy()
        rows = {(row["path"], row["hash"] is not None, row["bytes"], row["reason"], row["mode"]) for row in self.rows()}
        self.assertEqual(rows, {("f", True, len(self.one), "destroyed", "0644"), ("f", True, len(self.two), "destroyed", "0644"), ("large", True, 100000, "destroyed", "0640")})
        version = self.rows("f")[-1]["version"]  # the oldest
        self.assertIn(b"-one 0", self.seen("diff", "--session", "s", "f", version, code=13).stdout)
        self.restore("f", version)
        self.restore("large", self.rows("large")[0]["version"])
        self.assertEqual((self.read(), self.read("large")), (self.one, self.large))
        self.assertEqual(stat.S_IMODE((self.work / "large").stat().st_mode), 0o640)
        self.assertTrue([row for row in self.rows("f") if row["on_disk"]])

    def test_what_an_agent_was_given_and_destroys(self):
        """The content store has what was given, undo what was destroyed: no content is in one of them twice."""
        self.file("g", b"not given\n" * 30)
        self.keep("sed -i s/one/two/ f", "rm f g", options=("-c", "guard.stale_write=warn"))
        self.assertEqual([data for _, data in packs.versions(self.session_directory())].count(self.two), 1)
        # what sed left is what rm destroys
        self.assertEqual(b"".join(path.read_bytes() for path in (self.session_directory() / "undo").glob("*.part")).count(self.two), 1)
        given = sorted(path.read_bytes() for path in self.contents.glob("*-*") if not path.name.startswith(".") and path.name != "index")
        self.assertEqual(given, [self.one])
        self.assertEqual({(row["path"], row["bytes"]) for row in self.rows()}, {("f", len(self.one)), ("f", len(self.two)), ("g", 300)})
        self.restore("f", self.version(self.two))
        self.assertEqual(self.read(), self.two)

    def test_over_all_sessions(self):
        self.destroy()
        self.run_in("rm f", "other")
        self.assertEqual({row["session"] for row in json.loads(self.seen("versions", "--json", code=0).stdout)["versions"]}, {"s", "other"})
        version = json.loads(self.seen("versions", "--json", "large", code=0).stdout)["versions"][0]["version"]
        self.seen("restore", "large", version, code=0)
        self.assertEqual((self.work / "large").read_bytes(), self.large)

    def test_a_damaged_one(self):
        self.run_in("rm f")
        version = self.rows("f")[0]["version"]
        part, = (self.session_directory() / "undo").glob("*.part")
        data = part.read_bytes()
        part.write_bytes(data.replace(b"one 7 of", b"xxx 7 of"))
        self.assertIn(b"the version that is kept is damaged", self.seen("restore", "--session", "s", "f", version, code=8).stderr)
        self.assertFalse((self.work / "f").exists())


class Sessions(Kept):
    """What is kept is found again after other runs in the workspace, and after a boot."""

    def setUp(self):
        super().setUp()
        self.keep("rm f")
        version, = {row["version"] for row in self.rows("f")}
        self.digits = version
        self.file("other", b"x")
        self.agent("cat other", "rm other", session="later")

    def test_after_a_later_run(self):
        self.assertEqual([(row["path"], row["session"]) for row in self.json("versions")["versions"]],
                         [("other", "later"), ("f", "s")])
        self.assertEqual(self.json("versions", "f")["versions"][0]["version"], self.digits)
        self.assertEqual(self.json("versions", "--session", "later")["versions"][0]["path"], "other")
        self.assertIn(b"-line" if self.one.startswith(b"-") else b"-one 0", self.seen("diff", "f", self.digits, code=13).stdout)
        self.seen("restore", "f", self.digits, code=0)
        self.assertEqual(self.read(), self.one)
        self.seen("restore", "--session", "later", "f", self.digits, code=1)

        os.remove(self.work / "f")
        # by its version alone
        self.assertIn(b"+++ /dev/null\n", self.seen("diff", self.digits, code=13).stdout)
        self.seen("restore", self.digits[:3], code=2)
        self.assertIn(b"restored f: ", self.seen("restore", self.digits, code=0).stdout)
        self.assertEqual(self.read(), self.one)
        os.remove(self.work / "f")
        # as the line told it, in any directory
        os.mkdir(self.work / "d")
        self.seen("restore", "f", self.digits, cwd=self.work / "d", env={"SEEN_PATHS_WORKSPACE": str(self.work)}, code=0)
        self.assertEqual((self.read(), os.listdir(self.work / "d")), (self.one, []))
        # not in another workspace
        elsewhere = self.top / "elsewhere"
        elsewhere.mkdir()
        self.seen("restore", "f", self.digits, cwd=elsewhere, code=3)
        self.assertEqual(os.listdir(elsewhere), [])

    def test_one_that_two_files_had_needs_a_path(self):
        self.file("g", self.one)
        self.agent("cat g", "rm g", session="third")
        done = self.seen("restore", self.digits, code=2)
        self.assertIn(b"more than one file had that content", done.stderr)
        self.assertEqual(os.listdir(self.work), [])
        self.seen("restore", "g", self.digits, code=0)
        self.assertEqual(self.read("g"), self.one)

    def test_from_inside_a_run(self):
        done = self.seen("run", "--session", "third", "--", SEEN, "restore", "f", self.digits, code=0)
        self.assertIn(b"restored f", done.stdout)
        self.assertEqual(self.read(), self.one)

    def test_after_a_boot(self):
        """The segments are gone; of a session without a journal also the workspace."""
        for journal in (True, False):
            for segment in self.home.rglob("segment"):
                segment.unlink()
            if not journal:
                for path in self.home.rglob("journal"):
                    path.unlink()
            self.assertEqual(len(self.json("versions")["versions"]), 2)
            self.seen("restore", "f", self.digits, code=0)
            self.assertEqual(self.read(), self.one)
            self.file("f", b"precious")
            self.assertIn(b"--force", self.seen("restore", "f", self.digits, code=12).stderr)
            self.assertEqual(self.read(), b"precious")
            os.remove(self.work / "f")


if __name__ == "__main__":
    unittest.main()
