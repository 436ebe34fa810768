"""Packages of npm that tests hold what is written here against: official schemas and the programs that read them."""
import os
import pathlib
import pwd
import shutil
import subprocess
import unittest



def cache(home):
    """Where packages of npm, agents among them, are kept for a user with that home."""
    return pathlib.Path(os.path.abspath(os.environ.get("SEEN_AGENTS_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache"), "seen-tests")))


CACHE = cache(os.path.expanduser("~"))
# For reading alone: ctest's tests have a HOME of their own, and agents are installed for the user.
USERS_CACHE = cache(pwd.getpwuid(os.getuid()).pw_dir)
INSTALL_S = 600


def installed(name, *packages):
    """The directory `node_modules` with these packages, of exact versions, installed now unless they are there. A test is
    skipped where that cannot be."""
    directory = CACHE / name
    done = directory / "installed"
    wanted = " ".join(packages)
    if done.exists() and done.read_text() == wanted:
        return directory / "node_modules"
    if not shutil.which("npm") or not shutil.which("node"):
        raise unittest.SkipTest("no npm to get official schemas with")
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    try:
        install = subprocess.run(["npm", "install", "--ignore-scripts", "--loglevel=error", "--no-fund", "--no-audit",
                                  "--fetch-retries=1", "--prefix", str(directory), *packages], text=True, timeout=INSTALL_S,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except subprocess.TimeoutExpired:
        raise unittest.SkipTest(f"npm install {wanted} took longer than {INSTALL_S} s") from None
    if install.returncode:
        first = (install.stdout.strip().splitlines() or ["no message"])[0]
        raise unittest.SkipTest(f"npm install {wanted}: {first}")
    done.write_text(wanted)
    return directory / "node_modules"


def node(modules, program, *words, **more):
    """Runs a program of Node that can require() what is there; standard output."""
    done = subprocess.run(["node", "-e", program, *words], cwd=modules.parent, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=INSTALL_S, check=False, **more)
    if done.returncode:
        raise AssertionError(done.stderr.decode(errors="replace")[-3000:])
    return done.stdout
