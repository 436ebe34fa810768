#!/usr/bin/env python3
"""What is declared of the journal's ops (tracker/journal/ops.def) and of their members (cli/journal/members.def).

As a program: says which documents are not as the declarations ask, and exits with 1 if one is; with --fix writes them.
"""
import json
import os
import pathlib
import re
import sys

SOURCE = pathlib.Path(os.environ.get("SEEN_SOURCE") or pathlib.Path(__file__).resolve().parents[2])
OPS, MEMBERS = "tracker/journal/ops.def", "cli/journal/members.def"
CLASSES = "docs/export.md"
# Functions that treat some ops by name and pass over all others: a new op has to be called unconcerned, or to be named there.
READERS = {
    "class": ("cli/journal/event_class.c", "classify_closely"),
    "finding": ("cli/journal/event_class.c", "finding_of"),
    "history": ("cli/journal/history.c", "note"),
    "launch": ("cli/export/export_ocsf.c", "launch_of"),
    "notes": ("cli/top/top_model_notes.c", "top_model_learn_note"),
    "runs": ("cli/export/export_sarif.c", "follow_run"),
    "saved": ("cli/report/report_session.c", "add_saved"),
    "transcript": ("cli/replay/transcript_journal.c", "report"),
    "writes": ("cli/report/report_session.c", "add_writes"),
}


class Mistake(Exception):
    """In a declaration; says which file and line."""


def arguments(text, at):
    """The arguments of a macro whose parenthesis opens before `at`, and where it ends."""
    found, depth, begin, quoted = [], 0, at, False
    while True:
        byte = text[at]
        if quoted:
            at += byte == "\\"
            quoted = byte != '"'
        elif byte == '"':
            quoted = True
        elif byte in ",)" and depth == 0:
            found.append(" ".join(text[begin:at].split()))
            begin = at + 1
            if byte == ")":
                return found, at + 1
        else:
            depth += (byte == "(") - (byte == ")")
        at += 1


def uses(root, path, names):
    """Each use of one of these macros at the beginning of a line: its name, its arguments, its place."""
    body = blank((root / path).read_text())
    for match in re.finditer(rf"^({'|'.join(names)})\(", body, re.M):
        yield match[1], arguments(body, match.end())[0], f"{path}:{body.count(chr(10), 0, match.start()) + 1}"


