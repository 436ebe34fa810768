/*
 * Runs a harness without libFuzzer: PROGRAM DIRECTORY [RUNS [SEED]].
 *
 * Each file of the directory is an input.  Then come RUNS mutations (default: 2,000) of these files and of nothing, by a
 * generator that SEED starts: the same arguments are the same inputs.  An input that ends the program is left in
 * the file `crash-input` of the current directory.
 */
#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz_harness.h"
#include "support.h"

enum { INPUTS_MAX = 512, INPUT_BYTES_MAX = 1 << 16 };

static struct {
	uint8_t *bytes;
	size_t size;
} inputs[INPUTS_MAX] = { { NULL, 0 } };
static size_t input_count = 1;
static uint64_t state;
static const uint8_t *running;
static size_t running_bytes;

static uint64_t draw(uint64_t below)
{
	return below ? next_random(&state) % below : 0;
}

static void add(const char *directory, const char *name)
{
	char path[4096];
	struct stat stat;

	(void)snprintf(path, sizeof(path), "%s/%s", directory, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &stat))
		err(2, "%s", path);
	if (S_ISREG(stat.st_mode) && input_count < INPUTS_MAX && stat.st_size <= INPUT_BYTES_MAX) {
		uint8_t *bytes = malloc((size_t)stat.st_size + 1);
		ssize_t size = bytes ? read(fd, bytes, (size_t)stat.st_size) : -1;
		if (size < 0)
			err(2, "%s", path);
		inputs[input_count].bytes = bytes;
		inputs[input_count++].size = (size_t)size;
	}
	(void)close(fd);
}

static void keep_input(int signal)
{
	int fd = open("crash-input", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd >= 0 && write(fd, running, running_bytes) == (ssize_t)running_bytes)
		(void)!write(2, "the input is in crash-input\n", 28);
	(void)raise(signal);
}

static void run(const uint8_t *bytes, size_t size)
{
	/* of exactly that size, so that a sanitizer finds what reads behind it */
	uint8_t *exact = malloc(size ? size : 1);
	if (!exact)
		err(2, "memory");
	if (size)
		memcpy(exact, bytes, size);
	running = exact;
	running_bytes = size;
	(void)LLVMFuzzerTestOneInput(exact, size);
	free(exact);
}

/* One change: a byte, a number at an edge, a piece doubled, taken out, or of another input. */
static size_t mutate(uint8_t *bytes, size_t size)
{
	static const uint8_t EDGES[] = { 0,    1,   0x7f, 0x80, 0xff, '\n', '"',
					 '\\', '/', '*',  '[',  '{',  ' ' };
	size_t at = draw(size + 1), length = draw(draw(2) ? 8 : 256);

	switch (draw(6)) {
	case 0:
		if (at < size)
			bytes[at] = (uint8_t)draw(256);
		return size;
	case 1:
		if (at < size)
			bytes[at] = EDGES[draw(sizeof(EDGES))];
		return size;
	case 2:
		if (at < size)
			bytes[at] ^= (uint8_t)(1 << draw(8));
		return size;
	case 3: /* out */
		length = length < size - at ? length : size - at;
		memmove(bytes + at, bytes + at + length, size - at - length);
		return size - length;
	case 4: { /* doubled */
		length = length < size - at ? length : size - at;
		if (size + length > INPUT_BYTES_MAX)
			return size;
		memmove(bytes + at + length, bytes + at, size - at);
		return size + length;
	}
	default: { /* of another */
		size_t other = draw(input_count), from = draw(inputs[other].size + 1);
		length = length < inputs[other].size - from ? length : inputs[other].size - from;
		if (size + length > INPUT_BYTES_MAX)
			return size;
		memmove(bytes + at + length, bytes + at, size - at);
		if (length)
			memcpy(bytes + at, inputs[other].bytes + from, length);
		return size + length;
	}
	}
}

int main(int argc, char **argv)
{
	static uint8_t bytes[INPUT_BYTES_MAX];
	unsigned long long runs = argc > 2 ? strtoull(argv[2], NULL, 10) : 2000;

	state = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
	state = state * 0x9e3779b97f4a7c15U + 1;
	if (argc < 2)
		errx(2, "usage: %s DIRECTORY [RUNS [SEED]]", argv[0]);
	struct dirent **names;
	int count = scandir(argv[1], &names, NULL, alphasort);
	if (count < 0)
		err(2, "%s", argv[1]);
	for (int i = 0; i < count; i++) {
		add(argv[1], names[i]->d_name);
		free(names[i]);
	}
	free(names);
	if (input_count == 1)
		errx(2, "%s: no input", argv[1]);
	struct sigaction action = { .sa_handler = keep_input,
				    .sa_flags = (int)(SA_RESETHAND | SA_NODEFER) };
	(void)sigaction(SIGABRT, &action, NULL);
	(void)sigaction(SIGSEGV, &action, NULL);
	for (size_t i = 0; i < input_count; i++)
		run(inputs[i].bytes, inputs[i].size);
	for (unsigned long long i = 0; i < runs; i++) {
		size_t from = draw(input_count), size = inputs[from].size;
		if (size)
			memcpy(bytes, inputs[from].bytes, size);
		for (uint64_t changes = 1 + draw(8); changes; changes--)
			size = mutate(bytes, size);
		run(bytes, size);
	}
	for (size_t i = 1; i < input_count; i++)
		free(inputs[i].bytes);
	return 0;
}
