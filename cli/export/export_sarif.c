/*
 * Export as SARIF 2.1.0 (OASIS): one document of findings, for code scanning.
 *
 * Written as the events come: the results stand first, the rules that they name and the runs that they are of behind them.  Of each
 * finding the first occurrence is a result, since alerts are what is looked for, not events; how often it came again is counted.  GitHub takes
 * 25,000 results of a run, and refuses a document with more: the rest is left out, and said.  The least grave end earlier, so that
 * there is room for those that matter.
 *
 * Every result has a place, which GitHub asks for: the file; of what is about none, the record of the journal.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cli/base/text.h"
#include "cli/export/export.h"
#include "cli/export/export_event.h"
#include "cli/journal/event_filter.h"

enum {
	RESULTS_MAX = 25000,
	NOTES_MAX = 20000, /* of them, of the lowest severity */
	KNOWN = 1
		<< 16, /* findings that are remembered, by their fingerprints; older ones make room */
	RUNS_MAX = 64,   /* that are told, the last ones */
	RULES_MAX = 128, /* further rules of the configuration share a line */
	RULE_BYTES = 64,
	FINGERPRINT_BYTES = 17,
};

/* level of a result. */
static const char *const LEVELS[EVENT_SEVERITY_COUNT] = { "none", "note", "warning", "error" };

/* A line of tool.driver.rules. */
struct rule {
	enum event_finding finding;
	char name[RULE_BYTES]; /* of a rule of the configuration, bytes of others; "": that of the finding */
};

/* A program that a run began with. */
struct run {
	uint64_t announced; /* number of its EXEC */
	uint64_t process;   /* of its START; 0: not yet */
	uint64_t begin_ns, end_ns;
	uint64_t status;
	uint32_t pid;
	bool ended;
};

struct sarif {
	struct json_out out;
	uint64_t known[KNOWN];
	uint64_t results, notes;
	uint64_t repeated; /* findings that are in the document already */
	uint64_t omitted;  /* for which there was no room */
	struct rule rules[RULES_MAX + EVENT_FINDING_COUNT]; /* that results name */
	size_t rule_count;
	struct run runs[RUNS_MAX];
	uint64_t run_count; /* the last ones are in `runs` */
	uint64_t last_time_ns;
	char id[EXPORT_ID_BYTES];
	char text[EXPORT_TEXT_BYTES];
	char uri[3 * EXPORT_TEXT_BYTES];
};

static int begin(struct export *export)
{
	struct sarif *sarif = calloc(1, sizeof(*sarif));

	if (!sarif)
		return -ENOMEM;
	export->own = sarif;
	sarif->out.file = export->file;
	struct json_out *out = &sarif->out;
	json_out_init(out, NULL, '{');
	json_out_word(out, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
	json_out_word(out, "version", "2.1.0");
	json_out_init(out, "runs", '[');
	json_out_init(out, NULL, '{');
	json_out_init(out, "results", '[');
	return 0;
}

/* ---- places ---- */

/* RFC 3986: a path's bytes as they are, or by their numbers.  A colon too: before the first slash it would end a scheme. */
static const char *uri_of(struct sarif *sarif, const char *before, const char *path)
{
	char *at = stpcpy(sarif->uri, before), *end = sarif->uri + sizeof(sarif->uri) - 4;

	for (; *path && at < end; path++) {
		unsigned char byte = (unsigned char)*path;
		if ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
		    (byte >= '0' && byte <= '9') || strchr("-._~/", byte))
			*at++ = (char)byte;
		else
			at += sprintf(at, "%%%02X", byte);
	}
	*at = '\0';
	return sarif->uri;
}

static void put_location(struct export *export, const struct event *event,
			 const struct event_class *class)
{
	struct sarif *sarif = export->own;
	struct json_out *out = &sarif->out;
	const char *path = class->about == EVENT_ABOUT_FILE ? event->resolved : NULL;
	const char *below = path ? event_path_below(export->facts.workspace, path, false) : NULL;
	bool is_file = class->about == EVENT_ABOUT_FILE && (path || event->path);

	json_out_init(out, "locations", '[');
	json_out_init(out, NULL, '{');
	json_out_init(out, "physicalLocation", '{');
	json_out_init(out, "artifactLocation", '{');
	if (below) {
		json_out_word(out, "uri", uri_of(sarif, "", below[0] ? below : "./"));
		json_out_word(out, "uriBaseId", "%SRCROOT%");
	} else if (path) {
		json_out_word(out, "uri", uri_of(sarif, "file://", path));
	} else if (is_file) { /* relative to a folder that is not known */
		json_out_word(out, "uri", uri_of(sarif, "", event->path));
		json_out_word(out, "uriBaseId", "FOLDER");
	} else {
		json_out_word(out, "uri", "journal");
		json_out_word(out, "uriBaseId", "SESSION");
	}
	json_out_finish(out, '}');
	json_out_init(out, "region", '{');
	if (is_file) { /* the file as a whole; viewers ask for a line */
		json_out_number(out, "startLine", 1);
	} else {
		json_out_number(out, "byteOffset", event->number * JOURNAL_UNIT_BYTES);
		json_out_number(out, "byteLength", JOURNAL_UNIT_BYTES);
	}
	json_out_finish(out, '}');
	json_out_finish(out, '}');
	json_out_finish(out, '}');
	json_out_finish(out, ']');
}

