/* The journal: see journal.h; journal_create.c makes one. */
#include "tracker/journal.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tracker/sys.h"

enum {
	RESERVE_ATTEMPTS = 8,
	ROOM_UNITS = 4096,          /* what journal_make_room() sees to */
	GROWTH_SHARE = 4,           /* it grows by this part of itself, */
	GROWTH_UNITS_MAX = 1048576, /* 64 MiB at most */
	TEXT_BYTES_FIRST = JOURNAL_UNIT_BYTES - sizeof(struct journal_head),
};

static const uint64_t RETRY_NS = 1000000000u; /* after a growth that failed for want of room */

static unsigned char *unit_at(const struct journal *journal, uint64_t number)
{
	return journal->units + number * JOURNAL_UNIT_BYTES;
}

/* The first word of a record as one value: what is published by one instruction. */
static uint64_t *word_at(const struct journal *journal, uint64_t number)
{
	return (uint64_t *)(void *)unit_at(journal, number);
}

static uint64_t word_of(const struct journal_head *head)
{
	uint64_t word;
	memcpy(&word, head, sizeof(word));
	return word;
}

static struct journal_head head_of(uint64_t word)
{
	struct journal_head head;
	memcpy(&head, &word, sizeof(head));
	return head;
}

/* The check value: of where a record lies, what it is, and all bytes behind its head. */
static uint32_t check_of(uint64_t number, const struct journal_head *head, const void *body)
{
	uint64_t seed = number ^ ((uint64_t)head->op << 56 | (uint64_t)head->units << 48 |
				  (uint64_t)head->error << 32);
	size_t bytes = head->op == JOURNAL_ABANDONED
			       ? 0 /* its writer may still be at it */
			       : (size_t)head->units * JOURNAL_UNIT_BYTES - sizeof(*head);
	uint64_t hash = XXH3_64bits_withSeed(body, bytes, seed);
	return (uint32_t)(hash ^ (hash >> 32));
}

static uint64_t limit_of(const struct journal *journal)
{
	uint64_t allocated = __atomic_load_n(&journal->header->allocated, __ATOMIC_ACQUIRE);
	return allocated < journal->mapped_units ? allocated : journal->mapped_units;
}

/* ---- mapping ---- */

/* Is the file as long as it says?  One that was made longer since it was looked at is: that comes first. */
static bool is_as_long(int fd, struct stat *stat, uint64_t units)
{
	uint64_t bytes = units * JOURNAL_UNIT_BYTES;
	return bytes <= (uint64_t)stat->st_size ||
	       (sys_fstat(fd, stat) == 0 && bytes <= (uint64_t)stat->st_size);
}

static int check_header(const struct journal_header *header, int fd, struct stat *stat)
{
	if (header->magic != JOURNAL_MAGIC)
		return -EBADMSG;
	if (header->version != JOURNAL_VERSION || header->unit_bytes != JOURNAL_UNIT_BYTES)
		return -EPROTO;
	uint64_t allocated = __atomic_load_n(&header->allocated, __ATOMIC_ACQUIRE);
	if (header->units_max > UINT32_MAX || allocated > header->units_max ||
	    allocated < JOURNAL_UNITS_FIRST || !is_as_long(fd, stat, allocated) ||
	    header->name[JOURNAL_NAME_BYTES - 1] != '\0' ||
	    header->nonce[JOURNAL_NONCE_BYTES - 1] != '\0')
		return -EBADMSG;
	return 0;
}

