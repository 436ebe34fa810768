/*
 * tool_read.h against an independent model: random reads, edits, external changes, conversations,
 * compactions, sub-agents.
 *
 * The model knows what each conversation was given, line by line, and nothing of how that is decided.
 * So it tells whether what the model is given in place of a file is so: that it has these lines, that
 * it has what a diff begins with, and that one who asks again gets the content.  20,000 decisions,
 * 1,000,000 with SEEN_LONG.
 */
#include <criterion/criterion.h>

#include "cli/hooks/tool_read.h"
#include "support.h"
#include "tracker/answer/line_range.h"
#include "tracker/segment/workspace.h"

enum {
	FILES = 6,
	CONVERSATIONS = 3,
	LINES_MAX = 120,
	VERSIONS = 4096, /* that are remembered, for diffs */
	DECISIONS = 20000,
	DECISIONS_LONG = 1000000,
	WINDOW_REQUESTS = 50,
	WINDOW_BYTES = 60000,
	INSIST = 10,
};

/* A file's lines: a line is a number. */
struct text {
	uint32_t lines[LINES_MAX];
	uint32_t count;
};

/* What a conversation knows of one line, and since when. */
struct line_memory {
	uint32_t line; /* 0: not given */
	uint64_t request, bytes;
};

struct remembered_file {
	struct line_memory lines[LINES_MAX];
	bool has_whole;
	struct text whole; /* as it was given whole last */
	uint64_t request, bytes;
	/* When it was answered in place of the content last, and what the file was then. */
	uint64_t answered_request;
	struct text answered;
};

struct conversation {
	struct remembered_file files[FILES];
	uint64_t requests, bytes;
};

static struct world world;
static struct text files[FILES];
static struct text versions[VERSIONS];
static struct conversation conversations[CONVERSATIONS];
static uint64_t agent_scope;
static bool has_sub_agent;

static struct {
	uint64_t decisions, notices, lines, diffs, again;
} counts;

static uint64_t chance(uint64_t *state, uint64_t below)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state % below;
}

static uint64_t bytes_of(const struct text *text, uint32_t first, uint32_t count)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < count; i++)
		bytes += 30 + text->lines[first + i] % 17;
	return bytes;
}

static bool text_equal(const struct text *a, const struct text *b)
{
	return a->count == b->count &&
	       memcmp(a->lines, b->lines, a->count * sizeof(a->lines[0])) == 0;
}

static struct version version_of_text(const struct text *text)
{
	struct version version = version_of_bytes(text->lines, text->count * sizeof(uint32_t));
	version.size_bytes = bytes_of(text, 0, text->count);
	return version;
}

/* ---- what the model has ---- */

/* Is it still inside the window? */
static bool is_inside(const struct conversation *conversation, uint64_t request, uint64_t bytes)
{
	return conversation->requests - request <= WINDOW_REQUESTS &&
	       conversation->bytes - bytes <= WINDOW_BYTES;
}

static bool has_lines(const struct conversation *conversation, unsigned file, uint32_t first,
		      uint32_t count)
{
	const struct line_memory *lines = conversation->files[file].lines;

	for (uint32_t i = first; i < first + count; i++)
		if (lines[i].line != files[file].lines[i] ||
		    !is_inside(conversation, lines[i].request, lines[i].bytes))
			return false;
	return true;
}

static void learn(struct conversation *conversation, unsigned file, uint32_t first, uint32_t count,
		  uint64_t request, uint64_t bytes)
{
	for (uint32_t i = first; i < first + count; i++)
		conversation->files[file].lines[i] = (struct line_memory){
			.line = files[file].lines[i], .request = request, .bytes = bytes
		};
}

static void learn_whole(struct conversation *conversation, unsigned file, uint64_t request,
			uint64_t bytes)
{
	struct remembered_file *known = &conversation->files[file];

	memset(known->lines, 0, sizeof(known->lines));
	learn(conversation, file, 0, files[file].count, request, bytes);
	known->has_whole = true;
	known->whole = files[file];
	known->request = request;
	known->bytes = bytes;
}

/* As old as what it was made against, but for lines that were given since as they are. */
static void learn_diff(struct conversation *conversation, unsigned file)
{
	struct remembered_file *known = &conversation->files[file];
	const struct remembered_file before = *known;

	learn_whole(conversation, file, known->request, known->bytes);
	for (uint32_t i = 0; i < files[file].count; i++)
		if (before.lines[i].line == files[file].lines[i] &&
		    before.lines[i].request > known->request)
			known->lines[i] = before.lines[i];
}

static void forget_all(void)
{
	for (unsigned i = 0; i < CONVERSATIONS; i++)
		memset(conversations[i].files, 0, sizeof(conversations[i].files));
}

static void forget_file(unsigned file)
{
	for (unsigned i = 0; i < CONVERSATIONS; i++)
		memset(&conversations[i].files[file], 0, sizeof(conversations[i].files[file]));
}

