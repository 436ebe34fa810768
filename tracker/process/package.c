/* Packages: see package.h. */
#include "tracker/process/package.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>

#include "tracker/segment/segment.h"
#include "tracker/sys/sys.h"

enum { WORDS_MAX = 8, WORDS_BYTES = 2048 };

static const char MARK[] = "/node_modules/";

/* The last package that a path names: where it begins, behind node_modules, and how long it is,
 * with its scope (`@scope/name`).  NULL: none. */
static const char *find_package(const char *path, size_t *ret_length)
{
	const char *found = NULL;

	for (const char *at = path; (at = strstr(at, MARK)); at++)
		found = at + sizeof(MARK) - 1;
	if (!found)
		return NULL;
	const char *name = found[0] == '@' ? strchr(found, '/') : found;
	if (!name)
		return NULL;
	name += found[0] == '@';
	size_t length = strcspn(name, "/");
	if (!length || name[0] == '.' || !name[length])
		return NULL;
	*ret_length = (size_t)(name - found) + length;
	return found;
}

bool package_is_same(const char *launcher, const char *program)
{
	size_t length, other_length;
	const char *package = find_package(launcher, &length);
	const char *other = find_package(program, &other_length);

	if (!package || !other || other_length < length || memcmp(package, other, length) != 0)
		return false;
	/* One for a machine lies anywhere that npm puts it. */
	if (other_length > length)
		return other[length] == '-';
	return package - launcher == other - program &&
	       memcmp(launcher, program, (size_t)(package - launcher)) == 0;
}

/* A word of a process's command line, as a file without symbolic links. */
static bool resolve(uint32_t pid, const char *word, char *ret_path)
{
	char path[SEGMENT_PATH_BYTES];
	size_t length = 0;

	if (word[0] != '/') {
		proc_path(pid, "cwd/", path);
		length = strlen(path);
	}
	if (strlen(word) >= sizeof(path) - length)
		return false;
	memcpy(path + length, word, strlen(word) + 1);
	int fd = sys_open(path, O_PATH | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	ssize_t got = subject_link(SUBJECT_SELF, fd, ret_path, SEGMENT_PATH_BYTES);
	(void)sys_close(fd);
	return got > 0;
}

/* The words of a process's command line.  Returns how many there are. */
static int read_words(uint32_t pid, char *text, char **ret_words)
{
	char path[PROC_PATH_BYTES];
	int count = 0;

	proc_path(pid, "cmdline", path);
	ssize_t length = sys_read_file(path, text, WORDS_BYTES);
	for (ssize_t at = 0; at < length && count < WORDS_MAX; at += (ssize_t)strlen(text + at) + 1)
		ret_words[count++] = text + at;
	ret_words[count] = NULL;
	return count;
}

/* With room for two paths on the stack, which programs elsewhere have no use for. */
static __attribute__((noinline)) void complete(const struct segment *segment,
					       struct subject subject, const char *executable,
					       struct invocation *invocation)
{
	char text[WORDS_BYTES], path[SEGMENT_PATH_BYTES], link[PROC_PATH_BYTES];
	char *words[WORDS_MAX + 1];
	struct invocation parent;

	uint32_t pid = subject_parent(subject);
	int count = pid ? read_words(pid, text, words) : 0;
	if (!count)
		return;
	proc_path(pid, "exe", link);
	ssize_t length = sys_readlink(link, path, sizeof(path) - 1);
	path[length > 0 ? length : 0] = '\0';
	role_invocation(segment, path, words, &parent);
	if (parent.role != ROLE_AGENT || parent.local)
		return;
	/* An interpreter's script: what follows it are the agent's own arguments. */
	int script = 1;
	while (parent.scripted && script < count && words[script][0] == '-')
		script++;
	if (parent.scripted && (script >= count || !resolve(pid, words[script], path)))
		return;
	if (!package_is_same(path, executable))
		return;
	invocation->role = ROLE_AGENT;
	invocation->profile = parent.profile;
	invocation->unknown = false;
}

void package_complete(const struct segment *segment, struct subject subject, const char *executable,
		      struct invocation *invocation)
{
	if (invocation->role == ROLE_TOOL && strstr(executable, MARK))
		complete(segment, subject, executable, invocation);
}
