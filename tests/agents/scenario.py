"""The scripted task: what the model asks for, and what it must be given.

Every question uses its own file, because a file that was asked for again right after its
notice is given in full for a while (asked again, see docs/design/answers.md). Sizes matter: notices are
for 512 to 24,000 bytes, and what one command printed beyond 24,000 bytes was not delivered.
"""
import hashlib
import re
import shutil

NOTICE = "[File previously read:"
AGAIN = "[Command already run: "
STATIC = "static"


class Real:
    """Bytes that must be given as they are."""

    def __init__(self, text):
        self.text = text


class Notice:
    """A known file: its notice under `seen`, its text without."""

    def __init__(self, path, text):
        self.path = path
        self.text = text

    def pattern(self):
        return (re.escape(f"{NOTICE} {self.path}. ") + r"[^\n]*repeat the same command[^\n]*"
                + re.escape(f"({self.text.count(chr(10))} lines, {len(self.text.encode())} bytes, ")
                + r"version [0-9a-f]+, ([^\n]+?)\)\]\n")


class Either(Notice):
    """A known file where both are right: how the agent runs the command decides."""

    def pattern(self):
        return f"(?:{super().pattern()}|{re.escape(self.text)})"


class NoticeOfTool:
    """A known file for which the agent's own read tool gets a notice, decorated as the agent likes; its lines without."""

    def __init__(self, path, text):
        self.path = path
        self.text = text


class Step:
    """One tool call and what its result must be.

    operation: ("shell", command) | ("terminal", command): on a terminal if the agent has that
               | ("read", path) | ("edit", path, old line, new line)
               | ("write", path, text)
    want:      list of Real and Notice: the result is exactly these, one after the other;
               "lines TEXT" for an agent's own read tool: TEXT's lines in this order, decorated
               as the agent likes; Told; None: anything without a notice
    outsider:  None or a shell command run by an external program just before
    """

    def __init__(self, name, operation, want, outsider):
        self.name = name
        self.operation = operation
        self.want = want
        self.outsider = outsider

    @property
    def expected(self):
        """One word for the table."""
        if isinstance(self.want, NoticeOfTool):
            return "told"
        if not isinstance(self.want, list):
            return "real"
        kinds = {type(part).__name__.lower() for part in self.want}
        return "+".join(sorted(kinds))

    def wrong(self, given, wrapped, nonces):
        """Why `given` is not what the step wants, or None. Adds the nonces seen to `nonces`."""
        if given is None:
            return "the agent did not come this far"
        if isinstance(self.want, list):
            pattern = "".join(part.pattern() if wrapped and isinstance(part, Notice)
                              else re.escape(part.text) for part in self.want)
            # Some agents cut the last newline; every wanted result has one.
            match = re.fullmatch(pattern, given.rstrip("\n") + "\n")
            if match is None:
                if NOTICE in given:
                    return "a notice that is wrong here"
                same = given.rstrip("\n") + "\n" == "".join(part.text for part in self.want)
                return "no notice" if same else "other text"
            nonces.update(nonce for nonce in match.groups() if nonce)
            return None
        if isinstance(self.want, NoticeOfTool) and wrapped:
            match = re.search(re.escape(NOTICE) + r" [^\n]*/" + re.escape(self.want.path)
                              + r"\. [^\n]*, ([^\n]+?)\)\]", given)
            if match is None:
                return "no notice"
            nonces.add(match.group(1))
            return "lines of the file" if any(line and line in given for line
                                              in self.want.text.splitlines()) else None
        if NOTICE in given:
            return "a notice that is wrong here"
        if self.want is not None:
            text = self.want.text if isinstance(self.want, NoticeOfTool) else self.want
            rest = iter(given.splitlines())
            if not all(any(line in other for other in rest) for line in text.splitlines()):
                return "lines are missing"
        return None


class Script:
    """Composes steps; `files` is the workspace as it must be at that point."""

    def __init__(self):
        self.steps = []
        self.files = {}
        self._outsider = None

    def real(self, path):
        return Real(self.files[path])

    def notice(self, path):
        return Notice(path, self.files[path])

    def _add(self, name, operation, want):
        self.steps.append(Step(name, operation, want, self._outsider))
        self._outsider = None

    def shell(self, name, command, *want):
        self._add(name, ("shell", command),
                  [Real(part) if isinstance(part, str) else part for part in want])

    def terminal(self, name, command, *want):
        self._add(name, ("terminal", command), list(want))

    def read(self, name, path):
        self._add(name, ("read", path), self.files[path])

    def notice_of_tool(self, name, path):
        self._add(name, ("read", path), NoticeOfTool(path, self.files[path]))

    def refused(self, name, path, old, new):
        """An edit that comes to nothing, where the agent is wrapped."""
        self._add(name, ("edit", path, old, new), None)

    def pause(self):
        """Longer than in-process reads that are one request ([notice] burst_ms)."""
        self.shell("pause", "sleep 0.5; echo paused", "paused\n")

    def edit(self, name, path, old, new):
        self.files[path] = self.files[path].replace(old + "\n", new + "\n", 1)
        self._add(name, ("edit", path, old, new), None)

    def write(self, name, path, text):
        self.files[path] = text
        self._add(name, ("write", path, text), None)

    def outsider(self, command):
        self._outsider = command


