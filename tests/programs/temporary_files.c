/* Hazard: files without a name (O_TMPFILE, whose third argument must be passed on; memfd; tmpfile) and with one made up
 * (mkstemp and similar). */
#include "check.h"

#include <sys/mman.h>

static void show_template(const char *what, char *path, int fd)
{
	struct stat stat;
	CHECK(fd >= 0 && fstat(fd, &stat) == 0);
	printf("%s: %zu bytes of name, mode %o, close at exec %d\n", what, strlen(path),
	       stat.st_mode & 07777, fcntl(fd, F_GETFD));
	CHECK(write(fd, "x", 1) == 1 && close(fd) == 0 && unlink(path) == 0);
}

int main(void)
{
	struct stat stat;
	char path[64], bytes[10];

	umask(0);
	int fd = open(".", O_TMPFILE | O_RDWR, 0640);
	if (fd >= 0) {
		CHECK(fstat(fd, &stat) == 0);
		printf("O_TMPFILE: mode %o, %u links\n", stat.st_mode & 07777,
		       (unsigned)stat.st_nlink);
		SHOW(write(fd, "0123456789", 10));
		SHOW(pread(fd, bytes, 10, 0));
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		SHOW(linkat(AT_FDCWD, path, AT_FDCWD, "named", AT_SYMLINK_FOLLOW));
		show_file("named");
		CHECK(close(fd) == 0);
	} else {
		printf("O_TMPFILE: %s\n", strerrorname_np(errno));
	}
	fd = openat(AT_FDCWD, "/tmp", O_TMPFILE | O_RDWR | O_EXCL, 0600);
	printf("openat, O_TMPFILE: %s\n",
	       fd >= 0 && fstat(fd, &stat) == 0 && (stat.st_mode & 07777) == 0600 ? "0600" : "no");
	if (fd >= 0)
		close(fd);
	SHOW(open(".", O_TMPFILE | O_RDONLY, 0600));
	for (mode_t mode = 0; mode <= 0777; mode += 0111) {
		CHECK((fd = open("by-mode", O_WRONLY | O_CREAT | O_EXCL, mode)) >= 0 &&
		      fstat(fd, &stat) == 0);
		printf("mode %o gives %o\n", mode, stat.st_mode & 07777);
		CHECK(close(fd) == 0 && unlink("by-mode") == 0);
	}
	char a[] = "a-XXXXXX", b[] = "b-XXXXXX", c[] = "c-XXXXXX.end", d[] = "d-XXXXXX.end",
	     e[] = "e-XXXXXX";
	show_template("mkstemp", a, mkstemp(a));
	show_template("mkostemp", b, mkostemp(b, O_CLOEXEC));
	show_template("mkstemps", c, mkstemps(c, 4));
	show_template("mkostemps", d, mkostemps(d, 4, O_APPEND));
	show_template("mkstemp64", e, mkstemp64(e));
	FILE *stream = tmpfile();
	CHECK(stream && fprintf(stream, "text\n") == 5 && fseek(stream, 0, SEEK_SET) == 0 &&
	      fgets(bytes, 10, stream));
	printf("tmpfile: %s", bytes);
	CHECK(fclose(stream) == 0);
	fd = memfd_create("name", MFD_ALLOW_SEALING);
	SHOW(write(fd, "0123456789", 10));
	SHOW(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
	SHOW(write(fd, "0123456789", 10));
	return 0;
}
