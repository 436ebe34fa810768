/* Files: see file.h. */
#include "tracker/content/file.h"

#include <errno.h>
#include <string.h>

#include "tracker/process/source.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

enum {
	/* with half as many, a table that is 60 % full would forget two files of 10,000, and one
	 * that is full 6 % */
	PROBES = 64,
	ATTEMPTS = 4,
};

/* The follower of the table (cli/run/metadata.c) need not read all of it to know that nothing
 * happened. */
static void commit(const struct segment *segment, struct file_slot *slot, struct file_slot *copy)
{
	slot_commit(slot, copy, sizeof(*copy));
	(void)__atomic_add_fetch(&segment->header->files_changed, 1, __ATOMIC_RELEASE);
}

static uint64_t index_of(const struct segment *segment, uint64_t key, unsigned probe)
{
	return (key + probe) % segment->capacity[TABLE_FILES];
}

/* A slot takes several lines of the processor's memory, and where it is in a large table none of
 * them is at hand: they are all asked for at once, and the next slot's first, rather than one when
 * the one before has come. */
static inline void fetch(const struct segment *segment, uint64_t key)
{
	enum { LINE = 64 };
	const char *slot = segment_slot(segment, TABLE_FILES, index_of(segment, key, 0));

	for (size_t at = 0; at < sizeof(struct file_slot) + LINE; at += LINE)
		__builtin_prefetch(slot + at);
}

/* The slot that holds the key, else the one to put it into: an empty one, else, of those probed,
 * the one read longest ago. */
static struct file_slot *find(const struct segment *segment, uint64_t key,
			      struct file_slot **ret_place)
{
	struct file_slot *place = NULL;
	uint64_t oldest = UINT64_MAX;

	fetch(segment, key);
	for (unsigned probe = 0; probe < PROBES; probe++) {
		uint64_t index = index_of(segment, key, probe);
		struct file_slot *slot = segment_slot(segment, TABLE_FILES, index);
		uint64_t found = segment_is_used(segment, TABLE_FILES, index)
					 ? __atomic_load_n(&slot->key, __ATOMIC_RELAXED)
					 : 0;
		if (found == key)
			return slot;
		if (found == 0) {
			place = slot;
			break;
		}
		uint64_t last = __atomic_load_n(&slot->last_read_ns, __ATOMIC_RELAXED);
		if (last < oldest) {
			oldest = last;
			place = slot;
		}
	}
	if (ret_place)
		*ret_place = place;
	return NULL;
}

int file_find(const struct segment *segment, uint64_t key, struct file_slot *ret_file)
{
	const struct file_slot *slot = key ? find(segment, key, NULL) : NULL;
	struct file_slot copy;
	if (!slot || !slot_read(slot, &copy, sizeof(copy)) || copy.key != key)
		return -ENOENT;
	*ret_file = copy;
	return 0;
}

static uint64_t inode_hash(uint64_t dev, uint64_t ino)
{
	uint64_t hash = (ino ^ (dev << 32)) * 0x9e3779b97f4a7c15u;
	return hash ^ (hash >> 31);
}

uint64_t file_by_inode(const struct segment *segment, uint64_t dev, uint64_t ino)
{
	uint64_t found_ns;
	return file_by_inode_at(segment, dev, ino, &found_ns);
}

uint64_t file_by_inode_at(const struct segment *segment, uint64_t dev, uint64_t ino,
			  uint64_t *ret_found_ns)
{
	for (unsigned probe = 0; probe < PROBES; probe++) {
		uint64_t index = (inode_hash(dev, ino) + probe) % segment->capacity[TABLE_INODES];
		const struct inode_slot *slot = segment_slot(segment, TABLE_INODES, index);
		struct inode_slot copy;
		if (!segment_is_used(segment, TABLE_INODES, index))
			return 0;
		uint64_t found = __atomic_load_n(&slot->ino, __ATOMIC_RELAXED);
		if (found == 0 && __atomic_load_n(&slot->file_key, __ATOMIC_RELAXED) == 0)
			return 0;
		if (found == ino && slot_read(slot, &copy, INODE_CHECKED_BYTES) &&
		    copy.ino == ino && copy.dev == dev) {
			*ret_found_ns = __atomic_load_n(&slot->found_realtime_ns, __ATOMIC_RELAXED);
			return copy.file_key;
		}
	}
	return 0;
}