def blank(text):
    """Without comments and directives, which keep their lines."""
    def empty(match):
        return "\n" * match[0].count("\n")
    text = re.sub(r"/\*.*?\*/", empty, text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", empty, text, flags=re.M)


def string(argument):
    return "".join(re.sub(r"\\(.)", r"\1", part) for part in re.findall(r'"((?:[^"\\]|\\.)*)"', argument))


def groups(root):
    """#define OP_PATH M(path) ...: lists of members that ops share."""
    text = re.sub(r"\\\n", " ", (root / OPS).read_text())
    return dict(re.findall(r"^#define (OP_\w+) (.*)$", text, re.M))


class Op:
    FIELDS = ("NAME", "name", "words", "about", "action", "file", "effect", "author", "traits", "readers", "members", "particulars", "text")

    def __init__(self, number, found, place, shared):
        if len(found) != len(self.FIELDS):
            raise Mistake(f"{place}: {len(found)} arguments, not {len(self.FIELDS)}")
        vars(self).update(zip(self.FIELDS, found))
        self.number, self.place = number, place
        self.name, self.text, self.words = string(self.name), string(self.text), string(self.words).split()
        self.traits = self.traits.split(" | ")
        self.readers = string(self.readers).split()
        for name, members in [*shared.items()] * 2:
            self.members = re.sub(rf"\b{name}\b", members, self.members)
        self.members = re.findall(r"M\((\w+)\)", self.members)
        self.is_event = "OP_NO_EVENT" not in self.traits


class Member:
    """kind: COMMON, MEMBER, VARIANT or PART; ident: what ops list; name: in JSON; column: its name in tables, None: it has none."""

    def __init__(self, kind, found, place):
        forms = {"COMMON": "name column type value text", "MEMBER": "name column type value text", "VARIANT": "ident name column type value",
                 "PART": "ident column part"}
        if len(found) != len(forms[kind].split()):
            raise Mistake(f"{place}: {len(found)} arguments, not {len(forms[kind].split())}")
        self.kind, self.place, self.type, self.text = kind, place, None, ""
        vars(self).update(zip(forms[kind].split(), found))
        self.ident = getattr(self, "ident", None) or self.name
        self.text = string(self.text)
        self.table = self.column
        self.column = None if self.column == "NONE" else self.ident


def declared_ops(root=SOURCE):
    shared = groups(root)
    return [Op(number, found, place, shared) for number, (_, found, place) in enumerate(uses(root, OPS, ["OP"]), 1)]


def declared_members(root=SOURCE):
    return [Member(*use) for use in uses(root, MEMBERS, ["COMMON", "MEMBER", "VARIANT", "PART"])]


def columns(root=SOURCE):
    """The columns of tables, in their order: name, and table of a database."""
    return [(member.column, member.table) for member in declared_members(root) if member.column]


def cases(root, path, function):
    """The ops that a function names in its switches."""
    found = re.search(rf"^[^\n]*\b{function}\([^;{{]*\)\n\{{\n(.*?)^\}}", blank((root / path).read_text()), re.M | re.S)
    if not found:
        raise Mistake(f"{path}: no {function}(), which READERS names (tests/support/ops.py)")
    return set(re.findall(r"\bcase JOURNAL_(\w+):", found[1]))


def readers(root, ops):
    wrong = [f"{op.place}: no reader is called '{name}' (READERS in tests/support/ops.py)" for op in ops for name in op.readers if name not in READERS]
    for name, (path, function) in READERS.items():
        named = cases(root, path, function)
        wrong += [f"{path}: {function}() has no case of {op.NAME}, which ops.def gives it to read ({op.place})" for op in ops if name in op.readers and op.NAME not in named]
        wrong += [f"{op.place}: '{name}' is none of its readers, but {function}() has a case of it ({path})" for op in ops if name not in op.readers and op.NAME in named]
    return wrong


# ---- documents ----

def between(text, begin, end, lines, path):
    """The text with these lines between two that are marks."""
    head, mark, rest = text.partition(begin + "\n")
    _, found, tail = rest.partition(end)
    if not mark or not found:
        raise Mistake(f"{path}: no '{begin}' ... '{end}'")
    return head + mark + "".join(line + "\n" for line in lines) + found + tail


def schema(text, ops, members, path):
    """The op's names, and for each op its members with their types."""
    of = {member.ident: member for member in members}
    types = json.loads(text)["$defs"]
    events = [op for op in ops if op.is_event]
    names = json.dumps([op.name for op in events] + ["damaged"])
    text = re.sub(r'^(\t\t"op": \{"enum": )\[.*?\]', lambda match: match[1] + names, text, flags=re.M)
    lines = []
    for op in events:
        properties, required = {"op": {"const": op.name}}, ["source"] if op.author == "RECORDED" else []
        for ident in op.members:
            member = of[ident]
            kind = member.type.removeprefix("optional_")
            if kind != "boolean" and kind not in types:
                raise Mistake(f"{path}: $defs has no '{kind}', the type of {member.name} ({member.place})")
            properties[member.name] = {"type": "boolean"} if kind == "boolean" else {"$ref": f"#/$defs/{kind}"}
            if kind == member.type:
                required.append(member.name)
        lines.append("\t\t" + json.dumps({"properties": properties, "required": required}) + ",")
    return between(text, '\t"oneOf": [', '\t\t{"properties": {"op": {"const": "damaged"}}}', lines, path)


def cell(text):
    return text.replace("|", "\\|")


def page(text, ops, members, path):
    """docs/journal.md: the members of every event; the ops; the members that ops have."""
    of = {member.ident: member for member in members}

    def table(head, rows):
        return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)] + ["| " + " | ".join(map(cell, row)) + " |" for row in rows]

    common = [(f"`{member.name}`", member.text) for member in members if member.kind == "COMMON"]
    rows = [(f"`{op.name}`", " ".join(op.words), op.text, " ".join(f"`{of[ident].name}`" for ident in op.members).replace(
        "`path` `directory` `resolved`", "`path` ...")) for op in ops if op.is_event]
    rows.append(("`damaged`", "", "a record whose check does not hold: nothing else of it is known", ""))
    own = [(f"`{member.name}`", member.text) for member in members if member.kind == "MEMBER"]
    for name, lines in (("common members", table(("member", "is"), common)), ("ops", table(("op", "`--op` also takes", "says", "members"), rows)),
                        ("members", table(("member", "is"), own))):
        text = between(text, f"<!-- {name}: from {MEMBERS if 'members' in name else OPS} -->", "<!-- end -->", lines, path)
    return text


