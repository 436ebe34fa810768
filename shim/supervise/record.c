/* What supervised processes do, for the journal: see record.h. */
#include "shim/supervise/record.h"

#include <string.h>

#include "shim/call/encode.h"
#include "shim/supervise/directory.h"
#include "tracker/segment/workspace.h"

static struct journal *journal_of(const struct supervision *supervision)
{
	struct journal *journal = supervision->journal;
	return journal && journal->header ? journal : NULL;
}

bool record_is_possible(const struct supervision *supervision)
{
	return journal_of(supervision) != NULL;
}

static uint32_t text_of(const struct supervision *supervision, const char *text)
{
	return journal_text(supervision->journal, text, strlen(text), true);
}

/* A process, for the records that both mechanisms write. */
static struct encoder encoder_of(const struct supervision *supervision, const struct target *target,
				 pid_t tid)
{
	return (struct encoder){ .segment = supervision->segment,
				 .journal = supervision->journal,
				 .process = (uint32_t)target->record,
				 .tid = (uint32_t)tid,
				 /* that it is a copy was not told: it is its parent's */
				 .marks = target->is_fork && !target->reported ? JOURNAL_VFORKED
									       : 0,
				 .may_grow = true };
}

/* Is an access to be recorded, by level and by the globs of [journal] exclude?  One whose path is
 * not known is. */
static bool is_wanted(const struct supervision *supervision, bool writes, const char *normal)
{
	return journal_of(supervision) && path_is_recorded(supervision->segment, writes, normal);
}

static struct journal_record about(const struct supervision *supervision,
				   const struct target *target, enum journal_op op, pid_t tid)
{
	struct encoder encoder = encoder_of(supervision, target, tid);
	return encode_blank(&encoder, op);
}

static void write_name(const struct supervision *supervision, struct journal_record *record,
		       const struct named *named)
{
	const char *behind = named->path[0] == '/'
				     ? path_behind_alias(supervision->segment, named->path)
				     : NULL;
	/* By another name of the workspace's root: as by the root's own. */
	const char *path = behind && named->normal ? named->normal : named->path;
	record->path = text_of(supervision, path);
	record->directory_fd = named->directory;
	if (named->path[0] == '/' || !named->base)
		return;
	/* What a descriptor is open for is a record's number elsewhere; here its directory is
	 * known, as a text. */
	record->directory_fd = AT_FDCWD;
	record->directory = text_of(supervision, named->base);
}

static void append_process(const struct supervision *supervision, struct target *target,
			   struct journal_record *record, uint64_t starter)
{
	struct encoder encoder = encoder_of(supervision, target, target->pid);

	record->process = 0;
	record->tid = (uint32_t)target->pid;
	target->record = encode_process(&encoder, record, &target->request.context,
					target->request.context.role, target->process, target->pid,
					subject_parent(target->request.subject), (uint32_t)starter);
}

/* The directory that the process is in, as a text; 0: not known. */
static uint32_t directory_text(const struct supervision *supervision, struct target *target)
{
	char directory[SEGMENT_PATH_BYTES];

	return target_directory(target, target->pid, directory, sizeof(directory))
		       ? text_of(supervision, directory)
		       : 0;
}

void record_started(const struct supervision *supervision, struct target *target,
		    const char *executable, const char *words, size_t words_bytes)
{
	struct journal_record record = journal_blank(JOURNAL_START);

	target->record = 0;
	if (!journal_of(supervision))
		return;
	record.path = text_of(supervision, executable);
	record.directory = directory_text(supervision, target);
	record.other_path = journal_text(supervision->journal, words, words_bytes, true);
	if (!(target->request.context.flags & CONTEXT_ATTACHED))
		record.marks |= JOURNAL_UNATTACHED;
	append_process(supervision, target, &record, 0);
}

void record_copied(const struct supervision *supervision, struct target *target)
{
	struct journal_record record = journal_blank(JOURNAL_FORK);
	uint64_t starter = target->record;

	target->reported = true;
	if (!journal_of(supervision))
		return;
	record.directory = directory_text(supervision, target);
	append_process(supervision, target, &record, starter);
}

void record_start(const struct supervision *supervision, struct target *target,
		  const struct named *named, const char *given, const char *words,
		  size_t words_bytes, bool cut)
{
	struct journal_record record = about(supervision, target, JOURNAL_EXEC, named->tid);

	if (!journal_of(supervision))
		return;
	write_name(supervision, &record, named);
	if (given != named->path)
		record.path = text_of(supervision, given);
	record.other_path = journal_text(supervision->journal, words, words_bytes, true);
	if (cut)
		record.marks |= JOURNAL_CUT;
	record.amount = target->start.announced.serial;
	record.count = (uint32_t)target->pid;
	uint32_t number = journal_write(supervision->journal, &record, NULL, 0, true);
	process_set_record(supervision->segment, target->start.announced, number);
}

void record_start_failed(const struct supervision *supervision, struct target *target, pid_t tid)
{
	struct journal_record record = about(supervision, target, JOURNAL_EXEC_FAILED, tid);

	if (!journal_of(supervision))
		return;
	record.amount = target->start.announced.serial;
	record.marks |= JOURNAL_ATTEMPTED; /* why is not known */
	(void)journal_write(supervision->journal, &record, NULL, 0, true);
}

