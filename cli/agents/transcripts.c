/* Transcripts: see transcripts.h. */
#include "cli/agents/transcripts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cli/agents/compactions.h"
#include "cli/agents/hooks.h"
#include "cli/agents/transcript_store.h"
#include "cli/session/invalidation.h"
#include "config/value.h"
#include "tracker/process/scope.h"
#include "tracker/segment/slot.h"
#include "tracker/segment/tables.h"
#include "tracker/sys/sys.h"

enum {
	DIRECTORIES_MAX = 8192, /* watched at most, of all patterns */
	LIST_MS = 1000,         /* what cannot be watched is listed so often */
	TAIL_BYTES = 64,        /* before what was read: tells whether it is still what it was */
	LINE_BYTES_MAX = 64 << 20,
	HEAD_LINES = 2, /* of a transcript, before anything can have been given */
	/*
	 * What a database was written is told of before it counts there: by the shared memory of
	 * its writers, of which nothing tells.  So it is read again after the first time, each time
	 * that much later than the last, until the last.
	 */
	AGAIN_FIRST_MS = 5,
	AGAIN_TIMES = 4,
	AGAIN_LAST_MS = 500,
	RESTS = 3, /* times as long as the last reading took: a long conversation's takes a quarter of a processor at most */
};

static const uint64_t MILLISECOND_NS = 1000000;

/* Where transcripts are, and what counts in them. */
struct rule {
	const char *markers; /* of the config; empty: none */
	uint64_t profiles;   /* bits: whose; of the session's profiles */
	char *pattern;       /* absolute */
	char *root;          /* the directory before the first component with a wildcard */
	const char *rest;    /* the pattern behind it */
	bool begun;          /* the root is among the directories */
	bool late;           /* it was not there at first: all that is in it is new */
};

/* A directory that something is looked for in: `rest` says what. */
struct directory {
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
	uint64_t offset;   /* what is before it was read; the beginning of a line */
	uint64_t tail;     /* hash of the last bytes before it */
	bool skips;        /* what is before it is the beginning of a line that is too long */
	bool touched;      /* to be inspected */
	bool heard;        /* something was read of it in this run */
	unsigned again_ms; /* a database: it is read again so much later; 0: it is not */
	uint64_t again_ns;
	uint64_t rests_ns; /* it is not read before that */
	unsigned lines;    /* read in all, HEAD_LINES at most; that, where it was there before */
	struct findings *findings;      /* what it tells; NULL: nothing yet */
	struct transcript_store *store; /* it is a database; NULL: it is not, or was not read yet */
	uint64_t said_ns;               /* the time that a line named last */
	uint64_t old_bytes;    /* what it had when it was found, where it was there before */
	uint64_t *compactions; /* hashes of the lines that counted */
	size_t compaction_count;
};

struct transcripts {
	const struct session *session;
	const struct segment *segment;
	struct journal *journal;
	struct conversations *conversations;
	uint64_t since_ns; /* CLOCK_REALTIME: when the run began */
	struct rule *rules;
	size_t rule_count;
	struct directory *directories;
	size_t directory_count, directory_capacity;
	struct file *files;
	size_t file_count, file_capacity;
	int fd;     /* inotify; -1: there is none */
	bool lists; /* something is not watched */
	uint64_t list_ns;
};

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
static void each_scope(const struct transcripts *transcripts, uint64_t profiles,
		       void (*callback)(const struct scope_slot *scope, void *data), void *data)
{
	const struct segment *segment = transcripts->segment;
	struct scope_slot copy;

	for (uint64_t i = 0; i < segment->capacity[TABLE_SCOPES]; i++)
		if (slot_read(segment_slot(segment, TABLE_SCOPES, i), &copy, SCOPE_CHECKED_BYTES) &&
		    copy.id && copy.profile && copy.profile <= SETTINGS_PROFILES_MAX &&
		    (profiles >> (copy.profile - 1) & 1))
			callback(&copy, data);
}

struct compaction {
	const struct transcripts *transcripts;
	const char *path;
	bool only_writers, found_writer;
	char cause[PATH_MAX + 32];
};

static void find_writer(const struct scope_slot *scope, void *data)
{
	struct compaction *compaction = data;
	compaction->found_writer = compaction->found_writer ||
				   has_open_to_write(scope->anchor_pid, compaction->path);
}

