"""Ways to read a file that a rule keeps from programs (tests/support/ways.py): docs/rules.md says what becomes of each."""
import os
import subprocess
import unittest

import ways
from driver import SEEN, Case

POSSIBLE = subprocess.run([SEEN, "run", "--quiet", "--rules", "secrets:deny", "--", "true"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0
TAKES_CAPABILITY = {"handle", "handle-static", "map-files", "map-files-static", "nsenter"}
# It depends on the machine (a setting of the kernel, its speed, the time that a test has) whether these read the file.
BY_CHANCE = {"core", "overlay", "bubblewrap", "race-names", "race-names-static", "race-texts", "race-texts-static"}


# One user in the short form.
TRIED = ways.users() if os.environ.get("SEEN_LONG") else ways.users()[-1:]


class Ways(Case):
    def test_each_reads_it_where_no_rule_is(self):
        """What does not read the file without `seen` would prove nothing."""
        for key, read in ways.measure(None, TRIED, BY_CHANCE).items():
            self.assertEqual({user for user in read if not read[user]}, set(read) - {0} if key in TAKES_CAPABILITY else set(), key)

    def test_there_are_sixty(self):
        self.assertGreaterEqual(len(ways.WAYS), 60)
        self.assertEqual(len({way[0] for way in ways.WAYS}), len(ways.WAYS))

    @unittest.skipUnless(POSSIBLE, "no supervisor")
    def test_page(self):
        page = ways.on_page(ways.PAGE.read_text())
        rows = list(page)
        self.assertEqual(rows[:-1], ways.words())
        for column, (cells, measured) in enumerate(ways.measure_all(TRIED, BY_CHANCE).items()):
            for key, results in measured.items():
                said = page[ways.words()[[way[0] for way in ways.WAYS].index(key)]][column]
                for user, read in results.items():
                    is_read = "read" in said and ("by" not in said or ("by root" in said) == (user == 0))
                    self.assertEqual(read, is_read, (cells, key, user, said))


if __name__ == "__main__":
    unittest.main()
