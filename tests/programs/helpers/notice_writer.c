/*
 * A program that writes what it has read, in every way there is, one order a line on standard input, one answer a line on standard output
 * (test_notice_guard.py).  What it does ends at the first call that fails, as a careful program's does; `careless` ones go on.
 *
 *	read PATH              reads it in one call, keeps it: number of bytes, "notice" or "text"
 *	size                   of what it has kept
 *	take COUNT             keeps the next COUNT bytes of standard input
 *	join PATH              keeps what it has and behind it what is in PATH
 *	WAY PATH [SPLIT]       writes what it has kept: 0, or errno of what failed; SPLIT: bytes of the first of two parts
 *
 * SOURCE, in the environment, is a file elsewhere that it may put its bytes into first.
 */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 20, TRUNCATES = O_WRONLY | O_CREAT | O_TRUNC };

static char data[BUFFER_BYTES];
static size_t size, split;
static int first_error;

/* Keeps the first error.  Returns whether there was none with this one. */
static int went_well(long ret)
{
	if (ret < 0 && !first_error)
		first_error = errno ? errno : -1;
	return ret >= 0;
}

static int write_part(int fd, size_t from, size_t to)
{
	ssize_t count = write(fd, data + from, to - from);
	return went_well(count) && (size_t)count == to - from;
}

static int file(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0644);
	went_well(fd);
	return fd;
}

static const char *source(void)
{
	int fd = file(getenv("SOURCE"), TRUNCATES);
	write_part(fd, 0, size);
	went_well(close(fd));
	return getenv("SOURCE");
}

/* ---- calls that write ---- */

static void by_write(int fd)
{
	write_part(fd, 0, size);
}

static void by_parts(int fd)
{
	(void)(write_part(fd, 0, split) && write_part(fd, split, size));
}

static void by_bytes(int fd)
{
	for (size_t i = 0; i < size && write_part(fd, i, i + 1); i++)
		;
}

static void by_writev(int fd)
{
	struct iovec parts[3] = { { data, split }, { NULL, 0 }, { data + split, size - split } };
	went_well(writev(fd, parts, 3));
}

static void by_pwritev(int fd)
{
	struct iovec parts[2] = { { data, split }, { data + split, size - split } };
	went_well(pwritev(fd, parts, 2, 0));
}

static void by_pwrite(int fd)
{
	went_well(pwrite(fd, data, size, 0));
}

static void by_backward(int fd)
{
	(void)(went_well(pwrite(fd, data + split, size - split, (off_t)split)) &&
	       went_well(pwrite(fd, data, split, 0)));
}

static void by_syscall(int fd)
{
	went_well(syscall(SYS_write, fd, data, size));
}

/* By number what has a function of its own. */
static void by_number_pwritev(int fd)
{
	struct iovec parts[2] = { { data, split }, { data + split, size - split } };
	went_well(syscall(SYS_pwritev, fd, parts, 2, 0, 0));
}

static void by_number_resized(int fd)
{
	went_well(syscall(SYS_ftruncate, fd, 0));
	write_part(fd, 0, size);
}

static void by_dprintf(int fd)
{
	went_well(dprintf(fd, "%.*s", (int)size, data));
}

static void by_dup(int fd)
{
	int copy = dup(fd);
	write_part(copy, 0, size);
	went_well(close(copy));
}

static void by_halves(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 100);
	if (write_part(fd, 0, split))
		write_part(copy, split, size);
	went_well(close(copy));
}

static void by_dup2(int fd)
{
	write_part(dup2(fd, 200), 0, size);
	went_well(close(200));
}

static void by_stdout(int fd)
{
	int saved = dup(1);
	(void)fflush(stdout);
	(void)dup2(fd, 1);
	went_well(printf("%.*s", (int)size, data));
	went_well(fflush(stdout));
	(void)dup2(saved, 1);
	(void)close(saved);
}

static void *in_thread(void *fd)
{
	write_part(*(int *)fd, 0, size);
	return NULL;
}

static void by_thread(int fd)
{
	pthread_t thread;
	(void)pthread_create(&thread, NULL, in_thread, &fd);
	(void)pthread_join(thread, NULL);
}

