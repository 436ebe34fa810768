/*
 * `seen blame`: who wrote each line of a file.
 */
#define XXH_INLINE_ALL
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "cli/base/argument.h"
#include "cli/base/clock.h"
#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/base/pager.h"
#include "cli/base/text.h"
#include "cli/command.h"
#include "cli/session/session_command.h"
#include "cli/undo/blame.h"
#include "cli/undo/git_note.h"
#include "cli/undo/patch.h"
#include "cli/undo/story_print.h"
#include "cli/undo/undo_session.h"
#include "tracker/path/path.h"

enum { WHO_COLUMNS = 30, ID_BYTES = 41, WHO_BYTES = 2 * STEP_TEXT_BYTES };

static const char *session_name;
static bool json, porcelain, git_ai;

static const struct option_spec SPECS[] = {
	{ "--porcelain", NULL, "for programs, in the form of git blame --porcelain", &porcelain,
	  NULL },
	{ "--json", NULL, "one JSON document, seen/blame/1", &json, NULL },
	{ "--git-ai", NULL, "the lines of HEAD that agents wrote, as a note for git-ai", &git_ai,
	  NULL },
	{ "--session", "ID", "of this session; default: the newest of the workspace", NULL,
	  &session_name },
};

static const struct options OPTIONS = {
	.usage = "blame [OPTION...] FILE | blame --git-ai",
	.summary = "Each line of a text file with the step that wrote it, or that it was there "
		   "before the session, came from an external program, or that its writer is not "
		   "known. Lines are followed through edits and renames.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
	.words_between = true,
};

struct blaming {
	const struct undo_session *session;
	const char *path; /* absolute */
	const struct blame *blame;
};

static const char *name_of(const struct blaming *blaming)
{
	size_t length = strlen(blaming->session->workspace);

	return argument_is_below(blaming->path, blaming->session->workspace) && length > 1 &&
			       blaming->path[length]
		       ? blaming->path + length + 1
		       : blaming->path;
}

/* What an origin is called: a step by the tool whose call it is, where a hook reported one, and its command or file.
 * May return ret_text. */
static const char *who_of(const struct blame_origin *origin, char ret_text[WHO_BYTES])
{
	char text[STEP_TEXT_BYTES];
	static const char *const TEXTS[BLAME_KIND_COUNT] = {
		[BLAME_BEFORE] = "before the session",
		[BLAME_STEP] = "",
		[BLAME_UNDO] = "seen undo",
		[BLAME_EXTERNAL] = "an external program",
		[BLAME_UNKNOWN] = "not known",
	};
	const struct step *step = origin->kind == BLAME_STEP ? origin->step : NULL;
	const char *tool = step && step->kind == STEP_COMMAND && step->call ? step->call->tool
									    : NULL;
	if (!step)
		return origin->may_be_later ? "before a step changed it" : TEXTS[origin->kind];
	(void)snprintf(ret_text, WHO_BYTES, "%s%s%s", tool ? tool : "", tool ? " " : "",
		       story_text(step, text));
	return ret_text;
}

static const struct step_call *prompt_of(const struct blame_origin *origin)
{
	return origin->step ? origin->step->prompt : NULL;
}

/* The bytes of a line, without its newline. */
static const char *next_line(const struct blame *blame, const char **at, size_t *ret_length)
{
	const char *line = *at, *end = blame->text + blame->size_bytes;
	const char *newline = line < end ? memchr(line, '\n', (size_t)(end - line)) : NULL;

	*ret_length = newline ? (size_t)(newline - line) : (size_t)(end - line);
	*at = newline ? newline + 1 : end;
	return line;
}

/* ---- for people ---- */

/* A line as it stands in the file, but for what a terminal would obey. */
static int print_source(const char *line, size_t length)
{
	int error = 0;

	while (length) {
		size_t part = 0;
		while (part < length && line[part] != '\t' && line[part] != '\\')
			part++;
		char *text = strndup(line, part), *shown = text ? malloc(4 * part + 1) : NULL;
		if (!shown)
			error = -ENOMEM;
		else if (path_escape(text, shown, 4 * part + 1) >= 0)
			(void)fputs(shown, stdout);
		free(text);
		free(shown);
		if (part < length)
			(void)putchar(line[part++]);
		line += part;
		length -= part;
	}
	return error;
}

/* How the lines of a text are shown. */
struct line_form {
	int digits;       /* of the numbers */
	bool has_prompts; /* a column for them */
};