static void inode_set(const struct segment *segment, uint64_t dev, uint64_t ino, uint64_t key)
{
	struct inode_slot *place = NULL;
	struct inode_slot copy;

	for (unsigned probe = 0; probe < PROBES; probe++) {
		uint64_t index = (inode_hash(dev, ino) + probe) % segment->capacity[TABLE_INODES];
		struct inode_slot *slot = segment_slot(segment, TABLE_INODES, index);
		if (!segment_is_used(segment, TABLE_INODES, index)) {
			place = segment_use(segment, TABLE_INODES, slot) ? slot : place;
			break;
		}
		uint64_t found_ino = __atomic_load_n(&slot->ino, __ATOMIC_RELAXED);
		uint64_t found_dev = __atomic_load_n(&slot->dev, __ATOMIC_RELAXED);
		uint64_t found_key = __atomic_load_n(&slot->file_key, __ATOMIC_RELAXED);
		if (found_ino == ino && found_dev == dev) {
			/* A writer that died inside left the words and no check value: to be
			 * written again. */
			if (found_key == key && slot_read(slot, &copy, INODE_CHECKED_BYTES)) {
				__atomic_store_n(&slot->found_realtime_ns, sys_realtime_ns(),
						 __ATOMIC_RELAXED);
				return;
			}
			place = slot;
			break;
		}
		if (!place)
			place = slot; /* a full neighbourhood: the first one gives way */
		if (found_key == 0) {
			place = slot;
			break;
		}
	}
	if (!place || !slot_acquire(place, &copy, INODE_CHECKED_BYTES))
		return;
	copy.dev = dev;
	copy.ino = ino;
	copy.file_key = key;
	__atomic_store_n(&place->found_realtime_ns, sys_realtime_ns(), __ATOMIC_RELAXED);
	slot_commit(place, &copy, INODE_CHECKED_BYTES);
}

/* Keeps the path of a slot.  Where it fits into the room of the one that was there before it is put
 * there: else a table that is full would use up the store of paths, and nothing could be recorded
 * any more.  Who reads the old path at that moment finds that it is not that of the key
 * (file_path()).  Returns false when there is no room. */
static bool store_path(const struct segment *segment, const char *path,
		       const struct file_slot *before, struct file_slot *slot)
{
	size_t length = strlen(path), room = (length + 7) & ~(size_t)7;

	if (room > UINT16_MAX)
		return false;
	slot->path_bytes = (uint16_t)length;
	if (before->path_bytes && length <= before->path_room &&
	    arena_at(segment, before->path_offset, before->path_room)) {
		slot->path_offset = before->path_offset;
		slot->path_room = before->path_room;
		memcpy(segment->arena + slot->path_offset, path, length);
		return true;
	}
	slot->path_offset = arena_store(segment, path, length);
	slot->path_room = (uint16_t)room;
	return slot->path_offset != 0;
}

uint64_t file_update(const struct segment *segment, const char *path, const struct stamp *stamp,
		     file_change *change, const void *data)
{
	uint64_t key = path_key(segment, path);

	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		struct file_slot *place = NULL;
		struct file_slot *slot = find(segment, key, &place);
		struct file_slot copy;
		bool make = slot == NULL;
		if (make)
			slot = place;
		if (!slot)
			continue;
		if (make && !segment_use(segment, TABLE_FILES, slot))
			break;
		uint64_t before = __atomic_load_n(&slot->key, __ATOMIC_RELAXED);
		if (!slot_acquire(slot, &copy, sizeof(copy)))
			continue;
		if (copy.key && copy.key != key && copy.key != before) {
			slot_abandon(
				slot, &copy,
				sizeof(copy)); /* another took the place: it need not give way */
			continue;
		}
		if (copy.key != key) {
			/* Not known yet, or the slot was damaged or given away meanwhile: begin
			 * afresh here.  Of the file that has to make place nothing is known any
			 * more: that is a loss, and counted. */
			/* A number of its own: a read pending from before the slot was given away
			 * is none of this one's. */
			struct file_slot fresh = { .head = copy.head, .key = key };
			if (!store_path(segment, path, &copy, &fresh)) {
				slot_abandon(slot, &copy, sizeof(copy));
				break;
			}
			if (copy.key)
				segment_count(segment, COUNTER_lost_files, 1);
			fresh.forgets = (uint32_t)segment_serial(segment);
			copy = fresh;
		}
		if (change)
			change(&copy, data);
		commit(segment, slot, &copy);
		if (stamp)
			inode_set(segment, stamp->dev, stamp->ino, key);
		return key;
	}
	segment_count(segment, COUNTER_lost_files, 1);
	return 0;
}

