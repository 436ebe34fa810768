"""What a session kept for undo (tracker/content/pack.h), for tests: the records of its packs, in their order."""
import collections
import pathlib
import struct

KINDS = "none removed replaced renamed exchanged created content metadata linked after open excluded boundary".split()
HELD = "not_taken inline link reflink copy earlier not_kept".split()
REASONS = "none rebuildable too_large no_room unreadable other_device no_file unknown".split()
PART_BYTES = 16 << 20
HEAD = struct.Struct("<IIQI12s")
MAGIC = 0x326B6370
FIELDS = 24
UNIT_BITS = 22

Record = collections.namedtuple(
    "Record",
    "kind held reason failed what flags path other content place boundary process amount mode size ino nlink mtime_ns directory hash")


def whole(paths_at, unit, text):
    """A path of which some stands elsewhere: all of it, or its directory."""
    return text if not unit else paths_at[unit].rpartition(b"/")[0] + b"/" + text if text else paths_at[unit]


def read(directory):
    """directory: `undo` of a session's."""
    records = []
    for part in sorted(pathlib.Path(directory).glob("*.part")):
        data, at, paths_at, contents_at = part.read_bytes(), 0, {}, {}
        begin = int(part.stem, 16) * PART_BYTES
        while at + HEAD.size <= len(data):
            magic, result, _, size, lengths = HEAD.unpack_from(data, at)
            if magic != MAGIC:
                at += 8
                continue
            text, fields = at + HEAD.size, []
            for i in range(FIELDS):
                length = lengths[i // 2] >> i % 2 * 4 & 15
                fields.append(int.from_bytes(data[text:text + length], "little"))
                text += length
            (paths, what, flags, content_bytes, _, boundary, process, _, amount, _, ino, size_bytes, mtime_ns, _, _, _, mode, _, _, nlink, units) = fields[:21]
            path_bytes, other_bytes, content_unit, place = paths & 0xFFFF, paths >> 16 & 0xFFFF, paths >> 32, begin + at
            kind, held, what, reason = what & 0xFF, what >> 8 & 0xFF, what >> 16 & 0xFF, what >> 24
            if HELD[held] == "inline" and not content_unit:
                content_bytes ^= size_bytes
            path, text = data[text:text + path_bytes], text + path_bytes
            other, text = data[text:text + other_bytes], text + other_bytes
            path = paths_at[at // 8 + 1] = whole(paths_at, units & ((1 << UNIT_BITS) - 1), path)
            other = whole(paths_at, units >> UNIT_BITS, other)
            here = contents_at[at // 8 + 1] = contents_at[content_unit] if content_unit else data[text:text + content_bytes]
            records.append(Record(
                KINDS[kind], HELD[held], REASONS[reason], bool(result), what, flags, path.decode(errors="surrogateescape"), other.decode(errors="surrogateescape"),
                here, place, boundary, process, amount, mode, size_bytes, ino, nlink, mtime_ns, pathlib.Path(directory),
                "%016x%016x" % (fields[22], fields[23])))
            at += size
    return records


def content(record):
    """The bytes of a record; None: they are not kept."""
    if record.held == "inline":
        return record.content
    if record.held in ("link", "reflink", "copy"):
        return (record.directory / ("%08x.files/%016x" % (record.place // PART_BYTES, record.place))).read_bytes()
    return None


def versions(session):
    """(hash, content) of all that a session keeps, in its content store and for undo.  session: its directory."""
    session = pathlib.Path(session)
    found = [(path.name.partition("-")[0], path.read_bytes()) for path in sorted(session.glob("content/*"))
             if path.name != "index" and not path.name.startswith((".", "inputs-"))]
    return found + [(record.hash, content(record)) for record in read(session / "undo")
                    if record.kind in ("removed", "replaced", "content") and record.held in ("inline", "link", "reflink", "copy")]


def kept(session):
    return [data for _, data in versions(session)]


def main(directory):
    for r in read(directory):
        print("%8x b%d %s%s %s %s w%d f%x %o %d ino %d nl %d | %s | %s" % (
            r.place, r.boundary, "FAILED " if r.failed else "", r.kind, r.held, r.reason if r.reason != "none" else "", r.what, r.flags, r.mode, r.size, r.ino, r.nlink, r.path, r.other))


if __name__ == "__main__":
    import sys
    main(sys.argv[1])
