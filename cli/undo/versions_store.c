/* One content store, read: see versions_store.h. */
#include "cli/undo/versions_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/message.h"
#include "cli/session/owned.h"
#include "tracker/content/contents_name.h"
#include "tracker/path/decimal.h"

/* ---- the directory ---- */

/* A growing array of rows. */
struct versions_row *versions_add(struct versions *versions)
{
	/* doubled whenever the count is a power of two */
	if ((versions->count & (versions->count - 1)) == 0) {
		size_t capacity = versions->count ? 2 * versions->count : 1;
		struct versions_row *grown = reallocarray(versions->rows, capacity, sizeof(*grown));
		if (!grown)
			return NULL;
		versions->rows = grown;
	}
	struct versions_row *row = &versions->rows[versions->count++];
	*row = (struct versions_row){ .reason = CONTENTS_REASON_COUNT,
				      .mode = VERSIONS_NO_MODE,
				      .place = VERSIONS_NO_PLACE };
	return row;
}

static int compare_versions(const struct version *a, const struct version *b)
{
	if (a->high != b->high)
		return a->high < b->high ? -1 : 1;
	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	return (a->size_bytes > b->size_bytes) - (a->size_bytes < b->size_bytes);
}

static int by_version(const void *a, const void *b)
{
	return compare_versions(&((const struct versions_row *)a)->version,
				&((const struct versions_row *)b)->version);
}

static DIR *list(const char *path, int *ret_error)
{
	int fd = -1;

	*ret_error = session_open_directory(AT_FDCWD, path, &fd);
	if (*ret_error < 0)
		return NULL;
	DIR *stream = fdopendir(fd);
	if (!stream) {
		*ret_error = -errno;
		(void)close(fd);
	}
	return stream;
}

