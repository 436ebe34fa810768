/* Hazard: a program built with AddressSanitizer ends at its start when another library comes before the sanitizer's
 * ("ASan runtime does not come first in initial library list"). */
#include "check.h"

static const char SOURCE[] =
	"#include <fcntl.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
	"int main(int argc, char **argv)\n{\n"
	"	char bytes[100], *more = malloc(10);\n"
	"	int fd = open(\"file\", O_RDONLY);\n"
	"	long count = read(fd, bytes, sizeof(bytes));\n"
	"	printf(\"%d %ld %d\\n\", fd, count, close(fd));\n"
	"	FILE *stream = fopen(\"file\", \"r\");\n"
	"	puts(fgets(bytes, 100, stream));\n"
	"	fclose(stream);\n"
	"	fflush(stdout);\n"
	"	more[argc > 1 ? 10 : 9] = 0;\n" /* with an argument: one byte too far */
	"	free(more);\n	(void)argv;\n	return 3;\n}\n";

static void with(const char *what, const char *compile)
{
	printf("-- %s\n", what);
	fflush(stdout);
	if (!quietly(compile)) {
		printf("cannot be built here\n");
		return;
	}
	SHOW(system("./program"));
	SHOW(system("./program far 2>&1 | grep -o 'ERROR: [A-Za-z]*: [a-z-]*'"));
}

int main(void)
{
	dup2(1, 2);
	if (!quietly("command -v gcc || command -v clang"))
		skip("no compiler");
	write_file("program.c", SOURCE, 0644);
	write_file("file", "the file\n", 0644);
	with("gcc, in the program",
	     "gcc -g -fsanitize=address -static-libasan -o program program.c");
	with("clang", "clang -g -fsanitize=address -o program program.c");
	with("gcc, undefined behaviour", "gcc -g -fsanitize=undefined -o program program.c");
	/* With the runtime as a library: tests/behaviour/test_sanitizers.py. */
	return 0;
}
