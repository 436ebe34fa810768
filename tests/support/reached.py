"""Which unit tests reach which lines, by a build with gcov's counters (preset coverage)."""
import collections
import json
import os
import pathlib
import shutil
import subprocess


def lines_reached(source, build, scratch, tests, rooms):
    """{path: {line: the tests that execute it}}, of files of those directories.  A line that is code and that no test executes has none."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    kept = pathlib.Path(build) / "reached.json"
    if kept.exists() and kept.stat().st_mtime > max(file.stat().st_mtime for file in (pathlib.Path(build) / "tests/unit").glob("test_*")):
        return {path: {int(line): tests for line, tests in lines.items()} for path, lines in json.loads(kept.read_text()).items()}
    for test in tests:
        top = pathlib.Path(scratch) / "reached"
        shutil.rmtree(top, ignore_errors=True)
        top.mkdir(parents=True)
        environment = {**os.environ, "GCOV_PREFIX": str(top)}
        try:
            subprocess.run([pathlib.Path(build) / "tests/unit" / ("test_" + test)], cwd=top, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, timeout=60, check=False)
        except subprocess.TimeoutExpired:
            print("%s takes too long: what it executes is not known" % test)
        for path, line, count in counts(source, build, top, rooms):
            tests_of_line = found[path][line]
            if count and test not in tests_of_line:
                tests_of_line.append(test)
    kept.write_text(json.dumps(found))
    return found


def counts(source, build, top, rooms):
    """(path, line, how often) of all that was counted below a directory."""
    written = []
    for file in top.rglob("*.gcda"):
        notes = pathlib.Path("/") / file.relative_to(top).with_suffix(".gcno")
        part = os.path.relpath(notes, build)
        directory, _, rest = part.partition("/CMakeFiles/")
        if any(("%s/%s" % (directory, rest.partition("/")[2])).startswith(room + "/") for room in rooms):
            os.symlink(notes, file.with_suffix(".gcno"))
            written.append(str(file))
    if not written:
        return
    done = subprocess.run(["gcov", "--json-format", "--stdout", *written], cwd=top, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    for document in map(json.loads, done.stdout.splitlines()):
        for file in document["files"]:
            path = os.path.relpath(os.path.join(document["current_working_directory"], file["file"]), source)
            if path.endswith(".c"):
                for line in file["lines"]:
                    yield path, line["line_number"], line["count"]
