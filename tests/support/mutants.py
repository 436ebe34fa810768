"""Small wrong changes of our own sources, one at a time, and the tests that find them.

A mutant is a line of a function with one token changed, or without its statement.  It is compiled alone with the flags of the build, linked in the
place of the file that it was made of, and killed by the first test that fails.
"""
import collections
import copy
import json
import os
import pathlib
import re
import resource
import shlex
import shutil
import subprocess

UNIT_PATIENCE_S, PATIENCE_S = 60, 200  # with a test that a mutant may have made endless
PROCESSOR_S = 20  # of one process
MEMORY_BYTES = 32 << 30  # of addresses: journals and their like are mapped as large as they may become
# All files are read-only but those of its own /tmp and /dev/shm.
SANDBOX = ("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp", "--unshare-pid", "--die-with-parent",
           "--setenv", "TMPDIR", "/tmp", "--chdir", "/tmp")
# Tokens as clang-format sets them: a binary operator stands between spaces, a pointer's star does not.
CHANGES = (
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "), (r" && ", " || "), (r" \|\| ", " && "),
    (r" \+ ", " - "), (r" - ", " + "), (r" \+= ", " -= "), (r" -= ", " += "), (r" & ", " | "), (r" \| ", " & "), (r" << ", " >> "), (r" >> ", " << "),
    (r" \|= ", " &= "), (r"\+\+", "--"), (r"\btrue\b", "false"), (r"\bfalse\b", "true"), (r"(?<![\w.'])0(?![\w.'])", "1"), (r"(?<![\w.'])1(?![\w.'])", "0"),
    (r"\bif \(", "if (!!"), (r"\bbreak;", ";"), (r"\bcontinue;", ";"), (r"(?<=\t)[a-z]\w*\([^;{}]*\);$", ";"), (r"(?<=\t)[a-z][^;{}=]* [-+|&]?= [^;{}=]*;$", ";"),
)

NO_C, EQUAL, SURVIVES = "no C", "equal", "survives"

Mutant = collections.namedtuple("Mutant", "path line start end text")


def masked(text):
    """The same text, comments and strings blank."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())

    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", blank, text, flags=re.S)


def mutants_of(path, text):
    """Every change of the lines of its functions: a function's braces stand in the first column."""
    found, within, statement = [], False, True
    for number, line in enumerate(masked(text).split("\n"), 1):
        if line in ("{", "}"):
            within = line == "{"
        elif within and not line.lstrip().startswith(("#", "_Static_assert", "static ", "enum", "const ")):
            for pattern, change in CHANGES:
                for match in re.finditer(pattern, line):
                    if change == ";" and not statement:  # the rest of a statement
                        continue
                    if change == "if (!!":
                        change_to = negated(line, match)
                        if change_to:
                            found.append(Mutant(path, number, match.start(), change_to[0], change_to[1]))
                        continue
                    found.append(Mutant(path, number, match.start(), match.end(), change))
        if line.strip():
            statement = line.rstrip().endswith((";", "{", "}", ":"))
    return found


def negated(line, match):
    """`if (x)` that is whole on its line, as (its end, `if (!(x))`)."""
    depth = 0
    for at in range(match.end() - 1, len(line)):
        depth += {"(": 1, ")": -1}.get(line[at], 0)
        if depth == 0:
            return at + 1, "if (!(%s))" % line[match.end():at]
    return None


def mutated(text, mutant):
    lines = text.split("\n")
    line = lines[mutant.line - 1]
    new = mutant.text
    if new.startswith("if (!("):  # the strings in it, too
        new = "if (!(%s))" % line[mutant.start + len("if ("):mutant.end - 1]
    lines[mutant.line - 1] = line[:mutant.start] + new + line[mutant.end:]
    return "\n".join(lines)


