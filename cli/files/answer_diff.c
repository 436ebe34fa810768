/* What changed: see answer_diff.h. */
#include "cli/files/answer_diff.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/base/text.h"
#include "cli/files/unified.h"
#include "tracker/answer/decision.h"
#include "tracker/content/contents.h"
#include "tracker/path/path.h"
#include "tracker/segment/workspace.h"

/* Bytes in memory, and the same as a file that another program can open. */
struct copy {
	char *bytes;
	size_t count;
	int fd;
};

static void copy_free(struct copy *copy)
{
	free(copy->bytes);
	if (copy->fd >= 0)
		(void)close(copy->fd);
}

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

/* Makes a file in memory, without a write: what is written below a command's shell is taken for
 * what its agent was sent (tracker/process/capture.h).  diff(1) opens it by its number.  Returns a
 * descriptor or -1. */
static int memory_file(const char *bytes, size_t count)
{
	int fd = memfd_create("seen-diff", 0);

	if (fd < 0 || count == 0)
		return fd;
	void *pages = fallocate(fd, 0, 0, (off_t)count) < 0
			      ? MAP_FAILED
			      : mmap(NULL, count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (pages == MAP_FAILED) {
		(void)close(fd);
		return -1;
	}
	memcpy(pages, bytes, count);
	(void)munmap(pages, count);
	return fd;
}

/* Takes a copy of a text; false where it is not in that version, or none. */
static bool copy_acquire(int fd, const struct version *version, struct copy *ret_copy)
{
	struct copy copy = { malloc(version->size_bytes + 1), version->size_bytes, -1 };
	struct version found = { 0 };

	if (copy.bytes && read_all(fd, copy.bytes, copy.count + 1) == (ssize_t)copy.count)
		found = version_of_bytes(copy.bytes, copy.count);
	if (copy.bytes && version_equal(&found, version) && !memchr(copy.bytes, '\0', copy.count))
		copy.fd = memory_file(copy.bytes, copy.count);
	if (copy.fd < 0) {
		copy_free(&copy);
		return false;
	}
	*ret_copy = copy;
	return true;
}

/* What a program of that name in a workspace does is its own affair: diff(1) is looked for
 * elsewhere. */
static void leave_workspace_out_of_path(const struct segment *segment)
{
	const char *search = getenv("PATH");
	char *kept = calloc(1, search ? strlen(search) + 2 : 1);
	char directory[SEGMENT_PATH_BYTES];

	for (const char *at = search; kept && at; at = *at ? at + 1 : NULL) {
		size_t length = strcspn(at, ":");
		if (*at == '/' && length < sizeof(directory)) {
			memcpy(directory, at, length);
			directory[length] = '\0';
			if (!path_in_workspace(segment, directory)) {
				(void)strcat(kept, *kept ? ":" : "");
				(void)strcat(kept, directory);
			}
		}
		at += length;
	}
	/* Empty would be the current directory (execvp(3)). */
	(void)setenv("PATH", kept && *kept ? kept : "/nonexistent", 1);
	free(kept);
}

/* The line in front, and the labels. */
struct labels {
	char header[SEGMENT_PATH_BYTES * 4 + 512];
	char old[SEGMENT_PATH_BYTES * 4 + 64], new[SEGMENT_PATH_BYTES * 4 + 64];
};

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

static int write_diff(const struct labels *labels, const struct copy *before,
		      const struct copy *now, int out)
{
	char old_path[32], new_path[32];
	struct copy diff = { NULL, 0, memfd_create("seen-diff", MFD_CLOEXEC) };
	size_t header_bytes = strlen(labels->header);
	int status = DIFF_FAILED;

	(void)snprintf(old_path, sizeof(old_path), "/proc/self/fd/%d", before->fd);
	(void)snprintf(new_path, sizeof(new_path), "/proc/self/fd/%d", now->fd);
	int differs = diff.fd < 0 ? -errno
				  : unified_make(old_path, new_path, labels->old, labels->new,
						 diff.fd, now->count);
	if (differs == -EFBIG) {
		status = DIFF_LONG;
	} else if (differs == 1 && (diff.bytes = malloc(now->count + 1))) {
		ssize_t count = read_all(diff.fd, diff.bytes, now->count + 1);
		diff.count = count > 0 ? (size_t)count : 0;
		if (!decision_is_short(header_bytes + diff.count, now->count))
			status = DIFF_LONG;
		else if (unified_leads_to(before->bytes, before->count, diff.bytes, diff.count,
					  now->bytes, now->count) &&
			 write_all(out, labels->header, header_bytes) &&
			 write_all(out, diff.bytes, diff.count))
			status = DIFF_MADE;
	}
	copy_free(&diff);
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
	leave_workspace_out_of_path(segment);
	int kept = contents_open(segment, &question->before);
	if (kept < 0)
		return DIFF_FAILED;
	if (copy_acquire(kept, &question->before, &before)) {
		if (copy_acquire(fd, &question->now, &now)) {
			status = write_diff(&labels, &before, &now, out);
			copy_free(&now);
		}
		copy_free(&before);
	}
	(void)close(kept);
	return status;
}
