"""An agent's transcript proves what its model was given, and says in which conversation it is."""

import json
import os
import sqlite3
import time
import unittest

from harness import VIA, SessionTest, lines, wait_until

COMMAND = {"command": "cat"}
TASK = {"description": "look", "prompt": "Look.", "subagent_type": "general-purpose"}


class Transcript:
    """Writes what an agent writes.  `last`: the entry that the next one follows."""

    def __init__(self, path, directory, side=False):
        self.path, self.directory, self.side, self.last, self.number = path, directory, side, None, 0
        self.name = os.path.basename(path)

    def write(self, *records):
        with open(self.path, "ab", buffering=0) as file:  # as one: what is read is never the half of it
            file.write(b"".join(json.dumps(record).encode() + b"\n" for record in records))

    def id(self):
        self.number += 1
        return "%s-%d" % (self.name, self.number)


class Pi(Transcript):
    def entry(self, role, content, **more):
        entry, parent = self.id(), self.last
        self.last = entry
        return {"type": "message", "id": entry, "parentId": parent, "message": {"role": role, "content": content, **more}}

    def prompt(self):
        head = [] if self.number else [{"type": "session", "version": 3, "id": self.name, "cwd": self.directory}]
        self.write(*head, self.entry("user", [{"type": "text", "text": "Do it."}]))

    def call(self, arguments=COMMAND):
        self.tool = self.id()
        self.write(self.entry("assistant", [{"type": "toolCall", "id": self.tool, "name": "bash", "arguments": arguments}], stopReason="toolUse"))

    def result(self, output):
        self.write(self.entry("toolResult", [{"type": "text", "text": output.decode()}], toolCallId=self.tool))

    def complete(self):
        self.write(self.entry("assistant", [{"type": "text", "text": "Done."}], stopReason="stop"))


class Claude(Transcript):
    def entry(self, kind, content, **more):
        entry, parent = self.id(), self.last
        self.last = entry
        record = {"parentUuid": parent, "isSidechain": self.side, "type": kind, "uuid": entry, "cwd": self.directory, "sessionId": "s"}
        stop = {"stop_reason": more.pop("stop_reason")} if "stop_reason" in more else {}
        return {**record, "message": {"role": kind, "content": content, **stop}, **more}

    def prompt(self):
        self.write({"type": "mode", "mode": "normal", "sessionId": "s"}, self.entry("user", "Do it."))

    def call(self, arguments=COMMAND):
        self.tool = self.id()
        self.write(self.entry("assistant", [{"type": "tool_use", "id": self.tool, "name": "Bash", "input": arguments}], stop_reason="tool_use"))
        self.caller = self.last

    def result(self, output):
        self.write(self.entry("user", [{"type": "tool_result", "tool_use_id": self.tool, "content": output.decode().rstrip()}],
                              toolUseResult={"stdout": ""}, sourceToolAssistantUUID=self.caller))

    def complete(self):
        self.write(self.entry("assistant", [{"type": "text", "text": "Done."}], stop_reason="end_turn"))

    def compact(self):
        self.last = None
        self.write(self.entry("system", "Conversation compacted", subtype="compact_boundary"))


