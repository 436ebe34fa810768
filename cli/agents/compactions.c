/* Transcripts: see compactions.h. */
#include "cli/agents/compactions.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cli/agents/hooks.h"
#include "cli/session/forgotten.h"
#include "config/value.h"
#include "tracker/process/scope.h"
#include "tracker/segment/slot.h"
#include "tracker/segment/tables.h"
#include "tracker/sys/sys.h"

enum {
	FOLDERS_MAX = 8192, /* watched at most, of all patterns */
	LIST_MS = 1000,     /* what cannot be watched is listed so often */
	TAIL_BYTES = 64,    /* before what was read: tells whether it is still what it was */
	LINE_BYTES_MAX = 64 << 20,
	HEAD_LINES = 2, /* of a transcript, before anything can have been given */
};

static const uint64_t MILLISECOND_NS = 1000000;

/* Where transcripts are, and what counts in them. */
struct rule {
	const char *markers; /* of the config */
	uint64_t profiles;   /* bits: whose; of the session's profiles */
	char *pattern;       /* absolute */
	char *root;          /* the folder before the first component with a wildcard */
	const char *rest;    /* the pattern behind it */
	bool begun;          /* the root is among the folders */
	bool late;           /* it was not there at first: all that is in it is new */
	uint64_t retry_ns;
};

/* A folder that something is looked for in: `rest` says what. */
struct folder {
	uint64_t key; /* of path and rest */
	struct rule *rule;
	char *path;
	const char *rest; /* in the rule's pattern */
	int wd;           /* -1: not watched */
};

struct file {
	uint64_t key; /* of its path */
	struct rule *rule;
	char *path;
	uint64_t dev, ino;
	uint64_t offset; /* what is before it was read; the beginning of a line */
	uint64_t tail;   /* hash of the last bytes before it */
	bool skips;      /* what is before it is the beginning of a line that is too long */
	bool touched;    /* to be looked at */
	bool heard;      /* something was read of it in this run */
	unsigned lines;  /* read in all, HEAD_LINES at most; that, where it was there before */
	uint64_t *compactions; /* hashes of the lines that counted */
	size_t compaction_count;
};

struct compactions {
	const struct session *session;
	const struct segment *segment;
	struct journal *journal;
	struct rule *rules;
	size_t rule_count;
	struct folder *folders;
	size_t folder_count, folder_capacity;
	struct file *files;
	size_t file_count, file_capacity;
	int fd;     /* inotify; -1: there is none */
	bool lists; /* something is not watched */
	uint64_t list_ns;
};

/* ---- what a line says ---- */

/* The value at `member.member`; NULL: there is none. */
static const json_t *value_at(const json_t *object, const char *path, size_t length)
{
	char name[128];

	while (object && length) {
		size_t part = 0;
		while (part < length && path[part] != '.')
			part++;
		if (part >= sizeof(name))
			return NULL;
		(void)snprintf(name, sizeof(name), "%.*s", (int)part, path);
		object = json_object_get(object, name);
		path += part + (part < length);
		length -= part + (part < length);
	}
	return json_is_null(object) ? NULL : object;
}

/* One condition of a marker. */
static bool condition_holds(const json_t *object, const char *text, size_t length)
{
	const char *equals = memchr(text, '=', length);
	size_t path = equals ? (size_t)(equals - text) : length;
	const json_t *value = value_at(object, text, path);

	if (!path)
		return false;
	if (!equals)
		return value != NULL;
	size_t wanted = length - path - 1;
	return json_is_string(value) && json_string_length(value) == wanted &&
	       memcmp(json_string_value(value), equals + 1, wanted) == 0;
}

/* Does the line hold what the condition's last name, or its text, is at all?  Most lines do not, and need not be parsed. */
static bool is_possible(const char *line, size_t line_length, const char *text, size_t length)
{
	const char *equals = memchr(text, '=', length), *wanted = equals ? equals + 1 : text;
	size_t wanted_length = length - (size_t)(wanted - text);

	for (size_t i = 0; !equals && i < length; i++)
		if (text[i] == '.') {
			wanted = text + i + 1;
			wanted_length = length - i - 1;
		}
	return memmem(line, line_length, wanted, wanted_length) != NULL;
}

