/* What sessions touched: see learned.h. */
#include "cli/learn/learned.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/ini.h"
#include "config/value.h"
#include "tracker/guard/rule.h"
#include "tracker/path/path.h"

enum { DIGITS_MAX = 2 }; /* more of them in a row are a number that changes */

/* Lies a directory at or below the first bytes of a path? */
static bool covers(const char *path, size_t bytes, const char *directory)
{
	if (bytes == 1)
		return directory != NULL;
	return directory && strncmp(path, directory, bytes) == 0 &&
	       (directory[bytes] == '/' || !directory[bytes]);
}

static bool covers_home(const struct learned *learned, const char *path, size_t bytes)
{
	return covers(path, bytes, learned->home) || covers(path, bytes, learned->real_home);
}

int learned_init(const struct config *config, struct learned *ret_learned)
{
	const char *scratch = getenv("TMPDIR"), *home = config_home(config);
	char *real_home = home ? realpath(home, NULL) : NULL;

	if (real_home && strcmp(real_home, home) == 0) {
		free(real_home);
		real_home = NULL;
	}
	*ret_learned = (struct learned){ .home = home, .real_home = real_home };
	if (!scratch || scratch[0] != '/' || !scratch[1] ||
	    covers_home(ret_learned, scratch, strlen(scratch)))
		return 0;
	ret_learned->scratch = strdup(scratch);
	return ret_learned->scratch ? 0 : -ENOMEM;
}

void learned_destroy(struct learned *learned)
{
	for (size_t use = 0; use < LEARNED_USES; use++) {
		for (size_t i = 0; i < learned->counts[use]; i++) {
			free(learned->places[use][i].glob);
			free(learned->places[use][i].path);
		}
		free(learned->places[use]);
	}
	tdestroy(learned->directories, free);
	tdestroy(learned->wide, free);
	free(learned->workspace);
	free(learned->real_home);
	free(learned->scratch);
	free(learned->left_out);
	*learned = (struct learned){ .home = NULL };
}

/* ---- places ---- */

/* What a path comes to. */
struct place {
	enum learned_kind kind;
	size_t bytes;       /* of the path that is the place */
	const char *prefix; /* what stands in the glob for the first `skipped` bytes of it */
	size_t skipped;
	bool is_pattern; /* a `*` follows */
};

/* What follows a directory: NULL: the path is neither it nor below. */
static const char *behind(const char *path, const char *directory)
{
	size_t bytes = directory ? strlen(directory) : 0;

	while (bytes > 1 && directory[bytes - 1] == '/')
		bytes--;
	return bytes > 1 && strncmp(path, directory, bytes) == 0 &&
			       (path[bytes] == '/' || !path[bytes])
		       ? path + bytes
		       : NULL;
}

/* How many bytes of a path are its first components. */
static size_t components(const char *path, int count)
{
	size_t bytes = 0;

	for (int i = 0; i < count && path[bytes]; i++)
		bytes += 1 + strcspn(path + bytes + 1, "/");
	return bytes;
}

/* Where a number begins that may be another one in the next run; the length: nowhere. */
static size_t stable_bytes(const char *name, size_t length)
{
	size_t digits = 0;

	for (size_t i = 0; i < length; i++) {
		digits = isdigit((unsigned char)name[i]) ? digits + 1 : 0;
		if (digits > DIGITS_MAX)
			return i + 1 - digits;
	}
	return length;
}

static struct place place_in_home(const char *path, const char *rest)
{
	static const char *const CACHES[] = { "/.cache/", "/.local/state/" };
	static const char *const SHARED[] = { "/.local/share/", "/.config/", "/.local/lib/" };
	struct place place = { .kind = LEARNED_HOME,
			       .prefix = "~",
			       .skipped = (size_t)(rest - path) };
	size_t bytes = components(rest, 1);

	for (size_t i = 0; i < sizeof(CACHES) / sizeof(CACHES[0]); i++)
		if (strncmp(rest, CACHES[i], strlen(CACHES[i])) == 0) {
			place.kind = LEARNED_CACHE;
			bytes = components(rest, i ? 3 : 2);
		}
	for (size_t i = 0; i < sizeof(SHARED) / sizeof(SHARED[0]); i++)
		if (strncmp(rest, SHARED[i], strlen(SHARED[i])) == 0)
			bytes = components(rest,
					   SHARED[i][1] == '.' && SHARED[i][2] == 'c' ? 2 : 3);
	if (!rest[bytes]) {
		size_t stable = stable_bytes(rest, bytes);
		place.is_pattern = stable < bytes;
		bytes = stable;
	}
	place.bytes = place.skipped + bytes;
	return place;
}

