"""check: the state of files against what a session knows of them, its exit codes, and what files says beside it."""
import os
import unittest

from driver import Case, Terminal, SEEN, text_of

FRESH, CHANGED, DELETED, UNTRACKED = 0, 9, 10, 11


class Check(Case):
    def given(self, *names):
        for name in names:
            if not os.path.exists(self.work / name):
                self.file(name)
            self.assert_content(self.external(f"cat {name}"))

    def state(self, name, code):
        """The state of one file, which all ways of asking agree on."""
        found = self.json("check", name, code=code)["files"]
        self.assertEqual(len(found), 1)
        state = found[0]["state"]
        line = self.seen("check", name, code=code).stdout
        self.assertEqual(line.split()[0].decode(), state)
        self.assertEqual(self.seen("check", "--quiet", name, code=code).stdout, b"")
        listed = [file["state"] for file in self.json("files")["files"] if file["path"] == found[0]["path"]]
        self.assertEqual(listed, [state] if listed else [])
        return state

    def test_states(self):
        self.given("a")
        self.assertEqual(self.state("a", FRESH), "fresh")
        self.file("a", text_of(word="other"))
        self.assertEqual(self.state("a", CHANGED), "changed")
        self.file("a")
        self.assertEqual(self.state("a", FRESH), "fresh")
        os.unlink(self.work / "a")
        self.assertEqual(self.state("a", DELETED), "deleted")
        self.file("b")
        self.assertEqual(self.state("b", UNTRACKED), "untracked")
        self.assertEqual(self.state("nosuch", UNTRACKED), "untracked")

    def test_the_version_decides(self):
        self.given("a")
        os.utime(self.work / "a", (1, 1))
        self.assertEqual(self.state("a", FRESH), "fresh")
        os.chmod(self.work / "a", 0o600)
        self.assertEqual(self.state("a", FRESH), "fresh")
        os.unlink(self.work / "a")
        self.file("a")  # another file with equal bytes
        self.assertEqual(self.state("a", FRESH), "fresh")
        self.file("a", text_of().replace(b"\n", b"\r\n"))
        self.assertEqual(self.state("a", CHANGED), "changed")

    def test_the_most_serious_wins(self):
        self.given("fresh", "changed", "deleted")
        self.file("changed", b"x")
        os.unlink(self.work / "deleted")
        self.file("untracked")
        self.seen("check", "fresh", "fresh", code=FRESH)
        self.seen("check", "untracked", "fresh", code=UNTRACKED)
        self.seen("check", "untracked", "deleted", "fresh", code=DELETED)
        self.seen("check", "deleted", "changed", "untracked", "fresh", code=CHANGED)
        self.seen("check", "changed", "deleted", code=CHANGED)
        files = self.json("check", "fresh", "changed", "deleted", "untracked", code=CHANGED)["files"]
        self.assertEqual([file["path"] for file in files], [file["state"] for file in files])

    def test_document(self):
        self.given("a")
        document = self.json("check", "a", "b", code=UNTRACKED)
        self.assertEqual((document["schema"], document["session"], document["workspace"], document["scope"]),
                         ("seen/check/1", "s", str(self.work), None))
        a, b = document["files"]
        self.assertEqual(a["version"], self.json("files", "a")["files"][0]["version"])
        self.assertIsNone(b["version"])

    def test_scope(self):
        self.given("a")
        self.file("a", text_of(word="second"))
        self.assert_content(self.external("cat a", env={"SEEN_SCOPE": "two"}), text_of(word="second"))
        ids = {scope["name"]: scope["id"] for scope in self.json("status")["scopes"]}
        self.assertEqual(self.json("check", "--scope", "two", "a")["scope"], ids["two"])
        self.seen("check", "--scope", ids["session"], "a", code=CHANGED)
        self.seen("check", "a", code=FRESH)  # the newest of what anybody read
        self.seen("check", "--scope", "nosuch", "a", code=1)
        for name, state in (("two", "fresh"), ("session", "changed")):
            self.assertEqual(self.json("files", "--scope", ids[name])["files"][0]["state"], state)

    def test_invalidated_is_untracked(self):
        self.given("a")
        self.assert_content(self.external("cat a", env={"SEEN_SCOPE": "two"}))
        self.seen("forget", "--scope", "two", "a", code=0)
        self.seen("check", "--scope", "two", "a", code=UNTRACKED)
        self.seen("check", "--scope", "session", "a", code=FRESH)

    def test_what_the_session_did_is_no_change(self):
        self.given("a", "b")
        self.external("sed -i s/line/LINE/ a; rm b")
        self.assertEqual(self.state("a", FRESH), "fresh")
        self.assertEqual(self.state("b", UNTRACKED), "untracked")
        self.file("b", b"made anew by somebody else\n")
        self.assertEqual(self.state("b", CHANGED), "changed")

    def test_an_append_does_not_launder(self):
        self.given("a")
        self.file("a", text_of(word="other"))
        self.external("echo x >> a")
        self.assertEqual(self.state("a", CHANGED), "changed")

    def test_a_session_that_is_taken_up_again(self):
        """What an agent knew stands in for the one behind it."""
        self.file("a")
        self.agent("cat a")
        self.seen("run", "--session", "s", "--", "true", code=0)
        scopes = self.json("status")["scopes"]
        self.agent("echo")
        for scope in self.json("status")["scopes"]:
            if scope not in scopes:
                self.seen("check", "--scope", scope["id"], "a", code=FRESH)
        self.file("a", b"other\n")
        for scope in self.json("status")["scopes"]:
            self.seen("check", "--scope", scope["id"], "a", code=CHANGED)

    def test_wrong_words(self):
        self.given("a")
        self.assertIn(b"check what?", self.seen("check", code=2).stderr)
        self.seen("check", "--json", "--quiet", "a", code=2)
        self.seen("check", "", code=2)
        self.seen("check", "--session", "nosuch", "a", code=3)

    def test_unusual_names(self):
        names = [b"new\nline", b"esc\x1b[31m", b"bad\xff"]
        for name in names:
            self.file(name)
        self.external("true")
        done = self.seen("check", *names, code=UNTRACKED)
        self.assert_plain(done.stdout)
        self.assertEqual(done.stdout.count(b"\n"), 3)
        self.json("check", *names, code=UNTRACKED)
        terminal = Terminal([SEEN, "check", "new\nline"], self.work, self.env)
        self.assertEqual(terminal.wait(), UNTRACKED)
        self.assertIn(b"\x1b[2muntracked", terminal.output)


if __name__ == "__main__":
    unittest.main()
