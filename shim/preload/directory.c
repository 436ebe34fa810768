/*
 * The current directory of this process.  In a tool nothing but memory is touched here: the kernel
 * is asked at the start and when the directory was changed, and paths are normalized by text.  What
 * cannot be known that way (a path relative to a directory's descriptor) is not known.  The guard
 * and the rules, who have to know before the call, ask the kernel (change_resolve()).
 */
#include "shim/preload/directory.h"

#include <errno.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

#include "shim/keep/keep_directory.h"
#include "shim/keep/scratch.h"
#include "shim/preload/state.h"
#include "shim/preload/thread.h"
#include "tracker/path/path.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

/* The directory that relative paths start from; empty: not known.  Written by threads that change
 * the directory, which is theirs to order; a torn text only makes a path that is not in the
 * workspace. */
static char short_directory[256]; /* beside what else every start touches (start.ld) */
static char long_directory[SEGMENT_PATH_BYTES];
static char *directory_in_use;          /* NULL: the first of these */
static uint32_t current_directory_text; /* its number in the journal, 0: not asked for yet */

static bool is_stale; /* the directory was changed since it was asked for */
static int walks;     /* of libc's that go from directory to directory, below way */

static char *current_directory(void)
{
	char *in_use = __atomic_load_n(&directory_in_use, __ATOMIC_RELAXED);
	return in_use ? in_use : short_directory;
}

void change_start(void)
{
	char *directory_path = short_directory;
	ssize_t length = sys_getcwd(short_directory, sizeof(short_directory));

	if (length == -ERANGE) {
		directory_path = long_directory;
		length = sys_getcwd(long_directory, sizeof(long_directory));
	}
	if (length <= 0 || directory_path[0] != '/')
		directory_path[0] = '\0';
	__atomic_store_n(&directory_in_use, directory_path, __ATOMIC_RELAXED);
}

/* Makes current_folder() what it says. */
static void refresh(void)
{
	if (!__atomic_load_n(&is_stale, __ATOMIC_ACQUIRE) &&
	    !__atomic_load_n(&walks, __ATOMIC_ACQUIRE))
		return;
	if (shim.sandboxed) {
		current_directory()[0] = '\0';
		return;
	}
	__atomic_store_n(&is_stale, false, __ATOMIC_RELAXED);
	__atomic_store_n(&current_directory_text, 0, __ATOMIC_RELAXED);
	change_start();
}

uint32_t change_directory_text(void)
{
	refresh();
	uint32_t text = __atomic_load_n(&current_directory_text, __ATOMIC_RELAXED);
	if (!text && current_directory()[0]) {
		text = journal_text(&shim.journal, current_directory(), strlen(current_directory()),
				    !shim.sandboxed);
		__atomic_store_n(&current_directory_text, text, __ATOMIC_RELAXED);
	}
	return text;
}

void change_directory(void)
{
	/* Between vfork and exec a child shares this memory: its directory is not ours. */
	if (in_vfork_child())
		return;
	change_unsure();
	refresh();
}

void change_walks(int more)
{
	(void)__atomic_add_fetch(&walks, more, __ATOMIC_ACQ_REL);
	change_unsure();
}

void change_unsure(void)
{
	__atomic_store_n(&is_stale, true, __ATOMIC_RELEASE);
}

int change_path(int directory, const char *path, char *ret_path, size_t capacity)
{
	if (path[0] != '/') {
		if (directory != AT_FDCWD || in_vfork_child())
			return -ENOENT;
		refresh();
		if (current_directory()[0] != '/')
			return -ENOENT;
	}
	int length = path_normalize(current_directory(), path, ret_path, capacity);
	if (__builtin_expect(length > 0 && shim.segment.header->aliases[0], 0))
		path_use_root(&shim.segment, ret_path, capacity);
	return length;
}

static const char PROC[] = "/proc";

/* bwrap has /proc by a descriptor alone, in a root without one: nothing has a name there then. */
static bool is_proc(int directory)
{
	enum { ROOT_INODE = 1 };
	struct statfs system;
	struct stat stat;

	return sys_call6(SYS_fstatfs, directory, (long)&system, 0, 0, 0, 0) == 0 &&
	       system.f_type == PROC_SUPER_MAGIC && sys_fstat(directory, &stat) == 0 &&
	       stat.st_ino == ROOT_INODE;
}

