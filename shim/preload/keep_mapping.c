/* Shared mappings that become writable, for undo: see keep_mapping.h. */
#include "shim/preload/keep_mapping.h"

#include <string.h>
#include <sys/mman.h>

#include "shim/keep/keep_content.h"
#include "shim/keep/keep_name.h"
#include "shim/keep/scratch.h"
#include "shim/preload/keep_file.h"
#include "shim/preload/keep_self.h"
#include "shim/preload/thread.h"
#include "tracker/content/pack_write.h"
#include "tracker/sys/chunk.h"
#include "tracker/sys/sys.h"

enum {
	MAPPINGS = 64,
	BEING_NOTED = 1, /* no address */
};

/* What one was when it was made.  Its place is another's once its memory is. */
static struct mapping {
	uint64_t begin;    /* address; set last; 0: none */
	uint64_t end;      /* likewise, behind it */
	uint64_t boundary; /* what was there at this one is kept; 0: not yet */
	uint64_t dev, ino;
} mappings[MAPPINGS];
static uint32_t mapping_count; /* that were ever noted */

static uint64_t start_of(const struct mapping *mapping)
{
	return __atomic_load_n(&mapping->begin, __ATOMIC_ACQUIRE);
}

static bool overlaps(const struct mapping *mapping, uint64_t begin, uint64_t end)
{
	return start_of(mapping) > BEING_NOTED && start_of(mapping) < end && begin < mapping->end;
}

