/* bubblewrap's command line: see bwrap.h. */
#include "cli/confine/bwrap.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/child_output.h"
#include "cli/base/executable.h"
#include "cli/confine/capabilities.h"

enum { WORDS_MAX = 9000, WORDS_RESERVED = 64, FD_BYTES = 16 };

static const char PROGRAM[] = "bwrap";
static const char EMPTY_MODE[] = "0111"; /* of a directory in the place of a protected one */

/* ---- the greater part of the line ---- */

/* The words are written to a file in memory, each ended by NUL: `--args`. */
struct line {
	FILE *file;
	size_t count;
};

static void append(struct line *line, const char *word)
{
	(void)fputs(word, line->file);
	(void)fputc('\0', line->file);
	line->count++;
}

static void append_two(struct line *line, const char *option, const char *path)
{
	append(line, option);
	append(line, path);
}

static void append_bind(struct line *line, const char *option, const char *source, const char *path)
{
	append_two(line, option, source);
	append(line, path);
}

/* In the order of accesses; of one access a directory before what it holds. */
static int compare(const void *left, const void *right)
{
	static const int STAGES[] = { [CONFINE_PINNED] = 1,
				      [CONFINE_FIXED] = 1,
				      [CONFINE_UNREADABLE] = 2,
				      [CONFINE_CLOSED] = 2,
				      [CONFINE_EXCEPTED] = 2 };
	const struct confine_place *one = left, *other = right;
	int stages = STAGES[one->access] - STAGES[other->access];

	return stages ? stages : strcmp(one->path, other->path);
}

/* A file that no process can open to read, root neither: sysfs checks a file's mode itself (Linux 2.6.28).
 * Elsewhere a device on a mount without devices. */
static const char *unreadable_file(void)
{
	static char path[256];
	glob_t found;
	struct stat stat;

	if (!path[0] && glob("/sys/bus/*/drivers_probe", 0, NULL, &found) == 0) {
		if (lstat(found.gl_pathv[0], &stat) == 0 && S_ISREG(stat.st_mode) &&
		    !(stat.st_mode & 0444))
			(void)snprintf(path, sizeof(path), "%s", found.gl_pathv[0]);
		globfree(&found);
	}
	return path[0] ? path : "/dev/null";
}

bool bwrap_has_covered(const struct confine_place *place)
{
	struct stat stat;

	return lstat(unreadable_file(), &stat) == 0 && stat.st_dev == place->device &&
	       stat.st_ino == place->inode;
}

bool bwrap_has_emptied(const char *path)
{
	struct stat stat, above;
	char *parent = NULL;
	bool is_mount = lstat(path, &stat) == 0 && asprintf(&parent, "%s/..", path) > 0 &&
			lstat(parent, &above) == 0 && stat.st_dev != above.st_dev;

	free(parent);
	return is_mount && S_ISDIR(stat.st_mode) &&
	       (stat.st_mode & 07777) == strtoul(EMPTY_MODE, NULL, 8);
}

static void append_place(struct line *line, const struct confine_place *place)
{
	bool is_device = strncmp(place->path, "/dev/", 5) == 0;

	switch (place->access) {
	case CONFINE_HIDDEN:
		append_two(line, "--tmpfs", place->path);
		break;
	case CONFINE_READABLE:
	case CONFINE_FIXED:
	case CONFINE_EXCEPTED:
		append_bind(line, "--ro-bind", place->path, place->path);
		break;
	case CONFINE_WRITABLE:
	case CONFINE_PINNED:
		append_bind(line, is_device ? "--dev-bind" : "--bind", place->path, place->path);
		break;
	case CONFINE_UNREADABLE:
	case CONFINE_CLOSED:
		if (place->is_directory) {
			append_two(line, "--perms", EMPTY_MODE);
			append_two(line, "--tmpfs", place->path);
		} else {
			append_bind(line, "--ro-bind", unreadable_file(), place->path);
		}
		break;
	}
}

static void append_capabilities(struct line *line)
{
	append_two(line, "--cap-drop", "ALL");
	for (size_t i = 0; CAPABILITIES_KEPT[i].name; i++)
		append_two(line, "--cap-add", CAPABILITIES_KEPT[i].name);
}

/* What of /proc belongs to the whole machine: root may write to it without any capability. */
static void append_machine(struct line *line)
{
	static const char *const PATHS[] = { "/proc/sys", "/proc/sysrq-trigger",
					     "/proc/irq", "/proc/bus",
					     "/proc/fs",  "/proc/acpi",
					     NULL };

	for (size_t i = 0; PATHS[i]; i++)
		append_bind(line, "--ro-bind-try", PATHS[i], PATHS[i]);
}

static bool is_out_of_reach(const struct confine_place *place)
{
	return place->access == CONFINE_UNREADABLE || place->access == CONFINE_CLOSED;
}

