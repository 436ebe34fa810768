"""The guard, where a file goes by another name than its own: a workspace reached through a symbolic link, links and hard links inside it,
/proc, descriptors of directories, directories that are renamed meanwhile.

A table: how the file is named, times what is done to it.  All of a table shares one session.  The agent read each file, an external program
changed it, then the agent, or a tool that it starts, changes it.  Under deny nothing of an external change is lost; under warn
it is kept, and reported.  Here each name meets two calls, and each call most names; all pairs are in test_guard_names_long.py.
"""

import errno
import json
import os
import time
import unittest

import packs
from harness import VIA, Session, lines

SCRIPT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support", "naming_agent.py")
BURST_S = 0.3  # longer than [notice] burst_ms
CALLS = ("truncate", "create", "in place", "size", "rename", "unlink", "link")
# By these only the name is lost, where that is not the file's own.
OF_NAMES = ("rename", "unlink", "link", "sed -i", "mv", "install", "rm", "ln -f", "perl -pi")

# How the agent names `file` (of `directory`, which has a name of its own for each use).  Words: see Names.words().
NAMES = {
    "its own": "{workspace}/{directory}/{file}",
    "relative": "{directory}/{file}",
    "dots": "{workspace}/{directory}/../{directory}/./{file}",
    "link to the workspace": "{link}/{directory}/{file}",
    "link to a link": "{second}/{directory}/{file}",
    "link above": "{above}/workspace/{directory}/{file}",
    "link and dots": "{link}/{directory}/../../workspace/{directory}/{file}",
    "link to a directory": "{workspace}/{directory}.link/{file}",
    "link to a directory, relative": "{directory}.link/{file}",
    "link to the file": "{directory}/{file}.link",
    "link to the file, from outside": "{beyond}/{directory}.{file}",
    "hard link": "{directory}/{file}.hard",
    "/proc/self/cwd": "/proc/self/cwd/{directory}/{file}",
    "/proc/thread-self/cwd": "/proc/thread-self/cwd/{directory}/{file}",
    "a directory's descriptor": ("{file}", "{workspace}/{directory}", None),
    "a link's descriptor": ("{file}", "{link}/{directory}", None),
    "/dev/fd": ("/dev/fd/{{at}}/{file}", "{workspace}/{directory}", None),
    "/proc/self/fd": ("/proc/self/fd/{{at}}/{file}", "{link}/{directory}", None),
    "a directory that is renamed": ("{file}", "{workspace}/{directory}", "{workspace}/{directory}.moved"),
}
# A plain tool's call is ruled out by its text: neither the directory nor the name is one that is known (docs/limits.md).
NOT_BY_TOOLS = ("link to the file, from outside",)
# How a tool does it, that the agent's shell starts; the content that a name has afterwards is of no interest.
SHELL = {
    "redirect": "echo new > {path}",
    "append": "echo new >> {path}; : > {path}",
    "sed -i": "sed -i s/line/LINE/ {path}",
    "cp": "cp {new} {path}",
    "mv": "cp {new} {new}.mv; mv {new}.mv {path}",
    "install": "install {new} {path}",
    "tee": "echo new | tee {path} >/dev/null",
    "dd": "dd if={new} of={path} conv=notrunc status=none",
    "truncate": "truncate -s 10 {path}",
    "rm": "rm {path}",
    "ln -f": "cp {new} {new}.ln; ln -f {new}.ln {path}",
    "perl -pi": "perl -pi -e s/line/LINE/ {path}",
    "python": "python3 -c 'open(\"{path}\", \"w\").write(\"new\")'",
}


def loses_a_name(name, call):
    """Is the file itself left as it is?"""
    return call in OF_NAMES and (name.startswith("link to the file") or name == "hard link")


