/* Transcripts: which format a file has, and what all readers share.  See transcript.h. */
#include "cli/replay/transcript.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cli/agents/compactions.h"
#include "cli/replay/transcript_formats.h"
#include "cli/replay/transcript_reader.h"
#include "config/value.h"
#include "tracker/journal/journal.h"
#include "tracker/path/path.h"

enum { VALUES_MAX = 40 }; /* values at a file's beginning, until one tells its format */

static const char *const NAMES[TRANSCRIPT_COUNT] = {
#define TRANSCRIPT(constant, word, text) [TRANSCRIPT_##constant] = word,
	TRANSCRIPTS(TRANSCRIPT)
#undef TRANSCRIPT
};

const char *transcript_format_name(enum transcript_format format)
{
	return format < TRANSCRIPT_COUNT ? NAMES[format] : NULL;
}

enum transcript_format transcript_format_named(const char *word)
{
	for (unsigned i = TRANSCRIPT_UNKNOWN + 1; i < TRANSCRIPT_COUNT; i++)
		if (strcmp(word, NAMES[i]) == 0)
			return (enum transcript_format)i;
	return TRANSCRIPT_UNKNOWN;
}

/* ---- which format ---- */

/* What an object at the beginning of a file shows of itself. */
struct sight {
	bool of_claude, has_session, has_project, has_payload, has_cwd, has_type, has_role,
		has_action, has_observation, has_messages, has_history, has_trajectory;
	char type[32];
	enum transcript_format of_list; /* of the parts of its "trajectory" or "history" */
};

static enum transcript_format format_of_sight(const struct sight *sight)
{
	if (sight->of_claude || strcmp(sight->type, "file-history-snapshot") == 0)
		return TRANSCRIPT_CLAUDE;
	if (sight->has_session && sight->has_project)
		return TRANSCRIPT_GEMINI;
	if (sight->has_session)
		return sight->has_messages ? TRANSCRIPT_CLINE : TRANSCRIPT_UNKNOWN;
	if (sight->has_type && sight->has_payload)
		return TRANSCRIPT_CODEX;
	if (strcmp(sight->type, "session") == 0 && sight->has_cwd)
		return TRANSCRIPT_PI;
	if (sight->has_messages)
		return TRANSCRIPT_MESSAGES;
	if (sight->has_trajectory || sight->has_history)
		return sight->of_list          ? sight->of_list
		       : sight->has_trajectory ? TRANSCRIPT_SWE_AGENT
					       : TRANSCRIPT_UNKNOWN;
	if (sight->has_role && !sight->has_type)
		return TRANSCRIPT_MESSAGES;
	if (sight->has_action || sight->has_observation)
		return TRANSCRIPT_OPENHANDS;
	return TRANSCRIPT_UNKNOWN;
}

static int detect_format(struct json_walk *walk, int depth, enum transcript_format *ret_format);

/* The parts of "trajectory": SWE-agent's have both action and observation; events of OpenHands one
 * of them; messages a role. */
static enum transcript_format format_of_part(const struct sight *sight)
{
	if (sight->has_action && sight->has_observation)
		return TRANSCRIPT_SWE_AGENT;
	if (sight->has_role)
		return TRANSCRIPT_MESSAGES;
	return format_of_sight(sight);
}

