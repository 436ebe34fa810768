/* What changed: see answer_diff.h. */
#include "cli/files/answer_diff.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/memory_stream.h"
#include "cli/base/text.h"
#include "cli/files/hunks.h"
#include "cli/files/unified.h"
#include "tracker/answer/decision.h"
#include "tracker/content/contents.h"
#include "tracker/path/path.h"

struct copy {
	char *bytes;
	size_t count;
};

static bool write_all(int fd, const char *bytes, size_t count)
{
	while (count) {
		ssize_t wrote = write(fd, bytes, count);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return false;
		bytes += wrote;
		count -= (size_t)wrote;
	}
	return true;
}

/* Reads from offset 0 on.  Returns how many bytes there are, at most `capacity`; -1: an error. */
static ssize_t read_all(int fd, char *ret_bytes, size_t capacity)
{
	size_t count = 0;

	while (count < capacity) {
		ssize_t got = pread(fd, ret_bytes + count, capacity - count, (off_t)count);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		count += (size_t)got;
	}
	return (ssize_t)count;
}

/* Takes a copy of a text; false where it is not in that version, or none. */
static bool copy_acquire(int fd, const struct version *version, struct copy *ret_copy)
{
	struct copy copy = { malloc(version->size_bytes + 1), version->size_bytes };
	struct version found = { 0 };

	if (copy.bytes && read_all(fd, copy.bytes, copy.count + 1) == (ssize_t)copy.count)
		found = version_of_bytes(copy.bytes, copy.count);
	if (!copy.bytes || !version_equal(&found, version) ||
	    memchr(copy.bytes, '\0', copy.count)) {
		free(copy.bytes);
		return false;
	}
	*ret_copy = copy;
	return true;
}

/* The line in front, and the labels. */
struct labels {
	char header[SEGMENT_PATH_BYTES * 4 + 512];
	char old[SEGMENT_PATH_BYTES * 4 + 64], new[SEGMENT_PATH_BYTES * 4 + 64];
};

#define LABEL_LINES "--- %s\n+++ %s\n"

static bool make_labels(const struct segment *segment, const struct diff_question *question,
			struct labels *ret_labels)
{
	char name[SEGMENT_PATH_BYTES * 4], old[VERSION_DIGITS + 1], new[VERSION_DIGITS + 1];
	char time[TEXT_TIME_BYTES], nonce[SEGMENT_NONCE_BYTES];
	bool yields = segment->settings->notice_yield == NOTICE_YIELD_INSIST;

	memcpy(nonce, segment->header->nonce, sizeof(nonce));
	nonce[sizeof(nonce) - 1] = '\0';
	if (!nonce[0] || path_escape(question->path, name, sizeof(name)) < 0)
		return false;
	version_digits(&question->before, old);
	version_digits(&question->now, new);
	(void)snprintf(ret_labels->header, sizeof(ret_labels->header),
		       "[File changed since last read: %s. Below is not the file but what changed "
		       "in it, a unified "
		       "diff against version %s, given to you since %s. If that is not in your "
		       "context, %s to "
		       "get the file in full. (%llu bytes, version %s, %s)]\n",
		       name, old, text_time(question->given_realtime_ns, time),
		       yields ? "repeat the same command"
			      : "run `seen forget` on it and repeat the command",
		       (unsigned long long)question->now.size_bytes, new, nonce);
	(void)snprintf(ret_labels->old, sizeof(ret_labels->old), "%s\t(version %s)", name, old);
	(void)snprintf(ret_labels->new, sizeof(ret_labels->new), "%s\t(version %s)", name, new);
	return true;
}

/* The diff, with its two lines of labels.  Returns 0 and ret_diff->bytes, which is to be freed;
 * -ENODATA: there is no difference; -ENOMEM. */
static int make_diff(const struct labels *labels, const struct copy *before, const struct copy *now,
		     struct copy *ret_diff)
{
	struct line_script script;
	char *bytes = NULL;
	size_t count = 0;
	FILE *file = NULL;
	int error = line_script_make(before->bytes, before->count, now->bytes, now->count, &script);

	if (error == 0 && !script.removed && !script.added)
		error = -ENODATA;
	if (error == 0 && !(file = memory_stream_open(&bytes, &count)))
		error = -ENOMEM;
	if (error == 0) {
		(void)fprintf(file, LABEL_LINES, labels->old, labels->new);
		hunks_write(file, &script, &HUNKS_PLAIN);
		error = fclose(file) == 0 ? 0 : -ENOMEM;
	}
	line_script_free(&script);
	*ret_diff = (struct copy){ bytes, count };
	return error;
}

static int write_diff(const struct labels *labels, const struct copy *before,
		      const struct copy *now, int out)
{
	struct copy diff;
	size_t header_bytes = strlen(labels->header);
	int status = DIFF_FAILED;

	if (make_diff(labels, before, now, &diff) == 0) {
		if (!decision_is_short(header_bytes + diff.count, now->count))
			status = DIFF_LONG;
		else if (unified_leads_to(before->bytes, before->count, diff.bytes, diff.count,
					  now->bytes, now->count) &&
			 write_all(out, labels->header, header_bytes) &&
			 write_all(out, diff.bytes, diff.count))
			status = DIFF_MADE;
	}
	free(diff.bytes);
	return status;
}

int answer_diff(const struct segment *segment, const struct diff_question *question, int fd,
		int out)
{
	static struct labels labels;
	struct copy before, now;
	uint64_t limit = segment->settings->notice_max_bytes;
	int status = DIFF_FAILED;

	if (question->before.size_bytes > limit || question->now.size_bytes > limit ||
	    !make_labels(segment, question, &labels))
		return DIFF_FAILED;
	if (question->is_bare)
		labels.header[0] = '\0';
	int kept = contents_open(segment, &question->before);
	if (kept < 0)
		return DIFF_FAILED;
	if (copy_acquire(kept, &question->before, &before)) {
		if (copy_acquire(fd, &question->now, &now)) {
			status = write_diff(&labels, &before, &now, out);
			free(now.bytes);
		}
		free(before.bytes);
	}
	(void)close(kept);
	return status;
}

uint64_t answer_diff_bytes(const struct segment *segment, const struct diff_question *question,
			   const struct line_script *script)
{
	static struct labels labels;

	if (!make_labels(segment, question, &labels))
		return UINT64_MAX;
	if (question->is_bare)
		labels.header[0] = '\0';
	return strlen(labels.header) +
	       (uint64_t)snprintf(NULL, 0, LABEL_LINES, labels.old, labels.new) +
	       hunks_bytes(script);
}

bool answer_diff_count(const struct segment *segment, const struct version *before,
		       const struct version *now, int fd, size_t *ret_added, size_t *ret_removed)
{
	uint64_t limit = segment->settings->notice_max_bytes;
	struct copy old = { NULL, 0 }, new = { NULL, 0 };
	struct line_script script;
	bool is_known = false;

	if (before->size_bytes > limit || now->size_bytes > limit)
		return false;
	int kept = contents_open(segment, before);
	if (kept < 0)
		return false;
	if (copy_acquire(kept, before, &old) && copy_acquire(fd, now, &new)) {
		is_known = line_script_make(old.bytes, old.count, new.bytes, new.count, &script) ==
			   0;
		*ret_added = script.added;
		*ret_removed = script.removed;
		line_script_free(&script);
	}
	free(old.bytes);
	free(new.bytes);
	(void)close(kept);
	return is_known;
}
