"""Hooks of an agent with one call of libc failing in them: they end with 0, answer whole documents or nothing, and no notice is untrue.

Of the places in the program that call a sample is tried (SEEN_SEED).
"""
import json
import os
import random
import unittest

from failing_case import SEED, can_fail
from failing_functions import FUNCTIONS, LIBRARY, MEMORY, errors_of, read_sites
from harness import LONG, SEEN, SessionTest, lines, needs_library, short_form_by

PLACES = 10  # of each kind


@can_fail
@needs_library("the hook runs with the library")
@short_form_by("preload")
class Hooks(SessionTest):
    def setUp(self):
        super().setUp()
        self.names = ("f%d" % number for number in range(10 ** 6))
        self.random = random.Random(SEED)
        self.document, self.sites = (self.session.directory + "/" + name for name in ("document", "sites"))

    def hook(self, event, failing=None, **members):
        """What the hook answers: b"" or a document."""
        with open(self.document, "w", encoding="utf-8") as file:
            json.dump({"session_id": "c1", "hook_event_name": event, "cwd": self.session.workspace, "prompt_id": "p1", "tool_use_id": "t", **members}, file)
        setting = ""
        if failing:
            functions, number, error = failing
            setting = "FAIL_FUNCTIONS='%s' FAIL_NUMBER=%d FAIL_ERROR=%d %s LD_PRELOAD=%s:$LD_PRELOAD " % (
                " ".join(functions), number, error, "" if number else "FAIL_SITES=" + self.sites, LIBRARY)
        answer, _, status = self.agent.shell("%s%s answer hook claude < %s; echo :$?" % (setting, SEEN, self.document)).rpartition(b":")
        self.assertEqual(int(status), 0)
        return answer and json.loads(answer)

    def new(self):
        name = next(self.names)
        self.session.write(name, lines(name))
        return name

    def read(self, name, failing=None):
        """Is the file given again in full?"""
        path, text = self.session.path(name), self.session.read(name).decode()
        count = text.count("\n") + 1
        response = {"type": "text", "file": {"filePath": path, "content": text, "numLines": count, "startLine": 1, "totalLines": count}}
        answer = self.hook("PostToolUse", failing, tool_name="Read", tool_input={"file_path": path}, tool_response=response)
        if answer:
            self.assertIn("[File previously read: ", answer["hookSpecificOutput"]["updatedToolOutput"]["file"]["content"])
        return not answer

    def each_place(self, call):
        """Has call(failing) called for the places of a call of the hook."""
        for functions in (MEMORY, FUNCTIONS):
            if os.path.exists(self.sites):
                os.unlink(self.sites)
            call((functions, 0, 0))
            sites = read_sites(self.sites)
            self.assertGreater(len(sites), 10)
            for site in sites if LONG else self.random.sample(sites, min(PLACES, len(sites))):
                with self.subTest(site):
                    call((functions, site.number, errors_of(site.function)[0]))

    def test_answers(self):
        def repeat(failing):
            name = self.new()
            self.assertTrue(self.read(name))
            self.read(name, failing)

        name = self.new()
        self.assertTrue(self.read(name))
        self.assertFalse(self.read(name))
        self.each_place(repeat)

    def test_an_input_that_cannot_be_read(self):
        """It may have been the end of a conversation."""
        for functions, number in ((("malloc",), 1), (("read",), 1), (("fstat",), 1), (("malloc",), 8)):
            with self.subTest((functions, number)):
                name = self.new()
                self.assertTrue(self.read(name))
                self.assertEqual(self.hook("SessionStart", (functions, number, 12), source="compact"), b"")
                self.assertTrue(self.read(name))

    def test_a_compaction(self):
        """Where the session itself cannot be opened, nothing can be forgotten."""
        def compact(failing):
            name = self.new()
            self.assertTrue(self.read(name))
            self.hook("SessionStart", failing, source="compact")
            if failing[0] is MEMORY:
                self.assertTrue(self.read(name))

        self.each_place(compact)


if __name__ == "__main__":
    unittest.main()
