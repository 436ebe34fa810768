"""Packages for many systems (scripts/package --release), each installed, used and removed in a clean root of a Debian release.

For root alone; needs debootstrap, bubblewrap, a mirror, and qemu-user-static for aarch64.
$SEEN_RELEASE: a directory with `packages` and `programs` that scripts/package --release made; else they are made.
$SEEN_ROWS=1: writes the rows of docs/systems.md anew, each with its day and build; a row that was not run stays.
"""
import gzip
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import systems
from driver import SOURCE

ROOT = str(SOURCE / "packaging/root")
PAGE = SOURCE / "docs/systems.md"
# For aarch64 scripts/package builds the unit tests, too.
COLUMNS = [column for column in systems.COLUMNS if column != "units"]


def debian_name(arch):
    """What Debian calls an architecture."""
    return {"x86-64": "amd64", "aarch64": "arm64"}[arch]


def run(*words, **more):
    more.setdefault("check", True)
    return subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=3000, **more)


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("debootstrap") and shutil.which("bwrap"), "needs root, debootstrap, bubblewrap")
class Systems(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.environ.get("SEEN_RELEASE"):
            cls.top = pathlib.Path(os.environ["SEEN_RELEASE"])
            return
        cls.top = pathlib.Path(tempfile.mkdtemp(prefix="seen-systems-"))
        cls.addClassCleanup(shutil.rmtree, cls.top, ignore_errors=True)
        run(SOURCE / "scripts/package", "--release", "--programs", cls.top / "programs", "--output", cls.top / "packages")

    def check(self, key, made, package, columns=COLUMNS, checker=("/bin/bash", "/repository/tests/support/system_check")):
        """Installs, uses and removes a package in a copy of a root; each column must be ok.  key: of the page's row."""
        with self.subTest(row=key), tempfile.TemporaryDirectory() as scratch:
            run("cp", "-a", made, scratch + "/root")
            in_root = ROOT, "run", scratch + "/root"
            glibc = run(*in_root, "--", "sh", "-c", "ldd --version 2>/dev/null || true").stdout.partition("\n")[0].split(" ")[-1] or "none"
            printed = run(*in_root, "--ro-bind", package.parent, "/packages", "--ro-bind", self.top / "programs" / key[1].replace("-", "_"),
                          "/programs", "--ro-bind", SOURCE, "/repository", "--", *checker, f"/packages/{package.name}", "/programs",
                          "/repository/tests/support").stdout
            print(f"{made} {package.name}\n{printed}", flush=True)
            if os.environ.get("SEEN_ROWS"):
                PAGE.write_text(systems.with_row(PAGE.read_text(), key, systems.row(key, glibc, printed)))
            rows = [line.split("\t") for line in printed.splitlines()]
            self.assertEqual([(row[0], row[1]) for row in rows], [(what, "ok") for what in columns], printed)

    def package(self, pattern):
        package, = self.top.glob("packages/" + pattern)
        return package

    def in_debian(self, suite, arch, of_deb=COLUMNS):
        """The .deb and the tarball, in a root of that suite.  of_deb: the columns of the .deb."""
        made = run(ROOT, "make", suite, debian_name(arch)).stdout.strip()
        for package, pattern, columns in ((".deb", f"seen_*_{debian_name(arch)}.deb", of_deb),
                                          ("tarball", f"seen-*-linux-{arch.replace('-', '_')}.tar.gz", COLUMNS)):
            self.check((systems.DEBIAN[suite], arch, package), made, self.package(pattern), columns)

    def by_rpm(self, arch):
        """By rpm's own programs, in a Debian root: no distribution of rpm's own can be had from Debian's archive."""
        made = run(ROOT, "make", "bookworm", debian_name(arch), "rpm").stdout.strip()
        self.check((systems.DEBIAN["bookworm"], arch, ".rpm"), made, self.package(f"seen-*.{arch.replace('-', '_')}.rpm"))

    def test_rpm(self):
        self.by_rpm("x86-64")

    @unittest.skipUnless(shutil.which("rpmbuild"), "no rpmbuild")
    def test_rpm_on_a_system_of_rpm_s(self):
        """What it requires is there, by rpm's own list: it is installed without an option, and is not where nothing provides that."""
        package = self.package("seen-*.x86_64.rpm")
        with tempfile.TemporaryDirectory() as scratch:
            root = f"{scratch}/root"
            run(SOURCE / "tests/support/rpm_root", run(ROOT, "make", "bookworm", "amd64", "rpm").stdout.strip(), root)
            refused = run(ROOT, "run", root, "--ro-bind", package, "/package.rpm", "--", "sh", "-c",
                          "rpm --dbpath /tmp/none -i --test /package.rpm 2>&1; rpm -qa", check=False).stdout
            self.assertRegex(refused, r"(?m)libc\.so\.6\(GLIBC_2\.28\)\(64bit\) is needed by seen-[^\n]*\n(?s:.*)^base-1-1\.")
            self.check((systems.BY_RPM, "x86-64", ".rpm"), root, package)

    @unittest.skipUnless(shutil.which("busybox"), "no busybox")
    def test_static(self):
        """A root of a static busybox: no libc, no library of any kind."""
        with tempfile.TemporaryDirectory() as scratch:
            root = pathlib.Path(scratch) / "musl"
            for name in ("bin", "root", "tmp", "etc", "proc", "dev", "run", "opt", "packages", "programs", "repository"):
                (root / name).mkdir(parents=True)
            (root / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\n")
            shutil.copy(shutil.which("busybox"), root / "bin/busybox")
            for applet in run(root / "bin/busybox", "--list").stdout.split():
                if applet != "busybox":
                    (root / "bin" / applet).symlink_to("busybox")
            self.check((systems.BUSYBOX, "x86-64", "static tarball"), root, self.package("seen-*-linux-x86_64-static.tar.gz"),
                       ["installs", "run", "sink", "undo", "uninstalls"], ("/bin/sh", "/repository/tests/support/static_check"))

    def test_image(self):
        """Run by bubblewrap; and what another image copies of it, in a root of Debian."""
        with tempfile.TemporaryDirectory() as scratch:
            layout, root = pathlib.Path(scratch) / "layout", pathlib.Path(scratch) / "image"
            layout.mkdir()
            root.mkdir()
            run("tar", "-C", layout, "-xf", self.package("seen-*-x86_64.oci.tar"))

            def blob(descriptor):
                data = (layout / "blobs/sha256" / descriptor["digest"].removeprefix("sha256:")).read_bytes()
                self.assertEqual(hashlib.sha256(data).hexdigest(), descriptor["digest"].removeprefix("sha256:"))
                return data

            manifest = json.loads(blob(json.loads((layout / "index.json").read_text())["manifests"][0]))
            for layer in manifest["layers"]:
                subprocess.run(["tar", "-C", root, "-x"], input=gzip.decompress(blob(layer)), check=True)
            entry = json.loads(blob(manifest["config"]))["config"]["Entrypoint"]
            image = ("bwrap", "--bind", root, "/", "--proc", "/proc", "--dev", "/dev", "--unshare-pid", "--unshare-net", "--clearenv",
                     "--setenv", "HOME", "/tmp", "--setenv", "PATH", "/bin", *entry)
            self.assertRegex(run(*image, "--version").stdout, r"^seen \d")
            self.assertRegex(run(*image, "run", "--quiet", "--", "/bin/seen", "--version").stdout, r"^seen \d")
            self.check((systems.DEBIAN["bookworm"], "x86-64", "image"), run(ROOT, "make", "bookworm", "amd64").stdout.strip(), root / "opt/seen")

    def test_sums(self):
        """Of all packages, and of nothing else."""
        run("sha256sum", "--strict", "--quiet", "-c", "SHA256SUMS", cwd=self.top / "packages")
        names = {line.split()[1] for line in (self.top / "packages/SHA256SUMS").read_text().splitlines()}
        self.assertEqual(names, {path.name for path in (self.top / "packages").iterdir()} - {"SHA256SUMS"})

    @unittest.skipUnless(shutil.which("lintian"), "no lintian")
    def test_debs_are_clean(self):
        for package in self.top.glob("packages/*.deb"):
            done = run("lintian", "--allow-root", "--fail-on", "error,warning", "--suppress-tags", "initial-upload-closes-no-bugs", package, check=False)
            self.assertEqual((done.returncode, [line for line in done.stdout.splitlines() if re.match("[EW]: ", line)]), (0, []), package.name)

    def test_a_stranger_s_minute(self):
        """What the page shows of it is what the terminals show."""
        done = run(SOURCE / "tests/agents/stranger", self.package("seen_*_amd64.deb"), check=False)
        if done.returncode == 77:
            self.skipTest("no agent, or no root")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(done.stdout, re.search(r"(?ms)^## A stranger's minute$.*?^```text\n(.*?)^```$", PAGE.read_text())[1])

    def test_bullseye(self):
        self.in_debian("bullseye", "x86-64")

    def test_bookworm(self):
        self.in_debian("bookworm", "x86-64")

    def test_trixie(self):
        self.in_debian("trixie", "x86-64")

    def test_sid(self):
        self.in_debian("sid", "x86-64")

    @unittest.skipUnless(shutil.which("qemu-aarch64-static"), "no qemu-user-static")
    def test_aarch64(self):
        self.in_debian("bookworm", "aarch64", systems.COLUMNS)

    @unittest.skipUnless(shutil.which("qemu-aarch64-static"), "no qemu-user-static")
    def test_rpm_of_aarch64(self):
        self.by_rpm("aarch64")

    def test_needs_no_newer_glibc_than_2_28(self):
        for package in set(self.top.glob("packages/*.tar.gz")) - set(self.top.glob("packages/*-static.tar.gz")):
            with tempfile.TemporaryDirectory() as scratch:
                run("tar", "-C", scratch, "-xf", package)
                for name in ("bin/seen", "lib/seen/libseen.so", "lib/seen/seen-demo-agent"):
                    for path in pathlib.Path(scratch).glob("*/" + name):
                        versions = re.findall(r"GLIBC_([\d.]+)", run("objdump", "-T", path).stdout)
                        self.assertLessEqual(max([tuple(map(int, version.split("."))) for version in versions], default=(0,)), (2, 28), name)


if __name__ == "__main__":
    unittest.main()
