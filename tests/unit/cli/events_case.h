/* A journal that is written by hand, and the events read from it: what the tests of events share. */
#ifndef SEEN_TESTS_EVENTS_CASE_H
#define SEEN_TESTS_EVENTS_CASE_H

#include <criterion/criterion.h>
#include <sys/mman.h>

#include "cli/journal/event_filter.h"
#include "cli/journal/event_places.h"
#include "cli/journal/event_processes.h"
#include "cli/journal/events.h"
#include "journal_file.h"
#include "tracker/guard/guard.h"
#include "tracker/process/role.h"
#include "tracker/process/source.h"

static struct events *events;

static struct event event;

static inline void init(void)
{
	journal_file_open("test");
}

static inline void finish(void)
{
	events_close(events);
	journal_file_close();
}

static inline uint32_t text(const char *bytes)
{
	return journal_text(&journal, bytes, strlen(bytes), true);
}

/* The current directory, as records state it; NULL: they do not. */
static const char *directory = "/w";

static inline struct journal_record blank(enum journal_op op, uint32_t process, const char *name)
{
	return (struct journal_record){ .head = { .op = (uint8_t)op },
					.process = process,
					.path = name ? text(name) : 0,
					.directory = name && name[0] != '/' && directory
							     ? text(directory)
							     : 0,
					.directory_fd = AT_FDCWD,
					.fd = -1 };
}

static inline uint32_t append(struct journal_record record)
{
	uint32_t number = journal_write(&journal, &record, NULL, 0, true);
	must(number);
	return number;
}

static inline uint32_t append_process(enum journal_op op, const char *executable, const char *where,
				      struct journal_process process)
{
	struct journal_record record = blank(op, 0, executable);
	record.directory = where ? text(where) : 0;
	uint32_t number = journal_write(&journal, &record, &process, sizeof(process), true);
	must(number);
	return number;
}

static inline uint32_t start(uint32_t pid, const char *where)
{
	return append_process(JOURNAL_START, "/usr/bin/cc", where,
			      (struct journal_process){ .pid = pid,
							.parent_pid = 1,
							.role = ROLE_TOOL,
							.scope_id = 7,
							.epoch = 70,
							.serial = pid * 10 });
}

static inline uint32_t copy_of(uint32_t starter, uint32_t pid)
{
	return append_process(
		JOURNAL_FORK, NULL, directory,
		(struct journal_process){ .pid = pid, .parent_pid = 100, .starter = starter });
}

static inline uint32_t append_name(enum journal_op op, uint32_t process, const char *name)
{
	return append(blank(op, process, name));
}

/* By a child between vfork and exec, that does not tell where it is. */
static inline uint32_t append_vforked(enum journal_op op, uint32_t process, uint32_t pid,
				      const char *name)
{
	struct journal_record record = blank(op, process, name);
	record.directory = 0;
	record.tid = pid;
	record.marks = JOURNAL_VFORKED;
	return append(record);
}

/* Goes to the next event of an op. */
static inline void next(unsigned op)
{
	if (!events)
		must(events_open(path, false, &events) == 0);
	do
		cr_assert_eq(events_next(events, &event), EVENTS_EVENT, "no %s", event_op_name(op));
	while (event.op != op);
}

static inline void next_is(unsigned op, const char *resolved)
{
	next(op);
	if (resolved)
		cr_assert_str_eq(event.resolved ? event.resolved : "(not known)", resolved);
	else
		cr_assert_null(event.resolved, "%s", event.resolved);
}

#endif
