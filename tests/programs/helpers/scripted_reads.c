/*
 * A program that reads files by orders: one order a line on standard input, one answer a line on standard output (test_whitelist.py).
 *
 *	open PATH | close FD | dup FD                        descriptor, 0
 *	read FD SIZE | pread FD SIZE OFFSET                  count, bytes, bytes that are not 0 behind them in the buffer
 *	readv FD SIZE SIZE | preadv FD SIZE SIZE OFFSET      the same for the two buffers, one behind the other
 *	map FD SIZE | copy FD PATH | send FD PATH            the same; number of bytes
 *	size FD | seek FD OFFSET WHENCE | bad FD SIZE        number; `bad` reads to where there is no memory
 *	fopen PATH | fclose STREAM | feof STREAM | ftell STREAM | fgets STREAM
 *	fread STREAM SIZE | fread1 STREAM SIZE               as read; fread1: one item of that size
 *	unlocked STREAM SIZE | chk STREAM SIZE               as fread, by its other names
 *	may PATH MODE | write PATH TEXT                      of access(2); number of bytes
 *	thread ORDER | fork ORDER                            in another thread, in a copy
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

size_t __fread_chk(void *buffer, size_t buffer_bytes, size_t item_bytes, size_t items,
		   FILE *stream);

enum { BUFFER_BYTES = 1 << 20, STREAMS = 16 };

static FILE *streams[STREAMS];

static void print_number(long number)
{
	(void)printf("%ld\n", number < 0 ? -(long)errno : number);
}

static void print_bytes(long count, const unsigned char *bytes, size_t capacity)
{
	size_t dirty = 0;

	if (count < 0) {
		print_number(count);
		return;
	}
	(void)printf("%ld ", count);
	for (long i = 0; i < count; i++)
		(void)printf("%02x", bytes[i]);
	for (size_t i = (size_t)count; i < capacity; i++)
		dirty += bytes[i] != 0;
	(void)printf(" %zu\n", dirty);
}

static long copy(int fd, const char *path, int sends)
{
	int to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	long total = 0, count;

	do {
		count = sends ? sendfile(to, fd, NULL, 65536)
			      : copy_file_range(fd, NULL, to, NULL, 65536, 0);
		total += count;
	} while (count > 0);
	(void)close(to);
	return total;
}

static void obey(char *line);

static void *in_thread(void *line)
{
	obey(line);
	return NULL;
}

static void elsewhere(const char *word, char *rest)
{
	pthread_t thread;

	if (strcmp(word, "thread") == 0) {
		if (pthread_create(&thread, NULL, in_thread, rest) == 0)
			(void)pthread_join(thread, NULL);
		return;
	}
	pid_t child = fork();
	if (child == 0) {
		obey(rest);
		(void)fflush(stdout);
		_exit(0);
	}
	(void)waitpid(child, NULL, 0);
}

static void of_streams(const char *word, char **words, unsigned char *buffer)
{
	int number = atoi(words[1]);
	FILE *stream = streams[number];
	size_t size = strtoul(words[2], NULL, 10);

	if (strcmp(word, "fread") == 0)
		print_bytes((long)fread(buffer, 1, size, stream), buffer, size);
	else if (strcmp(word, "fread1") == 0)
		print_bytes((long)(fread(buffer, size, 1, stream) * size), buffer, 0);
	else if (strcmp(word, "unlocked") == 0)
		print_bytes((long)fread_unlocked(buffer, 1, size, stream), buffer, size);
	else if (strcmp(word, "chk") == 0)
		print_bytes((long)__fread_chk(buffer, BUFFER_BYTES, 1, size, stream), buffer, size);
	else if (strcmp(word, "fgets") == 0)
		print_bytes(fgets((char *)buffer, 4096, stream) ? (long)strlen((char *)buffer) : 0,
			    buffer, 0);
	else if (strcmp(word, "feof") == 0)
		print_number(feof(stream) != 0);
	else if (strcmp(word, "ftell") == 0)
		print_number(ftell(stream));
	else if (strcmp(word, "fclose") == 0)
		print_number(fclose(stream));
	else
		print_number(-1);
}

static void obey(char *line)
{
	char none[] = "", *rest = strchr(line, ' ');
	char *words[5] = { none, none, none, none, none };
	unsigned char *buffer = calloc(1, BUFFER_BYTES);
	long numbers[5] = { 0 };
	struct stat stat;

	if (rest && (strncmp(line, "thread ", 7) == 0 || strncmp(line, "fork ", 5) == 0)) {
		*rest = '\0';
		elsewhere(line, rest + 1);
		free(buffer);
		return;
	}
	for (int i = 0; i < 5; i++) {
		char *word = strtok_r(i ? NULL : line, " \n", &rest);
		if (!word)
			break;
		words[i] = word;
		numbers[i] = strtol(word, NULL, 10);
	}
	const char *word = words[0];
	int fd = (int)numbers[1];
	struct iovec parts[2] = { { buffer, (size_t)numbers[2] },
				  { buffer + numbers[2], (size_t)numbers[3] } };

	if (strcmp(word, "open") == 0)
		print_number(open(words[1], O_RDONLY | O_CLOEXEC));
	else if (strcmp(word, "close") == 0)
		print_number(close(fd));
	else if (strcmp(word, "dup") == 0)
		print_number(dup(fd));
	else if (strcmp(word, "read") == 0)
		print_bytes(read(fd, buffer, (size_t)numbers[2]), buffer, (size_t)numbers[2]);
	else if (strcmp(word, "pread") == 0)
		print_bytes(pread(fd, buffer, (size_t)numbers[2], numbers[3]), buffer,
			    (size_t)numbers[2]);
	else if (strcmp(word, "readv") == 0)
		print_bytes(readv(fd, parts, 2), buffer, (size_t)(numbers[2] + numbers[3]));
	else if (strcmp(word, "preadv") == 0)
		print_bytes(preadv(fd, parts, 2, numbers[4]), buffer,
			    (size_t)(numbers[2] + numbers[3]));
	else if (strcmp(word, "map") == 0)
		print_bytes(numbers[2],
			    mmap(NULL, (size_t)numbers[2], PROT_READ, MAP_PRIVATE, fd, 0), 0);
	else if (strcmp(word, "copy") == 0 || strcmp(word, "send") == 0)
		print_number(copy(fd, words[2], word[0] == 's'));
	else if (strcmp(word, "size") == 0)
		print_number(fstat(fd, &stat) == 0 ? stat.st_size : -1);
	else if (strcmp(word, "seek") == 0)
		print_number(lseek(fd, numbers[2], (int)numbers[3]));
	else if (strcmp(word, "bad") == 0)
		print_number(read(fd,
				  mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
				  (size_t)numbers[2]));
	else if (strcmp(word, "may") == 0)
		print_number(access(words[1], (int)numbers[2]));
	else if (strcmp(word, "write") == 0) {
		int to = open(words[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
		print_number(write(to, words[2], strlen(words[2])));
		(void)close(to);
	} else if (strcmp(word, "fopen") == 0) {
		int number = 0;
		while (streams[number])
			number++;
		streams[number] = fopen(words[1], "r");
		print_number(streams[number] ? number : -1);
	} else {
		of_streams(word, words, buffer);
	}
	free(buffer);
}

int main(void)
{
	char line[8192];

	while (fgets(line, sizeof(line), stdin)) {
		obey(line);
		(void)fflush(stdout);
	}
	return 0;
}