static struct place place_elsewhere(enum learned_use use, const char *path)
{
	static const char *const SYSTEM[] = { "/usr", "/etc",  "/lib",  "/lib32", "/lib64",
					      "/bin", "/sbin", "/proc", "/sys",   "/dev",
					      "/run", "/nix",  "/opt",  "/snap",  NULL };
	static const char *const SCRATCH[] = { "/tmp", "/var/tmp", "/dev/shm", NULL };

	for (size_t i = 0; SCRATCH[i]; i++)
		if (behind(path, SCRATCH[i]))
			return (struct place){ .kind = LEARNED_SCRATCH,
					       .bytes = strlen(SCRATCH[i]) };
	for (size_t i = 0; SYSTEM[i]; i++) {
		bool is_device = strcmp(SYSTEM[i], "/dev") == 0 || strcmp(SYSTEM[i], "/proc") == 0;
		if (behind(path, SYSTEM[i]) && (use != LEARNED_WRITE || is_device))
			return (struct place){ .kind = LEARNED_SYSTEM, .bytes = strlen(SYSTEM[i]) };
	}
	const char *slash = strrchr(path, '/');
	size_t directory = slash > path ? (size_t)(slash - path) : strlen(path);
	return (struct place){ .kind = LEARNED_ELSEWHERE,
			       .bytes = use == LEARNED_WRITE ? directory : components(path, 2) };
}

bool learned_is_wide(const struct learned *learned, const char *path, size_t bytes)
{
	return covers_home(learned, path, bytes) || covers(path, bytes, learned->workspace);
}

/* A place holds neither the home directory nor the workspace: it would allow all of them. */
static struct place narrowed(const struct learned *learned, const char *path, struct place place)
{
	while (path[place.bytes] && learned_is_wide(learned, path, place.bytes))
		place.bytes += components(path + place.bytes, 1);
	return place;
}

static struct place place_of(const struct learned *learned, enum learned_use use, const char *path)
{
	const char *rest;

	if ((rest = behind(path, learned->workspace)))
		return (struct place){ .kind = LEARNED_WORKSPACE,
				       .bytes = (size_t)(rest - path),
				       .prefix = ".",
				       .skipped = (size_t)(rest - path) };
	if ((rest = behind(path, learned->home)) && *rest)
		return place_in_home(path, rest);
	if ((rest = behind(path, learned->real_home)) && *rest) {
		struct place place = place_in_home(path, rest);
		place.prefix = NULL;
		place.skipped = 0;
		return place;
	}
	if ((rest = behind(path, learned->scratch)))
		return (struct place){ .kind = LEARNED_SCRATCH,
				       .bytes = (size_t)(rest - path),
				       .prefix = "$TMPDIR",
				       .skipped = (size_t)(rest - path) };
	return narrowed(learned, path, place_elsewhere(use, path));
}

/* Bytes that a seen.ini may not hold, or that end a word: `?` stands for one byte. */
static bool is_unwritable(unsigned char byte, bool is_text)
{
	return isspace(byte) || byte == ';' || (!is_text && (byte < ' ' || byte >= 0x7f));
}

/* A glob that no line has room for ends with a `*` in time. */
static void cut(char *glob)
{
	size_t bytes = LEARNED_GLOB_BYTES_MAX;

	if (strlen(glob) <= bytes)
		return;
	for (bytes--; bytes > 0 && (glob[bytes - 1] == '\\' || (glob[bytes] & 0xc0) == 0x80);)
		bytes--;
	glob[bytes] = '*';
	glob[bytes + 1] = '\0';
}

char *learned_glob(const char *prefix, const char *path, size_t skipped, size_t bytes,
		   bool is_pattern)
{
	size_t prefix_bytes = prefix ? strlen(prefix) : 0;
	bool is_text = !ini_text_check(path, bytes, true);
	char *glob = calloc(1, prefix_bytes + 2 * bytes + 2), *at = glob;

	if (!glob)
		return NULL;
	memcpy(at, prefix ? prefix : "", prefix_bytes);
	at += prefix_bytes;
	for (size_t i = skipped; i < bytes; i++) {
		if (strchr("*?[\\", path[i]))
			*at++ = '\\';
		*at++ = is_unwritable((unsigned char)path[i], is_text) ? '?' : path[i];
	}
	if (is_pattern)
		*at++ = '*';
	*at = '\0';
	cut(glob);
	return glob;
}

