"""An agent's transcript says that the conversation was cut short: what was given before counts no more."""

import json
import os
import shutil
import time
import unittest

from harness import DRIVER, SessionTest, lines, wait_until

MARK = {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted"}
SOON_S = 0.7  # in which a line that counts is taken, three times over


class Case(SessionTest):
    pattern = "~/agent/projects/*/*.jsonl"
    more = ""

    def setUp(self):
        super().setUp()
        self.data = self.session.write("f", lines("f"))
        self.directory = os.path.join(self.session.directory, "agent/projects/here")
        os.makedirs(self.directory)
        self.transcript = os.path.join(self.directory, "one.jsonl")
        self.append({"type": "user", "message": "before"}, MARK, {"type": "user"})
        self.was_long_before()
        self.config = os.path.join(self.session.directory, "seen.ini")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write("[notice]\nyield = never\n[processes]\nagents = fake_agent third_agent\n%s\n" % self.more)
            for name in ("fake_agent", "other_agent"):
                file.write("[agent %s]\nmeasured = *\ntranscript = %s $NOT_SET_HERE/x/*.jsonl\ncompaction = type=system,subtype=compact_boundary\n"
                           % (name, self.pattern))
        self.options = ("--config", self.config)

    def append(self, *records, path=None, end="\n"):
        with open(path or self.transcript, "ab", buffering=0) as file:
            for record in records:
                file.write((record if isinstance(record, str) else json.dumps(record)).encode() + end.encode())

    def was_long_before(self):
        """A run begins so soon that what was written right before it may have the same time."""
        os.utime(self.transcript, (1, 1))

    def known(self, agent=None):
        """The file was given and is known; the transcripts' directory is watched by now."""
        agent = agent or self.agent
        self.assertReal(agent.shell("cat f"), self.data)
        self.assertNotice(agent.shell("cat f"), "f")
        time.sleep(0.5)
        self.assertNotice(agent.shell("cat f"), "f")

    def forgets(self, agent=None):
        """Is all that was given forgotten, soon?  (The first read of it tells, so that the epochs are asked for.)"""
        wait_until(lambda: self.count_invalidated() > self.before)
        self.assertReal((agent or self.agent).shell("cat f"), self.data)
        self.assertNotice((agent or self.agent).shell("cat f"), "f")

    def does_not(self, agent=None):
        time.sleep(SOON_S)
        self.assertNotice((agent or self.agent).shell("cat f"), "f")

    def events(self):
        log = self.session.seen("log", "--json", "--op", "forgotten", "--session", "test", check=False).stdout
        return [json.loads(line) for line in log.splitlines()]

    def count_invalidated(self):
        return len(self.events())

    @property
    def before(self):
        return self._before

    def note(self):
        self._before = self.count_invalidated()


class Beginnings(Case):
    """A profile in which the first conversation begins with what is elsewhere a compaction."""

    HEAD = {"kind": "main"}

    def setUp(self):
        super().setUp()
        with open(self.config, encoding="utf-8") as file:
            text = file.read()
        with open(self.config, "w", encoding="utf-8") as file:  # the words with a plus alone
            file.write(text[:text.index("[agent ")] + "[agent fake_agent]\nmeasured = *\ntranscript = %s\ncompaction = +type=system,subtype=compact_boundary\n"
                       % self.pattern)
        self.second = os.path.join(self.directory, "two.jsonl")

    def test_the_first(self):
        self.known()
        self.append(self.HEAD, MARK, path=self.second)
        self.does_not()
        # written anew it is the same still; later in it, it is a compaction
        os.truncate(self.second, 0)
        self.append(self.HEAD, MARK, path=self.second)
        self.does_not()
        self.note()
        self.append({**MARK, "uuid": "1"}, path=self.second)
        self.forgets()
        self.note()
        os.truncate(self.second, 0)
        self.append({**MARK, "uuid": "2"}, path=self.second)
        self.forgets()

    def test_the_third_line(self):
        self.known()
        self.note()
        self.append(self.HEAD, {"type": "user"}, MARK, path=self.second)
        self.forgets()

    def test_the_second_conversation(self):
        """It may be one that was cleared."""
        self.known()
        self.append(self.HEAD, MARK, path=self.second)
        self.does_not()
        self.note()
        self.append(self.HEAD, {**MARK, "uuid": "1"}, path=os.path.join(self.directory, "three.jsonl"))
        self.forgets()

    def test_one_that_was_there(self):
        """Of a conversation from before the run it is unknown where it began."""
        self.known()
        self.append({"type": "user"})
        time.sleep(SOON_S)
        self.note()
        self.append(self.HEAD, MARK, path=self.second)
        self.forgets()


class Compactions(Case):
    def test_a_compaction(self):
        self.known()
        for _ in range(2):
            self.note()
            began = time.monotonic()
            self.append({**MARK, "uuid": str(time.time())})
            self.forgets()
            self.assertLess(time.monotonic() - began, 5)
        event = self.events()[-1]
        self.assertEqual((event["path"], event["cause"]), (None, "compaction in " + self.transcript))
        self.assertEqual(event["forgotten_scope"], self.session.status()["scopes"][0]["id"])

    def test_other_lines(self):
        """Quoted in what a tool printed; in a member of another name; no object; what was there before the run."""
        self.known()
        self.append({"type": "user", "message": {"content": json.dumps(MARK)}}, {"type": "user", "toolUseResult": MARK},
                    [MARK], json.dumps(json.dumps(MARK)), "x" + json.dumps(MARK), {"type": "system", "subtype": "init"}, "", "\0", "{")
        with open(self.transcript, "ab") as file:
            file.write(b"\xff\xfe" * 100 + b"\n")
        self.does_not()

    def test_half_a_line(self):
        """A line counts when it is whole: with its newline, or where it ends as an object does."""
        self.known()
        text = json.dumps(MARK)
        self.append(text[:40], end="")
        self.does_not()
        self.note()
        self.append(text[40:], end="")
        self.forgets()
        self.note()
        self.append("", {"type": "user"})  # its newline comes late: that is no other
        self.does_not()
        self.append({"type": "user"}, end="")
        self.append({**MARK, "uuid": "2"})  # behind what has no newline: no line of its own
        self.does_not()
        self.append({**MARK, "uuid": "3"})
        self.forgets()

    def test_half_a_line_from_before(self):
        self.append(json.dumps(MARK)[:40], end="")
        self.was_long_before()
        self.known()
        self.note()
        self.append(json.dumps(MARK)[40:])
        self.forgets()

    def test_long_lines(self):
        self.known()
        self.append({"type": "user", "message": "x" * 5000000 + json.dumps(MARK)})
        self.does_not()
        self.note()
        self.append({**MARK, "summary": "y" * 3000000})
        self.forgets()

    def test_new_transcript(self):
        """Of a conversation that begins anew: in the directory, in a new one, by rename."""
        self.known()
        self.note()
        self.append(MARK, path=os.path.join(self.directory, "two.jsonl"))
        self.forgets()
        self.note()
        other = os.path.join(os.path.dirname(self.directory), "there")
        os.mkdir(other)
        self.append({"type": "user"}, MARK, path=os.path.join(other, "three.jsonl"))
        self.forgets()
        self.note()
        self.append({"type": "user"}, MARK, path=os.path.join(other, "x.tmp"))
        self.does_not()
        os.rename(os.path.join(other, "x.tmp"), os.path.join(other, "four.jsonl"))
        self.forgets()

    def test_rotated(self):
        self.known()
        os.rename(self.transcript, self.transcript + ".1")
        self.append({"type": "user"})
        self.does_not()
        self.note()
        self.append(MARK)
        self.forgets()
        self.append({**MARK, "uuid": "x"}, path=self.transcript + ".1")  # none that the profile knows
        self.does_not()

    def test_written_anew(self):
        """In place, shorter or longer: what counted already does not count again, what is new does."""
        self.known()
        first = {**MARK, "uuid": "first"}
        self.note()
        self.append(first)
        self.forgets()
        for text in (json.dumps(first) + "\n", "\n".join(json.dumps({"type": "user", "n": i}) for i in range(100))
                     + "\n" + json.dumps(first) + "\n"):
            with open(self.transcript, "w", encoding="utf-8") as file:
                file.write(text)
            self.does_not()
        self.note()
        with open(self.transcript, "w", encoding="utf-8") as file:
            file.write(json.dumps(first) + "\n" + json.dumps({**MARK, "uuid": "second"}) + "\n" + "{}\n" * 5000)
        self.forgets()

    def test_gone(self):
        self.known()
        os.unlink(self.transcript)
        self.does_not()
        os.rmdir(self.directory)
        os.rmdir(os.path.dirname(self.directory))
        self.does_not()
        self.note()
        os.makedirs(self.directory)
        self.append(MARK)
        self.forgets()

    def test_what_is_no_file(self):
        self.known()
        os.mkfifo(os.path.join(self.directory, "fifo.jsonl"))
        os.mkdir(os.path.join(self.directory, "folder.jsonl"))
        os.symlink("/nonexistent", os.path.join(self.directory, "link.jsonl"))
        os.symlink("/dev/zero", os.path.join(self.directory, "zero.jsonl"))
        os.symlink(self.directory, os.path.join(self.directory, "round.jsonl"))
        self.does_not()
        self.note()
        self.append(MARK)
        self.forgets()

    def test_files_of_other_names(self):
        self.known()
        self.append(MARK, path=os.path.join(self.directory, "one.json"))
        self.append(MARK, path=os.path.join(os.path.dirname(self.directory), "one.jsonl"))
        os.mkdir(os.path.join(self.directory, "deeper"))
        self.append(MARK, path=os.path.join(self.directory, "deeper", "one.jsonl"))
        self.does_not()


class Late(Case):
    pattern = "~/late/*/x/*.jsonl"

    def test_directories_that_come_later(self):
        """The agent's first run: its directories are not there yet."""
        self.known()
        self.note()
        directory = os.path.join(self.session.directory, "late/a/x")
        os.makedirs(directory)
        self.append({"type": "user"}, MARK, path=directory + "/t.jsonl")
        self.forgets()


class AnyDepth(Case):
    pattern = "~/agent/**/*.jsonl"

    def test_any_depth(self):
        self.known()
        for name in ("agent/t.jsonl", "agent/projects/t.jsonl", "agent/projects/here/a/b/t.jsonl"):
            path = os.path.join(self.session.directory, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            self.note()
            self.append(MARK, path=path)
            self.forgets()
        os.symlink("..", os.path.join(self.directory, "round"))
        self.does_not()


class Two(Case):
    def other(self, name="fake_agent"):
        script = DRIVER
        if name != "fake_agent":
            script = os.path.join(self.session.directory, name + ".py")
            shutil.copy(DRIVER, script)
        agent = self.session.agent(*self.options, agent_glob=name, script=script)
        self.addCleanup(agent.close)
        return agent

    def test_it_may_have_been_either(self):
        one, two = self.agent, self.other()
        self.known(one)
        self.known(two)
        self.note()
        self.append(MARK)
        wait_until(lambda: self.count_invalidated() >= self.before + 2)
        for agent in (one, two):
            self.assertReal(agent.shell("cat f"), self.data)

    def test_the_one_that_writes_to_it(self):
        one, two = self.agent, self.other()
        self.known(one)
        self.known(two)
        self.note()
        one.ask(do="hold", path=self.transcript)
        self.append(MARK)
        wait_until(lambda: self.count_invalidated() > self.before)
        time.sleep(0.3)
        self.assertReal(one.shell("cat f"), self.data)
        self.assertNotice(two.shell("cat f"))

    def test_another_agents_profile(self):
        """What an agent of another profile, with another directory, wrote is not this one's."""
        with open(self.config, "a", encoding="utf-8") as file:
            file.write("[agent third_agent]\nmeasured = *\ntranscript = ~/third/*.jsonl\ncompaction = type=system,subtype=compact_boundary\n")
        os.mkdir(os.path.join(self.session.directory, "third"))
        third = self.other("third_agent")
        self.known()
        self.known(third)
        self.note()
        self.append(MARK, path=os.path.join(self.session.directory, "third/t.jsonl"))
        self.forgets(third)
        time.sleep(0.5)  # each of the two `seen run` may report it
        third.shell("cat f")
        self.assertNotice(self.agent.shell("cat f"))
        self.note()
        self.append(MARK)
        self.forgets()
        self.assertNotice(third.shell("cat f"))


class Without(Case):
    more = "[watch]\nmode = off"

    def test_the_watcher_is_off(self):
        """That is about the workspace: compactions are looked for all the same."""
        self.known()
        self.note()
        self.append(MARK)
        self.forgets()


del Case

if __name__ == "__main__":
    unittest.main()
