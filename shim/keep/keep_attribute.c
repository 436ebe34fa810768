/* Puts extended attributes on record, for undo: see keep_attribute.h. */
#include "shim/keep/keep_attribute.h"

#include <errno.h>
#include <string.h>

#include "shim/keep/scratch.h"
#include "tracker/journal/journal.h"
#include "tracker/process/subject.h"
#include "tracker/sys/sys.h"

/* A path that these calls take, which know no directories.  memory: SEGMENT_PATH_BYTES.  NULL: it is too long. */
static const char *path_of(const struct call_name *file, char *memory)
{
	if (file->directory == AT_FDCWD || file->path[0] == '/')
		return file->path;
	subject_path(SUBJECT_SELF, file->directory, memory);
	size_t used = strlen(memory), length = strlen(file->path) + 1;
	if (used + 1 + length > SEGMENT_PATH_BYTES)
		return NULL;
	memory[used] = '/';
	memcpy(memory + used + 1, file->path, length);
	return memory;
}

static long read_value(const struct call_name *file, const char *attribute, char *value)
{
	if (!file->path)
		return sys_call6(SYS_fgetxattr, file->directory, (long)attribute, (long)value,
				 SEGMENT_PATH_BYTES, 0, 0);
	char *memory = scratch_acquire();
	const char *path = memory ? path_of(file, memory) : NULL;
	long bytes = path ? sys_call6(file->follows ? SYS_getxattr : SYS_lgetxattr, (long)path,
				      (long)attribute, (long)value, SEGMENT_PATH_BYTES, 0, 0)
			  : -ENOMEM;
	scratch_release(memory);
	return bytes;
}

uint64_t keep_attribute(const struct keeper *keeper, const struct pack_note *note,
			const struct call_name *file, const char *attribute)
{
	char *value = scratch_acquire();
	uint64_t place = PACK_NO_PLACE;
	long bytes = value && attribute ? read_value(file, attribute, value) : -EFAULT;

	/* by these results the kernel has read the attribute's name */
	if (bytes >= 0 || bytes == -ENODATA || bytes == -ERANGE) {
		struct pack_note full = *note;
		enum pack_held held = bytes >= 0          ? PACK_INLINE
				      : bytes == -ENODATA ? PACK_NOT_TAKEN
							  : PACK_NOT_KEPT;
		full.other = attribute;
		full.flags |= bytes == -ENODATA ? PACK_NO_VALUE : 0;
		full.reason = bytes == -ERANGE ? PACK_TOO_LARGE : PACK_NO_REASON;
		place = pack_write(keeper->segment, &full, held, value,
				   bytes > 0 ? (size_t)bytes : 0);
	}
	scratch_release(value);
	return place;
}

static long list(const struct call_name *file, char *names)
{
	if (!file->path)
		return sys_call6(SYS_flistxattr, file->directory, (long)names, SEGMENT_PATH_BYTES,
				 0, 0, 0);
	char *memory = scratch_acquire();
	const char *path = memory ? path_of(file, memory) : NULL;
	long bytes = path ? sys_call6(SYS_llistxattr, (long)path, (long)names, SEGMENT_PATH_BYTES,
				      0, 0, 0)
			  : -ENOMEM;

	scratch_release(memory);
	return bytes;
}

void keep_attributes(const struct keeper *keeper, const struct pack_note *going,
		     const struct call_name *name)
{
	static const char SECURITY[] = "security.";
	const struct call_name file = { name->path, name->directory, false };
	struct pack_note note = *going;
	char *names = scratch_acquire();
	long bytes = names ? list(&file, names) : -ENOMEM;

	note.kind = PACK_METADATA;
	note.what = JOURNAL_METADATA_ATTRIBUTE;
	note.flags |= PACK_GOING;
	for (long at = 0; at < bytes; at += (long)strnlen(names + at, (size_t)(bytes - at)) + 1)
		if (strncmp(names + at, SECURITY, sizeof(SECURITY) - 1) != 0)
			(void)keep_attribute(keeper, &note, &file, names + at);
	if (bytes == -ERANGE || bytes == -ENOMEM || bytes == -EIO)
		segment_count(keeper->segment, COUNTER_lost_undo, 1);
	scratch_release(names);
}