class Stored(Transcript):
    """A session of opencode's or kilo's database, whose writer is never kept waiting."""

    def __init__(self, path, directory, side=False):
        super().__init__(path, directory, side)
        self.name = self.name.split(".")[0]
        self.store = os.path.join(os.path.dirname(path), "agent.db")
        is_new = not os.path.exists(self.store)
        self.database = sqlite3.connect(self.store, timeout=0, isolation_level=None)
        if is_new:
            self.database.execute("PRAGMA journal_mode = WAL")
            self.database.executescript("""
                CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT NOT NULL, revert TEXT, time_updated INTEGER NOT NULL);
                CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL,
                                      data TEXT NOT NULL);
                CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT NOT NULL, session_id TEXT NOT NULL, time_created INTEGER NOT NULL,
                                   time_updated INTEGER NOT NULL, data TEXT NOT NULL)""")

    def id(self):
        self.number += 1
        return "%s-%06d" % (self.name, self.number)

    def insert(self, table, key, data, *more):
        now = int(time.time() * 1000)
        marks = ", ".join("?" * (5 + len(more)))
        self.database.execute("INSERT INTO %s VALUES (%s) ON CONFLICT (id) DO UPDATE SET data = excluded.data, time_updated = excluded.time_updated"
                              % (table, marks), (key, *more, self.name, now, now, json.dumps(data)))

    def touch(self, revert=None):
        self.database.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET revert = excluded.revert, "
                              "time_updated = excluded.time_updated",
                              (self.name, "one" if self.side else None, self.directory, json.dumps(revert) if revert else None,
                               int(time.time() * 1000)))

    def prompt(self):
        self.touch()
        self.user = self.id()
        self.insert("message", self.user, {"role": "user"})

    def assistant(self, **data):
        self.message = self.id()
        self.insert("message", self.message, {"role": "assistant", "parentID": self.user, **data})

    def tool(self, **state):
        self.insert("part", self.part, {"type": "tool", "tool": "bash", "callID": "call_0", "state": {"input": self.arguments, **state}}, self.message)

    def call(self, arguments=COMMAND):
        self.assistant()
        self.part, self.arguments = self.id(), {}
        self.tool(status="pending")  # what is called comes later
        time.sleep(0.02)
        self.arguments = arguments
        self.tool(status="running")

    def result(self, output):
        self.tool(status="completed", output=output.decode(), time={"start": 1})
        self.insert("message", self.message, {"role": "assistant", "parentID": self.user, "finish": "tool-calls"})

    def complete(self):
        self.assistant(finish="stop")


class Case(SessionTest):
    form = Pi
    pattern = "~/agent/projects/*/*.jsonl ~/agent/projects/*/*/subagents/*.jsonl"
    compaction = ""

    def setUp(self):
        super().setUp()
        self.session.write("f", lines("f", 300))  # more than an output may have of which nothing is known
        self.data = self.session.read("f")
        self.projects = os.path.join(self.session.directory, "agent/projects/here")
        os.makedirs(os.path.join(self.projects, "one/subagents"))
        config = os.path.join(self.session.directory, "seen.ini")
        with open(config, "w", encoding="utf-8") as file:
            file.write("[notice]\nyield = never\n[agent fake_agent]\ntranscript = %s\n%s\n" % (self.pattern, self.compaction))
        self.options = ("--config", config)
        self.one = self.transcript("one")
        self.agent.run(["true"])  # it runs before anything is written

    def transcript(self, name, **more):
        return self.form(os.path.join(self.projects, name + ".jsonl"), self.session.workspace, **more)

    @property
    def scope(self):
        return next(scope for scope in self.session.status()["scopes"] if "in-process reads" not in scope["name"])

    def until(self, **counts):
        """Until the scope has so many outputs."""
        wait_until(lambda: all((self.scope["outputs"] or {}).get(name) == count for name, count in counts.items()))

    def cat(self):
        return self.agent.shell("cat f")

    def calls(self, transcript=None):
        """The model calls a command, and that is known."""
        (transcript or self.one).call()
        wait_until(lambda: not self.scope["muted"])

    def counts_outputs(self, transcript=None, **counts):
        """The file is given in full, and the transcript says so."""
        transcript = transcript or self.one
        transcript.call()
        output = self.cat()
        self.assertReal(output, self.data)
        transcript.result(output)
        self.until(**(counts or {"proven": 1}))

    def known(self):
        self.one.prompt()
        self.counts_outputs()

    def assertKnown(self, transcript=None):
        self.calls(transcript)
        self.assertNotice(self.cat(), "f")
        (transcript or self.one).result(b"[a notice]\n")

    def assertUnknown(self, transcript=None):
        self.calls(transcript)
        self.assertReal(self.cat(), self.data)


