/* What an exported function means: see call.h. */
#include "shim/preload/call.h"

#include <string.h>
#include <sys/stat.h>

#include "shim/preload/change.h"
#include "shim/preload/directory.h"
#include "tracker/sys/sys.h"

/* A file that was opened for writing. */
struct opened {
	enum file_action kind;
	uint16_t marks;  /* as of the record */
	bool is_weighed; /* size_bytes */
	uint64_t size_bytes;
};

/* What only the kernel knows of it: a shell below an agent asks for its size too. */
__attribute__((noinline)) static void inspect(int fd, struct opened *opened)
{
	enum file_action kind = change_inspect_new(fd, &opened->size_bytes);

	if (opened->kind == FILE_ACTION_WRITE)
		opened->kind = kind;
	opened->is_weighed = opened->size_bytes != UINT64_MAX;
}

/* Is it a new one?  Notes the change. */
static struct opened note_opened_to_write(int fd, int directory, const char *path, int flags,
					  const struct write_check *check)
{
	struct opened opened = { .kind = FILE_ACTION_WRITE };

	if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL) ||
	    (check && check->path && check->answer.reason == GUARD_NEW))
		opened.kind = FILE_ACTION_CREATE;
	else if (!(flags & O_CREAT) || (check && check->path))
		opened.kind = FILE_ACTION_CHANGE;
	if (__builtin_expect(shim.role == ROLE_SHELL, 0) && !shim.sandboxed && shim.records &&
	    (shim.request.context.flags & (CONTEXT_AGENT | CONTEXT_EXTERNAL_AGENT)))
		inspect(fd, &opened);
	if (shim.changes && path && (flags & O_TMPFILE) != O_TMPFILE)
		opened.kind = change_note_opened(directory, path, fd, opened.kind);
	opened.marks = opened.kind == FILE_ACTION_CREATE   ? JOURNAL_MADE
		       : opened.kind == FILE_ACTION_CHANGE ? JOURNAL_WAS_THERE
							   : 0;
	return opened;
}

int call_opened(int fd, int directory, const char *path, int flags, struct write_check *check)
{
	struct open_facts facts, *known = NULL;

	if (check && check->path)
		fd = write_check_emptied(check, fd);

	if (!shim.on)
		return fd;
	if (__builtin_expect(shim.views || shim.reads_own, 0)) {
		facts = (struct open_facts){ .is_known = false };
		known = &facts;
	}
	if (fd >= 0 && !(flags & O_PATH)) {
		bool lists = flags & O_DIRECTORY && (flags & O_TMPFILE) != O_TMPFILE;
		bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC);
		count_up(lists ? PROCESS_LISTINGS : writes ? PROCESS_OPENS_WRITE : PROCESS_OPENS);
		if (lists) {
			;
		} else if (writes) {
			struct opened opened = note_opened_to_write(fd, directory, path, flags,
								    check);
			bool is_announced = (flags & O_CREAT) && !(flags & O_EXCL) && opened.marks;
			if (known) {
				facts.marks = opened.marks;
			} else if (is_announced || opened.is_weighed) {
				facts = (struct open_facts){ .marks = opened.marks,
							     .is_weighed = opened.is_weighed,
							     .size_bytes = opened.size_bytes };
				known = &facts;
			}
		} else if (shim.views) {
			viewer_opened(fd, directory, path, &facts);
		} else if (shim.shows) {
			viewer_shown(fd, path);
		} else if (shim.reads_own && path) {
			in_process_opened(fd, directory, path, &facts);
		}
	}
	if (__builtin_expect(shim.tracks, 0))
		reader_opened(fd, directory, path, flags);
	record_opened(fd, directory, path, flags, known);
	if (check && check->path)
		write_check_opened(check, fd, flags, false);
	return fd;
}

int call_closing_of_any(int fd)
{
	struct closing closing;
	int saved_errno = errno, refused = 0;

	call_closing(fd, &closing);
	if (__builtin_expect(closing.fd >= 0, 0) && guarded_closed(&closing) < 0)
		refused = errno;
	errno = saved_errno;
	return refused;
}

bool call_refuses_open(int directory, const char *path, int flags, bool holds,
		       struct write_check *check)
{
	if (write_check_open(directory, path, flags, holds, check))
		return false;
	record_opened(-1, directory, path, flags, NULL);
	return true;
}

bool call_rules_refuse_open(int directory, const char *path, int flags)
{
	uint32_t ops = rule_ops_of_open(flags);

	if (call_may(ops, directory, path, !(flags & O_NOFOLLOW) && !(ops & RULE_ONLY_NEW)))
		return false;
	record_opened(-1, directory, path, flags, NULL);
	return true;
}

void call_moved(int error, int fd, const char *path)
{
	if (!shim.on)
		return;
	/* The record first: a path is relative to the directory that is being left. */
	if (path)
		record_name(JOURNAL_CHDIR, error != 0, AT_FDCWD, path, 0, 0);
	else
		record_descriptor(JOURNAL_CHDIR, error != 0, fd, 0, 0);
	if (error == 0) {
		if (__builtin_expect(shim.tracks, 0))
			reader_moved(fd, path);
		if (__builtin_expect(shim.views, 0))
			viewer_moved();
		change_directory();
	}
}
