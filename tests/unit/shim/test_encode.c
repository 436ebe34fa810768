/* shim/call/encode: what stands in the records that both mechanisms write. */
#include "shim/call/encode.h"
#include "tests/unit/tracker/journal_case.h"

static struct encoder encoder;
static uint64_t next;

static void start(void)
{
	setup();
	encoder = (struct encoder){ .segment = &world.segment,
				    .journal = &journal,
				    .process = 5,
				    .tid = 6,
				    .marks = JOURNAL_VFORKED,
				    .may_grow = true };
	next = JOURNAL_UNITS_FIRST;
}

TestSuite(encode, .init = start, .fini = teardown);

/* The next event; NULL: there is none. */
static const struct journal_entry *next_event(void)
{
	static struct journal_entry entry;

	while (journal_next(&journal, &next, &entry) == JOURNAL_FOUND_RECORD)
		if (entry.record.head.op != JOURNAL_TEXT)
			return &entry;
	return NULL;
}

Test(encode, answers)
{
	static const struct {
		enum decision decision;
		int op; /* 0: no record */
	} CASES[] = { { DECISION_CONTENT, 0 },
		      { DECISION_NOTICE, JOURNAL_NOTICE },
		      { DECISION_DIFF, JOURNAL_DIFFED },
		      { DECISION_GIVEN_AGAIN, JOURNAL_YIELDED } };
	const struct journal_details details = { .ino = 77 };

	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++)
		for (int known = 0; known < 2; known++) {
			struct journal_record record = encode_blank(&encoder, JOURNAL_OPEN);
			encode_decision(&record, CASES[i].decision, REASON_REPEATED);
			encode_answer(&encoder, &record, known ? &details : NULL, 123);
			const struct journal_entry *entry = next_event();
			cr_assert_eq(entry != NULL, CASES[i].op != 0);
			if (!entry)
				continue;
			cr_expect_eq(entry->record.head.op, CASES[i].op);
			cr_expect_eq(entry->record.decision, CASES[i].decision);
			cr_expect_eq(entry->record.reason, REASON_REPEATED);
			cr_expect_eq(entry->record.amount, 123);
			cr_expect_eq(entry->record.process, 5);
			cr_expect_eq(entry->record.tid, 6);
			cr_expect_eq(!(entry->record.marks & JOURNAL_DETAILS), !known);
			cr_expect(entry->record.marks & JOURNAL_VFORKED);
		}
}

Test(encode, deliveries)
{
	const struct journal_details details = { .after = { 1, 2, 300 } };
	const struct injected injected = { .dev = 1, .ino = 2, .version = { 1, 2, 3 }, .text = 9 };
	const struct injected unnamed = { .dev = 1, .ino = 2 };

	encode_delivery(&encoder, JOURNAL_GIVEN, 0, &details);
	encode_instructed(&encoder, 7, &unnamed);
	cr_assert_null(next_event(), "it is not recorded");
	encode_delivery(&encoder, JOURNAL_GIVEN, 8, &details);
	const struct journal_entry *entry = next_event();
	cr_assert(entry && entry->record.head.op == JOURNAL_GIVEN);
	cr_expect(entry->record.path == 8 && entry->record.amount == 300);
	encode_instructed(&encoder, 7, &injected);
	entry = next_event();
	cr_assert(entry && entry->record.head.op == JOURNAL_INSTRUCTED);
	cr_expect(entry->record.path == 9 && entry->record.amount == 7);
}

Test(encode, guarded)
{
	for (unsigned bits = 0; bits < 8; bits++) {
		struct guard_answer answer = { .verdict = GUARD_WARN,
					       .reason = GUARD_STALE,
					       .error = bits ? -ESTALE : 0,
					       .degraded = bits & 1,
					       .kept = bits & 2,
					       .reported = bits & 4 };
		encode_guarded(&encoder, "/f", &answer);
		const struct journal_entry *entry = next_event();
		cr_assert(entry && entry->record.head.op == JOURNAL_GUARDED);
		cr_expect_eq(entry->record.head.error, bits ? ESTALE : 0);
		cr_expect_eq(entry->record.decision, GUARD_WARN);
		cr_expect_eq(entry->record.reason, GUARD_STALE);
		cr_expect_eq(entry->record.flags,
			     (bits & 1 ? JOURNAL_GUARDED_DEGRADED : 0) |
				     (bits & 2 ? JOURNAL_GUARDED_KEPT : 0) |
				     (bits & 4 ? JOURNAL_GUARDED_REPORTED : 0));
	}
}

Test(encode, ruled)
{
	for (int denies = 0; denies < 2; denies++) {
		struct journal_record record = encode_blank(&encoder, JOURNAL_RULED);
		struct rule_answer answer = { .action = denies ? RULE_ACTION_DENY
							       : RULE_ACTION_WARN,
					      .op = RULE_READ };
		encode_ruled(&encoder, &record, &answer);
		const struct journal_entry *entry = next_event();
		cr_assert(entry && entry->record.head.op == JOURNAL_RULED);
		cr_expect_eq(entry->record.head.error, denies ? EACCES : 0);
		cr_expect_eq(entry->record.flags, RULE_READ);
		cr_expect_not(entry->record.marks & JOURNAL_DETAILS);
	}
}

Test(encode, texts_that_are_too_long)
{
	static char text[SEGMENT_PATH_BYTES + 1];
	uint16_t marks = 0;

	memset(text, 'x', sizeof(text) - 1);
	cr_expect_neq(encode_text(&encoder, text, &marks), 0);
	cr_expect_eq(marks, JOURNAL_CUT);
	marks = 0;
	text[SEGMENT_PATH_BYTES - 1] = '\0';
	cr_expect_neq(encode_text(&encoder, text, &marks), 0);
	cr_expect_eq(marks, 0);
}

Test(encode, processes)
{
	uint64_t scope = world_scope(&world, "a");
	struct context context = { .scope_id = scope };

	for (int known = 0; known < 2; known++) {
		struct journal_record record = encode_blank(&encoder, JOURNAL_START);
		context.scope_id = known ? scope : scope + 1;
		cr_expect_neq(encode_process(&encoder, &record, &context, ROLE_TOOL,
					     (struct process_ref){ 1, 2 }, 3, 4, 5),
			      0);
		const struct journal_entry *entry = next_event();
		cr_assert(entry && entry->record.head.op == JOURNAL_START);
		cr_expect(entry->record.marks & JOURNAL_DETAILS);
		cr_expect_eq(entry->process.scope_id, context.scope_id);
		cr_expect_eq(entry->process.epoch, known ? scope_epoch(&world.segment, scope) : 0);
	}
}

Test(encode, opens_that_may_change)
{
	cr_expect(encode_open_writes(O_WRONLY));
	cr_expect(encode_open_writes(O_RDWR));
	cr_expect(encode_open_writes(O_RDONLY | O_CREAT));
	cr_expect(encode_open_writes(O_RDONLY | O_TRUNC));
	cr_expect_not(encode_open_writes(O_RDONLY | O_CLOEXEC));
}
