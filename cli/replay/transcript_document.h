/*
 * Transcripts that are one JSON document, read part by part.
 */
#ifndef SEEN_CLI_TRANSCRIPT_DOCUMENT_H
#define SEEN_CLI_TRANSCRIPT_DOCUMENT_H

#include "cli/replay/transcript_reader.h"

/* What transcript_document() reports of a file of sessions. */
struct document_reader {
	/* Members of a session that are lists of its parts, NULL-ended; told one by one as they
	 * come. */
	const char *const *lists;
	/* A list without a session around it is one, too: of its parts. */
	bool bare;
	/* Members of a session that are reported before its lists, where they come before them, by
	 * member(), whole; NULL-ended; NULL: none. */
	const char *const *members;
	void (*member)(void *reader, const char *name, const json_t *value);
	/* begin: of session number `number`, from 0.  part: of a list; list: its name, "" for a
	 * bare one.  Each may be asked to end the reading by a negative errno. */
	int (*start)(void *reader, uint64_t number);
	int (*part)(void *reader, const char *list, const json_t *part);
};

/* transcript_document(): a document that is one session, a list of them, or several behind one
 * another (JSON lines). */
int transcript_document(struct transcript *transcript, const struct document_reader *reader,
			void *data);

#endif
