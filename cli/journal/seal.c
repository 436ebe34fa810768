/* The seal: see seal.h. */
#include "cli/journal/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/journal/seal_digest.h"
#include "tracker/sys/sys.h"

enum {
	LINE_BYTES = 128,           /* longer than any line */
	FILE_BYTES_MAX = 512 << 20, /* more than the blocks of 2^32 units take */
};

static const uint64_t UNDONE_WAIT_NS = 50000000, UNDONE_PAUSE_NS = 1000000;
static const uint64_t LOCK_WAIT_NS = 2000000000, LOCK_PAUSE_NS = 10000000;
static const char MAGIC[] = "seen-seal ", VERSION[] = "1 ";

static void pause_for(uint64_t ns)
{
	const struct timespec time = { .tv_nsec = (long)ns };
	(void)nanosleep(&time, NULL);
}

/* ---- the file ---- */

int seal_path(const char *journal_path, char *ret_path, size_t capacity)
{
	const char *slash = strrchr(journal_path, '/');
	int directory = slash ? (int)(slash + 1 - journal_path) : 0;
	int length = snprintf(ret_path, capacity, "%.*sseal", directory, journal_path);
	return length < 0 || (size_t)length >= capacity ? -ENAMETOOLONG : 0;
}

/* Opens the seal's file, locked so that it is read whole and extended by one at a time.  The
 * lock goes with the descriptor. */
static int open_locked(const char *path, int flags, int lock, int *ret_fd)
{
	uint64_t until_ns = sys_boottime_ns() + LOCK_WAIT_NS;
	struct stat stat;
	int error = 0;
	int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &stat) < 0)
		error = -errno;
	else if (!S_ISREG(stat.st_mode))
		error = -EBADMSG;
	else if (lock == LOCK_EX && (stat.st_uid != geteuid() || (stat.st_mode & 022)))
		error = -EPERM;
	while (error == 0 && flock(fd, lock | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			error = -errno;
		else if (sys_boottime_ns() > until_ns)
			error = -EAGAIN;
		else
			pause_for(LOCK_PAUSE_NS);
	}
	if (error < 0) {
		(void)close(fd);
		return error;
	}
	*ret_fd = fd;
	return 0;
}

static int head_line(const struct seal *seal, char *ret_line)
{
	char digest[SEAL_TEXT_BYTES];
	return snprintf(ret_line, LINE_BYTES, "%s%s%s %s\n", MAGIC, VERSION, seal->nonce,
			seal_digest_text(seal->head_digest, digest));
}

static int block_line(const struct seal_block *block, char *ret_line)
{
	char digest[SEAL_TEXT_BYTES];
	return snprintf(ret_line, LINE_BYTES, "%" PRIu64 " %" PRIu64 " %s\n", block->from,
			block->to, seal_digest_text(block->digest, digest));
}

static int parse_head(const char *line, size_t bytes, struct seal *seal)
{
	static const size_t FIXED = sizeof(MAGIC) - 1 + sizeof(VERSION) - 1;
	char again[LINE_BYTES], digest[SEAL_TEXT_BYTES + 1] = "";
	char nonce[JOURNAL_NONCE_BYTES + 1] = "";

	if (bytes >= LINE_BYTES || bytes < FIXED || memcmp(line, MAGIC, sizeof(MAGIC) - 1) != 0)
		return -EBADMSG;
	if (memcmp(line + sizeof(MAGIC) - 1, VERSION, sizeof(VERSION) - 1) != 0)
		return -EPROTO;
	memcpy(again, line, bytes);
	again[bytes] = '\0';
	if (sscanf(again + FIXED, "%24s %65s", nonce, digest) != 2 ||
	    strlen(nonce) >= sizeof(seal->nonce) || !seal_is_digest(digest))
		return -EBADMSG;
	memcpy(seal->nonce, nonce, sizeof(seal->nonce));
	seal_digest_parse(digest, seal->head_digest);
	/* one way to write it: who edits a seal does not get away with what reads the same */
	return (size_t)head_line(seal, again) == bytes && memcmp(again, line, bytes) == 0
		       ? 0
		       : -EBADMSG;
}

static bool parse_block(const char *line, size_t bytes, uint64_t from, struct seal_block *ret_block)
{
	char again[LINE_BYTES], digest[SEAL_TEXT_BYTES + 1] = "";

	if (bytes >= sizeof(again))
		return false;
	memcpy(again, line, bytes);
	again[bytes] = '\0';
	if (sscanf(again, "%" SCNu64 " %" SCNu64 " %65s", &ret_block->from, &ret_block->to,
		   digest) != 3 ||
	    !seal_is_digest(digest) || ret_block->from != from || ret_block->to <= from ||
	    ret_block->to > UINT32_MAX)
		return false;
	seal_digest_parse(digest, ret_block->digest);
	return (size_t)block_line(ret_block, again) == bytes && memcmp(again, line, bytes) == 0;
}