void record_ended(const struct supervision *supervision, struct target *target, pid_t tid,
		  int status)
{
	struct journal_record record = about(supervision, target, JOURNAL_EXIT, tid);

	if (!journal_of(supervision))
		return;
	record.amount = (uint32_t)status & 0xff;
	(void)journal_write(supervision->journal, &record, NULL, 0, true);
}

static bool may_write(enum journal_op op, uint32_t flags)
{
	return op != JOURNAL_OPEN || encode_open_writes(flags);
}

static void append_call(const struct supervision *supervision, struct target *target,
			enum journal_op op, const struct named *named, uint32_t flags,
			uint64_t amount, int error, uint16_t marks)
{
	struct journal_record record = about(supervision, target, op, named->tid);

	if (!is_wanted(supervision, may_write(op, flags), named->normal))
		return;
	write_name(supervision, &record, named);
	record.flags = flags;
	record.amount = amount;
	record.head.error = (uint16_t)error;
	record.marks |= marks;
	if (!error)
		record.marks |= JOURNAL_ATTEMPTED;
	(void)journal_write(supervision->journal, &record, NULL, 0, true);
}

void record_call(const struct supervision *supervision, struct target *target, enum journal_op op,
		 const struct named *named, uint32_t flags, uint64_t amount, int error)
{
	append_call(supervision, target, op, named, flags, amount, error, 0);
}

void record_open(const struct supervision *supervision, struct target *target,
		 const struct named *named, uint32_t flags, int error, uint16_t marks)
{
	append_call(supervision, target, JOURNAL_OPEN, named, flags, 0, error, marks);
}

void record_two(const struct supervision *supervision, struct target *target, enum journal_op op,
		const struct named *named, const struct named *other, uint32_t flags, int error)
{
	struct journal_record record = about(supervision, target, op, named->tid);

	if (!is_wanted(supervision, true, named->normal) &&
	    (op == JOURNAL_SYMLINK || !is_wanted(supervision, true, other->normal)))
		return;
	write_name(supervision, &record, named);
	/* The second name's directory has no place for a text: it is written whole. */
	record.other_path = text_of(
		supervision, op != JOURNAL_SYMLINK && other->normal ? other->normal : other->path);
	record.fd = AT_FDCWD;
	record.flags = flags;
	record.head.error = (uint16_t)error;
	if (!error)
		record.marks |= JOURNAL_ATTEMPTED;
	(void)journal_write(supervision->journal, &record, NULL, 0, true);
}

void record_viewed(const struct supervision *supervision, struct target *target,
		   const struct named *named, uint32_t flags, int fd, const struct answer *answer,
		   const struct journal_details *details, uint64_t bytes_saved)
{
	struct encoder encoder = encoder_of(supervision, target, named->tid);
	struct journal_record record = encode_blank(&encoder, JOURNAL_OPEN);

	if (!is_wanted(supervision, false, named->normal))
		return;
	write_name(supervision, &record, named);
	record.flags = flags;
	record.fd = fd;
	encode_decision(&record, answer->decision, answer->reason);
	record.marks |= fd < 0 ? JOURNAL_ATTEMPTED : 0;
	(void)encode_append(&encoder, &record, details, sizeof(*details));
	encode_answer(&encoder, &record, details, bytes_saved);
}

uint32_t record_path(const struct supervision *supervision, const char *path)
{
	return is_wanted(supervision, false, path) ? text_of(supervision, path) : 0;
}

void record_delivery(const struct supervision *supervision, const struct target *target,
		     enum journal_op op, uint32_t path, const struct journal_details *details)
{
	struct encoder encoder = encoder_of(supervision, target, target->pid);
	encode_delivery(&encoder, op, path, details);
}

void record_instructed(const struct supervision *supervision, const struct target *target,
		       const struct injected *injected)
{
	struct encoder encoder = encoder_of(supervision, target, target->pid);
	encode_instructed(&encoder, target->request.context.scope_id, injected);
}

void record_guarded(const struct supervision *supervision, const struct target *target,
		    const char *path, const struct guard_answer *answer)
{
	struct encoder encoder = encoder_of(supervision, target, target->pid);

	if (is_wanted(supervision, true, path))
		encode_guarded(&encoder, path, answer);
}

void record_edited(const struct supervision *supervision, const struct target *target,
		   const char *path, const struct version *before, const struct version *after,
		   enum source source)
{
	struct encoder encoder = encoder_of(supervision, target, target->pid);

	if (is_wanted(supervision, true, path))
		encode_edited(&encoder, path, before, after, source);
}

void record_ruled(const struct supervision *supervision, const struct target *target,
		  const struct named *named, const struct rule_answer *answer)
{
	struct encoder encoder = encoder_of(supervision, target, named->tid);
	struct journal_record record = encode_blank(&encoder, JOURNAL_RULED);

	if (!journal_of(supervision))
		return;
	write_name(supervision, &record, named);
	encode_ruled(&encoder, &record, answer);
}