/* ---- results ---- */

static const char *verdict_of(const struct event_class *class)
{
	return class->prevented                    ? "refused"
	       : class->outcome == EVENT_FAILED    ? "failed"
	       : class->outcome == EVENT_SUCCEEDED ? "done"
						   : "let pass";
}

/* What makes two findings the same, in this run and in others: not when, nor by which process. */
static uint64_t fingerprint_of(struct sarif *sarif, const struct event *event,
			       const struct event_class *class)
{
	const char *program = export_program(event), *name = export_name(event);
	bool is_process = class->about == EVENT_ABOUT_PROCESS;
	uint64_t number = class->finding == EVENT_FINDING_DAMAGED ? event->number : 0;

	(void)snprintf(sarif->text, sizeof(sarif->text), "%s\n%s\n%s\n%s\n%s\n%llu",
		       event_finding_id(class->finding), class->rule ? class->rule : "",
		       verdict_of(class), program && !is_process ? program : "", name ? name : "",
		       (unsigned long long)number);
	uint64_t fingerprint = XXH3_64bits(sarif->text, strlen(sarif->text));
	return fingerprint ? fingerprint : 1;
}

/* Is it to be a result? */
static bool take(struct sarif *sarif, const struct event_class *class, uint64_t fingerprint)
{
	bool is_note = class->severity <= EVENT_SEVERITY_LOW;
	uint64_t *known = &sarif->known[fingerprint % KNOWN];

	if (*known == fingerprint) {
		sarif->repeated++;
		return false;
	}
	*known = fingerprint;
	if (sarif->results == RESULTS_MAX || (is_note && sarif->notes == NOTES_MAX)) {
		sarif->omitted++;
		return false;
	}
	sarif->results++;
	sarif->notes += is_note;
	return true;
}

/* The place of an event's rule among those that are told at the end. */
static size_t place_of_rule(struct sarif *sarif, const struct event_class *class)
{
	const char *name = class->rule && strlen(class->rule) < RULE_BYTES ? class->rule : "";

	for (size_t i = 0; i < sarif->rule_count; i++)
		if (sarif->rules[i].finding == class->finding &&
		    strcmp(sarif->rules[i].name, name) == 0)
			return i;
	if (name[0] && sarif->rule_count >= RULES_MAX) {
		struct event_class unnamed = { .finding = class->finding };
		return place_of_rule(sarif, &unnamed);
	}
	struct rule *rule = &sarif->rules[sarif->rule_count];
	rule->finding = class->finding;
	(void)strcpy(rule->name, name);
	return sarif->rule_count++;
}

/* "stale-write"; of a rule of the configuration, "rule-hit/NAME". */
static void put_rule_id(struct sarif *sarif, const char *member, const struct rule *rule)
{
	char id[2 * RULE_BYTES];

	(void)snprintf(id, sizeof(id), "%s%s%s", event_finding_id(rule->finding),
		       rule->name[0] ? "/" : "", rule->name);
	json_out_text(&sarif->out, member, id);
}

/* PROGRAM: TITLE: NAME (refused, ERROR) */
static void write_message(struct sarif *sarif, const struct event *event,
			  const struct event_class *class)
{
	const char *name = export_name(event);
	const char *program = class->about == EVENT_ABOUT_FILE ? export_program(event) : NULL;
	const char *verdict = class->prevented ? "refused" : "";
	char number[EVENT_ERROR_BYTES];
	const char *error = event->error ? event_error_name(event->error, number) : "";
	bool has_more = verdict[0] || error[0];

	(void)snprintf(sarif->text, sizeof(sarif->text), "%s%s%s%s%s%s%s%s%s%s%s%s",
		       program ? program : "", program ? ": " : "",
		       event_finding_title(class->finding), class->rule ? ", " : "",
		       class->rule ? class->rule : "", name ? ": " : "", name ? name : "",
		       has_more ? " (" : "", verdict, verdict[0] && error[0] ? ", " : "", error,
		       has_more ? ")" : "");
}

