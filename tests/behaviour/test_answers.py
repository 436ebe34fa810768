"""One question, one answer: who changed a file, what became of it, how often it was read, what was removed.  Random sessions; asked of
files, edited, status, the summary, report, log and exports, and held against what was done.  SEEN_LONG: 100 of them.
"""
import json
import os
import random
import subprocess
import time
import unittest

from driver import SEEN, Case

SESSIONS = 100 if "SEEN_LONG" in os.environ else 6
ORIGINAL = ("a", "b", "c", "dir/d", "dir/e", "dir/sub/f")
OTHERS = ("n1", "n2", "dir/n3")


class Model:
    """What a session did, by its commands alone."""

    def __init__(self, chance):
        self.chance, self.there = chance, set(ORIGINAL)
        self.by, self.reads, self.commands = {}, {}, []

    def note(self, who, *names):
        for name in names:
            self.by.setdefault(name, set()).add(who)

    def step(self):
        there = sorted(self.there)
        what = self.chance.choice(("cat", "cat", "append", "new", "sed", "mv", "rm", "rm -r", "transient"))
        name = self.chance.choice(there) if there else None
        if what in ("append", "new"):
            name = self.chance.choice(ORIGINAL + OTHERS) if what == "new" else name
            if name is None:
                return
            self.commands.append(f"mkdir -p dir/sub; echo {what} {'>>' if what == 'append' else '>'} {name}")
            self.there.add(name)
            self.note("agent", name)
        elif what == "transient":
            self.commands.append("mkdir -p dir; echo x > dir/tmp; rm dir/tmp")
        elif what == "rm -r":
            if self.chance.random() < 0.3:
                gone = [one for one in there if one.startswith("dir/")]
                self.commands.append("rm -rf dir")
                self.there -= set(gone)
                self.note("tool", *gone)
        elif name is None:
            return
        elif what == "cat":
            self.commands.append(f"cat {name}")
            self.reads[name] = self.reads.get(name, 0) + 1
        elif what == "sed":
            self.commands.append(f"sed -i s/o/0/ {name}")
            self.note("tool", name)
        elif what == "mv":
            other = self.chance.choice(ORIGINAL + OTHERS)
            if other not in self.there:
                self.commands.append(f"mkdir -p dir/sub; mv {name} {other}")
                self.there = self.there - {name} | {other}
                self.note("tool", name, other)
        elif what == "rm":
            names = self.chance.sample(there, min(len(there), 2))
            self.commands.append("rm " + " ".join(names))
            self.there -= set(names)
            self.note("tool", *names)

    def fates(self):
        found = {}
        for name in self.by:
            if name in self.there:
                found[name] = "changed" if name in ORIGINAL else "made"
            elif name in ORIGINAL:
                found[name] = "removed"
        return found


