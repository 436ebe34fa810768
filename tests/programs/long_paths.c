/* Hazard: paths that do not fit, or are no text: PATH_MAX bytes and more, directories deeper than that, newlines, bytes that
 * are not UTF-8, no bytes at all, dots and slashes without end, a current directory that was removed. */
#include "check.h"

#include <limits.h>

static void use(const char *what, const char *path)
{
	printf("-- %s, %zu bytes\n", what, strlen(path));
	errno = ERRNO_BEFORE;
	int fd = open(path, O_RDWR | O_CREAT, 0644);
	show_line("open", fd, errno);
	if (fd >= 0)
		CHECK(write(fd, "x", 1) == 1 && close(fd) == 0);
	FILE *stream = fopen(path, "r+");
	show_line("fopen", stream != NULL, stream ? ERRNO_BEFORE : errno);
	if (stream)
		fclose(stream);
	SHOW(rename(path, "moved"));
	SHOW(rename("moved", path));
	SHOW(truncate(path, 0));
	SHOW(unlink(path));
	SHOW(openat(AT_FDCWD, path, O_RDONLY));
	SHOW(execl(path, "word", NULL));
	int here = open(".", O_RDONLY | O_DIRECTORY);
	SHOW(chdir(path));
	CHECK(fchdir(here) == 0 && close(here) == 0);
}

int main(int argc, char **argv)
{
	static char path[3 * PATH_MAX];
	char name[NAME_MAX + 2];

	self();
	if (argc > 1 && argv[1]) {
		SHOW(open("file", O_RDONLY));
		return 3;
	}

	dup2(1, 2);
	use("newline", "a\nfile");
	use("not UTF-8", "\xff\xfe\x80");
	use("half a character", "caf\xc3");
	use("control", "\x01\x1b[31m\x7f");
	use("nothing", "");
	use("a slash", "/");
	use("a slash at the end", "name/");
	use("spaces and quotes", " '\"\\ $(x) ");
	memset(name, 'n', sizeof(name));
	name[NAME_MAX] = '\0';
	use("longest name", name);
	memcpy(name + NAME_MAX, "n", 2);
	use("too long a name", name);
	/* ././././name: just fits, then does not. */
	for (int length = PATH_MAX - 3; length <= PATH_MAX + 1; length++) {
		memset(path, 0, sizeof(path));
		for (int i = 0; i < length; i++)
			path[i] = i % 2 ? '/' : '.';
		path[length - 1] = 'f';
		path[length - 2] = '/';
		if (length % 2)
			path[length - 3] = '.';
		use("dots", path);
	}
	memset(path, '/', PATH_MAX + 100);
	use("slashes", path);
	memset(path, 'a', 2 * PATH_MAX);
	path[2 * PATH_MAX] = '\0';
	use("twice the longest", path);
	use("up and down", "../../../../../../../../../../../../../../../../../../../../../../../"
			   "tmp/../tmp/./seen-no-such-folder/x");

	/* Deeper than a path can say. */
	name[200] = '\0';
	int top = open(".", O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < 30; i++)
		CHECK(mkdir(name, 0755) == 0 && chdir(name) == 0);
	printf("-- deep\n");
	SHOW(open("deep", O_RDWR | O_CREAT, 0644));
	SHOW(rename("deep", "moved"));
	SHOW(unlink("moved"));
	SHOW(system("echo from the deep >file; cat file; rm file"));
	for (int i = 0; i < 30; i++)
		CHECK(chdir("..") == 0 && rmdir(name) == 0);
	CHECK(fchdir(top) == 0);

	printf("-- removed\n");
	CHECK(mkdir("folder", 0755) == 0 && chdir("folder") == 0 && rmdir("../folder") == 0);
	SHOW(open("file", O_RDWR | O_CREAT, 0644));
	SHOW(open(".", O_RDONLY) >= 0);
	SHOW(rename("file", "other"));
	SHOW(system("exit 3"));
	show_self("no directory");
	return 0;
}