static int inspect_object(struct json_walk *walk, int depth, struct sight *ret_sight)
{
	struct sight sight = { .of_claude = false };
	char key[48];
	int more;

	if (!json_walk_is(walk, '{'))
		return -EBADMSG;
	while ((more = json_walk_key(walk, key, sizeof(key))) > 0) {
		int error = 0;
		json_t *text = NULL;
		if (strcmp(key, "type") == 0 && json_walk_peek(walk) == '"') {
			error = json_walk_read(walk, &text);
			if (error == 0)
				(void)snprintf(sight.type, sizeof(sight.type), "%s",
					       json_string_value(text));
			json_decref(text);
			sight.has_type = true;
		} else if ((strcmp(key, "trajectory") == 0 || strcmp(key, "history") == 0) &&
			   depth == 0 && json_walk_peek(walk) == '[') {
			bool is_history = strcmp(key, "history") == 0;
			struct sight part = { .of_claude = false };
			(void)json_walk_is(walk, '[');
			error = json_walk_item(walk);
			if (error > 0 && json_walk_peek(walk) == '[')
				error = detect_format(walk, depth + 1, &sight.of_list);
			else if (error > 0)
				error = inspect_object(walk, depth + 1, &part);
			enum transcript_format format = format_of_part(&part);
			/* A history of roles beside no trajectory is SWE-agent's demonstration. */
			if (is_history && format == TRANSCRIPT_MESSAGES)
				format = TRANSCRIPT_SWE_AGENT;
			if (format != TRANSCRIPT_UNKNOWN)
				sight.of_list = format;
			/* Else the rest of the list, empty as it may be. */
			while (error >= 0 && !sight.of_list && (error = json_walk_item(walk)) > 0)
				error = json_walk_pass(walk);
			sight.has_history = sight.has_history || is_history;
			sight.has_trajectory = sight.has_trajectory || !is_history;
		} else {
			sight.has_session = sight.has_session || strcmp(key, "sessionId") == 0;
			sight.of_claude = sight.of_claude || strcmp(key, "parentUuid") == 0 ||
					  strcmp(key, "leafUuid") == 0;
			sight.has_project = sight.has_project || strcmp(key, "projectHash") == 0;
			sight.has_payload = sight.has_payload || strcmp(key, "payload") == 0;
			sight.has_cwd = sight.has_cwd || strcmp(key, "cwd") == 0;
			sight.has_role = sight.has_role || strcmp(key, "role") == 0;
			sight.has_action = sight.has_action || strcmp(key, "action") == 0;
			sight.has_observation = sight.has_observation ||
						strcmp(key, "observation") == 0;
			sight.has_messages = sight.has_messages || strcmp(key, "messages") == 0;
			error = json_walk_pass(walk);
		}
		if (error < 0)
			return error;
		sight.of_claude = sight.of_claude || (sight.has_session && sight.has_type);
		/* Once it is plain, the rest need not be read; a part is returned with its rest. */
		if (sight.of_list || (depth == 0 && (sight.of_claude || sight.has_messages)))
			break;
	}
	*ret_sight = sight;
	return more < 0 ? more : 0;
}

/* Inspects a value, or what is in a list.  Leaves the walk anywhere once it knows. */
static int detect_format(struct json_walk *walk, int depth, enum transcript_format *ret_format)
{
	struct sight sight;
	int byte = json_walk_peek(walk), error;

	*ret_format = TRANSCRIPT_UNKNOWN;
	if (byte == EOF)
		return -ENODATA;
	if (byte == '{') {
		error = inspect_object(walk, depth, &sight);
		if (error == 0)
			*ret_format = format_of_sight(&sight);
		return error;
	}
	if (byte != '[' || depth > 2)
		return -EBADMSG;
	(void)json_walk_is(walk, '[');
	for (int i = 0; i < VALUES_MAX && (error = json_walk_item(walk)) > 0; i++) {
		error = detect_format(walk, depth + (depth > 0), ret_format);
		if (error < 0 || *ret_format)
			return error;
	}
	return error;
}

static bool is_journal(struct json_walk *walk)
{
	uint64_t magic = 0;
	size_t got = fread(&magic, 1, sizeof(magic), walk->file);

	return got == sizeof(magic) && magic == JOURNAL_MAGIC;
}

/* A database is kilo's by its name: the tables are the same. */
static bool is_database(struct json_walk *walk)
{
	static const char MAGIC[] = "SQLite format 3"; /* https://www.sqlite.org/fileformat2.html */
	char bytes[sizeof(MAGIC)];

	return fread(bytes, 1, sizeof(bytes), walk->file) == sizeof(bytes) &&
	       memcmp(bytes, MAGIC, sizeof(MAGIC)) == 0;
}

static int detect(struct transcript *transcript, enum transcript_format *ret_format)
{
	struct json_walk *walk = &transcript->walk;
	int error = 0;

	*ret_format = TRANSCRIPT_UNKNOWN;
	if (is_journal(walk)) {
		*ret_format = TRANSCRIPT_JOURNAL;
		return 0;
	}
	error = json_walk_rewind(walk);
	if (error == 0 && is_database(walk)) {
		*ret_format = strncmp(path_base(transcript->path), "kilo", strlen("kilo")) == 0
				      ? TRANSCRIPT_KILO
				      : TRANSCRIPT_OPENCODE;
		return 0;
	}
	error = json_walk_rewind(walk);
	for (int i = 0; error == 0 && !*ret_format && i < VALUES_MAX; i++)
		error = detect_format(walk, 0, ret_format);
	int rewound = json_walk_rewind(walk);
	return rewound < 0 ? rewound : error == -ENODATA || error == -EBADMSG ? 0 : error;
}