static void put_result(struct export *export, const struct event *event,
		       const struct event_class *class, uint64_t fingerprint)
{
	struct sarif *sarif = export->own;
	struct json_out *out = &sarif->out;
	char digits[FINGERPRINT_BYTES], time[TEXT_TIME_BYTES];

	json_out_init(out, NULL, '{');
	size_t place = place_of_rule(sarif, class);
	put_rule_id(sarif, "ruleId", &sarif->rules[place]);
	json_out_number(out, "ruleIndex", place);
	json_out_word(out, "level", LEVELS[class->severity]);
	write_message(sarif, event, class);
	json_out_init(out, "message", '{');
	json_out_text(out, "text", sarif->text);
	json_out_finish(out, '}');
	put_location(export, event, class);
	(void)snprintf(digits, sizeof(digits), "%016llx", (unsigned long long)fingerprint);
	json_out_init(out, "partialFingerprints", '{');
	json_out_word(out, "seenFinding/v1", digits);
	json_out_finish(out, '}');
	json_out_init(out, "properties", '{');
	json_out_word(out, "id", export_id(export, event->number, sarif->id));
	json_out_number(out, "number", event->number);
	if (text_time_ns(event->time_realtime_ns, time)[0])
		json_out_word(out, "time", time);
	json_out_known(out, "pid", event->pid);
	json_out_text(out, "executable", event->executable);
	export_rest_object(out, "seen", event);
	json_out_finish(out, '}');
	json_out_finish(out, '}');
}

/* ---- runs ---- */

static struct run *find_run(struct sarif *sarif, const struct event *event)
{
	for (size_t i = 0; i < RUNS_MAX; i++) {
		struct run *run = &sarif->runs[i];
		if (run->announced &&
		    (event->op == JOURNAL_START ? run->announced == event->exec
						: run->process && run->process == event->process))
			return run;
	}
	return NULL;
}

static void follow_run(struct sarif *sarif, const struct event *event)
{
	struct run *run;

	switch (event->op) {
	case JOURNAL_EXEC:
		if (event_begins_run(event)) {
			run = &sarif->runs[sarif->run_count++ % RUNS_MAX];
			*run = (struct run){ .announced = event->number,
					     .begin_ns = event->time_realtime_ns };
		}
		break;
	case JOURNAL_START:
		run = event->exec ? find_run(sarif, event) : NULL;
		if (run) {
			run->process = event->number;
			run->pid = event->pid;
		}
		break;
	case JOURNAL_EXIT:
		run = find_run(sarif, event);
		if (run) {
			run->ended = true;
			run->end_ns = event->time_realtime_ns;
			run->status = event->entry->record.amount;
		}
		break;
	default:
		break;
	}
}

static int tell_event(struct export *export, const struct event *event)
{
	struct sarif *sarif = export->own;
	struct event_class class = event_class(event);

	follow_run(sarif, event);
	if (class.finding) {
		uint64_t fingerprint = fingerprint_of(sarif, event, &class);
		if (take(sarif, &class, fingerprint))
			put_result(export, event, &class, fingerprint);
	}
	return sarif->out.incomplete ? -ENOMEM : 0;
}

/* ---- the end ---- */

static void put_message(struct json_out *out, const char *name, const char *text)
{
	json_out_init(out, name, '{');
	json_out_word(out, "text", text);
	json_out_finish(out, '}');
}

static void put_rules(struct sarif *sarif)
{
	struct json_out *out = &sarif->out;

	json_out_init(out, "rules", '[');
	for (size_t i = 0; i < sarif->rule_count; i++) {
		enum event_finding finding = sarif->rules[i].finding;
		json_out_init(out, NULL, '{');
		put_rule_id(sarif, "id", &sarif->rules[i]);
		json_out_word(out, "name", event_finding_name(finding));
		put_message(out, "shortDescription", event_finding_title(finding));
		put_message(out, "fullDescription", event_finding_text(finding));
		put_message(out, "help", event_finding_text(finding));
		json_out_init(out, "defaultConfiguration", '{');
		json_out_word(out, "level", LEVELS[event_finding_severity(finding)]);
		json_out_finish(out, '}');
		json_out_init(out, "properties", '{');
		json_out_init(out, "tags", '[');
		json_out_word(out, NULL, "audit");
		json_out_finish(out, ']');
		json_out_finish(out, '}');
		json_out_finish(out, '}');
	}
	json_out_finish(out, ']');
}

