/* A journal that is written by hand, and the model that top makes of it: what the tests of top share. */
#ifndef SEEN_TESTS_TOP_CASE_H
#define SEEN_TESTS_TOP_CASE_H

#include <criterion/criterion.h>

#include "cli/journal/events.h"
#include "cli/session/counts.h"
#include "cli/top/top_display.h"
#include "cli/top/top_feed.h"
#include "cli/top/top_model.h"
#include "cli/top/top_model_notes.h"
#include "cli/top/top_rows.h"
#include "support.h"
#include "tracker/answer/decision.h"
#include "tracker/guard/guard.h"
#include "tracker/guard/rule.h"
#include "tracker/journal/journal.h"
#include "tracker/journal/journal_create.h"
#include "tracker/journal/journal_map.h"
#include "tracker/process/process.h"
#include "tracker/process/role.h"
#include "tracker/process/source.h"
#include "tracker/process/ticket.h"

#define NONCE "0011223344556677"

#define SECOND UINT64_C(1000000000)

/* A session of its own with a journal that is written to, and the feed that reads it. */
static struct world world;

static struct session session;

static char path[80];

static struct journal journal;

static struct top_feed feed;

static struct top_model *model;

static struct top_rows rows;

static uint64_t now_ns = 100 * SECOND; /* of what is written */

static inline void init(void)
{
	world_open(&world, NULL);
	session.segment = world.segment;
	(void)snprintf(session.directory, sizeof(session.directory), "%s", world.root);
	(void)snprintf(path, sizeof(path), "%s/journal", world.root);
	must(journal_create(path, "test", NONCE, "/w", UINT64_C(1) << 30) == 0);
	must(journal_map(path, &journal) == 0);
	must(top_feed_open(&session, path, &feed) == 0);
	model = feed.model;
}

static inline void finish(void)
{
	top_rows_free(&rows);
	top_feed_close(&feed);
	journal_unmap(&journal);
	world_close(&world);
}

static inline uint32_t text(const char *bytes)
{
	return journal_text(&journal, bytes, strlen(bytes), true);
}

static inline struct journal_record blank(enum journal_op op, uint32_t process, const char *name)
{
	struct journal_record record = journal_blank(op);
	record.process = process;
	record.time_realtime_ns = now_ns;
	record.path = name ? text(name) : 0;
	record.directory = name && name[0] != '/' ? text("/w") : 0;
	return record;
}

static inline uint32_t append(struct journal_record record)
{
	uint32_t number = journal_write(&journal, &record, NULL, 0, true);
	must(number);
	return number;
}

static inline uint32_t append_process(enum journal_op op, uint32_t pid, uint32_t parent,
				      enum role role, uint32_t starter, const char *arguments,
				      size_t size)
{
	struct journal_process process = { .pid = pid,
					   .parent_pid = parent,
					   .role = role,
					   .scope_id = 7,
					   .epoch = 70,
					   .starter = starter };
	struct journal_record record = blank(op, 0, op == JOURNAL_START ? "/usr/bin/prog" : NULL);
	record.other_path = size ? journal_text(&journal, arguments, size, true) : 0;
	uint32_t number = journal_write(&journal, &record, &process, sizeof(process), true);
	must(number);
	return number;
}

static inline uint32_t start(uint32_t pid, uint32_t parent)
{
	return append_process(JOURNAL_START, pid, parent, ROLE_TOOL, 0, NULL, 0);
}

static inline void open_file(uint32_t process, const char *name, int flags, int error)
{
	struct journal_record record = blank(JOURNAL_OPEN, process, name);
	record.flags = (uint32_t)flags;
	record.head.error = (uint16_t)error;
	append(record);
}

static inline void amount(enum journal_op op, uint32_t process, const char *name, int fd,
			  uint64_t bytes)
{
	struct journal_record record = blank(op, process, name);
	record.fd = fd;
	record.amount = bytes;
	append(record);
}

static inline void read_all(void)
{
	while (top_feed_read(&feed, SECOND))
		;
	cr_assert(feed.caught_up);
}

static inline const struct top_file *file(const char *name)
{
	for (const struct top_file *at = model->newest_file.older; at != &model->newest_file;
	     at = at->older)
		if (strcmp(at->path, name) == 0)
			return at;
	return NULL;
}

static inline const struct top_process *process_of(uint32_t pid)
{
	for (const struct top_process *at = model->newest_process.older;
	     at != &model->newest_process; at = at->older)
		if (at->pid == pid)
			return at;
	return NULL;
}

#endif
