/*
 * `seen verify`: is a session's journal still what was sealed at the end of its runs, and if not,
 * where is it not?  With --attestation: does what was attested hold?
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/attest/verify_attestation.h"
#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/base/text.h"
#include "cli/command.h"
#include "cli/journal/seal_digest.h"
#include "cli/journal/verified.h"
#include "cli/session/journal_file.h"
#include "cli/session/owned.h"
#include "tracker/path/path.h"
#include "tracker/segment/segment.h"

static const char *session_name, *journal_option, *seal_option, *digest;
static const char *attestation, *key_path, *checkout, *before_session;
static bool json;

static const struct option_spec SPECS[] = {
	{ "--attestation", "FILE", "does what `seen attest` stated hold", NULL, &attestation },
	{ "--before", "DIR", "with it: a checkout of what was there before the session", NULL,
	  &before_session },
	{ "--checkout", "DIR", "with it: the workspace as the session left it", NULL, &checkout },
	{ "--digest", "HEX", "a digest that a run printed, kept where no process could change it",
	  NULL, &digest },
	{ "--journal", "FILE", "this journal; its seal lies beside it", NULL, &journal_option },
	{ "--json", NULL, "a JSON document, seen/verify/1", &json, NULL },
	{ "--key", "FILE", "with it: the public key, in PEM or OpenSSH's form", NULL, &key_path },
	{ "--seal", "FILE", "with --journal: this seal", NULL, &seal_option },
	{ "--session", "ID", "default: $SEEN_SESSION, else the workspace's newest", NULL,
	  &session_name },
};

static const struct options OPTIONS = {
	.usage = "verify [OPTION...]",
	.summary = "Compares the journal with its seal. Reports where a record was changed, "
		   "dropped, moved or inserted since the end of a run. Only --digest shows that "
		   "journal and seal were not both replaced.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
};

/* ---- for programs ---- */

static json_t *json_count(uint64_t number)
{
	return json_integer((json_int_t)number);
}

static json_t *problem(json_t *problems, const char *what)
{
	json_t *object = json_object();
	(void)json_object_set_new(object, "what", json_string(what));
	(void)json_array_append(problems, object);
	json_decref(object);
	return object; /* the array holds it */
}

static void json_block(const struct verified *verified, json_t *problems)
{
	const struct seal_report *report = &verified->report;
	const struct seal_block *block = &verified->seal.blocks[report->first_bad];
	json_t *object = problem(problems, report->line_changed ? "seal_line" : "block");
	json_t *suspects = json_array();

	for (size_t i = 0; i < report->suspect_count && i < SEAL_SUSPECTS_MAX; i++) {
		json_t *suspect = json_object();
		(void)json_object_set_new(suspect, "number",
					  json_count(report->suspects[i].number));
		(void)json_object_set_new(
			suspect, "what",
			json_string(report->suspects[i].erased ? "erased" : "check"));
		(void)json_array_append_new(suspects, suspect);
	}
	(void)json_object_set_new(object, "block", json_count(report->first_bad + 1));
	(void)json_object_set_new(object, "first", json_count(block->from));
	(void)json_object_set_new(object, "last", json_count(block->to - 1));
	(void)json_object_set_new(object, "bad_blocks", json_count(report->bad_blocks));
	(void)json_object_set_new(object, "records", suspects);
	(void)json_object_set_new(object, "bad_records", json_count(report->suspect_count));
}

static json_t *json_problems(const struct verified *verified)
{
	const struct seal_report *report = &verified->report;
	json_t *problems = json_array();

	if (verified->seal_error)
		(void)problem(problems, verified->seal_error == -ENOENT ? "no_seal" : "bad_seal");
	if (verified->journal_error)
		(void)problem(problems, "bad_journal");
	if (verified->seal.bad_line)
		(void)json_object_set_new(problem(problems, "seal_line"), "line",
					  json_count(verified->seal.bad_line));
	if (report->other_journal)
		(void)problem(problems, "other_journal");
	if (report->head_changed)
		(void)problem(problems, "header");
	if (report->bad_blocks)
		json_block(verified, problems);
	if (report->journal_end_unit < report->sealed_to && !report->other_journal) {
		json_t *object = problem(problems, "dropped");
		(void)json_object_set_new(object, "first", json_count(report->journal_end_unit));
		(void)json_object_set_new(object, "last", json_count(report->sealed_to - 1));
	}
	if (report->wanted == SEAL_WANTED_MISSING)
		(void)problem(problems, "digest");
	return problems;
}

