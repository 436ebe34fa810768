/*
 * A model of what the scopes of recorded sessions were given: for each scope and file the lines,
 * when, and by which way; what has changed since.
 * For cli/replay/replay.c and replay_judge.c.
 *
 * Texts are not kept: a line is a hash and a length, twelve bytes with the moment at which it was
 * given.
 */
#ifndef SEEN_CLI_REPLAY_MEMORY_H
#define SEEN_CLI_REPLAY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/replay/replay.h"
#include "cli/replay/shown.h"
#include "config/settings.h"
#include "tracker/answer/delivery.h"
#include "tracker/segment/segment.h"

enum { MEMORY_SESSIONS_MAX = 8 /* at a time; the one used longest ago makes place */ };

/* A table: keys that are hashes, each with a pointer or a mere mark. */
struct table {
	struct table_slot {
		uint64_t key; /* 0: free */
		void *value;
	} * slots;
	size_t count, capacity;
};

/* The moment at which something was given, in a scope's measures for one way. */
struct delivered_at {
	uint64_t epoch;      /* 0: forgotten */
	uint64_t generation; /* of the file */
	uint64_t request, bytes, time_ns;
	/* by a viewer, or a part by head, tail, sed -n, kept to the output's limit: what the
	 * tracker counts */
	bool is_delivery;
};

/* A line as it was given last: its text, and the index of its `given`. */
struct memory_line {
	struct line_key line;
	uint32_t given_at; /* from 1; 0: the line was not given */
};

/* How a repeat was answered last: of which version, in which epoch. */
struct answered {
	struct note note;
	uint64_t version, epoch;
};

/* What one scope was given of one file by one way. */
struct record {
	struct record *next; /* of the same file */
	uint64_t scope_id;
	enum replay_way way;
	struct memory_line *lines;
	size_t line_count, line_capacity;
	struct delivered_at *given;
	size_t given_count, given_capacity;
	/* As it was given whole last. */
	bool has_whole;
	uint64_t whole_version;
	struct line_key *
		whole_lines; /* where parts of another version were given since; NULL: `lines` are it */
	size_t whole_count;
	struct delivered_at whole;
	struct answered notes[REPLAY_SETTING_COUNT]; /* of each setting, as if it were alone */
};

struct file {
	uint64_t base;                     /* hash of its last name */
	uint64_t generation;               /* rises with each change that is known, from 1 */
	uint64_t version;                  /* as it was shown whole last; 0: not */
	uint64_t whole_bytes, whole_lines; /* of that version */
	bool is_edited; /* by the agent's own tool, since its hook read it whole */
	bool is_read;
	struct file *same_base;
	struct record *records;
};

/* A command that was given. */
struct remembered {
	uint64_t output, inputs,
		number; /* number: in the order in which the scope remembers them */
	uint64_t words; /* hash */
	struct delivered_at given;
	struct answered note;
};

/* A search that was given: the lines of its output, each with and without what stands before it. */
struct searched {
	uint64_t changes; /* the session's, by then */
	uint64_t *lines;  /* hashes, sorted */
	size_t count;
};

struct measure {
	uint64_t requests, bytes;
};

struct scope {
	uint64_t id;
	uint64_t epoch; /* from 1 */
	uint64_t remembered;
	struct measure measures[REPLAY_WAY_COUNT];
};

struct session {
	uint64_t id, used;
	size_t row; /* of replay_rows() */
	/* the first directory that is known: the workspace, as far as the transcript tells */
	char *root;
	uint64_t changes;      /* edits and commands that may have changed anything */
	struct table files;    /* by path: struct file */
	struct table by_base;  /* by last name: the first struct file */
	struct table answers;  /* answers that were given: a set */
	struct table requests; /* by scope, directory and words: struct remembered */
	struct table searches; /* by scope, epoch and pattern: struct searched */
	struct table scopes;   /* by id: struct scope */
	/* What hooks know of it (replay_hooks.h); not mapped: no own read yet. */
	struct segment segment;
	uint64_t agent_scope;
	bool had_sub_agents; /* since the last own read of its agent */
};

struct replay_memory {
	struct session sessions[MEMORY_SESSIONS_MAX];
	uint64_t tick;
};

/* memory_mix(): a number for three. */
uint64_t memory_mix(uint64_t a, uint64_t b, uint64_t c);

/* memory_mark(): is a key in the table?  Puts it there.  Returns 1, 0, or -ENOMEM. */
int memory_mark(struct table *table, uint64_t key);

/* memory_at(): the place of a key; made where it is not there, with NULL in it.  NULL: no
 * memory. */
void **memory_at(struct table *table, uint64_t key);

/* memory_session(), memory_scope(): made where they are not there; *ret_new says so.
 * memory_scope() is NULL without memory. */
struct session *memory_session(struct replay_memory *known, uint64_t id, bool *ret_new);
struct scope *memory_scope(struct session *session, uint64_t id, bool *ret_new);

/* memory_path(): the key of a path: absolute where that is known.
 * directory: absolute, or NULL.  ret_base: of its last name. */
uint64_t memory_path(const char *directory, const char *path, uint64_t *ret_base);

/* memory_file(): a file of a session; makes: where it is not there; else NULL, as without
 * memory. */
struct file *memory_file(struct session *session, const char *directory, const char *path,
			 bool makes);

/* memory_record(): likewise, what a scope was given of it by one way. */
struct record *memory_record(struct file *file, uint64_t scope_id, enum replay_way way, bool makes);

/* memory_now(): the moment, in a scope's measures.  file: NULL: of none. */
struct delivered_at memory_now(const struct scope *scope, enum replay_way way,
			       const struct file *file, uint64_t time_ns);

/* memory_is_current(): does what was given still count, as moment_is_current() of the tracker has
 * it? */
bool memory_is_current(const struct settings *settings, const struct delivered_at *given,
		       const struct delivered_at *now);

/* Whose knowledge is asked. */
enum knowers { THIS_EPOCH, THIS_SCOPE, ANY_SCOPE };

/* memory_lines(): was each of the lines given, as it is?  False for no lines. */
bool memory_lines(const struct file *file, const struct scope *scope, const struct shown *shown,
		  enum knowers who);

/* memory_line_ranges(): do parts of the version that the file has now, each of which still counts,
 * make up the lines? */
bool memory_line_ranges(const struct settings *settings, const struct file *file,
			const struct record *record, const struct shown *shown,
			const struct delivered_at *now);

/* memory_deliver(): the lines were given.  Returns 0 or -ENOMEM. */
int memory_deliver(struct record *record, const struct shown *shown,
		   const struct delivered_at *given);

/* memory_whole(): the lines of the file as it was given whole last.  Returns them, to be freed;
 * NULL without memory. */
struct line_key *memory_whole(const struct record *record, size_t *ret_count);

/* memory_forget(): nothing of it counts any more. */
void memory_forget(struct record *record);

/* memory_change(): the file is another now; NULL: one that is not known. */
void memory_change(struct session *session, struct file *file);

/* memory_run(): a command ran that may have done anything: files whose names are among its words
 * may be others now. */
void memory_run(struct session *session, const char *line);

/* memory_compare(): a file that is shown as another one than it was has changed, by whatever
 * writer. */
void memory_compare(struct session *session, struct file *file, const struct shown *shown);

/* memory_free(): forgets all sessions. */
void memory_free(struct replay_memory *known);

#endif
