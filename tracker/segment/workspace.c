/* What of the file system a session is about: see workspace.h. */
#include "tracker/segment/workspace.h"

#include <errno.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tracker/path/glob.h"

static bool ignores_case(const struct segment *segment)
{
	return segment->settings->paths_case_insensitive == PATHS_CASE_INSENSITIVE_YES;
}

/* Length of the workspace's root when `path` is at or below it, else 0. */
static size_t workspace_prefix(const struct segment *segment, const char *path)
{
	const char *root = segment_text(segment, segment->settings->paths_workspace, NULL);
	bool fold = ignores_case(segment);

	if (!root || root[0] != '/')
		return 0;
	size_t length = strlen(root);
	if (length == 1) /* the workspace is "/" */
		return 1;
	if (!fold && strncmp(path, root, length) != 0)
		return 0;
	for (size_t i = 0; fold && i < length; i++)
		if (path[i] == '\0' || glob_folded(path[i], fold) != glob_folded(root[i], fold))
			return 0;
	return path[length] == '/' || path[length] == '\0' ? length : 0;
}

/* The text of an alias; NULL: there is none at that place, nor behind it. */
static const char *alias_at(const struct segment *segment, unsigned place, size_t *ret_length)
{
	uint64_t word = __atomic_load_n(&segment->header->aliases[place], __ATOMIC_ACQUIRE);

	*ret_length = word & UINT16_MAX;
	return word ? arena_at(segment, word >> 16, *ret_length) : NULL;
}

const char *path_behind_alias(const struct segment *segment, const char *path)
{
	const char *alias;
	size_t length;

	for (unsigned i = 0; i < SEGMENT_ALIASES && (alias = alias_at(segment, i, &length)); i++)
		if (length && strncmp(path, alias, length) == 0 &&
		    (path[length] == '/' || !path[length]))
			return path + length;
	return NULL;
}

void path_use_root(const struct segment *segment, char *path, size_t capacity)
{
	const char *rest = path_behind_alias(segment, path);
	const char *root = rest ? segment_text(segment, segment->settings->paths_workspace, NULL)
				: NULL;

	if (!root || root[0] != '/' || !root[1])
		return;
	size_t root_bytes = strlen(root), rest_bytes = strlen(rest);
	if (root_bytes + rest_bytes >= capacity)
		return;
	memmove(path + root_bytes, rest, rest_bytes + 1);
	memcpy(path, root, root_bytes);
}

int path_add_alias(const struct segment *segment, const char *alias)
{
	size_t length = strlen(alias), other_bytes;

	if (length >= SEGMENT_PATH_BYTES)
		return -ENOSPC;
	for (unsigned i = 0; i < SEGMENT_ALIASES; i++) {
		const char *other = alias_at(segment, i, &other_bytes);
		if (other && other_bytes == length && memcmp(other, alias, length) == 0)
			return 0;
		if (other)
			continue;
		uint64_t none = 0, offset = arena_store(segment, alias, length);
		if (!offset)
			return -ENOSPC;
		if (__atomic_compare_exchange_n(&segment->header->aliases[i], &none,
						offset << 16 | length, false, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED))
			return 0;
	}
	return -ENOSPC;
}

bool path_in_workspace(const struct segment *segment, const char *path)
{
	return workspace_prefix(segment, path) != 0;
}

bool path_is_observed(const struct segment *segment, const char *path)
{
	const struct segment_header *header = segment->header;

	for (unsigned i = 0; i < SEGMENT_MOVED; i++) {
		uint64_t word = __atomic_load_n(&header->undo_moved[i], __ATOMIC_ACQUIRE);
		size_t length = word & UINT16_MAX;
		const char *moved = word ? arena_at(segment, word >> 16, length) : NULL;
		if (!moved)
			return false;
		if (length && strncmp(path, moved, length) == 0 &&
		    (path[length] == '/' || !path[length]))
			return true;
	}
	return false;
}

int path_add_observed(const struct segment *segment, const char *path)
{
	struct segment_header *header = segment->header;
	size_t length = strlen(path);

	if (path_is_observed(segment, path))
		return 0;
	uint64_t offset = arena_store(segment, path, length);
	for (unsigned i = 0; offset && i < SEGMENT_MOVED; i++) {
		uint64_t none = 0;
		if (__atomic_compare_exchange_n(&header->undo_moved[i], &none,
						offset << 16 | length, false, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED))
			return 0;
	}
	return -ENOSPC;
}

bool path_is_recorded(const struct segment *segment, bool writes, const char *path)
{
	const struct settings *settings = segment->settings;

	if (settings->journal_level == JOURNAL_LEVEL_WRITES && !writes)
		return false;
	if (!path)
		return true;
	if (settings->journal_level == JOURNAL_LEVEL_WORKSPACE && !path_in_workspace(segment, path))
		return false;
	return !path_matches_list(segment, settings->journal_exclude, path);
}

