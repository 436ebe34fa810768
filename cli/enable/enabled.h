/*
 * Which agents `seen enable` has wrapped, and where that is kept: in $XDG_DATA_HOME/seen, else
 * ~/.local/share/seen.
 *
 *	enabled      a line an agent and place: name, tab, `*` or a directory, tab, `hooks` or `-`
 *	launchers/   a symbolic link to this program for each agent; comes first on PATH
 *	enabled.sh   what shells read
 */
#ifndef SEEN_CLI_ENABLED_H
#define SEEN_CLI_ENABLED_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum { ENABLED_NAME_BYTES = 64 };
#define ENABLED_EVERYWHERE "*"

struct enabled_agent {
	char name[ENABLED_NAME_BYTES];
	char place[PATH_MAX]; /* ENABLED_EVERYWHERE, or the directory below which it is wrapped */
	bool has_hooks;       /* that enabling it installed */
};

struct enabled {
	struct enabled_agent *agents; /* by name, then place */
	size_t count;
};

/* enabled_path(): of a file in that directory.  Returns 0; -ENOENT: there is no home;
 * -ENAMETOOLONG. */
int enabled_path(const char *file, char *ret_path, size_t capacity);

/* enabled_make_directory(): makes a directory and those above it.  Returns 0, or -1 and errno. */
int enabled_make_directory(const char *path);

/* enabled_read(): ret_enabled: enabled_free() it.  A file that is not there has none; lines that are
 * none are passed over.  Returns 0, -ENOENT: no home; -ENOMEM. */
int enabled_read(struct enabled *ret_enabled);

/* enabled_write(): replaces the list; an empty one removes it, and the directory where nothing else is
 * in it.  Returns 0 or a negative errno. */
int enabled_write(const struct enabled *enabled);

void enabled_free(struct enabled *enabled);

/* enabled_find(): NULL: it is not wrapped in that place. */
struct enabled_agent *enabled_find(const struct enabled *enabled, const char *name,
				   const char *place);

/* enabled_has(): is it wrapped anywhere?  enabled_applies(): in this directory? */
bool enabled_has(const struct enabled *enabled, const char *name);
bool enabled_applies(const struct enabled *enabled, const char *name, const char *directory);

/* enabled_add(): Returns 0 or -ENOMEM.  enabled_remove(): of a place that enabled_find() gave. */
int enabled_add(struct enabled *enabled, const char *name, const char *place, bool has_hooks);
void enabled_remove(struct enabled *enabled, struct enabled_agent *agent);

/* enabled_name_is_valid(): may an agent be called so?  It becomes the name of a link and of a
 * function of shells. */
bool enabled_name_is_valid(const char *name);

#endif
