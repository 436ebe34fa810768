"""The ways that a command can be run in.  The rules are in __init__.py."""
import json
import os
import subprocess

from .peers import others
from .place import EMPTY, LIMIT_S, PROGRAMS, SEEN, Failed
from .way import ABILITIES, Way


class Bare(Way):
    name, kind = "bare", "bare"
    description = "nothing: what all is compared with"
    records = "nothing"
    static = True

    def wrap(self, place, command, env):
        return command, env

    def prove(self, place):
        preloaded = "/etc/ld.so.preload"
        if os.path.exists(preloaded) and os.path.getsize(preloaded):
            raise Failed("%s puts a library into all programs: no way is bare" % preloaded)
        self.detect(place)


class Injected(Way):
    name, kind = "injected", "injection"
    description = "an empty library in LD_PRELOAD, the least that the mechanism costs"
    records = "nothing"
    library = "empty_preload.so"

    def wrap(self, place, command, env):
        return command, {**env, "LD_PRELOAD": EMPTY}

    def prove(self, place):
        self.detect(place)


class Seen(Way):
    """`seen run`.  The agent is external and the command's standard output, a pipe, goes to it: what tools and viewers do there is
    what they do below an agent's shell.  Notices are never withheld."""
    kind = "seen"

    def __init__(self, name, via, description, journal=True, undo=True):
        self.name, self.via, self.description = name, via, description
        self.journal, self.undo = journal, undo
        self.static = via != "preload"
        self.library = "" if via == "supervise" else "libseen.so"
        self.filtered = via in ("supervise", "both")
        self.can = tuple(ability for ability in ABILITIES if ability != "static" or self.static)
        self.records = "every file read, written, changed, executed, with content hashes where needed; answers repeats" + (
            "" if journal else "; no journal") + ("; keeps what is destroyed" if undo else "; keeps nothing for undo")

    @property
    def filtered_static(self):
        return self.static  # with "auto" these alone

    def session(self, place):
        return "bench-%s-%s" % (self.name.replace(",", "").replace(" ", "-"), place.session)

    def wrap(self, place, command, env):
        journal = [] if self.journal else ["--journal-level", "off"]
        # all that a work destroys is kept, whatever disk it is on and however often it is done
        journal += ["-c", "undo.max_bytes=100000000000", "-c", "undo.reserve=0"] if self.undo else ["--undo", "no"]
        return [SEEN, "run", "--quiet", "--via", self.via, "--session", self.session(place), *journal, "--workspace", place.work,
                "--agent-is", "outside", "-c", "processes.viewers=bench_viewer", "-c", "notice.yield=never",
                "-c", "window.requests=1000000", "-c", "window.bytes=0",
                "-c", "agent generic.measured=*",  # else 1,900 bytes of a command are taken to have been given
                "--"] + command, env

    def prove(self, place):
        self.detect(place)

    def store_bytes(self, place):
        """Apparent size of what the session of a work has kept for undo."""
        top = os.path.join(place.env["HOME"], ".local/state/seen", self.session(place), "undo")
        return sum(os.lstat(os.path.join(directory, name)).st_size for directory, _, names in os.walk(top) for name in names)

    def finish(self, place):
        """What the session counted of a work; then it is removed.  Raises Failed if no process was seen, or events are missing."""
        directory = os.path.join(place.env["HOME"], ".local/state/seen", self.session(place))
        if not os.path.isdir(directory):
            return {}  # no sample was run by this way
        done = subprocess.run([SEEN, "status", "--json", "--session", self.session(place), "--workspace", place.work], cwd=place.work,
                              env=place.env, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S, check=False)
        if done.returncode != 0:
            raise Failed("%s: no status of its session: %s" % (self.name, done.stderr.decode(errors="replace")[:300]))
        status = json.loads(done.stdout)
        counters, journal = status["counters"], status["journal"]
        proof = {"processes attached": counters["processes_attached"], "processes supervised": counters["processes_supervised"],
                 "opens": counters["opens"] + counters["opens_write"], "notices": counters["notices"],
                 "lost": sum(status["lost"].values()),
                 "kept for undo": counters["undo_records"],
                 "journal bytes": journal["bytes"] if self.journal else 0}
        if not proof["processes supervised" if self.via == "supervise" else "processes attached"] or (self.journal and not proof["journal bytes"]):
            raise Failed("%s: its session saw nothing: %s" % (self.name, proof))
        if self.journal and (journal["lost_records"] or journal["without_journal"] or journal["full"]):
            raise Failed("%s: events are missing in its journal: %s" % (self.name, journal))
        if status["lost"]["undo"] or (counters["undo_records"] and not self.undo):
            raise Failed("%s: %d records for undo, %d could not be kept" % (self.name, counters["undo_records"], status["lost"]["undo"]))
        place.forget(self.session(place))
        return proof


class Floor(Way):
    name, kind = "floor", "floor"
    description = ("the least that a supervisor can be (notify_floor.c): opens, nothing else, are handed to a thread that lets them pass, "
                   "so what \"supervise\" takes more is not the kernel's")
    records = "nothing"
    static = filtered = True
    can = ("static",)

    def wrap(self, place, command, env):
        return [os.path.join(PROGRAMS, "notify_floor"), *command], env

    def prove(self, place):
        self.detect(place)


# In the order of the tables.
ALL = {way.name: way for way in (
    Bare(),
    Injected(),
    Seen("no journal", "preload", "\"substitute\" without a journal", journal=False),
    Seen("substitute", "preload", "`seen run --via preload`, as it is used: mode substitute, journal on"),
    Seen("undo off", "preload", "\"substitute\" that keeps nothing for undo", undo=False),
    Seen("supervise", "supervise", "the same by `--via supervise`: no library, a filter and a supervisor"),
    Seen("both", "both", "the same by `--via both`"),
    Seen("supervise, no undo", "supervise", "\"supervise\" that keeps nothing for undo", undo=False),
    Seen("both, no undo", "both", "\"both\" that keeps nothing for undo", undo=False),
    Seen("auto", "auto", "the same by `--via auto`: the library, and the supervisor for what it does not reach"),
    Floor(),
    *others(),
)}

# Sets of names, for works.
PEERS = tuple(name for name, way in ALL.items() if way.kind == "peer")
USUAL = ("bare", "injected", "no journal", "substitute")
TRACED = (*USUAL, "strace")
SUPERVISED = (*USUAL, "supervise", "both", "floor", "strace bpf")
KEPT = ("bare", "undo off", "substitute")  # what keeping for undo costs
KEPT_ONLY_SUPERVISED = ("bare", "supervise, no undo", "supervise")
KEPT_SUPERVISED = (*KEPT_ONLY_SUPERVISED, "both, no undo", "both")
EVERY = tuple(name for name in ALL if not name.endswith(("undo off", "no undo")))  # with the peers
STATIC = tuple(name for name in EVERY if ALL[name].static)  # that see what no library gets into
SESSIONS = tuple(name for name, way in ALL.items() if way.kind == "seen")  # ways that know what they gave
