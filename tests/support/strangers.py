"""Test suites that other projects wrote, run bare and under seen, and compared test by test.

A suite has units, most often files of tests.  A shell command runs some of them in the suite's tree, and prints a line for each test, or each unit's status.  What
differs from bare is run once more, bare and under seen: a test that gave two results bare is named, and counts no more.

Ways under seen:
    observed     by preload: recorded only; the programs are plain tools
    answered     by preload: answers on; the player is the agent, what the suite prints is what its model sees, and the programs that are tested are viewers
    supervise    the same, by the supervisor alone
    both         the same, by preload and the supervisor
"""
import glob
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree

from debian_sources import Failed, Sources
from player import Player

ANSWERED = ["--mode", "substitute", "--agent-is", "inside", "--agent", "player.py"]
WAYS = {
    "observed": ["--via", "preload", "--mode", "observe", "--agent-is", "inside"],
    "answered": ["--via", "preload", *ANSWERED],
    "supervise": ["--via", "supervise", *ANSWERED],
    "both": ["--via", "both", *ANSWERED],
}
PATIENCE_S = 3600
TAP = r"^(?P<result>ok|not ok) (?P<name>\d+)(?:.*(?P<more># (?:skip|SKIP|TODO)))?"
AUTOMAKE = r"^(?P<result>PASS|FAIL|SKIP|XFAIL|XPASS|ERROR): (?P<name>\S+)"


def each(command):
    """A shell command that runs another for each unit, $UNIT, and prints which it is, and the status."""
    return r'for UNIT in $UNITS; do echo "@@ $UNIT"; (%s) 2>&1; printf "\n@@= %%s\n" $?; done' % command


class Stranger:
    """A suite: its name, which is its source package's; units: globs below its tree, or words where `fixed`; run: a shell command in its tree, with UNITS; line: an
    expression of a test's line, with groups name, result, perhaps more; build: a shell command in the fresh tree; programs: those that are tested, for `answered`."""

    def __init__(self, name, units, run, line="^(?!)", build="true", programs="", fixed=False, as_root=False):
        self.name, self.patterns, self.command, self.line, self.build, self.programs = name, units.split(), run, re.compile(line), build, programs
        self.fixed, self.as_root = fixed, as_root

    def prepare(self, sources, directory):
        """Makes `tree` below the directory, and builds it."""
        self.directory, self.tree = directory, os.path.join(directory, "tree")
        ready = os.path.join(directory, "ready")
        if not os.path.exists(ready):
            subprocess.run(["rm", "-rf", directory], check=True)
            os.makedirs(directory)
            self.lay(sources)
            done = subprocess.run(["bash", "-euc", self.build], cwd=self.tree, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                                  env={**os.environ, "HOME": directory, "LANG": "C.UTF-8", "FORCE_UNSAFE_CONFIGURE": "1", "CFLAGS": "-O1"})
            with open(os.path.join(directory, "build.log"), "wb") as log:
                log.write(done.stdout)
            if done.returncode:
                raise Failed("it cannot be built: %s" % os.path.join(directory, "build.log"))
            with open(ready, "w", encoding="utf-8") as file:
                file.write(self.version + "\n")
        with open(ready, encoding="utf-8") as file:
            self.version = file.read().strip()

    def lay(self, sources):
        dsc = sources.download(self.name)
        self.version = os.path.basename(dsc)[len(self.name) + 1:-len(".dsc")]
        sources.unpack(dsc, self.tree)

    def units(self):
        if self.fixed:
            return self.patterns
        left = {name for pattern in self.patterns if pattern[0] == "!" for name in glob.glob(pattern[1:], root_dir=self.tree)}
        found = {name for pattern in self.patterns if pattern[0] != "!" for name in glob.glob(pattern, root_dir=self.tree)}
        if self.line.pattern == AUTOMAKE:
            found = {name for name in found if os.access(os.path.join(self.tree, name), os.X_OK) and os.path.isfile(os.path.join(self.tree, name))}
        return sorted(found - left)

    def options(self, way):
        if not way:
            return None
        more = ["-c", "processes.viewers=cat " + self.programs] if self.programs and way != "observed" else []
        return WAYS[way] + more

    def one(self, way, units):
        """{(unit, test): result}.  A unit that has no tests of its own names has ""."""
        player = Player(self.options(way), self.directory, self.environment())
        try:
            said = player.run("UNITS='%s'\n%s" % ("\n".join(units), self.command), self.tree, PATIENCE_S)
        finally:
            player.close()
        with open(os.path.join(self.directory, "log.%s" % (way or "bare")), "a", encoding="utf-8") as log:
            log.write(said["out"] + said["err"])
        return self.results(said)

    @staticmethod
    def environment():
        return {}

    def results(self, said):
        found, unit = {}, ""
        for line in said["out"].splitlines():
            if line.startswith("@@ "):
                unit = line[3:]
            elif line.startswith("@@= "):
                found[unit, ""] = line[4:]
            else:
                match = self.line.match(line)
                if match:
                    words = match.groupdict()
                    key = (unit or words["name"], words["name"])
                    result = words["result"] + " " + (words.get("more") or "")
                    found[key] = result if key not in found else found[key] + ", " + result  # two of one name
        return found