static char *glob_of(const struct place *place, const char *path)
{
	return learned_glob(place->prefix, path, place->skipped, place->bytes, place->is_pattern);
}

static struct learned_place *find_place(struct learned *learned, enum learned_use use,
					const char *glob)
{
	for (size_t i = 0; i < learned->counts[use]; i++)
		if (strcmp(learned->places[use][i].glob, glob) == 0)
			return &learned->places[use][i];
	return NULL;
}

static int append_place(struct learned *learned, enum learned_use use, const struct place *place,
			char *glob, const char *path)
{
	if (learned->counts[use] == learned->capacities[use]) {
		size_t capacity = learned->capacities[use] * 2 + 32;
		struct learned_place *places = realloc(learned->places[use],
						       capacity * sizeof(*places));
		if (!places)
			return -ENOMEM;
		learned->places[use] = places;
		learned->capacities[use] = capacity;
	}
	char *whole = place->is_pattern ? NULL : strndup(path, place->bytes);
	if (!whole && !place->is_pattern)
		return -ENOMEM;
	learned->places[use][learned->counts[use]++] = (struct learned_place){
		.glob = glob, .path = whole, .kind = place->kind
	};
	return 0;
}

static int compare_text(const void *left, const void *right)
{
	return strcmp(left, right);
}

/* Adds the first bytes of a path to a tsearch(3) tree, and counts it, once. */
static int count_once(void **tree, size_t *count, const char *path, size_t bytes)
{
	char *text = strndup(path, bytes);
	void *found = text ? tsearch(text, tree, compare_text) : NULL;

	if (!found) {
		free(text);
		return -ENOMEM;
	}
	if (*(char **)found != text)
		free(text);
	else
		++*count;
	return 0;
}

static int note_directory(struct learned *learned, const char *path)
{
	const char *slash = strrchr(path, '/');

	return count_once(&learned->directories, &learned->directory_count, path,
			  slash > path ? (size_t)(slash - path) : 1);
}

/* A directory itself was opened or changed of which a place would allow too much. */
static int leave_out(struct learned *learned, const char *path)
{
	if (!learned->left_out && !(learned->left_out = strdup(path)))
		return -ENOMEM;
	return count_once(&learned->wide, &learned->wide_count, path, strlen(path));
}

static int note_access(struct learned *learned, enum learned_use use, const char *path)
{
	if (!path || path[0] != '/')
		return 0;
	const struct place place = place_of(learned, use, path);
	bool is_wide = place.kind != LEARNED_WORKSPACE && !place.prefix &&
		       learned_is_wide(learned, path, place.bytes);
	if (is_wide && use != LEARNED_LIST)
		return leave_out(learned, path);
	if (!is_wide && use == LEARNED_LIST)
		use = LEARNED_READ;
	char *glob = glob_of(&place, path);
	if (!glob)
		return -ENOMEM;
	struct learned_place *found = find_place(learned, use, glob);
	int error = found ? 0 : append_place(learned, use, &place, glob, path);
	if (found || error < 0)
		free(glob);
	if (error == 0) {
		found = found ? found : &learned->places[use][learned->counts[use] - 1];
		found->accesses++;
		learned->accesses++;
		error = note_directory(learned, path);
	}
	return error;
}

/* What every program touches, by its loader and its libc, also where no record tells it. */
static int note_base(struct learned *learned)
{
	static const struct {
		enum learned_use use;
		const char *path;
	} BASE[] = {
		{ LEARNED_READ, "/usr" }, { LEARNED_READ, "/lib" },  { LEARNED_READ, "/lib64" },
		{ LEARNED_READ, "/etc" }, { LEARNED_READ, "/proc" }, { LEARNED_READ, "/dev" },
		{ LEARNED_READ, "/sys" }, { LEARNED_WRITE, "/dev" }, { LEARNED_WRITE, "/proc" },
		{ LEARNED_EXEC, "/usr" }, { LEARNED_EXEC, "/bin" },  { LEARNED_EXEC, "/sbin" },
	};
	int error = 0;

	for (size_t i = 0; i < sizeof(BASE) / sizeof(BASE[0]) && error == 0; i++) {
		const struct place place = place_of(learned, BASE[i].use, BASE[i].path);
		char *glob = glob_of(&place, BASE[i].path);
		if (glob && find_place(learned, BASE[i].use, glob)) {
			free(glob);
			continue;
		}
		error = glob ? append_place(learned, BASE[i].use, &place, glob, BASE[i].path)
			     : -ENOMEM;
		if (error < 0)
			free(glob);
	}
	return error;
}