def module(name, lines=40):
    """A file's text, different for every name."""
    return f'"""module {name}"""\nvalue = 1\n' + "".join(
        f"line_{i} = 'the quick brown fox number {i} of {name}'\n" for i in range(1, lines + 1))


def first_lines(text, count):
    return "".join(text.splitlines(keepends=True)[:count])


def build(reads_by_shell=False, proves_long=False, cuts=None):
    """Returns (files at the start, steps, files at the end), files as {path: text}.

    reads_by_shell: the agent has no read tool of its own: what it reads, its model is given by a command
    proves_long: what the model was given of an output of more than 24,000 bytes may be proven before its next call, or not: both are right
    cuts: of a longer output the agent gives its model a part
    """
    s = Script()
    for name in ("again", "filler", "pipes", "tool", "append", "outside", "quiet", "touch",
                 "same", "replaced", "checkout", "known", "new", "nested", "xargs", "find", "find2",
                 "terminal"):
        s.files[f"{name}.py"] = module(name)
    s.files["sub/inner.py"] = module("inner")
    s.files["small.py"] = module("small", 4)
    s.files["large.py"] = module("large", 480)  # more than 24,000 bytes, below the agents' own cuts
    s.files["half1.py"] = module("half1", 240)  # together more than 24,000 bytes
    s.files["half2.py"] = module("half2", 240)
    start = dict(s.files)
    assert all(len(text) > 512 for name, text in start.items() if name != "small.py")
    assert len(start["small.py"]) < 512
    assert len(start["large.py"]) > 24000 and len(start["half1.py"]) * 2 > 24000

    # A repeat, the model asks again, and the notice returns after that.
    s.shell("first cat", "cat again.py", s.real("again.py"))
    s.shell("second cat", "cat again.py", s.notice("again.py"))
    s.shell("insist", "cat again.py", s.real("again.py"))
    s.shell("insist, once more", "cat again.py", s.real("again.py"))
    s.shell("twenty requests for another file",
            "for n in $(seq 20); do sed -n ${n}p filler.py; done",
            first_lines(s.files["filler.py"], 20))
    s.shell("after insisting", "cat again.py", s.notice("again.py"))

    # Known to the model, but the bytes go elsewhere: always real. The last step proves that
    # only the sink made the difference.
    text = s.files["pipes.py"]
    s.shell("cat before pipes", "cat pipes.py", text)
    s.shell("cat | wc", "cat pipes.py | wc -l", f"{text.count(chr(10))}\n")
    s.shell("cat > file", "cat pipes.py > B.py; wc -c pipes.py B.py | sed 's/^ *//'",
            "".join(f"{n} {f}\n" for n, f in ((len(text), "pipes.py"), (len(text), "B.py"),
                                              (2 * len(text), "total"))))
    s.files["B.py"] = text
    s.shell("$(cat)", "x=$(cat pipes.py); echo ${#x}", f"{len(text) - 1}\n")
    s.shell("cat | tee", "cat pipes.py | tee T.py", text)
    s.files["T.py"] = text
    s.shell("diff <(cat)", "diff <(cat pipes.py) B.py && echo equal", "equal\n")
    s.shell("background pipe", "cat pipes.py | gzip -n > P.gz &\necho started", "started\n")
    s.shell("cp", "cp pipes.py C.py && cmp pipes.py C.py && echo equal", "equal\n")
    s.files["C.py"] = text
    s.shell("readers", "head -n 3 pipes.py; grep -c line_ pipes.py; tail -n 1 pipes.py",
            first_lines(text, 3) + "40\n" + text.splitlines()[-1] + "\n")
    s.shell("sed after cat", "sed -n 1,5p pipes.py", first_lines(text, 5))
    s.shell("hashes", "sha256sum pipes.py; git hash-object pipes.py",
            f"{hashlib.sha256(text.encode()).hexdigest()}  pipes.py\n"
            + hashlib.sha1(f"blob {len(text)}\0{text}".encode()).hexdigest() + "\n")
    s.shell("background result", "until gzip -t P.gz 2>/dev/null; do sleep 0.1; done; "
            "gzip -dc P.gz | cmp - pipes.py && echo equal; rm P.gz", "equal\n")
    s.shell("cat after pipes", "cat pipes.py", s.notice("pipes.py"))

    # Who else runs cat.
    s.shell("cat for xargs", "cat xargs.py", s.real("xargs.py"))
    s.shell("xargs cat", "echo xargs.py | xargs cat", s.notice("xargs.py"))
    s.shell("cat for bash -c", "cat nested.py", s.real("nested.py"))
    s.shell("bash -c", "bash -c 'cat nested.py; true'", s.notice("nested.py"))
    s.shell("cat for find", "cat find.py", s.real("find.py"))
    s.shell("find -exec cat", "command find find.py -exec cat {} +", s.notice("find.py"))
    # claude's shell functions find and grep start claude itself under another name.
    s.shell("cat for agent's find", "cat find2.py", s.real("find2.py"))
    s.shell("agent's find -exec cat", "find find2.py -exec cat {} +",
            Either("find2.py", s.files["find2.py"]))
    s.shell("agent's grep", "grep -c line_ find2.py", "40\n")
    s.terminal("cat on a terminal", "cat terminal.py", s.real("terminal.py"))
    s.terminal("cat on a terminal again", "cat terminal.py", s.notice("terminal.py"))
    s.shell("cat in a folder", "(cd sub && cat inner.py)", s.real("sub/inner.py"))
    s.shell("same file, longer path", "cat ./sub/inner.py",
            Notice("./sub/inner.py", s.files["sub/inner.py"]))
    s.shell("cat known", "cat known.py", s.real("known.py"))
    s.shell("one known, one new", "cat known.py new.py", s.notice("known.py"), s.real("new.py"))

    # The agent changes files by its own tools and by its shell.
    s.read("own read", "tool.py")
    s.shell("cat after own read", "cat tool.py",
            s.notice("tool.py") if reads_by_shell else s.real("tool.py"))
    s.edit("own edit", "tool.py", "value = 1", "value = 2")
    s.shell("cat after own edit", "cat tool.py", s.real("tool.py"))
    s.shell("cat again after own edit", "cat tool.py", s.notice("tool.py"))
    s.write("own write", "W.py", module("W"))
    s.shell("cat after own write", "cat W.py", s.real("W.py"))
    s.shell("cat again after own write", "cat W.py", s.notice("W.py"))
    s.shell("cat before shell write", "cat append.py", s.real("append.py"))
    s.files["append.py"] += "# added\n"
    s.shell("cat after shell write", "echo '# added' >> append.py; cat append.py",
            s.real("append.py"))
    s.shell("cat again after shell write", "cat append.py", s.notice("append.py"))
    s.shell("sed -i", "sed -i 's/^value = 1/value = 4/' append.py; cat append.py",
            s.files["append.py"].replace("value = 1", "value = 4", 1))
    s.files["append.py"] = s.files["append.py"].replace("value = 1", "value = 4", 1)
    s.shell("cat before checkout", "cat checkout.py", s.real("checkout.py"))
    s.shell("change before checkout", "echo '# added' >> checkout.py; cat checkout.py",
            s.files["checkout.py"] + "# added\n")
    s.shell("git checkout", "git checkout -q checkout.py; cat checkout.py", s.real("checkout.py"))

    # An external program changes files.
    s.shell("cat before outside change", "cat outside.py", s.real("outside.py"))
    s.files["outside.py"] += "# outside\n"
    s.outsider("echo '# outside' >> outside.py")
    s.shell("cat after outside change", "cat outside.py", s.real("outside.py"))
    s.shell("cat again after outside change", "cat outside.py", s.notice("outside.py"))
    s.shell("cat before quiet change", "cat quiet.py", s.real("quiet.py"))
    s.files["quiet.py"] = s.files["quiet.py"].replace("value = 1", "value = 7", 1)
    s.outsider("cp -p quiet.py ../stamp && printf 7 | dd of=quiet.py bs=1 conv=notrunc status=none "
               f"seek={s.files['quiet.py'].index('7')} && touch -r ../stamp quiet.py")
    s.shell("same size and time, other bytes", "cat quiet.py", s.real("quiet.py"))
    s.shell("cat before touch", "cat touch.py", s.real("touch.py"))
    s.outsider("touch touch.py")
    s.shell("cat after touch", "cat touch.py", s.notice("touch.py"))
    s.shell("cat before rewrite", "cat same.py", s.real("same.py"))
    s.outsider("cp same.py ../copy && cat ../copy > same.py")
    s.shell("cat after rewrite, same bytes", "cat same.py", s.notice("same.py"))
    s.shell("cat before replacing", "cat replaced.py", s.real("replaced.py"))
    s.files["replaced.py"] = s.files["replaced.py"].replace("value = 1", "value = 8", 1)
    s.outsider("sed 's/^value = 1/value = 8/' replaced.py > ../other && mv ../other replaced.py")
    s.shell("cat after rename over", "cat replaced.py", s.real("replaced.py"))

    # Sizes.
    s.shell("small", "cat small.py", s.real("small.py"))
    s.shell("small again", "cat small.py", s.real("small.py"))
    if cuts is None or cuts > len(s.files["large.py"]):
        s.shell("large", "cat large.py", s.real("large.py"))
        s.shell("large again", "cat large.py", s.real("large.py"))
        s.shell("long output of two", "cat half1.py half2.py", s.real("half1.py"), s.real("half2.py"))
        either = Either("half1.py", s.files["half1.py"])
        s.shell("one of the two", "cat half1.py", either if proves_long else s.real("half1.py"))
        s.shell("one of the two again", "cat half1.py", either if proves_long else s.notice("half1.py"))

    s.shell("git status", "echo status; git status --short", "status\n" + "".join(
        f" M {f}\n" for f in sorted(f for f in start if s.files[f] != start[f])) + "".join(
        f"?? {f}\n" for f in sorted(set(s.files) - set(start))))
    return start, s.steps, s.files


