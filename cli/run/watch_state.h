/*
 * The watcher's own state, between its files.
 *
 * 	watch.c          the calls of `seen run`, and whose turn it is
 * 	watch_due.c      when a file is inspected
 * 	watch_directories.c  which files there are, and what the kernel reports of them: inotify(7), or their stamps
 * 	watch_judge.c    what became of a file, and who made it so
 * 	watch_holder.c   who may write to it still
 */
#ifndef SEEN_CLI_WATCH_STATE_H
#define SEEN_CLI_WATCH_STATE_H

#include "cli/run/live_processes.h"
#include "cli/run/open_files.h"
#include "cli/run/partly.h"
#include "cli/run/watch.h"
#include "tracker/segment/tables.h"

#define MILLISECOND_NS UINT64_C(1000000)

/* A directory that holds files which are inspected, or one above it in the workspace. */
struct directory {
	uint64_t key; /* of its path; first: trees are ordered by it */
	char *path;
	int wd;            /* -1: not watched */
	bool holds;        /* files that are inspected */
	bool listed;       /* the names in it are in watch.names */
	uint64_t retry_ns; /* not watched: to be tried again then */
};

/* A file that some scope has a baseline of; or one that appeared or went, and that no scope has a
 * baseline of: a fresh one. */
struct file {
	uint64_t key; /* first: trees are ordered by it */
	char *path;
	struct directory *directory; /* NULL: none that is watched */
	bool excluded;
	bool fresh, was_there; /* fresh: before its first event */
	bool asks_holder;      /* in this turn */
	/* As of the last look; fresh: `looked` is the time of the first event. */
	bool known;
	struct version seen;     /* none: there was no such file */
	struct version external; /* that of its slot */
	uint32_t edits;          /* likewise */
	uint32_t forgets; /* likewise: another number, and the slot was given away meanwhile */
	uint64_t last_edit_realtime_ns;           /* likewise */
	uint64_t checked_ns, checked_realtime_ns; /* when that look began */
	struct stamp stamp;
	/* When it is to be inspected. */
	uint64_t due_ns;   /* 0: not */
	uint64_t first_ns; /* of the events since the last look */
	unsigned checks;   /* that came to nothing */
};

struct instruction_index;

struct watch {
	const struct session *session;
	const struct segment *segment;
	struct journal *journal;
	pid_t left_out;
	int fd; /* inotify; -1: not made yet, or it could not be */
	bool tried, quiet, said;
	bool is_busy; /* the kernel reported something at the last turn */
	uint64_t quiet_ns;

	struct directory **directories;
	size_t directory_count, directory_capacity;
	struct file **files;
	size_t file_count, file_capacity;
	size_t fresh_count;
	/* tsearch(3): files and directories by key, directories by wd, names in listed directories
	 * by key. */
	void *file_by_key, *directory_by_key, *directory_by_wd, *names;

	/* The files of slots that were scanned, none of them fresh; NULL: no memory. */
	struct file **file_by_slot;
	uint64_t scan_at;       /* next slot of the table; 0: no round is under way */
	uint64_t files_changed; /* as of the beginning of that round */
	bool has_retries, has_polled;
	uint64_t poll_ns;
	size_t poll_at;

	size_t pending;
	size_t inspect_next; /* whose turn it is, where one turn does not suffice */

	struct instruction_index *instructions; /* NULL: it is not asked for */

	struct live_processes live_process;
	struct open_files open_files; /* of these */
	bool asks_holders;            /* a file does */
	uint64_t unobserved_ns; /* when a program that is not observed in full was last seen to live */
	uint64_t asked_ns;
	struct partly partly;
};

/* What may put off a check. */
enum phase {
	PHASE_RUNS,
	PHASE_ENDS, /* the run is over: as little as can be */
	PHASE_LAST, /* nothing */
};

#endif