class Proofs(Case):
    def test_proven(self):
        self.one.prompt()
        self.one.call()
        first = self.cat()
        self.assertReal(first, self.data)
        self.until(unproven=1)
        self.assertReal(self.cat(), self.data)  # nothing says yet what became of it
        self.one.result(first)
        self.until(proven=1, unproven=0)
        self.assertKnown()

    def test_contradicted(self):
        """By its end (pi), its beginning, or both with a mark between them; a later result may prove it all the same."""
        text = self.data.decode().splitlines(True)
        self.one.prompt()
        for cut in ("".join(text[200:]) + "\n[Showing lines 201-300 of 300]", "".join(text[:100]), "".join(text[:100] + ["...\n"] + text[110:])):
            self.one.call()
            self.assertReal(self.cat(), self.data)
            self.until(unproven=1, contradicted=0)
            self.one.result(cut.encode())
            self.until(contradicted=1)
            self.calls()
            self.assertReal(self.cat(), self.data)
            self.one.result(b"(no output)")
        self.one.call()
        self.one.result(self.data)
        self.until(proven=1)
        self.assertKnown()

    def test_several_in_one_command(self):
        self.session.write("g", lines("g"))
        self.one.prompt()
        for cut in (True, False):
            self.one.call()
            output = self.agent.shell("echo first; cat f; cat g; false")
            self.assertReal(output, b"first\n" + self.data + lines("g"))
            self.one.result((output[:-100] if cut else output) + b"\n\nCommand exited with code 1")
            self.until(**({"contradicted": 1} if cut else {"proven": 1}))
        self.assertKnown()

    @unittest.skipIf(VIA == "supervise", "the supervisor does not know what a reader printed")
    def test_lines(self):
        """Of a part of a file the lines have to be there."""
        part = b"".join(self.data.splitlines(True)[:150])
        self.one.prompt()
        self.one.call()
        self.assertReal(self.agent.shell("head -150 f"), part)
        self.one.result(part[:2000])
        self.until(contradicted=1)
        self.calls()
        self.assertReal(self.agent.shell("head -150 f"), part)
        self.one.result(part)
        self.until(proven=1)
        self.calls()
        self.assertTrue(self.agent.shell("head -150 f").startswith(b"["))

    def test_a_file_that_is_another_by_now(self):
        """What was given is compared by the copy that was kept."""
        self.one.prompt()
        self.one.call()
        self.assertReal(self.cat(), self.data)
        self.session.write("f", b"something else\n")
        self.one.result(self.data)
        self.until(proven=1)

    def test_not_found(self):
        """It is reported."""
        self.one.prompt()
        self.one.call()
        self.assertReal(self.cat(), self.data)
        self.one.result(b"something else")
        self.until(unproven=1, contradicted=0, proven=0)

    def test_a_terminal(self):
        self.one.prompt()
        self.one.call()
        self.assertReal(self.cat(), self.data)
        self.one.result(self.data.replace(b"\n", b"\r\n").rstrip())
        self.until(proven=1)


class NewConversation:
    """Of each form: the conversation goes on in another transcript."""

    def test_a_new_conversation(self):
        self.known()
        self.one.complete()
        two = self.transcript("two")
        two.prompt()
        self.until(off_branch=1)
        self.assertUnknown(two)
        two.result(self.data)
        self.until(proven=1)
        self.assertKnown(two)


