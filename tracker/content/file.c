/* Files: see file.h. */
#include "tracker/content/file.h"

#include <errno.h>
#include <string.h>

#include "tracker/process/source.h"
#include "tracker/segment/index.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

enum { ATTEMPTS = 4 };

/* The follower of the table (cli/run/metadata.c) need not read all of it to know that nothing
 * happened. */
static void commit(const struct segment *segment, struct file_slot *slot, struct file_slot *copy)
{
	slot_commit(slot, copy, sizeof(*copy));
	(void)__atomic_add_fetch(&segment->header->files_changed, 1, __ATOMIC_RELEASE);
}

/* A slot takes several lines of the processor's memory, and where it is in a large table none of
 * them is at hand: they are all asked for at once, rather than one when the one before has come. */
static inline void fetch(const struct file_slot *slot)
{
	enum { LINE = 64 };

	for (size_t at = 0; at < sizeof(*slot) + LINE; at += LINE)
		__builtin_prefetch((const char *)slot + at);
}

/* The slot that holds a key, or NULL.  ret_search: the search that ended.  ret_blank: a slot in which nothing is yet,
 * and which was meant for the key, or for one of the same tag; NULL: there is none. */
static struct file_slot *find(const struct segment *segment, uint64_t key,
			      struct index_search *ret_search, struct file_slot **ret_blank)
{
	struct file_slot *slot;

	*ret_search = (struct index_search){ .hash = key };
	*ret_blank = NULL;
	while ((slot = index_next(segment, TABLE_FILES, ret_search))) {
		fetch(slot);
		uint64_t found = __atomic_load_n(&slot->key, __ATOMIC_RELAXED);
		if (found == key)
			return slot;
		if (found == 0 && !*ret_blank)
			*ret_blank = slot;
	}
	return NULL;
}

static struct file_slot *find_known(const struct segment *segment, uint64_t key)
{
	struct index_search search;
	struct file_slot *blank;

	return key ? find(segment, key, &search, &blank) : NULL;
}

/* Something else is in the slot now. */
static void forget_word(const struct segment *segment, enum segment_table table, uint64_t hash,
			const void *slot)
{
	uint64_t bytes = (uint64_t)((const unsigned char *)slot - segment->tables[table]);

	index_remove(segment, table, hash, bytes / SEGMENT_SLOT_BYTES[table]);
}

int file_find(const struct segment *segment, uint64_t key, struct file_slot *ret_file)
{
	const struct file_slot *slot = find_known(segment, key);
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

/* The same of inodes. */
static struct inode_slot *find_inode(const struct segment *segment, uint64_t dev, uint64_t ino,
				     struct index_search *ret_search, struct inode_slot **ret_blank)
{
	struct inode_slot *slot;

	*ret_search = (struct index_search){ .hash = inode_hash(dev, ino) };
	*ret_blank = NULL;
	while ((slot = index_next(segment, TABLE_INODES, ret_search))) {
		uint64_t found = __atomic_load_n(&slot->ino, __ATOMIC_RELAXED);
		if (found == ino && __atomic_load_n(&slot->dev, __ATOMIC_RELAXED) == dev &&
		    __atomic_load_n(&slot->file_key, __ATOMIC_RELAXED))
			return slot;
		if (found == 0 && !*ret_blank &&
		    !__atomic_load_n(&slot->file_key, __ATOMIC_RELAXED))
			*ret_blank = slot;
	}
	return NULL;
}

uint64_t file_by_inode_at(const struct segment *segment, uint64_t dev, uint64_t ino,
			  uint64_t *ret_found_ns)
{
	struct index_search search;
	struct inode_slot *blank, copy;
	const struct inode_slot *slot = find_inode(segment, dev, ino, &search, &blank);

	if (!slot || !slot_read(slot, &copy, INODE_CHECKED_BYTES) || copy.ino != ino ||
	    copy.dev != dev)
		return 0;
	*ret_found_ns = __atomic_load_n(&slot->found_realtime_ns, __ATOMIC_RELAXED);
	return copy.file_key;
}

/* Tries once.  Returns false where another process was faster. */
static bool try_inode_set(const struct segment *segment, uint64_t dev, uint64_t ino, uint64_t key)
{
	struct index_search search;
	struct inode_slot *place, copy;
	struct inode_slot *slot = find_inode(segment, dev, ino, &search, &place);

	/* A writer that died inside left the words and no check value: to be written again. */
	if (slot && __atomic_load_n(&slot->file_key, __ATOMIC_RELAXED) == key &&
	    slot_read(slot, &copy, INODE_CHECKED_BYTES)) {
		__atomic_store_n(&slot->found_realtime_ns, sys_realtime_ns(), __ATOMIC_RELAXED);
		return true;
	}
	if (!slot)
		slot = place ? place
			     : index_place(segment, TABLE_INODES, &search,
					   offsetof(struct inode_slot, found_realtime_ns));
	if (!slot)
		return false;
	uint64_t before_dev = __atomic_load_n(&slot->dev, __ATOMIC_RELAXED);
	uint64_t before_ino = __atomic_load_n(&slot->ino, __ATOMIC_RELAXED);
	if ((slot == place && before_ino) || !slot_acquire(slot, &copy, INODE_CHECKED_BYTES))
		return false;
	if (copy.file_key && (copy.dev != before_dev || copy.ino != before_ino)) {
		slot_abandon(slot, &copy, INODE_CHECKED_BYTES);
		return false;
	}
	copy.dev = dev;
	copy.ino = ino;
	copy.file_key = key;
	__atomic_store_n(&slot->found_realtime_ns, sys_realtime_ns(), __ATOMIC_RELAXED);
	slot_commit(slot, &copy, INODE_CHECKED_BYTES);
	if (before_ino && (before_ino != ino || before_dev != dev))
		forget_word(segment, TABLE_INODES, inode_hash(before_dev, before_ino), slot);
	return true;
}

static void inode_set(const struct segment *segment, uint64_t dev, uint64_t ino, uint64_t key)
{
	for (int attempt = 0; attempt < ATTEMPTS; attempt++)
		if (try_inode_set(segment, dev, ino, key))
			return;
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

/* Where no path has room any more, a new file takes no slot: all that would be in it is its place. */
static bool is_lost_for_paths(const struct segment *segment, const char *path)
{
	bool is_full = __atomic_load_n(&segment->header->files_given, __ATOMIC_RELAXED) >=
		       segment->capacity[TABLE_FILES];

	return !is_full && !arena_has_room(segment, strlen(path));
}

uint64_t file_update(const struct segment *segment, const char *path, const struct stamp *stamp,
		     file_change *change, const void *data)
{
	uint64_t key = path_key(segment, path);

	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		struct index_search search;
		struct file_slot *blank;
		struct file_slot *slot = find(segment, key, &search, &blank);
		struct file_slot copy;
		uint64_t before = 0; /* the file that makes place, or the same one */
		if (!slot && !blank) {
			if (is_lost_for_paths(segment, path))
				break;
			blank = index_place(segment, TABLE_FILES, &search,
					    offsetof(struct file_slot, last_read_ns));
			if (blank)
				before = __atomic_load_n(&blank->key, __ATOMIC_RELAXED);
		}
		if (!slot)
			slot = blank;
		if (!slot || !slot_acquire(slot, &copy, sizeof(copy)))
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
		if (before && before != key)
			forget_word(segment, TABLE_FILES, before, slot);
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
		struct file_slot *slot = find_known(segment, key);
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
