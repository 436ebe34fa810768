/* Records of conversations: see hook_record.h. */
#include "cli/hooks/hook_record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cli/base/text.h"
#include "cli/session/store_conversations.h"
#include "tracker/content/contents_name.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

enum { RECORD_BYTES_MAX = 4 << 20 };

/* ---- where ---- */

/* The session's directory in the state directory; false: it keeps nothing that outlives a boot. */
static bool session_directory(const struct segment *segment, char *ret_path, size_t capacity)
{
	const char *const inside[] = { segment_contents(segment), segment_journal(segment),
				       segment_undo(segment) };

	for (size_t i = 0; i < sizeof(inside) / sizeof(inside[0]); i++) {
		const char *slash = inside[i] ? strrchr(inside[i], '/') : NULL;
		if (slash && snprintf(ret_path, capacity, "%.*s", (int)(slash - inside[i]),
				      inside[i]) < (int)capacity)
			return true;
	}
	return false;
}

static const char *workspace_of(const struct segment *segment)
{
	return segment_text(segment, segment->settings->paths_workspace, NULL);
}

static bool record_path(const struct segment *segment, const struct hook_input *input,
			char *ret_path, size_t capacity)
{
	const char *const words[] = { workspace_of(segment), input->adapter->agent,
				      input->conversation };
	char session[SEGMENT_PATH_BYTES];
	XXH3_state_t state;

	if (!session_directory(segment, session, sizeof(session)) || !words[0])
		return false;
	XXH3_128bits_reset(&state);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		XXH3_128bits_update(&state, words[i], strlen(words[i]) + 1);
	XXH128_hash_t hash = XXH3_128bits_digest(&state);
	char *slash = strrchr(session, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return snprintf(ret_path, capacity, "%s/" STORE_CONVERSATIONS "/%016" PRIx64 "%016" PRIx64,
			session, hash.high64, hash.low64) < (int)capacity;
}

static bool is_private(int fd)
{
	struct stat stat;

	return fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_uid == geteuid() &&
	       !(stat.st_mode & 022) && stat.st_size < RECORD_BYTES_MAX;
}

/* ---- writing ---- */

static json_t *first_line(const struct segment *segment, const struct hook_input *input)
{
	return json_pack("{s:s, s:o, s:s, s:o}", "event", "conversation", "workspace",
			 text_json(workspace_of(segment)), "agent", input->adapter->agent, "id",
			 text_json(input->conversation));
}

/* One line.  line: its reference is taken over. */
static void write_line(int fd, json_t *line)
{
	char *text = line ? text_json_dump(line, JSON_COMPACT) : NULL;
	size_t length = text ? strlen(text) : 0;

	if (text) {
		text[length] = '\n'; /* where its NUL was */
		(void)!write(fd, text, length + 1);
	}
	free(text);
	json_decref(line);
}

/* Opens the record to append to; the directory is made where it is missing.  -1: it cannot be. */
static int open_record(const struct segment *segment, const struct hook_input *input)
{
	const int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY;
	char path[SEGMENT_PATH_BYTES];

	if (!record_path(segment, input, path, sizeof(path)))
		return -1;
	int fd = open(path, flags, 0600);
	if (fd < 0 && errno == ENOENT) {
		char *slash = strrchr(path, '/');
		*slash = '\0';
		(void)mkdir(path, 0700);
		*slash = '/';
		fd = open(path, flags, 0600);
	}
	if (fd >= 0 && !is_private(fd)) {
		(void)close(fd);
		return -1;
	}
	if (fd >= 0 && lseek(fd, 0, SEEK_END) == 0)
		write_line(fd, first_line(segment, input));
	return fd;
}

/* line: its reference is taken over. */
static void note(const struct hook_agent *agent, const struct hook_input *input, json_t *line)
{
	char session[SEGMENT_PATH_BYTES];
	int fd = line ? open_record(agent->segment, input) : -1;

	if (fd < 0) {
		json_decref(line);
		return;
	}
	(void)json_object_set_new(line, "time", json_integer((json_int_t)sys_realtime_ns()));
	if (session_directory(agent->segment, session, sizeof(session)))
		(void)json_object_set_new(line, "session", text_json(session));
	write_line(fd, line);
	(void)close(fd);
}

static json_t *version_json(const struct version *version)
{
	char name[CONTENTS_NAME_BYTES];

	if (version_is_none(version))
		return json_null();
	contents_name(version, name);
	return json_string(name);
}

void hook_record_given(const struct hook_agent *agent, const struct hook_input *input,
		       const char *path, const struct version *version, bool is_whole)
{
	json_t *line = json_pack("{s:s, s:o, s:o, s:b}", "event", "given", "path", text_json(path),
				 "version", version_json(version), "whole", is_whole);

	if (line && input->call)
		(void)json_object_set_new(line, "call", text_json(input->call));
	note(agent, input, line);
}

void hook_record_announced(const struct hook_agent *agent, const struct hook_input *input,
			   const char *path, const struct version *version)
{
	note(agent, input,
	     json_pack("{s:s, s:o, s:o}", "event", "announced", "path", text_json(path), "version",
		       version_json(version)));
}

void hook_record_undo(const struct hook_agent *agent, const struct hook_input *input,
		      uint32_t number)
{
	note(agent, input, json_pack("{s:s, s:I}", "event", "undo", "number", (json_int_t)number));
}

void hook_record_failed(const struct hook_agent *agent, const struct hook_input *input,
			const char *call, bool is_said)
{
	note(agent, input,
	     json_pack("{s:s, s:o, s:b}", "event", "failed", "call", text_json(call), "said",
		       is_said));
}

void hook_record_cut(const struct hook_agent *agent, const struct hook_input *input)
{
	note(agent, input, json_pack("{s:s, s:s}", "event", "cut", "by", input->event));
}

void hook_record_rewind(const struct hook_agent *agent, const struct hook_input *input)
{
	note(agent, input, json_pack("{s:s}", "event", "rewound"));
}

/* ---- reading ---- */

static const char *text_at(const json_t *line, const char *name)
{
	return json_string_value(json_object_get(line, name));
}

/* Texts are escaped where they are no UTF-8: such a path is not found again, and counts for nothing. */
static struct hook_record_file *file_of(struct hook_record *record, const char *path)
{
	for (size_t i = record->count; i > 0; i--)
		if (strcmp(record->files[i - 1].path, path) == 0)
			return &record->files[i - 1];
	if (record->count == record->capacity) {
		size_t larger = record->capacity ? 2 * record->capacity : 32;
		struct hook_record_file *grown = reallocarray(record->files, larger,
							      sizeof(*grown));
		if (!grown)
			return NULL;
		record->files = grown;
		record->capacity = larger;
	}
	struct hook_record_file *file = &record->files[record->count];
	*file = (struct hook_record_file){ .path = strdup(path) };
	if (!file->path)
		return NULL;
	record->count++;
	return file;
}

static void read_given(struct hook_record *record, const json_t *line, bool is_here)
{
	const char *path = text_at(line, "path"), *name = text_at(line, "version");
	const char *call = text_at(line, "call");
	struct version version;

	if (!path || path[0] != '/' || !name || !contents_version(name, &version))
		return;
	struct hook_record_file *file = file_of(record, path);
	if (!file)
		return;
	free(file->call);
	file->call = call ? strdup(call) : NULL;
	file->version = version;
	file->is_whole = json_is_true(json_object_get(line, "whole"));
	file->is_past = file->is_announced = false;
	file->is_here = is_here;
	file->time_ns = (uint64_t)json_integer_value(json_object_get(line, "time"));
}

static void read_announced(struct hook_record *record, const json_t *line)
{
	const char *path = text_at(line, "path"), *name = text_at(line, "version");
	struct version version = { 0 };

	if (!path || (name && !contents_version(name, &version)))
		return;
	for (size_t i = 0; i < record->count; i++)
		if (strcmp(record->files[i].path, path) == 0) {
			record->files[i].is_announced = true;
			record->files[i].announced = version;
		}
}

static void read_failed(struct hook_record *record, const json_t *line)
{
	const char *call = text_at(line, "call");

	free(record->failed);
	record->failed = call && !json_is_true(json_object_get(line, "said")) ? strdup(call) : NULL;
}

static void note_session(struct hook_record *record, const char *session)
{
	if (!session || session[0] != '/' ||
	    (record->session_count &&
	     strcmp(record->sessions[record->session_count - 1], session) == 0))
		return;
	for (size_t i = 0; i < record->session_count; i++)
		if (strcmp(record->sessions[i], session) == 0)
			return;
	char **more = reallocarray(record->sessions, record->session_count + 1, sizeof(*more));
	if (!more)
		return;
	record->sessions = more;
	more[record->session_count] = strdup(session);
	record->session_count += more[record->session_count] != NULL;
}

static void drop_files(struct hook_record *record)
{
	for (size_t i = 0; i < record->count; i++) {
		free(record->files[i].path);
		free(record->files[i].call);
	}
	record->count = 0;
}

static void read_line(struct hook_record *record, const json_t *line, const char *session)
{
	const char *event = text_at(line, "event"), *of = text_at(line, "session");
	bool is_here = of && strcmp(of, session) == 0;

	if (!event)
		return;
	note_session(record, of);
	if (strcmp(event, "given") == 0) {
		read_given(record, line, is_here);
	} else if (strcmp(event, "announced") == 0) {
		read_announced(record, line);
	} else if (strcmp(event, "failed") == 0 && is_here) {
		read_failed(record, line);
	} else if (strcmp(event, "cut") == 0) {
		for (size_t i = 0; i < record->count; i++)
			record->files[i].is_past = true;
	} else if (strcmp(event, "rewound") == 0) {
		drop_files(record);
	} else if (strcmp(event, "undo") == 0 && is_here) {
		record->has_undo = true;
		record->undo = (uint32_t)json_integer_value(json_object_get(line, "number"));
	}
}

/* Is it this conversation's, and not one with the same hash? */
static bool is_first(const json_t *line, const struct segment *segment,
		     const struct hook_input *input)
{
	json_t *wanted = first_line(segment, input);
	bool is_same = wanted && json_equal(line, wanted);

	json_decref(wanted);
	return is_same;
}

bool hook_record_read(const struct hook_agent *agent, const struct hook_input *input,
		      struct hook_record *ret_record)
{
	char path[SEGMENT_PATH_BYTES], session[SEGMENT_PATH_BYTES], *text = NULL;
	bool is_known = false, is_good = true;
	size_t room = 0;

	*ret_record = (struct hook_record){ .files = NULL };
	if (!record_path(agent->segment, input, path, sizeof(path)) ||
	    !session_directory(agent->segment, session, sizeof(session)))
		return false;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		ret_record->is_new = errno == ENOENT;
		return errno == ENOENT;
	}
	FILE *file = is_private(fd) ? fdopen(fd, "r") : NULL;
	if (!file) {
		(void)close(fd);
		return false;
	}
	while (is_good && getline(&text, &room, file) > 0) {
		json_t *line = json_loads(text, 0, NULL);
		if (!is_known)
			is_good = is_known = line && is_first(line, agent->segment, input);
		else if (line)
			read_line(ret_record, line, session);
		json_decref(line);
	}
	free(text);
	(void)fclose(file);
	return is_good;
}

void hook_record_free(struct hook_record *record)
{
	drop_files(record);
	for (size_t i = 0; i < record->session_count; i++)
		free(record->sessions[i]);
	free(record->sessions);
	free(record->files);
	free(record->failed);
	*record = (struct hook_record){ .files = NULL };
}
