"""Agents that `seen enable` has wrapped, each put on PATH by a manager of versions, started by name in an interactive bash.

One start is one run, whatever shim lies between; what the model is given is as by `seen run`; after the agent's own update the next start is
wrapped, too; `seen disable` leaves the files of before. Managers are looked for in $SEEN_AGENTS_DIR and on this machine (provide()).
"""
import json
import os
import shutil
import subprocess

import launched
from stage import CACHE, NODE_BIN, SEEN, SYSTEM_PATH, npm_install

VERSION = "22.0.0"


class Manager:
    """How an agent's program is put on PATH below a directory."""

    name = "npm"  # a directory with links, as npm and n have it
    options = ()  # of `seen enable`
    then = ""  # what a person types in a shell before the agent

    def __init__(self, directory, command):
        self.directory = directory
        self.command = command
        self.agent = os.path.basename(command)
        self.environment = {}

    def words(self):
        """What is typed."""
        return [self.agent]

    def bin(self, version=VERSION):
        return f"{self.directory}/bin"

    def install(self, version=VERSION):
        """Puts the program there; again, with another version: as its own update does."""
        bin_ = self.bin(version)
        os.makedirs(bin_, exist_ok=True)
        path = f"{bin_}/{self.agent}"
        if os.path.lexists(path):
            os.unlink(path)
        os.symlink(os.path.realpath(self.command), path)
        if self.name != "npm" and not os.path.lexists(f"{bin_}/node"):
            os.symlink(os.path.realpath(shutil.which("node", path=f"{NODE_BIN}:{SYSTEM_PATH}")), f"{bin_}/node")

    def lines(self):
        """What its installation puts into ~/.bashrc."""
        return f'PATH="{self.bin()}:$PATH"\n'

    def run(self, *words):
        subprocess.run(words, env={"PATH": f"{NODE_BIN}:{SYSTEM_PATH}", "HOME": self.directory, **self.environment}, check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


class Brew(Manager):
    """A link in bin to a link in the cellar: an update is another directory there."""

    name = "brew"

    def install(self, version=VERSION):
        cellar = f"{self.directory}/Cellar/{self.agent}/{version}/bin"
        os.makedirs(cellar)
        os.makedirs(self.bin(), exist_ok=True)
        os.symlink(os.path.realpath(self.command), f"{cellar}/{self.agent}")
        path = f"{self.bin()}/{self.agent}"
        if os.path.lexists(path):
            shutil.rmtree(os.path.dirname(os.path.dirname(os.path.realpath(os.path.dirname(os.readlink(path))))), ignore_errors=True)
            os.unlink(path)
        os.symlink(f"../Cellar/{self.agent}/{version}/bin/{self.agent}", path)


class Nvm(Manager):
    name = "nvm"

    def bin(self, version=VERSION):
        return f"{self.directory}/versions/node/v{version}/bin"

    def install(self, version=VERSION):
        for file in ("nvm.sh", "nvm-exec"):
            os.makedirs(self.directory, exist_ok=True)
            shutil.copy(os.path.join(os.path.dirname(launched.nvm()), file), self.directory)
        super().install(version)
        if version != VERSION:
            shutil.rmtree(os.path.dirname(self.bin()))
        os.makedirs(f"{self.directory}/alias", exist_ok=True)
        with open(f"{self.directory}/alias/default", "w", encoding="utf-8") as file:
            file.write(f"v{version}\n")

    def lines(self):
        return f'export NVM_DIR="{self.directory}"\n. "$NVM_DIR/nvm.sh"\n'


class NvmUse(Nvm):
    """`nvm use` puts its directory before all others: functions come before it."""

    name = "nvm use"
    options = ("--functions",)
    then = "nvm use default >/dev/null; "


class Pyenv(Manager):
    name = "pyenv"
    program = staticmethod(launched.pyenv)
    variable = "PYENV"

    def __init__(self, directory, command):
        super().__init__(directory, command)
        self.environment = {f"{self.variable}_ROOT": directory}

    def bin(self, version=VERSION):
        return f"{self.directory}/versions/{version}/bin"

    def install(self, version=VERSION):
        super().install(version)
        if version != VERSION:
            shutil.rmtree(os.path.dirname(self.bin()))
        with open(f"{self.directory}/version", "w", encoding="utf-8") as file:
            file.write(f"{version}\n")
        self.run(self.program(), "rehash")

    def lines(self):
        program = self.program()
        return (f'export {self.variable}_ROOT="{self.directory}"\nPATH="{os.path.dirname(program)}:$PATH"\n'
                f'eval "$({os.path.basename(program)} init - bash)"\n')


class Nodenv(Pyenv):
    name = "nodenv"
    variable = "NODENV"

    @staticmethod
    def program():
        return launched.first((shutil.which("nodenv"), f"{CACHE}/nodenv/node_modules/.bin/nodenv"))


class Asdf(Manager):
    """asdf 0.14, in shell: later ones are a Go program, and have the same shims."""

    name = "asdf"

    def __init__(self, directory, command):
        super().__init__(directory, command)
        self.environment = {"ASDF_DATA_DIR": directory, "ASDF_DIR": self.home(), "ASDF_AGENTS_VERSION": VERSION}

    @staticmethod
    def home():
        found = launched.first(directory and f"{directory}/asdf.sh" for directory in (
            os.environ.get("ASDF_DIR"), os.path.expanduser("~/.asdf"), f"{CACHE}/asdf"))
        return found and os.path.dirname(found)

    def bin(self, version=VERSION):
        return f"{self.directory}/installs/agents/{version}/bin"

    def install(self, version=VERSION):
        os.makedirs(f"{self.directory}/plugins/agents/bin", exist_ok=True)
        super().install(version)
        if version != VERSION:
            shutil.rmtree(os.path.dirname(self.bin()))
        self.environment["ASDF_AGENTS_VERSION"] = version
        self.run(f"{self.home()}/bin/asdf", "reshim", "agents", version)

    def lines(self):
        return "".join(f'export {name}="{value}"\n' for name, value in self.environment.items()) + '. "$ASDF_DIR/asdf.sh"\n'


class Mise(Manager):
    """Its shims."""

    name = "mise"

    def __init__(self, directory, command):
        super().__init__(directory, command)
        self.environment = {f"MISE_{name}_DIR": f"{directory}/{name.lower()}" for name in ("DATA", "CONFIG", "CACHE", "STATE")}
        self.environment.update(MISE_OFFLINE="1", MISE_NODE_VERSION=VERSION)

    @staticmethod
    def program():
        return launched.first((shutil.which("mise"), f"{CACHE}/mise/node_modules/.bin/mise"))

    def bin(self, version=VERSION):
        return f"{self.environment['MISE_DATA_DIR']}/installs/node/{version}/bin"

    def install(self, version=VERSION):
        super().install(version)
        if version != VERSION:
            shutil.rmtree(os.path.dirname(self.bin()))
        self.environment["MISE_NODE_VERSION"] = version
        self.run(self.program(), "reshim")

    def lines(self):
        return ("".join(f'export {name}="{value}"\n' for name, value in self.environment.items())
                + f'PATH="{self.environment["MISE_DATA_DIR"]}/shims:{os.path.dirname(os.path.realpath(self.program()))}:$PATH"\n')


class MiseActivate(Mise):
    """Its hook puts directories first before each prompt: functions come before them."""

    name = "mise activate"
    options = ("--functions",)
    then = "eval \"$PROMPT_COMMAND\" 2>/dev/null; "

    def lines(self):
        return super().lines() + f'eval "$("{self.program()}" activate bash)"\n'


class Npx(Manager):
    """`npx AGENT`, of a package that is there."""

    name = "npx"

    def words(self):
        return ["npx", "--offline", "--prefix", self.command.partition("/node_modules/")[0], self.agent]

    def install(self, version=VERSION):
        pass

    def lines(self):
        return ""


MANAGERS = {manager.name: manager for manager in (Manager, Brew, Nvm, NvmUse, Pyenv, Nodenv, Asdf, Mise, MiseActivate, Npx)}


def provide(names):
    """Those that can be had, before the network is left.  Prints what is skipped, and why."""
    for name, package in (("mise", "@jdxcode/mise"), ("nodenv", "@nodenv/nodenv")):
        if name in names and not MANAGERS[name].program():
            npm_install(name, package)
    reasons = {"nvm": launched.nvm(), "nvm use": launched.nvm(), "pyenv": launched.pyenv(), "nodenv": Nodenv.program(), "asdf": Asdf.home(),
               "mise": Mise.program(), "mise activate": Mise.program()}
    for name in names:
        if name in reasons and not reasons[name]:
            print(f"by {name}: skipped: not installed")
    return [name for name in names if reasons.get(name, True)]


def files(home):
    """What lies in the files that shells and agents read: by name, bytes."""
    found = {}
    for directory, _, names in os.walk(home):
        for name in names:
            path = os.path.join(directory, name)
            if name in (".bashrc", "settings.json", "hooks.json") or "/seen/launchers" in path:
                with open(path, "rb") as file:
                    found[path] = file.read()
    return found


class Shell:
    """Interactive shells of one play, and the sessions that runs in them made."""

    def __init__(self, run, manager):
        self.run = run
        self.manager = manager
        self.home = run.environment["HOME"]
        with open(f"{self.home}/.bashrc", "w", encoding="utf-8") as file:
            file.write(manager.lines())

    def words(self, *words):
        """That start those words in a new interactive shell, as a person would type them."""
        return ["bash", "-ic", self.manager.then + '"$0" "$@"', *words]

    def __call__(self, *words):
        return subprocess.run(self.words(*words), cwd=self.run.workspace, env=self.run.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120, start_new_session=True, check=False)

    def sessions(self):
        state = f"{self.run.environment['XDG_STATE_HOME']}/seen"
        return sorted(name for name in os.listdir(state) if name[0] != ".") if os.path.isdir(state) else []

    def enabled(self):
        done = self(SEEN, "enabled", "--json")
        return {row["agent"]: row for row in json.loads(done.stdout)["agents"]} if done.returncode == 0 else {}


def rows(run, shell, before):
    """After the play: what was wrapped, what an update changes, what disabling leaves."""
    manager = shell.manager
    name = manager.words()[0]
    played = shell.sessions()
    wrapped = shell.enabled().get(name, {})
    found = [("one start", "one run", None if len(played) == 1 else f"there are {len(played)} sessions"),
             ("seen enabled", "wrapped", None if wrapped.get("wrapped") or manager.then else f"it is {wrapped}")]
    manager.install("22.0.1")
    with open(f"{shell.home}/.bashrc", encoding="utf-8") as file:
        text = file.read()
    line = text[text.rindex("[ -r"):]
    with open(f"{shell.home}/.bashrc", "w", encoding="utf-8") as file:
        file.write(manager.lines().replace("22.0.0", "22.0.1") + line)
    done = shell(*manager.words(), "--version")
    found.append(("after its update", "wrapped", None if done.returncode == 0 and len(shell.sessions()) == 2 else
                  f"status {done.returncode}, {len(shell.sessions())} sessions: {done.stderr[-300:]!r}"))
    shell(SEEN, "disable", "--all")
    with open(f"{shell.home}/.bashrc", encoding="utf-8") as file:
        left = file.read()
    after = {path: data for path, data in files(shell.home).items() if not path.endswith(".bashrc")}
    found.append(("after seen disable", "as before", None if "seen" not in left.replace(run.directory, "") and after == before else
                  f"{left!r} {sorted(set(after) ^ set(before))}"))
    done = shell(*manager.words(), "--version")
    found.append(("then", "not wrapped", None if done.returncode == 0 and len(shell.sessions()) == 2 else
                  f"status {done.returncode}, {len(shell.sessions())} sessions"))
    return found
