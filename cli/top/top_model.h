/*
 * What `seen top` knows of a session: its files, processes and the last events worth a line, learnt
 * event by event from the journal.
 *
 * 	top_model.h   what is known (this file)
 * 	top_rows.h    which of it is shown, in what order
 * 	top_feed.h    where it comes from: the journal and the segment, a little at a time
 * 	top_text.h    texts of others in a number of columns
 * 	screen.h  the terminal
 * 	top_draw.h    what is drawn
 *
 * What is kept is bounded: the files touched last, the processes heard of last, the last notes.
 * What was dropped is counted.
 * Never prints, makes no system call.
 */
#ifndef SEEN_CLI_TOP_MODEL_H
#define SEEN_CLI_TOP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/journal/events.h"
#include "tracker/content/version.h"

enum {
	TOP_FILES_MAX = 65536,
	TOP_PROCESSES_MAX = 4096,
	TOP_NOTES_MAX = 1024,
	TOP_COMMAND_BYTES = 256, /* of a program and its arguments, NUL counted */
	TOP_TEXT_BYTES = 160,    /* of what a note says, NUL counted */
};

/* A file's state, shown beside its numbers: the most serious is shown. */
enum top_file_flags {
	TOP_FILE_WRITTEN = 1,  /* by the session */
	TOP_FILE_DELETED = 2,  /* by the session, and not made again */
	TOP_FILE_EXTERNAL = 4, /* changed by an external writer, and not read since */
	TOP_FILE_CONFLICT = 8,
	TOP_FILE_RULED = 16, /* a rule warned of an access, refused it, or fails the run for it */
};

/* Texts are bytes of others. */
struct top_file {
	const char *path;  /* absolute; else as it was given, behind "?/" */
	bool is_workspace; /* in it */
	uint32_t flags;    /* enum top_file_flags */
	uint64_t reads;    /* times opened for reading */
	uint64_t bytes;    /* read, as far as seen */
	/* given whole again to the same scope in the same version, or answered with a notice */
	uint64_t repeats;
	uint64_t notices;
	uint64_t bytes_saved;
	uint64_t writes; /* times opened for writing, made, removed or renamed */
	uint64_t last_realtime_ns;
	/* Of the model alone. */
	struct version given;
	uint64_t given_scope;
	struct top_file *next;          /* in its bucket */
	struct top_file *newer, *older; /* in a ring */
};

enum top_life { TOP_RUNS, TOP_ENDED, TOP_GONE /* ended by a signal, or without a word */ };

struct top_process {
	uint64_t id;     /* never given twice, rises */
	uint64_t parent; /* id of the process that started it; 0: not known */
	uint64_t number; /* of its last START or FORK record */
	uint64_t pid_ns; /* inode of its PID namespace; 0: not known */
	uint32_t pid;
	int role; /* enum role; -1: not known */
	enum top_life life;
	uint64_t status;                 /* ENDED: of the exit */
	char command[TOP_COMMAND_BYTES]; /* program's name and arguments */
	uint64_t reads,
		writes; /* files opened for reading; for writing, made, removed or renamed */
	uint64_t events;
	double rate; /* events a second */
	uint64_t last_realtime_ns;
	/* Of the model alone. */
	uint64_t rated; /* events that `rate` knows */
	struct top_process *next;
	struct top_process *newer, *older;
};

/* An event worth a line. */
struct top_note {
	uint64_t number; /* of the record */
	uint64_t time_realtime_ns;
	unsigned op; /* enum journal_op, or EVENT_DAMAGED */
	uint32_t pid;
	bool is_grave;             /* a conflict, a rule, what is not observed */
	char *path;                /* absolute or as given; a program's name; NULL: none */
	char text[TOP_TEXT_BYTES]; /* what there is to say */
};

struct top_model {
	const char *workspace;                        /* NULL: not known.  Borrowed */
	uint64_t events;                              /* taken */
	uint64_t last_realtime_ns;                    /* of events; 0: there was none */
	size_t file_count, process_count, note_count; /* that are kept */
	size_t running_count;
	uint64_t files_dropped, processes_dropped, notes_dropped;
	/* Rings: .older is the newest, .newer the oldest. */
	struct top_file newest_file;
	struct top_process newest_process;
	struct top_note notes[TOP_NOTES_MAX]; /* top_model_note() */
	/* Of the model alone. */
	struct top_file **file_buckets;
	struct top_process **process_buckets; /* by pid */
	uint64_t next_id;
	size_t note_first;
	struct first_read *first_reads;
};

/* top_model_new(): an empty model.  Returns 0 or -ENOMEM.  top_model_free(): accepts NULL. */
int top_model_new(const char *workspace, struct top_model **ret_model);
void top_model_free(struct top_model *model);

/* top_model_add(): learns of an event.  What does not fit into memory is counted as dropped. */
void top_model_add(struct top_model *model, const struct event *event);

/* top_model_rate(): brings the rates of processes up to date.  elapsed_ns: since the last call. */
void top_model_rate(struct top_model *model, uint64_t elapsed_ns);

/* top_model_reset_rates(): rates begin anew. */
void top_model_reset_rates(struct top_model *model);

/* top_model_gone(): a process that runs, as far as the model knows, was not found any more. */
void top_model_gone(struct top_model *model, struct top_process *process);

/* top_rate(): a rate that follows `count` more in elapsed_ns, smoothed over some seconds.  Per
 * second. */
double top_rate(double rate, uint64_t count, uint64_t elapsed_ns);

#endif
