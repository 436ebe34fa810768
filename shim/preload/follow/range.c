/*
 * Readers that print lines of one file: which of them went to the capture.
 *
 * What they print is not seen (libc's streams write by themselves).  It is known by the arguments
 * (tracker/content/lines.h), and proven by its length: the process wrote, to whatever descriptor,
 * as many bytes as those lines have in the version that the file had before it was read and has
 * after, and it ended by exit(0).  Where the kernel does not say what a process wrote (proc(5),
 * io), nothing is known.
 */
#include "shim/preload/follow/range.h"

#include <string.h>

#include "shim/keep/scratch.h"
#include "shim/preload/state.h"
#include "shim/preload/thread.h"
#include "tracker/answer/decision.h"
#include "tracker/answer/decision_delivery.h"
#include "tracker/content/file.h"
#include "tracker/content/lines.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

static struct lines asked;
static bool is_asked;

/* The file, once it was opened. */
static struct {
	bool is_open;
	bool is_untrackable; /* more than that was done */
	uint32_t pid;
	struct pending pending;
	struct content content;
	struct span spans[LINES_SPANS_MAX];
	unsigned count;
	struct shape shape; /* of the lines */
	uint64_t written;   /* by the process before it read */
} given;

void range_start(const char *executable, char *const argv[])
{
	/* The proof is for the system's own. */
	is_asked = !path_in_workspace(&shim.segment, executable) &&
		   lines_parse(executable, argv, &asked);
}

void range_shown(int fd, const char *path, const char *kernel_path, const struct stat *stat,
		 const struct content *content)
{
	if (!is_asked || given.is_untrackable)
		return;
	given.is_untrackable = given.is_open || !path || strcmp(path, asked.file) != 0;
	if (given.is_untrackable ||
	    content->version.size_bytes > shim.segment.settings->notice_max_bytes)
		return;
	given.pid = (uint32_t)sys_getpid();
	given.content = *content;
	given.count = lines_resolve(&asked, content->lines, given.spans);
	given.is_open = given.count > 0 &&
			lines_shape(fd, given.spans, given.count, &given.shape) == 0 &&
			process_bytes_written(given.pid, &given.written) &&
			decision_pend(&shim.segment, &shim.request, kernel_path, stat, NULL,
				      &given.pending) == 0;
}

/* The file as it is now, under the path that it was opened by.  False: it is another one, or cannot
 * be read. */
static bool inspect_again(struct stamp *ret_stamp, struct content *ret_content)
{
	struct file_slot file;
	struct stat stat;
	bool is_read = false;
	int fd = -1;
	char *path = scratch_acquire();

	if (path && file_find(&shim.segment, given.pending.file_key, &file) == 0 &&
	    file_path(&shim.segment, &file, path, SEGMENT_PATH_BYTES) > 0)
		fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
	if (fd >= 0) {
		is_read = content_of_descriptor(fd, given.content.version.size_bytes,
						ret_content) == 0 &&
			  sys_fstat(fd, &stat) == 0;
		(void)sys_close(fd);
	}
	scratch_release(path);
	if (is_read)
		*ret_stamp = stamp_of(&stat);
	return is_read;
}

const struct shape *range_shape(void)
{
	uint64_t written;

	given.is_open = given.is_open && !given.is_untrackable && viewer_is_followed() &&
			process_bytes_written(given.pid, &written) &&
			written - given.written == given.shape.bytes;
	return given.is_open ? &given.shape : NULL;
}

void range_finish(void)
{
	struct content content;
	struct stamp stamp;

	if (!given.is_open)
		return;
	/* Since it was opened the agent may have gone: then no agent received this. */
	request_still_at_sink(&shim.segment, &shim.request);
	if (inspect_again(&stamp, &content) &&
	    version_equal(&content.version, &given.content.version))
		decision_give_lines(&shim.segment, &shim.request, &given.pending, &stamp, &content,
				    given.spans, given.count);
}
