"""verify: what it reports about a journal that is as it was sealed, and of one that is not; its exit codes.

Journal and seal are written here, by the descriptions in tracker/journal/journal.h and cli/journal/seal.h: a second
implementation, so that the formats are what those say.
"""
import ctypes
import hashlib
import os
import re
import shutil
import struct
import subprocess
import unittest

from driver import SEEN, Case

UNIT, FIRST, ALLOCATED = 64, 128, 16384
HEAD_BYTES = 136  # of the journal's header: what is constant
NEXT, NONCE = 192, 104  # where in the header
TEXT, ABANDONED, OPEN = 1, 2, 9
INTACT, NOTHING, USAGE, NO_SESSION, BAD_SESSION, TAMPERED = 0, 1, 2, 3, 4, 7


xxh3 = ctypes.CDLL("libxxhash.so.0").XXH3_64bits_withSeed
xxh3.restype = ctypes.c_uint64
xxh3.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]


def check_of(number, operation, units, error, body):
    value = xxh3(body, len(body), number ^ (operation << 56 | units << 48 | error << 32))
    return (value ^ value >> 32) & 0xffffffff


class Journal:
    """A journal and its seal, as bytes."""

    def __init__(self, nonce=b"0011223344556677"):
        self.bytes = bytearray(ALLOCATED * UNIT)
        struct.pack_into("<8sIIQQ72s24sII", self.bytes, 0, b"seenjrnl", 1, UNIT, 1, ALLOCATED, b"s", nonce, FIRST, 1)
        struct.pack_into("<Q", self.bytes, 256, ALLOCATED)
        self.next = FIRST
        self.nonce = nonce
        self.seal = b""
        self.sealed = FIRST
        self.text(b"/workspace")

    def write_record(self, number, operation, body, error=0):
        units = (8 + len(body) + UNIT - 1) // UNIT
        body = body.ljust(units * UNIT - 8, b"\0")
        check = check_of(number, operation, units, error, b"" if operation == ABANDONED else body)
        self.bytes[number * UNIT:(number + units) * UNIT] = struct.pack("<IBBH", check, operation, units, error) + body
        return units

    def add(self, operation, body, error=0):
        number = self.next
        self.next += self.write_record(number, operation, body, error)
        struct.pack_into("<Q", self.bytes, NEXT, self.next)
        return number

    def text(self, text):
        return self.add(TEXT, text, len(text))

    def fill(self, until):
        """Records up to a number; each text is followed by its open."""
        while self.next < until:
            text = self.text(b"/workspace/%d/%s" % (self.next, b"x" * (self.next % 90)))
            self.add(OPEN, struct.pack("<QIII", 1, 0, 0, text).ljust(56, b"\0"))

    def add_block(self):
        if not self.seal:
            self.digest = hashlib.sha256(self.bytes[:HEAD_BYTES]).digest()
            self.seal = b"seen-seal 1 %s %s\n" % (self.nonce, self.digest.hex().encode())
        sha = hashlib.sha256(self.digest + struct.pack("<QQ", self.sealed, self.next))
        number = self.sealed
        while number < self.next:
            operation, units = self.bytes[number * UNIT + 4], self.bytes[number * UNIT + 5]
            sha.update(self.bytes[number * UNIT:number * UNIT + 8 if operation == ABANDONED else (number + units) * UNIT])
            number += units
        self.digest = sha.digest()
        self.seal += b"%d %d %s\n" % (self.sealed, self.next, self.digest.hex().encode())
        self.sealed = self.next