static int print_line(const struct line_form *form, const struct blame_origin *origin,
		      size_t number, const char *line, size_t length)
{
	char step[16] = "-", hours[CLOCK_WORD_BYTES];
	char text[WHO_BYTES], who[4 * WHO_BYTES + 1];
	const struct step_call *prompt = prompt_of(origin);

	if (origin->step)
		(void)snprintf(step, sizeof(step), "%u", origin->step->number);
	if (path_escape(who_of(origin, text), who, sizeof(who)) < 0)
		who[0] = '\0';
	(void)printf("%4s %-8s ", step, clock_hours(origin->time_ns, hours));
	if (form->has_prompts) {
		char name[16] = "-";
		if (prompt)
			(void)snprintf(name, sizeof(name), "p%u", prompt->number);
		(void)printf("%-4s ", name);
	}
	(void)printf("%-*.*s %*zu) ", WHO_COLUMNS, WHO_COLUMNS, who, form->digits, number);
	int error = print_source(line, length);
	(void)putchar('\n');
	return error;
}

/* The words of the prompts that lines belong to, behind the lines. */
static void print_prompts(const struct blaming *blaming)
{
	const struct step_calls *calls = steps_calls(&blaming->session->steps);
	const struct blame *blame = blaming->blame;
	char words[4 * STEP_TEXT_BYTES + 1];

	(void)putchar('\n');
	for (uint32_t number = 1; number <= calls->prompts; number++) {
		const struct step_call *prompt = step_calls_prompt(calls, number);
		size_t line = 0;
		while (line < blame->count &&
		       prompt_of(&blame->origins[blame->lines[line].origin]) != prompt)
			line++;
		if (!prompt || line == blame->count)
			continue;
		bool has_words = prompt->input &&
				 path_escape(prompt->input, words, sizeof(words)) >= 0;
		(void)printf("p%u > %s\n", number, has_words ? words : "");
	}
}

static int print_text(const struct blaming *blaming)
{
	const struct blame *blame = blaming->blame;
	const char *at = blame->text;
	struct line_form form = { .digits = snprintf(NULL, 0, "%zu", blame->count) };
	int error = 0;

	for (size_t i = 0; i < blame->count && !form.has_prompts; i++)
		form.has_prompts = prompt_of(&blame->origins[blame->lines[i].origin]);
	for (size_t i = 0; i < blame->count && error == 0; i++) {
		size_t length;
		const char *line = next_line(blame, &at, &length);
		error = print_line(&form, &blame->origins[blame->lines[i].origin], i + 1, line,
				   length);
	}
	if (form.has_prompts)
		print_prompts(blaming);
	return error;
}

/* ---- as git ---- */

/* Stands in the place of a commit. */
static void id_of(const struct blaming *blaming, const struct blame_origin *origin,
		  char ret_id[ID_BYTES])
{
	XXH128_hash_t hash = XXH3_128bits_withSeed(
		blaming->session->name, strlen(blaming->session->name),
		(uint64_t)origin->kind << 32 | origin->operation);

	(void)snprintf(ret_id, ID_BYTES, "%08x%016llx%016llx",
		       origin->step ? origin->step->number : 0, (unsigned long long)hash.high64,
		       (unsigned long long)hash.low64);
	if (origin->kind == BLAME_UNKNOWN)
		memset(ret_id, '0', ID_BYTES - 1);
}

static void print_head(const struct blaming *blaming, const struct blame_origin *origin)
{
	static const char *const ROLES[] = { "author", "committer" };
	char text[WHO_BYTES], summary[4 * WHO_BYTES + 1];
	const char *author = origin->kind != BLAME_STEP ? who_of(origin, text)
			     : origin->step->by_agent   ? "agent"
							: "command";

	for (int i = 0; i < 2; i++)
		(void)printf("%s %s\n%s-mail <%s>\n%s-time %llu\n%s-tz +0000\n", ROLES[i], author,
			     ROLES[i], blame_kind_name(origin->kind), ROLES[i],
			     (unsigned long long)(origin->time_ns / 1000000000u), ROLES[i]);
	if (path_escape(who_of(origin, text), summary, sizeof(summary)) < 0)
		summary[0] = '\0';
	(void)printf("summary %s\n%sfilename ", summary,
		     origin->kind == BLAME_BEFORE ? "boundary\n" : "");
	patch_name_write(stdout, "", name_of(blaming));
	(void)putchar('\n');
}

static int print_porcelain(const struct blaming *blaming)
{
	const struct blame *blame = blaming->blame;
	bool *was_shown = calloc(blame->origin_count + 1, sizeof(*was_shown));
	const char *at = blame->text;

	if (!was_shown)
		return -ENOMEM;
	for (size_t i = 0, group = 0; i < blame->count; i++) {
		uint32_t origin = blame->lines[i].origin;
		char id[ID_BYTES];
		size_t length;
		const char *line = next_line(blame, &at, &length);
		id_of(blaming, &blame->origins[origin], id);
		(void)printf("%s %u %zu", id, blame->lines[i].number, i + 1);
		if (i >= group) {
			for (group = i + 1;
			     group < blame->count && blame->lines[group].origin == origin &&
			     blame->lines[group].number == blame->lines[group - 1].number + 1;
			     group++)
				;
			(void)printf(" %zu", group - i);
		}
		(void)putchar('\n');
		if (!was_shown[origin])
			print_head(blaming, &blame->origins[origin]);
		was_shown[origin] = true;
		(void)putchar('\t');
		(void)fwrite(line, 1, length, stdout);
		(void)putchar('\n');
	}
	free(was_shown);
	return 0;
}