/* What was written to a cache may be read there: whether it is depends on what an earlier run left. */
static int note_caches(struct learned *learned)
{
	int error = 0;

	for (size_t i = 0; i < learned->counts[LEARNED_WRITE] && error == 0; i++) {
		const struct learned_place *written = &learned->places[LEARNED_WRITE][i];
		if (written->kind != LEARNED_CACHE || !written->path ||
		    find_place(learned, LEARNED_READ, written->glob))
			continue;
		const struct place place = { .kind = LEARNED_CACHE,
					     .bytes = strlen(written->path) };
		char *glob = strdup(written->glob);
		error = glob ? append_place(learned, LEARNED_READ, &place, glob, written->path)
			     : -ENOMEM;
		if (error < 0)
			free(glob);
	}
	return error;
}

/* ---- events ---- */

static int note_open(struct learned *learned, const struct event *event)
{
	uint32_t ops = rule_ops_of_open((int)event->entry->record.flags);
	int error = 0;

	if (ops & (RULE_READ | RULE_LIST))
		error = note_access(learned, ops & RULE_LIST ? LEARNED_LIST : LEARNED_READ,
				    event->resolved);
	if (error == 0 && (ops & (RULE_WRITE | RULE_CREATE)))
		error = note_access(learned, LEARNED_WRITE, event->resolved);
	return error;
}

static int note_event(struct learned *learned, const struct event *event)
{
	int error = 0;

	if (event->op == JOURNAL_UNOBSERVED)
		learned->unobserved += event->entry->record.count ? event->entry->record.count : 1;
	if (event->error || !event->entry)
		return 0;
	switch (event->op) {
	case JOURNAL_OPEN:
		return note_open(learned, event);
	case JOURNAL_LIST:
		return note_access(learned, LEARNED_LIST, event->resolved);
	case JOURNAL_START:
		return note_access(learned, LEARNED_EXEC, event->executable);
	case JOURNAL_EXEC:
		return event->path && strchr(event->path, '/')
			       ? note_access(learned, LEARNED_EXEC, event->resolved)
			       : 0;
	case JOURNAL_RENAME:
	case JOURNAL_LINK:
		error = note_access(learned, LEARNED_WRITE, event->other_resolved);
		return error == 0 ? note_access(learned, LEARNED_WRITE, event->resolved) : error;
	case JOURNAL_CREATE:
	case JOURNAL_DELETE:
	case JOURNAL_SYMLINK:
	case JOURNAL_TRUNCATE:
	case JOURNAL_METADATA:
		return note_access(learned, LEARNED_WRITE, event->resolved);
	default:
		return 0;
	}
}

int learned_read(struct learned *learned, const char *journal)
{
	struct events *events = NULL;
	struct event event;
	int error = events_open(journal, false, &events);
	const char *workspace = error == 0 ? events_workspace(events) : NULL;

	if (error == 0 && workspace && learned->workspace &&
	    strcmp(workspace, learned->workspace) != 0)
		error = -EXDEV;
	if (error == 0 && workspace && !learned->workspace &&
	    !(learned->workspace = strdup(workspace)))
		error = -ENOMEM;
	for (enum events_found found = EVENTS_UNDONE; error == 0 && found != EVENTS_END;) {
		found = events_next(events, &event);
		if (found == EVENTS_UNDONE)
			events_pass(events);
		else if (found == EVENTS_EVENT)
			error = note_event(learned, &event);
	}
	if (error == 0)
		error = events_error(events);
	if (error == 0) {
		const struct events_counts counts = events_counts(events);
		learned->missing += counts.undone + counts.damaged + counts.lost;
	}
	events_close(events);
	learned->sessions += error == 0;
	if (error == 0)
		error = note_caches(learned);
	return error == 0 ? note_base(learned) : error;
}

static int compare_places(const void *left, const void *right)
{
	const struct learned_place *one = left, *other = right;

	if (one->kind != other->kind)
		return one->kind < other->kind ? -1 : 1;
	if (one->accesses != other->accesses)
		return one->accesses < other->accesses ? -1 : 1;
	return strcmp(one->glob, other->glob);
}

void learned_sort(struct learned *learned)
{
	for (size_t use = 0; use < LEARNED_USES; use++)
		if (learned->counts[use])
			qsort(learned->places[use], learned->counts[use],
			      sizeof(*learned->places[use]), compare_places);
}