static void forget(const struct scope_slot *scope, void *data)
{
	const struct compaction *compaction = data;
	const struct transcripts *transcripts = compaction->transcripts;

	if (compaction->only_writers && !has_open_to_write(scope->anchor_pid, compaction->path))
		return;
	if (scope_new_epoch(transcripts->segment, scope->id) == 0)
		invalidation_record(transcripts->journal, scope->id, NULL, compaction->cause);
}

/* The conversation that a transcript records is not what it was: that of the agents that hold the
 * file open for writing, where there are such, else of all that it may be. */
static void compacted(const struct transcripts *transcripts, const struct file *file)
{
	struct compaction compaction = { .transcripts = transcripts, .path = file->path };

	(void)snprintf(compaction.cause, sizeof(compaction.cause), "compaction in %s", file->path);
	each_scope(transcripts, file->rule->profiles, find_writer, &compaction);
	compaction.only_writers = compaction.found_writer;
	each_scope(transcripts, file->rule->profiles, forget, &compaction);
}

/* ---- what is new in a transcript ---- */

static bool is_counted(const struct file *file, uint64_t hash)
{
	for (size_t i = 0; i < file->compaction_count; i++)
		if (file->compactions[i] == hash)
			return true;
	return false;
}

/* Does the agent's first conversation in this run begin with the line at which the file is?  Gemini
 * CLI writes what it tells the model at first as it writes a history that was cut.  In a second
 * transcript the same may be a conversation that was cleared. */
static bool is_beginning(const struct transcripts *transcripts, const struct file *file)
{
	for (size_t i = 0; i < transcripts->file_count; i++) {
		const struct file *other = &transcripts->files[i];
		if (other != file && (other->rule->profiles & file->rule->profiles) &&
		    (other->heard || other->touched))
			return false;
	}
	return file->lines < HEAD_LINES;
}

/* A line, or the beginning of one, that may report a compaction.  A transcript that is written anew
 * holds lines that counted already. */
static void read_marker(const struct transcripts *transcripts, struct file *file, const char *line,
			size_t length)
{
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
	if (!is_beginning(transcripts, file) ||
	    compactions_line_matches(line, length, file->rule->markers, true))
		compacted(transcripts, file);
}

/* A whole line that may be an entry of a conversation. */
static void read_entry(const struct transcripts *transcripts, struct file *file, const char *line,
		       size_t length)
{
	struct entry entry;

	entry_parse(line, length, &entry);
	if (entry.time_ns)
		file->said_ns = entry.time_ns;
	if (entry.is_known && !file->findings)
		file->findings = conversations_findings(transcripts->conversations,
							file->rule->profiles);
	if (entry.is_known && file->findings) {
		bool is_old = file->said_ns && file->said_ns < transcripts->since_ns;
		conversations_add(file->findings, &entry, is_old);
		if (entry.cleared && !is_old)
			compacted(transcripts, file);
	}
	entry_done(&entry);
}

/* A line at an offset, or the beginning of one. */
static void read_line(const struct transcripts *transcripts, struct file *file, const char *line,
		      size_t length, uint64_t offset, bool is_whole)
{
	while (length && strchr(" \t\r", line[length - 1]))
		length--;
	if (is_whole && length)
		read_entry(transcripts, file, line, length);
	if (offset >= file->old_bytes || (file->said_ns && file->said_ns >= transcripts->since_ns))
		read_marker(transcripts, file, line, length);
}

/* The lines that are whole, and the rest where it is one without its newline.  Returns bytes that
 * are done with. */
