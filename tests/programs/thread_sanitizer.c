/* Hazard: sanitizers that must come first, or keep a shadow of all memory at fixed addresses where a shim maps its own;
 * ThreadSanitizer, as a library and in the program. */
#include "check.h"

static const char SOURCE[] =
	"#include <fcntl.h>\n#include <pthread.h>\n#include <stdio.h>\n#include <unistd.h>\n"
	"static void *work(void *unused)\n{\n	char bytes[10];\n	int fd = open(\"file\", "
	"O_RDONLY);\n"
	"	if (read(fd, bytes, 10) != 9) puts(\"wrong\");\n	close(fd);\n	return "
	"unused;\n}\n"
	"int main(void)\n{\n	pthread_t a, b;\n	pthread_create(&a, 0, work, 0);\n	"
	"pthread_create(&b, 0, work, 0);\n"
	"	pthread_join(a, 0);\n	pthread_join(b, 0);\n	puts(\"done\");\n	return "
	"3;\n}\n";

static void with(const char *what, const char *compile)
{
	printf("-- %s\n", what);
	fflush(stdout);
	if (quietly(compile))
		SHOW(system("./program"));
	else
		printf("cannot be built here\n");
}

int main(void)
{
	dup2(1, 2);
	if (!quietly("command -v gcc"))
		skip("no compiler");
	write_file("program.c", SOURCE, 0644);
	write_file("file", "the file\n", 0644);
	with("thread, in the program",
	     "gcc -fsanitize=thread -static-libtsan -o program program.c");
	with("thread", "gcc -fsanitize=thread -o program program.c");
	return 0;
}
