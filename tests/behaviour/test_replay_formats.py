"""replay of each format of transcripts, and of damaged ones: the rest of test_replay.py."""

import json
import os
import random
import subprocess
import unittest

from driver import BUILD, DEADLINE, SANITIZED, SEEN, text_of
from test_replay import Claude, OTHER, Replay, TEXT, lines_of, numbered, part


PEAK = str(BUILD / "tests" / "bench" / "peak")


class Formats(Replay):
    def setUp(self):
        super().setUp()
        with open(self.home / ".config/seen/seen.ini", "a") as file:  # as if they had been measured
            file.write("".join(f"[agent {name}]\nmeasured = *\n" for name in ("sweagent", "openhands", "opencode", "kilo", "qwen")))

    def window(self, path, text, first, last):
        lines = lines_of(text)
        above, below = first - 1, len(lines) - last
        return (f"[File: {path} ({len(lines)} lines total)]\n" + (f"({above} more lines above)\n" if above else "") +
                "".join(f"{number}:{lines[number - 1]}\n" for number in range(first, last + 1)) +
                (f"({below} more lines below)" if below else ""))

    def test_swe_agent(self):
        steps = [("open src/f.py 10", self.window("/repo/src/f.py", TEXT, 1, 40)),
                 ("scroll_down", self.window("/repo/src/f.py", TEXT, 31, 60)),
                 ("goto 20", self.window("/repo/src/f.py", TEXT, 10, 50)),
                 ("open src/f.py 10", self.window("/repo/src/f.py", TEXT, 1, 40)),
                 ("edit 30:30\nnew\nend_of_edit", self.window("/repo/src/f.py", OTHER, 20, 50)),
                 ("goto 25", self.window("/repo/src/f.py", OTHER, 20, 50)),
                 ("goto 26", self.window("/repo/src/f.py", OTHER, 20, 51)),
                 ("open missing.py", "File missing.py not found"), ("open missing.py", "File missing.py not found"),
                 ("cat src/f.py", OTHER), ("cat src/f.py", OTHER), ("ls", "src"), ("ls", "src")]
        document = {"environment": "swe_main", "trajectory": [
            {"action": action + "\n", "observation": output, "state": json.dumps({"open_file": "n/a", "working_dir": "/repo"}),
             "response": "", "thought": ""} for action, output in steps],
            "history": [{"role": "system", "content": "", "agent": "primary"}], "info": {"exit_status": "submitted"}}
        file = self.replay(json.dumps(document), name="x.traj")
        self.assertEqual((file["format"], file["outputs"]["count"], file["reads"]["count"]), ("swe-agent", 13, 8))
        # 10-50 is covered by 1-40 and 31-60; 20-50 was shown by the edit, and 51 before; the first `cat` shows lines 1 to 19 and 52 to 60, given.
        self.assert_categories(file, covered=4, identical=2)
        self.assert_saving(file, "notice", answered=1)
        self.assertEqual(file["commands_identical"]["count"], 1)

    def test_swe_agent_demonstrations(self):
        """A history alone; what the harness puts behind an observation tells the directory."""
        prompt = "\n(Open file: n/a)\n(Current directory: /repo)\nbash-$"
        history = [{"role": "system", "content": "x"}, {"role": "user", "content": "the task" + prompt, "message_type": "observation"}]
        for action, output in [("cat f", TEXT), ("cat f", TEXT), ("cd sub", ""), ("cat f", TEXT)]:
            history.append({"role": "assistant", "content": "c", "action": action})
            history.append({"role": "user", "content": output + (prompt.replace("/repo", "/repo/sub") if "cd" in action else prompt)})
        file = self.replay(json.dumps({"history": history}))
        self.assertEqual(file["format"], "swe-agent")
        self.assert_categories(file, identical=1)

    def test_str_replace_editor(self):
        def view(text, first=1):
            return ("Here's the result of running `cat -n` on /repo/f.py:\n" + numbered(text, first, width=6)).replace("\n", "\r\n")
        steps = [("str_replace_editor view /repo/f.py", view(TEXT)),
                 ("str_replace_editor view /repo/f.py --view_range 5 9", view(part(TEXT, 5, 9), 5)),
                 ("str_replace_editor str_replace /repo/f.py --old_str 'a' --new_str 'b'",
                  "The file /repo/f.py has been edited. Here's the result of running `cat -n` on a snippet of /repo/f.py:\r\n" +
                  numbered(part(OTHER, 28, 32), 28, width=6)),
                 ("str_replace_editor view /repo/f.py --view_range 28 32", view(part(OTHER, 28, 32), 28)),
                 ("str_replace_editor view /repo/f.py", view(OTHER).rstrip("\t"))]
        document = {"trajectory": [{"action": action, "observation": output, "state": {"working_dir": "/repo"}, "messages": []}
                                   for action, output in steps], "history": [], "info": {}}
        file = self.replay(json.dumps(document))
        # The last shows lines that were all given, and one that the edit's snippet gave.
        self.assert_categories(file, covered=3)
        self.assertEqual(file["reads"]["count"], 4)

    def openhands(self, tail=()):
        events = [{"id": 0, "source": "user", "action": "message", "args": {"content": "do it"}}]
        for tool, arguments, content, extras in [
                ("run", {"command": "cat f"}, TEXT, {"metadata": {"exit_code": 0, "working_dir": "/repo"}}),
                ("read", {"path": "/repo/f"}, "Here's the result of running `cat -n` on /repo/f:\n" + numbered(TEXT, width=6), {}),
                ("run", {"command": "cat f"}, TEXT, {"metadata": {"exit_code": 0, "working_dir": "/repo"}}),
                ("run", {"command": "cat f"}, TEXT, {"metadata": {"exit_code": 0, "working_dir": "/repo"}}), *tail]:
            number = len(events)
            events.append({"id": number, "source": "agent", "action": tool, "args": arguments,
                           "timestamp": "2026-11-22T10:00:00.123456"})
            if content is not None:
                events.append({"id": number + 1, "cause": number, "source": "agent", "observation": tool, "content": content,
                               "extras": extras})
        return events

    def test_openhands(self):
        events = self.openhands()
        for content in (json.dumps(events), json.dumps(events, indent=1), json.dumps({"instance_id": "x", "history": events}) + "\n",
                        "".join(json.dumps(event) + "\n" for event in events)):
            with self.subTest(content=content[:30]):
                file = self.replay(content)
                self.assertEqual((file["format"], file["reads"]["count"]), ("openhands", 4))
                # Before the first command ended its directory was unknown.
                self.assert_categories(file, identical=2)
                self.assert_saving(file, "notice", answered=1)
        pairs = [[events[i], events[i + 1]] for i in range(1, len(events), 2)]
        self.assert_categories(self.replay(json.dumps({"instance_id": "x", "history": pairs})), identical=2)

    def test_openhands_condensation(self):
        events = self.openhands([("condensation", {"forgotten_event_ids": [1, 2]}, None, None),
                                 ("run", {"command": "cat f"}, TEXT, {"metadata": {"exit_code": 0, "working_dir": "/repo"}})])
        file = self.replay(json.dumps(events))
        self.assert_categories(file, identical=2, after_compaction=1)

    def test_messages(self):
        def chat(form):
            messages = [{"role": "system", "content": "help"}, {"role": "user", "content": "the task"}]
            for number in range(2):
                arguments = {"command": "view", "path": "/repo/f.py"}
                result = "Here's the result of running `cat -n` on /repo/f.py:\n" + numbered(TEXT, width=6)
                if form == "tool_calls":
                    messages.append({"role": "assistant", "content": "", "tool_calls": [{"id": f"c{number}", "type": "function", "function": {
                        "name": "str_replace_editor", "arguments": json.dumps(arguments)}}]})
                    messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": "OBSERVATION:\n" + result})
                elif form == "functions":
                    messages.append({"role": "assistant", "content": "I look.\n\n<function=str_replace_editor>\n<parameter=command>view"
                                     "</parameter>\n<parameter=path>/repo/f.py</parameter>\n</function>"})
                    messages.append({"role": "user", "content": "EXECUTION RESULT of [str_replace_editor]:\n" + result})
                else:
                    messages.append({"role": "assistant", "content": "THOUGHT: I look.\n\n```bash\ncat f.py\n```"})
                    messages.append({"role": "user", "content": f"<returncode>0</returncode>\n<output>\n{TEXT}</output>"})
            return {"messages": messages, "instance_id": "i"}
        for form in ("tool_calls", "functions", "blocks"):
            for content, name in [(json.dumps(chat(form)), "one"), (json.dumps([chat(form), chat(form)]), "two"),
                                  (2 * (json.dumps(chat(form)) + "\n"), "two"), (json.dumps(chat(form)["messages"]), "one")]:
                with self.subTest(form=form, begins=content[:12], name=name):
                    file = self.replay(content)
                    sessions = 2 if name == "two" else 1
                    self.assertEqual((file["format"], file["sessions"], file["reads"]["count"]), ("messages", sessions, 2 * sessions))
                    self.assert_categories(file, identical=sessions)

    def test_codex(self):
        lines = [{"type": "session_meta", "payload": {"id": "x", "cwd": "/work/w"}}]
        for number in range(3):
            if number == 2:
                lines.append({"type": "compacted", "payload": {"message": ""}})
            lines.append({"type": "response_item", "payload": {"type": "function_call", "name": "exec_command", "call_id": f"c{number}",
                                                               "arguments": json.dumps({"cmd": "cat f"})}})
            lines.append({"type": "response_item", "payload": {
                "type": "function_call_output", "call_id": f"c{number}",
                "output": f"Chunk ID: {number}\nWall time: 0.0{number} seconds\nProcess exited with code 0\nOutput:\n{TEXT}"}})
        file = self.replay("".join(json.dumps({"timestamp": "2026-11-22T18:49:11.243Z", **line}) + "\n" for line in lines))
        self.assertEqual(file["format"], "codex")
        self.assert_categories(file, identical=1, after_compaction=1)
        self.assert_saving(file, "notice", answered=1)

    def test_codex_patches_and_older_forms(self):
        def item(**payload):
            return json.dumps({"timestamp": "2026-11-22T18:49:11.243Z", "type": "response_item", "payload": payload}) + "\n"
        text = json.dumps({"type": "session_meta", "payload": {"cwd": "/work/w"}}) + "\n"
        for number, between in enumerate(["", "*** Begin Patch\n*** Update File: f.c\n@@\n-a\n+b\n*** End Patch\n", ""]):
            if between:
                text += item(type="custom_tool_call", name="apply_patch", call_id=f"p{number}", input=between)
                text += item(type="custom_tool_call_output", call_id=f"p{number}", output="Success")
            text += item(type="function_call", name="shell", call_id=f"c{number}",
                         arguments=json.dumps({"command": ["bash", "-lc", "grep -n line f.c"]}))
            text += item(type="function_call_output", call_id=f"c{number}",
                         output=json.dumps({"output": TEXT, "metadata": {"exit_code": 0}}))
        file = self.replay(text)
        self.assertEqual(file["commands_identical"]["count"], 2)
        # Of two repeats the patch lies before the first.
        self.assert_saving(file, "requests", repeats=1, answered=1)

    def test_pi(self):
        lines = [{"type": "session", "version": 3, "id": "x", "cwd": "/work/w"}]
        for number in range(2):
            lines.append({"type": "message", "message": {"role": "assistant", "content": [
                {"type": "toolCall", "id": f"c{number}", "name": "read", "arguments": {"path": "f"}}]}})
            lines.append({"type": "message", "message": {"role": "toolResult", "toolCallId": f"c{number}", "toolName": "read",
                                                         "content": [{"type": "text", "text": TEXT}], "isError": False}})
        file = self.replay("".join(json.dumps(line) + "\n" for line in lines))
        self.assertEqual(file["format"], "pi")
        self.assert_categories(file, identical=1)
        self.assert_saving(file, "notice", "own_tools", answered=1)