class Verify(Case):
    def setUp(self):
        super().setUp()
        self.directory = self.top / "kept"
        self.directory.mkdir()
        self.path = str(self.directory / "journal")
        self.journal = Journal()
        for until in (1152, 2200, 2300):
            self.journal.fill(until)
            if until == 2300:
                self.journal.add(ABANDONED, bytes(100))
            self.journal.add_block()

    def write(self, journal=None, seal=None):
        for name, data in (("journal", journal or self.journal.bytes), ("seal", self.journal.seal if seal is None else seal)):
            with open(self.directory / name, "wb") as file:
                file.write(data)
            os.chmod(self.directory / name, 0o600)

    def verify(self, code, *more, journal=None, seal=None):
        """Text and document of `verify --journal`."""
        self.write(journal, seal)
        text = self.seen("verify", "--journal", self.path, *more, code=code).stdout
        self.assert_plain(text)
        document = self.json("verify", "--journal", self.path, *more, code=code)
        self.assertEqual(document["schema"], "seen/verify/1")
        self.assertEqual(document["verdict"], {INTACT: "intact", NOTHING: "no_seal", TAMPERED: "tampered"}[code])
        return text.decode(), document

    def number_of_open(self):
        """Of an OPEN record in the second block."""
        number = 1500
        while True:
            at = number * UNIT
            if self.journal.bytes[at + 4:at + 6] == bytes([OPEN, 1]):
                check = check_of(number, OPEN, 1, 0, bytes(self.journal.bytes[at + 8:at + 64]))
                if check == struct.unpack_from("<I", self.journal.bytes, at)[0]:
                    return number
            number += 1

    # ---- intact ----

    def test_intact(self):
        text, document = self.verify(INTACT)
        self.assertRegex(text, r"\Aintact: [\d,]+ records in 3 blocks are what was sealed\ndigest [0-9a-f]{64}\n\Z")
        self.assertEqual(document["digest"], self.journal.digest.hex())
        self.assertIn(document["digest"], text)
        self.assertEqual((document["blocks"], document["abandoned"], document["damaged"], document["not_sealed"]), (3, 1, 0, 0))
        self.assertEqual((document["problems"], document["seal_torn"], document["digest_stands_for"]), ([], False, None))
        self.assertEqual(document["journal"], self.path)
        self.assertEqual(document["seal"], str(self.directory / "seal"))

    def test_more_than_was_sealed(self):
        self.journal.fill(2400)
        text, document = self.verify(INTACT)
        self.assertGreater(document["not_sealed"], 10)
        self.assertIn(f"\n{document['not_sealed']} records behind the last seal: the seal does not cover them\n", text)

    def test_digest(self):
        text, document = self.verify(INTACT, "--digest", self.journal.digest.hex())
        self.assertEqual(document["digest_stands_for"], self.journal.sealed - 1)
        first = self.journal.seal.splitlines()[1].split()
        text, document = self.verify(INTACT, "--digest", first[2].decode())
        self.assertEqual(document["digest_stands_for"], int(first[1]) - 1)
        self.assertIn(f"it stands for all up to record {int(first[1]) - 1}\n", text)
        text, document = self.verify(TAMPERED, "--digest", "ab" * 32)
        self.assertEqual(document["problems"], [{"what": "digest"}])
        self.assertIn(f"the digest {'ab' * 32} is not in the seal\n", text)

    def test_torn_seal(self):
        text, document = self.verify(INTACT, seal=self.journal.seal[:-30])
        self.assertTrue(document["seal_torn"])
        self.assertEqual(document["blocks"], 2)
        self.assertIn("the seal's last line was not written to its end, and does not count\n", text)

    def test_seal_elsewhere(self):
        self.write()
        shutil.move(self.directory / "seal", self.top / "a seal")
        self.seen("verify", "--journal", self.path, code=NOTHING)
        self.seen("verify", "--journal", self.path, "--seal", str(self.top / "a seal"), code=INTACT)

    def test_damaged_before(self):
        number = self.journal.text(b"y" * 10)
        self.journal.bytes[number * UNIT + 20] ^= 1
        self.journal.add_block()
        text, document = self.verify(INTACT)
        self.assertEqual(document["damaged"], 1)
        self.assertIn("\n1 record did not hold when the seal was made, and ", text)

    # ---- not ----

    def test_changed_record(self):
        number = self.number_of_open()
        self.journal.bytes[number * UNIT + 40] ^= 1
        text, document = self.verify(TAMPERED)
        lines = [line.split() for line in self.journal.seal.splitlines()]
        (problem,) = document["problems"]
        self.assertEqual(problem, {"what": "block", "block": 2, "first": int(lines[2][0]), "last": int(lines[2][1]) - 1,
                                   "bad_blocks": 1, "records": [{"number": number, "what": "check"}], "bad_records": 1})
        self.assertTrue(text.startswith(f"NOT what was sealed\nblock 2 of 3, records {problem['first']} to {problem['last']}, "
                                        f"is not what was sealed\n  record {number}: its check does not hold\n"), text)

    def test_changed_with_a_good_check(self):
        number = self.number_of_open()
        self.journal.write_record(number, OPEN, b"z" * 56)
        text, document = self.verify(TAMPERED)
        self.assertEqual(document["problems"][0]["records"], [])
        self.assertIn("  the check of each record holds: ", text)

    def test_erased(self):
        number = self.number_of_open()
        self.journal.bytes[number * UNIT:number * UNIT + UNIT] = bytes(UNIT)
        text, document = self.verify(TAMPERED)
        self.assertEqual(document["problems"][0]["records"], [{"number": number, "what": "erased"}])
        self.assertIn(f"  record {number}: erased\n", text)

    def test_moved_up(self):
        number = self.number_of_open()
        del self.journal.bytes[number * UNIT:(number + 1) * UNIT]
        self.journal.bytes += bytes(UNIT)
        text, document = self.verify(TAMPERED)
        problem = document["problems"][0]
        self.assertEqual((problem["records"][0]["number"], len(problem["records"]), problem["bad_blocks"]), (number, 8, 2))
        self.assertIn(f"  and {problem['bad_records'] - 8} more", text)
        self.assertIn("\n1 later block not what was sealed either\n", text)

    def test_dropped_at_the_end(self):
        struct.pack_into("<Q", self.journal.bytes, NEXT, self.journal.sealed - 2)
        text, document = self.verify(TAMPERED)
        self.assertEqual(document["problems"], [{"what": "dropped", "first": self.journal.sealed - 2,
                                                 "last": self.journal.sealed - 1}])
        self.assertIn(f"the journal ends before record {self.journal.sealed - 2}; it was sealed to record "
                      f"{self.journal.sealed - 1}\n", text)

    def test_journal_cut_gone_or_something_else(self):
        for journal in (self.journal.bytes[:100000], self.journal.bytes[:10], b"x" * 100000):
            text, document = self.verify(TAMPERED, journal=journal)
            self.assertEqual(document["problems"], [{"what": "bad_journal"}])
            self.assertIn("the journal that was sealed cannot be used: it is damaged, cut short, or something else\n", text)
        os.unlink(self.path)
        done = self.seen("verify", "--journal", self.path, code=TAMPERED)
        self.assertIn(b"cannot be used: No such file", done.stdout)

    def test_header(self):
        self.journal.bytes[33] = ord("t")  # the session's name
        text, document = self.verify(TAMPERED)
        self.assertEqual(document["problems"], [{"what": "header"}])
        self.assertIn("the journal's header is not what was sealed\n", text)

    def test_seal_of_another_journal(self):
        other = Journal(b"8899aabbccddeeff")
        other.fill(1152)
        other.add_block()
        text, document = self.verify(TAMPERED, seal=other.seal)
        self.assertEqual(document["problems"], [{"what": "other_journal"}])
        self.assertIn("the seal is that of another journal\n", text)

    def test_edited_seal(self):
        lines = self.journal.seal.splitlines(keepends=True)
        edited = lines[:]
        edited[1] = lines[1][:-65] + b"0" * 64 + b"\n"
        text, document = self.verify(TAMPERED, seal=b"".join(edited))
        self.assertEqual((document["problems"][0]["what"], document["problems"][0]["block"]), ("seal_line", 1))
        self.assertIn("line 2 of the seal was changed; its records, 128 to ", text)
        text, document = self.verify(TAMPERED, seal=lines[0] + lines[2] + lines[3])
        self.assertEqual(document["problems"], [{"what": "seal_line", "line": 2}])
        self.assertIn("line 2 of the seal is none, or does not follow from the one above it\n", text)
        text, document = self.verify(TAMPERED, seal=b"nothing\n")
        self.assertEqual(document["problems"], [{"what": "bad_seal"}])
        self.assertIn("the seal cannot be used: it is damaged, ", text)

    def test_no_seal(self):
        self.write()
        os.unlink(self.directory / "seal")
        text = self.seen("verify", "--journal", self.path, code=NOTHING).stdout
        self.assertEqual(text, b"there is no seal: %s\n" % os.fsencode(self.directory / "seal"))
        self.assertEqual(self.json("verify", "--journal", self.path, code=NOTHING)["verdict"], "no_seal")
        # it was removed
        self.seen("verify", "--journal", self.path, "--digest", self.journal.digest.hex(), code=TAMPERED)

    def test_both_replaced(self):
        printed = self.journal.digest.hex()
        forged = Journal()
        forged.fill(2300)
        forged.add_block()
        self.verify(INTACT, journal=forged.bytes, seal=forged.seal)
        self.verify(TAMPERED, "--digest", printed, journal=forged.bytes, seal=forged.seal)

    # ---- what cannot be read ----

    def test_symbolic_links(self):
        self.write()
        for name in ("journal", "seal"):
            os.rename(self.directory / name, self.top / name)
            os.symlink(self.top / name, self.directory / name)
            self.assertIn(b"symbolic link", self.seen("verify", "--journal", self.path, code=BAD_SESSION).stderr)
            os.unlink(self.directory / name)
            os.rename(self.top / name, self.directory / name)
        self.seen("verify", "--journal", self.path, code=INTACT)

    def test_a_copy_may_be_anybodys(self):
        self.write()
        for name in ("journal", "seal"):
            os.chmod(self.directory / name, 0o666)
            if os.geteuid() == 0:
                os.chown(self.directory / name, 12345, -1)
        self.seen("verify", "--journal", self.path, code=INTACT)

    def test_other_version(self):
        self.journal.bytes[8] = 2
        self.write()
        self.assertIn(b"another version", self.seen("verify", "--journal", self.path, code=BAD_SESSION).stderr)
        self.write(seal=b"seen-seal 2 x\n")
        self.assertIn(b"another version", self.seen("verify", "--journal", self.path, code=BAD_SESSION).stderr)

    def test_words(self):
        for words in (("x",), ("--seal", "s"), ("--journal", "j", "--session", "s"), ("--digest", "12"), ("--digest", "g" * 64)):
            done = self.seen("verify", *words, code=USAGE)
            self.assertEqual((done.stdout, done.stderr.count(b"\n")), (b"", 1))
        self.assertIn(b"No such file", self.seen("verify", "--journal", str(self.top / "no"), code=NOTHING).stderr)

    def test_paths_are_escaped(self):
        directory = self.top / "a\nb"
        os.rename(self.directory, directory)
        self.directory, self.path = directory, str(directory / "journal")
        self.write()
        os.unlink(directory / "seal")
        done = self.seen("verify", "--journal", self.path, code=NOTHING)
        self.assertIn(rb"a\nb/seal", done.stdout)
        self.assert_plain(done.stdout)


