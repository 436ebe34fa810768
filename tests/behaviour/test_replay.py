"""replay: what recorded sessions repeated, told by transcripts that are made here, by those of real runs, and by a real journal."""
import json
import random
import subprocess
import unittest

from driver import Case, text_of

CATEGORIES = ["identical", "covered", "changed", "after_compaction", "other_scope"]
LIMIT = 24000


def lines_of(text):
    return text.split("\n")[:-1] if text.endswith("\n") else text.split("\n")


def numbered(text, first=1, mark="\t", width=0):
    """As Claude Code's Read has it; the line behind the last newline is one, too, where the file is shown whole."""
    return "\n".join(f"{number:>{width}}{mark}{line}" for number, line in enumerate(text.split("\n"), first))


def part(text, first, last):
    return "\n".join(lines_of(text)[first - 1:last])


class Claude:
    """A transcript of Claude Code."""

    def __init__(self, cwd="/work/w", session="s"):
        self.cwd, self.session, self.count, self.lines = cwd, session, 0, []

    def line(self, agent=None, **members):
        self.count += 1
        line = {"parentUuid": None, "isSidechain": agent is not None, "sessionId": self.session, "cwd": self.cwd,
                "uuid": f"{self.session}-{self.count}", "timestamp": "2026-11-22T10:%02d:%02d.000Z" % divmod(self.count % 3600, 60),
                **members}
        if isinstance(agent, str):
            line["agentId"] = agent
        self.lines.append(json.dumps(line))
        return line

    def call(self, tool, arguments, output, agent=None, error=False, result=None, **more):
        identity = f"toolu_{self.session}_{self.count}"
        self.line(agent, type="assistant", message={"role": "assistant", "content": [
            {"type": "tool_use", "id": identity, "name": tool, "input": arguments}]}, **more)
        block = {"type": "tool_result", "tool_use_id": identity, "content": output}
        if error:
            block["is_error"] = True
        self.line(agent, type="user", message={"role": "user", "content": [block]}, toolUseResult=result or {}, **more)
        return self

    def read(self, path, text, agent=None, mark="\t", width=0, **more):
        """A whole file."""
        count = text.count("\n") + 1
        return self.call("Read", {"file_path": path}, numbered(text, 1, mark, width), agent,
                         result={"type": "text", "file": {"filePath": path, "numLines": count, "startLine": 1,
                                                          "totalLines": count}}, **more)

    def read_part(self, path, text, first, last, agent=None):
        return self.call("Read", {"file_path": path, "offset": first, "limit": last - first + 1},
                         numbered(part(text, first, last), first), agent,
                         result={"type": "text", "file": {"filePath": path, "numLines": last - first + 1, "startLine": first,
                                                          "totalLines": text.count("\n") + 1}})

    def bash(self, command, output, agent=None, **more):
        return self.call("Bash", {"command": command}, output.rstrip("\n"), agent, **more)

    def edit(self, path):
        return self.call("Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, f"The file {path} has been updated.")

    def compact(self, agent=None):
        self.line(agent, type="system", subtype="compact_boundary", content="Conversation compacted")
        return self

    def text(self):
        return "".join(line + "\n" for line in self.lines)


TEXT = text_of().decode()
OTHER = TEXT.replace("line 30 ", "another line ")
ONE_BYTE = TEXT.replace("line 30 ", "line 3O ")


class Replay(Case):
    def write(self, content, name="t.jsonl"):
        path = self.top / name
        if isinstance(content, Claude):
            content = content.text()
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def replay(self, content, *options, code=0, name="t.jsonl"):
        """The document's part about one file."""
        document = self.json("replay", *options, self.write(content, name), code=code)
        self.assertEqual(document["schema"], "seen/replay/1")
        return document["files"][0]

    def assert_categories(self, file, **counts):
        self.assertEqual({name: file["categories"][name]["count"] for name in CATEGORIES},
                         {name: counts.get(name, 0) for name in CATEGORIES})

    def saving(self, file, setting, way="commands"):
        return file["would_have_saved"][setting][way]

    def assert_saving(self, file, setting, way="commands", **numbers):
        saving = self.saving(file, setting, way)
        self.assertEqual({name: saving[name] for name in numbers}, numbers, (setting, way))

    def assert_nothing_saved(self, file):
        for setting, ways in file["would_have_saved"].items():
            for way, saving in ways.items():
                self.assertEqual((setting, way, saving["answered"], saving["bytes"]), (setting, way, 0, 0))

    def diff(self, old, new):
        """Bytes of a unified diff without its header."""
        (self.top / "old").write_text(old)
        (self.top / "new").write_text(new)
        done = subprocess.run(["diff", "-u", "old", "new"], cwd=self.top, stdout=subprocess.PIPE, check=False)
        return len(done.stdout.split(b"\n", 2)[2])

    def notice(self, path, text):
        """What stands in the place of a file: rendered by a real run."""
        return len(f"[File previously read: {path}. Content unchanged since last read. If it is not in your context, repeat the "
                   f"same command to get it in full. ({len(lines_of(text))} lines, {len(text)} bytes, version 0123456789ab, "
                   f"seen-0123456789abcdef)]\n")


class Reads(Replay):
    def test_the_same_again(self):
        file = self.replay(Claude().read("/work/w/f", TEXT).read("/work/w/f", TEXT))
        self.assert_categories(file, identical=1)
        self.assertEqual(file["format"], "claude")
        shown = len(numbered(TEXT))
        self.assertEqual(file["outputs"]["bytes"], 2 * shown)
        self.assertEqual((file["reads"]["count"], file["reads"]["bytes"], file["reads_again"]["count"]), (2, 2 * shown, 1))
        self.assertEqual(file["categories"]["identical"]["bytes"], shown)
        self.assertEqual(file["partial_reads"]["count"], 0)
        # An own tool's read is no command's.
        self.assert_saving(file, "notice", answered=0, repeats=0)
        self.assert_saving(file, "notice", "own_tools", answered=1, bytes=shown - self.notice("/work/w/f", TEXT))

    def test_one_byte_is_another(self):
        file = self.replay(Claude().read("/work/w/f", TEXT).read("/work/w/f", ONE_BYTE))
        self.assert_categories(file, changed=1)
        self.assert_saving(file, "notice", "own_tools", repeats=0)

    def test_another_file_is_no_repeat(self):
        self.assert_categories(self.replay(Claude().read("/work/w/f", TEXT).read("/work/w/g", TEXT)))

    def test_one_file_by_several_names(self):
        file = self.replay(Claude().read("/work/w/f", TEXT).read("/work/w/./x/../f", TEXT).bash("cat f", TEXT))
        self.assert_categories(file, identical=2)

    def test_numbers_with_arrows(self):
        file = self.replay(Claude().read("/work/w/f", TEXT, mark="→", width=6).read("/work/w/f", TEXT))
        self.assert_categories(file, identical=1)

    def test_by_tool_and_by_command(self):
        file = self.replay(Claude().read("/work/w/f", TEXT).bash("cat f", TEXT))
        self.assert_categories(file, identical=1)
        # To the tracker these are two: a read by an own tool is no delivery by a viewer.
        self.assert_nothing_saved(file)

    def test_covered_by_two_parts(self):
        file = self.replay(Claude().read_part("/work/w/f", TEXT, 1, 30).read_part("/work/w/f", TEXT, 31, 60)
                           .read("/work/w/f", TEXT))
        self.assert_categories(file, covered=1)
        self.assertEqual(file["partial_reads"]["count"], 2)

    def test_a_part_of_what_was_given(self):
        self.assert_categories(self.replay(Claude().read("/work/w/f", TEXT).read_part("/work/w/f", TEXT, 10, 20)), covered=1)

    def test_not_quite_covered(self):
        file = self.replay(Claude().read_part("/work/w/f", TEXT, 1, 29).read_part("/work/w/f", TEXT, 31, 60)
                           .read("/work/w/f", TEXT))
        self.assert_categories(file)
        file = self.replay(Claude().read_part("/work/w/f", TEXT, 1, 30).read_part("/work/w/f", TEXT, 31, 60)
                           .read("/work/w/f", OTHER))
        self.assert_categories(file)
        file = self.replay(Claude().read_part("/work/w/f", TEXT, 1, 30).read_part("/work/w/f", TEXT, 30, 31))
        self.assert_categories(file)

    def test_lines_elsewhere_are_others(self):
        """The same texts under other numbers."""
        file = self.replay(Claude().read("/work/w/f", TEXT).read("/work/w/f", "first\n" + TEXT))
        self.assert_categories(file, changed=1)

    def test_changed_and_as_diff(self):
        file = self.replay(Claude().read("/work/w/f", TEXT).edit("/work/w/f").read("/work/w/f", OTHER))
        self.assert_categories(file, changed=1)
        self.assertEqual(file["categories"]["changed_as_diff"]["bytes"], self.diff(TEXT, OTHER))

    def test_diff_is_against_what_was_given_whole(self):
        """Parts of the new version that were given since take nothing off."""
        last = OTHER.replace("line 5 ", "fifth ")
        file = self.replay(Claude().read("/work/w/f", TEXT).edit("/work/w/f").read_part("/work/w/f", OTHER, 25, 35)
                           .read("/work/w/f", last))
        self.assert_categories(file, changed=1)
        self.assertEqual(file["categories"]["changed_as_diff"]["bytes"], self.diff(TEXT, last))

    def test_a_longer_diff_is_the_file(self):
        words = "\n".join(str(random.Random(1).random()) for _ in range(60)) + "\n"
        file = self.replay(Claude().read("/work/w/f", TEXT).read("/work/w/f", words))
        self.assertEqual(file["categories"]["changed_as_diff"]["bytes"], file["categories"]["changed"]["bytes"])

    def test_after_compaction(self):
        file = self.replay(Claude().read("/work/w/f", TEXT).compact().read("/work/w/f", TEXT).read("/work/w/f", TEXT)
                           .compact().read_part("/work/w/f", TEXT, 1, 9))
        self.assert_categories(file, after_compaction=2, identical=1)
        self.assertEqual(file["compactions"], 2)
        # Only what was given since counts.
        self.assert_saving(file, "notice", "own_tools", repeats=1)

    def test_changed_after_compaction_is_new(self):
        self.assert_categories(self.replay(Claude().read("/work/w/f", TEXT).compact().read("/work/w/f", OTHER)))

    def test_sub_agent(self):
        for agent in ["a1", True]:
            with self.subTest(agent=agent):
                file = self.replay(Claude().read("/work/w/f", TEXT).read("/work/w/f", TEXT, agent=agent))
                self.assert_categories(file, other_scope=1)
                self.assertEqual(file["scopes"], 2)
                self.assert_nothing_saved(file)
        file = self.replay(Claude().read("/work/w/f", TEXT, agent="a1").read("/work/w/f", TEXT).read("/work/w/f", TEXT, agent="a1"))
        self.assert_categories(file, other_scope=1, identical=1)

    def test_sub_agents_compaction_is_its_own(self):
        file = self.replay(Claude().read("/work/w/f", TEXT).compact(agent="a1").read("/work/w/f", TEXT))
        self.assert_categories(file, identical=1)

    def test_older_sub_agents_are_distinguished_by_their_first_message(self):
        claude = Claude()
        for number in range(2):
            start = claude.line(True, type="user", message={"role": "user", "content": "do it"})
            before = start["uuid"]
            for _ in range(2):
                claude.call("Read", {"file_path": "/work/w/f"}, numbered(TEXT), True, parentUuid=before)
                before = f"s-{claude.count}"
        file = self.replay(claude)
        self.assertEqual(file["scopes"], 2)
        self.assert_categories(file, identical=2, other_scope=1)

    def test_sub_agents_file_beside(self):
        main = self.write(Claude().read("/work/w/f", TEXT), "a.jsonl")
        side = Claude().read("/work/w/f", TEXT, agent="a1")
        side = self.write(side.text().replace('"s-', '"x-'), "agent-a1.jsonl")
        document = self.json("replay", main, side)
        self.assert_categories(document["files"][1], other_scope=1)
        self.assertEqual(document["total"]["sessions"], 1)

    def test_other_sessions_know_nothing(self):
        paths = [self.write(Claude(session=name).read("/work/w/f", TEXT), name) for name in ("a", "b")]
        document = self.json("replay", *paths)
        self.assert_categories(document["total"])
        self.assertEqual(document["total"]["sessions"], 2)

    def test_lines_that_are_there_twice(self):
        """As a resumed session may have them."""
        text = Claude().read("/work/w/f", TEXT).text()
        file = self.replay(text + text)
        self.assertEqual(file["outputs"]["count"], 1)
        self.assert_categories(file)

    def test_own_stub_is_no_read(self):
        file = self.replay(Claude().read("/work/w/f", TEXT).call(
            "Read", {"file_path": "/work/w/f"}, "Wasted call — file unchanged since your last Read.",
            result={"type": "file_unchanged", "file": {"filePath": "/work/w/f"}}))
        self.assert_categories(file)
        self.assertEqual((file["outputs"]["count"], file["reads"]["count"]), (2, 1))

    def test_notices_of_this_program_are_no_reads(self):
        """A session that ran below it already."""
        notice = ("[File previously read: f. Content unchanged since last read. If it is not in your context, repeat the same command to "
                  "get it in full. (60 lines, 2340 bytes, version 0123456789ab, seen-0123456789abcdef)]")
        file = self.replay(Claude().bash("cat f", TEXT).bash("cat f", notice).bash("cat f", TEXT))
        self.assert_categories(file, identical=1)
        self.assertEqual((file["reads"]["count"], file["outputs"]["count"]), (2, 3))

    def test_a_limit_without_the_files_length(self):
        """The first lines are not the whole file."""
        claude = Claude().call("Read", {"file_path": "/work/w/f", "limit": 30}, numbered(part(TEXT, 1, 30)))
        file = self.replay(claude.call("Read", {"file_path": "/work/w/f"}, numbered(TEXT)))
        self.assertEqual(file["partial_reads"]["count"], 1)
        self.assert_categories(file)

    def test_errors_are_no_reads(self):
        claude = Claude()
        for _ in range(2):
            claude.call("Read", {"file_path": "/work/w/f"}, "File does not exist.", error=True)
            claude.call("Read", {"file_path": "/work/w/g"}, "No such file, says some version without is_error.")
        self.assertEqual(self.replay(claude)["reads"]["count"], 0)

    def test_empty_results(self):
        claude = Claude().call("Read", {"file_path": "/work/w/f"}, "").call("Bash", {"command": "true"}, "")
        claude.call("Read", {"file_path": "/work/w/f.png"}, [{"type": "image", "source": {}}])
        file = self.replay(claude)
        self.assertEqual((file["outputs"]["bytes"], file["reads"]["count"]), (0, 0))

    def test_a_reminder_behind_the_lines_is_none(self):
        claude = Claude()
        for text in ("\n\n<system-reminder>\nBe careful.\n</system-reminder>", "\n\n<system-reminder>\nAnother.\n</system-reminder>"):
            claude.call("Read", {"file_path": "/work/w/f"}, numbered(TEXT) + text)
        self.assert_categories(self.replay(claude), identical=1)


class Commands(Replay):
    def test_cat_again(self):
        file = self.replay(Claude().bash("cat f", TEXT).bash("cat f", TEXT))
        self.assert_categories(file, identical=1)
        self.assert_saving(file, "notice", repeats=1, answered=1, yielded=0, unfit=0,
                           bytes=len(TEXT) - 1 - self.notice("f", TEXT))
        self.assertEqual(file["deliveries"], 2)

    def test_cat_of_a_changed_file(self):
        file = self.replay(Claude().bash("cat f", TEXT).bash("sed -i s/line.30/x/ f", "").bash("cat f", OTHER))
        self.assert_categories(file, changed=1)
        self.assert_saving(file, "notice", repeats=0)
        self.assert_saving(file, "diff", repeats=1, answered=1)
        saved = self.saving(file, "diff")["bytes"]
        self.assertGreater(saved, 0)
        self.assertLess(saved, len(OTHER) - file["categories"]["changed_as_diff"]["bytes"])

    def test_a_diff_of_more_than_half_is_not_given(self):
        other = TEXT.replace("of a file", "of another")
        file = self.replay(Claude().bash("cat f", TEXT).bash("cat f", other))
        self.assert_saving(file, "diff", repeats=1, answered=0, unfit=1, bytes=0)

    def test_sizes(self):
        for size, answered in [(511, 0), (512, 1), (LIMIT, 1), (LIMIT + 1, 0)]:
            text = ("x" * 50 + "\n") * (size // 51)
            text += "y" * (size - len(text) - 1) + "\n"
            with self.subTest(size=size):
                claude = Claude()
                for _ in range(2):
                    claude.call("Bash", {"command": "cat f"}, text)
                file = self.replay(claude)
                self.assert_categories(file, identical=1)
                self.assert_saving(file, "notice", answered=answered)

    def test_options_of_the_configuration(self):
        claude = Claude().bash("cat f", TEXT).bash("cat f", TEXT)
        self.assert_saving(self.replay(claude, "-c", "notice.min_bytes=100000"), "notice", repeats=1, answered=0, unfit=1)
        document = self.json("replay", "-c", "window.requests=7", self.write(claude))
        self.assertEqual(document["assumed"]["window.requests"], 7)
        self.assertEqual(document["assumed"]["notice.yield"], "insist")
        self.assertIn("window.requests=7", self.seen("replay", "-c", "window.requests=7", self.write(claude)).stdout.decode())

    def test_limit_of_the_agents_profile(self):
        claude = Claude().bash("cat f", TEXT).bash("cat f", TEXT)
        self.assert_saving(self.replay(claude, "-c", "agent claude.max_output_bytes=2000"), "notice", repeats=0)
        self.assert_saving(self.replay(claude, "-c", "agent pi.max_output_bytes=2000"), "notice", repeats=1)

    def test_compaction_by_the_agents_profile(self):
        claude = Claude().read("/work/w/f", TEXT)
        claude.line(type="system", subtype="own_words")
        claude.read("/work/w/f", TEXT)
        self.assert_categories(self.replay(claude), identical=1)
        self.assert_categories(self.replay(claude, "-c", "agent claude.compaction=subtype=own_words"), after_compaction=1)

    def test_window_of_requests(self):
        """The request whose number is `requests` after the delivery is the last one inside."""
        for between, repeats in [(49, 1), (50, 0)]:
            claude = Claude().bash("cat f", TEXT)
            for number in range(between):
                claude.bash(f"ls folder{number}", "x")
            claude.bash("cat f", TEXT)
            with self.subTest(between=between):
                file = self.replay(claude)
                self.assert_categories(file, identical=1)
                self.assert_saving(file, "notice", repeats=repeats, answered=repeats)

    def test_window_of_bytes(self):
        for other, repeats in [(5000, 1), (5001, 0)]:
            claude = Claude().bash("cat f", TEXT).bash("cat g", "x" * other).bash("cat f", TEXT)
            with self.subTest(other=other):
                file = self.replay(claude, "-c", "window.bytes=5000")
                self.assert_saving(file, "notice", repeats=repeats)

    def test_window_of_age(self):
        for age, repeats in [(4, 1), (3, 0)]:
            claude = Claude().bash("cat f", TEXT).bash("ls", "x").bash("cat f", TEXT)  # two lines, and seconds, a call
            with self.subTest(age=age):
                self.assert_saving(self.replay(claude, "-c", f"window.age_s={age}"), "notice", repeats=repeats)

    def test_insisting(self):
        """The repeat that follows a notice gets the file, and so do those of the next requests."""
        claude = Claude()
        for _ in range(4):
            claude.bash("cat f", TEXT)
        file = self.replay(claude)
        self.assert_categories(file, identical=3)
        self.assert_saving(file, "notice", repeats=3, answered=1, yielded=2)
        self.assert_saving(self.replay(claude, "-c", "notice.yield=never"), "notice", repeats=3, answered=3, yielded=0)

    def test_insisting_ends(self):
        for between, answered in [(9, 1), (10, 2)]:
            claude = Claude().bash("cat f", TEXT).bash("cat f", TEXT)
            for number in range(between):
                claude.bash(f"ls folder{number}", "x")
            claude.bash("cat f", TEXT)
            with self.subTest(between=between):
                self.assert_saving(self.replay(claude), "notice", repeats=2, answered=answered)

    def test_sub_agents_and_compaction_save_nothing(self):
        file = self.replay(Claude().bash("cat f", TEXT).bash("cat f", TEXT, agent="a").compact().bash("cat f", TEXT))
        self.assert_nothing_saved(file)

    def test_parts_make_the_file_up(self):
        claude = Claude().bash("head -n 30 f", part(TEXT, 1, 30)).bash("sed -n '31,60p' f", part(TEXT, 31, 60)).bash("cat f", TEXT)
        file = self.replay(claude)
        self.assert_categories(file, covered=1)
        self.assert_saving(file, "ranges", repeats=1, answered=1, bytes=len(TEXT) - 1 - self.notice("f", TEXT))
        self.assert_saving(file, "notice", repeats=0)

    def test_parts_of_two_versions_do_not(self):
        """An edit of another line in between: the lines are known, but not of one version."""
        for between in ("edit", "touching command", "other edit"):
            claude = Claude().bash("head -n 30 f", part(TEXT, 1, 30))
            if between == "edit":
                claude.edit("/work/w/f")
            elif between == "other edit":
                claude.edit("/work/w/g")
            else:
                claude.bash("python3 tool.py ./f", "")
            claude.bash("sed -n 31,60p f", part(TEXT, 31, 60)).bash("cat f", TEXT)
            with self.subTest(between=between):
                file = self.replay(claude)
                self.assert_categories(file, covered=1)
                self.assert_saving(file, "ranges", answered=int(between == "other edit"))

    def test_half_known_is_not_known(self):
        file = self.replay(Claude().bash("head -n 30 f", part(TEXT, 1, 30)).bash("cat f", TEXT))
        self.assert_categories(file)
        self.assert_nothing_saved(file)

    def test_requests(self):
        found = "".join(f"src/f.c:{n}:a line that was found\n" for n in range(40))
        file = self.replay(Claude().bash("grep -rn line src", found).bash("grep -rn line src", found))
        self.assertEqual((file["commands"]["count"], file["commands_again"]["count"], file["commands_identical"]["count"]), (2, 1, 1))
        self.assertEqual(file["reads"]["count"], 0)
        self.assert_saving(file, "requests", repeats=1, answered=1)
        saved = self.saving(file, "requests")["bytes"]
        self.assertTrue(len(found) / 2 < saved < len(found), saved)

    def test_requests_in_other_words(self):
        found = "".join(f"{n}:a line that was found\n" for n in range(40))
        file = self.replay(Claude().bash("grep -in line f.c", found).bash("grep --line-number -i -e line f.c", found).bash("grep -n line f.c", found))
        self.assert_saving(file, "requests", repeats=1, answered=1)
        self.assert_saving(file, "requests_reworded", repeats=1, answered=1)
        self.assertEqual(self.saving(file, "requests"), self.saving(file, "requests_reworded"))
        file = self.replay(Claude().bash("grep -in line f.c", found).edit("/work/w/f.c").bash("grep -n -i line f.c", found))
        self.assert_saving(file, "requests_reworded", repeats=0, answered=0)

    def test_contained(self):
        """What an earlier, larger answer contains counts, and is in no other saving."""
        wide = "".join(f"./src/{name}.c:{n}:a line that was found\n" for name in "ab" for n in range(40))
        narrow = "".join(f"{n}:a line that was found\n" for n in range(40))
        lines = lambda first, last: "".join(TEXT.splitlines(True)[first - 1:last])
        for claude, answered in (
                (Claude().bash("grep -rn line .", wide).bash("grep -n line src/a.c", narrow), 1),
                (Claude().bash("grep -rn line .", wide).bash("grep -rn line src", wide.replace("./src", "src")), 1),
                (Claude().bash("grep -rn line .", wide).bash("grep -n lin src/a.c", narrow), 0),
                (Claude().bash("grep -rn line .", wide).bash("grep -in line src/a.c", narrow), 0),
                (Claude().bash("grep -rn line .", wide).edit("/work/w/src/a.c").bash("grep -n line src/a.c", narrow), 0),
                (Claude().bash("grep -rn line .", wide).bash("grep -n line src/a.c", narrow + "99:another line\n"), 0),
                (Claude().bash("grep -n line src/a.c", narrow).bash("grep -rn line .", wide), 0),
                (Claude().bash("grep -rn line .", wide).bash("grep -rn line .", wide), 0),
                (Claude().bash("sed -n 1,60p f", lines(1, 60)).bash("sed -n 1,50p f", lines(1, 50)), 1),
                (Claude().bash("sed -n 1,40p f", lines(1, 40)).bash("sed -n 30,50p f", lines(30, 50)), 0)):
            with self.subTest(lines=claude.lines[-1][-200:]):
                file = self.replay(claude)
                self.assert_saving(file, "contained", answered=answered)
                if answered:
                    self.assert_saving(file, "requests", answered=0)
                    self.assertGreater(self.saving(file, "contained")["bytes"], 0)

    def test_requests_whose_inputs_may_have_changed(self):
        found = "".join(f"f.c:{n}:a line that was found\n" for n in range(40))
        for command, between, answered in [
                ("grep -rn line src", lambda c: c.edit("/work/w/g"), 0),
                ("grep -rn line src", lambda c: c.bash("make", "ok"), 0),
                ("grep -rn line src", lambda c: c.bash("ls other", "x"), 1),
                ("git diff f.c", lambda c: c.edit("/work/w/g.c"), 0),
                ("git diff f.c", lambda c: c.bash("git add .", "ok"), 0),
                ("git diff f.c", lambda c: c.bash("ls other", "x"), 1),
                ("grep -n line f.c", lambda c: c.edit("/work/w/f.c"), 0),
                ("grep -n line f.c", lambda c: c.edit("/work/w/g.c"), 1),
                ("grep -n line f.c", lambda c: c.bash("make", "ok"), 1),
                ("grep -n line f.c", lambda c: c.bash("sed -i s/a/b/ f.c", ""), 0),
                ("grep -n line *.c", lambda c: c.bash("make", "ok"), 0),
                ("cd src && grep -n line f.c", lambda c: c.edit("/work/w/f.c"), 1),
                ("cd src && grep -n line f.c", lambda c: c.edit("/work/w/src/f.c"), 0)]:
            claude = Claude().bash(command, found)
            between(claude)
            with self.subTest(command=command, lines=claude.lines[-1][-80:]):
                file = self.replay(claude.bash(command, found))
                self.assertEqual(file["commands_identical"]["count"], 1)
                self.assert_saving(file, "requests", answered=answered)

    def test_requests_that_are_none(self):
        found = "".join(f"f.c:{n}:a line that was found\n" for n in range(40))
        for command in ["grep -n line f.c | head -100", "grep -n line f.c > g; cat g", "python3 x.py f.c", "sed -i s/a/b/ f.c",
                        "grep $PATTERN f.c", "for f in *; do cat $f; done", "find . -delete", "git log --since=today"]:
            with self.subTest(command=command):
                file = self.replay(Claude().bash(command, found).bash(command, found))
                self.assertEqual(file["commands_identical"]["count"], 1)
                self.assert_nothing_saved(file)

    def test_requests_by_configuration(self):
        found = "".join(f"f.c:{n}:a line that was found\n" for n in range(40))
        claude = Claude().bash("grep -n line f.c", found).bash("grep -n line f.c", found)
        self.assert_saving(self.replay(claude, "-c", "requests.enable=no"), "requests", repeats=1, answered=0, unfit=1)
        self.assert_saving(self.replay(claude, "-c", "requests.never=grep **"), "requests", repeats=1, answered=0)

    def test_failed_and_other_output(self):
        found = "".join(f"f.c:{n}:a line that was found\n" for n in range(40))
        file = self.replay(Claude().bash("grep -n line f.c", found, error=True).bash("grep -n line f.c", found))
        self.assert_saving(file, "requests", answered=0)
        file = self.replay(Claude().bash("grep -n line f.c", found).bash("grep -n line f.c", found + "x"))
        self.assertEqual((file["commands_again"]["count"], file["commands_identical"]["count"]), (1, 0))
        self.assert_nothing_saved(file)

    def test_the_same_words_elsewhere(self):
        claude = Claude().bash("ls", "x\ny")
        claude.cwd = "/work/w/sub"
        file = self.replay(claude.bash("ls", "x\ny"))
        self.assertEqual((file["commands_again"]["count"], file["commands_identical"]["count"]), (0, 0))

    def test_outputs_that_were_cut(self):
        cut = TEXT + "... [12 lines truncated] ..."
        file = self.replay(Claude().bash("cat f", cut).bash("cat f", cut))
        self.assert_categories(file)
        self.assertEqual(file["commands_identical"]["count"], 1)
        self.assert_nothing_saved(file)

    def test_other_tools(self):
        claude = Claude()
        for pattern in ("a", "b", "a"):
            claude.call("Grep", {"pattern": pattern, "path": "src"}, "Found 1 file\nsrc/f.c")
        file = self.replay(claude)
        self.assertEqual((file["commands"]["count"], file["commands_again"]["count"], file["commands_identical"]["count"]), (3, 1, 1))

    def test_excluded_and_external(self):
        for path in ("x.patch", "/etc/passwd", "../v/f"):
            with self.subTest(path=path):
                file = self.replay(Claude().bash(f"cat {path}", TEXT).bash(f"cat {path}", TEXT))
                self.assert_categories(file, identical=1)
                self.assert_saving(file, "notice", repeats=1, answered=0, unfit=1)

    def test_huge_lines(self):
        line = "x" * 3_000_000 + "\n"
        file = self.replay(Claude().bash("cat f", line).bash("cat f", line).read("/work/w/f", line))
        self.assert_categories(file, identical=2)
        self.assert_nothing_saved(file)

    def test_list(self):
        path = self.write(Claude().bash("cat f", TEXT).bash("ls", "x").bash("cat f", TEXT).bash("ls", "x"))
        lines = self.seen("replay", "--list", path, code=0).stdout.decode().splitlines()
        self.assertEqual([line.split()[:1] + line.split()[2:] for line in lines],
                         [["3", "identical", "f"], ["4", "command", "ls"]])
        self.assertIn(f"{len(TEXT) - 1:,}", lines[0])


if __name__ == "__main__":
    unittest.main()