/* ---- JSON ---- */

static json_t *origin_json(const struct blame_origin *origin)
{
	json_t *object = json_object();
	bool is_step = origin->step != NULL;

	(void)json_object_set_new(object, "kind", json_string(blame_kind_name(origin->kind)));
	(void)json_object_set_new(object, "step",
				  is_step ? json_integer(origin->step->number) : json_null());
	(void)json_object_set_new(object, "command",
				  is_step ? text_json(origin->step->text) : json_null());
	(void)json_object_set_new(object, "by_agent",
				  is_step ? json_boolean(origin->step->by_agent) : json_null());
	(void)json_object_set_new(object, "process",
				  is_step ? json_integer(origin->process) : json_null());
	(void)json_object_set_new(object, "pid", is_step ? json_integer(origin->pid) : json_null());
	(void)json_object_set_new(object, "tool_call",
				  is_step ? story_call_json(origin->step) : json_null());
	(void)json_object_set_new(object, "time", text_json_time(origin->time_ns));
	return object;
}

static int print_json(const struct blaming *blaming)
{
	const struct blame *blame = blaming->blame;
	json_t *document = json_object(), *origins = json_array(), *lines = json_array();

	for (size_t i = 0; i < blame->origin_count; i++)
		(void)json_array_append_new(origins, origin_json(&blame->origins[i]));
	for (size_t i = 0; i < blame->count; i++)
		(void)json_array_append_new(lines, json_integer(blame->lines[i].origin));
	(void)json_object_set_new(document, "schema", json_string("seen/blame/1"));
	(void)json_object_set_new(document, "session", text_json(blaming->session->name));
	(void)json_object_set_new(document, "workspace", text_json(blaming->session->workspace));
	(void)json_object_set_new(document, "path", text_json(name_of(blaming)));
	(void)json_object_set_new(document, "origins", origins);
	(void)json_object_set_new(document, "lines", lines);
	return text_json_print(document);
}

/* ---- the command ---- */

static int print(const struct blaming *blaming)
{
	int error = 0;

	if (json) {
		error = print_json(blaming);
	} else if (porcelain) {
		error = print_porcelain(blaming);
	} else {
		pager_start();
		error = print_text(blaming);
		pager_finish();
	}
	if (error < 0)
		message("%s", strerror(-error));
	return error < 0 ? EXIT_CODE_OUTPUT : EXIT_CODE_OK;
}

static int run(const struct undo_session *session, const char *path)
{
	struct tree_records records;
	struct blame blame = { .count = 0 };
	uint64_t lost = undo_session_lost(&session->session);
	char text[UNDO_SESSION_TEXT_BYTES];
	int error = tree_records_read(session->undo, &records);

	if (error == 0)
		error = blame_read(&records, &session->steps, path, &blame);
	const struct blaming blaming = { session, path, &blame };
	int code = error == 0 ? print(&blaming) : EXIT_CODE_NOTHING;
	if (error < 0)
		message("%s: %s", name_of(&blaming),
			error == -EINVAL ? "it is no text" : strerror(-error));
	else if (records.damaged)
		message("%llu of the undo records are damaged, and left out",
			(unsigned long long)records.damaged);
	uint64_t unrecorded = error == 0 ? undo_session_unrecorded(lost, &records) : 0;
	if (unrecorded)
		message("%s", undo_session_unrecorded_text(unrecorded, text));
	blame_free(&blame);
	tree_records_close(&records);
	return code;
}

static const char *refuse(char **words)
{
	if (json + porcelain + git_ai > 1)
		return "--json, --porcelain and --git-ai: one of them";
	if (git_ai)
		return words[0] ? "--git-ai takes no FILE" : NULL;
	return words[0] && !words[1] ? NULL : "blame takes one FILE";
}

int cmd_blame(int argc, char **argv)
{
	const struct session_command command = {
		.options = &OPTIONS,
		.name = &session_name,
		.words_max = SESSION_COMMAND_ANY,
		.refuse = refuse,
	};
	struct parsed parsed = { .config = NULL };
	struct undo_session session;
	char path[SEGMENT_PATH_BYTES], **words;
	int code;

	if (session_command_parse(&command, argc, argv, &parsed, &words, &code) == 0) {
		int error = git_ai ? 0 : argument_path(words[0], path, sizeof(path));
		if (error < 0) {
			message("%s: %s", words[0], strerror(-error));
			code = EXIT_CODE_USAGE;
		} else {
			code = undo_session_find(parsed.config, session_name, &session);
			if (code == EXIT_CODE_OK) {
				code = git_ai ? message_exit_code(git_note_write(stdout, &session))
					      : run(&session, path);
				undo_session_close(&session);
			}
		}
	}
	options_done(&parsed);
	return code;
}
