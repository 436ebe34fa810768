/* The stations of opens inside a process: see stations_open.h. */
#include "shim/preload/stations_open.h"

#include "shim/preload/change.h"
#include "shim/preload/rules.h"

bool stations_guard_open(struct call *call)
{
	struct open_work *own = call->own;

	return write_check_open(call->name.directory, call->name.path, (int)call->flags,
				!own->by_stream, &own->check);
}

int open_judged(const struct call *call, int fd)
{
	uint32_t ops = rule_ops_of_open((int)call->flags);

	return fd < 0 || !rule_denies_file(&shim.rules, ops) || rules_let_opened(ops, fd) ? fd : -1;
}

void open_made(struct call *call)
{
	(void)stations_guard_open(call); /* what is new is never refused */
}

int open_emptied(struct call *call, int fd)
{
	struct open_work *own = call->own;

	return write_check_emptied(&own->check, fd);
}

void stations_guarded_open(struct call *call)
{
	struct open_work *own = call->own;

	write_check_opened(&own->check, call->descriptor, (int)call->flags, own->by_stream);
}

/* ---- a file that was opened for writing ---- */

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

/* Is it a new one?  By the flags, and by what the guard found, or what is kept for undo. */
static enum file_action action_of(const struct call *call)
{
	const struct write_check *check = &((const struct open_work *)call->own)->check;
	const uint32_t ONLY_NEW = O_CREAT | O_EXCL;
	bool is_checked = check->path != NULL;

	if ((call->flags & ONLY_NEW) == ONLY_NEW ||
	    (is_checked && check->answer.reason == GUARD_NEW))
		return FILE_ACTION_CREATE;
	return !(call->flags & O_CREAT) || is_checked || call->kept.was_there ? FILE_ACTION_CHANGE
									      : FILE_ACTION_WRITE;
}

/* Notes the change. */
static struct opened note_opened_to_write(const struct call *call)
{
	struct opened opened = { .kind = action_of(call) };
	const struct call_name *name = &call->name;

	if (__builtin_expect(shim.role == ROLE_SHELL, 0) && !shim.sandboxed && shim.records &&
	    (shim.request.context.flags & (CONTEXT_AGENT | CONTEXT_EXTERNAL_AGENT)))
		inspect(call->descriptor, &opened);
	if (shim.changes && name->path && (call->flags & O_TMPFILE) != O_TMPFILE)
		opened.kind = change_note_opened(name->directory, name->path, call->descriptor,
						 opened.kind);
	opened.marks = opened.kind == FILE_ACTION_CREATE   ? JOURNAL_MADE
		       : opened.kind == FILE_ACTION_CHANGE ? JOURNAL_WAS_THERE
							   : 0;
	return opened;
}

static void observe_opened_to_write(const struct call *call)
{
	struct open_work *own = call->own;
	struct opened opened = note_opened_to_write(call);
	bool is_announced = (call->flags & O_CREAT) && !(call->flags & O_EXCL) && opened.marks;

	if (own->has_facts) {
		own->facts.marks = opened.marks;
	} else if (is_announced || opened.is_weighed) {
		own->facts = (struct open_facts){ .marks = opened.marks,
						  .is_weighed = opened.is_weighed,
						  .size_bytes = opened.size_bytes };
		own->has_facts = true;
	}
}

static void observe_opened_to_read(const struct call *call)
{
	struct open_work *own = call->own;
	const struct call_name *name = &call->name;

	if (shim.views)
		viewer_opened(call->descriptor, name->directory, name->path, &own->facts);
	else if (shim.shows)
		viewer_shown(call->descriptor, name->path);
	else if (shim.reads_own && name->path)
		in_process_opened(call->descriptor, name->directory, name->path, &own->facts);
}

void stations_observe_open(struct call *call)
{
	enum open_purpose purpose = call_open_purpose(call->flags);
	struct open_work *own = call->own;

	if (__builtin_expect(shim.views || shim.reads_own, 0)) {
		own->facts = (struct open_facts){ .is_known = false };
		own->has_facts = true;
	}
	if (!call->error && purpose != OPENS_PLACE) {
		count_up(call_open_count(purpose));
		if (purpose == OPENS_WRITE)
			observe_opened_to_write(call);
		else if (purpose == OPENS_READ)
			observe_opened_to_read(call);
	}
	if (__builtin_expect(shim.tracks, 0))
		reader_opened(call->descriptor, call->name.directory, call->name.path,
			      (int)call->flags);
}

/* ---- a file that a child will open ---- */

void stations_observe_open_later(const struct call *call)
{
	const uint32_t ONLY_NEW = O_CREAT | O_EXCL;

	if (!call->error && call_open_purpose(call->flags) == OPENS_WRITE && shim.changes)
		change_note(call->name.directory, call->name.path,
			    (call->flags & ONLY_NEW) == ONLY_NEW ? FILE_ACTION_CREATE
								 : FILE_ACTION_WRITE);
}

void stations_journal_open_later(const struct call *call)
{
	if (call->error < 0)
		record_opened(-1, call->name.directory, call->name.path, (int)call->flags, NULL);
	else if (!call->error)
		record_planned(call->descriptor, call->name.path, (int)call->flags);
}
