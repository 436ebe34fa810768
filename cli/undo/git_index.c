/* Entries of a git index: see git_index.h. */
#include "cli/undo/git_index.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/undo/git_objects.h"

enum {
	HEAD_BYTES = 12,
	MODE_AT = 24,
	OID_AT = 40,
	FLAG_EXTENDED = 0x4000,
	FLAGS_MEANT = 0xb000, /* the stage, assumed unchanged */
	NAME_BYTES_MASK = 0xfff,
	EXTENDED_SHIFT = 16,
	ALIGNMENT = 8,
	EXTENSION_HEAD_BYTES = 8, /* a name, and the size of the rest */
};

static uint32_t word_at(const char *bytes)
{
	uint32_t word;

	memcpy(&word, bytes, sizeof(word));
	return be32toh(word);
}

static uint32_t half_at(const char *bytes)
{
	uint16_t half;

	memcpy(&half, bytes, sizeof(half));
	return be16toh(half);
}

int git_index_init(struct git_index *index, const char *bytes, size_t size, size_t oid_bytes)
{
	*index = (struct git_index){
		.bytes = bytes, .size = size, .at = HEAD_BYTES, .oid_bytes = oid_bytes
	};
	if (size < HEAD_BYTES + oid_bytes || memcmp(bytes, "DIRC", 4) != 0)
		return -EBADMSG;
	index->version = word_at(bytes + 4);
	index->left = word_at(bytes + 8);
	return index->version >= 2 && index->version <= 4 ? 0 : -EBADMSG;
}

/* How much of the name before is not in this one's (version 4). */
static int read_cut(struct git_index *index, size_t *at, size_t *ret_cut)
{
	size_t value = 0;
	unsigned char byte;

	do {
		if (*at >= index->size || value > PACK_PATH_BYTES_MAX)
			return -EBADMSG;
		byte = (unsigned char)index->bytes[(*at)++];
		value = (value << 7) | (byte & 0x7f);
		value += byte & 0x80 ? 1 : 0;
	} while (byte & 0x80);
	*ret_cut = value;
	return 0;
}

static int read_name(struct git_index *index, size_t entry, size_t at)
{
	size_t kept = 0;

	if (index->version == 4) {
		int error = read_cut(index, &at, &kept);
		if (error < 0 || kept > index->path_bytes)
			return -EBADMSG;
		kept = index->path_bytes - kept;
	}
	if (at >= index->size)
		return -EBADMSG;
	const char *end = memchr(index->bytes + at, '\0', index->size - at);
	size_t length = end ? (size_t)(end - (index->bytes + at)) : 0;
	if (!end || kept + length > PACK_PATH_BYTES_MAX)
		return -EBADMSG;
	memcpy(index->path + kept, index->bytes + at, length + 1);
	index->path_bytes = kept + length;
	index->at = at + length + 1;
	if (index->version < 4)
		index->at = entry + (at + length - entry) / ALIGNMENT * ALIGNMENT + ALIGNMENT;
	return index->at <= index->size ? 1 : -EBADMSG;
}

int git_index_next(struct git_index *index)
{
	size_t entry = index->at, at = entry + OID_AT + index->oid_bytes;

	if (index->left == 0)
		return 0;
	index->left--;
	if (at + 2 * sizeof(uint16_t) > index->size)
		return -EBADMSG;
	index->mode = word_at(index->bytes + entry + MODE_AT);
	index->oid = (const unsigned char *)index->bytes + entry + OID_AT;
	uint32_t flags = half_at(index->bytes + at);
	at += sizeof(uint16_t);
	index->flags = flags & FLAGS_MEANT;
	if (flags & FLAG_EXTENDED) {
		index->flags |= half_at(index->bytes + at) << EXTENDED_SHIFT;
		at += sizeof(uint16_t);
	}
	return read_name(index, entry, at);
}

