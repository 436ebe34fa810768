"""replay of what gemini, cline, opencode and kilo keep of their conversations."""

import json
import os
import sqlite3

from test_replay import OTHER, Replay, TEXT, lines_of, part


class Gemini:
    """A chat of Gemini CLI, as 0.61.0 writes it."""

    def __init__(self, session="s", kind="main"):
        self.count = 0
        self.lines = [{"sessionId": session, "projectHash": "h", "startTime": "2026-11-27T10:35:37.362Z", "lastUpdated": "2026-11-27T10:35:37.362Z",
                       "kind": kind}]
        self.messages("<session_context>\nThis is the Gemini CLI.\n- **Workspace Directories:**\n  - /work/w\n- **Directory Structure:**\n")

    def messages(self, text, *kept):
        """All messages anew: at the beginning, and by a compaction."""
        first = {"id": "0", "timestamp": "2026-11-27T10:35:37.367Z", "type": "user", "content": [{"text": text}]}
        self.lines.append({"$set": {"messages": [first, *kept], "lastUpdated": "2026-11-27T10:35:37.367Z"}})
        return self

    def rewind(self, message):
        self.lines.append({"$rewindTo": message})
        return self

    def call(self, tool, arguments, response, **more):
        self.count += 1
        identity = f"{tool}__{tool}_{self.count}_0"
        part = {"functionResponse": {"id": identity, "name": tool, "response": response}}
        answer = {"id": f"a{self.count}", "timestamp": "2026-11-27T10:35:38.042Z", "type": "gemini", "content": "", "thoughts": [],
                  "model": "gemini-2.5-pro"}
        # It is written before its call has come back, and again then.
        self.lines += [answer, {"$set": {"lastUpdated": "2026-11-27T10:35:38.042Z"}},
                       {**answer, "toolCalls": [{"id": identity, "name": tool, "args": arguments, "result": [part],
                                                 "status": "error" if "error" in response else "success", "resultDisplay": "shown", **more}]},
                       {"id": f"u{self.count}", "timestamp": "2026-11-27T10:35:38.043Z", "type": "user", "content": [part]}]
        return self

    def shell(self, command, output, below="", **arguments):
        return self.call("run_shell_command", {"command": command, "description": "d", **arguments}, {"output": (
            f"<untrusted_context>\nOutput: {output.rstrip()}\n{below}Process Group PGID: 20{self.count}\n</untrusted_context>")})

    def read(self, path, text):
        return self.call("read_file", {"file_path": path}, {"output": text})

    def read_part(self, path, text, first, last):
        total = len(text.split("\n"))
        return self.call("read_file", {"file_path": path, "start_line": first, "end_line": last}, {"output": (
            f"\nIMPORTANT: The file content has been truncated.\nStatus: Showing lines {first}-{last} of {total} total lines.\nAction: To read more of "
            f"the file, use start_line.\n\n--- FILE CONTENT (truncated) ---\n{part(text, first, last).rstrip()}")})

    def text(self):
        return "".join(json.dumps(line) + "\n" for line in self.lines)


class Cline:
    """A record of cline's, as 3.0.65 writes it."""

    def __init__(self, session="17_x"):
        self.session, self.messages = session, []

    def call(self, tool, arguments, content):
        identity = f"call_{len(self.messages)}_0"
        self.messages += [
            {"id": f"m{identity}", "role": "assistant", "ts": 1795775921016, "content": [
                {"type": "tool_use", "id": identity, "name": tool, "input": arguments}], "modelInfo": {"id": "m", "provider": "p"}},
            {"id": f"r{identity}", "role": "user", "ts": 1795775923518, "content": [
                {"type": "tool_result", "tool_use_id": identity, "name": tool, "content": content}]}]
        return self

    def read(self, *files, behind=""):
        return self.call("read_files", {"files": [{"path": path} for path, _ in files]}, [
            {"query": path, "result": "\n".join(f"{i:2} | {line}" for i, line in enumerate(lines_of(text), 1)) + behind, "success": True}
            for path, text in files])

    def run(self, *commands, **more):
        return self.call("run_commands", {"commands": [command for command, _ in commands]}, [
            {"query": command, "result": output, "success": True, **more} for command, output in commands])

    def edit(self, path):
        return self.call("editor", {"path": path, "old_text": "a", "new_text": "b"}, json.dumps(
            {"query": f"edit:{path}", "result": f"Edited {path}\n```diff\n-3: a\n+3: b\n```", "success": True}))

    def text(self):
        return json.dumps({"version": 1, "updated_at": "2026-11-27T10:39:10.506Z", "agent": "lead", "sessionId": self.session,
                           "origin": {"source": "cli", "mode": "user", "sessionId": self.session, "version": "3.0.65"},
                           "messages": self.messages, "system_prompt": "You are Cline."}, indent=2)


