/* What files are, by each of libc's names for that question: the same answers, and the same errors. */
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "check.h"

enum { OLD_VERSION = 1 }; /* _STAT_VER of x86-64; aarch64: 0 */

/* Names of before glibc 2.33, which no new program is linked with. */
static void old_names(void)
{
	static const char *const NAMES[] = { "__xstat", "__xstat64", "__lxstat", "__lxstat64" };
	static const char *const AT[] = { "__fxstatat", "__fxstatat64" };
	struct stat stat_buffer;

	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
		int (*call)(int, const char *,
			    struct stat *) = (__typeof__(call))dlsym(RTLD_DEFAULT, NAMES[i]);
		if (!call)
			continue;
		SHOW(call(OLD_VERSION, "link", &stat_buffer));
		SHOW(stat_buffer.st_mode & S_IFMT);
		SHOW(call(OLD_VERSION, "none", &stat_buffer));
	}
	for (size_t i = 0; i < sizeof(AT) / sizeof(AT[0]); i++) {
		int (*call)(int, int, const char *, struct stat *,
			    int) = (__typeof__(call))dlsym(RTLD_DEFAULT, AT[i]);
		if (!call)
			continue;
		SHOW(call(OLD_VERSION, AT_FDCWD, "link", &stat_buffer, AT_SYMLINK_NOFOLLOW));
		SHOW(stat_buffer.st_mode & S_IFMT);
		SHOW(call(OLD_VERSION, AT_FDCWD, "none", &stat_buffer, 0));
	}
}

int main(void)
{
	struct stat stat_buffer;
	struct stat64 stat64_buffer;
	struct statx statx_buffer;
	int fd = open("file", O_WRONLY | O_CREAT, 0600);

	SHOW(fd >= 0 && close(fd) == 0 && symlink("file", "link") == 0);
	SHOW(stat("link", &stat_buffer));
	SHOW(stat_buffer.st_mode & S_IFMT);
	SHOW(stat64("link", &stat64_buffer));
	SHOW(lstat("link", &stat_buffer));
	SHOW(stat_buffer.st_mode & S_IFMT);
	SHOW(lstat64("link", &stat64_buffer));
	SHOW(fstatat(AT_FDCWD, "link", &stat_buffer, AT_SYMLINK_NOFOLLOW));
	SHOW(fstatat64(AT_FDCWD, "none", &stat64_buffer, 0));
	SHOW(statx(AT_FDCWD, "link", 0, STATX_ALL, &statx_buffer));
	SHOW(statx_buffer.stx_mode & S_IFMT);
	/* Rust's library asks so whether the call is there. */
	void *volatile nothing = NULL;
	SHOW(statx(0, nothing, 0, STATX_ALL, nothing));
	SHOW(stat((const char *)-1L, &stat_buffer));
	SHOW(access("none", F_OK));
	old_names();
	return 0;
}