/* The directory that a relative path begins at, as the kernel knows it. */
static bool find_directory(int directory, char *ret_directory)
{
	ssize_t length = directory == AT_FDCWD ? sys_getcwd(ret_directory, SEGMENT_PATH_BYTES)
					       : subject_link(SUBJECT_SELF, directory,
							      ret_directory, SEGMENT_PATH_BYTES);
	if (length < 0 && directory != AT_FDCWD && is_proc(directory))
		memcpy(ret_directory, PROC, length = sizeof(PROC));
	return length > 0 && ret_directory[0] == '/';
}

bool change_resolve(int directory, const char *path, char *ret_path)
{
	const char *rest = path_behind_descriptor(path, 0, &directory);

	if (rest) {
		/* Some programs (claude's writer) name a file by the descriptor of its
		 * directory. */
		path = rest + strspn(rest, "/");
	} else if (path[0] == '/' || (directory == AT_FDCWD && !in_vfork_child())) {
		return change_path(directory, path, ret_path, SEGMENT_PATH_BYTES) >= 0;
	}
	char *directory_path = scratch_acquire();
	bool found = directory_path && find_directory(directory, directory_path) &&
		     path_normalize(directory_path, path, ret_path, SEGMENT_PATH_BYTES) > 0;
	scratch_release(directory_path);
	return found;
}

/* What the kernel calls what is there. */
static bool link_of(int directory, const char *path, int flags, char *ret_path)
{
	int fd = (int)sys_call6(SYS_openat, directory, (long)path, O_PATH | O_CLOEXEC | flags, 0, 0,
				0);
	if (fd < 0)
		return false;
	bool found = subject_link(SUBJECT_SELF, fd, ret_path, SEGMENT_PATH_BYTES) > 0 &&
		     ret_path[0] == '/';
	(void)sys_close(fd);
	return found;
}

/* What the kernel calls the directory of a path that is relative to one; path: that of the directory, or empty. */
static bool link_of_directory(int directory, const char *path, char *ret_path)
{
	if (shim.keeps) /* an answer of a moment ago, which moves of directories end */
		return keep_directory_find(&shim.segment, directory, path[0] ? path : NULL,
					   ret_path);
	if (!path[0] && directory == AT_FDCWD)
		return sys_getcwd(ret_path, SEGMENT_PATH_BYTES) > 0 && ret_path[0] == '/';
	return link_of(directory, path[0] ? path : ".", O_DIRECTORY, ret_path);
}

/* The same of a name that stands for nothing yet, or for what is no link: its directory, and the name behind that. */
static bool link_of_name(int directory, const char *path, char *ret_path)
{
	const char *base = path_base(path);
	size_t before = (size_t)(base - path), base_bytes = strlen(base);

	if (!base_bytes || strcmp(base, ".") == 0 || strcmp(base, "..") == 0 ||
	    before >= SEGMENT_PATH_BYTES)
		return false;
	char *directory_path = scratch_acquire();
	if (!directory_path)
		return false;
	memcpy(directory_path, path, before);
	directory_path[before] = '\0';
	bool found = link_of_directory(directory, directory_path, ret_path);
	scratch_release(directory_path);
	size_t length = found ? strlen(ret_path) : 0;
	length -= length == 1; /* the root */
	if (!found || length + 1 + base_bytes >= SEGMENT_PATH_BYTES)
		return false;
	ret_path[length] = '/';
	memcpy(ret_path + length + 1, base, base_bytes + 1);
	return true;
}

bool change_identify(int directory, const char *path, bool follows, char *ret_path,
		     struct change_found *ret_found)
{
	struct change_found found;

	found.error = sys_fstatat(directory, path, &found.stat, AT_SYMLINK_NOFOLLOW);
	found.is_plain = found.error == 0 ? !follows || !S_ISLNK(found.stat.st_mode)
					  : found.error == -ENOENT;
	if (ret_found)
		*ret_found = found;
	if (found.is_plain && link_of_name(directory, path, ret_path))
		return true;
	if (link_of(directory, path, follows ? 0 : O_NOFOLLOW, ret_path))
		return true;
	if (!found.is_plain && link_of_name(directory, path, ret_path)) /* a link to nothing */
		return true;
	return change_resolve(directory, path, ret_path);
}
