"""Commands that report what a session did, with one call of libc failing: what they print is whole, or something says what is missing.

What would be removed or signed is what is so.

Of the places in the program that call a sample is tried (SEEN_SEED); in the long form each, with each error.
"""
import base64
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from failing_case import FailingCase, can_fail
from failing_functions import FUNCTIONS, MEMORY, run_failing
from harness import LONG, SEEN, wait_until

STEPS = ("cat a; cat a", "grep -n line c", "rm a; echo new > n", "sed -i s/1/one/ b; chmod 600 c", "mv d e; ln e/f hard; ln -s b link", "echo more >> c; rm -r e; mv n n2",
         "cat /nonexistent", "cat b")
PLACES = 12  # of each kind
# What is another each time.
TIMES = re.compile(rb"[0-9-]+T[0-9:.]+Z| *[0-9]+ (ms|s|min|h)\b")


def without_times(output):
    return TIMES.sub(b"", output)


def stated(output):
    """What an envelope states."""
    try:
        return without_times(base64.b64decode(json.loads(output)["payload"]))
    except ValueError:
        return output


@can_fail
class Reports(FailingCase):
    steps = STEPS

    def check_each(self, *commands, **more):
        for words in commands:
            with self.subTest(words):
                self.check_report(*words, count=PLACES, **more)

    def test_report(self):
        self.check_each(("report",), ("report", "--json"), ("report", "--format", "md"), ("report", "--format", "html"))

    def test_log(self):
        self.check_each(("log",), ("log", "--json"))

    def test_export(self):
        self.check_each(*(("export", "--format", form) for form in ("jsonl", "csv", "ocsf", "ecs", "otlp", "sarif")))

    def check_file(self, *words):
        """A file that is there is whole, and nothing else lies beside it."""
        directory = self.session.directory + "/exported"
        os.mkdir(directory)
        wanted = []

        def again():
            for path in glob.glob(directory + "/*"):
                with open(path, "rb") as file:
                    wanted.append((os.path.basename(path), file.read()))
                os.unlink(path)

        self.check_report(*words, "--output", directory + "/it", count=PLACES, again=again)
        again()
        self.assertEqual(len(set(wanted)), 1, {name: len(bytes_) for name, bytes_ in wanted})

    def test_export_to_a_file(self):
        self.check_file("export", "--format", "jsonl")

    def test_verify(self):
        self.check_each(("verify",), ("verify", "--json"))

    def test_history(self):
        self.check_each(("history",), ("history", "--json"))

    def test_status(self):
        self.check_each(("status",), ("status", "--json"), ("context", "--peek", "b"))

    def test_others(self):
        self.check_each(("replay",), ("replay", "--json"))
        self.check_each(("config", "--json"), ("help", "--json"), of_session=False, kinds=(MEMORY,))

    def test_sessions(self):
        """One that cannot be listed is listed as that, and its size and age as far as they are known."""
        self.session.seen("gc")  # which cuts a segment that its run has not cut yet
        self.check_each(("sessions",), ("sessions", "--json"), ("gain",), ("gain", "--json"), of_session=False, plain=without_times)

    def key(self):
        """(a key to sign, one to verify)"""
        private, public = self.session.directory + "/key", self.session.directory + "/public"
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", private], check=True, stderr=subprocess.DEVNULL)
        subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True)
        return private, public

    @unittest.skipUnless(shutil.which("openssl"), "no openssl")
    def test_attest(self):
        """A statement that lacks something says so; what could not be inspected does not differ."""
        private, public = self.key()
        # libgmp, which signs, has a line of its own where memory ends, and aborts.
        self.check_each(("attest", "--key", private), plain=stated, kinds=(FUNCTIONS,))
        attestation = self.session.directory + "/attestation"
        self.session.seen("attest", "--key", private, "--output", attestation, "--session", self.session.name)
        self.check_each(("verify", "--attestation", attestation, "--key", public, "--checkout", self.session.workspace), of_session=False, kinds=(FUNCTIONS,))
        words = [SEEN, "verify", "--attestation", attestation, "--key", public]
        for number in range(1, 400, 7):
            done = run_failing(words, ("malloc",), number, 12, **self.more)
            self.assertIn(done.returncode, (0, 6, 125, -6), (number, done))  # never: it differs


