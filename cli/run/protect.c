/* The files that rules keep from programs: see protect.h. */
#include "cli/run/protect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "cli/base/message.h"
#include "cli/confine/bwrap.h"
#include "tracker/guard/protected.h"
#include "tracker/path/path.h"
#include "tracker/process/runs.h"
#include "tracker/process/subject.h"
#include "tracker/sys/sys.h"

enum {
	DIRECTORIES_MAX = 32768, /* that are watched */
	START_MS = 5000,         /* for all that is there at the start */
	EVENTS_BYTES = 65536,
};

#define MILLISECOND_NS UINT64_C(1000000)

static const uint32_t EVENTS = IN_CREATE | IN_MOVED_TO | IN_ONLYDIR | IN_EXCL_UNLINK;

struct protect {
	const struct segment *segment;
	struct rule_program program; /* all rules that deny */
	int fd;                      /* inotify; -1: what comes is not reported */
	char **directories;          /* by what inotify calls them; owned */
	size_t directory_capacity, directory_count;
	char **open; /* directories that are to be gone into; owned */
	size_t open_count, open_capacity;
	bool is_cut; /* not all was scanned, or is followed */
};

/* Room for `count` texts. */
static bool make_room(char ***texts, size_t *capacity, size_t count)
{
	size_t more = *capacity ? *capacity : 64;

	if (count <= *capacity)
		return true;
	while (more < count)
		more *= 2;
	char **grown = reallocarray(*texts, more, sizeof(*grown));
	if (!grown)
		return false;
	memset(grown + *capacity, 0, (more - *capacity) * sizeof(*grown));
	*texts = grown;
	*capacity = more;
	return true;
}

static void push(struct protect *protect, const char *path)
{
	char *copy = make_room(&protect->open, &protect->open_capacity, protect->open_count + 1)
			     ? strdup(path)
			     : NULL;

	if (copy)
		protect->open[protect->open_count++] = copy;
	else
		protect->is_cut = true;
}

/* A file that a rule's glob means.  Behind a link, unless the rule excepts what that leads to. */
static void note(struct protect *protect, const char *path, uint64_t rules)
{
	const struct segment *segment = protect->segment;
	char real[SEGMENT_PATH_BYTES];
	struct stat stat;
	int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return;
	if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode)) {
		if (subject_link(SUBJECT_SELF, fd, real, sizeof(real)) > 0 &&
		    strcmp(real, path) != 0)
			rules &= ~rule_excepting(segment, rules, real);
		if (rules && protected_note(segment, &stat, subject_creation_ns(SUBJECT_SELF, fd),
					    rules) < 0)
			protect->is_cut = true;
	}
	(void)close(fd);
}

static void handle_entry(struct protect *protect, const char *path, bool is_directory)
{
	if (is_directory) {
		push(protect, path);
		return;
	}
	uint64_t rules = rule_meaning(protect->segment, &protect->program, path);
	if (rules)
		note(protect, path, rules);
}

/* Follows what comes into a directory.  False: it is followed already. */
static bool follow(struct protect *protect, const char *path)
{
	int wd = protect->fd < 0 ? -1 : inotify_add_watch(protect->fd, path, EVENTS);

	if (wd < 0) {
		protect->is_cut = protect->is_cut ||
				  (errno != ENOENT && errno != ENOTDIR && !bwrap_has_emptied(path));
		return true;
	}
	if (!make_room(&protect->directories, &protect->directory_capacity, (size_t)wd + 1)) {
		protect->is_cut = true;
		return true;
	}
	char **at = &protect->directories[wd];
	if (*at && strcmp(*at, path) == 0)
		return false;
	free(*at);
	*at = strdup(path);
	protect->directory_count++;
	return true;
}

static bool is_directory(int directory, const struct dirent *entry)
{
	struct stat stat;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return fstatat(directory, entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(stat.st_mode);
}

/* Scans one directory.  Watched first: what comes while it is listed is reported. */
static void scan(struct protect *protect, const char *path, bool goes_deep)
{
	char below[SEGMENT_PATH_BYTES];
	DIR *stream = NULL;

	if (protect->directory_count >= DIRECTORIES_MAX)
		protect->is_cut = true;
	else if (follow(protect, path))
		stream = opendir(path);
	if (!stream)
		return;
	for (struct dirent *entry; (entry = readdir(stream));) {
		bool is_below = is_directory(dirfd(stream), entry);
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    (is_below && !goes_deep) ||
		    path_normalize(path, entry->d_name, below, sizeof(below)) <= 0)
			continue;
		handle_entry(protect, below, is_below);
	}
	(void)closedir(stream);
}

static void scan_open(struct protect *protect, uint64_t until_ns)
{
	while (protect->open_count) {
		char *path = protect->open[--protect->open_count];
		if (!until_ns || sys_boottime_ns() < until_ns)
			scan(protect, path, true);
		else
			protect->is_cut = true;
		free(path);
	}
}