static size_t read_lines(const struct transcripts *transcripts, struct file *file,
			 const char *bytes, size_t count)
{
	size_t at = 0;

	for (const char *newline; (newline = memchr(bytes + at, '\n', count - at));) {
		size_t length = (size_t)(newline - bytes) - at;
		if (file->skips)
			file->skips = false;
		else
			read_line(transcripts, file, bytes + at, length, file->offset + at, true);
		file->lines += file->lines < HEAD_LINES;
		at += length + 1;
	}
	if (!file->skips && at < count)
		read_line(transcripts, file, bytes + at, count - at, file->offset + at, false);
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

static void read_new(struct transcripts *transcripts, struct file *file, int fd, uint64_t size)
{
	while (file->offset < size) {
		size_t count = size - file->offset < LINE_BYTES_MAX ? size - file->offset
								    : LINE_BYTES_MAX;
		char *bytes = malloc(count);
		if (!bytes)
			return;
		ssize_t got = pread(fd, bytes, count, (off_t)file->offset);
		size_t done = got > 0 ? read_lines(transcripts, file, bytes, (size_t)got) : 0;
		if (!done && got == LINE_BYTES_MAX) {
			/* Whatever so long a line says, it may be that. */
			if (!file->skips)
				compacted(transcripts, file);
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

static bool is_store(const char *path)
{
	static const char ENDING[] = ".db";
	size_t length = strlen(path), ending = sizeof(ENDING) - 1;

	return length > ending && strcmp(path + length - ending, ENDING) == 0;
}

static void inspect_store(struct transcripts *transcripts, struct file *file)
{
	uint64_t begin_ns = sys_boottime_ns();

	if (begin_ns < file->rests_ns) {
		file->again_ms = AGAIN_FIRST_MS;
		file->again_ns = file->rests_ns;
		return;
	}
	if (!file->store)
		file->store = transcript_store_new(transcripts->conversations, file->rule->profiles,
						   transcripts->since_ns);
	file->heard = true;
	if (file->store)
		transcript_store_read(file->store, file->path);
	uint64_t end_ns = sys_boottime_ns();
	file->rests_ns = end_ns + RESTS * (end_ns - begin_ns);
	file->again_ms = file->again_ms ? AGAIN_TIMES * file->again_ms : AGAIN_FIRST_MS;
	if (file->again_ms > AGAIN_LAST_MS)
		file->again_ms = 0;
	file->again_ns = end_ns + file->again_ms * MILLISECOND_NS;
}

/* Touches the databases that are to be read again.  Returns in how many milliseconds the next one
 * is, or `most_ms`. */
static unsigned read_again(const struct transcripts *transcripts, unsigned most_ms)
{
	uint64_t now_ns = sys_boottime_ns();

	for (size_t i = 0; i < transcripts->file_count; i++) {
		struct file *file = &transcripts->files[i];
		if (!file->again_ms)
			continue;
		uint64_t left_ns = file->again_ns > now_ns ? file->again_ns - now_ns : 0;
		file->touched = file->touched || !left_ns;
		if (left_ns && left_ns / MILLISECOND_NS + 1 < most_ms)
			most_ms = (unsigned)(left_ns / MILLISECOND_NS) + 1;
	}
	return most_ms;
}

static void inspect(struct transcripts *transcripts, struct file *file)
{
	struct stat stat = { .st_size = 0 };
	int fd = open_file(file->path, &stat);

	file->touched = false;
	if (fd >= 0 && is_store(file->path)) {
		(void)close(fd);
		inspect_store(transcripts, file);
		return;
	}
	if (fd < 0)
		return;
	uint64_t size = (uint64_t)stat.st_size;
	/* Another file of that name, or written anew: from its beginning. */
	if (stat.st_dev != file->dev || stat.st_ino != file->ino || size < file->offset ||
	    tail_at(fd, file->offset) != file->tail) {
		file->dev = stat.st_dev;
		file->ino = stat.st_ino;
		file->offset = file->old_bytes = file->said_ns = 0;
		file->skips = false;
		conversations_again(file->findings);
	}
	read_new(transcripts, file, fd, size);
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

static char *join(const char *directory, const char *name)
{
	char *path;
	return asprintf(&path, "%s%s%s", directory, strcmp(directory, "/") == 0 ? "" : "/", name) <
			       0
		       ? NULL
		       : path;
}

/* Where the line begins that is half written at an offset; it is found where it is short. */
static uint64_t line_before(int fd, uint64_t offset)
{
	char bytes[4096];
	size_t count = offset < sizeof(bytes) ? offset : sizeof(bytes);
	ssize_t got = pread(fd, bytes, count, (off_t)(offset - count));
	const char *newline = got == (ssize_t)count ? memrchr(bytes, '\n', count) : NULL;

	if (newline)
		return offset - (uint64_t)(bytes + count - newline - 1);
	return count == offset ? 0 : offset;
}

/* A transcript by its path, which this takes over.  is_new: all of it is; else what comes from now
 * on. */
static void add_file(struct transcripts *transcripts, struct rule *rule, char *path, bool is_new)
{
	struct stat stat;
	uint64_t key = path ? XXH3_64bits(path, strlen(path)) : 0;

	for (size_t i = 0; path && i < transcripts->file_count; i++) {
		const struct file *file = &transcripts->files[i];
		if (file->key != key || file->rule != rule || strcmp(file->path, path) != 0)
			continue;
		transcripts->files[i].touched = true;
		transcripts->files[i].again_ms = 0;
		free(path);
		return;
	}
	if (!path || !grow((void **)&transcripts->files, transcripts->file_count,
			   &transcripts->file_capacity, sizeof(*transcripts->files))) {
		free(path);
		return;
	}
	struct file *file = &transcripts->files[transcripts->file_count++];
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
	/* What was written to in this run is read from its beginning: the run's part of it, and
	 * what that goes on from. */
	uint64_t written_ns = (uint64_t)stat.st_mtim.tv_sec * 1000000000 +
			      (uint64_t)stat.st_mtim.tv_nsec;
	if (written_ns >= transcripts->since_ns || is_store(file->path)) {
		file->touched = true;
		file->old_bytes = (uint64_t)stat.st_size;
		file->lines = 0;
	} else {
		file->offset = line_before(fd, (uint64_t)stat.st_size);
	}
	file->tail = tail_at(fd, file->offset);
	(void)close(fd);
}

static void add_directory(struct transcripts *transcripts, struct rule *rule, char *path,
			  const char *rest, bool is_new);

/* Something of a directory: does the pattern go on there? */
static void add_entry(struct transcripts *transcripts, struct rule *rule, const char *path,
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
	/* Links could lead round in circles where any depth is inspected. */
	bool there = fstatat(AT_FDCWD, whole, &stat, any_depth ? AT_SYMLINK_NOFOLLOW : 0) == 0;
	if (there && S_ISDIR(stat.st_mode) && any_depth)
		add_directory(transcripts, rule, whole, rest, is_new);
	else if (there && S_ISDIR(stat.st_mode) && rest[length] == '/')
		add_directory(transcripts, rule, whole, rest + length + 1, is_new);
	else if (there && S_ISREG(stat.st_mode) && !any_depth && !rest[length])
		add_file(transcripts, rule, whole, is_new);
	else
		free(whole);
}

static void list_directory(struct transcripts *transcripts, struct rule *rule, const char *path,
			   const char *rest, bool is_new)
{
	DIR *directory = opendir(path);

	for (struct dirent *entry; directory && (entry = readdir(directory));)
		add_entry(transcripts, rule, path, rest, entry->d_name, is_new);
	if (directory)
		(void)closedir(directory);
}

/* A directory by its path, which this takes over. */
static void add_directory(struct transcripts *transcripts, struct rule *rule, char *path,
			  const char *rest, bool is_new)
{
	static const char ANY_DEPTH[] = "**/";
	uint64_t key = XXH3_64bits_withSeed(path, strlen(path), XXH3_64bits(rest, strlen(rest)));

	for (size_t i = 0; i < transcripts->directory_count; i++) {
		const struct directory *directory = &transcripts->directories[i];
		if (directory->key == key && directory->rule == rule &&
		    strcmp(directory->path, path) == 0 && strcmp(directory->rest, rest) == 0) {
			free(path);
			return;
		}
	}
	if (transcripts->directory_count == DIRECTORIES_MAX ||
	    !grow((void **)&transcripts->directories, transcripts->directory_count,
		  &transcripts->directory_capacity, sizeof(*transcripts->directories))) {
		free(path);
		return;
	}
	/* Watched before it is listed: what comes in between is reported. */
	int wd = transcripts->fd < 0 ? -1
				     : inotify_add_watch(transcripts->fd, path,
							 IN_CREATE | IN_MODIFY | IN_MOVED_TO |
								 IN_ONLYDIR | IN_EXCL_UNLINK);
	transcripts->lists = transcripts->lists || wd < 0;
	transcripts->directories[transcripts->directory_count++] = (struct directory){
		.key = key, .rule = rule, .path = path, .rest = rest, .wd = wd
	};
	list_directory(transcripts, rule, path, rest, is_new);
	if (strncmp(rest, ANY_DEPTH, sizeof(ANY_DEPTH) - 1) == 0) {
		char *again = strdup(path);
		if (again)
			add_directory(transcripts, rule, again, rest + sizeof(ANY_DEPTH) - 1,
				      is_new);
	}
}

/* Lists every directory again, where events were lost or there are none. */
static void list_all(struct transcripts *transcripts)
{
	for (size_t i = 0; i < transcripts->directory_count; i++) {
		struct directory directory = transcripts->directories[i];
		list_directory(transcripts, directory.rule, directory.path, directory.rest, true);
	}
}

/* A directory went: one of that name may come. */
static void drop_watched(struct transcripts *transcripts, int wd)
{
	for (size_t i = transcripts->directory_count; i-- > 0;) {
		struct directory *directory = &transcripts->directories[i];
		if (directory->wd != wd)
			continue;
		if (directory->rest == directory->rule->rest)
			directory->rule->begun = false, directory->rule->late = true;
		free(directory->path);
		*directory = transcripts->directories[--transcripts->directory_count];
	}
}

static void handle_event(struct transcripts *transcripts, const struct inotify_event *event)
{
	if (event->mask & IN_Q_OVERFLOW) {
		list_all(transcripts);
	} else if (event->mask & IN_IGNORED) {
		drop_watched(transcripts, event->wd);
	} else if (event->len) {
		/* What a database has in write-ahead mode is written beside it first. */
		static const char AHEAD[] = "-wal";
		char name[NAME_MAX + 1];
		size_t length = strnlen(event->name, NAME_MAX), ahead = sizeof(AHEAD) - 1;
		memcpy(name, event->name, length);
		name[length] = '\0';
		if (length > ahead && strcmp(name + length - ahead, AHEAD) == 0)
			name[length - ahead] = '\0';
		/* More may be added meanwhile. */
		for (size_t i = 0; i < transcripts->directory_count; i++) {
			struct directory directory = transcripts->directories[i];
			if (directory.wd == event->wd)
				add_entry(transcripts, directory.rule, directory.path,
					  directory.rest, name, true);
		}
	}
}

static void read_events(struct transcripts *transcripts)
{
	_Alignas(struct inotify_event) char events[16384];
	ssize_t got;

	while (transcripts->fd >= 0 && (got = read(transcripts->fd, events, sizeof(events))) > 0)
		for (ssize_t at = 0; at < got;) {
			const struct inotify_event *event = (const void *)(events + at);
			handle_event(transcripts, event);
			at += (ssize_t)(sizeof(*event) + event->len);
		}
}

/* ---- rules ---- */

/* A pattern of a profile.  False: out of memory. */
static bool add_rule(struct transcripts *transcripts, size_t *capacity, const char *pattern,
		     const char *markers, uint64_t profile)
{
	char absolute[PATH_MAX];

	if (hooks_expand(pattern, absolute, sizeof(absolute)) < 0 || absolute[0] != '/')
		return true; /* its variable is not set */
	for (size_t i = 0; i < transcripts->rule_count; i++) {
		struct rule *rule = &transcripts->rules[i];
		if (strcmp(rule->pattern, absolute) == 0 && strcmp(rule->markers, markers) == 0) {
			rule->profiles |= profile;
			return true;
		}
	}
	if (!grow((void **)&transcripts->rules, transcripts->rule_count, capacity,
		  sizeof(*transcripts->rules)))
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
	transcripts->rules[transcripts->rule_count++] = rule;
	return true;
}

/* The patterns of the session's profiles. */
static bool add_rules(struct transcripts *transcripts, const struct config *config)
{
	const struct settings *settings = transcripts->segment->settings;
	size_t capacity = 0;

	for (size_t i = 0; i < settings->profile_count && i < SETTINGS_PROFILES_MAX; i++) {
		const char *name = segment_text(transcripts->segment, settings->profiles[i].name,
						NULL);
		const struct config_profile *profile = name ? config_profile_find(config, name)
							    : NULL;
		if (!profile)
			continue;
		const char *markers = profile->values[PROFILE_OPTION_COMPACTION].text;
		char *words = strdup(profile->values[PROFILE_OPTION_TRANSCRIPT].text), *rest = NULL;
		bool fits = words;
		for (char *word = words ? strtok_r(words, " \t\n", &rest) : NULL; word && fits;
		     word = strtok_r(NULL, " \t\n", &rest))
			fits = add_rule(transcripts, &capacity, word, markers, UINT64_C(1) << i);
		free(words);
		if (!fits)
			return false;
	}
	return true;
}

/* ---- for callers ---- */

/* The clock of files' times, which goes on by ticks. */
static uint64_t file_clock_ns(void)
{
	struct timespec now = { .tv_sec = 0 };

	(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct transcripts *transcripts_start(const struct config *config, const struct session *session,
				      struct journal *journal)
{
	struct transcripts *transcripts = calloc(1, sizeof(*transcripts));

	if (!transcripts)
		return NULL;
	*transcripts = (struct transcripts){
		.session = session,
		.segment = &session->segment,
		.journal = journal,
		.conversations = conversations_new(&session->segment),
		.since_ns = file_clock_ns(),
		.fd = -1,
	};
	if (!transcripts->conversations || !add_rules(transcripts, config)) {
		transcripts_finish(transcripts);
		return NULL;
	}
	return transcripts;
}

static void note_profile(const struct scope_slot *scope, void *data)
{
	uint64_t *profiles = data;
	*profiles |= UINT64_C(1) << (scope->profile - 1);
}

/* Begins to look for transcripts of agents that have a scope by now. */
static void start_rules(struct transcripts *transcripts)
{
	uint64_t present = 0;

	each_scope(transcripts, UINT64_MAX, note_profile, &present);
	for (size_t i = 0; i < transcripts->rule_count; i++) {
		struct rule *rule = &transcripts->rules[i];
		struct stat stat;
		if (rule->begun || !(rule->profiles & present))
			continue;
		if (fstatat(AT_FDCWD, rule->root, &stat, 0) < 0 || !S_ISDIR(stat.st_mode)) {
			rule->late = true;
			continue;
		}
		char *root = strdup(rule->root);
		if (!root)
			continue;
		if (transcripts->fd < 0)
			transcripts->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
		rule->begun = true;
		add_directory(transcripts, rule, root, rule->rest, rule->late);
	}
}

/* The touched file that was written to first, so that what was written last is read last; NULL:
 * none is touched. */
static struct file *next_touched(const struct transcripts *transcripts)
{
	struct file *next = NULL;
	struct timespec least = { .tv_sec = 0 };

	for (size_t i = 0; i < transcripts->file_count; i++) {
		struct file *file = &transcripts->files[i];
		struct stat stat = { .st_size = 0 };
		if (!file->touched)
			continue;
		(void)fstatat(AT_FDCWD, file->path, &stat, 0);
		if (!next || stat.st_mtim.tv_sec < least.tv_sec ||
		    (stat.st_mtim.tv_sec == least.tv_sec && stat.st_mtim.tv_nsec < least.tv_nsec)) {
			next = file;
			least = stat.st_mtim;
		}
	}
	return next;
}

unsigned transcripts_tick(struct transcripts *transcripts)
{
	if (!transcripts)
		return LIST_MS;
	/* Scopes first: what is read may be theirs. */
	unsigned due_ms = conversations_tick(transcripts->conversations);
	start_rules(transcripts);
	read_events(transcripts);
	if (transcripts->lists && sys_boottime_ns() >= transcripts->list_ns) {
		list_all(transcripts);
		transcripts->list_ns = sys_boottime_ns() + LIST_MS * MILLISECOND_NS;
	}
	due_ms = read_again(transcripts, due_ms);
	struct file *file = next_touched(transcripts);
	if (!file)
		return due_ms;
	for (; file; file = next_touched(transcripts))
		inspect(transcripts, file);
	return read_again(transcripts, conversations_tick(transcripts->conversations));
}

int transcripts_descriptor(const struct transcripts *transcripts)
{
	return transcripts ? transcripts->fd : -1;
}

const char *transcripts_text(const struct transcripts *transcripts, char *ret_text)
{
	return conversations_text(transcripts ? transcripts->conversations : NULL, ret_text);
}

void transcripts_finish(struct transcripts *transcripts)
{
	if (!transcripts)
		return;
	for (size_t i = 0; i < transcripts->rule_count; i++) {
		free(transcripts->rules[i].pattern);
		free(transcripts->rules[i].root);
	}
	for (size_t i = 0; i < transcripts->directory_count; i++)
		free(transcripts->directories[i].path);
	for (size_t i = 0; i < transcripts->file_count; i++) {
		free(transcripts->files[i].path);
		free(transcripts->files[i].compactions);
		transcript_store_free(transcripts->files[i].store);
	}
	conversations_free(transcripts->conversations);
	free(transcripts->rules);
	free(transcripts->directories);
	free(transcripts->files);
	if (transcripts->fd >= 0)
		(void)close(transcripts->fd);
	free(transcripts);
}
