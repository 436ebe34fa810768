"""report --format html, in a real browser: what it shows, by keys alone, in both themes, on narrow screens, of hostile names, of a million
events."""
import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import time
import unittest
import zlib

from browser import CHROMIUM, SHIFT, Browser
from driver import SANITIZED, SEEN, Case
from test_hook_reports import HOOK
from test_story import AGENT

REPORTED = HOOK + """
hook("UserPromptSubmit", words="<b>do it")
called("Edit", "t1", lambda: write("a"), file_path="/w/a")
"""

LONG = os.environ.get("SEEN_LONG") == "1"
TASK_MS = 200  # the longest that the page may not answer for

# Ahead of the page: whatever a name would run shows here; so does each task in which nothing else can happen.
WATCH = """
window.ran = 0;
window.alert = window.confirm = window.prompt = () => { window.ran++; };
window.tasks = [];
new PerformanceObserver(list => window.tasks.push(...list.getEntries().map(entry => [entry.startTime, entry.duration])))
    .observe({ type: 'longtask', buffered: true });
window.slow = [];
new PerformanceObserver(list => window.slow.push(...list.getEntries().map(entry => [entry.name, entry.processingEnd - entry.processingStart])))
    .observe({ type: 'event', buffered: true, durationThreshold: 16 });
addEventListener('load', () => { window.loadedAt = performance.now(); });
"""
READY = "document.documentElement.dataset.ready === 'yes'"

# Contrast, as WCAG 2 counts it, of every text that is seen against what is behind it.
CONTRAST = """
(() => {
    const rgb = text => text.match(/[\\d.]+/g).map(Number);
    const light = ([r, g, b]) => [r, g, b].map(c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = element => {
        for (; element; element = element.parentElement) {
            const colour = rgb(getComputedStyle(element).backgroundColor);
            if (colour.length < 4 || colour[3] > 0.99)
                return colour;
        }
        return [255, 255, 255];
    };
    const bad = [];
    let texts = 0;
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const element = walk.currentNode.parentElement, box = element.getBoundingClientRect(), style = getComputedStyle(element);
        if (!walk.currentNode.data.trim() || box.width < 2 || style.visibility === 'hidden' || /SCRIPT|STYLE/.test(element.tagName))
            continue;
        const a = light(rgb(style.color)), b = light(behind(element)), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        const size = parseFloat(style.fontSize), isLarge = size >= 24 || size >= 18.66 && style.fontWeight >= 700;
        texts++;
        if (ratio < (isLarge ? 3 : 4.5) && !element.closest(':disabled'))
            bad.push([walk.currentNode.data.slice(0, 40), ratio, style.color, behind(element)]);
    }
    return { texts, bad };
})()
"""


def pixels(png):
    """Width, height and rows of a PNG (8 bits, RGB or RGBA, as browsers write them); rows hold 3 or 4 bytes a pixel."""
    at, data, width, height, depth = 8, b"", 0, 0, 3
    while at < len(png):
        length, kind = int.from_bytes(png[at:at + 4], "big"), png[at + 4:at + 8]
        if kind == b"IHDR":
            width, height = int.from_bytes(png[at + 8:at + 12], "big"), int.from_bytes(png[at + 12:at + 16], "big")
            depth = {2: 3, 6: 4}[png[at + 17]]
        elif kind == b"IDAT":
            data += png[at + 8:at + 8 + length]
        at += length + 12
    raw, stride, before, rows = zlib.decompress(data), width * depth, bytearray(width * depth), []
    for y in range(height):
        kind, row = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for x in range(stride):
            left, up, corner = (row[x - depth] if x >= depth else 0), before[x], (before[x - depth] if x >= depth else 0)
            if kind == 1:
                row[x] = row[x] + left & 255
            elif kind == 2:
                row[x] = row[x] + up & 255
            elif kind == 3:
                row[x] = row[x] + (left + up) // 2 & 255
            elif kind == 4:
                guess = left + up - corner
                near = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]
                row[x] = row[x] + near & 255
        rows.append(row)
        before = row
    return width, height, depth, rows


