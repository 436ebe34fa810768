/*
 * A journal in a directory of its own, for tests of its readers: the whole file is mapped, to be written and read.
 *
 *	journal_file_open("test");
 *	... journal, path
 *	journal_file_close();
 */
#ifndef SEEN_TESTS_UNIT_JOURNAL_FILE_H
#define SEEN_TESTS_UNIT_JOURNAL_FILE_H

#include "support.h"
#include "tracker/journal/journal.h"
#include "tracker/journal/journal_create.h"
#include "tracker/journal/journal_map.h"

#define NONCE "0011223344556677"

static char root[64], path[80];
static struct journal journal;

/* session: its name, as it comes. */
static inline void journal_file_open(const char *session)
{
	(void)snprintf(root, sizeof(root), "/tmp/seen-test-XXXXXX");
	must(mkdtemp(root) != NULL);
	(void)snprintf(path, sizeof(path), "%s/journal", root);
	must(journal_create(path, session, NONCE, "/w", 1 << 28) == 0);
	must(journal_map(path, &journal) == 0);
}

static inline void journal_file_close(void)
{
	journal_unmap(&journal);
	(void)nftw(root, world_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
