/* Mentions: see mention.h. */
#include "cli/files/mention.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/argument.h"
#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/session/file_record.h"
#include "tracker/content/baseline.h"
#include "tracker/content/file.h"
#include "tracker/content/version.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

static void note_mention(struct file_slot *file, const void *data)
{
	(void)data;
	file->mention_realtime_ns = sys_realtime_ns();
	file->source = SOURCE_MENTIONED;
	file->flags &= ~(uint32_t)FILE_CHANGE_REPORTED;
}

const char *mention_file(const struct segment *segment, struct journal *journal, uint64_t scope_id,
			 bool is_for_all, const char *word)
{
	char path[SEGMENT_PATH_BYTES];
	struct content content;
	struct stat stat;
	int error = argument_path(word, path, sizeof(path));

	if (error < 0)
		return strerror(-error);
	/* Not blocking: it may be a FIFO. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return strerror(errno);
	const char *wrong = NULL;
	if (fstat(fd, &stat) < 0)
		wrong = strerror(errno);
	else if (!S_ISREG(stat.st_mode))
		wrong = "not a regular file";
	else if (!path_in_workspace(segment, path))
		wrong = "not in the session's workspace";
	else if (!path_is_tracked(segment, path))
		wrong = "excluded ([paths] include, exclude)";
	else if ((error = content_of_descriptor(fd, UINT64_MAX, &content)) < 0)
		wrong = strerror(-error);
	(void)close(fd);
	if (wrong)
		return wrong;
	struct stamp stamp = stamp_of(&stat);
	uint64_t key = file_update(segment, path, &stamp, note_mention, NULL);
	if (!key)
		return "the session's table of files is full";
	if (is_for_all)
		baseline_given(segment, BASELINE_SESSION, key, &content.version);
	if (scope_id)
		baseline_given(segment, scope_id, key, &content.version);
	struct file_record record = { .op = JOURNAL_MENTIONED,
				      .path = path,
				      .dev = stat.st_dev,
				      .ino = stat.st_ino,
				      .after = content.version,
				      .tid = (uint32_t)getpid() };
	file_record_write(segment, journal, &record);
	return NULL;
}

int mention(const struct session *session, struct journal *journal, uint64_t scope_id, char **words)
{
	const struct segment *segment = &session->segment;
	bool is_for_all = !scope_id;
	int code = EXIT_CODE_OK;

	if (is_for_all)
		scope_id = baseline_only_scope(segment);
	for (; *words; words++) {
		const char *wrong = mention_file(segment, journal, scope_id, is_for_all, *words);
		if (!wrong)
			continue;
		message("%s: %s", *words, wrong);
		code = EXIT_CODE_NOTHING;
	}
	return code;
}