/* Where what a glob means can be: up to its first special character. */
static void scan_glob(struct protect *protect, const char *glob)
{
	const char *root = segment_text(protect->segment,
					protect->segment->settings->paths_workspace, NULL);
	char path[SEGMENT_PATH_BYTES];
	struct stat stat;
	size_t length = strcspn(glob, "*?[\\");

	if (glob[0] != '/') {
		const char *home = getenv("HOME");
		if (root)
			push(protect, root);
		if (glob[0] != '.' && home && home[0] == '/' &&
		    path_normalize(NULL, home, path, sizeof(path)) > 0)
			scan(protect, path, false);
		return;
	}
	if (glob[length]) /* not a part of a name */
		while (length > 0 && glob[length - 1] != '/')
			length--;
	while (length > 1 && glob[length - 1] == '/')
		length--;
	if (length < 2 || length >= sizeof(path))
		return;
	memcpy(path, glob, length);
	path[length] = '\0';
	if (sys_stat(path, &stat) == 0)
		handle_entry(protect, path, S_ISDIR(stat.st_mode));
}

static void scan_globs(struct protect *protect)
{
	const struct settings *settings = protect->segment->settings;

	for (uint64_t i = 0; i < settings->rule_count && i < SETTINGS_RULES_MAX; i++) {
		const char *glob = NULL;
		if (!(protect->program.denies & (UINT64_C(1) << i)))
			continue;
		while ((glob = segment_text(protect->segment, settings->rules[i].path, glob)))
			scan_glob(protect, glob);
	}
}

struct protect *protect_start(const struct segment *segment)
{
	struct protect *protect = calloc(1, sizeof(*protect));

	if (!protect)
		return NULL;
	if (process_is_only_run(segment) && segment->header->protects)
		protected_clear(segment);
	rule_program_denying(segment, &protect->program);
	if (!protect->program.denies) {
		free(protect);
		return NULL;
	}
	protect->segment = segment;
	protect->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	scan_globs(protect);
	scan_open(protect, sys_boottime_ns() + START_MS * MILLISECOND_NS);
	if (protect->is_cut)
		message("not all files that rules deny could be looked for: those that were not "
			"found are known by their paths alone");
	return protect;
}

static void handle(struct protect *protect, const struct inotify_event *event)
{
	char path[SEGMENT_PATH_BYTES];

	if (event->mask & IN_Q_OVERFLOW) { /* all of it once more */
		for (size_t i = 0; i < protect->directory_capacity; i++) {
			free(protect->directories[i]);
			protect->directories[i] = NULL;
		}
		protect->directory_count = 0;
		scan_globs(protect);
		return;
	}
	if (event->wd < 0 || (size_t)event->wd >= protect->directory_capacity)
		return;
	char **directory = &protect->directories[event->wd];
	if (event->mask & IN_IGNORED) {
		protect->directory_count -= *directory != NULL;
		free(*directory);
		*directory = NULL;
	} else if (*directory && event->len &&
		   path_normalize(*directory, event->name, path, sizeof(path)) > 0) {
		handle_entry(protect, path, event->mask & IN_ISDIR);
	}
}

void protect_tick(struct protect *protect)
{
	static _Alignas(struct inotify_event) char bytes[EVENTS_BYTES];
	ssize_t got;

	while (protect && protect->fd >= 0 && (got = read(protect->fd, bytes, sizeof(bytes))) > 0) {
		for (ssize_t at = 0; at < got;) {
			const struct inotify_event *event =
				(const struct inotify_event *)(const void *)(bytes + at);
			handle(protect, event);
			at += (ssize_t)(sizeof(*event) + event->len);
		}
		scan_open(protect, 0);
	}
}

void protect_finish(struct protect *protect)
{
	if (!protect)
		return;
	if (protect->fd >= 0)
		(void)close(protect->fd);
	for (size_t i = 0; i < protect->directory_capacity; i++)
		free(protect->directories[i]);
	free(protect->directories);
	free(protect->open);
	free(protect);
}

int protect_find_open(const struct segment *segment, uint32_t *ret_rule, char *ret_path)
{
	struct rule_program program;
	struct rule_answer answer;
	const struct dirent *entry;
	int found = -1;

	rule_program_denying(segment, &program);
	DIR *stream = rule_denies_file(&program, RULE_READ) ? opendir("/proc/self/fd") : NULL;
	if (!stream)
		return -1;
	while (found < 0 && (entry = readdir(stream))) {
		int fd = (int)strtol(entry->d_name, NULL, 10);
		const struct protected_question question = { &program, RULE_READ, fd, true };
		if (entry->d_name[0] == '.' || (fcntl(fd, F_GETFD) & FD_CLOEXEC) ||
		    (fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY ||
		    !protected_judge(segment, &question, ret_path, &answer))
			continue;
		found = fd;
		*ret_rule = answer.rule;
	}
	(void)closedir(stream);
	return found;
}