static void put_tool(struct sarif *sarif)
{
	struct json_out *out = &sarif->out;

	json_out_init(out, "tool", '{');
	json_out_init(out, "driver", '{');
	json_out_word(out, "name", "seen");
	json_out_word(out, "semanticVersion", SEEN_VERSION);
	json_out_word(out, "version", SEEN_VERSION);
	put_rules(sarif);
	json_out_finish(out, '}');
	json_out_finish(out, '}');
}

/* SARIF has times with at most three digits behind the second in its examples, and any number in its text. */
static void put_time(struct json_out *out, const char *name, uint64_t realtime_ns)
{
	char time[TEXT_TIME_BYTES];

	if (text_time(realtime_ns, time)[0])
		json_out_word(out, name, time);
}

static void put_omitted(struct sarif *sarif)
{
	struct json_out *out = &sarif->out;
	char text[160];

	if (!sarif->omitted)
		return;
	(void)snprintf(
		text, sizeof(text),
		"%llu further findings are left out: more results than %d, or notes than %d, "
		"would not be taken.",
		(unsigned long long)sarif->omitted, RESULTS_MAX, NOTES_MAX);
	json_out_init(out, "toolExecutionNotifications", '[');
	json_out_init(out, NULL, '{');
	json_out_word(out, "level", "warning");
	put_message(out, "message", text);
	json_out_finish(out, '}');
	json_out_finish(out, ']');
}

static void put_invocations(struct sarif *sarif)
{
	struct json_out *out = &sarif->out;
	uint64_t first = sarif->run_count > RUNS_MAX ? sarif->run_count - RUNS_MAX : 0;

	json_out_init(out, "invocations", '[');
	for (uint64_t i = first; i < sarif->run_count; i++) {
		const struct run *run = &sarif->runs[i % RUNS_MAX];
		json_out_init(out, NULL, '{');
		json_out_boolean(out, "executionSuccessful", true);
		put_time(out, "startTimeUtc", run->begin_ns);
		put_time(out, "endTimeUtc", run->end_ns);
		json_out_known(out, "processId", run->pid);
		if (run->ended)
			json_out_number(out, "exitCode", run->status);
		if (i + 1 == sarif->run_count)
			put_omitted(sarif);
		json_out_finish(out, '}');
	}
	if (sarif->run_count == 0) {
		json_out_init(out, NULL, '{');
		json_out_boolean(out, "executionSuccessful", true);
		put_omitted(sarif);
		json_out_finish(out, '}');
	}
	json_out_finish(out, ']');
}

static void put_base(struct json_out *out, const char *name, const char *uri, const char *text)
{
	json_out_init(out, name, '{');
	json_out_word(out, "uri", uri);
	put_message(out, "description", text);
	json_out_finish(out, '}');
}

static int end(struct export *export)
{
	struct sarif *sarif = export->own;
	struct json_out *out = &sarif->out;
	const char *workspace = export->facts.workspace;

	json_out_finish(out, ']'); /* results */
	put_tool(sarif);
	put_invocations(sarif);
	json_out_init(out, "originalUriBaseIds", '{');
	if (workspace) {
		(void)snprintf(sarif->text, sizeof(sarif->text), "%s/", workspace);
		workspace = uri_of(sarif, "file://", sarif->text);
	}
	put_base(out, "%SRCROOT%", workspace, "The workspace of the session.");
	put_base(out, "SESSION", NULL, "The folder of the session's journal.");
	put_base(out, "FOLDER", NULL, "A folder that is not known.");
	json_out_finish(out, '}');
	json_out_init(out, "automationDetails", '{');
	(void)snprintf(sarif->text, sizeof(sarif->text), "seen/%s", export->facts.session);
	json_out_text(out, "id", sarif->text);
	json_out_finish(out, '}');
	json_out_init(out, "properties", '{');
	json_out_word(out, "journal", export->facts.journal);
	json_out_number(out, "results", sarif->results);
	json_out_number(out, "repeated", sarif->repeated);
	json_out_number(out, "omitted", sarif->omitted);
	json_out_finish(out, '}');
	json_out_finish(out, '}');
	json_out_finish(out, ']');
	json_out_finish(out, '}');
	return json_out_line(out);
}

static void release(struct export *export)
{
	free(export->own);
}

const struct export_format export_sarif = {
	.name = "sarif",
	.kind = EXPORT_DOCUMENT,
	.begin = begin,
	.event = tell_event,
	.end = end,
	.close = release,
};
