/* The segment: mapping and checking.  See segment.h; segment_create.c makes one. */
#include "tracker/segment/segment.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "config/fingerprint.h"
#include "tracker/segment/tables.h"
#include "tracker/sys/sys.h"

const uint64_t SEGMENT_SLOT_BYTES[TABLE_COUNT] = {
	[TABLE_PROCESSES] = sizeof(struct process_slot),
	[TABLE_SCOPES] = sizeof(struct scope_slot),
	[TABLE_CAPTURES] = sizeof(struct capture_slot),
	[TABLE_COMMANDS] = sizeof(struct command_slot),
	[TABLE_FILES] = sizeof(struct file_slot),
	[TABLE_INODES] = sizeof(struct inode_slot),
	[TABLE_FILE_INDEX] = sizeof(uint32_t),
	[TABLE_INODE_INDEX] = sizeof(uint32_t),
	[TABLE_DELIVERIES] = sizeof(struct delivery_slot),
	[TABLE_BASELINES] = sizeof(struct baseline_slot),
	[TABLE_LINE_RANGES] = sizeof(struct line_range_slot),
	[TABLE_INSTRUCTIONS] = sizeof(struct instruction_slot),
	[TABLE_INSTRUCTION_DIRECTORIES] = sizeof(struct instruction_directory_slot),
	[TABLE_REMEMBERED] = sizeof(struct remembered_slot),
	[TABLE_UNREPORTED] = sizeof(struct unreported_slot),
	[TABLE_KEPT] = sizeof(uint64_t),
	[TABLE_KNOWN] = sizeof(uint64_t),
	[TABLE_PROTECTED] = sizeof(struct protected_slot),
	[TABLE_USED] = sizeof(struct used_slot),
};

enum {
	SEGMENT_BYTES_MAX_SHIFT = 40,
	ROOM_PART = 8, /* of a process's address space that a segment may take */
};

/* Does [offset, offset + bytes) lie behind the header and inside the segment, aligned? */
static bool lies_inside(const struct segment_header *header, uint64_t offset, uint64_t bytes)
{
	return offset >= sizeof(*header) && offset % 8 == 0 && offset <= header->size_bytes &&
	       bytes <= header->size_bytes - offset;
}

/* Slots of a part of a table, of which there is a bit, as a power of two. */
static unsigned part_shift(uint64_t capacity)
{
	uint64_t more = (capacity - 1) / USED_PARTS;

	return more ? 64 - (unsigned)__builtin_clzl(more) : 0;
}

/* Where something of a segment is, in bytes from its start. */
static uint64_t offset_of(const struct segment *segment, const void *at)
{
	return (uint64_t)((const unsigned char *)at - (const unsigned char *)segment->header);
}

/* Checks a copy of a header; on success fills the view. */
static int map_header(const struct segment_header *header, uint64_t file_bytes,
		      struct segment *ret_segment)
{
	unsigned char *base = (unsigned char *)ret_segment->header;

	if (header->magic != SEGMENT_MAGIC)
		return -EBADMSG;
	if (header->version != SEGMENT_VERSION || header->word_bits != 64 ||
	    header->header_bytes != sizeof(*header) ||
	    header->fingerprint != settings_fingerprint())
		return -EPROTO;
	if (header->size_bytes > file_bytes || header->name[SEGMENT_NAME_BYTES - 1] != '\0' ||
	    header->nonce[SEGMENT_NONCE_BYTES - 1] != '\0' ||
	    header->boot_id[sizeof(header->boot_id) - 1] != '\0')
		return -EBADMSG;
	for (int i = 0; i < TABLE_COUNT; i++) {
		const struct segment_extent *extent = &header->tables[i];
		if (extent->slot_bytes != SEGMENT_SLOT_BYTES[i] ||
		    extent->capacity < SEGMENT_CAPACITY_MIN ||
		    extent->capacity > header->size_bytes / extent->slot_bytes ||
		    !lies_inside(header, extent->offset, extent->capacity * extent->slot_bytes))
			return -EBADMSG;
		ret_segment->tables[i] = base + extent->offset;
		ret_segment->capacity[i] = extent->capacity;
		ret_segment->part_shift[i] = part_shift(extent->capacity);
	}
	if (!lies_inside(header, header->settings_offset, sizeof(struct settings)) ||
	    !lies_inside(header, header->text_offset, header->text_bytes) ||
	    !lies_inside(header, header->arena_offset, header->arena_bytes) ||
	    header->arena_bytes < SEGMENT_ARENA_FIRST)
		return -EBADMSG;
	ret_segment->settings = (const void *)(base + header->settings_offset);
	ret_segment->text = (const char *)base + header->text_offset;
	ret_segment->text_bytes = header->text_bytes;
	ret_segment->arena = (char *)base + header->arena_offset;
	ret_segment->arena_bytes = header->arena_bytes;
	return 0;
}

