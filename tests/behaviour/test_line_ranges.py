"""Files given in parts, by head, tail and sed -n: `cat` of one all of whose lines were given is answered."""

import base64
import collections
import json
import os
import random
import shlex
import shutil
import unittest

from harness import BUILD, NOTICE, VIA, SessionTest, lines, needs_library

LONG = bool(os.environ.get("SEEN_LONG"))
UNUSUAL_HEAD = os.path.join(BUILD, "tests", "programs", "helpers", "unusual_head")


class LineRangesTest(SessionTest):
    spools = True

    def parts(self, *commands, **more):
        for command in commands:
            self.assertNotIn(NOTICE, self.agent.shell(command, **more))

    def new(self, name="f", count=100):
        return self.session.write(name, lines("f", count))

    def assertKnown(self, name="f", **more):
        self.assertNotice(self.agent.shell("cat -- " + shlex.quote(name), **more))

    def assertUnknown(self, data, name="f", **more):
        self.assertReal(self.agent.shell("cat -- " + shlex.quote(name), **more), data)


@needs_library("what a reader printed is known only inside it")
class Answered(LineRangesTest):
    def test_halves(self):
        for number, (one, other) in enumerate([
                ("head -n 50 {}", "tail -n 50 {}"), ("head -50 {}", "tail -n +51 {}"), ("sed -n 1,50p {}", "sed -n '51,$p' {}"),
                ("sed -n '51,200p' {}", "head -n -50 {}"), ("tail -60 {}", "head --lines=60 {}"),
                ("sed -n '1,20p;90,$p' {}", "sed -n -e 10,40p -e 41,89p {}"), ("sed -n '2,$p' {}", "head -n1 {}"),
                ("echo {} | xargs head -n 70", "find . -name {} -exec tail -n 70 {{}} \\;")]):
            name = "f%d" % number
            data = self.new(name)
            with self.subTest(one=one, other=other):
                self.parts(one.format(name), other.format(name) + "; true")
                self.assertKnown(name)
                self.assertUnknown(data, name)  # the model asks again

    def test_one_that_is_all(self):
        self.new()
        self.parts("sed -n 1,200p f")
        self.assertKnown()

    def test_every_sink(self):
        for kind in ("pipe", "socket", "pty", "spool"):
            self.new(kind)
            sink = "spool:" + os.path.join(self.session.spool, "%s") if kind == "spool" else kind
            each = iter("abc")
            with self.subTest(sink=kind):
                for command in ("head -n 50 " + kind, "tail -n 50 " + kind):
                    self.agent.shell(command, sink % next(each) if kind == "spool" else sink)
                self.assertNotice(self.agent.shell("cat " + kind, sink % next(each) if kind == "spool" else sink), kind)

    def test_within_one_command(self):
        self.new()
        output = self.agent.shell("echo begin; head -n 50 f; tail -n 50 f; cat f")
        self.assertEqual(output.count(NOTICE), 1)
        self.assertTrue(output.startswith(b"begin\n" + self.session.read("f") + NOTICE), output)

    def test_image_replaced_in_a_shell_that_wrote(self):
        self.new()
        self.parts("printf '%100s' before; exec head -n 50 f", "printf '%100s' before; exec tail -n 50 f")
        self.assertKnown()

    def test_long_lived_shell(self):
        self.new()
        shell = self.agent.ask(do="open_shell", kind="pipe", argv=["bash"])["shell"]
        tell = lambda command: base64.b64decode(self.agent.ask(do="tell", shell=shell, command=command)["output"])
        tell("head -n 50 f")
        tell("tail -n 50 f")
        self.assertNotice(tell("cat f"), "f")
        self.agent.ask(do="close_shell", shell=shell)

    def test_no_last_newline_and_unusual_bytes(self):
        for number, data in enumerate([lines("x")[:-1], lines("x").replace(b"\n", b"\r\n"), b"\xff\xfe" + lines("x"), lines("x") + b"\n\n\n",
                                       b"one line" * 100, b"\n" * 600]):
            name = "f%d" % number
            self.session.write(name, data)
            with self.subTest(data=data[:20]):
                self.parts("head -n 7 " + name, "sed -n '7,$p' " + name)
                self.assertKnown(name)

    def test_hostile_names(self):
        for name in ("a b", "-n", "--lines=3", "p;w x", "new\nline", "\xe4\u20ac", "'", "\"", "$HOME", "\\", "#"):
            self.new(name)
            quoted = shlex.quote(name)
            with self.subTest(name=name):
                self.parts("head -n 50 -- " + quoted, "sed -n 51,100p ./" + quoted)
                self.assertKnown(name)

    def test_by_other_names(self):
        self.new()
        os.symlink("f", self.session.path("s"))
        os.mkdir(self.session.path("d"))
        self.parts("head -n 40 s", "sed -n 41,70p ./f", "cd d; tail -n 30 ../f")
        self.assertKnown("s")
        self.parts("head -1 d;" * 12)
        self.assertKnown("f")
        self.new("g")
        self.parts("head -n 50 g", "tail -n 50 g")
        os.link(self.session.path("g"), self.session.path("h"))
        self.assertKnown("h")

    def test_changed_back(self):
        """The version decides, not what was done."""
        data = self.new()
        self.parts("head -n 50 f")
        self.session.write("f", lines("other"))
        self.session.write("f", data)
        self.parts("tail -n 50 f")
        self.assertKnown()

    def test_changed_and_given_anew(self):
        self.deliver("f")
        self.session.write("f", lines("other"))
        self.parts("head -n 50 f", "tail -n 50 f")
        self.assertKnown()

    def test_counted(self):
        self.new()
        self.parts("head -n 50 f", "tail -n 50 f")
        before = self.session.status()
        self.assertKnown()
        after = self.session.status()
        for counter in ("notices", "repeats"):
            self.assertEqual(after["counters"][counter], before["counters"][counter] + 1, counter)
        self.assertEqual(after["counters"].get("lost_parts", 0), 0)


