/* Hazard: a child of another word size: the loader says "wrong ELF class: cannot be preloaded" on the program's standard
 * error unless the library is left out for it. */
#include "check.h"

#if !defined(__x86_64__)
int main(void)
{
	skip("only on x86-64");
}
#else

/* 32-bit programs without libc's start files, which a 64-bit system has not: int $0x80 write and exit. */
static const char ALONE[] = "static const char text[] = \"32 bits\\n\";\n"
			    "static int call(int n, int a, int b, int c)\n"
			    "{ int r; __asm__ volatile(\"int $0x80\" : \"=a\"(r) : \"a\"(n), "
			    "\"b\"(a), \"c\"(b), \"d\"(c) : \"memory\"); return r; }\n"
			    "void _start(void) { call(4, 1, (int)text, 8); call(1, 3, 0, 0); }\n";

static const char WITH_LIBC[] =
	"int puts(const char *); void exit(int); int open(const char *, int, ...);\n"
	"void _start(void) { puts(open(\"file\", 0) >= 0 ? \"32 bits and libc\" : \"no file\"); "
	"exit(4); }\n";

int main(void)
{
	int built = 0;

	dup2(1, 2);
	write_file("file", "the file\n", 0644);
	write_file("alone.c", ALONE, 0644);
	write_file("with-libc.c", WITH_LIBC, 0644);
	if (quietly("gcc -m32 -O1 -nostdlib -nostartfiles -static -fno-pic -no-pie "
		    "-fcf-protection=none -Wl,--build-id=none -o alone alone.c") &&
	    quietly("./alone; test $? = 3")) {
		SHOW(system("./alone"));
		built++;
	}
	if (quietly("libc=$(ls /lib32/libc.so.6 /lib/i386-linux-gnu/libc.so.6 2>/dev/null | head "
		    "-1); test -n \"$libc\" && test -e /lib/ld-linux.so.2 && "
		    "gcc -m32 -O1 -mstackrealign -fno-builtin -fno-pic -no-pie -nostdlib "
		    "-nostartfiles -Wl,-dynamic-linker,/lib/ld-linux.so.2 -o with-libc with-libc.c "
		    "$libc")) {
		SHOW(system("./with-libc"));
		char *const argv[] = { (char *)"./with-libc", NULL };
		show_run("with libc", argv);
		built++;
	}
	if (!built)
		skip("no 32-bit program can be built or run here");
	printf("programs: %d\n", built);
	return 0;
}
#endif