static int map(const char *path, bool to_read, struct journal *ret_journal)
{
	struct journal journal = { .path = to_read ? NULL : path };
	struct stat stat;
	struct rlimit64 room;
	int fd = sys_open(path, (to_read ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
			  0);
	if (fd < 0)
		return fd;
	int error = sys_fstat(fd, &stat);
	if (error == 0 && !S_ISREG(stat.st_mode))
		error = -EBADMSG;
	/* Who reads a copy from elsewhere has no use for whose it is. */
	if (error == 0 && !to_read &&
	    (stat.st_uid != (uid_t)sys_call3(SYS_geteuid, 0, 0, 0) || (stat.st_mode & 022)))
		error = -EPERM;
	if (error == 0 && stat.st_size < JOURNAL_UNITS_FIRST * JOURNAL_UNIT_BYTES)
		error = -EBADMSG;
	/* A part of a page at the end is no place for records, and journal_unmap() could not tell. */
	uint64_t there = error == 0 ? (uint64_t)stat.st_size & ~(uint64_t)4095 : 0, bytes = there;
	uint64_t limit;
	if (error == 0 && !to_read) {
		/* What it may grow to is mapped at once; bytes that are not there yet are not touched. */
		if (sys_pread(fd, &limit, sizeof(limit),
			      offsetof(struct journal_header, units_max)) != sizeof(limit))
			error = -EIO;
		else if (limit > bytes / JOURNAL_UNIT_BYTES && limit <= UINT32_MAX)
			bytes = limit * JOURNAL_UNIT_BYTES;
		/* A process with little room for memory of its own keeps it. */
		if (error == 0 &&
		    sys_call6(SYS_prlimit64, 0, RLIMIT_AS, 0, (long)&room, 0, 0) == 0 &&
		    room.rlim_cur / 16 < bytes) {
			bytes = there;
			if (room.rlim_cur / 16 < bytes)
				error = -ENOMEM;
		}
	}
	long address = error == 0 ? sys_mmap(bytes, to_read ? PROT_READ : PROT_READ | PROT_WRITE,
					     MAP_SHARED, fd)
				  : error;
	if (address < 0 && address >= -4095) {
		(void)sys_close(fd);
		return (int)address;
	}
	journal.header = (struct journal_header *)address;
	error = check_header(journal.header, fd, &stat);
	(void)sys_close(fd);
	if (error < 0) {
		(void)sys_munmap(journal.header, bytes);
		return error;
	}
	journal.units = (unsigned char *)address;
	journal.known = (uint64_t *)(void *)(journal.units + 4096);
	journal.mapped_units = bytes / JOURNAL_UNIT_BYTES;
	journal.dev = stat.st_dev;
	journal.ino = stat.st_ino;
	*ret_journal = journal;
	return 0;
}

int journal_map(const char *path, struct journal *ret_journal)
{
	return map(path, false, ret_journal);
}

int journal_map_to_read(const char *path, struct journal *ret_journal)
{
	return map(path, true, ret_journal);
}

int journal_map_more(const char *path, struct journal *journal)
{
	struct journal more;

	if (__atomic_load_n(&journal->header->allocated, __ATOMIC_ACQUIRE) <= journal->mapped_units)
		return 0;
	int error = map(path, true, &more);
	if (error < 0)
		return error;
	if (more.dev != journal->dev || more.ino != journal->ino) {
		journal_unmap(&more);
		return -ESTALE;
	}
	journal_unmap(journal);
	*journal = more;
	return 0;
}

void journal_unmap(struct journal *journal)
{
	if (journal->header)
		(void)sys_munmap(journal->header, journal->mapped_units * JOURNAL_UNIT_BYTES);
	*journal = (struct journal){ .path = NULL };
}

/* ---- growing ---- */

static int allocate(int fd, uint64_t from, uint64_t to)
{
	int error;
	do
		error = (int)sys_call6(SYS_fallocate, fd, 0, (long)(from * JOURNAL_UNIT_BYTES),
				       (long)((to - from) * JOURNAL_UNIT_BYTES), 0, 0);
	while (error == -EINTR);
	return error;
}

static void raise_to(uint64_t *word, uint64_t value)
{
	uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED);
	while (old < value && !__atomic_compare_exchange_n(word, &old, value, true,
							   __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

/* Allocates blocks so that numbers below `wanted` may be written.  Several processes may do this at once: the same blocks
 * are then asked for twice. */
static bool grow(struct journal *journal, uint64_t wanted)
{
	struct journal_header *header = journal->header;
	uint64_t allocated = __atomic_load_n(&header->allocated, __ATOMIC_ACQUIRE);
	uint64_t most = header->units_max < journal->mapped_units ? header->units_max
								  : journal->mapped_units;
	const char *path = __atomic_load_n(&journal->path, __ATOMIC_RELAXED);
	struct stat stat;

	if (wanted <= allocated)
		return wanted <= journal->mapped_units;
	if (!path || !header->can_grow || wanted > most)
		return false;
	uint64_t now = sys_realtime_ns();
	uint64_t failed = __atomic_load_n(&header->full_realtime_ns, __ATOMIC_RELAXED);
	if (failed && now - failed < RETRY_NS)
		return false;
	uint64_t step = allocated / GROWTH_SHARE;
	step = step > GROWTH_UNITS_MAX ? GROWTH_UNITS_MAX : step;
	uint64_t least = (wanted + JOURNAL_CHUNK_UNITS - 1) / JOURNAL_CHUNK_UNITS *
			 JOURNAL_CHUNK_UNITS;
	least = least > most ? most : least;
	uint64_t target = (allocated + step) / JOURNAL_CHUNK_UNITS * JOURNAL_CHUNK_UNITS;
	target = target > most ? most : target < least ? least : target;

	if (!sys_may_be_this_large(target * JOURNAL_UNIT_BYTES))
		target = least;
	int fd = sys_may_be_this_large(target * JOURNAL_UNIT_BYTES)
			 ? sys_open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0)
			 : -EFBIG;
	if (fd == -EMFILE || fd == -ENFILE || fd == -EINTR)
		return false; /* perhaps next time */
	/* What else fails for reasons of this process alone (a chroot, a limit) ends its growing the file. */
	if (fd < 0 || sys_fstat(fd, &stat) < 0 || stat.st_dev != journal->dev ||
	    stat.st_ino != journal->ino) {
		if (fd >= 0)
			(void)sys_close(fd);
		__atomic_store_n(&journal->path, NULL, __ATOMIC_RELAXED);
		return false;
	}
	int error = allocate(fd, allocated, target);
	if (error < 0 && target > least) {
		target = least;
		error = allocate(fd, allocated, target);
	}
	(void)sys_close(fd);
	if (error == 0)
		raise_to(&header->allocated, target);
	__atomic_store_n(&header->full_errno, (uint64_t)-error, __ATOMIC_RELAXED);
	__atomic_store_n(&header->full_realtime_ns, error ? now : 0, __ATOMIC_RELAXED);
	return error == 0;
}

void journal_make_room(struct journal *journal)
{
	uint64_t next = __atomic_load_n(&journal->header->next, __ATOMIC_RELAXED);
	if (next + ROOM_UNITS > limit_of(journal))
		(void)grow(journal, next + ROOM_UNITS);
}

/* ---- writing ---- */

void journal_lost(const struct journal *journal)
{
	(void)__atomic_fetch_add(&journal->header->lost, 1, __ATOMIC_RELAXED);
}

/* Do so many units from `next` on lie below a limit?  `next` may be anything: it is read from the file. */
static bool fits(uint64_t next, uint64_t units, uint64_t limit)
{
	return next <= limit && units <= limit - next;
}

/* Takes units; returns the number of the first, 0 when there is no room. */
static uint64_t reserve(struct journal *journal, uint64_t units, bool may_grow)
{
	uint64_t *next_at = &journal->header->next;

	for (int attempt = 0; attempt < RESERVE_ATTEMPTS; attempt++) {
		uint64_t limit = limit_of(journal);
		uint64_t next = __atomic_load_n(next_at, __ATOMIC_RELAXED);
		if (next < JOURNAL_UNITS_FIRST || next > UINT32_MAX)
			break; /* damaged */
		if (!fits(next, units, limit)) {
			if (!may_grow || !grow(journal, next + units))
				break;
			continue;
		}
		next = __atomic_fetch_add(next_at, units, __ATOMIC_RELAXED);
		/* Others may have taken the rest meanwhile; what is beyond stays a gap if there is no more. */
		if (next >= JOURNAL_UNITS_FIRST &&
		    (fits(next, units, limit) ||
		     (next <= UINT32_MAX && may_grow && grow(journal, next + units))))
			return next;
	}
	journal_lost(journal);
	return 0;
}

/* Publishes a record whose body is in place: from then on it counts. */
static bool publish(const struct journal *journal, uint64_t number, uint64_t expected,
		    struct journal_head *head)
{
	head->check = check_of(number, head, unit_at(journal, number) + sizeof(*head));
	if (__atomic_compare_exchange_n(word_at(journal, number), &expected, word_of(head), false,
					__ATOMIC_RELEASE, __ATOMIC_RELAXED))
		return true;
	journal_lost(journal); /* it took so long that it was taken for dead */
	return false;
}

/* A record of several units says how many before they are filled: whoever reads past a dead writer's must not take its
 * bytes for records. */
static bool begin_filling(const struct journal *journal, uint64_t number, uint64_t units,
			  uint64_t *ret_word)
{
	struct journal_head head = { .op = JOURNAL_FILLING, .units = (uint8_t)units };
	uint64_t expected = 0;

	*ret_word = 0;
	if (units == 1)
		return true;
	*ret_word = word_of(&head);
	if (__atomic_compare_exchange_n(word_at(journal, number), &expected, *ret_word, false,
					__ATOMIC_RELEASE, __ATOMIC_RELAXED))
		return true;
	journal_lost(journal);
	return false;
}

uint32_t journal_write(struct journal *journal, struct journal_record *record, const void *details,
		       size_t detail_bytes, bool may_grow)
{
	uint64_t units = 1 + detail_bytes / JOURNAL_UNIT_BYTES, word;
	uint64_t number = reserve(journal, units, may_grow);

	if (!number || !begin_filling(journal, number, units, &word))
		return 0;
	if (!record->time_realtime_ns)
		record->time_realtime_ns = sys_realtime_ns();
	record->head.units = (uint8_t)units;
	unsigned char *at = unit_at(journal, number);
	memcpy(at + sizeof(record->head), (const unsigned char *)record + sizeof(record->head),
	       sizeof(*record) - sizeof(record->head));
	if (detail_bytes)
		memcpy(at + sizeof(*record), details, detail_bytes);
	return publish(journal, number, word, &record->head) ? (uint32_t)number : 0;
}

/* Is this the number of a text with these bytes? */
static bool is_text(const struct journal *journal, uint64_t number, const void *bytes,
		    size_t size_bytes)
{
	size_t length;
	const char *text = journal_bytes(journal, (uint32_t)number, &length);
	return text && length == size_bytes && memcmp(text, bytes, size_bytes) == 0;
}

uint32_t journal_text(struct journal *journal, const void *bytes, size_t size_bytes, bool may_grow)
{
	struct journal_head head = { .op = JOURNAL_TEXT };
	uint64_t word;

	if (size_bytes > JOURNAL_TEXT_BYTES_MAX)
		size_bytes = JOURNAL_TEXT_BYTES_MAX;
	uint64_t hash = XXH3_64bits(bytes, size_bytes);
	uint64_t *known = &journal->known[hash % JOURNAL_KNOWN_TEXTS];
	uint64_t last = __atomic_load_n(known, __ATOMIC_ACQUIRE);
	if (last >> 32 == hash >> 32 && is_text(journal, last & UINT32_MAX, bytes, size_bytes))
		return (uint32_t)last;

	uint64_t units = (sizeof(head) + size_bytes + JOURNAL_UNIT_BYTES - 1) / JOURNAL_UNIT_BYTES;
	uint64_t number = reserve(journal, units, may_grow);
	if (!number || !begin_filling(journal, number, units, &word))
		return 0;
	memcpy(unit_at(journal, number) + sizeof(head), bytes, size_bytes);
	head.units = (uint8_t)units;
	head.error = (uint16_t)size_bytes;
	if (!publish(journal, number, word, &head))
		return 0;
	__atomic_store_n(known, (hash >> 32) << 32 | number, __ATOMIC_RELEASE);
	return (uint32_t)number;
}

/* ---- reading ---- */

const char *journal_op_name(unsigned op)
{
	static const char *const NAMES[] = {
#define OP(name, word, text) [JOURNAL_##name] = word,
#include "tracker/journal_ops.def"
#undef OP
	};
	return op < sizeof(NAMES) / sizeof(NAMES[0]) ? NAMES[op] : NULL;
}

uint64_t journal_end(const struct journal *journal)
{
	uint64_t next = __atomic_load_n(&journal->header->next, __ATOMIC_ACQUIRE);
	uint64_t limit = limit_of(journal);
	return next < limit ? next : limit;
}

/* Does a record of so many units lie inside what this view can read? */
static bool lies_inside(const struct journal *journal, uint64_t number, uint64_t units)
{
	return units > 0 && number >= JOURNAL_UNITS_FIRST && fits(number, units, limit_of(journal));
}

/* The same of the file, that a view may have the first units of a record of, and not the last. */
static bool lies_in_file(const struct journal *journal, uint64_t number, uint64_t units)
{
	return units > 0 &&
	       fits(number, units, __atomic_load_n(&journal->header->allocated, __ATOMIC_ACQUIRE));
}

const char *journal_bytes(const struct journal *journal, uint32_t number, size_t *ret_size_bytes)
{
	if (!lies_inside(journal, number, 1))
		return NULL;
	struct journal_head head = head_of(
		__atomic_load_n(word_at(journal, number), __ATOMIC_ACQUIRE));
	if (head.op != JOURNAL_TEXT || !lies_inside(journal, number, head.units) ||
	    head.error + sizeof(head) > (size_t)head.units * JOURNAL_UNIT_BYTES)
		return NULL;
	*ret_size_bytes = head.error;
	return (const char *)unit_at(journal, number) + sizeof(head);
}

uint64_t journal_behind_undone(const struct journal *journal, uint64_t number)
{
	if (!lies_inside(journal, number, 1))
		return number + 1;
	struct journal_head head = head_of(
		__atomic_load_n(word_at(journal, number), __ATOMIC_ACQUIRE));
	if (head.op == JOURNAL_FILLING)
		return number + (lies_in_file(journal, number, head.units) ? head.units : 1);
	return head.op == JOURNAL_NONE ? number + 1 : number;
}

enum journal_found journal_next(const struct journal *journal, uint64_t *number,
				struct journal_entry *ret_entry)
{
	const size_t details_max = sizeof(*ret_entry) - offsetof(struct journal_entry, process);
	uint64_t at = *number;

	if (at >= journal_end(journal) || at < JOURNAL_UNITS_FIRST)
		return JOURNAL_FOUND_END;
	struct journal_head head = head_of(__atomic_load_n(word_at(journal, at), __ATOMIC_ACQUIRE));
	ret_entry->number = at;
	if (head.op == JOURNAL_NONE || head.op == JOURNAL_FILLING)
		return JOURNAL_FOUND_UNDONE;
	bool inside = lies_inside(journal, at, head.units);
	if (!inside && lies_in_file(journal, at, head.units))
		return JOURNAL_FOUND_END; /* of this view */
	*number = at + (inside ? head.units : 1);
	if (!inside || head.check != check_of(at, &head, unit_at(journal, at) + sizeof(head)))
		return JOURNAL_FOUND_DAMAGED;
	size_t details = ((size_t)head.units - 1) * JOURNAL_UNIT_BYTES;
	if (details > details_max)
		details = details_max;
	memset(&ret_entry->record, 0, sizeof(*ret_entry) - offsetof(struct journal_entry, record));
	ret_entry->record.head = head;
	if (head.op == JOURNAL_TEXT || head.op == JOURNAL_ABANDONED)
		return JOURNAL_FOUND_RECORD;
	memcpy((unsigned char *)&ret_entry->record + sizeof(head),
	       unit_at(journal, at) + sizeof(head), sizeof(ret_entry->record) - sizeof(head));
	memcpy(&ret_entry->process, unit_at(journal, at + 1), details);
	return JOURNAL_FOUND_RECORD;
}

bool journal_abandon(const struct journal *journal, uint64_t number)
{
	if (!lies_inside(journal, number, 1))
		return false;
	uint64_t word = __atomic_load_n(word_at(journal, number), __ATOMIC_ACQUIRE);
	struct journal_head head = head_of(word);

	if (head.op != JOURNAL_NONE && head.op != JOURNAL_FILLING)
		return false;
	if (!lies_in_file(journal, number, head.units))
		head.units = 1;
	head.op = JOURNAL_ABANDONED;
	head.error = 0;
	head.check = check_of(number, &head, NULL);
	return __atomic_compare_exchange_n(word_at(journal, number), &word, word_of(&head), false,
					   __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}
