/* What is attested: see statement.h. */
#include "cli/attest/statement.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/report/report_json.h"

enum { ROWS_MAX = 1000 }; /* of the conflicts; the rest is counted */

static void set(json_t *object, const char *name, json_t *value)
{
	(void)json_object_set_new_nocheck(object, name, value ? value : json_null());
}

static json_t *of_count(uint64_t number)
{
	return json_integer(number <= INT64_MAX ? (json_int_t)number : INT64_MAX);
}

static json_t *of_text(const char *bytes)
{
	return bytes && bytes[0] ? text_json(bytes) : json_null();
}

/* ---- artifacts ---- */

/* A ResourceDescriptor of in-toto. */
static json_t *descriptor(const char *name, const char *algorithm, const char *digest)
{
	json_t *object = json_object(), *digests = json_object();

	set(object, "name", text_json(name));
	set(digests, algorithm, json_string(digest));
	set(object, "digest", digests);
	return object;
}

static void add_known(json_t *array, const struct artifact_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct artifact *artifact = &list->artifacts[i];
		if (artifact->not_known)
			continue;
		json_t *object = descriptor(artifact->name, "sha256", artifact->digest);
		if (artifact->is_link)
			set(object, "annotations", json_pack("{s:b}", "symlink", 1));
		(void)json_array_append_new(array, object);
	}
}

static void add_not_known(json_t *array, const struct artifact_list *list, const char *what)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct artifact *artifact = &list->artifacts[i];
		if (!artifact->not_known)
			continue;
		json_t *object = json_object();
		set(object, "name", text_json(artifact->name));
		set(object, "what", json_string(what));
		set(object, "why", json_string(artifact->not_known));
		(void)json_array_append_new(array, object);
	}
}

static json_t *not_known(const struct artifacts *artifacts)
{
	json_t *array = json_array();

	add_not_known(array, &artifacts->materials, "material");
	add_not_known(array, &artifacts->products, "product");
	return array;
}

static json_t *materials(const struct artifacts *artifacts)
{
	json_t *array = json_array();

	add_known(array, &artifacts->materials);
	return array;
}

static json_t *removed(const struct artifacts *artifacts)
{
	json_t *array = json_array();

	for (size_t i = 0; i < artifacts->removed.count; i++)
		(void)json_array_append_new(array, text_json(artifacts->removed.artifacts[i].name));
	return array;
}

static json_t *subject(const struct artifacts *artifacts, const char *seal)
{
	json_t *array = json_array();

	(void)json_array_append_new(array, descriptor(STATEMENT_JOURNAL, STATEMENT_SEAL, seal));
	add_known(array, &artifacts->products);
	return array;
}

/* ---- the session ---- */

static bool is_complete(const struct report *report, const struct run_facts *facts,
			const struct artifacts *artifacts)
{
	const struct report_coverage *coverage = &report->coverage;

	for (size_t i = 0; i < artifacts->materials.count; i++)
		if (artifacts->materials.artifacts[i].not_known)
			return false;
	for (size_t i = 0; i < artifacts->products.count; i++)
		if (artifacts->products.artifacts[i].not_known)
			return false;
	return facts->records_reads && coverage->runs && coverage->runs == report->run_count &&
	       !coverage->unobserved && !coverage->partial && !coverage->unattached &&
	       !coverage->lost && !coverage->undone && !coverage->damaged &&
	       !coverage->without_journal && !report->unobserved_count && !report->files_left_out &&
	       !report->unresolved;
}

static json_t *of_session(const struct report *report)
{
	json_t *object = json_object();

	set(object, "name", of_text(report->session));
	set(object, "began", text_json_time(report->start_ns));
	set(object, "ended", text_json_time(report->end_ns));
	return object;
}

/* The status that was reported between a run's beginning and its end; null: not known, as of runs that
 * went on at once. */
static json_t *status_of(const struct report_run *run, const struct run_facts *facts)
{
	const struct run_status *found = NULL;

	for (size_t i = 0; run->end_ns && i < facts->status_count; i++) {
		const struct run_status *status = &facts->statuses[i];
		if (status->time_ns < run->start_ns || status->time_ns > run->end_ns)
			continue;
		if (found)
			return json_null();
		found = status;
	}
	return found ? json_integer(found->status) : json_null();
}