/* The contents that are there, in the order of their versions. */
static int read_directory(DIR *stream, struct versions *ret_present)
{
	struct version version;
	struct stat stat;

	for (struct dirent *entry; (entry = readdir(stream));) {
		if (!contents_version(entry->d_name, &version) ||
		    fstatat(dirfd(stream), entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(stat.st_mode) || (uint64_t)stat.st_size != version.size_bytes)
			continue;
		struct versions_row *row = versions_add(ret_present);
		if (!row)
			return -ENOMEM;
		row->version = version;
		row->realtime_ns = stat.st_mtim.tv_sec < 0
					   ? 0
					   : (uint64_t)stat.st_mtim.tv_sec * 1000000000u +
						     (uint64_t)stat.st_mtim.tv_nsec;
	}
	if (ret_present->count)
		qsort(ret_present->rows, ret_present->count, sizeof(*ret_present->rows),
		      by_version);
	return 0;
}

/* ---- the index ---- */

static int hexadecimal(char digit)
{
	return digit >= '0' && digit <= '9'   ? digit - '0'
	       : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
					      : -1;
}

/* What path_escape() made of a path, taken back in place.  False: it made no such thing. */
static bool unescape(char *text)
{
	static const char NAMES[] = "n\nt\tr\r\\\\";
	char *to = text;

	for (const char *at = text; *at; at++) {
		if (*at != '\\') {
			*to++ = *at;
			continue;
		}
		at++;
		const char *name = *at ? strchr(NAMES, *at) : NULL;
		if (*at == 'x') {
			int high = hexadecimal(at[1]), low = high < 0 ? -1 : hexadecimal(at[2]);
			if (low < 0 || high + low == 0)
				return false;
			*to++ = (char)(high << 4 | low);
			at += 2;
		} else if (name && (name - NAMES) % 2 == 0) {
			*to++ = name[1];
		} else {
			return false;
		}
	}
	*to = '\0';
	return true;
}

static enum contents_reason reason_of(const char *word)
{
	int reason = 0;
	while (reason < CONTENTS_REASON_COUNT &&
	       strcmp(word, contents_reason_name((enum contents_reason)reason)) != 0)
		reason++;
	return (enum contents_reason)reason;
}

/* The mode that a line has before its path: four octal digits and a space.  Older lines have none.
 * Returns the place behind it. */
static char *parse_mode(char *at, mode_t *ret_mode)
{
	enum { DIGITS_OF_MODE = 4 };

	*ret_mode = VERSIONS_NO_MODE;
	if (strspn(at, "01234567") != DIGITS_OF_MODE || at[DIGITS_OF_MODE] != ' ')
		return at;
	*ret_mode = (mode_t)strtoul(at, NULL, 8);
	return at + DIGITS_OF_MODE + 1;
}

/* A line of the index without its newline, which is cut up.  The path is borrowed from it.  False:
 * it is none. */
static bool parse(char *line, struct versions_row *ret_row)
{
	char *rest = line, *words[3];

	for (int i = 0; i < 3; i++) {
		words[i] = strsep(&rest, " ");
		if (!rest)
			return false;
	}
	const char *end = decimal_parse(words[0], &ret_row->realtime_ns);
	ret_row->reason = reason_of(words[2]);
	rest = parse_mode(rest, &ret_row->mode);
	ret_row->path = rest;
	ret_row->on_disk = false;
	return end && *end == '\0' && contents_version(words[1], &ret_row->version) &&
	       ret_row->reason != CONTENTS_REASON_COUNT && rest[0] == '/' && unescape(rest);
}

/* Reads the index; contents in `present` that a line names get a path there, too, so that the
 * others are known. */
static int read_index(FILE *file, const char *directory, struct versions *present,
		      struct versions *ret_versions)
{
	char *line = NULL;
	size_t capacity = 0;
	unsigned long number = 0;
	bool warned = false;
	int error = 0;

	for (ssize_t length; error == 0 && (length = getline(&line, &capacity, file)) > 0;) {
		struct versions_row row = { .store = ret_versions->store_count - 1,
					    .place = VERSIONS_NO_PLACE };
		bool whole = line[length - 1] == '\n';
		number++;
		if (whole)
			line[--length] = '\0';
		if (whole && length == 0)
			continue; /* behind a torn one */
		if (!whole || strlen(line) != (size_t)length || !parse(line, &row)) {
			if (!warned)
				message("%s/%s:%lu: no line of an index, skipped%s", directory,
					CONTENTS_INDEX, number,
					whole ? "" : " (its writer was killed)");
			warned = true;
			continue;
		}
		struct versions_row *found = present->count
						     ? bsearch(&row, present->rows, present->count,
							       sizeof(row), by_version)
						     : NULL;
		if (!found)
			continue;      /* it was dropped */
		found->on_disk = true; /* here: a line names it */
		struct versions_row *kept = versions_add(ret_versions);
		if (kept) {
			*kept = row;
			kept->path = strdup(row.path);
		}
		error = kept && kept->path ? 0 : -ENOMEM;
	}
	free(line);
	return error;
}

/* ---- the store ---- */

int versions_by_path(const void *a, const void *b)
{
	const struct versions_row *left = a, *right = b;

	if (!left->path || !right->path)
		return (left->path != NULL) - (right->path != NULL);
	return strcmp(left->path, right->path);
}

static int by_path_and_version(const void *a, const void *b)
{
	const struct versions_row *left = a, *right = b;
	int order = versions_by_path(a, b);

	if (order == 0)
		order = by_version(a, b);
	return order ? order
		     : (left->realtime_ns < right->realtime_ns) -
			       (left->realtime_ns > right->realtime_ns);
}

int versions_by_time(const void *a, const void *b)
{
	const struct versions_row *left = a, *right = b;

	if (left->realtime_ns != right->realtime_ns)
		return left->realtime_ns < right->realtime_ns ? 1 : -1;
	return by_path_and_version(a, b);
}

void versions_sort(struct versions *versions, int (*order)(const void *, const void *))
{
	if (versions->count)
		qsort(versions->rows, versions->count, sizeof(*versions->rows), order);
}

void versions_unite(struct versions *versions)
{
	size_t kept = 0;

	versions_sort(versions, by_path_and_version);
	for (size_t i = 0; i < versions->count; i++) {
		struct versions_row *row = &versions->rows[i];
		if (kept > 0 && versions_by_path(&versions->rows[kept - 1], row) == 0 &&
		    by_version(&versions->rows[kept - 1], row) == 0) {
			if (versions->rows[kept - 1].mode == VERSIONS_NO_MODE)
				versions->rows[kept - 1].mode = row->mode;
			free(row->path);
		} else {
			versions->rows[kept++] = *row;
		}
	}
	versions->count = kept;
	versions_sort(versions, versions_by_time);
}

static int read_all(const char *directory, DIR *stream, struct versions *present,
		    struct versions *ret_versions)
{
	int error = read_directory(stream, present);
	int fd = openat(dirfd(stream), CONTENTS_INDEX,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (file && error == 0)
		error = read_index(file, directory, present, ret_versions);
	if (file)
		(void)fclose(file);
	else if (fd >= 0)
		(void)close(fd);
	for (size_t i = 0; i < present->count && error == 0; i++) {
		struct versions_row *row = present->rows[i].on_disk ? NULL
								    : versions_add(ret_versions);
		if (row) {
			*row = present->rows[i];
			row->store = ret_versions->store_count - 1;
		} else if (!present->rows[i].on_disk)
			error = -ENOMEM;
	}
	return error;
}

struct versions_store *versions_add_store(struct versions *versions, const char *directory,
					  const char *session)
{
	size_t count = versions->store_count;
	struct versions_store *grown = reallocarray(versions->stores, count + 1,
						    sizeof(*versions->stores));
	if (!grown)
		return NULL;
	versions->stores = grown;
	grown[count] = (struct versions_store){ strdup(directory), strdup(session) };
	versions->store_count++;
	return grown[count].directory && grown[count].session ? &grown[count] : NULL;
}

int versions_store_read(const char *directory, const char *session, struct versions *versions)
{
	struct versions present = { .count = 0 };
	int error = -ENOENT;
	DIR *stream = directory ? list(directory, &error) : NULL;

	if (!stream)
		return error;
	error = versions_add_store(versions, directory, session)
			? read_all(directory, stream, &present, versions)
			: -ENOMEM;
	(void)closedir(stream);
	free(present.rows); /* without paths */
	return error;
}
