/* Hazard: a wrapper that changes errno.  Programs test errno after calls that succeeded (strtol, readdir, getpwnam
 * before them set it to 0), and take its value after a failure.  Every family of calls, once each way. */
#include "check.h"

#include <dirent.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

static void opening(void)
{
	int fd = -1;
	SHOW(fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 0644));
	SHOW(open("file", O_CREAT | O_EXCL | O_WRONLY, 0644));
	SHOW(open("missing", O_RDONLY));
	SHOW(open("missing/below", O_RDONLY));
	SHOW(open("file/below", O_RDONLY));
	SHOW(open(".", O_WRONLY));
	SHOW(open("", O_RDONLY));
	SHOW(open64("missing", O_RDONLY));
	SHOW(openat(AT_FDCWD, "missing", O_RDONLY));
	SHOW(openat(-7, "file", O_RDONLY));
	SHOW(openat(fd, "file", O_RDONLY));
	SHOW(openat64(-7, "file", O_RDONLY));
	SHOW(creat("missing/file", 0600));
	SHOW(creat64("missing/file", 0600));
	SHOW(close(fd));
	SHOW(close(fd));
	SHOW(close(-1));
	SHOW_POINTER(fopen("missing", "r"));
	SHOW_POINTER(fopen64("missing", "r+"));
	SHOW_POINTER(fopen("file", "x"));
	SHOW_POINTER(fdopen(-1, "r"));
	SHOW_POINTER(opendir("missing"));
	FILE *stream = fopen("file", "r");
	SHOW_POINTER(freopen("missing", "r", stream));
	SHOW_POINTER(opendir("file"));
}

static volatile int minus_one = -1;

static void moving_bytes(void)
{
	char bytes[64] = "some bytes";
	struct iovec part = { bytes, 10 };
	off_t offset = 0;
	int ends[2], file = -1, other = -1;

	CHECK((file = open("file", O_RDWR | O_TRUNC)) >= 0);
	CHECK((other = open("other", O_RDWR | O_CREAT, 0644)) >= 0);
	CHECK(pipe(ends) == 0);
	SHOW(write(file, bytes, 10));
	SHOW(writev(file, &part, 1));
	SHOW(pwrite(file, bytes, 10, 20));
	SHOW(pwrite64(file, bytes, 10, 30));
	SHOW(pwritev(file, &part, 1, 40));
	SHOW(pwritev2(file, &part, 1, 40, 0));
	SHOW(lseek(file, 0, SEEK_SET));
	SHOW(read(file, bytes, 10));
	SHOW(readv(file, &part, 1));
	SHOW(pread(file, bytes, 10, 0));
	SHOW(pread64(file, bytes, 10, 0));
	SHOW(preadv(file, &part, 1, 0));
	SHOW(preadv2(file, &part, 1, 0, 0));
	SHOW(preadv2(file, &part, 1, 0, 0x40000000));
	SHOW(read(-1, bytes, 10));
	SHOW(readv(-1, &part, 1));
	SHOW(readv(file, &part, minus_one));
	SHOW(pread(-1, bytes, 10, 0));
	SHOW(pread(file, bytes, 10, -1));
	SHOW(pread(ends[0], bytes, 10, 0));
	SHOW(write(-1, bytes, 10));
	SHOW(write(ends[0], bytes, 10));
	SHOW(pwrite(file, bytes, 10, -1));
	SHOW(fcntl(ends[0], F_SETFL, O_NONBLOCK));
	SHOW(read(ends[0], bytes, 10));
	SHOW(copy_file_range(file, &offset, other, NULL, 10, 0));
	SHOW(copy_file_range(-1, NULL, other, NULL, 10, 0));
	SHOW(copy_file_range(file, NULL, other, NULL, 10, 0xffff));
	SHOW(sendfile(other, file, &offset, 10));
	SHOW(sendfile(-1, file, &offset, 10));
	SHOW(splice(file, &offset, ends[1], NULL, 10, 0));
	SHOW(splice(file, NULL, other, NULL, 10, 0));
	SHOW(ftruncate(file, 5));
	SHOW(ftruncate(-1, 5));
	SHOW(truncate("file", 7));
	SHOW(truncate("missing", 7));
	SHOW(truncate("file", -7));
	SHOW(fallocate(file, 0, 0, 100));
	SHOW(fallocate(-1, 0, 0, 100));
	SHOW_POINTER(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0));
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, -1, 0) == MAP_FAILED);
	SHOW(errno);
	SHOW(dup(file));
	SHOW(dup(-1));
	SHOW(dup2(file, 30));
	SHOW(dup2(30, 30));
	SHOW(dup2(-1, 30));
	SHOW(dup2(file, -1));
	SHOW(dup3(file, 31, O_CLOEXEC));
	SHOW(dup3(31, 31, 0));
	SHOW(fcntl(file, F_DUPFD, 32));
	SHOW(fcntl(file, F_DUPFD_CLOEXEC, 33));
	SHOW(fcntl(-1, F_DUPFD, 32));
	SHOW(close_range(30, 40, 0));
	SHOW(close_range(40, 30, 0));
}