class Database:
    """A database of opencode's, with the tables and columns that 1.18.33 makes and that are read."""

    def __init__(self, path, write_ahead=False):
        self.path, self.count = path, 0
        self.database = sqlite3.connect(path, isolation_level=None)
        if write_ahead:
            self.database.execute("PRAGMA journal_mode = wal")
        self.database.executescript("""
            CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, directory text NOT NULL, title text NOT NULL,
                revert text, time_created integer NOT NULL, time_updated integer NOT NULL);
            CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL,
                data text NOT NULL);
            CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, time_created integer NOT NULL,
                time_updated integer NOT NULL, data text NOT NULL);
            CREATE INDEX part_message_id_id_idx ON part (message_id, id);""")

    def time(self):
        self.count += 1
        return 1795775777705 + 1000 * self.count

    def session(self, name, parent=None, directory="/work/w"):
        time = self.time()
        self.database.execute("INSERT INTO session VALUES (?, 'p', ?, ?, 't', NULL, ?, ?)", (name, parent, directory, time, time))
        return self

    def message(self, session, **data):
        time = self.time()
        name = f"msg_{time}"
        self.database.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", (name, session, time, time, json.dumps(data)))
        return name

    def tool(self, session, tool, arguments, state, data=None):
        """A message with one call, as the agent gives each request's answer."""
        message, time = self.message(session, role="assistant", finish="tool-calls"), self.time()
        data = data or json.dumps({"type": "tool", "tool": tool, "callID": f"call_{self.count}_0",
                                   "state": {"status": "completed", "input": arguments, "title": "t", "time": {"start": time, "end": time}, **state}})
        self.database.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", (f"prt_{time}", message, session, time, time, data))
        return self

    def bash(self, session, command, output, exit_status=0, **state):
        return self.tool(session, "bash", {"command": command, "description": "d"}, {
            "output": output, "metadata": {"output": output, "exit": exit_status, "truncated": False}, **state})

    def read(self, session, path, text, remark=None, first=1, last=None, **state):
        lines = lines_of(text)
        last = last or len(lines)
        remark = remark or (f"End of file - total {len(lines)} lines" if last == len(lines)
                            else f"Showing lines {first}-{last} of {len(lines)}. Use offset={last + 1} to continue.")
        arguments = {"filePath": path, **({"offset": first, "limit": last - first + 1} if (first, last) != (1, len(lines)) else {})}
        return self.tool(session, "read", arguments, {"output": (
            f"<path>{path}</path>\n<type>file</type>\n<content>\n" + "".join(f"{i}: {lines[i - 1]}\n" for i in range(first, last + 1)) +
            f"\n({remark})\n</content>"), **state})

    def close(self):
        self.database.close()
        return str(self.path)