def smoke(static=True, answered=True):
    """As build(), a handful: what differs between the mechanisms. STATIC names the file that static
    programs alone read; static: they are observed; answered: and told what was given before."""
    s = Script()
    for name in ("again", "tool", STATIC):
        s.files[f"{name}.py"] = module(name)
    start = dict(s.files)
    s.shell("first cat", "cat again.py", s.real("again.py"))
    s.shell("second cat", "cat again.py", s.notice("again.py"))
    s.shell("cat | wc", "cat again.py | wc -l", f"{start['again.py'].count(chr(10))}\n")
    if static and shutil.which("busybox"):
        s.shell("static cat", f"busybox cat {STATIC}.py", s.real(f"{STATIC}.py"))
        s.shell("static cat again", f"busybox cat {STATIC}.py", (s.notice if answered else s.real)(f"{STATIC}.py"))
    s.shell("cat before own edit", "cat tool.py", s.real("tool.py"))
    s.read("own read", "tool.py")
    s.edit("own edit", "tool.py", "value = 1", "value = 2")
    s.shell("cat after own edit", "cat tool.py", s.real("tool.py"))
    s.shell("cat again after own edit", "cat tool.py", s.notice("tool.py"))
    return start, s.steps, s.files


def whitelisted(knows_edits):
    """As build(), what an agent that is whitelisted reads by its own tools.

    knows_edits: the profile says how its read before a write is known ([agent NAME] edit_pattern)
    """
    s = Script()
    for name in ("own", "over", "outside", "viewed", "first", "edited"):
        s.files[f"{name}.py"] = module(name)
    start = dict(s.files)
    s.read("own read", "own.py")
    s.pause()
    s.notice_of_tool("own read again", "own.py")
    s.pause()
    s.read("insist", "own.py")
    s.edit("own edit", "own.py", "value = 1", "value = 2")
    s.read("own read after own edit", "own.py")
    s.pause()
    s.notice_of_tool("again after own edit", "own.py")
    s.pause()
    s.edit("own edit of what was told", "own.py", "value = 2", "value = 3")
    s.read("own read after that", "own.py")
    s.read("own read before own write", "over.py")
    s.pause()
    s.write("own write", "over.py", module("over", 45))
    s.read("own read after own write", "over.py")
    s.read("own read before outside change", "outside.py")
    s.pause()
    s.files["outside.py"] = s.files["outside.py"].replace("value = 1", "value = 5", 1)
    s.outsider("sed -i 's/^value = 1/value = 5/' outside.py")
    s.read("own read after outside change", "outside.py")
    s.shell("cat viewed", "cat viewed.py", s.real("viewed.py"))
    s.read("own read after cat", "viewed.py")
    s.pause()
    s.shell("cat after own read", "cat viewed.py", s.notice("viewed.py"))
    # An edit right after a read, and one some time later, which reads what is known.
    s.read("own read before edits", "edited.py")
    s.edit("edit at once", "edited.py", "value = 1", "value = 6")
    s.read("own read between edits", "edited.py")
    s.pause()
    if not knows_edits:
        s.refused("edit that reads a notice", "edited.py", "value = 6", "value = 7")
        s.shell("the file is intact", "cat edited.py", s.real("edited.py"))
        s.pause()
    s.edit("edit some time later", "edited.py", "value = 6", "value = 7")
    s.read("own read at the end", "edited.py")
    s.edit("edit of a file never read", "first.py", "value = 1", "value = 9")
    return start, s.steps, s.files
