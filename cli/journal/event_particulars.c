/* What people are shown of an event behind its path: see event_particulars.h. */
#include "cli/journal/event_particulars.h"

#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/base/text.h"
#include "cli/journal/event_class.h"
#include "cli/journal/event_filter.h"
#include "cli/journal/event_words.h"
#include "cli/journal/fact.h"
#include "cli/journal/reported.h"
#include "tracker/answer/decision.h"
#include "tracker/guard/rule.h"
#include "tracker/path/path.h"
#include "tracker/process/source.h"

/* ---- names ---- */

/* Room for a path with every byte escaped. */
static char escaped[(2 * JOURNAL_TEXT_BYTES_MAX + 2) * 4];

const char *event_safe(const char *bytes)
{
	if (path_escape(bytes, escaped, sizeof(escaped)) < 0)
		return "?";
	return escaped;
}

void event_name_show(FILE *file, const char *resolved, const char *given, const char *workspace)
{
	if (resolved)
		(void)fputs(event_safe(event_path_shown(workspace, resolved)), file);
	else if (given)
		(void)fprintf(file, "%s%s", given[0] == '/' ? "" : "?/", event_safe(given));
	else
		(void)fputs("?", file);
}

/* ---- words ---- */

/* The particulars of an event in the making. */
struct particulars {
	FILE *file;
	const char *workspace;
	bool is_begun; /* there is a word already */
};

/* Two spaces before the first word, one before each other. */
__attribute__((format(printf, 2, 3))) static void show(struct particulars *to, const char *format,
						       ...)
{
	va_list arguments;

	(void)fputs(to->is_begun ? " " : "  ", to->file);
	to->is_begun = true;
	va_start(arguments, format);
	(void)vfprintf(to->file, format, arguments);
	va_end(arguments);
}

/* word: NULL: none. */
static void show_word(struct particulars *to, const char *word)
{
	if (word)
		show(to, "%s", word);
}

static void show_number(struct particulars *to, uint64_t number, const char *what)
{
	char text[TEXT_NUMBER_BYTES];
	show(to, "%s %s", text_number(number, text), what);
}

static void show_flags(struct particulars *to, uint32_t flags, const struct event_flag *known,
		       size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!known[i].bits || (flags & known[i].bits) != known[i].bits)
			continue;
		show_word(to, known[i].brief);
		flags &= ~known[i].bits;
	}
}

/* A version that can be asked for: `seen restore`. */
static void show_version(struct particulars *to, const struct version *version)
{
	char digits[VERSION_DIGITS + 1];

	version_digits(version, digits);
	if (!version_is_none(version))
		show(to, "%s", digits);
}

/* ---- by op: the particulars of ops.def ---- */

#define SHOW(name) static void show_##name(struct particulars *to, const struct event *event)
#define RECORD (&event->entry->record)

SHOW(nothing)
{
	(void)to;
	(void)event;
}

SHOW(arguments)
{
	for (size_t at = 0, i = 0; at < event->other_bytes; i++) {
		const char *argument = event->other + at;
		/* The first one is the program again. */
		if (i > 0)
			show_word(to, event_safe(argument));
		at += strlen(argument) + 1;
	}
}

SHOW(parent)
{
	show(to, "parent %u", event->parent_pid);
}

SHOW(status)
{
	show(to, "status %llu", (unsigned long long)RECORD->amount);
}

SHOW(cause)
{
	show_word(to, event->other ? event_safe(event->other) : NULL);
}

SHOW(reported)
{
	static const enum reported_text SHOWN[] = { REPORTED_HOOK, REPORTED_TOOL, REPORTED_INPUT };

	for (size_t i = 0; i < sizeof(SHOWN) / sizeof(SHOWN[0]); i++) {
		const char *text = reported_text(event->other, event->other_bytes, SHOWN[i]);
		show_word(to, text ? event_safe(text) : NULL);
	}
}

SHOW(fact)
{
	show_word(to, fact_name(RECORD->flags));
	show_word(to, event->other ? event_safe(event->other) : "none");
}

SHOW(unobserved)
{
	if (RECORD->flags & JOURNAL_UNOBSERVED_PARTLY)
		show_word(to, "in part:");
	show_word(to, event->other ? event_safe(event->other) : "?");
	if (RECORD->count > 1)
		show(to, "(%u times)", RECORD->count);
}

SHOW(open)
{
	size_t count;
	const struct event_flag *known = event_open_flags(&count);

	show_word(to, event_access_name(RECORD->flags, true));
	show_flags(to, RECORD->flags & ~(uint32_t)O_ACCMODE, known, count);
	if (RECORD->marks & JOURNAL_PLANNED)
		show_word(to, "planned");
	if (event_is_answered(event) && RECORD->decision != DECISION_CONTENT)
		show_word(to, event_decision_name(RECORD->decision));
}

