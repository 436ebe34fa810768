/* Command lines: see launcher.h. */
#include "tracker/process/launcher.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include "tracker/process/subject.h"
#include "tracker/sys/sys.h"

enum { BYTES_MAX = 1 << 20, PART_BYTES = 1024 };

/* A command line that is read piece by piece: it may be longer than a stack has room for. */
struct words {
	int fd;
	size_t at;
	size_t bytes; /* in `part` */
	char part[PART_BYTES];
};

static bool open_words(uint32_t pid, struct words *ret_words)
{
	char path[PROC_PATH_BYTES];

	proc_path(pid, "cmdline", path);
	ret_words->fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	ret_words->at = ret_words->bytes = 0;
	return ret_words->fd >= 0;
}

/* Goes to a place of the command line. */
static void set_place(struct words *words, size_t place)
{
	words->at = place;
	words->bytes = 0;
}

/* The next byte; -1 at the end. */
static int next_byte(struct words *words)
{
	size_t within = words->at % PART_BYTES;

	if (words->bytes == 0 || within == 0) {
		long count = sys_call6(SYS_pread64, words->fd, (long)words->part,
				       sizeof(words->part), (long)(words->at - within), 0, 0);
		words->bytes = count > 0 ? (size_t)count : 0;
	}
	if (within >= words->bytes)
		return -1;
	words->at++;
	return (unsigned char)words->part[within];
}

/* The length of a command line, and where its second word begins; 0: there is none. */
static size_t measure(struct words *words, size_t *ret_second)
{
	int byte;

	*ret_second = 0;
	set_place(words, 0);
	while (words->at <= BYTES_MAX && (byte = next_byte(words)) >= 0)
		if (byte == '\0' && !*ret_second)
			*ret_second = words->at;
	size_t bytes = words->at;
	if (*ret_second == bytes)
		*ret_second = 0;
	return bytes <= BYTES_MAX ? bytes : 0;
}

/* The base name in the word that ends before a place. */
static size_t base_name_before(struct words *words, size_t place, char *ret_name, size_t capacity)
{
	size_t from = place > capacity ? place - capacity : 0, length = 0;

	set_place(words, from);
	while (words->at < place) {
		int byte = next_byte(words);
		if (byte < 0)
			return 0;
		if (words->at == place)
			break;
		if (byte == '\0' || byte == '/')
			length = 0;
		else
			ret_name[length++] = (char)byte;
	}
	return length;
}

/* Is what follows the first word of one the end of the other, behind the same program? */
static bool ends_with(struct words *words, struct words *launcher)
{
	char name[64], other[64];
	size_t second, launcher_second;
	size_t bytes = measure(words, &second),
	       launcher_bytes = measure(launcher, &launcher_second);
	size_t tail = bytes - second;

	if (!second || !launcher_second || launcher_bytes - launcher_second <= tail)
		return false;
	size_t length = base_name_before(words, second, name, sizeof(name));
	if (!length ||
	    base_name_before(launcher, launcher_bytes - tail, other, sizeof(other)) != length ||
	    memcmp(name, other, length) != 0)
		return false;
	set_place(words, second);
	set_place(launcher, launcher_bytes - tail);
	for (size_t i = 0; i < tail; i++)
		if (next_byte(words) != next_byte(launcher))
			return false;
	return true;
}

bool launcher_passes_on(uint32_t pid, uint32_t launcher_pid)
{
	struct words words, launcher;

	if (!open_words(pid, &words))
		return false;
	bool is = open_words(launcher_pid, &launcher) && ends_with(&words, &launcher);
	if (launcher.fd >= 0)
		(void)sys_close(launcher.fd);
	(void)sys_close(words.fd);
	return is;
}
