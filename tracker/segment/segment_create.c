/*
 * Making a segment.  Apart from the rest of segment.h because only the program does it: the
 * library inside a stranger's process never holds this code, nor libc's formatted output.
 */
#include "tracker/segment/segment_create.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "config/fingerprint.h"
#include "tracker/segment/index.h"
#include "tracker/segment/segment.h"
#include "tracker/segment/tables.h"
#include "tracker/sys/sys.h"

enum {
	SPARSE = -1,           /* of a segment that takes blocks as it is used */
	HALVINGS_MAX = 8,      /* how often segment_create() tries again smaller */
	AT_ONCE_FILES = 16384, /* where all blocks are taken at once, or room is short */
	AT_ONCE_ARENA_BYTES = 4194304,
	INSTRUCTIONS_OF_A_SCOPE = 4, /* that there is room for, were all scopes in use */
	INSTRUCTION_DIRECTORIES = 2048,
	PROTECTED_MAX = 4096,
	KEPT_MAX = 32768,
	INDEXED_MAX = (1 << INDEX_SLOT_BITS) - 1, /* slots that a word can name */
	PAGE_BYTES = 4096,
};

static uint64_t aligned(uint64_t bytes)
{
	return (bytes + 63) & ~UINT64_C(63);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Fills a header for the settings' sizes.  halvings: of all of them; SPARSE: none, and files and paths may be as many
 * as the settings say. */
static void plan(struct segment_header *header, const struct settings *settings, int halvings)
{
	const bool is_sparse = halvings == SPARSE;
	const uint64_t files = least(settings->session_files,
				     is_sparse ? INDEXED_MAX : AT_ONCE_FILES),
		       inodes = least(files * 2, INDEXED_MAX),
		       arena_bytes = is_sparse ? settings->session_arena_bytes
					       : least(settings->session_arena_bytes,
						       AT_ONCE_ARENA_BYTES);
	if (is_sparse)
		halvings = 0;
	const uint64_t capacity[TABLE_COUNT] = {
		[TABLE_PROCESSES] = settings->session_processes,
		[TABLE_SCOPES] = settings->session_scopes,
		[TABLE_CAPTURES] = settings->session_commands,
		[TABLE_COMMANDS] = settings->session_commands,
		[TABLE_FILES] = files,
		[TABLE_INODES] = inodes,
		[TABLE_FILE_INDEX] = files * 2, /* at most half full */
		[TABLE_INODE_INDEX] = inodes * 2,
		[TABLE_DELIVERIES] = settings->session_deliveries,
		[TABLE_BASELINES] = settings->session_deliveries,
		[TABLE_LINE_RANGES] = settings->session_deliveries / 16,
		[TABLE_INSTRUCTIONS] = settings->session_scopes * INSTRUCTIONS_OF_A_SCOPE,
		[TABLE_INSTRUCTION_DIRECTORIES] = INSTRUCTION_DIRECTORIES,
		[TABLE_REMEMBERED] = 256,
		[TABLE_UNREPORTED] = UNREPORTED_MAX,
		[TABLE_KEPT] = least(files * 2, KEPT_MAX),
		[TABLE_KNOWN] = 8192, /* one for 2 KiB of a part of the packs */
		[TABLE_PROTECTED] = PROTECTED_MAX,
		[TABLE_USED] = TABLE_USED,
	};
	uint64_t offset = aligned(sizeof(*header) + header->journal_bytes +
				  header->contents_path_bytes + header->undo_path_bytes) +
			  SEGMENT_NOTES * sizeof(uint64_t);

	header->settings_offset = offset;
	offset += aligned(sizeof(*settings));
	header->text_offset = offset;
	header->text_bytes = SETTINGS_TEXT_BYTES_MAX;
	offset += aligned(SETTINGS_TEXT_BYTES_MAX);
	for (int i = 0; i < TABLE_COUNT; i++) {
		uint64_t slots = capacity[i] >> halvings;
		header->tables[i] = (struct segment_extent){
			.offset = offset,
			.slot_bytes = SEGMENT_SLOT_BYTES[i],
			.capacity = slots < SEGMENT_CAPACITY_MIN ? SEGMENT_CAPACITY_MIN : slots,
		};
		offset += aligned(header->tables[i].capacity * SEGMENT_SLOT_BYTES[i]);
	}
	header->arena_offset = offset;
	header->arena_bytes = aligned(arena_bytes >> halvings);
	header->size_bytes = offset + header->arena_bytes;
}

static int write_all(int fd, const void *data, size_t size_bytes, off_t offset)
{
	while (size_bytes > 0) {
		ssize_t wrote = sys_call6(SYS_pwrite64, fd, (long)data, (long)size_bytes, offset, 0,
					  0);
		if (wrote == -EINTR)
			continue;
		if (wrote <= 0)
			return wrote < 0 ? (int)wrote : -EIO;
		data = (const char *)data + wrote;
		size_bytes -= (size_t)wrote;
		offset += wrote;
	}
	return 0;
}

static void hexadecimal(const unsigned char *bytes, size_t count, char *ret_text)
{
	static const char DIGITS[] = "0123456789abcdef";
	for (size_t i = 0; i < count; i++) {
		ret_text[2 * i] = DIGITS[bytes[i] >> 4];
		ret_text[2 * i + 1] = DIGITS[bytes[i] & 15];
	}
	ret_text[2 * count] = '\0';
}

/* Of a segment that no process has used yet. */
static struct segment_header blank_header(void)
{
	return (struct segment_header){
		.magic = SEGMENT_MAGIC,
		.version = SEGMENT_VERSION,
		.word_bits = 64,
		.header_bytes = sizeof(struct segment_header),
		.fingerprint = settings_fingerprint(),
		.created_realtime_ns = sys_realtime_ns(),
		.epoch = 1,
		.next_capture = 1,
		.next_command = 1,
		.undo_boundary = 1,
		.arena_used = SEGMENT_ARENA_FIRST,
	};
}

int segment_create_private(const struct settings *settings, const char *text, size_t text_bytes,
			   struct segment *ret_segment)
{
	struct segment_header header = blank_header();

	if (text_bytes > SETTINGS_TEXT_BYTES_MAX)
		return -ENOMEM;
	(void)snprintf(header.nonce, sizeof(header.nonce), "seen-%016d", 0);
	header.next_serial = 1;
	plan(&header, settings, SPARSE);
	unsigned char *memory = mmap(NULL, header.size_bytes, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return -ENOMEM;
	memcpy(memory, &header, sizeof(header));
	memcpy(memory + header.settings_offset, settings, sizeof(*settings));
	memcpy(memory + header.text_offset, text, text_bytes);
	int error = segment_view(memory, header.size_bytes, ret_segment);
	if (error < 0)
		(void)munmap(memory, header.size_bytes);
	return error;
}

/* Gives a part of a file its blocks. */
static int allocate_part(int fd, uint64_t from, uint64_t to)
{
	int error;

	do
		error = sys_fallocate(fd, 0, (off_t)from, (off_t)(to - from));
	while (error == -EINTR);
	if (error == -EOPNOTSUPP) /* libc's version then writes to every block */
		error = -posix_fallocate(fd, (off_t)from, (off_t)(to - from));
	return error;
}

/* Does madvise(2) give a page of a file its block?  qemu's user mode says so of what it passes over. */
static bool can_populate(int fd, uint64_t offset)
{
	void *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
	bool can = page != MAP_FAILED && madvise(page, PAGE_BYTES, MADV_POPULATE_WRITE) == 0 &&
		   lseek(fd, (off_t)offset, SEEK_DATA) == (off_t)offset;

	if (page != MAP_FAILED)
		(void)munmap(page, PAGE_BYTES);
	return can;
}

/* In memory a block is a page, and to give each one at once takes most of a start.  So there the large
 * tables and the arena get theirs as they are used, where the file system has room for all now.  So it is on those
 * disks' file systems that reserve a block before a page may be written to, and write to it in place. */
static bool may_grow(int fd, const struct segment_header *header)
{
	struct statfs system;

	if (sysconf(_SC_PAGESIZE) != PAGE_BYTES || fstatfs(fd, &system) < 0)
		return false;
	unsigned long type = (unsigned long)system.f_type;
	return (type == TMPFS_MAGIC || type == EXT4_SUPER_MAGIC || type == XFS_SUPER_MAGIC) &&
	       system.f_bsize > 0 &&
	       (uint64_t)system.f_bavail * (uint64_t)system.f_bsize > header->size_bytes;
}

/* Gives a file that may grow the blocks that it has from the beginning. */
static int allocate_beginning(int fd, struct segment_header *header)
{
	const struct segment_extent *from = &header->tables[TABLE_FILES],
				    *to = &header->tables[TABLE_LINE_RANGES];
	uint64_t page = (from->offset + PAGE_BYTES) / PAGE_BYTES * PAGE_BYTES;

	if (sys_call3(SYS_ftruncate, fd, (long)header->size_bytes, 0) < 0 ||
	    !can_populate(fd, page))
		return -EOPNOTSUPP;
	int error = allocate_part(fd, 0, from->offset);
	if (error == 0)
		error = allocate_part(fd, to->offset, header->arena_offset + SEGMENT_ARENA_FIRST);
	if (error < 0)
		return error;
	header->grows = SEGMENT_GROWS;
	header->arena_room = SEGMENT_ARENA_FIRST;
	return 0;
}

/* Plans a segment as large as there is room for, and gives its file the blocks. */
static int allocate(int fd, const struct settings *settings, struct segment_header *header)
{
	int error = -EFBIG;

	for (int halvings = SPARSE;
	     halvings <= HALVINGS_MAX && (error == -ENOSPC || error == -EFBIG); halvings++) {
		plan(header, settings, halvings);
		error = -EFBIG;
		if (!sys_may_be_this_large(header->size_bytes))
			continue;
		(void)sys_call3(SYS_ftruncate, fd, 0, 0);
		if (may_grow(fd, header) && allocate_beginning(fd, header) == 0)
			return 0;
		if (halvings != SPARSE)
			error = allocate_part(fd, 0, header->size_bytes);
	}
	return error;
}

int segment_create(const char *directory, const char *name, const void *nonce_random,
		   const char *boot_id, const struct settings *settings, const char *text,
		   size_t text_bytes, const char *journal, const char *contents, const char *undo)
{
	char path[SEGMENT_PATH_BYTES], temporary[SEGMENT_PATH_BYTES];
	struct segment_header header = blank_header();
	uint64_t random;

	header.journal_bytes = journal ? strlen(journal) + 1 : 0;
	header.contents_path_bytes = contents ? strlen(contents) + 1 : 0;
	header.undo_path_bytes = undo ? strlen(undo) + 1 : 0;
	if (header.journal_bytes > SEGMENT_PATH_BYTES ||
	    header.contents_path_bytes > SEGMENT_PATH_BYTES ||
	    header.undo_path_bytes > SEGMENT_UNDO_PATH_BYTES ||
	    text_bytes > SETTINGS_TEXT_BYTES_MAX || strlen(name) >= sizeof(header.name) ||
	    strlen(boot_id) >= sizeof(header.boot_id) ||
	    snprintf(path, sizeof(path), "%s/segment", directory) >= (int)sizeof(path) ||
	    snprintf(temporary, sizeof(temporary), "%s/.segment.%d.%llx", directory,
		     (int)sys_getpid(),
		     (unsigned long long)sys_boottime_ns()) >= (int)sizeof(temporary))
		return -ENAMETOOLONG;
	memcpy(header.name, name, strlen(name) + 1);
	memcpy(header.boot_id, boot_id, strlen(boot_id) + 1);
	memcpy(&random, nonce_random, sizeof(random));
	memcpy(header.nonce, "seen-", 5);
	hexadecimal((const unsigned char *)nonce_random, 8, header.nonce + 5);
	/* Serials of two sessions never meet: they begin at a random place. */
	header.next_serial = (random >> 16 | 1) << 8;

	int fd = sys_open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fd;
	int error = allocate(fd, settings, &header);
	if (error == 0)
		error = write_all(fd, settings, sizeof(*settings), (off_t)header.settings_offset);
	if (error == 0)
		error = write_all(fd, text, text_bytes, (off_t)header.text_offset);
	if (error == 0 && journal)
		error = write_all(fd, journal, header.journal_bytes, sizeof(header));
	if (error == 0 && contents)
		error = write_all(fd, contents, header.contents_path_bytes,
				  (off_t)(sizeof(header) + header.journal_bytes));
	if (error == 0 && undo)
		error = write_all(fd, undo, header.undo_path_bytes,
				  (off_t)(sizeof(header) + header.journal_bytes +
					  header.contents_path_bytes));
	if (error == 0)
		error = write_all(fd, &header, sizeof(header), 0);
	(void)sys_close(fd);
	if (error == 0 && link(temporary, path) < 0)
		error = -errno;
	(void)unlink(temporary);
	return error;
}

bool segment_has_settings(const struct segment *segment, const struct settings *settings,
			  const char *text, size_t text_bytes)
{
	return text_bytes <= segment->text_bytes &&
	       memcmp(segment->settings, settings, sizeof(*settings)) == 0 &&
	       memcmp(segment->text, text, text_bytes) == 0;
}

void segment_write_settings(const struct segment *segment, const struct settings *settings,
			    const char *text, size_t text_bytes)
{
	if (text_bytes > segment->text_bytes)
		return;
	memcpy((unsigned char *)segment->header + (segment->text - (const char *)segment->header),
	       text, text_bytes);
	memcpy((unsigned char *)segment->header + ((const unsigned char *)segment->settings -
						   (const unsigned char *)segment->header),
	       settings, sizeof(*settings));
}