class Agents(Replay):
    """Structures as agents wrote them, in the tests of real ones; the contents are made up."""

    def setUp(self):
        super().setUp()
        self.database = Database(self.top / "opencode.db")

    def replay_database(self, *options, code=0):
        return self.json("replay", *options, self.database.close(), code=code)["files"][0]

    def test_gemini(self):
        chat = Gemini().read("/work/w/f", TEXT).read("/work/w/f", TEXT).read_part("f", TEXT, 5, 9).shell("cat f", TEXT).shell("cat f", TEXT)
        file = self.replay(chat.text())
        self.assertEqual((file["format"], file["unproven"], file["outputs"]["count"], file["reads"]["count"], file["partial_reads"]["count"]),
                         ("gemini", False, 5, 5, 1))
        self.assert_categories(file, identical=3, covered=1)
        self.assert_saving(file, "notice", answered=1)
        self.assertEqual(self.saving(file, "hooks", "whole")["answered"], 1)
        self.assertEqual(self.saving(file, "hooks", "lines")["repeats"], 1)
        # Where it works is in its first message.
        elsewhere = Gemini().shell("cat f", TEXT, dir_path="sub").shell("cat sub/f", TEXT)
        self.assert_categories(self.replay(elsewhere.text()), identical=1)

    def test_gemini_failures(self):
        chat = Gemini().read("/work/w/f", TEXT)
        for _ in range(2):
            chat.call("read_file", {"file_path": "/work/w/none"}, {"error": "File not found: /work/w/none"})
            chat.shell("cat g", TEXT, below="Exit Code: 1\n").shell("cat h", TEXT, below="Signal: 15\n")
        file = self.replay(chat.text())
        self.assertEqual((file["outputs"]["count"], file["reads"]["count"]), (7, 1))
        self.assert_nothing_saved(file)
        cut = "Output too large. Showing first 8,000 and last 32,000 characters. For full output see: /o.txt\n" + TEXT
        self.assert_nothing_saved(self.replay(Gemini().call("run_shell_command", {"command": "cat f"}, {"output": cut})
                                              .call("run_shell_command", {"command": "cat f"}, {"output": cut}).text()))

    def test_gemini_compaction_and_rewind(self):
        for cut in (lambda chat: chat.messages("<state_snapshot>", chat.lines[5]), lambda chat: chat.rewind("a1")):
            file = self.replay(cut(Gemini().shell("cat f", TEXT)).shell("cat f", TEXT).text())
            # What a compaction keeps is not given twice.
            self.assertEqual((file["compactions"], file["outputs"]["count"]), (1, 2))
            self.assert_categories(file, after_compaction=1)
            self.assert_nothing_saved(file)

    def test_gemini_sub_agent(self):
        chats = self.home / ".gemini/tmp/w/chats"
        (chats / "s").mkdir(parents=True)
        (chats / "session-2026.jsonl").write_text(Gemini().read("/work/w/f", TEXT).text())
        (chats / "s/t.jsonl").write_text(Gemini("t", "subagent").read("/work/w/f", TEXT).text())
        document = self.json("replay")
        self.assertEqual([os.path.basename(file["file"]) for file in document["files"]], ["session-2026.jsonl", "t.jsonl"])
        self.assertEqual((document["total"]["sessions"], document["total"]["scopes"]), (1, 2))
        self.assert_categories(document["total"], other_scope=1)
        self.assert_nothing_saved(document["total"])

    def test_gemini_documents(self):
        """0.20.0 wrote one document: it holds results, and not when the conversation was compacted."""
        chat = Gemini().read("/work/w/f", TEXT).read("/work/w/f", TEXT).read_part("/work/w/f", TEXT, 5, 9)
        for _ in range(2):
            chat.call("run_shell_command", {"command": "cat f"}, {"output": f"Command: cat f\nDirectory: (root)\nOutput: {TEXT}\nError: (none)\n"
                                                                  "Exit Code: 0\nSignal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 7"})
        calls = [call for line in chat.lines for call in line.get("toolCalls", ())]
        chats = self.home / ".gemini/tmp/w/chats"
        chats.mkdir(parents=True)
        (chats / "session-2026.json").write_text(json.dumps({
            "sessionId": "s", "projectHash": "h", "startTime": "2026-11-27T11:03:45.341Z", "lastUpdated": "2026-11-27T11:04:27.584Z", "messages": [
                {"id": "1", "timestamp": "2026-11-27T11:03:45.341Z", "type": "user", "content": "do it"},
                {"id": "2", "timestamp": "2026-11-27T11:03:47.836Z", "type": "gemini", "content": "", "toolCalls": calls}]}, indent=2))
        file = self.json("replay")["files"][0]
        self.assertEqual((file["format"], file["unproven"], file["sessions"], file["outputs"]["count"], file["reads"]["count"]), ("gemini", True, 1, 5, 5))
        self.assert_categories(file, identical=2, covered=1)
        self.assert_nothing_saved(file)

    def test_cline_is_no_proof(self):
        record = Cline().read(("/work/w/f", TEXT)).read(("/work/w/f", TEXT), ("/work/w/g", OTHER)).run(("cat f", TEXT), ("ls", "f\n"))
        record.run(("cat f", TEXT)).run(("cat f", TEXT)).edit("/work/w/f").read(("/work/w/f", OTHER))
        path = self.home / ".cline/data/sessions/17_x"
        path.mkdir(parents=True)
        (path / "17_x.messages.json").write_text(record.text())
        (path / "agent_1.messages.json").write_text(Cline("17_x__agent_1").read(("/work/w/f", OTHER)).text())
        (path / "17_x.json").write_text(json.dumps({"version": 1, "session_id": "17_x", "cwd": "/work/w"}))
        done = self.seen("replay", "--json", code=0)
        document = json.loads(done.stdout)
        self.assertEqual(done.stderr.decode(), "seen: 2 files with what tools gave, not what the model was given (docs/limits.md): nothing of "
                                               "that counts as saved\n")
        self.assertEqual([file["unproven"] for file in document["files"]], [True, True])
        total = document["total"]
        self.assertEqual((document["files"][0]["format"], total["sessions"], total["scopes"], total["outputs"]["count"], total["reads"]["count"]),
                         ("cline", 1, 2, 10, 8))
        self.assert_categories(total, identical=3, changed=1, other_scope=1)
        self.assert_nothing_saved(total)

    def test_cline_parts_and_failures(self):
        record = Cline().read(("/work/w/f", TEXT), behind="\n\n[Showing lines 1-60 of 900 total lines.]").read(("/work/w/f", TEXT))
        record.call("read_files", {"files": [{"path": "/work/w/g"}]}, [{"query": "g", "result": "", "error": "Error reading file", "success": False}])
        record.call("spawn_agent", {"task": "t"}, "done").call("read_files", {"files": "none"}, [{"result": TEXT}]).call("search", {}, None)
        file = self.replay(record.text())
        self.assertEqual((file["outputs"]["count"], file["reads"]["count"], file["partial_reads"]["count"]), (5, 2, 1))

    def test_opencode(self):
        self.database.session("s").read("s", "/work/w/f", TEXT).read("s", "/work/w/f", TEXT).read("s", "/work/w/f", TEXT, first=5, last=9)
        self.database.bash("s", "cat f", TEXT).bash("s", "cat f", TEXT)
        file = self.replay_database()
        self.assertEqual((file["format"], file["outputs"]["count"], file["reads"]["count"], file["partial_reads"]["count"]), ("opencode", 5, 5, 1))
        self.assert_categories(file, identical=3, covered=1)
        self.assert_saving(file, "notice", answered=1)
        self.assertEqual(self.saving(file, "hooks", "whole")["answered"], 1)

    def test_opencode_failures(self):
        for _ in range(2):
            self.database.session(f"s{_}")
            for _ in range(2):
                self.database.bash(f"s{_}", "cat f", TEXT, exit_status=1)
                self.database.bash(f"s{_}", "cat g", TEXT, exit_status=None)  # interrupted
                self.database.bash(f"s{_}", "cat h", "...output truncated...\n\nFull output saved to: /o\n\n" + TEXT)
                self.database.tool(f"s{_}", "bash", {"command": "cat i"}, {"status": "error", "error": "aborted",
                                                                         "metadata": {"interrupted": True, "output": TEXT}})
                self.database.tool(f"s{_}", "bash", {"command": "cat j"}, {"status": "running"})
                self.database.read(f"s{_}", "/work/w/k", TEXT.replace("line 7", "x" * 2000 + "... (line truncated to 2000 chars)"))
        file = self.replay_database()
        self.assertEqual((file["outputs"]["count"], file["reads"]["count"]), (20, 4))
        self.assertEqual(self.saving(file, "notice")["answered"] + self.saving(file, "requests")["answered"], 0)
        self.assertEqual(self.saving(file, "hooks", "whole")["answered"], 0)

    def test_opencode_parts_of_a_file(self):
        """What was cut by the agent is no whole file, although it was asked for."""
        self.database.session("s")
        for _ in range(2):
            self.database.read("s", "/work/w/f", TEXT, remark="Output capped at 50 KB. Showing lines 1-60. Use offset=61 to continue.")
        file = self.replay_database()
        self.assertEqual(file["partial_reads"]["count"], 2)
        self.assertEqual(self.saving(file, "hooks", "whole")["repeats"], 0)

    def test_opencode_compaction(self):
        for marks in ({"summary": True, "finish": "stop"}, {"summary": True, "finish": "stop", "error": {}}, {"finish": "stop"}):
            with self.subTest(marks=marks):
                self.database = Database(self.top / f"opencode-{len(marks)}.db")
                self.database.session("s").bash("s", "cat f", TEXT)
                self.database.message("s", role="assistant", **marks)
                file = json.loads(json.dumps(self.replay_database_of("s")))
                self.assert_categories(file, **{"after_compaction" if len(marks) == 2 else "identical": 1})

    def replay_database_of(self, session):
        self.database.bash(session, "cat f", TEXT)
        return self.replay_database()

    def test_opencode_results_taken_out(self):
        """A result that the agent took out of the context is given again from that time on, and not before."""
        self.database.session("s").bash("s", "cat f", TEXT, time={"start": 1, "compacted": 1795775777705 + 1000 * 6.5})
        self.database.bash("s", "cat f", TEXT)
        file = self.replay_database_of("s")
        self.assertEqual(file["compactions"], 1)
        self.assert_categories(file, identical=1, after_compaction=1)
        self.assert_saving(file, "notice", answered=1)

    def test_opencode_sub_agents(self):
        self.database.session("s").session("t", parent="s").session("u", parent="t").session("other")
        for session in "stu":
            self.database.read(session, "/work/w/f", TEXT)
        self.database.read("other", "/work/w/f", TEXT)
        file = self.replay_database()
        self.assertEqual((file["sessions"], file["scopes"]), (2, 4))
        self.assert_categories(file, other_scope=2)
        self.assert_nothing_saved(file)

    def test_kilo_by_its_name_and_its_index(self):
        """Its database has an index by a function, which SQLite trusts in no file that it does not know."""
        self.database = Database(self.top / "kilo.db")
        self.database.database.execute("CREATE INDEX part_type_idx ON part (json_extract(data, '$.type'))")
        self.assertEqual(self.replay_database()["format"], "kilo")
        self.database = Database(self.top / "kilo2.db")
        self.database.session("s").bash("s", "cat f", TEXT)
        self.assert_categories(self.replay_database_of("s"), identical=1)

    def test_found_where_agents_keep_them(self):
        for name, directory in (("opencode", "opencode"), ("kilo", "kilo")):
            place = self.home / ".local/share" / directory
            place.mkdir(parents=True)
            database = Database(place / f"{name}.db")
            database.session("s").bash("s", "cat f", TEXT).close()
        document = self.json("replay")
        self.assertEqual([file["format"] for file in document["files"]], ["kilo", "opencode"])
        # They have one name, but are of different agents.
        self.assertEqual(document["total"]["sessions"], 2)
        self.assertEqual(len(self.json("replay", str(self.home / ".local/share"))["files"]), 2)

    def test_a_live_database(self):
        """Its agent has it open: nothing is made beside it, and what stands in its log alone is there."""
        self.database = Database(self.top / "opencode-live.db", write_ahead=True)
        self.database.session("s").bash("s", "cat f", TEXT)
        self.assertGreater(os.stat(f"{self.database.path}-wal").st_size, 0)
        before = {name: os.stat(self.top / name).st_mtime_ns for name in os.listdir(self.top) if "live" in name}
        file = self.json("replay", str(self.database.path))["files"][0]
        self.assertEqual((file["outputs"]["count"], file["error"]), (1, None))
        self.assertEqual({name: os.stat(self.top / name).st_mtime_ns for name in os.listdir(self.top) if "live" in name}, before)
        self.database.bash("s", "cat f", TEXT)  # its writer was not kept waiting
        copy = self.top / "opencode-copy.db"
        for ending in ("", "-wal"):
            (self.top / f"opencode-copy.db{ending}").write_bytes((self.top / f"opencode-live.db{ending}").read_bytes())
        error = self.seen("replay", str(copy), code=8).stderr.decode()
        self.assertEqual(error, f"seen: {copy}: its agent ended in the middle of a change; start the agent once, and run this again\n")
        self.database.close()

    def test_one_that_ended(self):
        """Nothing is made beside a database that no program has open, in whichever mode it is."""
        for write_ahead in (False, True):
            self.database = Database(self.top / f"opencode-{write_ahead}.db", write_ahead)
            self.database.session("s").bash("s", "cat f", TEXT)
            before = sorted(os.listdir(self.top))
            file = self.replay_database()
            self.assertEqual(file["outputs"]["count"], 1)
            self.assertLessEqual(set(os.listdir(self.top)), set(before))

    def test_damaged_databases(self):
        self.database.session("s").bash("s", "cat f", TEXT).tool("s", "", {}, {}, data="{not JSON").bash("s", "cat f", TEXT)
        path = self.database.close()
        done = self.seen("replay", "--json", path, code=8)
        self.assertRegex(done.stderr.decode(), rf"^seen: {path}: part prt_\d+ is not JSON: passed over, the rest was read\n$")
        file = json.loads(done.stdout)["files"][0]
        self.assertEqual((file["damaged"], file["outputs"]["count"]), (1, 2))
        self.assert_categories(file, identical=1)
        whole = open(path, "rb").read()
        other = self.top / "opencode-other.db"
        sqlite3.connect(other).execute("CREATE TABLE session (id text)").connection.close()
        self.assertIn("no database of opencode or kilo", self.seen("replay", str(other), code=8).stderr.decode())
        view = Database(self.top / "opencode-view.db")
        view.database.execute("ALTER TABLE part RENAME TO parts")
        view.database.execute("CREATE VIEW part AS SELECT * FROM parts")
        self.assertIn("no database of opencode or kilo", self.seen("replay", view.close(), code=8).stderr.decode())
        for name, data in {"cut": whole[:len(whole) // 2], "head": whole[:100], "noise": whole[:100] + b"x" * (len(whole) - 100)}.items():
            with self.subTest(name=name):
                damaged = self.top / f"opencode-{name}.db"
                damaged.write_bytes(data)
                error = self.seen("replay", "--json", str(damaged), code=8).stderr.decode()
                self.assertEqual(error.count("\n"), 1, error)
                self.assertTrue(error.startswith(f"seen: {damaged}: "), error)

    def test_without_the_library(self):
        """A system without SQLite: one line with the file and the package."""
        path = self.database.close()
        (self.top / "lib").mkdir()
        (self.top / "lib/libsqlite3.so.0").write_text("no library")
        error = self.seen("replay", path, code=8, env={"LD_LIBRARY_PATH": str(self.top / "lib")}).stderr.decode()
        self.assertEqual(error, f"seen: {path}: a database needs SQLite's library, libsqlite3.so.0 (Debian: libsqlite3-0)\n")