@needs_library("what a reader printed is known only inside it")
class Unknown(LineRangesTest):
    """Partly delivered is not delivered."""

    def test_one_line_is_missing(self):
        data = self.new()
        for number, missing in enumerate((1, 50, 100)):
            name = "f%d" % number
            self.new(name)
            with self.subTest(missing=missing):
                self.parts("sed -n '%s' %s" % ("2,$p" if missing == 1 else "1,%dp;%d,200p" % (missing - 1, missing + 1), name))
                self.assertUnknown(data, name)

    def test_changed_between(self):
        self.new()
        self.parts("head -n 50 f")
        data = self.session.write("f", lines("other"))
        self.parts("tail -n 50 f")
        self.assertUnknown(data)

    def test_other_sinks(self):
        data = self.new()
        for command in ("sed -n 1,50p f > g", "sed -n 1,50p f | cat", "x=$(sed -n 1,50p f)", "sed -n 1,50p f | tee g", "sed -n 1,50p f >> g",
                        "diff <(sed -n 1,50p f) f", "sed -n 1,50p f > /dev/null", "sed -n 1,50p f 1>&2", "sed -n 1,50p f >&-; true",
                        "(sed -n 1,50p f)& wait; kill -9 $$"):
            with self.subTest(command=command):
                self.agent.shell(command)
                self.parts("tail -n 50 f")
                self.assertUnknown(data)
                self.session.seen("forget", "--all", "--session", self.session.name)

    def test_not_by_the_agent_itself(self):
        data = self.new()
        self.agent.run(["head", "-n", "50", "f"])
        self.parts("tail -n 50 f")
        self.assertUnknown(data)

    def test_another_scope(self):
        data = self.new()
        self.parts("head -n 50 f", "tail -n 50 f")
        other = self.session.agent()
        self.addCleanup(other.close)
        self.assertReal(other.shell("cat f"), data)
        self.parts("SEEN_SCOPE=x bash -c 'head -n 50 f'")
        self.assertKnown()

    def test_halves_of_two_scopes(self):
        data = self.new()
        other = self.session.agent()
        self.addCleanup(other.close)
        other.shell("tail -n 50 f")
        self.parts("head -n 50 f")
        self.assertUnknown(data)
        self.assertReal(other.shell("cat f"), data)

    def test_command_over_the_limit(self):
        data = self.new()
        self.parts("head -n 50 f; seq 1 10000")
        self.parts("tail -n 50 f")
        self.assertUnknown(data)
        self.new("g")
        self.parts("seq 1 10000; tail -n 50 g", "head -n 50 g")
        self.assertUnknown(data, "g")

    def test_invalidated(self):
        data = self.new()
        for words in (("f",), ("--all",)):
            with self.subTest(words=words):
                self.parts("head -n 50 f", "tail -n 50 f")
                self.session.seen("forget", *words, "--session", self.session.name)
                self.assertUnknown(data)
                self.session.seen("forget", "f", "--session", self.session.name)
                self.parts("head -n 50 f")
                self.session.seen("forget", *words, "--session", self.session.name)
                self.parts("tail -n 50 f")
                self.assertUnknown(data)
                self.session.seen("forget", "f", "--session", self.session.name)

    def test_invalidated_by_another_name(self):
        data = self.new()
        os.link(self.session.path("f"), self.session.path("g"))
        os.symlink("f", self.session.path("s"))
        for invalidated, asked in (("g", "g"), ("f", "g"), ("s", "f")):
            with self.subTest(invalidated=invalidated, asked=asked):
                self.parts("head -n 50 f", "tail -n 50 f")
                self.session.seen("forget", invalidated, "--session", self.session.name)
                self.assertUnknown(data, asked)
                self.session.seen("forget", "--all", "--session", self.session.name)

    def test_what_does_not_print_plain_lines(self):
        data = self.new()
        for command in ("head -c 2000 f", "tail -c 2000 f", "head -v -n 50 f", "nl f", "cat -n f", "sed -n '1,50l' f", "sed 1,50d f", "sed -n 1,50= f",
                        "head -n 50 f f", "head -n 50 - < f", "head -n 50 < f", "sed -n 1,50p < f", "cut -c 1-200 f", "sort f", "tac f",
                        "grep -n . f", "awk 'NR <= 50' f", "head -n 50 f nothing", "sed -n 1,50p f f", "sed -s -n 1,50p f", "sed -z -n 1,50p f",
                        "head -z -n 50 f", "env -i head -n 50 f nothing", "perl -ne 'print if $. <= 50' f"):
            with self.subTest(command=command):
                self.agent.shell(command)
                self.parts("tail -n 50 f")
                self.assertUnknown(data)
                self.session.seen("forget", "--all", "--session", self.session.name)

    def test_disguised_programs(self):
        data = self.new()
        directory = os.path.join(self.session.directory, "bin")
        os.mkdir(directory)
        for program, name, path in (("head", "head", self.session.path("head")), ("tail", "head", os.path.join(directory, "head")),
                                    ("busybox", "sed", self.session.path("sed")), ("cat", "tail", self.session.path("tail"))):
            if not shutil.which(program):
                continue
            shutil.copy(shutil.which(program), path)
            with self.subTest(program=program, name=name, path=path):
                arguments = "-n 1,50p" if name == "sed" else "-n 50"
                self.agent.shell("%s %s f" % (path, arguments))
                self.agent.shell("exec -a head cat f | head -n 50 > /dev/null")
                self.parts("tail -n 50 f")
                self.assertUnknown(data)
                self.session.seen("forget", "--all", "--session", self.session.name)

    def test_a_head_that_does_more(self):
        directory = os.path.join(self.session.directory, "bin")
        os.mkdir(directory)
        shutil.copy(UNUSUAL_HEAD, os.path.join(directory, "head"))
        # its ctime is the clock's, which ticks
        slow = "; sleep 0.05; %s/head -n 50 f; true" % directory
        for unusual in ("", "status", "again", "other", "more", "errors", "touches", "stores", "thread", "kills"):
            data = self.new()
            self.session.write("f.other", data.replace(b"f line", b"g line"))
            with self.subTest(unusual=unusual):
                self.agent.shell("export UNUSUAL=%s%s" % (unusual, slow))
                if unusual in ("touches", "stores"):
                    now = self.session.read("f")
                    self.assertNotEqual(now, data)
                    self.parts("tail -n 50 f")
                    self.assertUnknown(now)
                    self.session.write("f", data)  # as it was
                self.parts("tail -n 50 f" if unusual != "more" else "tail -n 49 f")
                if unusual == "other":
                    self.parts("tail -n 50 f.other")
                    self.assertUnknown(self.session.read("f.other"), "f.other")
                if unusual:
                    self.assertUnknown(data)
                else:
                    self.assertKnown()
                self.session.seen("forget", "--all", "--session", self.session.name)

    def test_killed(self):
        """Most of it was printed, but who knows what."""
        data = self.session.write("f", lines("f", 100))
        os.mkfifo(self.session.path("fifo"))
        self.agent.shell("timeout -s KILL 0.3 sed -n 1,50p f fifo; true")
        self.parts("tail -n 50 f")
        self.assertUnknown(data)

    def test_empty_file(self):
        self.session.write("f", b"")
        self.parts("head -n 50 f", "tail f", "sed -n '1,$p' f")
        self.assertEqual(self.agent.shell("cat f"), b"")

    def test_a_notice_goes_nowhere_else(self):
        data = self.new()
        self.parts("head -n 50 f", "tail -n 50 f")
        for command in ("cat f > g; cat g | cat", "cat f | cat", "x=$(cat f); printf '%s\\n' \"$x\""):
            self.assertReal(self.agent.shell(command), data)
        self.assertEqual(self.session.read("g"), data)
        self.assertKnown()


