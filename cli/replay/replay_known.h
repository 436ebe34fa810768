/*
 * What is known of recorded sessions: for each scope and file the lines that it was given, when, and by which way; what has changed since.
 * For cli/replay/replay.c.
 *
 * Texts are not kept: a line is a hash and a length, twelve bytes with the moment at which it was given.
 */
#ifndef SEEN_CLI_REPLAY_KNOWN_H
#define SEEN_CLI_REPLAY_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/replay/replay.h"
#include "cli/replay/shown.h"
#include "config/settings.h"
#include "tracker/answer/delivery.h"

enum { KNOWN_SESSIONS_MAX = 8 /* at a time; the one used longest ago makes place */ };

/* A table: keys that are hashes, each with a pointer or a mere mark. */
struct table {
	struct table_slot {
		uint64_t key; /* 0: free */
		void *value;
	} * slots;
	size_t count, capacity;
};

/* The moment at which something was given, in a scope's measures for one way. */
struct given {
	uint64_t epoch;      /* 0: forgotten */
	uint64_t generation; /* of the file */
	uint64_t request, bytes, time_ns;
	bool is_delivery; /* by a viewer, or a part by head, tail, sed -n, kept to the output's limit: what the tracker counts */
};

/* A line as it was given last: its text, and the index of its `given`. */
struct known_line {
	struct shown_line line;
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
	struct known_line *lines;
	size_t line_count, line_capacity;
	struct given *given;
	size_t given_count, given_capacity;
	/* As it was given whole last. */
	bool has_whole;
	uint64_t whole_version;
	struct shown_line *
		whole_lines; /* where parts of another version were given since; NULL: `lines` are it */
	size_t whole_count;
	struct given whole;
	struct answered notes[REPLAY_SETTING_COUNT]; /* of each setting, as if it were alone */
};

struct file {
	uint64_t base;       /* hash of its last name */
	uint64_t generation; /* rises with each change that is known, from 1 */
	uint64_t version;    /* as it was shown whole last; 0: not */
	bool is_read;
	struct file *same_base;
	struct record *records;
};

/* A command that was given. */
struct remembered {
	uint64_t output, inputs,
		number; /* number: in the order in which the scope remembers them */
	struct given given;
	struct answered note;
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
	char *root; /* the first folder that is known: the workspace, as far as the transcript tells */
	uint64_t changes;      /* edits and commands that may have changed anything */
	struct table files;    /* by path: struct file */
	struct table by_base;  /* by last name: the first struct file */
	struct table answers;  /* answers that were given: a set */
	struct table requests; /* by scope, folder and words: struct remembered */
	struct table scopes;   /* by id: struct scope */
};

struct known {
	struct session sessions[KNOWN_SESSIONS_MAX];
	uint64_t tick;
};

/* known_mix(): a number for three. */
uint64_t known_mix(uint64_t a, uint64_t b, uint64_t c);

/* known_mark(): is a key in the table?  Puts it there.  Returns 1, 0, or -ENOMEM. */
int known_mark(struct table *table, uint64_t key);

/* known_at(): the place of a key; made where it is not there, with NULL in it.  NULL: no memory. */
void **known_at(struct table *table, uint64_t key);

/* known_session(), known_scope(): made where they are not there; *ret_new says so.  known_scope() is NULL without memory. */
struct session *known_session(struct known *known, uint64_t id, bool *ret_new);
struct scope *known_scope(struct session *session, uint64_t id, bool *ret_new);

/* known_path(): the key of a path: absolute where that can be told.
 * directory: absolute, or NULL.  ret_base: of its last name. */
uint64_t known_path(const char *directory, const char *path, uint64_t *ret_base);

/* known_file(): a file of a session; makes: where it is not there; else NULL, as without memory. */
struct file *known_file(struct session *session, const char *directory, const char *path,
			bool makes);

/* known_record(): likewise, what a scope was given of it by one way. */
struct record *known_record(struct file *file, uint64_t scope_id, enum replay_way way, bool makes);

/* known_now(): the moment, in a scope's measures.  file: NULL: of none. */
struct given known_now(const struct scope *scope, enum replay_way way, const struct file *file,
		       uint64_t time_ns);

/* known_is_current(): does what was given still count, as moment_is_current() of the tracker has it? */
bool known_is_current(const struct settings *settings, const struct given *given,
		      const struct given *now);

/* Whose knowledge is asked. */
enum knowers { THIS_EPOCH, THIS_SCOPE, ANY_SCOPE };

/* known_lines(): was each of the lines given, as it is?  False for no lines. */
bool known_lines(const struct file *file, const struct scope *scope, const struct shown *shown,
		 enum knowers who);

/* known_parts(): do parts of the version that the file has now, each of which still counts, make up the lines? */
bool known_parts(const struct settings *settings, const struct file *file,
		 const struct record *record, const struct shown *shown, const struct given *now);

/* known_give(): the lines were given.  Returns 0 or -ENOMEM. */
int known_give(struct record *record, const struct shown *shown, const struct given *given);

/* known_whole(): the lines of the file as it was given whole last.  Returns them, to be freed; NULL without memory. */
struct shown_line *known_whole(const struct record *record, size_t *ret_count);

/* known_forget(): nothing of it counts any more. */
void known_forget(struct record *record);

/* known_change(): the file is another now; NULL: one that is not known. */
void known_change(struct session *session, struct file *file);

/* known_run(): a command ran that may have done anything: files whose names are among its words may be others now. */
void known_run(struct session *session, const char *line);

/* known_compare(): a file that is shown as another one than it was has changed, whoever did it. */
void known_compare(struct session *session, struct file *file, const struct shown *shown);

/* known_free(): forgets all sessions. */
void known_free(struct known *known);

#endif