class Table(unittest.TestCase):
    maxDiff = None
    shell_names = ("link to the workspace",)
    alias = False  # is the workspace named by the link when the session is made?
    options = ()

    def setUp(self):
        self.session = Session()
        self.addCleanup(self.session.close)
        directory = self.session.directory
        self.words = {"workspace": self.session.workspace, "link": directory + "/link", "second": directory + "/second",
                      "above": directory + "/above", "beyond": directory + "/outside", "new": directory + "/new"}
        os.symlink(self.session.workspace, self.words["link"])
        os.symlink(self.words["link"], self.words["second"])
        os.symlink(directory, self.words["above"])
        os.mkdir(self.words["beyond"])
        with open(self.words["new"], "wb") as file:
            file.write(b"new\n")
        if self.alias:
            self.session.environment["PWD"] = self.words["link"]
            del self.session.environment["SEEN_PATHS_WORKSPACE"]
            self.session.write(".git", b"gitdir: elsewhere\n")  # also where what is above is in a repository
        self.agent = self.session.agent(*self.options, script=SCRIPT, agent_glob="naming_agent")
        self.addCleanup(self.agent.close)
        self.made = 0

    def make(self, name):
        """A file of its own, with all names that it may have."""
        self.made += 1
        directory, file = "d%d" % self.made, "f%d" % self.made
        path = os.path.join(self.session.workspace, directory, file)
        os.mkdir(os.path.dirname(path))
        with open(path, "wb") as stream:
            stream.write(lines("old " + file))
        os.symlink(directory, os.path.dirname(path) + ".link")
        os.symlink(file, path + ".link")
        os.symlink(path, os.path.join(self.words["beyond"], "%s.%s" % (directory, file)))
        if "hard" in name:
            os.link(path, path + ".hard")
        return path

    def pairs(self):
        return [(name, CALLS[(i + k) % len(CALLS)]) for i, name in enumerate(NAMES) for k in (0, 3)]

    def spelled(self, name, path):
        """The words of a call, for naming_agent.py."""
        words = {**self.words, "directory": os.path.basename(os.path.dirname(path)), "file": os.path.basename(path)}
        how = NAMES[name]
        path, directory, moved = how if isinstance(how, tuple) else (how, None, None)
        call = {"path": path.format(**words)}
        if directory:
            call["directory"] = directory.format(**words)
        if moved:
            call["moved"] = moved.format(**words)
        return call

    def theirs(self, path):
        return lines("theirs " + os.path.basename(path))

    def left(self, name, path):
        """What an external program wrote, where it is to be found still."""
        if "renamed" in name:
            path = os.path.join(os.path.dirname(path) + ".moved", os.path.basename(path))
        try:
            with open(path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def kept(self):
        return set(packs.kept(os.path.join(self.session.directory, ".local/state/seen/test")))

    def play(self, denies):
        own = [(name, call, self.make(name)) for name, call in self.pairs()]
        shell = [(name, call, self.make(name)) for name in self.shell_names for call in SHELL]
        # It reads by one name, and writes by another: each comes in each place.
        errors = self.agent.ask(do="calls", calls=[
            {"how": "read", **(self.spelled(name, path) if i % 2 and "renamed" not in name else {"path": path})}
            for i, (name, call, path) in enumerate(own + shell)])["errors"]
        self.assertEqual(errors, [0] * len(errors))
        time.sleep(BURST_S)
        for _, _, path in own + shell:
            with open(path, "wb") as file:
                file.write(self.theirs(path))
        errors = self.agent.ask(do="calls", calls=[{"how": call, **self.spelled(name, path)} for name, call, path in own])["errors"]
        commands = "\n".join("(%s)" % SHELL[call].format(path=self.spelled(name, path)["path"], new=self.words["new"])
                             for name, call, path in shell)
        stderr = self.agent.ask(do="run", argv=["bash", "-c", commands], sink="pipe", errors=True)["errors"]
        kept, lost = self.kept(), []
        for (name, call, path), error in zip(own + shell, errors + [None] * len(shell)):
            theirs, left = self.theirs(path), self.left(name, path) or b""
            is_there = left.startswith(theirs)
            if loses_a_name(name, call):
                wrong = not is_there
            elif denies:
                wrong = not is_there or (error is not None and error != errno.ESTALE)
            else:
                wrong = is_there or not any(data.startswith(theirs) for data in kept) or error
            if wrong:
                lost.append((name, call, "there" if is_there else "gone", error))
            elif error is None and not loses_a_name(name, call) and "seen: %s" % os.path.relpath(path, self.session.workspace) not in stderr:
                lost.append((name, call, "not told", None))
        self.assertEqual(lost, [], "%d of %d" % (len(lost), len(own + shell)))
        counters = self.session.status()["counters"]
        count = sum(not loses_a_name(name, call) for name, call, _ in own + shell)
        self.assertGreaterEqual(counters["stale_denied" if denies else "stale_warned"], count)
        # No external change is laid to the agent, and none of its own to an external program.
        self.assertEqual(counters["stale_warned" if denies else "stale_denied"], 0)


class Warn(Table):
    shell_names = ()

    def test_table(self):
        self.play(False)


class Deny(Table):
    options = ("--stale-write", "deny")

    def test_table(self):
        self.play(True)


class OwnWrites(Table):
    """By whatever names: what the session itself changes is no external change."""

    alias = True
    options = ("--stale-write", "deny")

    def test_own_changes(self):
        files = [(name, self.make(name)) for name in NAMES if "renamed" not in name]
        writes = [{"how": "truncate", **self.spelled(name, path)} for name, path in files]
        for round_ in range(2):
            self.agent.shell("cat d*/*[0-9]")
            self.assertEqual(set(self.agent.ask(do="calls", calls=[{"how": "read", "path": path} for _, path in files])["errors"]), {0})
            time.sleep(BURST_S)
            self.assertEqual(set(self.agent.ask(do="calls", calls=writes)["errors"]), {0})
            commands = "\n".join("echo %d >> %s" % (round_, self.spelled(name, path)["path"]) for name, path in files
                                 if not isinstance(NAMES[name], tuple) and name not in NOT_BY_TOOLS)
            self.assertEqual(self.agent.ask(do="run", argv=["bash", "-c", commands], sink="pipe", errors=True)["errors"], "")
        self.assertEqual(self.agent.close(), 0)
        counters = self.session.status()["counters"]
        stderr = self.session.seen("log", "--session", "test", "--op", "changed", check=False).stdout
        self.assertEqual((counters["stale_warned"], counters["stale_denied"], counters["edits_outside"]), (0, 0, 0), stderr)

    def test_the_workspace_has_one_name(self):
        """What is done by the name that the shell has for the workspace goes on record below its root."""
        link = self.words["link"]
        self.agent.shell("echo new > %s/made; mkdir %s/d; mv %s/made %s/d/made; cat %s/d/made" % ((link,) * 5))
        self.assertEqual(self.agent.close(), 0)
        edited = json.loads(self.session.seen("edited", "--json", "--tools", "--session", "test").stdout)
        self.assertIn("d/made", [file["path"] for file in edited["files"]])
        log = [json.loads(line) for line in self.session.seen("log", "--json", "--session", "test").stdout.splitlines()]
        named = {record.get(member) for record in log for member in ("path", "resolved", "new_path", "new_resolved")}
        self.assertIn(self.session.path("d/made"), named)
        self.assertEqual([record["new_path"] for record in log if record["op"] == "rename"], [self.session.path("d/made")])
        self.assertEqual([path for path in named if path and path.startswith(link + "/")], [])


class Rules(Table):
    """A rule about the workspace holds by its other names, and one that is written with such a name by its own."""

    alias = True
    shell_command = "for p in {workspace} {link}; do for f in one two three; do echo x >$p/$f; done; rm -f $p/*; done; :"

    def test_rules(self):
        rules = [word for name, path, where in (("below", "./one", "anywhere"), ("whole", self.words["link"] + "/two", "anywhere"), ("out", "three", "outside"))
                 for word in ("-c", "rule %s.op=write" % name, "-c", "rule %s.path=%s" % (name, path), "-c", "rule %s.where=%s" % (name, where),
                              "-c", "rule %s.action=deny" % name)]
        done = self.session.seen("run", "--quiet", "--session", "rules", *rules, "--", "bash", "-c", self.shell_command.format(**self.words))
        refused = [line.split(b": ")[2] for line in done.stderr.splitlines() if b"Permission denied" in line]
        self.assertEqual(sorted(refused), sorted(os.path.join(self.words[directory], name).encode() for directory in ("workspace", "link")
                                                 for name in ("one", "two")), done.stderr)


del Table
if __name__ == "__main__":
    unittest.main()