@unittest.skipUnless(VIA == "supervise", "the library knows")
class NotSeen(LineRangesTest):
    """What a reader printed is known only inside it: by the supervisor alone parts are not known."""

    def test_halves(self):
        data = self.new()
        self.parts("head -n 50 f", "tail -n 50 f")
        self.assertUnknown(data)
        self.assertKnown()


@needs_library("what a reader printed is known only inside it")
class Random(LineRangesTest):
    """Against a model of which lines each conversation was given, in which version: no notice for a file that was not given in full."""

    def test_against_a_model(self):
        dice = random.Random(20261122)
        steps = 8000 if LONG else 600
        agents = [self.agent, self.session.agent()]
        self.addCleanup(agents[1].close)
        names = ["a", "b", "c"]
        contents = {}
        given = [{}, {}]  # of each agent: (name, content) -> lines
        step = notices = by_parts = 0

        def change(name):
            count = dice.choice([20, 30, 40])
            data = b"".join(b"%s line %d %s\n" % (name.encode(), i, b"x" * dice.randrange(30, 60)) for i in range(count))
            if dice.random() < 0.3:
                data = data[:-1]
            old = contents.get(name, [])
            if old and dice.random() < 0.2:
                data = dice.choice(old)  # as it once was
            contents[name] = [*old[-3:], data]
            self.session.write(name, data)

        for name in names:
            change(name)
        # On a busy machine a viewer may be answered with the file though its lines were given: then it takes more steps.
        while step < steps or (step < 4 * steps and not (notices > steps // 20 and by_parts > steps // 100)):
            step += 1
            who = dice.randrange(2) if dice.random() < 0.3 else 0
            name = dice.choice(names)
            data = contents[name][-1]
            every = data.split(b"\n")
            count = len(every) - (every[-1] == b"")
            known = given[who].setdefault((name, data), set())
            first, last = sorted((dice.randrange(1, count + 5), dice.randrange(1, count + 5)))
            command = dice.choice(["head -n %d" % last, "tail -n +%d" % first, "tail -n %d" % last, "head -n -%d" % first,
                                   "sed -n %d,%dp" % (first, last), "sed -n '%d,$p'" % first, "sed -n '%dp;%d,$p'" % (first, last),
                                   "sed -n -e %d,%dp" % (last, first), "head -%d" % last, "nl", "sort", "tail -c %d" % (50 * last)])
            kind = dice.random()
            if kind < 0.72:
                sink = dice.choice(["", "", "", "", "", " > out", " | cat", " > /dev/null"])
                output = agents[who].shell("%s %s%s" % (command, name, sink))
                self.assertNotIn(NOTICE, output)
                if not sink:
                    known.update(every.index(line) + 1 for line in output.split(b"\n") if line in every)
            elif kind < 0.9:
                output = agents[who].shell("cat " + name)
                if output.startswith(NOTICE):
                    notices += 1
                    whole = (name, data) in given[who] and known >= set(range(1, count + 1))
                    self.assertTrue(whole, "step %d: %s of %d lines: %r" % (step, name, count, sorted(set(range(1, count + 1)) - known)))
                    by_parts += "cat" not in known
                else:
                    self.assertEqual(output, data)
                    known.update(range(1, count + 1))
                    known.add("cat")  # whole
            elif kind < 0.93:
                change(name)
            elif kind < 0.945:
                self.session.seen("forget", name, "--session", self.session.name)
                for scope in given:
                    for key in [key for key in scope if key[0] == name]:
                        del scope[key]
            elif kind < 0.955:
                self.session.seen("forget", "--all", "--session", self.session.name)
                given = [{}, {}]
            else:
                agents[who].shell("seq 1 20; cat %s > copy; cmp %s copy && echo same" % (name, name))
                self.assertEqual(self.session.read("copy"), data)
        log = map(json.loads, self.session.seen("log", "--session", self.session.name, "--json", "--op", "open").stdout.splitlines())
        reasons = collections.Counter((event["decision"], event["reason"]) for event in log if event.get("decision"))
        self.assertGreater(notices, steps // 20, reasons)
        self.assertGreater(by_parts, steps // 100, reasons)


if __name__ == "__main__":
    unittest.main()
