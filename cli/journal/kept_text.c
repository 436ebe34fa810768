/* The beginning of a kept content: see kept_text.h. */
#include "cli/journal/kept_text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/tokens.h"
#include "tracker/content/contents_name.h"
#include "tracker/path/excerpt.h"

enum { READ_BYTES = 65536 };

static int open_content(int directory, const struct version *version)
{
	char name[CONTENTS_NAME_BYTES];

	if (directory < 0 || version_is_none(version))
		return -1;
	contents_name(version, name);
	return openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* Reads it to the end.  False when that fails, or it is longer than its version. */
static bool read_all(int fd, const struct version *version, struct kept_text *shown,
		     struct version *ret_version)
{
	static char buffer[READ_BYTES];
	struct version_stream stream;
	struct tokens tokens = { 0 };
	uint64_t size = 0;
	bool binary = false;
	char last = '\n';

	version_stream_init(&stream);
	for (;;) {
		ssize_t got = read(fd, buffer, sizeof(buffer));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 || size + (uint64_t)got > version->size_bytes)
			return false;
		if (got == 0)
			break;
		size_t bytes = (size_t)got, room = KEPT_TEXT_BYTES - 1 - shown->text_bytes;
		version_stream_add(&stream, buffer, bytes);
		tokens_add(&tokens, buffer, bytes);
		binary = binary || memchr(buffer, '\0', bytes);
		for (const char *at = buffer;
		     (at = memchr(at, '\n', bytes - (size_t)(at - buffer))); at++)
			shown->lines++;
		memcpy(shown->text + shown->text_bytes, buffer, bytes < room ? bytes : room);
		shown->text_bytes += bytes < room ? bytes : room;
		last = buffer[bytes - 1];
		size += bytes;
	}
	shown->lines += last != '\n';
	shown->tokens = tokens_count(&tokens);
	shown->state = binary ? KEPT_TEXT_BINARY : KEPT_TEXT_TEXT;
	*ret_version = version_stream_finish(&stream);
	return true;
}

/* The first characters of what was read, which is all, or more than so many can be. */
static void cut(struct kept_text *shown, const struct version *version, uint64_t characters)
{
	if (shown->state == KEPT_TEXT_TEXT)
		shown->text_bytes = excerpt_bytes(shown->text, shown->text_bytes, characters, NULL);
	else
		shown->text_bytes = 0;
	shown->text[shown->text_bytes] = '\0';
	shown->truncated = shown->state == KEPT_TEXT_TEXT &&
			   shown->text_bytes < version->size_bytes;
	shown->text_tokens = tokens_estimate(shown->text, shown->text_bytes);
}

void kept_text_read(int directory, const struct version *version, uint64_t characters,
		    struct kept_text *ret_text)
{
	struct version found;
	struct stat stat;
	int fd = open_content(directory, version);

	ret_text->state = fd < 0 && errno != ENOENT && directory >= 0 ? KEPT_TEXT_DAMAGED
								      : KEPT_TEXT_GONE;
	ret_text->lines = ret_text->tokens = 0;
	ret_text->text_bytes = 0;
	if (fd >= 0) {
		if (fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode) ||
		    !read_all(fd, version, ret_text, &found) || !version_equal(&found, version))
			ret_text->state = KEPT_TEXT_DAMAGED;
		(void)close(fd);
	}
	cut(ret_text, version,
	    characters < KEPT_TEXT_CHARACTERS_MAX ? characters : KEPT_TEXT_CHARACTERS_MAX);
}
