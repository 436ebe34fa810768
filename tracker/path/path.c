/* Paths: see path.h. */
#include "tracker/path/path.h"

#include <errno.h>
#include <string.h>

#include "tracker/path/decimal.h"

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Length of an absolute path that is normal already: one slash before each name, none of them a dot or two.  0: it is
 * not, or not known to be. */
static size_t normal_length(const char *path)
{
	const char *at = path;

	if (*at != '/')
		return 0;
	for (; *at; at++) {
		if (*at != '/')
			continue;
		const char *name = at + 1 + (at[1] == '.');
		name += at[1] == '.' && at[2] == '.';
		if (*name == '/' || *name == '\0')
			return 0;
	}
	return (size_t)(at - path);
}

int path_normalize(const char *directory, const char *path, char *ret_path, size_t capacity)
{
	size_t length = 0;
	const char *parts[2] = { directory, path };

	if (capacity < 2)
		return -ENAMETOOLONG;
	if (path[0] == '/')
		parts[0] = "";
	else if (!directory || directory[0] != '/')
		return -EINVAL;

	for (int i = 0; i < 2; i++) {
		const char *at = parts[i];
		size_t whole = length == 0 ? normal_length(at) : 0;
		if (whole > 0 && whole < capacity) {
			memcpy(ret_path, at, whole);
			length = whole;
			continue;
		}
		while (*at) {
			while (*at == '/')
				at++;
			const char *slash = strchr(at, '/');
			size_t word = slash ? (size_t)(slash - at) : strlen(at);
			if (word == 2 && at[0] == '.' && at[1] == '.') {
				while (length > 0 && ret_path[--length] != '/')
					;
			} else if (word > 0 && !(word == 1 && at[0] == '.')) {
				if (length + 1 + word + 1 > capacity)
					return -ENAMETOOLONG;
				ret_path[length++] = '/';
				memcpy(ret_path + length, at, word);
				length += word;
			}
			at += word;
		}
	}
	if (length == 0)
		ret_path[length++] = '/';
	ret_path[length] = '\0';
	return (int)length;
}

const char *path_behind_descriptor(const char *path, uint32_t pid, int *ret_fd)
{
	char own[sizeof("/proc//fd/") + DECIMAL_BYTES_MAX] = "/proc/";
	const char *const beginnings[] = { "/proc/self/fd/", "/dev/fd/", "/proc/thread-self/fd/",
					   own };

	memcpy(decimal_write(own + 6, pid), "/fd/", sizeof("/fd/"));
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]) - (pid == 0); i++) {
		size_t length = strlen(beginnings[i]);
		if (strncmp(path, beginnings[i], length) != 0)
			continue;
		const char *at = path + length;
		int fd = 0, digits = 0;
		for (; *at >= '0' && *at <= '9' && digits < 9; at++, digits++)
			fd = 10 * fd + *at - '0';
		*ret_fd = fd;
		return digits && (*at == '\0' || *at == '/') ? at : NULL;
	}
	return NULL;
}

const char *path_behind_directory(const char *path, uint32_t pid)
{
	char own[sizeof("/proc//cwd/") + DECIMAL_BYTES_MAX] = "/proc/";
	const char *const beginnings[] = { "/proc/self/cwd/", "/proc/thread-self/cwd/", own };

	if (strncmp(path, "/proc/", 6) != 0)
		return NULL;
	memcpy(decimal_write(own + 6, pid), "/cwd/", sizeof("/cwd/"));
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]) - (pid == 0); i++) {
		size_t length = strlen(beginnings[i]);
		if (strncmp(path, beginnings[i], length) != 0)
			continue;
		path += length + strspn(path + length, "/");
		return *path ? path : NULL;
	}
	return NULL;
}

size_t path_utf8_length(const char *text)
{
	const unsigned char *bytes = (const unsigned char *)text;
	static const unsigned char LOWEST_SECOND[] = { [0xe0 - 0xc2] = 0xa0, [0xf0 - 0xc2] = 0x90 };
	unsigned char lead = bytes[0];
	if (lead < 0x80)
		return 1;
	size_t length = lead >= 0xc2 && lead <= 0xdf   ? 2
			: lead >= 0xe0 && lead <= 0xef ? 3
			: lead >= 0xf0 && lead <= 0xf4 ? 4
						       : 0;

	for (size_t i = 1; i < length; i++)
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
	if (length && (size_t)(lead - 0xc2) < sizeof(LOWEST_SECOND) &&
	    bytes[1] < LOWEST_SECOND[lead - 0xc2])
		return 0;
	if ((lead == 0xed && bytes[1] > 0x9f) || (lead == 0xf4 && bytes[1] > 0x8f))
		return 0;
	return length;
}

int path_escape(const char *bytes, char *ret_text, size_t capacity)
{
	static const char DIGITS[] = "0123456789abcdef";
	size_t length = 0;

	for (const unsigned char *at = (const unsigned char *)bytes; *at;) {
		if (length + 5 > capacity)
			return -ENAMETOOLONG;
		size_t sequence = *at < 0x80 ? 0 : path_utf8_length((const char *)at);
		if (sequence == 2 && at[0] == 0xc2 && at[1] < 0xa0)
			sequence = 0; /* C1 controls: a terminal acts on them */
		if (sequence) {
			memcpy(ret_text + length, at, sequence);
			length += sequence;
			at += sequence;
			continue;
		}
		unsigned char byte = *at++;
		if (byte >= 0x20 && byte < 0x7f && byte != '\\') {
			ret_text[length++] = (char)byte;
			continue;
		}
		ret_text[length++] = '\\';
		switch (byte) {
		case '\n':
			ret_text[length++] = 'n';
			break;
		case '\t':
			ret_text[length++] = 't';
			break;
		case '\r':
			ret_text[length++] = 'r';
			break;
		case '\\':
			ret_text[length++] = '\\';
			break;
		default:
			ret_text[length++] = 'x';
			ret_text[length++] = DIGITS[byte >> 4];
			ret_text[length++] = DIGITS[byte & 15];
		}
	}
	if (length + 1 > capacity)
		return -ENAMETOOLONG;
	ret_text[length] = '\0';
	return (int)length;
}

const char *path_below(const char *path, const char *above)
{
	size_t length = strlen(above);

	return strncmp(path, above, length) == 0 && (path[length] == '/' || !path[length])
		       ? path + length
		       : NULL;
}

bool path_ends_with(const char *path, const char *end)
{
	size_t length = strlen(path), bytes = strlen(end);

	return length > bytes && strcmp(path + length - bytes, end) == 0;
}