@can_fail
class Collection(FailingCase):
    """What `seen gc` cannot inspect it leaves, and what it removed it removed whole."""

    steps = ("cat a; cat a", "echo more >> c; rm b")

    def setUp(self):
        super().setUp()
        self.places_of_sessions = [self.session.directory + "/run/seen", self.session.directory + "/.local/state/seen"]
        self.kept = self.session.directory + "/kept"
        wait_until(lambda: not self.works_aside() and not self.works_aside())  # one that was just made is in the second list
        for index, place in enumerate(self.places_of_sessions):
            shutil.copytree(place, "%s/%d" % (self.kept, index))

    def works_aside(self):
        """Does a run's end go on?"""
        def is_one(pid):
            try:
                with open("/proc/%s/environ" % pid, "rb") as file:
                    return os.path.realpath("/proc/%s/exe" % pid) == os.path.realpath(SEEN) and b"HOME=%s\0" % self.session.directory.encode() in file.read()
            except OSError:  # it is gone, or another user's
                return False

        return any(is_one(pid) for pid in os.listdir("/proc") if pid.isdigit())

    def files(self):
        return sorted(path for place in self.places_of_sessions for path in glob.glob(place + "/**/*", recursive=True))

    def restore(self):
        for index, place in enumerate(self.places_of_sessions):
            shutil.rmtree(place)
            shutil.copytree("%s/%d" % (self.kept, index), place)

    def check_gc(self, words, check):
        wrong = []
        _, places = self.places([SEEN, "gc", *words], FUNCTIONS)
        self.restore()
        for site, error in places if LONG else self.random.sample(places, min(len(places), 2 * PLACES)):
            self.restore()
            done = run_failing([SEEN, "gc", *words], FUNCTIONS, site.number, error, **self.more)
            fault = "it crashed" if done.returncode < 0 else check(done)
            if fault:
                wrong.append((site, error, done, fault))
        self.assertEqual(wrong, [])

    def test_what_is_young_stays(self):
        self.restore()
        files = self.files()
        self.check_gc((), lambda _: set(files) - set(self.files()))

    def test_the_rest_of_a_removed_session_goes(self):
        """Of which no content was left, but the index of its contents: it was listed nowhere, and stayed."""
        self.session.seen("gc", "--all")
        left = self.places_of_sessions[1] + "/left"
        os.makedirs(left + "/content", mode=0o700)
        with open(left + "/content/index", "wb"):
            pass
        self.session.seen("gc", "--all")
        self.assertFalse(os.path.exists(left))

    def test_what_is_named_goes(self):
        def check(done):
            if done.returncode == 0:
                return [path for path in self.files() if "/test" in path]
            self.session.seen("gc", "--all")
            return [path for path in self.files() if "/test" in path or ".gone" in path]

        self.check_gc((self.session.name,), check)


@can_fail
class Settings(FailingCase):
    """What `enable`, `disable` and `hooks install` cannot do they name; files of a person stay whole, and what ended with 0 is done."""

    RC, HOOKS = ".bashrc", ".claude/settings.json"

    def setUp(self):
        super().setUp()
        self.session.environment.update(SHELL="/bin/bash", PATH=self.session.directory + "/bin:" + self.session.environment["PATH"])
        self.write("bin/claude", "#!/bin/sh\n")
        os.chmod(self.session.directory + "/bin/claude", 0o755)
        self.theirs = {self.RC: "# mine\nalias x=y\n", self.HOOKS: '{\n  // mine\n  "model": "x"\n}\n'}
        self.start()

    def write(self, name, text):
        path = os.path.join(self.session.directory, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def start(self, *commands):
        shutil.rmtree(self.session.directory + "/.local/share/seen", ignore_errors=True)
        for path in glob.glob(self.session.directory + "/.claude/*") + glob.glob(self.session.directory + "/.bashrc*"):
            os.unlink(path)
        for name, text in self.theirs.items():
            self.write(name, text)
        for command in commands:
            self.session.seen(*command)

    def state(self):
        top = self.session.directory
        paths = [path for place in (".bashrc*", ".claude/*", ".local/share/seen/**") for path in glob.glob(top + "/" + place, recursive=True) if os.path.isfile(path) or os.path.islink(path)]
        return {path: os.readlink(path) if os.path.islink(path) else pathlib.Path(path).read_bytes() for path in paths}

    def check(self, words, *before):
        self.start(*before, words)
        wanted, wrong = self.state(), []
        for functions in (MEMORY, tuple(name for name in FUNCTIONS if name != "access")):
            self.start(*before)
            _, places = self.places([SEEN, *words], functions)
            for site, error in places if LONG else self.random.sample(places, min(len(places), PLACES)):
                self.start(*before)
                done = run_failing([SEEN, *words], functions, site.number, error, **self.more)
                state = self.state()
                is_whole = all(state.get(os.path.join(self.session.directory, name), b"").startswith(text.encode().rstrip(b"}\n")) for name, text in self.theirs.items())
                if done.returncode < 0 or not is_whole or (state != wanted if done.returncode == 0 else not done.stderr):
                    wrong.append((site, error, done, sorted(state)))
        self.assertEqual(wrong, [])

    def test_install(self):
        self.check(("hooks", "install", "claude"))

    def test_enable(self):
        self.check(("enable", "claude"))

    def test_disable(self):
        self.check(("disable", "claude"), ("enable", "claude"))


if __name__ == "__main__":
    unittest.main()