static void append_places(struct line *line, struct confinement *confinement)
{
	qsort(confinement->places, confinement->count, sizeof(*confinement->places), compare);
	append_bind(line, "--ro-bind", "/", "/");
	append_two(line, "--dev", "/dev");
	append_bind(line, "--bind", "/proc", "/proc");
	if (geteuid() == 0) {
		append_capabilities(line);
		append_machine(line);
	}
	if (!confinement->shares_network)
		append(line, "--unshare-net");
	for (size_t i = 0; i < confinement->count; i++)
		append_place(line, &confinement->places[i]);
	for (size_t i = 0; i < confinement->count; i++)
		if (confinement->places[i].access == CONFINE_HIDDEN ||
		    (is_out_of_reach(&confinement->places[i]) &&
		     confinement->places[i].is_directory))
			append_two(line, "--remount-ro", confinement->places[i].path);
}

/* Writes the confinement to a file in memory.  Returns its descriptor or a negative errno. */
static int write_line(struct confinement *confinement)
{
	int fd = memfd_create("seen-bwrap", MFD_CLOEXEC);
	struct line line = { .file = fd < 0 ? NULL : fdopen(dup(fd), "w") };
	int error = fd < 0 ? -errno : line.file ? 0 : -ENOMEM;

	if (error == 0) {
		append_places(&line, confinement);
		if (fflush(line.file) != 0 || lseek(fd, 0, SEEK_SET) < 0)
			error = -EIO;
		else if (line.count > WORDS_MAX - WORDS_RESERVED)
			error = -E2BIG;
	}
	if (line.file)
		(void)fclose(line.file);
	if (error < 0 && fd >= 0)
		(void)close(fd);
	return error < 0 ? error : fd;
}

int bwrap_words(struct confinement *confinement, char *const command[], char ***ret_words,
		int *ret_arguments)
{
	static char number[FD_BYTES];
	const char *const FIRST[] = { PROGRAM, "--die-with-parent", "--args", number, "--" };
	const size_t first = sizeof(FIRST) / sizeof(FIRST[0]);
	size_t count = 0;

	*ret_arguments = -1;
	while (command[count])
		count++;
	char **words = calloc(first + count + 1, sizeof(*words));
	int fd = words ? write_line(confinement) : -ENOMEM;
	if (fd < 0) {
		free(words);
		return fd;
	}
	(void)fcntl(fd, F_SETFD, 0);
	(void)snprintf(number, sizeof(number), "%d", fd);
	for (size_t i = 0; i < first; i++)
		words[i] = (char *)(uintptr_t)FIRST[i];
	memcpy(words + first, command, count * sizeof(*words));
	*ret_words = words;
	*ret_arguments = fd;
	return 0;
}

/* ---- what this machine can hold ---- */

/* Runs bwrap, and reads the first line that it prints. */
static int run(const char *const *words, char *ret_line, size_t capacity)
{
	int ends[2], status = -1;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	pid_t child = fork();
	if (child == 0) {
		(void)dup2(ends[1], STDOUT_FILENO);
		(void)dup2(ends[1], STDERR_FILENO);
		(void)execvp(words[0], (char *const *)(uintptr_t)words);
		_exit(127);
	}
	(void)close(ends[1]);
	if (child_output_read(ends[0], child, ret_line, capacity, &status) < 0)
		return -1;
	ret_line[strcspn(ret_line, "\n")] = '\0';
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

enum bwrap_state bwrap_try(char *ret_reason)
{
	static const char *const VERSION[] = { PROGRAM, "--version", NULL };
	static const char *const TRIAL[] = { PROGRAM, "--ro-bind",    "/",      "/",
					     "--dev", "/dev",         "--bind", "/proc",
					     "/proc", "--perms",      "0111",   "--tmpfs",
					     "/tmp",  "--remount-ro", "/tmp",   "--",
					     PROGRAM, "--version",    NULL };
	char path[PATH_MAX];

	ret_reason[0] = '\0';
	if (executable_find(PROGRAM, path, sizeof(path)) < 0 ||
	    run(VERSION, ret_reason, BWRAP_REASON_BYTES) != 0)
		return BWRAP_ABSENT;
	return run(TRIAL, ret_reason, BWRAP_REASON_BYTES) == 0 ? BWRAP_WORKS : BWRAP_REFUSED;
}

const char *bwrap_remedy(enum bwrap_state state)
{
	return state == BWRAP_ABSENT
		       ? "install bubblewrap (apt install bubblewrap)"
		       : "allow user namespaces: sysctl kernel.unprivileged_userns_clone=1, "
			 "user.max_user_namespaces above 0, "
			 "kernel.apparmor_restrict_unprivileged_userns=0; in a container, start "
			 "that "
			 "with them";
}
