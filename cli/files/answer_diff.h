/*
 * What is given to a viewer instead of a file that changed since its scope was given it: a line
 * that says so, and a unified diff.
 */
#ifndef SEEN_CLI_ANSWER_DIFF_H
#define SEEN_CLI_ANSWER_DIFF_H

#include <stdbool.h>

#include "cli/files/line_script.h"
#include "tracker/content/version.h"
#include "tracker/segment/segment.h"

/* What a diff is asked of. */
struct diff_question {
	struct version before; /* the version that the scope was given, from the content store */
	struct version now;    /* the file's, as it was decided on */
	uint64_t given_realtime_ns;
	const char *path; /* as the command wrote it */
	bool is_bare;     /* the diff alone, without the line in front */
};

/* answer_diff(): writes the text.
 *
 * fd: of the file, read by pread.  out: open for writing.  Nothing is given but what leads from the
 * one version to the other byte for byte, which is tried; and nothing that is not short
 * (decision_is_short()).  Returns enum diff_status. */
int answer_diff(const struct segment *segment, const struct diff_question *question, int fd,
		int out);

/* answer_diff_bytes(): how long such a text would be, header and all, where the script between the
 * versions is known.  UINT64_MAX: its header cannot be made. */
uint64_t answer_diff_bytes(const struct segment *segment, const struct diff_question *question,
			   const struct line_script *script);

/* answer_diff_count(): how many lines were added to and removed from a version, which is in the content
 * store, to come to the one that is open.
 *
 * fd: read by pread.  Returns false where that is not known: a content is not kept, is no text, is
 * larger than [notice] max_bytes, or changes. */
bool answer_diff_count(const struct segment *segment, const struct version *before,
		       const struct version *now, int fd, size_t *ret_added, size_t *ret_removed);

#endif