static int print_json(const struct verified *verified)
{
	const struct seal_report *report = &verified->report;
	char last[SEAL_TEXT_BYTES];
	json_t *document = json_object();

	(void)json_object_set_new(document, "schema", json_string("seen/verify/1"));
	(void)json_object_set_new(document, "verdict",
				  json_string(verified_name(verified->verdict)));
	(void)json_object_set_new(document, "journal", text_json(verified->journal_path));
	(void)json_object_set_new(document, "seal", text_json(verified->seal_path));
	(void)json_object_set_new(document, "digest",
				  verified->seal.block_count
					  ? json_string(seal_last(&verified->seal, last))
					  : json_null());
	(void)json_object_set_new(document, "blocks", json_count(verified->seal.block_count));
	(void)json_object_set_new(document, "records", json_count(report->records));
	(void)json_object_set_new(document, "abandoned", json_count(report->abandoned));
	(void)json_object_set_new(document, "damaged", json_count(report->damaged));
	(void)json_object_set_new(document, "not_sealed", json_count(report->not_sealed));
	(void)json_object_set_new(document, "seal_torn", json_boolean(verified->seal.torn));
	(void)json_object_set_new(document, "digest_stands_for",
				  report->wanted_to ? json_count(report->wanted_to - 1)
						    : json_null());
	(void)json_object_set_new(document, "problems", json_problems(verified));
	return text_json_print(document);
}

/* ---- for people ---- */

static void print_path(const char *before, const char *path)
{
	char shown[SEGMENT_PATH_BYTES * 4];
	(void)path_escape(path, shown, sizeof(shown));
	(void)printf("%s%s\n", before, shown);
}

static void print_count(uint64_t count, const char *before, const char *what, const char *after)
{
	char number[TEXT_NUMBER_BYTES];
	(void)printf("%s%s %s%s%s", before, text_number(count, number), what, text_plural(count),
		     after);
}

static void print_block(const struct verified *verified)
{
	const struct seal_report *report = &verified->report;
	const struct seal_block *block = &verified->seal.blocks[report->first_bad];

	if (report->line_changed) {
		(void)printf("line %zu of the seal was changed; its records, %" PRIu64
			     " to %" PRIu64 ", are those that were sealed\n",
			     report->first_bad + 2, block->from, block->to - 1);
	} else {
		(void)printf("block %zu of %zu, records %" PRIu64 " to %" PRIu64
			     ", is not what was sealed\n",
			     report->first_bad + 1, verified->seal.block_count, block->from,
			     block->to - 1);
		for (size_t i = 0; i < report->suspect_count && i < SEAL_SUSPECTS_MAX; i++)
			(void)printf("  record %" PRIu64 ": %s\n", report->suspects[i].number,
				     report->suspects[i].erased ? "erased"
								: "its check does not hold");
		if (report->suspect_count > SEAL_SUSPECTS_MAX)
			print_count(report->suspect_count - SEAL_SUSPECTS_MAX, "  and ", "more",
				    "\n");
		if (report->suspect_count == 0)
			(void)puts("  the check of each record holds: the writer computed "
				   "them anew, or changed the seal");
	}
	if (report->bad_blocks > 1)
		print_count(report->bad_blocks - 1, "", "later block",
			    " not what was sealed either\n");
}

static void print_problems(const struct verified *verified)
{
	const struct seal_report *report = &verified->report;

	if (verified->seal_error == -ENOENT)
		print_path("there is no seal: ", verified->seal_path);
	else if (verified->seal_error)
		(void)printf("the seal cannot be used: %s\n",
			     journal_file_explain(verified->seal_error));
	if (verified->journal_error)
		(void)printf("the journal that was sealed cannot be used: %s\n",
			     journal_file_explain(verified->journal_error));
	if (verified->seal.bad_line)
		(void)printf("line %" PRIu64
			     " of the seal is none, or does not follow from the one above it\n",
			     verified->seal.bad_line);
	if (report->other_journal)
		(void)puts("the seal is that of another journal");
	if (report->head_changed)
		(void)puts("the journal's header is not what was sealed");
	if (report->bad_blocks)
		print_block(verified);
	if (report->journal_end_unit < report->sealed_to && !report->other_journal)
		(void)printf("the journal ends before record %" PRIu64
			     "; it was sealed to record %" PRIu64 "\n",
			     report->journal_end_unit, report->sealed_to - 1);
	if (report->wanted == SEAL_WANTED_MISSING)
		(void)printf("the digest %s is not in the seal\n", digest);
}

static void print_counts(const struct verified *verified)
{
	const struct seal_report *report = &verified->report;
	char text[SEAL_TEXT_BYTES];

	if (report->damaged)
		print_count(report->damaged, "", "record",
			    " did not hold when the seal was made, and are sealed as they were\n");
	if (report->not_sealed)
		print_count(report->not_sealed, "", "record",
			    " behind the last seal: the seal does not cover them\n");
	if (verified->seal.torn)
		(void)puts("the seal's last line was not written to its end, and does not count");
	if (report->wanted == SEAL_WANTED_EARLIER)
		(void)printf("the digest given is an earlier one: it stands for all up to record "
			     "%" PRIu64 "\n",
			     report->wanted_to - 1);
	if (verified->seal.block_count)
		(void)printf("digest %s\n", seal_last(&verified->seal, text));
}

