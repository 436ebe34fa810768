/*
 * A report's files and its journal's events, packed for the page of `seen report --format html`: a
 * million events in some 12 MB.
 *
 * They are written as elements <script type="application/octet-stream" class="...">, whose content
 * is base64 and no program: a browser neither runs nor asks for them.  The page
 * (config/data/page/data.js) takes them apart.  Numbers are unsigned LEB128 ("number"); those that
 * may go down are zigzag-coded ("step").  Three kinds of elements, each a series that runs through
 * all of its kind; none splits an entry:
 *
 * 	class "texts"	a text is known by its place in the series, from 1; 0: none
 * 		number	bytes at its beginning that are those of the text before
 * 		number	bytes that follow them
 * 		bytes	UTF-8, as path_escape() makes it
 *
 * 	class "files"
 * 		step	text of the path, less that of the file before
 * 		number	a dozen of them, by put_file()
 *
 * 	class "events"
 * 		byte	op (enum journal_op, EVENT_DAMAGED)
 * 		byte	enum packed_marks: which of the following are there
 * 		number	of the record, less that of the event before
 * 		step	microseconds since the event before; of the first, since the journal's first known time
 * 		number	PACKED_PROCESS: of the record, less that of its process's first record, and 1; 0: not known.  Else as the event before
 * 		number	PACKED_ERROR: errno
 * 		number	PACKED_AMOUNT: bytes, or what the op calls so
 * 		step	PACKED_PATH: text of the path, less that of the event before that had one
 * 		step	PACKED_DETAILS: text of what else there is to say, likewise
 * 	and of START and FORK
 * 		number	pid
 * 		number	parent's pid
 * 		number	role + 1; 0: not known
 * 		number	context (enum context_flags)
 * 		number	of the record, less that of EXEC (START) or of the process that was copied (FORK); 0: not known
 */
#ifndef SEEN_CLI_REPORT_HTML_EVENTS_H
#define SEEN_CLI_REPORT_HTML_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/report/report.h"

enum {
	/* Beyond it the page would take a browser's memory; it says what it leaves out. */
	PACKED_EVENTS_MAX = 1 << 21,
	/* Texts that are remembered, to be written once.  When there are more, all are forgotten,
	 * and some are written again. */
	PACKED_TEXTS_MAX = 1 << 18,
};

enum packed_marks {
	PACKED_PROCESS = 1,
	PACKED_ERROR = 2,
	PACKED_AMOUNT = 4,
	PACKED_PATH = 8,
	PACKED_DETAILS = 16,
	PACKED_ATTEMPTED = 32,
	PACKED_BY_OTHERS = 64, /* a change by no process of the session */
	PACKED_AT_LEAST = 128, /* there were more bytes than the amount */
};

/* What was written. */
struct packed_counts {
	uint64_t events;
	uint64_t left_out;          /* events beyond PACKED_EVENTS_MAX */
	uint64_t first_realtime_ns; /* what the first step counts from; 0: there is no time */
};

/* packed_write(): writes a report's files, then goes through its journal once and writes its
 * events.
 *
 * path: of the journal; what was added to it since the report was gathered is not inspected.
 * events_max: at most PACKED_EVENTS_MAX.
 * What it takes of memory is bounded, however long the journal: 30 MB at most.
 * Returns 0; -ENOMEM; the errors of events_open().  Those of `file` are the caller's to ask. */
int packed_write(FILE *file, const struct report *report, const char *path, uint64_t events_max,
		 struct packed_counts *ret_counts);

#endif
