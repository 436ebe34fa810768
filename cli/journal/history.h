/*
 * What each scope was given, from a journal's events: deliveries of files, commands of readers,
 * instruction files.
 *
 * A viewer or reader is one request, which begins with its START record; its result stands in later
 * records of the same process.
 * So requests are collected and handed on in the order in which they began, the oldest when there
 * are HISTORY_REQUESTS_MAX of them or at the end.  What is reported later than that of one that was
 * handed on is an entry of its own.
 * What is kept is bounded, however long the journal.
 *
 * A call of the agent's own tools that its hook reported is an entry by itself.
 *
 * A viewer has an entry for each file that it was given or answered for.  A reader has one, and so
 * has a viewer of which the journal does not say that any file was given whole; of these it is only
 * known what they read, unless the reader's command was remembered (REQUEST).  Where the output
 * went to a file, as far as the journal tells, there is none.
 *
 * A journal is bytes of others: nothing in an entry is to be printed as it is.  Never prints, never
 * exits.
 */
#ifndef SEEN_CLI_HISTORY_H
#define SEEN_CLI_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/journal/events.h"
#include "tracker/content/version.h"

enum {
	HISTORY_REQUESTS_MAX = 1024,
	HISTORY_PATHS_MAX = 256,         /* of one entry; `path_count` tells how many there were */
	HISTORY_PATHS_BYTES_MAX = 65536, /* likewise */
	HISTORY_NOT_KNOWN = -1,          /* as a decision */
};

#define HISTORY_BYTES_UNKNOWN UINT64_MAX

enum history_kind {
	/* of one file: a viewer, an in-process read of a whitelisted program, or a tool of the agent that its
	 * hook reported */
	HISTORY_DELIVERY,
	HISTORY_REQUEST,     /* a command */
	HISTORY_INSTRUCTION, /* an instruction file: decision CONTENT */
	/* a tool of the agent's own, as its hook reported the call: its result is not known */
	HISTORY_TOOL,
};

/* One entry.  Pointers are valid during the call. */
struct history_entry {
	uint64_t number; /* of the record that it begins with */
	uint64_t time_realtime_ns;
	/* 0: of a whitelisted program's in-process reads: of that process alone */
	uint64_t scope_id;
	uint64_t epoch; /* 0: not known */
	uint32_t pid;   /* 0: not known */
	int role;       /* enum role; -1: not known */
	enum history_kind kind;
	const char *
		tool; /* name of the program; "read" for in-process reads; of an instruction file how it was given */
	const char *arguments; /* each ended by NUL, the program's name first; NULL: not known */
	size_t arguments_bytes;
	const char *
		paths; /* each ended by NUL: absolute, or as given; of a delivery the file; else what was read or listed */
	size_t paths_bytes;
	uint64_t path_count;       /* in all; of what is not in `paths` each time */
	const char *argument_path; /* of a delivery, as the command wrote it; NULL: not known */
	/* enum decision; HISTORY_NOT_KNOWN: the journal does not tell whether it reached the
	 * scope */
	int decision;
	struct version before;    /* DIFF: what the scope had */
	struct version version;   /* of the file; none: not known */
	uint64_t bytes;           /* that the scope was given; HISTORY_BYTES_UNKNOWN */
	bool is_failed;           /* HISTORY_TOOL: so the hook reported */
	const char *conversation; /* likewise: the agent's id of it; NULL: it gave none */
	uint64_t bytes_saved;     /* that it was not given again; 0 for what is given in full */
};

/* history_each(): calls `entry` for each entry of a scope, or, for scope_id 0, of all.
 *
 * events: opened without `follow`, at its beginning, or where events_skip() led: of what began before, an
 * entry may lack its command.  report: called for what an agent's hook reported (REPORTED), before any
 * entry that began since; NULL: nothing.  What `entry` returns other than 0 ends it.
 * Returns 0; what `entry` returned; -ENOMEM. */
int history_each(struct events *events, uint64_t scope_id,
		 void (*report)(const struct event *event, void *data),
		 int (*entry)(const struct history_entry *entry, void *data), void *data);

#endif