/* False: there is no place. */
static bool note(const struct mapping *noted)
{
	for (int i = 0; i < MAPPINGS; i++) {
		struct mapping *mapping = &mappings[i];
		uint64_t there = start_of(mapping);
		/* one that is covered in part is still there beside it */
		bool is_free = there == 0 || (there > BEING_NOTED && noted->begin <= there &&
					      mapping->end <= noted->end);
		if (!is_free ||
		    !__atomic_compare_exchange_n(&mapping->begin, &there, BEING_NOTED, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		mapping->end = noted->end;
		mapping->boundary = noted->boundary;
		mapping->dev = noted->dev;
		mapping->ino = noted->ino;
		__atomic_store_n(&mapping->begin, noted->begin, __ATOMIC_RELEASE);
		(void)__atomic_fetch_add(&mapping_count, 1, __ATOMIC_RELAXED);
		return true;
	}
	return false;
}

void keep_mapped(const struct call *call)
{
	const struct call_bytes *bytes = &call->bytes;
	int fd = call->name.directory;
	struct mapping mapping = { .begin = (uintptr_t)bytes->memory };

	if (call->error || !(call->flags & MAP_SHARED) || (call->flags & MAP_ANONYMOUS) ||
	    !keep_file_of(fd, &mapping.dev, &mapping.ino))
		return;
	mapping.end = mapping.begin + bytes->size_bytes;
	mapping.boundary = bytes->protection & PROT_WRITE ? keep_boundary() : 0;
	if (!note(&mapping)) /* then it is kept now */
		keep_changing_by(fd, true);
}

void keep_remapped(const void *address, void *moved, size_t size_bytes)
{
	uint64_t from = (uintptr_t)address;

	for (int i = 0; i < MAPPINGS && moved != MAP_FAILED; i++) {
		if (!overlaps(&mappings[i], from, from + 1))
			continue;
		struct mapping mapping = mappings[i];
		mapping.begin = (uintptr_t)moved;
		mapping.end = mapping.begin + size_bytes;
		int fd = note(&mapping) ? -1 : keep_descriptor_of(mapping.dev, mapping.ino);
		if (fd >= 0)
			keep_changing_by(fd, true);
		return;
	}
}

/* ---- its name, where its descriptor is closed ---- */

static const char *read_hexadecimal(const char *at, uint64_t *ret_number)
{
	uint64_t number = 0;

	for (;; at++) {
		if (*at >= '0' && *at <= '9')
			number = number << 4 | (uint64_t)(*at - '0');
		else if (*at >= 'a' && *at <= 'f')
			number = number << 4 | (uint64_t)(*at - 'a' + 10);
		else
			break;
	}
	*ret_number = number;
	return at;
}

/* A name's only character that the kernel writes otherwise is the end of a line: \012. */
static bool copy_name(const char *name, char *ret_path)
{
	static const char ENCODED[] = "\\012";
	size_t length = 0;

	for (; *name && length < SEGMENT_PATH_BYTES - 1; length++) {
		bool is_encoded = strncmp(name, ENCODED, sizeof(ENCODED) - 1) == 0;
		ret_path[length] = *name;
		if (is_encoded)
			ret_path[length] = '\n';
		name += is_encoded ? sizeof(ENCODED) - 1 : 1;
	}
	ret_path[length] = '\0';
	return *name == '\0';
}

/* Is this line of /proc/self/maps (proc(5)) of that mapping, and does its name lead to the file still? */
static bool names(const char *line, const struct mapping *mapping, struct pack_state *ret_state,
		  char *ret_path)
{
	const struct call_name name = { .path = ret_path, .directory = AT_FDCWD };
	uint64_t begin, end;
	const char *at = read_hexadecimal(line, &begin);

	if (*at != '-')
		return false;
	at = read_hexadecimal(at + 1, &end);
	bool is_shared = strnlen(at, 5) == 5 && at[4] == 's';
	const char *path = strchr(at, '/');
	return is_shared && path && overlaps(mapping, begin, end) && copy_name(path, ret_path) &&
	       keep_name_state(&name, ret_state) == 0 && ret_state->dev == mapping->dev &&
	       ret_state->ino == mapping->ino;
}

/* Reads lines until one names the file.  text: CHUNK_BYTES. */
static bool find_in(int fd, char *text, const struct mapping *mapping, struct pack_state *ret_state,
		    char *ret_path)
{
	size_t length = 0;
	ssize_t got;

	while ((got = sys_read(fd, text + length, CHUNK_BYTES - length)) > 0) {
		char *line = text, *end;
		length += (size_t)got;
		while ((end = memchr(line, '\n', length - (size_t)(line - text)))) {
			*end = '\0';
			if (names(line, mapping, ret_state, ret_path))
				return true;
			line = end + 1;
		}
		length -= (size_t)(line - text);
		memmove(text, line, length);
	}
	return false;
}

static bool find(const struct mapping *mapping, struct pack_state *ret_state, char *ret_path)
{
	char *text = chunk_acquire();
	int fd = text ? sys_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0) : -1;
	bool found = fd >= 0 && find_in(fd, text, mapping, ret_state, ret_path);

	if (fd >= 0)
		(void)sys_close(fd);
	else
		segment_count(&shim.segment, COUNTER_lost_undo, 1);
	chunk_release(text);
	return found;
}

/* ---- before it becomes writable ---- */

/* What no descriptor tells any more: what is in it, and that it changes from now on. */
static void keep_by_name(const struct mapping *mapping)
{
	const struct keeper self = keep_self();
	char *path = scratch_acquire();
	const struct call_name plain = { .path = path, .directory = AT_FDCWD };
	struct keep_name name = { .name = &plain, .path = path };

	if (!path) {
		segment_count(&shim.segment, COUNTER_lost_undo, 1);
	} else if (find(mapping, &name.state, path) && keep_name_observed(&shim.segment, path) &&
		   !keep_name_excluded(&self, path)) {
		struct pack_note after = keep_note(&self, PACK_AFTER, &name);
		after.flags |= PACK_MAPPED;
		(void)keep_changing(&self, &name, -1, PACK_MAPPED);
		(void)pack_write(&shim.segment, &after, PACK_NOT_TAKEN, NULL, 0);
	}
	scratch_release(path);
}

static void keep_mapping(struct mapping *mapping)
{
	uint64_t boundary = keep_boundary();
	int fd = keep_descriptor_of(mapping->dev, mapping->ino);

	if (fd >= 0)
		keep_changing_by(fd, true);
	else
		keep_by_name(mapping);
	if (!in_vfork_child())
		mapping->boundary = boundary;
}

void keep_protecting(const struct call *call)
{
	const struct call_bytes *bytes = &call->bytes;
	uint64_t begin = (uintptr_t)bytes->memory, end = begin + bytes->size_bytes;
	uint32_t count = __atomic_load_n(&mapping_count, __ATOMIC_RELAXED);

	if (!(bytes->protection & PROT_WRITE) || shim.sandboxed)
		return;
	for (int i = 0; i < MAPPINGS && count; i++)
		if (overlaps(&mappings[i], begin, end) && mappings[i].boundary != keep_boundary())
			keep_mapping(&mappings[i]);
}
