/* A content in packs, by its version: see pack_find.h. */
#include "tracker/content/pack_find.h"

#include <errno.h>
#include <linux/memfd.h>
#include <sys/mman.h>

#include "tracker/content/pack_code.h"
#include "tracker/content/pack_name.h"
#include "tracker/content/pack_room.h"
#include "tracker/sys/sys.h"

/* A copy in memory of what stands behind a record. */
static int open_inline(const unsigned char *content, size_t size_bytes)
{
	int fd = (int)sys_call3(SYS_memfd_create, (long)"seen", MFD_CLOEXEC, 0);

	if (fd < 0)
		return fd;
	int error = sys_write_aside(fd, (const char *)content, size_bytes, 0);
	if (error == 0)
		return fd;
	(void)sys_close(fd);
	return error;
}

static int open_file(const struct segment *segment, uint64_t place)
{
	char name[PACK_FILE_NAME_BYTES];
	int directory = pack_open_files(segment, place, name);

	if (directory < 0)
		return directory;
	int fd = sys_openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	(void)sys_close(directory);
	return fd;
}

/* Is it the content?  Of a shared copy the size alone is on record. */
static bool may_be(const struct pack_record *record, const struct version *version)
{
	return record->held == PACK_REFLINK
		       ? record->before.size_bytes == version->size_bytes
		       : ((record->held == PACK_INLINE && !record->content_unit_1) ||
			  record->held == PACK_COPY) &&
				 version_equal(&record->version, version);
}

/* Is that what a descriptor's file holds? */
static int checked(int fd, const struct version *version)
{
	struct content content;

	if (fd >= 0 && content_of_descriptor(fd, version->size_bytes, &content) == 0 &&
	    version_equal(&content.version, version))
		return fd;
	if (fd >= 0)
		(void)sys_close(fd);
	return -ENOENT;
}

/* In the part from `begin` on, which is in memory. */
static int find_in(const struct segment *segment, const unsigned char *bytes, size_t size_bytes,
		   uint64_t begin, const struct version *version)
{
	struct pack_record record;
	int fd = -ENOENT;

	for (size_t at = 0; fd < 0 && at + sizeof(struct pack_head) <= size_bytes;) {
		if (!pack_decode(bytes + at, size_bytes - at, begin + at, &record) ||
		    record.size_bytes > size_bytes - at) {
			at += PACK_UNIT_BYTES;
			continue;
		}
		if (may_be(&record, version))
			fd = checked(
				record.held == PACK_INLINE
					? open_inline(bytes + at + pack_content_offset(&record),
						      record.content_bytes)
					: open_file(segment, record.place),
				version);
		at += record.size_bytes;
	}
	return fd;
}

static int find_in_part(const struct segment *segment, uint32_t part, const struct version *version)
{
	struct stat stat;
	int fd = pack_open_part(segment, part), found = -ENOENT;

	if (fd < 0)
		return fd;
	long address = sys_fstat(fd, &stat) == 0 && stat.st_size > 0
			       ? sys_mmap((size_t)stat.st_size, PROT_READ, MAP_SHARED, fd)
			       : -ENOENT;
	(void)sys_close(fd);
	if (address < 0 && address >= -4095)
		return -ENOENT;
	found = find_in(segment, (const unsigned char *)address, (size_t)stat.st_size,
			(uint64_t)part * PACK_PART_BYTES, version);
	(void)sys_munmap((void *)address, (size_t)stat.st_size);
	return found;
}

int pack_find(const struct segment *segment, const struct version *version)
{
	const struct segment_header *header = segment->header;
	uint64_t next = __atomic_load_n(&header->undo_next, __ATOMIC_RELAXED);
	uint64_t first = __atomic_load_n(&header->undo_first, __ATOMIC_RELAXED);
	int fd = -ENOENT;

	if (next == 0)
		return fd;
	for (uint64_t part = pack_part_of(next - 1) + UINT64_C(1); fd < 0 && part > first; part--)
		fd = find_in_part(segment, (uint32_t)(part - 1), version);
	return fd < 0 ? -ENOENT : fd;
}