/* Calls back for each condition of a marker while they hold. */
static bool all_hold(const char *marker, size_t length, const char *line, size_t line_length,
		     const json_t *object)
{
	size_t at = 0;

	while (at < length) {
		size_t part = 0;
		while (at + part < length && marker[at + part] != ',')
			part++;
		if (!(object ? condition_holds(object, marker + at, part)
			     : is_possible(line, line_length, marker + at, part)))
			return false;
		at += part + 1;
	}
	return length > 0;
}

/* Does one of the markers hold: of the line's text, or of what it says?  begins: without those that begin a conversation, too. */
static bool any_holds(const char *markers, const char *line, size_t length, bool begins,
		      const json_t *object)
{
	static const char SPACE[] = " \t\n";

	for (markers += strspn(markers, SPACE); *markers; markers += strspn(markers, SPACE)) {
		size_t word = strcspn(markers, SPACE), plus = *markers == '+';
		if (!(begins && plus) &&
		    all_hold(markers + plus, word - plus, line, length, object))
			return true;
		markers += word;
	}
	return false;
}

bool compactions_line_matches(const char *line, size_t length, const char *markers, bool begins)
{
	if (!any_holds(markers, line, length, begins, NULL))
		return false;
	json_t *object = json_loadb(line, length, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
	bool matches = json_is_object(object) && any_holds(markers, line, length, begins, object);
	json_decref(object);
	return matches;
}

/* ---- whose it is ---- */

static bool has_open_to_write(uint32_t pid, const char *path)
{
	char name[64], target[PATH_MAX], text[256];
	bool found = false;

	(void)snprintf(name, sizeof(name), "/proc/%u/fd", pid);
	DIR *directory = opendir(name);
	for (struct dirent *entry; directory && !found && (entry = readdir(directory));) {
		ssize_t length = readlinkat(dirfd(directory), entry->d_name, target,
					    sizeof(target) - 1);
		if (length <= 0)
			continue;
		target[length] = '\0';
		if (strcmp(target, path) != 0)
			continue;
		(void)snprintf(name, sizeof(name), "/proc/%u/fdinfo/%.16s", pid, entry->d_name);
		const char *flags = sys_read_file(name, text, sizeof(text)) > 0
					    ? strstr(text, "flags:")
					    : NULL;
		found = flags &&
			(strtoul(flags + sizeof("flags:") - 1, NULL, 8) & O_ACCMODE) != O_RDONLY;
	}
	if (directory)
		(void)closedir(directory);
	return found;
}

/* Calls back for each scope of the profiles of a rule. */
static void each_scope(const struct compactions *compactions, uint64_t profiles,
		       void (*callback)(const struct scope_slot *scope, void *data), void *data)
{
	const struct segment *segment = compactions->segment;
	struct scope_slot copy;

	for (uint64_t i = 0; i < segment->capacity[TABLE_SCOPES]; i++)
		if (slot_read(segment_slot(segment, TABLE_SCOPES, i), &copy, SCOPE_CHECKED_BYTES) &&
		    copy.id && copy.profile && copy.profile <= SETTINGS_PROFILES_MAX &&
		    (profiles >> (copy.profile - 1) & 1))
			callback(&copy, data);
}

struct compaction {
	const struct compactions *compactions;
	const char *path;
	bool only_writers, found_writer;
	char cause[PATH_MAX + 32];
};

static void look_for_writer(const struct scope_slot *scope, void *data)
{
	struct compaction *compaction = data;
	compaction->found_writer = compaction->found_writer ||
				   has_open_to_write(scope->anchor_pid, compaction->path);
}

static void forget(const struct scope_slot *scope, void *data)
{
	const struct compaction *compaction = data;
	const struct compactions *compactions = compaction->compactions;

	if (compaction->only_writers && !has_open_to_write(scope->anchor_pid, compaction->path))
		return;
	if (scope_new_epoch(compactions->segment, scope->id) == 0)
		forgotten_record(compactions->journal, scope->id, NULL, compaction->cause);
}

/* The conversation that a transcript tells of is not what it was: that of the agents that hold the file open for writing, where there
 * are such, else of all that it may be. */
static void compacted(const struct compactions *compactions, const struct file *file)
{
	struct compaction compaction = { .compactions = compactions, .path = file->path };

	(void)snprintf(compaction.cause, sizeof(compaction.cause), "compaction in %s", file->path);
	each_scope(compactions, file->rule->profiles, look_for_writer, &compaction);
	compaction.only_writers = compaction.found_writer;
	each_scope(compactions, file->rule->profiles, forget, &compaction);
}

/* ---- what is new in a transcript ---- */

static bool is_counted(const struct file *file, uint64_t hash)
{
	for (size_t i = 0; i < file->compaction_count; i++)
		if (file->compactions[i] == hash)
			return true;
	return false;
}

/* Does the agent's first conversation in this run begin with the line at which the file is?  Gemini CLI writes what it tells the model at
 * first as it writes a history that was cut.  In a second transcript the same may be a conversation that was cleared. */
static bool is_beginning(const struct compactions *compactions, const struct file *file)
{
	for (size_t i = 0; i < compactions->file_count; i++) {
		const struct file *other = &compactions->files[i];
		if (other != file && (other->rule->profiles & file->rule->profiles) &&
		    (other->heard || other->touched))
			return false;
	}
	return file->lines < HEAD_LINES;
}

/* A line, or the beginning of one.  A transcript that is written anew holds lines that counted already. */
static void take_line(const struct compactions *compactions, struct file *file, const char *line,
		      size_t length)
{
	while (length && strchr(" \t\r", line[length - 1]))
		length--;
	if (!compactions_line_matches(line, length, file->rule->markers, false))
		return;
	uint64_t hash = XXH3_64bits(line, length);
	if (is_counted(file, hash))
		return;
	uint64_t *grown = realloc(file->compactions,
				  (file->compaction_count + 1) * sizeof(*file->compactions));
	if (grown) {
		file->compactions = grown;
		file->compactions[file->compaction_count++] = hash;
	}
	if (!is_beginning(compactions, file) ||
	    compactions_line_matches(line, length, file->rule->markers, true))
		compacted(compactions, file);
}

/* The lines that are whole, and the rest where it is one without its newline.  Returns bytes that are done with. */
static size_t take_lines(const struct compactions *compactions, struct file *file,
			 const char *bytes, size_t count)
{
	size_t at = 0;

	for (const char *newline; (newline = memchr(bytes + at, '\n', count - at));) {
		size_t length = (size_t)(newline - bytes) - at;
		if (file->skips)
			file->skips = false;
		else
			take_line(compactions, file, bytes + at, length);
		file->lines += file->lines < HEAD_LINES;
		at += length + 1;
	}
	if (!file->skips && at < count)
		take_line(compactions, file, bytes + at, count - at);
	return at;
}

/* Hash of the bytes before an offset. */
static uint64_t tail_at(int fd, uint64_t offset)
{
	char bytes[TAIL_BYTES];
	size_t count = offset < TAIL_BYTES ? offset : TAIL_BYTES;
	ssize_t got = pread(fd, bytes, count, (off_t)(offset - count));

	return XXH3_64bits(bytes, got > 0 ? (size_t)got : 0);
}

static void read_new(struct compactions *compactions, struct file *file, int fd, uint64_t size)
{
	while (file->offset < size) {
		size_t count = size - file->offset < LINE_BYTES_MAX ? size - file->offset
								    : LINE_BYTES_MAX;
		char *bytes = malloc(count);
		if (!bytes)
			return;
		ssize_t got = pread(fd, bytes, count, (off_t)file->offset);
		size_t done = got > 0 ? take_lines(compactions, file, bytes, (size_t)got) : 0;
		if (!done && got == LINE_BYTES_MAX) {
			/* Whatever so long a line says, it may be that. */
			if (!file->skips)
				compacted(compactions, file);
			file->skips = true;
			done = (size_t)got;
		}
		free(bytes);
		file->offset += done;
		if (!done)
			break;
	}
}

/* Opens a transcript.  Returns a descriptor, or a negative errno. */
static int open_file(const char *path, struct stat *ret_stat)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -errno;
	if (fstat(fd, ret_stat) == 0 && S_ISREG(ret_stat->st_mode))
		return fd;
	(void)close(fd);
	return -EINVAL;
}