static json_t *of_runs(const struct report *report, const struct run_facts *facts)
{
	json_t *run;
	size_t i;

	json_array_foreach(facts->runs, i, run)
	{
		bool is_known = i < report->run_count;
		set(run, "ended", text_json_time(is_known ? report->runs[i].end_ns : 0));
		set(run, "status", is_known ? status_of(&report->runs[i], facts) : json_null());
	}
	return json_incref(facts->runs);
}

static json_t *of_journal(const struct report *report)
{
	const struct seal_report *seal = &report->verified.report;
	char digest[SEAL_TEXT_BYTES];
	json_t *object = json_object();

	set(object, "seal", json_string(seal_last(&report->verified.seal, digest)));
	set(object, "blocks", of_count(report->verified.seal.block_count));
	set(object, "records", of_count(seal->records));
	return object;
}

static json_t *of_git(const struct run_facts *facts)
{
	json_t *object = json_object();

	set(object, "before", of_text(facts->commit_before));
	set(object, "after", of_text(facts->commit_after));
	return object;
}

/* Members of the report that stand for themselves. */
static json_t *of_report(const json_t *document, const char *name)
{
	return json_incref(json_object_get(document, name));
}

static json_t *predicate(const struct report *report, const struct run_facts *facts,
			 const struct artifacts *artifacts)
{
	json_t *document = report_json(report, ROWS_MAX), *object = json_object();
	json_t *rules = json_object(), *tool = json_object();

	/* What was not observed stands first. */
	set(object, "complete", json_boolean(is_complete(report, facts, artifacts)));
	set(object, "coverage", of_report(document, "coverage"));
	set(object, "not_known", not_known(artifacts));
	set(object, "session", of_session(report));
	set(object, "runs", of_runs(report, facts));
	set(object, "agents", json_incref(facts->agents));
	set(object, "git", of_git(facts));
	set(object, "journal", of_journal(report));
	set(rules, "in_force", json_incref(facts->rules));
	set(rules, "findings", of_report(document, "rules"));
	set(object, "rules", rules);
	set(object, "conflicts", of_report(document, "conflicts"));
	set(object, "removed", removed(artifacts));
	set(object, "materials", materials(artifacts));
	set(tool, "name", json_string("seen"));
	set(tool, "version", json_string(SEEN_VERSION));
	set(object, "made_by", tool);
	json_decref(document);
	return object;
}

json_t *statement_make(const struct report *report, const struct run_facts *facts,
		       const struct artifacts *artifacts)
{
	char digest[SEAL_TEXT_BYTES];
	json_t *statement = json_object();

	set(statement, "_type", json_string(STATEMENT_TYPE));
	set(statement, "subject", subject(artifacts, seal_last(&report->verified.seal, digest)));
	set(statement, "predicateType", json_string(STATEMENT_PREDICATE));
	set(statement, "predicate", predicate(report, facts, artifacts));
	return statement;
}

static bool is_digit(char character)
{
	return character && strchr("0123456789abcdef", character);
}

static unsigned digit(char character)
{
	return character <= '9' ? (unsigned)(character - '0') : (unsigned)(character - 'a' + 10);
}

/* Is it the escape of a byte, but for NUL? */
static bool is_byte(const char *text)
{
	return text[1] == 'x' && is_digit(text[2]) && is_digit(text[3]) &&
	       (text[2] != '0' || text[3] != '0');
}

char *statement_name_bytes(const char *text)
{
	char *bytes = malloc(strlen(text) + 1), *to = bytes;

	if (!bytes)
		(void)text_json_lacks();
	for (; bytes && *text; text++) {
		if (*text == '\\' && text[1] == '\\') {
			*to++ = *++text;
		} else if (*text == '\\' && is_byte(text)) {
			*to++ = (char)(digit(text[2]) << 4 | digit(text[3]));
			text += 3;
		} else if (*text == '\\') {
			free(bytes);
			return NULL;
		} else {
			*to++ = *text;
		}
	}
	if (bytes)
		*to = '\0';
	return bytes;
}