int segment_view(void *memory, size_t size_bytes, struct segment *ret_segment)
{
	struct segment segment = { .header = memory, .size_bytes = size_bytes };
	struct segment_header copy = *segment.header; /* checked and used as one state */
	int error = map_header(&copy, size_bytes, &segment);

	if (error == 0)
		*ret_segment = segment;
	return error;
}

static int allocate(int fd, uint64_t from, uint64_t to)
{
	int error;

	do
		error = sys_fallocate(fd, 0, (off_t)from, (off_t)(to - from));
	while (error == -EINTR);
	return error;
}

/* Allocates the parts of a table that are used, each run of them by one call. */
static int fill_table(int fd, const struct segment *segment, enum segment_table table)
{
	const uint64_t capacity = segment->capacity[table], bytes = SEGMENT_SLOT_BYTES[table];
	const uint64_t part = UINT64_C(1) << segment->part_shift[table];
	const uint64_t offset = offset_of(segment, segment->tables[table]);
	int error = 0;

	for (uint64_t first = 0; error == 0;) {
		first = segment_next_used(segment, table, first);
		if (first >= capacity)
			break;
		uint64_t behind = first;
		while (behind < capacity && segment_is_used(segment, table, behind))
			behind += part;
		behind = behind < capacity ? behind : capacity;
		error = allocate(fd, offset + first * bytes, offset + behind * bytes);
		first = behind;
	}
	return error;
}

/* Of a segment that was cut. */
static int fill_used(int fd, const struct segment *segment)
{
	uint64_t arena = offset_of(segment, segment->arena);
	uint64_t room = __atomic_load_n(&segment->header->arena_room, __ATOMIC_RELAXED);
	int error = allocate(fd, 0, offset_of(segment, segment->tables[TABLE_FILES]));

	for (int table = TABLE_FILES; table < TABLE_LINE_RANGES && error == 0; table++)
		error = fill_table(fd, segment, (enum segment_table)table);
	if (error == 0)
		error = allocate(
			fd, offset_of(segment, segment->tables[TABLE_LINE_RANGES]),
			arena + (room < segment->arena_bytes ? room : segment->arena_bytes));
	return error;
}

/* Has the file system the blocks of all of a file that does not grow?  Those that a session gave back when
 * it was over are allocated again. */
static int fill(int fd, const struct stat *stat, const struct segment *segment)
{
	enum { BLOCK_BYTES = 512 /* stat(2), st_blocks */ };
	uint64_t *grows = &segment->header->grows;
	int error = 0;

	switch (__atomic_load_n(grows, __ATOMIC_RELAXED)) {
	case SEGMENT_GROWS:
		break;
	case SEGMENT_IS_CUT:
		error = fill_used(fd, segment);
		if (error == 0)
			__atomic_store_n(grows, SEGMENT_GROWS, __ATOMIC_RELEASE);
		break;
	default:
		if ((uint64_t)stat->st_blocks * BLOCK_BYTES < (uint64_t)stat->st_size)
			error = allocate(fd, 0, (uint64_t)stat->st_size);
	}
	return error == -EOPNOTSUPP ? 0 : error;
}

