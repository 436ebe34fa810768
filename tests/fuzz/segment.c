/* A segment to which anything was written: each six bytes of the input are a place and four bytes that stand there.
 * It is refused, or what its functions give lies inside it. */
#include "fuzz_harness.h"

#include "config/config.h"
#include "config/pack.h"
#include "tracker/segment/segment_create.h"

enum { PATCH_BYTES = 6, PATCHES_MAX = 64, REACH = 1 << 16 };

static bool is_inside(const struct segment *segment, const char *at, size_t size)
{
	const char *from = (const char *)segment->header;
	return !at || (at >= from && size <= segment->size_bytes &&
		       at <= from + segment->size_bytes - size);
}

static void use(const struct segment *segment, uint64_t mixed)
{
	const char *text = NULL, *texts[] = { segment_journal(segment), segment_contents(segment),
					      segment_undo(segment) };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		fuzz_holds(is_inside(segment, texts[i], 1) &&
			   (!texts[i] || strlen(texts[i]) < segment->size_bytes));
	fuzz_holds(is_inside(segment, arena_at(segment, mixed, 64), 64));
	fuzz_holds(
		is_inside(segment, arena_at(segment, mixed >> 32, mixed & 0xffff), mixed & 0xffff));
	for (int table = 0; table < TABLE_COUNT; table++)
		fuzz_holds(is_inside(segment, segment_slot(segment, table, mixed), 1));
	for (int words = 0;
	     words < 8 && (text = segment_text(segment, segment->settings->paths_exclude, text));
	     words++)
		fuzz_holds(is_inside(segment, text, 1));
	for (int counter = 0; counter < COUNTER_COUNT; counter++)
		(void)segment_counter(segment, counter);
	uint64_t offset = arena_store(segment, "text", 5);
	fuzz_holds(!offset || is_inside(segment, arena_at(segment, offset, 5), 5));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct segment made;
	static char text[SETTINGS_TEXT_BYTES_MAX];
	static uint8_t before[REACH];

	if (!made.header) {
		static struct settings settings;
		struct config *config;
		struct config_error error;
		size_t used;
		fuzz_holds(config_new(&config) == 0);
		fuzz_holds(config_pack(config, &settings, text, sizeof(text), &used, &error) == 0);
		fuzz_holds(segment_create_private(&settings, text, used, &made) == 0);
		memcpy(before, made.header, sizeof(before));
		(void)config_free(config);
	}
	uint8_t *bytes = (uint8_t *)made.header;
	uint64_t mixed = 1;
	for (size_t i = 0; i < PATCHES_MAX && size >= PATCH_BYTES;
	     i++, data += PATCH_BYTES, size -= PATCH_BYTES) {
		uint16_t place;
		uint32_t value;
		memcpy(&place, data, sizeof(place));
		memcpy(&value, data + sizeof(place), sizeof(value));
		if (place <= REACH - sizeof(value))
			memcpy(bytes + place, &value, sizeof(value));
		mixed = mixed << 32 ^ value;
	}
	struct segment segment;
	if (segment_view(bytes, made.size_bytes, &segment) == 0)
		use(&segment, mixed);
	memcpy(bytes, before, sizeof(before));
	return 0;
}
