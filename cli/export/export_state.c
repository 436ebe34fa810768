/* How far an export is: see export_state.h. */
#include "cli/export/export_state.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/output.h"

#define SCHEMA "seen/export_state/1"

enum { FILE_BYTES_MAX = 4096 };

static int read_text(const json_t *document, const char *name, char *ret_text, size_t capacity)
{
	const char *text = json_string_value(json_object_get(document, name));
	if (!text || strlen(text) >= capacity)
		return -EBADMSG;
	(void)strcpy(ret_text, text);
	return 0;
}

static int parse(const char *text, size_t bytes, struct export_state *ret_state)
{
	struct export_state state = { .next = 0 };
	json_t *document = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, NULL);
	const json_t *next = json_object_get(document, "next");
	const char *schema = json_string_value(json_object_get(document, "schema"));
	int error = schema && strcmp(schema, SCHEMA) == 0 && json_is_integer(next) &&
				    json_integer_value(next) >= JOURNAL_UNITS_FIRST
			    ? 0
			    : -EBADMSG;

	if (error == 0)
		error = read_text(document, "journal", state.journal, sizeof(state.journal));
	if (error == 0)
		error = read_text(document, "format", state.format, sizeof(state.format));
	if (error == 0) {
		state.next = (uint64_t)json_integer_value(next);
		*ret_state = state;
	}
	json_decref(document);
	return error;
}

int export_state_read(const char *path, struct export_state *ret_state)
{
	char text[FILE_BYTES_MAX];
	FILE *file = fopen(path, "re");

	if (!file)
		return -errno;
	errno = 0;
	size_t bytes = fread(text, 1, sizeof(text), file);
	int error = ferror(file) ? -(errno ? errno : EIO) : parse(text, bytes, ret_state);
	(void)fclose(file);
	return error;
}

int export_state_write(const char *path, const struct export_state *state)
{
	struct output output;
	json_t *document = json_pack("{sssssssI}", "schema", SCHEMA, "journal", state->journal,
				     "format", state->format, "next", (json_int_t)state->next);
	int error = document ? output_open(path, OUTPUT_REPLACE, &output) : -ENOMEM;

	if (error == 0) {
		if (json_dumpf(document, output.file, JSON_COMPACT) < 0 ||
		    fputc('\n', output.file) == EOF)
			error = -EIO;
		error = error < 0 ? error : output_finish(&output);
		output_close(&output);
	}
	json_decref(document);
	return error;
}
