"""Outputs that are connected in other ways, unknown ones, and stored ones: the rest of test_sink.py."""

import base64
import json
import os
import re
import shutil
import subprocess
import unittest
import connections

from harness import NOTICE, VIA, lines, wait_until
from test_sink import SinkTest


class Connected(SinkTest):
    """Outputs that the agent itself connects to something: a notice goes to the agent, or nowhere."""

    options = ("-c", "notice.yield=never")

    def connect(self, way, command="cat f"):
        self.number = getattr(self, "number", 0) + 1
        path = os.path.join(self.session.directory, "kept%d" % self.number)
        answer = self.agent.ask(do="connect", way=way.__name__, argv=["bash", "-c", command], path=path)
        return base64.b64decode(answer["output"]).replace(b"\r\n", b"\n")

    def test_elsewhere(self):
        data = self.deliver("f")
        for way in connections.ELSEWHERE:
            for command in ("cat f", "cat f; true"):
                with self.subTest(way=way.__name__, command=command):
                    output = self.connect(way, command)
                    self.assertNotIn(NOTICE, output)
                    self.assertEqual(output[:1500], data[:1500])
        self.assertNotice(self.agent.shell("cat f"), "f")
        self.assertEqual(self.session.status()["counters"]["receivers_unknown"], 0)

    def test_elsewhere_first(self):
        """What the agent was not given is not taken for given."""
        for way in connections.ELSEWHERE:
            data = self.session.write(way.__name__, lines(way.__name__))
            with self.subTest(way=way.__name__):
                self.connect(way, "cat " + way.__name__)
                self.connect(way, "sed -n 1,50p %s; sed -n '51,$p' %s" % (way.__name__, way.__name__))
                self.assertReal(self.agent.shell("cat " + way.__name__), data)

    def test_kept_in_the_workspace(self):
        data = self.deliver("f")
        for name in ("log.txt", "build/log.txt"):
            os.makedirs(os.path.dirname(self.session.path(name)), exist_ok=True)
            answer = self.agent.ask(do="connect", way="kept_log", argv=["bash", "-c", "cat f"], path=self.session.path(name))
            self.assertReal(base64.b64decode(answer["output"]), data)

    def test_to_the_agent(self):
        for way in connections.TO_AGENT:
            data = self.session.write(way.__name__, lines(way.__name__))
            with self.subTest(way=way.__name__):
                self.assertReal(self.connect(way, "cat " + way.__name__), data)
                self.assertNotice(self.connect(way, "cat " + way.__name__), way.__name__)

    def test_spool_of_another_name(self):
        """Only what the profile's glob names is a spool file."""
        data = self.deliver("f")
        spool = os.path.join(self.session.directory, "elsewhere")
        os.mkdir(spool)
        for name in ("one", "two"):
            self.assertReal(self.agent.shell("cat f", "spool:" + os.path.join(spool, name)), data)
        self.assertNotice(self.agent.shell("cat f", self.sink("spool")), "f")

    def test_spool_that_another_reads(self):
        data = self.deliver("f")
        spool = os.path.join(self.session.spool, "followed")
        follower = self.agent.ask(do="start", argv=["tail", "-f", spool], path=os.path.join(self.session.directory, "copy"), make=spool)["pid"]
        wait_until(lambda: any(os.path.realpath(os.path.join("/proc/%d/fd" % follower, fd)) == spool
                               for fd in os.listdir("/proc/%d/fd" % follower)))
        self.assertReal(self.agent.shell("cat f", "spool:" + spool), data)
        self.agent.ask(do="stop", pid=follower)
        self.assertNotice(self.agent.shell("cat f", self.sink("spool")), "f")

    @unittest.skipUnless(shutil.which("node"), "node is not installed")
    def test_node(self):
        """stdio: [.., other.stdin, ..]: a socket pair whose peer the other program has."""
        data = self.session.write("f", lines("f"))
        copy = os.path.join(self.session.directory, "copy")
        script = os.path.join(self.session.directory, "node_agent.js")
        with open(script, "w") as file:
            file.write(NODE_AGENT)
        done = self.session.seen("run", "--quiet", "--agent", "node_agent", "-c", "notice.yield=never", "--", "node", script, copy)
        said = json.loads(done.stdout)
        self.assertEqual(said["given"], [data.decode()] * 1 + ["notice"] * 3)
        self.assertEqual(self.session_file("copy"), data * 2)
        # the agent's own second process has the end that the shell's output arrives at
        self.assertEqual(said["helper"], ["real", "notice"])

    def session_file(self, name):
        with open(os.path.join(self.session.directory, name), "rb") as file:
            return file.read()


