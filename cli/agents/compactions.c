/* Compactions: see compactions.h. */
#include "cli/agents/compactions.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* The value at `member.member`; NULL: there is none. */
static const json_t *value_at(const json_t *object, const char *path, size_t length)
{
	char name[128];

	while (object && length) {
		size_t part = 0;
		while (part < length && path[part] != '.')
			part++;
		if (part >= sizeof(name))
			return NULL;
		(void)snprintf(name, sizeof(name), "%.*s", (int)part, path);
		object = json_object_get(object, name);
		path += part + (part < length);
		length -= part + (part < length);
	}
	return json_is_null(object) ? NULL : object;
}

/* One condition of a marker. */
static bool condition_holds(const json_t *object, const char *text, size_t length)
{
	const char *equals = memchr(text, '=', length);
	size_t path = equals ? (size_t)(equals - text) : length;
	const json_t *value = value_at(object, text, path);

	if (!path)
		return false;
	if (!equals)
		return value != NULL;
	size_t wanted = length - path - 1;
	return json_is_string(value) && json_string_length(value) == wanted &&
	       memcmp(json_string_value(value), equals + 1, wanted) == 0;
}

/* Does the line hold what the condition's last name, or its text, is at all?  Most lines do not,
 * and need not be parsed. */
static bool is_possible(const char *line, size_t line_length, const char *text, size_t length)
{
	const char *equals = memchr(text, '=', length), *wanted = equals ? equals + 1 : text;
	size_t wanted_length = length - (size_t)(wanted - text);

	for (size_t i = 0; !equals && i < length; i++)
		if (text[i] == '.') {
			wanted = text + i + 1;
			wanted_length = length - i - 1;
		}
	return memmem(line, line_length, wanted, wanted_length) != NULL;
}

/* Calls back for each condition of a marker while they hold. */
static bool all_hold(const char *marker, size_t length, const char *line, size_t line_length,
		     const json_t *object)
{
	size_t at = 0;

	while (at < length) {
		size_t part = 0;
		while (at + part < length && marker[at + part] != ',')
			part++;
		if (!(object ? condition_holds(object, marker + at, part)
			     : is_possible(line, line_length, marker + at, part)))
			return false;
		at += part + 1;
	}
	return length > 0;
}

/* Does one of the markers hold: of the line's text, or of what it says?  begins: without those that
 * begin a conversation, too. */
static bool any_holds(const char *markers, const char *line, size_t length, bool begins,
		      const json_t *object)
{
	static const char SPACE[] = " \t\n";

	for (markers += strspn(markers, SPACE); *markers; markers += strspn(markers, SPACE)) {
		size_t word = strcspn(markers, SPACE), plus = *markers == '+';
		if (!(begins && plus) &&
		    all_hold(markers + plus, word - plus, line, length, object))
			return true;
		markers += word;
	}
	return false;
}

bool compactions_line_matches(const char *line, size_t length, const char *markers, bool begins)
{
	if (!any_holds(markers, line, length, begins, NULL))
		return false;
	json_t *object = json_loadb(line, length, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
	bool matches = json_is_object(object) && any_holds(markers, line, length, begins, object);
	json_decref(object);
	return matches;
}
