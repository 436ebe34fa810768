#!/usr/bin/env python3
"""Writes a manual page for each command: manual.py HELP SEEN.1 DIRECTORY

HELP: what `seen help --json` prints.  A page has the command's options as that table has them; SEEN.1 (docs/seen.1) adds what
its items hold about the command and about single options.
"""
import json
import pathlib
import re
import sys


def synopses(page):
    """{command: its lines of SYNOPSIS, without the leading .Nm}"""
    found = {}
    for block in page.split(".Sh SYNOPSIS\n")[1].split(".Sh ")[0].split(".Nm\n")[1:]:
        found.setdefault(block.split()[1], []).append(block)
    return found


def list_finish(lines, at):
    """The index behind the list that begins at lines[at]."""
    depth = 0
    while True:
        depth += lines[at].startswith(".Bl") - lines[at].startswith(".El")
        at += 1
        if depth == 0:
            return at


def items(lines):
    """[(rest of .It, its lines)] of a list's lines, .Bl and .El included."""
    found, at = [], 1
    while at < len(lines) - 1:
        if lines[at].startswith(".It"):
            found.append((lines[at][4:], []))
            at += 1
            continue
        end = list_finish(lines, at) if lines[at].startswith(".Bl") else at + 1
        found[-1][1].extend(lines[at:end])
        at = end
    return found


def commands(page):
    """{command: (prose, {option: lines})}"""
    lines, found = page.split(".Sh COMMANDS\n")[1].splitlines(), {}
    for head, body in items(lines[: list_finish(lines, 0)]):
        prose, options, at = [], {}, 0
        while at < len(body):
            end = list_finish(body, at) if body[at].startswith(".Bl") else at + 1
            if body[at].startswith(".Bl") and body[at + 1].startswith(".It Fl"):
                for names, text in items(body[at:end]):
                    options.update((name, text) for name in re.findall(r"Fl (-?[\w-]+)", names))
            else:
                prose.extend(body[at:end])
            at = end
        found[head.split()[1]] = prose, options
    return found


def roff(text):
    """Plain text as lines of roff."""
    text = text.replace("\\", "\\e").replace("`", "\\(ga")
    return [("\\&" if line[:1] in (".", "'") else "") + line for line in re.sub(r"(?<=[.;:]) +", "\n", text).splitlines()]


def sentence(help_text):
    return roff(help_text[0].upper() + help_text[1:] + ("" if help_text.endswith(".") else "."))


def option_list(table, texts):
    lines, at = [], 0
    while at < len(table):
        same = [option for option in table[at:] if option["help"] == table[at]["help"]]
        names = " , ".join("Fl " + option["name"][1:] + (" Ar " + option["argument"] if option["argument"] else "") for option in same)
        text, more = sentence(same[0]["help"]), texts.get(same[0]["name"][1:], [])
        longer = len(" ".join(more).split()) > len(" ".join(text).split())
        lines += [".It " + names, *(more if longer else text)]
        at += len(same)
    return lines


def page_of(command, date, synopsis, prose, texts):
    name = command["name"]
    lines = [f'.\\" Made by packaging/manual.py from `seen help --json` and docs/seen.1.', f".Dd {date}", f".Dt SEEN-{name.upper()} 1", ".Os",
             ".Sh NAME", f".Nm seen-{name}", f".Nd {command['summary']}", ".Sh SYNOPSIS"]
    for block in synopsis:
        lines += [".Nm seen", *block.splitlines()]
    lines += [".Sh DESCRIPTION", *(prose or roff(command["text"]))]
    if command["options"]:
        lines += [".Sh OPTIONS", ".Bl -tag -width Ds", *option_list(command["options"], texts), ".El"]
    lines += [".Pp", "The options of every command, the environment, the files and the exit status are described in", ".Xr seen 1 .",
              ".Sh SEE ALSO", ".Xr seen 1"]
    return "".join(re.sub(r"^\.Nm(?=$| [^\w])", ".Nm seen", line) + "\n" for line in lines)


def main():
    table, page = json.loads(pathlib.Path(sys.argv[1]).read_text()), pathlib.Path(sys.argv[2]).read_text()
    directory, date = pathlib.Path(sys.argv[3]), re.search(r"(?m)^\.Dd (.*)", page)[1]
    described, synopsis = commands(page), synopses(page)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "seen.1").write_text(page)
    for command in table["commands"]:
        name = command["name"]
        written = page_of(command, date, synopsis.get(name, [f".Cm {name}\n"]), *described.get(name, ([], {})))
        (directory / f"seen-{name}.1").write_text(written)


if __name__ == "__main__":
    main()