static void wait_for(pid_t child)
{
	int status = 0;
	(void)waitpid(child, &status, 0);
	if (!first_error && WIFEXITED(status))
		first_error = WEXITSTATUS(status);
}

static void by_fork(int fd)
{
	pid_t child = fork();
	if (child == 0) {
		write_part(fd, 0, size);
		_exit(first_error);
	}
	wait_for(child);
}

static void by_sendfile(int fd)
{
	int from = file(source(), O_RDONLY);
	went_well(sendfile(fd, from, NULL, size));
	(void)close(from);
}

static void by_range(int fd)
{
	int from = file(source(), O_RDONLY);
	went_well(copy_file_range(from, NULL, fd, NULL, size, 0));
	(void)close(from);
}

static void by_splice(int fd)
{
	int ends[2];
	(void)pipe(ends);
	write_part(ends[1], 0, size);
	went_well(splice(ends[0], NULL, fd, NULL, size, 0));
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void by_aio(int fd)
{
	struct aiocb request = { .aio_fildes = fd, .aio_buf = data, .aio_nbytes = size };
	const struct aiocb *list = &request;
	went_well(aio_write(&request));
	(void)aio_suspend(&list, 1, NULL);
	errno = aio_error(&request);
	went_well(errno ? -1 : 0);
}

/* Goes on whatever fails, and says nothing of it: only of the close. */
static void by_careless(int fd)
{
	(void)!write(fd, "some text before\n", 17);
	(void)!write(fd, data, size);
	(void)!write(fd, "some text behind\n", 17);
}

static const struct {
	const char *name;
	void (*function)(int fd);
	int flags;
	int closes_before; /* sets the size to 0 by itself */
} calls[] = {
	{ "write", by_write, TRUNCATES, 0 },
	{ "parts", by_parts, TRUNCATES, 0 },
	{ "bytes", by_bytes, TRUNCATES, 0 },
	{ "writev", by_writev, TRUNCATES, 0 },
	{ "pwritev", by_pwritev, TRUNCATES, 0 },
	{ "pwrite", by_pwrite, TRUNCATES, 0 },
	{ "backward", by_backward, TRUNCATES, 0 },
	{ "syscall", by_syscall, TRUNCATES, 0 },
	{ "number_pwritev", by_number_pwritev, TRUNCATES, 0 },
	{ "number_resized", by_number_resized, O_WRONLY | O_CREAT, 0 },
	{ "dprintf", by_dprintf, TRUNCATES, 0 },
	{ "dup", by_dup, TRUNCATES, 0 },
	{ "halves", by_halves, TRUNCATES, 0 },
	{ "dup2", by_dup2, TRUNCATES, 0 },
	{ "stdout", by_stdout, TRUNCATES, 0 },
	{ "thread", by_thread, TRUNCATES, 0 },
	{ "fork", by_fork, TRUNCATES, 0 },
	{ "sendfile", by_sendfile, TRUNCATES, 0 },
	{ "copy_file_range", by_range, TRUNCATES, 0 },
	{ "splice", by_splice, TRUNCATES, 0 },
	{ "aio", by_aio, TRUNCATES, 0 },
	{ "careless", by_careless, TRUNCATES, 0 },
	{ "in_place", by_write, O_RDWR | O_CREAT, 0 },
	{ "in_place_parts", by_parts, O_RDWR | O_CREAT, 0 },
	{ "truncated_before", by_write, O_WRONLY | O_CREAT, 1 },
	{ "in_place_careless", by_careless, O_RDWR | O_CREAT, 1 },
	{ "append", by_write, O_WRONLY | O_CREAT | O_APPEND, 0 },
};

static int by_call(const char *way, const char *path)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strcmp(way, calls[i].name) != 0)
			continue;
		int fd = file(path, calls[i].flags);
		if (fd < 0)
			return 1;
		if (calls[i].closes_before)
			went_well(ftruncate(fd, 0));
		calls[i].function(fd);
		if (!first_error && (calls[i].flags & O_ACCMODE) == O_RDWR &&
		    !calls[i].closes_before)
			went_well(ftruncate(fd, (off_t)size));
		went_well(close(fd));
		return 1;
	}
	return 0;
}

/* ---- streams ---- */

