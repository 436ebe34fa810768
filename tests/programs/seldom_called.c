/*
 * Functions that few programs call: directories by descriptor, attributes of links, handles, log-in records, locks, lists of
 * asynchronous requests.
 */
#include <aio.h>
#include <dirent.h>
#include <sys/xattr.h>
#include <utmp.h>
#include <utmpx.h>

#include "check.h"

static void directories(void)
{
	int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fdopendir(fd);
	int entries = 0;

	CHECK(directory != NULL);
	while (readdir(directory))
		entries++;
	CHECK(entries >= 2);
	CHECK(dirfd(directory) == fd);
	CHECK(closedir(directory) == 0);
	CHECK(fdopendir(-1) == NULL && errno == EBADF);
}

static void attributes(void)
{
	int fd = open("attributes", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	CHECK(fd >= 0);
	CHECK(symlink("attributes", "link") == 0);
	CHECK(fremovexattr(fd, "user.none") < 0 && (errno == ENODATA || errno == ENOTSUP));
	CHECK(lremovexattr("link", "user.none") < 0 && errno != ENOENT && errno != EFAULT);
	CHECK(lremovexattr("absent", "user.none") < 0 && errno == ENOENT);
	int changed = lchmod("attributes", 0640);
	bool is_missing = changed < 0 && errno == ENOSYS; /* before glibc 2.32 */
	CHECK(changed == 0 || is_missing);
	SHOW((int)lchmod("absent", 0640));
	struct stat status;
	CHECK(fstat(fd, &status) == 0 && (status.st_mode & 0777) == (is_missing ? 0600 : 0640));
	CHECK(close(fd) == 0);
}

static void handles(void)
{
	struct {
		struct file_handle handle;
		unsigned char bytes[MAX_HANDLE_SZ];
	} space = { .handle = { .handle_bytes = 0 } };
	int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	/* No handle at all: refused, with and without the capability. */
	CHECK(open_by_handle_at(fd, &space.handle, O_RDONLY) < 0);
	CHECK(errno == EINVAL || errno == EPERM || errno == ESTALE);
	CHECK(close(fd) == 0);
}

static void streams(void)
{
	FILE *file = fopen("stream", "w+e");

	CHECK(file != NULL);
	CHECK(fputs_unlocked("one line\n", file) >= 0);
	CHECK(fclose(file) == 0);
}

static void log_ins(void)
{
	struct utmp record = { .ut_type = USER_PROCESS, .ut_user = "nobody" };
	struct utmpx record_x = { .ut_type = USER_PROCESS, .ut_user = "nobody" };
	struct stat status;

	CHECK(close(open("wtmp", O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) == 0);
	updwtmp("wtmp", &record);
	updwtmpx("wtmp", &record_x);
	CHECK(stat("wtmp", &status) == 0);
	printf("log-in records: %d\n", (int)(status.st_size / (off_t)sizeof(record)));
}

static void locks(void)
{
	int fd = open("locked", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	CHECK(fd >= 0);
	CHECK(lockf(fd, F_LOCK, 0) == 0);
	CHECK(lockf(fd, F_TEST, 0) == 0);
	CHECK(lockf(fd, F_ULOCK, 0) == 0);
	CHECK(close(fd) == 0);
	CHECK(lockf(-1, F_LOCK, 0) < 0 && errno == EBADF);
}

static void requests(void)
{
	char text[] = "asynchronous";
	int fd = open("requests", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct aiocb request = { .aio_fildes = fd,
				 .aio_buf = text,
				 .aio_nbytes = sizeof(text) - 1,
				 .aio_lio_opcode = LIO_WRITE };
	struct aiocb *list[] = { &request };

	CHECK(fd >= 0);
	CHECK(lio_listio(LIO_WAIT, list, 1, NULL) == 0);
	printf("lio_listio: %d, %d\n", aio_error(&request), (int)aio_return(&request));
	CHECK(close(fd) == 0);
}

int main(void)
{
	directories();
	attributes();
	handles();
	streams();
	log_ins();
	locks();
	requests();
	return 0;
}
