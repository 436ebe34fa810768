/* Paths that stand in records: see pack_texts.h. */
#include "tracker/content/pack_texts.h"

#include <string.h>

#include "tracker/content/pack.h"

enum {
	TEXTS = 4, /* a rename over a file has two, what becomes of both comes soon */
	TEXT_BYTES_MAX = 256,
	DIRECTORY_BYTES_MIN = 8, /* a shorter one is not worth its name */
	DIRECTORY_USES_MAX = 64, /* a record that is damaged takes those with it that name it */
};

static struct {
	uint32_t taken;   /* by a thread that reads or writes them */
	uint32_t next;    /* to be replaced */
	uint64_t session; /* when its segment was created */
	struct text {
		uint64_t place, whole; /* of its record; of that in which its directory stands */
		size_t bytes;          /* 0: none */
		size_t directory_bytes;
		uint32_t uses; /* of the directory's text, before this one */
		char path[TEXT_BYTES_MAX];
	} texts[TEXTS];
} known;

static bool acquire(const struct segment *segment)
{
	if (__atomic_exchange_n(&known.taken, 1, __ATOMIC_ACQUIRE))
		return false;
	if (known.session != segment->header->created_realtime_ns) {
		for (int i = 0; i < TEXTS; i++)
			known.texts[i].bytes = 0;
		known.session = segment->header->created_realtime_ns;
	}
	return true;
}

static void release(void)
{
	__atomic_store_n(&known.taken, 0, __ATOMIC_RELEASE);
}

/* Of a path's directory, with the slash behind it. */
static size_t directory_bytes_of(const char *path, size_t path_bytes)
{
	while (path_bytes && path[path_bytes - 1] != '/')
		path_bytes--;
	return path_bytes;
}

/* Of two texts that have the directory: the one that was written last. */
static bool is_later(const struct text *text, const struct text *other)
{
	return !other || text->whole > other->whole ||
	       (text->whole == other->whole && text->uses > other->uses);
}

struct pack_text pack_texts_find(const struct segment *segment, const char *path, size_t path_bytes)
{
	struct pack_text found = { .place = PACK_NO_PLACE };
	const struct text *above = NULL;

	if (!path_bytes || path_bytes > TEXT_BYTES_MAX || !acquire(segment))
		return found;
	size_t directory_bytes = directory_bytes_of(path, path_bytes);
	for (int i = 0; i < TEXTS && !found.bytes; i++) {
		const struct text *text = &known.texts[i];
		if (!text->bytes)
			continue;
		if (text->bytes == path_bytes && memcmp(text->path, path, path_bytes) == 0)
			found = (struct pack_text){ text->place, path_bytes, 0 };
		else if (text->directory_bytes == directory_bytes && is_later(text, above) &&
			 memcmp(text->path, path, directory_bytes) == 0)
			above = text;
	}
	if (!found.bytes && above && directory_bytes >= DIRECTORY_BYTES_MIN &&
	    above->uses < DIRECTORY_USES_MAX)
		found = (struct pack_text){ above->whole, directory_bytes, above->uses + 1 };
	release();
	return found;
}

void pack_texts_note(const struct segment *segment, const char *path, size_t path_bytes,
		     uint64_t place, const struct pack_text *directory)
{
	if (!path_bytes || path_bytes > TEXT_BYTES_MAX || !acquire(segment))
		return;
	struct text *text = &known.texts[known.next++ % TEXTS];
	text->place = place;
	text->whole = directory ? directory->place : place;
	text->uses = directory ? directory->uses : 0;
	text->bytes = path_bytes;
	text->directory_bytes = directory_bytes_of(path, path_bytes);
	memcpy(text->path, path, path_bytes);
	release();
}

void pack_texts_reset(void)
{
	/* by another thread of the process that was copied, which may have been about to write them */
	if (known.taken)
		known.session = 0;
	known.taken = 0;
}
