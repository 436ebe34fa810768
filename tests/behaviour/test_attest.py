"""attest: what is stated of a session, that it holds, and that nothing else does; beside a verifier in Python that knows nothing of seen."""
import base64
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import time
import unittest

from driver import BUILD, SEEN, SOURCE, Case, text_of

LONG = "SEEN_LONG" in os.environ
VERIFIER = SOURCE / "packaging/verify_attestation.py"
TAMPERED, NOTHING, USAGE, PARTLY = 7, 1, 2, 8


def sha256(content):
    return hashlib.sha256(content).hexdigest()


@unittest.skipUnless(shutil.which("openssl"), "no openssl")
class Attest(Case):
    def setUp(self):
        super().setUp()
        self.key, self.public = str(self.top / "key.pem"), str(self.top / "key.pub")
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", self.key], check=True)
        subprocess.run(["openssl", "pkey", "-in", self.key, "-pubout", "-out", self.public], check=True)
        self.attestation = str(self.top / "a.json")
        self.journal = str(self.session_directory() / "journal")

    def older(self, *names):
        """Files that were there for a while when the session begins."""
        for name in names:
            self.file(name, b"content of %s\n" % os.fsencode(name))
        time.sleep(0.05)

    def run_command(self, command, *options, session="s"):
        return self.seen("run", "--session", session, *options, "--", "bash", "-c", command, code=0)

    def attest(self, *words, code=0, **more):
        done = self.seen("attest", "--key", self.key, "--output", self.attestation, *(words or ("s",)), code=code, **more)
        if code == 0:
            with open(self.attestation, "rb") as file:
                return json.loads(base64.b64decode(json.loads(file.read())["payload"]))
        return done.stderr.decode()

    def verify(self, *words, code=0, **more):
        """[(kind, result, name, why)]"""
        document = self.json("verify", "--attestation", self.attestation, "--key", self.public, *words, code=code, **more)
        self.assertEqual((document["schema"], document["holds"]), ("seen/verify_attestation/1", code == 0))
        return [(item["kind"], item["result"], item["name"], item["why"]) for item in document["items"]]

    def independent(self, *words):
        """Exit status, and the lines, of the verifier in Python."""
        done = subprocess.run([sys.executable, str(VERIFIER), self.attestation, self.public, *words], capture_output=True, check=False, cwd=self.work)
        self.assertEqual(done.stderr, b"")
        return done.returncode, [tuple(line.split("\t")) for line in done.stdout.decode().splitlines()]

    def files(self, descriptors):
        return {item["name"]: item["digest"]["sha256"] for item in descriptors}

    def test_statement(self):
        self.older("read", "edited", "moved", "gone")
        for words in ("init -q .", "add .", "-c user.name=x -c user.email=x@x commit -qm one"):
            subprocess.run(["git", *words.split()], cwd=self.work, check=True)
        before = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=self.work, text=True).strip()
        self.file(".env", b"x")
        self.older("untouched")
        self.run_command("cat read .env edited gone > /dev/null; echo more >> edited; mv moved there; rm gone; mkdir d; echo new > d/new; ln -s new d/link;"
                         "git -c user.name=x -c user.email=x@x commit -qam two; echo tmp > tmp; rm tmp", "--rules", "secrets")
        statement = self.attest()
        predicate = statement["predicate"]
        self.validate_by("attestation.schema.json", [statement])
        self.assertEqual(list(predicate)[:3], ["complete", "coverage", "not_known"])
        self.assertTrue(predicate["complete"], predicate)
        self.assertEqual(self.files(statement["subject"][1:]), {
            "edited": sha256(b"content of edited\nmore\n"), "there": sha256(b"content of moved\n"), "d/new": sha256(b"new\n"), "d/link": sha256(b"new")})
        materials = self.files(predicate["materials"])
        self.assertEqual({name: materials[name] for name in ("read", ".env", "edited", "gone")}, {
            "read": sha256(b"content of read\n"), ".env": sha256(b"x"), "edited": sha256(b"content of edited\n"), "gone": sha256(b"content of gone\n")})
        self.assertNotIn("untouched", materials)
        self.assertEqual(predicate["removed"], ["gone", "moved"])
        after = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=self.work, text=True).strip()
        self.assertEqual(predicate["git"], {"before": before, "after": after})
        self.assertNotEqual(before, after)
        self.assertIn("secrets-env", {rule["name"] for rule in predicate["rules"]["in_force"]})
        self.assertEqual([finding["rule"] for finding in predicate["rules"]["findings"]["rows"]], ["secrets-env"])
        self.assertEqual([run["status"] for run in predicate["runs"]], [0])
        self.assertEqual(predicate["journal"]["seal"], self.json("verify", "--session", "s")["digest"])

        checks = self.verify("--checkout", ".")
        self.assertEqual({name for kind, result, name, _ in checks if result == "not checked"}, {"edited", "gone"})
        self.assertEqual({result for _, result, name, _ in checks if name not in ("edited", "gone")}, {"holds"})
        self.assertEqual(self.independent("--checkout", ".", "--journal", self.journal)[0], 0)
        old = self.top / "old"
        subprocess.run(["git", "clone", "-q", str(self.work), str(old)], check=True)
        subprocess.run(["git", "checkout", "-q", before], cwd=old, check=True)
        shutil.copy(self.work / ".env", old)
        self.assertEqual({result for _, result, *_ in self.verify("--checkout", ".", "--before", str(old))}, {"holds"})
        (old / "edited").write_bytes(b"another")
        differs = [item for item in self.verify("--checkout", ".", "--before", str(old), code=TAMPERED) if item[1] == "differs"]
        self.assertEqual(differs, [("material", "differs", "edited", "it has another content")])

    def test_what_was_not_observed_stands_first(self):
        self.file("f")
        self.run_command("busybox cat f", "--via", "preload")
        predicate = self.attest()["predicate"]
        self.assertFalse(predicate["complete"])
        self.assertEqual([program["name"] for program in predicate["coverage"]["programs"]], ["cat"])

    def test_what_is_not_known_is_not_stated(self):
        self.older("read", "written", "touched")
        self.run_command("cat read touched > /dev/null; echo 1 > written")
        for name in ("read", "written"):
            self.file(name, b"by a person\n")
        predicate = self.attest()["predicate"]
        self.assertFalse(predicate["complete"])
        self.assertEqual({(item["name"], item["what"]) for item in predicate["not_known"]}, {("read", "material"), ("written", "product")})
        self.assertEqual(set(self.files(predicate["materials"])), {"touched"})

    def test_changed_before_it_was_read_again(self):
        """By an external program, while the session went on."""
        self.older("f")
        self.run_command("cat f > /dev/null")
        self.file("f", b"by a person\n")
        time.sleep(0.05)
        self.run_command("cat f > /dev/null")
        statement = self.attest()
        self.assertEqual([item["name"] for item in statement["predicate"]["not_known"]], ["f"])
        self.assertEqual([run["status"] for run in statement["predicate"]["runs"]], [0, 0])

    def known(self, statement):
        """Materials, products, and what is not known: by their names."""
        return (self.files(statement["predicate"]["materials"]), self.files(statement["subject"][1:]),
                {(item["name"], item["what"]) for item in statement["predicate"]["not_known"]})

    def test_changes_between_a_read_and_the_sessions_own(self):
        self.older("f", "g", "h")
        self.run_command("cat f g h > /dev/null")
        self.file("f", b"by a person\n")
        self.file("g", b"by a person\n")
        self.run_command("echo 1 > f; rm g; cat h > /dev/null")
        materials, products, not_known = self.known(self.attest())
        self.assertEqual((set(materials), products), ({"h"}, {"f": sha256(b"1\n")}))
        self.assertEqual(not_known, {("f", "material"), ("g", "material")})

    def test_times_that_were_set_back(self):
        self.older("f", "g")
        os.link(self.work / "f", self.work / "f2")
        self.run_command("echo 1 > f; echo 1 > g; mkdir d; mv g d/g")
        for name in ("f", "d/g"):
            stat = os.stat(self.work / name)
            (self.work / name).write_bytes(b"2\n")
            os.utime(self.work / name, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        _, products, not_known = self.known(self.attest())
        self.assertEqual((products, not_known), ({}, {("f", "product"), ("d/g", "product")}))

    def test_material_whose_product_is_not_known(self):
        self.older("f")
        self.run_command("cat f > /dev/null; echo 1 > f")
        self.file("f", b"by a person\n")
        materials, products, not_known = self.known(self.attest())
        self.assertEqual((set(materials), products, not_known), ({"f"}, {}, {("f", "product")}))
        self.assertEqual([item[1] for item in self.verify("--checkout", ".") if item[0] == "material"], ["not checked"])
        self.assertEqual(self.independent("--checkout", ".")[0], 0)

    def test_what_changed_before_the_session_read_it_again(self):
        self.run_command("echo 1 > p", "--undo", "no")
        self.file("p", b"by a person\n")
        time.sleep(0.05)
        self.run_command("cat p", "--undo", "no")
        _, products, not_known = self.known(self.attest())
        self.assertEqual((products, not_known), ({}, {("p", "product")}))

    def test_links(self):
        self.older("t")
        os.symlink("t", self.work / "l")
        self.run_command("cat l > /dev/null")
        materials, _, not_known = self.known(self.attest())
        self.assertEqual((materials, not_known), ({}, {("l", "material")}))

    def test_programs(self):
        self.older("f")
        shutil.copy("/bin/true", self.work / "t")
        shutil.copy("/bin/true", self.work / "u")
        time.sleep(0.05)
        self.run_command("./t; ./u; cp t v; ./v; cp -f --remove-destination /bin/false u")
        materials, products, not_known = self.known(self.attest())
        self.assertEqual((set(materials), set(products), not_known), ({"t"}, {"u", "v"}, {("u", "material")}))

    def test_order(self):
        """What the session made is no material, also where another file had the name; a file that is read by a later name is one that is not known."""
        self.older("a", "b", "c")
        self.run_command("rm a; echo 1 > a; cat a; mv b d; cat d > /dev/null; rm c; mkdir c; echo 1 > c/x")
        statement = self.attest()
        materials, products, not_known = self.known(statement)
        self.assertEqual((materials, set(products)), ({}, {"a", "d", "c/x"}))
        self.assertEqual((not_known, statement["predicate"]["removed"]), ({("b", "material")}, ["b", "c"]))

    def test_accesses_that_are_not_recorded(self):
        self.older("f")
        for name, options in ("level", ("--journal-level", "writes")), ("exclude", ("-c", "journal.exclude=*.tmp")):
            self.run_command("cat f > /dev/null", *options, session=name)
            self.assertFalse(self.attest(name)["predicate"]["complete"])

    def test_a_workspace_below_a_git_directory(self):
        work = self.work / ".git/wt/w"
        work.mkdir(parents=True)
        (work / "f").write_bytes(b"f")
        time.sleep(0.05)
        self.seen("run", "--session", "s", "--workspace", str(work), "--", "bash", "-c", "cat f; echo 1 > g", cwd=work, code=0)
        materials, products, _ = self.known(self.attest())
        self.assertEqual((set(materials), set(products)), ({"f"}, {"g"}))

    def test_commands(self):
        self.run_command("true '  two  words'")
        self.run_command("true " + "x" * 9000)
        one, other = self.attest()["predicate"]["runs"]
        self.assertEqual((one["command"], one["command_cut"]), (["bash", "-c", "true '  two  words'"], False))
        self.assertTrue(other["command_cut"])

    def sign(self, statement):
        """An envelope of any payload, signed."""
        payload, kind = json.dumps(statement).encode(), b"application/vnd.in-toto+json"
        (self.top / "pae").write_bytes(b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload))
        subprocess.run(["openssl", "pkeyutl", "-sign", "-inkey", self.key, "-rawin", "-in", "pae", "-out", "signature"], cwd=self.top, check=True)
        der = subprocess.check_output(["openssl", "pkey", "-pubin", "-in", self.public, "-outform", "DER"])
        with open(self.attestation, "w", encoding="ascii") as file:
            file.write(json.dumps({"payloadType": kind.decode(), "payload": base64.b64encode(payload).decode(), "signatures": [
                {"keyid": sha256(der), "sig": base64.b64encode((self.top / "signature").read_bytes()).decode()}]}, separators=(",", ":")) + "\n")

    def test_forms_of_statements(self):
        """Signed, and no statement of seen's."""
        self.run_command("echo 1 > f")
        whole = self.attest()
        self.sign(whole)
        self.assertEqual({result for kind, result, *_ in self.verify("--checkout", ".")}, {"holds"})
        self.assertEqual(self.independent("--checkout", ".")[0], 0)
        for change in ("whole.pop('predicate')", "whole['predicate'].pop('materials')", "whole['predicate'].update(removed=[1])", "whole['subject'].clear()",
                       "whole['subject'][0]['digest'].update(seenSeal1='AA' * 32)", "whole['subject'][1].pop('digest')", "whole.update(_type='x')"):
            changed = {"whole": json.loads(json.dumps(whole))}
            exec(change, changed)  # pylint: disable=exec-used
            self.sign(changed["whole"])
            differs = [kind for kind, result, *_ in self.verify("--checkout", ".", code=TAMPERED) if result == "differs"]
            self.assertEqual((change, differs), (change, ["statement"]))
            self.assertEqual((change, self.independent("--checkout", ".")[0]), (change, 1))

    def test_another_session_of_that_name(self):
        self.run_command("echo 1 > f")
        self.attest()
        shutil.rmtree(self.home / ".local")
        self.run_command("true")
        (journal,) = [item for item in self.verify("--checkout", ".") if item[0] == "journal"]
        self.assertEqual(journal[1], "not checked")

    def test_a_link_above_what_was_removed(self):
        (self.work / "d").mkdir()
        self.older("d/x")
        self.run_command("rm -r d")
        self.attest()
        (self.work / "e").mkdir()
        os.symlink("e", self.work / "d")
        for words in ("--checkout", "."), ("--checkout", str(self.work)):
            self.assertEqual([item[:2] for item in self.verify(*words, code=TAMPERED) if item[0] == "removed"], [("removed", "differs")])
        self.assertEqual(self.independent("--checkout", ".")[0], 1)

    def test_records_behind_the_seal(self):
        self.run_command("true")
        with subprocess.Popen([SEEN, "run", "--session", "s", "--", "sh", "-c", "echo 1 > f; echo ready; read line"], cwd=self.work, env=self.env,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
            run.stdout.readline()
            run.kill()
            run.communicate()
        time.sleep(0.2)
        self.assertIn("records lie behind the seal", self.attest(code=NOTHING))
        self.run_command("true")
        self.assertEqual([run["status"] for run in self.attest()["predicate"]["runs"]], [0, None, None])

    def test_without_undo_records(self):
        self.older("f", "g", "h")
        self.run_command("cat f g > /dev/null; echo 1 > g; echo 2 > h", "--undo", "no")
        statement = self.attest()
        self.assertEqual(set(self.files(statement["predicate"]["materials"])), {"f"})
        self.assertEqual(self.files(statement["subject"][1:]), {"g": sha256(b"1\n"), "h": sha256(b"2\n")})
        self.assertEqual([(item["name"], item["what"]) for item in statement["predicate"]["not_known"]], [("g", "material")])

    def test_names(self):
        names = [b"a b", b"\xff\xfe", b"back\\slash", b"new\nline", "ü".encode(), b"-x"]
        for name in names:
            self.file(name, name)
        time.sleep(0.05)
        self.run_command("cat ./* > /dev/null; for f in ./*; do echo 1 >> \"$f\"; done")
        statement = self.attest()
        self.assertEqual(len(statement["subject"]), 1 + len(names))
        self.assertEqual({result for kind, result, *_ in self.verify("--checkout", ".") if kind != "material"}, {"holds"})
        self.assertEqual(self.independent("--checkout", ".")[0], 0)
        os.unlink(os.path.join(os.fsencode(self.work), b"\xff\xfe"))
        (differs,) = [item for item in self.verify("--checkout", ".", code=TAMPERED) if item[1] == "differs"]
        self.assertEqual(differs[0::2], ("product", "\\xff\\xfe"))
        self.assertEqual(self.independent("--checkout", ".")[0], 1)

    def test_agents(self):
        package = self.top / "node_modules/agent"
        package.mkdir(parents=True)
        (package / "package.json").write_text('{"name": "agent", "version": "4.5.6"}')
        script = package / "agent.py"
        script.write_text("import subprocess\nsubprocess.run(['bash', '-c', 'true'], stdout=subprocess.PIPE)\n")
        self.seen("run", "--session", "s", "--agent", "agent", "--", sys.executable, str(script), code=0)
        (agent,) = self.attest()["predicate"]["agents"]
        self.assertEqual((agent["script"], agent["version"]), (str(script), "4.5.6"))

    @unittest.skipUnless(shutil.which("ssh-keygen"), "no ssh-keygen")
    def test_ssh_keys(self):
        self.older("f")
        self.run_command("cat f > /dev/null; echo 1 > g")
        ssh = str(self.top / "ssh")
        for name in (ssh, ssh + "2"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", name], check=True)
        for words in ((), ("--key", self.key)):
            for _ in range(2):  # an older signature is replaced
                self.seen("attest", "s", "--ssh-key", ssh, "--output", self.attestation, *words, code=0)
            text = self.seen("verify", "--attestation", self.attestation, "--key", ssh + ".pub", "--checkout", ".", code=0).stdout
            self.assertEqual(text.count(b"holds"), 5 + 1, text)
            refused = self.seen("verify", "--attestation", self.attestation, "--key", ssh + "2.pub", code=TAMPERED).stderr
            self.assertIn(b"is not a signature of that file by this key", refused)
            with open(self.attestation, "ab") as file:
                file.write(b"\n")
            self.seen("verify", "--attestation", self.attestation, "--key", ssh + ".pub", code=TAMPERED)
        done = self.seen("attest", "s", "--ssh-key", str(self.top / "none"), "--output", self.attestation, code=PARTLY)
        self.assertIn(b"could not be signed", done.stderr)

    def test_what_cannot_be_attested(self):
        self.assertEqual(self.attest("nothing", code=3), "seen: session nothing: there is no such session\n")
        self.run_command("true")
        self.assertIn("SESSION and --session", self.attest("s", "--session", "s", code=USAGE))
        for name, content in (("empty", b""), ("text", b"text\n"), ("public", open(self.public, "rb").read())):
            (self.top / name).write_bytes(content)
            done = self.seen("attest", "s", "--key", str(self.top / name), code=USAGE)
            self.assertRegex(done.stderr, rb"/%s: there is no private Ed25519 key in PEM in it; `openssl genpkey" % name.encode())
        self.assertIn(b"No such file", self.seen("attest", "s", "--key", str(self.top / "none"), code=USAGE).stderr)
        self.assertIn(b"attest signs", self.seen("attest", "s", code=USAGE).stderr)
        self.assertIn(b"--output FILE", self.seen("attest", "s", "--ssh-key", "k", code=USAGE).stderr)
        self.assertIn(b"needs --key", self.seen("verify", "--attestation", self.attestation, code=USAGE).stderr)
        self.assertIn(b"go with --attestation", self.seen("verify", "--checkout", ".", code=USAGE).stderr)
        self.assertIn(b"No such file", self.seen("verify", "--attestation", "none", "--key", self.public, code=USAGE).stderr)
        seal = self.session_directory() / "seal"
        seal.rename(self.top / "seal")
        self.assertIn("has no seal", self.attest(code=NOTHING))
        (self.top / "seal").rename(seal)
        with open(self.journal, "r+b") as file:
            file.seek(128 * 64 + 20)
            file.write(b"\xff")
        self.assertIn("is not what was sealed", self.attest(code=TAMPERED))

    def test_a_run_that_goes_on(self):
        self.run_command("true")
        with subprocess.Popen([SEEN, "run", "--session", "s", "--", "sh", "-c", "echo ready; read line"], cwd=self.work, env=self.env,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
            run.stdout.readline()
            self.assertIn("has not ended", self.attest(code=NOTHING))
            run.communicate(b"\n", timeout=30)
        self.assertEqual(len(self.attest()["predicate"]["runs"]), 2)

    def test_full_disk(self):
        self.run_command("true")
        done = self.seen("attest", "s", "--key", self.key, "--output", "/dev/full", code=6)
        self.assertIn(b"No space left", done.stderr)

    # ---- changed at random ----

    def change(self, chance, place):
        """Changes something; what is to be named, and how to put it back."""
        kind = chance.choice(["signature", "signature", "journal", "product", "removed", "material", "nothing"])
        paths = {"signature": self.attestation, "journal": self.journal, "product": str(place / chance.choice(["p1", "p2"])),
                 "material": str(place / "m1"), "removed": str(place / "r1"), "nothing": str(place / "other")}
        path = paths[kind]
        before = open(path, "rb").read() if os.path.exists(path) else None

        def restore():
            if os.path.lexists(path):
                os.unlink(path)
            if before is not None:
                with open(path, "wb") as file:
                    file.write(before)
                os.chmod(path, 0o600)
        if before is None:
            with open(path, "wb") as file:
                file.write(b"x")
        elif kind in ("product", "material") and chance.random() < 0.3:
            os.unlink(path)
            if chance.random() < 0.5:
                os.symlink("other", path)
        else:
            data = bytearray(before)
            at = chance.randrange(128 * 64, self.sealed) if kind == "journal" else chance.randrange(len(data))
            if kind != "journal" and chance.random() < 0.4:
                del data[at:at + chance.randrange(1, 5)]
            else:
                data[at] ^= 1 << chance.randrange(8)
            with open(path, "wb") as file:
                file.write(data)
        return None if kind == "nothing" else kind, restore

    def test_two_verifiers_agree(self):
        self.older("m1", "m2")
        self.older("p1", "r1")
        self.run_command("cat m1 m2 > /dev/null; echo 1 >> p1; echo 2 > p2; rm r1")
        self.attest()
        seal = (self.session_directory() / "seal").read_text().split("\n")
        self.sealed = int(seal[-2].split()[1]) * 64
        chance = random.Random(int(os.environ.get("SEEN_TEST_SEED", "29")))
        words = ["--checkout", str(self.work), "--journal", self.journal]
        for number in range(1000 if LONG else 60):
            wanted, restore = self.change(chance, self.work)
            try:
                code, lines = self.independent(*words)
                own = self.verify(*words, code=TAMPERED if wanted else 0)
            finally:
                restore()
            differ = {kind for kind, result, *_ in own if result == "differs"}
            self.assertEqual(differ, {wanted} if wanted else set(), number)
            self.assertEqual((code, {line[0] for line in lines if line[1] == "differs"}), (1 if wanted else 0, differ), (number, lines))
            self.assertTrue(all(why for _, result, _, why in own if result == "differs"), (number, own))
        self.assertEqual(self.independent(*words)[0], 0)

    def test_the_independent_verifier_is_short(self):
        lines = VERIFIER.read_text().splitlines()
        self.assertLessEqual(len(lines), 150)
        modules = {line.split()[1] for line in lines if line.startswith("import ")}
        self.assertLess(modules, set(sys.stdlib_module_names))


if __name__ == "__main__":
    unittest.main()
