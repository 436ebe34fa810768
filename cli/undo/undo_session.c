/* The session that undo is about: see undo_session.h. */
#include "cli/undo/undo_session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/text.h"
#include "cli/journal/journal_reader.h"
#include "cli/session/journal_file.h"
#include "cli/session/session_find.h"
#include "cli/session/session_life.h"
#include "cli/session/session_word.h"
#include "tracker/content/pack_write.h"
#include "tracker/sys/sys.h"

/* The directory that holds the journal, or would. */
static int set_directory(struct undo_session *session, const char *file)
{
	const char *slash = file ? strrchr(file, '/') : NULL;
	size_t length = slash ? (size_t)(slash - file) : 0;

	if (!slash || length >= sizeof(session->directory))
		return -ENAMETOOLONG;
	memcpy(session->directory, file, length);
	session->directory[length] = '\0';
	int error = session_path(session->journal, sizeof(session->journal), session->directory,
				 "journal");
	return error < 0 ? error
			 : session_path(session->undo, sizeof(session->undo), session->directory,
					"undo");
}

/* Of a session without a segment: what its journal's header says. */
static int read_header(struct undo_session *session)
{
	struct journal_reader *journal = calloc(1, sizeof(*journal));
	int error = journal ? journal_reader_open(session->journal, journal) : -ENOMEM;

	if (error == 0) {
		const struct journal_header *header = journal->head.header;
		size_t length = 0;
		const char *bytes = journal_reader_bytes(journal, header->workspace, &length);
		(void)snprintf(session->name, sizeof(session->name), "%.*s",
			       (int)sizeof(header->name), header->name);
		if (bytes && length < sizeof(session->workspace))
			memcpy(session->workspace, bytes, length);
	}
	if (journal)
		journal_reader_close(journal);
	free(journal);
	return error == 0 && session->workspace[0] != '/' ? -EBADMSG : error;
}

static int of_segment(struct undo_session *session)
{
	const struct segment *segment = &session->session.segment;
	const char *root = segment_text(segment, segment->settings->paths_workspace, NULL);
	const char *journal = session_journal(&session->session);
	const char *contents = segment_contents(segment);

	(void)snprintf(session->name, sizeof(session->name), "%s", session->session.name);
	(void)snprintf(session->workspace, sizeof(session->workspace), "%s", root ? root : "");
	return set_directory(session, journal ? journal : contents);
}

static int find(const struct config *config, const char *name, struct undo_session *ret_session)
{
	char wanted[SEGMENT_PATH_BYTES];
	int code = session_word_resolve(config, name, wanted);

	if (code != EXIT_CODE_OK)
		return code;
	bool is_named = wanted[0];
	if (is_named || journal_file_closed(config, wanted)) {
		int error = session_open(config, wanted, &ret_session->session);
		if (error == 0)
			session_close(&ret_session->session);
		char path[SEGMENT_PATH_BYTES];
		ret_session->session = (struct session){ .hold_count = 0 };
		/* Gone with the last boot, or of another version. */
		if (journal_file_outlives(error) && !strchr(wanted, '/')) {
			code = journal_file_find(config, wanted, NULL, path, sizeof(path));
			if (code == EXIT_CODE_OK) {
				error = set_directory(ret_session, path);
				error = error < 0 ? error : read_header(ret_session);
				return error < 0 ? journal_file_failed(path, error) : EXIT_CODE_OK;
			}
			if (error == -ENOENT) /* which was reported */
				return code;
		}
	}
	code = session_find(config, is_named ? wanted : NULL, &ret_session->session);
	if (code != EXIT_CODE_OK)
		return code;
	if (of_segment(ret_session) < 0) {
		message("session %s keeps neither a journal nor contents",
			ret_session->session.name);
		session_close(&ret_session->session);
		return EXIT_CODE_NOTHING;
	}
	return EXIT_CODE_OK;
}

int undo_session_find_records(const struct config *config, const char *name,
			      struct undo_session *ret_session)
{
	memset(ret_session, 0, sizeof(*ret_session));
	int code = find(config, name, ret_session);
	if (code != EXIT_CODE_OK)
		return code;
	ret_session->read_ns = sys_boottime_ns();
	ret_session->steps_error = steps_read(ret_session->journal, ret_session->undo,
					      &ret_session->steps);
	if (ret_session->steps_error < 0) {
		code = journal_file_failed(ret_session->journal, ret_session->steps_error);
		steps_free(&ret_session->steps);
		if (steps_read(NULL, NULL, &ret_session->steps) == 0)
			code = EXIT_CODE_OK;
	}
	if (code != EXIT_CODE_OK)
		undo_session_close(ret_session);
	return code;
}

int undo_session_find(const struct config *config, const char *name,
		      struct undo_session *ret_session)
{
	int code = undo_session_find_records(config, name, ret_session);

	if (code == EXIT_CODE_OK && ret_session->steps_error < 0) {
		code = EXIT_CODE_BAD_SESSION;
		undo_session_close(ret_session);
	}
	return code;
}

int undo_session_read_again(struct undo_session *session)
{
	steps_free(&session->steps);
	session->read_ns = sys_boottime_ns();
	session->steps_error = steps_read(session->journal, session->undo, &session->steps);
	return session->steps_error;
}

void undo_session_mark(const struct undo_session *session)
{
	const struct segment *segment = &session->session.segment;

	if (segment->header && segment_undo(segment) && session_life(segment) != SESSION_EMPTY)
		(void)pack_boundary(segment, PACK_COMMAND);
}

uint64_t undo_session_lost(const struct session *session)
{
	const struct segment *segment = &session->segment;

	return segment->header ? segment_counter(segment, COUNTER_lost_undo) : 0;
}

uint64_t undo_session_unrecorded(uint64_t lost, const struct tree_records *records)
{
	return lost > records->not_kept && !records->damaged && !records->dropped_parts
		       ? lost - records->not_kept
		       : 0;
}

const char *undo_session_unrecorded_text(uint64_t count, char ret_text[UNDO_SESSION_TEXT_BYTES])
{
	char number[TEXT_NUMBER_BYTES];

	ret_text[0] = '\0';
	if (count)
		(void)snprintf(ret_text, UNDO_SESSION_TEXT_BYTES,
			       "what was there before %s change%s could not be put on record: no "
			       "step lists %s, and %s cannot be undone",
			       text_number(count, number), text_plural(count),
			       count == 1 ? "it" : "them", count == 1 ? "it" : "they");
	return ret_text;
}

void undo_session_report_none(const struct undo_session *session)
{
	message("session %s keeps nothing for undo: [undo] enable was off, nothing was changed, or "
		"nothing could be kept",
		session->name);
}

void undo_session_close(struct undo_session *session)
{
	steps_free(&session->steps);
	if (session->session.segment.header)
		session_close(&session->session);
}