class Conversations(NewConversation, Case):
    def test_the_users_turn(self):
        """After a turn it is unknown where the conversation goes on."""
        self.known()
        self.one.complete()
        wait_until(lambda: self.scope["muted"])
        self.assertReal(self.cat(), self.data)
        self.one.prompt()
        wait_until(lambda: not self.scope["muted"])  # without a call: a while later

    def test_rewound(self):
        self.one.prompt()
        before = self.one.last
        self.counts_outputs()
        self.one.complete()
        after = self.one.last
        self.one.last = before
        self.one.prompt()
        self.until(off_branch=1)
        self.calls()
        # what comes back is not given again in between: its delivery would be another
        self.one.last = after
        self.one.prompt()
        self.until(proven=1)
        self.assertKnown()
        self.one.last = before
        self.one.prompt()
        self.until(off_branch=1)
        self.assertUnknown()

    def test_resumed(self):
        """It comes back to a conversation that has it."""
        self.known()
        self.one.complete()
        two = self.transcript("two")
        two.prompt()
        self.until(off_branch=1)
        two.complete()
        self.one.prompt()
        self.until(proven=1)
        self.assertKnown()

    def test_not_proven_when_it_goes_on_elsewhere(self):
        self.one.prompt()
        self.one.call()
        self.assertReal(self.cat(), self.data)
        self.until(unproven=1)
        self.transcript("two").prompt()
        self.until(contradicted=1)

    def test_another_directory(self):
        """The transcript of an agent that works elsewhere says nothing."""
        self.known()
        self.calls()
        other = self.transcript("other")
        other.directory = self.session.directory + "/agent"
        other.prompt()
        other.call()
        time.sleep(0.3)
        self.assertNotice(self.cat(), "f")

    def test_beside_another_agent(self):
        """It could be either's until the first output is proven; then it goes on where it was found to be."""
        other = self.session.agent(*self.options)
        self.addCleanup(other.close)
        other.run(["true"])
        self.one.prompt()
        wait_until(lambda: [scope["muted"] for scope in self.session.status()["scopes"]] == [False, False])
        self.one.call()
        output = self.cat()
        self.assertReal(output, self.data)
        self.one.result(output)
        wait_until(lambda: any(scope["outputs"] and scope["outputs"]["proven"] for scope in self.session.status()["scopes"]))
        time.sleep(0.5)  # it is muted for a while now
        wait_until(lambda: any(scope["outputs"] and not scope["muted"] for scope in self.session.status()["scopes"]))
        self.assertNotice(self.cat(), "f")

    def test_written_anew(self):
        self.known()
        with open(self.one.path, "rb") as file:
            text = file.read()
        with open(self.one.path + ".new", "wb") as file:
            file.write(text)
        os.rename(self.one.path + ".new", self.one.path)
        self.assertKnown()


