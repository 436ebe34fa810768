"""What a session kept for undo (tracker/content/pack.h), for tests: the records of its packs, in their order."""
import collections
import pathlib
import struct

KINDS = "none removed replaced renamed exchanged created content metadata linked after open excluded boundary".split()
HELD = "not_taken inline link reflink copy earlier not_kept".split()
REASONS = "none rebuildable too_large no_room unreadable other_device no_file unknown".split()
PART_BYTES = 16 << 20
HEAD = struct.Struct("<IIQQIHHIBBBBQQIIIIQ" + "QQQqqqQIIII" + "QQQ" + "QQ")
MAGIC = 0x316B6370

Record = collections.namedtuple(
    "Record",
    "kind held reason failed what flags path other content place boundary process amount mode size ino nlink mtime_ns directory")


def read(directory):
    """directory: `undo` of a session's."""
    records = []
    for part in sorted(pathlib.Path(directory).glob("*.part")):
        data, at = part.read_bytes(), 0
        begin = int(part.stem, 16) * PART_BYTES
        while at + HEAD.size <= len(data):
            fields = HEAD.unpack_from(data, at)
            if fields[0] != MAGIC or fields[3] != begin + at:
                at += 64
                continue
            (_, result, _, place, size, path_bytes, other_bytes, content_bytes, kind, held, reason, what, _, boundary, process, _, flags, _, amount,
             _, ino, size_bytes, mtime_ns, _, _, _, mode, _, _, nlink) = fields[:30]
            text = at + HEAD.size
            path, text = data[text:text + path_bytes], text + path_bytes
            other, text = data[text:text + other_bytes], text + other_bytes
            records.append(Record(
                KINDS[kind], HELD[held], REASONS[reason], bool(result), what, flags, path.decode(errors="surrogateescape"), other.decode(errors="surrogateescape"),
                data[text:text + content_bytes], place, boundary, process, amount, mode, size_bytes, ino, nlink, mtime_ns, pathlib.Path(directory)))
            at += size
    return records


def content(record):
    """The bytes of a record; None: they are not kept."""
    if record.held == "inline":
        return record.content
    if record.held in ("link", "reflink", "copy"):
        return (record.directory / ("%08x.files/%016x" % (record.place // PART_BYTES, record.place))).read_bytes()
    return None


def main(directory):
    for r in read(directory):
        print("%8x b%d %s%s %s %s w%d f%x %o %d ino %d nl %d | %s | %s" % (
            r.place, r.boundary, "FAILED " if r.failed else "", r.kind, r.held, r.reason if r.reason != "none" else "", r.what, r.flags, r.mode, r.size, r.ino, r.nlink, r.path, r.other))


if __name__ == "__main__":
    import sys
    main(sys.argv[1])
