/* Order among sessions: see tidy.h. */
#include "cli/run/tidy.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/message.h"
#include "cli/base/text.h"
#include "cli/session/expiry.h"
#include "cli/session/store.h"
#include "cli/session/store_remove.h"
#include "config/value.h"
#include "tracker/path/path.h"
#include "tracker/sys/sys.h"

enum { PAUSE_S = 600, STAMP_TEXT_BYTES = 64 };

struct removed {
	const struct store *store;
	const char *own; /* name of the session that stays */
	unsigned long long count, bytes;
};

/* Opens the stamp.  flags: O_CREAT where there may be none.  Returns a descriptor or -1. */
static int open_stamp(const struct config *config, int flags)
{
	char directory[SEGMENT_PATH_BYTES], path[SEGMENT_PATH_BYTES];

	return session_state_dir(config, directory, sizeof(directory)) < 0 ||
			       session_path(path, sizeof(path), directory, STORE_STAMP) < 0
		       ? -1
		       : open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0600);
}

bool tidy_is_due(const struct config *config)
{
	struct stat stat = { .st_size = 0 };
	int64_t now = (int64_t)(sys_realtime_ns() / 1000000000u);
	int fd = open_stamp(config, 0);
	bool is_new = fd < 0;

	if (is_new)
		fd = open_stamp(config, O_CREAT);
	if (fd < 0 || fstat(fd, &stat) < 0) {
		if (fd >= 0)
			(void)close(fd);
		return false;
	}
	/* one of the future is a clock that was wrong */
	bool is_due = is_new || stat.st_mtim.tv_sec > now || now - stat.st_mtim.tv_sec >= PAUSE_S;
	if (is_due)
		(void)futimens(fd, NULL);
	(void)close(fd);
	return is_due;
}

static bool remove_session(const struct store_session *session, enum expiry_reason reason,
			   void *data)
{
	struct removed *removed = data;
	struct store_trouble trouble;

	(void)reason;
	if (strcmp(session->name, removed->own) == 0 ||
	    store_remove(removed->store, session, false, &trouble) < 0)
		return false;
	removed->count++;
	removed->bytes += session->size_bytes;
	return true;
}

/* Locks the stamp until it is closed, and reads what it says. */
static void read_text(int fd, unsigned long long *ret_count, unsigned long long *ret_bytes)
{
	char text[STAMP_TEXT_BYTES + 1] = "";

	(void)flock(fd, LOCK_EX);
	*ret_count = *ret_bytes = 0;
	if (pread(fd, text, STAMP_TEXT_BYTES, 0) > 0 &&
	    sscanf(text, "%llu %llu", ret_count, ret_bytes) != 2)
		*ret_count = *ret_bytes = 0;
}

static void note(const struct config *config, const struct removed *removed)
{
	unsigned long long count, bytes;
	int fd = removed->count ? open_stamp(config, 0) : -1;

	if (fd < 0)
		return;
	read_text(fd, &count, &bytes);
	(void)dprintf(fd, "%llu %llu\n", count + removed->count, bytes + removed->bytes);
	(void)close(fd);
}

void tidy_sessions(const struct config *config, const char *own)
{
	struct store store;
	struct removed removed = { .store = &store, .own = path_base(own) };
	const struct expiry expiry = {
		.now_realtime_ns = sys_realtime_ns(),
		.keep_days = config_number(config, OPTION_session_keep_days),
		.max_bytes = config_number(config, OPTION_session_max_bytes),
		.remove = remove_session,
		.data = &removed,
	};

	if (store_open(config, &store) == 0) {
		(void)expiry_apply(&store, &expiry);
		note(config, &removed);
		store_cut(&store);
	}
	store_close(&store);
}

void tidy_report(const struct config *config)
{
	char count_text[TEXT_NUMBER_BYTES], bytes_text[TEXT_NUMBER_BYTES];
	unsigned long long count = 0, bytes = 0;
	struct stat stat;
	int fd = open_stamp(config, 0);

	if (fd < 0)
		return;
	if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_size > 0) {
		read_text(fd, &count, &bytes);
		(void)!ftruncate(fd, 0);
		(void)futimens(fd, (const struct timespec[]){ stat.st_atim, stat.st_mtim });
	}
	(void)close(fd);
	if (count)
		message("%s old session%s removed, %s bytes: [session] keep_days and max_bytes say "
			"which",
			text_number(count, count_text), text_plural((unsigned)count),
			text_number(bytes, bytes_text));
}
