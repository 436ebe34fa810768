/* Hazard: programs of another C library.  musl's loader ends a program with "symbol not found", exit 127, when a preloaded
 * library needs a name that musl has not; a static program has no loader at all. */
#include "check.h"

static const char SOURCE[] = "#include <fcntl.h>\n#include <stdio.h>\n#include "
			     "<stdlib.h>\n#include <string.h>\n#include <unistd.h>\n"
			     "int main(int argc, char **argv)\n{\n"
			     "	char bytes[100];\n"
			     "	int fd = open(\"file\", O_RDONLY);\n"
			     "	printf(\"%d %d\\n\", fd, (int)read(fd, bytes, 100));\n"
			     "	FILE *stream = fopen(\"file\", \"r\");\n"
			     "	printf(\"%s\", fgets(bytes, 100, stream));\n"
			     "	printf(\"%d\\n\", rename(\"missing\", \"other\"));\n"
			     "	fflush(stdout);\n"
			     "	printf(\"%d\\n\", system(\"exit 4\"));\n"
			     "	fflush(stdout);\n"
			     "	if (argc == 1) execl(argv[0], argv[0], \"again\", (char *)0);\n"
			     "	return 3;\n}\n";

int main(void)
{
	dup2(1, 2);
	if (!quietly("command -v musl-gcc"))
		skip("no musl-gcc (Debian: musl-tools)");
	write_file("program.c", SOURCE, 0644);
	write_file("file", "the file\n", 0644);
	CHECK(quietly("musl-gcc -static -o static program.c"));
	SHOW(system("./static"));
	if (!quietly("musl-gcc -o dynamic program.c && ls /lib/ld-musl-*.so.1"))
		skip("no loader of musl");
	SHOW(system("./dynamic"));
	char *const argv[] = { (char *)"./dynamic", NULL };
	show_run("dynamic", argv);
	return 0;
}
