/* Paths: see path.h. */
#include "tracker/path/path.h"

#include <errno.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tracker/path/decimal.h"
#include "tracker/segment/segment.h"

enum { GLOB_STEPS_MAX = 100000 };

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static unsigned char folded(char byte, bool fold)
{
	return (unsigned char)(fold && byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte);
}

/* Matches one byte against the set that begins behind `[`.  Returns the byte behind the closing `]`,
 * or NULL when the set is not closed (then `[` is an ordinary byte). */
static const char *glob_set(const char *set, char byte, bool fold, bool *ret_match)
{
	bool negated = *set == '!' || *set == '^';
	bool match = false;
	const char *at = set + negated;

	for (bool first = true; *at && (first || *at != ']'); first = false) {
		unsigned char low = folded(*at, fold), high = low;
		if (at[1] == '-' && at[2] && at[2] != ']') {
			high = folded(at[2], fold);
			at += 2;
		}
		match = match || (low <= folded(byte, fold) && folded(byte, fold) <= high);
		at++;
	}
	if (*at != ']')
		return NULL;
	*ret_match = match != negated;
	return at + 1;
}

/* covers: a pattern that ends where a folder's name ends matches what is below it too. */
static bool glob_match(const char *pattern, const char *text, bool fold, bool covers, int *steps)
{
	for (;;) {
		if (--*steps < 0)
			return false;
		if (*pattern == '*') {
			bool any = pattern[1] == '*';
			const char *rest = pattern + 1 + any;
			/* `**` followed by a slash also stands for no folder at all */
			if (any && *rest == '/' && glob_match(rest + 1, text, fold, covers, steps))
				return true;
			bool plain = *rest && !strchr("*?[\\", *rest);
			for (;; text++) {
				/* most places are ruled out by the byte that must come next */
				if ((!plain || folded(*text, fold) == folded(*rest, fold)) &&
				    glob_match(rest, text, fold, covers, steps))
					return true;
				if (*text == '\0' || (*text == '/' && !any) || *steps < 0)
					return false;
			}
		}
		if (*pattern == '\0')
			return *text == '\0' || (covers && *text == '/');
		if (*text == '\0')
			return false;
		const char *behind;
		bool match;
		if (*pattern == '?') {
			if (*text == '/')
				return false;
			pattern++;
		} else if (*pattern == '[' &&
			   (behind = glob_set(pattern + 1, *text, fold, &match))) {
			if (!match || *text == '/')
				return false;
			pattern = behind;
		} else {
			if (*pattern == '\\' && pattern[1])
				pattern++;
			if (folded(*pattern, fold) != folded(*text, fold))
				return false;
			pattern++;
		}
		text++;
	}
}

bool path_glob(const char *pattern, const char *text, bool fold)
{
	int steps = GLOB_STEPS_MAX;
	return glob_match(pattern, text, fold, false, &steps);
}

/* The same for a list of paths, where a folder's name stands for all below it.  A pattern that takes too long counts as
 * `undecided`. */
static bool covers(const char *pattern, const char *text, bool fold, bool undecided)
{
	int steps = GLOB_STEPS_MAX;
	bool match = glob_match(pattern, text, fold, true, &steps);
	return steps < 0 ? undecided : match;
}

bool path_covers(const char *pattern, const char *path, bool fold)
{
	return covers(pattern, path, fold, false);
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

	memcpy(decimal_put(own + 6, pid), "/fd/", sizeof("/fd/"));
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
		if (path[i] == '\0' || folded(path[i], fold) != folded(root[i], fold))
			return 0;
	return path[length] == '/' || path[length] == '\0' ? length : 0;
}

bool path_in_workspace(const struct segment *segment, const char *path)
{
	return workspace_prefix(segment, path) != 0;
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

/* Pairs of bytes, one behind the other, that are in a text.  Most patterns have a pair that it does not have, and are ruled out by that. */
struct pairs {
	uint64_t bits[8];
};

static unsigned pair_of(unsigned char first, unsigned char second)
{
	return (first * 37u + second) % 512;
}

static void pairs_of(const char *text, bool fold, struct pairs *ret_pairs)
{
	unsigned char last = folded(*text, fold);

	*ret_pairs = (struct pairs){ { 0 } };
	while (last) {
		unsigned char next = folded(*++text, fold);
		unsigned pair = pair_of(last, next);
		ret_pairs->bits[pair / 64] |= UINT64_C(1) << pair % 64;
		last = next;
	}
}

/* Does a pattern begin, behind stars, with bytes that do not follow each other in the text?  Then it matches no part of that. */
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
		unsigned char next = folded(*pattern, fold);
		unsigned pair = pair_of(last, next);
		if (last && !(pairs->bits[pair / 64] >> pair % 64 & 1))
			return true;
		last = next;
	}
	return false;
}

/* A pattern that begins with a slash is held against the whole relative path, every other one also
 * against what follows each slash: it matches at any depth.  A pattern for a folder's name covers
 * what is below it. */
static bool matches_at_any_depth(const char *pattern, const char *relative, bool fold,
				 bool undecided)
{
	if (pattern[0] == '/')
		return covers(pattern + 1, relative, fold, undecided);
	/* most names are ruled out by their first byte */
	bool plain = pattern[0] && !strchr("*?[\\", pattern[0]);
	char first = folded(pattern[0], fold);
	for (const char *at = relative; at; at = strchr(at, '/')) {
		at += *at == '/';
		if ((!plain || folded(*at, fold) == first) && covers(pattern, at, fold, undecided))
			return true;
	}
	return false;
}

bool path_matches_glob(const char *pattern, const char *relative, bool fold)
{
	return matches_at_any_depth(pattern, relative, fold, false);
}

/* pairs: of `relative`. */
static bool matches_list(const struct segment *segment, struct settings_text list,
			 const char *relative, const struct pairs *pairs, bool undecided)
{
	const char *pattern = NULL;
	bool fold = ignores_case(segment);
	while ((pattern = segment_text(segment, list, pattern)))
		if (!is_ruled_out(pattern, pairs, fold) &&
		    matches_at_any_depth(pattern, relative, fold, undecided))
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
			if (pattern[0] == '/'
				    ? covers(pattern, path, fold, true)
				    : !is_ruled_out(pattern, &pairs, fold) &&
					      matches_at_any_depth(pattern, relative, fold, true))
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
				lower[piece++] = (char)folded(path[at++], true);
			key = XXH3_64bits_withSeed(lower, piece, key);
		}
	} else {
		key = XXH3_64bits(path, length);
	}
	return key ? key : 1;
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
