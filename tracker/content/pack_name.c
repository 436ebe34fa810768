/* Names in the directory of packs: see pack_name.h. */
#include "tracker/content/pack_name.h"

#include <string.h>

enum { PART_DIGITS = 8, PLACE_DIGITS = 16 };

static char *write_hexadecimal(char *at, uint64_t number, int digits)
{
	for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
		*at++ = "0123456789abcdef"[number >> shift & 15];
	return at;
}

static bool read_hexadecimal(const char *text, int digits, uint64_t *ret_number)
{
	uint64_t number = 0;

	for (int i = 0; i < digits; i++) {
		char digit = text[i];
		if (digit >= '0' && digit <= '9')
			number = number << 4 | (uint64_t)(digit - '0');
		else if (digit >= 'a' && digit <= 'f')
			number = number << 4 | (uint64_t)(digit - 'a' + 10);
		else
			return false;
	}
	*ret_number = number;
	return true;
}

void pack_part_name(uint32_t part, char *ret_name)
{
	memcpy(write_hexadecimal(ret_name, part, PART_DIGITS), ".part", sizeof(".part"));
}

void pack_files_name(uint32_t part, char *ret_name)
{
	memcpy(write_hexadecimal(ret_name, part, PART_DIGITS), ".files", sizeof(".files"));
}

void pack_file_name(uint64_t place, char *ret_name)
{
	pack_files_name(pack_part_of(place), ret_name);
	char *at = ret_name + PART_DIGITS + sizeof(".files") - 1;
	*at++ = '/';
	*write_hexadecimal(at, place, PLACE_DIGITS) = '\0';
}

static bool is_named(const char *name, const char *suffix, uint32_t *ret_part)
{
	uint64_t part;

	if (!read_hexadecimal(name, PART_DIGITS, &part) || strcmp(name + PART_DIGITS, suffix) != 0)
		return false;
	*ret_part = (uint32_t)part;
	return true;
}

bool pack_is_part_name(const char *name, uint32_t *ret_part)
{
	return is_named(name, ".part", ret_part);
}

bool pack_is_files_name(const char *name, uint32_t *ret_part)
{
	return is_named(name, ".files", ret_part);
}

bool pack_is_file_name(const char *name)
{
	uint64_t place;
	return read_hexadecimal(name, PLACE_DIGITS, &place) && name[PLACE_DIGITS] == '\0';
}
