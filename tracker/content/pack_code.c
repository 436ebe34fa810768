/* A record of a pack as it is on disk: see pack_code.h. */
#include "tracker/content/pack_code.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { HASH_FIELDS = 2, UNIT_BITS = 22 };
_Static_assert(PACK_PART_BYTES / PACK_UNIT_BYTES < 1 << UNIT_BITS, "units of a part fit");

/* A difference of times, small whichever is the later one. */
static uint64_t folded(int64_t later_ns, int64_t earlier_ns)
{
	uint64_t difference = (uint64_t)later_ns - (uint64_t)earlier_ns;
	return difference << 1 ^ (difference >> 63 ? UINT64_MAX : 0);
}

static int64_t unfolded(uint64_t field, int64_t earlier_ns)
{
	uint64_t difference = field >> 1 ^ (field & 1 ? UINT64_MAX : 0);
	return (int64_t)((uint64_t)earlier_ns + difference);
}

/* What the size of a content that stands behind its record is taken for. */
static uint64_t stands_behind(const struct pack_record *record, uint64_t file_bytes)
{
	return record->held == PACK_INLINE && !record->content_unit_1 ? file_bytes : 0;
}

/* What the size of a content that was read is taken for. */
static uint64_t likely_bytes(const struct pack_record *record)
{
	return record->held == PACK_INLINE && !record->content_unit_1 ? record->content_bytes
	       : record->held == PACK_INLINE || record->held == PACK_COPY
		       ? record->before.size_bytes
		       : 0;
}

static void fields_of(const struct pack_record *record, uint64_t *fields)
{
	const struct pack_state *before = &record->before;

	fields[0] = record->path_bytes | (uint64_t)record->other_bytes << 16 |
		    (uint64_t)record->content_unit_1 << 32;
	fields[1] = record->kind | (uint64_t)record->held << 8 | (uint64_t)record->what << 16 |
		    (uint64_t)record->reason << 24;
	fields[2] = record->flags;
	fields[3] = record->content_bytes ^ stands_behind(record, before->size_bytes);
	fields[4] = folded((int64_t)record->time_realtime_ns, before->ctime_ns);
	fields[5] = record->boundary;
	fields[6] = record->process;
	fields[7] = record->pid;
	fields[8] = record->amount;
	fields[9] = before->dev;
	fields[10] = before->ino;
	fields[11] = before->size_bytes;
	fields[12] = (uint64_t)before->mtime_ns;
	fields[13] = folded(before->ctime_ns, before->mtime_ns);
	fields[14] = folded(before->creation_ns, before->mtime_ns);
	fields[15] = before->rdev;
	fields[16] = before->mode;
	fields[17] = before->uid;
	fields[18] = before->gid;
	fields[19] = before->nlink;
	fields[20] = record->path_unit_1 | (uint64_t)record->other_unit_1 << UNIT_BITS;
	fields[21] = record->version.size_bytes ^ likely_bytes(record);
	fields[22] = record->version.high;
	fields[23] = record->version.low;
}

/* False: they are more than a record's fields can be. */
static bool set_fields(const uint64_t *fields, struct pack_record *record)
{
	struct pack_state *before = &record->before;

	record->path_bytes = (uint16_t)fields[0];
	record->other_bytes = (uint16_t)(fields[0] >> 16);
	record->kind = (uint8_t)fields[1];
	record->held = (uint8_t)(fields[1] >> 8);
	record->what = (uint8_t)(fields[1] >> 16);
	record->reason = (uint8_t)(fields[1] >> 24);
	record->flags = (uint32_t)fields[2];
	record->content_unit_1 = (uint32_t)(fields[0] >> 32);
	uint64_t content_bytes = fields[3] ^ stands_behind(record, fields[11]);
	record->content_bytes = (uint32_t)content_bytes;
	record->boundary = fields[5];
	record->process = (uint32_t)fields[6];
	record->pid = (uint32_t)fields[7];
	record->amount = fields[8];
	before->dev = fields[9];
	before->ino = fields[10];
	before->size_bytes = fields[11];
	before->mtime_ns = (int64_t)fields[12];
	before->ctime_ns = unfolded(fields[13], before->mtime_ns);
	before->creation_ns = unfolded(fields[14], before->mtime_ns);
	record->time_realtime_ns = (uint64_t)unfolded(fields[4], before->ctime_ns);
	before->rdev = fields[15];
	before->mode = (uint32_t)fields[16];
	before->uid = (uint32_t)fields[17];
	before->gid = (uint32_t)fields[18];
	before->nlink = (uint32_t)fields[19];
	record->path_unit_1 = (uint32_t)fields[20] & ((1 << UNIT_BITS) - 1);
	record->other_unit_1 = (uint32_t)(fields[20] >> UNIT_BITS);
	record->version.size_bytes = fields[21] ^ likely_bytes(record);
	record->version.high = fields[22];
	record->version.low = fields[23];
	return content_bytes <= PACK_INLINE_BYTES_MAX && fields[0] >> (32 + UNIT_BITS) == 0 &&
	       fields[1] >> 32 == 0 && fields[20] >> (2 * UNIT_BITS) == 0;
}

