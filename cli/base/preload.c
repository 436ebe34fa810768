/* LD_PRELOAD: see preload.h. */
#include "cli/base/preload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracker/process/image.h"

#define VARIABLE "LD_PRELOAD"

/* The value without the library, to be freed; NULL when out of memory. */
static char *value_without(const char *library)
{
	const char *value = getenv(VARIABLE);
	char *rest = strdup(value ? value : "");
	size_t length = strlen(library);

	for (char *at = rest; at && *at;) {
		size_t word = strcspn(at, ": ");
		size_t behind = word + strspn(at + word, ": ");
		if (word == length && memcmp(at, library, length) == 0)
			memmove(at, at + behind, strlen(at + behind) + 1);
		else
			at += behind;
	}
	size_t left = rest ? strlen(rest) : 0;
	while (left && strchr(": ", rest[left - 1]))
		rest[--left] = '\0';
	return rest;
}

int preload_remove(const char *library)
{
	char *rest = value_without(library);
	if (!rest)
		return -ENOMEM;
	int error = (rest[0] ? setenv(VARIABLE, rest, 1) : unsetenv(VARIABLE)) < 0 ? -ENOMEM : 0;
	free(rest);
	return error;
}

int preload_add(const char *library)
{
	char *rest = value_without(library), *value = NULL;
	if (!rest)
		return -ENOMEM;
	const char *sanitizer = image_find_sanitizer(rest);
	int before = sanitizer ? (int)(sanitizer - rest + (long)strcspn(sanitizer, ": ")) : 0;
	int length = asprintf(&value, "%.*s%s%s%s%s", before, rest, before ? ":" : "", library,
			      rest[before] && !before ? ":" : "", rest + before);
	int error = length < 0 || setenv(VARIABLE, value, 1) < 0 ? -ENOMEM : 0;
	if (length >= 0)
		free(value);
	free(rest);
	return error;
}