static FILE *stream_of(const char *way, const char *path)
{
	FILE *stream;

	if (strstr(way, "fdopen"))
		return fdopen(file(path, TRUNCATES), "w");
	if (strstr(way, "freopen"))
		return freopen(path, "w", fopen("/dev/null", "r"));
	stream = fopen(path, strstr(way, "update") ? "r+" : "w");
	if (stream && strstr(way, "unbuffered"))
		setvbuf(stream, NULL, _IONBF, 0);
	went_well(stream ? 0 : -1);
	return stream;
}

static void into_stream(const char *way, FILE *stream)
{
	data[size] = '\0';
	if (strncmp(way, "fwrite_unlocked", 15) == 0)
		went_well(fwrite_unlocked(data, 1, size, stream) == size ? 0 : -1);
	else if (strncmp(way, "fwrite", 6) == 0)
		went_well(fwrite(data, 1, size, stream) == size ? 0 : -1);
	else if (strncmp(way, "fputs", 5) == 0)
		went_well(fputs(data, stream) >= 0 ? 0 : -1);
	else if (strncmp(way, "fprintf", 7) == 0)
		went_well(fprintf(stream, "%s", data) >= 0 ? 0 : -1);
	else if (strncmp(way, "fputc", 5) == 0)
		for (size_t i = 0; i < size; i++)
			went_well(fputc((unsigned char)data[i], stream) >= 0 ? 0 : -1);
	else if (strncmp(way, "half", 4) == 0) {
		(void)fwrite(data, 1, split, stream);
		(void)fwrite(data + split, 1, size - split, stream);
	} else { /* "careless": only ferror() and fclose() are asked */
		(void)fputs("some text before\n", stream);
		(void)fputs(data, stream);
		(void)fputs("some text behind\n", stream);
		if (ferror(stream)) {
			errno = EIO;
			went_well(-1);
		}
	}
}

static int by_stream(const char *way, const char *path)
{
	if (strncmp(way, "stream_", 7) != 0)
		return 0;
	FILE *stream = stream_of(way + 7, path);
	if (!stream)
		return 1;
	into_stream(way + 7, stream);
	if (strstr(way, "left_exit")) /* it is the C library that writes it */
		exit(first_error ? 1 : 0);
	if (strstr(way, "left_killed")) {
		(void)fflush(stream);
		(void)raise(SIGKILL);
	}
	if (strstr(way, "left_return")) {
		(void)fflush(stream);
		_exit(0);
	}
	if (strstr(way, "fork")) { /* the copy has it, and closes it alone */
		pid_t child = fork();
		if (child == 0) {
			first_error = 0;
			went_well(fclose(stream) == 0 ? 0 : -1);
			_exit(first_error);
		}
		wait_for(child);
		__fsetlocking(stream, FSETLOCKING_BYCALLER);
		(void)dup2(file("/dev/null", O_WRONLY),
			   fileno(stream)); /* what is in the buffer is written twice */
	}
	went_well(fclose(stream) == 0 ? 0 : -1);
	return 1;
}

/* ---- names ---- */

static void by_memory(const char *path, int closes_first)
{
	int fd = file(path, O_RDWR | O_CREAT);
	went_well(ftruncate(fd, (off_t)size));
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (closes_first)
		went_well(close(fd));
	memcpy(memory, data, size);
	(void)munmap(memory, size);
	if (!closes_first)
		went_well(close(fd));
}

static void by_temporary(const char *path, int flags)
{
	char temporary[4096];
	(void)snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
	int fd = mkostemp(temporary, O_CLOEXEC);
	(void)!write(fd, data, size);
	went_well(close(fd));
	if (!first_error)
		went_well(flags ? renameat2(AT_FDCWD, temporary, AT_FDCWD, path, (unsigned)flags)
				: rename(temporary, path));
	(void)unlink(temporary);
}

static void by_nameless(const char *path)
{
	char name[64];
	int fd = file(".", O_TMPFILE | O_WRONLY);
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	write_part(fd, 0, size);
	(void)unlink(path);
	went_well(linkat(AT_FDCWD, name, AT_FDCWD, path, AT_SYMLINK_FOLLOW));
	(void)close(fd);
}