class OfASession(Case):
    def write_seal(self, session="s"):
        """A seal for what a session's journal holds now; its records are of one unit or more, all done."""
        directory = self.session_directory(session)
        journal = Journal.__new__(Journal)
        journal.bytes = bytearray((directory / "journal").read_bytes())
        journal.nonce = bytes(journal.bytes[NONCE:NONCE + 16])
        (journal.next,) = struct.unpack_from("<Q", journal.bytes, NEXT)
        journal.sealed, journal.seal = FIRST, b""
        journal.add_block()
        (directory / "seal").write_bytes(journal.seal)
        os.chmod(directory / "seal", 0o600)
        return journal

    def test_which(self):
        self.seen("verify", code=NO_SESSION)
        self.seen("verify", "--session", "s", code=NO_SESSION)
        self.seen("run", "--session", "s", "--", "true", code=0)
        journal = self.write_seal()
        for words, env in (((), {}), (("--session", "s"), {}), ((), {"SEEN_SESSION": "s"})):
            document = self.json("verify", *words, env=env)
            self.assertEqual(document["digest"], journal.digest.hex())
            self.assertEqual(document["journal"], str(self.session_directory() / "journal"))

    def test_session_that_a_boot_ended(self):
        self.seen("run", "--session", "s", "--", "true", code=0)
        self.write_seal()
        os.unlink(self.session_directory() / "segment")
        self.assertEqual(self.json("verify", "--session", "s")["verdict"], "intact")
        self.assertEqual(self.json("verify", env={"SEEN_SESSION": "s"})["verdict"], "intact")
        self.seen("verify", "--session", "../s", code=USAGE)

    def test_what_others_may_write_to(self):
        self.seen("run", "--session", "s", "--", "true", code=0)
        self.write_seal()
        directory = self.session_directory()
        for segment in (True, False):
            if not segment:
                os.unlink(directory / "segment")
            for path in (directory / "journal", directory / "seal", directory):
                mode = path.stat().st_mode
                path.chmod(mode | 0o20)
                done = self.seen("verify", "--session", "s", code=BAD_SESSION)
                self.assertIn(b"others may write to it", done.stderr, path)
                self.assertEqual((done.stdout, done.stderr.count(b"\n")), (b"", 1))
                path.chmod(mode)
            os.rename(directory / "journal", directory / "other")
            os.symlink("other", directory / "journal")
            self.assertIn(b"symbolic link", self.seen("verify", "--session", "s", code=BAD_SESSION).stderr)
            os.rename(directory / "other", directory / "journal")
            if os.geteuid() == 0:
                os.chown(directory / "journal", 12345, -1)
                self.assertIn(b"another user", self.seen("verify", "--session", "s", code=BAD_SESSION).stderr)
                os.chown(directory / "journal", 0, -1)
            self.seen("verify", "--session", "s", code=INTACT)

    def test_session_without_a_journal(self):
        self.seen("run", "--session", "s", "-c", "journal.level=off", "--", "true", code=0)
        done = self.seen("verify", "--session", "s", code=NOTHING)
        self.assertIn(b"has no journal", done.stderr)
        self.assertEqual((done.stdout, done.stderr.count(b"\n")), (b"", 1))


