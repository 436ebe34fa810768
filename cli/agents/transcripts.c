/* Transcripts: see transcripts.h. */
#include "cli/agents/transcripts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
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

#include "cli/agents/hooks.h"
#include "cli/agents/transcript_file.h"
#include "cli/agents/transcript_store.h"
#include "config/value.h"
#include "tracker/sys/sys.h"

enum {
	DIRECTORIES_MAX = 8192, /* watched at most, of all patterns */
	LIST_MS = 1000,         /* what cannot be watched is listed so often */
};

static const uint64_t MILLISECOND_NS = 1000000;

/* A directory that something is looked for in: `rest` says what. */
struct transcript_directory {
	uint64_t key; /* of path and rest */
	struct transcript_rule *rule;
	char *path;
	const char *rest; /* in the rule's pattern */
	int wd;           /* -1: not watched */
};

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

/* A transcript by its path, which this takes over.  is_new: all of it is; else what comes from now
 * on. */
static void add_file(struct transcripts *transcripts, struct transcript_rule *rule, char *path,
		     bool is_new)
{
	uint64_t key = path ? XXH3_64bits(path, strlen(path)) : 0;

	for (size_t i = 0; path && i < transcripts->file_count; i++) {
		const struct transcript_file *file = &transcripts->files[i];
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
	struct transcript_file *file = &transcripts->files[transcripts->file_count++];
	*file = (struct transcript_file){ .key = key,
					  .rule = rule,
					  .path = path,
					  .touched = is_new,
					  .lines = is_new ? 0 : TRANSCRIPT_HEAD_LINES };
	if (!is_new)
		transcript_file_start(transcripts, file);
}

static void add_directory(struct transcripts *transcripts, struct transcript_rule *rule, char *path,
			  const char *rest, bool is_new);

/* Something of a directory: does the pattern go on there? */
static void add_entry(struct transcripts *transcripts, struct transcript_rule *rule,
		      const char *path, const char *rest, const char *name, bool is_new)
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

static void list_directory(struct transcripts *transcripts, struct transcript_rule *rule,
			   const char *path, const char *rest, bool is_new)
{
	DIR *directory = opendir(path);

	for (struct dirent *entry; directory && (entry = readdir(directory));)
		add_entry(transcripts, rule, path, rest, entry->d_name, is_new);
	if (directory)
		(void)closedir(directory);
}

/* A directory by its path, which this takes over. */
static void add_directory(struct transcripts *transcripts, struct transcript_rule *rule, char *path,
			  const char *rest, bool is_new)
{
	static const char ANY_DEPTH[] = "**/";
	uint64_t key = XXH3_64bits_withSeed(path, strlen(path), XXH3_64bits(rest, strlen(rest)));

	for (size_t i = 0; i < transcripts->directory_count; i++) {
		const struct transcript_directory *directory = &transcripts->directories[i];
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
	transcripts->directories[transcripts->directory_count++] = (struct transcript_directory){
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
		struct transcript_directory directory = transcripts->directories[i];
		list_directory(transcripts, directory.rule, directory.path, directory.rest, true);
	}
}

/* A directory went: one of that name may come. */
static void drop_watched(struct transcripts *transcripts, int wd)
{
	for (size_t i = transcripts->directory_count; i-- > 0;) {
		struct transcript_directory *directory = &transcripts->directories[i];
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
			struct transcript_directory directory = transcripts->directories[i];
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
		struct transcript_rule *rule = &transcripts->rules[i];
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
	struct transcript_rule rule = { .markers = markers,
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

	transcripts_each_scope(transcripts, UINT64_MAX, note_profile, &present);
	for (size_t i = 0; i < transcripts->rule_count; i++) {
		struct transcript_rule *rule = &transcripts->rules[i];
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
static struct transcript_file *next_touched(const struct transcripts *transcripts)
{
	struct transcript_file *next = NULL;
	struct timespec least = { .tv_sec = 0 };

	for (size_t i = 0; i < transcripts->file_count; i++) {
		struct transcript_file *file = &transcripts->files[i];
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
	due_ms = transcript_files_read_again(transcripts, due_ms);
	struct transcript_file *file = next_touched(transcripts);
	if (!file)
		return due_ms;
	for (; file; file = next_touched(transcripts))
		transcript_file_inspect(transcripts, file);
	return transcript_files_read_again(transcripts,
					   conversations_tick(transcripts->conversations));
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
