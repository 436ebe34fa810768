/* Hazard: a static glibc program, which no library gets into, and what it starts in turn. */
#include "check.h"

static const char SOURCE[] = "#include <stdio.h>\n#include <stdlib.h>\n"
			     "int main(void)\n{\n	FILE *stream = fopen(\"file\", "
			     "\"r\");\n	char bytes[100];\n	puts(fgets(bytes, 100, stream));\n"
			     "	fflush(stdout);\n	printf(\"%d\\n\", system(\"cat "
			     "file\"));\n	return 3;\n}\n";

int main(void)
{
	dup2(1, 2);
	write_file("program.c", SOURCE, 0644);
	write_file("file", "the file\n", 0644);
	if (!quietly("gcc -static -o program program.c"))
		skip("no static program can be built");
	SHOW(system("./program"));
	char *const argv[] = { (char *)"./program", NULL };
	show_run("program", argv);
	return 0;
}
