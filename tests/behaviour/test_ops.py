"""What is declared of the journal's ops: what follows from it elsewhere, and that a thing forgotten is named."""
import re
import shutil
import unittest

from driver import SOURCE, Case
import ops

# The numbers of journals that were written: 1, 2 ...
STORED = """text abandoned start fork exec exec_failed exit unobserved open list read read_total write write_total map create delete
    rename link symlink truncate metadata chdir notice yielded given changed forgotten coverage edited guarded kept mentioned request
    diffed instructed ruled""".split()
# As they are in tables that were exported.
FIRST_COLUMNS = "number time op error process pid tid parent_pid role scope epoch executable vforked cut attempted source path directory".split()


class Declarations(Case):
    def test_numbers_and_columns_stay(self):
        self.assertEqual([op.name for op in ops.declared_ops()][:len(STORED)], STORED)
        names = [name for name, _ in ops.columns()]
        self.assertEqual(names[:len(FIRST_COLUMNS)], FIRST_COLUMNS)
        self.assertEqual((names[77], len(set(names))), ("action", len(names)))

    def test_documents_are_as_declared(self):
        self.assertEqual(ops.check(), [])

    def copy(self):
        root = self.top / "copy"
        shutil.rmtree(root, ignore_errors=True)
        for path in {ops.OPS, ops.MEMBERS, ops.CLASSES, "config/data/export/tables.sql", *ops.DOCUMENTS, *(path for path, _ in ops.READERS.values())}:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCE / path, root / path)
        with open(root / ops.CLASSES, "a") as page:
            page.write("`swapped`")
        return root

    def wrong(self, root):
        try:
            return "\n".join(ops.check(root))
        except ops.Mistake as mistake:
            return str(mistake)

    def append(self, root, path, text):
        old = (root / path).read_text()
        at = old.rindex(")\n") + 2  # behind the last declaration
        (root / path).write_text(old[:at] + text + old[at:])

    def test_what_is_missing_of_a_new_op_is_named(self):
        new = 'OP(SWAPPED, "swapped", "swap",\n   FILE, RENAMES, UNKNOWN, RENAMES, CALLER, 0, "",\n   OP_PATH M(partner), nothing,\n   "two files changed names")\n'
        member = 'MEMBER(partner, %s, %s, event->other, "the other file")\n'
        root = self.copy()
        self.append(root, ops.OPS, new.replace(' nothing,\n', '\n'))
        self.assertRegex(self.wrong(root), rf"^{ops.OPS}:\d+: 12 arguments, not 13$")
        root = self.copy()
        self.append(root, ops.OPS, new)
        self.assertRegex(self.wrong(root), rf"^{ops.OPS}:\d+: no member 'partner' in {ops.MEMBERS}$")
        self.append(root, ops.MEMBERS, member % ("EVENT", "name"))
        self.assertRegex(self.wrong(root), rf"^config/data/export/tables.sql: `events` has no column 'partner' \({ops.MEMBERS}:\d+\)$")
        root = self.copy()
        self.append(root, ops.OPS, new)
        self.append(root, ops.MEMBERS, member % ("MORE", "name"))
        self.assertRegex(self.wrong(root), rf"^config/data/schema/log.schema.json: \$defs has no 'name', the type of partner \({ops.MEMBERS}:\d+\)$")
        root = self.copy()
        self.append(root, ops.OPS, new)
        self.append(root, ops.MEMBERS, member % ("MORE", "text"))
        self.assertEqual([line.split(":")[0] for line in self.wrong(root).splitlines()], list(ops.DOCUMENTS))
        self.assertEqual(ops.check(root, fix=True), [])
        self.assertEqual(self.wrong(root), "")
        self.assertIn("| `swapped` | swap | two files changed names | `path` ... `partner` |", (root / "docs/journal.md").read_text())

        shutil.copy(SOURCE / ops.CLASSES, root / ops.CLASSES)
        self.assertRegex(self.wrong(root), rf"^{ops.CLASSES}: no row has `swapped`, which ops.def calls FILE, RENAMES \({ops.OPS}:\d+\)$")

    def test_a_reader_that_does_not_know_its_op_is_named(self):
        """Functions with a `default:` pass over an op only where its declaration says so."""
        new = 'OP(SWAPPED, "swapped", "",\n   FILE, RENAMES, UNKNOWN, RENAMES, CALLER, 0, "%s",\n   OP_PATH, nothing,\n   "two files changed names")\n'
        root = self.copy()
        self.append(root, ops.OPS, new % "history nobody")
        self.assertEqual([re.sub(r":\d+", "", line) for line in self.wrong(root).splitlines()[:2]], [
            f"{ops.OPS}: no reader is called 'nobody' (READERS in tests/support/ops.py)",
            f"cli/journal/history.c: note() has no case of SWAPPED, which ops.def gives it to read ({ops.OPS})"])
        root = self.copy()
        self.append(root, ops.OPS, new % "")
        path = root / ops.READERS["writes"][0]
        path.write_text(path.read_text().replace("\tcase JOURNAL_KEPT:\n", "\tcase JOURNAL_KEPT:\n\tcase JOURNAL_SWAPPED:\n"))
        self.assertRegex(self.wrong(root).splitlines()[0], rf"^{ops.OPS}:\d+: 'writes' is none of its readers, but add_writes\(\) has a case of it")

    def test_a_member_that_no_op_has_is_named(self):
        root = self.copy()
        self.append(root, ops.MEMBERS, 'MEMBER(partner, MORE, text, event->other, "the other file")\n')
        self.assertRegex(self.wrong(root), rf"^{ops.MEMBERS}:\d+: no op has 'partner'$")


if __name__ == "__main__":
    unittest.main()