/* The extensions follow the entries; a check of the object's size ends the file. */
static int next_extension(struct git_index *index, const char **ret_extension, size_t *ret_size)
{
	size_t end = index->size - index->oid_bytes, left = end - index->at;

	if (index->at == end)
		return 0;
	if (index->at > end || left < EXTENSION_HEAD_BYTES)
		return -EBADMSG;
	size_t size = word_at(index->bytes + index->at + 4);
	if (size > left - EXTENSION_HEAD_BYTES)
		return -EBADMSG;
	*ret_extension = index->bytes + index->at;
	*ret_size = EXTENSION_HEAD_BYTES + size;
	index->at += *ret_size;
	return 1;
}

/* Is it whole, with objects of this size? */
static bool fits(struct git_index *index, const char *bytes, size_t size, size_t oid_bytes)
{
	const char *extension;
	int got = git_index_init(index, bytes, size, oid_bytes) < 0 ? -EBADMSG : 1;

	while (got > 0)
		got = git_index_next(index);
	for (got = got == 0 ? 1 : got; got > 0;)
		got = next_extension(index, &extension, &size);
	return got == 0;
}

size_t git_index_oid_bytes(const char *bytes, size_t size)
{
	struct git_index *index = calloc(1, sizeof(*index));
	size_t oid_bytes = !index                                        ? 0
			   : fits(index, bytes, size, GIT_OID_BYTES_MIN) ? GIT_OID_BYTES_MIN
			   : fits(index, bytes, size, GIT_OID_BYTES_MAX) ? GIT_OID_BYTES_MAX
									 : 0;

	free(index);
	return oid_bytes;
}

/* What a split index adds to, and what it removes from, the shared one; NULL: it is not split.  index: all its
 * entries were read. */
static const char *link_of(struct git_index *index, size_t *ret_size)
{
	static const char LINK[] = { 'l', 'i', 'n', 'k' };
	const char *extension;

	while (next_extension(index, &extension, ret_size) > 0)
		if (memcmp(extension, LINK, sizeof(LINK)) == 0)
			return extension;
	*ret_size = 0;
	return NULL;
}

size_t git_index_shared(const char *bytes, size_t size, unsigned char *ret_oid)
{
	struct git_index *index = calloc(1, sizeof(*index));
	size_t oid_bytes = index ? git_index_oid_bytes(bytes, size) : 0, link_bytes = 0;
	int got = oid_bytes && git_index_init(index, bytes, size, oid_bytes) == 0 ? 1 : -EBADMSG;

	while (got > 0)
		got = git_index_next(index);
	const char *link = got == 0 ? link_of(index, &link_bytes) : NULL;
	bool is_shared = link && link_bytes >= EXTENSION_HEAD_BYTES + oid_bytes;
	if (is_shared)
		memcpy(ret_oid, link + EXTENSION_HEAD_BYTES, oid_bytes);
	free(index);
	return is_shared && !git_oid_is_null(ret_oid, oid_bytes) ? oid_bytes : 0;
}

static bool have_same_link(struct git_index *one, struct git_index *other)
{
	size_t one_bytes, other_bytes;
	const char *one_link = link_of(one, &one_bytes);
	const char *other_link = link_of(other, &other_bytes);

	return one_bytes == other_bytes &&
	       (one_bytes == 0 || memcmp(one_link, other_link, one_bytes) == 0);
}

static bool is_same_entry(const struct git_index *one, const struct git_index *other)
{
	return one->mode == other->mode && one->flags == other->flags &&
	       one->path_bytes == other->path_bytes &&
	       memcmp(one->path, other->path, one->path_bytes) == 0 &&
	       memcmp(one->oid, other->oid, one->oid_bytes) == 0;
}

bool git_index_is_same(const char *one, size_t one_bytes, const char *other, size_t other_bytes)
{
	struct git_index *both = calloc(2, sizeof(*both));
	size_t oid_bytes = git_index_oid_bytes(one, one_bytes);
	bool same = both && oid_bytes && git_index_init(&both[0], one, one_bytes, oid_bytes) == 0 &&
		    git_index_init(&both[1], other, other_bytes, oid_bytes) == 0;
	int got = 1;

	while (same && got > 0) {
		got = git_index_next(&both[0]);
		same = got >= 0 && git_index_next(&both[1]) == got &&
		       (got == 0 || is_same_entry(&both[0], &both[1]));
	}
	same = same && have_same_link(&both[0], &both[1]);
	free(both);
	return same;
}
