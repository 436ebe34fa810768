/* Order among sessions: see tidy.h. */
#include "cli/run/tidy.h"

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/message.h"
#include "cli/base/text.h"
#include "cli/session/expiry.h"
#include "cli/session/store.h"
#include "cli/session/store_remove.h"
#include "config/value.h"
#include "tracker/sys/sys.h"

enum { PAUSE_S = 600 };

/* In the directory of sessions; its time is when they were inspected last.  No session's name. */
static const char STAMP[] = ".tidied";

struct removed {
	const struct store *store;
	unsigned count;
	uint64_t bytes;
};

/* Is it time again?  Then it is noted that it was done now. */
static bool is_due(const struct config *config)
{
	char directory[SEGMENT_PATH_BYTES], path[SEGMENT_PATH_BYTES];
	struct stat stat;
	int64_t now = (int64_t)(sys_realtime_ns() / 1000000000u);

	if (session_state_dir(config, directory, sizeof(directory)) < 0 ||
	    session_path(path, sizeof(path), directory, STAMP) < 0)
		return false;
	/* one of the future is a clock that was wrong */
	if (lstat(path, &stat) == 0 && stat.st_mtim.tv_sec <= now &&
	    now - stat.st_mtim.tv_sec < PAUSE_S)
		return false;
	int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	(void)futimens(fd, NULL);
	(void)close(fd);
	return true;
}

static bool remove_session(const struct store_session *session, enum expiry_reason reason,
			   void *data)
{
	struct removed *removed = data;
	struct store_trouble trouble;

	(void)reason;
	if (store_remove(removed->store, session, false, &trouble) < 0)
		return false;
	removed->count++;
	removed->bytes += session->size_bytes;
	return true;
}

void tidy_sessions(const struct config *config, bool is_reported)
{
	char count[TEXT_NUMBER_BYTES], bytes[TEXT_NUMBER_BYTES];
	struct store store;
	struct removed removed = { .store = &store };
	const struct expiry expiry = {
		.now_realtime_ns = sys_realtime_ns(),
		.keep_days = config_number(config, OPTION_session_keep_days),
		.max_bytes = config_number(config, OPTION_session_max_bytes),
		.remove = remove_session,
		.data = &removed,
	};

	if (!is_due(config))
		return;
	(void)signal(SIGIO, SIG_IGN); /* store_remove.h */
	if (store_open(config, &store) == 0) {
		(void)expiry_apply(&store, &expiry);
		store_cut(&store);
	}
	store_close(&store);
	if (removed.count && is_reported)
		message("%s old session%s removed, %s bytes: [session] keep_days and max_bytes say "
			"which",
			text_number(removed.count, count), text_plural(removed.count),
			text_number(removed.bytes, bytes));
}
