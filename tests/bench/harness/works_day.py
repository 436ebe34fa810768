"""An agent's day, replayed: how long it takes, and what the model is given, with substitution and without.  The format, the shares and the judge: day.py."""
import copy
import json
import os
import shutil
import subprocess
import sys

from . import day
from .place import HERE, LIMIT_S, SEEN, Failed, slug, write_file
from .way import Way
from .works import Study, Work

QUICK_STEPS = 60
AGENT = os.path.join(HERE, "day_agent.py")


class Setting(Way):
    """`seen run` around an agent that is inside, with some options; each day is a session of its own."""
    kind = "seen"

    def __init__(self, name, description, *options, filtered=False):
        self.name, self.description, self.options, self.filtered = name, description, options, filtered
        self.library = "libseen.so"
        self.number = 0

    def session(self):
        return "day-%s-%d" % (slug(self.name), self.number)

    def wrap(self, place, command, env):
        self.number += 1
        return [SEEN, "run", "--quiet", "--session", self.session(), "--workspace", place.work, "--agent", "day_agent", *self.options, "--",
                *command], env

    def finish(self, place, steps):
        """Raises Failed unless the session saw the day's commands; removes it."""
        done = subprocess.run([SEEN, "status", "--json", "--session", self.session(), "--workspace", place.work], cwd=place.work,
                              env=place.env, stdout=subprocess.PIPE, check=True, timeout=LIMIT_S)
        opens = json.loads(done.stdout)["counters"]["opens"]
        if opens < steps:
            raise Failed("%s: only %d opens were seen in %d steps" % (self.name, opens, steps))
        place.forget(self.session())


SETTINGS = {setting.name: setting for setting in (
    Setting("observing", "`seen run --mode observe`: all is recorded, nothing answered", "--via", "preload", "--mode", "observe"),
    Setting("answering", "`seen run`, as it is used: notices for files, for commands, and after parts", "--via", "preload"),
    Setting("files alone", "with `[requests] enable = no`: notices for files, also after parts", "--via", "preload", "--requests", "no"),
    Setting("diffs", "with `[notice] on_change = diff`: what changed in place of a changed file, too", "--via", "preload", "--on-change", "diff"),
    Setting("by both ways", "`seen run --via both`: the library and the supervisor", "--via", "both", filtered=True),
)}


class Player:
    """Plays one day, again and again, each time in a workspace that is made anew at the same place, with a session of its own."""

    def __init__(self, place, name):
        self.place, self.name = copy.copy(place), name
        self.place.ways = {**place.ways, **SETTINGS}
        self.pristine = os.path.join(place.top, "day-" + name)
        self.workspace = os.path.join(place.work, "day")
        self.results = os.path.join(place.top, "day-results")
        self.reference = None
        self.head, self.steps = day.load(name)
        if place.quick:
            self.steps = self.steps[:QUICK_STEPS]

    def prepare(self):
        """Makes the workspace, and plays the day bare: that is the reference."""
        if self.reference is not None:
            return
        for path, content in day.workspace(self.head["seed"]).items():
            write_file(os.path.join(self.pristine, path), content.encode())
        made = {"GIT_%s_DATE" % who: "2026-11-01T10:00:00Z" for who in ("AUTHOR", "COMMITTER")}
        for words in (["init", "-q"], ["add", "."], ["-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0",
                                                     "commit", "-q", "-m", "all of it"]):
            self.place.run("bare", ["git", *words], self.pristine, made)
        for directory, directories, files in os.walk(self.pristine):
            for entry in directories + files:
                os.utime(os.path.join(directory, entry), (1793530800, 1793530800))
        self.reference = []
        _, self.reference = self.play("bare", contents=True)
        _, again = self.play("bare")
        day.judge("bare", self.steps, again, self.reference)

    def play(self, way, contents=False):
        """The Sample of one step, and the results."""
        shutil.rmtree(self.workspace, ignore_errors=True)
        shutil.copytree(self.pristine, self.workspace, symlinks=True)
        command = [sys.executable, AGENT, day.path_of(self.name), self.results, self.workspace, str(len(self.steps)),
                   *(["--contents"] if contents else [])]
        sample = self.place.sample(way, command, len(self.steps), lambda output: output == b"", env={"BENCH_SEEN": SEEN, "PYTHONDONTWRITEBYTECODE": "1"})
        results = day.load_results(self.results)
        os.unlink(self.results)
        if way in SETTINGS:
            SETTINGS[way].finish(self.place, len(self.steps))
        return sample, results

    def judged(self, way):
        """The Sample and the Judge of one day."""
        sample, results = self.play(way)
        return sample, day.judge("%s: %s" % (self.name, way), self.steps, results, self.reference)

    def clean(self):
        for directory in (self.workspace, self.pristine):
            shutil.rmtree(directory, ignore_errors=True)
        self.reference = None