static void naming(void)
{
	SHOW(link("file", "linked"));
	SHOW(link("file", "linked"));
	SHOW(linkat(AT_FDCWD, "missing", AT_FDCWD, "new", 0));
	SHOW(symlink("nowhere", "dangling"));
	SHOW(symlink("nowhere", "dangling"));
	SHOW(open("dangling", O_RDONLY));
	SHOW(open("dangling", O_RDONLY | O_NOFOLLOW));
	SHOW(mkdir("folder", 0755));
	SHOW(mkdir("folder", 0755));
	SHOW(rename("linked", "folder/linked"));
	SHOW(rename("missing", "other"));
	SHOW(rename("file", "folder"));
	SHOW(renameat(AT_FDCWD, "missing", AT_FDCWD, "other"));
	SHOW(renameat(-7, "file", AT_FDCWD, "other"));
	SHOW(renameat2(AT_FDCWD, "file", AT_FDCWD, "other", RENAME_NOREPLACE));
	SHOW(renameat2(AT_FDCWD, "file", AT_FDCWD, "other", RENAME_EXCHANGE));
	SHOW(renameat2(AT_FDCWD, "file", AT_FDCWD, "other", 0x4000));
	SHOW(unlink("folder"));
	SHOW(unlink("missing"));
	SHOW(unlink("folder/linked"));
	SHOW(unlinkat(-7, "file", 0));
	SHOW(unlinkat(AT_FDCWD, "folder", AT_REMOVEDIR));
	SHOW(unlinkat(AT_FDCWD, "dangling", 0));
	SHOW(remove("missing"));
	SHOW(rmdir("missing"));
	SHOW(rmdir("file"));
	SHOW(chdir("missing"));
	SHOW(chdir("file"));
	SHOW(chdir("."));
	SHOW(fchdir(-1));
	int directory = open(".", O_RDONLY | O_DIRECTORY);
	SHOW(fchdir(directory));
	SHOW(close(directory));
	char name[] = "temporary-XXXXXX", directory_name[] = "temporary-XXXXXX",
	     bad[] = "temporary";
	SHOW(mkstemp(bad));
	int temporary = -1;
	SHOW((temporary = mkstemp(name)) >= 0);
	SHOW(close(temporary));
	SHOW_POINTER(mkdtemp(directory_name));
	SHOW(remove(name));
	SHOW(remove(directory_name));
}

static void starting(void)
{
	char *argv[] = { (char *)"true", NULL };
	pid_t child = 0;

	write_file("text", "no program\n", 0755);
	write_file("plain", "not to be executed\n", 0644);
	SHOW(execve("missing", argv, environ));
	SHOW(execve("plain", argv, environ));
	SHOW(execve("text", argv, environ));
	SHOW(execve(".", argv, environ));
	SHOW(execv("missing", argv));
	SHOW(execvp("no-such-program", argv));
	SHOW(execvp("", argv));
	SHOW(execvpe("no-such-program", argv, environ));
	SHOW(execl("missing", "missing", NULL));
	SHOW(execlp("no-such-program", "missing", NULL));
	SHOW(execle("missing", "missing", NULL, environ));
	SHOW(fexecve(-1, argv, environ));
	SHOW(execveat(-7, "missing", argv, environ, 0));
	SHOW(execveat(AT_FDCWD, "true", argv, environ, 0x10000000));
	SHOW(posix_spawn(&child, "missing", NULL, NULL, argv, environ));
	SHOW(posix_spawn(&child, "plain", NULL, NULL, argv, environ));
	SHOW(posix_spawnp(&child, "no-such-program", NULL, NULL, argv, environ));
	SHOW(posix_spawnp(&child, "true", NULL, NULL, argv, environ));
	show_exit("posix_spawnp", child);
	SHOW(system("exit 3"));
	SHOW(system(NULL));
	FILE *pipe_stream = NULL;
	SHOW_POINTER(pipe_stream = popen("exit 4", "r"));
	SHOW(pclose(pipe_stream));
	SHOW_POINTER(popen("exit 4", "?"));
}

int main(void)
{
	opening();
	moving_bytes();
	naming();
	starting();
	return 0;
}
