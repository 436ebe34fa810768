/* Who makes a record, and its way into the journal: see append.h. */
#include "shim/preload/append.h"

#include "tracker/sys/sys.h"

__thread pid_t append_thread;

void append_sign_first(struct journal_record *record)
{
	if (in_vfork_child()) {
		record->tid = (uint32_t)sys_getpid();
		record->marks |= JOURNAL_VFORKED;
		return;
	}
	if (!append_thread && !shim.sandboxed)
		append_thread = (pid_t)sys_call3(SYS_gettid, 0, 0, 0);
	record->tid = (uint32_t)append_thread;
}

struct encoder append_encoder(void)
{
	struct journal_record record = { .marks = 0 };

	append_sign(&record);
	return (struct encoder){ .segment = &shim.segment,
				 .journal = &shim.journal,
				 .process = record.process,
				 .tid = record.tid,
				 .marks = record.marks,
				 .may_grow = append_may_grow() };
}
