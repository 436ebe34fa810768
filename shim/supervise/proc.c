/* What /proc reports of a process: see proc.h. */
#include "shim/supervise/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracker/process/identity.h"
#include "tracker/sys/sys.h"

ssize_t proc_read(pid_t pid, const char *name, char *ret_text, size_t capacity)
{
	char path[96];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return sys_read_file(path, ret_text, capacity);
}

/* The same of what one read returns, in less than there is room for. */
static ssize_t read_at_once(pid_t pid, const char *name, char *ret_text, size_t capacity)
{
	char path[96];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	ssize_t got = sys_read(fd, ret_text, capacity - 1);
	(void)sys_close(fd);
	ret_text[got > 0 ? got : 0] = '\0';
	return got;
}

static bool find_number(const char *text, const char *name, pid_t *ret_number)
{
	const char *at = strstr(text, name);
	if (!at)
		return false;
	*ret_number = (pid_t)strtol(at + strlen(name), NULL, 10);
	return true;
}

bool proc_thread(pid_t tid, pid_t *ret_pid, pid_t *ret_parent)
{
	char text[1024];

	return read_at_once(tid, "status", text, sizeof(text)) > 0 &&
	       find_number(text, "\nTgid:", ret_pid) && find_number(text, "\nPPid:", ret_parent);
}

/* Where its stack begins (proc(5), stat, field 28): another image has another. */
static uint64_t stack_of(pid_t pid)
{
	char text[1024];

	if (read_at_once(pid, "stat", text, sizeof(text)) <= 0)
		return 0;
	const char *at = strrchr(text, ')');
	for (int field = 2; at && field < 28; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

struct identity proc_file(pid_t pid, const char *name)
{
	char path[64];
	struct stat stat;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return sys_stat(path, &stat) == 0 ? identity_of(&stat) : (struct identity){ 0, 0, 0 };
}

struct image proc_image(pid_t pid)
{
	return (struct image){ stack_of(pid), proc_file(pid, "exe") };
}

bool proc_image_equal(const struct image *a, const struct image *b)
{
	return a->stack == b->stack && identity_equal(&a->file, &b->file);
}

uint64_t proc_mount_ns(pid_t pid)
{
	return proc_file(pid, "ns/mnt").ino;
}

static void widen(struct code_range *range, uint64_t from, uint64_t to)
{
	if (!range->to || from < range->from)
		range->from = from;
	if (to > range->to)
		range->to = to;
}

void proc_maps(pid_t pid, struct mapped *ret_mapped)
{
	char path[64], line[SEGMENT_PATH_BYTES + 128];

	*ret_mapped = (struct mapped){ 0 };
	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		uint64_t from, to;
		char *name = strrchr(line, '/');
		if (!name || sscanf(line, "%lx-%lx", &from, &to) != 2)
			continue;
		name[strcspn(name, "\n")] = '\0';
		if (strncmp(name, "/ld-linux", 9) == 0)
			widen(&ret_mapped->loader, from, to);
		else if (strcmp(name, "/libc.so.6") == 0)
			widen(&ret_mapped->libc, from, to);
		else if (strcmp(name, "/libseen.so") == 0)
			widen(&ret_mapped->library, from, to);
	}
	(void)fclose(file);
}

char *proc_read_whole(pid_t pid, const char *name, size_t *ret_bytes)
{
	enum { CHUNK = 16384, MAX = 4 << 20 };
	char path[64], *bytes = NULL;
	size_t used = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return NULL;
	for (;;) {
		char *more = realloc(bytes, used + CHUNK + 1);
		if (!more)
			break;
		bytes = more;
		ssize_t got = sys_read(fd, bytes + used, CHUNK);
		if (got <= 0)
			break;
		used += (size_t)got;
		if (used >= MAX)
			break;
	}
	(void)sys_close(fd);
	if (bytes)
		bytes[used] = '\0';
	*ret_bytes = used;
	return bytes;
}

/* As the permissions of its link in /proc have it (proc(5)). */
static bool can_write(const char *link)
{
	struct stat stat;

	return lstat(link, &stat) == 0 && (stat.st_mode & S_IWUSR);
}

bool proc_has_open(pid_t pid, uint64_t dev, uint64_t ino, bool writes)
{
	char path[PROC_PATH_BYTES + 32];
	const struct dirent *entry;
	struct stat stat;
	bool found = false;

	proc_path((uint32_t)pid, "fd", path);
	DIR *directory = opendir(path);
	if (!directory)
		return false;
	size_t length = strlen(path);
	while (!found && (entry = readdir(directory))) {
		(void)snprintf(path + length, sizeof(path) - length, "/%.20s", entry->d_name);
		found = sys_stat(path, &stat) == 0 && stat.st_dev == dev && stat.st_ino == ino &&
			(!writes || can_write(path));
	}
	(void)closedir(directory);
	return found;
}
