/* The process that a question is about: see subject.h. */
#include "tracker/process/subject.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <string.h>

#include "tracker/path/decimal.h"
#include "tracker/sys/sys.h"

void proc_path(uint32_t pid, const char *file, char *ret_path)
{
	memcpy(ret_path, "/proc/", 6);
	char *at = decimal_write(ret_path + 6, pid);
	*at++ = '/';
	memcpy(at, file, strlen(file) + 1);
}

uint32_t subject_pid(struct subject subject)
{
	return subject.pid ? subject.pid : (uint32_t)sys_getpid();
}

uint32_t subject_parent(struct subject subject)
{
	return subject.pid ? process_parent_of(subject.pid) : (uint32_t)sys_getppid();
}

/* /proc/PID/DIRECTORY/FD, for the caller /proc/self/DIRECTORY/FD.  directory: ends with a slash. */
static void descriptor_path(struct subject subject, const char *directory, int fd, char *ret_path)
{
	if (subject.pid) {
		proc_path(subject.pid, directory, ret_path);
	} else {
		memcpy(ret_path, "/proc/self/", 11);
		memcpy(ret_path + 11, directory, strlen(directory) + 1);
	}
	/* none has a negative one: then the name is one of nothing */
	*decimal_write(ret_path + strlen(ret_path), fd < 0 ? UINT64_MAX : (uint64_t)fd) = '\0';
}

void subject_path(struct subject subject, int fd, char *ret_path)
{
	descriptor_path(subject, "fd/", fd, ret_path);
}

int subject_stat(struct subject subject, int fd, struct stat *ret_stat)
{
	char path[PROC_PATH_BYTES];

	if (!subject.pid)
		return sys_fstat(fd, ret_stat);
	subject_path(subject, fd, path);
	return sys_stat(path,
			ret_stat); /* follows the link to what is open, whatever its name is now */
}

/* proc(5), fdinfo: `flags:` in octal; close-on-exec is added there. */
static int flags_of(const char *text)
{
	static const char NAME[] = "flags:\t";
	const char *at = strstr(text, NAME);
	int flags = 0;

	if (!at || at[sizeof(NAME) - 1] < '0' || at[sizeof(NAME) - 1] > '7')
		return -EBADMSG;
	for (at += sizeof(NAME) - 1; *at >= '0' && *at <= '7'; at++) {
		if (flags > INT32_MAX / 8)
			return -EBADMSG;
		flags = flags * 8 + (*at - '0');
	}
	return flags & ~O_CLOEXEC;
}

int subject_flags(struct subject subject, int fd)
{
	char path[PROC_PATH_BYTES], text[256]; /* it is in the second line */

	if (!subject.pid)
		return sys_fcntl(fd, F_GETFL, 0);
	descriptor_path(subject, "fdinfo/", fd, path);
	ssize_t length = sys_read_file(path, text, sizeof(text));
	return length < 0 ? (int)length : flags_of(text);
}

uint64_t subject_creation_ns(struct subject subject, int fd)
{
	char path[PROC_PATH_BYTES];
	struct statx statx;
	long error;

	memset(&statx, 0, sizeof(statx));
	if (subject.pid) {
		subject_path(subject, fd, path);
		error = sys_call6(SYS_statx, AT_FDCWD, (long)path, 0, STATX_BTIME, (long)&statx, 0);
	} else {
		error = sys_call6(SYS_statx, fd, (long)"", AT_EMPTY_PATH, STATX_BTIME, (long)&statx,
				  0);
	}
	if (error < 0 || !(statx.stx_mask & STATX_BTIME))
		return 0;
	return (uint64_t)statx.stx_btime.tv_sec * 1000000000u + statx.stx_btime.tv_nsec;
}

ssize_t subject_link(struct subject subject, int fd, char *ret_path, size_t capacity)
{
	char path[PROC_PATH_BYTES];

	subject_path(subject, fd, path);
	ssize_t length = sys_readlink(path, ret_path, capacity - 1);
	if (length < 0)
		return length;
	if ((size_t)length >= capacity - 1)
		return -ENAMETOOLONG; /* or it was cut */
	ret_path[length] = '\0';
	return length;
}

ssize_t subject_name(struct subject subject, int fd, char *ret_path, size_t capacity)
{
	static const char MARK[] = " (deleted)";
	const ssize_t mark = sizeof(MARK) - 1;
	ssize_t length = subject_link(subject, fd, ret_path, capacity);
	struct stat own, named;

	if (length <= mark || strcmp(ret_path + length - mark, MARK) != 0)
		return length;
	/* a name may end so */
	bool is_name = sys_stat(ret_path, &named) == 0 && subject_stat(subject, fd, &own) == 0 &&
		       named.st_dev == own.st_dev && named.st_ino == own.st_ino;
	return is_name ? length : -ENOENT;
}

/* proc(5), stat, field 4: behind the last parenthesis. */
uint32_t process_parent_of(uint32_t pid)
{
	char path[PROC_PATH_BYTES], text[512];
	uint64_t parent;

	proc_path(pid, "stat", path);
	if (sys_read_file(path, text, sizeof(text)) <= 0)
		return 0;
	const char *at = strrchr(text, ')');
	if (!at || at[1] != ' ' || at[2] == '\0' || at[3] != ' ' || !decimal_parse(at + 4, &parent))
		return 0;
	return (uint32_t)parent;
}

bool process_bytes_written(uint32_t pid, uint64_t *ret_bytes)
{
	char path[PROC_PATH_BYTES], text[512];

	proc_path(pid, "io", path);
	if (sys_read_file(path, text, sizeof(text)) <= 0)
		return false;
	const char *at = strstr(text, "wchar: ");
	return at && decimal_parse(at + sizeof("wchar: ") - 1, ret_bytes);
}