static void print(const struct verified *verified)
{
	if (verified->verdict == VERIFIED_INTACT) {
		(void)printf("%sintact%s: ", text_style(stdout, "32"), text_style(stdout, "0"));
		print_count(verified->report.records, "", "record", "");
		print_count(verified->seal.block_count, " in ", "block", " are what was sealed\n");
	} else if (verified->verdict == VERIFIED_TAMPERED) {
		(void)printf("%sNOT what was sealed%s\n", text_style(stdout, "33"),
			     text_style(stdout, "0"));
	}
	print_problems(verified);
	print_counts(verified);
}

/* ---- comparing ---- */

/* Returns an exit code: where there is no verdict, a message was printed. */
static int compare(struct verified *verified)
{
	const char *path;
	int error = verified_compare(verified, digest, &path);

	/* Without a seal the journal alone is asked for: it may not be there. */
	if (error < 0 && (path == verified->seal_path || verified->seal_error == 0)) {
		message("%s: %s", path, journal_file_explain(error));
		return EXIT_CODE_BAD_SESSION;
	}
	if (error < 0)
		return journal_file_failed(path, error);
	return verified->verdict == VERIFIED_INTACT     ? EXIT_CODE_OK
	       : verified->verdict == VERIFIED_TAMPERED ? EXIT_CODE_TAMPERED
							: EXIT_CODE_NOTHING;
}

static int verify(const struct config *config)
{
	struct verified verified = { .seal_error = 0 };
	int code = journal_file_find(config, session_name, journal_option, verified.journal_path,
				     sizeof(verified.journal_path));
	if (code != EXIT_CODE_OK)
		return code;
	int error = seal_path(verified.journal_path, verified.seal_path,
			      sizeof(verified.seal_path));
	if (seal_option)
		error = snprintf(verified.seal_path, sizeof(verified.seal_path), "%s",
				 seal_option) < (int)sizeof(verified.seal_path)
				? 0
				: -ENAMETOOLONG;
	if (error < 0) {
		message("%s: %s", seal_option ? seal_option : verified.journal_path,
			strerror(-error));
		return EXIT_CODE_USAGE;
	}
	if (!journal_option && (error = session_check_path(verified.seal_path)) < 0)
		return journal_file_failed(verified.seal_path, error);
	code = compare(&verified);
	if (code == EXIT_CODE_OK || code == EXIT_CODE_TAMPERED ||
	    verified.verdict == VERIFIED_NO_SEAL) {
		if (!json) {
			print(&verified);
		} else if (print_json(&verified) < 0) {
			message("out of memory");
			code = EXIT_CODE_OUTPUT;
		}
	}
	verified_destroy(&verified);
	return code;
}

/* What is wrong with the options; NULL: nothing. */
static const char *refuse(void)
{
	if (attestation && !key_path)
		return "--attestation needs --key: who is to have signed it";
	if (attestation && (digest || seal_option))
		return "--digest and --seal are for the journal alone; an attestation has its "
		       "digest";
	if (!attestation && (key_path || checkout || before_session))
		return "--key, --checkout and --before go with --attestation";
	if (seal_option && !journal_option)
		return "--seal goes with --journal";
	if (session_name && journal_option)
		return "--session and --journal: which one?";
	return NULL;
}

static int verify_attested(const struct config *config)
{
	const struct verify_attestation request = { .attestation = attestation,
						    .key = key_path,
						    .journal = journal_option,
						    .session = session_name,
						    .checkout = checkout,
						    .before = before_session,
						    .json = json };
	return verify_attestation(config, &request);
}

int cmd_verify(int argc, char **argv)
{
	struct parsed parsed = { .config = NULL };
	int code;

	if (options_parse(&OPTIONS, argc, argv, &parsed, &code) < 0) {
		;
	} else if (parsed.first_word < argc) {
		message("verify takes no words: name a file with --journal");
		code = EXIT_CODE_USAGE;
	} else if (refuse()) {
		message("%s", refuse());
		code = EXIT_CODE_USAGE;
	} else if (digest && !seal_is_digest(digest)) {
		message("--digest %s: a digest is 64 hexadecimal digits", digest);
		code = EXIT_CODE_USAGE;
	} else if (options_load(&parsed, &code) == 0) {
		code = attestation ? verify_attested(parsed.config) : verify(parsed.config);
	}
	options_done(&parsed);
	return code;
}
