/*
 * A transcript as a file: where reading of it begins, what is new in it, and what a report of a
 * compaction in it does to the scopes of its agent.
 *
 * For cli/agents/transcripts.c, which finds the files and calls this for those that were written
 * to.  The state of the run's transcripts is defined here, because a line's meaning depends on it.
 * One thread.
 */
#ifndef SEEN_CLI_TRANSCRIPT_FILE_H
#define SEEN_CLI_TRANSCRIPT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/agents/conversations.h"
#include "cli/session/session.h"
#include "tracker/process/scope.h"

enum {
	TRANSCRIPT_HEAD_LINES = 2, /* of a transcript, before anything can have been given */
};

struct transcript_directory; /* of transcripts.c */
struct transcript_store;

/* Where transcripts are, and what counts in them. */
struct transcript_rule {
	const char *markers; /* of the config; empty: none */
	uint64_t profiles;   /* bits: whose; of the session's profiles */
	char *pattern;       /* absolute */
	char *root;          /* the directory before the first component with a wildcard */
	const char *rest;    /* the pattern behind it */
	bool begun;          /* the root is among the directories */
	bool late;           /* it was not there at first: all that is in it is new */
};

struct transcript_file {
	uint64_t key; /* of its path */
	struct transcript_rule *rule;
	char *path;
	uint64_t dev, ino;
	uint64_t offset;   /* what is before it was read; the beginning of a line */
	uint64_t tail;     /* hash of the last bytes before it */
	bool skips;        /* what is before it is the beginning of a line that is too long */
	bool touched;      /* to be inspected */
	bool heard;        /* something was read of it in this run */
	unsigned again_ms; /* a database: it is read again so much later; 0: it is not */
	uint64_t again_ns;
	uint64_t rests_ns; /* it is not read before that */
	unsigned lines; /* read in all, TRANSCRIPT_HEAD_LINES at most; that, where it was there before */
	struct findings *findings;      /* what it tells; NULL: nothing yet */
	struct transcript_store *store; /* it is a database; NULL: it is not, or was not read yet */
	uint64_t said_ns;               /* the time that a line named last */
	uint64_t old_bytes;    /* what it had when it was found, where it was there before */
	uint64_t *compactions; /* hashes of the lines that counted */
	size_t compaction_count;
};

/* The transcripts of a run. */
struct transcripts {
	const struct session *session;
	const struct segment *segment;
	struct journal *journal;
	struct conversations *conversations;
	uint64_t since_ns; /* CLOCK_REALTIME: when the run began */
	struct transcript_rule *rules;
	size_t rule_count;
	struct transcript_directory *directories;
	size_t directory_count, directory_capacity;
	struct transcript_file *files;
	size_t file_count, file_capacity;
	int fd;     /* inotify; -1: there is none */
	bool lists; /* something is not watched */
	uint64_t list_ns;
};

/* transcripts_each_scope(): calls back for each scope whose profile is among `profiles` (bits, as
 * of a rule).
 *
 * callback: gets a copy of the scope, valid during the call, and `data`. */
void transcripts_each_scope(const struct transcripts *transcripts, uint64_t profiles,
			    void (*callback)(const struct scope_slot *scope, void *data),
			    void *data);

/* transcript_file_start(): where reading begins of a file that was there before it was watched: at
 * its end, or at its beginning, and `touched`, if it was written to in this run.
 *
 * file: with path, rule and lines set.  Left as it is where it cannot be opened. */
void transcript_file_start(const struct transcripts *transcripts, struct transcript_file *file);

/* transcript_file_inspect(): reads what is new in a file and applies it: to the conversations, and
 * to the scopes where it reports a compaction.  The file is not `touched` any more.
 *
 * file: of transcripts->files.  One that cannot be opened, or is no regular file, tells nothing. */
void transcript_file_inspect(struct transcripts *transcripts, struct transcript_file *file);

/* transcript_files_read_again(): touches the databases that are to be read again.
 *
 * Returns in how many milliseconds the next one is, or `most_ms`. */
unsigned transcript_files_read_again(const struct transcripts *transcripts, unsigned most_ms);

#endif
