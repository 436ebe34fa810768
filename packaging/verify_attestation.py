#!/usr/bin/env python3
"""Verifies an attestation of `seen attest` without seen: Python's standard library and openssl (3.0 or newer).

usage: verify_attestation.py ATTESTATION KEY [--journal FILE] [--checkout DIR] [--before DIR]

KEY: the public Ed25519 key in PEM.  Exit status: 0 all that was checked holds, 1 something differs, 2 wrong usage.
"""
import argparse
import base64
import hashlib
import json
import os
import pathlib
import re
import stat
import subprocess
import sys
import tempfile

TYPE, PREDICATE = "application/vnd.in-toto+json", "urn:seen:attestation:1"
UNIT, FIRST, HEAD, ABANDONED = 64, 128, 136, 2  # of a journal: tracker/journal/journal.h


class Differs(Exception):
    pass


def statement_of(text, key):
    """The statement of an envelope, once the key's signature of it holds."""
    try:
        envelope = json.loads(text)
        payload, signature = base64.b64decode(envelope["payload"]), base64.b64decode(envelope["signatures"][0]["sig"])
        der = base64.b64decode("".join(open(key).read().split("-----")[2].split()))
    except (ValueError, LookupError, TypeError) as error:
        raise Differs("signature", "no envelope") from error
    again = {"payloadType": TYPE, "payload": base64.b64encode(payload).decode(),
             "signatures": [{"keyid": hashlib.sha256(der).hexdigest(), "sig": base64.b64encode(signature).decode()}]}
    if json.dumps(again, separators=(",", ":")).encode() + b"\n" != text:
        raise Differs("signature", "another form, or another key")
    with tempfile.TemporaryDirectory() as directory:
        signed, detached = pathlib.Path(directory, "signed"), pathlib.Path(directory, "signature")
        signed.write_bytes(b"DSSEv1 %d %s %d %s" % (len(TYPE), TYPE.encode(), len(payload), payload))
        detached.write_bytes(signature)
        command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", key, "-rawin", "-in", signed, "-sigfile", detached]
        if subprocess.run(command, capture_output=True, check=False).returncode != 0:
            raise Differs("signature", "not this key's signature of this statement")
    return payload


def seal_of(payload):
    """The statement, and the digest of the journal that it names."""
    try:
        statement = json.loads(payload)
        first = statement["subject"][0]
        seal = re.fullmatch("[0-9a-f]{64}", first["digest"]["seenSeal1"])[0]
        if (statement["_type"], statement["predicateType"], first["name"]) != ("https://in-toto.io/Statement/v1", PREDICATE, "/journal"):
            raise ValueError("of another type")
    except (ValueError, LookupError, TypeError) as error:
        raise Differs("statement", "none of seen's") from error
    return statement, seal


def check_journal(path, wanted):
    """A journal and its seal: docs/journal.md, "The seal"."""
    try:
        data, lines = pathlib.Path(path).read_bytes(), pathlib.Path(path).with_name("seal").read_bytes().split(b"\n")[:-1]
        head = re.fullmatch(rb"seen-seal 1 (\S+) ([0-9a-f]{64})", lines[0])
        digest, at, seen = hashlib.sha256(data[:HEAD]).digest(), FIRST, []
        if not head or head[1] != data[104:128].rstrip(b"\0") or head[2].decode() != digest.hex():
            raise Differs("journal", "its header")
        for line in lines[1:]:
            begin, end, sealed = re.fullmatch(rb"([0-9]+) ([0-9]+) ([0-9a-f]{64})", line).groups()
            if int(begin) != at or not at < int(end) <= len(data) // UNIT:
                raise Differs("journal", "its seal")
            sha = hashlib.sha256(digest + at.to_bytes(8, "little") + int(end).to_bytes(8, "little"))
            while at < int(end):
                kind, units = data[at * UNIT + 4], data[at * UNIT + 5] if 0 < data[at * UNIT + 5] <= int(end) - at else 1
                sha.update(data[at * UNIT:at * UNIT + 8] if kind == ABANDONED else data[at * UNIT:(at + units) * UNIT])
                at += units
            digest = sha.digest()
            seen.append(digest.hex())
            if digest.hex() != sealed.decode():
                raise Differs("journal", "records before %d" % at)
    except (OSError, ValueError, IndexError, AttributeError) as error:
        raise Differs("journal", "it or its seal cannot be read") from error
    if wanted not in seen:
        raise Differs("journal", "the digest attested is not in its seal")


def digest_at(directory, text):
    """(digest, whether it is a link) of a name below a directory; no symbolic link is followed."""
    name = re.sub(rb"\\(\\|x[0-9a-f]{2})", lambda match: b"\\" if match[1] == b"\\" else bytes([int(match[1][1:], 16)]), text.encode())
    path = os.path.realpath(os.fsencode(directory))
    for part in name.split(b"/"):
        if part in (b"", b".", b".."):
            raise OSError("no name of a file below a directory")
        if os.path.islink(path):
            raise OSError("a symbolic link leads to it")
        path = os.path.join(path, part)
    mode = os.lstat(path).st_mode
    if not stat.S_ISLNK(mode) and not stat.S_ISREG(mode):
        raise IsADirectoryError if stat.S_ISDIR(mode) else OSError("no regular file")
    return hashlib.sha256(os.readlink(path) if stat.S_ISLNK(mode) else open(path, "rb").read()).hexdigest(), stat.S_ISLNK(mode)


def check_files(statement, arguments, report):
    predicate, products = statement["predicate"], statement["subject"][1:]
    changed = {item["name"] for item in products + [item for item in predicate["not_known"] if item["what"] == "product"]} | set(predicate["removed"])
    files = [("material", item, arguments.before or arguments.checkout) for item in predicate["materials"]]
    files += [("product", item, arguments.checkout) for item in products]
    for kind, item, directory in files:
        is_checked = directory and (kind == "product" or arguments.before or item["name"] not in changed)
        try:
            same = is_checked and digest_at(directory, item["name"]) == (item["digest"]["sha256"], item.get("annotations", {}).get("symlink") is True)
            report(kind, "not checked" if not is_checked else "holds" if same else "differs", item["name"])
        except OSError:
            report(kind, "differs", item["name"])
    for name in predicate["removed"]:
        try:
            report("removed", "differs" if arguments.checkout and digest_at(arguments.checkout, name) else "not checked", name)
        except OSError as error:
            report("removed", "holds" if isinstance(error, (FileNotFoundError, NotADirectoryError, IsADirectoryError)) else "differs", name)


def main():
    parser, results = argparse.ArgumentParser(), []
    for name in ("attestation", "key", "--journal", "--checkout", "--before"):
        parser.add_argument(name)
    arguments = parser.parse_args()

    def report(kind, result, name=""):
        print(kind, results.append(result) or result, json.dumps(name), sep="\t")

    try:
        payload = statement_of(open(arguments.attestation, "rb").read(), arguments.key)
        report("signature", "holds")
        statement, seal = seal_of(payload)
        check_files(statement, arguments, report)
        if arguments.journal:
            check_journal(arguments.journal, seal)
            report("journal", "holds")
    except Differs as differs:
        report(differs.args[0], "differs", differs.args[1])
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        report("statement", "differs", str(error))
    return 1 if "differs" in results else 0


if __name__ == "__main__":
    sys.exit(main())