/* ---- how it is carried out ---- */

struct asked {
	struct conversation *conversation;
	unsigned file;
	uint32_t first, count;
	size_t notice_bytes;
	uint64_t diff_bytes;
};

static bool deliver_notice(void *data, const char *text, size_t length)
{
	struct asked *asked = data;

	cr_assert_eq(strlen(text), length);
	asked->notice_bytes = length;
	return true;
}

/* As long as if each line that is not at its old place were in it twice. */
static bool deliver_diff(void *data, const struct diff_question *question, uint64_t *ret_length)
{
	struct asked *asked = data;
	const struct text *now = &files[asked->file],
			  *before = &versions[question->before.low % VERSIONS];
	struct version found = version_of_text(before), current = version_of_text(now);
	uint64_t length = 300;

	cr_assert(version_equal(&question->now, &current), "it leads to another file");
	if (!version_equal(&found, &question->before))
		return false; /* made place for another */
	for (uint32_t i = 0; i < now->count; i++)
		length += i < before->count && before->lines[i] == now->lines[i] ? 0 : 80;
	*ret_length = asked->diff_bytes = length;
	const struct remembered_file *known = &asked->conversation->files[asked->file];
	cr_assert(known->has_whole && text_equal(&known->whole, before),
		  "the model does not have what the diff begins with");
	cr_assert(is_inside(asked->conversation, known->request, known->bytes),
		  "what the diff begins with is out of the window");
	return decision_is_short(length, question->now.size_bytes);
}

static bool deliver_content(void *data)
{
	(void)data;
	return true;
}

static void keep(void *data, uint64_t file_key)
{
	(void)data;
	cr_assert_neq(file_key, 0);
}

static void record(void *data, enum journal_op op, uint64_t amount)
{
	(void)data;
	cr_assert(op == JOURNAL_GIVEN || op == JOURNAL_NOTICE || op == JOURNAL_DIFFED ||
		  op == JOURNAL_YIELDED);
	cr_assert_leq(amount, UINT64_C(1) << 32);
}

static const struct tool_read_means MEANS = { .notice = deliver_notice,
					      .diff = deliver_diff,
					      .content = deliver_content,
					      .keep = keep,
					      .record = record };

/* ---- a read ---- */

static void judge(const struct asked *asked, enum tool_read_result result, bool is_whole)
{
	struct conversation *conversation = asked->conversation;
	struct remembered_file *known = &conversation->files[asked->file];
	bool is_answer = result == TOOL_READ_NOTICE || result == TOOL_READ_DIFF;
	bool soon = known->answered_request &&
		    conversation->requests - known->answered_request <= INSIST &&
		    text_equal(&known->answered, &files[asked->file]);
	uint64_t bytes = bytes_of(&files[asked->file], asked->first, asked->count);

	cr_assert(!(is_answer && has_sub_agent), "answered while a sub-agent worked");
	cr_assert(!(is_answer && soon), "one that asked again got an answer");
	switch (result) {
	case TOOL_READ_NOTICE:
		cr_assert(has_lines(conversation, asked->file, asked->first, asked->count),
			  "the model does not have what the notice says");
		counts.notices += is_whole;
		counts.lines += !is_whole;
		conversation->bytes += asked->notice_bytes;
		break;
	case TOOL_READ_DIFF:
		cr_assert(is_whole);
		learn_diff(conversation, asked->file);
		conversation->bytes += asked->diff_bytes;
		counts.diffs++;
		break;
	default:
		if (is_whole && !has_sub_agent)
			learn_whole(conversation, asked->file, conversation->requests,
				    conversation->bytes);
		else if (!has_sub_agent)
			learn(conversation, asked->file, asked->first, asked->count,
			      conversation->requests, conversation->bytes);
		conversation->bytes += bytes;
		counts.again += result == TOOL_READ_AGAIN;
		break;
	}
	if (is_answer) {
		known->answered_request = conversation->requests;
		known->answered = files[asked->file];
	}
}

static void read_lines(unsigned index, unsigned file, uint32_t first, uint32_t count)
{
	const struct context context = { .anchor_pid = (uint32_t)getpid(), .role = ROLE_AGENT };
	struct asked asked = { &conversations[index], file, first, count, 0, 0 };
	const struct text *text = &files[file];
	char name[8], conversation[8], path[128];
	bool is_whole = first == 0 && count == text->count;

	(void)snprintf(name, sizeof(name), "f%u", file);
	(void)snprintf(conversation, sizeof(conversation), "c%u", index);
	(void)snprintf(path, sizeof(path), "%s", world_path(&world, name));
	struct tool_read read = {
		.segment = &world.segment,
		.path = path,
		.content = { .version = version_of_text(text), .lines = text->count, .text = true },
		.is_whole = is_whole,
		.span = { first + 1, first + count },
		.bytes = bytes_of(text, first, count),
		.means = &MEANS,
		.data = &asked,
	};
	read.stat = (struct stat){ .st_mode = S_IFREG,
				   .st_dev = 1,
				   .st_ino = 100 + file,
				   .st_size = (off_t)read.content.version.size_bytes };
	must(request_prepare_reported(&world.segment, &context, agent_scope, conversation,
				      &read.request));
	read.request.has_texts = true;
	request_init_in_process(&world.segment, &read.request);
	conversations[index].requests++;
	counts.decisions++;
	versions[read.content.version.low % VERSIONS] = *text;
	judge(&asked, tool_read_answer(&read), is_whole);
}