class Stores(NewConversation, Case):
    """opencode's and kilo's form: a database."""

    form = Stored
    pattern = "~/agent/projects/here/agent.db"

    def transcript(self, name, **more):
        stored = super().transcript(name, **more)
        self.addCleanup(stored.database.close)
        return stored

    def test_proven(self):
        self.one.prompt()
        self.one.call()
        first = self.cat()
        self.assertReal(first, self.data)
        self.until(unproven=1)
        self.one.result(first)
        self.until(proven=1, unproven=0)
        self.assertKnown()
        self.one.complete()
        wait_until(lambda: self.scope["muted"])

    def test_given_in_part(self):
        self.one.prompt()
        self.one.call()
        self.assertReal(self.cat(), self.data)
        self.one.result(b"...output truncated...\n\nFull output saved to: /x\n\n" + self.data[3000:])
        self.until(contradicted=1)
        self.calls()
        self.assertReal(self.cat(), self.data)

    def test_cleared(self):
        """The agent took the result out of the conversation: it is marked, its text stays."""
        self.known()
        self.one.tool(status="completed", output=self.data.decode(), time={"start": 1, "compacted": 2})
        self.until(off_branch=1)
        self.assertUnknown()

    def test_summarized(self):
        self.known()
        self.calls()
        self.one.result(b"(nothing)")
        wait_until(lambda: not self.scope["muted"])
        self.one.assistant(summary=True)  # it begins
        wait_until(lambda: self.scope["muted"])
        self.until(proven=1)
        self.one.insert("message", self.one.message, {"role": "assistant", "summary": True, "finish": "stop"})
        self.until(off_branch=1)
        self.one.prompt()
        self.assertUnknown()
        self.one.result(self.data)
        self.until(proven=1)
        self.assertKnown()

    def test_taken_back(self):
        """/undo, and /redo; then what was taken back is removed, and the user goes on."""
        self.one.prompt()
        self.one.complete()
        self.one.prompt()
        undone = self.one.user
        self.counts_outputs()
        self.one.complete()
        self.one.touch({"messageID": undone})
        self.until(off_branch=1)
        self.one.touch()
        self.until(proven=1)
        self.one.touch({"messageID": undone})
        self.until(off_branch=1)
        for table in ("message", "part"):
            self.one.database.execute("DELETE FROM %s WHERE id >= ?" % table, (undone,))
        self.one.prompt()
        self.assertUnknown()

    def test_all_taken_back(self):
        """/undo of the first prompt leaves nothing; what the user goes on with does not follow it."""
        self.known()
        self.one.complete()
        self.one.touch({"messageID": self.one.user})
        time.sleep(0.7)  # it is read
        for table in ("message", "part"):
            self.one.database.execute("DELETE FROM %s" % table)
        self.one.prompt()
        self.until(off_branch=1)
        self.assertUnknown()

    def test_a_sub_agent(self):
        self.known()
        self.one.call(TASK)
        wait_until(lambda: self.scope["muted"])
        side = self.transcript("side", side=True)
        side.prompt()
        side.call()
        self.assertReal(self.cat(), self.data)
        side.result(self.data)
        side.complete()
        self.one.result(b"It was seen.")
        self.assertUnknown()  # the last that the process was given is not its parent's

    def test_its_writer_never_waits(self):
        """It has no patience at all.  Its database and shared memory are opened to be read only (SQLite opens the -wal file as it likes), and closed
        at once."""
        self.known()
        held, until = [], time.monotonic() + 1
        while time.monotonic() < until:
            self.one.insert("message", self.one.user, {"role": "user", "x": "y" * 3000})
            held += self.held()
        self.assertEqual({flags & os.O_ACCMODE for flags in held}, {os.O_RDONLY})
        wait_until(lambda: not self.held())
        self.assertKnown()

    def held(self):
        """How `seen run` has the database open."""
        process = "/proc/%d/" % self.agent.process.pid
        found = []
        for fd in os.listdir(process + "fd"):
            try:
                if os.readlink(process + "fd/" + fd).endswith(("agent.db", "agent.db-shm")):
                    with open(process + "fdinfo/" + fd, encoding="ascii") as file:
                        found.append(next(int(line.split()[1], 8) for line in file if line.startswith("flags:")))
            except FileNotFoundError:
                continue  # closed meanwhile
        return found

    def test_another_mode(self):
        """A reader would keep its writer waiting: it is left alone."""
        self.one.database.execute("PRAGMA journal_mode = DELETE")
        self.one.prompt()
        self.one.call()
        self.assertReal(self.cat(), self.data)
        self.one.result(self.data)
        time.sleep(0.3)
        self.assertIsNone(self.scope["outputs"])


class Trees(Case):
    """Claude Code's form, with sub-agents and compactions."""

    form = Claude

    def test_proven_and_rewound(self):
        self.one.prompt()
        before = self.one.last
        self.counts_outputs()
        self.assertKnown()
        self.one.complete()
        self.one.last = before
        self.one.prompt()
        self.until(off_branch=1)
        self.assertUnknown()

    def test_compacted(self):
        self.known()
        self.one.compact()
        self.one.prompt()
        self.until(off_branch=1)
        self.assertUnknown()

    def test_a_sub_agent_and_its_parent(self):
        """While it lives nothing counts, and what it was given is not its parent's."""
        self.known()
        self.one.call(TASK)
        wait_until(lambda: self.scope["muted"])
        side = self.transcript("one/subagents/agent-1", side=True)
        side.prompt()
        side.call()
        self.assertReal(self.cat(), self.data)
        side.result(self.data)
        self.until(proven=0, off_branch=1)
        side.complete()
        self.one.result(b"The sub-agent has done.")
        self.assertUnknown()  # by its last delivery it is the sub-agent's

    def test_one_in_the_background(self):
        """Its parent goes on meanwhile."""
        self.known()
        side = self.transcript("one/subagents/agent-1", side=True)
        side.prompt()
        wait_until(lambda: self.scope["muted"])
        self.one.call()
        self.assertReal(self.cat(), self.data)
        self.one.result(self.data)
        self.until(proven=1)
        self.assertTrue(self.scope["muted"])
        side.complete()
        self.assertKnown()


del Case

if __name__ == "__main__":
    unittest.main()
