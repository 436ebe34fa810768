"""What the session's journal reports about a play (`seen log --json`)."""
import datetime
import json
import os
import re


def events_of(text):
    """The events of `seen log --json`, each with its time in seconds as "at"."""
    events = [json.loads(line) for line in (text or "").splitlines()]
    for event in events:
        event["at"] = datetime.datetime.fromisoformat(event["time"][:26]).replace(
            tzinfo=datetime.timezone.utc).timestamp()
    return events


def about(event, path, workspace):
    """How an event names that file of the workspace: by its "path", or by a "descriptor" of the
    directory that it lies in (/proc/self/fd/N/NAME); None: it does not."""
    by = None
    for name, resolved in (("path", "resolved"), ("new_path", "new_resolved")):
        given = event.get(resolved) or event.get(name) or ""
        if given == os.path.join(workspace, path):
            return "path"
        if re.fullmatch(r"/proc/[^/]+/fd/\d+/" + re.escape(path), given):
            by = "descriptor"
        elif event.get(resolved) is None and os.path.basename(given) == path:
            return "path"
    return by


def does(event, access):
    """Whether an event is such an access: read, write, remove, or destroy (what takes content
    away that was there)."""
    op = event["op"]
    flags = set(event.get("flags") or [])
    writes = bool({"O_WRONLY", "O_RDWR"} & flags)
    if access == "remove":
        return op == "delete"
    if access == "destroy":
        return op in ("delete", "rename", "truncate") or (op == "open" and "O_TRUNC" in flags)
    if access == "write":
        return op in ("write", "write_total", "truncate", "rename", "link", "create") or (
            op == "open" and writes)
    return op in ("read", "read_total", "map") or (op == "open" and not writes)


def accesses(events, access, path, workspace):
    """The events that are such an access to that file, and did not fail: (event, how it names it).
    """
    for event in events:
        by = event["error"] is None and does(event, access) and about(event, path, workspace)
        if by:
            yield event, by
