/* A sketch of globs: see rule_sketch.h. */
#include "tracker/guard/rule_sketch.h"

#include <stddef.h>
#include <string.h>

enum { PART_BYTES = 3 };

static const char SPECIAL[] = "*?[\\";

/* FNV-1a, 32 bit, of text in lower case; the high half folded in. */
static uint32_t hash_of(const char *text, size_t bytes)
{
	uint32_t hash = 0x811c9dc5u;

	for (size_t i = 0; i < bytes; i++) {
		unsigned char byte = (unsigned char)text[i];
		hash = (hash ^ (byte >= 'A' && byte <= 'Z' ? byte + 32u : byte)) * 0x01000193u;
	}
	return hash ^ hash >> 16;
}

/* The second bit is that of the hash's other half. */
static uint32_t other(uint32_t hash)
{
	return hash >> 16;
}

static void note_bit(uint64_t *words, uint32_t count, uint32_t hash)
{
	words[hash / 64 % count] |= UINT64_C(1) << hash % 64;
}

static bool is_bit(const uint64_t *words, uint32_t count, uint32_t hash)
{
	return words[hash / 64 % count] >> hash % 64 & 1;
}

static void note(uint64_t *words, uint32_t count, uint32_t hash)
{
	note_bit(words, count, hash);
	note_bit(words, count, other(hash));
}

static bool is_noted(const uint64_t *words, uint32_t count, uint32_t hash)
{
	return is_bit(words, count, hash) && is_bit(words, count, other(hash));
}

bool rule_sketch_add(struct rule_sketch *sketch, const char *glob)
{
	const char *whole = NULL, *part = NULL;
	size_t whole_bytes = 0, part_bytes = 0;

	if (glob[0] == '.' && (glob[1] == '/' || !glob[1]))
		glob++;
	for (const char *at = glob; *at;) {
		at += strspn(at, "/");
		size_t bytes = strcspn(at, "/"), head = strcspn(at, SPECIAL);

		/* a slash may stand between brackets or behind a backslash: nothing behind these is
		 * sure to begin a name */
		size_t special = strcspn(at, "[\\");
		if (special < bytes) {
			if (head >= PART_BYTES) {
				part = at;
				part_bytes = head;
			}
			break;
		}
		if (head >= bytes && bytes > 0) {
			whole = at;
			whole_bytes = bytes;
		} else if (bytes > 0) {
			part = at;
			part_bytes = bytes;
		}
		at += bytes;
	}
	/* the last one says most; of a name with stars, its longer end */
	if (part && (!whole || part > whole)) {
		size_t head = strcspn(part, SPECIAL), tail = 0;

		while (tail < part_bytes && !strchr(SPECIAL, part[part_bytes - 1 - tail]))
			tail++;
		if (head >= PART_BYTES && head >= tail) {
			note(sketch->heads, RULE_SKETCH_PARTS, hash_of(part, PART_BYTES));
			return true;
		}
		if (tail >= PART_BYTES) {
			note(sketch->tails, RULE_SKETCH_PARTS,
			     hash_of(part + part_bytes - PART_BYTES, PART_BYTES));
			return true;
		}
	}
	if (!whole)
		return false;
	note(sketch->names, RULE_SKETCH_NAMES, hash_of(whole, whole_bytes));
	return true;
}

bool rule_sketch_may_match(const struct rule_sketch *sketch, const char *path)
{
	while (*path) {
		path += *path == '/';
		size_t bytes = strcspn(path, "/");

		if (is_noted(sketch->names, RULE_SKETCH_NAMES, hash_of(path, bytes)))
			return true;
		if (bytes >= PART_BYTES &&
		    (is_noted(sketch->heads, RULE_SKETCH_PARTS, hash_of(path, PART_BYTES)) ||
		     is_noted(sketch->tails, RULE_SKETCH_PARTS,
			      hash_of(path + bytes - PART_BYTES, PART_BYTES))))
			return true;
		path += bytes;
	}
	return false;
}