static int map(const char *path, bool fills, struct segment *ret_segment)
{
	struct stat stat;
	int fd = sys_open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd < 0)
		return fd;
	int error = sys_fstat(fd, &stat);
	if (error == 0 &&
	    (!S_ISREG(stat.st_mode) || (uint64_t)stat.st_size < sizeof(struct segment_header) ||
	     (uint64_t)stat.st_size >> SEGMENT_BYTES_MAX_SHIFT))
		error = -EBADMSG;
	if (error == 0 &&
	    (stat.st_uid != (uid_t)sys_call3(SYS_geteuid, 0, 0, 0) || (stat.st_mode & 022)))
		error = -EPERM;
	if (error < 0) {
		(void)sys_close(fd);
		return error;
	}
	size_t size_bytes = (size_t)stat.st_size;
	/* A process with little room for memory of its own keeps it. */
	struct rlimit64 room;
	if (sys_call6(SYS_prlimit64, 0, RLIMIT_AS, 0, (long)&room, 0, 0) == 0 &&
	    room.rlim_cur / ROOM_PART < size_bytes) {
		(void)sys_close(fd);
		return -ENOMEM;
	}
	struct segment segment;
	long address = sys_mmap(size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	if (address < 0 && address >= -4095) {
		(void)sys_close(fd);
		return (int)address;
	}
	error = segment_view((void *)address, size_bytes, &segment);
	if (error == 0 && fills)
		error = fill(fd, &stat, &segment);
	if (error == 0)
		segment.grows = __atomic_load_n(&segment.header->grows, __ATOMIC_RELAXED) ==
				SEGMENT_GROWS;
	(void)sys_close(fd);
	if (error < 0)
		(void)sys_munmap((void *)address, size_bytes);
	else
		*ret_segment = segment;
	return error;
}

int segment_map(const char *path, struct segment *ret_segment)
{
	return map(path, false, ret_segment);
}

int segment_map_to_use(const char *path, struct segment *ret_segment)
{
	return map(path, true, ret_segment);
}

void segment_unmap(struct segment *segment)
{
	if (segment->header)
		(void)sys_munmap(segment->header, segment->size_bytes);
	*segment = (struct segment){ 0 };
}

uint64_t *segment_notes(const struct segment *segment)
{
	uint64_t between = (uint64_t)((const unsigned char *)segment->settings -
				      (const unsigned char *)(segment->header + 1));
	return between < SEGMENT_NOTES * sizeof(uint64_t)
		       ? NULL
		       : (uint64_t *)(uintptr_t)(const void *)segment->settings - SEGMENT_NOTES;
}

/* A path between header and settings, NUL counted: what every program needs lies in pages that it
 * touches anyway. */
static const char *path_at(const struct segment *segment, uint64_t offset, uint64_t bytes)
{
	const char *paths = (const char *)(segment->header + 1);
	uint64_t room = (uint64_t)((const char *)segment->settings - paths);
	const char *path = paths + offset;

	return bytes > 1 && offset <= room && bytes <= room - offset && path[0] == '/' &&
			       path[bytes - 1] == '\0'
		       ? path
		       : NULL;
}

const char *segment_journal(const struct segment *segment)
{
	uint64_t bytes = __atomic_load_n(&segment->header->journal_bytes, __ATOMIC_RELAXED);
	return path_at(segment, 0, bytes);
}

const char *segment_contents(const struct segment *segment)
{
	const struct segment_header *header = segment->header;
	uint64_t before = __atomic_load_n(&header->journal_bytes, __ATOMIC_RELAXED);
	uint64_t bytes = __atomic_load_n(&header->contents_path_bytes, __ATOMIC_RELAXED);
	return before > SEGMENT_PATH_BYTES ? NULL : path_at(segment, before, bytes);
}

const char *segment_undo(const struct segment *segment)
{
	const struct segment_header *header = segment->header;
	uint64_t journal = __atomic_load_n(&header->journal_bytes, __ATOMIC_RELAXED);
	uint64_t contents = __atomic_load_n(&header->contents_path_bytes, __ATOMIC_RELAXED);
	uint64_t bytes = __atomic_load_n(&header->undo_path_bytes, __ATOMIC_RELAXED);

	if (journal > SEGMENT_PATH_BYTES || contents > SEGMENT_PATH_BYTES ||
	    bytes > SEGMENT_UNDO_PATH_BYTES)
		return NULL;
	return path_at(segment, journal + contents, bytes);
}

