"""The documents: what README and docs show is what is printed now, their links lead somewhere, and they are as short as promised."""
import html
import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import unittest

from driver import BUILD, DEADLINE, SOURCE, Case

PAGES = [SOURCE / "README.md", *sorted((SOURCE / "docs").rglob("*.md"))]
WORDS_MAX = {"README.md": 900, "docs/DESIGN.md": 3000}


def program(path):
    """A program of the source tree, as a module."""
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader(os.path.basename(path), str(SOURCE / path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def anchors(text):
    """Of the headings, as GitHub makes them."""
    titles = re.findall(r"(?m)^#+ (.*)", re.sub(r"(?ms)^```.*?^```$", "", text))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


class Shown(Case):
    def test_blocks_are_what_is_printed(self):
        for attempt in range(2):  # once more: a machine that is busy with other tests
            done = subprocess.run([SOURCE / "scripts/shown"], env={**os.environ, "SEEN_BUILD": str(BUILD)}, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=DEADLINE, check=False)
            if done.returncode == 0:
                break
        self.assertEqual(done.returncode, 0, done.stdout.decode())

    def test_every_output_is_checked(self):
        """In README and the guide no block of commands with their output stands outside of that."""
        for page in (SOURCE / "README.md", SOURCE / "docs/guide.md"):
            text = page.read_text()
            consoles = re.findall(r"(?m)^```console$", text)
            self.assertEqual(len(consoles), len(re.findall(r"(?m)^<!-- shown: \w+ -->\n```console$", text)), page)
            self.assertGreater(len(consoles), 0)

    def test_recording(self):
        """The recording shows what the guide's first block does; ./scripts/recording writes it anew."""
        module = program("scripts/shown")
        scene, _, block = module.BLOCK.search((SOURCE / "docs/guide.md").read_text()).groups()
        self.assertEqual(scene, "demo")
        for theme in ("light", "dark"):
            texts = re.findall(r"<text [^>]*>(.*?)</text>", (SOURCE / f"docs/recording-{theme}.svg").read_text())
            command = len("./scripts/run")
            lines = ["$ " + "".join(texts[1:1 + command]), *texts[1 + command:]]
            self.assertEqual(module.compared(html.unescape("\n".join(lines))), module.compared(block))

    def test_links(self):
        """Links to files and headings of the repository."""
        count = 0
        for page in PAGES:
            text = re.sub(r"(?ms)^```.*?^```$", "", page.read_text())
            for target in re.findall(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"", text):
                target = target[0] or target[1]
                if re.match(r"[a-z]+:", target):
                    continue
                path, _, anchor = target.partition("#")
                found = (page.parent / path).resolve() if path else page
                self.assertTrue(found.exists(), f"{page.name}: {target}")
                if anchor and found.suffix == ".md":
                    self.assertIn(anchor, anchors(found.read_text()), f"{page.name}: {target}")
                count += 1
        self.assertGreater(count, 50)

    def test_files_that_pages_name_are_there(self):
        """`tracker/...`, `cli/...` and the like in the text."""
        rooms = "config|tracker|shim|cli|tests|scripts|docs"
        count = 0
        for page in PAGES:
            for path in re.findall(rf"`((?:{rooms})/[\w./-]*\w\.(?:c|h|def|py|md|json|ini|sql|ld))`", page.read_text()):
                if re.search(r"NAME|SET|ROOM|ALL|_X\.|/X", path):  # stands for many
                    continue
                self.assertTrue((SOURCE / path).exists(), f"{page.name}: {path}")
                count += 1
        self.assertGreater(count, 50)

    def test_every_page_is_linked(self):
        linked = {(page.parent / target.partition("#")[0]).resolve() for page in PAGES
                  for target in re.findall(r"\]\(([^)\s:]+)\)", page.read_text())}
        for page in PAGES[1:]:
            self.assertIn(page.resolve(), linked, f"no page leads to {page.name}")

    def test_lengths(self):
        for name, limit in WORDS_MAX.items():
            self.assertLessEqual(len((SOURCE / name).read_text().split()), limit, name)

    def test_agents_of_readme_are_those_that_were_tried(self):
        """The versions of README's table are those of docs/agents.md, which ./scripts/agents writes."""
        names = {"Claude Code": "claude", "Gemini CLI": "gemini"}
        tried = dict(re.findall(r"(?m)^\| ([a-z]+) \| (\d[\d.]*) \|", (SOURCE / "docs/agents.md").read_text()))
        rows = re.findall(r"(?m)^\| ([A-Za-z ]+) \| (\d[\d.]*) \|", (SOURCE / "README.md").read_text())
        self.assertGreater(len(rows), 3)
        for name, version in rows:
            self.assertEqual(tried.get(names.get(name, name)), version, name)

    def test_each_row_of_agents_has_a_date_and_a_build(self):
        """docs/agents.md has rows of several days: each agent's first row tells which, and the build that it was played with."""
        first, *tables = program("tests/agents/survey").tables_of((SOURCE / "docs/agents.md").read_text()).items()
        self.assertEqual(first[0], "| agent | version | played on | build | system |")
        played = {row.split(" | ")[0] for row in first[1]}
        for head, rows in tables:
            self.assertLessEqual({row.split(" | ")[0] for row in rows}, played, head)
        for row in first[1]:
            self.assertRegex(row, r" \| \d[\d.]* \| \d{4}-\d\d-\d\d \| seen \d[^|]* \| ")
            self.assertNotIn("-modified", row)

    def test_an_update_keeps_the_date_and_the_build_of_what_is_not_played(self):
        head = ["| agent | played on | build |", "|---|---|---|"]
        seen = ["", "| agent | via | own read |", "|---|---|---|"]
        before = [*head, "| pi | then | old |", "| codex | then | old |", *seen, "| pi | auto | no |", "| codex | auto | no |"]
        new = [*head, "| codex | now | new |", *seen, "| codex | auto | yes |"]
        page = program("tests/agents/survey").update("\n".join(new), "\n".join(before))
        self.assertEqual(page.splitlines(), [*head, "| pi | then | old |", "| codex | now | new |", *seen, "| pi | auto | no |", "| codex | auto | yes |"])

    def test_a_modified_build_writes_no_page_of_agents(self):
        seen, page = self.top / "bin/seen", self.top / "page.md"
        seen.parent.mkdir()
        seen.write_text("#!/bin/sh\necho 'seen 0.2.0 (no tag, commit 0123456789ab-modified)'\n")
        seen.chmod(0o755)
        for words in ((), ("--update",)):
            page.write_text("the page")
            done = subprocess.run([sys.executable, SOURCE / "tests/agents/survey", "--out", page, *words, "pi"], stdin=subprocess.DEVNULL, capture_output=True,
                                  env={**os.environ, "SEEN_BUILD": str(self.top), "SEEN_AGENTS_DIR": str(self.top)}, timeout=DEADLINE, check=False)
            self.assertEqual((done.returncode, page.read_text()), (2, "the page"), done.stderr)
            self.assertIn(b"commit 0123456789ab-modified", done.stderr)


if __name__ == "__main__":
    unittest.main()