int file_change_known(const struct segment *segment, uint64_t key, file_change *change,
		      const void *data)
{
	for (int attempt = 0; key && attempt < ATTEMPTS; attempt++) {
		struct file_slot *slot = find(segment, key, NULL);
		struct file_slot copy;
		if (!slot)
			return -ENOENT;
		if (!slot_acquire(slot, &copy, sizeof(copy)))
			continue;
		if (copy.key == key) {
			change(&copy, data);
			commit(segment, slot, &copy);
			return 0;
		}
		slot_abandon(slot, &copy, sizeof(copy));
	}
	return -ENOENT;
}

void file_note_read(struct file_slot *file)
{
	file->flags &= ~(uint32_t)FATE_GONE;
	file->last_read_ns = sys_boottime_ns();
	file->last_read_realtime_ns = sys_realtime_ns();
	if (!file->first_read_realtime_ns)
		file->first_read_realtime_ns = file->last_read_realtime_ns;
}

void file_note_given(struct file_slot *file)
{
	file->agent_read_realtime_ns = sys_realtime_ns();
	file->source = SOURCE_READ;
	file->flags &= ~(uint32_t)FILE_CHANGE_REPORTED;
}

void file_note_external(struct file_slot *file, const struct version *version, enum source source,
			uint64_t realtime_ns)
{
	if (!version_is_none(version)) /* it was created again */
		file->flags &= ~(uint32_t)FATE_GONE;
	file->external = *version;
	file->external_scope = 0;
	file->user_edit_realtime_ns = realtime_ns;
	file->source = (uint32_t)source;
	file->flags &= ~(uint32_t)FILE_CHANGE_REPORTED;
}

struct edit {
	enum source source;
	enum file_action kind;
};

void file_note_editor(struct file_slot *file, enum source source, uint64_t realtime_ns)
{
	file->source = (uint32_t)source;
	file->last_edit_realtime_ns = realtime_ns;
	if (source == SOURCE_AGENT) {
		file->agent_edit_realtime_ns = realtime_ns;
		file->flags |= FILE_EDITED_BY_AGENT | FILE_EDIT_UNREPORTED;
	} else {
		file->flags |= FILE_EDITED_BY_TOOL | FILE_TOOL_EDIT_UNREPORTED;
	}
}

static void mark_edited(struct file_slot *file, const void *data)
{
	const struct edit *edit = data;

	/* What was read before was there. */
	if (file->first_read_realtime_ns)
		file->flags = fate_after(file->flags, FILE_ACTION_READ);
	file->flags = fate_after(file->flags, edit->kind);
	file_note_editor(file, edit->source, sys_realtime_ns());
}

void file_note_edit(const struct segment *segment, const char *normal_path,
		    const struct context *context, uint32_t role, enum file_action kind)
{
	if (!path_is_tracked(segment, normal_path))
		return;
	struct edit edit = { source_of_process(context->flags, role), kind };
	(void)file_update(segment, normal_path, NULL, mark_edited, &edit);
}

int file_path(const struct segment *segment, const struct file_slot *file, char *ret_path,
	      size_t capacity)
{
	const char *path = arena_at(segment, file->path_offset, file->path_bytes);
	if (!path || file->path_bytes == 0 || path[0] != '/')
		return -EBADMSG;
	if (file->path_bytes >= capacity)
		return -ENAMETOOLONG;
	memcpy(ret_path, path, file->path_bytes);
	ret_path[file->path_bytes] = '\0';
	/* Another path may have been put there since the slot was read. */
	if (path_key(segment, ret_path) != file->key)
		return -EBADMSG;
	return (int)file->path_bytes;
}