class Day(Work):
    """The time of a whole day; one step's, with its start of a shell."""
    group, unit = "agent", ("ms", 1000000)
    bases = ("bare", "injected", "observing")
    programs = ("git", "gcc", "make", "python3", "bash", "grep")
    repeats = 1

    def __init__(self, place, name, settings):
        super().__init__(place)
        self.player = Player(place, name)
        self.name = "an agent's day (%s)" % name
        self.ways = ("bare", "injected", *settings)
        self.own = {setting: SETTINGS[setting].description for setting in settings}
        self.about = "A step of %d: %s. The model's own time is not in it." % (len(self.player.steps), self.player.head["about"])

    def prepare(self):
        self.player.prepare()

    def sample(self, way, number):
        sample, found = self.player.judged(way)
        return sample._replace(extra={"bytes": sum(len(text) for text in found.given), "notices": found.notices, "commands": found.commands,
                                      "diffs": found.diffs})

    def clean(self):
        self.player.clean()


def percent(part, whole):
    return "%.2f %%" % (100 * part / whole) if whole else "-"


class Substitution(Study):
    """What the model is given in a day, by each setting, and how much of the day is a repeat."""
    group = "agent"
    programs = (*Day.programs, "node")
    needs = "npm:gpt-tokenizer@3.4.0"

    def available(self):
        if not os.path.isdir(day.TOKENIZER):
            return "there is no %s: ./scripts/bench puts it there by npm" % day.TOKENIZER
        return super().available()

    def __init__(self, place, name):
        super().__init__(place)
        self.player = Player(place, name)
        self.name = "substitution (%s)" % name
        self.about = ("An agent's day with %s. Every output is held against bare's, and every notice against what was given before. Bytes and tokens are "
                      "those that reach the model, which is given at most %s bytes of an output."
                      % (self.player.head["about"], format(day.LIMIT_BYTES, ",")))

    def prepare(self):
        self.player.prepare()

    def clean(self):
        self.player.clean()

    def shares(self):
        """What `seen replay` finds in the day as it went bare."""
        path = os.path.join(self.place.top, "day.jsonl")
        write_file(path, day.transcript(self.player.steps, self.player.reference, self.player.workspace).encode())
        done = subprocess.run([SEEN, "replay", "--json", "--format", "claude", path], cwd=self.place.top, env=self.place.env, stdout=subprocess.PIPE,
                              check=True, timeout=LIMIT_S)
        os.unlink(path)
        return json.loads(done.stdout)["total"]

    def measure(self, rounds):
        data = {"steps": len(self.player.steps), "settings": {}, "replay": self.shares()}
        for way in ("bare", *SETTINGS):
            _, found = self.player.judged(way)
            data["settings"][way] = {"bytes": sum(len(text) for text in found.given), "tokens": day.tokens_of(found.given, self.place.top),
                                     "notices": found.notices, "commands": found.commands, "diffs": found.diffs}
        base = data["settings"]["observing"]
        if base["bytes"] != data["settings"]["bare"]["bytes"]:
            raise Failed("%s: observing gave other bytes than bare" % self.name)
        counters = list(base["tokens"])
        rows = [[way, format(entry["bytes"], ","), percent(base["bytes"] - entry["bytes"], base["bytes"]),
                 *(text for counter in counters for text in (format(entry["tokens"][counter], ","), percent(
                     base["tokens"][counter] - entry["tokens"][counter], base["tokens"][counter]))),
                 str(entry["notices"]), str(entry["commands"]), str(entry["diffs"])] for way, entry in data["settings"].items()]
        names = {"seen": "tokens (seen's estimate)", "o200k_base": "tokens (o200k_base)"}
        replay, shares = data["replay"], day.SHARES[self.player.name]
        of, given = shares["of"], replay[shares["of"] if shares["of"] == "reads" else "outputs"]["bytes"]
        found = [("of all output, reads", None if of == "reads" else 0.284, replay["reads"]["bytes"] / replay["outputs"]["bytes"]),
                 ("reads that are partial", shares["partial"], replay["partial_reads"]["count"] / replay["reads"]["count"]),
                 ("reads of a file read before", shares["before"], replay["reads_again"]["count"] / replay["reads"]["count"]),
                 *(("bytes of %s, %s" % (of, name.replace("_", " ")), shares[name], replay["categories"][name]["bytes"] / given)
                   for name in ("identical", "covered", "changed", "after_compaction")),
                 ("other commands that come again", shares["again"], replay["commands_again"]["count"] / replay["commands"]["count"])]
        return {"data": data, "figures": {way + ": tokens not given": 1 - entry["tokens"]["seen"] / base["tokens"]["seen"]
                                          for way, entry in data["settings"].items()},
                "tables": [{"title": "what the model is given in a day of %d steps (%s)" % (len(self.player.steps), self.player.name), "header": [
                    "", "bytes", "less", *(text for counter in counters for text in (names[counter], "less")), "notices", "of commands", "diffs"],
                    "rows": rows, "note": self.about},
                           {"title": "how much of that day is a repeat", "header": ["", "recorded sessions", "this day, by seen replay"],
                            "rows": [[name, percent(wanted, 1) if wanted is not None else "-", percent(have, 1)] for name, wanted, have in found],
                            "note": "Savings come from repeats alone: a day with other shares has other savings."}]}


def works(place):
    return [Day(place, "usual", ("observing", "answering", "diffs", "by both ways")), Day(place, "public", ("observing", "answering")),
            *(Substitution(place, name) for name in day.SHARES)]
