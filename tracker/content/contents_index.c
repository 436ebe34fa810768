/* The content store's index: see contents_index.h. */
#include "tracker/content/contents_index.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "tracker/content/contents_directory.h"
#include "tracker/content/contents_name.h"
#include "tracker/path/decimal.h"
#include "tracker/path/path.h"
#include "tracker/sys/chunk.h"
#include "tracker/sys/sys.h"

enum { LINE_BYTES_MAX = 20480 }; /* PATH_MAX bytes, each of them four */

const char *contents_reason_name(enum contents_reason reason)
{
	static const char *const NAMES[CONTENTS_REASON_COUNT] = {
		[CONTENTS_DESTROYED] = "destroyed",
		[CONTENTS_GIVEN] = "given",
		[CONTENTS_RESTORED] = "replaced",
	};
	return (unsigned)reason < CONTENTS_REASON_COUNT ? NAMES[reason] : "unknown";
}

/* The digits of a mode's permissions: four, octal. */
static char *write_mode(char *at, mode_t mode)
{
	for (int shift = 9; shift >= 0; shift -= 3)
		*at++ = (char)('0' + ((mode >> shift) & 7));
	return at;
}

/* A line of the index, without its newline.  Returns its length or -ENAMETOOLONG. */
static int make_line(const struct version *version, const struct contents_source *source,
		     char *ret_line, size_t capacity)
{
	const char *word = contents_reason_name(source->reason);
	char *at = decimal_write(ret_line, sys_realtime_ns());

	*at++ = ' ';
	contents_name(version, at);
	at += strlen(at);
	*at++ = ' ';
	memcpy(at, word, strlen(word));
	at += strlen(word);
	*at++ = ' ';
	at = write_mode(at, source->mode);
	*at++ = ' ';
	int length = path_escape(source->path, at, capacity - (size_t)(at - ret_line) - 1);
	return length < 0 ? length : (int)(at - ret_line) + length;
}

/* Adds a line by one write, which others' writes do not mix with (open(2), O_APPEND). */
static int append(int directory, char *line, size_t length)
{
	struct stat stat;
	char last = '\n';
	int fd = sys_openat(directory, CONTENTS_INDEX,
			    O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
			    0600);

	if (fd < 0)
		return fd;
	int error = sys_fstat(fd, &stat);
	if (error == 0 && (!S_ISREG(stat.st_mode) || stat.st_nlink != 1))
		error = -EBADMSG;
	if (error == 0 && !sys_may_be_this_large((uint64_t)stat.st_size + length + 2))
		error = -EFBIG;
	if (error == 0) {
		/* A line whose writer was killed is followed by a new one; empty ones mean
		 * nothing. */
		if (stat.st_size > 0)
			(void)sys_pread(fd, &last, 1, stat.st_size - 1);
		line[0] = '\n';
		line[length + 1] = '\n';
		bool torn = last != '\n';
		error = contents_write(fd, line + !torn, length + 1 + torn);
	}
	(void)sys_close(fd);
	return error;
}

static int note_in(int directory, const struct version *version,
		   const struct contents_source *source, char *memory, size_t capacity)
{
	/* a newline goes before it, too */
	int length = make_line(version, source, memory + 1, capacity - 1);
	return length < 0 ? length : append(directory, memory, (size_t)length);
}

static CONTENTS_APART int note_on_stack(int directory, const struct version *version,
					const struct contents_source *source)
{
	char memory[CONTENTS_SMALL_CHUNK_BYTES];
	return note_in(directory, version, source, memory, sizeof(memory));
}

void contents_index_append(int directory, const struct version *version,
			   const struct contents_source *source)
{
	char *chunk = chunk_acquire();
	int error = chunk ? note_in(directory, version, source, chunk, CHUNK_BYTES)
			  : note_on_stack(directory, version, source);

	chunk_release(chunk);
	if (error != -ENAMETOOLONG)
		return;
	long address = sys_mmap(LINE_BYTES_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1);
	if (address < 0 &&
	    address >= -4095) /* the kernel's errors are the last page of addresses */
		return;
	(void)note_in(directory, version, source, (char *)address, LINE_BYTES_MAX);
	(void)sys_munmap((void *)address, LINE_BYTES_MAX);
}
