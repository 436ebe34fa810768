/* pack_code.h: a record is read as it was written, whatever its numbers are. */
#include <criterion/criterion.h>

#include "support.h"
#include "tracker/content/pack_code.h"

static uint64_t number(unsigned *seed)
{
	uint64_t wide = (uint64_t)rand_r(seed) << 62 ^ (uint64_t)rand_r(seed) << 31 ^
			(uint64_t)rand_r(seed);
	return wide >> rand_r(seed) % 64;
}

static struct pack_record random_record(unsigned *seed)
{
	struct pack_record record = {
		.place = number(seed),
		.result = rand_r(seed) % 2,
		.path_bytes = (uint16_t)(number(seed) % (PACK_PATH_BYTES_MAX + 1)),
		.other_bytes = (uint16_t)(number(seed) % (PACK_PATH_BYTES_MAX + 1)),
		.path_unit_1 = (uint32_t)(number(seed) % (1 << 22)),
		.other_unit_1 = (uint32_t)(number(seed) % (1 << 22)),
		.kind = (uint8_t)(1 + rand_r(seed) % (PACK_KIND_COUNT - 1)),
		.held = (uint8_t)(rand_r(seed) % PACK_HELD_COUNT),
		.reason = (uint8_t)(rand_r(seed) % PACK_REASON_COUNT),
		.what = (uint8_t)number(seed),
		.process = (uint32_t)number(seed),
		.pid = (uint32_t)number(seed),
		.flags = (uint32_t)number(seed),
		.time_realtime_ns = number(seed),
		.boundary = number(seed),
		.amount = number(seed),
		.before = {
			.dev = number(seed),
			.ino = number(seed),
			.size_bytes = number(seed),
			.mtime_ns = (int64_t)number(seed),
			.ctime_ns = (int64_t)number(seed),
			.creation_ns = (int64_t)number(seed),
			.rdev = number(seed),
			.mode = (uint32_t)number(seed),
			.uid = (uint32_t)number(seed),
			.gid = (uint32_t)number(seed),
			.nlink = (uint32_t)number(seed),
		},

	};

	if (rand_r(seed) % 2) { /* as most are */
		record.before.ctime_ns = record.before.creation_ns = record.before.mtime_ns;
		record.time_realtime_ns = (uint64_t)record.before.mtime_ns;
	}
	/* what was not read has no version */
	if (record.held == PACK_INLINE || record.held == PACK_COPY)
		record.version = (struct version){ .size_bytes = number(seed),
						   .high = number(seed),
						   .low = number(seed) };
	if (record.held == PACK_INLINE && rand_r(seed) % 2)
		record.content_unit_1 = (uint32_t)(number(seed) % (1 << 22));
	if (record.held == PACK_INLINE && !record.content_unit_1)
		record.content_bytes = (uint32_t)(number(seed) % (PACK_INLINE_BYTES_MAX + 1));
	return record;
}

Test(pack_code, a_record_is_read_as_it_was_written)
{
	unsigned seed = 1;

	for (int round = 0; round < 20000; round++) {
		_Alignas(struct pack_head) unsigned char code[PACK_CODE_BYTES_MAX];
		struct pack_head *head = (struct pack_head *)(void *)code;
		struct pack_record record = random_record(&seed), found;
		record.code_bytes = (uint32_t)pack_encode(&record, code);
		record.size_bytes = head->size_bytes = (uint32_t)pack_size_bytes(
			record.code_bytes, record.path_bytes, record.other_bytes,
			record.content_bytes);
		cr_assert(pack_decode(code, record.code_bytes, record.place, &found));
		cr_assert_eq(memcmp(&found, &record, sizeof(record)), 0, "%d", round);
	}
}

/* A hash that is set later takes the same room. */
Test(pack_code, a_hash_is_at_the_end)
{
	unsigned char before[PACK_CODE_BYTES_MAX], after[PACK_CODE_BYTES_MAX];
	struct pack_record record = { .kind = PACK_REMOVED,
				      .held = PACK_REFLINK,
				      .before = { .size_bytes = 100000, .mode = 0100644 } };

	size_t code_bytes = pack_encode(&record, before);
	record.held = PACK_COPY;
	record.version = (struct version){ .size_bytes = 100000, .high = 1, .low = 2 };
	cr_assert_eq(pack_encode(&record, after), code_bytes);
	memcpy(&record.version.low, after + code_bytes - 8, 8);
	cr_assert_eq(record.version.low, 2);
}

/* What unlinks of small files take decides what a store is in size: docs/design/costs.md. */
Test(pack_code, a_common_record_is_short)
{
	unsigned char code[PACK_CODE_BYTES_MAX];
	const int64_t now_ns = INT64_C(1800000000123456789);
	struct pack_record record = {
		.path_bytes = 50,
		.content_bytes = 4096,
		.kind = PACK_REMOVED,
		.held = PACK_INLINE,
		.process = 3000,
		.pid = 300000,
		.time_realtime_ns = (uint64_t)now_ns + 1000000000000,
		.boundary = 20,
		.before = { .dev = 0xfd01,
			    .ino = 30000000,
			    .size_bytes = 4096,
			    .mtime_ns = now_ns,
			    .ctime_ns = now_ns,
			    .creation_ns = now_ns,
			    .mode = 0100644,
			    .uid = 1000,
			    .gid = 1000,
			    .nlink = 1 },
		.version = { .size_bytes = 4096, .high = UINT64_MAX, .low = UINT64_MAX },
	};

	cr_assert_leq(pack_encode(&record, code), 96);
	record.held = PACK_NOT_TAKEN;
	record.kind = PACK_CREATED;
	record.content_bytes = 0;
	record.version = (struct version){ .low = 0 };
	record.before = (struct pack_state){ .mode = S_IFREG };
	cr_assert_leq(pack_encode(&record, code), 56);
}