SHOW(size)
{
	show_number(to, RECORD->amount,
		    RECORD->flags & JOURNAL_TRUNCATE_ALLOCATES ? "bytes allocated" : "bytes");
}

SHOW(bytes)
{
	show_number(to, RECORD->amount, "bytes");
}

SHOW(traffic)
{
	show_number(to, RECORD->amount,
		    RECORD->marks & JOURNAL_AT_LEAST ? "bytes or more" : "bytes");
}

SHOW(total)
{
	show_traffic(to, event);
	show_number(to, RECORD->count, "calls");
}

SHOW(map)
{
	size_t count;
	const struct event_flag *known = event_map_flags(&count);

	show_flags(to, RECORD->flags, known, count);
	show_bytes(to, event);
}

SHOW(kind)
{
	const char *kind = event_create_kind(RECORD->flags);
	show(to, "%s %04o", kind ? kind : "file", RECORD->flags & ~(uint32_t)S_IFMT);
}

SHOW(directory)
{
	if (RECORD->flags & AT_REMOVEDIR)
		show_word(to, "folder");
}

SHOW(second_name)
{
	(void)fputs(" -> ", to->file);
	event_name_show(to->file, event->other_resolved, event->other, to->workspace);
}

SHOW(target)
{
	(void)fprintf(to->file, " -> %s", event->other ? event_safe(event->other) : "?");
}

SHOW(metadata)
{
	show_word(to, event_metadata_kind(RECORD->flags));
	if (RECORD->flags == JOURNAL_METADATA_MODE)
		show(to, "%04llo", (unsigned long long)RECORD->amount);
	else if (RECORD->flags == JOURNAL_METADATA_OWNER)
		show(to, "%d:%d", (int)(RECORD->amount >> 32), (int)(uint32_t)RECORD->amount);
}

SHOW(saved)
{
	show_number(to, RECORD->amount, "bytes not given again");
}

SHOW(request)
{
	show_word(to, event_decision_name(RECORD->decision));
	if (RECORD->decision == DECISION_NOTICE)
		show_saved(to, event);
	else
		show_bytes(to, event);
	show_number(to, RECORD->count, "inputs");
}

SHOW(edited)
{
	const struct version *after = &event->entry->details.after;

	show_word(to, source_name(event->source));
	if ((RECORD->marks & JOURNAL_DETAILS) && version_is_none(after))
		show_word(to, "deleted");
	show_version(to, after);
}

SHOW(change)
{
	show_word(to, source_name(event->source));
	if (RECORD->flags)
		show_word(to, event_change_name(RECORD->flags));
}

/* Without the details that a record may not have, they are none. */
SHOW(verdict)
{
	const struct journal_details *details = &event->entry->details;

	show_word(to, event_verdict_name(RECORD->decision));
	show_word(to, event_guard_reason_name(RECORD->reason));
	if ((RECORD->marks & JOURNAL_DETAILS) && details->changer)
		show(to, "changed by scope %016llx", (unsigned long long)details->changer);
	if (RECORD->flags & JOURNAL_GUARDED_DEGRADED)
		show_word(to, "degraded");
	if (RECORD->flags & JOURNAL_GUARDED_KEPT) {
		show_word(to, "kept");
		show_version(to, &details->before);
	}
}

SHOW(rule)
{
	show_word(to, rule_op_name(RECORD->flags));
	show_word(to, rule_action_name(RECORD->decision));
	show_word(to, event->other ? event_safe(event->other) : NULL);
}

SHOW(instruction)
{
	show_word(to, event_instructed_name(RECORD->flags));
	show_version(to, &event->entry->details.after);
}

SHOW(kept)
{
	show_word(to, event_kept_reason_name(RECORD->reason));
	show_version(to, &event->entry->details.after);
}

SHOW(coverage)
{
	const struct journal_coverage *coverage = &event->entry->coverage;

	show_number(to, coverage->observed, "observed,");
	show_number(to, coverage->unobserved, "not,");
	show_number(to, coverage->lost, "records lost");
}

void event_particulars_show(FILE *file, const struct event *event, const char *workspace)
{
	static void (*const OPS[JOURNAL_OP_COUNT])(struct particulars *, const struct event *) = {
		[JOURNAL_NONE] = show_nothing,
#define OP(name, word, words, about, action, class, effect, author, traits, readers, members, \
	   particulars, text) \
	[JOURNAL_##name] = show_##particulars,
#include "tracker/journal/ops.def"
#undef OP
	};
	struct particulars to = { .file = file, .workspace = workspace };

	if (event->entry && event->op < JOURNAL_OP_COUNT) /* else damaged, or of a later version */
		OPS[event->op](&to, event);
}
