"""Packages (packaging/, scripts/package) of this build: what is in them, that what they install works and goes again.

Each is installed below a directory.  test_systems_long.py builds packages for many systems and installs them in roots of those.
"""
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

import systems
from driver import BUILD, DEADLINE, SANITIZED, SOURCE, Case

MACHINE = os.uname().machine
VERSION = "1.2.3"
STATIC = 'extern int puts(const char *); int main(int argc, char **argv) { return puts(argc > 1 ? argv[1] : "static") < 0; }\n'
needs = {name: unittest.skipUnless(shutil.which(name), f"no {name}") for name in ("dpkg-deb", "dpkg", "rpmbuild", "rpm", "lintian", "bwrap", "musl-gcc")}


def run(*words, **more):
    more.setdefault("check", True)
    more.setdefault("timeout", DEADLINE)
    return subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


def install(prefix, manifest=os.devnull, **variables):
    """Installs this build; the list of what it installed goes to `manifest`, and another one that the build directory has stays."""
    own, kept = BUILD / "install_manifest.txt", BUILD / f"install_manifest.{os.getpid()}"
    if own.exists():
        own.rename(kept)
    try:
        run("cmake", "--install", BUILD, "--prefix", prefix, "--strip", env={**os.environ, **variables})
        pathlib.Path(manifest).write_text(own.read_text())
    finally:
        own.unlink(missing_ok=True)
        if kept.exists():
            kept.rename(own)


