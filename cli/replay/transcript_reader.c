/* What the readers of transcripts share: see transcript_reader.h. */
#include "cli/replay/transcript_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cli/agents/compactions.h"

int transcript_lines(struct transcript *transcript, int (*line)(void *reader, const json_t *line),
		     void *reader)
{
	struct transcript_result *result = transcript->result;
	uint64_t good = 0;
	json_t *value;
	int error;

	while ((error = json_walk_read_line(&transcript->walk, &value)) != -ENODATA) {
		if (error == -EBADMSG) {
			if (!result->damaged++)
				(void)snprintf(result->error, sizeof(result->error),
					       "%s: passed over, the rest was read",
					       transcript->walk.error);
			continue;
		}
		if (error < 0)
			return error;
		good++;
		error = json_is_object(value) ? line(reader, value) : 0;
		json_decref(value);
		if (error < 0)
			return error;
	}
	if (!good && result->damaged) {
		result->error[0] = '\0';
		return -EINVAL;
	}
	return 0;
}

bool transcript_is_cut(const struct transcript *transcript)
{
	return compactions_line_matches(transcript->walk.text, transcript->walk.text_bytes,
					transcript->compaction, false);
}

uint64_t transcript_hash(const char *text, uint64_t seed)
{
	uint64_t hash = XXH3_64bits_withSeed(text, strlen(text), seed);
	return hash ? hash : 1;
}

const char *transcript_string(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

const char *transcript_text(const json_t *content, char **ret_owned, size_t *ret_bytes)
{
	size_t used = 0, i;
	json_t *part;

	*ret_owned = NULL;
	*ret_bytes = 0;
	if (json_is_string(content)) {
		*ret_bytes = json_string_length(content);
		return json_string_value(content);
	}
	if (!json_is_array(content))
		return NULL;
	json_array_foreach(content, i, part)
	{
		const json_t *text = json_is_string(part) ? part : json_object_get(part, "text");
		used += json_string_length(text) + 1;
	}
	char *joined = malloc(used + 1);
	if (!joined)
		return NULL;
	used = 0;
	json_array_foreach(content, i, part)
	{
		const json_t *text = json_is_string(part) ? part : json_object_get(part, "text");
		size_t length = json_string_length(text);
		if (!length)
			continue;
		if (used)
			joined[used++] = '\n';
		memcpy(joined + used, json_string_value(text), length);
		used += length;
	}
	joined[used] = '\0';
	*ret_owned = joined;
	*ret_bytes = used;
	return joined;
}

uint64_t transcript_time(const json_t *time)
{
	const char *text = json_string_value(time);
	struct tm parts = { .tm_isdst = 0 };

	if (!text)
		return 0;
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
	time_t seconds = end ? timegm(&parts) : -1;
	if (seconds < 0)
		return 0;
	uint64_t fraction = 0, unit = 1000000000u;
	if (*end == '.')
		for (end++; *end >= '0' && *end <= '9' && unit > 1; end++) {
			unit /= 10;
			fraction += (uint64_t)(*end - '0') * unit;
		}
	return (uint64_t)seconds * 1000000000u + fraction;
}
