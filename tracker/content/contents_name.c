/* Names in the content store: see contents_name.h. */
#include "tracker/content/contents_name.h"

#include "tracker/path/decimal.h"
#include "tracker/sys/sys.h"

enum { DIGITS = 32 }; /* of a version */

static char *write_digits(char *at, uint64_t half)
{
	for (int shift = 60; shift >= 0; shift -= 4)
		*at++ = "0123456789abcdef"[(half >> shift) & 15];
	return at;
}

void contents_name(const struct version *version, char *ret_name)
{
	char *at = write_digits(ret_name, version->high);
	at = write_digits(at, version->low);
	*at++ = '-';
	at = decimal_write(at, version->size_bytes);
	*at = '\0';
}

bool contents_version(const char *name, struct version *ret_version)
{
	uint64_t halves[2] = { 0, 0 }, size_bytes;

	for (int i = 0; i < DIGITS; i++) {
		char digit = name[i];
		if (!((digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f')))
			return false;
		halves[i / 16] = halves[i / 16] << 4 |
				 (uint64_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
	}
	if (name[DIGITS] != '-' || (name[DIGITS + 1] == '0' && name[DIGITS + 2] != '\0'))
		return false;
	const char *end = decimal_parse(name + DIGITS + 1, &size_bytes);
	if (!end || *end != '\0')
		return false;
	*ret_version = (struct version){ halves[1], halves[0], size_bytes };
	return true;
}

bool contents_is_temporary(const char *name, uint64_t *ret_pid)
{
	uint64_t pid, serial;

	if (name[0] != '.')
		return false;
	const char *at = decimal_parse(name + 1, &pid);
	at = at && *at == '.' ? decimal_parse(at + 1, &serial) : NULL;
	if (!at || *at != '\0')
		return false;
	*ret_pid = pid;
	return true;
}

void contents_temporary_name(const struct segment *segment, char *ret_name)
{
	char *at = ret_name;

	*at++ = '.';
	at = decimal_write(at, (uint64_t)sys_getpid());
	*at++ = '.';
	at = decimal_write(at, segment_serial(segment));
	*at = '\0';
}