@unittest.skipUnless(shutil.which("cmake") and shutil.which("git"), "needs cmake and git")
class Version(Case):
    """Of a build and of a package: the newest tag's; what has none says so."""

    def setUp(self):
        super().setUp()
        self.source = self.top / "source"
        for name in ("config/version.cmake", "config/commit.txt", "scripts/package", "scripts/lib.sh", "CMakeLists.txt", "CHANGELOG.md"):
            (self.source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCE / name, self.source / name)

    def git(self, *words):
        return run("git", "-c", "user.name=A", "-c", "user.email=a@localhost", "-C", self.source, *words, env=self.env).stdout

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "x")

    def built(self):
        """What `seen --version` prints between the brackets, without the commit; the version that is built."""
        run("cmake", f"-DSOURCE={self.source}", f"-DOUTPUT={self.top}/commit.h", "-P", self.source / "config/version.cmake", env=self.env)
        (self.top / "print.cmake").write_text(f"set(seen_version NEXT)\ninclude({self.source}/config/version.cmake)\nmessage(STATUS ${{seen_version}})\n")
        version = run("cmake", "-P", self.top / "print.cmake", env=self.env).stdout.strip().removeprefix("-- ")
        return re.search('RELEASE "(.*)"', (self.top / "commit.h").read_text())[1], version

    def packaged(self, function="package_version", before=":", words=""):
        """What a function of scripts/package has as its result, after some script and with some words."""
        script = f"set -euo pipefail; set -- --help; . {self.source}/scripts/lib.sh; root={self.source} scratch={self.top}/scratch; " + re.search(
            rf"(?ms)^{function}\(\) \{{.*?^\}}", (self.source / "scripts/package").read_text())[0] + f"; {before}; {function} {words}"
        done = run("bash", "-c", script, env=self.env, check=False)
        return done.returncode, done.stdout.strip()

    def test_by_tags(self):
        self.assertEqual(self.built(), ("", "NEXT"), "neither git nor an archive: nothing is known")
        next_version = re.search(r"seen_version ([\d.]+)\)", (self.source / "CMakeLists.txt").read_text())[1]
        self.git("init", "-q")
        self.commit()
        self.assertEqual(self.built(), ("no tag, ", "NEXT"))
        self.assertRegex(self.packaged()[1], rf"^{re.escape(next_version)}~\d{{8}}\.g[0-9a-f]{{7}}$")
        (self.source / "CHANGELOG.md").write_text("# Changelog\n\n## [3.4.5] - 2030-01-02\n")
        self.commit()
        self.git("tag", "v3.4.5")
        self.assertEqual(self.built(), ("", "3.4.5"))
        self.assertEqual(self.packaged(), (0, "3.4.5"))
        self.commit()
        self.assertEqual(self.built(), ("1 commit later, ", "3.4.5"))
        self.assertRegex(self.packaged()[1], r"^3\.4\.5\+1\.g[0-9a-f]{7}$")

    def test_each_unit_test_is_built(self):
        """Where one is not, no package is made, whatever an earlier call built."""
        scratch, made = self.top / "scratch", self.top / "programs/aarch64/unit"
        for name in ("room/test_one.c", "room/test_two.c"):
            (scratch / "source/tests/unit/room").mkdir(parents=True, exist_ok=True)
            (scratch / "source/tests/unit" / name).touch()
        built = scratch / "aarch64/tests/unit"
        built.mkdir(parents=True)
        for names, status, code, said in ((("one", "two"), 0, 0, ""), (("one", "two"), 1, 1, "see "), (("one",), 0, 1, "test_two"),
                                          (("one", "two", "three"), 0, 1, "test_three"), ((), 0, 1, "test_one")):
            with self.subTest(names=names, status=status):
                for directory in (built, made):
                    shutil.rmtree(directory, ignore_errors=True)
                    directory.mkdir(parents=True)
                for name in names:
                    (built / f"test_{name}").touch()
                got, out = self.packaged("build_unit_tests", f"output={self.top} programs={self.top}/programs; "
                                         f'in_debian_11() {{ [ "$2" = cmake ] || {{ echo built; return {status}; }}; }}; set -- aarch64', '"$1"')
                self.assertEqual((got, said in out), (code, True), out)
                self.assertEqual((self.top / "unit-aarch64.log").exists(), code != 0)

    def test_scratch_of_another_commit(self):
        """What --scratch has of one commit stays for it alone: its files, and what was built of them."""
        scratch = self.top / "scratch"
        built = scratch / "x86_64/built"
        scratch.mkdir()
        self.git("init", "-q")
        (self.source / "gone.c").write_text("")
        self.commit()
        for _ in range(2):
            self.assertEqual(self.packaged("unpack_commit"), (0, ""))
            self.assertTrue((scratch / "source/gone.c").exists())
            built.parent.mkdir(exist_ok=True)
            built.touch()
        self.packaged("unpack_commit")
        self.assertTrue(built.exists())
        (self.source / "gone.c").unlink()
        self.commit()
        self.assertEqual(self.packaged("unpack_commit"), (0, ""))
        self.assertEqual(((scratch / "source/gone.c").exists(), built.exists()), (False, False))
        self.assertTrue((scratch / "source/scripts/package").exists())

    def test_a_release_has_its_section(self):
        """The changelog of what a tag names has a section of that version with a date."""
        self.git("init", "-q")
        self.commit()
        self.git("tag", "v3.4.5")
        code, text = self.packaged()
        self.assertEqual((code, "CHANGELOG.md has no section [3.4.5] with a date" in text), (1, True), text)

    def test_the_changelog_s_first_section_is_the_program_s(self):
        version = run(BUILD / "bin/seen", "--version").stdout
        section = re.search(r"(?m)^## \[([\d.]+)\] - (Unreleased|\d{4}-\d\d-\d\d)$", (SOURCE / "CHANGELOG.md").read_text())
        if "later" not in version:
            self.assertEqual(section[1], version.split()[1])
        if "no tag" in version:
            self.assertEqual(section[2], "Unreleased")