void *segment_slot(const struct segment *segment, enum segment_table table, uint64_t index)
{
	if (index >= segment->capacity[table])
		return NULL;
	return segment->tables[table] + index * SEGMENT_SLOT_BYTES[table];
}

_Static_assert((int)TABLE_REMEMBERED < (int)SEGMENT_CAPACITY_MIN,
	       "each table of which parts are noted has a slot there");

/* The word that has a part's bit. */
static uint64_t *used_word(const struct segment *segment, enum segment_table table, uint64_t part)
{
	struct used_slot *used = (void *)segment->tables[TABLE_USED];

	return &used[table].parts[part / 64];
}

/* Gives bytes of a segment that grows their blocks.  Not by a store: where the file system has none, that is
 * a signal. */
static bool populate(const struct segment *segment, uint64_t from, uint64_t bytes)
{
	enum { PAGE_BYTES = 4096 };
	uint64_t first = from / PAGE_BYTES * PAGE_BYTES;
	long error;

	if (segment->is_still)
		return false;
	do
		error = sys_call3(SYS_madvise, (long)((unsigned char *)segment->header + first),
				  (long)(from + bytes - first), MADV_POPULATE_WRITE);
	while (error == -EINTR || error == -EAGAIN);
	return error == 0;
}

bool segment_use(const struct segment *segment, enum segment_table table, const void *slot)
{
	const uint64_t slot_bytes = SEGMENT_SLOT_BYTES[table];
	uint64_t index = (uint64_t)((const unsigned char *)slot - segment->tables[table]) /
			 slot_bytes;
	unsigned shift = segment->part_shift[table];
	uint64_t part = index >> shift, first = part << shift;
	uint64_t *word = used_word(segment, table, part);
	uint64_t bit = UINT64_C(1) << part % 64;

	if (__atomic_load_n(word, __ATOMIC_RELAXED) & bit)
		return true;
	uint64_t slots = segment->capacity[table] - first;
	if (slots > UINT64_C(1) << shift)
		slots = UINT64_C(1) << shift;
	uint64_t offset = offset_of(segment, segment->tables[table]) + first * slot_bytes;
	if (segment->grows && !populate(segment, offset, slots * slot_bytes))
		return false;
	(void)__atomic_fetch_or(word, bit, __ATOMIC_RELEASE);
	return true;
}

bool segment_is_used(const struct segment *segment, enum segment_table table, uint64_t index)
{
	uint64_t part = index >> segment->part_shift[table];

	return __atomic_load_n(used_word(segment, table, part), __ATOMIC_ACQUIRE) >> part % 64 & 1;
}

uint64_t segment_next_used(const struct segment *segment, enum segment_table table, uint64_t index)
{
	uint64_t capacity = segment->capacity[table];
	unsigned shift = segment->part_shift[table];

	while (index < capacity) {
		uint64_t part = index >> shift;
		uint64_t word = __atomic_load_n(used_word(segment, table, part),
						__ATOMIC_RELAXED) >>
				part % 64;
		if (word & 1)
			return index;
		part += word ? (uint64_t)__builtin_ctzl(word) : 64 - part % 64;
		index = part << shift;
	}
	return capacity;
}

uint64_t segment_processes_used(const struct segment *segment)
{
	uint64_t next = __atomic_load_n(&segment->header->next_process, __ATOMIC_RELAXED);
	uint64_t capacity = segment->capacity[TABLE_PROCESSES];

	if (next >= capacity) /* or any number, of a damaged segment */
		return capacity;
	uint64_t reached = next + SEGMENT_PROCESS_PROBES;
	return reached < capacity ? reached : capacity;
}

uint64_t segment_serial(const struct segment *segment)
{
	uint64_t serial;
	do
		serial = __atomic_add_fetch(&segment->header->next_serial, 1, __ATOMIC_RELAXED);
	while (serial == 0);
	return serial;
}

void segment_count(const struct segment *segment, enum counter counter, uint64_t amount)
{
	(void)__atomic_fetch_add(&segment->header->counters[counter], amount, __ATOMIC_RELAXED);
}

/* What the slots of processes hold of a counter: those that have ended did not add their counts,
 * and none counted itself. */
