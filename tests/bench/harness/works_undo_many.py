"""What `seen undo` takes: to plan how very many files come back, and to bring them."""
import os
import shutil
import subprocess
import time

from .place import SEEN, Failed, text_of, write_file
from .works import Study
from .works_undo import path_of

FILES = 100000
FILE_BYTES = 1000
SESSION = "bench-undo-many"


class UndoMany(Study):
    """One session whose only step removed all files."""
    group, share = "undo", 0.5
    goals = ("undo plan time", "undo plan memory", "undo doing")

    def __init__(self, place, top, where):
        super().__init__(place)
        self.name = "seen undo of very many files, " + where
        self.files = 200 if place.quick else FILES
        self.work = os.path.join(top, "undo-many")
        self.tree = os.path.join(self.work, "tree")

    def prepare(self):
        for i in range(self.files):
            write_file(os.path.join(self.tree, path_of(i)), text_of(FILE_BYTES, i))
        self.run("run", "--quiet", "--via", "preload", "-c", "undo.reserve=0", "--workspace", self.work, "--", "rm", "-rf", self.tree)
        if os.path.exists(self.tree):
            raise Failed("rm -rf has left files")

    def run(self, *words):
        """(seconds, largest size in memory in MB) of a command of seen."""
        command = words[0]
        start = time.monotonic()
        with subprocess.Popen([SEEN, command, "--session", SESSION, *words[1:]], cwd=self.work, env=self.place.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            errors = process.stderr.read()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode or errors:
            raise Failed("seen %s: exit status %d: %s" % (" ".join(words), process.returncode, errors.decode(errors="replace")[:300]))
        return time.monotonic() - start, used.ru_maxrss / 1000

    def measure(self, rounds):
        plan_s, plan_mb = self.run("undo", "--all", "--dry-run")
        do_s, do_mb = self.run("undo", "--all")
        there = sum(len(names) for _, _, names in os.walk(self.tree))
        with open(os.path.join(self.tree, path_of(self.files - 1)), "rb") as file:
            if there != self.files or file.read() != text_of(FILE_BYTES, self.files - 1):
                raise Failed("seen undo: %d of %d files are back" % (there, self.files))
        figures = {"plan_s": plan_s, "plan_mb": plan_mb, "us_each": do_s / self.files * 1e6}
        title = self.name.replace("very many", format(self.files, ","))
        return {"data": figures, "figures": figures, "tables": [{
            "title": title, "header": [title, "seconds", "files a second", "memory, MB"],
            "rows": [["plan (`--dry-run`)", "%.2f" % plan_s, format(int(self.files / plan_s), ","), "%.0f" % plan_mb],
                     ["plan and do", "%.2f" % do_s, format(int(self.files / do_s), ","), "%.0f" % do_mb]]}]}

    def clean(self):
        shutil.rmtree(self.work, ignore_errors=True)
        self.place.forget(SESSION)


def works(place):
    return [UndoMany(place, place.runtime, "in memory"), UndoMany(place, place.work, "on disk")]