@unittest.skipIf(CHROMIUM is None, "no chromium")
class ReportHtml(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def made(self, count, *options):
        return self.made_journal(count, *options, name=f"made{count}{''.join(options)}")

    def write(self, *words):
        """The page as a file."""
        page = str(self.top / "report.html")
        self.seen("report", "--format", "html", "--output", page, *words, code=0)
        return page

    def open(self, path, **more):
        page = self.browser.open(path, before=WATCH, **more)
        self.addCleanup(page.close)
        page.wait(READY)
        return page

    def assert_quiet(self, page):
        self.assertEqual(page.problems, [])
        self.assertEqual(page.requests, [])
        self.assertEqual(page.eval("window.ran"), 0)

    # ---- the file ----

    def test_one_file_that_lets_nothing_else_run(self):
        with open(self.write("--journal", self.made(500)), encoding="utf-8") as file:
            text = file.read()
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1]
        style = re.search(r"<style>(.*?)</style>", text, re.S)[1]
        scripts = re.findall(r"<script>(.*?)</script>", text, re.S)
        self.assertEqual(len(scripts), 1)
        for kind, content in (("style", style), ("script", scripts[0])):
            digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
            self.assertIn(f"{kind}-src 'sha256-{digest}'", policy)
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe", policy)
        # Neither the page nor its script names anything elsewhere, or makes elements out of text.
        self.assertEqual(re.findall(r"\w+://[^\s\"'<]*|\bon\w+=\"|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|fetch\(", text),
                         [])
        self.assertEqual(set(re.findall(r"<script[^>]*type=\"([^\"]*)\"", text)), {"application/json", "application/octet-stream"})

    def test_events_are_those_of_the_log(self):
        journal = self.made(3000, "--hostile")
        page = self.open(self.write("--journal", journal))
        log = [json.loads(line) for line in self.seen("log", "--json", "--journal", journal, code=0).stdout.splitlines()]
        table = self.seen("log", "--journal", journal, code=0).stdout.decode().splitlines()[1:]
        rows = page.eval("""Array.from({ length: data.count }, (_, i) => [data.record[i], data.ops[data.op[i]], data.errors[data.error[i]] || null,
            Math.round(data.firstMs * 1000 + data.time[i]), data.rows[data.row[i]].pid, texts.get(data.path[i])])""")
        self.assertEqual(len(rows), len(log))
        self.assertEqual(len(rows), len(table))
        first = {event["number"]: event for event in log}
        for row, event, line in zip(rows, log, table):
            self.assertEqual(row[:3], [event["number"], event["op"], event["error"]])
            seconds, _, fraction = event["time"].rstrip("Z").partition(".")
            self.assertEqual(time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(row[3] // 1000000)), seconds)
            self.assertLess(abs(row[3] % 1000000 - int(fraction[:6])), 2)
            if event["process"]:
                self.assertEqual(row[4], first[event["process"]]["pid"])
            # Made visible the same way; the page does more (directions of writing, what has no width).
            if "\\u{" not in row[5] and event["op"] != "coverage":
                self.assertIn("  " + row[5], line)
            if event.get("path") or event["executable"]:
                self.assertNotEqual(row[5], "", event)
        self.assertEqual(page.eval("data.leftOut"), 0)
        report = self.json("report", "--journal", journal, "--top", "5000")
        self.assertEqual(page.eval("[data.rows.reduce((sum, row) => sum + row.readBytes, 0), data.rows.reduce((sum, row) => sum + row.writeBytes, 0)]"),
                         [report["work"]["bytes_read"], report["work"]["bytes_written"]])
        # Sums that are no more than a lower bound say so.
        more = [report["work"]["read_more"], report["work"]["written_more"]]
        self.assertIn(True, more)
        shown = page.eval("['read', 'write'].map(kind => document.querySelector(`#figures-body .${kind}`).textContent)")
        self.assertEqual(["at least" in text for text in shown], more)
        self.assertIn("Streams of libc did more than is recorded.", page.eval("document.getElementById('balance-body').textContent"))
        files = report["files"]
        self.assertEqual(page.eval("data.files.length"), files["count"])
        self.assertEqual(page.eval("data.files.reduce((sum, file) => sum + (file.inWorkspace ? file.repeats : 0), 0)"), sum(row["repeats"] for row in files["by_repeats"]))
        self.assertEqual(page.eval("data.files.reduce((sum, file) => sum + (file.inWorkspace ? file.bytesRead : 0), 0)"), sum(row["work"]["bytes_read"] for row in files["by_read"]))

    # ---- what it shows ----

    def test_a_real_session(self):
        self.file("a.txt")
        self.file("b.txt")
        self.file("AGENTS.md", b"rules\n")
        self.agent("cat a.txt", "cat a.txt; cat b.txt", "cp b.txt c.txt; mv c.txt d.txt", "cat missing.txt")
        page = self.open(self.write("--session", "s"))
        text = page.eval("document.body.innerText")
        for words in ("What was seen, and what was not", "Every program that was started was observed", "were not given to the model again",
                      "1 of 1 instruction file", "a.txt", "missing.txt", "No write was held back" if "No write was held back" in text else "None.",
                      "Intact."):
            self.assertIn(words, text)
        self.assertEqual(page.eval("document.title"), "s: seen report")
        by_name = {row[0]: row[1:] for row in page.eval("data.files.map(file => [texts.get(file.path), file.opensRead, file.notices, file.repeats])")}
        self.assertEqual(by_name["a.txt"], [2, 1, 1])
        self.assertEqual(by_name["b.txt"][1], 0)
        # A tree: cat below bash below the agent.
        path = page.eval("""(() => { const names = []; for (let row = data.rows.find(row => texts.get(row.args).startsWith('b.txt c.txt'));
            row; row = data.rows[row.parent]) names.push(programName(row)); return names; })()""")
        self.assertEqual(path[0], "cp")
        self.assertEqual(path[1], "bash → mv")
        self.assertTrue(path[2].startswith("python"), path)
        self.assert_quiet(page)

    def test_who_wrote_each_line(self):
        self.file("a.c", b"int a;\n\tputs(\"<b>\\n\");\nint c;\n")
        (self.top / "steps").write_text(json.dumps(["echo int d\\; >> a.c; echo x > gone", ["open('own', 'w').write('o\\n')"],
                                                    "sed -i 's/int c/long c/' a.c; rm gone; printf '\\000' > binary"]))
        (self.top / "stepper.py").write_text(AGENT)
        self.seen("run", "--session", "s", "--agent", "stepper.py", "--", sys.executable, str(self.top / "stepper.py"), str(self.top / "steps"), code=0)
        with open(self.work / "a.c", "a") as file:
            file.write("by a person\n" * 9)
        path = self.write("--session", "s")
        for dark in (False, True):
            page = self.open(path, dark=dark)
            page.eval("document.querySelectorAll('#deeds details').forEach(each => { each.open = true; })")
            page.wait("document.querySelectorAll('.blame').length === 2")
            found = page.eval("""Array.from(document.querySelectorAll('.blame'), each => [each.getAttribute('aria-label'), Array.from(each.children,
                run => [run.className, run.children[0].textContent, run.children[1].textContent, run.children[2].textContent])])""")
            self.assertEqual(found, [
                ["Lines of a.c", [["run by-before", "before", " 1\n 2\n", "int a;\n\tputs(\"<b>\\n\");\n"], ["run by-step hue-3", "step 3", " 3\n", "long c;\n"],
                                  ["run by-step hue-1", "step 1", " 4\n", "int d;\n"],
                                  ["run by-external", "external", "".join(f"{n:2}\n" for n in range(5, 14)), "by a person\n" * 9]]],
                ["Lines of own", [["run by-step hue-2", "step 2", "1\n", "o\n"]]]])
            self.assertIn("a.c 13 lines: 2 step, 2 before, 9 external", page.eval("document.getElementById('deeds').innerText"))
            # A diff, too, has a file's tabs and backslashes as they are.
            self.assertIn(" \tputs(\"<b>\\n\");\n", page.eval("document.querySelector('.diff').textContent"))
            self.assertEqual(page.eval(CONTRAST)["bad"], [])
            self.assert_quiet(page)

    def test_steps_have_what_hooks_reported(self):
        """Their tool and file in the place of the agent's arguments, and their prompt."""
        (self.top / "steps").write_text(json.dumps([[REPORTED]]))
        (self.top / "stepper.py").write_text(AGENT)
        self.seen("run", "--session", "s", "--agent", "stepper.py", "--", sys.executable, str(self.top / "stepper.py"), str(self.top / "steps"), code=0)
        page = self.open(self.write("--session", "s"))
        self.assertEqual([re.sub(r"\d\d:\d\d:\d\d", "TIME", text) for text in page.eval("Array.from(document.querySelectorAll('#deeds details > summary'), each => each.textContent)")][:1],
                         ["1 TIME p1 Edit /w/a by itself, 1 file +1 "])
        self.assertEqual(page.eval("document.querySelector('#deeds summary span.faint[title]').title"), "<b>do it")
        self.assert_quiet(page)

    def test_nothing_at_all(self):
        self.seen("session", "empty", code=0)
        page = self.open(self.write("--session", "empty"))
        self.assertEqual(page.eval("data.count"), 0)
        for key in ("+", "ArrowDown", "ArrowRight", "n", " ", "f", "0", "Enter"):
            page.eval("document.getElementById('rows').focus()")
            page.key(key)
        self.assert_quiet(page)

    def test_both_themes(self):
        path = self.write("--journal", self.made(2000))
        shots = {}
        for dark in (False, True):
            page = self.open(path, dark=dark)
            found = page.eval(CONTRAST)
            self.assertGreater(found["texts"], 300)
            self.assertEqual(found["bad"], [])
            shots[dark] = page.screenshot("document.getElementById('timeline')", scale=0.2)
            # Every sign stands out from what is behind it.
            weak = page.eval("""(() => { const light = text => text.match(/\\d+/g).map(c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
                    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0), ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
                return KINDS.map(kind => [kind.name, ratio(light(COLOURS[kind.name]), light(COLOURS.surface)), ratio(light(COLOURS[kind.name]), light(COLOURS.chosen))])
                    .filter(found => Math.min(found[1], found[2]) < 3); })()""")
            self.assertEqual(weak, [])
            # The picture is drawn in the theme's colours, and holds reads and writes.
            colours = page.eval("""(() => { const canvas = document.getElementById('picture'), found = {};
                const pixels = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
                for (const name of ['surface', 'read', 'write', 'life'])
                    found[name] = pixels.reduce((sum, pixel) => sum + (pixel === COLOURS[name + '32']), 0);
                return found; })()""")
            self.assertGreater(min(colours.values()), 20, colours)
            self.assert_quiet(page)
        sums = {}
        for dark, shot in shots.items():
            width, height, depth, rows = pixels(shot)
            sums[dark] = sum(sum(row[::depth]) for row in rows) / (width * height)
        self.assertGreater(sums[False], 180)
        self.assertLess(sums[True], 80)
        # The switch says otherwise than the system, and the picture follows.
        before = page.eval("COLOURS.surface")
        page.eval("document.querySelector('input[value=light]').click()")
        self.assertNotEqual(page.eval("COLOURS.surface"), before)
        self.assertEqual(page.eval(CONTRAST)["bad"], [])
        page.call("Page.printToPDF")
        self.assert_quiet(page)

    def test_narrow_and_enlarged(self):
        path = self.write("--journal", self.made(1000, "--hostile"))
        for size, scale in (((320, 640), 1), ((640, 450), 2)):
            page = self.open(path, size=size)
            page.resize(*size, scale=scale)
            page.wait_until_quiet()
            self.assertLessEqual(page.eval("document.documentElement.scrollWidth"), size[0])
            self.assertEqual(page.eval(CONTRAST)["bad"], [])
            self.assertGreater(page.eval("timeline.rowHeight"), 30 if size[0] == 320 else 20)
            self.assert_quiet(page)

    def test_less_motion(self):
        page = self.open(self.write("--journal", self.made(100)), reduced_motion=True)
        self.assertEqual(page.eval("getComputedStyle(document.documentElement).scrollBehavior"), "auto")

    # ---- by keys alone ----

    def focus(self, page):
        return page.eval("document.activeElement.id || document.activeElement.textContent.trim() || document.activeElement.tagName")

    def tab_to(self, page, id_, modifiers=0):
        for _ in range(80):
            page.key("Tab", modifiers)
            if page.eval(f"document.activeElement.closest('#{id_}') !== null"):
                outline = page.eval("getComputedStyle(document.activeElement).outlineStyle + getComputedStyle(document.activeElement).outlineWidth")
                self.assertEqual(outline, "solid3px")
                return
        self.fail(f"the Tab key does not reach {id_}")

    def test_by_keys(self):
        page = self.open(self.write("--journal", self.made(5000)))
        said = "document.getElementById('said').textContent"
        page.key("Tab")
        self.assertEqual(self.focus(page), "Skip to the report")
        page.key("Enter")
        self.assertEqual(self.focus(page), "main")

        self.tab_to(page, "rows")
        page.key("ArrowDown")
        self.assertEqual(page.eval("timeline.row"), page.eval("timeline.shown[1]"))
        self.assertIn("pid ", page.eval(said))
        page.key(" ")
        page.key("ArrowRight")
        event = page.eval("timeline.event")
        self.assertGreaterEqual(event, 0)
        page.key("ArrowRight")
        self.assertGreater(page.eval("timeline.event"), event)
        page.key("ArrowLeft")
        self.assertEqual(page.eval("timeline.event"), event)
        span = page.eval("timeline.view.to - timeline.view.from")
        page.key("+")
        self.assertAlmostEqual(page.eval("timeline.view.to - timeline.view.from") / span, 0.5, 3)
        begin = page.eval("timeline.view.from")
        page.key("ArrowRight", SHIFT)
        self.assertGreater(page.eval("timeline.view.from"), begin)
        page.key("0")
        self.assertAlmostEqual(page.eval("timeline.view.to - timeline.view.from") / span, 1, 3)
        page.key("n")
        self.assertIn(page.eval("KINDS[data.kind[timeline.event]].name"), ("saved", "conflict", "rule"))
        for key in ("End", "PageUp", "Home", "PageDown", "f"):
            page.key(key)
        self.assertGreater(page.eval("timeline.row"), 0)
        page.key("Enter")
        self.assertEqual(self.focus(page), "detail")
        page.key("Escape")
        self.assertEqual(self.focus(page), "rows")
        page.key("n")
        page.key("Escape")
        self.assertEqual(page.eval("timeline.event"), -1)

        page.key("?")
        self.assertTrue(page.eval("document.getElementById('keys').open"))
        self.assertIn("the next, the previous notice", page.eval("document.getElementById('keys').innerText"))
        page.key("Tab", times=3)
        self.assertTrue(page.eval("document.getElementById('keys').contains(document.activeElement) || document.activeElement === document.body"))
        page.key("Escape")
        self.assertFalse(page.eval("document.getElementById('keys').open"))
        self.assertEqual(self.focus(page), "rows")

        page.key("/")
        self.assertEqual(self.focus(page), "files-table-filter")
        page.type("file1.py")
        page.wait("/^\\d+ of /.test(document.querySelector('#files-table .counted').textContent)")
        names = page.eval("[...document.querySelectorAll('#files-table tbody th')].map(cell => cell.textContent)")
        self.assertTrue(names and all("file1.py" in name for name in names), names)
        page.key("Escape")
        page.wait("document.getElementById('files-table-filter').value === '' && !/ of /.test(document.querySelector('#files-table .counted').textContent)")
        for title, kind in (("Repeats", "descending"), ("Repeats", "ascending"), ("File", "ascending")):
            page.eval(f"[...document.querySelectorAll('#files-table thead button')].find(button => button.textContent === '{title}').focus()")
            page.key("Enter")
            page.wait(f"document.querySelector('#files-table th[aria-sort={kind}]')?.textContent === '{title}'")
        names = page.eval("[...document.querySelectorAll('#files-table tbody th')].map(cell => cell.textContent)")
        self.assertEqual(names, sorted(names))
        page.eval("document.querySelector('#files-table tbody tr').focus()")
        page.key("ArrowDown")
        page.key("PageDown")
        self.assertIn("16", page.eval("document.querySelector('#files-table .range').textContent"))
        self.assertEqual(page.eval("document.querySelectorAll('#files-table tbody tr[tabindex=\"0\"]').length"), 1)
        page.key("Enter")
        page.wait("timeline.rings.length > 0")
        self.assertEqual(self.focus(page), "detail")
        page.key("Escape")
        page.key("Escape")
        self.assertEqual(page.eval("timeline.rings.length"), 0)

        page.key("5")
        self.assertEqual(self.focus(page), "conflicts-title")
        self.tab_to(page, "conflicts-table")
        page.key("Tab")
        page.key("Enter")
        page.wait("timeline.event >= 0")
        self.assertEqual(page.eval("KINDS[data.kind[timeline.event]].name"), "conflict")
        self.assertEqual(self.focus(page), "rows")
        self.tab_to(page, "events-table")
        self.assert_quiet(page)

    def test_names_and_roles_for_those_who_do_not_see(self):
        page = self.open(self.write("--journal", self.made(500)))
        tree = page.call("Accessibility.getFullAXTree")["nodes"]
        nodes = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in tree if not node["ignored"] and "role" in node]
        nameless = [role for role, name in nodes if role in ("button", "link", "textbox", "searchbox", "checkbox", "radio", "application", "dialog",
                                                             "table", "navigation", "progressbar") and not name]
        self.assertEqual(nameless, [])
        roles = {role for role, _ in nodes}
        self.assertLessEqual({"banner", "main", "navigation", "application", "table", "columnheader", "rowheader", "status", "heading"}, roles)
        levels = page.eval("[...document.querySelectorAll('h1, h2, h3')].map(title => Number(title.tagName[1]))")
        self.assertEqual(levels.count(1), 1)
        self.assertTrue(all(b - a <= 1 for a, b in zip(levels, levels[1:])), levels)
        self.assertEqual(page.eval("document.documentElement.lang"), "en")

    def test_by_mouse_and_fingers(self):
        page = self.open(self.write("--journal", self.made(3000)))
        page.eval("document.getElementById('timeline').scrollIntoView({ behavior: 'instant' })")
        page.wait_until_quiet()
        box = page.eval("(box => ({ x: box.x, y: box.y, width: box.width, height: box.height }))(document.getElementById('rows').getBoundingClientRect())")
        x, y = box["x"] + box["width"] * 0.7, box["y"] + 42
        span = page.eval("timeline.view.to - timeline.view.from")
        page.wheel(x, y, dy=-240, modifiers=2)
        page.wait(f"timeline.view.to - timeline.view.from < {span} * 0.9")
        begin = page.eval("timeline.view.from")
        page.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        page.mouse("mouseMoved", x - 60, y, button="left", buttons=1)
        page.mouse("mouseReleased", x - 60, y, button="left", clickCount=1)
        self.assertGreater(page.eval("timeline.view.from"), begin)
        page.click(box["x"] + 100, box["y"] + 28 + 26 * 2 + 13)
        self.assertEqual(page.eval("timeline.row"), page.eval("timeline.shown[2]"))
        # Two fingers.
        span = page.eval("timeline.view.to - timeline.view.from")
        page.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
        for kind, apart in (("touchStart", 40), ("touchMove", 90), ("touchMove", 160), ("touchEnd", 0)):
            points = [{"x": x - apart / 2, "y": y + 40, "id": 0}, {"x": x + apart / 2, "y": y + 40, "id": 1}] if apart else []
            page.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)
        self.assertLess(page.eval("timeline.view.to - timeline.view.from"), span * 0.7)
        # On a mark: the event is shown.
        page.key("0") if page.eval("document.getElementById('rows').focus() || true") else None
        page.wait_until_quiet()
        at = page.eval("""(() => { const lane = ownLanes(timeline.shown[0])[KIND.read], time = lane.times[0];
            return timeline.label + toX(time, timeline.width - timeline.label); })()""")
        page.call("Emulation.setTouchEmulationEnabled", enabled=False)
        page.eval("document.getElementById('rows').scrollTop = 0")
        page.click(box["x"] + 1 + at, box["y"] + 28 + 13)
        self.assertGreaterEqual(page.eval("timeline.event"), 0)
        self.assertIn("Record", page.eval("document.getElementById('detail').innerText"))
        self.assert_quiet(page)

    # ---- names of others ----

    def test_hostile_names(self):
        names = [b"</script><script>alert(1)//", b"<img src=x onerror=alert(1)>", b"\"><svg onload=alert(1)>", b"'\"quotes`", b"two\nlines", b"\xff\xfe\x80bytes",
                 "\u202egnp.exe".encode(), "zero\u200bwidth".encode(), "line\u2028sep".encode(), b"<!--<script>", b"&lt;b&gt;", b"\x1b[31mred", b"back\\slash", b"]]>"]
        for name in names:
            self.file(name.replace(b"/", b"\\"))
        deep = b"/".join([b"d" * 250] * 15)
        os.makedirs(os.path.join(os.fsencode(self.work), deep))
        self.file(deep + b"/AGENTS.md", b"rules\n")
        self.file(deep + b"/f" + b"<script>alert(2)</script>".replace(b"/", b"\\"))
        self.agent("cat -- *", "cat -- *; cat -- d*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/f*", "touch -- '<b>new</b' 2>&1; rm -- '<b>new</b'")
        path = self.write("--session", "s")
        with open(path, "rb") as file:
            data = file.read()
        # Nothing of a name is there as it is.
        self.assertEqual(data.lower().count(b"</script>"), data.lower().count(b"<script"))
        for word in (b"onerror", b"onload", b"\xe2\x80\xae", b"\xff\xfe"):
            self.assertNotIn(word, re.sub(rb"<script type=\"application/json\".*?</script>", b"", data, flags=re.S))
        self.assertNotRegex(re.findall(rb"<script type=\"application/json\"[^>]*>(.*?)</script>", data, re.S)[1], rb"[<>&]|[^\x00-\x7f]")
        page = self.open(path)
        shown = page.eval("data.files.map(file => texts.get(file.path))")
        for name in ("<img src=x onerror=alert(1)>", "two\\nlines", "\\xff\\xfe\\x80bytes", "\\u{202e}gnp.exe", "zero\\u{200b}width", "line\\u{2028}sep",
                     "\\x1b[31mred", "back\\\\slash", "'\"quotes`", "&lt;b&gt;"):
            self.assertIn(name, shown)
        self.assertTrue(any(len(name) > 3700 for name in shown))
        # Every page of every table, every row of the timeline, what is shown about it.
        for table in ("files-table", "processes-table", "events-table"):
            for _ in range(200):
                text = page.eval(f"document.getElementById('{table}').innerText")
                self.assertNotRegex(text, "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufffd]")
                if not page.eval(f"(button => button.disabled || (button.click(), false))(document.querySelectorAll('#{table} .pager button')[2])"):
                    continue
                break
            else:
                self.fail("a table has no end")
        page.eval("document.getElementById('rows').focus()")
        page.eval("foldAll(Infinity)")
        for _ in range(page.eval("timeline.shown.length")):
            page.key("ArrowDown")
            page.key("ArrowRight")
        for index in range(len(shown)):
            page.eval(f"showFile(data.files[{index}].path)")
        page.wait_until_quiet()
        self.assertEqual(page.eval("document.querySelectorAll('img, svg, iframe, object, embed, link, body script:not([type])').length"), 1)
        self.assertEqual(page.eval("document.querySelectorAll('b').length"), page.eval("document.querySelectorAll('.figures b').length"))
        self.assert_quiet(page)

    def test_made_hostile_names(self):
        page = self.open(self.write("--journal", self.made(4000, "--hostile")), dark=True)
        page.eval("document.getElementById('rows').focus()")
        page.eval("foldAll(Infinity)")
        page.key("ArrowDown", times=20)
        page.key("n", times=10)
        text = page.eval("document.body.innerText")
        self.assertNotRegex(text, "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")
        self.assertEqual(page.eval("document.querySelectorAll('img, svg, iframe, body script:not([type])').length"), 1)
        self.assert_quiet(page)

    def test_the_policy_holds(self):
        """What would run if a name came through: nothing."""
        path = self.write("--journal", self.made(100))
        with open(path, encoding="utf-8") as file:
            text = file.read()
        bad = str(self.top / "bad.html")
        with open(bad, "w", encoding="utf-8") as file:
            file.write(text.replace('<p id="about" class="about"></p>', '<script>window.ran = 1</script><img src="x" onerror="window.ran = 1">'
                                    '<a href="javascript:window.ran=1" id="trap">x</a><p id="about"></p>'))
        page = self.open(bad)
        page.eval("document.getElementById('trap').click()")
        page.wait_until_quiet()
        self.assertEqual(page.eval("window.ran"), 0)
        self.assertGreaterEqual(len(page.problems), 3)  # the policy says what it held back

    # ---- how long it takes ----

    def use(self, page):
        """What a person does, of all that may take long."""
        page.eval("document.getElementById('rows').focus()")
        for key in ("ArrowDown", "+", "+", "+", "ArrowRight", "ArrowRight", "n", "n", "-", "0", "End", "Home", "f", "0"):
            page.key(key)
            page.wait_until_quiet()
        for id_ in ("unfold", "only-active", "fold", "only-active", "zoom-in", "zoom-all"):
            page.eval(f"document.getElementById('{id_}').click()")
            page.wait_until_quiet()
        box = page.eval("(box => ({ x: box.x, y: box.y }))(document.getElementById('rows').getBoundingClientRect())")
        page.eval("document.getElementById('timeline').scrollIntoView({ behavior: 'instant' })")
        box = page.eval("(box => ({ x: box.x, y: box.y }))(document.getElementById('rows').getBoundingClientRect())")
        for dy in (-300, -300, 300, 600):
            page.wheel(box["x"] + 500, box["y"] + 80, dy=dy, modifiers=2)
            page.wait_until_quiet()
        for table in ("files-table", "processes-table"):
            titles = page.eval(f"document.querySelectorAll('#{table} thead button').length")
            for at in range(titles):
                page.eval(f"document.querySelectorAll('#{table} thead button')[{at}].click()")
                page.wait(f"document.querySelectorAll('#{table} thead th')[{at}].hasAttribute('aria-sort')")
        for table, word in (("files-table", "file1"), ("processes-table", "cat"), ("events-table", "read src")):
            page.eval(f"document.getElementById('{table}-filter').focus()")
            page.type(word)
            page.wait(f"/ of /.test(document.querySelector('#{table} .counted').textContent)")
            page.eval(f"document.querySelectorAll('#{table} .pager button')[3].click()")
            page.wait_until_quiet()
            page.key("Escape")
            page.wait(f"!/ of /.test(document.querySelector('#{table} .counted').textContent)")
        page.eval("document.querySelector('#files-table tbody tr').focus()")
        page.key("Enter")
        page.wait("timeline.rings.length > 0")
        page.eval("eventsOf(data.rows[0])")
        page.eval("document.querySelector('input[value=dark]').click()")
        page.resize(900, 700)
        page.wait_until_quiet()
        page.eval("new Promise(done => setTimeout(done, 300))")

    def longest(self, page):
        """Milliseconds: the longest task after the page was loaded, and the longest time that an event's listeners took."""
        tasks = page.eval("window.tasks.filter(task => task[0] + task[1] > window.loadedAt).map(task => task[1])")
        slow = page.eval("window.slow.map(entry => entry[1])")
        return max(tasks, default=0), max(slow, default=0), len(tasks)

    def test_some_events_in_time(self):
        page = self.open(self.write("--journal", self.made(20000)))
        self.use(page)
        self.assert_quiet(page)
        # How long is asked of a machine that has time, of a million: test_a_million_events_in_time.
        self.assertEqual(len(self.longest(page)), 3)

    def measure(self, path, runs, count):
        """In each run no task may take longer, of the processor; by the clock not in the middle one, for the machine may do other things."""
        worst = []
        for _ in range(runs):
            self.browser.trace()
            begin = time.monotonic()
            page = self.open(path)
            ready = time.monotonic() - begin
            self.assertEqual(page.eval("data.count") >= count, True)
            self.use(page)
            self.assert_quiet(page)
            task, listener, _ = self.longest(page)
            worst.append({"task": round(task), "listener": round(listener), "loaded": round(page.eval("window.loadedAt")), "ready": round(1000 * ready),
                          "processor": round(max(self.browser.traced()))})
        print(f"{os.path.basename(path)}, {os.path.getsize(path)} bytes; milliseconds: {worst}", file=sys.stderr)
        self.assertLessEqual(max(run["processor"] for run in worst), TASK_MS, worst)
        self.assertGreater(min(run["processor"] for run in worst), 5, worst)  # it was measured
        return worst

    @unittest.skipUnless(LONG and not SANITIZED, "long: a million events")
    def test_a_million_events_in_time(self):
        journal = self.made(1000000)
        begin = time.monotonic()
        path = self.write("--journal", journal)
        print(f"written in {time.monotonic() - begin:.1f} s", file=sys.stderr)
        worst = self.measure(path, 3, 1000000)
        for what in ("task", "listener"):
            self.assertLessEqual(sorted(run[what] for run in worst)[1], TASK_MS, worst)

    @unittest.skipUnless(LONG and not SANITIZED, "long: 65,000 files")
    def test_many_files_in_time(self):
        script = "for i in range(65000):\n f=open(f'd{i%100}/file{i*7919%65000}.txt','w')\n f.write('x'*(i%97)); f.close()\n"
        for i in range(100):
            (self.work / f"d{i}").mkdir()
        (self.top / "many.py").write_text(script)
        subprocess.run([SEEN, "run", "--session", "s", "--", sys.executable, str(self.top / "many.py")], cwd=self.work, env=self.env, check=True, timeout=900)
        path = self.write("--session", "s")
        self.measure(path, 1, 65000)


if __name__ == "__main__":
    unittest.main()