class Systems(unittest.TestCase):
    def test_rows_of_the_page(self):
        """One for each system that test_systems_long.py tries, of a run, or with dashes alone."""
        rows = systems.rows_of((SOURCE / "docs/systems.md").read_text())
        self.assertEqual(sorted(rows), sorted(systems.ROWS))
        for key, (_, cells) in rows.items():
            self.assertRegex(cells[-1], r"^\d{4}-\d\d-\d\d, [0-9a-f]{7}$" if set(cells) - {*key, systems.NOT_TRIED} else f"^{systems.NOT_TRIED}$", key)

    def test_unit_tests_are_plain_programs_too(self):
        """Where Criterion cannot run they have tests/support/plain, which has what they use of it."""
        def names(directory, pattern):
            return {name for path in (SOURCE / directory).rglob("*.[ch]") for name in re.findall(pattern, path.read_text())}
        self.assertEqual(names("tests/unit", r"\bcr_\w+") - names("tests/support/plain", r"(?m)^(?:#define|static inline\b.*?)[ *](cr_\w+)"), set())

    @unittest.skipUnless((BUILD / "compile_commands.json").exists(), "no list of the compiler's calls")
    def test_older_headers(self):
        """What those of Debian 11 lack is defined wherever it is named."""
        headers = "sys/mman.h", "sys/syscall.h", "unistd.h", "linux/close_range.h", "linux/seccomp.h"
        names = {name for header in ("tracker/sys/numbers.h", "shim/start/compat.h", "shim/preload/real.h")
                 for name, again in re.findall(r"(?m)^#ifndef (\w+).*\n#define (\w+)", (SOURCE / header).read_text()) if name == again}
        calls = [call for call in json.loads((BUILD / "compile_commands.json").read_text())
                 if "tests/" not in call["file"] and re.search(rf"\b({'|'.join(names)})\b", pathlib.Path(call["file"]).read_text())]
        self.assertGreater(len(calls), 10)
        with tempfile.TemporaryDirectory() as scratch:
            lacking = pathlib.Path(scratch, "lacking.h")
            lacking.write_text("".join([*(f"#include <{header}>\n" for header in headers), *(f"#undef {name}\n" for name in sorted(names))]))
            for call in {call["file"]: call for call in calls}.values():
                words = shlex.split(call["command"].rpartition(" -o ")[0])
                words = words[1:] if words[0].endswith("ccache") else words
                done = run(*words, "-include", lacking, "-fsyntax-only", call["file"], cwd=call["directory"], check=False)
                self.assertEqual(done.returncode, 0, done.stdout)

    def test_cells_of_a_run(self):
        """Of programs, how many there are; a test that is left out is named as one of several is."""
        printed = "installs\tok\tseen 0.2.0\ncalls\tok\t55 of 56 programs the same, 8 not for this system\nunits\tok\t99 of 99 programs passed but for {}, 3 skipped\nsink\tfailed\t\n"
        for left_out, cell in (("2 tests", "99 of 99 but for 2 tests"), ("1 test", "99 of 99 but for 1 test"), ("0 tests", "99 of 99")):
            self.assertEqual(systems.cells_of(printed.format(left_out)), {"installs": "yes", "calls": "55 of 56", "units": cell, "sink": "no"})