class Answers(Case):
    def events(self, command, *words):
        """What log, or an export, reports about files below the workspace."""
        output = self.seen(command, *words, code=0).stdout.decode()
        return [event for event in map(json.loads, output.splitlines())
                if (event.get("resolved") or "").startswith(str(self.work) + "/") and event["error"] is None]

    def answers_by_events(self, events):
        """(who changed what, what is gone, how often viewers opened it)"""
        by, gone, reads = {}, set(), {}
        for event in events:
            name = os.path.relpath(event["resolved"], self.work)
            other = os.path.relpath(event["new_resolved"], self.work) if event.get("new_resolved") else None
            writes = event["op"] == "open" and not {"O_RDONLY", "O_DIRECTORY"} & set(event["flags"])
            if event["op"] == "open" and event["role"] == "viewer":
                reads[name] = reads.get(name, 0) + 1
            if event["op"] == "delete" and event["is_folder"] or event["op"] == "create":
                continue
            if event["op"] in ("delete", "rename", "edited", "write") or writes:
                for one in filter(None, (name, other)):
                    if event["source"]:
                        by.setdefault(one, set()).add(event["source"].split("_")[0])
            if event["op"] in ("delete", "rename"):
                gone.add(name)
            gone -= {other} | ({name} if writes else set())
        return by, gone, reads

    def check(self, seed):
        model = Model(random.Random(seed))
        for name in ORIGINAL:
            (self.work / name).parent.mkdir(parents=True, exist_ok=True)
            self.file(name, b"the words of %s\n" % name.encode())
        while len(model.commands) < 12:
            model.step()
        done = self.seen("run", "--session", "s", "--counts", "--agent-is", "outside", "--", "bash", "-c", "\n".join(model.commands), code=0)
        fates, note = model.fates(), (seed, model.commands)
        removed = {name for name, fate in fates.items() if fate == "removed"}
        files = {file["path"]: file for file in self.json("files", "--session", "s")["files"] if file["fate"] != "transient"}
        self.assertEqual({name: file["fate"] for name, file in files.items() if file["fate"]}, fates, note)
        self.assertEqual({name: set(file["edited_by"]) for name, file in files.items() if file["fate"]},
                         {name: model.by[name] for name in fates}, note)
        edited = {file["path"]: file for file in self.json("edited", "--tools", "--session", "s")["files"]}
        self.assertEqual({name: file["removed"] for name, file in edited.items()}, {name: name in removed for name in fates}, note)
        for name, file in edited.items():
            self.assertEqual(file["source"] == "agent_edited", "agent" in model.by[name], note)
        report = self.json("report", "--session", "s", "--top", "1000")
        changes = report["changes"]["rows"]
        self.assertEqual({row["path"]: row["fate"] for row in changes if not row["path"].startswith("/")}, fates, note)
        numbers = self.json("status", "--session", "s")
        self.assertEqual(report["counters"], numbers["counters"] | {"lost_" + name: count for name, count in numbers["lost"].items()}, note)
        status = numbers["files"]
        agents = sum("agent" in model.by[name] for name in fates)
        self.assertEqual((status["removed"], status["edited_by_agent"], status["edited_by_tool"]), (len(removed), agents, len(fates) - agents), note)
        self.assertIn("%d file%s changed by the agent, %d by its tools%s\n" % (
            agents, "s" * (agents != 1), len(fates) - agents, "; %d of them removed" % len(removed) if removed else ""), done.stderr.decode(), note)
        log = self.events("log", "--json", "--session", "s")
        for events in (log, self.events("export", "--format", "jsonl", "--session", "s")):
            by, gone, reads = self.answers_by_events(events)
            self.assertEqual({name: by.get(name, set()) for name in fates}, {name: model.by[name] for name in fates}, note)
            self.assertEqual(gone & set(fates), removed, note)
            self.assertEqual({name: count for name, count in reads.items() if name in model.reads}, model.reads, note)
        self.assertEqual({name: file["full_reads"] for name, file in files.items() if file["full_reads"]},
                         {name: count for name, count in model.reads.items() if name in files}, note)

    def test_what_a_live_program_did_counts(self):
        """Its counts are not among the session's yet: everybody adds them."""
        self.file("a", b"x\n")
        os.mkfifo(self.work / "go")
        run = subprocess.Popen([SEEN, "run", "--session", "s", "--", "bash", "-c", "read x < a; : > b; : > started; read x < go"],
                               cwd=self.work, env=self.env)
        while True:  # a reader waits: what came before it is counted
            try:
                go = os.open(self.work / "go", os.O_WRONLY | os.O_NONBLOCK)
                break
            except OSError:
                time.sleep(0.02)
        counted = [self.json(command, "--session", "s")["counters"]["opens_write"] for command in ("status", "report")]
        os.write(go, b"x\n")
        os.close(go)
        run.wait()
        self.assertEqual(counted, [2, 2])

    def test_random_sessions(self):
        for seed in range(SESSIONS):
            with self.subTest(seed=seed):
                for entry in list(self.work.iterdir()):
                    os.system(f"rm -rf '{entry}'")
                os.system(f"rm -rf '{self.home}/.local'")
                self.check(seed)


if __name__ == "__main__":
    unittest.main()