class Judge:
    """Builds one mutant after another in the place of a file of a build directory, and runs that build's tests with it.

    A test is named "unit NAME", "program WAY NAME" (tests/programs) or "behaviour WAY FILE:CLASS.METHOD" (tests/behaviour/test_FILE.py; all of it
    without a class).
    """

    def __init__(self, source, build, scratch):
        self.source, self.build, self.scratch = pathlib.Path(source), pathlib.Path(build), pathlib.Path(scratch)
        self.entries = collections.defaultdict(list)  # path: (object, the compiler's words) for each target that it is compiled for
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            words = shlex.split(entry["command"])
            self.entries[os.path.relpath(entry["file"], self.source)].append((words[words.index("-o") + 1], words))
        self.links = {}
        self.plain = {}
        self.symbols = {}
        self.sound = {}
        self.patience_s = {}  # of tests that are known to take less

    def units_by_distance(self, path):
        """Unit tests by how many files' calls are between them and a file, at most two: by the objects' symbols."""
        if not self.symbols:
            made = {str(self.build / entries[0][0]): file for file, entries in self.entries.items() if (self.build / entries[0][0]).exists()}
            self.symbols = {file: (set(), set()) for file in made.values()}
            for line in subprocess.run(["nm", "-g", "-A", "--format=posix", *made], stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines():
                place, name, kind = line.split()[:3]
                self.symbols[made[place[:-1]]][kind == "U"].add(name)
        found, defined = {}, self.symbols[path][0]
        for distance in range(3):
            callers = {file for file, (_, needs) in self.symbols.items() if needs & defined}
            for file in callers:
                if file.startswith("tests/unit/"):
                    found.setdefault(pathlib.Path(file).stem[len("test_"):], distance)
            defined = set().union(*(self.symbols[file][0] for file in callers if not file.startswith("tests/")))
        own = pathlib.Path(path).stem
        return ["unit " + test for test in sorted(found, key=lambda test: (test != own, test.startswith("fuzz_"), found[test], not own.startswith(test), test))]

    def beside(self, scratch):
        """Another that judges at the same time, in another directory, and knows what this one knows."""
        other = copy.copy(self)
        other.scratch = pathlib.Path(scratch)
        other.scratch.mkdir()
        return other

    def replace(self, path, text):
        """From now on that file has that text."""
        self.path, self.text, self.objects, self.has_product = path, text, {}, False

    def compiled(self, at):
        """The object of the file for the target of that number; None: that is no C."""
        if at not in self.objects:
            words = list(self.entries[self.path][at][1])
            # its includes are by the repository's root, but for those of its own directory
            file, made = self.scratch / "mutant.c", self.scratch / ("mutant%d.o" % at)
            file.write_text(self.text)
            words[words.index("-o") + 1], words[-1] = str(made), str(file)
            words += ["-w", "-iquote", str((self.source / self.path).parent)]
            done = subprocess.run(words, cwd=self.build, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            self.objects[at] = made if done.returncode == 0 else None
        return self.objects[at]

    def code(self):
        """What is loaded of the object.  Lines that assert() has in it are equal, since a mutant moves none."""
        copy = str(self.compiled(0)) + ".code"
        subprocess.run(["objcopy", "--strip-all", "-R", ".comment", self.compiled(0), copy], check=True)
        return pathlib.Path(copy).read_bytes()

    def link(self, target, to):
        """Links a target of the build with the mutant's object in the place of its own.  False: the file is no part of it."""
        if target not in self.links:
            done = subprocess.run(["ninja", "-C", self.build, "-t", "commands", target], stdout=subprocess.PIPE, check=True, text=True)
            self.links[target] = next(shlex.split(line.replace(": && ", "").replace(" && :", "")) for line in reversed(done.stdout.splitlines()) if " -o " in line)
        words = list(self.links[target])
        words[words.index("-o") + 1] = str(to)
        archives = {os.path.basename(word) for word in words}
        for at, (made, _) in enumerate(self.entries[self.path]):
            if made in words:
                words[words.index(made)] = str(self.compiled(at))
            elif "lib%s.a" % re.search(r"CMakeFiles/([^/]+)\.dir/", made).group(1) in archives:
                words.insert(words.index("-o"), str(self.compiled(at)))  # what it defines is not taken from the archive
            else:
                continue
            subprocess.run(words, cwd=self.build, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True)
            return True
        return False

    def product(self):
        """A build directory whose program and library have the mutant."""
        place = self.scratch / "product"
        if not self.has_product:
            shutil.rmtree(place, ignore_errors=True)
            for name in ("bin", "lib", "share"):
                if (self.build / name).exists():
                    shutil.copytree(self.build / name, place / name)
            for name in ("tests", "CMakeCache.txt"):
                os.symlink(self.build / name, place / name)
            for target in ("bin/seen", "lib/seen/libseen.so"):
                self.link(target, place / target)
            self.has_product = True
        return place

    def environment(self, build):
        return {"PATH": os.environ["PATH"], "HOME": "/tmp", "LC_ALL": "C.UTF-8", "SEEN_BUILD": str(build), "SEEN_SOURCE": str(self.source), "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONPATH": str(self.source / "tests/support"), "PLAIN_FIRST": "1"}

    def passes(self, test):
        kind, _, name = test.partition(" ")
        if kind != "unit":
            return self.passes_by(test, self.product())
        program = self.scratch / ("unit_" + name)
        return not self.link("unit_" + name, program) or self.succeeds([program], self.environment(self.build), UNIT_PATIENCE_S)

    def passes_by(self, test, build, writable=None):
        """A test of a product, which may write to one place of its build."""
        kind, way, what = test.split(" ", 2)
        support, environment = self.source / "tests/support", self.environment(build)
        sandbox = [*SANDBOX, *(["--bind", writable, writable] if writable else [])]
        if kind == "program":
            return self.succeeds([support / "run-program", way, self.build / "tests/programs" / what], environment, UNIT_PATIENCE_S, sandbox)
        file, _, methods = what.partition(":")
        words = [support / "run-unittest", self.source / ("tests/behaviour/test_%s.py" % file), *methods.split()]
        return self.succeeds(words, {**environment, "SEEN_TEST_VIA": way}, min(PATIENCE_S, self.patience_s.get(test, PATIENCE_S)), sandbox)

    def succeeds(self, words, environment, patience_s, sandbox=SANDBOX):
        """Does a test pass?  In a sandbox: what a mutant removes and writes is lost with it, and what it leaves behind ends with it."""
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_S, PROCESSOR_S))

        try:
            return subprocess.run([*map(str, sandbox), *map(str, words)], cwd=self.scratch, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, timeout=patience_s, preexec_fn=limit, check=False).returncode == 0
        except subprocess.TimeoutExpired:
            return False

    def judge(self, path, text, tests):
        """The file with another text: NO_C, EQUAL (the compiler makes the same of it), SURVIVES, or the test that kills it."""
        if path not in self.plain:
            self.replace(path, (self.source / path).read_text())
            self.plain[path] = self.code()
        self.replace(path, text)
        if self.compiled(0) is None:
            return NO_C
        if self.code() == self.plain[path]:
            return EQUAL
        return next((test for test in tests if not self.passes(test) and self.is_sound(test) and not self.passes(test)), SURVIVES)

    def is_sound(self, test):
        """Does a test that fails with a mutant pass without?  Not each one does in the sandbox, nor on a busy machine each time: it has to fail twice."""
        if test not in self.sound:
            mutant = self.path, self.text
            self.replace(self.path, (self.source / self.path).read_text())
            self.sound[test] = self.passes(test)
            self.replace(*mutant)
        return self.sound[test]
