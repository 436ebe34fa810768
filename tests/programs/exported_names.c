/* Hazard: a program that has functions named as libc's, with another meaning, and exports them (as one linked with
 * -rdynamic does): what a shim calls by such a name is the program's. */
#define _EXPORTED __attribute__((visibility("default"), used))

/* No header of libc: it declares these otherwise. */
typedef struct stream FILE;
extern int printf(const char *format, ...);
extern FILE *fopen(const char *path, const char *mode);
extern char *fgets(char *bytes, int size_bytes, FILE *stream);
extern int fclose(FILE *stream);
extern int open(const char *path, int flags, ...);
extern int system(const char *command);
extern void abort(void);
extern int fflush(FILE *stream);
extern long syscall(long number, ...);
extern int rename(const char *from, const char *to);
extern void _exit(int status);

/* dladdr and on_exit are not among them: no program is known that has its own.
 * Any call but main's own is one that a stranger made. */
#define TRAP(name) \
	_EXPORTED double name(double value); \
	_EXPORTED double name(double value) \
	{ \
		printf("%s was called\n", #name); \
		fflush((FILE *)0); \
		_exit(9); \
		return value; \
	}

TRAP(remove)
TRAP(splice)
TRAP(truncate)
TRAP(link)
TRAP(dup)
TRAP(tee)
TRAP(stat)
TRAP(fstat)
TRAP(getcwd)
TRAP(getpid)
TRAP(readlink)
TRAP(getenv)
TRAP(unlinkat)
TRAP(clock_gettime)
TRAP(atexit)
TRAP(fileno)
TRAP(creat)
TRAP(dup3)
TRAP(pread)
TRAP(copy_file_range)

int main(void)
{
	char bytes[100];
	int fd = open("file", 0101 /* O_WRONLY | O_CREAT */, 0644);
	printf("open %d, write %ld\n", fd, syscall(1 /* write, x86-64 */, fd, "the file\n", 9L));
	FILE *stream = fopen("file", "r");
	printf("%s", stream ? fgets(bytes, 100, stream) : "none\n");
	if (stream)
		fclose(stream);
	printf("rename %d\n", rename("file", "renamed"));
	fflush((FILE *)0);
	printf("system %d\n", system("cat renamed"));
	return 0;
}