static void look_at(struct compactions *compactions, struct file *file)
{
	struct stat stat = { .st_size = 0 };
	int fd = open_file(file->path, &stat);

	file->touched = false;
	if (fd < 0)
		return;
	uint64_t size = (uint64_t)stat.st_size;
	/* Another file of that name, or written anew: from its beginning. */
	if (stat.st_dev != file->dev || stat.st_ino != file->ino || size < file->offset ||
	    tail_at(fd, file->offset) != file->tail) {
		file->dev = stat.st_dev;
		file->ino = stat.st_ino;
		file->offset = 0;
		file->skips = false;
	}
	read_new(compactions, file, fd, size);
	file->heard = file->heard || size > 0;
	file->tail = tail_at(fd, file->offset);
	(void)close(fd);
}

/* ---- which transcripts there are ---- */

/* Room for one more; false: there is none. */
static bool grow(void **items, size_t count, size_t *capacity, size_t size)
{
	if (count < *capacity)
		return true;
	size_t larger = *capacity ? 2 * *capacity : 32;
	void *grown = realloc(*items, larger * size);
	if (!grown)
		return false;
	*items = grown;
	*capacity = larger;
	return true;
}

static char *join(const char *folder, const char *name)
{
	char *path;
	return asprintf(&path, "%s%s%s", folder, strcmp(folder, "/") == 0 ? "" : "/", name) < 0
		       ? NULL
		       : path;
}

