"""What a way is.  The ways are in ways.py and peers.py; the rules are in __init__.py."""
import re

from .place import Failed

# What a way can do, in the order of the page's table.  seen's "reads" are those of files that were opened.
ABILITIES = {
    "opens": "records opens",
    "reads": "records reads",
    "writes": "records writes",
    "execs": "records programs started",
    "hashes": "hashes contents",
    "processes": "says which process",
    "static": "follows static programs",
    "changes": "changes what a program sees or does",
    "refuses": "can refuse",
}


def filters_of(status):
    """How many seccomp filters a process has.  status: text of its /proc/self/status."""
    match = re.search(r"^Seccomp_filters:\s+(\d+)$", status, re.M) or re.search(r"^Seccomp:\s+(\d+)$", status, re.M)
    return int(match.group(1)) if match else 0


with open("/proc/self/status", encoding="ascii", errors="replace") as own_status:
    FILTERS = filters_of(own_status.read())  # a container's


class Way:
    """See "Rules of a Way" in __init__.py."""
    name = description = records = kind = needs = ""
    static = False
    can = ()
    library, filtered, traced = "", False, False

    @property
    def filtered_static(self):
        return self.filtered

    def available(self):
        return ""

    def permitted(self):
        return ""

    def version(self):
        return ""

    def before(self, place):
        pass

    def wrap(self, place, command, env):
        raise NotImplementedError

    def errors(self, stderr):
        return stderr

    def prove(self, place):
        raise NotImplementedError

    def after(self, place):
        pass

    def store_bytes(self, place):
        return 0

    def finish(self, place):
        return {}

    def inside(self, place, shown):
        """Raises Failed unless a process has in it what this way puts there, and nothing that another does.

        shown: text of its /proc/self/maps and /proc/self/status.
        """
        libraries = sorted({way.library for way in place.ways.values()} | {self.library})
        have = [name for name in libraries if name and name in shown]
        has_loader = re.search(r"/ld-[^/]*\.so", shown) is not None  # glibc's; into a static program no library gets
        want = [self.library] if self.library and has_loader else []
        if have != want:
            raise Failed("%s: not run as it should be: of the libraries of all ways, a process has %s, not %s" % (self.name, have, want))
        filters = filters_of(shown) - FILTERS
        filtered = self.filtered if has_loader else self.filtered_static
        if filtered is not None and (filters > 0) != filtered:
            raise Failed("%s: not run as it should be: a process has %d filters more than its starter" % (self.name, filters))
        traced = not re.search(r"^TracerPid:\s+0$", shown, re.M)
        if traced != self.traced:
            raise Failed("%s: not run as it should be: a process is %straced" % (self.name, "" if traced else "not "))

    def detect(self, place):
        """For prove(): inside() of a program's child, and whether it has seen's ticket."""
        shown = place.run(self.name, ["sh", "-c", "cat /proc/self/maps /proc/self/status; :"]).decode(errors="replace")
        self.inside(place, shown)
        ticket = place.run(self.name, ["sh", "-c", "sh -c 'echo \"$SEEN_P\"'; :"]).decode().strip()
        if bool(ticket) != (self.library == "libseen.so"):
            raise Failed("%s: not run as it should be: seen's ticket is %r" % (self.name, ticket))
        if ticket and "/segment" not in shown:
            raise Failed("%s: the library is there, but not attached to a session" % self.name)


def described(way):
    """What the JSON states about a way."""
    return {"name": way.name, "kind": way.kind, "static": way.static, "description": way.description, "records": way.records,
            "can": list(way.can), "version": way.version()}