/* ---- what happens ---- */

static void make(struct text *text, uint64_t *state)
{
	text->count = 20 + (uint32_t)chance(state, LINES_MAX - 20);
	for (uint32_t i = 0; i < text->count; i++)
		text->lines[i] = 1 + (uint32_t)chance(state, 1000);
}

static void edit(struct text *text, uint64_t *state)
{
	uint64_t kind = chance(state, 10);

	if (kind == 0) {
		make(text, state);
	} else if (kind < 3 && text->count < LINES_MAX) {
		text->lines[text->count++] = 1 + (uint32_t)chance(state, 1000);
	} else if (kind < 5 && text->count > 20) {
		uint32_t at = (uint32_t)chance(state, text->count);
		memmove(text->lines + at, text->lines + at + 1,
			(text->count - at - 1) * sizeof(text->lines[0]));
		text->count--;
	} else {
		text->lines[chance(state, text->count)] = 1 + (uint32_t)chance(state, 1000);
	}
}

static void converse(enum scope_conversations event)
{
	must(scope_converse(&world.segment, agent_scope, event) == 0);
	has_sub_agent = event == SCOPE_SUB_AGENT_BEGINS;
	forget_all();
}

static void read_any(uint64_t *state)
{
	unsigned index = chance(state, 8) ? 0 : (unsigned)chance(state, CONVERSATIONS);
	unsigned file = (unsigned)chance(state, FILES);
	const struct text *text = &files[file];

	if (chance(state, 2)) {
		read_lines(index, file, 0, text->count);
	} else {
		uint32_t first = (uint32_t)chance(state, text->count);
		read_lines(index, file, first, 1 + (uint32_t)chance(state, text->count - first));
	}
}

static void step(uint64_t *state, struct text old[FILES])
{
	uint64_t what = chance(state, 1000);
	unsigned file = (unsigned)chance(state, FILES);
	char name[8];

	(void)snprintf(name, sizeof(name), "f%u", file);
	if (what < 120) {
		old[file] = files[file];
		edit(&files[file], state);
	} else if (what < 150) {
		files[file] = old[file]; /* as it was */
	} else if (what < 160) {
		must(scope_new_epoch(&world.segment, agent_scope) == 0);
		forget_all();
	} else if (what < 170) {
		uint64_t key = path_key(&world.segment, world_path(&world, name));
		(void)delivery_forget(&world.segment, 0, key);
		(void)line_range_forget(&world.segment, 0, key);
		forget_file(file);
	} else if (what < 173 || (has_sub_agent && what < 220)) {
		converse(has_sub_agent ? SCOPE_SUB_AGENT_ENDS : SCOPE_SUB_AGENT_BEGINS);
	} else {
		read_any(state);
	}
}

Test(tool_read, independent_model, .timeout = 1200)
{
	const struct context context = { .anchor_pid = (uint32_t)getpid(), .role = ROLE_AGENT };
	uint64_t wanted = getenv("SEEN_LONG") ? DECISIONS_LONG : DECISIONS;
	uint64_t state = 0x9e3779b97f4a7c15u;
	struct text old[FILES];

	world_open(&world, "window.bytes=60000", "session.mode=substitute", NULL);
	agent_scope = scope_id_of(7, NULL);
	must(scope_claim(&world.segment, agent_scope, &context, context.anchor_pid, 0, "agent") !=
	     NULL);
	for (unsigned i = 0; i < FILES; i++) {
		make(&files[i], &state);
		old[i] = files[i];
	}
	while (counts.decisions < wanted)
		step(&state, old);
	/* Each kind of answer is no rarity: else nothing was tried. */
	cr_log_info("%llu decisions: %llu notices, %llu of lines, %llu diffs, %llu given again",
		    (unsigned long long)counts.decisions, (unsigned long long)counts.notices,
		    (unsigned long long)counts.lines, (unsigned long long)counts.diffs,
		    (unsigned long long)counts.again);
	cr_assert_gt(counts.notices, wanted / 100);
	cr_assert_gt(counts.lines, wanted / 100);
	cr_assert_gt(counts.diffs, wanted / 100);
	cr_assert_gt(counts.again, wanted / 100);
	world_close(&world);
}