/* A transcript by its path, which this takes over.  is_new: all of it is; else what comes from now on. */
static void add_file(struct compactions *compactions, struct rule *rule, char *path, bool is_new)
{
	struct stat stat;
	uint64_t key = path ? XXH3_64bits(path, strlen(path)) : 0;

	for (size_t i = 0; path && i < compactions->file_count; i++) {
		const struct file *file = &compactions->files[i];
		if (file->key != key || file->rule != rule || strcmp(file->path, path) != 0)
			continue;
		compactions->files[i].touched = true;
		free(path);
		return;
	}
	if (!path || !grow((void **)&compactions->files, compactions->file_count,
			   &compactions->file_capacity, sizeof(*compactions->files))) {
		free(path);
		return;
	}
	struct file *file = &compactions->files[compactions->file_count++];
	*file = (struct file){ .key = key,
			       .rule = rule,
			       .path = path,
			       .touched = is_new,
			       .lines = is_new ? 0 : HEAD_LINES };
	int fd = is_new ? -ENOENT : open_file(path, &stat);
	if (fd < 0)
		return;
	file->dev = stat.st_dev;
	file->ino = stat.st_ino;
	file->offset = (uint64_t)stat.st_size;
	/* A line that is half written is taken from its beginning; it is found where it is short. */
	char bytes[4096];
	size_t count = file->offset < sizeof(bytes) ? file->offset : sizeof(bytes);
	ssize_t got = pread(fd, bytes, count, (off_t)(file->offset - count));
	const char *newline = got == (ssize_t)count ? memrchr(bytes, '\n', count) : NULL;
	if (newline)
		file->offset -= (uint64_t)(bytes + count - newline - 1);
	else if (count == file->offset)
		file->offset = 0;
	file->tail = tail_at(fd, file->offset);
	(void)close(fd);
}

static void add_folder(struct compactions *compactions, struct rule *rule, char *path,
		       const char *rest, bool is_new);

