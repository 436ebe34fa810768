/* Records that both mechanisms write: see encode.h. */
#include "shim/call/encode.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "tracker/process/scope.h"

uint32_t encode_append(const struct encoder *encoder, struct journal_record *record,
		       const void *details, size_t detail_bytes)
{
	if (detail_bytes)
		record->marks |= JOURNAL_DETAILS;
	return journal_write(encoder->journal, record, details, detail_bytes, encoder->may_grow);
}

uint32_t encode_text(const struct encoder *encoder, const char *text, uint16_t *marks)
{
	size_t length = strnlen(text, SEGMENT_PATH_BYTES);

	if (length == SEGMENT_PATH_BYTES)
		*marks |= JOURNAL_CUT;
	return journal_text(encoder->journal, text, length, encoder->may_grow);
}

bool encode_open_writes(uint32_t flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_TRUNC | O_CREAT));
}

uint32_t encode_process(const struct encoder *encoder, struct journal_record *record,
			const struct context *context, enum role role, struct process_ref ref,
			pid_t pid, pid_t parent, uint32_t starter)
{
	struct journal_process process = {
		.serial = ref.serial,
		.scope_id = context->scope_id,
		.pid = (uint32_t)pid,
		.parent_pid = (uint32_t)parent,
		.role = role,
		.context = context->flags,
		.pid_ns = context->process_ns,
		.starter = starter,
	};
	const struct scope_slot *scope = scope_find(encoder->segment, context->scope_id);

	if (scope)
		process.epoch = __atomic_load_n(&scope->epoch, __ATOMIC_RELAXED);
	return encode_append(encoder, record, &process, sizeof(process));
}

void encode_decision(struct journal_record *record, enum decision decision, enum reason reason)
{
	record->decision = (uint8_t)decision;
	record->reason = (uint8_t)reason;
}

void encode_answer(const struct encoder *encoder, struct journal_record *record,
		   const struct journal_details *details, uint64_t bytes_saved)
{
	if (record->decision == DECISION_CONTENT)
		return;
	record->head.op = record->decision == DECISION_NOTICE ? JOURNAL_NOTICE
			  : record->decision == DECISION_DIFF ? JOURNAL_DIFFED
							      : JOURNAL_YIELDED;
	record->time_realtime_ns = 0;
	record->amount = bytes_saved;
	(void)encode_append(encoder, record, details, details ? sizeof(*details) : 0);
}

void encode_delivery(const struct encoder *encoder, enum journal_op op, uint32_t path,
		     const struct journal_details *details)
{
	struct journal_record record = encode_blank(encoder, op);

	if (!path)
		return;
	record.path = path;
	record.amount = details->after.size_bytes;
	(void)encode_append(encoder, &record, details, sizeof(*details));
}

void encode_instructed(const struct encoder *encoder, uint64_t scope_id,
		       const struct injected *injected)
{
	struct journal_record record = encode_blank(encoder, JOURNAL_INSTRUCTED);
	struct journal_details details;

	if (!injected->text)
		return;
	inject_write_record(injected, scope_id, &record, &details);
	(void)encode_append(encoder, &record, &details, sizeof(details));
}

/* A record about a file whose versions are known. */
static void append_versions(const struct encoder *encoder, struct journal_record *record,
			    const char *path, const struct version *before,
			    const struct version *after, uint64_t changer)
{
	struct journal_details details = { .size_bytes = after->size_bytes,
					   .before = *before,
					   .after = *after,
					   .changer = changer };

	record->path = encode_text(encoder, path, &record->marks);
	record->directory_fd = AT_FDCWD;
	(void)encode_append(encoder, record, &details, sizeof(details));
}

void encode_guarded(const struct encoder *encoder, const char *path,
		    const struct guard_answer *answer)
{
	struct journal_record record = encode_blank(encoder, JOURNAL_GUARDED);

	record.decision = (uint8_t)answer->verdict;
	record.reason = (uint8_t)answer->reason;
	record.head.error = (uint16_t)-answer->error;
	record.flags = (answer->degraded ? JOURNAL_GUARDED_DEGRADED : 0) |
		       (answer->kept ? JOURNAL_GUARDED_KEPT : 0) |
		       (answer->reported ? JOURNAL_GUARDED_REPORTED : 0);
	append_versions(encoder, &record, path, &answer->before, &answer->baseline,
			answer->changer);
}

void encode_edited(const struct encoder *encoder, const char *path, const struct version *before,
		   const struct version *after, enum source source)
{
	struct journal_record record = encode_blank(encoder, JOURNAL_EDITED);

	record.decision = (uint8_t)source;
	record.amount = after->size_bytes;
	append_versions(encoder, &record, path, before, after, 0);
}

void encode_ruled(const struct encoder *encoder, struct journal_record *record,
		  const struct rule_answer *answer)
{
	const char *rule = rule_name(encoder->segment, answer->rule);

	record->other_path = journal_text(encoder->journal, rule, strlen(rule), encoder->may_grow);
	record->decision = (uint8_t)answer->action;
	record->flags = answer->op;
	record->head.error = answer->action == RULE_ACTION_DENY ? EACCES : 0;
	(void)encode_append(encoder, record, NULL, 0);
}