class Python(Stranger):
    """`python3 -m test` of Debian's libpython3.N-testsuite: units are modules."""

    # Need a peer that containers often do not have, or are about a build of Python.
    LEFT = ["-i", "*VSOCK*", "-i", "*test_socket.*Bluetooth*"]

    def __init__(self, modules=""):
        super().__init__("cpython", modules, "", fixed=True)

    def prepare(self, sources, directory):
        self.directory, self.tree = directory, os.path.join(directory, "tree")
        os.makedirs(self.tree, exist_ok=True)
        self.python = next((path for path in sorted(glob.glob("/usr/bin/python3.*")) if re.fullmatch(r".*python3\.\d+", path) and subprocess.run(
            [path, "-c", "import test.libregrtest, test.test_io"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0), None)
        if not self.python:
            raise Failed("no python3 with its tests (Debian: libpython3-testsuite)")
        self.version = subprocess.run([self.python, "-V"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()[1]

    def units(self):
        listed = subprocess.run([self.python, "-m", "test", "--list-tests"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
        return [name for name in self.patterns or listed if name in listed]

    def one(self, way, units):
        self.report = os.path.join(self.directory, "report.xml")
        if os.path.exists(self.report):
            os.unlink(self.report)
        self.command = " ".join([self.python, "-m test -j2 --timeout 600 --junit-xml", self.report, *("'%s'" % word for word in self.LEFT), "$UNITS"])
        return super().one(way, units)

    def results(self, said):
        found = {}
        if os.path.exists(self.report):
            for suite in xml.etree.ElementTree.parse(self.report).getroot().iter("testsuite"):
                for case in suite.iter("testcase"):
                    bad = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
                    name = case.get("name")
                    unit = next((part for part in name.split(".") if part.startswith("test_")), name)
                    found[unit, name] = " ".join([found.get((unit, name), ""), *bad]).strip()
        return found


class Npm(Stranger):
    """Packages of npm that have their tests in them, for tape: installed by `npm ci`, each in a project of its own, and tested."""

    COMMAND = r"""cd "$UNIT" && rm -rf node_modules && npm ci --silent --no-audit --no-fund; echo "ok 0 ci $?"
find node_modules -name .package-lock.json -prune -o -type f -print0 | sort -z | xargs -0 sha1sum | sha1sum | sed "s/^/ok 0 tree /"
node_modules/.bin/tape "node_modules/$UNIT/test/*.js" """
    LAY = """for p in %s; do mkdir "$p"; printf '{"private": true, "dependencies": {"%%s": "*", "tape": "^5"}}' "$p" > "$p/package.json"
(cd "$p" && npm install --silent --ignore-scripts --no-audit --no-fund --package-lock-only); done"""

    def __init__(self, packages):
        super().__init__("npm", packages, each(self.COMMAND), r"^(?P<result>ok|not ok) (?P<name>\d+)(?P<more> (?:ci|tree) \S+)?", build=self.LAY % packages, fixed=True)

    def lay(self, sources):
        os.makedirs(self.tree)
        self.version = subprocess.run(["npm", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


class Root(Stranger):
    """`apt-get install` of a package in a root of its own, which needs root."""

    COMMAND = """rm -rf root; cp -a base root; chroot root apt-get -qq -y --no-install-recommends install "$UNIT" > said 2>&1; echo "ok 0 status $?"
chroot root dpkg-query -W | sha1sum | sed 's/^/ok 1 packages /'; chroot root dpkg --audit | sha1sum | sed 's/^/ok 2 audit /'
cd root; rm -rf var/log var/cache; find . -path ./proc -prune -o -path ./sys -prune -o -printf '%p %y %m %U %l\\n' | sort | sha1sum | sed 's/^/ok 3 names /'
find . -path ./proc -prune -o -path ./sys -prune -o -type f -print0 | sort -z | xargs -0 sha1sum | sha1sum | sed 's/^/ok 4 contents /'"""

    def __init__(self, packages):
        super().__init__("apt", packages, each(self.COMMAND), r"^ok (?P<name>\d) (?P<result>.*)", fixed=True, as_root=True)

    def lay(self, sources):
        os.makedirs(self.tree)
        self.version = "bookworm"
        self.build = "debootstrap --variant=minbase bookworm base http://deb.debian.org/debian"


def suites():
    """All, the cheapest first."""
    # Debian's patches make the files of automake look old: its own version need not be here
    make = "touch aclocal.m4; find . -name Makefile.in -o -name configure -o -name 'config*.h*in' | xargs touch; ./configure -q && make -s -j2 && "
    own = "make -s -j2 check TESTS= SUBDIRS=."
    check = 'make -s -k -j2 check-TESTS TESTS="$(echo $UNITS)" 2>&1'
    return [
        Stranger("bash", "tests/run-* !tests/run-all !tests/run-minimal !tests/run-gprof !tests/*.orig",
                 'cd tests; export THIS_SH=/bin/bash BUILD_DIR=$PWD/.. PATH=$PWD:$PATH; ' + each('export BASH_TSTOUT=$TMPDIR/out; rm -f $BASH_TSTOUT; sh ./${UNIT#*/}'),
                 build="for p in recho zecho printenv xcase; do gcc -w -I. -Iinclude -DHAVE_STRING_H -DHAVE_STDLIB_H -DHAVE_UNISTD_H -o tests/$p support/$p.c; done"),
        Stranger("perl", "t/base/*.t t/cmd/*.t t/io/*.t t/op/*.t", "cd t; " + each("./perl TEST -v ${UNIT#t/}"), TAP, build="""
cp -an /usr/share/perl/5.*/. /usr/lib/*/perl/5.*/. /usr/lib/*/perl-base/. lib/ || :; ln -sf /usr/bin/perl perl; ln -sf ../perl t/perl""", programs="perl"),
        Stranger("sed", "testsuite/*.sh testsuite/*.pl", check, AUTOMAKE, make + own, "sed"),
        Stranger("diffutils", "tests/*", "cd tests; UNITS=$(echo \"$UNITS\" | sed s:tests/::); " + check, AUTOMAKE, make + "cd tests && " + own, "diff cmp sdiff diff3"),
        Stranger("grep", "tests/* !tests/get-mb-cur-max", "cd tests; UNITS=$(echo \"$UNITS\" | sed s:tests/::); " + check, AUTOMAKE, make + "cd tests && " + own, "grep egrep fgrep"),
        Stranger("tcl8.6", "tests/*.test", "cd unix; export TCL_LIBRARY=$PWD/../library; " + each('./tcltest ../$UNIT -verbose ps'),
                 r"^(?:\+\+\+\+|====) (?P<name>\S+) .*?(?P<result>PASSED|SKIPPED|FAILED)", "cd unix && ./configure -q && make -s -j2 all tcltest", "tcltest tclsh"),
        Stranger("git", "t/t0*.sh t/t1[0-4]*.sh t/t2*.sh t/t3[0-4]*.sh", "cd t; " + each('bash ./${UNIT#t/}'), TAP, "make -s -j2 NO_GETTEXT=1 NO_TCLTK=1 NO_CURL=1 all", "git"),
        Stranger("coreutils", "tests/*/*.sh tests/*/*.pl", check, AUTOMAKE, make + own, "cat head tail tac nl od sort cut tr wc"),
        # dbpagefault: how many tests it has depends on the size of the environment
        Stranger("sqlite3", "test/[a-m]*.test !test/dbpagefault.test", each("./testfixture $UNIT"), r"^(?:! )?(?P<name>\S+?)(?:\.\.\. (?P<result>Ok|Omitted)| expected)",
                 "./configure -q && make -s -j2 testfixture", "testfixture"),
        Stranger("nodejs", "test/parallel/*.js test/parallel/*.mjs", each('timeout 60 node $(sed -n "s,^// Flags: ,,p" $UNIT) $UNIT'), programs="node"),
        Npm("minimist json-stable-stringify has-symbols side-channel function-bind"),
        Root("nginx-light"),
        Python(),
    ]


class Outcome:
    """What came of a suite: .differences: {way: {(unit, test): (bare, seen)}}, the same twice; .once: those that were different once; .unsteady: bare not twice the same."""

    def __init__(self, suite, units, tests):
        self.suite, self.units, self.tests = suite, units, tests
        self.passed = sum(result.strip().split(" ")[0] in ("", "0", "ok", "PASS", "PASSED", "Ok") for result in tests.values())
        self.differences, self.once, self.unsteady = {}, {}, set()

    def row(self, way):
        if way not in self.differences:
            return "-"
        return "%d%s" % (len(self.differences[way]), " (%d once)" % self.once[way] if self.once[way] else "")

    def __str__(self):
        words = ["%s %s: %d units, %d tests, %d passed bare, %d unsteady bare; differences:" % (
            self.suite.name, self.suite.version, len(self.units), len(self.tests), self.passed, len(self.unsteady)),
                 *("%s %s" % (way, self.row(way)) for way in self.differences)]
        lines = [" ".join(words)]
        for way, found in self.differences.items():
            lines += ["    %s: %s %s: bare %s, seen %s" % (way, *name, *results) for name, results in sorted(found.items())[:40]]
        return "\n".join(lines + ["    unsteady: %s %s" % name for name in sorted(self.unsteady)[:40]])


def differing(first, second):
    return {name for name in first.keys() | second.keys() if first.get(name) != second.get(name)}


def compare(suite, ways, units):
    """Runs units of a suite bare, and by each way."""
    first = suite.one(None, units)
    outcome = Outcome(suite, units, first)
    for way in ways:
        found = differing(first, suite.one(way, units)) - outcome.unsteady
        outcome.once[way], outcome.differences[way] = len(found), {}
        if not found:
            continue
        again = sorted({unit for unit, _ in found})
        bare, seen = suite.one(None, again), suite.one(way, again)
        outcome.unsteady |= {name for name in found if bare.get(name) != first.get(name)}
        outcome.differences[way] = {name: (first.get(name), seen.get(name)) for name in found - outcome.unsteady if seen.get(name) != first.get(name)}
        outcome.once[way] -= len(outcome.differences[way])
    return outcome


def campaign(top, chosen, ways, every=1, stream=sys.stdout):
    """Runs suites, of each every N-th unit, below a directory, which keeps what is fetched and built.  Returns the outcomes; a suite that cannot run is a text."""
    for name in [name for name in os.environ if name.startswith(("SEEN_", "XDG_", "LD_"))]:
        del os.environ[name]
    os.makedirs(top, exist_ok=True)
    sources, outcomes, updated = Sources(top), [], False
    for suite in chosen:
        begin = time.monotonic()
        if suite.as_root and os.geteuid():
            print("%s: not run: it needs root" % suite.name, file=stream, flush=True)
            continue
        try:
            if not updated and type(suite) is Stranger and not os.path.exists(os.path.join(top, suite.name, "ready")):
                sources.update()
                updated = True
            suite.prepare(sources, os.path.join(top, suite.name))
            outcome = compare(suite, ways, suite.units()[::every])
        except (Failed, OSError, subprocess.SubprocessError) as error:
            outcome = "%s could not be run: %s" % (suite.name, error)
        outcomes.append(outcome)
        print("%s   (%d s)" % (outcome, time.monotonic() - begin), file=stream, flush=True)
    return outcomes
