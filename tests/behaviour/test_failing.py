"""Commands that report what a session did, with one call of libc failing: what they print is whole, or something says what is missing.

Of the places in the program that call a sample is tried (SEEN_SEED); in the long form each, with each error.
"""
import glob
import os
import unittest

from failing_case import FailingCase, can_fail

STEPS = ("cat a; cat a", "grep -n line c", "rm a; echo new > n", "sed -i s/1/one/ b; chmod 600 c", "mv d e; ln e/f hard; ln -s b link", "echo more >> c; rm -r e; mv n n2",
         "cat /nonexistent", "cat b")
PLACES = 24  # of each kind


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


if __name__ == "__main__":
    unittest.main()