class Damage(Replay):
    def fails(self, content, *words, name="t.jsonl", code=8, options=()):
        path = self.write(content, name)
        done = self.seen("replay", *options, path, code=code)
        lines = done.stderr.decode().splitlines()
        self.assertEqual(len(lines), 1, lines)
        self.assertTrue(lines[0].startswith(f"seen: {path}: "), lines)
        for word in words:
            self.assertIn(word, lines[0])
        return lines[0]

    def test_files_that_are_none(self):
        self.fails("", "empty")
        self.fails("hello\n", "--format")
        self.fails(b"\x00\x01\x02\xff" * 100, "--format")
        self.fails("[]", "--format")
        self.fails('{"a": 1}', "--format")
        self.fails('{"a": [[[[', "--format")

    def test_missing_directory_and_unreadable(self):
        done = self.seen("replay", "none", code=8)
        self.assertIn("No such file", done.stderr.decode())
        self.assertEqual(done.stdout, b"") # no tables of zeros
        self.assertIn("no transcripts there", self.seen("replay", str(self.top / "tmp"), code=1).stderr.decode())

    def test_others_are_done(self):
        bad, good = self.write("nonsense", "bad"), self.write(Claude().bash("cat f", TEXT).bash("cat f", TEXT), "good")
        document = self.json("replay", bad, good, code=8)
        self.assertIsNone(document["files"][0]["format"])
        self.assertIn("--format", document["files"][0]["error"])
        self.assertIsNone(document["files"][1]["error"])
        self.assert_categories(document["total"], identical=1)

    def test_a_damaged_line_costs_itself(self):
        lines = Claude().bash("cat f", TEXT).bash("cat f", TEXT).text().splitlines(True)
        for damage in ('{"type": "user", "x": \n', "}\n", '{"a": "\n', "\x00\n", "null\n", "[1\n"):
            with self.subTest(damage=damage):
                content = "".join(lines[:2]) + damage + "".join(lines[2:])
                code = 0 if damage == "null\n" else 8
                file = self.replay(content, code=code)
                self.assert_categories(file, identical=1)
                self.assertEqual(file["damaged"], int(code == 8))
                if code:
                    self.assertIn("line 3", self.fails(content))

    def test_last_line_cut(self):
        text = Claude().bash("cat f", TEXT).bash("cat f", TEXT).text()
        self.assertIn("line 4", self.fails(text[:-100], "cut"))
        file = self.replay(text[:-100], code=8)
        self.assertEqual(file["outputs"]["count"], 1)
        # A last line without its newline is whole.
        self.assert_categories(self.replay(text[:-1]), identical=1)

    def test_cut_document(self):
        document = json.dumps({"trajectory": [{"action": "ls", "observation": "x", "state": "{}"}] * 9})
        for cut in range(30, len(document) - 1, 7):
            with self.subTest(cut=cut):
                path = self.write(document[:cut], "x.traj")
                done = self.seen("replay", "--json", path, code=8)
                self.assertIn(path, done.stderr.decode())
                json.loads(done.stdout)

    def test_invalid_bytes(self):
        """Bytes that are no UTF-8, halves of surrogate pairs, NUL, numbers beyond all bounds."""
        for one, other in [(b"\\ud83d", b"x"), (b"\xff\xfe", b"\\udc00"), (b"\\u0000", b"\xc3"), (b"\\ud83d\\ude00", b"\xed\xa0\x80")]:
            content = Claude().bash("cat f", TEXT).bash("cat f", TEXT).text().encode()
            content = content.replace(b"line 7 ", b"line " + one + b" ").replace(b"line 9 ", b"line " + other + b" ")
            content = content.replace(b'"isSidechain": false', b'"isSidechain": false, "n": 99999999999999999999999999')
            with self.subTest(one=one):
                file = self.replay(content)
                self.assert_categories(file, identical=1)
                self.assert_saving(file, "notice", answered=int(b"u0000" not in one))

    def test_format_that_was_said(self):
        text = Claude().bash("cat f", TEXT).text()
        self.assertEqual(self.replay(text, "--format", "claude")["outputs"]["count"], 1)
        self.fails("hello\n", "its format is not the given one", options=("--format", "claude"))
        self.fails(text, options=("--format", "journal"))
        self.assertIn("claude, codex", self.seen("replay", "--format", "x", "f", code=2).stderr.decode())

    def test_usage(self):
        self.seen("replay", code=1)  # no agent's transcripts here
        self.seen("replay", "--session", "s", "f", code=2)
        self.seen("replay", "--list", "--json", "f", code=2)
        self.seen("replay", "--session", "none", code=3)

    def test_byte_order_mark_and_pretty_lines(self):
        document = {"trajectory": [{"action": "cat f", "observation": TEXT, "state": {"working_dir": "/r"}}] * 2}
        file = self.replay(b"\xef\xbb\xbf" + json.dumps(document, indent=4).encode())
        self.assertEqual(file["outputs"]["count"], 2)

    def test_pipes(self):
        text = Claude().bash("cat f", TEXT).bash("cat f", TEXT).text()
        done = subprocess.run([SEEN, "replay", "--json", "/dev/stdin"], input=text.encode(), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=self.env, cwd=self.work, timeout=DEADLINE, check=False)
        self.assertEqual(done.returncode, 8)
        self.assertIn(b"--format", done.stderr)
        done = subprocess.run([SEEN, "replay", "--json", "--format", "claude", "/dev/stdin"], input=text.encode(),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.env, cwd=self.work, timeout=DEADLINE, check=True)
        self.assert_categories(json.loads(done.stdout)["total"], identical=1)

    def test_random_damage(self):
        """Whatever was done to a file: an answer, and no crash."""
        chance = random.Random(int(os.environ.get("SEEN_SEED", "7")))
        claude = Claude().read("/work/w/f", TEXT).bash("cat f", TEXT).compact().bash("sed -n 1,5p f", part(TEXT, 1, 5))
        trajectory = json.dumps({"trajectory": [{"action": "open f", "observation": Formats.window(None, "/f", TEXT, 1, 40),
                                                 "state": "{}"}] * 3})
        for content in (claude.text(), trajectory):
            for _ in range(40):
                data = bytearray(content.encode())
                for _ in range(chance.choice((1, 1, 5, 50))):
                    at = chance.randrange(len(data))
                    action = chance.randrange(3)
                    if action == 0:
                        data[at] = chance.randrange(256)
                    elif action == 1:
                        del data[at:at + chance.randrange(1, 200)]
                    else:
                        data[at:at] = chance.choice((b'"', b"{", b"[", b"]}", b"\\u", b"\n", b"\t", b"9" * 40))
                path = self.write(bytes(data))
                done = self.seen("replay", "--json", path)
                self.assertIn(done.returncode, (0, 8), (bytes(data), done.stderr))

    def test_what_others_own(self):
        path = self.write(Claude().bash("cat f", TEXT).bash("cat f", TEXT))
        before = os.stat(path)
        os.chmod(path, 0o444)
        self.assert_categories(self.json("replay", path)["total"], identical=1)
        self.assertEqual(os.stat(path).st_mtime_ns, before.st_mtime_ns)
        self.assertFalse((self.home / ".local").exists())

    def test_hostile_names_are_shown_escaped(self):
        path = self.write(Claude().bash("cat 'a\x1b[31mb'", TEXT).bash("cat 'a\x1b[31mb'", TEXT), "x\x1b]0;t\x07.jsonl")
        for options in ([], ["--list"], ["--json"]):
            done = self.seen("replay", *options, path, path, code=0)
            self.assert_plain(done.stdout.replace(b"\t", b""))


class Memory(Replay):
    def test_peak(self):
        """A file is not held: 60 MB of the same few files are read with half of that."""
        megabytes = 60
        texts = [text_of(400, f"file{n}").decode() for n in range(8)]
        lines = [Claude(session="m").read(f"/work/w/f{n}", text).text() for n, text in enumerate(texts)]
        block = "".join(lines)
        path = self.top / "big.jsonl"
        with open(path, "w", encoding="utf-8") as file:
            written = number = 0
            while written < megabytes << 20:
                number += 1
                written += file.write(block.replace('"m-', f'"m{number}-').replace("toolu_m_", f"toolu_{number}_"))
        done = subprocess.run([PEAK, "peak", SEEN, "replay", "--json", str(path)], stdout=subprocess.PIPE, env=self.env, cwd=self.work, timeout=10 * DEADLINE, check=True)
        if not SANITIZED:
            self.assertLess(int((self.work / "peak").read_text()), megabytes << 9)
        self.assertGreater(json.loads(done.stdout)["total"]["categories"]["identical"]["count"], 300)


if __name__ == "__main__":
    unittest.main()