/* ---- reading ---- */

static bool is_empty(struct json_walk *walk)
{
	return json_walk_peek(walk) == EOF;
}

void transcript_formats(char *text, size_t capacity)
{
	size_t used = 0;

	for (unsigned i = TRANSCRIPT_UNKNOWN + 1; i < TRANSCRIPT_COUNT && used < capacity; i++)
		used += (size_t)snprintf(text + used, capacity - used, "%s%s", used ? ", " : "",
					 NAMES[i]);
}

static int read_as(struct transcript *transcript)
{
	switch (transcript->result->format) {
	case TRANSCRIPT_CLAUDE:
		return transcript_claude(transcript);
	case TRANSCRIPT_CODEX:
		return transcript_codex(transcript);
	case TRANSCRIPT_PI:
		return transcript_pi(transcript);
	case TRANSCRIPT_GEMINI:
		return transcript_gemini(transcript);
	case TRANSCRIPT_CLINE:
		return transcript_cline(transcript);
	case TRANSCRIPT_OPENCODE:
	case TRANSCRIPT_KILO:
		return transcript_opencode(transcript);
	case TRANSCRIPT_SWE_AGENT:
		return transcript_swe_agent(transcript);
	case TRANSCRIPT_OPENHANDS:
		return transcript_openhands(transcript);
	case TRANSCRIPT_MESSAGES:
		return transcript_messages(transcript);
	case TRANSCRIPT_JOURNAL:
		return transcript_journal(transcript);
	default:
		return -EINVAL;
	}
}

/* What ends a context, as the profile of the format's agent has it: they have one name. */
static const char *compaction_of(const struct config *config, enum transcript_format format)
{
	const struct config_profile *profile = config_profile_find(config, NAMES[format]);

	return profile ? profile->values[PROFILE_OPTION_COMPACTION].text : "";
}

int transcript_read(const char *path, enum transcript_format format, const struct config *config,
		    transcript_sink *sink, void *data, struct transcript_result *ret_result)
{
	struct transcript transcript = { .path = path,
					 .sink = sink,
					 .data = data,
					 .result = ret_result,
					 .file_id = transcript_hash(path, 0) };
	char formats[TRANSCRIPT_FORMATS_BYTES];

	*ret_result = (struct transcript_result){ .format = format };
	int error = json_walk_open(&transcript.walk, path);
	if (error < 0) {
		(void)snprintf(ret_result->error, sizeof(ret_result->error), "%s",
			       strerror(-error));
		return error;
	}
	if (format == TRANSCRIPT_UNKNOWN)
		error = detect(&transcript, &ret_result->format);
	if (error == -ESPIPE) {
		(void)snprintf(ret_result->error, sizeof(ret_result->error),
			       "only a file's format can be detected; give it: --format FORMAT");
	} else if (error == 0 && ret_result->format == TRANSCRIPT_UNKNOWN) {
		bool empty = is_empty(&transcript.walk);
		transcript_formats(formats, sizeof(formats));
		(void)snprintf(
			ret_result->error, sizeof(ret_result->error),
			empty ? "it is empty"
			      : "no transcript that is known here (%s); --format says which it is",
			formats);
		error = -EINVAL;
	} else if (error == 0) {
		transcript.compaction = compaction_of(config, ret_result->format);
		error = read_as(&transcript);
		if (error == -EBADMSG && !ret_result->error[0])
			(void)snprintf(ret_result->error, sizeof(ret_result->error),
				       "%s; what comes before was read", transcript.walk.error);
	}
	if (error < 0 && !ret_result->error[0])
		(void)snprintf(ret_result->error, sizeof(ret_result->error), "%s",
			       error == -EINVAL ? "its format is not the given one"
						: strerror(-error));
	json_walk_close(&transcript.walk);
	return error;
}