static int add_block(struct seal *seal, const struct seal_block *block)
{
	/* grows at each power of two */
	if ((seal->block_count & (seal->block_count - 1)) == 0) {
		size_t capacity = seal->block_count ? 2 * seal->block_count : 1;
		struct seal_block *more = reallocarray(seal->blocks, capacity,
						       sizeof(seal->blocks[0]));
		if (!more)
			return -ENOMEM;
		seal->blocks = more;
	}
	seal->blocks[seal->block_count++] = *block;
	return 0;
}

uint64_t seal_end_unit(const struct seal *seal)
{
	return seal->block_count ? seal->blocks[seal->block_count - 1].to : JOURNAL_UNITS_FIRST;
}

static int parse(const char *text, size_t bytes, struct seal *seal)
{
	uint64_t line_number = 0;

	for (size_t at = 0; at < bytes;) {
		const char *end = memchr(text + at, '\n', bytes - at);
		if (!end) {
			seal->torn = true;
			break;
		}
		size_t length = (size_t)(end + 1 - (text + at));
		struct seal_block block;
		int error = 0;
		if (++line_number == 1)
			error = parse_head(text + at, length, seal);
		else if (parse_block(text + at, length, seal_end_unit(seal), &block))
			error = add_block(seal, &block);
		else
			seal->bad_line = line_number;
		if (error < 0)
			return error;
		if (seal->bad_line)
			break;
		at += length;
		seal->whole_bytes = at;
	}
	return line_number > 0 ? 0 : -ENOENT;
}

/* Reads what an open descriptor shows.  The size is taken first: what is added meanwhile is not
 * this reader's. */
static int read_all(int fd, struct seal *ret_seal)
{
	struct seal seal = { .torn = false };
	struct stat stat;
	size_t got = 0;

	if (fstat(fd, &stat) < 0)
		return -errno;
	if (stat.st_size > FILE_BYTES_MAX)
		return -EFBIG;
	size_t bytes = (size_t)stat.st_size;
	char *text = malloc(bytes + 1);
	int error = text ? 0 : -ENOMEM;
	while (error == 0 && got < bytes) {
		ssize_t part = pread(fd, text + got, bytes - got, (off_t)got);
		if (part < 0 && errno != EINTR)
			error = -errno;
		else if (part == 0)
			bytes = got;
		else if (part > 0)
			got += (size_t)part;
	}
	if (error == 0)
		error = parse(text, bytes, &seal);
	free(text);
	if (error < 0) {
		seal_destroy(&seal);
		return error;
	}
	*ret_seal = seal;
	return 0;
}

int seal_read(const char *path, struct seal *ret_seal)
{
	int fd;
	int error = open_locked(path, O_RDONLY, LOCK_SH, &fd);

	if (error < 0)
		return error;
	error = read_all(fd, ret_seal);
	(void)close(fd);
	return error;
}

void seal_destroy(struct seal *seal)
{
	free(seal->blocks);
	seal->blocks = NULL;
	seal->block_count = 0;
}

static const unsigned char *last_digest(const struct seal *seal)
{
	return seal->block_count ? seal->blocks[seal->block_count - 1].digest : seal->head_digest;
}

const char *seal_last(const struct seal *seal, char *ret_text)
{
	return seal_digest_text(last_digest(seal), ret_text);
}

/* ---- sealing ---- */

/* Waits for the record's writer, and when the time is over sees to it that it can never be
 * published. */
static void wait_for_record(const struct journal *journal, uint64_t number, uint64_t *deadline_ns)
{
	for (;;) {
		struct journal_head head = seal_head_at(journal, number);
		if (head.op != JOURNAL_NONE && head.op != JOURNAL_FILLING)
			return;
		uint64_t now_ns = sys_boottime_ns();
		if (!*deadline_ns)
			*deadline_ns = now_ns + UNDONE_WAIT_NS;
		if (now_ns < *deadline_ns)
			pause_for(UNDONE_PAUSE_NS);
		else
			(void)journal_abandon(journal, number); /* or it was published meanwhile */
	}
}