static bool may_have_version(const struct pack_record *record)
{
	return record->held == PACK_INLINE || record->held == PACK_REFLINK ||
	       record->held == PACK_COPY;
}

/* Writes fields, each in as few bytes as it needs.  Returns their lengths, four bits each. */
static inline __attribute__((always_inline)) uint64_t write_fields(const uint64_t *fields,
								   int count, unsigned char **at)
{
	unsigned char *to = *at;
	uint64_t lengths = 0;

#pragma GCC unroll 16
	for (int i = 0; i < count; i++) {
		if (!fields[i])
			continue;
		uint64_t length = (uint64_t)(71 - __builtin_clzll(fields[i])) >> 3;
		memcpy(to, &fields[i], 8); /* what is too much the next one covers */
		lengths |= length << (i * 4);
		to += length;
	}
	*at = to;
	return lengths;
}

size_t pack_encode(const struct pack_record *record, unsigned char *ret_code)
{
	enum { FIRST = 16, HASHES = PACK_FIELDS - HASH_FIELDS };
	struct pack_head head = { .magic = PACK_MAGIC, .result = record->result };
	unsigned char *at = ret_code + sizeof(head);
	uint64_t fields[PACK_FIELDS], lengths[2];

	fields_of(record, fields);
	lengths[0] = write_fields(fields, FIRST, &at);
	lengths[1] = write_fields(fields + FIRST, HASHES - FIRST, &at);
	if (may_have_version(record)) {
		memcpy(at, fields + HASHES, PACK_VERSION_BYTES);
		lengths[1] |= UINT64_C(0x88) << ((HASHES - FIRST) * 4);
		at += PACK_VERSION_BYTES;
	}
	memcpy(head.lengths, lengths, sizeof(head.lengths));
	memcpy(ret_code, &head, sizeof(head));
	return (size_t)(at - ret_code);
}

/* Reads the fields behind a head.  Returns where they end; 0: they are more than there is. */
static size_t read_fields(const unsigned char *bytes, size_t room, const struct pack_head *head,
			  uint64_t *ret_fields)
{
	size_t at = sizeof(*head);

	memset(ret_fields, 0, PACK_FIELDS * sizeof(*ret_fields));
	for (int i = 0; i < PACK_FIELDS; i++) {
		size_t length = head->lengths[i / 2] >> (i % 2 * 4) & 15;
		if (length > sizeof(*ret_fields) || length > room - at)
			return 0;
		memcpy(&ret_fields[i], bytes + at, length);
		at += length;
	}
	return at;
}

bool pack_decode(const unsigned char *bytes, size_t room, uint64_t place,
		 struct pack_record *ret_record)
{
	struct pack_record *record = ret_record;
	uint64_t fields[PACK_FIELDS];
	struct pack_head head;

	if (room < sizeof(head))
		return false;
	memcpy(&head, bytes, sizeof(head));
	if (head.magic != PACK_MAGIC || head.size_bytes < sizeof(head) || head.result > PACK_FAILED)
		return false;
	size_t code_bytes = read_fields(bytes, room < head.size_bytes ? room : head.size_bytes,
					&head, fields);
	*record = (struct pack_record){
		.place = place,
		.result = head.result,
		.size_bytes = head.size_bytes,
		.code_bytes = (uint32_t)code_bytes,
	};
	return code_bytes && set_fields(fields, record) && record->kind > PACK_NONE &&
	       record->kind < PACK_KIND_COUNT && record->held < PACK_HELD_COUNT &&
	       record->reason < PACK_REASON_COUNT && record->path_bytes <= PACK_PATH_BYTES_MAX &&
	       record->other_bytes <= PACK_PATH_BYTES_MAX &&
	       ((record->held == PACK_INLINE && !record->content_unit_1) ||
		record->content_bytes == 0) &&
	       (record->held == PACK_INLINE || record->content_unit_1 == 0) &&
	       record->size_bytes == pack_size_bytes(code_bytes, record->path_bytes,
						     record->other_bytes, record->content_bytes);
}

uint64_t pack_check(const unsigned char *code, const struct pack_record *record, const char *path,
		    size_t path_bytes, const char *other, size_t other_bytes)
{
	const size_t from = offsetof(struct pack_head, size_bytes);
	uint64_t check = XXH3_64bits_withSeed(code + from, record->code_bytes - from,
					      record->place + PACK_MAGIC);

	if (path_bytes)
		check = XXH3_64bits_withSeed(path, path_bytes, check);
	if (other_bytes)
		check = XXH3_64bits_withSeed(other, other_bytes, check);
	return check;
}
