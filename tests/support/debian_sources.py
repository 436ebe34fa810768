"""Source packages of this system's Debian release, by lists of apt's of our own: a system's need not have sources."""
import glob
import os
import subprocess

PATIENCE_S = 3600


class Failed(Exception):
    """What cannot be had, or did not do its work; the text says why."""


class Sources:
    """Lists and packed sources, kept below a directory."""

    def __init__(self, top):
        self.top = top
        for name in ("sources", "lists/partial"):
            os.makedirs(os.path.join(top, name), mode=0o700, exist_ok=True)

    def apt(self, *words, **more):
        """apt-get with these lists: what subprocess.run() gives."""
        options = ["-o", "Dir::Etc::SourceList=" + os.path.join(self.top, "sources.list"), "-o", "Dir::Etc::SourceParts=/dev/null",
                   "-o", "Dir::State::Lists=" + os.path.join(self.top, "lists"), "-qq"]
        return subprocess.run(["apt-get", *options, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", check=False, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, timeout=PATIENCE_S, **more)

    def update(self):
        """Gets the lists.  Raises Failed."""
        with open("/etc/os-release", encoding="utf-8") as file:
            release = dict(line.rstrip().split("=", 1) for line in file if "=" in line)
        line = "[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian %s main\n"
        line %= release["VERSION_CODENAME"].strip('"')
        with open(os.path.join(self.top, "sources.list"), "w", encoding="ascii") as file:
            file.write("deb %sdeb-src %s" % (line, line))
        done = self.apt("update")
        if done.returncode:
            raise Failed("apt-get update: %s" % done.stdout.strip()[-400:])

    def download(self, name):
        """The .dsc of a source package, of which all parts are there.  Raises Failed."""
        sources = os.path.join(self.top, "sources")
        done = self.apt("source", "--download-only", name, cwd=sources)
        found = sorted(glob.glob(os.path.join(sources, name + "_*.dsc")))
        if done.returncode or not found:
            raise Failed("apt-get source %s: %s" % (name, done.stdout.strip()[-400:]))
        return found[-1]

    @staticmethod
    def unpack(dsc, tree):
        """Makes the directory `tree` of a .dsc, with Debian's patches."""
        subprocess.run(["dpkg-source", "--no-check", "-x", dsc, tree], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
