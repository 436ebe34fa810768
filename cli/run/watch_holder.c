/* Who may write to a file still: see watch_holder.h. */
#include "cli/run/watch_holder.h"

#include "tracker/content/file.h"
#include "tracker/guard/guard.h"
#include "tracker/process/process.h"

static void list_open_files(struct watch *watch)
{
	live_processes_renew(watch->session, watch->left_out, &watch->live_process);
	open_files_list(&watch->live_process, &watch->open_files);
}

uint32_t holder_of(struct watch *watch, uint64_t dev, uint64_t ino)
{
	list_open_files(watch);
	return open_files_writer(&watch->open_files, dev, ino);
}

bool holder_find_process(const struct segment *segment, uint64_t serial, uint32_t pid,
			 struct process_slot *ret_process)
{
	struct process_slot copy;
	bool found = false;

	for (uint64_t i = 0, used = segment_processes_used(segment); i < used; i++) {
		const struct process_slot *slot = segment_slot(segment, TABLE_PROCESSES, i);
		bool wanted = pid ? __atomic_load_n(&slot->pid, __ATOMIC_RELAXED) == pid
				  : __atomic_load_n(&slot->serial, __ATOMIC_RELAXED) == serial;
		if (!wanted || !process_read(segment, i, &copy) ||
		    (pid ? copy.pid != pid : copy.serial != serial) ||
		    (found && copy.time_ns < ret_process->time_ns))
			continue;
		*ret_process = copy;
		found = true;
	}
	return found;
}

void holder_ask(struct watch *watch, struct file *file)
{
	file->asks_holder = watch->asks_holders = true;
}

/* pid: has the file open.  The slot has room for one writer alone; what this one does is the session's, too. */
static void note_holder(struct watch *watch, const struct file *file, uint32_t pid)
{
	struct process_slot process = { .serial = UINT64_MAX };
	struct file_slot slot;

	/* What was written since is inspected again. */
	if (file_find(watch->segment, file->key, &slot) < 0 || slot.writer ||
	    slot.edits != file->edits)
		return;
	(void)holder_find_process(watch->segment, 0, pid, &process);
	struct guard_writer writer = { .serial = process.serial };
	struct guard_answer answer = {
		.file_key = file->key,
		.knows = version_equal(&file->seen, &slot.written) ? GUARD_KNEW : 0,
	};
	guard_start_write(watch->segment, &writer, "", &answer);
	/* It may have closed the file, and reported so, just before: then this would never be
	 * completed. */
	if (open_files_writer(&watch->open_files, file->stamp.dev, file->stamp.ino) != pid)
		guard_cancel(watch->segment, &writer, file->key);
}

void holders_note(struct watch *watch)
{
	if (!watch->asks_holders)
		return;
	watch->asks_holders = false;
	list_open_files(watch);
	for (size_t i = 0; i < watch->file_count; i++) {
		struct file *file = watch->files[i];
		uint32_t pid = 0;
		if (file->asks_holder && !version_is_none(&file->seen))
			pid = open_files_writer(&watch->open_files, file->stamp.dev,
						file->stamp.ino);
		file->asks_holder = false;
		if (pid)
			note_holder(watch, file, pid);
	}
}