/* prefix: of the workspace's root; 0: it does not lie there. */
static const char *relative_from(const char *path, size_t prefix)
{
	const char *rest = path + prefix;
	if (prefix == 0 || *rest == '\0')
		return path;
	return *rest == '/' ? rest + 1 : rest;
}

const char *path_relative(const struct segment *segment, const char *path)
{
	return relative_from(path, workspace_prefix(segment, path));
}

/* Pairs of bytes, one behind the other, that are in a text.  Most patterns have a pair that it does
 * not have, and are ruled out by that. */
struct pairs {
	uint64_t bits[8];
};

static unsigned pair_of(unsigned char first, unsigned char second)
{
	return (first * 37u + second) % 512;
}

static void pairs_of(const char *text, bool fold, struct pairs *ret_pairs)
{
	unsigned char last = glob_folded(*text, fold);

	*ret_pairs = (struct pairs){ { 0 } };
	while (last) {
		unsigned char next = glob_folded(*++text, fold);
		unsigned pair = pair_of(last, next);
		ret_pairs->bits[pair / 64] |= UINT64_C(1) << pair % 64;
		last = next;
	}
}

/* Does a pattern begin, behind stars, with bytes that do not follow each other in the text?  Then
 * it matches no part of that. */
static bool is_ruled_out(const char *pattern, const struct pairs *pairs, bool fold)
{
	while (*pattern == '*')
		pattern++;
	while (*pattern ==
	       '/') /* of a slash, or of `**` and a slash, nothing need be in the text */
		pattern++;
	unsigned char last = '\0';
	for (;
	     *pattern && *pattern != '*' && *pattern != '?' && *pattern != '[' && *pattern != '\\';
	     pattern++) {
		unsigned char next = glob_folded(*pattern, fold);
		unsigned pair = pair_of(last, next);
		if (last && !(pairs->bits[pair / 64] >> pair % 64 & 1))
			return true;
		last = next;
	}
	return false;
}

/* pairs: of `relative`. */
static bool matches_list(const struct segment *segment, struct settings_text list,
			 const char *relative, const struct pairs *pairs, bool undecided)
{
	const char *pattern = NULL;
	bool fold = ignores_case(segment);
	while ((pattern = segment_text(segment, list, pattern)))
		if (!is_ruled_out(pattern, pairs, fold) &&
		    glob_matches_at_any_depth(pattern, relative, fold, undecided))
			return true;
	return false;
}

bool path_matches_list(const struct segment *segment, struct settings_text list, const char *path)
{
	struct pairs pairs;

	if (!list.count)
		return false;
	const char *relative = path_relative(segment, path);
	pairs_of(relative, ignores_case(segment), &pairs);
	return matches_list(segment, list, relative, &pairs, false);
}

bool path_is_tracked(const struct segment *segment, const char *path)
{
	const struct settings *settings = segment->settings;
	bool fold = ignores_case(segment);
	struct pairs pairs;

	size_t prefix = workspace_prefix(segment, path);
	if (!prefix)
		return false;
	const char *relative = relative_from(path, prefix);
	pairs_of(relative, fold, &pairs);
	if (matches_list(segment, settings->paths_exclude, relative, &pairs, true))
		return false;
	uint64_t profiles = settings->profile_count;
	for (uint64_t i = 0; i < profiles && i < SETTINGS_PROFILES_MAX; i++) {
		const char *pattern = NULL;
		while (settings->profiles[i].state.count &&
		       (pattern = segment_text(segment, settings->profiles[i].state, pattern)))
			if (pattern[0] == '/' ? glob_covers(pattern, path, fold, true)
					      : !is_ruled_out(pattern, &pairs, fold) &&
							glob_matches_at_any_depth(pattern, relative,
										  fold, true))
				return false;
	}
	return settings->paths_include.count == 0 ||
	       matches_list(segment, settings->paths_include, relative, &pairs, false);
}

uint64_t path_key(const struct segment *segment, const char *path)
{
	size_t length = strlen(path);
	uint64_t key;

	if (ignores_case(segment)) {
		/* In pieces: a thread's stack may be small. */
		char lower[128];
		key = length;
		for (size_t at = 0; at < length;) {
			size_t piece = 0;
			while (piece < sizeof(lower) && at < length)
				lower[piece++] = (char)glob_folded(path[at++], true);
			key = XXH3_64bits_withSeed(lower, piece, key);
		}
	} else {
		key = XXH3_64bits(path, length);
	}
	return key ? key : 1;
}
