"""seen blame --git-ai: the note for a commit, held against the Git AI Standard v3.0.0 line by line."""
import hashlib
import json
import os
import re
import subprocess
import sys
import unittest

from driver import Case
from test_story import AGENT

RANGES = re.compile(r"[1-9]\d*(-[1-9]\d*)?(,[1-9]\d*(-[1-9]\d*)?)*")
KEY = re.compile(r"s_[0-9a-f]{14}::t_[0-9a-f]{14}")


class GitAi(Case):
    def setUp(self):
        super().setUp()
        for words in (("init", "-q", "-b", "main"), ("config", "user.name", "A Person"), ("config", "user.email", "a@example.org")):
            self.git(*words)

    def git(self, *words):
        return subprocess.run(["git", *words], cwd=self.work, check=True, stdout=subprocess.PIPE).stdout.decode()

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-qm", "x")
        return self.git("rev-parse", "HEAD").strip()

    def run_steps(self, *steps):
        (self.top / "steps").write_text(json.dumps(steps))
        (self.top / "stepper.py").write_text(AGENT)
        self.seen("run", "--session", "s", "--agent", "stepper.py", "--", sys.executable, str(self.top / "stepper.py"), str(self.top / "steps"), code=0)

    def read(self, text, commit):
        """What a note says: {file: {line: key}}, and its sessions.  Each rule of sections 1.2 to 1.2.4 that a writer can break is checked."""
        before, divider, behind = text.partition("---\n")
        self.assertEqual(divider, "---\n")
        self.assertTrue(before == "" or before.endswith("\n"))
        files, name = {}, None
        for line in before.splitlines():
            self.assertNotEqual(line.strip(), "")
            if not line.startswith(" "):
                name = line[1:-1] if line.startswith('"') else line
                self.assertNotIn('"', name)
                self.assertEqual(line.startswith('"'), bool(re.search(r"\s", name)) or name == "---", line)
                self.assertNotIn(name, files)
                files[name] = {}
                continue
            key, ranges = re.fullmatch(r"  (\S+) (\S+)", line).groups()
            self.assertTrue(KEY.fullmatch(key), line)
            self.assertTrue(RANGES.fullmatch(ranges), line)
            last = 0
            for first, end in (map(int, (part.split("-") * 2)[:2]) for part in ranges.split(",")):
                self.assertGreater(first, last + bool(last), "sorted, and consecutive lines are one range")
                self.assertTrue(end > first or "-" not in ranges or first == end)
                for number in range(first, end + 1):
                    self.assertNotIn(number, files[name])
                    files[name][number] = key
                last = end
        self.assertTrue(all(files.values()), "files without attestations are not in it")
        metadata = json.loads(behind)
        self.assertEqual([metadata["schema_version"], metadata["base_commit_sha"], metadata["prompts"]], ["authorship/3.0.0", commit, {}])
        self.assertEqual(set(metadata) - {"schema_version", "base_commit_sha", "prompts", "sessions"}, set())
        sessions = metadata.get("sessions", {})
        self.assertEqual({key.split("::")[0] for lines in files.values() for key in lines.values()}, set(sessions))
        for key, session in sessions.items():
            self.assertEqual(list(session), ["agent_id"])
            agent = session["agent_id"]
            self.assertEqual(set(agent), {"tool", "id", "model"})
            self.assertTrue(all(isinstance(value, str) and value for value in agent.values()))
            self.assertEqual(key, "s_" + hashlib.sha256(f"{agent['tool']}:{agent['id']}".encode()).hexdigest()[:14])
        return files, sessions

    def note(self, commit):
        result = self.seen("blame", "--session", "s", "--git-ai", code=0)
        return (*self.read(result.stdout.decode(), commit), result)

    def test_lines_of_a_commit(self):
        self.file("a.c", b"one\ntwo\nthree\n")
        self.file("moved.c", b"".join(b"line %d\n" % n for n in range(20)))
        self.commit()
        self.run_steps("sed -i s/two/2/ a.c; echo 4 >> a.c; mkdir d; mv moved.c 'd/new name.c'; echo end >> 'd/new name.c'",
                       ["open('own', 'w').write('x\\ny\\n')"], "sed -i 1d own; echo z >> own; echo q > 'quo\"te'; printf '\\000' > binary; printf 'a\\r\\nb' > ---")
        with open(self.work / "a.c", "a") as file:
            file.write("by a person\n")
        commit = self.commit()
        files, sessions, result = self.note(commit)
        self.assertEqual({name: sorted(lines) for name, lines in files.items()},
                         {"---": [1, 2], "a.c": [2, 4], "d/new name.c": [21], "own": [1, 2]})
        self.assertEqual(len(sessions), 1)
        self.assertEqual([session["agent_id"] for session in sessions.values()], [{"tool": "stepper", "id": "s", "model": "unknown"}])
        # A trace is a step.
        self.assertEqual(files["a.c"][2], files["d/new name.c"][21])
        self.assertEqual(files["own"][2], files["---"][1])
        self.assertEqual(len({files["a.c"][2], files["own"][1], files["own"][2]}), 3)
        self.assertIn(b'quo"te is left out', result.stderr)
        # git takes it, and it is the same each time.
        subprocess.run(["git", "notes", "--ref=ai", "add", "-F", "-"], cwd=self.work, input=result.stdout, check=True)
        self.assertEqual(self.git("notes", "--ref=ai", "show", "HEAD"), self.seen("blame", "--session", "s", "--git-ai", code=0).stdout.decode())
        # What a later commit brought alone; a file that is not as in the commit is left out.
        with open(self.work / "a.c", "a") as file:
            file.write("more\n")
        commit = self.commit()
        self.assertEqual(self.note(commit)[:2], ({}, {}))
        self.run_steps("echo 5 >> a.c; echo 6 >> own")
        commit = self.commit()
        with open(self.work / "a.c", "a") as file:
            file.write("not in the commit\n")
        files, _, result = self.note(commit)
        self.assertEqual({name: sorted(lines) for name, lines in files.items()}, {"own": [3]})
        self.assertIn(b"a.c is left out: it is not as in the commit any more", result.stderr)

    def test_merges_subdirectories_and_refusals(self):
        self.assertIn(b"no git repository with a commit", self.refused())
        self.file("a", b"1\n2\n3\n4\n5\n6\n7\n8\n")
        self.commit()
        self.git("checkout", "-qb", "other")
        self.run_steps("sed -i s/1/one/ a; git commit -qam 1; git checkout -q main; sed -i s/8/eight/ a; git commit -qam 8; git merge -q other -m m || true")
        commit = self.git("rev-parse", "HEAD").strip()
        self.assertEqual(len(self.git("rev-parse", "HEAD^@").split()), 2)
        self.assertEqual(self.note(commit)[0], {})  # its lines are the parents'
        self.seen("blame", "--session", "s", "--git-ai", "a", code=2)
        self.seen("blame", "--session", "s", "--git-ai", "--json", code=2)

    def test_no_program_of_the_repository_runs(self):
        """An agent can write a repository's settings; a person runs this command."""
        self.file(".gitattributes", b"* diff=d filter=f\n")
        self.run_steps("echo x > x; git add -A; git commit -qm x")
        ran = self.top / "ran"
        for name, command in (("core.fsmonitor", "touch"), ("diff.d.textconv", "touch"), ("diff.external", "touch"), ("filter.f.clean", "cat; touch"),
                              ("filter.f.smudge", "cat; touch"), ("core.pager", "touch")):
            self.git("config", name, f"{command} {ran}.{name};:")
        os.utime(self.work / "x")
        files, _, _ = self.note(self.git("rev-parse", "HEAD").strip())
        self.assertEqual(list(files), ["x"])
        self.assertEqual(list(self.top.glob("ran*")), [])
        self.git("status")  # as git does by itself
        self.assertNotEqual(list(self.top.glob("ran*")), [])

    def refused(self):
        self.run_steps("echo x > x")
        result = self.seen("blame", "--session", "s", "--git-ai", code=1)
        self.assertEqual(result.stdout, b"")
        return result.stderr


if __name__ == "__main__":
    unittest.main()
