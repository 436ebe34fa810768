"""replay of journals, and the form of what it prints: the rest of test_replay.py."""

import re
import shutil
import unittest

from driver import SEEN, jsonschema, text_of
from test_replay import Claude, Replay, TEXT


class Journals(Replay):
    """The project's own journal: the figures are those that the session itself counted."""

    def agree(self, commands, *, options=("--mode", "observe")):
        for name in ("f", "g"):
            self.file(name, text_of(60, name))
        self.agent(*commands, options=options)
        status = self.json("status", "--session", "s")["counters"]
        file = self.json("replay", "--session", "s")["files"][0]
        self.assertEqual((file["format"], file["error"]), ("journal", None))
        self.assertEqual(file["deliveries"], status["deliveries"])
        return status, file

    def test_agrees_with_status(self):
        commands = ["cat f", "cat f", "cat g", "head -3 f", "cat f | wc -l", "cat f", "echo x >> f", "cat f", "cat f",
                    "sed -n 1,5p g", "cat g", "cat f g"]
        status, file = self.agree(commands)
        saving = self.saving(file, "notice")
        self.assertGreater(status["repeats"], 4)
        self.assertEqual(saving["repeats"], status["repeats"])
        self.assertEqual(file["outputs"]["count"], status["requests"])
        # And a session that substitutes answers what this said.
        self.agent(*["rm -f f g; printf ''"], session="x", options=("--mode", "off"))
        for name in ("f", "g"):
            self.file(name, text_of(60, name))
        self.agent(*commands, session="real")
        counters = self.json("status", "--session", "real")["counters"]
        self.assertEqual((saving["answered"], saving["yielded"]), (counters["notices"], counters["yields"]))
        difference = abs(saving["bytes"] - counters["bytes_saved"])
        self.assertLess(difference, 200 * counters["notices"])

    def test_window_of_a_session(self):
        commands = ["cat f"] + ["head -1 g"] * 5 + ["cat f"] + ["head -1 g"] * 6 + ["cat f"]
        status, file = self.agree(commands, options=("--mode", "observe", "-c", "window.requests=6"))
        self.assertEqual(status["repeats"], 1)
        file = self.json("replay", "-c", "window.requests=6", "--session", "s")["files"][0]
        self.assert_saving(file, "notice", repeats=1)
        self.assert_categories(file, identical=2)

    def test_invalidated(self):
        commands = ["cat f", f"'{SEEN}' forget --all", "cat f", "cat f", f"'{SEEN}' forget f", "cat f"]
        status, file = self.agree(commands)
        self.assertEqual(self.saving(file, "notice")["repeats"], status["repeats"])

    def test_a_copy_of_a_journal(self):
        self.agree(["cat f", "cat f"])
        copy = self.top / "copy"
        shutil.copy(self.session_directory() / "journal", copy)
        file = self.json("replay", str(copy))["files"][0]
        self.assertEqual(file["format"], "journal")
        self.assert_categories(file, identical=1)


class Shape(Replay):
    def test_schema(self):
        good = self.write(Claude().bash("cat f", TEXT).bash("cat f", TEXT), "good")
        bad = self.write("x", "bad")
        document = self.json("replay", good, bad, code=8)
        self.validate_by("replay.schema.json", [document])
        for name in ("files", "total", "assumed"):
            broken = dict(document)
            del broken[name]
            with self.assertRaises(jsonschema.ValidationError):
                self.validate_by("replay.schema.json", [broken])

    def test_totals_are_sums(self):
        paths = [self.write(Claude(session=name).bash("cat f", TEXT).bash("cat f", TEXT), name) for name in ("a", "b", "c")]
        document = self.json("replay", *paths)

        def numbers(value, path=()):
            if isinstance(value, dict):
                for key, inner in value.items():
                    yield from numbers(inner, (*path, key))
            elif isinstance(value, int):
                yield path, value
        total = dict(numbers(document["total"]))
        self.assertGreater(len(total), 50)
        for path, value in total.items():
            self.assertEqual(value, sum(dict(numbers(file))[path] for file in document["files"]), path)

    def test_table(self):
        paths = [self.write(Claude(session=name).bash("cat f", TEXT).bash("cat f", TEXT), name) for name in ("a", "b")]
        text = self.seen("replay", *paths, code=0).stdout.decode()
        self.assertRegex(text, r"(?m)^claude +2 +4,\d{3} +2 +2,\d{3} +[12],\d{3}  .*/a$")
        self.assertRegex(text, r"(?m)^  given as it is before +2 +4,\d{3} +[\d,]+ +50\.0%$")
        self.assertRegex(text, r"(?m)^  whole files: \[notice\] +2 +[34],\d{3} +")
        for line in text.splitlines():
            self.assertLessEqual(len(re.sub(r"/.*", "", line)), 140)


if __name__ == "__main__":
    unittest.main()