static uint64_t count_in_slots(const struct segment *segment, enum counter counter)
{
	static const uint8_t COUNTS[COUNTER_COUNT] = {
		[COUNTER_opens] = 1 + PROCESS_OPENS,
		[COUNTER_opens_write] = 1 + PROCESS_OPENS_WRITE,
		[COUNTER_listings] = 1 + PROCESS_LISTINGS,
		[COUNTER_changes] = 1 + PROCESS_CHANGES,
	};
	bool counts_slots = counter == COUNTER_processes_attached;
	uint64_t used = counts_slots || COUNTS[counter] ? segment_processes_used(segment) : 0;
	const struct process_slot *slots = (const void *)segment->tables[TABLE_PROCESSES];
	uint64_t sum = 0;

	for (uint64_t i = 0; i < used; i++) {
		const struct process_slot *slot = &slots[i];
		uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_RELAXED);
		if (counts_slots)
			sum += state == PROCESS_ATTACHED || state == PROCESS_EXITED;
		else if (state == PROCESS_EXITED)
			sum += __atomic_load_n(&slot->counts[COUNTS[counter] - 1],
					       __ATOMIC_RELAXED);
	}
	return sum;
}

uint64_t segment_counter(const struct segment *segment, enum counter counter)
{
	return __atomic_load_n(&segment->header->counters[counter], __ATOMIC_RELAXED) +
	       count_in_slots(segment, counter);
}

/* Has the arena blocks for what ends at `end`? */
static bool arena_reaches(const struct segment *segment, uint64_t end)
{
	uint64_t *room_at = &segment->header->arena_room;
	uint64_t room = __atomic_load_n(room_at, __ATOMIC_ACQUIRE);

	if (!segment->grows || end <= room)
		return true;
	uint64_t more = end - room > SEGMENT_ARENA_STEP ? end - room : SEGMENT_ARENA_STEP;
	if (more > segment->arena_bytes - room)
		more = segment->arena_bytes - room;
	if (!populate(segment, offset_of(segment, segment->arena) + room, more))
		return false;
	more += room;
	while (room < more && !__atomic_compare_exchange_n(room_at, &room, more, true,
							   __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		continue; /* another may have done the same, or more */
	return true;
}

void segment_reserve(const struct segment *segment, uint64_t bytes)
{
	uint64_t used = __atomic_load_n(&segment->header->arena_used, __ATOMIC_RELAXED);
	uint64_t end = used + bytes;

	if (used < segment->arena_bytes)
		(void)arena_reaches(segment,
				    end < segment->arena_bytes ? end : segment->arena_bytes);
}

uint64_t arena_store(const struct segment *segment, const void *bytes, size_t size_bytes)
{
	uint64_t *used_at = &segment->header->arena_used;
	uint64_t used = __atomic_load_n(used_at, __ATOMIC_RELAXED);
	uint64_t wanted = (size_bytes + 7) & ~UINT64_C(7);

	do {
		if (used < SEGMENT_ARENA_FIRST || used > segment->arena_bytes ||
		    wanted > segment->arena_bytes - used || !arena_reaches(segment, used + wanted))
			return 0;
	} while (!__atomic_compare_exchange_n(used_at, &used, used + wanted, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	memcpy(segment->arena + used, bytes, size_bytes);
	return used;
}

bool arena_has_room(const struct segment *segment, size_t size_bytes)
{
	uint64_t used = __atomic_load_n(&segment->header->arena_used, __ATOMIC_RELAXED);
	uint64_t wanted = (size_bytes + 7) & ~UINT64_C(7);

	return used >= SEGMENT_ARENA_FIRST && used <= segment->arena_bytes &&
	       wanted <= segment->arena_bytes - used && arena_reaches(segment, used + wanted);
}

const char *arena_at(const struct segment *segment, uint64_t offset, size_t size_bytes)
{
	if (offset < SEGMENT_ARENA_FIRST || offset > segment->arena_bytes ||
	    size_bytes > segment->arena_bytes - offset)
		return NULL;
	return segment->arena + offset;
}

const char *segment_text(const struct segment *segment, struct settings_text text,
			 const char *previous)
{
	return settings_text_next(segment->text, segment->text_bytes, text, previous);
}