@unittest.skipIf(SANITIZED, "what is installed is not sanitized")
class Packages(Case):
    """The tree is installed once for all tests."""

    @classmethod
    def setUpClass(cls):
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="seen-packages-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        cls.tree = cls.shared / "tree"
        cls.environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000", "DEBFULLNAME": "A Packager", "DEBEMAIL": "packager@debian.org"}
        install("/usr", DESTDIR=str(cls.tree))

    def package(self, *formats, output=None, static=None):
        """Makes packages; the path of the last."""
        done = run(SOURCE / "packaging/packages.py", "--tree", self.tree, "--arch", MACHINE, "--version", VERSION, "--output", output or self.top / "out",
                   *(("--static", static) if static else ()), *formats, env=self.environment)
        return pathlib.Path(done.stdout.split()[-1])

    @classmethod
    def made_deb(cls):
        """One for all tests that change nothing of it."""
        if not (cls.shared / "SHA256SUMS").exists():
            cls.package(cls, "deb", output=cls.shared)
        return next(cls.shared.glob("*.deb"))

    def static(self):
        (self.top / "static.c").write_text(STATIC)
        run("musl-gcc", "-static", "-o", self.top / "static-program", self.top / "static.c")
        return self.top / "static-program"

    def works(self, prefix):
        """What lies below the prefix does what it is for: the scripted agent's second cat is a notice, a removed file comes back."""
        self.assertRegex(run(prefix / "bin/seen", "--version").stdout, r"^seen \d+\.\d+\.\d+ \(")
        env = {**self.env, "XDG_CONFIG_HOME": str(self.top / "none")}
        done = run(prefix / "lib/seen/seen-demo-agent", env=env, cwd=self.work)
        self.assertIn("[File previously read: notes.txt", done.stdout)
        self.assertIn("1 repeated request answered", done.stdout)
        name = "s" + str(len(list((self.home / ".local/state/seen").glob("s*"))))
        (self.work / "kept").write_text("content\n")
        run(prefix / "bin/seen", "run", "--session", name, "--", "rm", "kept", env=env, cwd=self.work)
        self.assertFalse((self.work / "kept").exists())
        run(prefix / "bin/seen", "undo", "--session", name, "--all", env=env, cwd=self.work)
        self.assertEqual((self.work / "kept").read_text(), "content\n")

    def names(self, directory):
        return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if not path.is_dir() or path.is_symlink())

    def test_the_library_s_own_memory(self):
        """It is taken from a program whose data are limited: with more of it programs.memory_limit fails in Debian sid."""
        headers = run("readelf", "-lW", self.tree / "usr/lib/seen/libseen.so").stdout
        self.assertLessEqual(int(re.search(r"LOAD +\S+ \S+ \S+ \S+ (\S+) RW ", headers)[1], 16), 765_000)

    @needs["dpkg-deb"]
    def test_deb(self):
        package = self.made_deb()
        fields = dict(line.split(": ", 1) for line in run("dpkg-deb", "-f", package).stdout.splitlines() if re.match(r"[A-Z][\w-]*: ", line))
        self.assertEqual((fields["Package"], fields["Version"], fields["Maintainer"]), ("seen", VERSION + "-1", "A Packager <packager@debian.org>"))
        newest = max(re.findall(r"GLIBC_([\d.]+)", run("objdump", "-T", self.tree / "usr/bin/seen", self.tree / "usr/lib/seen/libseen.so").stdout),
                     key=lambda version: tuple(map(int, version.split("."))))
        self.assertIn(f"libc6 (>= {newest})", fields["Depends"])
        for line in run("dpkg-deb", "-c", package).stdout.splitlines():
            self.assertRegex(line, r"^(drwxr-xr-x|-rw-r--r--|-rwxr-xr-x) root/root ")
        root = self.top / "root"
        run("dpkg-deb", "-x", package, root)
        self.works(root / "usr")
        for page in ("seen", "seen-run", "seen-undo"):
            self.assertIn(f"usr/share/man/man1/{page}.1.gz", self.names(root))

    @needs["dpkg"]
    @unittest.skipIf(os.geteuid() != 0, "dpkg installs for root")
    def test_deb_is_installed_and_removed(self):
        package, root = self.made_deb(), self.top / "root"
        for name in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "etc"):
            (root / name).mkdir(parents=True)
        for name in ("var/lib/dpkg/status", "var/lib/dpkg/available"):
            (root / name).touch()
        before = set(self.names(root))
        run("dpkg", f"--root={root}", "--force-depends", "-i", package)
        self.works(root / "usr")
        run("dpkg", f"--root={root}", "-P", "seen")
        left = {name for name in set(self.names(root)) - before if not name.startswith("var/l")}
        self.assertEqual(left, set())
        self.assertFalse((root / "usr").exists() and any(path.name == "seen" for path in (root / "usr").rglob("*")))

    @needs["lintian"]
    def test_deb_is_clean(self):
        package = self.made_deb()
        done = run("lintian", "--allow-root", "--fail-on", "error,warning", "--suppress-tags", "initial-upload-closes-no-bugs",
                   package, check=False, timeout=10 * DEADLINE)
        self.assertEqual((done.returncode, [line for line in done.stdout.splitlines() if re.match("[EW]: ", line)]), (0, []), done.stdout)

    @needs["rpmbuild"]
    @unittest.skipIf(os.geteuid() != 0, "rpm installs for root")
    def test_rpm_is_installed_and_removed(self):
        package, root = self.package("rpm"), self.top / "root"
        self.assertEqual(package.name, f"seen-{VERSION}-1.{MACHINE}.rpm")
        self.assertRegex(run("rpm", "-qp", "--requires", package).stdout, r"libc\.so\.6\(GLIBC_[\d.]+\)")
        root.mkdir()
        rpm = ("rpm", "--root", root, "--dbpath", "/var/lib/rpm")
        run(*rpm, "--initdb")
        run(*rpm, "--force-debian", "--nodeps", "-i", package)
        self.works(root / "usr")
        self.assertEqual(run(*rpm, "-V", "--nodeps", "seen").stdout, "")
        run(*rpm, "--force-debian", "-e", "seen")
        self.assertEqual([name for name in self.names(root) if "var/lib/rpm" not in name], [])
        self.assertEqual([path for path in root.rglob("seen")], [])
        self.assertEqual([str(path) for path in root.rglob("*completions*")] + [str(path) for path in root.rglob("*functions*")], [],
                         "no directory of a shell that is not there")

    def test_tarball_runs_anywhere(self):
        package = self.package("tar")
        for place in ("one", "another/place"):
            (self.top / place).mkdir(parents=True)
            run("tar", "-C", self.top / place, "-xf", package)
            top, = (self.top / place).iterdir()
            self.assertEqual(top.name, f"seen-{VERSION}-linux-{MACHINE}")
            self.works(top)
            (self.work / "link").symlink_to(top / "bin/seen")
            done = run(self.work / "link", "run", "--session", place.replace("/", "-"), "--summary", "--", "true", env=self.env, cwd=self.work)
            self.assertIn("1 process", done.stdout)
            (self.work / "link").unlink()
            shutil.rmtree(self.top / "one", ignore_errors=True)  # the other needs nothing of it

    @needs["musl-gcc"]
    @needs["bwrap"]
    def test_image(self):
        package, layout = self.package("oci", static=self.static()), self.top / "layout"
        layout.mkdir()
        run("tar", "-C", layout, "-xf", package)

        def blob(descriptor):
            data = (layout / "blobs/sha256" / descriptor["digest"].removeprefix("sha256:")).read_bytes()
            self.assertEqual((len(data), "sha256:" + hashlib.sha256(data).hexdigest()), (descriptor["size"], descriptor["digest"]))
            return data

        self.assertEqual(json.loads((layout / "oci-layout").read_text()), {"imageLayoutVersion": "1.0.0"})
        descriptor, = json.loads((layout / "index.json").read_text())["manifests"]
        manifest = json.loads(blob(descriptor))
        config, root = json.loads(blob(manifest["config"])), self.top / "root"
        root.mkdir()
        for layer, unpacked in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
            (self.top / "layer").write_bytes(blob(layer))
            done = subprocess.run(["gzip", "-dc"], stdin=open(self.top / "layer", "rb"), stdout=subprocess.PIPE, check=True)
            self.assertEqual("sha256:" + hashlib.sha256(done.stdout).hexdigest(), unpacked)
            run("tar", "-C", root, "-xf", self.top / "layer")
        self.assertEqual(config["config"]["Entrypoint"], ["/bin/seen"])
        in_image = ("bwrap", "--bind", root, "/", "--proc", "/proc", "--dev", "/dev", "--unshare-all", "--clearenv")
        self.assertEqual(run(*in_image, *config["config"]["Entrypoint"], "argument").stdout, "argument\n")
        self.works(root / "opt/seen")

    @needs["musl-gcc"]
    def test_static_tarball(self):
        package = self.package("static", static=self.static())
        run("tar", "-C", self.top, "-xf", package)
        top = self.top / f"seen-{VERSION}-linux-{MACHINE}-static"
        self.assertEqual(run(top / "bin/seen").stdout, "static\n")
        self.assertFalse((top / "lib").exists())
        self.assertTrue((top / "share/man/man1/seen-run.1").exists())

    def test_sums_and_the_same_bytes(self):
        self.package("tar", "deb" if shutil.which("dpkg-deb") else "tar", output=self.top / "one")
        os.utime(self.tree / "usr/bin/seen")
        self.package("tar", output=self.top / "two")
        sums = (self.top / "one/SHA256SUMS").read_text()
        self.assertEqual(len(sums.splitlines()), 2 if shutil.which("dpkg-deb") else 1)
        run("sha256sum", "--strict", "-c", "SHA256SUMS", cwd=self.top / "one")
        self.assertIn((self.top / "two/SHA256SUMS").read_text(), sums)
        if shutil.which("dpkg-deb"):
            self.assertIn((self.shared / "SHA256SUMS").read_text() if self.made_deb() else "", sums)

    def test_uninstall(self):
        """Of `cmake --install`, where others have files beside."""
        prefix, build = self.top / "prefix", self.top / "build"
        (prefix / "share/doc").mkdir(parents=True)
        (prefix / "share/doc/other").touch()
        build.mkdir()
        shutil.copy(BUILD / "packaging/uninstall.cmake", build)
        script = (build / "uninstall.cmake").read_text().replace(str(BUILD / "install_manifest.txt"), str(build / "install_manifest.txt"))
        (build / "uninstall.cmake").write_text(script)
        self.assertNotEqual(run("cmake", "-P", build / "uninstall.cmake", check=False).returncode, 0)
        install(prefix, build / "install_manifest.txt")
        self.assertIn("bin/seen", self.names(prefix))
        self.works(prefix)
        run("cmake", "-P", build / "uninstall.cmake")
        self.assertEqual(self.names(prefix), ["share/doc/other"])
        self.assertEqual([str(path) for path in prefix.rglob("seen")], [])


if __name__ == "__main__":
    unittest.main()