/* Something of a folder: does the pattern go on there? */
static void add_entry(struct compactions *compactions, struct rule *rule, const char *path,
		      const char *rest, const char *name, bool is_new)
{
	char component[NAME_MAX + 1];
	size_t length = strcspn(rest, "/");
	struct stat stat;

	if (length >= sizeof(component) || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return;
	(void)snprintf(component, sizeof(component), "%.*s", (int)length, rest);
	bool any_depth = strcmp(component, "**") == 0;
	if (!any_depth && fnmatch(component, name, 0) != 0)
		return;
	char *whole = join(path, name);
	if (!whole)
		return;
	/* Links could lead round in circles where any depth is looked at. */
	bool there = fstatat(AT_FDCWD, whole, &stat, any_depth ? AT_SYMLINK_NOFOLLOW : 0) == 0;
	if (there && S_ISDIR(stat.st_mode) && any_depth)
		add_folder(compactions, rule, whole, rest, is_new);
	else if (there && S_ISDIR(stat.st_mode) && rest[length] == '/')
		add_folder(compactions, rule, whole, rest + length + 1, is_new);
	else if (there && S_ISREG(stat.st_mode) && !any_depth && !rest[length])
		add_file(compactions, rule, whole, is_new);
	else
		free(whole);
}

static void list_folder(struct compactions *compactions, struct rule *rule, const char *path,
			const char *rest, bool is_new)
{
	DIR *directory = opendir(path);

	for (struct dirent *entry; directory && (entry = readdir(directory));)
		add_entry(compactions, rule, path, rest, entry->d_name, is_new);
	if (directory)
		(void)closedir(directory);
}

/* A folder by its path, which this takes over. */
static void add_folder(struct compactions *compactions, struct rule *rule, char *path,
		       const char *rest, bool is_new)
{
	static const char ANY_DEPTH[] = "**/";
	uint64_t key = XXH3_64bits_withSeed(path, strlen(path), XXH3_64bits(rest, strlen(rest)));

	for (size_t i = 0; i < compactions->folder_count; i++) {
		const struct folder *folder = &compactions->folders[i];
		if (folder->key == key && folder->rule == rule && strcmp(folder->path, path) == 0 &&
		    strcmp(folder->rest, rest) == 0) {
			free(path);
			return;
		}
	}
	if (compactions->folder_count == FOLDERS_MAX ||
	    !grow((void **)&compactions->folders, compactions->folder_count,
		  &compactions->folder_capacity, sizeof(*compactions->folders))) {
		free(path);
		return;
	}
	/* Watched before it is listed: what comes in between is told of. */
	int wd = compactions->fd < 0 ? -1
				     : inotify_add_watch(compactions->fd, path,
							 IN_CREATE | IN_MODIFY | IN_MOVED_TO |
								 IN_ONLYDIR | IN_EXCL_UNLINK);
	compactions->lists = compactions->lists || wd < 0;
	compactions->folders[compactions->folder_count++] = (struct folder){
		.key = key, .rule = rule, .path = path, .rest = rest, .wd = wd
	};
	list_folder(compactions, rule, path, rest, is_new);
	if (strncmp(rest, ANY_DEPTH, sizeof(ANY_DEPTH) - 1) == 0) {
		char *again = strdup(path);
		if (again)
			add_folder(compactions, rule, again, rest + sizeof(ANY_DEPTH) - 1, is_new);
	}
}

/* Lists every folder again, where events were lost or there are none. */
static void list_all(struct compactions *compactions)
{
	for (size_t i = 0; i < compactions->folder_count; i++) {
		struct folder folder = compactions->folders[i];
		list_folder(compactions, folder.rule, folder.path, folder.rest, true);
	}
}

/* A folder went: one of that name may come. */
static void drop_watched(struct compactions *compactions, int wd)
{
	for (size_t i = compactions->folder_count; i-- > 0;) {
		struct folder *folder = &compactions->folders[i];
		if (folder->wd != wd)
			continue;
		if (folder->rest == folder->rule->rest)
			folder->rule->begun = false, folder->rule->late = true;
		free(folder->path);
		*folder = compactions->folders[--compactions->folder_count];
	}
}

static void take_event(struct compactions *compactions, const struct inotify_event *event)
{
	if (event->mask & IN_Q_OVERFLOW) {
		list_all(compactions);
	} else if (event->mask & IN_IGNORED) {
		drop_watched(compactions, event->wd);
	} else if (event->len) {
		/* More may be added meanwhile. */
		for (size_t i = 0; i < compactions->folder_count; i++) {
			struct folder folder = compactions->folders[i];
			if (folder.wd == event->wd)
				add_entry(compactions, folder.rule, folder.path, folder.rest,
					  event->name, true);
		}
	}
}

static void take_events(struct compactions *compactions)
{
	_Alignas(struct inotify_event) char events[16384];
	ssize_t got;

	while (compactions->fd >= 0 && (got = read(compactions->fd, events, sizeof(events))) > 0)
		for (ssize_t at = 0; at < got;) {
			const struct inotify_event *event = (const void *)(events + at);
			take_event(compactions, event);
			at += (ssize_t)(sizeof(*event) + event->len);
		}
}

/* ---- rules ---- */

/* A pattern of a profile.  False: out of memory. */
static bool add_rule(struct compactions *compactions, size_t *capacity, const char *pattern,
		     const char *markers, uint64_t profile)
{
	char absolute[PATH_MAX];

	if (hooks_expand(pattern, absolute, sizeof(absolute)) < 0 || absolute[0] != '/')
		return true; /* its variable is not set */
	for (size_t i = 0; i < compactions->rule_count; i++) {
		struct rule *rule = &compactions->rules[i];
		if (strcmp(rule->pattern, absolute) == 0 && strcmp(rule->markers, markers) == 0) {
			rule->profiles |= profile;
			return true;
		}
	}
	if (!grow((void **)&compactions->rules, compactions->rule_count, capacity,
		  sizeof(*compactions->rules)))
		return false;
	size_t root = strcspn(absolute, "*?[");
	if (!absolute[root])
		root = strlen(absolute);
	while (root > 1 && absolute[root - 1] != '/')
		root--;
	struct rule rule = { .markers = markers,
			     .profiles = profile,
			     .pattern = strdup(absolute),
			     .root = strndup(absolute, root > 1 ? root - 1 : 1) };
	if (!rule.pattern || !rule.root) {
		free(rule.pattern);
		free(rule.root);
		return false;
	}
	rule.rest = rule.pattern + root;
	compactions->rules[compactions->rule_count++] = rule;
	return true;
}

/* The patterns of the session's profiles. */
static bool add_rules(struct compactions *compactions, const struct config *config)
{
	const struct settings *settings = compactions->segment->settings;
	size_t capacity = 0;

	for (size_t i = 0; i < settings->profile_count && i < SETTINGS_PROFILES_MAX; i++) {
		const char *name = segment_text(compactions->segment, settings->profiles[i].name,
						NULL);
		const struct config_profile *profile = name ? config_profile_find(config, name)
							    : NULL;
		if (!profile)
			continue;
		const char *markers = profile->values[PROFILE_OPTION_COMPACTION].text;
		char *words = strdup(profile->values[PROFILE_OPTION_TRANSCRIPT].text), *rest = NULL;
		bool fits = words;
		for (char *word = words ? strtok_r(words, " \t\n", &rest) : NULL;
		     word && markers[0] && fits; word = strtok_r(NULL, " \t\n", &rest))
			fits = add_rule(compactions, &capacity, word, markers, UINT64_C(1) << i);
		free(words);
		if (!fits)
			return false;
	}
	return true;
}

/* ---- from outside ---- */

struct compactions *compactions_start(const struct config *config, const struct session *session,
				      struct journal *journal)
{
	struct compactions *compactions = calloc(1, sizeof(*compactions));

	if (!compactions)
		return NULL;
	*compactions = (struct compactions){
		.session = session, .segment = &session->segment, .journal = journal, .fd = -1
	};
	if (!add_rules(compactions, config) || !compactions->rule_count) {
		compactions_end(compactions);
		return NULL;
	}
	return compactions;
}

static void note_profile(const struct scope_slot *scope, void *data)
{
	uint64_t *profiles = data;
	*profiles |= UINT64_C(1) << (scope->profile - 1);
}

/* Begins to look for transcripts of agents that have a scope by now. */
static void begin_rules(struct compactions *compactions)
{
	uint64_t present = 0, now_ns = sys_boottime_ns();

	each_scope(compactions, UINT64_MAX, note_profile, &present);
	for (size_t i = 0; i < compactions->rule_count; i++) {
		struct rule *rule = &compactions->rules[i];
		struct stat stat;
		if (rule->begun || !(rule->profiles & present) || now_ns < rule->retry_ns)
			continue;
		if (fstatat(AT_FDCWD, rule->root, &stat, 0) < 0 || !S_ISDIR(stat.st_mode)) {
			rule->late = true;
			rule->retry_ns = now_ns + LIST_MS * MILLISECOND_NS;
			continue;
		}
		char *root = strdup(rule->root);
		if (!root)
			continue;
		if (compactions->fd < 0)
			compactions->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
		rule->begun = true;
		add_folder(compactions, rule, root, rule->rest, rule->late);
	}
}

void compactions_tick(struct compactions *compactions)
{
	if (!compactions)
		return;
	begin_rules(compactions);
	take_events(compactions);
	if (compactions->lists && sys_boottime_ns() >= compactions->list_ns) {
		list_all(compactions);
		compactions->list_ns = sys_boottime_ns() + LIST_MS * MILLISECOND_NS;
	}
	for (size_t i = 0; i < compactions->file_count; i++)
		if (compactions->files[i].touched)
			look_at(compactions, &compactions->files[i]);
}

void compactions_end(struct compactions *compactions)
{
	if (!compactions)
		return;
	for (size_t i = 0; i < compactions->rule_count; i++) {
		free(compactions->rules[i].pattern);
		free(compactions->rules[i].root);
	}
	for (size_t i = 0; i < compactions->folder_count; i++)
		free(compactions->folders[i].path);
	for (size_t i = 0; i < compactions->file_count; i++) {
		free(compactions->files[i].path);
		free(compactions->files[i].compactions);
	}
	free(compactions->rules);
	free(compactions->folders);
	free(compactions->files);
	if (compactions->fd >= 0)
		(void)close(compactions->fd);
	free(compactions);
}