/* Adds the blocks for all records behind those of the seal. */
static int add_records(const struct journal *journal, struct seal *seal, struct seal_result *result)
{
	const uint64_t end = journal_end_unit(journal);
	uint64_t deadline_ns = 0, number = seal_end_unit(seal);
	struct seal_block block = { .from = number };

	if (end < number)
		return -EBADMSG;
	/* Records that only a part of can be seen would be taken for something else. */
	if (__atomic_load_n(&journal->header->allocated, __ATOMIC_ACQUIRE) > journal->mapped_units)
		return -ENOMEM;
	while (number < end) {
		wait_for_record(journal, number, &deadline_ns);
		seal_count_record(journal, number, &result->records, &result->abandoned,
				  &result->damaged);
		struct journal_head head = seal_head_at(journal, number);
		number += seal_units_of(&head, number, end);
		if (number - block.from < SEAL_BLOCK_UNITS && number < end)
			continue;
		block.to = number;
		seal_digest_block(journal, last_digest(seal), block.from, block.to, block.digest);
		int error = add_block(seal, &block);
		if (error < 0)
			return error;
		block.from = number;
	}
	return 0;
}

/* Puts the lines behind the first `old_count` blocks into the file; on failure takes them out
 * again. */
static int write_lines(int fd, const struct seal *seal, size_t old_count, bool is_synced)
{
	char *text = malloc((seal->block_count - old_count + 1) * LINE_BYTES);
	size_t bytes = 0, done = 0;
	int error = 0;

	if (!text)
		return -ENOMEM;
	if (seal->whole_bytes == 0)
		bytes += (size_t)head_line(seal, text);
	for (size_t i = old_count; i < seal->block_count; i++)
		bytes += (size_t)block_line(&seal->blocks[i], text + bytes);
	if (ftruncate(fd, (off_t)seal->whole_bytes) < 0) /* a torn line */
		error = -errno;
	while (error == 0 && done < bytes) {
		ssize_t wrote = pwrite(fd, text + done, bytes - done,
				       (off_t)(seal->whole_bytes + done));
		if (wrote > 0)
			done += (size_t)wrote;
		else if (wrote == 0 || errno != EINTR)
			error = wrote == 0 ? -EIO : -errno;
	}
	if (error == 0 && is_synced && fsync(fd) < 0)
		error = -errno;
	if (error < 0)
		(void)!ftruncate(fd, (off_t)seal->whole_bytes);
	free(text);
	return error;
}

/* A seal that went with the machine's power would let the next one begin anew, and its digests
 * that were kept elsewhere would be found nowhere. */
static int sync_directory(const char *path)
{
	char directory[4096];
	const char *slash = strrchr(path, '/');

	if (snprintf(directory, sizeof(directory), "%.*s", slash ? (int)(slash + 1 - path) : 1,
		     slash ? path : ".") >= (int)sizeof(directory))
		return -ENAMETOOLONG;
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int error = fsync(fd) < 0 ? -errno : 0;
	(void)close(fd);
	return error;
}

static int sync_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	int error = fd < 0 || fsync(fd) < 0 ? -errno : 0;

	if (fd >= 0)
		(void)close(fd);
	return error;
}

int seal_sync(const char *journal_path)
{
	char path[4096];
	int error = seal_path(journal_path, path, sizeof(path));

	if (error == 0)
		error = sync_file(journal_path);
	if (error == 0)
		error = sync_file(path);
	return error == 0 ? sync_directory(path) : error;
}

int seal_append(const char *journal_path, const struct journal *journal, enum seal_sync when,
		struct seal_result *ret_result)
{
	struct seal_result result = { .records = 0 };
	struct seal seal = { .torn = false };
	unsigned char head[SEAL_DIGEST_BYTES];
	char path[4096];
	int fd = -1;
	int error = seal_path(journal_path, path, sizeof(path));

	if (error == 0)
		error = open_locked(path, O_RDWR | O_CREAT, LOCK_EX, &fd);
	if (error < 0)
		return error;
	error = read_all(fd, &seal);
	bool is_new = error == -ENOENT;
	seal_digest_head(journal, head);
	if (is_new) {
		memcpy(seal.nonce, journal->header->nonce, sizeof(seal.nonce));
		memcpy(seal.head_digest, head, sizeof(head));
		error = 0;
	} else if (error == 0 && (seal.bad_line || !seal_digest_equal(seal.head_digest, head))) {
		error = -EBADMSG;
	}
	size_t old_count = seal.block_count;
	if (error == 0)
		error = add_records(journal, &seal, &result);
	if (error == 0 && seal.block_count > old_count) {
		bool is_synced = when == SEAL_SYNC_NOW;
		/* The journal first: else a machine that loses power leaves a seal of records
		 * that are not there. */
		if (is_synced &&
		    msync(journal->units, seal_end_unit(&seal) * JOURNAL_UNIT_BYTES, MS_SYNC) < 0)
			error = -errno;
		if (error == 0)
			error = write_lines(fd, &seal, old_count, is_synced);
		if (error == 0 && is_new && is_synced)
			error = sync_directory(path);
	}
	(void)seal_last(&seal, result.digest);
	seal_destroy(&seal);
	(void)close(fd);
	if (error == 0)
		*ret_result = result;
	return error;
}