class OfARun(Case):
    def test_each_run_seals(self):
        digests = []
        for i in range(3):
            done = self.seen("run", "--counts", "--session", "s", "--", "sh", "-c", "cat ../agent.py >/dev/null", code=0)
            sealed = re.search(rb"seen: sealed [\d,]+ records, ([0-9a-f]{64})\n", done.stderr)
            if i == 0 and not sealed:
                self.skipTest("`seen run` does not seal yet")
            digests.append(sealed.group(1).decode())
            self.assertEqual(self.json("verify", "--digest", digests[-1])["digest"], digests[-1])
        for digest in digests:
            document = self.json("verify", "--digest", digest)
            self.assertEqual((document["verdict"], document["not_sealed"]), ("intact", 0))
        self.assertEqual(len(set(digests)), 3)


class Synced(Case):
    """When a journal and its seal are put on the disk: the journal first, and behind the end of the run unless it prints the digest."""

    def synced(self, *options):
        """(files that `seen run` itself syncs, those that what goes on behind it does), by their names."""
        traces = self.top / "traces"  # a file for each process: in one, calls of two may be split
        shutil.rmtree(traces, ignore_errors=True)
        traces.mkdir()
        subprocess.run(["strace", "-ff", "-qq", "-y", "-e", "trace=fsync,fdatasync,msync,execve", "-e", "signal=none", "-o", traces / "of", SEEN, "run", "--via", "preload",
                        "--session", options[0], *options[1:], "--", "true"], cwd=self.work, env=self.env, stdin=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=60, check=True)
        calls = ([], [])
        for lines in (path.read_text().splitlines() for path in traces.iterdir()):
            own = lines and lines[0].startswith(f'execve("{SEEN}"')
            calls[not own].extend("journal" if "msync(" in line else re.search(r"/([^/>]*)>", line).group(1) for line in lines if "sync(" in line)
        return calls

    def test_behind_the_run(self):
        for _ in range(2):  # a new session, and one that is there
            own, behind = self.synced("s")
            self.assertEqual((set(own) & {"journal", "seal"}, behind[:2]), (set(), ["journal", "seal"]))
            self.assertEqual(self.seen("verify", "--session", "s").returncode, INTACT)

    def test_digest_that_is_printed(self):
        own, _ = self.synced("s", "--counts")
        self.assertEqual([name for name in own if name in ("journal", "seal")], ["journal", "seal"])


if __name__ == "__main__":
    unittest.main()
