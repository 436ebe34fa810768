/*
 * Exports: a journal's events in the form of another program, one after the other.
 *
 * A format is a line of EXPORT_FORMATS and a file cli/export/export_NAME.c that defines
 * `export_NAME`.  It is given the journal, then each event, and keeps nothing that grows with
 * them.  docs/export.md says what each field is made of.
 *
 * What an exporter writes are bytes of others (events.h): paths are no UTF-8, and may hold anything
 * but NUL.
 */
#ifndef SEEN_CLI_EXPORT_H
#define SEEN_CLI_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/journal/events.h"
#include "tracker/journal/journal.h"

/* EXPORT_FORMATS(FORMAT): FORMAT(name), in the order of the documentation. */
#define EXPORT_FORMATS(FORMAT) \
	FORMAT(jsonl) FORMAT(csv) FORMAT(sqlite) FORMAT(ocsf) FORMAT(ecs) FORMAT(otlp) FORMAT(sarif)

/* What is known of the journal as a whole. */
struct export_facts {
	char session[JOURNAL_NAME_BYTES]; /* name; bytes of others */
	/* its nonce, which no other journal has: with a record's number, the key of an event */
	char journal[JOURNAL_NONCE_BYTES];
	const char *workspace; /* absolute; NULL: not known */
	uint64_t created_realtime_ns;
	const char *host; /* NULL: not known, as of a journal that is a file from somewhere */
};

enum { EXPORT_ERROR_BYTES = 512 };

/* One export. */
struct export
{
	/* rows go here; the caller asks it for errors, and flushes.  NULL for EXPORT_DATABASE */
	FILE *file;
	const char *path; /* EXPORT_DATABASE: of the file */
	bool added;       /* rows are added to those of an earlier run: no head is to be written */
	struct export_facts facts;
	/* events of earlier records are not told.  EXPORT_DATABASE: start() sets it to where it
	 * goes on */
	uint64_t from;
	uint64_t next; /* finish(): number of the record that a later run is to begin with */
	void *own;     /* the format's */
	/* what is wrong, for a person, where an errno does not tell; "": it does */
	char error[EXPORT_ERROR_BYTES];
};

enum export_kind {
	EXPORT_ROWS,     /* lines, that may be added to those of an earlier run */
	EXPORT_DOCUMENT, /* one document: nothing can be added to it */
	EXPORT_DATABASE, /* opens its file itself, and keeps there how far it is */
};

/* The functions return 0 or a negative errno (and perhaps export->error).  Those that are NULL have
 * nothing to do. */
struct export_format {
	const char *name;
	enum export_kind kind;
	int (*start)(struct export *export);
	/* In the order of the numbers; EVENT_DAMAGED has no `entry`. */
	int (*event)(struct export *export, const struct event *event);
	/* All were exported. */
	int (*finish)(struct export *export);
	/* Last, also when start() or another failed: releases what is `own`.  What finish() did not
	 * finish is void. */
	void (*close)(struct export *export);
};

#define FORMAT(name) extern const struct export_format export_##name;
EXPORT_FORMATS(FORMAT)
#undef FORMAT

/* export_format_find(): by its name; NULL: there is none. */
const struct export_format *export_format_find(const char *name);

/* export_format_names(): the names, ended by NULL. */
const char *const *export_format_names(void);

#endif
