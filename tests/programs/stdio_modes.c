/* Hazard: stdio: fopen's modes with their letters and character sets, freopen without a path, streams closed under the
 * program's feet, and reads that never pass a name that can be interposed. */
#include "check.h"

#include <stdio_ext.h>
#include <wchar.h>

static void try_mode(const char *mode)
{
	write_file("file", "first\nsecond\n", 0644);
	errno = ERRNO_BEFORE;
	FILE *stream = fopen("file", mode);
	printf("fopen \"%s\": ", mode);
	if (!stream) {
		printf("%s\n", strerrorname_np(errno));
		return;
	}
	char bytes[100] = "";
	int fd = fileno(stream);
	char *line = __freadable(stream) ? fgets(bytes, sizeof(bytes), stream) : NULL;
	int put = __fwritable(stream) ? (fseek(stream, 0, SEEK_END), fputs("more\n", stream)) : -1;
	printf("fd %d, flags %d, close at exec %d, line %s, put %d, close %d\n", fd,
	       fcntl(fd, F_GETFL) & ~0100000, fcntl(fd, F_GETFD), line ? "first" : "none", put > 0,
	       fclose(stream));
}

int main(void)
{
	static const char *const MODES[] = { "r",
					     "rb",
					     "re",
					     "r+",
					     "rb+",
					     "r+b",
					     "rm",
					     "rce",
					     "r,ccs=UTF-8",
					     "re,ccs=UTF-8",
					     "w",
					     "we",
					     "wx",
					     "w+",
					     "wxe",
					     "a",
					     "ae",
					     "a+",
					     "ab+",
					     "",
					     "q",
					     "+",
					     "r,ccs=no-such-set",
					     "w,ccs=UTF-8" };
	char bytes[100], *line = NULL;
	size_t capacity = 0;

	for (size_t i = 0; i < sizeof(MODES) / sizeof(MODES[0]); i++)
		try_mode(MODES[i]);

	write_file("file", "first\nsecond\nthird\n", 0644);
	write_file("other", "other\n", 0644);
	FILE *stream = fopen("file", "r");
	SHOW(getline(&line, &capacity, stream));
	SHOW(fgetc(stream));
	SHOW(ungetc('S', stream));
	SHOW(fread(bytes, 1, 4, stream));
	SHOW_POINTER(freopen(NULL, "r", stream));
	SHOW(fileno(stream));
	SHOW_POINTER(fgets(bytes, sizeof(bytes), stream));
	printf("%s", bytes);
	SHOW_POINTER(freopen("other", "r", stream));
	SHOW_POINTER(fgets(bytes, sizeof(bytes), stream));
	printf("%s", bytes);
	SHOW_POINTER(freopen(NULL, "w", stream));
	SHOW_POINTER(freopen("missing", "r", stream));
	SHOW_POINTER(stream = fopen("file", "r"));
	SHOW(close(fileno(stream)));
	SHOW(fclose(stream));
	int fd = open("file", O_RDONLY);
	SHOW_POINTER(stream = fdopen(fd, "r"));
	SHOW_POINTER(fdopen(fd, "w"));
	SHOW(fgetc(stream));
	SHOW(lseek(fd, 0, SEEK_CUR));
	SHOW(fclose(stream));
	SHOW(fcntl(fd, F_GETFD));
	stream = fopen("file", "r,ccs=UTF-8");
	SHOW(fgetwc(stream));
	SHOW(fclose(stream));
	SHOW_POINTER(stream = fmemopen(bytes, sizeof(bytes), "r"));
	SHOW(fclose(stream));
	SHOW_POINTER(stream = open_memstream(&line, &capacity));
	SHOW(fclose(stream));
	SHOW(fclose(stdin));
	SHOW(open("other", O_RDONLY));
	SHOW_POINTER(stream = fopen("file", "r"));
	SHOW(fcloseall());
	free(line);
	/* Standard output is closed from here on; exit flushes what is not there. */
	printf("lost\n");
	return 0;
}