NODE_AGENT = """
const { spawn, spawnSync, fork } = require('child_process');
const fs = require('fs');
const run = words => new Promise(done => {
	const child = spawn(words[0], words.slice(1), { stdio: ['ignore', 'pipe', 'ignore'] });
	let text = '';
	child.stdout.on('data', data => text += data);
	child.on('close', () => done(text));
});
const sort = text => text.startsWith('[File previously read') ? 'notice' : text;
const ended = child => new Promise(done => child.on('close', done));
async function main() {
	const given = [];
	for (let i = 0; i < 2; i++)
		given.push(sort(await run(['bash', '-c', 'cat f'])));
	given.push(sort(spawnSync('bash', ['-c', 'cat f']).stdout.toString()));
	const other = spawn('cat', [], { stdio: ['pipe', fs.openSync(process.argv[2], 'w'), 'ignore'] });
	for (let i = 0; i < 2; i++)
		await ended(spawn('bash', ['-c', 'cat f'], { stdio: ['ignore', other.stdin, 'ignore'] }));
	other.stdin.end();
	await ended(other);
	given.push(sort(await run(['bash', '-c', 'cat f'])));
	const helper = fork(__filename, ['helper']);
	const message = await new Promise(done => helper.on('message', done));
	process.stdout.write(JSON.stringify({ given, helper: message }));
	helper.disconnect();
}
async function help() {
	const given = [];
	for (let i = 0; i < 2; i++)
		given.push((sort(await run(['bash', '-c', 'cat f']))) == 'notice' ? 'notice' : 'real');
	process.send(given);
}
process.argv[2] == 'helper' ? help() : main();
"""


@unittest.skipUnless(VIA == "preload", "the supervisor can tell")
class Unknown(SinkTest):
    def test_is_counted_and_said(self):
        """In another PID namespace the library can ask no process."""
        there = ["unshare", "--user", "--map-root-user", "--pid", "--fork"]
        probe = subprocess.run([*there, "true"], stderr=subprocess.PIPE)
        if probe.returncode != 0:
            self.skipTest("unshare does not work here: %r" % probe.stderr)
        data = self.session.write("f", lines("f"))
        script = os.path.join(self.session.directory, "asking_agent.py")
        with open(script, "w") as file:
            file.write("import subprocess as s, sys\nfor command in sys.argv[1:]:\n"
                       "  sys.stdout.buffer.write(s.run(['bash', '-c', command], stdout=s.PIPE).stdout)\n")
        done = self.session.seen("run", "--counts", "--agent", "asking_agent", "--", "python3", script, *["%s cat f; true" % " ".join(there)] * 2)
        self.assertReal(done.stdout, data * 2)
        self.assertIn(b"seen: 2 outputs given in full: it is not known who reads them\n", done.stderr)
        done = self.session.seen("run", "--counts", "--agent", "asking_agent", "--", "python3", script, "cat f")
        self.assertNotIn(b"not known who reads", done.stderr)


class Stored(SinkTest):
    """An agent that keeps what it was given in new files: they are named at the end."""

    AGENT = """
import os, subprocess, sys
cat = lambda: subprocess.run(['bash', '-c', 'cat f'], stdout=subprocess.PIPE).stdout
cat()
notice = cat()
def write(path, data, mode='wb'):
    with open(path, mode) as file:
        file.write(data)
write('copy.txt', b'before\\n' + notice)
write('renamed.tmp', notice)
os.rename('renamed.tmp', 'renamed.txt')
for _ in range(3):
    write('log.txt', notice, 'ab')
write('record.txt', b'began\\n', 'ab')
write('record.txt', notice, 'ab')
write('gone.txt', notice)
os.unlink('gone.txt')
write('again.txt', notice)
write('again.txt', b'what it is\\n')
write('plain.txt', b'File previously read: no notice\\n')
"""

    def run_agent(self, text):
        script = os.path.join(self.session.directory, "storing_agent.py")
        with open(script, "w") as file:
            file.write(text)
        return self.session.seen("run", "--counts", "--session", "test", "--agent", "storing_agent", "--", "python3", script).stderr

    def test_is_reported(self):
        self.session.write("f", lines("f"))
        said = self.run_agent(self.AGENT)
        self.assertTrue(self.session.read("copy.txt").startswith(b"before\n" + NOTICE))
        named = re.findall(rb"^seen: a notice was stored as content in (.*)$", said, re.M)
        self.assertEqual(len(named), 1, said)
        self.assertEqual(sorted(named[0].split(b", ")), [b"copy.txt", b"log.txt", b"renamed.txt"])
        log = [json.loads(line) for line in self.session.seen("log", "--json", "--op", "guarded", "--session", "test").stdout.splitlines()]
        logged = [entry["resolved"] or entry["path"] for entry in log if (entry["verdict"], entry["reason"]) == ("warned", "notice")]
        self.assertEqual(len(logged), len(set(logged)), logged)  # each file once
        self.assertLessEqual({self.session.path(name) for name in ("copy.txt", "log.txt", "renamed.txt")}, set(logged))
        self.assertFalse({self.session.path(name) for name in ("plain.txt", "record.txt")} & set(logged))
        self.assertEqual(self.session.status()["counters"]["notices_stored"], len(logged))

    def test_another_run(self):
        """What an earlier run of the session left is its business."""
        self.session.write("f", lines("f"))
        self.run_agent(self.AGENT)
        self.assertNotIn(b"a notice was stored", self.run_agent("open('other.txt', 'w').write('text')\n"))


if __name__ == "__main__":
    unittest.main()