def manual(text, ops, _, path):
    """docs/seen.1: the names, and the words for them."""
    events = [op for op in ops if op.is_event]
    lines = [f".Cm {' , '.join([op.name for op in events[at:at + 8]])} ," for at in range(0, len(events), 8)]
    lines += [".Cm damaged ;", "or by a word for it:"]
    words = [f"{' , '.join(op.words)} Pq {op.name} ," for op in events if op.words]
    return between(text, f'.\\" from {OPS}', '.\\" end', lines + [".Cm " + line for line in words[:-1]] + [".Cm " + words[-1][:-1] + "."], path)


DOCUMENTS = {"config/data/schema/log.schema.json": schema, "docs/journal.md": page, "docs/seen.1": manual}


def check(root=SOURCE, fix=False):
    """What is wrong, a line each."""
    wrong = []
    ops, members = declared_ops(root), declared_members(root)
    of = {member.ident: member for member in members if member.kind in ("MEMBER", "VARIANT")}
    for op in ops:
        wrong += [f"{op.place}: no member '{ident}' in {MEMBERS}" for ident in op.members if ident not in of]
        if op.is_event and not op.text:
            wrong.append(f"{op.place}: no text")
    listed = {ident for op in ops for ident in op.members}
    wrong += [f"{member.place}: no op has '{ident}'" for ident, member in of.items() if ident not in listed]
    wrong += [f"{member.place}: no text" for member in members if member.kind in ("COMMON", "MEMBER") and not member.text]
    sql = (root / "config/data/export/tables.sql").read_text()
    events = sql.partition("CREATE TABLE events (")[2].partition(");")[0]
    for member in members:
        name = {"process": None, "time": "time_ns"}.get(member.ident, member.column)
        if member.table in ("EVENT", "PATH") and name and not re.search(rf"^\t{name} ", events, re.M):
            wrong.append(f"config/data/export/tables.sql: `events` has no column '{name}' ({member.place})")
    classes = (root / CLASSES).read_text()
    wrong += [f"{CLASSES}: no row has `{op.name}`, which ops.def calls {op.about}, {op.action} ({op.place})"
              for op in ops if op.is_event and f"`{op.name}`" not in classes]
    wrong += readers(root, ops)
    if wrong:
        return wrong
    for path, make in DOCUMENTS.items():
        text = (root / path).read_text()
        made = make(text, ops, members, path)
        if made != text and fix:
            (root / path).write_text(made)
        elif made != text:
            wrong.append(f"{path}: not as {OPS} and {MEMBERS} declare: python3 tests/support/ops.py --fix")
    return wrong


def main():
    try:
        wrong = check(fix="--fix" in sys.argv[1:])
    except Mistake as mistake:
        wrong = [str(mistake)]
    print("\n".join(wrong), end="\n" if wrong else "")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
