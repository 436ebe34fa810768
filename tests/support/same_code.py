#!/usr/bin/env python3
"""Do two builds have the same code?  same_code.py OLD_BUILD NEW_BUILD [RENAMED]

RENAMED is a file of words "OLD=NEW": symbols and source files that have another name in the new build.

Compares each object file of the product, found by its name and by the part of the tree that it belongs to (a file may have moved
between two directories): the bytes of all sections that are loaded, .text and .rodata among them, and what their relocations name.
Prints the files that differ and those that only one build has.  Exit status 0 when there are none, else 1.  Both builds have
to be made by the same compiler with the same options.  Format: elf(5), 64 bits.
"""
import pathlib
import re
import struct
import sys

PARTS = ("config", "tracker", "shim/call", "shim/preload", "shim/supervise", "cli")
SHF_ALLOC, SHT_NOBITS, SHT_RELA, SHT_SYMTAB = 2, 8, 4, 2


def text_at(table, offset):
    return table[offset:table.index(b"\0", offset)].decode()


def alike(pairs):
    """A function from a name to the one that stands for all that were renamed to each other.

    A section or a clone of a function has its name between dots (.text.main, main.cold); that of a file counts as a whole."""
    table = {}

    def first(name):
        while name in table:
            name = table[name]
        return name

    for old, new in pairs:
        if first(old) != first(new):
            table[first(old)] = first(new)
    return lambda name: first(name) if name.endswith(".c") else ".".join(map(first, name.split(".")))


def sections(path, renamed):
    """What is loaded of an object file, comparable: its sections by name, and where each relocation points."""
    data = path.read_bytes()
    (offset,), (size, count, names) = struct.unpack_from("<Q", data, 40), struct.unpack_from("<HHH", data, 58)
    heads = [struct.unpack_from("<IIQQQQIIQQ", data, offset + size * i) for i in range(count)]
    bodies = [data[head[4]:head[4] + head[5]] if head[1] != SHT_NOBITS else head[5] for head in heads]
    title = [renamed(text_at(bodies[names], head[0])) for head in heads]
    symbols = []
    for head, body in zip(heads, bodies):
        if head[1] == SHT_SYMTAB:
            for name, info, _, section, value, _ in struct.iter_unpack("<IBBHQQ", body):
                local = info >> 4 == 0
                place = title[section] if section < len(title) else section
                symbols.append((place, value) if local else renamed(text_at(bodies[head[6]], name)))
    found = []
    for head, body, name in zip(heads, bodies, title):
        if head[2] & SHF_ALLOC and name != ".note.gnu.build-id":
            found.append((name, body))
        elif head[1] == SHT_RELA and heads[head[7]][2] & SHF_ALLOC:
            found.append((name, [(at, info & 0xFFFFFFFF, symbols[info >> 32], more) for at, info, more in struct.iter_unpack("<QQq", body)]))
    return sorted(found, key=lambda section: section[0])


def objects(build, renamed):
    """The product's object files by (part of the tree, target, name)."""
    found = {}
    for path in pathlib.Path(build).rglob("*.o"):
        at = re.fullmatch(r"(.*/)?([a-z]+)/CMakeFiles/([^/]+)\.dir/(.*)\.o", path.relative_to(build).as_posix())
        if at and at[2] in ("config", "tracker", "shim", "cli"):
            whole = at[2] + "/" + at[4]
            part = next(part for part in PARTS if whole.startswith(part + "/"))
            found[part, at[3], renamed(path.name[:-2])] = path
    return found


def main():
    words = pathlib.Path(sys.argv[3]).read_text().split() if len(sys.argv) > 3 else ()
    renamed = alike([word.split("=", 1) for word in words if "=" in word])
    old, new = objects(sys.argv[1], renamed), objects(sys.argv[2], renamed)
    bad = 0
    for key in sorted(old.keys() | new.keys()):
        if key not in old or key not in new:
            print("%s: only in the %s build" % ("/".join((key[0], key[2])), "new" if key in new else "old"))
        elif sections(old[key], renamed) != sections(new[key], renamed):
            print("%s: differs" % "/".join((key[0], key[2])))
        else:
            continue
        bad += 1
    print("%d object files, %d of them differ" % (len(old.keys() | new.keys()), bad))
    return 1 if bad or not old else 0


if __name__ == "__main__":
    sys.exit(main())
