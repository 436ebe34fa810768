"""task_metadata.json: what real runs leave there, held against its schema."""
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

from driver import BUILD, DEADLINE, SEEN, SOURCE, Case, text_of

try:
    import jsonschema
except ImportError:
    jsonschema = None

NAME = "task_metadata.json"
MEMBERS = ("record_source", "record_state", "agent_read_date", "agent_edit_date", "user_edit_date")


class Metadata(Case):
    def path(self, session="s"):
        return self.session_directory(session) / NAME

    def load(self, session="s"):
        document = json.loads(self.path(session).read_text())
        if jsonschema is not None:
            schema = json.loads((SOURCE / "config/data/schema/task_metadata.schema.json").read_text())
            jsonschema.Draft202012Validator.check_schema(schema)
            jsonschema.Draft202012Validator(schema).validate(document)
        for path in {entry["path"] for entry in document["files_in_context"]}:
            states = [entry["record_state"] for entry in document["files_in_context"] if entry["path"] == path]
            self.assertEqual(states, ["stale"] * (len(states) - 1) + ["active"], path)
        return document

    def entries(self, path, session="s"):
        return [tuple(entry[member] for member in MEMBERS) for entry in self.load(session)["files_in_context"]
                if entry["path"] == path]

    def sources(self, path, session="s"):
        return [entry[0] for entry in self.entries(path, session)]

    def aside(self):
        return [name for name in os.listdir(self.session_directory()) if name.startswith(NAME + ".aside-")]

    def test_schema(self):
        self.assertEqual((BUILD / "share/seen/schemas/task_metadata.schema.json").read_bytes(),
                         (SOURCE / "config/data/schema/task_metadata.schema.json").read_bytes())
        if jsonschema is None:
            self.skipTest("no python3-jsonschema")
        self.seen("run", "--session", "s", "--", "true", code=0)
        validator = jsonschema.Draft202012Validator(json.loads((SOURCE / "config/data/schema/task_metadata.schema.json").read_text()))
        good = {"schema": "seen/task_metadata/1", "session": "s", "workspace": "/w", "recorded_until": 5,
                "files_in_context": [{"path": "a/b", "record_state": "active", "record_source": "read_tool",
                                      "agent_read_date": 5, "agent_edit_date": None, "user_edit_date": None}]}
        validator.validate(good)
        for member, value in (("path", "/a"), ("path", ""), ("record_state", "new"), ("record_source", "unattributed"),
                              ("agent_read_date", 0), ("agent_edit_date", "x"), ("user_edit_date", 1.5)):
            bad = json.loads(json.dumps(good))
            bad["files_in_context"][0][member] = value
            self.assertFalse(validator.is_valid(bad), (member, value))

    def test_every_run_leaves_one(self):
        self.seen("run", "--session", "s", "--", "true", code=0)
        document = self.load()
        self.assertEqual((document["schema"], document["session"], document["workspace"], document["files_in_context"]),
                         ("seen/task_metadata/1", "s", str(self.work), []))
        self.assertEqual(os.stat(self.path()).st_mode & 0o777, 0o600)

    def test_read_and_edited(self):
        (self.work / "sub").mkdir()
        self.file("sub/a")
        self.file("b")
        begin = int(time.time() * 1000)
        self.agent("cat sub/a", "sleep 0.3", "echo x >> sub/a", "sleep 0.3", "cat b", "sleep 0.3", "cp sub/a b")
        end = int(time.time() * 1000)
        (first, second) = self.entries("sub/a")
        self.assertEqual((first[0], first[3:]), ("read_tool", (None, None)))
        self.assertEqual((second[0], second[2]), ("agent_edited", first[2]))
        self.assertTrue(begin <= first[2] < second[3] <= end)
        self.assertEqual(self.sources("b"), ["read_tool", "tool_edited"])

    def test_changed_by_the_user_then_read(self):
        self.file("a")
        self.agent("cat a", options=("--watch", "off"))
        self.file("a", text_of(word="other"))
        self.seen("changed", code=0)
        self.agent("true", options=("--watch", "off"))
        read, user = self.entries("a")
        self.assertEqual((user[0], user[2]), ("user_edited", read[2]))
        self.assertGreater(user[4], read[2])
        self.agent("cat a", options=("--watch", "off"))
        self.assertEqual(self.sources("a"), ["read_tool", "user_edited", "read_tool"])
        last = self.entries("a")[-1]
        self.assertGreater(last[2], user[4])
        self.assertIsNone(last[4])

    def test_mentioned(self):
        self.file("a")
        self.agent(f"{SEEN} mention a")
        self.assertEqual(self.sources("a"), ["file_mentioned"])

    def test_while_it_runs(self):
        """It is there before the end, and whole at every moment; rewritten no oftener than once a second."""
        for i in range(40):
            self.file(f"f{i}")
        (self.top / "commands").write_text(json.dumps([f"cat f{i}; sleep 0.1" for i in range(40)]))
        process = subprocess.Popen([SEEN, "run", "--session", "s", "--agent", "agent", "--", sys.executable,
                                    str(self.top / "agent.py"), str(self.top / "commands"), str(self.top / "results")],
                                   cwd=self.work, env=self.env, stdin=subprocess.DEVNULL)
        begin, seen, most = time.monotonic(), set(), 0
        while process.poll() is None:
            if self.path().exists():
                seen.add(os.stat(self.path()).st_ino)
                most = max(most, len(self.load()["files_in_context"]))
            time.sleep(0.02)
            self.assertLess(time.monotonic() - begin, DEADLINE)
        spent = time.monotonic() - begin
        self.assertGreater(most, 5)
        self.assertLessEqual(len(seen), spent + 2)
        self.assertEqual(len(self.load()["files_in_context"]), 40)

    def test_killed_at_any_moment(self):
        """What is there is whole, and the next run goes on with it."""
        for i in range(10):
            self.file(f"f{i}")
        self.agent("cat f0")
        for i in range(1, 8):
            (self.top / "commands").write_text(json.dumps([f"cat f{i}", "sleep 30"]))
            process = subprocess.Popen([SEEN, "run", "--session", "s", "--agent", "agent", "--", sys.executable,
                                        str(self.top / "agent.py"), str(self.top / "commands"), str(self.top / "results")],
                                       cwd=self.work, env=self.env, stdin=subprocess.DEVNULL)
            time.sleep(0.2 + 0.15 * i)
            process.send_signal(signal.SIGKILL)
            process.wait()
            self.load()
        self.agent("cat f9")
        self.assertEqual(self.aside(), [])
        self.assertEqual({entry["path"] for entry in self.load()["files_in_context"]} >= {"f0", "f9"}, True)

    def test_resumed(self):
        self.file("a")
        self.agent("cat a")
        before = self.entries("a")
        stat = os.stat(self.path())
        self.seen("run", "--session", "s", "--", "true", code=0)
        self.assertEqual(os.stat(self.path()).st_ino, stat.st_ino, "nothing happened")
        self.agent("echo x >> a")
        self.assertEqual(self.entries("a")[0][2:], before[0][2:])
        self.assertEqual(self.sources("a"), ["read_tool", "agent_edited"])

    def test_segment_lost(self):
        """The runtime directory goes with the boot; what was kept does not."""
        self.env["XDG_RUNTIME_DIR"] = str(self.top / "run")
        os.mkdir(self.top / "run", 0o700)
        self.file("a")
        self.agent("cat a")
        shutil.rmtree(self.top / "run/seen")
        self.file("b")
        self.agent("cat b")
        self.assertEqual((self.sources("a"), self.sources("b")), (["read_tool"], ["read_tool"]))

    def test_damaged_or_foreign(self):
        self.file("a")
        self.agent("cat a")
        shutil.copytree(self.session_directory(), self.top / "copy")
        for number, bad in enumerate((b"", b"{", b"[]", b'{"taskHistory": []}', b"\0" * 4096,
                                      self.path().read_bytes().replace(b'"s"', b'"another"'), self.path().read_bytes()[:-20])):
            self.path().write_bytes(bad)
            done = self.seen("run", "--session", "s", "--quiet", "--", "true", code=0)
            self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
            self.assertIn(NAME.encode(), done.stderr)
            self.assertEqual(len(self.aside()), number + 1)
            self.assertIn(bad, [(self.session_directory() / name).read_bytes() for name in self.aside()])
            self.assertEqual(self.sources("a"), ["read_tool"], "what the segment knows is there again")
        # `seen gc` knows what they are
        self.seen("gc", "s", code=0)
        self.assertFalse(self.session_directory().exists())

    def test_full_disk(self):
        """No room for it: one line at the end, the last one stays, and nothing is lost when there is room again."""
        self.file("a")
        self.agent("cat a")
        before = self.path().read_bytes()
        os.mkdir(str(self.path()) + ".new")  # as good as no room: it cannot be built
        (self.session_directory() / (NAME + ".new") / "x").write_text("")
        (self.top / "commands").write_text(json.dumps(["echo x >> a", "sleep 2.5"]))
        done = self.seen("run", "--session", "s", "--quiet", "--agent", "agent", "--", sys.executable, str(self.top / "agent.py"),
                         str(self.top / "commands"), str(self.top / "results"), code=0)
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        self.assertIn(b"could not be written", done.stderr)
        self.assertEqual(self.path().read_bytes(), before)
        shutil.rmtree(str(self.path()) + ".new")
        self.seen("run", "--session", "s", "--quiet", "--", "true", code=0)
        self.assertEqual(self.sources("a"), ["read_tool", "agent_edited"])

    def test_two_runs_at_once(self):
        self.file("a")
        self.file("b")
        waiting = subprocess.Popen([SEEN, "run", "--session", "s", "--quiet", "--agent", "agent", "--", "cat"], cwd=self.work, env=self.env,
                                   stdin=subprocess.PIPE)
        begin = time.monotonic()
        while not self.path().exists():
            time.sleep(0.01)
            self.assertLess(time.monotonic() - begin, DEADLINE)
        self.agent("cat a", "cat b")
        waiting.stdin.close()
        waiting.wait(DEADLINE)
        self.assertEqual((self.sources("a"), self.sources("b")), (["read_tool"], ["read_tool"]))

    def test_no_journal(self):
        self.file("a")
        self.agent("cat a", options=("--journal-level", "off"))
        self.assertEqual(self.sources("a"), ["read_tool"])


if __name__ == "__main__":
    unittest.main()