/* The copy of the process writes when the original has closed the file. */
static void by_fork_closed(const char *path, int streams)
{
	int ends[2];
	char byte;
	int fd = file(path, TRUNCATES);
	FILE *stream = streams ? fdopen(fd, "w") : NULL;
	(void)pipe(ends);
	pid_t child = fork();
	if (child == 0) {
		(void)close(ends[1]);
		(void)!read(ends[0], &byte, 1);
		if (stream) {
			went_well(fprintf(stream, "%.*s", (int)size, data));
			went_well(fclose(stream) == 0 ? 0 : -1);
		} else {
			by_write(fd);
			went_well(close(fd));
		}
		_exit(first_error);
	}
	(void)close(ends[0]);
	went_well(stream ? fclose(stream) : close(fd));
	(void)close(ends[1]);
	wait_for(child);
}

static int by_name(const char *way, const char *path)
{
	if (strcmp(way, "mapped") == 0)
		by_memory(path, 0);
	else if (strcmp(way, "mapped_closed") == 0)
		by_memory(path, 1);
	else if (strcmp(way, "temporary") == 0)
		by_temporary(path, 0);
	else if (strcmp(way, "temporary_noreplace") == 0)
		by_temporary(path, RENAME_NOREPLACE);
	else if (strcmp(way, "temporary_exchange") == 0)
		by_temporary(path, RENAME_EXCHANGE);
	else if (strcmp(way, "nameless") == 0)
		by_nameless(path);
	else if (strcmp(way, "rename") == 0)
		went_well(rename(source(), path));
	else if (strcmp(way, "rename_noreplace") == 0)
		went_well(renameat2(AT_FDCWD, source(), AT_FDCWD, path, RENAME_NOREPLACE));
	else if (strcmp(way, "rename_exchange") == 0)
		went_well(renameat2(AT_FDCWD, source(), AT_FDCWD, path, RENAME_EXCHANGE));
	else if (strcmp(way, "link") == 0)
		went_well(link(source(), path));
	else if (strcmp(way, "fork_closed") == 0)
		by_fork_closed(path, 0);
	else if (strcmp(way, "fork_closed_stream") == 0)
		by_fork_closed(path, 1);
	else if (strcmp(way, "end") == 0) { /* without a close */
		by_parts(file(path, TRUNCATES));
		_exit(first_error);
	} else if (strcmp(way, "killed") == 0) {
		by_parts(file(path, TRUNCATES));
		(void)raise(SIGKILL);
	} else if (strcmp(way, "end_sent") == 0) {
		by_sendfile(file(path, TRUNCATES));
		_exit(first_error);
	} else {
		return 0;
	}
	return 1;
}

static void keep(const char *path, size_t at)
{
	int fd = file(path, O_RDONLY);
	ssize_t count = read(fd, data + at, BUFFER_BYTES - 1 - at);
	(void)close(fd);
	size = at + (count > 0 ? (size_t)count : 0);
	(void)printf("%zd %s\n", count,
		     strncmp(data + at, "[File previously read: ", 23) == 0 ? "notice" : "text");
}

int main(void)
{
	static char line[8192];

	setvbuf(stdin, NULL, _IONBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		char *rest = line, *way = strtok_r(line, " \n", &rest);
		char *path = strtok_r(NULL, " \n", &rest);
		char *number = strtok_r(NULL, " \n", &rest);
		split = number     ? strtoul(number, NULL, 10)
			: size > 8 ? size - 8
				   : 0; /* within the nonce */
		first_error = errno = 0;
		if (strcmp(way, "size") == 0) {
			(void)printf("%zu\n", size);
		} else if (strcmp(way, "read") == 0) {
			keep(path, 0);
		} else if (strcmp(way, "join") == 0) {
			keep(path, size);
		} else if (strcmp(way, "take") == 0) {
			size = fread(data, 1, strtoul(path, NULL, 10), stdin);
			(void)printf("%zu text\n", size);
		} else if (by_call(way, path) || by_stream(way, path) || by_name(way, path)) {
			(void)printf("%d\n", first_error);
		} else {
			(void)printf("unknown\n");
		}
		(void)fflush(stdout);
	}
	return 0;
}
